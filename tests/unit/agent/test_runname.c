/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/jobinfo.h"
#include "base/mem.h"
#include "test.h"

TEST(a_run_is_named_after_what_the_user_would_call_it)
{
    static const struct {
        const char *argv[8];
        const char *name;
    } rows[] = {
        {{"python", "train.py"}, "train"},
        {{"/usr/bin/python3.11", "-u", "src/train_gpt.py", "--lr", "1"}, "train_gpt"},
        {{"python", "-m", "mypkg.train"}, "mypkg.train"},
        {{"python", "-c", "print(1)"}, "python"},
        {{"torchrun", "--nproc-per-node", "8", "finetune.py"}, "finetune"},
        {{"bash", "-e", "job.sh"}, "job"},
        {{"sh", "-c", "sleep 1"}, "sh"},
        {{"./bin/a.out"}, "a.out"},
        {{"shuffle", "x.py"}, "shuffle"},
        {{"/opt/my prog$"}, "my-prog-"},
        {{"./-rf"}, "rf"},
        {{"..."}, "run"},
        {{""}, "run"},
        {{NULL}, "run"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char name[RUN_NAME_LEN];
        run_name_of(name, rows[i].argv);
        CHECK_STR(name, rows[i].name);
    }
}

static struct launcher launcher_with(const char *name, const char *job, const char *step,
                                     int64_t world, int64_t nodes)
{
    struct launcher l = {.rank = -1,
                         .world_size = world,
                         .local_rank = -1,
                         .local_size = -1,
                         .node_rank = -1,
                         .nodes = nodes,
                         .job_start_s = -1,
                         .restarts = -1};
    snprintf(l.name, sizeof l.name, "%s", name);
    snprintf(l.job_id, sizeof l.job_id, "%s", job);
    snprintf(l.step, sizeof l.step, "%s", step);
    return l;
}

TEST(nodes_of_a_launcher_share_a_run_only_when_there_are_several)
{
    char id[RUN_ID_LEN];
    struct run_job job;
    struct launcher l = launcher_with("slurm", "991", "0", 16, 4);
    CHECK(run_id_of_launcher(id, &l, "train", &job));
    CHECK_STR(id, "train-991.0");
    l = launcher_with("slurm", "991", "0", 1, 1);
    CHECK(!run_id_of_launcher(id, &l, "train", &job));
    /* A batch script of a job of many nodes is one process, and may start several runs. */
    l = launcher_with("slurm", "991", "", -1, 4);
    CHECK(!run_id_of_launcher(id, &l, "train", &job));
    l = launcher_with("torchrun", "", "", 8, 2);
    CHECK(!run_id_of_launcher(id, &l, "train", &job));
    l = launcher_with("sagemaker", "bert/1", "", -1, 2);
    CHECK(run_id_of_launcher(id, &l, "train", &job));
    CHECK_STR(id, "train-bert-1");
}

TEST(ranks_on_one_host_get_nodes_of_their_own)
{
    char id[NODE_ID_LEN];
    struct launcher l = launcher_with("slurm", "1", "0", 4, 2);
    node_id_default(id, "gpu-07.cluster", &l);
    CHECK_STR(id, "gpu-07.cluster");
    l.local_rank = 3;
    node_id_default(id, "gpu-07.cluster", &l);
    CHECK_STR(id, "gpu-07.cluster-3");
    l.local_rank = 0;
    l.local_size = 4;
    node_id_default(id, "gpu-07.cluster", &l);
    CHECK_STR(id, "gpu-07.cluster-0");
    l.local_rank = -1;
    node_id_default(id, "", &l);
    CHECK_STR(id, "node");
}
