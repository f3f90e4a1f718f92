/* SPDX-License-Identifier: Apache-2.0 */
/* The rules about how a program drives its GPU: HostBound, SyncBound, TensorCoresUnused,
 * ComputeBound, MemoryBound, CompileTime, SlowFinalization. One node, one rank, steps of equal
 * length, readings that stay the same; scenes (tests/rules) have the rest. */
#include <math.h>

#include "base/mem.h"
#include "kit.h"
#include "rules/engine.h"

#define START_NS (INT64_C(1700000000) * NS_PER_S)

enum { STEPS = 1000, SECONDS = 100, TOLD = 256 };

/* 1000 iterations of 100 ms, a reading of the GPU every 500 ms. */
struct loop {
    float util, sm, tensor, dram, job_cpu;                 /* NAN: not read */
    const char *gpu;                                       /* its name */
    int64_t sync_ms, between_ms, between_sync_ms, data_ms; /* of an iteration */
    size_t warmup;                                         /* so many steps */
    double cpu; /* of the process, percent of a core; 0: not recorded */
    struct rule_event events[TOLD];
    size_t n_events;
    struct run_facts run;
};

static size_t part_index(const char *name)
{
    size_t k = 0;
    while (strcmp(step_part_name(k), name) != 0)
        k++;
    return k;
}

static struct loop loop_new(void)
{
    return (struct loop){.util = NAN,
                         .sm = NAN,
                         .tensor = NAN,
                         .dram = NAN,
                         .job_cpu = NAN,
                         .run = {.ended = true,
                                 .has_steps = true,
                                 .job_start = {START_NS},
                                 .job_end = {START_NS + SECONDS * NS_PER_S},
                                 .loop_start = {START_NS},
                                 .steady_start = {START_NS},
                                 .loop_end = {START_NS + SECONDS * NS_PER_S}}};
}

static void loop_tell(struct loop *l, enum event_id id, double at_s, double dur_s, int64_t value)
{
    CHECK(l->n_events < TOLD);
    l->events[l->n_events++] = (struct rule_event){.id = id,
                                                   .at = {START_NS + (int64_t)(at_s * 1e9)},
                                                   .dur_ns = (int64_t)(dur_s * 1e9),
                                                   .value = value,
                                                   .rank = 0,
                                                   .worker = -1,
                                                   .pid = 7};
}

static void feed_gpu(struct engine *g, size_t node, const struct loop *l)
{
    enum { N = 2 * SECONDS };
    wall_ns at[N];
    float util[N], sm[N], tensor[N], dram[N], job_cpu[N];
    for (size_t i = 0; i < N; i++) {
        at[i].ns = START_NS + (int64_t)i * 500 * NS_PER_MS;
        util[i] = l->util;
        sm[i] = l->sm;
        tensor[i] = l->tensor;
        dram[i] = l->dram;
        job_cpu[i] = l->job_cpu;
    }
    const struct gpu_sweeps gpu = {.entity = "gpu0",
                                   .v = {[GPU_SIG_UTIL] = util,
                                         [GPU_SIG_SM] = sm,
                                         [GPU_SIG_TENSOR] = tensor,
                                         [GPU_SIG_DRAM] = dram}};
    engine_sweeps(g, node,
                  &(struct sweeps){.n = N,
                                   .at = at,
                                   .period_ns = 500 * NS_PER_MS,
                                   .v = {[SIG_JOB_CPU] = job_cpu},
                                   .gpus = &gpu,
                                   .n_gpus = 1});
}

static void feed_steps(struct engine *g, size_t node, const struct loop *l)
{
    static struct step v[STEPS];
    const int64_t iteration_ns = SECONDS * NS_PER_S / STEPS;
    for (size_t i = 0; i < STEPS; i++) {
        v[i] = (struct step){.number = (int64_t)i,
                             .warmup = i < l->warmup,
                             .start = {START_NS + (int64_t)i * iteration_ns},
                             .between_ns = l->between_ms * NS_PER_MS,
                             .between_sync_ns = l->between_sync_ms * NS_PER_MS,
                             .batch = -1};
        v[i].dur_ns = iteration_ns - v[i].between_ns;
        v[i].part_ns[part_index("sync")] = l->sync_ms * NS_PER_MS;
        v[i].part_ns[part_index("data")] = l->data_ms * NS_PER_MS;
    }
    engine_steps(g, node, &(struct rule_rank){0, 0, 7}, v, STEPS);
}

