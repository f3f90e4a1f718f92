/* SPDX-License-Identifier: Apache-2.0 */
/* test_import_tensorflow.c - what the events of TensorFlow's and JAX's traces become. */
#include "import_run.h"

#define HEAD "{\"displayTimeUnit\":\"ns\",\"metadata\":{\"highres-ticks\":true},\"traceEvents\":["
#define TAIL "{}]}"
#define PROCESS(pid, name)                                                                         \
    "{\"ph\":\"M\",\"pid\":" #pid ",\"name\":\"process_name\",\"args\":{\"name\":\"" name "\"}},"
#define THREAD(pid, tid, name)                                                                     \
    "{\"ph\":\"M\",\"pid\":" #pid ",\"tid\":" #tid                                                 \
    ",\"name\":\"thread_name\",\"args\":{\"name\":\"" name "\"}},"
#define X(pid, tid, ts, dur, name, args)                                                           \
    "{\"ph\":\"X\",\"pid\":" #pid ",\"tid\":" #tid ",\"ts\":" #ts ",\"dur\":" #dur                 \
    ",\"name\":\"" name "\",\"args\":{" args "}},"
#define HOST   PROCESS(701, "/host:CPU") THREAD(701, 33, "python")
#define DEVICE PROCESS(1, "/device:GPU:0")

static struct imported import_text(const char *json)
{
    return import_with(&importer_tensorflow, json, (struct import_ask){0}, 0);
}

static const struct event *event_of(const struct imported *m, const char *name)
{
    return &catch_find(&m->got, name)->event;
}

TEST(times_count_from_the_base_that_the_hint_has)
{
    const struct import_ask ask = {
        .hint = {.has_base = true, .base = {1596659864545103000}},
        .wall_minus_mono_ns = 1596659864000000000,
    };
    struct imported m =
        import_with(&importer_tensorflow,
                    HEAD HOST X(701, 33, 21307, 9.9999999999999995e-07, "a", "") TAIL, ask, 0);
    CHECK_INT(m.rc, 0);
    CHECK_INT(event_of(&m, "a")->at.ns, 545103000 + 21307000);
    CHECK_INT(event_of(&m, "a")->dur_ns, 0);
    CHECK_INT(m.result.count[IMPORTED_NO_BASE], 0);
    catch_close(&m.got);
}

TEST(a_trace_whose_beginning_nobody_tells_says_so_once)
{
    struct imported m =
        import_text(HEAD HOST X(701, 33, 10, 1, "a", "") X(701, 33, 20, 1, "b", "") TAIL);
    CHECK_INT(m.rc, 0);
    CHECK_INT(m.result.count[IMPORTED_NO_BASE], 1);
    CHECK_INT(m.result.count[IMPORTED_KEPT], 2);
    catch_close(&m.got);
}

TEST(planes_become_one_process_with_threads_and_streams)
{
    struct imported m = import_text(HEAD DEVICE THREAD(1, 14, "Stream #14(Compute)") HOST X(
        1, 14, 5, 2, "sgemm", "") X(701, 33, 1, 3, "dense/MatMul:MatMul", "") TAIL);
    const struct caught *kernel = catch_find(&m.got, "sgemm");
    const struct caught *op = catch_find(&m.got, "dense/MatMul:MatMul");
    CHECK_INT(kernel->track.kind, TRACK_DEVICE);
    CHECK_INT(kernel->track.id, 14);
    CHECK_STR(kernel->track.name, "gpu0 stream 14");
    CHECK_INT(kernel->event.category, CAT_KERNEL);
    CHECK_INT(op->track.kind, TRACK_THREAD);
    CHECK_INT(op->track.id, 33);
    CHECK_STR(op->track.name, "python");
    CHECK_INT(op->event.category, CAT_OP);
    CHECK_INT(op->track.pid, kernel->track.pid);
    catch_close(&m.got);
}

