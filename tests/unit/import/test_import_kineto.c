/* SPDX-License-Identifier: Apache-2.0 */
/* test_import_kineto.c - what the events of a Chrome trace become. */
#include "base/buf.h"
#include "import_catch.h"

struct import {
    struct catch got;
    struct import_result result;
    int rc;
    struct err e;
};

static struct import import_ask(const char *json, size_t len, struct import_ask ask, size_t piece)
{
    struct import m = {0};
    struct bytes_memory in;
    catch_open(&m.got);
    bytes_memory_init(&in, json, len, piece);
    ask.in = &in.in;
    ask.sink = &m.got.sink;
    m.rc = importer_kineto.run(&ask, &m.result, &m.e);
    return m;
}

static struct import import_text(const char *json)
{
    return import_ask(json, strlen(json), (struct import_ask){0}, 0);
}

static const struct event *event_of(const struct import *m, const char *name)
{
    return &catch_find(&m->got, name)->event;
}

/* Up to five events. */
#define JOIN_1(a)                   a
#define JOIN_2(a, ...)              a "," JOIN_1(__VA_ARGS__)
#define JOIN_3(a, ...)              a "," JOIN_2(__VA_ARGS__)
#define JOIN_4(a, ...)              a "," JOIN_3(__VA_ARGS__)
#define JOIN_5(a, ...)              a "," JOIN_4(__VA_ARGS__)
#define PICK(a, b, c, d, e, f, ...) f
#define JOIN(...)                   PICK(__VA_ARGS__, JOIN_5, JOIN_4, JOIN_3, JOIN_2, JOIN_1, )(__VA_ARGS__)
#define TRACE(...)                  "{\"schemaVersion\": 1, \"traceEvents\": [" JOIN(__VA_ARGS__) "]}"
#define X(cat, name, more)                                                                         \
    "{\"ph\": \"X\", \"cat\": \"" cat "\", \"name\": \"" name                                      \
    "\", \"pid\": 7, \"tid\": 8, \"ts\": 1000, \"dur\": 5" more "}"

/* Alike in their first bytes or in their last ones, in turns, so that each is looked up again. */
TEST(a_category_is_told_by_all_of_its_text)
{
    static const struct {
        const char *cat;
        enum event_category is;
    } cats[] = {
        {"gpu_memcpy", CAT_MEMCPY},
        {"gpu_memset", CAT_MEMSET},
        {"gpu_memcpx", CAT_OTHER},
        {"gpu_memcp", CAT_OTHER},
        {"gpu_memcpyy", CAT_OTHER},
        {"cpu_op", CAT_OP},
        {"cpu_oq", CAT_OTHER},
        {"cpu_op\\u0000", CAT_OTHER},
        {"cpu_o", CAT_OTHER},
        {"collective_comm", CAT_COMM},
        {"collective_comn", CAT_OTHER},
        {"", CAT_OTHER},
        {"collective_comm2", CAT_OTHER},
        {"python_function", CAT_PYTHON},
        {"privateuse1_driver", CAT_RUNTIME},
        {"privateuse1_driv", CAT_OTHER},
    };
    struct buf json = {0};
    char text[256];
    buf_put(&json, "[", 1);
    for (unsigned i = 0; i < 3 * COUNT_OF(cats); i++) {
        const int n = snprintf(text, sizeof text, "%s" X("%s", "n%u", ""), i ? ", " : "",
                               cats[i % COUNT_OF(cats)].cat, i);
        buf_put(&json, text, (size_t)n);
    }
    buf_put(&json, "]", 1);
    struct import m = import_ask((const char *)json.p, json.len, (struct import_ask){0}, 0);
    for (unsigned i = 0; i < 3 * COUNT_OF(cats); i++) {
        snprintf(text, sizeof text, "n%u", i);
        CHECK_INT(event_of(&m, text)->category, cats[i % COUNT_OF(cats)].is);
    }
    catch_close(&m.got);
    buf_free(&json);
}

/* ---- times ---- */

TEST(times_are_exact_to_the_nanosecond)
{
    struct import m = import_text(
        "{\"baseTimeNanoseconds\": 1711964646000000000, \"traceEvents\": [{\"ph\": \"X\", "
        "\"name\": "
        "\"a\", \"pid\": 1, \"tid\": 1, \"ts\": 4458676522690.655, \"dur\": 156.777}]}");
    CHECK_INT(m.rc, 0);
    CHECK_INT(event_of(&m, "a")->at.ns, 1711964646000000000 + 4458676522690655);
    CHECK_INT(event_of(&m, "a")->dur_ns, 156777);
    catch_close(&m.got);
}

