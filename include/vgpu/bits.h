/* SPDX-License-Identifier: MIT */
/*
 * Field helpers for the hardware contract.
 *
 * A register is named by its dword offset in BAR 5 (byte offset / 4), a field
 * by the mask REGISTER__FIELD of the bits it occupies. The headers in this
 * folder are plain C without dependencies: the device, the guest driver, the
 * tests and the guest programs all include them.
 */
#ifndef VGPU_BITS_H
#define VGPU_BITS_H

/* The field's value in register value @v, shifted down to bit 0. */
#define VGPU_GET(v, mask)	(((v) & (mask)) / ((mask) & -(mask)))

/* Field value @x placed at the field's position; bits beyond it are cut. */
#define VGPU_PREP(mask, x)	(((x) * ((mask) & -(mask))) & (mask))

/* Register value @v with the field replaced by @x. */
#define VGPU_SET(v, mask, x)	(((v) & ~(mask)) | VGPU_PREP(mask, x))

#endif /* VGPU_BITS_H */
