/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of GPUs that are missing say why, and energies are written for people. */
#include "base/mem.h"
#include "query/runkit.h"
#include "tables/show.h"
#include "test.h"

enum { ROWS = 100, PERIOD_MS = 100 };

/* A run of 10 s on one GPU of this name, busy all the time; `loss` is about its GPM. */
static const char *make_run(const char *folder, const char *gpu, bool tensor, const char *loss)
{
    const char *path = kit_run(folder, folder, folder, KIT_START);
    struct buf payload = {0};
    char node[512];
    kit_group(&payload, 0, "g", PERIOD_MS * NS_PER_MS, 0);
    kit_slot(&payload, 0, 0, "gpu.util", "%", "gpu0", 1);
    kit_slot(&payload, 0, 1, "gpu.clock_sm", "MHz", "gpu0", 1);
    if (tensor)
        kit_slot(&payload, 0, 2, "gpu.tensor_active", "%", "gpu0", 0.1);
    for (int i = 0; i < ROWS; i++) {
        kit_row(&payload, 0, 0);
        kit_cell(&payload, i ? 0 : 90);
        kit_cell(&payload, i ? 0 : 1410);
        if (tensor)
            kit_cell(&payload, i ? 0 : 400);
    }
    if (loss)
        kit_loss(&payload, "not-supported", 1, "nvml_gpm", loss);
    snprintf(node, sizeof node,
             "{\"id\": \"a\", \"status\": \"finished\", \"interval_ns\": 100000000, "
             "\"gpus\": [{\"entity\": \"gpu0\", \"name\": \"%s\"}]}",
             gpu);
    kit_node(path, "a", 1, node);
    kit_metrics(path, "a", &payload);
    buf_free(&payload);
    return path;
}

struct viewed {
    struct run *run;
    struct arena arena;
    struct loss_list lost;
    struct gpu_view v;
};

static void view(struct viewed *x, const char *path)
{
    struct err e;
    const struct efficiency_ask ask = {.allocator = {-1, -1, false},
                                       .job_from = {KIT_START},
                                       .job_to = {KIT_START + 10 * NS_PER_S}};
    *x = (struct viewed){0};
    OK(run_open(&x->run, path, &e));
    OK(loss_list_read(&x->lost, x->run, &x->arena, &e));
    OK(gpuview_read(&x->v, x->run, &ask, &x->lost, &x->arena, &e));
}

static void view_free(struct viewed *x)
{
    run_close(x->run);
    arena_free(&x->arena);
}

TEST(a_gpu_without_gpm_says_that_it_needs_a_later_one)
{
    struct viewed x;
    view(&x, make_run("a100", "NVIDIA A100-SXM4-80GB", false, "GPM needs a GPU of Hopper"));
    CHECK(isnan(gpuview_number(&x.v, GPU_NUMBER_TENSOR)));
    CHECK_STR(gpuview_why(&x.v, GPU_NUMBER_TENSOR), "GPM needs a GPU of Hopper");
    CHECK_STR(gpuview_why(&x.v, GPU_NUMBER_SM), "GPM needs a GPU of Hopper");
    CHECK_STR(gpuview_why(&x.v, GPU_NUMBER_TFLOPS), "GPM needs a GPU of Hopper");
    NEAR(gpuview_number(&x.v, GPU_NUMBER_PEAK_TFLOPS), 312, 1e-9);
    NEAR(gpuview_number(&x.v, GPU_NUMBER_UTIL), 90, 0.1);
    CHECK_STR(gpuview_why(&x.v, GPU_NUMBER_POWER), "no readings were recorded");
    CHECK_STR(gpuview_why(&x.v, GPU_NUMBER_SAMPLE_ENERGY), "no readings were recorded");
    view_free(&x);
}

TEST(an_unknown_gpu_says_that_its_peak_is_not_in_the_table)
{
    struct viewed x;
    view(&x, make_run("rtx", "NVIDIA GeForce RTX 4090", true, NULL));
    NEAR(gpuview_number(&x.v, GPU_NUMBER_TENSOR), 40, 0.1);
    CHECK(isnan(gpuview_number(&x.v, GPU_NUMBER_MFU)));
    CHECK_STR(gpuview_why(&x.v, GPU_NUMBER_MFU),
              "the peak performance of 'NVIDIA GeForce RTX 4090' is not in the built-in table");
    view_free(&x);
}

TEST(a_share_of_the_peak_says_of_which_peak)
{
    struct viewed x;
    view(&x, make_run("ok", "NVIDIA A100-SXM4-80GB", true, NULL));
    CHECK_STR(gpuview_compute(&x.v), "125 TFLOP/s, 40.0 % of the peak (312 in BF16)");
    x.v.x.allocator.tf32 = true; /* the numbers are made before */
    CHECK_STR(gpuview_peak_format(&x.v), "TF32");
    view_free(&x);
}

TEST(without_steps_the_numbers_are_of_the_job)
{
    struct viewed x;
    view(&x, make_run("job", "NVIDIA A100-SXM4-80GB", true, NULL));
    CHECK(!x.v.loop);
    CHECK(!isnan(gpuview_number(&x.v, GPU_NUMBER_MFU)));
    CHECK(isnan(gpuview_number(&x.v, GPU_NUMBER_STEP_ENERGY)));
    view_free(&x);
}

TEST(energies_have_three_digits)
{
    struct arena a = {0};
    CHECK_STR(joules_text(&a, 0.0137), "13.7 mJ");
    CHECK_STR(joules_text(&a, 1.244), "1.24 J");
    CHECK_STR(joules_text(&a, 86.52), "86.5 J");
    CHECK_STR(joules_text(&a, 999.6), "1.00 kJ (0.28 Wh)");
    CHECK_STR(joules_text(&a, 10720), "10.7 kJ (2.98 Wh)");
    CHECK_STR(joules_text(&a, 3.6e6 * 5), "18.0 MJ (5.00 kWh)");
    CHECK_STR(joules_text(&a, NAN), "-");
    arena_free(&a);
}
