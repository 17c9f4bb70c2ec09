/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzer of vgpu-kfd: compares the device's memory with the model's. The fuzzer
 * shares RAM with QEMU, and accesses VRAM through qtest.
 */
#include "qemu/osdep.h"
#include "tests/qtest/vgpu-kfd/fuzz/fuzz.h"
#include "tests/qtest/vgpu-kfd/lib/device.h"

/*
 * Search pages @from to @end - 1. Set *@first to the first page with m->used[]
 * set. Set *@pages to the number of such pages in a row from there, at most 64.
 * Returns false if there is no such page.
 */
static bool next_run(const FuzzMem *m, uint64_t from, uint64_t end,
                     uint64_t *first, uint64_t *pages)
{
    uint64_t i = from;

    while (i < end && !m->used[i]) {
        i++;
    }
    *first = i;
    while (i < end && m->used[i] && i - *first < 64) {
        i++;
    }
    *pages = i - *first;
    return *pages;
}

void fuzz_upload_memory(FuzzCase *c)
{
    unsigned kind;
    uint64_t at, first, n;

    for (kind = 0; kind < 2; kind++) {
        FuzzMem *m = &c->mem[kind];

        for (at = 0; next_run(m, at, FUZZ_PAGES, &first, &n); at = first + n) {
            uint64_t off = first * QVGPU_PAGE;

            if (kind == QVGPU_RAM) {
                memcpy(c->ram + m->base + off, m->byte + off, n * QVGPU_PAGE);
            } else {
                qtest_bufwrite(c->v->qts, c->vram_bus + m->base + off,
                               m->byte + off, n * QVGPU_PAGE);
            }
        }
    }
}

/* Compare @have, the device's bytes at offset @off, with the model's. */
static void compare(FuzzCase *c, QVGPUKind kind, uint64_t off,
                    const uint8_t *have, uint64_t len)
{
    FuzzMem *m = &c->mem[kind];
    uint64_t i;

    if (!memcmp(have, m->byte + off, len)) {
        return;
    }
    for (i = 0; i < len; i++) {
        if (have[i] != m->byte[off + i] && !m->undef[off + i]) {
            fuzz_fail(c, "%s byte 0x%" PRIx64 " (page %" PRIu64 " of the "
                      "fuzzer's) is 0x%02x, should be 0x%02x",
                      kind == QVGPU_RAM ? "RAM" : "VRAM", m->base + off + i,
                      (off + i) / QVGPU_PAGE, have[i], m->byte[off + i]);
            return;
        }
    }
}

void fuzz_check_pages(FuzzCase *c, uint64_t from, uint64_t end)
{
    unsigned kind;
    uint64_t at, first, n;

    for (kind = 0; kind < 2; kind++) {
        FuzzMem *m = &c->mem[kind];

        for (at = from; next_run(m, at, end, &first, &n); at = first + n) {
            uint64_t off = first * QVGPU_PAGE, len = n * QVGPU_PAGE;

            if (kind == QVGPU_RAM) {
                compare(c, kind, off, c->ram + m->base + off, len);
            } else {
                g_autofree uint8_t *buf = g_malloc(len);

                qtest_bufread(c->v->qts, c->vram_bus + m->base + off, buf,
                              len);
                compare(c, kind, off, buf, len);
            }
        }
    }
}

static bool all_zero(const uint8_t *p, uint64_t len)
{
    return !*p && !memcmp(p, p + 1, len - 1);
}

bool fuzz_check_rest(FuzzCase *c)
{
    uint64_t low = c->v->ram_next, n = 256 * KiB, at;
    g_autofree uint8_t *buf = g_malloc(n);
    FuzzMem *m = &c->mem[QVGPU_RAM];

    compare(c, QVGPU_RAM, 0, c->ram + m->base, FUZZ_MEM);
    if (!all_zero(c->ram + low, m->base - low)) {
        fuzz_fail(c, "RAM that no packet named was written");
    }
    m = &c->mem[QVGPU_VRAM];
    for (at = 0; at < c->vram_size; at += n) {
        qtest_bufread(c->v->qts, c->vram_bus + at, buf, n);
        if (at >= m->base && at < m->base + FUZZ_MEM) {
            compare(c, QVGPU_VRAM, at - m->base, buf, n);
        } else if (!all_zero(buf, n)) {
            fuzz_fail(c, "VRAM that no packet named was written");
        }
    }
    return !c->failure->len;
}

static gint by_place(gconstpointer a, gconstpointer b)
{
    const FuzzFault *x = a, *y = b;

    return x->vmid != y->vmid ? (x->vmid < y->vmid ? -1 : 1) :
           x->page != y->page ? (x->page < y->page ? -1 : 1) :
           (int)x->write - (int)y->write;
}

/*
 * Sort the faults. If a compute queue may have repeated packets (c->redone),
 * keep one of each group of equal faults.
 */
static void sort_faults(FuzzCase *c, GArray *faults)
{
    unsigned i;

    g_array_sort(faults, by_place);
    for (i = faults->len; c->redone && i-- > 1; ) {
        if (!by_place(&g_array_index(faults, FuzzFault, i),
                      &g_array_index(faults, FuzzFault, i - 1))) {
            g_array_remove_index(faults, i);
        }
    }
}

void fuzz_check_faults(FuzzCase *c)
{
    unsigned i;

    sort_faults(c, c->faults);
    sort_faults(c, c->seen_faults);
    for (i = 0; i < MIN(c->faults->len, c->seen_faults->len); i++) {
        FuzzFault *want = &g_array_index(c->faults, FuzzFault, i);
        FuzzFault *have = &g_array_index(c->seen_faults, FuzzFault, i);

        if (by_place(want, have)) {
            fuzz_fail(c, "no-retry fault at page 0x%" PRIx64 " of VMID %u "
                      "(%d), should be at 0x%" PRIx64 " of VMID %u (%d)",
                      have->page, have->vmid, have->write, want->page,
                      want->vmid, want->write);
        }
    }
    c->all_faults += c->seen_faults->len;
    if (c->faults->len != c->seen_faults->len) {
        fuzz_fail(c, "%u no-retry faults, should be %u", c->seen_faults->len,
                  c->faults->len);
    }
}
