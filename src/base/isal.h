/* SPDX-License-Identifier: Apache-2.0 */
/* isal.h - Intel's ISA-L, which is loaded where the machine has it, not linked, so that the program
 * starts anywhere. Used only where its header was there to build with: the layout of its states
 * comes from that, and is the same for all of libisal.so.2. */
#ifndef BASE_ISAL_H
#define BASE_ISAL_H

/* NULL: it is not here. For dlsym and dlclose; it stays loaded, so that to open it again costs
 * little. */
void *isal_open(void);
/* After every call of a function of it: they may leave the upper halves of the vector registers
 * dirty, which makes every instruction that knows only of the lower halves wait. */
void isal_leave(void);

#endif
