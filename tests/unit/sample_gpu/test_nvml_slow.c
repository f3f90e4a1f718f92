/* SPDX-License-Identifier: Apache-2.0 */
/* test_nvml_slow.c - NVIDIA GPUs: energy, traffic, processes of the job, XID events, two lanes at
 * once, and a series recorded on real hardware. */
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "gpu_bench.h"
#include "sample/nvml_internal.h"
#include "test.h"

#define TWO_GPUS FP_TEST_DATA "/nvml/two_gpus.play"
#define RECORDED FP_TEST_DATA "/nvml/h200.play"

static struct bench b;

static void slow(const char *library, const char *play)
{
    bench_play(&b, library, play);
    bench_probe(&b, &probe_nvml_slow, 1000);
}

static void read_seconds(int n)
{
    for (int i = 0; i < n; i++) {
        bench_read(&b);
        clock_add_ms(1000);
    }
}

TEST(energy_becomes_mean_power_since_the_reading_before)
{
    slow(NVML_STANDIN, "gpus 1\nseries 0 TotalEnergyConsumption 1000000 1412000 13012000\n");
    read_seconds(1);
    CHECK_INT(values(&b, M_GPU_ENERGY, "gpu0"), 0); /* one reading has no growth */
    read_seconds(1);
    NEAR(last(&b, M_GPU_ENERGY, "gpu0"), 412, 0.06); /* of one second */
    read_seconds(29);
    NEAR(last(&b, M_GPU_ENERGY, "gpu0"), 400, 0.06); /* of 29 s */
    bench_close(&b);
}

TEST(energy_of_a_gpu_split_by_mig_is_a_loss_that_names_mig)
{
    slow(NVML_STANDIN, TWO_GPUS);
    read_seconds(1);
    CHECK_INT(losses_with(&b, LOSS_UNSUPPORTED, "gpu1 gpu.energy", "MIG"), 1);
    bench_close(&b);
}

TEST(the_energy_counter_is_read_twice_at_the_start_and_then_every_thirty_seconds)
{
    slow(NVML_STANDIN, "gpus 1\nseries 0 TotalEnergyConsumption 0 1 2 3 4 5 6 7 8 9\n"
                       "series 0 FieldValue.82 1,55\n");
    read_seconds(91); /* at 0, 1, 30, 60 and 90 s */
    CHECK_INT(values(&b, M_GPU_ENERGY, "gpu0"), 4);
    CHECK_INT(values(&b, M_GPU_TEMP_MEM, "gpu0"), 91);
    bench_close(&b);
}

/* Joules by the values and the times between them. */
static double energy_of_values(int64_t start_ns)
{
    double joules = 0;
    int64_t before = start_ns;
    for (unsigned i = 0; i < b.n; i++) {
        if (b.seen[i].metric != M_GPU_ENERGY)
            continue;
        joules += b.seen[i].value * (double)(b.seen[i].at.ns - before) / 1e9;
        before = b.seen[i].at.ns;
    }
    return joules;
}

TEST(the_counter_is_read_at_the_end_so_that_the_values_add_up_to_all_of_the_energy)
{
    slow(NVML_STANDIN, "gpus 1\nseries 0 TotalEnergyConsumption 5000 80000 9100000 9140000\n");
    const int64_t start_ns = clock_mono().ns;
    read_seconds(46);
    clock_add_ms(1500);
    CHECK_INT(values(&b, M_GPU_ENERGY, "gpu0"), 2);
    bench_end(&b);
    CHECK_INT(values(&b, M_GPU_ENERGY, "gpu0"), 3);
    NEAR(energy_of_values(start_ns), 9135, 9135 * 0.001); /* 9140000 - 5000 mJ */
    bench_close(&b);
}

TEST(an_end_right_after_a_reading_of_the_counter_does_not_read_it_again)
{
    slow(NVML_STANDIN, "gpus 1\nseries 0 TotalEnergyConsumption 0 100000 100900\n");
    bench_read(&b);
    clock_add_ms(1000);
    bench_read(&b);
    clock_add_ms(300); /* 0.9 J in 0.3 s might be one step of the counter */
    bench_end(&b);
    CHECK_INT(values(&b, M_GPU_ENERGY, "gpu0"), 1);
    bench_close(&b);
}

