/* SPDX-License-Identifier: Apache-2.0 */
/* runname.h - what runs and nodes are called. Pure. */
#ifndef AGENT_RUNNAME_H
#define AGENT_RUNNAME_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/launcher.h"
#include "run/rundir.h"

/* "train" for `python -u train.py`, else the command's base name; only letters that are safe in a
 * file name. Never empty. */
void run_name_of(char out[RUN_NAME_LEN], const char *const command[]);
/* The id that all nodes of a launcher's job share; false when there is only this one. */
bool run_id_of_launcher(char out[RUN_ID_LEN], const struct launcher *l, const char *name);
/* The host's name, followed by the local rank where a launcher starts a recorder per rank. */
void node_id_default(char out[NODE_ID_LEN], const char *host, const struct launcher *l);

#endif
