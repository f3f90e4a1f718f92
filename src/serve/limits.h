/* SPDX-License-Identifier: Apache-2.0 */
/* limits.h - how much of the machine the server takes: its memory, whose turn it is to take much of
 * it, how often work is repeated; and how it survives files that are truncated. */
#ifndef SERVE_LIMITS_H
#define SERVE_LIMITS_H

#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"

/* ---- memory, taken from the kernel and given back to it ---- */

/* Once, before other threads are started. By default the allocator has a heap for every thread
 * and, once it has seen one large block, never gives blocks of that size back. */
void heap_set_up(void);
/* What is free goes back to the kernel; takes some ms when there is much of it. */
void heap_give_back(void);

/* ---- files that are truncated while they are mapped ----
 *
 * Run files only grow, but a user may truncate one, or a network folder may vanish. Reading a page
 * that was cut off raises SIGBUS, which would end the server for all other runs too. So the page is
 * replaced by zeros, which no checksum accepts, and counted: a reader that sees another count after
 * its work discards the result. */

/* For the whole process, once. */
MUST_CHECK int sigbus_guard_install(struct err *e);
/* For a thread that was started with signals blocked. */
void sigbus_guard_thread(void);
uint64_t sigbus_guard_count(void);

/* ---- turns of work that takes much memory ----
 *
 * To read every event of a run takes some ten times the bytes of its files while it lasts. Such
 * jobs run side by side only as long as the runs are small together; a large one waits until it is
 * alone. So the maximum does not grow with the number of runs that are requested. */

struct memory_limit;

struct memory_limit *memory_limit_open(void);
void memory_limit_close(struct memory_limit *h); /* NULL is fine */

/* Waits for the turn of work on files of this size; returns the bytes for memory_limit_leave. */
uint64_t memory_limit_enter(struct memory_limit *h, uint64_t bytes);
/* Gives the memory that was freed back to the kernel, too. */
void memory_limit_leave(struct memory_limit *h, uint64_t bytes);

/* ---- when to repeat what is repeated while a client watches ----
 *
 * Its cost may grow with the run, so the pause grows with the cost: a twentieth of the time at most
 * goes into it. Time by the clock counts, not that of the CPU: work that is slow because the
 * machine is busy with the job, or waits for a far disk, should be repeated less often; and some of
 * such work is done by several threads, of which none knows what the others take. */

enum { PACE_COST = 20 }; /* times as long as it takes, from one beginning to the next */

/* When what began and ended then may begin again; not sooner than `least_ns` after it began. */
mono_ns pace_next(mono_ns begin, mono_ns end, int64_t least_ns);

/* The same for many things that share one twentieth. The result is the time from which on the next
 * of them may begin, and is passed in the next time; 0 at first. After a pause `credit_ns` of it
 * may be made up for. */
mono_ns pace_share(mono_ns before, mono_ns begin, mono_ns end, int64_t credit_ns);

#endif
