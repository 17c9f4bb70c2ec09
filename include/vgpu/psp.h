/* SPDX-License-Identifier: MIT */
/*
 * vgpu-kfd: the mailbox of the PSP (MP0), as far as a reset needs it. Register
 * numbers are dwords in BAR 5.
 */
#ifndef VGPU_PSP_H
#define VGPU_PSP_H

#define MP0_SMN_C2PMSG_33		0x16061		/* RO: ready again after a reset */
#define MP0_SMN_C2PMSG_64		0x16080		/* commands; reads: ready */
#define MP0_SMN_C2PMSG_81		0x16091		/* RO: 0, no system OS */

#define PSP_BASE			MP0_SMN_C2PMSG_33

#define MP0_SMN_C2PMSG__READY		0x80000000u

/* Commands */
#define PSP_CMD_MODE1_RESET		0x00070000u

#endif /* VGPU_PSP_H */
