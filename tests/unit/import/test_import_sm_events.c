/* SPDX-License-Identifier: Apache-2.0 */
/* test_import_sm_events.c - timelines of SageMaker's profiler become events. */
#include "import_run.h"

#define HEADER                                                                                     \
    "[\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":0,\"args\":"                               \
    "{\"start_time_since_epoch_in_micros\":1700000000000000}},\n"                                  \
    "{\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":0,\"args\":{\"sort_index\":0}},\n"
#define LANE(number, name)                                                                         \
    "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":" #number ",\"args\":{\"name\":\"" name       \
    "\"}},\n{\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":" #number                        \
    ",\"args\":{\"sort_index\":" #number "}},\n"

static struct imported import(const char *text, const char *worker, const char *path)
{
    struct import_ask ask = {.wall_minus_mono_ns = INT64_C(1700000000000000000)};
    ask.hint.path = path;
    snprintf(ask.hint.worker, sizeof ask.hint.worker, "%s", worker);
    return import_with(&importer_sagemaker_events, text, ask, 7);
}

TEST(lanes_of_steps_become_steps_with_mode_and_number)
{
    struct imported m = import(
        HEADER LANE(1, "Step:ModeKeys.TRAIN") LANE(2, "Step:ModeKeys.EVAL")
            LANE(3, "Step:ModeKeys.PREDICT")
                LANE(4, "Step:ModeKeys.GLOBAL") "{\"name\":\"Step:ModeKeys.TRAIN\",\"pid\":1,"
                                                "\"ph\":\"X\",\"ts\":12081597,\"dur\":83000,"
                                                "\"args\":{\"pid\":905,\"step_num\":\"2\"}},\n"
                                                "{\"name\":\"e\",\"pid\":2,\"ph\":\"X\",\"ts\":1,"
                                                "\"dur\":2,\"args\":{\"step_num\":7}},\n"
                                                "{\"name\":\"p\",\"pid\":3,\"ph\":\"X\",\"ts\":1,"
                                                "\"dur\":2,\"args\":{\"step_num\":8}},\n"
                                                "{\"name\":\"g\",\"pid\":4,\"ph\":\"X\",\"ts\":1,"
                                                "\"dur\":2,\"args\":{\"step_num\":9}}\n]\n",
        "905-algo-1", "x_pythontimeline.json");
    CHECK_INT(m.rc, 0);
    const struct caught *s = catch_find(&m.got, "Step:ModeKeys.TRAIN");
    CHECK_INT(s->event.kind, EVENT_STEP);
    CHECK_INT(s->event.mode, MODE_TRAIN);
    CHECK_INT(s->event.value, 2);
    CHECK_INT(s->event.at.ns, INT64_C(12081597000));
    CHECK_INT(s->event.dur_ns, 83000000);
    CHECK_INT(s->track.pid, 905);
    CHECK_INT(s->track.id, 905);
    CHECK_INT(catch_find(&m.got, "e")->event.mode, MODE_EVAL);
    CHECK_INT(catch_find(&m.got, "p")->event.mode, MODE_PREDICT);
    CHECK_INT(catch_find(&m.got, "g")->event.mode, MODE_TRAIN);
    CHECK_INT(catch_find(&m.got, "g")->event.value, 9);
    CHECK_INT(m.result.rank, -1);
    catch_close(&m.got);
}

