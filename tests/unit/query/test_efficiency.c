/* SPDX-License-Identifier: Apache-2.0 */
/* What GPUs achieved, from runs whose numbers are known beforehand. */
#include "base/mem.h"
#include "query/efficiency.h"
#include "query/runkit.h"
#include "test.h"

/* ---- peaks ---- */

TEST(names_of_real_gpus_have_the_peak_of_their_data_sheet)
{
    static const struct {
        const char *name;
        double tflops; /* 0: not in the table */
    } v[] = {
        {"Tesla V100-SXM2-16GB", 125},
        {"Tesla V100-SXM2-32GB", 125},
        {"Tesla V100-PCIE-16GB", 112},
        {"Tesla V100-PCIE-32GB", 112},
        {"Tesla T4", 65},
        {"NVIDIA A100-SXM4-40GB", 312},
        {"NVIDIA A100-SXM4-80GB", 312},
        {"A100-SXM-80GB", 312},
        {"NVIDIA A100 80GB PCIe", 312},
        {"NVIDIA A100-PCIE-40GB", 312},
        {"NVIDIA A10", 125},
        {"NVIDIA A10G", 70},
        {"NVIDIA L4", 121},
        {"NVIDIA L40S", 362},
        {"NVIDIA H100 80GB HBM3", 989},
        {"NVIDIA H100 PCIe", 756},
        {"NVIDIA H100 NVL", 835},
        {"NVIDIA H200", 989},
        {"NVIDIA H200 NVL", 835},
        {"NVIDIA B200", 2250},
        {"AMD Instinct MI250X", 191.5},
        {"AMD INSTINCT MI250 (MCM) OAM AC MBA", 181},
        {"AMD Instinct MI300X OAM", 1307},
        {"NVIDIA GeForce RTX 4090", 0},
        {"NVIDIA RTX A6000", 0},
        {"NVIDIA L40", 0},
        {"NVIDIA A30", 0},
        {"NVIDIA A100X", 0},
        {"NVIDIA H20", 0},
        {"NVIDIA H100", 0}, /* which one? */
        {"NVIDIA GH200 480GB", 0},
        {"Quadro RTX 6000", 0},
        {"NVIDIA A100-SXM4-40GB MIG 1g.5gb", 0},
        {"GRID T4-16Q", 0},
        {"NVIDIA A10-24Q", 0},
        {"", 0},
    };
    for (size_t i = 0; i < COUNT_OF(v); i++) {
        const struct gpu_peak *p = gpu_peak_find(v[i].name);
        if ((p ? p->tflops : 0) != v[i].tflops)
            test_fail(__FILE__, __LINE__, "%s: %g, not %g", v[i].name, p ? p->tflops : 0.0,
                      v[i].tflops);
    }
    CHECK(gpu_peak_find(NULL) == NULL);
}

TEST(memory_bandwidth_tells_the_two_a100_apart)
{
    NEAR(gpu_peak_find("NVIDIA A100-SXM4-40GB")->dram_tb_s, 1.555, 1e-9);
    NEAR(gpu_peak_find("NVIDIA A100-SXM4-80GB")->dram_tb_s, 2.039, 1e-9);
}

/* ---- integrals ---- */

static struct series series_of(const wall_ns *t, double *v, size_t n)
{
    return (struct series){.n = n, .t = t, .v = v, .min = v, .max = v};
}

TEST(moments_are_joined_by_lines_and_intervals_last_from_the_sample_before)
{
    const wall_ns t[] = {{0}, {NS_PER_S}, {2 * NS_PER_S}, {3 * NS_PER_S}};
    double v[] = {100, 200, 300, 300};
    const struct series s = series_of(t, v, 4);
    const struct time_integral line =
        series_integral(&s, SAMPLED_POINT, (wall_ns){NS_PER_S / 2}, (wall_ns){3 * NS_PER_S});
    NEAR(line.sum, 175 * 0.5 + 250 + 300, 1e-9);
    NEAR(line.covered_s, 2.5, 1e-9);
    const struct time_integral back =
        series_integral(&s, SAMPLED_INTERVAL, (wall_ns){NS_PER_S / 2}, (wall_ns){3 * NS_PER_S});
    NEAR(back.sum, 200 * 0.5 + 300 + 300, 1e-9);
}

