/* SPDX-License-Identifier: Apache-2.0 */
/* derived.h - answers about a whole run that are kept in the folder derived/ of it.
 *
 * What lies there can be worked out again, so it may be removed at any time, and nothing is ever
 * asked of it that the run itself could not answer. An answer is tied to the bytes it came from:
 * its key is a sum over the event files, what is known of the nodes, and the version of the
 * program. One that is damaged or has another key is as good as none.
 *
 * Kept are answers about runs that have ended, are long enough for it to pay, and belong to the
 * user who asks; nothing is written into a folder that nobody may write to. That it could not be
 * written is no failure. */
#ifndef QUERY_DERIVED_H
#define QUERY_DERIVED_H

#include "base/buf.h"
#include "base/file.h"
#include "query/run.h"

/* To be raised whenever the same run gets another answer, or an answer another form. */
enum { DERIVED_VERSION = 4 };

/* Events of a run from which on its answers are kept: those of fewer are worked out in the time
 * that a process takes to start. */
enum { DERIVED_LEAST_EVENTS = 250000 };

struct derived {
    struct fmap map;
    struct cur in; /* the answer's bytes, as they were given to derived_keep */
};

/* False: there is none that can be believed. `name` is that of the file. */
bool derived_open(struct derived *out, struct run *r, const char *name);
void derived_close(struct derived *d); /* an empty one is fine */

/* Whether an answer that was just worked out is one to keep. */
bool derived_wanted(const struct run *r);
void derived_keep(struct run *r, const char *name, const struct buf *answer);

#endif
