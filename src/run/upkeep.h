/* SPDX-License-Identifier: Apache-2.0 */
/* upkeep.h - the folder of runs of a hub: a record of what users did to its runs, and the removal
 * of old ones. */
#ifndef RUN_UPKEEP_H
#define RUN_UPKEEP_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"

/* ---- the audit file: one JSON object a line, only ever appended to ---- */

struct audit_line {
    const char *by;     /* the name of a token, or the command; "": not known */
    const char *action; /* "control", "notes", "delete", "prune" */
    const char *run;
    const char *node;   /* NULL: none */
    const char *detail; /* the request, the size; NULL: none. Never a token */
};

/* Readable by the owner of the folder only. Whole lines, also of several processes at once. */
MUST_CHECK int audit_add(const char *runs, const struct audit_line *line, struct err *e);

/* ---- old runs ---- */

#define PRUNE_TAG      "keep" /* a run with this tag stays */
#define PRUNE_LEAST_NS (86400 * NS_PER_S)
#define PRUNE_MOST_NS  (INT64_C(36500) * 86400 * NS_PER_S)

struct prune_run {
    const char *path, *name;
    wall_ns last;   /* end of the run, or arrival of its last data if that was later */
    wall_ns before; /* it is removed because that was before this */
    uint64_t bytes;
};

/* The runs in `runs` that came from other machines and have not changed since `before`, oldest
 * first, in the arena. Never one that is being recorded, has the tag "keep", cannot be read or was
 * recorded here. */
MUST_CHECK int prune_find(const char *runs, wall_ns before, struct arena *a, struct prune_run **out,
                          size_t *n, struct err *e);
/* Removes it, with a line in the audit file. ERR_BUSY: prune_find would not find it any more. */
MUST_CHECK int prune_remove(const char *runs, const struct prune_run *r, const char *by,
                            struct err *e);

#endif
