/* SPDX-License-Identifier: Apache-2.0 */
/* heap.h - how the server's memory is taken from the kernel and given back to it. */
#ifndef SERVE_HEAP_H
#define SERVE_HEAP_H

/* Once, before other threads are started. Left alone, the allocator keeps a heap for every thread
 * and, once it has seen one large block, never gives blocks of that size back. */
void heap_set_up(void);
/* What is free goes back to the kernel; takes some ms when there is much of it. */
void heap_give_back(void);

#endif
