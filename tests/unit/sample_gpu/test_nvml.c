/* SPDX-License-Identifier: Apache-2.0 */
/* test_nvml.c - NVIDIA GPUs: finding the library, the cheap readings, GPM, GPUs that are lost. */
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "gpu_bench.h"
#include "sample/hostinfo.h"
#include "sample/nvml_internal.h"
#include "test.h"

#define TWO_GPUS FP_TEST_DATA "/nvml/two_gpus.play"

static struct bench b;

static void two_gpus(const struct probe *p)
{
    bench_play(&b, NVML_STANDIN, TWO_GPUS);
    bench_probe(&b, p, 500);
}

static double real_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* ---- the library ---- */

static void refused(const char *library, const char *play, const char *sentence)
{
    struct err e;
    struct nvml_lib *lib;
    char path[128];
    snprintf(path, sizeof path, "%s/play", test_tmpdir());
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(play, f) >= 0 && fclose(f) == 0);
    setenv("FOOTPLATE_NVML_PLAY", path, 1);
    CHECK_INT(nvml_open(&lib, library, &e), ERR_NOT_FOUND);
    CHECK_STR(e.msg, sentence);
}

TEST(without_the_library_the_sentence_names_it)
{
    struct err e;
    struct nvml_lib *lib;
    unsetenv("FOOTPLATE_NVML");
    if (access("/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", F_OK) == 0)
        SKIP("this machine has an NVIDIA driver");
    CHECK_INT(nvml_open(&lib, NULL, &e), ERR_NOT_FOUND);
    CHECK_STR(e.msg, "no NVIDIA driver (libnvidia-ml.so.1 not found)");
}

TEST(the_environment_names_another_library)
{
    struct err e;
    struct nvml_lib *lib = NULL;
    setenv("FOOTPLATE_NVML", NVML_STANDIN, 1);
    setenv("FOOTPLATE_NVML_PLAY", TWO_GPUS, 1);
    OK(nvml_open(&lib, NULL, &e));
    nvml_close(lib);
}

TEST(a_library_that_is_not_nvidias_is_refused)
{
    refused("libm.so.6", "\n", "not the NVIDIA library: it has no nvmlInit_v2");
}

TEST(no_gpu_found_is_said_when_the_driver_lists_none)
{
    refused(NVML_STANDIN, "gpus 0\n", "no GPU found: the NVIDIA driver lists none");
}

TEST(a_driver_that_is_not_loaded_is_said)
{
    refused(NVML_STANDIN, "init 9\n", "the NVIDIA library was found, but the driver is not loaded");
}

TEST(an_unforeseen_start_error_has_the_drivers_words)
{
    refused(NVML_STANDIN, "init 17\nerror 17 Operating System Failure\n",
            "the NVIDIA driver could not be initialized: Operating System Failure");
}

TEST(probes_without_a_driver_pass_on_why)
{
    struct err e;
    bench_open(&b);
    const struct probe *all[] = {&probe_nvml, &probe_nvml_gpm, &probe_nvml_slow};
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        void *state = xcalloc(1, all[i]->state_size);
        CHECK_INT(all[i]->open(state, &b.env, NS_PER_S, &e), ERR_NOT_FOUND);
        CHECK_STR(e.msg, "no NVIDIA driver ( this is a test");
        all[i]->close(state);
        free(state);
    }
}

TEST(the_list_of_gpus_has_name_uuid_driver_and_memory)
{
    struct gpu_info g[GPU_MOST];
    bench_play(&b, NVML_STANDIN, TWO_GPUS);
    CHECK_INT(gpu_list(g, b.env.nvml, "/nonexistent"), 2);
    CHECK_STR(g[0].entity, "gpu0");
    CHECK_STR(g[0].name, "NVIDIA H200");
    CHECK_STR(g[1].uuid, "GPU-55555555-6666-7777-8888-999999999999");
    CHECK_STR(g[1].driver, "580.159");
    CHECK_INT(g[0].memory_bytes, 150754820096);
    bench_close(&b);
}

/* ---- cheap readings ---- */

