/* SPDX-License-Identifier: MIT */
/*
 * The registers of the PSP (MP0) mailbox that a reset needs, as dword offsets
 * in BAR 5.
 */
#ifndef VGPU_PSP_H
#define VGPU_PSP_H

#define MP0_SMN_C2PMSG_33		0x16061		/* read-only: READY after a reset */
#define MP0_SMN_C2PMSG_64		0x16080		/* write: a command; read: READY */
/* Read-only and 0, because no secure OS runs. */
#define MP0_SMN_C2PMSG_81		0x16091

#define PSP_BASE			MP0_SMN_C2PMSG_33

#define MP0_SMN_C2PMSG__READY		0x80000000u

/* Commands for MP0_SMN_C2PMSG_64. */
#define PSP_CMD_MODE1_RESET		0x00070000u

#endif /* VGPU_PSP_H */
