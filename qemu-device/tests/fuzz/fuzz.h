/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzer of vgpu-kfd that knows what must come out.
 *
 *   case.c            makes a case from a number: tables, memory, queues
 *   sdma-stream.c     packets, in rings and indirect buffers
 *   pm4-stream.c      the same of compute queues
 *   sdma-oracle.c     says what the case does: one byte at a time, straight
 *                     from docs/hardware.md
 *   pm4-oracle.c      the same of compute queues
 *   walk-oracle.c     the same of translation: no cache, no spans
 *   machine.c         starts QEMU
 *   run.c             does the case, compares pointers and interrupts
 *   fault-handler.c   repairs faults, disturbs queues, saves the machine
 *   compare-memory.c  compares memory
 *   main.c            counts seconds, replays and shrinks cases
 *
 * Memory is the upper end of guest RAM and of VRAM, or where the VRAM of two
 * devices meets. A queue writes only to its own part of both, so that queues
 * may run at once and the outcome is still one; tables belong to one queue too,
 * but for the roots. "Offset" below is one in FuzzMem.
 */
#ifndef VGPU_TEST_FUZZ_H
#define VGPU_TEST_FUZZ_H

#include "tests/qtest/vgpu-kfd/lib/compute-queue.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"

#define FUZZ_QUEUES         4           /* at most, in a case */
#define FUZZ_PART           (2 * MiB)   /* a queue's memory of either kind */
#define FUZZ_PARTS_AT       (2 * MiB)   /* before: tables */
#define FUZZ_MEM            (FUZZ_PARTS_AT + FUZZ_QUEUES * FUZZ_PART)
#define FUZZ_PAGES          (FUZZ_MEM / QVGPU_PAGE)
/* Pages of a part that hold data are at its ends, the rest is in between. */
#define FUZZ_DATA_RAM       48
#define FUZZ_DATA_VRAM      12
#define FUZZ_DATA_END       4
#define FUZZ_SPECIAL        64          /* first page of rings and buffers */
#define FUZZ_USED           2

typedef struct FuzzRng {
    uint64_t state;
} FuzzRng;

/* What the device's memory must hold. */
typedef struct FuzzMem {
    uint64_t base;              /* bus address or VRAM offset of byte 0 */
    uint8_t *byte;
    uint8_t *undef;             /* not 0: the contract leaves the byte open */
    /* FUZZ_USED in this case; less: to be zeroed on the device. */
    uint8_t used[FUZZ_PAGES];
} FuzzMem;

typedef struct FuzzPlace {
    QVGPUKind kind;
    uint64_t off;
} FuzzPlace;

/* An entry that is broken at first, and what it is to become. */
typedef struct FuzzBroken {
    FuzzPlace slot;
    uint64_t want;
    bool data;                  /* it may as well become something else */
} FuzzBroken;

typedef struct FuzzFault {
    unsigned vmid;
    uint64_t page;
    bool write;
} FuzzFault;

/* One device, or two in a hive; which of them cases are for. */
typedef enum FuzzMachine {
    FUZZ_ALONE,
    FUZZ_HIVE_0,
    FUZZ_HIVE_1,
    FUZZ_MACHINES,
} FuzzMachine;

typedef struct FuzzCase FuzzCase;

typedef struct FuzzQueue {
    FuzzCase *c;
    unsigned part;              /* of memory */
    QVGPUSdma q;                /* wptr in bytes, whatever kind it is */
    bool compute;               /* a compute queue: this, its space */
    QVGPUCompute cq;
    QVGPUSpace space;
    FuzzPlace rptr;             /* where it may be reported */
    uint64_t base[VGPU_NUM_VMIDS];  /* of its 2 MiB of addresses */
    uint64_t huge[VGPU_NUM_VMIDS];  /* of a leaf of 512 GiB */
    FuzzRng rng;                /* for repairs: queues have no common order */
    unsigned vmid;
    bool priv;
    uint64_t first;             /* pointers at start */
    unsigned specials[2];       /* pages given out, of either kind */
    /* What must be seen besides memory. */
    uint64_t done;              /* read pointer */
    GArray *traps;              /* uint32_t */
    /* As the device reports. */
    GArray *seen_traps;
    GArray *seen_stalls;        /* QVGPUIrq */
    unsigned taken;             /* of seen_stalls */
    /* Of the packet that the oracle is at. */
    bool reported;              /* its no-retry fault */
    bool open_traps;            /* the contract leaves open which come */
    bool loose;                 /* memory need not be right before its end */
} FuzzQueue;

