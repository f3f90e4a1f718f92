/* SPDX-License-Identifier: Apache-2.0 */
/* jobinfo.c - see jobinfo.h. */
#include "agent/jobinfo.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "config/python_env.h"
#include "run/run_names.h"

/* ==== launchers ==== */

#define UNKNOWN                                                                                    \
    ((struct launcher){.rank = -1,                                                                 \
                       .world_size = -1,                                                           \
                       .local_rank = -1,                                                           \
                       .local_size = -1,                                                           \
                       .node_rank = -1,                                                            \
                       .nodes = -1,                                                                \
                       .job_start_s = -1,                                                          \
                       .restarts = -1})

struct launcher_request {
    launcher_env env;
    void *ctx;
};

/* Names are alternatives separated by '|', the first that is set counts. */
struct launcher_row {
    const char *name;
    const char *marker; /* must be set for the row to match; NULL: the rank is enough */
    const char *rank, *world_size, *local_rank, *local_size, *node_rank, *nodes;
    const char *job_id, *step;
    /* What distinguishes jobs of the same id. */
    const char *cluster, *job_start_s, *launch, *restarts;
    bool job_id_repeats;
    const char *node; /* also of a row that does not match: a pod's name counts below torchrun */
    /* It allocates nodes, and sets its variables in a batch script, too. */
    bool scheduler;
    /* For what a plain variable does not have. */
    void (*derive)(struct launcher *l, const struct launcher_request *a);
};

static void sagemaker_hosts(struct launcher *l, const struct launcher_request *a);
static void torchrun_job(struct launcher *l, const struct launcher_request *a);

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
        .job_id_repeats = true, /* version 4: 16 bits of a hash of mpirun's host and PID */
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
        /* Without a step this is the batch script: one process, whatever SLURM_NTASKS is. */
        .name = "slurm",
        .marker = "SLURM_STEP_ID|SLURM_STEPID",
        .rank = "SLURM_PROCID",
        .world_size = "SLURM_STEP_NUM_TASKS|SLURM_NTASKS",
        .local_rank = "SLURM_LOCALID",
        .node_rank = "SLURM_NODEID",
        .nodes = "SLURM_STEP_NUM_NODES|SLURM_NNODES",
        .job_id = "SLURM_JOB_ID|SLURM_JOBID",
        .step = "SLURM_STEP_ID|SLURM_STEPID",
        .cluster = "SLURM_CLUSTER_NAME",
        .job_start_s = "SLURM_JOB_START_TIME", /* since Slurm 23.02 */
        .launch = "SLURM_SRUN_COMM_PORT",      /* srun's, and it gives all tasks the same */
        .restarts = "SLURM_RESTART_COUNT",
        .node = "SLURMD_NODENAME",
        .scheduler = true,
    },
    {.name = "lsf", .job_id = "LSB_JOBID", .scheduler = true},
    {.name = "pbs", .job_id = "PBS_JOBID", .scheduler = true},
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
        .job_id_repeats = true,
    },
    {
        .name = "sagemaker",
        .marker = "SM_CURRENT_HOST",
        .job_id = "TRAINING_JOB_NAME|SAGEMAKER_TRAINING_JOB_NAME",
        .scheduler = true,
        .derive = sagemaker_hosts,
    },
    {
        .name = "kubernetes",
        .marker = "KUBERNETES_SERVICE_HOST|JOB_COMPLETION_INDEX",
        .rank = "JOB_COMPLETION_INDEX",
        .node = "POD_NAME", /* by the downward API */
    },
    {
        .name = "tpu",
        .rank = "TPU_WORKER_ID|CLOUD_TPU_TASK_ID",
    },
};

/* The value of the first of the names that is set and not empty; `used` gets its name. */
static const char *launcher_first_of(const struct launcher_request *a, const char *names,
                                     char *used, size_t size)
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

static void launcher_take_number(int64_t *out, const struct launcher_request *a, const char *names)
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

static void take_text(char *out, size_t size, const struct launcher_request *a, const char *names)
{
    const char *v = launcher_first_of(a, names, NULL, 0);
    if (v && !*out)
        snprintf(out, size, "%s", v);
}

/* "none" is what torchrun calls a run that was given no id: it does not identify a run. */
static void torchrun_job(struct launcher *l, const struct launcher_request *a)
{
    const char *id = a->env(a->ctx, "TORCHELASTIC_RUN_ID");
    if (id && *id && strcmp(id, "none") != 0)
        snprintf(l->job_id, sizeof l->job_id, "%s", id);
}

/* SM_HOSTS is a JSON list of names; a host's place in it is its number. */
static void sagemaker_hosts(struct launcher *l, const struct launcher_request *a)
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

