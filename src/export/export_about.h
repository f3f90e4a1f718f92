/* SPDX-License-Identifier: Apache-2.0 */
/* export_about.h - everything of a run but its samples and events, as members of JSON objects: what
 * Chrome traces carry under "footplate" and JSON lines carry line by line, so that
 * import_footplate.c reads both. docs/export.md lists them. */
#ifndef EXPORT_EXPORT_ABOUT_H
#define EXPORT_EXPORT_ABOUT_H

#include "base/json_write.h"
#include "export/export.h"
#include "query/samples.h"

enum { ABOUT_VERSION = 1 };

/* The first moment of the wall clock in the node's session, less the monotonic one; 0: not known.
 */
struct node_clock {
    const char *node;
    unsigned session;
    int64_t ahead_ns;
};

struct node_clocks {
    struct node_clock *v;
    size_t n;
};

/* The run, from its run.json. */
void about_run(struct jw *j, const struct run_info *info);
/* Where objects go: into arrays of `j`, or each on a separate line with its type. */
struct about_writer {
    struct jw j;
    bool lines;
};

void about_begin(struct about_writer *w, const char *type);
void about_end(struct about_writer *w);

/* Which of several tracks of the same thread or stream it is, where windows were recorded apart. */
unsigned track_window(const struct tracks *all, size_t i);
void about_track(struct about_writer *w, const struct tracks *all, size_t i);
void about_series(struct jw *j, const struct row_group *g, const struct row_column *c);
/* The recorders, from their node.json. Of a part of a run what they counted is left out, as less
 * is there. */
void about_nodes(struct about_writer *w, const struct export_job *job,
                 const struct node_clocks *clocks);
MUST_CHECK int about_losses(struct about_writer *w, const struct export_job *job, struct arena *a,
                            struct err *e);
MUST_CHECK int about_marks(struct about_writer *w, const struct export_job *job, struct arena *a,
                           struct err *e);

/* Losses that files of this run show, not those that every reader detects again. */
bool loss_is_exported(const struct run_info *info, const struct run_loss *l);

/* Records series when they first occur and whenever the way they are stored changes. */
struct series_emitter {
    struct arena arena; /* of the columns before */
    struct row_group before;
    void (*emit)(void *to, const struct row_group *g, const struct row_column *c);
    void *to;
};

void series_emit(struct series_emitter *t, const struct row_group *g);
void series_emit_end(struct series_emitter *t);

/* Samples as text: of each column what is the same in all of its rows, made once per group. */
struct row_prefixes {
    struct buf text;
    size_t *ends; /* of each column's part of the text */
    double *steps;
    size_t n, cap;
};

/* `put` appends the prefix of a column to p->text. */
void row_prefixes_make(struct row_prefixes *p, const struct row_group *g, struct arena *a,
                       void (*put)(void *to, const struct row_group *g, const struct row_column *c),
                       void *to);
/* Appends the prefix of column i. */
void row_prefixes_put(const struct row_prefixes *p, size_t i, struct buf *to);

MUST_CHECK int about_clocks(struct run *r, struct arena *a, struct node_clocks *out, struct err *e);
int64_t clock_of(const struct node_clocks *c, const struct node_info *n);

#endif
