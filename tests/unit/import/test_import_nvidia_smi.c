/* SPDX-License-Identifier: Apache-2.0 */
/* test_import_nvidia_smi.c - what nvidia-smi's CSV becomes. */
#include <time.h>

#include "import_run.h"
#include "record/group.h"

enum { ROWS_MOST = 512, LOSSES_MOST = 64 };

/* One value of a row. */
struct reading {
    enum metric_id metric;
    char entity[ENTITY_LEN];
    mono_ns at;
    double value;
    int64_t period_ns;
};

struct rows {
    struct sink sink; /* first */
    struct reading v[ROWS_MOST];
    size_t n;
    struct loss losses[LOSSES_MOST];
    size_t n_losses;
    struct import_result result;
    int rc;
    struct err e;
};

static void take_row(struct sink *s, struct group *g, mono_ns t)
{
    struct rows *r = (struct rows *)s;
    for (slot_id i = 0; i < g->n; i++) {
        if (!g->slots[i].used || g->cells[i] == CELL_MISSING)
            continue;
        CHECK(r->n < ROWS_MOST);
        struct reading *x = &r->v[r->n++];
        *x = (struct reading){.metric = g->slots[i].metric,
                              .at = t,
                              .value = (double)g->cells[i] * g->slots[i].step,
                              .period_ns = g->period_ns};
        memcpy(x->entity, g->slots[i].entity, sizeof x->entity);
    }
}

static void take_loss(struct sink *s, const struct loss *l)
{
    struct rows *r = (struct rows *)s;
    CHECK(r->n_losses < LOSSES_MOST);
    r->losses[r->n_losses++] = *l;
}

static struct rows *import_pieces(const char *csv, size_t piece)
{
    static const struct sink_ops ops = {.row = take_row, .loss = take_loss};
    struct rows *r = xcalloc(1, sizeof *r);
    struct bytes_memory in;
    r->sink.ops = &ops;
    bytes_memory_init(&in, csv, strlen(csv), piece);
    const struct import_ask ask = {.in = &in.in, .sink = &r->sink};
    r->rc = importer_nvidia_smi.run(&ask, &r->result, &r->e);
    return r;
}

static struct rows *import_text(const char *csv)
{
    unsetenv("TZ");
    return import_pieces(csv, 0);
}

/* The only one. */
static const struct reading *find(const struct rows *r, enum metric_id m, const char *entity)
{
    const struct reading *found = NULL;
    for (size_t i = 0; i < r->n; i++)
        if (r->v[i].metric == m && strcmp(r->v[i].entity, entity) == 0) {
            CHECK(!found);
            found = &r->v[i];
        }
    CHECK(found);
    return found;
}

static size_t count(const struct rows *r, enum metric_id m, const char *entity)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++)
        n += r->v[i].metric == m && strcmp(r->v[i].entity, entity) == 0;
    return n;
}

#define AT    "2026/11/15 16:00:01.123"
#define AT_NS (1794758401123 * NS_PER_MS)

TEST(columns_with_units_become_metrics_of_the_gpu)
{
    struct rows *r = import_text(
        "timestamp, index, name, utilization.gpu [%], utilization.memory [%], memory.used [MiB], "
        "memory.total [MiB], memory.reserved [MiB], power.draw [W], enforced.power.limit [W], "
        "temperature.gpu, temperature.memory, clocks.current.sm [MHz], clocks.current.memory "
        "[MHz], clocks_throttle_reasons.active\n" AT
        ", 3, NVIDIA H200, 87 %, 31 %, 10240 MiB, 40960 MiB, 512 MiB, 71.62 W, 700.00 W, 41, 55, "
        "1980 MHz, 2619 MHz, 0x0000000000000004\n");
    CHECK_INT(r->rc, 0);
    NEAR(find(r, M_GPU_UTIL, "gpu3")->value, 87, 0);
    CHECK_INT(find(r, M_GPU_UTIL, "gpu3")->at.ns, AT_NS);
    NEAR(find(r, M_GPU_MEM_CTRL, "gpu3")->value, 31, 0);
    NEAR(find(r, M_GPU_MEM_USED, "gpu3")->value, 10240.0 * 1048576, 0);
    NEAR(find(r, M_GPU_MEM_TOTAL, "gpu3")->value, 40960.0 * 1048576, 0);
    NEAR(find(r, M_GPU_MEM_RESERVED, "gpu3")->value, 512.0 * 1048576, 0);
    NEAR(find(r, M_GPU_MEM, "gpu3")->value, 25, 1e-9);
    NEAR(find(r, M_GPU_POWER, "gpu3")->value, 72, 0);
    NEAR(find(r, M_GPU_POWER_LIMIT, "gpu3")->value, 700, 0);
    NEAR(find(r, M_GPU_TEMP, "gpu3")->value, 41, 0);
    NEAR(find(r, M_GPU_TEMP_MEM, "gpu3")->value, 55, 0);
    NEAR(find(r, M_GPU_CLOCK_SM, "gpu3")->value, 1980, 0);
    NEAR(find(r, M_GPU_CLOCK_MEM, "gpu3")->value, 2619, 0);
    NEAR(find(r, M_GPU_THROTTLE, "gpu3")->value, 4, 0);
    CHECK_INT(r->result.count[IMPORTED_READINGS], 13);
    CHECK_INT(r->n_losses, 0);
    free(r);
}

