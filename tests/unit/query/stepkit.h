/* SPDX-License-Identifier: Apache-2.0 */
/* stepkit.h - the events of a thread as text, for tests of steps.
 *
 *     "D5 F3 B4 O1"        one after the other, durations in ns
 *     ".7"                 nothing for 7
 *     "O1:2"               the value: which optimizer, which step
 *     "F9!"  "F9?"         its end never came / has not come yet
 *     "B9(F2 .1 O3:1)"     inside it, from its begin on
 *     "N32"                a count: the batch has 32 samples
 *
 * D data, F forward, E forward.eval, B backward, O optimizer, Z zero_grad, H h2d, X compile,
 * K checkpoint, C comm.all_reduce, L loader.start, Y sync, G graph.replay, W detail.window, U a
 * span of the user's, and steps that the program says: S train, V eval, P predict; "Q0" is the mark
 * that voids one. Counts: N batch.size, T sync.short, A process.device. */
#ifndef TESTS_STEPKIT_H
#define TESTS_STEPKIT_H

#include "query/steps.h"

/* Added to monotonic time to make the wall time of these events. */
#define KIT_WALL ((int64_t)5000)

struct stepkit {
    struct run_event *v; /* sorted as events_read does; the names are static */
    size_t n, cap;
    int64_t at; /* where the next one begins */
};

void stepkit_add(struct stepkit *k, const char *text);
void stepkit_free(struct stepkit *k);
/* "t0 0+13, e0 13+5!, ..." of all steps: mode, number, start, duration; ! is cut. In a ring. */
const char *kit_steps_text(const struct step *v, size_t n);
/* kit_steps_text of what steps_derive makes of the text. */
const char *kit_steps_of(const char *text);
/* "data 5, forward 3, other 1": the parts of the step that are not zero. */
const char *kit_parts_text(const struct step *s);
/* That of the n-th step of the text. */
const char *kit_parts_of(const char *text, size_t n);

#endif
