/* SPDX-License-Identifier: Apache-2.0 */
/* test_import_sm_system.c - system metrics of SageMaker become rows. */
#include "sm_rows_catch.h"

#define S INT64_C(1000000000)

struct got {
    struct rows_catch rows;
    struct rows_catch other; /* of another machine */
    char other_name[IMPORT_NAME_LEN];
    struct import_result r;
    struct err e;
    int rc;
};

static struct sink *other_sink(void *ctx, const char *node)
{
    struct got *g = ctx;
    snprintf(g->other_name, sizeof g->other_name, "%s", node);
    return &g->other.sink;
}

static void import(struct got *g, const char *text, size_t piece)
{
    struct bytes_memory in;
    memset(g, 0, sizeof *g);
    bytes_memory_init(&in, text, strlen(text), piece);
    rows_catch_open(&g->rows);
    rows_catch_open(&g->other);
    const struct import_ask ask = {
        .in = &in.in,
        .sink = &g->rows.sink,
        .sink_of_node = other_sink,
        .hint = {.node = "algo-1"},
        .wall_minus_mono_ns = 1700000000 * S,
        .ctx = g,
    };
    g->rc = importer_sagemaker_system.run(&ask, &g->r, &g->e);
}

static void done(struct got *g)
{
    rows_catch_close(&g->rows);
    rows_catch_close(&g->other);
}

static double value(const struct got *g, const char *metric, const char *entity, size_t which)
{
    const struct reading *r = rows_find(&g->rows, metric, entity, which);
    return r ? r->value : NAN;
}

static void append(char *text, const char *more)
{
    memcpy(text + strlen(text), more, strlen(more) + 1);
}

/* Any reading: type, name, dimension, value, time behind 1700000000. */
static void add(char *text, const char *type, const char *name, const char *dimension,
                const char *v, const char *time)
{
    snprintf(text + strlen(text), 256,
             "{\"Type\":\"%s\",\"Name\":\"%s\",\"Dimension\":\"%s\",\"Value\":%s,"
             "\"NodeId\":\"algo-1\",\"Timestamp\":1700000000.%s}\n",
             type, name, dimension, v, time);
}

TEST(each_kind_of_reading_finds_its_metric)
{
    char text[4096] = "";
    struct got g;
    add(text, "cpu", "cpu3", "CPUUtilization", "37.5", "25");
    add(text, "cpu", "cpu3", "I/OWaitPercentage", "0", "25");
    add(text, "gpu", "gpu0", "GPUUtilization", "81", "2514321");
    add(text, "gpu", "gpu0", "GPUMemoryUtilization", "14.76", "2514321");
    add(text, "memory", "MemoryUsedPercent", "", "12.07", "251");
    add(text, "i/o", "IOPS", "", "3.5", "252");
    add(text, "i/o", "ReadThroughputInBytesPerSecond", "", "1048576", "252");
    add(text, "i/o", "WriteThroughputInBytesPerSecond", "", "51.75", "252");
    add(text, "network", "ReceiveBytesPerSecond", "Platform", "51234.75", "253");
    add(text, "network", "TransmitBytesPerSecond", "Algorithm", "7", "253");
    import(&g, text, 0);
    CHECK_INT(g.rc, 0);
    CHECK_INT(g.r.count[IMPORTED_READINGS], 10);
    CHECK_INT(g.rows.rows, 1);
    NEAR(value(&g, "cpu.util", "cpu3", 0), 37.5, 1e-9);
    NEAR(value(&g, "cpu.iowait", "cpu3", 0), 0, 0);
    NEAR(value(&g, "gpu.util", "gpu0", 0), 81, 1e-9);
    NEAR(value(&g, "gpu.mem_util", "gpu0", 0), 14.76, 1e-9);
    NEAR(value(&g, "mem.util", "total", 0), 12.07, 1e-9);
    NEAR(value(&g, "disk.ops", "total", 0), 3.5, 1e-9);
    NEAR(value(&g, "disk.read", "total", 0), 1048576, 1e-9);
    NEAR(value(&g, "disk.write", "total", 0), 52, 1e-9);
    NEAR(value(&g, "net.rx", "Platform", 0), 51235, 1e-9);
    NEAR(value(&g, "net.tx", "Algorithm", 0), 7, 1e-9);
    CHECK_INT(rows_count(&g.rows, "gpu.mem"), 0);
    CHECK_INT(g.rows.v[0].at, 250000000);
    done(&g);
}