static bool row_matches(const struct launcher_row *r, const struct launcher_request *a)
{
    if (r->marker ? !launcher_first_of(a, r->marker, NULL, 0) : !r->rank)
        return false;
    /* A row with only a marker (SageMaker) matches by it; others need the rank. Kubernetes has a
     * rank only in indexed jobs. */
    return (r->rank && launcher_first_of(a, r->rank, NULL, 0)) || !r->rank ||
           strcmp(r->name, "kubernetes") == 0;
}

static void launcher_take_row(struct launcher *l, const struct launcher_row *r,
                              const struct launcher_request *a)
{
    launcher_first_of(a, r->rank, l->source, sizeof l->source);
    launcher_take_number(&l->rank, a, r->rank);
    launcher_take_number(&l->world_size, a, r->world_size);
    launcher_take_number(&l->local_rank, a, r->local_rank);
    launcher_take_number(&l->local_size, a, r->local_size);
    launcher_take_number(&l->node_rank, a, r->node_rank);
    launcher_take_number(&l->nodes, a, r->nodes);
    launcher_take_number(&l->job_start_s, a, r->job_start_s);
    if (l->job_start_s == 0 || l->job_start_s > CLOCK_MOST_NS / NS_PER_S)
        l->job_start_s = -1;
    launcher_take_number(&l->restarts, a, r->restarts);
    take_text(l->step, sizeof l->step, a, r->step);
    take_text(l->job_id, sizeof l->job_id, a, r->job_id);
    take_text(l->cluster, sizeof l->cluster, a, r->cluster);
    take_text(l->launch, sizeof l->launch, a, r->launch);
    l->job_id_repeats = r->job_id_repeats;
    if (r->derive)
        r->derive(l, a);
}

/* The scheduler's job and node take precedence over the launcher's; the launcher's own id then
 * distinguishes its start from others within the job. */
static void take_scheduler(struct launcher *l, const struct launcher_row *r,
                           const struct launcher_request *a)
{
    struct launcher s = UNKNOWN;
    launcher_take_row(&s, r, a);
    if (!*l->name)
        snprintf(l->name, sizeof l->name, "%s", r->name);
    if (*l->job_id && strcmp(l->job_id, s.job_id) != 0 && !*l->step)
        snprintf(l->step, sizeof l->step, "%s", l->job_id);
    else if (!*l->step) {
        snprintf(l->step, sizeof l->step, "%s", s.step);
        /* Not for mpirun's start: on its own node the ranks are not children of an srun. */
        snprintf(l->launch, sizeof l->launch, "%s", s.launch);
    }
    snprintf(l->job_id, sizeof l->job_id, "%s", s.job_id);
    snprintf(l->cluster, sizeof l->cluster, "%s", s.cluster);
    l->job_start_s = s.job_start_s;
    l->restarts = s.restarts;
    l->job_id_repeats = false;
    if (s.node_rank >= 0)
        l->node_rank = s.node_rank;
    if (s.nodes >= 0)
        l->nodes = s.nodes;
}

void launcher_find(struct launcher *out, launcher_env env, void *ctx)
{
    const struct launcher_request a = {env, ctx};
    *out = UNKNOWN;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (!row_matches(&rows[i], &a))
            continue;
        snprintf(out->name, sizeof out->name, "%s", rows[i].name);
        launcher_take_row(out, &rows[i], &a);
        break;
    }
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (rows[i].scheduler && launcher_first_of(&a, rows[i].job_id, NULL, 0))
            take_scheduler(out, &rows[i], &a);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        take_text(out->node, sizeof out->node, &a, rows[i].node);
}

/* ==== names of runs and nodes ==== */

/* Programs with names that do not identify what runs: their script's name does. */
static bool runname_is_interpreter(const char *name)
{
    static const char *const words[] = {"python", "torchrun", "bash",       "sh",       "dash",
                                        "perl",   "ruby",     "accelerate", "deepspeed"};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        const size_t n = strlen(words[i]);
        /* "python3.11" too, but not "shuffle". */
        if (strncmp(name, words[i], n) == 0 && strspn(name + n, "0123456789.") == strlen(name + n))
            return true;
    }
    return false;
}

void run_name_of(char out[RUN_NAME_LEN], const char *const command[])
{
    const char *name = command[0] ? path_base(command[0]) : "";
    if (runname_is_interpreter(name)) {
        const struct script script = script_find(command + 1);
        name = script.name ? path_base(script.name) : name;
    }
    name_sanitize(out, RUN_NAME_LEN, name);
    char *dot = strrchr(out, '.');
    if (dot && dot != out && strlen(dot) == 3 && isalpha((unsigned char)dot[1]))
        *dot = 0;
    if (!*out)
        snprintf(out, RUN_NAME_LEN, "run");
}

