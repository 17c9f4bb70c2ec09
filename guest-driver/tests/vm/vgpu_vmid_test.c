// SPDX-License-Identifier: GPL-2.0
/*
 * Test VMIDs (vm/vgpu_vmid.c) and PASIDs (process/kfd_pasid.c). Catches: two address spaces have
 * the same VMID; a VMID is lost; a context stays enabled after its VMID is free; a PASID is
 * allocated twice, or is 0.
 */
#include "hw/vgpu_hw_priv.h"
#include "process/kfd_pasid.h"
#include "tests/lib/vgpu_mock.h"

#define N_VMIDS		(VGPU_LAST_KFD_VMID - VGPU_FIRST_KFD_VMID + 1)
#define N_VMS		20u
#define ROUNDS		1000

/**
 * struct vmid_mock - a device with more address spaces than there are VMIDs
 * @mock: device
 * @mem: memory that the root tables of all address spaces share
 * @vm: address spaces
 */
struct vmid_mock {
	struct vgpu_mock *mock;
	__le64 mem[VGPU_PT_ENTRIES];
	struct vgpu_vm_state vm[N_VMS];
};

static struct vmid_mock *of_pt(struct vgpu_pt *pt)
{
	struct vgpu_vm_state *vm = container_of(pt, struct vgpu_vm_state, pt);

	return container_of(vm - vm->pasid, struct vmid_mock, vm[0]);
}

static int vmid_mock_alloc(struct vgpu_pt *pt, struct vgpu_pt_mem *mem)
{
	struct vgpu_vm_state *vm = container_of(pt, struct vgpu_vm_state, pt);

	/* The test writes no entries, so all roots can share the memory. */
	mem->entries = (__le64 __iomem __force *)of_pt(pt)->mem;
	mem->addr = (vm->pasid + 1) * PAGE_SIZE;
	return 0;
}

static const struct vgpu_pt_ops vmid_mock_ops = { .alloc = vmid_mock_alloc };

static void vmid_mock_fini(void *arg)
{
	struct vmid_mock *m = arg;
	unsigned int i;

	for (i = 0; i < N_VMS; i++) {
		vgpu_vm_put_vmid(&m->vm[i].base);
		vgpu_pt_fini(&m->vm[i].pt);
	}
}

static struct vmid_mock *vmid_mock_new(struct kunit *test)
{
	struct vmid_mock *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, m);
	m->mock = vgpu_mock_new(test);
	vgpu_mock_regs(test, m->mock);
	mutex_init(&m->mock->vdev.vmm->lock);
	for (i = 0; i < N_VMS; i++) {
		struct vgpu_vm_state *vm = &m->vm[i];

		vm->base.vdev = &m->mock->vdev;
		vm->pasid = i;
		vm->compute = true;
		mutex_init(&vm->pt_lock);
		KUNIT_ASSERT_EQ(test, vgpu_pt_init(&vm->pt, &vmid_mock_ops, 0),
				0);
	}
	/*
	 * Register this action last, so that vmid_mock_fini() runs before the stubs are
	 * removed.
	 */
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, vmid_mock_fini,
							m), 0);
	return m;
}

static u64 vmid_root(struct vmid_mock *m, unsigned int vmid)
{
	u32 reg = HUB(VGPU_HUB_MM) + VM_CONTEXT_PAGE_TABLE_BASE_ADDR_LO32(vmid);

	return m->mock->regs[reg] | (u64)m->mock->regs[reg + 1] << 32;
}

/*
 * Catches: a VMID is allocated twice; the allocation does not fail with -ENOSPC when no VMID
 * is free; a VMID that was put cannot be allocated again.
 */