TEST(passes_and_loaders_get_our_names_on_the_thread_that_trains)
{
    struct imported m = import(
        HEADER LANE(1, "Step:ModeKeys.TRAIN") LANE(2, "Forward") LANE(3, "Backward(post-forward)")
            LANE(4, "DataLoaderIter") LANE(5, "DataLoaderIterInitialize")
                LANE(6, "Forward-SubModuleInternal") "{\"name\":\"init\",\"pid\":5,\"ph\":\"X\","
                                                     "\"ts\":1,\"dur\":2,"
                                                     "\"args\":{\"pid\":9,\"num_workers\":4,\"pin_"
                                                     "memory\":true}},\n"
                                                     "{\"name\":\"ResNet\",\"pid\":2,\"ph\":\"X\","
                                                     "\"ts\":10,\"dur\":5,"
                                                     "\"args\":{\"pid\":9,\"step_num\":\"0\"}},\n"
                                                     "{\"name\":\"layer1.conv\",\"pid\":6,\"ph\":"
                                                     "\"X\",\"ts\":10,\"dur\":3,"
                                                     "\"args\":{\"pid\":9,\"step_num\":\"0\"}},\n"
                                                     "{\"name\":\"ResNet\",\"pid\":3,\"ph\":\"X\","
                                                     "\"ts\":15,\"dur\":5,\"args\":{\"pid\":9}},\n"
                                                     "{\"name\":\"_DataLoaderIter::GetNext\","
                                                     "\"pid\":4,\"ph\":\"X\",\"ts\":20,\"dur\":5,"
                                                     "\"args\":{\"pid\":9,\"worker_id\":1}}]",
        "3-algo-1", "x_pythontimeline.json");
    const struct caught *f = catch_find(&m.got, "forward"), *b = catch_find(&m.got, "backward");
    CHECK_INT(f->event.category, CAT_PHASE);
    CHECK_STR(f->event.args, "step_num=0\nname=ResNet");
    CHECK(track_same(&f->track, &b->track));
    CHECK(track_same(&f->track, &catch_find(&m.got, "data")->track));
    CHECK(track_same(&f->track, &catch_find(&m.got, "layer1.conv")->track));
    CHECK_INT(catch_find(&m.got, "layer1.conv")->event.kind, EVENT_SPAN);
    CHECK_INT(catch_find(&m.got, "loader.start")->event.dur_ns, 2000);
    CHECK_INT(catch_find(&m.got, "loader.num_workers")->event.value, 4);
    CHECK_INT(catch_find(&m.got, "loader.pin_memory")->event.value, 1);
    CHECK_INT(m.result.rank, 3); /* its process is 9: the number is a rank */
    CHECK_INT(catch_find(&m.got, "process.rank")->event.value, 3);
    CHECK(track_same(&f->track, &catch_find(&m.got, "process.rank")->track));
    catch_close(&m.got);
}

TEST(functions_of_cpu_and_gpu_become_operators_and_kernels)
{
    struct imported m = import(
        HEADER LANE(1, "cpu_functions") LANE(
            2, "gpu_functions-dev:1") "{\"name\":\"aten::conv2d\",\"pid\":1,\"ph\":\"X\",\"ts\":1,"
                                      "\"dur\":2,"
                                      "\"args\":{\"tid\":77,\"step_num\":5,\"device\":\"cpu\"}},\n"
                                      "{\"name\":\"sgemm\",\"pid\":2,\"ph\":\"X\",\"ts\":2,\"dur\":"
                                      "2,\"args\":{\"tid\":1}},\n"
                                      "{\"name\":\"ncclKernel_AllReduce\",\"pid\":2,\"ph\":\"X\","
                                      "\"ts\":4,\"dur\":2,"
                                      "\"args\":{\"tid\":1}}]",
        "12-algo-1", "x_pythontimeline.json");
    const struct caught *op = catch_find(&m.got, "aten::conv2d"), *k = catch_find(&m.got, "sgemm");
    CHECK_INT(op->event.category, CAT_OP);
    CHECK_INT(op->event.kind, EVENT_SPAN);
    CHECK_INT(op->track.id, 77);
    CHECK_INT(op->track.pid, 12);
    CHECK_INT(k->event.category, CAT_KERNEL);
    CHECK_INT(k->track.kind, TRACK_DEVICE);
    CHECK_INT(k->track.id >> 32, 1);
    CHECK_STR(k->track.name, "gpu1");
    CHECK_INT(catch_find(&m.got, "ncclKernel_AllReduce")->event.category, CAT_COMM);
    catch_close(&m.got);
}