enum { ID_NAME_LEAST = 16, ID_START_LEN = sizeof((struct launcher *)0)->launch + 1 };

/* What only this start of the job has: the day (UTC), or srun's port where Slurm is too old to give
 * the start. */
static void run_id_start(char out[ID_START_LEN], const struct launcher *l)
{
    const time_t start = (time_t)l->job_start_s;
    struct tm tm;
    *out = 0;
    if (start >= 0 && gmtime_r(&start, &tm))
        strftime(out, ID_START_LEN, "-%Y%m%d", &tm);
    else if (*l->launch)
        snprintf(out, ID_START_LEN, "-%s", l->launch);
}

/* Writes the ID and returns the length of its part that all starts of the job have in common. Where
 * the text is too long it is cut, the name first. Jobs whose IDs are then alike are distinguished
 * by what run.json has of them. */
static size_t run_id_put(char out[RUN_ID_LEN], const struct launcher *l, const char *name)
{
    enum { ROOM = RUN_ID_LEN - RUN_ID_SUFFIX };
    char start[ID_START_LEN], job[ROOM - ID_START_LEN - ID_NAME_LEAST], text[ROOM];
    char whole[3 * LAUNCHER_TEXT + 4];
    run_id_start(start, l);
    snprintf(whole, sizeof whole, "-%s%s%s%s%s", l->cluster, *l->cluster ? "-" : "", l->job_id,
             *l->step ? "." : "", l->step);
    snprintf(job, sizeof job, "%.*s", (int)sizeof job - 1, whole);
    const size_t tail = strlen(job) + strlen(start);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(ROOM - 1 - tail), name, job, start);
    name_sanitize(out, RUN_ID_LEN, text);
    return strlen(out) - strlen(start);
}

/* Every node of a job has to arrive at the same ID, and no node queries another. So the ID is made
 * of nothing but variables that the launcher gives to all nodes alike. A clock is not one of them:
 * around midnight the nodes would disagree about the day. What happens when another job's run has
 * this ID is in rundir.c. */
bool run_id_of_launcher(char out[RUN_ID_LEN], const struct launcher *l, const char *name,
                        struct run_job *job)
{
    /* A batch script's job id is that of all its starts, so it needs the step to be one start. */
    const bool several =
        l->world_size > 1 ||
        (l->nodes > 1 && (*l->step || l->rank >= 0 || strcmp(l->name, "sagemaker") == 0));
    if (!several || !*l->job_id)
        return false;
    *job = (struct run_job){
        .cluster = l->cluster,
        .id = l->job_id,
        .step = l->step,
        .start_ns = l->job_start_s >= 0 ? l->job_start_s * NS_PER_S : 0,
        .restarted = l->restarts > 0,
        .id_repeats = l->job_id_repeats,
        .common = run_id_put(out, l, name),
    };
    return *out != 0;
}

void node_id_default(char out[NODE_ID_LEN], const char *host, const struct launcher *l)
{
    char text[NODE_ID_LEN * 2];
    host = *l->node ? l->node : host; /* several daemons of a scheduler may share a host */
    if (l->local_rank > 0 || (l->local_rank == 0 && l->local_size > 1))
        snprintf(text, sizeof text, "%.*s-%lld", NODE_ID_LEN - 8, host, (long long)l->local_rank);
    else
        snprintf(text, sizeof text, "%.*s", NODE_ID_LEN - 1, host);
    name_sanitize(out, NODE_ID_LEN, text);
    if (!*out)
        snprintf(out, NODE_ID_LEN, "node");
}

/* ==== the commit ==== */

/* HEAD is a commit or "ref: <name>"; the name is a file under the common
 * folder, or a line of packed-refs there. */

enum { SMALL_FILE = 64 * 1024, PACKED_REFS = 64 * 1024 * 1024, REF_HOPS = 5 };

struct repo {
    char folder[PATH_LEN]; /* HEAD of this worktree */
    char common[PATH_LEN]; /* refs of the repository */
};

static bool is_commit(const char *s)
{
    size_t n = 0;
    while (isxdigit((unsigned char)s[n]))
        n++;
    return s[n] == 0 && (n == 40 || n == 64);
}

/* First line of a small file, without the newline; NULL when it cannot be read. */
static const char *first_line(const char *path, struct arena *a)
{
    struct err e;
    char *text;
    size_t len;
    if (file_read(path, SMALL_FILE, a, &text, &len, &e))
        return NULL;
    text[strcspn(text, "\r\n")] = 0;
    return text;
}

