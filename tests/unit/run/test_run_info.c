/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>

#include "base/mem.h"
#include "query/runkit.h"
#include "run/run_info.h"
#include "test.h"

static const char *base_name(const char *path)
{
    return strrchr(path, '/') + 1;
}

static void expect_found(const char *ref, const char *folder)
{
    char path[PATH_LEN];
    struct err e;
    OK(run_find(test_tmpdir(), ref, path, &e));
    CHECK_STR(base_name(path), folder);
}

static void three_runs(void)
{
    kit_run("train-20260101-000000-aaaa", "train", "id-1", 100);
    kit_run("train-20260102-000000-bbbb", "train", "id-2", 300);
    kit_run("eval-20260101-120000-cccc", "eval", "id-3", 200);
}

/* ---- finding ---- */

TEST(a_run_is_found_by_folder_id_name_prefix_and_last)
{
    three_runs();
    expect_found("last", "train-20260102-000000-bbbb");
    expect_found("train-20260101-000000-aaaa", "train-20260101-000000-aaaa");
    expect_found("id-1", "train-20260101-000000-aaaa");
    expect_found("eval", "eval-20260101-120000-cccc");
    expect_found("train", "train-20260102-000000-bbbb"); /* of several the newest */
    expect_found("train-20260101", "train-20260101-000000-aaaa");
    expect_found("ev", "eval-20260101-120000-cccc");
}

TEST(a_run_is_found_by_its_path_wherever_it_is)
{
    char path[PATH_LEN];
    struct err e;
    const char *run = kit_run("elsewhere/deep/run", "x", "id", 1);
    OK(run_find("/nonexistent", run, path, &e));
    CHECK_STR(path, run);
    CHECK(chdir(kit_path("elsewhere/deep")) == 0);
    OK(run_find("/nonexistent", "run", path, &e));
    OK(run_find("/nonexistent", "./run/", path, &e));
}

TEST(what_is_not_found_gets_a_sentence_that_helps)
{
    char path[PATH_LEN];
    struct err e;
    CHECK_INT(run_find(kit_path("none"), "last", path, &e), ERR_NOT_FOUND);
    CHECK(strstr(e.msg, "no runs in"));
    three_runs();
    CHECK_INT(run_find(test_tmpdir(), "tarin", path, &e), ERR_NOT_FOUND);
    CHECK(strstr(e.msg, "'tarin'") && strstr(e.msg, "did you mean 'train"));
    CHECK_INT(run_find(test_tmpdir(), "something-else", path, &e), ERR_NOT_FOUND);
    CHECK(strstr(e.msg, "train-20260102-000000-bbbb") && !strstr(e.msg, "did you mean"));
    CHECK_INT(run_find(test_tmpdir(), "/no/such/folder", path, &e), ERR_SYS);
    CHECK(strstr(e.msg, "No such file"));
    kit_mkdir(kit_path("plain"));
    CHECK_INT(run_find(test_tmpdir(), kit_path("plain"), path, &e), ERR_NOT_FOUND);
    CHECK(strstr(e.msg, "not a run"));
    CHECK(run_find(test_tmpdir(), "", path, &e) < 0);
}

TEST(runs_are_listed_newest_first_and_other_things_are_not)
{
    struct arena a = {0};
    struct run_listed *runs;
    struct err e;
    size_t n;
    three_runs();
    kit_mkdir(kit_path("not-a-run"));
    kit_save(kit_path("file"), "x", 1);
    kit_run(".hidden", "h", "h", 999);
    OK(run_list(test_tmpdir(), &a, &runs, &n, &e));
    CHECK_INT(n, 3);
    CHECK_STR(base_name(runs[0].path), "train-20260102-000000-bbbb");
    CHECK_STR(base_name(runs[1].path), "eval-20260101-120000-cccc");
    CHECK_STR(base_name(runs[2].path), "train-20260101-000000-aaaa");
    OK(run_list(kit_path("none"), &a, &runs, &n, &e));
    CHECK_INT(n, 0);
    arena_free(&a);
}

