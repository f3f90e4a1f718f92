/* SPDX-License-Identifier: Apache-2.0 */
/* test_chrome_plain.c - Chrome traces of anything: no category that is known, no profiler's marks.
 * The importer of PyTorch's traces reads them. */
#include "import_run.h"

static struct imported import_text(const char *json)
{
    return import_with(&importer_kineto, json, (struct import_ask){0}, 0);
}

static const struct event *event_of(const struct imported *m, const char *name)
{
    return &catch_find(&m->got, name)->event;
}

static void check_two(const char *json)
{
    struct imported m = import_text(json);
    CHECK_INT(m.rc, 0);
    CHECK_INT(m.got.n, 2);
    CHECK_INT(event_of(&m, "a")->at.ns, 1500);
    CHECK_INT(event_of(&m, "a")->dur_ns, 2000);
    CHECK_INT(event_of(&m, "b")->at.ns, 10000);
    catch_close(&m.got);
}

#define A "{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":1.5,\"dur\":2}"
#define B "{\"ph\":\"X\",\"name\":\"b\",\"pid\":1,\"tid\":2,\"ts\":10,\"dur\":1}"

TEST(the_array_and_the_object_are_read_alike)
{
    check_two("[" A "," B "]");
    check_two("{\"traceEvents\":[" A "," B "]}");
    check_two("{\"otherData\":{\"version\":\"1\"},\"traceEvents\":[" A "," B
              "],\"displayTimeUnit\":\"ms\",\"systemTraceEvents\":\"...\"}");
}

TEST(an_array_that_is_not_closed_is_read)
{
    check_two("[" A "," B);
    check_two("[" A "," B ",");
    check_two("[" A ",\n" B ",\n{\"ph\":\"X\",\"na");
}

TEST(times_may_be_texts)
{
    struct imported m = import_text("[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,"
                                    "\"ts\":\"1700000000000000.125\",\"dur\":\"2.5\"}]");
    CHECK_INT(event_of(&m, "a")->at.ns, 1700000000000000125);
    CHECK_INT(event_of(&m, "a")->dur_ns, 2500);
    catch_close(&m.got);
}

TEST(events_without_a_thread_or_a_process_are_kept)
{
    struct imported m = import_text("[{\"ph\":\"X\",\"name\":\"no tid\",\"pid\":4,\"ts\":1},"
                                    "{\"ph\":\"X\",\"name\":\"no pid\",\"ts\":2}]");
    CHECK_INT(m.rc, 0);
    CHECK_INT(catch_find(&m.got, "no tid")->track.pid, 4);
    CHECK_INT(catch_find(&m.got, "no tid")->track.id, 0);
    CHECK_INT(event_of(&m, "no pid")->dur_ns, 0);
    catch_close(&m.got);
}

TEST(processes_and_threads_may_be_texts)
{
    struct imported m =
        import_text("[{\"ph\":\"X\",\"name\":\"a\",\"pid\":\"server\",\"tid\":\"main\",\"ts\":1},"
                    "{\"ph\":\"X\",\"name\":\"b\",\"pid\":\"server\",\"tid\":\"io\",\"ts\":2},"
                    "{\"ph\":\"X\",\"name\":\"c\",\"pid\":\"client\",\"tid\":\"main\",\"ts\":3}]");
    const struct caught *a = catch_find(&m.got, "a"), *b = catch_find(&m.got, "b");
    const struct caught *c = catch_find(&m.got, "c");
    CHECK_INT(a->track.pid, b->track.pid);
    CHECK(a->track.id != b->track.id);
    CHECK(a->track.pid != c->track.pid);
    CHECK_STR(catch_track(&m.got, a)->process, "server");
    CHECK_STR(catch_track(&m.got, b)->name, "io");
    catch_close(&m.got);
}

TEST(categories_that_are_not_known_become_other)
{
    struct imported m = import_text("[{\"ph\":\"X\",\"name\":\"a\",\"cat\":\"net,disk\",\"pid\":1,"
                                    "\"tid\":1,\"ts\":1,\"dur\":1}]");
    CHECK_INT(event_of(&m, "a")->category, CAT_OTHER);
    CHECK_INT(event_of(&m, "a")->kind, EVENT_SPAN);
    catch_close(&m.got);
}