struct FuzzCase {
    QVGPU *v;
    uint64_t seed;
    FuzzRng rng;
    FuzzMem mem[2];             /* by QVGPUKind */
    uint8_t *ram;               /* the device's, shared with us */
    char *ram_file;
    FuzzMachine machine;
    uint64_t vram_bus;          /* address of BAR 0; a hive's follow */
    uint64_t vram_size, ram_size;

    /* Registers, as the oracle knows them. */
    uint64_t fb, fb_offset, agp, default_page;
    bool cam;                   /* the retry CAM is on */
    uint64_t gart, gart_pages;
    FuzzPlace gart_table;
    struct {
        bool used, retry;
        FuzzPlace root;
    } space[VGPU_NUM_VMIDS];

    unsigned nspaces;
    unsigned vmids[3];
    unsigned nqueues;
    FuzzQueue queue[FUZZ_QUEUES];
    GArray *broken;             /* FuzzBroken */
    unsigned tables[2];         /* table pages given out */

    GArray *faults;             /* no-retry ones: FuzzFault */
    GArray *seen_faults;
    unsigned npackets;
    bool redone;                /* packets of compute queues begin again */
    bool save;                  /* the machine is to be saved and restored */
    /* Of all cases of this machine. */
    uint64_t all_stalls, all_faults, all_saves;
    const GArray *drop;         /* numbers of packets to leave out */
    GString *failure;           /* what went wrong first */
};

/* Remember what went wrong, unless something did before. */
void fuzz_fail(FuzzCase *c, const char *fmt, ...) G_GNUC_PRINTF(2, 3);

uint64_t fuzz_rnd(FuzzRng *r);
static inline uint64_t fuzz_below(FuzzRng *r, uint64_t n)
{
    return fuzz_rnd(r) % n;
}
static inline bool fuzz_chance(FuzzRng *r, unsigned percent)
{
    return fuzz_below(r, 100) < percent;
}

/* Byte @off of the queue's part. */
static inline FuzzPlace fuzz_part(FuzzQueue *q, QVGPUKind kind, uint64_t off)
{
    return (FuzzPlace) { kind, FUZZ_PARTS_AT + q->part * FUZZ_PART + off };
}
static inline uint64_t fuzz_front_pages(QVGPUKind kind)
{
    return kind == QVGPU_RAM ? FUZZ_DATA_RAM : FUZZ_DATA_VRAM;
}

/*
 * The queue's 2 MiB of addresses, in pages: data at 0, FUZZ_SPECIALS of RAM
 * and as many of VRAM for rings and buffers at FUZZ_SPECIAL_VA, data again from
 * FUZZ_HIGH_VA on, holes in between. 2 MiB over the queue's RAM follow, then
 * over its VRAM. In the GART: data.
 */
#define FUZZ_LOW_PAGES      96
#define FUZZ_SPECIAL_VA     128
#define FUZZ_SPECIALS       64
#define FUZZ_HIGH_VA        440
#define FUZZ_GART_PAGES     64          /* of a queue */
#define FUZZ_GART_USED      48

/* case.c */

/* Tables, memory and rings in c->mem; nothing of it is on the device yet. */
void fuzz_case_make(FuzzCase *c);
/* An entry to one of the queue's pages of data, readable and writable. */
uint64_t fuzz_case_pte(FuzzQueue *q, FuzzRng *r);

/* sdma-stream.c */

/* The queue's registers, its ring and what it leads to. Data is there. */
void fuzz_sdma_stream_make(FuzzQueue *q);

/* Where a packet of the queue may read or write @len bytes in @vmid. */
uint64_t fuzz_pick_va(FuzzQueue *q, unsigned vmid, uint64_t len);
/* Pages for a ring or a buffer, and their address. */
FuzzPlace fuzz_special_alloc(FuzzQueue *q, unsigned pages);
uint64_t fuzz_special_va(FuzzQueue *q, unsigned vmid, FuzzPlace at);
bool fuzz_special_left(FuzzQueue *q, unsigned pages);
/* Dwords, at byte @from of a ring of @mask + 1 bytes. */
void fuzz_put_dwords(FuzzCase *c, FuzzPlace at, uint64_t mask, uint64_t from,
                     const GArray *dw);
