/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzer of vgpu-kfd. main.c runs random cases on the device, and compares each
 * result with the result of the oracle, a model of the device.
 */
#ifndef VGPU_TEST_FUZZ_H
#define VGPU_TEST_FUZZ_H

#include "tests/qtest/vgpu-kfd/lib/compute-queue.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"
#include "tests/qtest/vgpu-kfd/lib/sdma-queue.h"

#define FUZZ_QUEUES         4           /* maximum number of queues in a case */
/*
 * Bytes of a queue's part of RAM and of VRAM. Queues write only to their own
 * parts, so the order of execution has no effect.
 */
#define FUZZ_PART           (2 * MiB)
/* Offset of the first part in FuzzMem. Page tables are below this offset. */
#define FUZZ_PARTS_AT       (2 * MiB)
#define FUZZ_MEM            (FUZZ_PARTS_AT + FUZZ_QUEUES * FUZZ_PART)
#define FUZZ_PAGES          (FUZZ_MEM / QVGPU_PAGE)
/* Each part has data pages at both ends, and rings and buffers between. */
#define FUZZ_DATA_RAM       48      /* data pages at the start of a RAM part */
#define FUZZ_DATA_VRAM      12      /* data pages at the start of a VRAM part */
#define FUZZ_DATA_END       4       /* data pages at the end of any part */
/* Index, within a part, of the first page for rings and buffers. */
#define FUZZ_SPECIAL        64
/* Value of FuzzMem.used[] for a page that the current case uses. */
#define FUZZ_USED           2

typedef struct FuzzRng {
    uint64_t state;
} FuzzRng;

/*
 * The expected contents of the memory that cases use: FUZZ_MEM bytes of guest
 * RAM or of VRAM.
 */
typedef struct FuzzMem {
    uint64_t base;              /* bus address or VRAM offset of byte 0 */
    uint8_t *byte;
    /* One element per byte. If not 0, the byte may have any value. */
    uint8_t *undef;
    /*
     * State of each page: FUZZ_USED (used by the current case), 1 (used only by
     * the previous case, must be zeros now), or 0 (unused).
     */
    uint8_t used[FUZZ_PAGES];
} FuzzMem;

typedef struct FuzzPlace {
    QVGPUKind kind;
    uint64_t off;
} FuzzPlace;

/* A page-table entry that is invalid at first, and its repaired value. */
typedef struct FuzzBroken {
    FuzzPlace slot;
    uint64_t want;
    /*
     * True if the entry maps data: a repair may write another value than @want.
     * False: the queue needs @want to find its packets.
     */
    bool data;
} FuzzBroken;

typedef struct FuzzFault {
    unsigned vmid;
    uint64_t page;
    bool write;
} FuzzFault;

/*
 * A machine with one device, or with a hive of two devices. In a hive, node 0
 * or node 1 runs the cases.
 */
typedef enum FuzzMachine {
    FUZZ_ALONE,
    FUZZ_HIVE_0,
    FUZZ_HIVE_1,
    FUZZ_MACHINES,
} FuzzMachine;

typedef struct FuzzCase FuzzCase;

