/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzer of vgpu-kfd with a model, which computes the expected result.
 *
 *   case.c            generates a case from a number: tables, memory, queues
 *   sdma-stream.c     generates packets, in rings and indirect buffers
 *   pm4-stream.c      the same for compute queues
 *   sdma-oracle.c     computes the result of a case: byte by byte, directly by
 *                     docs/hardware.md
 *   pm4-oracle.c      the same for compute queues
 *   walk-oracle.c     the same for translation: no cache, no spans
 *   machine.c         starts QEMU
 *   run.c             runs the case, compares pointers and interrupts
 *   fault-handler.c   repairs faults, disturbs queues, saves the machine
 *   compare-memory.c  compares memory
 *   main.c            runs cases for a time, repeats and shrinks them
 *
 * Memory is the upper end of guest RAM and of VRAM, or where the VRAM of two
 * devices meets. A queue writes only to its own part of each, so that the
 * result is defined although queues run at the same time. Tables belong to one
 * queue, too, except for the roots. "Offset" below is an offset in FuzzMem.
 */
#ifndef VGPU_TEST_FUZZ_H
#define VGPU_TEST_FUZZ_H

#include "tests/qtest/vgpu-kfd/lib/compute-queue.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"

#define FUZZ_QUEUES         4           /* at most, in a case */
#define FUZZ_PART           (2 * MiB)   /* a queue's, of each kind */
#define FUZZ_PARTS_AT       (2 * MiB)   /* after the tables */
#define FUZZ_MEM            (FUZZ_PARTS_AT + FUZZ_QUEUES * FUZZ_PART)
#define FUZZ_PAGES          (FUZZ_MEM / QVGPU_PAGE)
/* A part has its data pages at both ends, rings and buffers in between. */
#define FUZZ_DATA_RAM       48
#define FUZZ_DATA_VRAM      12
#define FUZZ_DATA_END       4
#define FUZZ_SPECIAL        64          /* first page of rings and buffers */
#define FUZZ_USED           2

typedef struct FuzzRng {
    uint64_t state;
} FuzzRng;

/* The expected contents of the device's memory. */
typedef struct FuzzMem {
    uint64_t base;              /* bus address or VRAM offset of byte 0 */
    uint8_t *byte;
    uint8_t *undef;             /* not 0: the contract leaves the byte open */
    /* FUZZ_USED in this case; 1: in the last one, so to be zeroed. */
    uint8_t used[FUZZ_PAGES];
} FuzzMem;

typedef struct FuzzPlace {
    QVGPUKind kind;
    uint64_t off;
} FuzzPlace;

/* An entry that is broken at first, and its repaired value. */
typedef struct FuzzBroken {
    FuzzPlace slot;
    uint64_t want;
    bool data;                  /* the driver may write another value as well */
} FuzzBroken;

typedef struct FuzzFault {
    unsigned vmid;
    uint64_t page;
    bool write;
} FuzzFault;

/* A single device, or two in a hive with the cases on node 0 or 1. */
typedef enum FuzzMachine {
    FUZZ_ALONE,
    FUZZ_HIVE_0,
    FUZZ_HIVE_1,
    FUZZ_MACHINES,
} FuzzMachine;

typedef struct FuzzCase FuzzCase;

typedef struct FuzzQueue {
    FuzzCase *c;
    unsigned part;              /* index of its part of memory */
    QVGPUSdma q;                /* wptr in bytes for either kind of queue */
    bool compute;               /* a compute queue: uses cq and space */
    QVGPUCompute cq;
    QVGPUSpace space;
    FuzzPlace rptr;             /* where rptr may be reported */
    uint64_t base[VGPU_NUM_VMIDS];  /* its 2 MiB of addresses */
    uint64_t huge[VGPU_NUM_VMIDS];  /* its leaf of 512 GiB */
    FuzzRng rng;                /* for repairs: their order is not fixed */
    unsigned vmid;
    bool priv;
    uint64_t first;             /* start value of the pointers */
    unsigned specials[2];       /* pages given out, by kind */
    /* Expected results, except for memory. */
    uint64_t done;              /* read pointer */
    GArray *traps;              /* uint32_t */
    /* Results of the device. */
    GArray *seen_traps;
    GArray *seen_stalls;        /* QVGPUIrq */
    unsigned taken;             /* number taken from seen_stalls */
    /* About the packet that the oracle executes. */
    bool reported;              /* its no-retry fault is recorded */
    bool open_traps;            /* the contract leaves open which come */
    bool loose;                 /* memory may differ until the packet's end */
} FuzzQueue;