TEST(lanes_numbered_from_0_and_named_again_before_each_event_are_the_same)
{
    struct imported m = import(
        HEADER LANE(
            0,
            "Step:ModeKeys.TRAIN") "{\"name\":\"a\",\"pid\":0,\"ph\":\"X\",\"ts\":1,\"dur\":1,"
                                   "\"args\":{\"step_num\":\"0\"}},\n" LANE(
                                       0,
                                       "Step:ModeKeys.TRAIN") "{\"name\":\"b\",\"pid\":0,\"ph\":"
                                                              "\"X\",\"ts\":3,\"dur\":1,"
                                                              "\"args\":{\"step_num\":\"1\"}}\n]",
        "5", "x_pythontimeline.json");
    CHECK_INT(count_kind(&m, EVENT_STEP), 2);
    CHECK_INT(catch_find(&m.got, "a")->event.at.ns, 1000);
    CHECK(track_same(&catch_find(&m.got, "a")->track, &catch_find(&m.got, "b")->track));
    catch_close(&m.got);
}

TEST(a_file_that_was_never_closed_gives_all_its_events)
{
    struct imported m = import(
        HEADER LANE(1, "Dataset") "{\"ph\":\"X\",\"name\":\"dataset::GetNext\",\"ts\":5,\"pid\":1,"
                                  "\"dur\":900,\"args\":{\"bytes_fetched\":64}},\n",
        "5", "x_model_timeline.json");
    CHECK_INT(m.rc, 0);
    const struct caught *v = catch_find(&m.got, "dataset::GetNext");
    CHECK_INT(v->event.category, CAT_LOADER);
    CHECK_INT(v->event.value, 64);
    CHECK_STR(v->track.name, "Dataset");
    catch_close(&m.got);
}

TEST(a_broken_event_is_passed_over)
{
    struct imported m = import(
        HEADER LANE(1, "Dataset") "{\"ph\":\"X\",\"name\":\"a\",\"ts\":5,\"pid\":1,\"dur\":9},\n"
                                  "{\"ph\":\"X\",\"name\": :},\n"
                                  "{\"ph\":\"X\",\"name\":\"b\",\"ts\":6,\"pid\":1,\"dur\":9}\n]",
        "5", "x_model_timeline.json");
    CHECK_INT(m.rc, 0);
    catch_find(&m.got, "a");
    catch_find(&m.got, "b");
    CHECK_INT(m.result.faults.unread, 1);
    catch_close(&m.got);
}

TEST(begins_and_ends_pair_up_by_lane)
{
    struct imported m = import(
        HEADER LANE(1, "grad_a") LANE(
            2, "grad_b") "{\"name\":\"NEGOTIATE_ALLREDUCE\",\"pid\":1,\"ph\":\"B\",\"ts\":10},\n"
                         "{\"name\":\"ALLREDUCE\",\"pid\":2,\"ph\":\"B\",\"ts\":11},\n"
                         "{\"ph\":\"E\",\"pid\":1,\"ts\":14},\n"
                         "{\"ph\":\"E\",\"pid\":2,\"ts\":13},\n"
                         "{\"name\":\"\",\"ph\":\"E\",\"pid\":2,\"ts\":15}]",
        "5", "x_horovod_timeline.json");
    const struct caught *a = catch_find(&m.got, "NEGOTIATE_ALLREDUCE");
    CHECK_INT(a->event.dur_ns, 4000);
    CHECK_INT(a->event.category, CAT_COMM);
    CHECK_STR(a->track.name, "grad_a");
    CHECK_INT(catch_find(&m.got, "ALLREDUCE")->event.dur_ns, 2000);
    CHECK_INT(m.result.count[IMPORTED_UNBEGUN], 1);
    catch_close(&m.got);
}