typedef struct FuzzQueue {
    FuzzCase *c;
    unsigned part;              /* index of the queue's part of memory */
    /*
     * The SDMA queue. For a compute queue, q holds ring_va, bytes, rptr_va and
     * wptr, from which fuzz_pm4_load() fills in cq. q.wptr always counts bytes.
     */
    QVGPUSdma q;
    bool compute;               /* set for a compute queue: uses cq and space */
    QVGPUCompute cq;
    QVGPUSpace space;
    FuzzPlace rptr;             /* where the device may write rptr */
    /* Start of the queue's own 2 MiB of GPU addresses, by VMID. */
    uint64_t base[VGPU_NUM_VMIDS];
    /* By VMID: start of 512 GiB that one entry of the root table maps. */
    uint64_t huge[VGPU_NUM_VMIDS];
    /*
     * Random numbers for the test's reactions to this queue's faults. The queue
     * gets the same numbers if packets of other queues are dropped (c->drop).
     */
    FuzzRng rng;
    unsigned vmid;
    bool priv;
    uint64_t first;             /* start value of rptr and wptr, in bytes */
    /*
     * Number of pages allocated for rings and buffers, by QVGPUKind: in the
     * queue's part of RAM, and in the queue's part of VRAM. In each part, these
     * pages begin at page FUZZ_SPECIAL.
     */
    unsigned specials[2];
    /* Expected results, except for memory. */
    uint64_t done;              /* expected read pointer */
    GArray *traps;              /* expected trap contexts, uint32_t */
    /* Results that the device has reported. */
    GArray *seen_traps;
    GArray *seen_stalls;        /* reported retry faults, QVGPUIrq */
    unsigned taken;             /* number of seen_stalls handled so far */
    /* The members below are the state of the oracle for this queue. */
    bool reported;              /* this packet's no-retry fault is recorded */
    /* An undefined value decides if a trap occurs: do not check the traps. */
    bool open_traps;
    bool loose;                 /* do not compare memory during this packet */
} FuzzQueue;

struct FuzzCase {
    QVGPU *v;
    uint64_t seed;
    FuzzRng rng;
    FuzzMem mem[2];             /* indexed by QVGPUKind */
    uint8_t *ram;               /* guest RAM, shared with QEMU */
    char *ram_file;
    FuzzMachine machine;
    /*
     * Bus address of VRAM (BAR 0). In a hive, this is the VRAM of node 0; the
     * VRAM of node 1 follows directly.
     */
    uint64_t vram_bus;
    uint64_t vram_size, ram_size;

    /* Values of registers, for the oracle. */
    uint64_t fb, fb_offset, agp, default_page;
    bool cam;                   /* the retry CAM is on */
    uint64_t gart, gart_pages;
    /* Page table of VMID 0 (GART). Each queue has its own entries. */
    FuzzPlace gart_table;
    struct {
        bool used, retry;
        /* Root page table. Each queue has its own entries. */
        FuzzPlace root;
    } space[VGPU_NUM_VMIDS];

    unsigned nspaces;
    unsigned vmids[3];
    unsigned nqueues;
    FuzzQueue queue[FUZZ_QUEUES];
    /* Page-table entries that are invalid at first: FuzzBroken. */
    GArray *broken;
    unsigned tables[2];         /* number of table pages, by QVGPUKind */

    GArray *faults;             /* expected no-retry faults: FuzzFault */
    GArray *seen_faults;
    unsigned npackets;
    /* A compute queue may have executed some packets more than once. */
    bool redone;
    /* the machine is still to be saved and restored */
    bool save;
    /* Totals of all cases that this machine has run. */
    uint64_t all_stalls, all_faults, all_saves;
    const GArray *drop;         /* indices of packets to replace by NOP */
    GString *failure;           /* the first failure, or empty */
};

/* Record the failure of the case, unless one is already recorded. */
void fuzz_fail(FuzzCase *c, const char *fmt, ...) G_GNUC_PRINTF(2, 3);

/* Return the next number of @r. Equal start states give equal sequences. */
uint64_t fuzz_rnd(FuzzRng *r);
/* Return a random number below @n. @n must not be 0. */
static inline uint64_t fuzz_below(FuzzRng *r, uint64_t n)
{
    return fuzz_rnd(r) % n;
}
/*
 * Return true with a probability of @percent percent. Takes one number of @r,
 * even if @percent is 0 or at least 100.
 */
static inline bool fuzz_chance(FuzzRng *r, unsigned percent)
{
    return fuzz_below(r, 100) < percent;
}

/* No other queue writes to the returned place. @off is below FUZZ_PART. */
static inline FuzzPlace fuzz_part(FuzzQueue *q, QVGPUKind kind, uint64_t off)
{
    return (FuzzPlace) { kind, FUZZ_PARTS_AT + q->part * FUZZ_PART + off };
}
/* Return the number of data pages at the start of a part. */
static inline uint64_t fuzz_front_pages(QVGPUKind kind)
{
    return kind == QVGPU_RAM ? FUZZ_DATA_RAM : FUZZ_DATA_VRAM;
}