TEST(begins_and_ends_nest_by_thread_and_need_no_name_at_the_end)
{
    struct imported m =
        import_text("[{\"ph\":\"B\",\"name\":\"outer\",\"pid\":1,\"tid\":1,\"ts\":1},"
                    "{\"ph\":\"B\",\"name\":\"inner\",\"pid\":1,\"tid\":1,\"ts\":2},"
                    "{\"ph\":\"B\",\"name\":\"other\",\"pid\":1,\"tid\":2,\"ts\":2},"
                    "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":5},"
                    "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":9},"
                    "{\"ph\":\"E\",\"pid\":1,\"tid\":2,\"ts\":3}]");
    CHECK_INT(event_of(&m, "outer")->dur_ns, 8000);
    CHECK_INT(event_of(&m, "inner")->dur_ns, 3000);
    CHECK_INT(event_of(&m, "other")->dur_ns, 1000);
    CHECK_INT(m.result.count[IMPORTED_UNBEGUN] + m.result.count[IMPORTED_UNENDED], 0);
    catch_close(&m.got);
}

TEST(moments_of_all_scopes_are_marks)
{
    struct imported m =
        import_text("[{\"ph\":\"i\",\"name\":\"thread\",\"pid\":1,\"tid\":1,\"ts\":1,\"s\":\"t\"},"
                    "{\"ph\":\"I\",\"name\":\"process\",\"pid\":1,\"tid\":1,\"ts\":2,\"s\":\"p\"},"
                    "{\"ph\":\"R\",\"name\":\"mark\",\"pid\":1,\"tid\":1,\"ts\":3}]");
    CHECK_INT(count_kind(&m, EVENT_MARK), 3);
    CHECK_INT(event_of(&m, "process")->at.ns, 2000);
    catch_close(&m.got);
}

TEST(each_number_of_a_counter_is_a_series)
{
    struct imported m = import_text("[{\"ph\":\"C\",\"name\":\"heap\",\"pid\":1,\"ts\":1,"
                                    "\"args\":{\"used\":7,\"free\":2.5,\"unit\":\"MB\"}}]");
    CHECK_INT(m.got.n, 2);
    CHECK_INT(event_of(&m, "heap.used")->kind, EVENT_REAL);
    NEAR(event_real(event_of(&m, "heap.used")), 7, 0);
    NEAR(event_real(event_of(&m, "heap.free")), 2.5, 0);
    catch_close(&m.got);
}

TEST(names_of_processes_and_threads_are_taken_from_metadata)
{
    struct imported m = import_text(
        "[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"Browser\"}},"
        "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":2,\"args\":{\"name\":\"Ui\"}},"
        "{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":1,\"tid\":2,\"args\":"
        "{\"sort_index\":-1}}," A "]");
    const struct track *t = catch_track(&m.got, catch_find(&m.got, "a"));
    CHECK_STR(t->process, "Browser");
    CHECK_STR(t->name, "Ui");
    CHECK_INT(m.result.count[IMPORTED_PHASES], 0);
    catch_close(&m.got);
}

TEST(arrows_of_the_program_are_a_moment_at_each_end)
{
    struct imported m = import_text(
        "[" A ",{\"ph\":\"s\",\"name\":\"go\",\"cat\":\"x\",\"id\":9,\"pid\":1,\"tid\":2,\"ts\":1},"
        "{\"ph\":\"f\",\"name\":\"stop\",\"cat\":\"x\",\"id\":9,\"pid\":1,\"tid\":3,\"ts\":4}]");
    CHECK_INT(event_of(&m, "go")->kind, EVENT_MARK);
    CHECK_INT(event_of(&m, "go")->link, 9);
    CHECK_INT(event_of(&m, "stop")->link, 9);
    CHECK(event_of(&m, "go")->value != event_of(&m, "stop")->value);
    catch_close(&m.got);
}

TEST(objects_and_samples_are_counted)
{
    static const char kinds[] = "NODPvVac";
    for (const char *p = kinds; *p; p++) {
        char *json =
            test_printf("[" A ",{\"ph\":\"%c\",\"name\":\"q\",\"cat\":\"x\",\"id\":\"0x1\","
                        "\"pid\":1,\"tid\":2,\"ts\":4}]",
                        *p);
        struct imported m = import_text(json);
        CHECK_INT(m.rc, 0);
        CHECK_INT(m.got.n, 1);
        CHECK_INT(m.result.count[IMPORTED_PHASES], 1);
        catch_close(&m.got);
        free(json);
    }
}

TEST(arguments_of_any_key_are_kept_as_lines)
{
    struct imported m = import_text("[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,"
                                    "\"args\":{\"url\":\"/x\",\"n\":3,\"ok\":true,\"no\":null}}]");
    CHECK_STR(event_of(&m, "a")->args, "url=/x\nn=3\nok=true");
    catch_close(&m.got);
}
