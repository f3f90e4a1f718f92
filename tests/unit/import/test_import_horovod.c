/* SPDX-License-Identifier: Apache-2.0 */
/* test_import_horovod.c - what Horovod's timeline becomes. */
#include "base/buf.h"
#include "import_run.h"

#define START                                                                                      \
    "{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 0, \"args\": "                           \
    "{\"start_time_since_epoch_in_micros\":1592860687560103}},\n"
#define TENSOR(pid, name)                                                                          \
    "{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": " #pid ", \"args\": {\"name\": \"" name  \
    "\"}},\n{\"name\": \"process_sort_index\", \"ph\": \"M\", \"pid\": " #pid                      \
    ", \"args\": {\"sort_index\": 1}},\n"
#define B(pid, ts, name)                                                                           \
    "{\"ph\": \"B\", \"name\": \"" name "\", \"ts\": " #ts ", \"pid\": " #pid "},\n"
#define E(pid, ts)                                                                                 \
    "{\"ph\": \"E\", \"ts\": " #ts ", \"pid\": " #pid ", \"args\": {\"dtype\": \"float32\"}},\n"
#define TICK(pid, ts, rank, dur)                                                                   \
    "{\"ph\": \"X\", \"name\": \"" #rank "\", \"ts\": " #ts ", \"pid\": " #pid ", \"dur\": " #dur  \
    "},\n"
#define CYCLE(ts) "{\"ph\": \"i\", \"name\": \"CYCLE_START\", \"ts\": " #ts ", \"s\": \"g\"},\n"

static struct imported import_text(const char *json)
{
    return import_with(&importer_horovod, json, (struct import_ask){0}, 0);
}

static const struct event *event_of(const struct imported *m, const char *name)
{
    return &catch_find(&m->got, name)->event;
}

TEST(begins_and_ends_of_a_tensor_become_spans_of_communication)
{
    struct imported m =
        import_text("[\n" START TENSOR(1, "grad/dense_0") B(1, 10, "NEGOTIATE_ALLREDUCE") E(1, 15)
                        B(1, 20, "ALLREDUCE") B(1, 22, "NCCL_ALLREDUCE") E(1, 28) E(1, 30));
    const struct caught *negotiate = catch_find(&m.got, "NEGOTIATE_ALLREDUCE");
    CHECK_INT(m.rc, 0);
    CHECK_INT(m.got.n, 3);
    CHECK_INT(negotiate->event.at.ns, 1592860687560103000 + 10000);
    CHECK_INT(negotiate->event.dur_ns, 5000);
    CHECK_INT(negotiate->event.category, CAT_COMM);
    CHECK_STR(negotiate->track.name, "grad/dense_0");
    CHECK_STR(negotiate->track.process, "horovod");
    CHECK_STR(negotiate->event.args, "tensor=grad/dense_0");
    CHECK_INT(event_of(&m, "ALLREDUCE")->dur_ns, 10000);
    CHECK_INT(event_of(&m, "NCCL_ALLREDUCE")->dur_ns, 6000);
    catch_close(&m.got);
}

TEST(an_array_without_an_end_is_no_fault)
{
    struct imported m = import_text("[\n" TENSOR(1, "a") B(1, 10, "ALLREDUCE") E(1, 15));
    CHECK_INT(m.rc, 0);
    CHECK_INT(m.result.faults.cut, 0);
    CHECK_INT(m.result.faults.commas, 0);
    catch_close(&m.got);
}

TEST(an_event_that_is_cut_is_a_fault)
{
    struct imported m = import_text("[\n" B(1, 10, "ALLREDUCE") E(1, 15) "{\"ph\": \"B\", \"na");
    CHECK_INT(m.rc, 0);
    CHECK_INT(m.got.n, 1);
    CHECK_INT(m.result.faults.cut, 1);
    catch_close(&m.got);
}

TEST(times_without_a_start_are_the_monotonic_clock_and_it_is_said)
{
    struct imported m =
        import_with(&importer_horovod, "[" B(1, 8440608, "ALLREDUCE") E(1, 8440700) CYCLE(8440800),
                    (struct import_ask){.wall_minus_mono_ns = 77}, 0);
    CHECK_INT(event_of(&m, "ALLREDUCE")->at.ns, 8440608000);
    CHECK_INT(m.result.count[IMPORTED_NO_BASE], 1);
    catch_close(&m.got);
}

TEST(the_start_that_it_tells_counts_before_the_one_of_the_hint)
{
    const struct import_ask ask = {.hint = {.has_base = true, .base = {5000}},
                                   .wall_minus_mono_ns = 1592860687560000000};
    struct imported m = import_with(&importer_horovod, "[" START CYCLE(7), ask, 0);
    CHECK_INT(event_of(&m, "CYCLE_START")->at.ns, 103000 + 7000);
    CHECK_INT(m.result.count[IMPORTED_NO_BASE], 0);
    catch_close(&m.got);
    m = import_with(&importer_horovod, "[" CYCLE(7),
                    (struct import_ask){.hint = {.has_base = true, .base = {5000}}}, 0);
    CHECK_INT(event_of(&m, "CYCLE_START")->at.ns, 12000);
    catch_close(&m.got);
}