TEST(nothing_is_known_of_a_gap)
{
    const wall_ns t[] = {{0}, {NS_PER_S}, {101 * NS_PER_S}, {102 * NS_PER_S}};
    double v[] = {100, 100, 100, 100};
    const struct series s = series_of(t, v, 4);
    const struct time_integral x =
        series_integral(&s, SAMPLED_POINT, (wall_ns){0}, (wall_ns){102 * NS_PER_S});
    NEAR(x.sum / x.covered_s, 100, 1e-9);
    CHECK(x.covered_s < 10);
}

/* ---- the window ---- */

static struct step step_at(int64_t start_ms, int64_t ms, bool warmup)
{
    return (struct step){.start = {KIT_START + start_ms * NS_PER_MS},
                         .dur_ns = ms * NS_PER_MS,
                         .warmup = warmup,
                         .batch = 16};
}

TEST(the_loop_is_made_of_whole_iterations_after_the_warm_up)
{
    struct step v[] = {step_at(0, 2000, true), step_at(2100, 90, false), step_at(2200, 90, false),
                       step_at(2300, 90, false)};
    const struct rank_steps rank = {.steps = v, .n = 4};
    struct loop_window w;
    loop_window_of(&rank, 1, &w);
    CHECK(w.known && w.steady);
    CHECK_INT(w.from.ns, v[1].start.ns);
    CHECK_INT(w.to.ns, v[3].start.ns);
    CHECK_INT(w.steps, 2);
    NEAR(w.samples, 32, 1e-9);
}

TEST(a_loop_that_never_leaves_its_warm_up_counts_as_a_whole)
{
    struct step v[] = {step_at(0, 2000, true), step_at(2100, 90, true)};
    const struct rank_steps rank = {.steps = v, .n = 2};
    struct loop_window w;
    loop_window_of(&rank, 1, &w);
    CHECK(w.known && !w.steady);
    CHECK_INT(w.to.ns, v[1].start.ns + v[1].dur_ns);
    CHECK_INT(w.steps, 2);
}

TEST(samples_of_ranks_add_up_and_their_steps_do_not)
{
    struct step v[] = {step_at(0, 90, false), step_at(100, 90, false), step_at(200, 90, false)};
    const struct rank_steps ranks[] = {{.steps = v, .n = 3}, {.steps = v, .n = 3}};
    struct loop_window w;
    loop_window_of(ranks, 2, &w);
    CHECK_INT(w.steps, 2);
    NEAR(w.samples, 64, 1e-9);
    v[0].batch = v[1].batch = v[2].batch = -1;
    loop_window_of(ranks, 2, &w);
    CHECK(isnan(w.samples));
}

TEST(evaluation_alone_is_no_training_loop)
{
    struct step v[] = {step_at(0, 90, false)};
    v[0].mode = MODE_EVAL;
    const struct rank_steps rank = {.steps = v, .n = 1};
    struct loop_window w;
    loop_window_of(&rank, 1, &w);
    CHECK(!w.known);
}

/* ---- runs ---- */

enum { PERIOD_MS = 100, SERIES_MOST = 24, JOB_S = 40 };

/* A series that is `idle` before 10 s and after 30 s, and `busy` between. */
struct wave {
    const char *metric, *unit, *entity;
    double step, idle, busy;
};

