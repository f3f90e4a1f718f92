/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that are kept beside a run: the same as those worked out, and never believed blindly. */
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "query/derived_ops.h"
#include "query/recordkit.h"
#include "store/format.h"
#include "test.h"

enum { TURN = 5, TURNS = DERIVED_LEAST_EVENTS / TURN, TURN_NS = 1000, HEAD_LEN = 24 };

static const char *const names[] = {"ops.fpd", "modules.fpd", "breakdown.fpd"};

/* ---- a run ---- */

static void tell(struct writer *w, const struct track *t, const struct event *v)
{
    struct sink *s = writer_sink(w);
    s->ops->events(s, t, v, 1);
}

/* An operator that launches a kernel, in a step of its own; TURN events. */
static void tell_turn(struct writer *w, int64_t i, uint32_t pid)
{
    const struct track host = {.kind = TRACK_THREAD, .pid = pid, .id = pid};
    const struct track stream = {.kind = TRACK_DEVICE, .pid = pid, .id = 7};
    const int64_t at = i * TURN_NS;
    const uint64_t link = (uint64_t)i + 1;
    const struct event v[] = {
        {{at}, 100 + i % 7, 0, "launch", NULL, link, 0, EVENT_SPAN, .category = CAT_RUNTIME},
        {{at},
         200 + i % 9,
         0,
         i % 3 ? "aten::mm" : "aten::add",
         .kind = EVENT_SPAN,
         .category = CAT_OP},
        {{at + 1}, 0, i * 64, "cuda.allocated", NULL, .kind = EVENT_COUNT, .category = CAT_MEMORY},
        {{at}, TURN_NS, i, "step", .kind = EVENT_STEP, .category = CAT_USER},
    };
    for (size_t k = 0; k < COUNT_OF(v); k++)
        tell(w, &host, &v[k]);
    tell(w, &stream,
         &(struct event){{at + 300},
                         400,
                         0,
                         i % 2 ? "void gemm<float>(int)" : "copy",
                         NULL,
                         link,
                         0,
                         EVENT_SPAN,
                         .category = CAT_KERNEL});
}

static struct recordkit record(const char *run, const char *node, int64_t turns)
{
    struct recordkit k = recordkit_open(run, node);
    for (int64_t i = 0; i < turns; i++)
        tell_turn(k.events, i, 7);
    return k;
}

static const char *run_of(int64_t turns)
{
    const char *run = kit_run("r", "r", "r", KIT_START);
    struct recordkit k = record(run, "a", turns);
    recordkit_close(&k, 0, turns * TURN_NS, "finished");
    return run;
}

static void launch_as_rank_3(const char *run)
{
    kit_node(run, "a", 1,
             "{\"status\":\"finished\",\"start_ns\":1700000000000000000,\"exit_status\":0,"
             "\"launcher\":{\"rank\":3,\"world_size\":4}}");
}

static bool is_kept(const char *run, const char *name)
{
    char path[PATH_LEN + 64];
    snprintf(path, sizeof path, "%s/derived/%s", run, name);
    return access(path, F_OK) == 0;
}

/* ---- an answer ---- */

struct answer {
    struct arena arena;
    struct op_list ops, modules;
    struct breakdown breakdown;
};

static void read_ops(struct run *r, enum ops_by by, struct arena *a, struct op_list *out)
{
    struct err e;
    OK(ops_read(r, &(struct ops_ask){.by = by}, a, &out->v, &out->n, &e));
}

static void ask_run(struct run *r, struct answer *out)
{
    struct err e;
    *out = (struct answer){0};
    read_ops(r, OPS_BY_NAME, &out->arena, &out->ops);
    read_ops(r, OPS_BY_MODULE, &out->arena, &out->modules);
    OK(breakdown_read(r, &(struct trace_ask){0}, &out->arena, &out->breakdown, &e));
}

static void ask(const char *path, struct answer *out)
{
    struct run *r;
    struct err e;
    OK(run_open(&r, path, &e));
    ask_run(r, out);
    run_close(r);
}