TEST(a_rank_that_is_ready_is_a_moment_whatever_duration_it_was_given)
{
    struct imported m = import_text("[" START TENSOR(1, "a") TICK(1, 8440610, 4, 812355471858) "]");
    const struct event *tick = event_of(&m, "rank ready");
    CHECK_INT(tick->kind, EVENT_MARK);
    CHECK_INT(tick->value, 4);
    CHECK_INT(tick->dur_ns, 0);
    CHECK_INT(m.result.count[IMPORTED_CAPPED], 1);
    CHECK_INT(m.result.last.ns, m.result.first.ns);
    catch_close(&m.got);
}

TEST(cycles_are_moments_on_a_line_of_their_own)
{
    struct imported m = import_text("[" TENSOR(1, "a") B(1, 1, "ALLREDUCE") CYCLE(2) E(1, 3) "]");
    const struct caught *cycle = catch_find(&m.got, "CYCLE_START");
    CHECK_INT(cycle->event.kind, EVENT_MARK);
    CHECK(cycle->track.id != catch_find(&m.got, "ALLREDUCE")->track.id);
    CHECK(cycle->event.args == NULL);
    catch_close(&m.got);
}

TEST(a_long_name_of_a_tensor_is_shown_by_its_end_and_kept_whole)
{
    struct imported m = import_text(
        "[" TENSOR(1, "Adam_Allreduce/HorovodAllreduce_gradient_tape_model_dense_1_MatMul_1_0")
            B(1, 1, "ALLREDUCE") E(1, 2) "]");
    const struct caught *c = catch_find(&m.got, "ALLREDUCE");
    CHECK_INT(strlen(c->track.name), TRACK_NAME_LEN - 1);
    CHECK(strstr(c->track.name, "dense_1_MatMul_1_0"));
    CHECK_STR(c->event.args,
              "tensor=Adam_Allreduce/HorovodAllreduce_gradient_tape_model_dense_1_MatMul_1_0");
    catch_close(&m.got);
}

TEST(thousands_of_tensors_keep_their_names)
{
    struct buf json = {0};
    buf_printf(&json, "[");
    for (int i = 1; i <= 3000; i++)
        buf_printf(
            &json,
            "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":\"t%d\"}},"
            "{\"ph\":\"X\",\"name\":\"1\",\"ts\":%d,\"pid\":%d,\"dur\":0},",
            i, i, i, i);
    buf_u8(&json, '\0');
    struct imported m = import_text((const char *)json.p);
    CHECK_INT(m.got.n, 3000);
    for (size_t i = 0; i < m.got.n; i++) {
        char name[16];
        snprintf(name, sizeof name, "t%d", (int)m.got.v[i].track.id);
        CHECK_STR(m.got.v[i].track.name, name);
    }
    catch_close(&m.got);
    buf_free(&json);
}

TEST(ends_without_a_begin_and_begins_without_an_end_are_counted)
{
    struct imported m = import_text("[" E(1, 5) B(2, 6, "ALLGATHER") CYCLE(9) "]");
    CHECK_INT(m.result.count[IMPORTED_UNBEGUN], 1);
    CHECK_INT(m.result.count[IMPORTED_UNENDED], 1);
    CHECK_INT(event_of(&m, "ALLGATHER")->end, END_CUT);
    catch_close(&m.got);
}

TEST(a_broken_event_costs_only_itself_and_pieces_do_not_matter)
{
    static const char json[] =
        "[" START TENSOR(1, "a") "{\"ph\": \"B\", nonsense here},\n" B(1, 10, "BROADCAST")
            E(1, 15) "7, [1, {\"ph\": \"i\"}]]";
    for (size_t piece = 1; piece < 50; piece += 6) {
        struct imported m = import_with(&importer_horovod, json, (struct import_ask){0}, piece);
        CHECK_INT(m.rc, 0);
        CHECK_INT(event_of(&m, "BROADCAST")->dur_ns, 5000);
        CHECK_INT(m.result.count[IMPORTED_PHASES], 2);
        catch_close(&m.got);
    }
}

TEST(the_rank_of_the_hint_is_told)
{
    const struct import_ask ask = {.hint = {.has_rank = true, .rank = 2}};
    struct imported m = import_with(&importer_horovod, "[" START CYCLE(7), ask, 0);
    CHECK_INT(event_of(&m, "process.rank")->value, 2);
    CHECK_INT(m.result.rank, 2);
    CHECK_INT(m.got.v[0].track.pid, 3);
    catch_close(&m.got);
}

TEST(what_is_no_timeline_is_refused_in_a_sentence)
{
    struct imported m = import_text("{\"traceEvents\": []}");
    CHECK_STR(m.e.msg, "not a Horovod timeline: the top level is not an array");
    CHECK(m.rc != 0);
    catch_close(&m.got);
    m = import_text("[" START "]");
    CHECK_STR(m.e.msg, "the timeline contains no events");
    catch_close(&m.got);
}

TEST(timelines_are_known_from_other_arrays)
{
    static const char mine[] = " [\n" START B(1, 1, "NEGOTIATE_ALLGATHER");
    static const char cycles[] = "[" CYCLE(1);
    static const char other[] = "[{\"ph\": \"B\", \"name\": \"a\", \"ts\": 1}]";
    CHECK(importer_sniff(mine, strlen(mine)) == &importer_horovod);
    CHECK(importer_sniff(cycles, strlen(cycles)) == &importer_horovod);
    CHECK(importer_sniff(other, strlen(other)) == &importer_kineto);
}
