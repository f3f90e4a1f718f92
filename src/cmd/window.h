/* SPDX-License-Identifier: Apache-2.0 */
/* window.h - a part of a run, as users write it after --from, --to and --steps. */
#ifndef CMD_WINDOW_H
#define CMD_WINDOW_H

#include "base/clock.h"
#include "base/err.h"
#include "base/opt.h"
#include "run/run_info.h"

#define OPT_ROW_FROM                                                                               \
    "from", 0, "T", OPT_STRING,                                                                    \
        .help = "Start of the time range: a date and time (2026-11-15T09:36:02Z), nanoseconds "    \
                "since the epoch, +10s (after the start of the run) or -30s (before its end)."
#define OPT_ROW_TO                                                                                 \
    "to", 0, "T", OPT_STRING, .help = "End of the time range, in the same forms as --from."

#define OPT_ROW_STEPS                                                                              \
    "steps", 0, "A:B", OPT_STRING,                                                                 \
        .help = "Limit to the time of training steps A to B, inclusive; A alone is one step."

/* The moment that the text means in a run from start to end. A date without a zone is local. */
MUST_CHECK int window_moment(const char *text, wall_ns start, wall_ns end, wall_ns *out,
                             struct err *e);
/* --from and --to; 0 where one is not given. ERR_USAGE when --from is not before --to. */
MUST_CHECK int window_of(const struct opt_value *from, const struct opt_value *to,
                         const struct run_info *info, wall_ns out[2], struct err *e);
/* A range of steps, "10:20" or "10". ERR_USAGE when it is not one. */
MUST_CHECK int step_range(const char *text, int64_t out[2], struct err *e);

#endif
