/* SPDX-License-Identifier: Apache-2.0 */
/* test_ship.c - what is sent of a run, to a target in memory that can lose and refuse. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "run/run_names.h"
#include "run/storage.h"
#include "ship/ship_live.h"
#include "store/writer.h"
#include "test.h"

enum { FILES = 8 };

struct memory_file {
    char name[64];
    struct buf bytes;
    bool complete;
};

struct memory {
    struct ship_target target;
    struct memory_file file[FILES];
    size_t n;
    int fail_after; /* requests; below 0: never */
    char order[256];
    size_t pruned_to;
    int forgotten;
    bool foreign;                 /* it has the node of another recorder */
    void (*meanwhile)(void *ctx); /* happens here while the first file is sent; NULL: nothing */
    void *ctx;
};

static struct memory_file *memory_file(struct memory *m, const char *name)
{
    for (size_t i = 0; i < m->n; i++)
        if (strcmp(m->file[i].name, name) == 0)
            return &m->file[i];
    CHECK(m->n < FILES);
    struct memory_file *f = &m->file[m->n++];
    *f = (struct memory_file){.complete = false};
    snprintf(f->name, sizeof f->name, "%s", name);
    return f;
}

static int memory_count(struct memory *m, const char *what, struct err *e)
{
    const size_t n = strlen(m->order);
    snprintf(m->order + n, sizeof m->order - n, "%s ", what);
    if (m->fail_after < 0 || m->fail_after-- > 0)
        return 0;
    m->fail_after = 0;
    return err_set(e, ERR_NOT_FOUND, "cut");
}

static int memory_take(struct ship_target *t, const struct ship_file *part, struct err *e)
{
    struct memory *m = (struct memory *)t;
    void (*meanwhile)(void *) = m->meanwhile;
    TRY(memory_count(m, part->name, e));
    m->meanwhile = NULL;
    if (meanwhile)
        meanwhile(m->ctx);
    struct memory_file *f = memory_file(m, part->name);
    f->bytes.len = 0; /* a real target sees to it that only what is new is sent */
    buf_put(&f->bytes, part->p, part->len);
    f->complete |= part->closed;
    if (part->closed)
        memory_file(m, "metrics.tail")->bytes.len = 0;
    return 0;
}

static int memory_put(struct ship_target *t, const char *node, const char *name, const void *p,
                      size_t n, bool absent, struct err *e)
{
    struct memory *m = (struct memory *)t;
    (void)absent, (void)node;
    TRY(memory_count(m, name, e));
    struct memory_file *f = memory_file(m, name);
    f->bytes.len = 0;
    buf_put(&f->bytes, p, n);
    CHECK(!memmem(p, n, "finished", 8) || memory_file(m, "metrics.fp")->complete);
    return 0;
}

static int memory_prune(struct ship_target *t, const char *node, const char *const *names, size_t n,
                        struct err *e)
{
    (void)node, (void)names, (void)e;
    ((struct memory *)t)->pruned_to = n;
    return 0;
}

static int memory_check(struct ship_target *t, const struct ship_file *f, struct err *e)
{
    const struct memory *m = (struct memory *)t;
    CHECK(!strstr(m->order, "node.json")); /* before it */
    return m->foreign ? err_set(e, ERR_USAGE, "another has '%s'", f->name) : 0;
}

static void memory_forget(struct ship_target *t)
{
    ((struct memory *)t)->forgotten++;
}

static const struct ship_target_ops memory_ops = {.put = memory_put,
                                                  .check = memory_check,
                                                  .sealed = memory_take,
                                                  .tail = memory_take,
                                                  .prune = memory_prune,
                                                  .forget = memory_forget};

static struct memory memory_new(void)
{
    return (struct memory){.target = {.ops = &memory_ops, .to = "memory"}, .fail_after = -1};
}

static void memory_free(struct memory *m)
{
    for (size_t i = 0; i < m->n; i++)
        buf_free(&m->file[i].bytes);
}

static const char *run_folder(void)
{
    static char path[PATH_LEN], node[PATH_LEN], about[PATH_LEN];
    struct err e;
    OK(path_join(path, &e, "%s/r", test_tmpdir()));
    OK(path_join(node, &e, "%s/node-n", path));
    OK(path_join(about, &e, "%s/" RUN_ABOUT, path));
    if (mkdir(path, 0777) == 0) {
        CHECK(mkdir(node, 0777) == 0);
        OK(storage_of(about)->put(about, "{}", 2, STORAGE_PUT_ABSENT, &e));
    }
    return path;
}

static bool same(struct memory *m, const char *name)
{
    char path[PATH_LEN], *p;
    size_t n;
    struct arena a = {0};
    struct err e;
    const struct memory_file *f = memory_file(m, name);
    OK(path_join(path, &e, "%s/node-n/%s", run_folder(), name));
    OK(storage_of(path)->source->read(path, 0, 1 << 20, &a, &p, &n, &e));
    const bool is = n == f->bytes.len && memcmp(p, f->bytes.p, n) == 0;
    arena_free(&a);
    return is;
}