static const char *make_run(const char *folder, const char *gpus, const struct wave *v, size_t n)
{
    const char *path = kit_run(folder, folder, folder, KIT_START);
    struct buf payload = {0};
    int64_t before[SERIES_MOST] = {0};
    char node[512];
    CHECK(n <= SERIES_MOST);
    kit_group(&payload, 0, "g", PERIOD_MS * NS_PER_MS, 0);
    for (unsigned k = 0; k < n; k++)
        kit_slot(&payload, 0, k, v[k].metric, v[k].unit, v[k].entity, v[k].step);
    for (int i = 1; i <= JOB_S * 1000 / PERIOD_MS; i++) {
        const double t_s = i * PERIOD_MS / 1000.0;
        kit_row(&payload, 0, 0);
        for (unsigned k = 0; k < n; k++) {
            const double x = t_s > 10 && t_s <= 30 ? v[k].busy : v[k].idle;
            if (isnan(x)) {
                kit_gap(&payload);
                continue;
            }
            const int64_t cell = (int64_t)lrint(x / v[k].step);
            kit_cell(&payload, cell - before[k]);
            before[k] = cell;
        }
    }
    snprintf(node, sizeof node,
             "{\"id\": \"a\", \"status\": \"finished\", \"interval_ns\": 100000000, "
             "\"gpus\": [%s]}",
             gpus);
    kit_node(path, "a", 1, node);
    kit_metrics(path, "a", &payload);
    buf_free(&payload);
    return path;
}

static const char h200[] = "{\"entity\": \"gpu0\", \"name\": \"NVIDIA H200\"}";

static const struct wave healthy[] = {
    {"gpu.util", "%", "gpu0", 1, 0, 99},
    {"gpu.sm_active", "%", "gpu0", 0.1, 0, 95},
    {"gpu.tensor_active", "%", "gpu0", 0.1, 0, 60.5},
    {"gpu.dram_active", "%", "gpu0", 0.1, 0, 30},
    {"gpu.power", "W", "gpu0", 1, 100, 700},
    {"gpu.clock_sm", "MHz", "gpu0", 1, 1980, 1610},
    {"gpu.throttle", "bits", "gpu0", 1, 1, 4},
    {"gpu.mem_used", "B", "gpu0", 1048576, 1048576, 10485760},
};

/* The loop: 10 s to 30 s, 200 steps of 16 samples. */
static struct efficiency efficiency_of(const char *path, struct arena *a)
{
    const struct efficiency_ask ask = {
        .window = {true, true, {KIT_START + 10 * NS_PER_S}, {KIT_START + 30 * NS_PER_S}, 200, 3200},
        .allocator = {-1, -1, false},
        .job_from = {KIT_START},
        .job_to = {KIT_START + JOB_S * NS_PER_S}};
    struct efficiency x;
    struct run *r;
    struct err e;
    OK(run_open(&r, path, &e));
    OK(efficiency_read(r, &ask, a, &x, &e));
    run_close(r);
    return x;
}

TEST(tensor_activity_at_the_clock_that_ran_is_the_share_of_the_peak)
{
    struct arena a = {0};
    const struct efficiency x =
        efficiency_of(make_run("mfu", h200, healthy, COUNT_OF(healthy)), &a);
    CHECK_INT(x.n_gpus, 1);
    NEAR(x.loop.mean[GPU_MEAN_TENSOR], 60.5, 0.2);
    NEAR(x.loop.mean[GPU_MEAN_UTIL], 99, 0.2);
    NEAR(x.loop.tflops, 0.605 * 989 * 1610 / 1830, 3);
    NEAR(x.loop.mfu_pct, 53.2, 0.4);
    NEAR(x.loop.peak_tflops, 989, 1e-9);
    NEAR(x.loop.dram_tb_s, 0.3 * 4.8, 0.01);
    NEAR(x.job.mean[GPU_MEAN_TENSOR], 60.5 / 2, 0.2); /* idle half of the time */
    NEAR(x.loop.mem_used_bytes, 10485760, 1);
    arena_free(&a);
}

TEST(the_peak_is_that_of_tf32_where_matrix_products_ran_in_it)
{
    const struct gpu_peak *h = gpu_peak_find("NVIDIA H200"), *v = gpu_peak_find("Tesla V100-SXM2");
    NEAR(gpu_peak_tflops(h, true), 495, 1e-9);
    NEAR(gpu_peak_tflops(h, false), 989, 1e-9);
    CHECK_STR(gpu_peak_format(h, true), "TF32");
    CHECK_STR(gpu_peak_format(h, false), "BF16");
    CHECK_STR(gpu_peak_format(v, true), "FP16"); /* it has no TF32 */
}