TEST(ticks_of_ranks_have_no_duration_whatever_they_say)
{
    struct imported m = import(
        HEADER LANE(
            1,
            "grad_a") "{\"name\": \"4\", \"pid\": 1, \"ph\": \"X\", \"ts\": 8440610, \"dur\": "
                      "812355471858},\n"
                      "{\"name\": \"5\", \"pid\": 1, \"ph\": \"X\", \"ts\": 8440611, \"dur\": 0},\n"
                      "{\"name\":\"CYCLE_START\",\"pid\":1,\"ph\":\"i\",\"ts\":0,\"s\":\"g\"}]",
        "5", "x_horovod_timeline.json");
    CHECK_INT(catch_find(&m.got, "4")->event.dur_ns, 0);
    CHECK_INT(catch_find(&m.got, "4")->event.category, CAT_COMM);
    CHECK_INT(m.result.count[IMPORTED_CAPPED], 1);
    CHECK_INT(catch_find(&m.got, "CYCLE_START")->event.kind, EVENT_MARK);
    CHECK_INT(m.result.last.ns, INT64_C(8440611000));
    catch_close(&m.got);
}

TEST(what_has_a_step_number_is_a_step_only_where_there_is_no_lane_of_steps)
{
    static const char mine[] = "{\"name\":\"mine\",\"pid\":9,\"ph\":\"X\",\"ts\":3,\"dur\":1,"
                               "\"args\":{\"step_num\":4}}]";
    char text[2048];
    snprintf(text, sizeof text, "%s%s", HEADER LANE(9, "my own phase"), mine);
    struct imported m = import(text, "5", "x_pythontimeline.json");
    CHECK_INT(catch_find(&m.got, "mine")->event.kind, EVENT_STEP);
    CHECK_INT(catch_find(&m.got, "mine")->event.value, 4);
    catch_close(&m.got);
    snprintf(text, sizeof text, "%s%s", HEADER LANE(1, "Step:ModeKeys.TRAIN"), mine);
    m = import(text, "5", "x_pythontimeline.json");
    CHECK_INT(catch_find(&m.got, "mine")->event.kind, EVENT_SPAN);
    CHECK_STR(catch_find(&m.got, "mine")->event.args, "step_num=4");
    catch_close(&m.got);
}

TEST(threads_that_are_declared_keep_their_events_and_names)
{
    struct imported m = import(
        HEADER LANE(
            1,
            "DataIterator") "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":3,\"args\":{"
                            "\"name\":\"it\"}},\n"
                            "{\"ph\":\"X\",\"name\":\"a\",\"ts\":5,\"pid\":1,\"tid\":3,\"dur\":9},"
                            "\n"
                            "{\"ph\":\"X\",\"name\":\"b\",\"ts\":5,\"pid\":1,\"tid\":4,\"dur\":9}]",
        "5", "x_model_timeline.json");
    const struct caught *a = catch_find(&m.got, "a"), *b = catch_find(&m.got, "b");
    CHECK(!track_same(&a->track, &b->track));
    CHECK_STR(catch_track(&m.got, a)->name, "it");
    CHECK_STR(catch_track(&m.got, b)->name, "DataIterator");
    catch_close(&m.got);
}

TEST(what_is_no_timeline_is_refused)
{
    struct imported m = import("{\"a\":1}", "5", "x.json");
    CHECK_INT(m.rc, ERR_FORMAT);
    CHECK(strstr(m.e.msg, "not a SageMaker timeline"));
    catch_close(&m.got);
    m = import(HEADER "]", "5", "x.json");
    CHECK_INT(m.rc, ERR_FORMAT);
    CHECK(strstr(m.e.msg, "no event"));
    catch_close(&m.got);
}

TEST(it_is_known_by_its_header)
{
    CHECK(importer_sniff(HEADER, strlen(HEADER)) == &importer_sagemaker_events);
}