static const struct verdict *verdict_of(struct loop *l, enum rule_id rule)
{
    static struct arena life;
    struct rule_params params;
    struct verdicts *all = arena_new(&life, struct verdicts);
    rule_params_init(&params, &life);
    struct engine *g = engine_open(&params);
    engine_window(g, l->run.loop_start, l->run.loop_end);
    const size_t node = engine_node(g, &(struct node_facts){.id = "a",
                                                            .n_gpus = 1,
                                                            .gpu = l->gpu,
                                                            .machine = "",
                                                            .price_per_hour = NAN,
                                                            .first = {START_NS},
                                                            .period_ns = 500 * NS_PER_MS});
    for (int i = 0; l->cpu > 0 && i <= SECONDS; i++)
        loop_tell(l, EV_CPU_PROCESS, i, 0, (int64_t)(l->cpu / 100 * i * 1e9));
    feed_gpu(g, node, l);
    feed_steps(g, node, l);
    if (l->n_events)
        engine_events(g, node, l->events, l->n_events);
    engine_judge(g, &l->run, &life, all);
    engine_close(g);
    return &all->v[rule];
}

/* ---- SyncBound ---- */

TEST(the_idle_time_of_the_gpu_is_lost_but_no_more_than_the_waits_took)
{
    struct loop l = loop_new();
    l.util = 40;
    l.sync_ms = 20;
    const struct verdict *v = verdict_of(&l, RULE_sync_bound);
    CHECK_INT(v->n_findings, 1);
    NEAR(v->findings[0].lost_s, 20, 1e-6); /* of 60 s in which the GPU is idle */
    l = loop_new();
    l.util = 75;
    l.sync_ms = 60;
    v = verdict_of(&l, RULE_sync_bound);
    CHECK_INT(v->n_findings, 1);
    NEAR(v->findings[0].lost_s, 25, 1e-6); /* of 60 s of waits */
    NEAR(kit_number(&v->findings[0], "wait_share"), 60, 1e-6);
    NEAR(kit_number(&v->findings[0], "gpu_util"), 75, 1e-6);
}

TEST(waits_between_steps_count)
{
    struct loop l = loop_new();
    l.util = 40;
    l.between_ms = 15;
    l.between_sync_ms = 12;
    const struct verdict *v = verdict_of(&l, RULE_sync_bound);
    CHECK_INT(v->n_findings, 1);
    NEAR(kit_number(&v->findings[0], "wait_share"), 12, 1e-6);
    NEAR(v->findings[0].lost_s, 12, 1e-6);
}

TEST(steps_of_warm_up_are_left_out)
{
    struct loop l = loop_new();
    l.util = 40;
    l.sync_ms = 20;
    l.warmup = STEPS - 5;
    CHECK_INT(verdict_of(&l, RULE_sync_bound)->state, RULE_NOT_EVALUATED);
    CHECK_STR(verdict_of(&l, RULE_sync_bound)->why, "needs 10 training steps after warm-up");
}

TEST(a_gpu_that_is_low_because_of_loading_loses_nothing_by_waits)
{
    struct loop l = loop_new();
    l.util = 38;
    l.data_ms = 60;
    l.sync_ms = 30;
    CHECK_INT(verdict_of(&l, RULE_sync_bound)->state, RULE_CLEAR);
}

/* ---- HostBound ---- */

TEST(a_busy_core_and_an_idle_gpu_are_a_slow_host)
{
    struct loop l = loop_new();
    l.util = 15;
    l.sm = 1;
    l.cpu = 98;
    const struct verdict *v = verdict_of(&l, RULE_host_bound);
    CHECK_INT(v->n_findings, 1);
    CHECK_STR(v->findings[0].message,
              "the host limits the GPU: the training process used 98 % of one core (threshold 85 "
              "%) while the GPU was busy 15 % of the time, its SMs active 1 %; waits for the GPU "
              "took 0 % of the iterations, waits for data 0 %");
    NEAR(v->findings[0].lost_s, 85, 1e-6);
    NEAR(v->findings[0].lost_gpu_s, 85, 1e-6);
}

TEST(cpu_times_and_steps_before_the_loop_do_not_count)
{
    struct loop l = loop_new();
    l.util = 15;
    l.cpu = 95;
    l.run.loop_start.ns = l.run.steady_start.ns = START_NS + 20 * NS_PER_S;
    for (int i = 0; i < 20; i++) /* an idle process before the loop */
        loop_tell(&l, EV_CPU_PROCESS, i - 20, 0, 0);
    const struct verdict *v = verdict_of(&l, RULE_host_bound);
    CHECK_INT(v->n_findings, 1);
    NEAR(kit_number(&v->findings[0], "process_cpu"), 95, 0.1);
    CHECK_INT(v->violations, 800); /* steps in it */
}

