/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzer of vgpu-kfd: starts the machine that runs cases. The fuzzer shares the
 * machine's RAM. The machine has one device, or a hive of two.
 */
#include "qemu/osdep.h"
#include <glib/gstdio.h>
#include <sys/mman.h>
#include "tests/qtest/vgpu-kfd/fuzz/fuzz.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"
#include "tests/qtest/vgpu-kfd/lib/ih.h"
#include "tests/qtest/vgpu-kfd/lib/page-table.h"

/* log2 of the ring's dwords; 1024 entries */
#define IH_ORDER        13
#define PEER_DOORBELL   (192 * GiB)
#define PEER_MMIO       0xe1000000u

/*
 * Map the second device. Its VRAM follows the VRAM of the first device, both in
 * bus addresses and in the addresses of the hive.
 */
static QVGPU *map_peer(QVGPU *v)
{
    QVGPU *p = g_new0(QVGPU, 1);

    *p = *v;
    p->pci = qpci_device_find(v->bus, QPCI_DEVFN(2, 0));
    g_assert_nonnull(p->pci);
    p->bar[VGPU_BAR_VRAM] = v->bar[VGPU_BAR_VRAM] + v->vram_size;
    p->bar[VGPU_BAR_DOORBELL] = PEER_DOORBELL;
    p->bar[VGPU_BAR_MMIO] = PEER_MMIO;
    qvgpu_map_bars(p);
    return p;
}

/*
 * Set up a hive of two devices. Cases run on one device, and use memory of
 * both.
 */
static void start_hive(FuzzCase *c)
{
    QVGPU *peer = map_peer(c->v), *other = peer;

    if (c->machine == FUZZ_HIVE_1) {
        other = c->v;
        c->v = peer;
        qvgpu_bring_up(peer);
    }
    g_free(other->pci);
    g_free(other);
}

void fuzz_start(FuzzCase *c, FuzzMachine machine)
{
    bool hive = machine != FUZZ_ALONE;
    g_autofree char *args = NULL;
    unsigned i;
    int fd;

    memset(c, 0, sizeof(*c));
    c->machine = machine;
    fd = g_file_open_tmp("vgpu-fuzz-XXXXXX", &c->ram_file, NULL);
    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(ftruncate(fd, QVGPU_RAM_SIZE), ==, 0);
    c->ram = mmap(NULL, QVGPU_RAM_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                  0);
    g_assert_true(c->ram != MAP_FAILED);
    close(fd);
    args = g_strdup_printf("%s -machine memory-backend=ram -object "
                           "memory-backend-file,id=ram,share=on,size=%uM,"
                           "mem-path=%s",
                           hive ? "-object vgpu-hive,id=h0 "
                           "-device vgpu-kfd,vram=64M,hive=h0,node=1" : "",
                           (unsigned)(QVGPU_RAM_SIZE / MiB), c->ram_file);
    /* Node 0 executes packets in doorbells, too; node 1 only in threads. */
    c->v = qvgpu_start_sized(hive ? "64M,inline-bytes=4096,hive=h0,node=0" :
                                    "64M,inline-bytes=4096", args);
    c->vram_bus = c->v->bar[VGPU_BAR_VRAM];
    c->vram_size = c->v->vram_size;
    c->mem[QVGPU_RAM].base = QVGPU_RAM_SIZE - FUZZ_MEM;
    c->mem[QVGPU_VRAM].base = c->vram_size - FUZZ_MEM;
    if (hive) {
        /*
         * FuzzMem's page tables and first two parts are in the VRAM of node 0.
         * The last two parts are in the VRAM of node 1.
         */
        c->mem[QVGPU_VRAM].base = c->vram_size - FUZZ_PARTS_AT - 2 * FUZZ_PART;
        c->vram_size *= 2;
        start_hive(c);
    }
    qvgpu_ih_init(c->v, IH_ORDER, 0);

    c->ram_size = QVGPU_RAM_SIZE;
    c->agp = qvgpu_mc(c->v, 0);
    c->fb = (uint64_t)qvgpu_mm_rd(c->v, MC_VM_FB_LOCATION_BASE) << 24;
    for (i = 0; i < 2; i++) {
        c->mem[i].byte = g_malloc0(FUZZ_MEM);
        c->mem[i].undef = g_malloc0(FUZZ_MEM);
    }
    for (i = 0; i < FUZZ_QUEUES; i++) {
        FuzzQueue *q = &c->queue[i];

        q->traps = g_array_new(false, false, sizeof(uint32_t));
        q->seen_traps = g_array_new(false, false, sizeof(uint32_t));
        q->seen_stalls = g_array_new(false, false, sizeof(QVGPUIrq));
    }
    c->broken = g_array_new(false, false, sizeof(FuzzBroken));
    c->faults = g_array_new(false, true, sizeof(FuzzFault));
    c->seen_faults = g_array_new(false, true, sizeof(FuzzFault));
    c->failure = g_string_new(NULL);
}

void fuzz_stop(FuzzCase *c)
{
    unsigned i;

    qvgpu_stop(c->v);
    g_unlink(c->ram_file);
    g_free(c->ram_file);
    munmap(c->ram, c->ram_size);
    for (i = 0; i < 2; i++) {
        g_free(c->mem[i].byte);
        g_free(c->mem[i].undef);
    }
    for (i = 0; i < FUZZ_QUEUES; i++) {
        g_array_unref(c->queue[i].traps);
        g_array_unref(c->queue[i].seen_traps);
        g_array_unref(c->queue[i].seen_stalls);
    }
    g_array_unref(c->broken);
    g_array_unref(c->faults);
    g_array_unref(c->seen_faults);
    g_string_free(c->failure, true);
}
