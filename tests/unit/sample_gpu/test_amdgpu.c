/* SPDX-License-Identifier: Apache-2.0 */
/* test_amdgpu.c - AMD GPUs: the parsers, and the probe over folders made like the driver's. */
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "gpu_bench.h"
#include "sample/amdgpu.h"
#include "sample/hostinfo.h"
#include "test.h"

static struct bench b;

/* ---- parsers ---- */

static double number(const char *text)
{
    double v = -1;
    return amdgpu_number(text, strlen(text), &v) ? v : -1;
}

static double dpm(const char *text)
{
    double v = -1;
    return amdgpu_dpm_mhz(text, strlen(text), &v) ? v : -1;
}

TEST(a_number_ends_at_the_end_of_its_line)
{
    NEAR(number("37\n"), 37, 0);
    NEAR(number("0"), 0, 0);
    NEAR(number("68702699520\n"), 68702699520.0, 0);
    NEAR(number(""), -1, 0);
    NEAR(number("\n"), -1, 0);
    NEAR(number("-5\n"), -1, 0);
    NEAR(number("12abc\n"), -1, 0);
    NEAR(number("99999999999999999999999\n"), -1, 0);
}

TEST(the_clock_in_use_is_the_line_with_the_star)
{
    NEAR(dpm("0: 500Mhz \n1: 1000Mhz *\n2: 1700Mhz \n"), 1000, 0);
    NEAR(dpm("0: 132Mhz *"), 132, 0);
    NEAR(dpm("S: 19Mhz *\n0: 500Mhz\n"), -1, 0);
    NEAR(dpm("0: 500Mhz\n1: 1000Mhz\n"), -1, 0);
    NEAR(dpm(""), -1, 0);
    NEAR(dpm("*"), -1, 0);
    NEAR(dpm("1:*"), -1, 0);
    NEAR(dpm("1: 10M*"), -1, 0);
}

static void metrics_table(uint8_t t[120], uint8_t format, uint8_t content)
{
    const uint16_t head = 120, util = 88, mem = 44, watt = 250, edge = 61, gfx = 1700,
                   none = 0xffff;
    memset(t, 0, 120);
    memcpy(t, &head, 2);
    t[2] = format;
    t[3] = content;
    memcpy(t + 4, &edge, 2);
    memcpy(t + 8, &none, 2);
    memcpy(t + 16, &util, 2);
    memcpy(t + 18, &mem, 2);
    memcpy(t + 22, &watt, 2);
    memcpy(t + 54, &gfx, 2);
}

TEST(the_binary_table_is_read_in_the_revisions_that_are_known)
{
    uint8_t t[120];
    double v = -1;
    metrics_table(t, 1, 3);
    CHECK(amdgpu_metric(t, sizeof t, AMDGPU_AT_UTIL, &v) && v == 88);
    CHECK(amdgpu_metric(t, sizeof t, AMDGPU_AT_MEM_UTIL, &v) && v == 44);
    CHECK(amdgpu_metric(t, sizeof t, AMDGPU_AT_WATT, &v) && v == 250);
    CHECK(amdgpu_metric(t, sizeof t, AMDGPU_AT_EDGE, &v) && v == 61);
    CHECK(amdgpu_metric(t, sizeof t, AMDGPU_AT_GFX_MHZ, &v) && v == 1700);
    CHECK(!amdgpu_metric(t, sizeof t, AMDGPU_AT_TEMP_MEM, &v)); /* the driver's "not there" */
    metrics_table(t, 2, 2);
    CHECK(!amdgpu_metric(t, sizeof t, AMDGPU_AT_UTIL, &v));
    metrics_table(t, 1, 4);
    CHECK(!amdgpu_metric(t, sizeof t, AMDGPU_AT_UTIL, &v));
}

TEST(a_binary_table_that_is_cut_short_is_refused)
{
    uint8_t t[120];
    double v;
    metrics_table(t, 1, 3);
    for (size_t n = 0; n < sizeof t; n++)
        CHECK(!amdgpu_metric(t, n, AMDGPU_AT_UTIL, &v));
}

/* ---- a machine made of files ---- */

static char root[128];

