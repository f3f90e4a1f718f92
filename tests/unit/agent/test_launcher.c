/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <time.h>

#include "agent/jobinfo.h"
#include "base/mem.h"
#include "test.h"

static char values[8][128]; /* the latest answers, as getenv's stay valid */
static unsigned turn;

/* The environment as text: "A=1 B=2". */
static const char *from_text(void *ctx, const char *name)
{
    const size_t n = strlen(name);
    for (const char *p = ctx; *p; p += strcspn(p, " "), p += *p == ' ') {
        if (strncmp(p, name, n) != 0 || p[n] != '=')
            continue;
        char *v = values[turn++ % COUNT_OF(values)];
        snprintf(v, sizeof values[0], "%.*s", (int)strcspn(p + n + 1, " "), p + n + 1);
        return v;
    }
    return NULL;
}

struct row {
    const char *env, *name, *source, *job_id, *step;
    int64_t rank, world_size, local_rank, local_size, node_rank, nodes;
};

static const struct row rows[] = {
    {"HOME=/root PATH=/bin", "", "", "", "", -1, -1, -1, -1, -1, -1},
    {"RANK=5 WORLD_SIZE=8 LOCAL_RANK=1 LOCAL_WORLD_SIZE=4 GROUP_RANK=1 GROUP_WORLD_SIZE=2 "
     "TORCHELASTIC_RUN_ID=exp7",
     "torchrun", "RANK", "exp7", "", 5, 8, 1, 4, 1, 2},
    {"RANK=0 WORLD_SIZE=1 TORCHELASTIC_RUN_ID=none", "torchrun", "RANK", "", "", 0, 1, -1, -1, -1,
     -1},
    /* RANK alone is somebody's own variable. */
    {"RANK=3", "", "", "", "", -1, -1, -1, -1, -1, -1},
    {"SLURM_PROCID=6 SLURM_NTASKS=16 SLURM_LOCALID=2 SLURM_NODEID=1 SLURM_NNODES=4 "
     "SLURM_JOB_ID=991 "
     "SLURM_STEP_ID=0",
     "slurm", "SLURM_PROCID", "991", "0", 6, 16, 2, -1, 1, 4},
    /* The batch script is no rank of anything, but its job is known. */
    {"SLURM_PROCID=0 SLURM_NODEID=0 SLURM_NNODES=4 SLURM_JOB_ID=991", "slurm", "", "991", "", -1,
     -1, -1, -1, 0, 4},
    /* torchrun under srun: its rank is the truth, Slurm gives job and node. */
    {"RANK=9 WORLD_SIZE=16 LOCAL_RANK=1 GROUP_RANK=0 TORCHELASTIC_RUN_ID=none SLURM_PROCID=1 "
     "SLURM_NTASKS=2 SLURM_NODEID=1 SLURM_NNODES=2 SLURM_JOB_ID=77 SLURM_STEP_ID=3",
     "torchrun", "RANK", "77", "3", 9, 16, 1, -1, 1, 2},
    {"OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=0 "
     "OMPI_COMM_WORLD_LOCAL_SIZE=2 PMIX_NAMESPACE=prterun-a@1 PMIX_RANK=2",
     "openmpi", "OMPI_COMM_WORLD_RANK", "prterun-a@1", "", 2, 4, 0, 2, -1, -1},
    /* mpirun in a Slurm job: SLURM_PROCID counts mpirun's helpers, not the ranks. */
    {"OMPI_COMM_WORLD_RANK=7 OMPI_COMM_WORLD_SIZE=8 PMIX_NAMESPACE=p@1 SLURM_PROCID=1 "
     "SLURM_STEP_ID=0 SLURM_JOB_ID=12 SLURM_NODEID=1 SLURM_NNODES=2",
     "openmpi", "OMPI_COMM_WORLD_RANK", "12", "p@1", 7, 8, -1, -1, 1, 2},
    {"PMI_RANK=1 PMI_SIZE=2 MPI_LOCALRANKID=1 MPI_LOCALNRANKS=2", "mpich", "PMI_RANK", "", "", 1, 2,
     1, 2, -1, -1},
    {"PMI_RANK=1 PMI_SIZE=2", "pmi", "PMI_RANK", "", "", 1, 2, -1, -1, -1, -1},
    {"MV2_COMM_WORLD_RANK=1 MV2_COMM_WORLD_SIZE=2 MV2_COMM_WORLD_LOCAL_RANK=1", "mvapich",
     "MV2_COMM_WORLD_RANK", "", "", 1, 2, 1, -1, -1, -1},
    {"PALS_RANKID=4 PALS_LOCAL_RANKID=0 PALS_APID=abc PBS_JOBID=55.srv", "pals", "PALS_RANKID",
     "55.srv", "abc", 4, -1, 0, -1, -1, -1},
    {"FLUX_TASK_RANK=1 FLUX_JOB_SIZE=4 FLUX_TASK_LOCAL_ID=1 FLUX_JOB_NNODES=2 FLUX_JOB_ID=f1",
     "flux", "FLUX_TASK_RANK", "f1", "", 1, 4, 1, -1, -1, 2},
    {"JSM_NAMESPACE_RANK=3 JSM_NAMESPACE_SIZE=6 JSM_NAMESPACE_LOCAL_RANK=3 LSB_JOBID=8", "jsm",
     "JSM_NAMESPACE_RANK", "8", "", 3, 6, 3, -1, -1, -1},
    {"HOROVOD_RANK=3 HOROVOD_SIZE=8 HOROVOD_LOCAL_RANK=1 HOROVOD_CROSS_RANK=1 HOROVOD_CROSS_SIZE=4 "
     "HOROVOD_LOCAL_SIZE=2",
     "horovod", "HOROVOD_RANK", "", "", 3, 8, 1, 2, 1, 4},
    {"SM_HOSTS=[\"algo-1\",\"algo-2\",\"algo-3\"] SM_CURRENT_HOST=algo-2 TRAINING_JOB_NAME=bert-1",
     "sagemaker", "", "bert-1", "", -1, -1, -1, -1, 1, 3},
    {"SM_HOSTS=[\"algo-1\", SM_CURRENT_HOST=algo-1", "sagemaker", "", "", "", -1, -1, -1, -1, -1,
     -1},
    {"KUBERNETES_SERVICE_HOST=10.0.0.1 JOB_COMPLETION_INDEX=2", "kubernetes",
     "JOB_COMPLETION_INDEX", "", "", 2, -1, -1, -1, -1, -1},
    {"KUBERNETES_SERVICE_HOST=10.0.0.1", "kubernetes", "", "", "", -1, -1, -1, -1, -1, -1},
    {"TPU_WORKER_ID=3", "tpu", "TPU_WORKER_ID", "", "", 3, -1, -1, -1, -1, -1},
    {"CLOUD_TPU_TASK_ID=1", "tpu", "CLOUD_TPU_TASK_ID", "", "", 1, -1, -1, -1, -1, -1},
};

