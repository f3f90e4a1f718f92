/* SPDX-License-Identifier: Apache-2.0 */
/* show.h - everything `footplate show` says about a run, read once, printed in two ways. */
#ifndef CMD_SHOW_H
#define CMD_SHOW_H

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
};

void show_text(const struct show *s);
void show_json(const struct show *s);

#endif