TEST(cpu_times_after_the_loop_do_not_count)
{
    struct loop l = loop_new();
    l.util = 15;
    for (int i = 0; i <= SECONDS + 7; i++)
        loop_tell(&l, EV_CPU_PROCESS, i, 0, MIN_OF(i, SECONDS) * (NS_PER_S * 95 / 100));
    const struct verdict *v = verdict_of(&l, RULE_host_bound);
    CHECK_INT(v->n_findings, 1);
    NEAR(kit_number(&v->findings[0], "process_cpu"), 95, 0.1);
}

TEST(low_sm_activity_counts_until_the_gpu_always_runs_a_kernel)
{
    struct loop l = loop_new();
    l.util = 80;
    l.sm = 30;
    l.cpu = 98;
    CHECK_INT(verdict_of(&l, RULE_host_bound)->state, RULE_ISSUE);
    l.n_events = 0;
    l.util = 90;
    CHECK_INT(verdict_of(&l, RULE_host_bound)->state, RULE_CLEAR);
    l.n_events = 0;
    l.util = 80;
    l.sm = 60;
    CHECK_INT(verdict_of(&l, RULE_host_bound)->state, RULE_CLEAR);
}

TEST(the_cpu_use_of_the_job_stands_for_a_process_that_recorded_none)
{
    struct loop l = loop_new();
    l.util = 15;
    l.job_cpu = 106;
    CHECK_INT(verdict_of(&l, RULE_host_bound)->state, RULE_ISSUE);
    l.job_cpu = 300; /* loader workers, too: nothing is known of the process */
    CHECK_INT(verdict_of(&l, RULE_host_bound)->state, RULE_NOT_EVALUATED);
    l.job_cpu = 300;
    l.cpu = 50;
    CHECK_INT(verdict_of(&l, RULE_host_bound)->state, RULE_CLEAR);
}

/* ---- TensorCoresUnused, ComputeBound, MemoryBound ---- */

TEST(unused_tensor_cores_are_found_with_what_the_gpu_could_do)
{
    struct loop l = loop_new();
    l.util = 99;
    l.sm = 90;
    l.tensor = 1.9f;
    l.dram = 12;
    l.gpu = "NVIDIA H200";
    const struct verdict *v = verdict_of(&l, RULE_tensor_cores_unused);
    CHECK_INT(v->n_findings, 1);
    CHECK(strstr(v->findings[0].advice, "495 TFLOP/s in TF32 and 67 in FP32"));
    CHECK(strstr(v->findings[0].advice, "up to 7 times as fast"));
    NEAR(v->findings[0].lost_s, 100 * 0.9 * 2 / 3, 1e-6);
    l.gpu = "NVIDIA H100 PCIe";
    v = verdict_of(&l, RULE_tensor_cores_unused);
    CHECK(strstr(v->findings[0].advice, "378 TFLOP/s"));
    l.dram = NAN; /* not known is not high */
    CHECK_INT(verdict_of(&l, RULE_tensor_cores_unused)->state, RULE_ISSUE);
}

TEST(tensor_activity_of_five_percent_is_use_and_so_is_memory_at_its_limit)
{
    struct loop l = loop_new();
    l.util = 99;
    l.sm = 90;
    l.tensor = 5;
    l.dram = 12;
    CHECK_INT(verdict_of(&l, RULE_tensor_cores_unused)->state, RULE_CLEAR);
    l.tensor = 4.9f;
    CHECK_INT(verdict_of(&l, RULE_tensor_cores_unused)->state, RULE_ISSUE);
    l.dram = 60;
    CHECK_INT(verdict_of(&l, RULE_tensor_cores_unused)->state, RULE_CLEAR);
    l.dram = 12;
    l.sm = 49;
    CHECK_INT(verdict_of(&l, RULE_tensor_cores_unused)->state, RULE_CLEAR);
}

TEST(a_gpu_without_sm_activity_is_named_in_the_reason)
{
    struct loop l = loop_new();
    l.util = 99;
    l.gpu = "NVIDIA A100-SXM4-80GB";
    const struct verdict *v = verdict_of(&l, RULE_tensor_cores_unused);
    CHECK_INT(v->state, RULE_NOT_EVALUATED);
    CHECK_STR(v->why, "SM activity was not recorded on NVIDIA A100-SXM4-80GB; it needs a Hopper "
                      "(H100) or newer GPU without MIG");
    CHECK_INT(verdict_of(&l, RULE_compute_bound)->state, RULE_NOT_EVALUATED);
    CHECK_INT(verdict_of(&l, RULE_memory_bound)->state, RULE_NOT_EVALUATED);
}