TEST(values_reach_the_rows_in_their_units)
{
    two_gpus(&probe_nvml);
    bench_read(&b);
    NEAR(last(&b, M_GPU_UTIL, "gpu0"), 37, 0);
    NEAR(last(&b, M_GPU_MEM_CTRL, "gpu0"), 12, 0);
    NEAR(last(&b, M_GPU_MEM, "gpu0"), 33.2, 1e-9); /* 50078488576 of 150754820096 */
    NEAR(last(&b, M_GPU_MEM_USED, "gpu0"), 50078488576.0, 524288);
    NEAR(last(&b, M_GPU_MEM_TOTAL, "gpu0"), 150754820096.0, 524288);
    NEAR(last(&b, M_GPU_MEM_RESERVED, "gpu0"), 676331520.0, 524288);
    NEAR(last(&b, M_GPU_POWER, "gpu0"), 413, 0);
    NEAR(last(&b, M_GPU_POWER_LIMIT, "gpu0"), 700, 0);
    NEAR(last(&b, M_GPU_POWER_DEFAULT, "gpu0"), 700, 0);
    NEAR(last(&b, M_GPU_CLOCK_SM, "gpu0"), 1980, 0);
    NEAR(last(&b, M_GPU_CLOCK_MEM, "gpu0"), 3201, 0);
    NEAR(last(&b, M_GPU_TEMP, "gpu0"), 41, 0);
    NEAR(last(&b, M_GPU_THROTTLE, "gpu0"), 4, 0);
    NEAR(last(&b, M_GPU_CLOCK_SM, "gpu1"), 1410, 0);
    CHECK_INT(b.seen[0].at.ns, 1000 * NS_PER_S);
    bench_close(&b);
}

TEST(utilization_above_a_hundred_is_a_hundred)
{
    two_gpus(&probe_nvml);
    for (int i = 0; i < 3; i++)
        bench_read(&b);
    NEAR(last(&b, M_GPU_UTIL, "gpu0"), 100, 0); /* the driver said 104 */
    NEAR(last(&b, M_GPU_MEM_CTRL, "gpu0"), 0, 0);
    bench_close(&b);
}

TEST(what_is_not_supported_is_a_loss_told_once_and_never_a_zero)
{
    two_gpus(&probe_nvml);
    for (int i = 0; i < 200; i++) {
        bench_read(&b);
        clock_add_ms(500);
    }
    CHECK_INT(values(&b, M_GPU_THROTTLE, "gpu1"), 0);
    CHECK_INT(losses_with(&b, LOSS_UNSUPPORTED, "gpu1 gpu.throttle", "MIG"), 1);
    CHECK_INT(values(&b, M_GPU_POWER_LIMIT, "gpu1"), 0);
    CHECK_INT(losses_with(&b, LOSS_UNSUPPORTED, "gpu1 gpu.power_limit", "MIG"), 1);
    CHECK_INT(losses_with(&b, LOSS_UNSUPPORTED, "gpu0", ""), 0);
    bench_close(&b);
}

TEST(what_is_not_supported_is_not_asked_again)
{
    bench_play(&b, NVML_STANDIN, "gpus 1\nseries 0 PowerUsage !3 5000\n");
    bench_probe(&b, &probe_nvml, 500);
    for (int i = 0; i < 200; i++) {
        bench_read(&b);
        clock_add_ms(500);
    }
    CHECK_INT(values(&b, M_GPU_POWER, "gpu0"), 0);
    bench_close(&b);
}

TEST(utilization_of_a_gpu_split_by_mig_is_a_loss_that_names_mig)
{
    two_gpus(&probe_nvml);
    bench_read(&b);
    CHECK_INT(values(&b, M_GPU_UTIL, "gpu1"), 0);
    CHECK_INT(losses_with(&b, LOSS_UNSUPPORTED, "gpu1 gpu.util", "MIG"), 1);
    CHECK_INT(losses_with(&b, LOSS_UNSUPPORTED, "gpu1 gpu.mem_util", "MIG"), 1);
    bench_close(&b);
}

