/* SPDX-License-Identifier: MIT */
/*
 * Macros for fields of registers.
 *
 * A register is named by its dword offset in BAR 5 (byte offset / 4), a field
 * by the mask REGISTER__FIELD of the bits that the field occupies. The headers
 * in this folder are plain C without dependencies: the device, the guest
 * driver, the tests and the guest programs all include them.
 */
#ifndef VGPU_BITS_H
#define VGPU_BITS_H

/* Return the value of field @mask of register value @v. */
#define VGPU_GET(v, mask)	(((v) & (mask)) / ((mask) & -(mask)))

/* Return @x shifted to field @mask; bits of @x that do not fit are cleared. */
#define VGPU_PREP(mask, x)	(((x) * ((mask) & -(mask))) & (mask))

/* Return register value @v with field @mask replaced by @x. */
#define VGPU_SET(v, mask, x)	(((v) & ~(mask)) | VGPU_PREP(mask, x))

#endif /* VGPU_BITS_H */