TEST(a_bound_is_information_and_never_an_issue)
{
    struct loop l = loop_new();
    l.util = 99;
    l.sm = 90;
    l.tensor = 50;
    l.dram = 80;
    const struct verdict *compute = verdict_of(&l, RULE_compute_bound);
    CHECK_INT(compute->state, RULE_CLEAR);
    CHECK_INT(compute->severity, SEVERITY_INFO);
    CHECK_INT(compute->n_remarks, 1);
    CHECK_INT(verdict_of(&l, RULE_memory_bound)->n_remarks, 0);
    l.tensor = 49;
    CHECK_INT(verdict_of(&l, RULE_compute_bound)->n_remarks, 0);
    CHECK_INT(verdict_of(&l, RULE_memory_bound)->n_remarks, 1);
    l.dram = 59;
    CHECK_INT(verdict_of(&l, RULE_memory_bound)->n_remarks, 0);
}

/* ---- CompileTime ---- */

TEST(compilations_after_warm_up_get_other_advice)
{
    struct loop l = loop_new();
    l.run.steady_start.ns = START_NS + 10 * NS_PER_S;
    loop_tell(&l, EV_COMPILE, 1, 8, 0);
    for (int i = 0; i < 10; i++)
        loop_tell(&l, EV_COMPILE, 20 + 5 * i, 1, 0);
    const struct verdict *v = verdict_of(&l, RULE_compile_time);
    CHECK_INT(v->n_findings, 1);
    CHECK(strstr(v->findings[0].message,
                 "11 compilations, longest 8.0 s, 10 of them (10.0 s) after warm-up"));
    CHECK(strstr(v->findings[0].advice, "mark_dynamic"));
    NEAR(v->findings[0].lost_s, 18, 1e-6);
    CHECK_INT(v->findings[0].n_ranges, 11);
}

TEST(of_a_compilation_that_began_before_the_loop_what_lies_in_it_counts)
{
    struct loop l = loop_new();
    l.run.loop_start.ns = START_NS + 10 * NS_PER_S;
    loop_tell(&l, EV_COMPILE, 2, 20, 0);
    const struct verdict *v = verdict_of(&l, RULE_compile_time);
    CHECK_INT(v->n_findings, 1);
    NEAR(v->findings[0].lost_s, 12, 1e-6);
}

TEST(compilations_inside_another_count_once)
{
    struct loop l = loop_new();
    loop_tell(&l, EV_COMPILE, 10, 15, 0);
    loop_tell(&l, EV_COMPILE, 12, 4, 0);
    loop_tell(&l, EV_COMPILE, 18, 9, 0);
    const struct verdict *v = verdict_of(&l, RULE_compile_time);
    CHECK_INT(v->violations, 1);
    NEAR(v->findings[0].lost_s, 17, 1e-6);
}

/* ---- SlowFinalization ---- */

TEST(a_job_that_was_interrupted_or_lives_is_not_judged_by_its_end)
{
    struct loop l = loop_new();
    l.run.job_end.ns = START_NS + 150 * NS_PER_S;
    CHECK_INT(verdict_of(&l, RULE_slow_finalization)->state, RULE_ISSUE);
    NEAR(verdict_of(&l, RULE_slow_finalization)->findings[0].lost_s, 50, 1e-6);
    l.run.interrupted = true;
    CHECK_STR(verdict_of(&l, RULE_slow_finalization)->why, "the job was interrupted");
    l.run.interrupted = false;
    l.run.ended = false;
    CHECK_STR(verdict_of(&l, RULE_slow_finalization)->why, "the job is still running");
}

TEST(checkpoints_of_several_ranks_at_the_end_count_once)
{
    struct loop l = loop_new();
    l.run.job_end.ns = START_NS + 150 * NS_PER_S;
    loop_tell(&l, EV_CHECKPOINT, 50, 5, 0); /* in the loop */
    loop_tell(&l, EV_CHECKPOINT, 105, 30, 0);
    loop_tell(&l, EV_CHECKPOINT, 106, 28, 0);
    const struct verdict *v = verdict_of(&l, RULE_slow_finalization);
    CHECK(strstr(v->findings[0].message, "1 checkpoint took 30.0 s of it"));
    CHECK(strstr(v->findings[0].advice, "in the background"));
}
