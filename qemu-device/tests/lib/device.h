/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Test-side driver of vgpu-kfd. The driver relies only on include/vgpu/ and
 * docs/hardware.md, so a test fails if the device needs more.
 */
#ifndef VGPU_TEST_DEVICE_H
#define VGPU_TEST_DEVICE_H

#include "tests/qtest/libqtest.h"
#include "tests/qtest/libqos/pci.h"
#include "qemu/units.h"
#include "vgpu/bits.h"
#include "vgpu/device_info.h"
#include "vgpu/doorbell.h"
#include "vgpu/gmc.h"
#include "vgpu/ih.h"
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
    char *args;                 /* QEMU's command line, freed by qvgpu_stop() */
    QPCIBus *bus;
    QPCIDevice *pci;
    uint64_t bar[6];            /* CPU address of each BAR, or 0 */
    uint64_t vram_size;
    uint64_t vram_next;         /* CPU address of first free byte of VRAM */
    /* CPU address of first free byte of guest RAM */
    uint64_t ram_next;
    uint64_t msi;               /* CPU address that MSIs are written to */
    /*
     * The interrupt ring of qvgpu_ih_init(). ring and writeback are CPU
     * addresses.
     */
    struct {
        uint64_t ring;
        uint32_t bytes;
        uint64_t writeback;
        uint32_t rptr;
    } ih;
} QVGPU;

/* PASID that qvgpu_bring_up() gives to a VMID. */
#define QVGPU_PASID(vmid)       (0x8000 + (vmid))
#define QVGPU_PAGE              ((uint64_t)VGPU_PAGE_SIZE)
#define QVGPU_RAM_SIZE          (128 * MiB)     /* from CPU address 0 on */
#define QVGPU_PTE_RW            (VGPU_PTE_VALID | VGPU_PTE_READABLE | \
                                 VGPU_PTE_WRITEABLE)
/*
 * Return the longest wait, in microseconds. VGPU_TEST_SCALE is the host's
 * slowdown, a factor of at least 1 (docs/testing.md). The wait is 30 s times
 * this factor, at most 120 s. If VGPU_TEST_SCALE is unset or below 1 (invalid),
 * the wait is 60 s.
 */
int64_t qvgpu_wait_us(void);

/* Low and high half of an address. Packets contain the low half first. */
#define QVGPU_LO(x)     ((uint32_t)(x))
#define QVGPU_HI(x)     ((uint32_t)((uint64_t)(x) >> 32))

/*
 * Step of the virtual clock in qvgpu_waited(), in nanoseconds: 0.1 ms. Between
 * two steps, one check in qvgpu_wait_until() takes about 0.1 ms of real time.
 * So the virtual clock runs about as fast as real time.
 */
#define QVGPU_STEP_NS   100000

/* Poll @cond. Fails the test after qvgpu_wait_us(). */
#define qvgpu_wait_until(cond)                                          \
    do {                                                                \
        int64_t until_ = g_get_monotonic_time() + qvgpu_wait_us();      \
        while (!(cond)) {                                               \
            if (g_get_monotonic_time() > until_) {                      \
                g_assertion_message(G_LOG_DOMAIN, __FILE__, __LINE__,   \
                                    G_STRFUNC, "timeout: " #cond);      \
            }                                                           \
            qvgpu_waited();                                             \
        }                                                               \
    } while (0)

/**
 * qvgpu_time_passes: select the machine whose clock runs while a test waits
 * @v: the machine; NULL: no machine
 *
 * From now on, each qvgpu_waited() steps the virtual clock of @v. Pass NULL
 * before a wait that holds the main loop (lib/hold.h).
 *
 * Return: the machine that was selected before, or NULL if none was.
 */
QVGPU *qvgpu_time_passes(QVGPU *v);
/*
 * Call after each failed check in a wait. Steps the clock of
 * qvgpu_time_passes(), if any, by QVGPU_STEP_NS. The step blocks while QEMU's
 * main loop is held.
 */
void qvgpu_waited(void);

/*
 * Start a machine whose device is in its reset state, and map the BARs. @vram
 * is the value of property vram; further device properties may follow after a
 * comma.
 */
QVGPU *qvgpu_start_cold(const char *vram);
/* Start a machine with 64 MiB of VRAM, and call qvgpu_bring_up(). */
QVGPU *qvgpu_start(void);
/* As qvgpu_start(), with additional arguments for QEMU. */
QVGPU *qvgpu_start_args(const char *args);
/*
 * As qvgpu_start_args(). @vram is the value of property vram; further device
 * properties may follow after a comma.
 */
QVGPU *qvgpu_start_sized(const char *vram, const char *args);
/*
 * Set up VMID 0's window to guest RAM, an interrupt ring with MSI, the retry
 * CAM, traps and doorbells. Call again after a reset.
 */
void qvgpu_bring_up(QVGPU *v);
/* Quit QEMU and free @v. */
void qvgpu_stop(QVGPU *v);
/*
 * Return true if this QEMU is built with delays in the device's threads
 * (properties x-delays and x-delay-point).
 */
bool qvgpu_has_delays(void);

/* Return the first vgpu-kfd on @bus, or NULL. The caller frees it. */
QPCIDevice *qvgpu_find(QPCIBus *bus);
/*
 * Return the size of a BAR, read from its writable bits. @flags receives the
 * flag bits of the BAR's register.
 */
uint64_t qvgpu_bar_size(QPCIDevice *pci, unsigned bar, uint32_t *flags);
/*
 * Program the BARs' addresses and enable memory decoding. A reset clears both.
 */
void qvgpu_map_bars(QVGPU *v);

/*
 * Access MMIO registers by dword offset. The offsets of the mm variants are
 * relative to the MM hub.
 */
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
/* Read @counter, one of VGPU_CNT_* (vgpu/device_info.h). */
uint64_t qvgpu_counter(QVGPU *v, unsigned counter);
/* Capture and read the GPU clock, in ticks of VGPU_CLOCK_HZ. */
uint64_t qvgpu_clock(QVGPU *v);
/*
 * Return after QEMU's main loop has run all bottom halves that were due at the
 * call.
 */
void qvgpu_main_loop_pass(QVGPU *v);

/*
 * Allocate zeroed memory, for the life of the machine. Returns the CPU address.
 * Fails the test if memory runs out. @align: a power of two.
 */
uint64_t qvgpu_alloc(QVGPU *v, QVGPUKind kind, uint64_t size, uint64_t align);
/* As qvgpu_alloc(), for one page of guest RAM. */
uint64_t qvgpu_ram_page(QVGPU *v);
/*
 * Return true if CPU address @addr is in VRAM (BAR 0). Any other address is
 * guest RAM.
 */
bool qvgpu_is_vram(QVGPU *v, uint64_t addr);
/*
 * Fill @len bytes at CPU address @addr with bytes @from to @from + @len - 1 of
 * the pattern that @seed selects.
 */
void qvgpu_fill(QVGPU *v, uint64_t addr, uint64_t seed, uint64_t from,
                uint64_t len);
/*
 * Fail the test unless the @len bytes at @addr are those that qvgpu_fill()
 * writes with the same arguments. qvgpu_expect_byte() fails the test unless
 * each of the bytes equals @byte.
 */
void qvgpu_expect(QVGPU *v, uint64_t addr, uint64_t seed, uint64_t from,
                  uint64_t len);
void qvgpu_expect_byte(QVGPU *v, uint64_t addr, uint8_t byte, uint64_t len);

#endif /* VGPU_TEST_DEVICE_H */
