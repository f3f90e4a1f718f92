/* SPDX-License-Identifier: Apache-2.0 */
/* export.h - a format that a run is exported to: one const record and one line in exports.def.
 * `write` streams: the memory it needs does not grow with the run. Below: the events of a run, a
 * bounded number at a time, and a run copied record by record. */
#ifndef EXPORT_EXPORT_H
#define EXPORT_EXPORT_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/progress.h"
#include "query/events.h"
#include "query/series.h"
#include "record/remake.h"

/* ---- the file that is written ----
 *
 * stdout, or beside its place and moved there when it is complete; compressed when its name ends in
 * .gz. outfile_open, then put into `buf` and call outfile_pass now and then, outfile_close. */

struct outfile {
    struct buf buf; /* what is not written yet; the caller appends */
    uint64_t bytes; /* written so far, before compression */
    size_t most;    /* of outfile_open_memory; 0: it is a file */
    struct outfile_own *own;
};

/* path "-": stdout. */
MUST_CHECK int outfile_open(struct outfile *o, const char *path, struct err *e);
/* Everything stays in `buf`, which the caller takes after outfile_pass, in place of outfile_close,
 * and frees; more than `most` bytes are ERR_USAGE. */
void outfile_open_memory(struct outfile *o, size_t most);
/* Writes when enough has gathered; not to be called in the middle of what must stay together in
 * `buf`. */
MUST_CHECK int outfile_pass(struct outfile *o, struct err *e);
/* rc: how the writing went; then nothing but a complete file is left. Returns rc, or what
 * went wrong now. */
MUST_CHECK int outfile_close(struct outfile *o, int rc, struct err *e);
bool outfile_is_stdout(const struct outfile *o);

/* ---- formats ---- */

/* What of a run. */
enum export_what { EXPORT_METRICS, EXPORT_EVENTS, EXPORT_STEPS, EXPORT_OPS, EXPORT_ALL, EXPORT_N };

extern const char *const export_what_names[EXPORT_N + 1]; /* ends with NULL */

struct export_job {
    struct run *run;
    struct series_ask ask; /* which samples; its from and to cut everything; points is 0 */
    enum export_what what;
    struct outfile *out; /* of formats that are one file, else NULL */
    const char *folder;  /* of formats that are a folder, which is there and empty */
    struct progress *progress;
};

struct export_format {
    const char *name;
    bool folder;  /* it is many files */
    unsigned can; /* bits of enum export_what */
    enum export_what otherwise;
    int (*write)(const struct export_job *job, struct err *e);
};

#define EXPORT(id, ...) extern const struct export_format export_##id;
#include "export/exports.def"
#undef EXPORT

/* In the order of exports.def; both end with NULL. */
extern const struct export_format *const export_formats[];
extern const char *const export_names[];

/* Whether the job leaves out samples or events of the run. */
bool export_is_part(const struct export_job *job);
/* Whether what lasts from `begin` to `end` overlaps the job's window. */
bool export_in_window(const struct export_job *job, wall_ns begin, int64_t end);
/* How far it is, by the number of parts done. */
void export_progress(const struct export_job *job, size_t done, size_t of);

struct tracks {
    struct run_track *v;
    size_t n;
};

/* The tracks that the job is about: of its node, with events in its window. Those of one process
 * are together, threads before devices. */
MUST_CHECK int export_tracks(const struct export_job *job, struct arena *a, struct tracks *out,
                             struct err *e);
/* And after them those of training health. */
MUST_CHECK int export_all_tracks(const struct export_job *job, struct arena *a, struct tracks *out,
                                 struct err *e);

/* Events of a track in order of their begin, the longer one first; they are not valid after the
 * call. */
typedef int events_fn(void *to, const struct run_track *t, const struct run_event *v, size_t n,
                      struct err *e);

/* Every event of the track that overlaps the job's window, once. */
MUST_CHECK int export_events(const struct export_job *job, const struct run_track *t, events_fn *fn,
                             void *to, struct err *e);

/* The recording session of the node that the moment belongs to: the last one begun by then. */
unsigned session_at(const struct run_info *info, const char *node, wall_ns t);

/* The train steps a..b of all ranks together, as a window of time: out[0] inclusive, out[1]
 * exclusive. ERR_NOT_FOUND when no rank has one of them. */
MUST_CHECK int export_steps_window(struct run *r, int64_t a, int64_t b, wall_ns out[2],
                                   struct err *e);

struct export_copy {
    const struct export_job *job; /* what of which run; its out, folder and what do not matter */
    struct remake *to;
    int64_t later_ns;   /* how much later everything is to be */
    const char *prefix; /* of the names of nodes; "": none */
    /* Called now and then; what it returns when it is not 0 ends the copy. */
    int (*pass)(void *ctx, struct err *e);
    void *ctx;
};

MUST_CHECK int export_copy(const struct export_copy *c, struct err *e);

#endif
