/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions that the files of the agent share. */
#ifndef AGENT_H
#define AGENT_H

#include <stddef.h>

/* agent.c: print @what and the error in errno, then power the guest off. */
void die(const char *what);
/* agent.c: undo main()'s block of SIGCHLD, in a child before exec. */
void unblock_signals(void);

/*
 * init.c: run vgpu-devices, which mounts the programs, loads the driver and mounts the host's
 * folder. @state receives the state of the driver, which vgpu-devices prints.
 */
void attach_devices(char *state, size_t size);
/*
 * init.c: do the work of /init. @state receives the state of the driver, or "waiting" if the
 * driver is not loaded yet. Does not return if the guest changes to another root.
 */
void boot(char *state, size_t size);

#endif /* AGENT_H */