TEST(energy_is_the_integral_of_power)
{
    struct arena a = {0};
    const struct efficiency x =
        efficiency_of(make_run("energy", h200, healthy, COUNT_OF(healthy)), &a);
    NEAR(x.loop.energy_j, 700 * 20, 60);
    NEAR(x.job.energy_j, 700 * 20 + 100 * 20, 60);
    NEAR(x.energy_per_step_j, 70, 0.4);
    NEAR(x.energy_per_sample_j, 4.375, 0.03);
    NEAR(x.loop.mean[GPU_MEAN_POWER], 700, 3);
    arena_free(&a);
}

TEST(the_energy_counter_is_believed_where_there_is_one)
{
    struct arena a = {0};
    struct wave v[COUNT_OF(healthy) + 1];
    memcpy(v, healthy, sizeof healthy);
    v[COUNT_OF(healthy)] = (struct wave){"gpu.energy", "W", "gpu0", 0.1, 102, 686};
    const struct efficiency x = efficiency_of(make_run("counter", h200, v, COUNT_OF(v)), &a);
    NEAR(x.loop.energy_j, 686 * 20, 60);
    NEAR(x.job.energy_j, 686 * 20 + 102 * 20, 80);
    arena_free(&a);
}

TEST(a_counter_without_samples_of_power_is_enough)
{
    struct arena a = {0};
    const struct wave v[] = {{"gpu.energy", "W", "gpu0", 0.1, 100, 600}};
    const struct efficiency x = efficiency_of(make_run("only", h200, v, 1), &a);
    NEAR(x.loop.energy_j, 600 * 20, 60);
    NEAR(x.loop.mean[GPU_MEAN_POWER], 600, 3);
    arena_free(&a);
}

TEST(a_window_too_short_for_the_counter_is_the_integral_of_power_corrected_by_it)
{
    struct arena a = {0};
    struct wave v[] = {{"gpu.power", "W", "gpu0", 1, 600, 600},
                       {"gpu.energy", "W", "gpu0", 0.1, 630, 630}};
    const struct efficiency_ask ask = {.window = {true,
                                                  true,
                                                  {KIT_START + 10 * NS_PER_S},
                                                  {KIT_START + 10 * NS_PER_S + 300000000},
                                                  1,
                                                  NAN},
                                       .job_from = {KIT_START},
                                       .job_to = {KIT_START + JOB_S * NS_PER_S}};
    struct efficiency x;
    struct run *r;
    struct err e;
    OK(run_open(&r, make_run("short", h200, v, COUNT_OF(v)), &e));
    OK(efficiency_read(r, &ask, &a, &x, &e));
    run_close(r);
    NEAR(x.loop.mean[GPU_MEAN_POWER], 630, 1);
    arena_free(&a);
}

TEST(reasons_why_the_clock_was_held_are_shares_of_the_time)
{
    struct arena a = {0};
    const struct efficiency x =
        efficiency_of(make_run("held", h200, healthy, COUNT_OF(healthy)), &a);
    NEAR(x.loop.held_pct[CLOCK_HOLD_POWER], 100, 1);
    NEAR(x.job.held_pct[CLOCK_HOLD_POWER], 50, 1);
    NEAR(x.job.held_any_pct, 50, 1); /* idling is no reason */
    NEAR(x.loop.held_pct[CLOCK_HOLD_HEAT], 0, 1e-9);
    CHECK_STR(clock_hold_name(CLOCK_HOLD_POWER), "power_cap");
    arena_free(&a);
}

TEST(tensor_cores_that_idle_while_the_sms_work_give_no_tflops)
{
    struct arena a = {0};
    struct wave v[COUNT_OF(healthy)];
    memcpy(v, healthy, sizeof healthy);
    v[2].busy = 1.9; /* FP32 without TF32 on an H200 */
    const struct efficiency x = efficiency_of(make_run("fp32", h200, v, COUNT_OF(v)), &a);
    NEAR(x.loop.mean[GPU_MEAN_TENSOR], 1.9, 0.1);
    CHECK(isnan(x.loop.tflops) && isnan(x.loop.mfu_pct));
    CHECK(efficiency_tensor_unused(&x.loop));
    NEAR(x.loop.peak_tflops, 989, 1e-9);
    arena_free(&a);
}