TEST(numbers_without_units_are_read_alike)
{
    struct rows *r = import_text("timestamp, index, utilization.gpu [%], memory.used [MiB], "
                                 "power.draw [W]\n" AT ", 0, 87, 10240, 71.62\n");
    NEAR(find(r, M_GPU_UTIL, "gpu0")->value, 87, 0);
    NEAR(find(r, M_GPU_MEM_USED, "gpu0")->value, 10240.0 * 1048576, 0);
    NEAR(find(r, M_GPU_POWER, "gpu0")->value, 72, 0);
    free(r);
}

TEST(each_gpu_has_the_times_and_the_period_of_its_own_lines)
{
    struct rows *r = import_text("timestamp, index, utilization.gpu [%]\n"
                                 "2026/11/15 16:00:01.000, 0, 10 %\n"
                                 "2026/11/15 16:00:01.004, 1, 20 %\n"
                                 "2026/11/15 16:00:01.500, 0, 30 %\n"
                                 "2026/11/15 16:00:01.504, 1, 40 %\n");
    CHECK_INT(count(r, M_GPU_UTIL, "gpu0"), 2);
    CHECK_INT(count(r, M_GPU_UTIL, "gpu1"), 2);
    for (size_t i = 0; i < r->n; i++) {
        CHECK_INT(r->v[i].period_ns, 500 * NS_PER_MS);
        CHECK_INT(r->v[i].at.ns % NS_PER_MS, 0);
    }
    CHECK_INT(r->v[0].at.ns + 500 * NS_PER_MS, r->v[1].at.ns);
    CHECK_INT(r->result.last.ns - r->result.first.ns, 504 * NS_PER_MS);
    free(r);
}

TEST(gpus_named_by_a_text_are_numbered_in_the_order_they_come)
{
    struct rows *r =
        import_text("timestamp, pci.bus_id, uuid, temperature.gpu\n" AT
                    ", 00000000:1B:00.0, GPU-b, 40\n" AT ", 00000000:18:00.0, GPU-a, 50\n");
    NEAR(find(r, M_GPU_TEMP, "gpu0")->value, 40, 0);
    NEAR(find(r, M_GPU_TEMP, "gpu1")->value, 50, 0);
    free(r);
}

TEST(several_gpus_that_no_column_tells_apart_are_refused)
{
    struct rows *r = import_text("timestamp, utilization.gpu [%]\n"
                                 "2026/11/15 16:00:01.000, 10 %\n2026/11/15 16:00:01.002, 20 %\n");
    CHECK(r->rc != 0);
    CHECK(strstr(r->e.msg, "add index to --query-gpu"));
    free(r);
    r = import_text("timestamp, utilization.gpu [%]\n"
                    "2026/11/15 16:00:01.000, 10 %\n2026/11/15 16:00:02.000, 20 %\n");
    CHECK_INT(r->rc, 0);
    CHECK_INT(count(r, M_GPU_UTIL, "gpu0"), 2);
    free(r);
}

