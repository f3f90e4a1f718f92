/* SPDX-License-Identifier: Apache-2.0 */
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
