/* SPDX-License-Identifier: Apache-2.0 */
/* run_maker.h - makes a run out of something else (traces, other runs), out of sight until it is
 * complete.
 *
 * run_maker_begin, run_maker_node for each recorder, what they are told through the sinks of their
 * writers with run_maker_flush now and then; run_maker_close, rundir_put_node for each, and
 * run_maker_place. At the end run_maker_end, whatever happened.
 *
 * Everything is written in a hidden folder beside the place where the run will be, so a failure
 * leaves nothing, and a kill leaves nothing that looks like a run. */
#ifndef RUN_RUN_MAKER_H
#define RUN_RUN_MAKER_H

#include "run/rundir.h"

/* The events of a detail window have a file of their own. */
struct run_maker_window {
    unsigned pid, window;
    struct writer *writer;
};

/* One recorder. */
struct run_maker_node {
    char id[NODE_ID_LEN];
    unsigned session;
    struct writer *metrics, *events; /* NULL when they are closed */
    struct run_maker_window *windows;
    size_t n_windows;
};

struct run_maker {
    struct rundir dir;
    struct run_maker_node **nodes;
    size_t n_nodes;
};

/* `home`, the folder of runs, is made if need be. */
MUST_CHECK int run_maker_begin(struct run_maker *m, const char *home, struct err *e);
/* NULL: there is none. `id` as name_sanitize makes it. */
struct run_maker_node *run_maker_find(const struct run_maker *m, const char *id, unsigned session);
/* A new one; the times of its files are on the clock of `tie`. It lives as long as the maker. */
MUST_CHECK int run_maker_node(struct run_maker *m, const char *id, unsigned session,
                              struct clock_tie tie, struct run_maker_node **out, struct err *e);
/* The file of a detail window, made when it is asked for first. */
MUST_CHECK int run_maker_window(struct run_maker_node *n, unsigned pid, unsigned window,
                                struct writer **out, struct err *e);
/* Writes what waits, where there is much of it. */
MUST_CHECK int run_maker_flush(struct run_maker *m, struct err *e);
/* Closes all files. ERR_LIMIT when something could not be written. */
MUST_CHECK int run_maker_close(struct run_maker *m, struct err *e);
/* The run becomes `home`/`id`; NULL: any new name. ERR_BUSY when that is taken. */
MUST_CHECK int run_maker_place(struct run_maker *m, const char *home, const char *id,
                               const struct run_about *about, struct rundir *out, struct err *e);
/* Removes what was not placed. */
void run_maker_end(struct run_maker *m);

#endif