TEST(no_permission_is_a_loss_of_its_own_and_is_tried_again_after_half_a_minute)
{
    bench_play(&b, NVML_STANDIN,
               "gpus 1\nerror 4 Insufficient Permissions\n"
               "series 0 PowerUsage !4*2 300000\n");
    bench_probe(&b, &probe_nvml, 500);
    for (int s = 0; s < 60; s++) {
        bench_read(&b);
        CHECK_INT(values(&b, M_GPU_POWER, "gpu0"), 0);
        clock_add_ms(1000);
    }
    CHECK_INT(losses_with(&b, LOSS_DENIED, "gpu0 gpu.power", "Insufficient Permissions"), 1);
    bench_read(&b);
    NEAR(last(&b, M_GPU_POWER, "gpu0"), 300, 0);
    bench_close(&b);
}

TEST(the_power_limit_is_read_every_ten_seconds_only)
{
    bench_play(&b, NVML_STANDIN,
               "gpus 1\nseries 0 PowerUsage 5000\n"
               "series 0 EnforcedPowerLimit 1000 2000 3000 4000\n");
    bench_probe(&b, &probe_nvml, 500);
    for (int i = 0; i < 41; i++) {
        bench_read(&b);
        clock_add_ms(500);
    }
    CHECK_INT(values(&b, M_GPU_POWER, "gpu0"), 41);
    CHECK_INT(values(&b, M_GPU_POWER_LIMIT, "gpu0"), 3);
    NEAR(last(&b, M_GPU_POWER_LIMIT, "gpu0"), 3, 0); /* the third answer: it was asked thrice */
    bench_close(&b);
}

TEST(the_default_power_limit_is_there_from_the_first_reading_and_costs_one_call_in_ten_seconds)
{
    bench_play(&b, NVML_STANDIN,
               "gpus 2\nseries 0 PowerManagementDefaultLimit 700000 600000 500000\n"
               "series 0 EnforcedPowerLimit 450000\n");
    bench_probe(&b, &probe_nvml, 500);
    bench_read(&b);
    NEAR(last(&b, M_GPU_POWER_DEFAULT, "gpu0"), 700, 0);
    NEAR(last(&b, M_GPU_POWER_LIMIT, "gpu0"), 450, 0);
    for (int i = 0; i < 20; i++) {
        clock_add_ms(500);
        bench_read(&b);
    }
    NEAR(last(&b, M_GPU_POWER_DEFAULT, "gpu0"), 600, 0); /* the second answer */
    CHECK_INT(values(&b, M_GPU_POWER_DEFAULT, "gpu1"), 0);
    CHECK_INT(losses_with(&b, LOSS_UNSUPPORTED, "gpu1 gpu.power_default", "not supported"), 1);
    bench_close(&b);
}

static double thread_cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

TEST(a_play_can_make_a_call_use_as_much_cpu_time_as_the_real_one)
{
    unsigned mw;
    bench_play(&b, NVML_STANDIN,
               "gpus 1\ncost PowerUsage 5000\nseries 0 PowerUsage 5000\n"
               "series 0 EnforcedPowerLimit 1\n");
    struct nvml_lib *lib = b.env.nvml;
    struct nvml_device *d = atomic_load(&lib->gpu[0].dev);
    double before = thread_cpu_ms();
    CHECK_INT(lib->api.power_mw(d, &mw), 0);
    NEAR(thread_cpu_ms() - before, 5, 0.5);
    before = thread_cpu_ms();
    CHECK_INT(lib->api.power_limit_mw(d, &mw), 0);
    CHECK(thread_cpu_ms() - before < 1);
    bench_close(&b);
}

