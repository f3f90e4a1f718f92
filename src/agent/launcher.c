/* SPDX-License-Identifier: Apache-2.0 */
/* launcher.c - see launcher.h. One row per launcher, innermost first: the program that started the
 * process knows its rank, the scheduler around it only knows its own tasks. */
#include "agent/launcher.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define UNKNOWN                                                                                    \
    ((struct launcher){.rank = -1,                                                                 \
                       .world_size = -1,                                                           \
                       .local_rank = -1,                                                           \
                       .local_size = -1,                                                           \
                       .node_rank = -1,                                                            \
                       .nodes = -1})

struct launcher_asked {
    launcher_env env;
    void *ctx;
};

/* Names are alternatives separated by '|', the first that is set counts. */
struct launcher_row {
    const char *name;
    const char *marker; /* must be set for the row to match; NULL: the rank is enough */
    const char *rank, *world_size, *local_rank, *local_size, *node_rank, *nodes;
    const char *job_id, *step;
    /* For what a plain variable does not say. */
    void (*derive)(struct launcher *l, const struct launcher_asked *a);
};

static void sagemaker_hosts(struct launcher *l, const struct launcher_asked *a);
static void torchrun_job(struct launcher *l, const struct launcher_asked *a);

static const struct launcher_row rows[] = {
    {
        .name = "torchrun",
        .marker = "TORCHELASTIC_RUN_ID|WORLD_SIZE",
        .rank = "RANK",
        .world_size = "WORLD_SIZE",
        .local_rank = "LOCAL_RANK",
        .local_size = "LOCAL_WORLD_SIZE",
        .node_rank = "GROUP_RANK",
        .nodes = "GROUP_WORLD_SIZE",
        .derive = torchrun_job,
    },
    {
        .name = "openmpi",
        .rank = "OMPI_COMM_WORLD_RANK",
        .world_size = "OMPI_COMM_WORLD_SIZE",
        .local_rank = "OMPI_COMM_WORLD_LOCAL_RANK",
        .local_size = "OMPI_COMM_WORLD_LOCAL_SIZE",
        .job_id = "PMIX_NAMESPACE",
    },
    {
        .name = "horovod",
        .rank = "HOROVOD_RANK",
        .world_size = "HOROVOD_SIZE",
        .local_rank = "HOROVOD_LOCAL_RANK",
        .local_size = "HOROVOD_LOCAL_SIZE",
        .node_rank = "HOROVOD_CROSS_RANK",
        .nodes = "HOROVOD_CROSS_SIZE",
    },
    {
        .name = "mvapich",
        .rank = "MV2_COMM_WORLD_RANK",
        .world_size = "MV2_COMM_WORLD_SIZE",
        .local_rank = "MV2_COMM_WORLD_LOCAL_RANK",
        .local_size = "MV2_COMM_WORLD_LOCAL_SIZE",
    },
    {
        /* Hydra sets MPI_LOCALRANKID. Slurm's own PMI does not, and there SLURM_PROCID is as good.
         */
        .name = "mpich",
        .marker = "MPI_LOCALRANKID",
        .rank = "PMI_RANK",
        .world_size = "PMI_SIZE",
        .local_rank = "MPI_LOCALRANKID",
        .local_size = "MPI_LOCALNRANKS",
    },
    {
        /* Without a step this is the batch script: one process, whatever SLURM_NTASKS says. */
        .name = "slurm",
        .marker = "SLURM_STEP_ID|SLURM_STEPID",
        .rank = "SLURM_PROCID",
        .world_size = "SLURM_STEP_NUM_TASKS|SLURM_NTASKS",
        .local_rank = "SLURM_LOCALID",
        .node_rank = "SLURM_NODEID",
        .nodes = "SLURM_STEP_NUM_NODES|SLURM_NNODES",
        .job_id = "SLURM_JOB_ID|SLURM_JOBID",
        .step = "SLURM_STEP_ID|SLURM_STEPID",
    },
    {
        .name = "pals",
        .rank = "PALS_RANKID",
        .local_rank = "PALS_LOCAL_RANKID",
        .node_rank = "PALS_NODEID",
        .job_id = "PALS_APID",
    },
    {
        .name = "flux",
        .rank = "FLUX_TASK_RANK",
        .world_size = "FLUX_JOB_SIZE",
        .local_rank = "FLUX_TASK_LOCAL_ID",
        .nodes = "FLUX_JOB_NNODES",
        .job_id = "FLUX_JOB_ID",
    },
    {
        .name = "jsm",
        .rank = "JSM_NAMESPACE_RANK",
        .world_size = "JSM_NAMESPACE_SIZE",
        .local_rank = "JSM_NAMESPACE_LOCAL_RANK",
        .local_size = "JSM_NAMESPACE_LOCAL_SIZE",
    },
    {
        .name = "pmi",
        .rank = "PMIX_RANK|PMI_RANK",
        .world_size = "PMI_SIZE",
        .job_id = "PMIX_NAMESPACE",
    },
    {
        .name = "sagemaker",
        .marker = "SM_CURRENT_HOST",
        .job_id = "TRAINING_JOB_NAME|SAGEMAKER_TRAINING_JOB_NAME",
        .derive = sagemaker_hosts,
    },
    {
        .name = "kubernetes",
        .marker = "KUBERNETES_SERVICE_HOST|JOB_COMPLETION_INDEX",
        .rank = "JOB_COMPLETION_INDEX",
    },
    {
        .name = "tpu",
        .rank = "TPU_WORKER_ID|CLOUD_TPU_TASK_ID",
    },
};