TEST(each_launcher_is_known_by_its_variables)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct row *r = &rows[i];
        struct launcher l;
        launcher_find(&l, from_text, (void *)(uintptr_t)r->env);
        CHECK_STR(l.name, r->name);
        CHECK_STR(l.source, r->source);
        CHECK_STR(l.job_id, r->job_id);
        CHECK_STR(l.step, r->step);
        CHECK_INT(l.rank, r->rank);
        CHECK_INT(l.world_size, r->world_size);
        CHECK_INT(l.local_rank, r->local_rank);
        CHECK_INT(l.local_size, r->local_size);
        CHECK_INT(l.node_rank, r->node_rank);
        CHECK_INT(l.nodes, r->nodes);
    }
}

TEST(a_rank_that_is_no_number_is_unknown_not_zero)
{
    struct launcher l;
    launcher_find(&l, from_text, (void *)(uintptr_t) "RANK=x WORLD_SIZE=-2 LOCAL_RANK=3abc");
    CHECK_STR(l.name, "torchrun");
    CHECK_INT(l.rank, -1);
    CHECK_INT(l.world_size, -1);
    CHECK_INT(l.local_rank, -1);
}

/* ---- what a run and a node are called ---- */

struct id_row {
    const char *env, *run, *node; /* run "": of its own */
};

#define SLURM_23                                                                                   \
    "SLURM_JOB_ID=991 SLURM_STEP_ID=0 SLURM_PROCID=6 SLURM_NTASKS=16 SLURM_NODEID=1 "              \
    "SLURM_NNODES=4 SLURM_SRUN_COMM_PORT=41245 "

