/* SPDX-License-Identifier: Apache-2.0 */
/* export.h - a format that a run is exported to: one const record and one line in exports.def.
 * `write` streams: what it holds in memory does not grow with the run. */
#ifndef EXPORT_EXPORT_H
#define EXPORT_EXPORT_H

#include "base/buf.h"
#include "base/progress.h"
#include "export/outfile.h"
#include "query/series.h"

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
    const char *title; /* what it is good for */
    bool folder;       /* it is many files */
    unsigned can;      /* bits of enum export_what */
    enum export_what otherwise;
    int (*write)(const struct export_job *job, struct err *e);
};

#define EXPORT(id) extern const struct export_format export_##id;
#include "export/exports.def"
#undef EXPORT

/* In the order of exports.def; both end with NULL. */
extern const struct export_format *const export_formats[];
extern const char *const export_names[];

/* Whether the job leaves out samples or events of the run. */
bool export_is_part(const struct export_job *job);
/* How far it is, by the number of parts done. */
void export_progress(const struct export_job *job, size_t done, size_t of);

#endif
