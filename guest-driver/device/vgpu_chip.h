/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An MI210, by what user space computes with. There are no shaders behind it:
 * libraries size their work by these numbers.
 */
#ifndef VGPU_CHIP_H
#define VGPU_CHIP_H

#define VGPU_CHIP_NUM_CU		104
#define VGPU_CHIP_NUM_SE		8
#define VGPU_CHIP_CU_PER_SH		14	/* 13 of them work */
#define VGPU_CHIP_WAVE_SIZE		64
#define VGPU_CHIP_MAX_ENGINE_MHZ	1700

#endif /* VGPU_CHIP_H */