TEST(an_energy_counter_that_starts_again_gives_a_loss_and_no_spike)
{
    slow(NVML_STANDIN, "gpus 1\nseries 0 TotalEnergyConsumption 900000 1000000 50 300050\n");
    read_seconds(61);
    CHECK_INT(values(&b, M_GPU_ENERGY, "gpu0"), 2);
    NEAR(last(&b, M_GPU_ENERGY, "gpu0"), 10, 0.06);
    CHECK_INT(losses_with(&b, LOSS_RESET, "gpu0 gpu.energy", ""), 1);
    bench_close(&b);
}

TEST(pcie_and_nvlink_counters_become_bytes_per_second)
{
    slow(NVML_STANDIN, TWO_GPUS);
    read_seconds(2);
    NEAR(last(&b, M_GPU_PCIE_TX, "gpu0"), 10000000, 512);
    NEAR(last(&b, M_GPU_NVLINK_TX, "gpu0"), 2000 * 1024, 1);
    NEAR(last(&b, M_GPU_NVLINK_RX, "gpu0"), 4000 * 1024, 1);
    NEAR(last(&b, M_GPU_TEMP_MEM, "gpu0"), 55, 0);
    bench_close(&b);
}

TEST(a_pcie_counter_of_32_bits_is_not_trusted_because_a_busy_link_wraps_it_twice)
{
    slow(NVML_STANDIN, "gpus 1\nseries 0 FieldValue.198 1,4294000000 1,32704 1,1032704\n"
                       "series 0 PcieThroughput.1 2000\n");
    read_seconds(6);
    CHECK(values(&b, M_GPU_PCIE_RX, "gpu0") >= 1);
    NEAR(last(&b, M_GPU_PCIE_RX, "gpu0"), 2000 * 1024, 1);
    bench_close(&b);
}

TEST(pcie_that_gpm_measures_is_not_measured_again)
{
    struct nvml_lib *lib;
    slow(NVML_STANDIN, TWO_GPUS);
    lib = b.env.nvml;
    atomic_store(&lib->gpu[0].gpm_pcie, true);
    read_seconds(6);
    CHECK_INT(values(&b, M_GPU_PCIE_RX, "gpu0"), 0);
    CHECK(values(&b, M_GPU_NVLINK_TX, "gpu0") > 0);
    bench_close(&b);
}

TEST(a_counter_of_64_bits_that_goes_back_gives_no_value)
{
    slow(NVML_STANDIN, "gpus 1\nseries 0 FieldValue.197 3,5000000 3,100 3,2048100\n");
    read_seconds(3);
    CHECK_INT(values(&b, M_GPU_PCIE_TX, "gpu0"), 1);
    NEAR(last(&b, M_GPU_PCIE_TX, "gpu0"), 2048000, 512);
    CHECK_INT(losses_with(&b, LOSS_RESET, "gpu0 gpu.pcie_tx", ""), 1);
    bench_close(&b);
}

TEST(nvlink_of_the_fifth_generation_is_read_from_its_own_counters)
{
    slow(NVML_STANDIN, "gpus 1\nseries 0 FieldValue.202.all 3,0 3,1048576\n"
                       "series 0 FieldValue.204.all 3,0 3,2097152\n");
    read_seconds(3);
    NEAR(last(&b, M_GPU_NVLINK_TX, "gpu0"), 1048576, 1);
    NEAR(last(&b, M_GPU_NVLINK_RX, "gpu0"), 2097152, 1);
    CHECK_INT(losses_with(&b, LOSS_UNSUPPORTED, "nvlink", ""), 0);
    bench_close(&b);
}

TEST(no_nvlink_is_one_loss_a_direction)
{
    slow(NVML_STANDIN, "gpus 1\nseries 0 TotalEnergyConsumption 1\n");
    read_seconds(60);
    CHECK_INT(losses_with(&b, LOSS_UNSUPPORTED, "gpu0 gpu.nvlink_rx", "not supported by"), 1);
    CHECK_INT(losses_with(&b, LOSS_UNSUPPORTED, "gpu0 gpu.nvlink_tx", "not supported by"), 1);
    CHECK_INT(values(&b, M_GPU_NVLINK_RX, "gpu0"), 0);
    bench_close(&b);
}

