/* SPDX-License-Identifier: Apache-2.0 */
/* What is written reads back: every test keeps its own list of what it gave to the writer. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/storekit.h"
#include "store/writer.h"
#include "test.h"

struct model {
    struct writer *w;
    struct kit_dump want;
    char dir[PATH_LEN];
};

static void model_open(struct model *m)
{
    struct err e;
    *m = (struct model){0};
    snprintf(m->dir, sizeof m->dir, "%s", kit_path("node-a"));
    kit_mkdir(m->dir);
    OK(writer_open(&m->w, m->dir, &e));
}

static void model_row(struct model *m, struct group *g, int64_t t_us)
{
    for (slot_id s = 0; s < g->n; s++)
        if (g->cells[s] != CELL_MISSING)
            kit_add(&m->want, metrics[g->slots[s].metric].name,
                    arena_strdup(&m->want.arena, g->slots[s].entity), t_us,
                    (double)g->cells[s] * g->slots[s].step);
    group_commit(g, writer_sink(m->w), (mono_ns){t_us * NS_PER_US});
}

static void model_flush(struct model *m)
{
    struct err e;
    OK(writer_flush(m->w, false, &e));
}

static void model_check(struct model *m, bool closed)
{
    struct store *s;
    struct err e;
    OK(store_open(&s, kit_path("node-a/metrics.fp"), &e));
    CHECK_INT(s->closed, closed);
    struct kit_dump got = kit_dump_store(s);
    kit_sort(&m->want);
    if (!kit_same(&got, &m->want))
        test_fail(__FILE__, __LINE__, "%zu samples read, %zu written, or not the same", got.n,
                  m->want.n);
    CHECK_INT(s->samples, m->want.n);
    CHECK_INT(store_verify(s), 0);
    CHECK_INT(kit_count_loss(s, LOSS_DAMAGED) + kit_count_loss(s, LOSS_TORN), 0);
    kit_free(&got);
    store_close(s);
}

static void model_close(struct model *m)
{
    struct err e;
    OK(writer_close(m->w, &e));
    model_check(m, true);
    kit_free(&m->want);
}

TEST(a_run_without_a_single_row_closes_and_opens)
{
    struct model m;
    model_open(&m);
    model_check(&m, false);
    model_close(&m);
    CHECK(access(kit_path("node-a/metrics.tail"), F_OK) != 0);
}

TEST(values_and_times_read_back_from_the_tail_and_from_blocks)
{
    struct model m;
    struct group g;
    model_open(&m);
    group_open(&g, "gpu", 100 * NS_PER_MS);
    const slot_id a = group_add(&g, M_GPU_CLOCK_SM, "gpu0");
    const slot_id b = group_add(&g, M_GPU_POWER, "gpu0");
    for (int i = 0; i < 500; i++) {
        g.cells[a] = 1000 + i % 7;
        g.cells[b] = i * 12345;
        model_row(&m, &g, 5000000 + i * 100000 + i % 13);
        if (i % 50 == 0) {
            model_flush(&m);
            model_check(&m, false);
        }
    }
    struct writer_stats st;
    writer_get_stats(m.w, &st);
    CHECK(st.rows == 500 && st.samples == 1000 && st.rows_dropped == 0);
    model_close(&m);
    group_close(&g);
}

TEST(what_a_store_gave_back_is_read_again)
{
    struct model m;
    struct group g;
    struct store *s;
    struct err e;
    model_open(&m);
    group_open(&g, "gpu", 100 * NS_PER_MS);
    for (int i = 0; i < 4; i++)
        group_add(&g, M_GPU_UTIL, (const char *[]){"gpu0", "gpu1", "gpu2", "gpu3"}[i]);
    for (int i = 0; i < 500; i++) {
        for (slot_id k = 0; k < g.n; k++)
            g.cells[k] = i % (int)(k + 3);
        model_row(&m, &g, 5000000 + i * 100000);
    }
    OK(writer_close(m.w, &e));
    kit_sort(&m.want);
    OK(store_open(&s, kit_path("node-a/metrics.fp"), &e));
    const size_t before = store_memory(s);
    store_forget(s);
    CHECK(store_memory(s) + 4 * sizeof(struct column) <= before);
    struct column room[4];
    CHECK(s->n_blocks > 0 && s->blocks[0].n_columns == COUNT_OF(room));
    CHECK(block_columns_once(&s->blocks[0], room) == room);
    CHECK(room[3].max == 5 && room[3].count == s->blocks[0].rows);
    struct kit_dump got = kit_dump_store(s);
    CHECK(kit_same(&got, &m.want));
    CHECK(block_columns_once(&s->blocks[0], room) != room); /* now they are kept */
    CHECK_INT(store_memory(s), before);
    kit_free(&got);
    kit_free(&m.want);
    store_close(s);
    group_close(&g);
}