TEST(a_driver_without_the_new_struct_falls_back_to_the_old_one)
{
    bench_play(&b, NVML_STANDIN,
               "gpus 1\nseries 0 MemoryInfo_v2 !25\n"
               "series 0 MemoryInfo 1048576000,524288000,524288000\n"
               "series 0 TemperatureV.0 !25\nseries 0 Temperature.0 50\n");
    bench_probe(&b, &probe_nvml, 500);
    bench_read(&b);
    bench_read(&b);
    NEAR(last(&b, M_GPU_MEM, "gpu0"), 50, 1e-9);
    NEAR(last(&b, M_GPU_TEMP, "gpu0"), 50, 0);
    CHECK_INT(values(&b, M_GPU_MEM_RESERVED, "gpu0"), 0);
    CHECK_INT(losses_with(&b, LOSS_UNSUPPORTED, "gpu0 gpu.mem_reserved", ""), 1);
    bench_close(&b);
}

TEST(an_old_library_gives_what_it_has_and_says_what_it_has_not)
{
    bench_play(&b, NVML_STANDIN_OLD, TWO_GPUS);
    bench_probe(&b, &probe_nvml, 500);
    bench_read(&b);
    NEAR(last(&b, M_GPU_UTIL, "gpu0"), 37, 0);
    NEAR(last(&b, M_GPU_MEM_USED, "gpu0"), 50754820096.0, 524288);
    NEAR(last(&b, M_GPU_TEMP, "gpu0"), 41, 0);
    NEAR(last(&b, M_GPU_THROTTLE, "gpu0"), 4, 0);
    CHECK_INT(losses_with(&b, LOSS_UNSUPPORTED, "gpu0 gpu.mem_reserved", ""), 1);
    CHECK_INT(losses_with(&b, LOSS_UNSUPPORTED, "gpu1 gpu.util", "not supported by"), 1);
    bench_close(&b);
}

static int64_t period_ms_of(enum metric_id m)
{
    for (unsigned i = b.n; i-- > 0;)
        if (b.seen[i].metric == m)
            return b.seen[i].period_ns / NS_PER_MS;
    return -1;
}

TEST(a_new_interval_is_kept_within_what_the_driver_can_do)
{
    two_gpus(&probe_nvml);
    CHECK(probe_nvml.min_period_ns == 100 * NS_PER_MS && probe_nvml.lane == LANE_GPU);
    probe_set_period(b.probe, b.state, 10 * NS_PER_MS);
    bench_read(&b);
    CHECK_INT(period_ms_of(M_GPU_POWER), 100);
    CHECK_INT(period_ms_of(M_GPU_POWER_LIMIT), 10000);
    probe_set_period(b.probe, b.state, 60 * NS_PER_S);
    clock_add_ms(60000);
    bench_read(&b);
    CHECK_INT(period_ms_of(M_GPU_POWER), 60000);
    CHECK_INT(period_ms_of(M_GPU_POWER_LIMIT), 60000);
    bench_close(&b);
}

TEST(a_call_that_takes_long_is_not_among_the_cheap_ones)
{
    bench_play(&b, NVML_STANDIN,
               "gpus 1\nseries 0 UtilizationRates 1,1\n"
               "series 0 TotalEnergyConsumption 5@100000\n"
               "series 0 PcieThroughput.0 5@100000\n"
               "series 0 ComputeRunningProcesses -@100000\n"
               "series 0 FieldValue.197 3,1@100000\n");
    bench_probe(&b, &probe_nvml, 100);
    const double before = real_ms();
    for (int i = 0; i < 10; i++)
        bench_read(&b);
    CHECK(real_ms() - before < 100);
    CHECK(probe_nvml_slow.lane == LANE_SLOW);
    bench_close(&b);
}

/* ---- lost GPUs ---- */

static const char lost_play[] =
    "gpus 2\nerror 15 GPU is lost\n"
    "series 0 UtilizationRates 50,1\nseries 0 PowerUsage 100000\n"
    "series 0 MemoryInfo 100,50,50\nseries 0 MemoryInfo_v2 100,1,50,49\n"
    "series 1 UtilizationRates 70,1\n"
    "lost 0 40 2\n";

