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
#ifndef VGPU_TEST_DEVICE_H
#define VGPU_TEST_DEVICE_H

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

/* Halves of an address, low one first, as packets have them. */
#define QVGPU_LO(x)     ((uint32_t)(x))
#define QVGPU_HI(x)     ((uint32_t)((uint64_t)(x) >> 32))

/* Virtual time that passes when a wait looks in vain: about what that takes. */
#define QVGPU_STEP_NS   100000

/* Poll @cond; a bound that is reached fails the test. */
#define qvgpu_wait_until(cond)                                          \
    do {                                                                \
        int64_t until_ = g_get_monotonic_time() + qvgpu_wait_us();      \
        while (!(cond)) {                                               \
            if (g_get_monotonic_time() > until_) {                      \
                g_assertion_message(G_LOG_DOMAIN, __FILE__, __LINE__,   \
                                    G_STRFUNC, "never came: " #cond);   \
            }                                                           \
            qvgpu_waited();                                             \
        }                                                               \
    } while (0)

/*
 * From here on virtual time passes in @v while qvgpu_wait_until() waits, by
 * QVGPU_STEP_NS each time that it looks in vain. For tests of what waits for a
 * time: polls, time slices, retry faults without the CAM. NULL: the clock of
 * all machines stands still, as it does at first. Returns whose clock ran.
 *
 * Not while the main loop is held (lib/hold.h): it steps the clock.
 */
QVGPU *qvgpu_time_passes(QVGPU *v);
/* For qvgpu_wait_until() and loops like it: it has looked in vain. */
void qvgpu_waited(void);

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
/* Size of a BAR by its writable bits, and its flag bits. */
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

#endif /* VGPU_TEST_DEVICE_H */