TEST(old_traces_have_whole_microseconds_since_the_epoch)
{
    struct import m = import_text(
        TRACE("{\"ph\": \"X\", \"cat\": \"Operator\", \"name\": \"a\", "
              "\"pid\": 25738, \"tid\": \"25738\", \"ts\": 1623142623460111, \"dur\": 25}"));
    const struct caught *a = catch_find(&m.got, "a");
    CHECK_INT(a->event.at.ns, 1623142623460111000);
    CHECK_INT(a->event.dur_ns, 25000);
    CHECK_INT(a->track.id, 25738);
    catch_close(&m.got);
}

static bool tell_base(void *ctx, const char *key, int64_t *out)
{
    ++*(int *)ctx;
    CHECK_STR(key, "baseTimeNanoseconds");
    *out = 1700000000000000000;
    return true;
}

TEST(a_base_time_behind_the_events_is_asked_for_once)
{
    int asked = 0;
    static const char json[] = TRACE(X("cpu_op", "a", ""), X("cpu_op", "b", ""));
    struct import m = import_ask(
        json, strlen(json), (struct import_ask){.late_number = tell_base, .late_ctx = &asked}, 0);
    CHECK_INT(asked, 1);
    CHECK_INT(event_of(&m, "a")->at.ns, 1700000000001000000);
    catch_close(&m.got);
}

TEST(a_base_time_that_is_slow_to_find_is_waited_for)
{
    static const char json[] =
        "{\"traceEvents\": [{\"ph\": \"B\", \"pid\": 1, \"tid\": 2, \"ts\": 1, \"name\": "
        "\"outer\"}, "
        "{\"ph\": \"X\", \"pid\": 1, \"tid\": 2, \"ts\": 2, \"dur\": 5, \"name\": \"a\"}], "
        "\"baseTimeNanoseconds\": 1700000000000000001}";
    int asked = 0;
    const struct import_ask ask = {.late_number = tell_base,
                                   .late_is_slow = true,
                                   .late_ctx = &asked,
                                   .wall_minus_mono_ns = 1000};
    struct import m = import_ask(json, strlen(json), ask, 0);
    CHECK_INT(asked, 0);
    CHECK_INT(event_of(&m, "a")->at.ns, 1700000000000001001);
    CHECK_INT(event_of(&m, "outer")->at.ns, 1700000000000000001);
    CHECK_INT(event_of(&m, "outer")->dur_ns, 6000);
    CHECK_INT(m.result.first.ns, 1700000000000000001);
    CHECK_INT(m.result.last.ns, 1700000000000006001);
    catch_close(&m.got);
}

TEST(a_base_time_that_never_comes_is_none)
{
    static const char json[] = TRACE(X("cpu_op", "a", ""));
    int asked = 0;
    const struct import_ask ask = {
        .late_number = tell_base, .late_is_slow = true, .late_ctx = &asked};
    struct import m = import_ask(json, strlen(json), ask, 0);
    CHECK_INT(asked, 0);
    CHECK_INT(event_of(&m, "a")->at.ns, 1000000);
    catch_close(&m.got);
}

TEST(events_that_a_base_time_moves_out_of_range_are_counted)
{
    static const char json[] = "{\"traceEvents\": [{\"ph\": \"X\", \"ts\": 1, \"name\": \"a\"}], "
                               "\"baseTimeNanoseconds\": 9223372036854775807}";
    const struct import_ask ask = {.late_is_slow = true};
    struct import m = import_ask(json, strlen(json), ask, 0);
    CHECK_INT(m.result.count[IMPORTED_BAD_TIME], 1);
    CHECK_INT(m.result.count[IMPORTED_KEPT], 0);
    CHECK_INT(m.rc, ERR_FORMAT);
    CHECK_STR(m.e.msg, "the times of its events are invalid");
    catch_close(&m.got);
}

TEST(a_base_time_is_not_asked_for_when_times_are_absolute_or_it_was_told)
{
    int asked = 0;
    const struct import_ask ask = {.late_number = tell_base, .late_ctx = &asked};
    static const char absolute[] =
        TRACE("{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1623142623460111}");
    static const char told[] = "{\"baseTimeNanoseconds\": 5, \"traceEvents\": [{\"ph\": \"X\", "
                               "\"name\": \"a\", \"ts\": 1}]}";
    struct import m = import_ask(absolute, strlen(absolute), ask, 0);
    CHECK_INT(event_of(&m, "a")->at.ns, 1623142623460111000);
    catch_close(&m.got);
    m = import_ask(told, strlen(told), ask, 0);
    CHECK_INT(event_of(&m, "a")->at.ns, 1005);
    catch_close(&m.got);
    CHECK_INT(asked, 0);
}

TEST(wall_time_becomes_the_monotonic_clock_of_the_caller)
{
    static const char json[] =
        TRACE("{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1623142623460111.5}");
    struct import m = import_ask(json, strlen(json),
                                 (struct import_ask){.wall_minus_mono_ns = 1623142623000000000}, 0);
    CHECK_INT(event_of(&m, "a")->at.ns, 460111500);
    CHECK_INT(m.result.first.ns, 460111500);
    catch_close(&m.got);
}