TEST(the_folder_of_runs_comes_from_the_option_then_the_environment)
{
    setenv("FOOTPLATE_DIR", "/from/env", 1);
    CHECK_STR(runs_folder("given"), "given");
    CHECK_STR(runs_folder(NULL), "/from/env");
    CHECK_STR(runs_folder(""), "/from/env");
    unsetenv("FOOTPLATE_DIR");
    CHECK_STR(runs_folder(NULL), "footplate-runs");
}

TEST(a_damaged_run_json_does_not_hide_the_run_from_the_list)
{
    struct arena a = {0};
    struct run_listed *runs;
    char path[PATH_LEN];
    struct err e;
    size_t n;
    three_runs();
    kit_save(kit_path("eval-20260101-120000-cccc/run.json"), "{\"name\": ", 9);
    OK(run_list(test_tmpdir(), &a, &runs, &n, &e));
    CHECK_INT(n, 3);
    OK(run_find(test_tmpdir(), "eval", path, &e));
    struct run_info info;
    CHECK_INT(run_info_read(&info, path, &a, &e), ERR_FORMAT);
    CHECK(strstr(e.msg, "run.json") && strstr(e.msg, "line 1"));
    arena_free(&a);
}

/* ---- descriptions ---- */

static struct run_info info_of(const char *run, struct arena *a)
{
    struct run_info info;
    struct err e;
    OK(run_info_read(&info, run, a, &e));
    return info;
}

TEST(a_run_json_that_is_another_thing_is_refused_in_a_sentence)
{
    static const char *const texts[] = {
        "",
        "[]",
        "{}",
        "{\"format_version\": 0}",
        "{\"format_version\": \"1\"}",
        "\xff\xfe",
        "{\"format_version\": 1, \"format_version\": 1}",
    };
    const char *run = kit_run("r", "n", "id", 1);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct arena a = {0};
        struct run_info info;
        struct err e;
        kit_save(kit_path("r/run.json"), texts[i], strlen(texts[i]));
        CHECK_INT(run_info_read(&info, run, &a, &e), ERR_FORMAT);
        CHECK(strstr(e.msg, "run.json"));
        arena_free(&a);
    }
}

TEST(a_run_of_a_newer_version_is_refused_in_a_sentence)
{
    struct arena a = {0};
    struct run_info info;
    struct err e;
    const char *run = kit_run("r", "n", "id", 1);
    const char *text = "{\"format_version\": 2, \"name\": \"x\"}";
    kit_save(kit_path("r/run.json"), text, strlen(text));
    CHECK_INT(run_info_read(&info, run, &a, &e), ERR_VERSION);
    CHECK(strstr(e.msg, "version 2") && strstr(e.msg, "newer"));
    arena_free(&a);
}

TEST(a_node_is_described_by_its_json)
{
    struct arena a = {0};
    const char *run = kit_run("r", "n", "id", 50);
    kit_node(run, "h1", 1,
             "{\"status\": \"interrupted\", \"why\": \"SIGTERM\", \"host\": \"h1\", \"cores\": 96,"
             "\"gpus\": [{\"entity\": \"gpu0\", \"name\": \"H200\", \"memory_bytes\": 5}, 7],"
             "\"launcher\": {\"name\": \"slurm\", \"rank\": 3}, \"start_ns\": 60, \"end_ns\": 90,"
             "\"exit_status\": 143, \"self\": {\"cpu_s\": 1.5, \"bytes_written\": 10}}");
    const struct run_info i = info_of(run, &a);
    CHECK_INT(i.n_nodes, 1);
    const struct node_info *n = &i.nodes[0];
    CHECK_STR(n->id, "h1");
    CHECK_INT(n->session, 1);
    CHECK_INT(n->status, RUN_INTERRUPTED);
    CHECK_STR(n->why, "SIGTERM");
    CHECK_INT(n->cores, 96);
    CHECK_INT(n->n_gpus, 2);
    CHECK_STR(n->gpus[0].name, "H200");
    CHECK_STR(n->gpus[1].name, ""); /* no object: nothing known */
    CHECK_STR(n->launcher, "slurm");
    CHECK(n->rank == 3 && n->world_size == -1);
    NEAR(n->self_cpu_s, 1.5, 0);
    CHECK_INT(i.exit_status, 143);
    CHECK_INT(i.status, RUN_INTERRUPTED);
    CHECK(i.start.ns == 50 && i.end.ns == 90);
    arena_free(&a);
}

