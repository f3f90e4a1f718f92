/* SPDX-License-Identifier: Apache-2.0 */
/* What is said about a run everywhere: its end, its nodes, its command, its losses. */
#include <math.h>
#include <string.h>

#include "tables/runview.h"
#include "tables/show.h"
#include "test.h"

static struct arena arena;

static struct run_info run_of(struct node_info *nodes, size_t n, enum run_status status)
{
    for (size_t i = 0; i < n; i++) {
        nodes[i].status = status;
        nodes[i].why = nodes[i].why ? nodes[i].why : "";
    }
    return (struct run_info){.nodes = nodes, .n_nodes = n, .status = status, .end = {8 * NS_PER_S}};
}

TEST(a_run_that_ended_well_or_still_runs_has_no_ending)
{
    struct node_info node = {.id = "a"};
    struct run_info info = run_of(&node, 1, RUN_FINISHED);
    CHECK(runview_ending(&info, &arena) == NULL);
    info = run_of(&node, 1, RUN_RUNNING);
    CHECK(runview_ending(&info, &arena) == NULL);
}

TEST(the_ending_names_exit_status_signal_and_time)
{
    struct node_info node = {.id = "a"};
    struct run_info info = run_of(&node, 1, RUN_FAILED);
    info.exit_status = 3;
    CHECK_STR(runview_ending(&info, &arena), "The job failed with exit status 3 after 8.0 s.");
    node.why = "SIGSEGV";
    CHECK_STR(runview_ending(&info, &arena), "The job was killed by SIGSEGV after 8.0 s.");
    info = run_of(&node, 1, RUN_DIED);
    CHECK(strstr(runview_ending(&info, &arena), "without closing its files"));
}

TEST(a_signal_to_the_recorder_that_joined_a_job_did_not_interrupt_the_job)
{
    struct node_info node = {.id = "a", .why = "SIGTERM", .attached = true};
    const struct run_info info = run_of(&node, 1, RUN_INTERRUPTED);
    CHECK_STR(runview_ending(&info, &arena), "Recording was stopped (SIGTERM) after 8.0 s.");
}

TEST(the_ending_of_several_nodes_names_the_first_that_ended_so)
{
    struct node_info nodes[] = {{.id = "a", .why = ""}, {.id = "b", .why = "SIGTERM"}};
    struct run_info info = run_of(nodes, 2, RUN_INTERRUPTED);
    nodes[0].status = RUN_FINISHED;
    CHECK_STR(runview_ending(&info, &arena),
              "The job was interrupted (SIGTERM) after 8.0 s on node b.");
}

TEST(sessions_of_a_node_count_as_one_node_with_the_gpus_of_the_last)
{
    struct node_info nodes[] = {{.id = "a", .n_gpus = 8}, {.id = "a", .n_gpus = 2}, {.id = "b"}};
    const struct run_info info = run_of(nodes, 3, RUN_FINISHED);
    struct node_view *v;
    CHECK_INT(runview_nodes(&info, &arena, &v), 2);
    CHECK_INT(v[0].sessions, 2);
    CHECK(v[0].first == &nodes[0] && v[0].last == &nodes[1]);
    CHECK_INT(runview_count_nodes(&info), 2);
    CHECK_INT(runview_gpus(&info), 2);
}

TEST(a_cost_that_one_recorder_does_not_know_is_not_known)
{
    struct node_info nodes[] = {{.id = "a", .self_cpu_s = 1, .bytes_written = 10},
                                {.id = "b", .self_cpu_s = NAN, .bytes_written = -1}};
    const struct run_info info = run_of(nodes, 2, RUN_FINISHED);
    CHECK(isnan(runview_self_cpu_s(&info)));
    CHECK(isnan(runview_bytes_written(&info)));
    CHECK(strstr(runview_cost_text(&info, &arena), "not recorded by Footplate"));
    nodes[1].status = RUN_RUNNING;
    CHECK(strstr(runview_cost_text(&info, &arena), "when the run ends"));
    nodes[1].self_cpu_s = 3;
    CHECK_STR(runview_cost_text(&info, &arena), "4.00 s of CPU (50.00 % of one core)");
}

TEST(a_command_is_quoted_so_that_a_shell_reads_the_same_words)
{
    const char *words[] = {"python", "train.py", "--name", "it's", "", "a b", NULL};
    const struct run_info info = {.command = words};
    CHECK_STR(runview_command(&info, &arena), "python train.py --name 'it'\\''s' '' 'a b'");
    CHECK_STR(runview_command(&(struct run_info){0}, &arena), "");
}

