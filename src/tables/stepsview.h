/* SPDX-License-Identifier: Apache-2.0 */
/* stepsview.h - the steps of a run as `steps` shows them: one row for each rank and mode, and the
 * last steps one by one. */
#ifndef TABLES_STEPSVIEW_H
#define TABLES_STEPSVIEW_H

#include "base/row_table.h"
#include "query/steps.h"
#include "query/sync_places.h"
#include "tables/runview.h"

struct steps_ask {
    size_t last;      /* of each rank */
    int64_t rank;     /* -1: all */
    unsigned modes;   /* bits */
    wall_ns from, to; /* only steps that begin in it are listed; 0: open */
};

enum { STEPS_ALL_MODES = (1u << MODE_N) - 1 };

/* The steps of one rank and mode. */
struct steps_row {
    const struct rank_steps *rank; /* in a digest without its steps */
    struct step_stats stats;
    double part_s[STEP_PARTS_MOST]; /* in all its steps */
    const struct sync_place *sync;  /* where the rank waited for its GPU, most time first */
    size_t n_sync;
    unsigned unseen; /* parts that no hook reported, as bits: their time is not known and is part
                      * of "other" */
};

/* One step in the list. */
struct steps_item {
    const struct rank_steps *rank;
    const struct step *step;
    unsigned unseen; /* parts that were not reported, as in its row */
    double loss;     /* NAN: none was recorded, or it was not finite */
};

/* Why steps or parts of them are missing. */
struct steps_loss {
    const char *what, *why;
    const char *mode; /* NULL: all */
    int64_t count;
};

struct steps_view {
    const struct run_info *info;
    struct arena *arena;
    struct steps_row *rows;
    size_t n_rows;
    struct steps_item *items; /* of each rank the last `ask.last`, in order of time */
    size_t n_items;
    const char *why; /* there are no steps; NULL: there are */
    const struct loss_list *lost;
    struct sync_place *places; /* of all ranks */
    size_t n_places;
    struct steps_loss *losses; /* set while it is written */
    size_t n_losses;
};

extern const struct row_table row_Step, row_Steps; /* see step_rows.def */

/* ERR_NOT_FOUND when the requested rank has no steps. */
MUST_CHECK int stepsview_read(struct steps_view *out, struct run *r, const struct steps_ask *ask,
                              struct arena *a, struct err *e);
/* The same of ranks that are read already; they must stay. */
MUST_CHECK int stepsview_of(struct steps_view *out, struct run *r, const struct rank_steps *ranks,
                            size_t n, const struct steps_ask *ask, struct arena *a, struct err *e);
/* The selection of `ask` from a view that has it all. */
MUST_CHECK int stepsview_cut(struct steps_view *out, const struct steps_view *whole,
                             const struct steps_ask *ask, struct arena *a, struct err *e);
/* Sets the losses of all items. */
MUST_CHECK int stepsview_set_losses(struct steps_view *v, struct run *r, struct arena *a,
                                    struct err *e);
/* One object. */
void stepsview_json(struct jw *j, const struct steps_view *v);

/* The steps of a mode, of all ranks: ranks are alike enough that the one with most steps represents
 * all. */
struct mode_steps {
    struct step_stats best;
    const struct rank_steps *rank;
    size_t ranks;
    double steady, overall; /* samples/s of all ranks; NAN: of one it is not known */
};

struct mode_steps mode_steps_of(const struct rank_steps *ranks, size_t n, enum event_mode mode,
                                struct arena *a);
/* "510 iterations"; of several ranks "510 iterations of rank 1". */
const char *mode_steps_words(const struct mode_steps *m, struct arena *a);

/* Whose time the phases of a row are: the GPU's and the host's are never mixed. */
enum steps_clock { CLOCK_GPU, CLOCK_HOST, CLOCKS };

/* "GPU time, 35 of 250 steps timed", "host time", or "host time (launch)" where a GPU does the work
 * and its time is not known; in the arena. */
const char *steps_clock_text(const struct step_stats *s, const struct rank_steps *rank,
                             enum steps_clock clock, struct arena *a);
bool steps_has_clock(const struct step_stats *s, enum steps_clock clock);
/* What an iteration is spent on, seconds on average, by that clock: a part, or what lies between
 * steps for part step_parts(). Of a GPU "other" is what no timed phase had, "between" included;
 * NAN: not known. */
double steps_iteration_part_s(const struct steps_row *row, enum steps_clock clock, size_t part);

double steps_item_part_s(const struct steps_item *x, size_t part);
/* What the rows of a rank have as `unseen`. */
void steps_unseen_modes(const struct steps_view *v, const struct rank_steps *rank,
                        unsigned out[MODE_N]);

/* ---- runs without steps ---- */

/* Whose steps need no marks; the dashboard's page has this text too (web/rows.mjs). */
#define STEPS_OF                                                                                   \
    "PyTorch (Lightning, Transformers, Accelerate and others), Keras, JAX, XGBoost and LightGBM"

const char *mode_name(enum event_mode m); /* "train", "eval", "predict" */

/* Why there are no steps, as half a sentence: never NULL. */
MUST_CHECK int steps_why_none(struct run *r, const struct loss_list *lost, struct arena *a,
                              const char **why, struct err *e);
/* That there are none, why, and what to do about it, as sentences. */
const char *steps_none_text(const struct run_info *info, const char *why, struct arena *a);
/* The same as one line, with what the program did instead. */
MUST_CHECK int steps_none_line(struct run *r, struct arena *a, const char **out, struct err *e);
/* The same in a few words, for the message that no rules ran. */
const char *steps_none_words(const struct run_info *info);

#endif