TEST(fields_of_the_wrong_type_are_not_known_instead_of_wrong)
{
    struct arena a = {0};
    const char *run = kit_run("r", "n", "id", 1);
    kit_node(run, "h", 1,
             "{\"status\": 5, \"host\": {}, \"cores\": \"many\", \"gpus\": \"none\","
             "\"launcher\": [], \"exit_status\": \"0\", \"self\": null}");
    const struct run_info i = info_of(run, &a);
    CHECK_STR(i.nodes[0].host, "");
    CHECK_INT(i.nodes[0].cores, 0);
    CHECK_INT(i.nodes[0].exit_status, -1);
    CHECK(isnan(i.nodes[0].self_cpu_s));
    CHECK_INT(i.nodes[0].status, RUN_DIED);
    arena_free(&a);
}

TEST(times_that_no_clock_shows_are_not_known)
{
    static const char *const far[] = {"9223372036854775807", "-9223372036854775808",
                                      "4611686018427387904"};
    for (size_t i = 0; i < sizeof far / sizeof far[0]; i++) {
        struct arena a = {0};
        char text[256];
        const char *run = kit_run("r", "n", "id", 50);
        snprintf(text, sizeof text,
                 "{\"status\": \"finished\", \"start_ns\": %s, \"end_ns\": %s, \"cores\": %s,"
                 "\"interval_ns\": %s, \"memory_bytes\": %s, \"exit_status\": %s}",
                 far[i], far[i], far[i], far[i], far[i], far[i]);
        kit_node(run, "h", 1, text);
        snprintf(text, sizeof text, "{\"format_version\": 1, \"start_ns\": %s}", far[i]);
        kit_save(kit_path("r/run.json"), text, strlen(text));
        const struct run_info info = info_of(run, &a);
        CHECK(clock_fits(info.start.ns) && clock_fits(info.end.ns));
        const struct node_info *n = &info.nodes[0];
        CHECK(n->start.ns == 0 && n->end.ns == 0 && n->interval_ns == 0);
        CHECK(n->cores == 0 && n->memory_bytes == 0 && n->exit_status == -1);
        arena_free(&a);
    }
}

/* ---- status ---- */

static void old_lock(const char *run, const char *node)
{
    kit_save(kit_path("%s/node-%s/lock", base_name(run), node), "", 0);
}

TEST(a_recorder_that_vanished_died)
{
    struct arena a = {0};
    const char *run = kit_run("r", "n", "id", 1);
    kit_node(run, "h", 1, "{\"status\": \"running\"}");
    old_lock(run, "h");
    const struct run_info i = info_of(run, &a);
    CHECK_INT(i.nodes[0].status, RUN_DIED);
    CHECK(strstr(i.nodes[0].why, "without closing"));
    CHECK_INT(i.status, RUN_DIED);
    CHECK_INT(i.exit_status, -1);
    arena_free(&a);
}

TEST(a_recorder_that_holds_its_lock_is_running)
{
    struct arena a = {0};
    const char *run = kit_run("r", "n", "id", 1);
    kit_node(run, "h", 1, "{\"status\": \"running\"}");
    old_lock(run, "h");
    const int fd = open(kit_path("r/node-h/lock"), O_RDWR);
    CHECK(fd >= 0 && flock(fd, LOCK_EX) == 0);
    CHECK_INT(info_of(run, &a).nodes[0].status, RUN_RUNNING);
    CHECK_INT(info_of(run, &a).status, RUN_RUNNING);
    close(fd);
    CHECK_INT(info_of(run, &a).status, RUN_DIED);
    arena_free(&a);
}

TEST(without_a_lock_the_age_of_the_data_decides)
{
    struct arena a = {0};
    struct buf b = {0};
    const char *run = kit_run("r", "n", "id", 1);
    kit_node(run, "h", 1, "{\"status\": \"running\"}");
    kit_metrics_died(run, "h", &b);
    CHECK_INT(info_of(run, &a).status, RUN_RUNNING); /* written this moment */
    const struct utimbuf old = {1000000, 1000000};
    CHECK(utime(kit_path("r/node-h/metrics.fp"), &old) == 0);
    CHECK(utime(kit_path("r/node-h/metrics.tail"), &old) == 0);
    CHECK_INT(info_of(run, &a).status, RUN_DIED);
    arena_free(&a);
}

