/* SPDX-License-Identifier: Apache-2.0 */
/* script.h - the script of a command, after its interpreters and launchers. Pure. */
#ifndef CONFIG_SCRIPT_H
#define CONFIG_SCRIPT_H

#include <stdbool.h>

struct script {
    const char *name; /* a word of the command; NULL: a program text (-c), or nothing known */
    bool is_file;     /* else a module (-m) */
};

/* "sub/train.py" of `python -u sub/train.py --lr 1` or `torchrun --nproc-per-node 2 sub/train.py`,
 * "pkg.train" of `python -m pkg.train`. argv ends with NULL. */
struct script script_find(const char *const argv[]);

#endif