TEST(the_largest_and_smallest_cells_read_back)
{
    static const int64_t cells[] = {0, 1, -1, INT64_MAX, INT64_MIN + 1, INT64_MAX, 0, 1 << 30};
    struct model m;
    struct group g;
    model_open(&m);
    group_open(&g, "gpu", NS_PER_S);
    const slot_id a = group_add(&g, M_GPU_CLOCK_SM, "gpu0");
    for (unsigned i = 0; i < COUNT_OF(cells); i++) {
        g.cells[a] = cells[i];
        model_row(&m, &g, i * 1000000);
    }
    model_flush(&m);
    model_check(&m, false);
    model_close(&m);
    group_close(&g);
}

TEST(gaps_stay_gaps)
{
    struct model m;
    struct group g;
    struct kit_random r = {11};
    model_open(&m);
    group_open(&g, "gpu", NS_PER_S);
    for (int i = 0; i < 4; i++)
        group_add(&g, M_GPU_UTIL, (const char *[]){"gpu0", "gpu1", "gpu2", "gpu3"}[i]);
    for (int i = 0; i < 3000; i++) {
        g.cells[0] = i % 100;
        if (kit_below(&r, 3))
            g.cells[1] = (int64_t)kit_below(&r, 100);
        if (i > 1000 && i < 1200)
            g.cells[2] = 5;
        model_row(&m, &g, i * INT64_C(1000000)); /* gpu3 never answers */
        if (i % 500 == 0)
            model_flush(&m);
    }
    model_flush(&m);
    model_check(&m, false);
    model_close(&m);
    group_close(&g);
}

static void churn(struct group *g, struct kit_random *r, unsigned *names)
{
    if (kit_below(r, 3) == 0 && g->n) {
        const slot_id s = (slot_id)kit_below(r, g->n);
        if (g->slots[s].used)
            group_drop(g, s);
    }
    if (kit_below(r, 3) == 0) {
        char name[32];
        snprintf(name, sizeof name, "%u job",
                 kit_below(r, 2) ? ++*names : (unsigned)kit_below(r, 9));
        for (slot_id s = 0; s < g->n; s++)
            if (g->slots[s].used && strcmp(g->slots[s].entity, name) == 0)
                return;
        group_add(g, M_NET_RX, name); /* a rate: its step changes with the period */
    }
    if (kit_below(r, 200) == 0)
        group_set_period(g, (int64_t)(1 + kit_below(r, 5)) * 100 * NS_PER_MS);
}

TEST(slots_that_come_and_go_and_periods_that_change_read_back)
{
    struct model m;
    struct group g;
    struct kit_random r = {77};
    unsigned names = 100;
    int64_t t = 1000000;
    model_open(&m);
    group_open(&g, "proc", 100 * NS_PER_MS);
    for (int i = 0; i < 4000; i++) {
        churn(&g, &r, &names);
        for (slot_id s = 0; s < g.n; s++)
            if (g.slots[s].used && kit_below(&r, 10))
                g.cells[s] = (int64_t)kit_below(&r, kit_below(&r, 50) ? 200 : 1 << 30);
        t += g.period_ns / NS_PER_US + (int64_t)kit_below(&r, 40);
        model_row(&m, &g, t);
        if (kit_below(&r, 40) == 0)
            model_flush(&m);
    }
    model_flush(&m);
    model_check(&m, false);
    model_close(&m);
    group_close(&g);
}

TEST(a_period_that_changes_with_every_row_still_seals)
{
    struct model m;
    struct group g;
    model_open(&m);
    group_open(&g, "p", NS_PER_MS);
    const slot_id a = group_add(&g, M_PROC_THREADS, "1");
    for (int i = 0; i < 30000; i++) {
        group_set_period(&g, (1 + i % 2) * NS_PER_MS);
        g.cells[a] = i;
        model_row(&m, &g, i * 2000);
        if (i % 10000 == 0)
            model_flush(&m);
    }
    model_flush(&m);
    model_close(&m);
    group_close(&g);
}

TEST(seventy_thousand_rows_of_one_group_read_back)
{
    struct model m;
    struct group g;
    model_open(&m);
    group_open(&g, "fast", 10 * NS_PER_MS);
    const slot_id a = group_add(&g, M_GPU_UTIL, "gpu0");
    for (int i = 0; i < 70000; i++) {
        g.cells[a] = i % 101;
        model_row(&m, &g, i * 10000);
        if (i == 69000)
            model_flush(&m);
    }
    model_flush(&m);
    model_check(&m, false);
    model_close(&m);
    group_close(&g);
}

