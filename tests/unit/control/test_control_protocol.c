/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "control/control_client.h"
#include "test.h"

static int parse(const char *text, struct control_request *out)
{
    struct err e;
    return control_parse(text, strlen(text), out, &e);
}

TEST(requests_are_read_with_their_values)
{
    struct control_request r;
    CHECK_INT(parse("interval=100ms", &r), 0);
    CHECK_INT(r.kind, CONTROL_INTERVAL);
    CHECK_INT(r.number, 100 * NS_PER_MS);
    CHECK_INT(parse("monitoring=off", &r), 0);
    CHECK_INT(r.kind, CONTROL_MONITORING);
    CHECK_INT(r.number, 0);
    CHECK_INT(parse("monitoring=on", &r), 0);
    CHECK_INT(r.number, 1);
    CHECK_INT(parse("detail=now:3,+5s:2s", &r), 0);
    CHECK_INT(r.kind, CONTROL_DETAIL);
    CHECK_INT(r.detail.n, 2);
    CHECK_INT(r.detail.v[0].steps, 3);
    CHECK_INT(parse("detail=off", &r), 0);
    CHECK_INT(r.detail.n, 0);
    CHECK_INT(parse("stop", &r), 0);
    CHECK_INT(r.kind, CONTROL_STOP);
    CHECK_INT(parse("status", &r), 0);
    CHECK_INT(r.kind, CONTROL_STATUS);
}

TEST(what_cannot_be_set_is_refused_and_leaves_the_request_alone)
{
    static const char *const rows[] = {
        "",          "interval",     "interval=",        "interval=9ms",   "interval=61s",
        "stop=",     "stop=now",     "monitoring",       "monitoring=yes", "monitoring=",
        "speed",     "status\t",     "interval=100ms\r", "Interval=1s",    "=",
        "stop ",     "interval=-1s", "\xff\xfe",         "detail",         "detail=",
        "detail=on",
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct control_request r = {.kind = CONTROL_STATUS, .number = 77};
        if (parse(rows[i], &r) != ERR_USAGE)
            test_fail(__FILE__, __LINE__, "'%s' was taken", rows[i]);
        CHECK_INT(r.number, 77);
    }
    char longer[CONTROL_LINE + 10];
    struct control_request r;
    struct err e;
    memset(longer, 'a', sizeof longer);
    CHECK_INT(control_parse(longer, sizeof longer, &r, &e), ERR_USAGE);
    CHECK_INT(control_parse("st\0op", 5, &r, &e), ERR_USAGE);
}

TEST(the_path_of_a_socket_depends_on_run_and_node_and_differs_for_each)
{
    char a[CONTROL_PATH], b[CONTROL_PATH];
    setenv("XDG_RUNTIME_DIR", test_tmpdir(), 1);
    CHECK(control_path(a, 0, getuid(), "run", "node"));
    CHECK(control_path(b, 0, getuid(), "run", "node"));
    CHECK_STR(a, b);
    CHECK(strncmp(a, test_tmpdir(), strlen(test_tmpdir())) == 0);
    CHECK(control_path(b, 0, getuid(), "ru", "nnode"));
    CHECK(strcmp(a, b) != 0);
}

TEST(a_folder_that_does_not_exist_has_no_path_and_the_folders_come_to_an_end)
{
    char path[CONTROL_PATH];
    setenv("XDG_RUNTIME_DIR", "relative", 1);
    CHECK(control_path(path, 0, getuid(), "run", "node"));
    CHECK_STR(path, "");
    CHECK(control_path(path, 2, getuid(), "run", "node"));
    CHECK(strncmp(path, "/tmp/footplate-", 15) == 0);
    CHECK(!control_path(path, 3, getuid(), "run", "node"));
}

TEST(a_run_that_is_not_being_recorded_is_not_found)
{
    static const char *const requests[] = {"status"};
    struct node_info node = {.id = "n", .status = RUN_FINISHED};
    const struct run_info info = {
        .path = test_tmpdir(), .name = "done", .id = "r", .nodes = &node, .n_nodes = 1};
    struct arena a = {0};
    struct control_answer *answers;
    struct err e;
    size_t n;
    const struct control_run_request q = {&info, NULL, requests, 1};
    CHECK_INT(control_run(&q, &a, &answers, &n, &e), ERR_NOT_FOUND);
    CHECK(strstr(e.msg, "'done' is not being recorded"));
    node.status = RUN_RUNNING;
    setenv("XDG_RUNTIME_DIR", test_tmpdir(), 1);
    CHECK_INT(control_run(&q, &a, &answers, &n, &e), ERR_NOT_FOUND);
    CHECK(strstr(e.msg, "no recorder of run 'done'"));
    CHECK_INT(n, 0);
    arena_free(&a);
}