TEST(without_pcie_counters_the_driver_measures_at_most_every_five_seconds)
{
    slow(NVML_STANDIN, "gpus 1\nseries 0 PcieThroughput.0 1000\nseries 0 PcieThroughput.1 2000\n");
    read_seconds(11);
    CHECK_INT(values(&b, M_GPU_PCIE_TX, "gpu0"), 3);
    NEAR(last(&b, M_GPU_PCIE_TX, "gpu0"), 1000 * 1024, 1);
    NEAR(last(&b, M_GPU_PCIE_RX, "gpu0"), 2000 * 1024, 1);
    CHECK_INT(losses_with(&b, LOSS_UNSUPPORTED, "pcie", ""), 0);
    bench_close(&b);
}

TEST(an_old_library_without_fields_is_asked_the_old_way)
{
    slow(NVML_STANDIN_OLD, TWO_GPUS);
    int job[] = {4242};
    pidset_set(&b.pids, job, 1);
    read_seconds(2);
    NEAR(last(&b, M_GPU_PCIE_RX, "gpu0"), 2000 * 1024, 1);
    NEAR(last(&b, M_GPU_ENERGY, "gpu0"), 412, 0.06);
    NEAR(last(&b, M_GPU_JOB_PROCESSES, "gpu0"), 1, 0);
    NEAR(last(&b, M_GPU_JOB_MEM, "gpu0"), 1073741824.0, 1);
    CHECK_INT(losses_with(&b, LOSS_UNSUPPORTED, "gpu0 gpu.temp_mem", "does not support"), 1);
    bench_close(&b);
}

TEST(only_the_jobs_own_processes_count)
{
    slow(NVML_STANDIN, TWO_GPUS);
    int job[] = {4243, 7, 4242};
    pidset_set(&b.pids, job, 3);
    read_seconds(1);
    NEAR(last(&b, M_GPU_JOB_PROCESSES, "gpu0"), 2, 0);
    NEAR(last(&b, M_GPU_JOB_MEM, "gpu0"), 3221225472.0, 1);
    CHECK_INT(losses_with(&b, LOSS_UNSUPPORTED, "gpu1 gpu.job_processes", ""), 1);
    pidset_set(&b.pids, NULL, 0);
    read_seconds(10);
    NEAR(last(&b, M_GPU_JOB_PROCESSES, "gpu0"), 0, 0);
    bench_close(&b);
}

TEST(the_process_list_is_asked_every_ten_seconds_only)
{
    slow(NVML_STANDIN, TWO_GPUS);
    read_seconds(21);
    CHECK_INT(values(&b, M_GPU_JOB_PROCESSES, "gpu0"), 3);
    bench_close(&b);
}

TEST(a_process_listed_twice_is_one_process_and_its_memory_may_be_unknown)
{
    slow(NVML_STANDIN, "gpus 1\nseries 0 ComputeRunningProcesses "
                       "5,100,5,18446744073709551615,6,100\n");
    int job[] = {5, 6};
    pidset_set(&b.pids, job, 2);
    read_seconds(21);
    NEAR(last(&b, M_GPU_JOB_PROCESSES, "gpu0"), 2, 0);
    CHECK_INT(values(&b, M_GPU_JOB_MEM, "gpu0"), 0);
    CHECK_INT(losses_with(&b, LOSS_UNSUPPORTED, "gpu0 gpu.job_mem", ""), 1);
    bench_close(&b);
}

static const char *proc_in_namespace(const char *name)
{
    char *proc = test_printf("%s/proc", test_tmpdir());
    char path[256];
    const char *const steps[] = {"", "/self", "/self/ns"};
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        snprintf(path, sizeof path, "%s%s", proc, steps[i]);
        CHECK(mkdir(path, 0755) == 0);
    }
    snprintf(path, sizeof path, "%s/self/ns/pid", proc);
    CHECK(symlink(name, path) == 0);
    return proc;
}

static void processes_in(const char *name, int pid)
{
    bench_play(&b, NVML_STANDIN, TWO_GPUS);
    b.env.proc = proc_in_namespace(name);
    bench_probe(&b, &probe_nvml_slow, 1000);
    pidset_set(&b.pids, &pid, 1);
    read_seconds(21);
}