TEST(a_gpu_lost_in_the_run_is_told_once_and_the_others_go_on)
{
    bench_play(&b, NVML_STANDIN, lost_play);
    bench_probe(&b, &probe_nvml, 500);
    for (int i = 0; i < 50; i++) {
        bench_read(&b);
        clock_add_ms(500);
    }
    CHECK_INT(losses_with(&b, LOSS_GPU_LOST, "gpu0", "GPU is lost"), 1);
    CHECK_INT(marks_with(&b, MARK_GPU_EVENT, "gpu0 is lost"), 1);
    CHECK(values(&b, M_GPU_UTIL, "gpu0") > 5 && values(&b, M_GPU_UTIL, "gpu0") < 20);
    CHECK_INT(values(&b, M_GPU_UTIL, "gpu1"), 50);
    CHECK_INT(losses_with(&b, LOSS_READ, "", ""), 0);
    bench_close(&b);
}

TEST(a_gpu_that_comes_back_is_read_again_and_that_is_told)
{
    bench_play(&b, NVML_STANDIN, lost_play);
    bench_probe(&b, &probe_nvml, 500);
    while (marks_with(&b, MARK_GPU_EVENT, "gpu0 is lost") == 0)
        bench_read(&b);
    const unsigned until_lost = values(&b, M_GPU_UTIL, "gpu0");
    clock_add_ms(31000); /* the second of its two lost calls */
    bench_read(&b);
    CHECK_INT(values(&b, M_GPU_UTIL, "gpu0"), until_lost);
    CHECK_INT(marks_with(&b, MARK_GPU_EVENT, "available again"), 0);
    clock_add_ms(31000);
    bench_read(&b);
    CHECK_INT(marks_with(&b, MARK_GPU_EVENT, "gpu0 is available again"), 1);
    CHECK_INT(values(&b, M_GPU_UTIL, "gpu0"), until_lost + 1);
    CHECK_INT(losses_with(&b, LOSS_GPU_LOST, "gpu0", ""), 1);
    bench_close(&b);
}

TEST(two_probes_that_see_the_same_gpu_lost_tell_it_once)
{
    bench_play(&b, NVML_STANDIN, "gpus 1\nseries 0 UtilizationRates 1,1\nlost 0 1 1000\n");
    bench_probe(&b, &probe_nvml, 500);
    void *slow = xcalloc(1, probe_nvml_slow.state_size);
    struct err e;
    OK(probe_nvml_slow.open(slow, &b.env, NS_PER_S, &e));
    for (int i = 0; i < 5; i++) {
        bench_read(&b);
        probe_nvml_slow.read(slow, &b.sink);
    }
    CHECK_INT(losses_with(&b, LOSS_GPU_LOST, "gpu0", ""), 1);
    CHECK_INT(b.marks, 1);
    probe_nvml_slow.close(slow);
    free(slow);
    bench_close(&b);
}

TEST(a_gpu_that_has_no_handle_at_the_start_is_told_and_tried_again)
{
    bench_play(&b, NVML_STANDIN,
               "gpus 2\nerror 4 Insufficient Permissions\nhandle 0 4 2\n"
               "series 0 UtilizationRates 50,1\nseries 0 MemoryInfo 1,1,1\n"
               "series 1 UtilizationRates 60,1\n");
    bench_probe(&b, &probe_nvml, 500);
    for (int i = 0; i < 40; i++) {
        bench_read(&b);
        clock_add_ms(1000);
    }
    CHECK_INT(losses_with(&b, LOSS_DENIED, "gpu0", "Insufficient Permissions"), 1);
    CHECK_INT(marks_with(&b, MARK_GPU_EVENT, "lost"), 0);
    CHECK_INT(values(&b, M_GPU_UTIL, "gpu0"), 0);
    CHECK_INT(values(&b, M_GPU_UTIL, "gpu1"), 40);
    clock_add_ms(30000);
    bench_read(&b);
    NEAR(last(&b, M_GPU_UTIL, "gpu0"), 50, 0);
    bench_close(&b);
}

/* ---- GPM ---- */

