/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "query/counters.h"
#include "query/recordkit.h"
#include "test.h"

static void emit(struct writer *w, uint64_t tid, int64_t at_ms, const struct event *v)
{
    struct track t = {.kind = TRACK_THREAD, .pid = 7, .id = tid};
    struct event x = *v;
    struct sink *s = writer_sink(w);
    x.at.ns = at_ms * NS_PER_MS;
    s->ops->events(s, &t, &x, 1);
}

static void emit_count(struct writer *w, int64_t at_ms, const char *name, int64_t value)
{
    emit(w, 7, at_ms, &(struct event){.kind = EVENT_COUNT, .name = name, .value = value});
}

static void emit_real(struct writer *w, int64_t at_ms, const char *name, double value)
{
    struct event v = {.kind = EVENT_REAL, .name = name};
    memcpy(&v.value, &value, sizeof v.value);
    emit(w, 7, at_ms, &v);
}

static void emit_mark(struct writer *w, uint64_t tid, int64_t at_ms, const char *name)
{
    emit(w, tid, at_ms, &(struct event){.kind = EVENT_MARK, .name = name});
}

static const char *counters_text(const char *path, int64_t from_ms, int64_t to_ms, const char *name)
{
    static char out[2048];
    struct arena a = {0};
    struct run *r;
    struct counters c;
    struct err e;
    size_t len = 0;
    const struct counters_ask ask = {.from = {KIT_START + from_ms * NS_PER_MS},
                                     .to = {KIT_START + to_ms * NS_PER_MS},
                                     .columns = 2,
                                     .name = name};
    OK(run_open(&r, path, &e));
    OK(counters_read(r, &ask, &a, &c, &e));
    run_close(r);
    out[0] = '\0';
    for (size_t i = 0; i < c.n; i++) {
        const struct grid_row *row = &c.v[i].row;
        len += (size_t)snprintf(out + len, sizeof out - len, "%s%s %s%s [%g %g] %g..%g last %g%s",
                                i ? "; " : "", row->key.metric, row->key.entity, row->key.unit,
                                (double)row->mean[0], (double)row->mean[1], (double)row->min[0],
                                (double)row->max[0], c.v[i].last, c.v[i].own ? "" : " hooks");
    }
    arena_free(&a);
    return out;
}

TEST(numbers_have_a_mean_and_both_ends_in_each_column)
{
    struct recordkit k;
    const char *run = kit_run("r", "r", "r", KIT_START);
    k = recordkit_open(run, "a");
    recordkit_fact(k.events, 7, 7, "process.rank", 3);
    emit_real(k.events, 100, "loss", 2.5);
    emit_real(k.events, 200, "loss", 1.5);
    emit_real(k.events, 600, "loss", -1);
    emit_real(k.events, 700, "loss", NAN);
    emit_count(k.events, 300, "batch.size", 32);
    emit_count(k.events, 300, "loader.num_workers", 4);
    emit_count(k.events, 300, "sync.ns item train.py:31", 4);
    emit_count(k.events, 400, "ddp.avg_backward_comm_time", 9);
    recordkit_close(&k, 0, NS_PER_S, "finished");
    CHECK_STR(
        counters_text(run, 0, 1000, NULL),
        "loss rank 3 [2 -1] 1.5..2.5 last -1; batch.size rank 3 [32 nan] 32..32 last 32 hooks; "
        "ddp.avg_backward_comm_time rank 3 [9 nan] 9..9 last 9 hooks");
    CHECK_STR(counters_text(run, 0, 1000, "batch.size"),
              "batch.size rank 3 [32 nan] 32..32 last 32 hooks");
}

/* "loss 100:2.5 200:1.5; many -", with two columns. */
static const char *exact_text(const char *path, bool asked)
{
    static char out[512];
    struct arena a = {0};
    struct run *r;
    struct counters c;
    struct err e;
    size_t len = 0;
    const struct counters_ask ask = {
        .from = {KIT_START}, .to = {KIT_START + NS_PER_S}, .columns = 2, .exact = asked};
    OK(run_open(&r, path, &e));
    OK(counters_read(r, &ask, &a, &c, &e));
    run_close(r);
    for (size_t i = 0; i < c.n; i++) {
        const struct counter_row *x = &c.v[i];
        len += (size_t)snprintf(out + len, sizeof out - len, "%s%s%s", i ? "; " : "",
                                x->row.key.metric, x->at_ns ? "" : " -");
        for (uint64_t k = 0; x->at_ns && k < x->row.count; k++)
            len +=
                (size_t)snprintf(out + len, sizeof out - len, " %lld:%g",
                                 (long long)((x->at_ns[k] - KIT_START) / NS_PER_MS), x->exact[k]);
    }
    arena_free(&a);
    return out;
}

TEST(few_values_come_with_their_times_if_they_are_asked_for)
{
    struct recordkit k;
    const char *run = kit_run("r", "r", "r", KIT_START);
    k = recordkit_open(run, "a");
    emit_real(k.events, 100, "loss", 2.5);
    emit_real(k.events, 150, "loss", NAN);
    emit_real(k.events, 200, "loss", 1.5);
    for (int i = 0; i < 3; i++)
        emit_real(k.events, 300 + i, "many", i);
    recordkit_close(&k, 0, NS_PER_S, "finished");
    CHECK_STR(exact_text(run, true), "loss 100:2.5 200:1.5; many -");
    CHECK_STR(exact_text(run, false), "loss -; many -");
}

TEST(marks_are_counted_from_the_begin_of_the_run_for_each_thread)
{
    struct recordkit k;
    const char *run = kit_run("r", "r", "r", KIT_START);
    k = recordkit_open(run, "a");
    emit_mark(k.events, 7, 100, "saved");
    emit_mark(k.events, 7, 600, "saved");
    emit_mark(k.events, 7, 900, "saved");
    emit_mark(k.events, 8, 900, "saved");
    recordkit_close(&k, 0, NS_PER_S, "finished");
    CHECK_STR(
        counters_text(run, 500, 1000, NULL),
        "saved pid 7marks [2 3] 2..2 last 3; saved pid 7 thread 8marks [nan 1] nan..nan last 1");
}