TEST(sealing_in_the_middle_of_a_run_loses_and_doubles_nothing)
{
    struct model m;
    struct group g, slow;
    struct kit_random r = {8};
    struct stat st;
    model_open(&m);
    group_open(&g, "wide", 100 * NS_PER_MS);
    group_open(&slow, "slow", NS_PER_S);
    for (int i = 0; i < 64; i++) {
        char name[16];
        snprintf(name, sizeof name, "cpu%d", i);
        group_add(&g, M_CPU_UTIL, name);
    }
    const slot_id s = group_add(&slow, M_MEM_USED, "");
    for (int i = 0; i < 9000; i++) {
        for (slot_id k = 0; k < g.n; k++)
            g.cells[k] = (int64_t)kit_below(&r, 1000);
        model_row(&m, &g, i * 100000);
        if (i % 10 == 0) {
            slow.cells[s] = i;
            model_row(&m, &slow, i * 100000 + 7);
        }
        if (i % 100 == 99)
            model_flush(&m);
        if (i == 4999)
            model_check(&m, false);
    }
    CHECK(stat(kit_path("node-a/metrics.fp"), &st) == 0 && st.st_size > 100000); /* it did seal */
    model_check(&m, false);
    model_close(&m);
    group_close(&g);
    group_close(&slow);
}

TEST(losses_are_counted_together_and_marks_kept_in_order)
{
    struct model m;
    struct store *s;
    struct err e;
    model_open(&m);
    struct sink *sink = writer_sink(m.w);
    for (int i = 0; i < 1000; i++) {
        sink_loss(sink, LOSS_UNSUPPORTED,
                  (struct loss_subject){.entity = "gpu0", .metric = M_GPU_ENERGY}, "not supported");
        if (i % 100 == 0)
            model_flush(&m);
    }
    sink_loss(sink, LOSS_DENIED, (struct loss_subject){.entity = "gpu0", .metric = M_GPU_ENERGY},
              "not supported");
    sink_mark(sink, MARK_JOB_START, 4242, "python train.py");
    sink_mark(sink, MARK_SIGNAL, 15, "SIGTERM");
    OK(writer_close(m.w, &e));
    OK(store_open(&s, kit_path("node-a/metrics.fp"), &e));
    CHECK_INT(s->n_losses, 2);
    CHECK_INT(kit_count_loss(s, LOSS_UNSUPPORTED), 1000);
    CHECK_INT(kit_count_loss(s, LOSS_DENIED), 1);
    CHECK_STR(loss_what(&s->losses[0], (char[ENTITY_LEN]){0}), "gpu0 gpu.energy");
    CHECK_STR(s->losses[0].why, "not supported");
    CHECK_INT(s->n_marks, 2);
    CHECK_INT(s->marks[0].id, MARK_JOB_START);
    CHECK_INT(s->marks[0].number, 4242);
    CHECK_STR(s->marks[0].text, "python train.py");
    CHECK_INT(s->marks[1].id, MARK_SIGNAL);
    CHECK(s->n_ties >= 1 && s->ties[0].wall.ns > 0);
    store_close(s);
    kit_free(&m.want);
}

TEST(more_kinds_of_loss_than_are_kept_apart_are_still_counted)
{
    struct model m;
    struct store *s;
    struct err e;
    model_open(&m);
    for (int i = 0; i < 5000; i++)
        sink_loss(writer_sink(m.w), LOSS_READ, LOST_PART("x"), "reason %d", i);
    OK(writer_close(m.w, &e));
    OK(store_open(&s, kit_path("node-a/metrics.fp"), &e));
    uint64_t all = 0;
    for (uint32_t i = 0; i < s->n_losses; i++)
        all += s->losses[i].count;
    CHECK_INT(all, 5000);
    CHECK(s->n_losses <= 256 && kit_count_loss(s, LOSS_LIMIT) > 0);
    store_close(s);
    kit_free(&m.want);
}

TEST(a_second_writer_in_the_folder_is_refused_in_a_sentence)
{
    struct model m;
    struct writer *other = NULL;
    struct err e;
    model_open(&m);
    CHECK_INT(writer_open(&other, m.dir, &e), ERR_BUSY);
    CHECK(other == NULL);
    CHECK(strstr(e.msg, "another recorder") && strstr(e.msg, "node name"));
    model_close(&m);
    OK(writer_open(&other, kit_path("node-a"), &e)); /* gone: now it may */
    CHECK_INT(writer_session(other), 2);
    OK(writer_close(other, &e));
}