/* `name` as it is when absolute, else under `folder`. */
static int below(char *out, const char *folder, const char *name)
{
    struct err e;
    return name[0] == '/' ? path_join(out, &e, "%s", name)
                          : path_join(out, &e, "%s/%s", folder, name);
}

static bool open_git(struct repo *r, const char *folder, const char *git, struct arena *a)
{
    struct stat st;
    if (stat(git, &st) < 0)
        return false;
    const char *line = S_ISREG(st.st_mode) ? first_line(git, a) : NULL;
    if (line && strncmp(line, "gitdir: ", 8) != 0)
        return false;
    if (below(r->folder, folder, line ? line + 8 : git))
        return false;
    char path[PATH_LEN];
    struct err e;
    if (path_join(path, &e, "%s/commondir", r->folder))
        return false;
    const char *common = first_line(path, a);
    return below(r->common, r->folder, common ? common : r->folder) == 0;
}

static bool find_repo(struct repo *r, const char *folder, struct arena *a)
{
    char dir[PATH_LEN], git[PATH_LEN];
    struct err e;
    if (path_join(dir, &e, "%s", folder))
        return false;
    for (;;) {
        if (path_join(git, &e, "%s/.git", dir) == 0 && open_git(r, dir, git, a))
            return true;
        char *slash = strrchr(dir, '/');
        if (!slash)
            return false;
        *slash = 0;
    }
}

static void packed_ref(const struct repo *r, const char *name, char *out, struct arena *a)
{
    char path[PATH_LEN];
    struct err e;
    char *text, *save = NULL;
    size_t len;
    if (path_join(path, &e, "%s/packed-refs", r->common) ||
        file_read(path, PACKED_REFS, a, &text, &len, &e))
        return;
    for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
        char *space = strchr(l, ' ');
        if (!space || strcmp(space + 1, name) != 0)
            continue;
        *space = 0;
        if (is_commit(l))
            snprintf(out, GIT_COMMIT_LEN, "%s", l);
        return;
    }
}

static void gitinfo_resolve(const struct repo *r, const char *name, char *out, struct arena *a)
{
    char path[PATH_LEN];
    struct err e;
    /* HEAD belongs to the worktree; what it names belongs to the repository. */
    const char *where = r->folder;
    for (int hop = 0; hop < REF_HOPS; hop++) {
        if (strstr(name, "..") || path_join(path, &e, "%s/%s", where, name))
            return;
        const char *line = first_line(path, a);
        if (line && is_commit(line)) {
            snprintf(out, GIT_COMMIT_LEN, "%s", line);
            return;
        }
        if (!line || strncmp(line, "ref: ", 5) != 0) {
            packed_ref(r, name, out, a);
            return;
        }
        name = line + 5;
        where = r->common;
    }
}

void git_commit_of(const char *folder, char out[GIT_COMMIT_LEN])
{
    struct arena a = {0};
    struct repo r;
    out[0] = 0;
    if (find_repo(&r, folder, &a))
        gitinfo_resolve(&r, "HEAD", out, &a);
    arena_free(&a);
}

/* ==== names of processes ==== */

enum { ARGS_MOST = 64 * 1024 };

/* Of `python -u -m pkg.train --lr 1`: "python -m pkg.train". Options before the script are left
 * out; -m and -c show how the program was found. */
static void add_script(char *out, size_t size, const char *p, const char *end)
{
    for (; p < end; p += strlen(p) + 1) {
        const size_t used = strlen(out);
        if (strcmp(p, "-c") == 0) {
            snprintf(out + used, size - used, " -c");
            return;
        }
        if (strcmp(p, "-m") == 0 && p + 3 < end) {
            snprintf(out + used, size - used, " -m %s", p + 3);
            return;
        }
        if (*p == '-')
            continue;
        snprintf(out + used, size - used, " %s", path_base(p));
        return;
    }
}

void command_label(char *out, size_t size, const char *args, size_t len)
{
    const char *end = args + len;
    snprintf(out, size, "%s", path_base(args));
    if (strncmp(out, "python", 6) == 0)
        add_script(out, size, args + strlen(args) + 1, end);
}

void process_label(char *out, size_t size, const char *proc, uint32_t pid)
{
    char path[PATH_LEN], *text;
    struct arena a = {0};
    struct err ignored;
    size_t len;
    snprintf(out, size, "process %" PRIu32, pid);
    if (proc && path_join(path, &ignored, "%s/%" PRIu32 "/cmdline", proc, pid) == 0 &&
        file_read(path, ARGS_MOST, &a, &text, &len, &ignored) == 0 && len > 0 && *text)
        command_label(out, size, text, len);
    arena_free(&a);
}