TEST(times_that_no_clock_shows_are_counted_and_left_out)
{
    struct import m = import_text(
        TRACE("{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1}", "{\"ph\": \"X\", \"name\": \"b\"}",
              "{\"ph\": \"X\", \"name\": \"c\", \"ts\": 9223372036854775}",
              "{\"ph\": \"X\", \"name\": \"d\", \"ts\": 1e300}",
              "{\"ph\": \"X\", \"name\": \"e\", \"ts\": 1, \"dur\": -3}"));
    CHECK_INT(m.got.n, 2);
    CHECK_INT(m.result.count[IMPORTED_NO_TIME], 2);
    CHECK_INT(m.result.count[IMPORTED_BAD_TIME], 1);
    CHECK_INT(m.result.count[IMPORTED_NEGATIVE], 1);
    CHECK_INT(event_of(&m, "e")->dur_ns, 0);
    catch_close(&m.got);
}

/* ---- categories ---- */

TEST(categories_old_and_new_become_ours)
{
    static const struct {
        const char *cat, *name;
        enum event_category want;
        enum track_kind kind;
    } rows[] = {
        {"cpu_op", "aten::add", CAT_OP, TRACK_THREAD},
        {"Operator", "aten::add", CAT_OP, TRACK_THREAD},
        {"user_annotation", "mine", CAT_USER, TRACK_THREAD},
        {"gpu_user_annotation", "mine", CAT_USER, TRACK_DEVICE},
        {"cuda_runtime", "cudaLaunchKernel", CAT_RUNTIME, TRACK_THREAD},
        {"cuda_driver", "cuLaunchKernel", CAT_RUNTIME, TRACK_THREAD},
        {"Runtime", "cudaMemcpyAsync", CAT_RUNTIME, TRACK_THREAD},
        {"kernel", "gemm", CAT_KERNEL, TRACK_DEVICE},
        {"Kernel", "gemm", CAT_KERNEL, TRACK_DEVICE},
        {"gpu_memcpy", "Memcpy HtoD", CAT_MEMCPY, TRACK_DEVICE},
        {"Memset", "Memset (Device)", CAT_MEMSET, TRACK_DEVICE},
        {"cuda_sync", "Stream Wait Event", CAT_SYNC, TRACK_DEVICE},
        {"python_function", "train.py(3): f", CAT_PYTHON, TRACK_THREAD},
        {"overhead", "CUPTI", CAT_OTHER, TRACK_THREAD},
        {"anything", "x", CAT_OTHER, TRACK_THREAD},
        {"kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", CAT_COMM, TRACK_DEVICE},
        {"kernel", "void ncclKernel_Sum(int)", CAT_COMM, TRACK_DEVICE},
        {"kernel", "hipMemcpyLikeKernel", CAT_KERNEL, TRACK_DEVICE},
        {"cpu_op", "nccl:all_reduce", CAT_COMM, TRACK_THREAD},
        {"user_annotation", "gloo:all_reduce", CAT_COMM, TRACK_THREAD},
        {"cpu_op", "c10d::allreduce_", CAT_COMM, TRACK_THREAD},
        {"cpu_op", "record_param_comms", CAT_COMM, TRACK_THREAD},
        {"user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
         CAT_LOADER, TRACK_THREAD},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct buf json = {0};
        buf_printf(&json,
                   "[{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": 0, \"tid\": 7, "
                   "\"ts\": 1, \"dur\": 1}]",
                   rows[i].cat, rows[i].name);
        buf_u8(&json, 0);
        struct import m = import_text((char *)json.p);
        const struct caught *v = catch_find(&m.got, rows[i].name);
        if (v->event.category != rows[i].want || v->track.kind != rows[i].kind)
            test_fail(__FILE__, __LINE__, "%s '%s' became %s", rows[i].cat, rows[i].name,
                      category_words[v->event.category].name);
        CHECK_INT(v->event.kind, EVENT_SPAN);
        catch_close(&m.got);
        buf_free(&json);
    }
}

TEST(a_range_around_a_module_is_a_module_s_call_whatever_recorded_it)
{
    struct import m = import_text(TRACE(X("cpu_op", "nn.Module: GPT.head", ""),
                                        X("user_annotation", "nn.Module: GPT", ""),
                                        X("python_function", "nn.Module: Linear_0", "")));
    CHECK(event_of(&m, "nn.Module: GPT.head")->category == CAT_PYTHON);
    CHECK(event_of(&m, "nn.Module: GPT")->category == CAT_PYTHON);
    CHECK(event_of(&m, "nn.Module: Linear_0")->category == CAT_PYTHON);
    catch_close(&m.got);
}