TEST(a_sweep_is_what_lies_within_20_ms_of_its_first_reading)
{
    char text[4096] = "";
    struct got g;
    add(text, "cpu", "cpu0", "CPUUtilization", "1", "000");
    add(text, "gpu", "gpu0", "GPUUtilization", "2", "020");
    add(text, "gpu", "gpu1", "GPUUtilization", "3", "021");
    add(text, "cpu", "cpu0", "CPUUtilization", "4", "500");
    add(text, "gpu", "gpu0", "GPUUtilization", "5", "495"); /* a thread that was earlier */
    import(&g, text, 0);
    CHECK_INT(g.rows.rows, 3);
    CHECK_INT(rows_find(&g.rows, "gpu.util", "gpu0", 0)->at, 0);
    CHECK_INT(rows_find(&g.rows, "gpu.util", "gpu1", 0)->at, 21000000);
    CHECK_INT(rows_find(&g.rows, "gpu.util", "gpu0", 1)->at, 500000000);
    done(&g);
}

TEST(lines_of_threads_that_lag_behind_find_their_sweep)
{
    char text[4096] = "";
    struct got g;
    add(text, "gpu", "gpu0", "GPUUtilization", "1", "0");
    add(text, "gpu", "gpu0", "GPUUtilization", "2", "5");
    add(text, "cpu", "cpu0", "CPUUtilization", "3", "0");
    add(text, "cpu", "cpu0", "CPUUtilization", "4", "25"); /* between the two */
    add(text, "cpu", "cpu0", "CPUUtilization", "5", "5");
    import(&g, text, 0);
    CHECK_INT(g.rows.rows, 3);
    CHECK_INT(g.r.count[IMPORTED_LATE], 0);
    CHECK_INT(rows_find(&g.rows, "cpu.util", "cpu0", 1)->at, 250000000);
    int64_t before = INT64_MIN;
    for (size_t i = 0; i < g.rows.n; i++) {
        CHECK(g.rows.v[i].at >= before);
        before = g.rows.v[i].at;
    }
    done(&g);
}

TEST(what_comes_far_too_late_is_counted)
{
    char text[4096] = "";
    struct got g;
    for (int i = 1; i < 9; i++) {
        char at[8];
        snprintf(at, sizeof at, "%d", i);
        add(text, "gpu", "gpu0", "GPUUtilization", "1", at);
    }
    add(text, "gpu", "gpu0", "GPUUtilization", "1", "0");
    import(&g, text, 0);
    CHECK_INT(g.r.count[IMPORTED_READINGS], 8);
    CHECK_INT(g.r.count[IMPORTED_LATE], 1);
    done(&g);
}

TEST(the_period_is_the_nearest_that_the_agent_can_be_told)
{
    char text[4096] = "";
    struct got g;
    add(text, "gpu", "gpu0", "GPUUtilization", "1", "0");
    add(text, "gpu", "gpu0", "GPUUtilization", "1", "21");
    import(&g, text, 0);
    CHECK_INT(g.rows.period_ns, 200000000);
    done(&g);
}

TEST(values_that_no_metric_can_have_are_clamped_and_counted)
{
    char text[4096] = "";
    struct got g;
    add(text, "cpu", "cpu0", "CPUUtilization", "-19.61", "0");
    add(text, "gpu", "gpu0", "GPUUtilization", "100.5", "0");
    add(text, "gpu", "gpu1", "GPUUtilization", "1e300", "0");
    import(&g, text, 0);
    NEAR(value(&g, "cpu.util", "cpu0", 0), 0, 0);
    NEAR(value(&g, "gpu.util", "gpu0", 0), 100, 0);
    CHECK(isnan(value(&g, "gpu.util", "gpu1", 0)));
    CHECK_INT(g.r.count[IMPORTED_CLAMPED], 2);
    CHECK_INT(g.r.count[IMPORTED_NO_VALUE], 1);
    done(&g);
}

TEST(all_cores_of_a_sweep_have_a_mean_and_some_have_none)
{
    char text[4096] = "";
    struct got g;
    add(text, "cpu", "cpu0", "CPUUtilization", "10", "0");
    add(text, "cpu", "cpu1", "CPUUtilization", "20.5", "0");
    add(text, "cpu", "cpu0", "CPUUtilization", "50", "5");
    import(&g, text, 0);
    NEAR(value(&g, "cpu.util", "total", 0), 15.25, 1e-9);
    CHECK(!rows_find(&g.rows, "cpu.util", "total", 1));
    CHECK_INT(g.r.count[IMPORTED_READINGS], 3);
    done(&g);
}