TEST(a_folder_that_is_not_there_or_read_only_is_refused_in_a_sentence)
{
    struct writer *w;
    struct err e;
    CHECK_INT(writer_open(&w, kit_path("none"), &e), ERR_SYS);
    CHECK(strstr(e.msg, "No such file"));
    if (geteuid() == 0)
        return; /* root may write anywhere */
    kit_mkdir(kit_path("ro"));
    CHECK(chmod(kit_path("ro"), 0555) == 0);
    CHECK_INT(writer_open(&w, kit_path("ro"), &e), ERR_SYS);
}

TEST(a_session_after_a_crash_gets_files_of_its_own)
{
    struct err e;
    struct group g;
    kit_mkdir(kit_path("node-a"));
    for (int k = 1; k <= 3; k++) {
        if (fork() == 0) {
            struct writer *w;
            if (writer_open(&w, kit_path("node-a"), &e) || writer_session(w) != (unsigned)k)
                _exit(1);
            group_open(&g, "g", NS_PER_S);
            group_add(&g, M_GPU_UTIL, "gpu0");
            g.cells[0] = k;
            group_commit(&g, writer_sink(w), (mono_ns){k * NS_PER_S});
            _exit(writer_flush(w, true, &e) != 0); /* without closing, as after kill -9 */
        }
        int status;
        CHECK(wait(&status) > 0 && status == 0);
    }
    static const char *const files[] = {"metrics.fp", "metrics-2.fp", "metrics-3.fp"};
    for (int k = 0; k < 3; k++) {
        struct kit_dump d = kit_dump_path(kit_path("node-a/%s", files[k]));
        CHECK_INT(d.n, 1);
        NEAR(d.v[0].value, k + 1, 0);
        kit_free(&d);
    }
}

TEST(rows_faster_than_the_flushes_are_dropped_and_counted_not_hoarded)
{
    struct model m;
    struct group g;
    struct store *s;
    struct err e;
    struct writer_stats st;
    model_open(&m);
    group_open(&g, "g", NS_PER_MS);
    group_add(&g, M_NET_RX, "eth0");
    for (int i = 0; i < 400000; i++) {
        g.cells[0] = i % 2 ? 1 << 20 : 0;
        group_commit(&g, writer_sink(m.w), (mono_ns){i * NS_PER_MS});
        if (i % 10 == 0)
            sink_mark(writer_sink(m.w), MARK_EXEC, i, "a program with a long name %d", i);
    }
    writer_get_stats(m.w, &st);
    CHECK_INT(st.rows + st.rows_dropped, 400000);
    CHECK(st.rows_dropped > 0);
    OK(writer_close(m.w, &e));
    OK(store_open(&s, kit_path("node-a/metrics.fp"), &e));
    CHECK_INT(s->rows, st.rows);
    CHECK(kit_count_loss(s, LOSS_WRITE) >= st.rows_dropped);
    CHECK(!strstr(s->losses[0].why, "Success"));
    CHECK(s->n_marks < 40000); /* marks are bounded too */
    store_close(s);
    group_close(&g);
}

TEST(while_a_writer_is_held_nothing_is_written_and_what_does_not_fit_is_counted_as_such)
{
    struct model m;
    struct group g;
    struct store *s;
    struct err e;
    struct writer_stats before, st;
    model_open(&m);
    group_open(&g, "g", NS_PER_MS);
    group_add(&g, M_NET_RX, "eth0");
    g.cells[0] = 1;
    group_commit(&g, writer_sink(m.w), (mono_ns){0});
    model_flush(&m);
    writer_get_stats(m.w, &before);
    writer_hold(m.w, true);
    for (int i = 1; i < 400000; i++) {
        g.cells[0] = i % 2 ? 1 << 20 : 0;
        group_commit(&g, writer_sink(m.w), (mono_ns){i * NS_PER_MS});
    }
    CHECK_INT(writer_flush(m.w, false, &e), ERR_LIMIT);
    writer_get_stats(m.w, &st);
    CHECK_INT(st.bytes_written, before.bytes_written);
    CHECK(st.rows_dropped > 0);
    writer_hold(m.w, false);
    model_flush(&m);
    g.cells[0] = 1;
    group_commit(&g, writer_sink(m.w), (mono_ns){400000 * NS_PER_MS});
    OK(writer_close(m.w, &e));
    OK(store_open(&s, kit_path("node-a/metrics.fp"), &e));
    CHECK_INT(s->rows, st.rows + 1);
    CHECK_INT(kit_count_loss(s, LOSS_SPOOL), st.rows_dropped);
    CHECK_INT(kit_count_loss(s, LOSS_WRITE), 0);
    store_close(s);
    group_close(&g);
}