static void vmid_exhaust(struct kunit *test)
{
	struct vmid_mock *m = vmid_mock_new(test);
	unsigned long seen = 0;
	unsigned int i;
	u8 vmid;

	for (i = 0; i < N_VMIDS; i++) {
		KUNIT_ASSERT_EQ(test, vgpu_vm_get_vmid(&m->vm[i].base), 0);
		vmid = m->vm[i].base.vmid;
		KUNIT_ASSERT_GE(test, vmid, VGPU_FIRST_KFD_VMID);
		KUNIT_ASSERT_LE(test, vmid, VGPU_LAST_KFD_VMID);
		KUNIT_ASSERT_FALSE(test, __test_and_set_bit(vmid, &seen));
	}
	KUNIT_EXPECT_EQ(test, vgpu_vm_get_vmid(&m->vm[i].base), -ENOSPC);
	KUNIT_EXPECT_EQ(test, m->vm[i].base.vmid, 0);
	vmid = m->vm[4].base.vmid;
	vgpu_vm_put_vmid(&m->vm[4].base);
	KUNIT_EXPECT_EQ(test, vgpu_vm_get_vmid(&m->vm[i].base), 0);
	KUNIT_EXPECT_EQ(test, m->vm[i].base.vmid, vmid);
}

static void vmid_context(struct kunit *test)
{
	struct vmid_mock *m = vmid_mock_new(test);
	struct vgpu_vm *vm = &m->vm[7].base;
	u8 vmid;

	KUNIT_ASSERT_EQ(test, vgpu_vm_get_vmid(vm), 0);
	vmid = vm->vmid;
	KUNIT_EXPECT_EQ(test, vmid_root(m, vmid), 8 * PAGE_SIZE | 1);
	KUNIT_EXPECT_EQ(test, m->mock->regs[IH_VMID_LUT(vmid)], 7);
	vgpu_vm_put_vmid(vm);
	KUNIT_EXPECT_EQ(test, vm->vmid, 0);
	KUNIT_EXPECT_EQ(test, vmid_root(m, vmid), 0);
	KUNIT_EXPECT_EQ(test, m->mock->regs[IH_VMID_LUT(vmid)], 0);
}

static void vmid_twice(struct kunit *test)
{
	struct vmid_mock *m = vmid_mock_new(test);
	u8 vmid;

	KUNIT_ASSERT_EQ(test, vgpu_vm_get_vmid(&m->vm[1].base), 0);
	vmid = m->vm[1].base.vmid;
	KUNIT_EXPECT_EQ(test, vgpu_vm_get_vmid(&m->vm[1].base), 0);
	KUNIT_EXPECT_EQ(test, m->vm[1].base.vmid, vmid);
	vgpu_vm_put_vmid(&m->vm[1].base);
	KUNIT_EXPECT_EQ(test, m->vm[1].base.vmid, 0);
	/*
	 * vm[2] gets the VMID that vm[1] had. A second put of vm[1] must not disable the context of
	 * this VMID.
	 */
	KUNIT_ASSERT_EQ(test, vgpu_vm_get_vmid(&m->vm[2].base), 0);
	vgpu_vm_put_vmid(&m->vm[1].base);
	KUNIT_EXPECT_EQ(test, vmid_root(m, m->vm[2].base.vmid), 3 * PAGE_SIZE | 1);
}

/*
 * Catches: an address space of the render node gets a VMID of KFD; an address space of KFD gets a
 * VMID of the render node.
 */
static void vmid_graphics(struct kunit *test)
{
	struct vmid_mock *m = vmid_mock_new(test);
	unsigned int i;

	for (i = 0; i < 3; i++)
		m->vm[i].compute = false;
	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_EQ(test, vgpu_vm_get_vmid(&m->vm[i].base), 0);
		KUNIT_EXPECT_LE(test, m->vm[i].base.vmid, VGPU_LAST_GFX_VMID);
	}
	KUNIT_EXPECT_NE(test, m->vm[0].base.vmid, m->vm[1].base.vmid);
	KUNIT_EXPECT_EQ(test, vgpu_vm_get_vmid(&m->vm[2].base), -ENOSPC);
	KUNIT_ASSERT_EQ(test, vgpu_vm_get_vmid(&m->vm[3].base), 0);
	KUNIT_EXPECT_GE(test, m->vm[3].base.vmid, VGPU_FIRST_KFD_VMID);
}