TEST(a_first_sweep_without_cpu_leaves_the_cpu_missing)
{
    char text[4096] = "";
    struct got g;
    add(text, "gpu", "gpu0", "GPUUtilization", "1", "0");
    add(text, "gpu", "gpu0", "GPUUtilization", "2", "5");
    add(text, "cpu", "cpu0", "CPUUtilization", "3", "5");
    import(&g, text, 0);
    CHECK_INT(rows_count(&g.rows, "gpu.util"), 2);
    CHECK_INT(rows_find(&g.rows, "cpu.util", "cpu0", 0)->at, 500000000);
    done(&g);
}

TEST(a_cut_last_line_and_a_broken_line_are_counted_and_passed_over)
{
    char text[4096] = "";
    struct got g;
    add(text, "gpu", "gpu0", "GPUUtilization", "1", "0");
    append(text, "{\"Type\":\"gpu\",\"Name\":\n\nhello\n");
    add(text, "gpu", "gpu1", "GPUUtilization", "2", "0");
    append(text, "{\"Type\":\"gpu\",\"Name\":\"gpu2\",\"Dimension\":\"GPUUtil");
    import(&g, text, 0);
    CHECK_INT(g.rc, 0);
    CHECK_INT(g.r.count[IMPORTED_READINGS], 2);
    CHECK_INT(g.r.faults.unread, 2);
    CHECK_INT(g.r.faults.cut, 1);
    done(&g);
}

TEST(a_last_line_that_only_lacks_its_newline_counts)
{
    char text[4096] = "";
    struct got g;
    add(text, "gpu", "gpu0", "GPUUtilization", "1", "0");
    text[strlen(text) - 1] = '\0';
    import(&g, text, 0);
    CHECK_INT(g.r.count[IMPORTED_READINGS], 1);
    CHECK_INT(g.r.faults.cut, 0);
    done(&g);
}

TEST(another_machine_in_the_file_gets_its_own_sink)
{
    struct got g;
    import(&g,
           "{\"Type\":\"gpu\",\"Name\":\"gpu0\",\"Dimension\":\"GPUUtilization\",\"Value\":1,"
           "\"NodeId\":\"algo-1\",\"Timestamp\":1700000000}\n"
           "{\"Type\":\"gpu\",\"Name\":\"gpu0\",\"Dimension\":\"GPUUtilization\",\"Value\":2,"
           "\"NodeId\":\"algo-2\",\"Timestamp\":1700000000}\n"
           "{\"Type\":\"gpu\",\"Name\":\"gpu0\",\"Dimension\":\"GPUUtilization\",\"Value\":3,"
           "\"Timestamp\":1700000001}\n",
           0);
    CHECK_INT(g.rows.n, 2);
    CHECK_INT(g.other.n, 1);
    NEAR(g.other.v[0].value, 2, 0);
    CHECK_STR(g.other_name, "algo-2");
    done(&g);
}

TEST(what_is_not_known_or_not_whole_is_counted)
{
    struct got g;
    import(&g,
           "{\"Type\":\"gpu\",\"Name\":\"gpu0\",\"Dimension\":\"GPUUtilization\",\"Value\":1,"
           "\"Timestamp\":1700000000}\n"
           "{\"Type\":\"disk\",\"Name\":\"x\",\"Dimension\":\"y\",\"Value\":1,"
           "\"Timestamp\":1700000000}\n"
           "{\"Type\":\"gpu\",\"Name\":\"gpu0\",\"Dimension\":\"GPUUtilization\",\"Value\":NaN,"
           "\"Timestamp\":1700000000}\n"
           "{\"Type\":\"gpu\",\"Name\":\"gpu0\",\"Dimension\":\"GPUUtilization\",\"Value\":1}\n",
           0);
    CHECK_INT(g.r.count[IMPORTED_NO_METRIC], 1);
    CHECK_INT(g.r.count[IMPORTED_NO_VALUE], 1);
    CHECK_INT(g.r.count[IMPORTED_NO_TIME], 1);
    CHECK_INT(g.r.count[IMPORTED_READINGS], 1);
    done(&g);
}