/* A packet is put into the stream @to, or as much of nothing. */
void fuzz_stream_emit(FuzzQueue *q, GArray *to, const uint32_t *dw, unsigned n);
#define FUZZ_EMIT(q, to, ...) \
    fuzz_stream_emit(q, to, (const uint32_t[]) { __VA_ARGS__ }, \
                     sizeof((const uint32_t[]) { __VA_ARGS__ }) / 4)

/* pm4-stream.c */

/* Which queue it is; what is in its ring. */
void fuzz_pm4_stream_make(FuzzQueue *q, GArray *to);
/* On the device: start the queue; is it done; did it end as it must. */
void fuzz_pm4_load(FuzzQueue *q);
bool fuzz_pm4_idle(FuzzQueue *q);
void fuzz_pm4_check(FuzzQueue *q);

/* walk-oracle.c */

typedef enum FuzzHitKind {
    FUZZ_HIT_MEMORY,
    FUZZ_HIT_ZERO,
    FUZZ_HIT_RETRY,
    FUZZ_HIT_FAULT,
} FuzzHitKind;

typedef struct FuzzHit {
    FuzzHitKind kind;
    FuzzPlace at;               /* memory */
    FuzzPlace slot;             /* retry: the entry that says so */
    unsigned level;             /* that entry's */
    bool permission;            /* it is valid, but does not allow it */
} FuzzHit;

FuzzHit fuzz_walk(FuzzCase *c, unsigned vmid, uint64_t va, bool write);
uint64_t fuzz_get64(FuzzCase *c, FuzzPlace at);
void fuzz_put64(FuzzCase *c, FuzzPlace at, uint64_t val);

/* sdma-oracle.c */

/*
 * Do all of the queue's packets; calls fuzz_handle_fault() at each retry fault.
 */
void fuzz_sdma_oracle_run(FuzzQueue *q);
/* Bytes that stand or fall together: aligned, at most 8. */
void fuzz_store(FuzzQueue *q, unsigned vmid, uint64_t va, uint64_t val,
                unsigned len, uint8_t undef);
uint64_t fuzz_load(FuzzQueue *q, unsigned vmid, uint64_t va, unsigned len,
                   uint8_t *undef);

/* pm4-oracle.c */

/* fuzz_sdma_oracle_run() of a compute queue. */
void fuzz_pm4_oracle_run(FuzzQueue *q);

/* compare-memory.c */

/* The device's memory becomes what the case begins with. */
void fuzz_upload_memory(FuzzCase *c);
/* Compare pages @from to @end of the fuzzer's memory that are in use. */
void fuzz_check_pages(FuzzCase *c, uint64_t from, uint64_t end);
/* The same with all memory, also what no case uses. */
bool fuzz_check_rest(FuzzCase *c);
/* No-retry faults that came, and that had to. */
void fuzz_check_faults(FuzzCase *c);

/* machine.c */

/* A machine for cases, and the end of it. */
void fuzz_start(FuzzCase *c, FuzzMachine machine);
void fuzz_stop(FuzzCase *c);

/* run.c */

/* Do a case. True if the device did what it must. */
bool fuzz_run(FuzzCase *c, uint64_t seed, const GArray *drop);
/* Take the interrupts that there are to whom they concern. */
void fuzz_drain_irqs(FuzzCase *c);
/* 20 s times VGPU_TEST_SCALE, see qvgpu_wait_us(). */
#define FUZZ_TIMEOUT_US     (qvgpu_wait_us() / 3 * 2)

/* fault-handler.c */

/*
 * The device must be in a retry fault at @va: wait for it, compare the
 * queue's memory, make something of the entry and acknowledge. False: the
 * device went wrong, the case is over.
 */
bool fuzz_handle_fault(FuzzQueue *q, unsigned vmid, uint64_t va, bool write,
                       const FuzzHit *hit);
/* Does the queue stall once more than it should? */
bool fuzz_stalls_left(FuzzQueue *q);
/* If the case is one for it: save the machine, restore it into a new one. */
void fuzz_save(FuzzCase *c);

#endif /* VGPU_TEST_FUZZ_H */
