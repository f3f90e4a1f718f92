/* SPDX-License-Identifier: Apache-2.0 */
/* profile_out.h - function profiles on their way to the sink.
 *
 * A profile is no timeline. It becomes a track of its own, one for the whole and one for each
 * phase, that holds one span for each function: all begin where the window begins, the duration is
 * the function's own time, the value its calls; the rest is in the arguments. Around them lies one
 * span "python profile" for the window itself. */
#ifndef IMPORT_PROFILE_OUT_H
#define IMPORT_PROFILE_OUT_H

#include "import/import_out.h"

enum { PROFILE_WORD_LEN = 32 };

struct profile_out {
    struct import_out out;
    struct import_result *result;
    /* The window. */
    char profiler[PROFILE_WORD_LEN], timer[PROFILE_WORD_LEN]; /* "": not told */
    int64_t start_step, end_step;                             /* -1: not told */
    int64_t start_ns, end_ns;                                 /* monotonic */
    uint32_t pid;
    uint32_t track, n_tracks;
};

struct profile_function {
    const char *file, *name;
    int64_t line;
    int64_t calls, primitive; /* primitive -1: not told */
    double self_s, total_s;   /* NAN: not told */
};

/* Begins a track; what follows belongs to it. `phase`: "" for the whole. */
void profile_begin(struct profile_out *p, const char *phase);
void profile_tell(struct profile_out *p, const struct profile_function *f);

#endif