TEST(gpm_compares_two_samples)
{
    two_gpus(&probe_nvml_gpm);
    bench_read(&b);
    CHECK_INT(b.n, 0);
    clock_add_ms(200);
    bench_read(&b);
    NEAR(last(&b, M_GPU_SM_ACTIVE, "gpu0"), 96.2, 1e-9);
    NEAR(last(&b, M_GPU_SM_OCCUPANCY, "gpu0"), 14.2, 1e-9);
    NEAR(last(&b, M_GPU_TENSOR_ACTIVE, "gpu0"), 93.4, 1e-9);
    NEAR(last(&b, M_GPU_DRAM_ACTIVE, "gpu0"), 16.0, 1e-9);
    NEAR(last(&b, M_GPU_PCIE_TX, "gpu0"), 490.5 * 1048576, 512);
    NEAR(last(&b, M_GPU_PCIE_RX, "gpu0"), 8241.0 * 1048576, 512);
    clock_add_ms(200);
    bench_read(&b);
    NEAR(last(&b, M_GPU_SM_ACTIVE, "gpu0"), 50.5, 1e-9);
    bench_close(&b);
}

TEST(gpm_samples_closer_than_the_driver_allows_are_not_compared)
{
    two_gpus(&probe_nvml_gpm);
    bench_read(&b);
    clock_add_ms(50);
    bench_read(&b);
    CHECK_INT(b.n, 0);
    clock_add_ms(50);
    bench_read(&b);
    CHECK_INT(values(&b, M_GPU_SM_ACTIVE, "gpu0"), 1);
    bench_close(&b);
}

TEST(a_gpu_without_gpm_beside_one_with_it_is_a_loss)
{
    two_gpus(&probe_nvml_gpm);
    for (int i = 0; i < 3; i++)
        bench_read(&b);
    CHECK_INT(losses_with(&b, LOSS_UNSUPPORTED, "gpu1 gpu.sm_active", "MIG"), 1);
    CHECK_INT(b.losses, 4);
    bench_close(&b);
}

TEST(where_gpm_ends_pcie_goes_back_to_its_other_sources)
{
    bench_play(&b, NVML_STANDIN,
               "gpus 1\nseries 0 GpmQueryDeviceSupport 1\nseries 0 GpmSampleGet - - !4\n"
               "series 0 GpmMetricsGet -\nseries 0 GpmMetric.21 5\n");
    bench_probe(&b, &probe_nvml_gpm, 200);
    CHECK(atomic_load(&b.env.nvml->gpu[0].gpm_pcie));
    for (int i = 0; i < 4; i++) {
        bench_read(&b);
        clock_add_ms(200);
    }
    CHECK(!atomic_load(&b.env.nvml->gpu[0].gpm_pcie));
    CHECK_INT(losses_with(&b, LOSS_DENIED, "pcie", ""), 0);
    bench_close(&b);
}

static void gpm_is_lost(const char *library, const char *play, const char *why)
{
    bench_play(&b, library, play);
    bench_probe(&b, &probe_nvml_gpm, 500);
    for (int i = 0; i < 5; i++) {
        bench_read(&b);
        clock_add_ms(500);
    }
    CHECK_INT(b.n, 0);
    CHECK_INT(losses_with(&b, LOSS_UNSUPPORTED, "gpu0 gpu.sm_active", why), 1);
    CHECK_INT(losses_with(&b, LOSS_UNSUPPORTED, "gpu0 gpu.sm_occupancy", why), 1);
    CHECK_INT(losses_with(&b, LOSS_UNSUPPORTED, "gpu0 gpu.tensor_active", why), 1);
    CHECK_INT(losses_with(&b, LOSS_UNSUPPORTED, "gpu0 gpu.dram_active", why), 1);
    bench_close(&b);
}

TEST(before_hopper_each_gpm_metric_says_that_it_needs_hopper)
{
    gpm_is_lost(NVML_STANDIN, "gpus 1\nseries 0 GpmQueryDeviceSupport 0\n", "need a Hopper");
    gpm_is_lost(NVML_STANDIN, "gpus 1\nseries 0 PowerUsage 1\n", "need a Hopper");
}

TEST(with_an_old_library_each_gpm_metric_says_that_it_needs_a_newer_driver)
{
    gpm_is_lost(NVML_STANDIN_OLD, TWO_GPUS, "need a newer NVIDIA driver");
}

