/* SPDX-License-Identifier: Apache-2.0 */
/* export_sagemaker.c - a run as the profiler-output folder of SageMaker's profiler, so that what
 * reads that reads our runs. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "export/sagemaker.h"

unsigned sagemaker_algo(const struct run_info *info, const char *node)
{
    unsigned n = 0;
    for (size_t i = 0; i < info->n_nodes; i++) {
        n += i == 0 || strcmp(info->nodes[i - 1].id, info->nodes[i].id) != 0;
        if (strcmp(info->nodes[i].id, node) == 0)
            break;
    }
    return n;
}

void sagemaker_hour(char out[16], int64_t ns)
{
    const time_t s = (time_t)(ns / NS_PER_S);
    struct tm tm;
    if (!gmtime_r(&s, &tm) || strftime(out, 16, "%Y%m%d%H", &tm) == 0)
        snprintf(out, 16, "0000000000");
}

int sagemaker_file(const struct export_job *job, const char *path, const struct buf *b,
                   struct err *e)
{
    char full[PATH_LEN];
    int rc = path_join(full, e, "%s/%s", job->folder, path);
    if (rc != 0)
        return rc;
    char *slash = strrchr(full, '/');
    *slash = '\0';
    rc = dir_make(full, e);
    *slash = '/';
    return rc != 0 ? rc : file_replace(full, b->p, b->len, e);
}

/* Empty: readers look whether they are there. */
static int put_ends(const struct export_job *job, struct err *e)
{
    const struct buf none = {0};
    int rc = sagemaker_file(job, "system/training_job_end.ts", &none, e);
    if (rc == 0)
        rc = sagemaker_file(job, "framework/training_job_end.ts", &none, e);
    return rc;
}

static int write_sagemaker(const struct export_job *job, struct err *e)
{
    int rc = sagemaker_system(job, e);
    if (rc == 0)
        rc = sagemaker_events(job, e);
    return rc == 0 ? put_ends(job, e) : rc;
}

const struct export_format export_sagemaker = {
    .name = "sagemaker",
    .title = "folder in the format of SageMaker's profiler",
    .folder = true,
    .can = 1u << EXPORT_ALL,
    .otherwise = EXPORT_ALL,
    .write = write_sagemaker,
};