__attribute__((format(printf, 2, 3))) static void put(const char *text, const char *fmt, ...)
{
    char path[512];
    struct err e;
    const size_t n = (size_t)snprintf(path, sizeof path, "%s/", root);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(path + n, sizeof path - n, fmt, ap);
    va_end(ap);
    char *slash = strrchr(path, '/');
    *slash = 0;
    OK(dir_make(path, &e));
    *slash = '/';
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void make_machine(void)
{
    snprintf(root, sizeof root, "%s/sys", test_tmpdir());
    const char *d = "class/drm/card3/device";
    put("0x1002\n", "%s/vendor", d);
    put("0x740c\n", "%s/device", d);
    put("87\n", "%s/gpu_busy_percent", d);
    put("41\n", "%s/mem_busy_percent", d);
    put("68702699520\n", "%s/mem_info_vram_total", d);
    put("17175674880\n", "%s/mem_info_vram_used", d);
    put("a1b2c3d4e5f60718\n", "%s/unique_id", d);
    put("0: 500Mhz\n1: 1600Mhz *\n", "%s/pp_dpm_mclk", d);
    put("312000000\n", "%s/hwmon/hwmon5/power1_average", d);
    put("560000000\n", "%s/hwmon/hwmon5/power1_cap", d);
    put("300000000\n", "%s/hwmon/hwmon5/power1_cap_default", d);
    put("1700000000\n", "%s/hwmon/hwmon5/freq1_input", d);
    put("64000\n", "%s/hwmon/hwmon5/temp2_input", d);
    put("71000\n", "%s/hwmon/hwmon5/temp3_input", d);
    put("0x8086\n", "class/drm/card0/device/vendor");
    put("0x1002\n", "class/drm/card3-DP-1/device/vendor");
    put("6.3.6\n", "module/amdgpu/version");
}

static void open_machine(void)
{
    bench_open(&b);
    b.env.sys = root;
    bench_probe(&b, &probe_amdgpu, 500);
}

TEST(only_amd_cards_are_found_and_no_connectors)
{
    struct amdgpu_card c[AMDGPU_MOST];
    make_machine();
    CHECK_INT(amdgpu_find(c, root), 1);
    CHECK_INT(c[0].number, 3);
    CHECK(strstr(c[0].hwmon, "hwmon5"));
}

TEST(cards_are_in_the_order_of_their_numbers)
{
    struct amdgpu_card c[AMDGPU_MOST];
    make_machine();
    put("0x1002\n", "class/drm/card10/device/vendor");
    put("0x1002\n", "class/drm/card2/device/vendor");
    CHECK_INT(amdgpu_find(c, root), 3);
    CHECK_INT(c[0].number, 2);
    CHECK_INT(c[1].number, 3);
    CHECK_INT(c[2].number, 10);
}

TEST(sysfs_values_reach_the_rows_in_their_units)
{
    make_machine();
    open_machine();
    bench_read(&b);
    NEAR(last(&b, M_GPU_UTIL, "gpu0"), 87, 0);
    NEAR(last(&b, M_GPU_MEM_CTRL, "gpu0"), 41, 0);
    NEAR(last(&b, M_GPU_MEM, "gpu0"), 25, 1e-9);
    NEAR(last(&b, M_GPU_MEM_USED, "gpu0"), 17175674880.0, 524288);
    NEAR(last(&b, M_GPU_MEM_TOTAL, "gpu0"), 68702699520.0, 524288);
    NEAR(last(&b, M_GPU_POWER, "gpu0"), 312, 0);
    NEAR(last(&b, M_GPU_POWER_LIMIT, "gpu0"), 560, 0);
    NEAR(last(&b, M_GPU_POWER_DEFAULT, "gpu0"), 300, 0);
    NEAR(last(&b, M_GPU_CLOCK_SM, "gpu0"), 1700, 0);
    NEAR(last(&b, M_GPU_CLOCK_MEM, "gpu0"), 1600, 0); /* from the table of levels */
    NEAR(last(&b, M_GPU_TEMP, "gpu0"), 64, 0);        /* the junction: this card shows no edge */
    NEAR(last(&b, M_GPU_TEMP_MEM, "gpu0"), 71, 0);
    CHECK_INT(b.losses, losses_with(&b, LOSS_UNSUPPORTED, "gpu0", "amdgpu kernel driver"));
    bench_close(&b);
}

TEST(what_no_file_of_an_amd_card_has_is_a_loss_told_once)
{
    make_machine();
    open_machine();
    bench_read(&b);
    bench_read(&b);
    CHECK_INT(losses_with(&b, LOSS_UNSUPPORTED, "gpu0 gpu.tensor_active", "amdgpu kernel driver"),
              1);
    CHECK_INT(losses_with(&b, LOSS_UNSUPPORTED, "gpu0 gpu.sm_active", "amdgpu kernel driver"), 1);
    CHECK_INT(losses_with(&b, LOSS_UNSUPPORTED, "gpu0 gpu.dram_active", "amdgpu kernel driver"), 1);
    CHECK_INT(losses_with(&b, LOSS_UNSUPPORTED, "gpu0 gpu.energy", "amdgpu kernel driver"), 1);
    bench_close(&b);
}

TEST(a_file_that_changes_is_read_again)
{
    make_machine();
    open_machine();
    bench_read(&b);
    put("12\n", "class/drm/card3/device/gpu_busy_percent");
    bench_read(&b);
    NEAR(last(&b, M_GPU_UTIL, "gpu0"), 12, 0);
    bench_close(&b);
}

TEST(a_sensor_that_the_card_does_not_have_is_a_loss_told_once)
{
    make_machine();
    char path[256];
    snprintf(path, sizeof path, "%s/class/drm/card3/device/mem_busy_percent", root);
    CHECK(unlink(path) == 0);
    open_machine();
    for (int i = 0; i < 100; i++) {
        bench_read(&b);
        clock_add_ms(1000);
    }
    CHECK_INT(values(&b, M_GPU_MEM_CTRL, "gpu0"), 0);
    CHECK_INT(losses_with(&b, LOSS_UNSUPPORTED, "gpu0 gpu.mem_util", ""), 1);
    CHECK_INT(b.losses - losses_with(&b, LOSS_UNSUPPORTED, "gpu0", "amdgpu kernel driver"), 1);
    bench_close(&b);
}

TEST(a_file_with_nonsense_is_a_loss_and_not_a_number)
{
    make_machine();
    put("busy\n", "class/drm/card3/device/gpu_busy_percent");
    open_machine();
    bench_read(&b);
    CHECK_INT(values(&b, M_GPU_UTIL, "gpu0"), 0);
    CHECK_INT(losses_with(&b, LOSS_UNSUPPORTED, "gpu0 gpu.util", ""), 1);
    bench_close(&b);
}

TEST(the_binary_table_stands_in_for_a_missing_file)
{
    uint8_t t[120];
    char path[256];
    make_machine();
    put("", "class/drm/card3/device/gpu_metrics");
    snprintf(path, sizeof path, "%s/class/drm/card3/device/gpu_busy_percent", root);
    CHECK(unlink(path) == 0);
    snprintf(path, sizeof path, "%s/class/drm/card3/device/gpu_metrics", root);
    metrics_table(t, 1, 3);
    FILE *f = fopen(path, "w");
    CHECK(f && fwrite(t, sizeof t, 1, f) == 1 && fclose(f) == 0);
    open_machine();
    bench_read(&b);
    NEAR(last(&b, M_GPU_UTIL, "gpu0"), 88, 0);
    bench_close(&b);
}

TEST(amd_cards_are_numbered_behind_the_nvidia_ones)
{
    struct gpu_info g[GPU_MOST];
    make_machine();
    bench_play(&b, NVML_STANDIN, FP_TEST_DATA "/nvml/two_gpus.play");
    b.env.sys = root;
    bench_probe(&b, &probe_amdgpu, 500);
    bench_read(&b);
    NEAR(last(&b, M_GPU_UTIL, "gpu2"), 87, 0);
    CHECK_INT(gpu_list(g, b.env.nvml, root), 3);
    CHECK_STR(g[2].entity, "gpu2");
    CHECK_STR(g[2].name, "AMD GPU 0x740c");
    CHECK_STR(g[2].uuid, "a1b2c3d4e5f60718");
    CHECK_STR(g[2].driver, "6.3.6");
    CHECK_INT(g[2].memory_bytes, 68702699520);
    bench_close(&b);
}

TEST(no_amd_gpu_is_a_sentence)
{
    struct err e;
    bench_open(&b);
    void *state = xcalloc(1, probe_amdgpu.state_size);
    CHECK_INT(probe_amdgpu.open(state, &b.env, NS_PER_S, &e), ERR_NOT_FOUND);
    CHECK_STR(e.msg, "no AMD GPU found in /nonexistent/sys/class/drm");
    probe_amdgpu.close(state);
    free(state);
}