TEST(planes_whose_threads_have_the_same_number_stay_apart)
{
    struct imported m = import_text(HEAD HOST PROCESS(702, "/host:python-tracer") X(
        701, 33, 1, 3, "a", "") X(702, 33, 1, 3, "$train.py:7 step", "") TAIL);
    const struct caught *a = catch_find(&m.got, "a");
    const struct caught *b = catch_find(&m.got, "$train.py:7 step");
    CHECK(a->track.id != b->track.id);
    CHECK_INT(a->track.pid, b->track.pid);
    CHECK_INT(b->event.category, CAT_PYTHON);
    catch_close(&m.got);
}

TEST(lines_that_show_the_time_of_streams_again_are_no_kernels)
{
    static const char *const lines[] = {"XLA Ops",        "XLA Modules",          "Source code",
                                        "TensorFlow Ops", "Framework Name Scope", "Launch Stats"};
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        char *json = test_printf(
            HEAD DEVICE THREAD(1, 14, "Stream #14(Kernel)") "%s%s%s" X(1, 14, 5, 2, "sgemm", "")
                X(1, 9, 5, 2, "fusion", "") TAIL,
            "{\"ph\":\"M\",\"pid\":1,\"tid\":9,\"name\":\"thread_name\",\"args\":"
            "{\"name\":\"",
            lines[i], "\"}},");
        struct imported m = import_text(json);
        CHECK_INT(event_of(&m, "fusion")->category, CAT_OTHER);
        CHECK_INT(event_of(&m, "sgemm")->category, CAT_KERNEL);
        CHECK_INT(catch_find(&m.got, "fusion")->track.kind, TRACK_DEVICE);
        CHECK(catch_find(&m.got, "fusion")->track.id != catch_find(&m.got, "sgemm")->track.id);
        catch_close(&m.got);
        free(json);
    }
}

TEST(where_a_device_has_no_streams_its_operators_are_what_ran)
{
    struct imported m = import_text(HEAD PROCESS(3, "/device:TPU:2") THREAD(3, 1, "XLA Ops") THREAD(
        3, 2, "XLA Modules") X(3, 1, 5, 2, "fusion.1", "") X(3, 2, 5, 2, "jit_train", "") TAIL);
    const struct caught *op = catch_find(&m.got, "fusion.1");
    CHECK_INT(op->event.category, CAT_KERNEL);
    CHECK_INT(op->track.id >> 32, 2);
    CHECK_STR(op->track.name, "tpu2 XLA Ops");
    CHECK_INT(event_of(&m, "jit_train")->category, CAT_OTHER);
    catch_close(&m.got);
}

TEST(copies_and_collectives_on_streams_are_told_by_name_or_argument)
{
    struct imported m = import_text(HEAD DEVICE X(
        1, 15, 1, 2, "MemcpyH2D",
        "\"memcpy_details\":\"kind_src:pinned kind_dst:device size:4096 dest:0 async:1\"")
                                        X(1, 15, 4, 2, "Memset", "")
                                            X(1, 15, 7, 2, "ncclKernel_AllReduce_RING", "") TAIL);
    CHECK_INT(event_of(&m, "MemcpyH2D")->category, CAT_MEMCPY);
    CHECK_INT(event_of(&m, "MemcpyH2D")->value, 4096);
    CHECK_INT(event_of(&m, "Memset")->category, CAT_MEMSET);
    CHECK_INT(event_of(&m, "ncclKernel_AllReduce_RING")->category, CAT_COMM);
    catch_close(&m.got);
}

TEST(a_call_and_what_it_launched_have_the_same_link)
{
    struct imported m =
        import_text(HEAD DEVICE HOST X(1, 14, 5, 2, "sgemm", "\"correlation_id\":\"812\"")
                        X(701, 33, 1, 1, "cuLaunchKernel", "\"correlation_id\":\"812\"") TAIL);
    CHECK_INT(event_of(&m, "sgemm")->link, 812);
    CHECK_INT(event_of(&m, "cuLaunchKernel")->link, 812);
    CHECK_INT(event_of(&m, "cuLaunchKernel")->category, CAT_RUNTIME);
    catch_close(&m.got);
}