/*
 * The queue's 2 MiB of addresses have three ranges, with holes between the
 * ranges. The first range begins at page 0: FUZZ_LOW_PAGES pages of data.
 */
#define FUZZ_LOW_PAGES      96
/*
 * The second range, for rings and buffers, begins at page FUZZ_SPECIAL_VA:
 * FUZZ_SPECIALS pages of RAM, then as many pages of VRAM.
 */
#define FUZZ_SPECIAL_VA     128
#define FUZZ_SPECIALS       64
/* The third range: data, from page FUZZ_HIGH_VA to the end of the 2 MiB. */
#define FUZZ_HIGH_VA        440
/*
 * Each queue has FUZZ_GART_PAGES pages of GART addresses. The entries of the
 * first FUZZ_GART_USED pages map data pages.
 */
#define FUZZ_GART_PAGES     64
#define FUZZ_GART_USED      48

/* Functions of case.c */

/*
 * Generate the page tables, data pages, rings and buffers of a case in c->mem.
 * Does not access the device.
 */
void fuzz_case_make(FuzzCase *c);
/*
 * Return a page-table entry that maps a random data page of the queue, readable
 * and writable.
 */
uint64_t fuzz_case_pte(FuzzQueue *q, FuzzRng *r);

/* Functions of sdma-stream.c */

/*
 * Generate the queue's registers, ring and indirect buffers. Call after the
 * queue's data and page tables have been generated.
 */
void fuzz_sdma_stream_make(FuzzQueue *q);

/* Choose an address in @vmid where the queue may access @len bytes. */
uint64_t fuzz_pick_va(FuzzQueue *q, unsigned vmid, uint64_t len);
/* Allocate @pages pages for rings and buffers of the queue. */
FuzzPlace fuzz_special_alloc(FuzzQueue *q, unsigned pages);
/*
 * Return the GPU address, in VMID @vmid, of the place @at. @at must be in the
 * queue's pages for rings and buffers.
 */
uint64_t fuzz_special_va(FuzzQueue *q, unsigned vmid, FuzzPlace at);
/* Return true if at least @pages pages for rings and buffers are free. */
bool fuzz_special_left(FuzzQueue *q, unsigned pages);
/*
 * Write @dw to the ring or buffer at @at, from byte @from on. Offsets wrap with
 * @mask: ring bytes minus 1, or UINT64_MAX for a buffer.
 */
void fuzz_put_dwords(FuzzCase *c, FuzzPlace at, uint64_t mask, uint64_t from,
                     const GArray *dw);
/*
 * Append a packet to @to. If q->c->drop contains the packet's index, append a
 * NOP of the same length instead.
 */
void fuzz_stream_emit(FuzzQueue *q, GArray *to, const uint32_t *dw, unsigned n);
#define FUZZ_EMIT(q, to, ...) \
    fuzz_stream_emit(q, to, (const uint32_t[]) { __VA_ARGS__ }, \
                     sizeof((const uint32_t[]) { __VA_ARGS__ }) / 4)

/* Functions of pm4-stream.c */

/* Choose the HQD and generate the packets of the ring. */
void fuzz_pm4_stream_make(FuzzQueue *q, GArray *to);
/*
 * Activate the queue's HQD, with rptr and wptr at q->first. The queue executes
 * its packets after qvgpu_compute_kick().
 */
void fuzz_pm4_load(FuzzQueue *q);
/* Return true if all packets are done and rptr is reported to memory. */
bool fuzz_pm4_idle(FuzzQueue *q);
/* Record a failure if the queue has stopped with an error. */
void fuzz_pm4_check(FuzzQueue *q);

/* Types and functions of walk-oracle.c */

typedef enum FuzzHitKind {
    FUZZ_HIT_MEMORY,
    FUZZ_HIT_ZERO,
    FUZZ_HIT_RETRY,
    FUZZ_HIT_FAULT,
} FuzzHitKind;