TEST(what_the_gpu_does_not_say_is_missing_and_said)
{
    static const char *const words[] = {"[N/A]",         "[Not Supported]",
                                        "N/A",           "[Unknown Error]",
                                        "[GPU is lost]", "[Insufficient Permissions]"};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        char *csv = test_printf("timestamp, index, utilization.gpu [%%], power.draw [W]\n" AT
                                ", 0, 5 %%, %s\n",
                                words[i]);
        struct rows *r = import_text(csv);
        CHECK_INT(r->rc, 0);
        CHECK_INT(count(r, M_GPU_POWER, "gpu0"), 0);
        CHECK_INT(r->n_losses, 1);
        CHECK_INT(r->losses[0].id, LOSS_UNSUPPORTED);
        CHECK_STR(loss_what(&r->losses[0], (char[ENTITY_LEN]){0}), "gpu0 gpu.power");
        CHECK_INT(r->losses[0].count, 1);
        CHECK_INT(r->result.count[IMPORTED_NO_VALUE], 0);
        free(r);
        free(csv);
    }
}

TEST(what_is_no_number_is_missing_and_counted)
{
    struct rows *r = import_text("timestamp, index, utilization.gpu [%], temperature.gpu\n" AT
                                 ", 0, lots, 41 furlongs\n" AT ", 1, nan, 9\n");
    CHECK_INT(r->n, 1);
    CHECK_INT(r->result.count[IMPORTED_NO_VALUE], 3);
    free(r);
}

TEST(columns_that_no_metric_is_for_are_named)
{
    struct rows *r = import_text("timestamp, index, fan.speed [%], pstate, utilization.gpu [%]\n" AT
                                 ", 0, 30 %, P0, 5 %\n");
    CHECK_INT(r->rc, 0);
    CHECK_INT(r->n, 1);
    CHECK_INT(r->result.count[IMPORTED_NO_METRIC], 2);
    CHECK_INT(r->n_losses, 2);
    CHECK_STR(loss_what(&r->losses[0], (char[ENTITY_LEN]){0}), "column fan.speed [%]");
    free(r);
}

TEST(reasons_in_columns_of_their_own_become_bits)
{
    struct rows *r = import_text(
        "timestamp, index, clocks_event_reasons.sw_power_cap, clocks_throttle_reasons.gpu_idle, "
        "clocks_event_reasons.hw_thermal_slowdown\n" AT ", 0, Active, Not Active, Active\n" AT
        ", 1, [N/A], [N/A], [N/A]\n");
    NEAR(find(r, M_GPU_THROTTLE, "gpu0")->value, 0x44, 0);
    CHECK_INT(count(r, M_GPU_THROTTLE, "gpu1"), 0);
    free(r);
}

TEST(the_column_that_says_it_best_is_taken)
{
    struct rows *r = import_text("timestamp, index, power.draw.average [W], power.draw [W], "
                                 "power.limit [W], enforced.power.limit [W]\n" AT
                                 ", 0, 10 W, 20 W, 300 W, 250 W\n");
    NEAR(find(r, M_GPU_POWER, "gpu0")->value, 20, 0);
    NEAR(find(r, M_GPU_POWER_LIMIT, "gpu0")->value, 250, 0);
    free(r);
}

TEST(without_a_header_it_says_which_one_is_needed)
{
    static const char csv[] = AT ", 0, 87 %, 10240 MiB\n";
    CHECK(importer_sniff(csv, strlen(csv)) == &importer_nvidia_smi);
    struct rows *r = import_text(csv);
    CHECK(r->rc != 0);
    CHECK(strstr(r->e.msg, "--query-gpu=timestamp,index"));
    CHECK(strstr(r->e.msg, "noheader"));
    free(r);
}

TEST(logs_one_behind_the_other_and_windows_line_ends_are_read)
{
    struct rows *r = import_text("\xef\xbb\xbftimestamp, index, utilization.gpu [%]\r\n" AT
                                 ", 0, 87 %\r\n\r\ntimestamp, index, utilization.gpu [%]\r\n"
                                 "2026/11/15 16:00:02.123, 0, 88 %\r\n");
    CHECK_INT(count(r, M_GPU_UTIL, "gpu0"), 2);
    CHECK_INT(r->result.count[IMPORTED_NO_TIME], 0);
    free(r);
}