TEST(host_events_have_the_category_that_their_name_tells)
{
    static const struct {
        const char *name;
        enum event_category category;
    } all[] = {
        {"IteratorGetNextOp::DoCompute", CAT_LOADER},
        {"IteratorGetNext:IteratorGetNext", CAT_LOADER},
        {"Iterator::Model::ParallelMap", CAT_OP},
        {"cudaMemcpyAsync", CAT_RUNTIME},
        {"hipModuleLaunchKernel", CAT_RUNTIME},
        {"custom_op", CAT_OP},
        {"cuCustom", CAT_RUNTIME},
        {"grad/HorovodAllreduce_dense_0:HorovodAllreduce", CAT_COMM},
        {"CollectiveReduceV2:CollectiveReduceV2", CAT_COMM},
        {"$train.py:12 fit", CAT_PYTHON},
    };
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        char *json = test_printf(
            "%s{\"ph\":\"X\",\"pid\":701,\"tid\":33,\"ts\":1,\"dur\":2,\"name\":\"%s\"},%s",
            HEAD HOST, all[i].name, TAIL);
        struct imported m = import_text(json);
        CHECK_INT(event_of(&m, all[i].name)->category, all[i].category);
        catch_close(&m.got);
        free(json);
    }
}

TEST(steps_are_told_by_number_by_group_or_by_name)
{
    struct imported m = import_text(
        HEAD HOST X(701, 33, 0, 9, "TraceContext", "\"graph_type\":\"test\",\"step_num\":\"7\"")
            X(701, 33, 10, 9, "train", "\"step_num\":\"8\",\"group_id\":\"3\"")
                X(701, 33, 20, 9, "FunctionRun", "\"step_name\":\"9\",\"group_id\":\"4\"")
                    X(701, 33, 30, 9, "train 10", "") TAIL);
    CHECK_INT(count_kind(&m, EVENT_STEP), 4);
    CHECK_INT(event_of(&m, "TraceContext")->value, 7);
    CHECK_INT(event_of(&m, "TraceContext")->mode, MODE_EVAL);
    CHECK_INT(event_of(&m, "train")->value, 8);
    CHECK_INT(event_of(&m, "train")->mode, MODE_TRAIN);
    CHECK_INT(event_of(&m, "FunctionRun")->value, 9);
    CHECK_INT(event_of(&m, "train 10")->value, 10);
    catch_close(&m.got);
}

TEST(a_step_within_a_step_is_none)
{
    struct imported m = import_text(HEAD HOST X(701, 33, 0, 9, "train", "\"step_num\":\"8\"") X(
        701, 33, 2, 3, "FunctionRun", "\"step_name\":\"8\"") TAIL);
    CHECK_INT(event_of(&m, "train")->kind, EVENT_STEP);
    CHECK_INT(event_of(&m, "FunctionRun")->kind, EVENT_SPAN);
    catch_close(&m.got);
}

#define STEPS_LINE                                                                                 \
    DEVICE THREAD(1, 2, "Steps") X(1, 2, 0, 9, "4", "\"group_id\":\"0\"")                          \
        X(1, 2, 10, 9, "5", "\"group_id\":\"1\"") PROCESS(2, "/device:GPU:1")                      \
            THREAD(2, 2, "Steps") X(2, 2, 0, 9, "4", "")

TEST(the_line_of_steps_counts_where_no_thread_tells_them_and_once_for_all_devices)
{
    struct imported m = import_text(HEAD STEPS_LINE HOST X(701, 33, 0, 5, "a", "") TAIL);
    CHECK_INT(count_kind(&m, EVENT_STEP), 2);
    CHECK_INT(m.got.n, m.result.count[IMPORTED_KEPT]);
    for (size_t i = 0; i < m.got.n; i++)
        if (m.got.v[i].event.kind == EVENT_STEP) {
            CHECK_INT(m.got.v[i].track.kind, TRACK_THREAD);
            CHECK(m.got.v[i].event.value == 4 || m.got.v[i].event.value == 5);
        }
    catch_close(&m.got);
}

