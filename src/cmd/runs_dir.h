/* SPDX-License-Identifier: Apache-2.0 */
/* runs_dir.h - where the commands that read runs look for them when --dir is not given: where
 * `footplate run` in this folder would have put them. */
#ifndef CMD_RUNS_DIR_H
#define CMD_RUNS_DIR_H

#include "base/opt.h"

/* Fills the value of an option --dir that has no default of its own. Nothing is said here about
 * what is wrong in a configuration: `run` and `config` say it. */
const char *runs_dir_fill(const struct opt *table, struct opt_value *values, struct arena *a);

#endif
