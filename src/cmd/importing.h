/* SPDX-License-Identifier: Apache-2.0 */
/* importing.h - a trace made into files of the store, out of sight until they are complete.
 *
 * The files are written in a hidden folder inside `home`; importing_keep moves the events where
 * they belong, importing_end removes what is left. So a failure, or a kill, leaves nothing that
 * looks like a run. */
#ifndef CMD_IMPORTING_H
#define CMD_IMPORTING_H

#include "base/file.h"
#include "base/progress.h"
#include "import/import_file.h"
#include "store/writer.h"

struct importing {
    char folder[PATH_LEN]; /* hidden, in home; "": none */
    struct writer *metrics, *events;
    struct clock_tie tie; /* what wall time of the trace is taken off by */
    struct progress progress;
    struct import_file_result got;
};

MUST_CHECK int importing_begin(struct importing *m, const char *home, struct err *e);
/* Reads the trace. What could not be used becomes losses of the events file. */
MUST_CHECK int importing_file(struct importing *m, const char *path, const struct importer *format,
                              struct err *e);
/* Closes both files; they are then whole. */
MUST_CHECK int importing_seal(struct importing *m, struct err *e);
/* Moves "events" or "metrics" to `to`, which must not be there. */
MUST_CHECK int importing_keep(struct importing *m, const char *name, const char *to, struct err *e);
void importing_end(struct importing *m);
/* Wall time of a moment of the trace. */
wall_ns importing_wall(const struct importing *m, mono_ns t);

#endif