TEST(a_job_that_waits_for_its_data_still_has_its_small_share)
{
    struct arena a = {0};
    struct wave v[COUNT_OF(healthy)];
    memcpy(v, healthy, sizeof healthy);
    v[1].busy = 7.4;
    v[2].busy = 1.9;
    const struct efficiency x = efficiency_of(make_run("few", h200, v, COUNT_OF(v)), &a);
    NEAR(x.loop.mfu_pct, 1.9 * 1610 / 1830, 0.1);
    arena_free(&a);
}

TEST(an_unknown_gpu_has_activity_and_no_peak)
{
    struct arena a = {0};
    const char *other = "{\"entity\": \"gpu0\", \"name\": \"NVIDIA GeForce RTX 4090\"}";
    const struct efficiency x =
        efficiency_of(make_run("unknown", other, healthy, COUNT_OF(healthy)), &a);
    NEAR(x.loop.mean[GPU_MEAN_TENSOR], 60.5, 0.2);
    CHECK(isnan(x.loop.tflops) && isnan(x.loop.peak_tflops) && isnan(x.loop.mfu_pct));
    arena_free(&a);
}

TEST(a_gpu_without_gpm_has_power_and_no_tflops)
{
    struct arena a = {0};
    const struct wave v[] = {{"gpu.util", "%", "gpu0", 1, 0, 99},
                             {"gpu.power", "W", "gpu0", 1, 100, 400}};
    const char *a100 = "{\"entity\": \"gpu0\", \"name\": \"NVIDIA A100-SXM4-80GB\"}";
    const struct efficiency x = efficiency_of(make_run("a100", a100, v, COUNT_OF(v)), &a);
    NEAR(x.loop.energy_j, 8000, 40);
    NEAR(x.loop.peak_tflops, 312, 1e-9);
    CHECK(isnan(x.loop.tflops) && isnan(x.loop.mean[GPU_MEAN_TENSOR]));
    CHECK(isnan(x.loop.held_any_pct));
    arena_free(&a);
}

TEST(gpus_that_the_job_does_not_use_do_not_count)
{
    struct arena a = {0};
    const struct wave v[] = {{"gpu.power", "W", "gpu0", 1, 500, 500},
                             {"gpu.power", "W", "gpu1", 1, 100, 100},
                             {"gpu.job_processes", "", "gpu0", 1, 0, 1},
                             {"gpu.job_processes", "", "gpu1", 1, 0, 0}};
    struct efficiency x = efficiency_of(make_run("shared", "", v, COUNT_OF(v)), &a);
    CHECK_INT(x.n_gpus, 2);
    CHECK_INT(x.n_used, 1);
    NEAR(x.loop.energy_j, 10000, 10);
    /* Nobody knows whose they are: all count. */
    x = efficiency_of(make_run("whose", "", v, 2), &a);
    CHECK_INT(x.n_used, 2);
    NEAR(x.loop.energy_j, 12000, 10);
    NEAR(x.loop.mean[GPU_MEAN_POWER], 300, 1);
    arena_free(&a);
}

TEST(what_one_gpu_of_the_job_lacks_is_not_known_of_all)
{
    struct arena a = {0};
    const struct wave v[] = {{"gpu.power", "W", "gpu0", 1, 500, 500},
                             {"gpu.util", "%", "gpu0", 1, 50, 50},
                             {"gpu.util", "%", "gpu1", 1, 100, 100}};
    const struct efficiency x = efficiency_of(make_run("half", "", v, COUNT_OF(v)), &a);
    CHECK(isnan(x.loop.energy_j) && isnan(x.energy_per_step_j));
    NEAR(x.loop.mean[GPU_MEAN_UTIL], 75, 0.1);
    arena_free(&a);
}

TEST(a_run_without_gpus_has_nothing)
{
    struct arena a = {0};
    const struct wave v[] = {{"cpu.util", "%", "total", 0.1, 10, 90}};
    const struct efficiency x = efficiency_of(make_run("cpu", "", v, 1), &a);
    CHECK_INT(x.n_gpus, 0);
    CHECK(isnan(x.loop.energy_j) && isnan(x.loop.tflops) && isnan(x.energy_per_sample_j));
    arena_free(&a);
}
