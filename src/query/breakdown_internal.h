/* SPDX-License-Identifier: Apache-2.0 */
/* breakdown_internal.h - what breakdown.c and breakdown_run.c share. */
#ifndef QUERY_BREAKDOWN_INTERNAL_H
#define QUERY_BREAKDOWN_INTERNAL_H

#include "query/breakdown.h"
#include "query/intervals.h"
#include "query/trace.h"

/* ---- steps of one process (breakdown_run.c) ---- */

struct host_step {
    int64_t number, begin, end;    /* by the clock of the host */
    int64_t first_begin, last_end; /* of the device operations launched inside; by `matched` */
    uint64_t matched;
};

struct host_steps {
    struct host_step *v;
    size_t n, cap;
    size_t near;    /* the one that matched last */
    int64_t *loose; /* ends of device operations launched outside of all steps */
    size_t n_loose, cap_loose;
};

/* After the last one was added, before the first match. */
void host_steps_sort(struct host_steps *s);
/* The time between two windows, which was not recorded: steps are missing there. Once sorted. */
void host_steps_unseen(const struct host_steps *s, struct intervals *out);
/* A device operation; launch NULL: not known. */
void host_steps_match(struct host_steps *s, const struct launch *l, int64_t begin, int64_t end);
void host_steps_free(struct host_steps *s);

/* The rows of a process: one per step that is not dropped. The lists of role[] are normalized.
 * Returns how many rows went to out[s->n]. */
size_t host_steps_rows(struct host_steps *s, const struct intervals role[ROLE_OTHER],
                       struct step_row *out);

/* ---- what hooks of the same run add (breakdown_run.c) ---- */

/* Memory of hooks alone, of the whole run; rows live in the arena. */
MUST_CHECK int breakdown_hook_memory(struct run *r, const struct trace_ask *ask, struct arena *a,
                                     struct memory_row **out, size_t *n, struct err *e);
/* Memory of the whole run, the steps of its peaks, and what windows cost. */
MUST_CHECK int breakdown_add_hooks(struct run *r, const struct trace_ask *ask, struct arena *a,
                                   struct breakdown *b, struct err *e);

#endif
