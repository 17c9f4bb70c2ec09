/* SPDX-License-Identifier: MIT */
/*
 * Macros for register fields. In this folder, REG is a register's dword offset
 * in BAR 5 (byte offset / 4), REG__FIELD a field's mask.
 */
#ifndef VGPU_BITS_H
#define VGPU_BITS_H

/*
 * Headers in this folder include no headers, because the device, the driver and
 * user programs share them.
 */

/* Return the value of field @mask of register value @v. */
#define VGPU_GET(v, mask)	(((v) & (mask)) / ((mask) & -(mask)))

/* Return @x shifted to field @mask; bits of @x that do not fit are cleared. */
#define VGPU_PREP(mask, x)	(((x) * ((mask) & -(mask))) & (mask))

/* Return register value @v with field @mask replaced by @x. */
#define VGPU_SET(v, mask, x)	(((v) & ~(mask)) | VGPU_PREP(mask, x))

#endif /* VGPU_BITS_H */