TEST(a_line_that_is_cut_or_has_other_columns_is_counted)
{
    struct rows *r = import_text("timestamp, index, utilization.gpu [%]\n" AT ", 0, 87 %\n" AT
                                 ", 0, 87 %, 9\nyesterday, 0, 5 %\n" AT ", 0");
    CHECK_INT(r->n, 1);
    CHECK_INT(r->result.faults.unread, 1);
    CHECK_INT(r->result.faults.cut, 1);
    CHECK_INT(r->result.count[IMPORTED_NO_TIME], 1);
    free(r);
}

TEST(times_are_of_the_zone_that_the_environment_names)
{
    static const char csv[] = "timestamp, index, utilization.gpu [%]\n" AT ", 0, 87 %\n";
    setenv("TZ", "UTC-2", 1); /* two hours east */
    tzset();
    struct rows *r = import_pieces(csv, 0);
    CHECK_INT(r->v[0].at.ns, AT_NS - 7200 * NS_PER_S);
    free(r);
    unsetenv("TZ");
    tzset();
}

TEST(times_that_are_none_are_counted)
{
    static const char *const bad[] = {"2026/13/01 00:00:00",
                                      "2026/11/15 25:00:00.0",
                                      "2026/11/15",
                                      "1969/11/15 16:00:01",
                                      "2296/11/15 16:00:01",
                                      "2026/11/15 16:00:01.x",
                                      ""};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        char *csv =
            test_printf("timestamp, index, utilization.gpu [%%]\n" AT ", 0, 87 %%\n%s, 0, 1 "
                        "%%\n",
                        bad[i]);
        struct rows *r = import_text(csv);
        CHECK_INT(r->n, 1);
        CHECK_INT(r->result.count[IMPORTED_NO_TIME], 1);
        free(r);
        free(csv);
    }
}

TEST(the_bytes_may_come_in_any_pieces)
{
    static const char csv[] = "timestamp, index, utilization.gpu [%]\n"
                              "2026/11/15 16:00:01.000, 0, 10 %\n2026/11/15 16:00:02.000, 0, 20 %";
    unsetenv("TZ");
    for (size_t piece = 1; piece < 40; piece += 3) {
        struct rows *r = import_pieces(csv, piece);
        CHECK_INT(r->rc, 0);
        CHECK_INT(r->n, 2);
        NEAR(r->v[1].value, 20, 0);
        free(r);
    }
}

TEST(a_line_of_any_length_is_passed_over)
{
    static const char head[] = "timestamp, index, utilization.gpu [%]\n" AT ", 0, 87 %\n";
    const size_t n = 300000;
    char *csv = xcalloc(1, sizeof head + n + 100);
    memcpy(csv, head, sizeof head - 1);
    memset(csv + sizeof head - 1, 'x', n);
    snprintf(csv + sizeof head - 1 + n, 100, "\n2026/11/15 16:00:02.123, 0, 5 %%\n");
    struct rows *r = import_text(csv);
    CHECK_INT(r->rc, 0);
    CHECK_INT(r->n, 2);
    CHECK(r->result.faults.unread > 0);
    free(r);
    free(csv);
}

TEST(a_header_alone_and_nothing_at_all_are_refused)
{
    struct rows *r = import_text("timestamp, index, utilization.gpu [%]\n");
    CHECK_STR(r->e.msg, "the file has a header but no readings");
    free(r);
    r = import_text("timestamp, index, fan.speed [%]\n");
    CHECK_STR(r->e.msg, "the header contains no known metric");
    free(r);
    r = import_text("\n");
    CHECK_STR(r->e.msg, "the file has no lines");
    free(r);
}

TEST(other_text_is_not_taken_for_it)
{
    static const char json[] = "{\"traceEvents\": []}";
    static const char csv[] = "step,loss\n1,0.5\n";
    CHECK_INT(importer_nvidia_smi.sniff(json, strlen(json)), 0);
    CHECK_INT(importer_nvidia_smi.sniff(csv, strlen(csv)), 0);
    CHECK_INT(importer_nvidia_smi.sniff("", 0), 0);
}
