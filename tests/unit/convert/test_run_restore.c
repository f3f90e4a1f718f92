/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "convert/run_restore.h"
#include "query/run.h"
#include "test.h"

static const struct run_about otherwise = {.name = "other",
                                           .command = (const char *const[]){NULL},
                                           .directory = "",
                                           .git_commit = "",
                                           .start = {5 * NS_PER_S}};

static const char *home(void)
{
    static char path[PATH_LEN];
    snprintf(path, sizeof path, "%s/runs", test_tmpdir());
    mkdir(path, 0700);
    return path;
}

static void add_node(struct run_restore *m, const char *id, unsigned session, const char *about)
{
    const struct remake_node n = {.id = id,
                                  .session = session,
                                  .start = {NS_PER_S},
                                  .end = {9 * NS_PER_S},
                                  .about = about,
                                  .about_len = about ? strlen(about) : 0};
    m->remake.ops->node(&m->remake, &n);
}

static struct sink *sink_of(struct run_restore *m, const char *node)
{
    const struct remake_place p = {node, 1, REMAKE_METRICS, 0, 0};
    return m->remake.ops->sink(&m->remake, &p);
}

TEST(a_run_has_the_descriptions_that_it_was_given)
{
    static const char run_json[] =
        "{\"name\": \"mine\", \"command\": [\"a\", \"b\"], \"labels\": {\"k\": \"v\"}}";
    struct run_restore m;
    struct rundir dir;
    struct run_info info;
    struct arena a = {0};
    struct err e;
    OK(run_restore_begin(&m, home(), &e));
    m.remake.ops->run(&m.remake, run_json, strlen(run_json));
    add_node(&m, "n1", 1,
             "{\"id\": \"old\", \"session\": 7, \"status\": \"failed\", \"cores\": 12}");
    add_node(&m, "n2", 1, NULL);
    add_node(&m, "n2", 1, NULL); /* a recorder that is there already */
    OK(run_restore_flush(&m, &e));
    OK(run_restore_place(&m, home(), "r", &otherwise, &dir, &e));
    run_restore_end(&m);
    OK(run_info_read(&info, dir.path, &a, &e));
    CHECK_STR(info.name, "mine");
    CHECK_STR(info.command[1], "b");
    CHECK_STR(info.labels[0].value, "v");
    CHECK_INT(info.n_nodes, 2);
    CHECK_STR(info.nodes[0].id, "n1");
    CHECK_INT(info.nodes[0].session, 1);
    CHECK_INT(info.nodes[0].status, RUN_FAILED);
    CHECK_INT(info.nodes[0].cores, 12);
    CHECK_INT(info.nodes[1].status, RUN_FINISHED);
    CHECK_INT(info.nodes[1].end.ns, 9 * NS_PER_S);
    arena_free(&a);
}

TEST(without_a_description_the_run_has_that_of_the_caller)
{
    struct run_restore m;
    struct rundir dir;
    struct run_info info;
    struct arena a = {0};
    struct err e;
    OK(run_restore_begin(&m, home(), &e));
    add_node(&m, "n", 1, NULL);
    OK(run_restore_place(&m, home(), NULL, &otherwise, &dir, &e));
    run_restore_end(&m);
    OK(run_info_read(&info, dir.path, &a, &e));
    CHECK_STR(info.name, "other");
    arena_free(&a);
}

TEST(data_of_a_node_that_was_not_announced_goes_nowhere)
{
    struct run_restore m;
    struct err e;
    OK(run_restore_begin(&m, home(), &e));
    add_node(&m, "n", 1, NULL);
    CHECK(sink_of(&m, "n") != &m.nowhere);
    CHECK(sink_of(&m, "unknown") == &m.nowhere);
    run_restore_end(&m);
}

TEST(a_session_that_no_run_can_have_is_an_error_of_the_next_flush)
{
    struct run_restore m;
    struct err e;
    OK(run_restore_begin(&m, home(), &e));
    add_node(&m, "n", 0, NULL);
    CHECK_INT(run_restore_flush(&m, &e), ERR_LIMIT);
    CHECK(strstr(e.msg, "more recorders than a run can have"));
    run_restore_end(&m);
}

TEST(a_description_that_is_not_an_object_is_refused)
{
    struct run_restore m;
    struct rundir dir;
    struct err e;
    OK(run_restore_begin(&m, home(), &e));
    add_node(&m, "n", 1, "[1]");
    CHECK_INT(run_restore_place(&m, home(), "r", &otherwise, &dir, &e), ERR_FORMAT);
    run_restore_end(&m);
}
