/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.h - the network on disk. The file is written beside its final name and then renamed,
 * so whoever looks finds the old checkpoint or the new one, never half of one. */
#ifndef CHECKPOINT_H
#define CHECKPOINT_H

#include <stdbool.h>

#include "net.h"

enum { CHECKPOINT_PATH_MAX = 4096 };

struct checkpoint_dir {
    char path[CHECKPOINT_PATH_MAX];
    bool temporary; /* made by us, removed by checkpoint_dir_close */
};

/* Uses (and makes, where missing) the folder `path`, or a new temporary one when `path` is NULL.
 * This and checkpoint_save return 0, or -1 after saying on stderr what went wrong. */
int checkpoint_dir_open(struct checkpoint_dir *out, const char *path);
void checkpoint_dir_close(const struct checkpoint_dir *d);

int checkpoint_save(const struct checkpoint_dir *d, const struct net *n);

#endif