/* Catches: the context of a VMID is set to page tables that were lost with VRAM. */
static void vmid_vram_lost(struct kunit *test)
{
	struct vmid_mock *m = vmid_mock_new(test);
	unsigned int i;

	atomic_inc(&m->mock->vdev.hw->vram_epoch);
	KUNIT_EXPECT_EQ(test, vgpu_vm_get_vmid(&m->vm[3].base), -ECANCELED);
	KUNIT_EXPECT_EQ(test, m->vm[3].base.vmid, 0);
	for (i = 1; i < VGPU_NUM_VMIDS; i++)
		KUNIT_EXPECT_EQ(test, vmid_root(m, i), 0);
}

static void vmid_random(struct kunit *test)
{
	struct vmid_mock *m = vmid_mock_new(test);
	struct vgpu_vm_state *owner[VGPU_NUM_VMIDS] = {};
	unsigned int round, i, n = 0;

	for (round = 0; round < ROUNDS; round++) {
		unsigned int k = vgpu_mock_random(m->mock, N_VMS);
		struct vgpu_vm *vm = &m->vm[k].base;

		if (vm->vmid) {
			owner[vm->vmid] = NULL;
			n--;
			vgpu_vm_put_vmid(vm);
		} else {
			KUNIT_ASSERT_EQ(test, vgpu_vm_get_vmid(vm),
					n < N_VMIDS ? 0 : -ENOSPC);
			if (vm->vmid) {
				KUNIT_ASSERT_NULL(test, owner[vm->vmid]);
				owner[vm->vmid] = &m->vm[k];
				n++;
			}
		}
		for (i = 1; i < VGPU_NUM_VMIDS; i++)
			KUNIT_ASSERT_EQ(test, vmid_root(m, i), owner[i] ?
					(owner[i]->pasid + 1) * PAGE_SIZE | 1 :
					0);
	}
}

/*
 * Allocate all free PASIDs. Catches: a PASID is 0 or is allocated twice; the allocation does
 * not fail when no PASID is free.
 */
static void pasid_exhaust(struct kunit *test)
{
	unsigned long *mine = kunit_kzalloc(test, BITS_TO_LONGS(SZ_64K) *
					    sizeof(long), GFP_KERNEL);
	unsigned int n = 0, pasid;
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, mine);
	for (;;) {
		ret = kfd_pasid_alloc();
		if (ret < 0)
			break;
		if (!ret || ret >= SZ_64K || __test_and_set_bit(ret, mine)) {
			KUNIT_FAIL(test, "PASID %d", ret);
			break;
		}
		n++;
	}
	KUNIT_EXPECT_EQ(test, ret, -ENOSPC);
	/* Other processes may use the PASIDs that the test did not get. */
	KUNIT_EXPECT_GT(test, n, SZ_64K - 1000);
	for_each_set_bit(pasid, mine, SZ_64K)
		kfd_pasid_free(pasid);
}

static void pasid_reuse(struct kunit *test)
{
	struct rnd_state rnd;
	int pasid[64] = {};
	unsigned int i, k, n;

	vgpu_test_rnd(test, &rnd);
	for (i = 0; i < ROUNDS; i++) {
		n = vgpu_test_random(&rnd, ARRAY_SIZE(pasid));
		if (pasid[n]) {
			kfd_pasid_free(pasid[n]);
			pasid[n] = 0;
			continue;
		}
		pasid[n] = kfd_pasid_alloc();
		KUNIT_ASSERT_GT(test, pasid[n], 0);
		for (k = 0; k < ARRAY_SIZE(pasid); k++)
			KUNIT_ASSERT_FALSE(test, k != n &&
					   pasid[k] == pasid[n]);
	}
	for (i = 0; i < ARRAY_SIZE(pasid); i++)
		if (pasid[i])
			kfd_pasid_free(pasid[i]);
}

static struct kunit_case vmid_cases[] = {
	KUNIT_CASE(vmid_exhaust),
	KUNIT_CASE(vmid_context),
	KUNIT_CASE(vmid_twice),
	KUNIT_CASE(vmid_graphics),
	KUNIT_CASE(vmid_vram_lost),
	KUNIT_CASE(vmid_random),
	KUNIT_CASE(pasid_exhaust),
	KUNIT_CASE(pasid_reuse),
	{}
};

static struct kunit_suite vmid_suite = {
	.name = "vgpu_vmid",
	.test_cases = vmid_cases,
};

kunit_test_suite(vmid_suite);
