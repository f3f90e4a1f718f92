/* SPDX-License-Identifier: Apache-2.0 */
/* limits.h - how much of the machine the server takes: its memory, whose turn it is to take much of
 * it, how often work is repeated; and how it survives files that are truncated. */
#ifndef SERVE_LIMITS_H
#define SERVE_LIMITS_H

#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"

/* ---- memory, taken from the kernel and given back to it ---- */

/* Once, before other threads are started. Left alone, the allocator keeps a heap for every thread
 * and, once it has seen one large block, never gives blocks of that size back. */
void heap_set_up(void);
/* What is free goes back to the kernel; takes some ms when there is much of it. */
void heap_give_back(void);

/* ---- files that are truncated while they are mapped ----
 *
 * Run files only grow, but a user may truncate one, or a network folder may vanish. Reading a page
 * that is gone raises SIGBUS, which would end the server for all other runs too. So the page is
 * replaced by zeros, which no checksum accepts, and counted: a reader that sees another count after
 * its work discards the result. */

/* For the whole process, once. */
MUST_CHECK int sigbus_guard_install(struct err *e);
/* For a thread that was started with signals blocked. */
void sigbus_guard_thread(void);
uint64_t sigbus_guard_count(void);

/* ---- turns of work that takes much memory ----
 *
 * To look at every event of a run takes some ten times the bytes of its files while it lasts. Such
 * work goes on side by side only as long as the runs are small together; a large one waits until it
 * is alone. So the most that is taken does not grow with how many are asked about. */

struct heavy;

struct heavy *heavy_open(void);
void heavy_close(struct heavy *h); /* NULL is fine */

/* Waits for the turn of work on files of so many bytes; hands back what heavy_end wants to know. */
uint64_t heavy_begin(struct heavy *h, uint64_t bytes);
/* Gives the memory that was freed back to the kernel, too. */
void heavy_end(struct heavy *h, uint64_t bytes);

/* ---- when to repeat what is repeated while somebody watches ----
 *
 * Its cost may grow with the run, so the pause grows with the cost: a twentieth of the time at most
 * goes into it. Time by the clock counts, not that of the CPU: who is slow because the machine is
 * busy with the job, or waits for a far disk, should ask for less of both; and some of such work is
 * done by several threads, of which none knows what the others take. */

enum { PACE_COST = 20 }; /* times as long as it takes, from one beginning to the next */

/* When what began and ended then may begin again; not sooner than `least_ns` after it began. */
mono_ns pace_next(mono_ns begin, mono_ns end, int64_t least_ns);

/* The same for many things that share one twentieth. What is handed back says from when on the next
 * of them may begin, and is handed in the next time; 0 at first. Who did nothing for a while may
 * make up for `credit_ns` of it. */
mono_ns pace_share(mono_ns before, mono_ns begin, mono_ns end, int64_t credit_ns);

#endif