static struct writer *recorder(void)
{
    char node[PATH_LEN];
    struct writer *w;
    struct err e;
    OK(path_join(node, &e, "%s/node-n", run_folder()));
    OK(writer_open(&w, node, &e));
    return w;
}

static void add_mark(struct writer *w, int i)
{
    struct err e;
    sink_mark(writer_sink(w), MARK_JOB_START, i, "mark %d of many", i);
    OK(writer_flush(w, false, &e));
}

TEST(a_living_run_arrives_as_it_grows_and_is_complete_at_the_end)
{
    struct memory m = memory_new();
    struct writer *w = recorder();
    struct ship *s;
    struct err e;
    OK(ship_open(&s, run_folder(), NULL, &m.target, &e));
    for (int i = 0; i < 20; i++) {
        add_mark(w, i);
        OK(ship_round(s, false, &e));
        CHECK(same(&m, "metrics.tail") && same(&m, "metrics.fp"));
    }
    OK(writer_close(w, &e));
    OK(ship_round(s, true, &e));
    CHECK(same(&m, "metrics.fp") && memory_file(&m, "metrics.fp")->complete);
    CHECK(memory_file(&m, "metrics.tail")->bytes.len == 0);
    m.order[0] = 0;
    OK(ship_round(s, true, &e));
    CHECK_STR(m.order, ""); /* nothing is new, so nothing is asked */
    ship_close(s);
    memory_free(&m);
}

struct two_writers {
    struct writer *w[2];
};

static void seal_both(void *ctx)
{
    const struct two_writers *t = ctx;
    struct err e;
    for (size_t i = 0; i < COUNT_OF(t->w) && t->w[i]; i++) {
        const uint64_t tail = writer_tail(t->w[i]);
        while (writer_tail(t->w[i]) == tail) {
            for (int k = 0; k < 2000; k++)
                sink_mark(writer_sink(t->w[i]), MARK_JOB_START, k, "%0100d", k);
            OK(writer_flush(t->w[i], false, &e));
        }
        add_mark(t->w[i], 1);
    }
}

/* Where the tail has arrived that is here, all before it has. */
static void check_pair(struct memory *m, const char *sealed, const char *tail)
{
    struct file_header h, there;
    char path[PATH_LEN];
    uint8_t head[FILE_HEADER_LEN];
    size_t n;
    struct err e;
    const struct buf *b = &memory_file(m, tail)->bytes;
    OK(path_join(path, &e, "%s/node-n/%s", run_folder(), tail));
    OK(storage_of(path)->range(path, 0, head, sizeof head, &n, &e));
    OK(file_header_get(&h, head, n, path, &e));
    OK(file_header_get(&there, b->p, b->len, path, &e));
    CHECK(h.segment > 1 && (there.segment < h.segment || same(m, sealed)));
}

TEST(a_segment_that_is_sealed_while_another_file_is_sent_comes_before_the_tail_that_follows_it)
{
    struct memory m = memory_new();
    struct two_writers both = {{recorder()}};
    struct ship *s;
    struct err e;
    OK(writer_open_beside(&both.w[1], both.w[0], STORE_EVENTS, &e));
    for (size_t i = 0; i < COUNT_OF(both.w); i++)
        add_mark(both.w[i], 1);
    OK(ship_open(&s, run_folder(), NULL, &m.target, &e));
    OK(ship_round(s, false, &e));
    m.meanwhile = seal_both;
    m.ctx = &both;
    OK(ship_round(s, false, &e));
    CHECK(!m.meanwhile);
    check_pair(&m, "metrics.fp", "metrics.tail");
    check_pair(&m, "events.fp", "events.tail");
    OK(writer_close(both.w[1], &e));
    OK(writer_close(both.w[0], &e));
    ship_close(s);
    memory_free(&m);
}

static void put_node(const char *text)
{
    char path[PATH_LEN];
    struct err e;
    OK(path_join(path, &e, "%s/node-n/node.json", run_folder()));
    OK(storage_of(path)->put(path, text, strlen(text), STORAGE_PUT_REPLACE, &e));
}

static bool has_ended(struct memory *m)
{
    const struct buf *b = &memory_file(m, "node.json")->bytes;
    return b->len && memmem(b->p, b->len, "finished", 8) != NULL;
}

static void end_recorder(void *w)
{
    struct err e;
    OK(writer_close(w, &e));
    put_node("{\"status\": \"finished\"}");
}

TEST(a_recorder_that_ends_while_its_data_is_sent_counts_as_ended_when_all_of_it_is_there)
{
    struct memory m = memory_new();
    struct writer *w = recorder();
    struct ship *s;
    struct err e;
    put_node("{\"status\": \"running\"}");
    add_mark(w, 1);
    OK(ship_open(&s, run_folder(), NULL, &m.target, &e));
    OK(ship_round(s, false, &e));
    put_node("{\"status\": \"running\", \"host\": \"n\"}");
    add_mark(w, 2);
    m.meanwhile = end_recorder;
    m.ctx = w;
    OK(ship_round(s, false, &e));
    CHECK(!m.meanwhile && same(&m, "metrics.fp") && has_ended(&m));
    ship_close(s);
    memory_free(&m);
}

