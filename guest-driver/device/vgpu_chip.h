/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Properties of an MI210 that topology and INFO ioctls report, because user-space libraries
 * size their work by these values. The modelled device itself executes no shaders.
 */
#ifndef VGPU_CHIP_H
#define VGPU_CHIP_H

#define VGPU_CHIP_NUM_CU		104
#define VGPU_CHIP_NUM_SE		8
#define VGPU_CHIP_CU_PER_SH		14	/* of these 14 CUs, 13 are active */
#define VGPU_CHIP_WAVE_SIZE		64
#define VGPU_CHIP_MAX_ENGINE_MHZ	1700

#endif /* VGPU_CHIP_H */
