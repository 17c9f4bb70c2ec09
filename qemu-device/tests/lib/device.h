/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Test-side driver of vgpu-kfd: finds the device, maps its BARs and speaks its
 * contract (include/vgpu/, docs/hardware.md). It keeps to what a driver may
 * rely on, so that a test fails if the device needs more than the contract.
 *
 * Memory has one name here: the address at which the CPU sees it. What lies in
 * BAR 0 is VRAM, the rest is guest RAM; the helpers make of it what page-table
 * entries and packets want. Nothing is ever freed: each test has its own
 * machine.
 */
#ifndef VGPU_QOS_H
#define VGPU_QOS_H

#include "tests/qtest/libqtest.h"
#include "tests/qtest/libqos/pci.h"
#include "qemu/units.h"
#include "vgpu/bits.h"
#include "vgpu/doorbell.h"
#include "vgpu/gmc.h"
#include "vgpu/ih.h"
#include "vgpu/model.h"
#include "vgpu/nbio.h"
#include "vgpu/pci.h"
#include "vgpu/pte.h"
#include "vgpu/sdma.h"
#include "vgpu/sdma_packets.h"

typedef enum QVGPUKind {
    QVGPU_VRAM,
    QVGPU_RAM,
} QVGPUKind;

typedef struct QVGPU {
    QTestState *qts;
    char *args;                 /* QEMU's command line */
    QPCIBus *bus;
    QPCIDevice *pci;
    uint64_t bar[6];            /* CPU addresses */
    uint64_t vram_size;
    uint64_t vram_next;         /* CPU address of the first free byte */
    uint64_t ram_next;
    uint64_t msi;               /* where an MSI is written to */
    struct {
        uint64_t ring;
        uint32_t bytes;
        uint64_t writeback;
        uint32_t rptr;
    } ih;
} QVGPU;

/* A GPU address space: one of the VMIDs 1-15 and its tables. */
typedef struct QVGPUSpace {
    QVGPU *v;
    unsigned vmid;
    QVGPUKind tables;           /* where new tables are put */
    uint64_t root;
    uint64_t next_va;           /* for qvgpu_space_place() */
} QVGPUSpace;

/* An SDMA queue. Fields may be changed between init and load. */
typedef struct QVGPUQueue {
    QVGPU *v;
    QVGPUSpace *space;          /* NULL: VMID 0 */
    unsigned engine;
    unsigned index;
    uint32_t cntl;              /* RB_CNTL without RB_ENABLE */
    uint64_t ring;              /* CPU address */
    uint64_t ring_va;
    uint64_t bytes;
    uint64_t rptr;              /* CPU address of the write-back */
    uint64_t rptr_va;
    uint64_t wptr;              /* emitted so far */
    uint32_t doorbell;          /* byte offset in BAR 2; 0: by register */
} QVGPUQueue;

/* A decoded interrupt entry. */
typedef struct QVGPUIrq {
    unsigned client;
    unsigned source;
    unsigned ring;
    unsigned vmid;
    bool mm_hub;
    uint64_t timestamp;
    unsigned pasid;
    uint32_t data[4];
} QVGPUIrq;

/* PASID that qvgpu_start() gives to a VMID. */
#define QVGPU_PASID(vmid)       (0x8000 + (vmid))
#define QVGPU_PAGE              ((uint64_t)VGPU_PAGE_SIZE)
#define QVGPU_RAM_SIZE          (128 * MiB)     /* guest RAM */
#define QVGPU_PTE_RW            (VGPU_PTE_VALID | VGPU_PTE_READABLE | \
                                 VGPU_PTE_WRITEABLE)
/*
 * Bound of every wait, real time (engines have threads of their own), in
 * microseconds: 30 s times VGPU_TEST_SCALE, which a run of the suites sets to
 * how much slower its host is (1 to 4) than the reference; 60 s without that.
 */
int64_t qvgpu_wait_us(void);
/* Virtual time from a retry fault's entry to the same one again. */
#define QVGPU_RESEND_NS         5000000000ll