static void same_ops(const struct op_list *a, const struct op_list *b)
{
    CHECK_INT(a->n, b->n);
    for (size_t i = 0; i < a->n; i++) {
        const struct op_row *x = &a->v[i], *y = &b->v[i];
        CHECK_STR(x->name, y->name);
        CHECK_STR(x->full, y->full);
        CHECK_INT(x->device, y->device);
        CHECK_INT(x->category, y->category);
        CHECK_INT(x->calls, y->calls);
        CHECK_INT(x->self_ns, y->self_ns);
        CHECK_INT(x->total_ns, y->total_ns);
        CHECK_INT(x->device_self_ns, y->device_self_ns);
        CHECK_INT(x->device_total_ns, y->device_total_ns);
        CHECK(memcmp(&x->share, &y->share, sizeof x->share) == 0);
    }
}

static void same_of(const struct breakdown_of *x, const struct breakdown_of *y)
{
    CHECK_STR(x->node, y->node);
    CHECK_INT(x->rank, y->rank);
    CHECK_INT(x->pid, y->pid);
}

/* The rows from `member` on are numbers without a gap. */
#define SAME_ROWS(a, b, rows, member)                                                              \
    do {                                                                                           \
        CHECK_INT((a)->n_##rows, (b)->n_##rows);                                                   \
        for (size_t i_ = 0; i_ < (a)->n_##rows; i_++) {                                            \
            const size_t from_ = (size_t)((const char *)&(a)->rows->member - (char *)(a)->rows);   \
            same_of(&(a)->rows[i_].of, &(b)->rows[i_].of);                                         \
            CHECK(memcmp((char *)&(a)->rows[i_] + from_, (char *)&(b)->rows[i_] + from_,           \
                         sizeof *(a)->rows - from_) == 0);                                         \
        }                                                                                          \
    } while (0)

static void same_curves(const struct breakdown *a, const struct breakdown *b)
{
    CHECK_INT(a->n_memory, b->n_memory);
    for (size_t i = 0; i < a->n_memory; i++) {
        const struct memcurve *x = &a->memory[i].curve, *y = &b->memory[i].curve;
        same_of(&a->memory[i].of, &b->memory[i].of);
        CHECK_INT(x->device, y->device);
        CHECK_INT(x->exact, y->exact);
        CHECK_INT(x->peak_bytes, y->peak_bytes);
        CHECK_INT(x->peak_at, y->peak_at);
        CHECK_INT(x->reserved_peak_bytes, y->reserved_peak_bytes);
        CHECK_INT(x->n, y->n);
        CHECK(memcmp(x->points, y->points, x->n * sizeof *x->points) == 0);
    }
}

static void same_steps(const struct breakdown *a, const struct breakdown *b)
{
    CHECK_INT(a->n_steps, b->n_steps);
    for (size_t i = 0; i < a->n_steps; i++) {
        const struct step_row *x = &a->steps[i], *y = &b->steps[i];
        same_of(&x->of, &y->of);
        CHECK_INT(x->step, y->step);
        CHECK_INT(x->begin, y->begin);
        CHECK_INT(x->end, y->end);
        CHECK(memcmp(x->role_ns, y->role_ns, sizeof x->role_ns) == 0);
        CHECK_INT(x->device_ops, y->device_ops);
        CHECK_INT(x->critical, y->critical);
    }
}

static void same_breakdown(const struct breakdown *a, const struct breakdown *b)
{
    same_steps(a, b);
    SAME_ROWS(a, b, devices, begin);
    SAME_ROWS(a, b, streams, ops);
    for (size_t i = 0; i < a->n_streams; i++)
        CHECK(a->streams[i].device == b->streams[i].device &&
              a->streams[i].stream == b->streams[i].stream);
    for (size_t i = 0; i < a->n_devices; i++)
        CHECK_INT(a->devices[i].device, b->devices[i].device);
    same_curves(a, b);
    CHECK_INT(a->dropped_steps, b->dropped_steps);
    CHECK_INT(a->earlier_steps, b->earlier_steps);
}

static void same(const struct answer *a, const struct answer *b)
{
    same_ops(&a->ops, &b->ops);
    same_ops(&a->modules, &b->modules);
    same_breakdown(&a->breakdown, &b->breakdown);
}

static void has_everything(const struct answer *x)
{
    CHECK(x->ops.n >= 5);
    CHECK_INT(x->breakdown.n_steps + x->breakdown.dropped_steps, TURNS);
    CHECK_INT(x->breakdown.n_devices, 1);
    CHECK_INT(x->breakdown.n_streams, 1);
    CHECK_INT(x->breakdown.n_memory, 1);
    CHECK(x->breakdown.memory->curve.n > 1000);
}

/* ---- tests ---- */

TEST(what_is_kept_of_a_long_run_is_what_was_worked_out)
{
    const char *run = run_of(TURNS);
    struct answer first, again;
    ask(run, &first);
    has_everything(&first);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        CHECK(is_kept(run, names[i]));
    ask(run, &again);
    same(&first, &again);
    arena_free(&first.arena);
    arena_free(&again.arena);
}

/* The kept table says one call more than there was: then so does the answer. */
TEST(a_kept_answer_is_read_and_not_worked_out_again)
{
    const char *run = run_of(TURNS);
    const char *path = kit_path("r/derived/ops.fpd");
    struct buf b = {0}, forged = {0};
    struct answer first, again;
    ask(run, &first);
    kit_load(&b, path);
    first.ops.v[0].calls++;
    CHECK(derived_ops_put(&first.ops, &forged));
    const uint64_t sum = format_sum(forged.p, forged.len);
    memcpy(b.p + 16, &sum, sizeof sum);
    b.len = HEAD_LEN;
    buf_put(&b, forged.p, forged.len);
    kit_save(path, b.p, b.len);
    ask(run, &again);
    same(&first, &again);
    buf_free(&b);
    buf_free(&forged);
    arena_free(&first.arena);
    arena_free(&again.arena);
}

/* By its sum; and where that is made right, as somebody who forges a file would, by its content. */
TEST(a_damaged_answer_is_worked_out_and_kept_anew)
{
    const char *run = run_of(TURNS);
    const char *path = kit_path("r/derived/breakdown.fpd");
    struct buf good = {0}, bad = {0}, now = {0};
    struct answer first;
    ask(run, &first);
    kit_load(&good, path);
    const size_t places[] = {0, 9, 17, HEAD_LEN, good.len / 2, good.len - 1};
    for (size_t i = 0; i < COUNT_OF(places) + 2; i++) {
        struct answer again;
        bad.len = now.len = 0;
        buf_put(&bad, good.p, i < COUNT_OF(places) ? good.len : HEAD_LEN - i % 2);
        if (i < COUNT_OF(places))
            bad.p[places[i]] ^= 0x40;
        kit_save(path, bad.p, bad.len);
        ask(run, &again);
        same(&first, &again);
        kit_load(&now, path);
        CHECK_INT(now.len, good.len);
        CHECK(memcmp(now.p, good.p, good.len) == 0);
        arena_free(&again.arena);
    }
    buf_free(&good);
    buf_free(&bad);
    buf_free(&now);
    arena_free(&first.arena);
}

TEST(a_run_that_grew_is_answered_anew)
{
    const char *run = run_of(TURNS);
    struct answer first, grown, again;
    ask(run, &first);
    struct recordkit k = record(run, "b", 10);
    recordkit_close(&k, 0, 10 * TURN_NS, "finished");
    ask(run, &grown);
    CHECK_INT(grown.breakdown.n_devices, 2);
    CHECK_STR(grown.breakdown.devices[1].of.node, "b");
    ask(run, &again);
    same(&grown, &again);
    arena_free(&first.arena);
    arena_free(&grown.arena);
    arena_free(&again.arena);
}

TEST(another_rank_in_the_description_of_a_node_is_another_answer)
{
    const char *run = run_of(TURNS);
    struct answer first, again;
    ask(run, &first);
    CHECK_INT(first.breakdown.devices->of.rank, 0); /* it is alone */
    launch_as_rank_3(run);
    ask(run, &again);
    CHECK_INT(again.breakdown.devices->of.rank, 3);
    arena_free(&first.arena);
    arena_free(&again.arena);
}

TEST(one_rank_is_worked_out_and_not_kept)
{
    const char *run = run_of(TURNS);
    struct op_list l;
    struct breakdown b;
    struct arena a = {0};
    struct run *r;
    struct err e;
    launch_as_rank_3(run);
    OK(run_open(&r, run, &e));
    const struct trace_ask ask = {.one_rank = true, .rank = 3};
    OK(ops_read(r, &(struct ops_ask){.trace = ask}, &a, &l.v, &l.n, &e));
    OK(breakdown_read(r, &ask, &a, &b, &e));
    CHECK(l.n > 0 && b.n_steps > 0);
    run_close(r);
    CHECK(access(kit_path("r/derived"), F_OK) != 0);
    arena_free(&a);
}

TEST(nothing_is_kept_of_a_short_run)
{
    const char *run = run_of(1000);
    struct answer a;
    ask(run, &a);
    CHECK(a.ops.n > 0);
    CHECK(access(kit_path("r/derived"), F_OK) != 0);
    arena_free(&a.arena);
}

TEST(nothing_is_kept_of_a_run_that_still_runs_or_was_killed)
{
    const char *run = kit_run("r", "r", "r", KIT_START);
    struct recordkit k = record(run, "a", TURNS);
    const char *killed = recordkit_killed(&k, "killed");
    kit_node(run, "a", 1, "{\"status\":\"running\"}");
    struct answer a, b;
    ask(run, &a);
    ask(killed, &b);
    CHECK(a.ops.n > 0 && b.ops.n > 0);
    CHECK(access(kit_path("r/derived"), F_OK) != 0);
    CHECK(access(kit_path("killed/derived"), F_OK) != 0);
    recordkit_close(&k, 0, TURNS * TURN_NS, "finished");
    arena_free(&a.arena);
    arena_free(&b.arena);
}

static void answers_without_keeping(const char *run)
{
    struct answer a;
    ask(run, &a);
    has_everything(&a);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        CHECK(!is_kept(run, names[i]));
    arena_free(&a.arena);
}

TEST(a_folder_that_nobody_may_write_to_is_left_alone)
{
    const char *run = run_of(TURNS);
    CHECK(chmod(run, 0555) == 0);
    answers_without_keeping(run);
    CHECK(access(kit_path("r/derived"), F_OK) != 0);
    CHECK(chmod(run, 0755) == 0);
}

TEST(nothing_is_written_through_a_link_or_over_a_file_called_derived)
{
    const char *run = run_of(TURNS);
    const char *place = kit_path("r/derived");
    kit_mkdir(kit_path("elsewhere"));
    CHECK(symlink(kit_path("elsewhere"), place) == 0);
    answers_without_keeping(run);
    CHECK(unlink(place) == 0);
    kit_save(place, "mine", 4);
    answers_without_keeping(run);
    struct buf b = {0};
    kit_load(&b, place);
    CHECK_INT(b.len, 4);
    buf_free(&b);
}

/* A server holds a run open for long: what it read is not what lies there now. */
TEST(an_answer_from_files_that_changed_since_is_not_kept)
{
    const char *run = run_of(TURNS);
    const char *path = kit_path("r/node-a/events.fp");
    struct answer a;
    struct buf b = {0};
    struct run_track *t;
    struct arena arena = {0};
    struct run *r;
    struct err e;
    size_t n;
    OK(run_open(&r, run, &e));
    OK(events_tracks(r, &arena, &t, &n, &e));
    kit_load(&b, path);
    buf_put(&b, "12345678", 8);
    CHECK(unlink(path) == 0);
    kit_save(path, b.p, b.len);
    ask_run(r, &a);
    run_close(r);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        CHECK(!is_kept(run, names[i]));
    buf_free(&b);
    arena_free(&a.arena);
    arena_free(&arena);
}

/* ---- recorded runs ---- */

static void same_through_bytes(const struct answer *x)
{
    struct buf b[3] = {0};
    struct answer y = {0};
    CHECK(derived_ops_put(&x->ops, &b[0]) && derived_ops_put(&x->modules, &b[1]) &&
          derived_breakdown_put(&x->breakdown, &b[2]));
    struct cur in[3];
    for (size_t i = 0; i < COUNT_OF(in); i++)
        in[i] = cur_of(b[i].p, b[i].len);
    CHECK(derived_ops_get(&in[0], &y.arena, &y.ops) &&
          derived_ops_get(&in[1], &y.arena, &y.modules) &&
          derived_breakdown_get(&in[2], &y.arena, &y.breakdown));
    same(x, &y);
    for (size_t i = 0; i < COUNT_OF(b); i++)
        buf_free(&b[i]);
    arena_free(&y.arena);
}

TEST(every_recorded_run_has_the_same_answer_from_its_bytes)
{
    DIR *d = opendir(FP_RUNS);
    size_t n = 0;
    CHECK(d != NULL);
    for (struct dirent *f; (f = readdir(d));) {
        char path[PATH_LEN];
        struct answer a;
        if (f->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", FP_RUNS, f->d_name);
        ask(path, &a);
        CHECK(a.ops.n > 0 && a.breakdown.n_steps > 0);
        same_through_bytes(&a);
        arena_free(&a.arena);
        n++;
    }
    closedir(d);
    CHECK(n >= 3);
}