/* ---- one thread writes, another reads ---- */

enum { LIVE_ROWS = 3000, LIVE_SLOTS = 40 };

struct live {
    struct writer *w;
    atomic_int flushed; /* rows that a reader must see */
    atomic_int opened;  /* how often it has looked */
    atomic_bool done;
};

static int64_t live_cell(int row, slot_id s)
{
    return ((int64_t)row * 7919 + s * 104729) % 100003;
}

static void *live_write(void *arg)
{
    struct live *l = arg;
    struct group g;
    struct err e;
    group_open(&g, "live", 100 * NS_PER_MS);
    for (unsigned s = 0; s < LIVE_SLOTS; s++) {
        char name[16];
        snprintf(name, sizeof name, "nic%u", s);
        group_add(&g, M_NET_RX, name);
    }
    for (int i = 0; i < LIVE_ROWS * 4; i++) {
        for (slot_id s = 0; s < g.n; s++)
            g.cells[s] = live_cell(i, s);
        group_commit(&g, writer_sink(l->w), (mono_ns){(int64_t)(i + 1) * 100 * NS_PER_MS});
        if (i % 25 == 24) {
            if (writer_flush(l->w, false, &e))
                abort();
            atomic_store(&l->flushed, i + 1);
            while (atomic_load(&l->opened) < i / 600) /* it looks at least so often */
                usleep(1000);
        }
    }
    group_close(&g);
    atomic_store(&l->done, true);
    return NULL;
}

/* The sum of the row numbers says that none is missing and none is there twice. */
static void live_check(const struct kit_dump *d, int least)
{
    CHECK(d->n % LIVE_SLOTS == 0);
    const size_t rows = d->n / LIVE_SLOTS;
    CHECK(rows >= (size_t)least);
    for (size_t i = 0; i < d->n; i++) {
        const struct kit_sample *s = &d->v[i];
        const int row = (int)(s->t_us / 100000) - 1;
        CHECK_INT(row, i % rows);
        NEAR(s->value, (double)live_cell(row, (slot_id)atoi(s->entity + 3)) * 10, 1e-6);
    }
}

TEST(a_reader_beside_the_writer_never_misses_or_doubles_a_flushed_row)
{
    struct live l = {0};
    struct err e;
    pthread_t thread;
    kit_mkdir(kit_path("node-a"));
    OK(writer_open(&l.w, kit_path("node-a"), &e));
    CHECK(pthread_create(&thread, NULL, live_write, &l) == 0);
    while (!atomic_load(&l.done)) {
        const int least = atomic_load(&l.flushed);
        struct kit_dump d = kit_dump_path(kit_path("node-a/metrics.fp"));
        live_check(&d, least);
        kit_free(&d);
        atomic_fetch_add(&l.opened, 1);
    }
    pthread_join(thread, NULL);
    OK(writer_close(l.w, &e));
    struct kit_dump d = kit_dump_path(kit_path("node-a/metrics.fp"));
    live_check(&d, LIVE_ROWS * 4);
    kit_free(&d);
}

static void *add_rows(void *arg)
{
    struct writer *w = arg;
    struct group g;
    char name[32];
    snprintf(name, sizeof name, "t%lx", (unsigned long)pthread_self());
    group_open(&g, name, NS_PER_MS);
    const slot_id s = group_add(&g, M_GPU_UTIL, name);
    for (int i = 0; i < 5000; i++) {
        g.cells[s] = i % 100;
        group_commit(&g, writer_sink(w), (mono_ns){i * NS_PER_MS});
        if (i % 100 == 0)
            sink_loss(writer_sink(w), LOSS_LATE, LOST_PART("sampling"), "busy");
        if (i % 500 == 0)
            sink_mark(writer_sink(w), MARK_EXEC, i, "x");
    }
    group_close(&g);
    return NULL;
}

TEST(many_threads_may_add_while_one_flushes)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    struct writer *w;
    struct store *s;
    struct err e;
    kit_mkdir(kit_path("node-a"));
    OK(writer_open(&w, kit_path("node-a"), &e));
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, add_rows, w) == 0);
    for (int i = 0; i < 20; i++)
        OK(writer_flush(w, false, &e));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    OK(writer_close(w, &e));
    OK(store_open(&s, kit_path("node-a/metrics.fp"), &e));
    CHECK_INT(s->rows, THREADS * 5000);
    CHECK_INT(s->n_series, THREADS);
    CHECK_INT(kit_count_loss(s, LOSS_LATE), THREADS * 50);
    CHECK_INT(s->n_marks, THREADS * 10);
    store_close(s);
}