TEST(the_line_of_steps_is_only_shown_where_a_thread_tells_them)
{
    struct imported m =
        import_text(HEAD STEPS_LINE HOST X(701, 33, 0, 5, "train", "\"step_num\":\"4\"") TAIL);
    CHECK_INT(count_kind(&m, EVENT_STEP), 1);
    CHECK_INT(event_of(&m, "train")->kind, EVENT_STEP);
    catch_close(&m.got);
}

TEST(marked_operators_of_all_threads_become_phases)
{
    struct imported m =
        import_text(HEAD HOST THREAD(701, 34, "tf_Compute")
                        X(701, 33, 0, 10, "aws_marker-ForwardPass/a:MatMul", "")
                            X(701, 33, 30, 10, "aws_marker-ComputeGradient/a:M", "")
                                X(701, 34, 5, 28, "aws_marker-ForwardPass/b:Add", "")
                                    X(701, 34, 45, 5, "aws_marker-ApplyGradient/b:M", "") TAIL);
    const struct event *forward = event_of(&m, "forward"), *backward = event_of(&m, "backward");
    CHECK_INT(forward->at.ns, 0);
    CHECK_INT(forward->dur_ns, 30000); /* one of its operators ran on until 33 */
    CHECK_INT(forward->category, CAT_PHASE);
    CHECK_INT(backward->at.ns, 30000);
    CHECK_INT(backward->dur_ns, 20000);
    CHECK_INT(m.got.n, m.result.count[IMPORTED_KEPT]);
    catch_close(&m.got);
}

TEST(the_process_and_rank_are_those_of_the_hint)
{
    const struct import_ask ask = {.hint = {.has_rank = true, .rank = 3, .worker = "80807-host"}};
    struct imported m =
        import_with(&importer_tensorflow, HEAD HOST X(701, 33, 0, 9, "a", "") TAIL, ask, 0);
    const struct caught *rank = catch_find(&m.got, "process.rank");
    CHECK_INT(rank->event.value, 3);
    CHECK_INT(rank->track.pid, 80807);
    CHECK_INT(catch_find(&m.got, "a")->track.pid, 80807);
    CHECK_INT(m.result.rank, 3);
    catch_close(&m.got);
}

TEST(the_bytes_may_come_in_any_pieces)
{
    static const char json[] =
        HEAD STEPS_LINE HOST X(701, 33, 0, 5, "a", "\"step_num\":\"4\"") TAIL;
    for (size_t piece = 1; piece < 60; piece += 7) {
        struct imported m = import_with(&importer_tensorflow, json, (struct import_ask){0}, piece);
        CHECK_INT(m.rc, 0);
        CHECK_INT(m.got.n, 4);
        CHECK_INT(event_of(&m, "a")->kind, EVENT_STEP);
        catch_close(&m.got);
    }
}

TEST(its_traces_are_known_from_those_of_pytorch)
{
    static const char tf[] = HEAD HOST TAIL;
    static const char torch[] = "{\"schemaVersion\":1,\"traceEvents\":[{\"name\":\"/host:CPU\"}]}";
    static const char jax[] = "{\"traceEvents\":[" PROCESS(1, "/device:TPU:0") TAIL;
    CHECK(importer_sniff(tf, strlen(tf)) == &importer_tensorflow);
    CHECK(importer_sniff(jax, strlen(jax)) == &importer_tensorflow);
    CHECK(importer_sniff(torch, strlen(torch)) == &importer_kineto);
}

TEST(what_is_no_trace_is_refused)
{
    struct imported m = import_text("{\"traceEvents\":[]}");
    CHECK(m.rc != 0);
    CHECK_STR(m.e.msg, "the trace contains no events");
    catch_close(&m.got);
}