TEST(process_ids_of_another_namespace_are_a_loss_not_a_zero)
{
    processes_in("pid:[4026532617]", 11);
    CHECK_INT(values(&b, M_GPU_JOB_PROCESSES, "gpu0"), 0);
    CHECK_INT(losses_with(&b, LOSS_READ, "gpu0 gpu.job_processes", "container"), 1);
    free((void *)(uintptr_t)b.env.proc);
    bench_close(&b);
}

TEST(a_container_whose_ids_the_driver_knows_is_believed_also_when_the_job_leaves)
{
    processes_in("pid:[4026532617]", 4242);
    NEAR(last(&b, M_GPU_JOB_PROCESSES, "gpu0"), 1, 0);
    pidset_set(&b.pids, NULL, 0);
    read_seconds(10);
    NEAR(last(&b, M_GPU_JOB_PROCESSES, "gpu0"), 0, 0);
    CHECK_INT(losses_with(&b, LOSS_READ, "", ""), 0);
    free((void *)(uintptr_t)b.env.proc);
    bench_close(&b);
}

TEST(a_job_that_is_not_on_the_gpu_of_this_machine_is_a_zero)
{
    processes_in("pid:[4026531836]", 11);
    CHECK_INT(values(&b, M_GPU_JOB_PROCESSES, "gpu0"), 3);
    NEAR(last(&b, M_GPU_JOB_PROCESSES, "gpu0"), 0, 0);
    free((void *)(uintptr_t)b.env.proc);
    bench_close(&b);
}

TEST(an_xid_is_a_mark_with_its_number_and_is_counted)
{
    slow(NVML_STANDIN, TWO_GPUS);
    read_seconds(1);
    NEAR(last(&b, M_GPU_XID, "gpu0"), 0, 0);
    CHECK_INT(b.marks, 0);
    read_seconds(3);
    CHECK_INT(marks_with(&b, MARK_XID, "gpu0"), 1);
    CHECK_INT(b.mark[0].number, 79);
    NEAR(last(&b, M_GPU_XID, "gpu0"), 1, 0);
    CHECK_INT(values(&b, M_GPU_XID, "gpu1"), 0); /* the driver refused to listen there */
    CHECK_INT(losses_with(&b, LOSS_UNSUPPORTED, "gpu1 gpu.xid", ""), 1);
    bench_close(&b);
}

TEST(several_xids_at_once_are_all_taken)
{
    slow(NVML_STANDIN, "gpus 1\nseries 0 RegisterEvents -\nseries 0 XidEvent 31*3 45 !10\n");
    read_seconds(1);
    CHECK_INT(marks_with(&b, MARK_XID, "gpu0"), 4);
    NEAR(last(&b, M_GPU_XID, "gpu0"), 4, 0);
    bench_close(&b);
}

TEST(an_event_queue_that_fails_is_a_loss_and_is_left_alone_for_a_while)
{
    slow(NVML_STANDIN, "gpus 1\nseries 0 RegisterEvents -\nseries 0 XidEvent !999 62 !10\n");
    read_seconds(29);
    CHECK_INT(values(&b, M_GPU_XID, "gpu0"), 0);
    CHECK_INT(losses_with(&b, LOSS_READ, "gpu.xid", ""), 1);
    read_seconds(3);
    CHECK_INT(marks_with(&b, MARK_XID, "gpu0"), 1);
    bench_close(&b);
}

TEST(growth_across_a_lost_gpu_is_not_a_rate)
{
    slow(NVML_STANDIN, "gpus 1\nseries 0 TotalEnergyConsumption 0 100000 900000000 900100000\n"
                       "series 0 MemoryInfo 1,1,1\nseries 0 FieldValue.82 1,40\nlost 0 18 1\n");
    int n = 0;
    while (marks_with(&b, MARK_GPU_EVENT, "gpu0 is lost") == 0 && n++ < 10)
        read_seconds(1);
    CHECK_INT(marks_with(&b, MARK_GPU_EVENT, "gpu0 is lost"), 1);
    read_seconds(100);
    CHECK_INT(marks_with(&b, MARK_GPU_EVENT, "gpu0 is available again"), 1);
    CHECK_INT(values(&b, M_GPU_ENERGY, "gpu0"), 2); /* before it was lost, and after */
    for (unsigned i = 0; i < b.n; i++)
        if (b.seen[i].metric == M_GPU_ENERGY)
            CHECK(b.seen[i].value <= 100.1);
    bench_close(&b);
}

