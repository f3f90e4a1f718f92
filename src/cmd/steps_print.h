/* SPDX-License-Identifier: Apache-2.0 */
/* steps_print.h - everything `footplate steps` says, read once, printed in three ways. */
#ifndef CMD_STEPS_PRINT_H
#define CMD_STEPS_PRINT_H

#include "view/stepview.h"

/* The steps of one rank and mode. */
struct steps_row {
    const struct rank_steps *rank;
    struct step_stats stats;
    unsigned unseen; /* parts that nobody told here, as bits: their time is not zero, it is not
                      * known, and stands in "other" */
};

/* One step in the list. */
struct steps_item {
    const struct rank_steps *rank;
    const struct step *step;
};

struct steps_view {
    const struct run_info *info;
    struct arena *arena;
    struct steps_row *rows;
    size_t n_rows;
    struct steps_item *items; /* of each rank the last ones asked for, in order of time */
    size_t n_items;
    const char *why; /* there are no steps; NULL: there are */
    const struct loss_list *lost;
};

void steps_text(const struct steps_view *v);
void steps_json(const struct steps_view *v);
void steps_csv(const struct steps_view *v);

#endif