TEST(the_interval_of_a_run_is_the_shortest_of_its_nodes)
{
    struct node_info nodes[] = {
        {.id = "a", .interval_ns = 500}, {.id = "b", .interval_ns = 100}, {.id = "c"}};
    const struct run_info info = run_of(nodes, 3, RUN_FINISHED);
    CHECK_INT(runview_interval_ns(&info), 100);
}

/* ---- losses ---- */

static struct run_loss run_loss_of(const char *node, const char *what, const char *why)
{
    return (struct run_loss){.node = node, .loss = loss_from_text(LOSS_UNSUPPORTED, what, why)};
}

static const char *words_of(const char *what)
{
    const struct loss l = loss_from_text(LOSS_UNSUPPORTED, what, "");
    return loss_what_words(&l, &arena);
}

TEST(a_missing_metric_has_the_reason_of_its_own_loss_then_of_its_probe)
{
    struct node_info node = {.id = "a", .gpus_known = true, .gpu_absent = "no driver"};
    const struct run_info info = run_of(&node, 1, RUN_FINISHED);
    struct run_loss v[] = {run_loss_of("b", "gpu0 gpu.energy", "of another node"),
                           run_loss_of("a", "gpu0 gpu.energy", "too old"),
                           run_loss_of("a", "nvml_gpm", "needs Hopper"),
                           run_loss_of("a", "cpu", "no /proc")};
    const struct loss_list l = {v, 4, &info, &arena};
    const char *what;
    CHECK_STR(loss_list_why(&l, "a", "gpu.energy", &what), "too old");
    CHECK_STR(what, "gpu0 gpu.energy");
    CHECK_STR(loss_list_why(&l, "a", "gpu.sm_active", &what), "needs Hopper");
    CHECK_STR(loss_list_why(&l, "a", "cpu.util", &what), "no /proc");
    CHECK_STR(loss_list_why(&l, "a", "gpu.util", &what), "no driver");
    CHECK_STR(loss_list_why(&l, "a", "mem.util", &what), "no readings were recorded");
}

TEST(dropped_events_are_the_larger_of_counter_and_losses_of_each_node)
{
    struct node_info nodes[] = {{.id = "a", .events_dropped = 5},
                                {.id = "b", .events_dropped = -1}};
    const struct run_info info = run_of(nodes, 2, RUN_FINISHED);
    struct run_loss v[] = {run_loss_of("a", "x", ""), run_loss_of("b", "x", "")};
    v[0].loss.id = v[1].loss.id = LOSS_EVENTS;
    v[0].loss.count = 3;
    v[1].loss.count = 7;
    CHECK_INT(runview_events_dropped(&info, &(struct loss_list){v, 2, &info}), 12);
}

TEST(a_loss_is_named_by_the_title_of_its_metric_or_probe)
{
    CHECK_STR(probe_words("disk"), "disk metrics");
    CHECK(probe_words("nothing") == NULL);
    CHECK_STR(words_of("disk"), "disk metrics");
    CHECK_STR(words_of("file x.json"), "file x.json");
    CHECK(strncmp(words_of("gpu0 gpu.energy"), "gpu0: ", 6) == 0);
}

TEST(a_machine_without_swap_lacks_nothing)
{
    struct loss l = loss_of(LOSS_ABSENT, LOST_METRIC(M_SWAP_USED), "no swap");
    CHECK(loss_is_no_news(&l));
    l.id = LOSS_UNSUPPORTED;
    CHECK(!loss_is_no_news(&l));
    l = loss_of(LOSS_ABSENT, LOST_METRIC(M_CPU_UTIL), "no /proc");
    CHECK(!loss_is_no_news(&l));
}

TEST(a_loss_is_listed_with_the_keys_of_what_is_missing)
{
    struct arena a = {0};
    const struct run_loss energy = run_loss_of("a", "gpu0 gpu.energy", "too old"),
                          probe = run_loss_of("a", "nvml_gpm", "needs Hopper");
    const struct show_loss metric = show_loss_of(&energy, &a), part = show_loss_of(&probe, &a);
    CHECK_STR(metric.metric, "gpu.energy");
    CHECK_STR(metric.entity, "gpu0");
    CHECK(!metric.part);
    CHECK_STR(part.part, "nvml_gpm");
    CHECK(!part.metric && !part.entity);
    arena_free(&a);
}