struct FuzzCase {
    QVGPU *v;
    uint64_t seed;
    FuzzRng rng;
    FuzzMem mem[2];             /* by QVGPUKind */
    uint8_t *ram;               /* the device's guest RAM, shared */
    char *ram_file;
    FuzzMachine machine;
    uint64_t vram_bus;          /* bus address of BAR 0; a hive's follow */
    uint64_t vram_size, ram_size;

    /* Registers, for the oracle. */
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
    unsigned tables[2];         /* table pages given out, by kind */

    GArray *faults;             /* expected no-retry ones: FuzzFault */
    GArray *seen_faults;
    unsigned npackets;
    bool redone;                /* packets of compute queues are repeated */
    bool save;                  /* save and restore the machine once */
    /* Sums of all cases of this machine. */
    uint64_t all_stalls, all_faults, all_saves;
    const GArray *drop;         /* numbers of packets to leave out */
    GString *failure;           /* the first failure, or empty */
};

/* Record a failure, unless one is recorded. */
void fuzz_fail(FuzzCase *c, const char *fmt, ...) G_GNUC_PRINTF(2, 3);

/* Random numbers: of 64 bits; below @n; true in @percent of the calls. */
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
/* Number of data pages at the front of a part. */
static inline uint64_t fuzz_front_pages(QVGPUKind kind)
{
    return kind == QVGPU_RAM ? FUZZ_DATA_RAM : FUZZ_DATA_VRAM;
}

/*
 * The queue's 2 MiB of addresses, in pages: data from 0 on, FUZZ_SPECIALS of
 * RAM and as many of VRAM for rings and buffers from FUZZ_SPECIAL_VA on, data
 * again from FUZZ_HIGH_VA on, holes in between. Leaves of 2 MiB over the
 * queue's RAM and over its VRAM follow. The GART has data only.
 */
#define FUZZ_LOW_PAGES      96
#define FUZZ_SPECIAL_VA     128
#define FUZZ_SPECIALS       64
#define FUZZ_HIGH_VA        440
#define FUZZ_GART_PAGES     64          /* per queue */
#define FUZZ_GART_USED      48

/* case.c */

/* Generate tables, memory and rings in c->mem, not yet on the device. */
void fuzz_case_make(FuzzCase *c);
/* An entry for a random data page of the queue, readable and writable. */
uint64_t fuzz_case_pte(FuzzQueue *q, FuzzRng *r);

/* sdma-stream.c */

/* Generate the queue's registers, ring and indirect buffers, after its data. */
void fuzz_sdma_stream_make(FuzzQueue *q);

/* Choose an address in @vmid where the queue may access @len bytes. */
uint64_t fuzz_pick_va(FuzzQueue *q, unsigned vmid, uint64_t len);
/* Pages for a ring or a buffer: allocate; GPU address; are @pages left? */
FuzzPlace fuzz_special_alloc(FuzzQueue *q, unsigned pages);
uint64_t fuzz_special_va(FuzzQueue *q, unsigned vmid, FuzzPlace at);
bool fuzz_special_left(FuzzQueue *q, unsigned pages);
/* Write dwords at byte @from of a ring of @mask + 1 bytes. */
void fuzz_put_dwords(FuzzCase *c, FuzzPlace at, uint64_t mask, uint64_t from,
                     const GArray *dw);