/* ---- two lanes, one library ---- */

struct lane_run {
    struct bench *b;
    const struct probe *probe;
    void *state;
    int rounds;
};

static void *run_lane(void *arg)
{
    struct lane_run *l = arg;
    for (int i = 0; i < l->rounds; i++) {
        l->probe->read(l->state, &l->b->sink);
        clock_add_ms(700);
    }
    return NULL;
}

TEST(two_lanes_read_one_library_at_the_same_time)
{
    bench_play(&b, NVML_STANDIN,
               "gpus 2\nseries 0 UtilizationRates 5,1\nseries 0 MemoryInfo 1,1,1\n"
               "series 1 UtilizationRates 6,1\nseries 0 PowerUsage !4 5\n"
               "series 1 TotalEnergyConsumption 1 2 3 4@1000\n"
               "series 0 GpmQueryDeviceSupport 1\nseries 0 GpmSampleGet -\n"
               "series 0 GpmMetricsGet -\nseries 0 GpmMetric.2 5\n"
               "series 0 RegisterEvents -\nseries 0 XidEvent !10*20 3 !10\n"
               "lost 0 100 6\n");
    const struct probe *all[] = {&probe_nvml, &probe_nvml_slow, &probe_nvml_gpm};
    struct lane_run run[COUNT_OF(all)];
    pthread_t thread[COUNT_OF(all)];
    struct err e;
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        run[i] = (struct lane_run){&b, all[i], xcalloc(1, all[i]->state_size), 150};
        OK(all[i]->open(run[i].state, &b.env, NS_PER_S, &e));
    }
    for (size_t i = 0; i < COUNT_OF(all); i++)
        CHECK(pthread_create(&thread[i], NULL, run_lane, &run[i]) == 0);
    for (size_t i = 0; i < COUNT_OF(all); i++)
        pthread_join(thread[i], NULL);
    CHECK_INT(losses_with(&b, LOSS_GPU_LOST, "gpu0", ""), 1);
    CHECK_INT(values(&b, M_GPU_UTIL, "gpu1"), 150);
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        all[i]->close(run[i].state);
        free(run[i].state);
    }
    bench_close(&b);
}

/* ---- a series recorded on real hardware ---- */

static void play_recorded(const struct probe *p, int step_ms, int rounds)
{
    bench_play(&b, NVML_STANDIN, RECORDED);
    bench_probe(&b, p, step_ms);
    for (int i = 0; i < rounds; i++) {
        bench_read(&b);
        clock_add_ms(step_ms);
    }
}

TEST(a_recording_of_real_hardware_plays_through_the_cheap_readings)
{
    if (access(RECORDED, R_OK) != 0)
        SKIP("no recording: " RECORDED);
    play_recorded(&probe_nvml, 100, 100);
    CHECK_INT(values(&b, M_GPU_UTIL, "gpu0"), 100);
    CHECK_INT(values(&b, M_GPU_MEM_RESERVED, "gpu0"), 100);
    CHECK(last(&b, M_GPU_POWER, "gpu0") > 20 && last(&b, M_GPU_POWER, "gpu0") < 1500);
    CHECK(last(&b, M_GPU_TEMP, "gpu0") > 10 && last(&b, M_GPU_TEMP, "gpu0") < 110);
    CHECK(last(&b, M_GPU_CLOCK_SM, "gpu0") > 100);
    bench_close(&b);
}

TEST(a_recording_of_real_hardware_plays_through_the_slow_readings)
{
    if (access(RECORDED, R_OK) != 0)
        SKIP("no recording: " RECORDED);
    play_recorded(&probe_nvml_slow, 1000, 10);
    bench_end(&b);
    CHECK_INT(values(&b, M_GPU_ENERGY, "gpu0"), 2);
    CHECK(last(&b, M_GPU_ENERGY, "gpu0") > 20 && last(&b, M_GPU_ENERGY, "gpu0") < 1500);
    bench_close(&b);
}

TEST(a_recording_of_real_hardware_plays_through_gpm)
{
    if (access(RECORDED, R_OK) != 0)
        SKIP("no recording: " RECORDED);
    play_recorded(&probe_nvml_gpm, 200, 50);
    CHECK_INT(values(&b, M_GPU_SM_ACTIVE, "gpu0"), 49);
    bench_close(&b);
}