TEST(on_a_gpu_split_by_mig_each_gpm_metric_says_so)
{
    gpm_is_lost(NVML_STANDIN, "gpus 1\nseries 0 MigMode 1,1\nseries 0 GpmQueryDeviceSupport 1\n",
                "MIG is enabled");
}

TEST(gpm_is_sampled_at_most_twice_a_second_however_short_the_interval)
{
    two_gpus(&probe_nvml_gpm);
    CHECK(probe_nvml_gpm.min_period_ns >= 100 * NS_PER_MS);
    probe_set_period(b.probe, b.state, 10 * NS_PER_MS);
    for (int i = 0; i < 100; i++) {
        bench_read(&b);
        clock_add_ms(10);
    }
    CHECK_INT(b.seen[0].period_ns / NS_PER_MS, 500);
    CHECK(values(&b, M_GPU_SM_ACTIVE, "gpu0") <= 10); /* even if it is read at that pace */
    bench_close(&b);
}

TEST(the_first_error_ends_gpm_for_that_gpu)
{
    bench_play(&b, NVML_STANDIN,
               "gpus 1\nerror 4 Insufficient Permissions\n"
               "series 0 GpmQueryDeviceSupport 1\n"
               "series 0 GpmSampleGet - !4 -\nseries 0 GpmMetricsGet -\n"
               "series 0 GpmMetric.2 5\n");
    bench_probe(&b, &probe_nvml_gpm, 200);
    for (int i = 0; i < 300; i++) {
        bench_read(&b);
        clock_add_ms(200);
    }
    CHECK_INT(b.n, 0);
    CHECK_INT(losses_with(&b, LOSS_DENIED, "gpu0 gpu.tensor_active", "only by administrators"), 1);
    CHECK_INT(b.losses, 4);
    bench_close(&b);
}

TEST(a_gpm_metric_that_is_not_there_leaves_the_others)
{
    bench_play(&b, NVML_STANDIN,
               "gpus 1\nseries 0 GpmQueryDeviceSupport 1\n"
               "series 0 GpmSampleGet -\nseries 0 GpmMetricsGet -\n"
               "series 0 GpmMetric.2 5\nseries 0 GpmMetric.3 nan\n"
               "series 0 GpmMetric.10 7\n");
    bench_probe(&b, &probe_nvml_gpm, 200);
    for (int i = 0; i < 4; i++) {
        bench_read(&b);
        clock_add_ms(200);
    }
    CHECK_INT(values(&b, M_GPU_SM_ACTIVE, "gpu0"), 3);
    CHECK_INT(values(&b, M_GPU_DRAM_ACTIVE, "gpu0"), 3);
    CHECK_INT(values(&b, M_GPU_SM_OCCUPANCY, "gpu0"), 0);
    CHECK_INT(values(&b, M_GPU_TENSOR_ACTIVE, "gpu0"), 0);
    CHECK_INT(losses_with(&b, LOSS_UNSUPPORTED, "gpu0 gpu.tensor_active", ""), 1);
    bench_close(&b);
}

TEST(gpm_of_a_gpu_that_was_lost_does_not_compare_across_the_gap)
{
    bench_play(&b, NVML_STANDIN,
               "gpus 1\nseries 0 GpmQueryDeviceSupport 1\n"
               "series 0 MemoryInfo 1,1,1\n"
               "series 0 GpmSampleGet -\nseries 0 GpmMetricsGet -\n"
               "series 0 GpmMetric.2 5\nlost 0 3 1\n");
    bench_probe(&b, &probe_nvml_gpm, 200); /* MIG and support are asked first: two calls */
    bench_read(&b);
    clock_add_ms(200);
    bench_read(&b); /* lost */
    clock_add_ms(31000);
    bench_read(&b);
    CHECK_INT(b.n, 0);
    CHECK_INT(marks_with(&b, MARK_GPU_EVENT, "available again"), 1);
    clock_add_ms(200);
    bench_read(&b);
    CHECK_INT(values(&b, M_GPU_SM_ACTIVE, "gpu0"), 1);
    bench_close(&b);
}
