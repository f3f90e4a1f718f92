/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "query/run.h"
#include "query/runkit.h"
#include "test.h"

TEST(a_newer_metrics_file_makes_the_whole_run_say_so)
{
    struct buf b = {0};
    struct run *r;
    struct err e;
    const char *run = kit_run("r", "n", "id", 1);
    kit_metrics(run, "a", &b);
    kit_set_version(kit_path("r/node-a/metrics.fp"), 7, 0);
    CHECK_INT(run_open(&r, run, &e), ERR_VERSION);
    CHECK(strstr(e.msg, "version 7"));
    buf_free(&b);
}

TEST(a_run_that_does_not_say_when_it_began_began_with_its_first_node)
{
    const char *run = kit_run("r", "n", "id", 0);
    struct run *r;
    struct err e;
    kit_node(run, "a", 1, "{\"status\": \"finished\", \"start_ns\": 60, \"end_ns\": 90}");
    kit_node(run, "b", 1, "{\"status\": \"finished\", \"start_ns\": 40, \"end_ns\": 80}");
    OK(run_open(&r, run, &e));
    CHECK_INT(run_get_info(r)->start.ns, 40);
    CHECK_INT(run_get_info(r)->end.ns, 90);
    run_close(r);
}

TEST(a_run_without_any_node_opens_and_has_nothing)
{
    struct arena a = {0};
    struct run *r;
    struct err e;
    struct run_size size;
    struct series_key *k;
    size_t n;
    OK(run_open(&r, kit_run("r", "n", "id", 1), &e));
    CHECK_INT(run_get_info(r)->n_nodes, 0);
    CHECK_INT(run_get_info(r)->status, RUN_DIED);
    OK(series_list(r, &a, &k, &n, &e));
    CHECK_INT(n, 0);
    run_get_size(r, &size);
    CHECK_INT(size.samples, 0);
    run_close(r);
    run_close(NULL);
    arena_free(&a);
}

static void tiny(struct buf *b)
{
    kit_group(b, 0, "g", NS_PER_S, 0);
    kit_slot(b, 0, 0, "cpu.util", "%", "total", 1);
    for (int i = 0; i < 4; i++) {
        kit_row(b, 0, 0);
        kit_cell(b, 1);
    }
    kit_loss(b, "not-supported", 3, "gpu0", "old driver");
    kit_mark(b, "signal", 2000000, 15, "SIGTERM");
}

TEST(one_unreadable_node_does_not_hide_the_others)
{
    struct arena a = {0};
    struct buf b = {0};
    struct run *r;
    struct run_loss *l;
    struct run_mark *m;
    struct err e;
    size_t n;
    tiny(&b);
    const char *run = kit_run("r", "n", "id", 1);
    kit_metrics(run, "good", &b);
    kit_node(run, "good", 1, "{\"status\": \"finished\"}");
    kit_metrics(run, "bad", &b);
    kit_save(kit_path("r/node-bad/metrics.fp"), "garbage", 7);
    kit_node(run, "bad", 1, "{\"status\": \"finished\"}");
    OK(run_open(&r, run, &e));
    struct run_size size;
    run_get_size(r, &size);
    CHECK(size.samples == 4 && size.rows == 4 && size.file_bytes > 64);
    OK(run_losses(r, &a, &l, &n, &e));
    CHECK_INT(n, 2);
    CHECK_STR(l[0].node, "bad");
    CHECK_INT(l[0].loss.id, LOSS_DAMAGED);
    CHECK(strstr(l[0].loss.why, "metrics.fp"));
    CHECK_STR(l[1].node, "good");
    CHECK_INT(l[1].loss.count, 3);
    OK(run_marks(r, &a, &m, &n, &e));
    CHECK_INT(n, 1);
    CHECK_INT(m[0].at.ns, KIT_START + 2 * NS_PER_S);
    CHECK_INT(m[0].mark.number, 15);
    run_close(r);
    buf_free(&b);
    arena_free(&a);
}

TEST(a_dead_recorder_is_a_loss_and_its_data_is_shown_up_to_the_end)
{
    struct arena a = {0};
    struct buf b = {0};
    struct run *r;
    struct run_loss *l;
    struct err e;
    size_t n, died = 0;
    tiny(&b);
    const char *run = kit_run("r", "n", "id", KIT_START);
    kit_metrics_died(run, "h", &b);
    kit_node(run, "h", 1, "{\"status\": \"running\"}");
    kit_save(kit_path("r/node-h/lock"), "", 0);
    OK(run_open(&r, run, &e));
    CHECK_INT(run_get_info(r)->status, RUN_DIED);
    CHECK_INT(run_get_info(r)->end.ns, KIT_START + 4 * NS_PER_S);
    CHECK_INT(run_get_info(r)->nodes[0].start.ns, KIT_START + NS_PER_S);
    OK(run_losses(r, &a, &l, &n, &e));
    for (size_t i = 0; i < n; i++)
        died += l[i].loss.id == LOSS_NODE_DIED;
    CHECK_INT(died, 1);
    run_close(r);
    buf_free(&b);
    arena_free(&a);
}

TEST(marks_of_all_nodes_are_in_order_of_time)
{
    struct arena a = {0};
    struct buf b = {0};
    struct run *r;
    struct run_mark *m;
    struct err e;
    size_t n;
    const char *run = kit_run("r", "n", "id", 1);
    for (int node = 0; node < 3; node++) {
        b.len = 0;
        for (int i = 0; i < 5; i++)
            kit_mark(&b, "exec", (i * 7 + node * 3) % 11 * 1000, node, "x");
        kit_metrics(run, (const char *[]){"a", "b", "c"}[node], &b);
    }
    OK(run_open(&r, run, &e));
    OK(run_marks(r, &a, &m, &n, &e));
    CHECK_INT(n, 15);
    for (size_t i = 1; i < n; i++)
        CHECK(m[i].at.ns >= m[i - 1].at.ns);
    run_close(r);
    buf_free(&b);
    arena_free(&a);
}