/* Poll @cond; a bound that is reached fails the test. */
#define qvgpu_wait_until(cond)                                          \
    do {                                                                \
        int64_t until_ = g_get_monotonic_time() + qvgpu_wait_us();      \
        while (!(cond)) {                                               \
            if (g_get_monotonic_time() > until_) {                      \
                g_assertion_message(G_LOG_DOMAIN, __FILE__, __LINE__,   \
                                    G_STRFUNC, "never came: " #cond);   \
            }                                                           \
        }                                                               \
    } while (0)

/* vgpu-qos.c */

/* A machine with the device as it comes out of reset, BARs mapped. */
QVGPU *qvgpu_start_cold(const char *vram);
/*
 * The same, brought up as a driver does: VMID 0's window on guest RAM, an
 * interrupt ring with MSI, retry CAM, traps, doorbells. 64 MiB of VRAM.
 */
QVGPU *qvgpu_start(void);
/* The same, with more arguments for QEMU. */
QVGPU *qvgpu_start_args(const char *args);
/* The same, with another size of VRAM. */
QVGPU *qvgpu_start_sized(const char *vram, const char *args);
/* What those do after the machine has started. */
void qvgpu_bring_up(QVGPU *v);
void qvgpu_stop(QVGPU *v);

/* The first device in a bus, NULL if there is none; the caller frees it. */
QPCIDevice *qvgpu_find(QPCIBus *bus);
/* Size of a BAR as its writable bits tell, and its flag bits. */
uint64_t qvgpu_bar_size(QPCIDevice *pci, unsigned bar, uint32_t *flags);
/* Put BARs where qvgpu_start_cold() puts them. */
void qvgpu_map_bars(QVGPU *v);

/* Registers by dword. */
uint32_t qvgpu_rd(QVGPU *v, uint32_t reg);
void qvgpu_wr(QVGPU *v, uint32_t reg, uint32_t val);
static inline uint32_t qvgpu_mm_rd(QVGPU *v, uint32_t reg)
{
    return qvgpu_rd(v, HUB(VGPU_HUB_MM) + reg);
}
static inline void qvgpu_mm_wr(QVGPU *v, uint32_t reg, uint32_t val)
{
    qvgpu_wr(v, HUB(VGPU_HUB_MM) + reg, val);
}
uint64_t qvgpu_counter(QVGPU *v, unsigned counter);
uint64_t qvgpu_clock(QVGPU *v);
/* Everything that QEMU's main loop had to do, it has done. */
void qvgpu_main_loop_pass(QVGPU *v);

/* @align a power of two. Memory is zero. */
uint64_t qvgpu_alloc(QVGPU *v, QVGPUKind kind, uint64_t size, uint64_t align);
/* A page of guest RAM. */
uint64_t qvgpu_ram_page(QVGPU *v);
bool qvgpu_is_vram(QVGPU *v, uint64_t addr);
/* Bytes @from.. of an endless pattern that @seed selects. */
void qvgpu_fill(QVGPU *v, uint64_t addr, uint64_t seed, uint64_t from,
                uint64_t len);
/* Fail unless memory holds just those bytes, or @len times @byte. */
void qvgpu_expect(QVGPU *v, uint64_t addr, uint64_t seed, uint64_t from,
                  uint64_t len);
void qvgpu_expect_byte(QVGPU *v, uint64_t addr, uint8_t byte, uint64_t len);

/* vgpu-qos-vm.c */

/* Address of @addr in VMID 0 without GART: FB aperture or AGP window. */
uint64_t qvgpu_mc(QVGPU *v, uint64_t addr);
/* Entry bits that lead to @addr: @flags, S for RAM, the address. */
uint64_t qvgpu_entry(QVGPU *v, uint64_t addr, uint64_t flags);
/* Write the two halves of a 64-bit hub register pair (LO32's offset). */
void qvgpu_mm_wr64(QVGPU *v, uint32_t lo, uint64_t val);
uint64_t qvgpu_mm_rd64(QVGPU *v, uint32_t lo);

/* An empty space in VMID @vmid; its faults are retryable. */
void qvgpu_space_init(QVGPUSpace *s, QVGPU *v, unsigned vmid,
                      QVGPUKind tables);
void qvgpu_space_set_retry(QVGPUSpace *s, bool retry);
/* CPU address of @va's entry at @level; makes the tables above it. */
uint64_t qvgpu_space_slot(QVGPUSpace *s, uint64_t va, unsigned level);
/* Write that entry, as it stands. No invalidation. */
void qvgpu_space_set(QVGPUSpace *s, uint64_t va, unsigned level,
                     uint64_t entry);
/* Map whole pages, readable and writable, last one first. No invalidation. */
void qvgpu_space_map(QVGPUSpace *s, uint64_t va, uint64_t addr, uint64_t len);
/* Map at an address of the helper's choice, away from the tests'. */
uint64_t qvgpu_space_place(QVGPUSpace *s, uint64_t addr, uint64_t len);
/*
 * Drop the VMIDs' translations and wait for the acknowledge. @vmids may have
 * more bits of VM_INVALIDATE_ENG_REQ.
 */
void qvgpu_invalidate(QVGPU *v, uint32_t vmids);
/* The same of the 1 << @order pages at @va, which is aligned to them. */
void qvgpu_invalidate_range(QVGPU *v, uint32_t vmids, uint64_t va,
                            unsigned order);

/* vgpu-qos-queue.c */

/* A queue of 4 KiB in guest RAM; nothing is written to the device yet. */
void qvgpu_queue_init(QVGPUQueue *q, QVGPU *v, unsigned engine,
                      unsigned index, QVGPUSpace *s);
/* With a ring of @bytes (a power of two) in @kind. */
void qvgpu_queue_init_ring(QVGPUQueue *q, QVGPU *v, unsigned engine,
                           unsigned index, QVGPUSpace *s, QVGPUKind kind,
                           uint64_t bytes);
/* init and load. */
void qvgpu_queue_open(QVGPUQueue *q, QVGPU *v, unsigned engine,
                      unsigned index, QVGPUSpace *s);
/*
 * init and load a queue that uses VRAM alone: a ring of @bytes, and no
 * write-back of the read pointer.
 */
void qvgpu_queue_open_vram(QVGPUQueue *q, QVGPU *v, unsigned engine,
                           unsigned index, QVGPUSpace *s, uint64_t bytes);
/* Program and enable; pointers start at q->wptr. */
void qvgpu_queue_load(QVGPUQueue *q);
/* Disable and wait for IDLE. */
void qvgpu_queue_disable(QVGPUQueue *q);
void qvgpu_queue_enable(QVGPUQueue *q);
uint32_t qvgpu_queue_rd(QVGPUQueue *q, uint32_t reg);
void qvgpu_queue_wr(QVGPUQueue *q, uint32_t reg, uint32_t val);
uint64_t qvgpu_queue_rptr(QVGPUQueue *q);
bool qvgpu_queue_idle(QVGPUQueue *q);
unsigned qvgpu_queue_exception(QVGPUQueue *q);

/* Put dwords into the ring; the device does not see them before a kick. */
void qvgpu_emit(QVGPUQueue *q, const uint32_t *dw, unsigned n);
#define QVGPU_EMIT(q, ...)                                      \
    qvgpu_emit(q, (const uint32_t[]) { __VA_ARGS__ },           \
               sizeof((const uint32_t[]) { __VA_ARGS__ }) / 4)
/* Halves of an address, low one first, as packets have them. */
#define QVGPU_LO(x)     ((uint32_t)(x))
#define QVGPU_HI(x)     ((uint32_t)((uint64_t)(x) >> 32))
/* Tell the device the write pointer. */
void qvgpu_kick(QVGPUQueue *q);
/* Kick; wait until all is done and the queue idle without an error. */
void qvgpu_finish(QVGPUQueue *q);
/*
 * Run two packets on @q. When this returns, an engine that takes queues in
 * turn has looked at all its others: a stall that should have ended has.
 */
void qvgpu_engine_pass(QVGPUQueue *q);

/* Doorbell of RLC @i of engine @n in a process's slice, as KFD lays it out. */
uint32_t qvgpu_doorbell(unsigned slice, unsigned n, unsigned i);
/*
 * Move what was emitted since @from from the ring to a page of its own.
 * Returns its CPU address.
 */
uint64_t qvgpu_to_buffer(QVGPUQueue *q, uint64_t from, uint32_t *dwords);

/* Packets. Addresses are GPU addresses in the queue's VMID. */
void qvgpu_pkt_copy(QVGPUQueue *q, uint64_t src, uint64_t dst, uint64_t bytes);
void qvgpu_pkt_fill(QVGPUQueue *q, uint64_t dst, uint32_t data,
                    uint64_t bytes, unsigned size);
void qvgpu_pkt_fence(QVGPUQueue *q, uint64_t dst, uint32_t data);
void qvgpu_pkt_trap(QVGPUQueue *q, uint32_t context);
void qvgpu_pkt_poll_mem(QVGPUQueue *q, unsigned func, uint64_t addr,
                        uint32_t value, uint32_t mask, unsigned retry);
void qvgpu_pkt_add64(QVGPUQueue *q, uint64_t addr, uint64_t add);
void qvgpu_pkt_indirect(QVGPUQueue *q, unsigned vmid, uint64_t base,
                        uint32_t dwords);
/* POLL_REGMEM's functions and its "for ever". */
enum {
    QVGPU_POLL_ALWAYS, QVGPU_POLL_LT, QVGPU_POLL_LE, QVGPU_POLL_EQ,
    QVGPU_POLL_NE, QVGPU_POLL_GE, QVGPU_POLL_GT,
};
#define QVGPU_POLL_FOREVER  0xfff

/* vgpu-qos-ih.c */

/* Give the device a ring of 1 << @order dwords; @cntl: more RB_CNTL bits. */
void qvgpu_ih_init(QVGPU *v, unsigned order, uint32_t cntl);
/* Pointer of the write-back, with the overflow bit. */
uint32_t qvgpu_ih_writeback(QVGPU *v);
bool qvgpu_ih_pending(QVGPU *v);
/* Decode the entry at byte @offset of the ring. */
void qvgpu_ih_decode(QVGPU *v, uint32_t offset, QVGPUIrq *irq);
/* Wait for an entry and take it. */
void qvgpu_ih_next(QVGPU *v, QVGPUIrq *irq);
/* The next entry is this VM fault. Returns the CAM slot. */
unsigned qvgpu_ih_next_fault(QVGPU *v, unsigned vmid, uint64_t va, bool write,
                             bool retry);
void qvgpu_cam_ack(QVGPU *v, unsigned slot);
/* An MSI came; forgets it. */
bool qvgpu_msi_take(QVGPU *v);

/* vgpu-qos-state.c */

/*
 * Stop the machine, save it to a file and load it into a new QEMU, which is
 * stopped. The file stays if @keep: its name, which the caller removes and
 * frees.
 */
char *qvgpu_save_restore(QVGPU *v, bool keep);
/*
 * Move to a new QEMU, which is stopped, while the engines work; @feed is called
 * now and then until they have stopped here.
 */
void qvgpu_migrate_live(QVGPU *v, void (*feed)(void *opaque), void *opaque);
/* Let the machine run. */
void qvgpu_cont(QVGPU *v);
/* Does a QEMU with @v's command line load the state in @file? */
bool qvgpu_loads(QVGPU *v, const char *file);
/*
 * The one place in a state of @len bytes where the big-endian @quad stands;
 * fails the test if there is none, or more.
 */
size_t qvgpu_state_find(const char *buf, size_t len, uint64_t quad);
/* qvgpu_loads() with @byte at @at, counted from @quad. @file stays as it is. */
bool qvgpu_loads_with(QVGPU *v, const char *file, uint64_t quad, int at,
                      uint8_t byte);

/* Each file of tests adds its own. */
void qvgpu_add_reset_tests(void);
void qvgpu_add_reset_map_tests(void);
void qvgpu_add_vram_tests(void);
void qvgpu_add_hive_tests(void);
void qvgpu_add_iommu_tests(void);
void qvgpu_add_state_tests(void);
void qvgpu_add_state_hostile_tests(void);
void qvgpu_add_pci_tests(void);
void qvgpu_add_regs_tests(void);
void qvgpu_add_gart_tests(void);
void qvgpu_add_walker_tests(void);
void qvgpu_add_walker_fault_tests(void);
void qvgpu_add_tlb_tests(void);
void qvgpu_add_tlb_range_tests(void);
void qvgpu_add_packet_tests(void);
void qvgpu_add_queue_tests(void);
void qvgpu_add_queue_error_tests(void);
void qvgpu_add_bus_tests(void);
void qvgpu_add_fault_tests(void);
void qvgpu_add_fault_class_tests(void);
void qvgpu_add_sdma_copy_tests(void);
void qvgpu_add_sdma_atomic_tests(void);
void qvgpu_add_sdma_control_tests(void);
void qvgpu_add_sdma_share_tests(void);
void qvgpu_add_sdma_life_tests(void);
void qvgpu_add_replay_tests(void);
void qvgpu_add_hubs_tests(void);
void qvgpu_add_ih_tests(void);
void qvgpu_add_ih_ring_tests(void);
void qvgpu_add_query_tests(void);
void qvgpu_add_cp_hqd_tests(void);
void qvgpu_add_cp_pm4_tests(void);
void qvgpu_add_inject_tests(void);
void qvgpu_add_inject_irq_tests(void);
void qvgpu_add_inject_sdma_tests(void);
void qvgpu_add_inject_seed_tests(void);
void qvgpu_add_inject_vram_tests(void);

#endif /* VGPU_QOS_H */