/* The same reading, written in ways of which the last ones are not usual. */
static const char *const ways[] = {
    "{\"Type\":\"cpu\",\"Name\":\"cpu3\",\"Dimension\":\"I/OWaitPercentage\",\"Value\":1.25,"
    "\"NodeId\":\"algo-1\",\"Timestamp\":1700000000.2514321}",
    "{\"Timestamp\": 1700000000.2514321 , \"Value\" :1.25, \"NodeId\": \"algo-1\", "
    "\"Dimension\":\t\"I/OWaitPercentage\", \"Name\":\"cpu3\", \"Type\": \"cpu\" }",
    "{\"Type\":\"cpu\",\"Name\":\"cpu3\",\"Dimension\":\"I\\/OWaitPercentage\",\"Value\":1.25,"
    "\"NodeId\":\"algo-1\",\"Timestamp\":1700000000.2514321}",
    "{\"Type\":\"cpu\",\"Name\":\"c\\u0070u3\",\"Dimension\":\"I/OWaitPercentage\","
    "\"Value\":125e-2,\"NodeId\":\"algo-1\",\"Timestamp\":1700000000.2514321,\"More\":{\"a\":[1]}}",
    "{\"Value\":7,\"Type\":\"cpu\",\"Name\":\"cpu3\",\"Dimension\":\"I/OWaitPercentage\","
    "\"Value\":1.25,\"NodeId\":\"algo-1\",\"Timestamp\":1700000000.2514321}",
};

TEST(all_ways_to_write_a_reading_give_the_same)
{
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        char text[1024];
        struct got g;
        snprintf(text, sizeof text, "%s\n", ways[i]);
        import(&g, text, 1);
        CHECK_INT(g.rc, 0);
        const struct reading *r = rows_find(&g.rows, "cpu.iowait", "cpu3", 0);
        CHECK(r != NULL);
        NEAR(r->value, 1.25, 0);
        CHECK_INT(r->at, 251432100);
        done(&g);
    }
}

TEST(times_are_exact_up_to_the_nanosecond)
{
    static const struct {
        const char *after_the_point;
        int64_t ns;
    } times[] = {{"2514321", 251432100},
                 {"25143219", 251432190},
                 {"251432", 251432000},
                 {"123456789123", 123456789}};
    for (size_t i = 0; i < COUNT_OF(times); i++) {
        char text[1024] = "";
        struct got g;
        add(text, "gpu", "gpu0", "GPUUtilization", "1", times[i].after_the_point);
        import(&g, text, 0);
        CHECK_INT(rows_find(&g.rows, "gpu.util", "gpu0", 0)->at, times[i].ns);
        done(&g);
    }
}

TEST(pieces_of_any_size_give_the_same)
{
    char text[8192] = "";
    struct got whole, pieces;
    for (int i = 0; i < 9; i++) {
        char at[8];
        snprintf(at, sizeof at, "%d", i);
        add(text, "cpu", "cpu0", "CPUUtilization", "33.5", at);
        add(text, "gpu", "gpu0", "GPUUtilization", "7", at);
    }
    import(&whole, text, 0);
    for (size_t piece = 1; piece < 300; piece += 7) {
        import(&pieces, text, piece);
        CHECK_INT(pieces.rows.n, whole.rows.n);
        for (size_t i = 0; i < whole.rows.n; i++)
            CHECK(pieces.rows.v[i].value == whole.rows.v[i].value &&
                  pieces.rows.v[i].at == whole.rows.v[i].at);
        done(&pieces);
    }
    done(&whole);
}

TEST(a_line_longer_than_the_buffer_is_counted_and_the_next_one_read)
{
    const size_t big = 600 << 10;
    char *text = xcalloc(1, big + 4096);
    struct got g;
    memset(text, 'x', big);
    memcpy(text, "{\"a\":\"", 6);
    memcpy(text + big - 2, "\"}\n", 3);
    add(text + big, "gpu", "gpu0", "GPUUtilization", "7", "0");
    import(&g, text, 0);
    CHECK_INT(g.rc, 0);
    CHECK_INT(g.r.faults.long_items, 1);
    CHECK_INT(g.r.count[IMPORTED_READINGS], 1);
    done(&g);
    free(text);
}

TEST(a_file_without_readings_is_refused)
{
    struct got g;
    import(&g, "{\"a\": 1}\n", 0);
    CHECK_INT(g.rc, ERR_FORMAT);
    CHECK(strstr(g.e.msg, "no SageMaker system metrics"));
    done(&g);
}

TEST(it_is_known_by_its_first_line)
{
    CHECK(importer_sniff(ways[0], strlen(ways[0])) == &importer_sagemaker_system);
    CHECK(importer_sniff(ways[1], strlen(ways[1])) == &importer_sagemaker_system);
    CHECK(importer_sagemaker_system.sniff("[]", 2) == 0);
}
