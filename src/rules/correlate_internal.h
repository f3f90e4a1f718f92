/* SPDX-License-Identifier: Apache-2.0 */
/* correlate_internal.h - between the files of correlate.h. */
#ifndef RULES_CORRELATE_INTERNAL_H
#define RULES_CORRELATE_INTERNAL_H

#include "query/ops.h"
#include "rules/correlate.h"

/* Shares of a kind and rank that are kept, and what is too little to keep. */
enum { SHARES_KEPT = 6 };
#define SHARE_LEAST 0.01

struct share_list {
    struct arena *arena;
    struct share *v;
    size_t n, cap;
};

void share_add(struct share_list *l, struct share s);
/* Those from `first` on are of one kind and rank: largest first, the smallest left out. */
void share_settle(struct share_list *l, size_t first);

/* Whether the finding is about this rank. */
bool is_about(const struct finding *f, const char *node, int64_t rank);

/* Operators of detail windows, read once however many findings want them. */
struct op_window {
    const struct run_process *process;
    int64_t rank;
    wall_ns from, to;
    struct op_row *rows;
    size_t n;
};

struct op_windows {
    const struct correlate_ask *ask;
    struct arena *arena;
    struct run_track *tracks;
    size_t n_tracks;
    struct op_window *v;
    size_t n;
};

MUST_CHECK int op_windows_open(struct op_windows *w, const struct correlate_ask *ask,
                               struct arena *a, struct err *e);
/* Shares of operators in the time of the finding, of all its ranks. */
MUST_CHECK int correlate_ops(struct op_windows *w, const struct finding *f, struct share_list *out,
                             struct err *e);
/* Operators of all detail, as plots of the framework's summary. */
MUST_CHECK int summarize_ops(struct op_windows *w, struct verdict *v, struct err *e);

#endif