TEST(a_profiler_step_is_a_step_on_the_host_and_a_span_on_the_device)
{
    struct import m = import_text(TRACE(X("user_annotation", "ProfilerStep#17", ""),
                                        X("gpu_user_annotation", "ProfilerStep#18", ""),
                                        X("Operator", "ProfilerStep#19", ""),
                                        X("user_annotation", "ProfilerStep#x", "")));
    CHECK_INT(event_of(&m, "ProfilerStep#17")->kind, EVENT_STEP);
    CHECK_INT(event_of(&m, "ProfilerStep#17")->value, 17);
    CHECK_INT(event_of(&m, "ProfilerStep#17")->mode, MODE_TRAIN);
    CHECK_INT(event_of(&m, "ProfilerStep#18")->kind, EVENT_SPAN);
    CHECK_INT(event_of(&m, "ProfilerStep#19")->kind, EVENT_STEP);
    CHECK_INT(event_of(&m, "ProfilerStep#x")->kind, EVENT_SPAN);
    catch_close(&m.got);
}

/* ---- arguments ---- */

TEST(correlation_and_external_ids_tie_events_together)
{
    struct import m = import_text(
        TRACE(X("cpu_op", "op", ", \"args\": {\"External id\": 12}"),
              X("cuda_runtime", "launch",
                ", \"args\": {\"External id\": 12, \"cbid\": 211, \"correlation\": 99}"),
              X("Kernel", "old", ", \"args\": {\"external id\": 5, \"correlation\": 98}")));
    CHECK_INT(event_of(&m, "op")->parent, 12);
    CHECK_INT(event_of(&m, "op")->link, 0);
    CHECK_INT(event_of(&m, "launch")->parent, 12);
    CHECK_INT(event_of(&m, "launch")->link, 99);
    CHECK_INT(event_of(&m, "old")->parent, 5);
    CHECK_INT(event_of(&m, "old")->link, 98);
    CHECK(event_of(&m, "launch")->args == NULL);
    catch_close(&m.got);
}

TEST(bytes_of_a_copy_are_its_value)
{
    struct import m = import_text(TRACE(X(
        "gpu_memcpy", "copy", ", \"args\": {\"bytes\": 4096, \"memory bandwidth (GB/s)\": 1.5}")));
    CHECK_INT(event_of(&m, "copy")->value, 4096);
    catch_close(&m.got);
}

TEST(arguments_worth_keeping_are_lines)
{
    struct import m = import_text(TRACE(
        X("kernel", "nccl",
          ", \"args\": {\"device\": 0, \"stream\": 7, \"grid\": [2, 1, 1], \"blocks per SM\": 0.5, "
          "\"Collective name\": \"allreduce\", \"In msg nelems\": 1024, \"dtype\": \"Float\", "
          "\"Process Group Ranks\": \"[0, 1]\", \"queued\": 0, \"own\": \"mine\"}"),
        X("cpu_op", "op",
          ", \"args\": {\"Input Dims\": [[4,\n   3], []], \"Module Hierarchy\": \"\", \"Ev Idx\": "
          "3, \"Call stack\": \"a;b\"}")));
    CHECK_STR(event_of(&m, "nccl")->args,
              "grid=[2, 1, 1]\nblocks_per_sm=0.5\ncollective=allreduce\n"
              "in_elements=1024\ndtype=Float\ngroup_ranks=[0, 1]\nown=mine");
    CHECK_STR(event_of(&m, "op")->args, "dims=[[4,3],[]]");
    catch_close(&m.got);
}

TEST(arguments_are_bounded_and_what_is_cut_is_counted)
{
    struct buf json = {0};
    buf_printf(&json, "[{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1, \"args\": {\"x0\": \"");
    for (int i = 0; i < 5000; i++)
        buf_u8(&json, 'y');
    buf_printf(&json, "\"");
    for (int i = 1; i < 200; i++)
        buf_printf(&json, ", \"key%d\": %d", i, i);
    buf_printf(&json, "}}]");
    buf_u8(&json, 0);
    struct import m = import_text((char *)json.p);
    CHECK(strlen(event_of(&m, "a")->args) <= 1024);
    CHECK(m.result.count[IMPORTED_LONG_TEXTS] > 10);
    catch_close(&m.got);
    buf_free(&json);
}

/* ---- tracks ---- */

TEST(streams_are_tracks_of_the_process_that_was_traced)
{
    struct import m =
        import_text(TRACE(X("cpu_op", "op", ""),
                          "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 3, "
                          "\"tid\": 20, \"ts\": 1, \"dur\": 1, "
                          "\"args\": {\"device\": 3, \"stream\": 20}}",
                          "{\"ph\": \"X\", \"cat\": \"Kernel\", \"name\": \"old\", \"pid\": 3, "
                          "\"tid\": \"stream 20\", \"ts\": 1, \"dur\": 1}",
                          "{\"ph\": \"X\", \"cat\": \"gpu_user_annotation\", \"name\": \"mine\", "
                          "\"pid\": 3, \"tid\": 21, \"ts\": 1, \"dur\": 1}"));
    const struct caught *k = catch_find(&m.got, "k");
    CHECK_INT(k->track.kind, TRACK_DEVICE);
    CHECK_INT(k->track.pid, 7);
    CHECK(k->track.id == ((uint64_t)3 << 32 | 20));
    CHECK_STR(k->track.name, "gpu3 stream 20");
    CHECK(track_same(&k->track, &catch_find(&m.got, "old")->track));
    CHECK(catch_find(&m.got, "mine")->track.id == ((uint64_t)3 << 32 | 21));
    catch_close(&m.got);
}