TEST(a_node_that_restarted_counts_by_its_latest_session)
{
    struct arena a = {0};
    const char *run = kit_run("r", "n", "id", 1);
    kit_node(run, "h", 1, "{\"status\": \"running\", \"start_ns\": 10}");
    kit_node(run, "h", 2, "{\"status\": \"finished\", \"exit_status\": 0, \"start_ns\": 20}");
    const struct run_info i = info_of(run, &a);
    CHECK_INT(i.n_nodes, 2);
    CHECK_INT(i.nodes[0].session, 1);
    CHECK_INT(i.nodes[0].status, RUN_DIED);
    CHECK_INT(i.nodes[1].session, 2);
    CHECK_INT(i.status, RUN_FINISHED);
    CHECK_INT(i.exit_status, 0);
    arena_free(&a);
}

TEST(a_lock_belongs_to_the_latest_session_alone)
{
    struct arena a = {0};
    const char *run = kit_run("r", "n", "id", 1);
    kit_node(run, "h", 1, "{\"status\": \"running\"}");
    kit_node(run, "h", 2, "{\"status\": \"running\"}");
    old_lock(run, "h");
    const int fd = open(kit_path("r/node-h/lock"), O_RDWR);
    CHECK(fd >= 0 && flock(fd, LOCK_EX) == 0);
    const struct run_info i = info_of(run, &a);
    CHECK_INT(i.nodes[0].status, RUN_DIED);
    CHECK_INT(i.nodes[1].status, RUN_RUNNING);
    CHECK(strstr(i.nodes[0].why, "without closing"));
    close(fd);
    arena_free(&a);
}

TEST(the_worst_node_is_the_status_of_the_run)
{
    static const struct {
        const char *a, *b;
        enum run_status want;
    } rows[] = {
        {"finished", "finished", RUN_FINISHED},  {"finished", "failed", RUN_FAILED},
        {"interrupted", "failed", RUN_FAILED},   {"stopped", "interrupted", RUN_INTERRUPTED},
        {"stopped", "finished", RUN_STOPPED},    {"failed", "running", RUN_DIED},
        {"finished", "something new", RUN_DIED},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct arena a = {0};
        const char *run = kit_run("r", "n", "id", 1);
        kit_node(run, "x", 1, arena_printf(&a, "{\"status\": \"%s\"}", rows[i].a));
        kit_node(run, "y", 1, arena_printf(&a, "{\"status\": \"%s\"}", rows[i].b));
        old_lock(run, "y");
        CHECK_INT(info_of(run, &a).status, rows[i].want);
        arena_free(&a);
    }
}

TEST(the_exit_status_is_that_of_the_node_that_failed_first)
{
    struct arena a = {0};
    const char *run = kit_run("r", "n", "id", 1);
    kit_node(run, "x", 1, "{\"status\": \"failed\", \"exit_status\": 1, \"end_ns\": 900}");
    kit_node(run, "y", 1, "{\"status\": \"failed\", \"exit_status\": 137, \"end_ns\": 500}");
    kit_node(run, "z", 1, "{\"status\": \"finished\", \"exit_status\": 0, \"end_ns\": 100}");
    CHECK_INT(info_of(run, &a).exit_status, 137);
    arena_free(&a);
}

TEST(a_node_that_joined_late_is_there_with_its_own_start)
{
    struct arena a = {0};
    const char *run = kit_run("r", "n", "id", 1000);
    kit_node(run, "10", 1, "{\"status\": \"finished\", \"start_ns\": 1000, \"end_ns\": 5000}");
    kit_node(run, "9", 1, "{\"status\": \"finished\", \"start_ns\": 3000, \"end_ns\": 6000}");
    const struct run_info i = info_of(run, &a);
    CHECK_STR(i.nodes[0].id, "9"); /* numbers by value */
    CHECK_INT(i.nodes[0].start.ns, 3000);
    CHECK(i.start.ns == 1000 && i.end.ns == 6000);
    arena_free(&a);
}
