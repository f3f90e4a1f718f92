/* SPDX-License-Identifier: Apache-2.0 */
/* exports.c - see export.h. */
#include "export/export.h"

#define EXPORT(id) &export_##id,
const struct export_format *const export_formats[] = {
#include "export/exports.def"
    NULL,
};
#undef EXPORT

#define EXPORT(id) #id,
const char *const export_names[] = {
#include "export/exports.def"
    NULL,
};
#undef EXPORT

const char *const export_what_names[EXPORT_N + 1] = {
    [EXPORT_METRICS] = "metrics", [EXPORT_EVENTS] = "events", [EXPORT_STEPS] = "steps",
    [EXPORT_OPS] = "ops",         [EXPORT_ALL] = "all",
};

bool export_is_part(const struct export_job *job)
{
    const struct series_ask *a = &job->ask;
    return a->from.ns || a->to.ns || a->node || a->metric || a->entity;
}

void export_progress(const struct export_job *job, size_t done, size_t of)
{
    if (job->progress)
        progress_at(job->progress, (double)done / (double)(of ? of : 1), clock_mono());
}