TEST(the_pid_that_the_caller_knows_wins_for_streams)
{
    static const char json[] = "[{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, "
                               "\"tid\": 7, \"ts\": 1}]";
    struct import m = import_ask(json, strlen(json), (struct import_ask){.pid = 4711}, 0);
    CHECK_INT(catch_find(&m.got, "k")->track.pid, 4711);
    catch_close(&m.got);
}

TEST(threads_and_processes_are_named_before_or_after_their_events)
{
    static const char names[] = "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 7, \"tid\": "
                                "0, \"args\": {\"name\": \"python\"}},"
                                "{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 7, \"tid\": "
                                "8, \"args\": {\"name\": \"thread 8 (main)\"}},"
                                "{\"ph\": \"M\", \"name\": \"thread_sort_index\", \"pid\": 7, "
                                "\"tid\": 8, \"args\": {\"sort_index\": 3}}";
    for (int after = 0; after < 2; after++) {
        struct buf json = {0};
        buf_printf(&json, "[%s%s%s%s%s]", after ? "" : names, after ? "" : ",",
                   X("cpu_op", "op", ""), after ? "," : "", after ? names : "");
        buf_u8(&json, 0);
        struct import m = import_text((char *)json.p);
        const struct track *t = catch_track(&m.got, catch_find(&m.got, "op"));
        CHECK_STR(t->name, "thread 8 (main)");
        CHECK_STR(t->process, "python");
        CHECK_INT(m.got.n, 1);
        catch_close(&m.got);
        buf_free(&json);
    }
}

TEST(pids_and_tids_that_are_texts_are_tracks_too)
{
    struct import m = import_text(
        "[{\"ph\": \"X\", \"name\": \"a\", \"pid\": \"render\", \"tid\": \"main\", \"ts\": 1},"
        "{\"ph\": \"X\", \"name\": \"b\", \"pid\": \"render\", \"tid\": \"main\", \"ts\": 2},"
        "{\"ph\": \"X\", \"name\": \"c\", \"pid\": \"render\", \"tid\": \"other\", \"ts\": 2}]");
    const struct caught *a = catch_find(&m.got, "a");
    CHECK(track_same(&a->track, &catch_find(&m.got, "b")->track));
    CHECK(!track_same(&a->track, &catch_find(&m.got, "c")->track));
    CHECK_STR(a->track.name, "main");
    CHECK_STR(a->track.process, "render");
    catch_close(&m.got);
}

TEST(the_rank_is_told_wherever_it_stands)
{
    static const char *const traces[] = {
        "{\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 3, \"pg_config\": [{\"ranks\": "
        "[0]}], \"world_size\": 8}, "
        "\"traceEvents\": [" X("cpu_op", "op", "") "]}",
        "{\"traceEvents\": [" X("cpu_op", "op",
                                "") "], \"distributedInfo\": {\"rank\": 3, \"world_size\": 8}}",
    };
    for (size_t i = 0; i < COUNT_OF(traces); i++) {
        struct import m = import_text(traces[i]);
        const struct caught *rank = catch_find(&m.got, "process.rank");
        CHECK_INT(rank->event.value, 3);
        CHECK_INT(rank->event.kind, EVENT_COUNT);
        CHECK_INT(rank->track.pid, 7);
        CHECK_INT(event_of(&m, "process.world_size")->value, 8);
        CHECK_INT(m.result.rank, 3);
        catch_close(&m.got);
    }
    struct import m = import_text(TRACE(X("cpu_op", "op", "")));
    CHECK_INT(m.got.n, 1);
    CHECK_INT(m.result.rank, -1);
    catch_close(&m.got);
}

/* ---- other phases ---- */

TEST(an_object_that_is_no_event_is_counted_and_an_empty_one_is_nothing)
{
    struct import m =
        import_text("[{\"ph\": \"X\", \"name\": \"x\", \"pid\": 1, \"tid\": 2, \"ts\": 30, "
                    "\"dur\": 2}, {\"what\": 1}, {}]");
    CHECK_INT(m.result.count[IMPORTED_PHASES], 1);
    CHECK_INT(m.got.n, 1);
    catch_close(&m.got);
}