/* Schedulers that hold whole nodes and say so in a batch script too. */
static const struct launcher_row schedulers[] = {
    {
        .name = "slurm",
        .node_rank = "SLURM_NODEID",
        .nodes = "SLURM_STEP_NUM_NODES|SLURM_NNODES",
        .job_id = "SLURM_JOB_ID|SLURM_JOBID",
        .step = "SLURM_STEP_ID|SLURM_STEPID",
    },
    {.name = "lsf", .job_id = "LSB_JOBID"},
    {.name = "pbs", .job_id = "PBS_JOBID"},
    {.name = "sagemaker", .job_id = "TRAINING_JOB_NAME", .derive = sagemaker_hosts},
};

/* The value of the first of the names that is set and not empty; `used` gets its name. */
static const char *launcher_first_of(const struct launcher_asked *a, const char *names, char *used,
                                     size_t size)
{
    char name[64];
    while (names && *names) {
        const size_t n = strcspn(names, "|");
        snprintf(name, sizeof name, "%.*s", (int)n, names);
        const char *v = a->env(a->ctx, name);
        if (v && *v) {
            if (used)
                snprintf(used, size, "%.*s", (int)size - 1, name);
            return v;
        }
        names += n + (names[n] == '|');
    }
    return NULL;
}

static void launcher_take_number(int64_t *out, const struct launcher_asked *a, const char *names)
{
    const char *v = launcher_first_of(a, names, NULL, 0);
    if (!v || *out >= 0)
        return;
    char *end;
    errno = 0;
    const long long n = strtoll(v, &end, 10);
    if (errno == 0 && end != v && *end == 0 && n >= 0)
        *out = n;
}

static void take_text(char *out, size_t size, const struct launcher_asked *a, const char *names)
{
    const char *v = launcher_first_of(a, names, NULL, 0);
    if (v && !*out)
        snprintf(out, size, "%s", v);
}

/* "none" is what torchrun calls a run that was given no id: it does not tell runs apart. */
static void torchrun_job(struct launcher *l, const struct launcher_asked *a)
{
    const char *id = a->env(a->ctx, "TORCHELASTIC_RUN_ID");
    if (id && *id && strcmp(id, "none") != 0)
        snprintf(l->job_id, sizeof l->job_id, "%s", id);
}

/* SM_HOSTS is a JSON list of names; a host's place in it is its number. */
static void sagemaker_hosts(struct launcher *l, const struct launcher_asked *a)
{
    const char *list = a->env(a->ctx, "SM_HOSTS"), *me = a->env(a->ctx, "SM_CURRENT_HOST");
    json_t *hosts = list && me ? json_loads(list, 0, NULL) : NULL;
    size_t i;
    json_t *h;
    json_array_foreach(hosts, i, h)
    {
        if (json_is_string(h) && strcmp(json_string_value(h), me) == 0 && l->node_rank < 0) {
            l->node_rank = (int64_t)i;
            l->nodes = (int64_t)json_array_size(hosts);
        }
    }
    json_decref(hosts);
}

static bool row_matches(const struct launcher_row *r, const struct launcher_asked *a)
{
    if (r->marker && !launcher_first_of(a, r->marker, NULL, 0))
        return false;
    /* A row with only a marker (SageMaker) matches by it; others need the rank. Kubernetes has a
     * rank only in indexed jobs. */
    return (r->rank && launcher_first_of(a, r->rank, NULL, 0)) || !r->rank ||
           strcmp(r->name, "kubernetes") == 0;
}

static void launcher_take_row(struct launcher *l, const struct launcher_row *r,
                              const struct launcher_asked *a)
{
    launcher_first_of(a, r->rank, l->source, sizeof l->source);
    launcher_take_number(&l->rank, a, r->rank);
    launcher_take_number(&l->world_size, a, r->world_size);
    launcher_take_number(&l->local_rank, a, r->local_rank);
    launcher_take_number(&l->local_size, a, r->local_size);
    launcher_take_number(&l->node_rank, a, r->node_rank);
    launcher_take_number(&l->nodes, a, r->nodes);
    take_text(l->step, sizeof l->step, a, r->step);
    take_text(l->job_id, sizeof l->job_id, a, r->job_id);
    if (r->derive)
        r->derive(l, a);
}

/* The scheduler's word on job and node counts more than the launcher's; the launcher's own id then
 * tells its start apart from others within the job. */
static void take_scheduler(struct launcher *l, const struct launcher_row *r,
                           const struct launcher_asked *a)
{
    struct launcher s = UNKNOWN;
    launcher_take_row(&s, r, a);
    if (!*l->name)
        snprintf(l->name, sizeof l->name, "%s", r->name);
    if (*l->job_id && strcmp(l->job_id, s.job_id) != 0 && !*l->step)
        snprintf(l->step, sizeof l->step, "%s", l->job_id);
    else if (!*l->step)
        snprintf(l->step, sizeof l->step, "%s", s.step);
    snprintf(l->job_id, sizeof l->job_id, "%s", s.job_id);
    if (s.node_rank >= 0)
        l->node_rank = s.node_rank;
    if (s.nodes >= 0)
        l->nodes = s.nodes;
}

void launcher_find(struct launcher *out, launcher_env env, void *ctx)
{
    const struct launcher_asked a = {env, ctx};
    *out = UNKNOWN;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (!row_matches(&rows[i], &a))
            continue;
        snprintf(out->name, sizeof out->name, "%s", rows[i].name);
        launcher_take_row(out, &rows[i], &a);
        break;
    }
    for (size_t i = 0; i < COUNT_OF(schedulers); i++)
        if (launcher_first_of(&a, schedulers[i].job_id, NULL, 0))
            take_scheduler(out, &schedulers[i], &a);
}