/* Append a packet to @to, or a NOP of its length if c->drop names it. */
void fuzz_stream_emit(FuzzQueue *q, GArray *to, const uint32_t *dw, unsigned n);
#define FUZZ_EMIT(q, to, ...) \
    fuzz_stream_emit(q, to, (const uint32_t[]) { __VA_ARGS__ }, \
                     sizeof((const uint32_t[]) { __VA_ARGS__ }) / 4)

/* pm4-stream.c */

/* Choose the HQD and generate the packets of the ring. */
void fuzz_pm4_stream_make(FuzzQueue *q, GArray *to);
/* On the device: load the queue; is it idle? did it end without error? */
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
    FuzzPlace slot;             /* retry: the entry that faults */
    unsigned level;             /* level of that entry */
    bool permission;            /* the entry is valid, without this right */
} FuzzHit;

/* Translate @va by the tables as they are now. */
FuzzHit fuzz_walk(FuzzCase *c, unsigned vmid, uint64_t va, bool write);
/* Read and write 8 bytes of the expected memory. */
uint64_t fuzz_get64(FuzzCase *c, FuzzPlace at);
void fuzz_put64(FuzzCase *c, FuzzPlace at, uint64_t val);

/* sdma-oracle.c */

/* Execute the queue's packets. Each retry fault calls fuzz_handle_fault(). */
void fuzz_sdma_oracle_run(FuzzQueue *q);
/*
 * Access memory for a packet: at most 8 bytes, aligned, so that all are in one
 * page. @undef: the contract leaves the value open.
 */
void fuzz_store(FuzzQueue *q, unsigned vmid, uint64_t va, uint64_t val,
                unsigned len, uint8_t undef);
uint64_t fuzz_load(FuzzQueue *q, unsigned vmid, uint64_t va, unsigned len,
                   uint8_t *undef);

/* pm4-oracle.c */

/* fuzz_sdma_oracle_run() for a compute queue. */
void fuzz_pm4_oracle_run(FuzzQueue *q);

/* compare-memory.c */

/* Write the initial memory of the case to the device. */
void fuzz_upload_memory(FuzzCase *c);
/* Compare the pages in use from @from to @end - 1 of the fuzzer's memory. */
void fuzz_check_pages(FuzzCase *c, uint64_t from, uint64_t end);
/* Compare all memory, also what no case uses. Return whether nothing failed. */
bool fuzz_check_rest(FuzzCase *c);
/* Compare the no-retry faults of the device with the expected ones. */
void fuzz_check_faults(FuzzCase *c);

/* machine.c */

/* Start a machine for cases; stop it. */
void fuzz_start(FuzzCase *c, FuzzMachine machine);
void fuzz_stop(FuzzCase *c);

/* run.c */

/* Run a case. Returns whether the device passed. */
bool fuzz_run(FuzzCase *c, uint64_t seed, const GArray *drop);
/* Take all pending interrupts and record each for its queue. */
void fuzz_drain_irqs(FuzzCase *c);
/* Bound of waits: 20 s times VGPU_TEST_SCALE, see qvgpu_wait_us(). */
#define FUZZ_TIMEOUT_US     (qvgpu_wait_us() / 3 * 2)

/* fault-handler.c */

/**
 * fuzz_handle_fault: handle a retry fault that the device must report
 * @q: the queue that faults
 * @vmid: VMID of the access
 * @va: address of the access
 * @write: whether the access is a write
 * @hit: the entry that faults
 *
 * Waits for the fault, may disturb the device and compare the queue's memory,
 * may change the entry, and acknowledges. The fault may come again.
 *
 * Return: false if the case has failed.
 */
bool fuzz_handle_fault(FuzzQueue *q, unsigned vmid, uint64_t va, bool write,
                       const FuzzHit *hit);
/* Return whether the queue has reported more retry faults than expected. */
bool fuzz_stalls_left(FuzzQueue *q);
/* If c->save: clear it, save the machine and restore it into a new QEMU. */
void fuzz_save(FuzzCase *c);

#endif /* VGPU_TEST_FUZZ_H */