TEST(begins_and_ends_are_paired_by_thread)
{
    struct import m = import_text(
        "[{\"ph\": \"B\", \"name\": \"outer\", \"pid\": 1, \"tid\": 1, \"ts\": 1},"
        "{\"ph\": \"B\", \"name\": \"inner\", \"pid\": 1, \"tid\": 1, \"ts\": 2},"
        "{\"ph\": \"B\", \"name\": \"else\", \"pid\": 1, \"tid\": 2, \"ts\": 2},"
        "{\"ph\": \"E\", \"pid\": 1, \"tid\": 1, \"ts\": 5},"
        "{\"ph\": \"E\", \"pid\": 1, \"tid\": 1, \"ts\": 9},"
        "{\"ph\": \"E\", \"pid\": 1, \"tid\": 1, \"ts\": 10},"
        "{\"ph\": \"X\", \"name\": \"x\", \"pid\": 1, \"tid\": 2, \"ts\": 30, \"dur\": 2}]");
    CHECK_INT(event_of(&m, "inner")->dur_ns, 3000);
    CHECK_INT(event_of(&m, "outer")->dur_ns, 8000);
    CHECK_INT(event_of(&m, "outer")->end, END_KNOWN);
    CHECK_INT(event_of(&m, "else")->dur_ns, 30000);
    CHECK_INT(event_of(&m, "else")->end, END_CUT);
    CHECK_INT(m.result.count[IMPORTED_UNBEGUN], 1);
    CHECK_INT(m.result.count[IMPORTED_UNENDED], 1);
    catch_close(&m.got);
}

#define ASYNC(ph, name, id, ts)                                                                    \
    "{\"ph\": \"" ph "\", \"cat\": \"fetch\", \"name\": \"" name "\", \"id\": \"" id               \
    "\", \"pid\": 1, "                                                                             \
    "\"tid\": 1, \"ts\": " ts "}"

TEST(spans_of_no_thread_are_paired_by_id_and_those_at_once_lie_beside_each_other)
{
    struct import m = import_text(
        "[" ASYNC("b", "one", "0x1", "1") "," ASYNC("b", "two", "0x2", "2") "," ASYNC("b", "in two", "0x2", "3") "," ASYNC(
            "n", "note", "0x2",
            "4") "," ASYNC("e", "in two", "0x2",
                           "5") "," ASYNC("e", "one", "0x1",
                                          "6") "," ASYNC("S", "three", "0x3",
                                                         "7") "," ASYNC("e", "two", "0x2",
                                                                        "9") "," ASYNC("F", "three",
                                                                                       "0x3",
                                                                                       "10") "," ASYNC("e",
                                                                                                       "never begun",
                                                                                                       "0x4",
                                                                                                       "11") "]");
    CHECK_INT(event_of(&m, "one")->dur_ns, 5000);
    CHECK_INT(event_of(&m, "two")->dur_ns, 7000);
    CHECK_INT(event_of(&m, "in two")->dur_ns, 2000);
    CHECK_INT(event_of(&m, "three")->dur_ns, 3000);
    CHECK_INT(event_of(&m, "note")->kind, EVENT_MARK);
    CHECK_STR(catch_find(&m.got, "one")->track.name, "fetch (async)");
    CHECK_STR(catch_find(&m.got, "two")->track.name, "fetch (async 2)");
    CHECK_STR(catch_find(&m.got, "in two")->track.name, "fetch (async 2)");
    CHECK_STR(catch_find(&m.got, "three")->track.name, "fetch (async)");
    CHECK_INT(m.result.count[IMPORTED_UNBEGUN], 1);
    CHECK_INT(m.result.count[IMPORTED_PHASES], 0);
    catch_close(&m.got);
}

TEST(allocations_carry_their_bytes_and_the_totals_of_their_device)
{
    struct import m = import_text(TRACE(
        X("cpu_op", "op", ""), "{\"ph\": \"i\", \"s\": \"t\", \"name\": \"[memory]\", \"pid\": 7, "
                               "\"tid\": 8, \"ts\": 1.5, \"args\": {\"Total Reserved\": 245366784, "
                               "\"Total Allocated\": 216081408, \"Bytes\": -1204224, \"Addr\": "
                               "136093868752896, \"Device Id\": 2, \"Device Type\": 1}}"));
    const struct event *v = event_of(&m, "[memory]");
    CHECK_INT(v->kind, EVENT_MARK);
    CHECK_INT(v->category, CAT_MEMORY);
    CHECK_INT(v->value, -1204224);
    CHECK_INT(v->link, 136093868752896);
    CHECK_STR(v->args, "device=gpu2");
    const struct caught *total = catch_find(&m.got, "cuda.allocated");
    CHECK_INT(total->event.value, 216081408);
    CHECK_INT(total->event.kind, EVENT_COUNT);
    CHECK_INT(total->event.at.ns, 1500);
    CHECK_INT(total->track.kind, TRACK_DEVICE);
    CHECK_INT(total->track.id >> 32, 2);
    CHECK_INT(event_of(&m, "cuda.reserved")->value, 245366784);
    catch_close(&m.got);
}

