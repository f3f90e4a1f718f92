/* SPDX-License-Identifier: Apache-2.0 */
/* pace.h - when to do again what is done over and over while somebody watches.
 *
 * Its cost may grow with the run, so the pause grows with the cost: a twentieth of the time at most
 * goes into it. Time by the clock counts, not that of the CPU: who is slow because the machine is
 * busy with the job, or waits for a far disk, should ask for less of both; and some of such work is
 * done by several threads, of which none knows what the others take. */
#ifndef SERVE_PACE_H
#define SERVE_PACE_H

#include "base/clock.h"

enum { PACE_COST = 20 }; /* times as long as it takes, from one beginning to the next */

/* When what began and ended then may begin again; not sooner than `least_ns` after it began. */
mono_ns pace_next(mono_ns begin, mono_ns end, int64_t least_ns);

/* The same for many things that share one twentieth. What is handed back says from when on the next
 * of them may begin, and is handed in the next time; 0 at first. Who did nothing for a while may
 * make up for `credit_ns` of it. */
mono_ns pace_share(mono_ns before, mono_ns begin, mono_ns end, int64_t credit_ns);

#endif
