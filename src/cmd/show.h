/* SPDX-License-Identifier: Apache-2.0 */
/* show.h - everything `footplate show` says about a run, read once, printed in two ways. */
#ifndef CMD_SHOW_H
#define CMD_SHOW_H

#include "cmd/stepview.h"
#include "cmd/summary.h"

struct show {
    const struct run_info *info;
    struct arena *arena;
    struct run_size size;
    struct loss_list losses;
    struct run_mark *marks;
    size_t n_marks;
    struct summary_line *lines;
    size_t n_lines;
    struct rank_steps *ranks;
    size_t n_ranks;
    struct run_phases phases;
    const char *no_steps; /* why there are none; NULL: there are */
};

/* Share of the job's time, 0..1; NAN when it took none. */
double show_share(const struct show *s, enum phase_kind k);

void show_text(const struct show *s);
void show_json(const struct show *s);

#endif