typedef struct FuzzHit {
    FuzzHitKind kind;
    /* For FUZZ_HIT_MEMORY: the memory to which fuzz_walk() translates @va. */
    FuzzPlace at;
    FuzzPlace slot;             /* page-table entry that causes a retry fault */
    unsigned level;             /* level of the entry at slot */
    bool permission;            /* the entry is valid but forbids the access */
} FuzzHit;

/* Translate @va with the page tables in the expected memory. */
FuzzHit fuzz_walk(FuzzCase *c, unsigned vmid, uint64_t va, bool write);
/* Read 8 bytes of the expected memory. */
uint64_t fuzz_get64(FuzzCase *c, FuzzPlace at);
/* Write 8 bytes of the expected memory. */
void fuzz_put64(FuzzCase *c, FuzzPlace at, uint64_t val);

/* Functions of sdma-oracle.c */

/*
 * Execute the queue's packets. Calls fuzz_handle_fault() for each retry fault.
 */
void fuzz_sdma_oracle_run(FuzzQueue *q);
/*
 * Store at most 8 aligned bytes for a packet. @undef is not 0 if
 * docs/hardware.md leaves one of these bytes undefined.
 */
void fuzz_store(FuzzQueue *q, unsigned vmid, uint64_t va, uint64_t val,
                unsigned len, uint8_t undef);
/*
 * Load at most 8 aligned bytes for a packet. *@undef becomes nonzero if one of
 * these bytes is undefined, else 0.
 */
uint64_t fuzz_load(FuzzQueue *q, unsigned vmid, uint64_t va, unsigned len,
                   uint8_t *undef);

/* Functions of pm4-oracle.c */

/* As fuzz_sdma_oracle_run(), for a compute queue. */
void fuzz_pm4_oracle_run(FuzzQueue *q);

/* Functions of compare-memory.c */

/* Write the initial memory of the case to the device. */
void fuzz_upload_memory(FuzzCase *c);
/* Compare the used pages among pages @from to @end - 1 with the model. */
void fuzz_check_pages(FuzzCase *c, uint64_t from, uint64_t end);
/*
 * Compare all memory, including memory that no case uses. Return true unless
 * this comparison or an earlier check has recorded a failure.
 */
bool fuzz_check_rest(FuzzCase *c);
/* Compare the no-retry faults of the device with the expected ones. */
void fuzz_check_faults(FuzzCase *c);

/* Functions of machine.c */

/*
 * fuzz_start() overwrites all of @c. The machine can then run any number of
 * cases. fuzz_stop() stops the machine and frees what fuzz_start() allocated.
 */
void fuzz_start(FuzzCase *c, FuzzMachine machine);
void fuzz_stop(FuzzCase *c);

/* Functions of run.c */

/*
 * Run the case of @seed. @drop has the indices of packets to replace by NOPs;
 * NULL replaces no packet. Return true if the device passed.
 */
bool fuzz_run(FuzzCase *c, uint64_t seed, const GArray *drop);
/* Take all pending interrupts and record each for its queue. */
void fuzz_drain_irqs(FuzzCase *c);
/* Longest wait for a retry fault, or until a queue is idle, in microseconds. */
#define FUZZ_TIMEOUT_US     (qvgpu_wait_us() / 3 * 2)

/* Functions of fault-handler.c */

/**
 * fuzz_handle_fault: wait for a retry fault, and handle the fault
 * @q: queue that faults
 * @vmid: VMID of the access
 * @va: address of the access
 * @write: true for a write
 * @hit: page-table entry that faults
 *
 * Disturbs the device in some calls. Repairs the page-table entry in 90 % of
 * the calls.
 *
 * Return: false if the case has failed.
 */
bool fuzz_handle_fault(FuzzQueue *q, unsigned vmid, uint64_t va, bool write,
                       const FuzzHit *hit);
/*
 * Return true if the queue has reported a retry fault that fuzz_handle_fault()
 * has not handled. With the CAM off, repeated reports of handled faults do not
 * count.
 */
bool fuzz_stalls_left(FuzzQueue *q);
/*
 * If c->save is set, clear it, save the machine and restore it in a new QEMU.
 */
void fuzz_save(FuzzCase *c);

#endif /* VGPU_TEST_FUZZ_H */