static const struct id_row id_rows[] = {
    /* The last second of a day, in UTC wherever the node is. */
    {SLURM_23 "SLURM_CLUSTER_NAME=fp SLURM_JOB_START_TIME=1798761599 SLURMD_NODENAME=n2",
     "train-fp-991.0-20261231", "n2"},
    {SLURM_23 "SLURM_CLUSTER_NAME=other SLURM_JOB_START_TIME=1798761600 SLURMD_NODENAME=n2",
     "train-other-991.0-20270101", "n2"},
    /* Before Slurm 23.02 there is no start: srun's port is the same for all tasks of its start. */
    {SLURM_23 "SLURM_CLUSTER_NAME=fp", "train-fp-991.0-41245", "host7"},
    {SLURM_23 "SLURM_JOB_START_TIME=0", "train-991.0-41245", "host7"},
    {SLURM_23 "SLURM_JOB_START_TIME=9223372036854775807", "train-991.0-41245", "host7"},
    /* A rank of torchrun below srun, and of mpirun, whose ranks are not all children of an srun. */
    {SLURM_23 "RANK=9 WORLD_SIZE=16 TORCHELASTIC_RUN_ID=none SLURM_CLUSTER_NAME=fp",
     "train-fp-991.0-41245", "host7"},
    {SLURM_23 "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=8 PMIX_NAMESPACE=p@1 "
              "SLURM_CLUSTER_NAME=fp SLURMD_NODENAME=n1",
     "train-fp-991.p@1", "n1"},
    {"OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=8 OMPI_COMM_WORLD_LOCAL_RANK=1 "
     "PMIX_NAMESPACE=2621374465",
     "train-2621374465", "host7-1"},
    {"RANK=1 WORLD_SIZE=4 LOCAL_RANK=1 TORCHELASTIC_RUN_ID=exp7", "train-exp7", "host7-1"},
    /* Pods: the name by the downward API, also when the rank is torchrun's. */
    {"KUBERNETES_SERVICE_HOST=10.0.0.1 JOB_COMPLETION_INDEX=2 POD_NAME=bert-2-x7k2p", "",
     "bert-2-x7k2p"},
    {"RANK=1 WORLD_SIZE=4 POD_NAME=bert-worker-1", "", "bert-worker-1"},
};

TEST(runs_and_nodes_are_named_by_what_all_nodes_of_a_job_have_alike)
{
    setenv("TZ", "EAST-14", 1);
    tzset();
    for (size_t i = 0; i < COUNT_OF(id_rows); i++) {
        struct launcher l;
        struct run_job job;
        char run[RUN_ID_LEN] = "", node[NODE_ID_LEN];
        launcher_find(&l, from_text, (void *)(uintptr_t)id_rows[i].env);
        CHECK(run_id_of_launcher(run, &l, "train", &job) == (*id_rows[i].run != 0));
        CHECK_STR(run, id_rows[i].run);
        node_id_default(node, "host7", &l);
        CHECK_STR(node, id_rows[i].node);
    }
}

TEST(a_requeued_job_knows_the_part_of_its_id_that_stays)
{
    struct launcher l;
    struct run_job job;
    char id[RUN_ID_LEN];
    launcher_find(&l, from_text,
                  (void *)(uintptr_t)(SLURM_23 "SLURM_CLUSTER_NAME=fp SLURM_RESTART_COUNT=1 "
                                               "SLURM_JOB_START_TIME=1798761600"));
    CHECK(run_id_of_launcher(id, &l, "train", &job));
    CHECK(job.restarted && !job.id_repeats);
    CHECK_INT(job.start_ns, INT64_C(1798761600) * NS_PER_S);
    CHECK_STR(job.cluster, "fp");
    id[job.common] = 0;
    CHECK_STR(id, "train-fp-991.0");
}

TEST(a_long_id_loses_letters_of_the_name_and_never_the_start)
{
    struct launcher l;
    struct run_job job;
    char id[RUN_ID_LEN], name[RUN_NAME_LEN];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    launcher_find(&l, from_text, (void *)(uintptr_t)(SLURM_23 "SLURM_JOB_START_TIME=1798761600"));
    memset(l.cluster, 'c', 60);
    CHECK(run_id_of_launcher(id, &l, name, &job));
    CHECK_INT(strlen(id), RUN_ID_LEN - RUN_ID_SUFFIX - 1);
    CHECK_STR(id + strlen(id) - strlen("cc-991.0-20270101"), "cc-991.0-20270101");
    memset(l.step, 's', sizeof l.step - 1);
    CHECK(run_id_of_launcher(id, &l, name, &job));
    CHECK_INT(strlen(id), RUN_ID_LEN - RUN_ID_SUFFIX - 1);
    CHECK_STR(id + job.common, "-20270101");
}
