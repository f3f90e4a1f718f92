/* SPDX-License-Identifier: Apache-2.0 */
/* run_catalog.h - which runs a prefix of object storage has, from a few requests instead of some
 * for each run.
 *
 *     PREFIX/.footplate/1/day/2026-11-18/RUN.json   an entry: the contents of run.json, notes.json
 *     and the
 *                                                   node.json files, by the day it was put
 *     PREFIX/.footplate/1/pack/2026-11-16.zst       all entries up to that day and perhaps later
 *                                                   ones, a line each, compressed
 *
 * The sender of a run puts its entry at the start and at the end; notes and rm put one, too. A
 * newer day wins. Now and then a shipper packs: it joins the latest pack and the entries, lists the
 * prefix to find runs that came or went by other means, puts the new pack, and removes the entries
 * of days that it has whole. All of it is a cache: without it, or where it is out of date, the runs
 * are read themselves. A run that is being recorded is always read itself. */
#ifndef RUN_RUN_CATALOG_H
#define RUN_RUN_CATALOG_H

#include "run/run_info.h"

/* A catalogue as of a few seconds ago, shared by all threads of the process. */
struct run_catalog;

struct run_catalog_run {
    const char *folder;
    const char *entry; /* JSON; NULL: none, the run has to be read */
    size_t entry_len;
    int64_t start_ns;
    uint64_t stamp; /* of the entry */
};

/* ERR_NOT_FOUND: this place has no catalogue. */
MUST_CHECK int run_catalog_get(struct run_catalog **out, const char *runs, struct err *e);
void run_catalog_release(struct run_catalog *c); /* NULL is fine */
/* By their names, each once. */
const struct run_catalog_run *run_catalog_runs(const struct run_catalog *c, size_t *n);

/* Puts the entry of a run as it is there now. Elsewhere than on object storage it does nothing. */
MUST_CHECK int run_catalog_put(const char *run, struct err *e);
/* The run was removed. */
MUST_CHECK int run_catalog_remove(const char *run, struct err *e);
/* Makes a new pack when there is enough for one, or with `now` in any case. */
MUST_CHECK int run_catalog_pack(const char *runs, bool now, struct err *e);

#endif