TEST(the_description_comes_first_and_the_tail_after_the_sealed_file)
{
    struct memory m = memory_new();
    struct writer *w = recorder();
    struct ship *s;
    struct err e;
    add_mark(w, 1);
    OK(ship_open(&s, run_folder(), NULL, &m.target, &e));
    OK(ship_round(s, false, &e));
    CHECK_STR(m.order, "run.json metrics.fp metrics.tail ");
    OK(writer_close(w, &e));
    ship_close(s);
    memory_free(&m);
}

TEST(nothing_of_a_node_is_sent_where_another_recorder_was)
{
    struct memory m = memory_new();
    struct writer *w = recorder();
    struct ship *s;
    struct err e;
    m.foreign = true;
    add_mark(w, 1);
    OK(writer_close(w, &e));
    OK(ship_open(&s, run_folder(), NULL, &m.target, &e));
    CHECK_INT(ship_round(s, true, &e), ERR_USAGE);
    CHECK_STR(m.order, "run.json ");
    ship_close(s);
    memory_free(&m);
}

TEST(whatever_fails_the_next_round_goes_on)
{
    struct memory m = memory_new();
    struct writer *w = recorder();
    struct ship *s;
    struct err e;
    for (int i = 0; i < 30; i++)
        add_mark(w, i);
    OK(writer_close(w, &e));
    OK(ship_open(&s, run_folder(), NULL, &m.target, &e));
    int rounds = 0;
    for (;; rounds++) {
        m.fail_after = rounds;
        if (ship_round(s, true, &e) == 0)
            break;
        CHECK(e.code == ERR_NOT_FOUND && rounds < 100);
    }
    CHECK(rounds > 0 && same(&m, "metrics.fp") && memory_file(&m, "metrics.fp")->complete);
    ship_close(s);
    memory_free(&m);
}

TEST(after_a_failure_all_is_compared_again)
{
    struct memory m = memory_new();
    struct writer *w = recorder();
    struct ship *s;
    struct err e;
    add_mark(w, 1);
    OK(ship_open(&s, run_folder(), NULL, &m.target, &e));
    OK(ship_round(s, false, &e));
    m.fail_after = 0;
    add_mark(w, 2);
    CHECK_INT(ship_round(s, false, &e), ERR_NOT_FOUND);
    CHECK_INT(m.forgotten, 1);
    m.fail_after = -1;
    m.order[0] = 0;
    OK(ship_round(s, false, &e));
    CHECK_STR(m.order, "run.json metrics.fp metrics.tail ");
    CHECK(same(&m, "metrics.tail") && m.pruned_to == 1);
    OK(writer_close(w, &e));
    ship_close(s);
    memory_free(&m);
}

TEST(half_a_segment_of_a_living_recorder_stays_here)
{
    char path[PATH_LEN];
    struct memory m = memory_new();
    struct writer *w = recorder();
    struct ship *s;
    struct err e;
    uint64_t size;
    OK(path_join(path, &e, "%s/node-n/metrics.fp", run_folder()));
    OK(storage_of(path)->append(path, FILE_HEADER_LEN, false, "half a block", 12, &size, &e));
    OK(ship_open(&s, run_folder(), NULL, &m.target, &e));
    OK(ship_round(s, false, &e));
    CHECK_INT(memory_file(&m, "metrics.fp")->bytes.len, FILE_HEADER_LEN);
    OK(ship_round(s, true, &e)); /* it will not come back */
    CHECK(same(&m, "metrics.fp"));
    ship_close(s);
    writer_discard(w);
    memory_free(&m);
}

static size_t hole_of(const char *path)
{
    uint64_t hole = 0;
    struct err e;
    OK(storage_of(path)->hole(path, &hole, &e));
    return (size_t)hole;
}

TEST(only_what_is_durable_at_the_target_is_removed_here)
{
    char path[PATH_LEN];
    struct memory m = memory_new();
    struct two_writers t = {{recorder(), NULL}};
    struct ship *s;
    struct err e;
    OK(path_join(path, &e, "%s/node-n/metrics.fp", run_folder()));
    m.target.syncs_later = true;
    m.target.durable = clock_mono();
    OK(ship_open(&s, run_folder(), "n", &m.target, &e));
    ship_set_spool(s, 1);
    seal_both(&t);
    for (int i = 0; i < 3; i++)
        OK(ship_round(s, false, &e));
    CHECK_INT(hole_of(path), 0); /* all of it arrived after that */
    m.target.durable = clock_mono();
    OK(ship_round(s, false, &e));
    CHECK(hole_of(path) > 0);
    ship_close(s);
    writer_discard(t.w[0]);
    memory_free(&m);
}

TEST(waiting_doubles_up_to_a_minute_and_obeys_the_target)
{
    static const int64_t most[] = {1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000};
    for (unsigned n = 1; n <= COUNT_OF(most); n++)
        for (uint32_t r = 0; r < 50; r++) {
            const int64_t ms = ship_backoff_ms(n, 0, r * 2654435761u);
            CHECK(ms >= most[n - 1] / 2 && ms <= most[n - 1]);
        }
    CHECK(ship_backoff_ms(1, 600, 1) >= 300000);
}