TEST(counters_are_one_series_for_each_number)
{
    struct import m = import_text("[{\"ph\": \"C\", \"name\": \"load\", \"pid\": 1, \"ts\": 2, "
                                  "\"args\": {\"user\": 1.5, \"system\": 2, \"text\": \"x\"}},"
                                  "{\"args\": {\"late\": 7}, \"name\": \"hw\", \"ts\": 3, \"pid\": "
                                  "\"GPU 4 Counters\", \"ph\": \"C\"}]");
    const struct event *v = event_of(&m, "load.user");
    CHECK_INT(v->kind, EVENT_REAL);
    NEAR(event_real(v), 1.5, 0);
    NEAR(event_real(event_of(&m, "load.system")), 2, 0);
    const struct caught *late = catch_find(&m.got, "hw.late");
    CHECK_INT(late->track.kind, TRACK_DEVICE);
    CHECK_INT(late->track.id >> 32, 4);
    CHECK_INT(m.got.n, 3);
    catch_close(&m.got);
}

TEST(arrows_from_launches_are_counted_and_others_are_kept_at_both_ends)
{
    struct import m =
        import_text(TRACE(X("cpu_op", "op", ""),
                          "{\"ph\": \"s\", \"id\": 9, \"pid\": 7, \"tid\": 8, \"ts\": 1, \"cat\": "
                          "\"ac2g\", \"name\": \"ac2g\"}",
                          "{\"ph\": \"f\", \"id\": 9, \"pid\": 7, \"tid\": 8, \"ts\": 1, \"cat\": "
                          "\"async\", \"name\": \"launch\", \"bp\": \"e\"}",
                          "{\"ph\": \"s\", \"id\": 5, \"pid\": 7, \"tid\": 8, \"ts\": 1, \"cat\": "
                          "\"fwdbwd\", \"name\": \"fwdbwd\"}"));
    CHECK_INT(m.result.count[IMPORTED_FLOWS], 2);
    const struct event *v = event_of(&m, "fwdbwd");
    CHECK_INT(v->kind, EVENT_MARK);
    CHECK_INT(v->link, 5);
    CHECK_INT(v->value, 1);
    catch_close(&m.got);
}

TEST(the_profilers_own_markers_are_no_work)
{
    struct import m = import_text(
        TRACE(X("cpu_op", "op", ""),
              "{\"ph\": \"X\", \"cat\": \"Trace\", \"ts\": 1, \"dur\": 9, \"pid\": \"Spans\", "
              "\"tid\": \"PyTorch Profiler\", \"name\": \"PyTorch Profiler (0)\"}",
              "{\"name\": \"Iteration Start: PyTorch Profiler\", \"ph\": \"i\", \"s\": \"g\", "
              "\"pid\": \"Traces\", \"tid\": \"Trace PyTorch Profiler\", \"ts\": 1}",
              "{\"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\", \"pid\": \"\", "
              "\"tid\": \"\", \"ts\": 9223372036854775.807}"));
    CHECK_INT(m.got.n, 1);
    CHECK_INT(m.result.count[IMPORTED_MARKERS], 3);
    catch_close(&m.got);
}

TEST(kinds_that_are_not_known_are_counted)
{
    struct import m = import_text("[{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1}, {\"ph\": \"N\", "
                                  "\"ts\": 1}, {\"ph\": \"long\"}, {}, 5, [1], null]");
    CHECK_INT(m.got.n, 1);
    CHECK_INT(m.result.count[IMPORTED_PHASES], 5);
    catch_close(&m.got);
}

TEST(a_key_that_comes_twice_is_counted_and_the_last_one_counts)
{
    struct import m = import_text("[{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1, \"ts\": 2}]");
    CHECK_INT(event_of(&m, "a")->at.ns, 2000);
    CHECK_INT(m.result.count[IMPORTED_DUPLICATES], 1);
    catch_close(&m.got);
}

TEST(names_are_decoded)
{
    struct import m = import_text("[{\"ph\": \"X\", \"name\": \"a\\u00e9\\n\\\"\", \"ts\": 1}]");
    CHECK_INT(m.got.n, 1);
    CHECK_STR(m.got.v[0].event.name, "a\xc3\xa9\n\"");
    catch_close(&m.got);
}

TEST(a_name_longer_than_the_store_takes_is_cut_and_counted)
{
    struct buf json = {0};
    buf_printf(&json, "[{\"ph\": \"X\", \"name\": \"");
    for (int i = 0; i < 10000; i++)
        buf_u8(&json, 'n');
    buf_printf(&json, "\", \"ts\": 1}]");
    buf_u8(&json, 0);
    struct import m = import_text((char *)json.p);
    CHECK_INT(strlen(m.got.v[0].event.name), EVENT_NAME_MOST - 1);
    CHECK_INT(m.result.count[IMPORTED_LONG_TEXTS], 1);
    catch_close(&m.got);
    buf_free(&json);
}

