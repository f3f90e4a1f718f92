/* SPDX-License-Identifier: Apache-2.0 */
/* import_print.h - what an import read and what it could not, for people and for programs. */
#ifndef CMD_IMPORT_PRINT_H
#define CMD_IMPORT_PRINT_H

#include "base/buf.h"
#include "convert/run_import.h"

/* `run` is where it is. */
void import_print_json(struct buf *out, const struct run_import *m, const char *run);
void import_print_text(struct buf *out, const struct run_import *m, const char *run);

#endif