/* ---- broken and large ---- */

TEST(a_broken_event_costs_only_itself)
{
    struct import m =
        import_text("{\"traceEvents\": [\n{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1},\n"
                    "{\"ph\": \"X\", \"name\": \"b\n\", \"ts\": 2},\n{\"ph\": \"X\", \"name\": "
                    "\"c\", \"ts\": 3},\n"
                    "{\"ph\": \"X\", \"name\": \"d\", \"ts\": 4, \"args\": {\"x\": [\"y]}},\n"
                    "{\"ph\": \"X\", \"name\": \"e\", \"ts\": 5, \"args\": {\"x\": NaN, \"y\": "
                    "N/A,},}\n], \"distributedInfo\": {\"rank\": 1}}");
    CHECK_INT(m.rc, 0);
    CHECK_INT(m.got.n, 3);
    event_of(&m, "a");
    event_of(&m, "c");
    event_of(&m, "e");
    CHECK_INT(m.result.faults.unread, 2);
    CHECK_INT(m.result.faults.words, 2);
    CHECK_INT(m.result.faults.commas, 2);
    CHECK_INT(m.result.rank, 1);
    catch_close(&m.got);
}

TEST(a_trace_that_is_cut_gives_the_events_that_are_whole)
{
    struct import m = import_text("{\"traceEvents\": [{\"ph\": \"X\", \"name\": \"a\", \"ts\": "
                                  "1},{\"ph\": \"X\", \"name\": \"b\", \"ts\": 2");
    CHECK_INT(m.rc, 0);
    CHECK_INT(m.got.n, 1);
    CHECK_INT(m.result.faults.cut, 1);
    catch_close(&m.got);
}

TEST(the_size_of_reads_does_not_matter)
{
    struct buf json = {0};
    buf_printf(&json, "{\"traceEvents\": [\n");
    for (int i = 0; i < 3000; i++)
        buf_printf(&json,
                   "%s  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"op%d\", \"pid\": 1, "
                   "\"tid\": %d,\n    \"ts\": %d.%03d, "
                   "\"dur\": 2,\n    \"args\": {\n      \"External id\": %d, \"Input Dims\": [[%d, "
                   "3], []], \"x\": NaN, \"bad\": \"\\q\"\n    }\n  }",
                   i ? ",\n" : "", i, i % 5, i * 10, i % 1000, i, i);
    buf_printf(&json, "\n]}");
    struct import whole = import_ask((char *)json.p, json.len, (struct import_ask){0}, 0);
    struct import pieces = import_ask((char *)json.p, json.len, (struct import_ask){0}, 997);
    CHECK_INT(whole.got.n, 3000);
    CHECK(memcmp(&whole.result, &pieces.result, sizeof whole.result) == 0);
    CHECK_INT(whole.result.faults.words, 3000);
    CHECK_INT(whole.result.faults.escapes, 3000);
    const struct event *v = event_of(&pieces, "op2999");
    CHECK_INT(v->at.ns, 29990999);
    CHECK_INT(v->parent, 2999);
    CHECK_STR(v->args, "dims=[[2999, 3], []]\nx=NaN\nbad=\\q");
    catch_close(&whole.got);
    catch_close(&pieces.got);
    buf_free(&json);
}

TEST(what_is_no_trace_is_refused_in_a_sentence)
{
    static const struct {
        const char *text, *words;
    } rows[] = {
        {"", "not a trace"},
        {"hello", "not a trace"},
        {"{\"a\": 1}", "no traceEvents"},
        {"[]", "no event"},
        {"{\"traceEvents\": []}", "no event"},
        {"17", "not a trace"},
        {"{\"traceEvents\": 5}", "no traceEvents"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct import m = import_text(rows[i].text);
        CHECK_INT(m.rc, ERR_FORMAT);
        if (!strstr(m.e.msg, rows[i].words))
            test_fail(__FILE__, __LINE__, "%s: \"%s\"", rows[i].text, m.e.msg);
        catch_close(&m.got);
    }
}

TEST(traces_are_known_by_their_first_bytes)
{
    static const char ours[] = "\n{ \"schemaVersion\": 1, \"traceEvents\": [",
                      array[] = "[{\"ph\": \"X\"";
    CHECK(importer_sniff(ours, strlen(ours)) == &importer_kineto);
    CHECK(importer_sniff(array, strlen(array)) == &importer_kineto);
    CHECK(importer_sniff("hello", 5) == NULL);
    CHECK(importer_sniff("", 0) == NULL);
    CHECK(importer_find("kineto") == &importer_kineto);
    CHECK(importer_find("x") == NULL);
}
