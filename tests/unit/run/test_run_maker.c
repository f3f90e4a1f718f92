/* SPDX-License-Identifier: Apache-2.0 */
#include "run/run_files.h"
#include "run/run_maker.h"
#include "run/storage.h"
#include "test.h"

static const char *const command[] = {"import", NULL};
static const struct run_about about = {
    .name = "made", .command = command, .directory = "", .git_commit = ""};

static size_t runs_in(const char *dir)
{
    struct arena a = {0};
    const char **paths;
    size_t n;
    struct err e;
    OK(run_list(dir, &a, &paths, &n, &e));
    arena_free(&a);
    return n;
}

static struct run_maker_node *add(struct run_maker *m, const char *id, unsigned session)
{
    struct run_maker_node *n;
    struct err e;
    OK(run_maker_node(m, id, session, (struct clock_tie){0}, &n, &e));
    OK(rundir_put_node(&m->dir, id, session, "{}", 2, &e));
    return n;
}

TEST(a_run_is_seen_when_it_is_placed_and_not_before)
{
    struct run_maker m;
    struct rundir out;
    struct arena a = {0};
    struct run_info info;
    struct err e;
    OK(run_maker_begin(&m, test_tmpdir(), &e));
    add(&m, "b", 1);
    add(&m, "a", 2); /* in any order */
    add(&m, "a", 1);
    OK(run_maker_flush(&m, &e));
    CHECK_INT(runs_in(test_tmpdir()), 0);
    OK(run_maker_close(&m, &e));
    OK(run_maker_place(&m, test_tmpdir(), "r", &about, &out, &e));
    run_maker_end(&m);
    CHECK_INT(runs_in(test_tmpdir()), 1);
    OK(run_info_read(&info, out.path, &a, &e));
    CHECK_INT(info.n_nodes, 3);
    for (size_t i = 0; i < info.n_nodes; i++) {
        struct store *s;
        OK(run_open_metrics(&s, &info, i, &e));
        CHECK(s->closed);
        store_close(s);
    }
    arena_free(&a);
}

TEST(a_detail_window_has_one_file_of_its_own)
{
    struct run_maker m;
    struct rundir out;
    struct arena a = {0};
    struct run_info info;
    struct run_event_file *files;
    struct writer *one, *two;
    size_t n;
    struct err e;
    OK(run_maker_begin(&m, test_tmpdir(), &e));
    struct run_maker_node *node = add(&m, "n", 1);
    OK(run_maker_window(node, 7, 1, &one, &e));
    OK(run_maker_window(node, 7, 1, &two, &e));
    CHECK(one == two);
    OK(run_maker_window(node, 7, 2, &two, &e));
    CHECK(one != two);
    OK(run_maker_close(&m, &e));
    OK(run_maker_place(&m, test_tmpdir(), NULL, &about, &out, &e));
    run_maker_end(&m);
    OK(run_info_read(&info, out.path, &a, &e));
    OK(run_event_files(&info, &a, &files, &n, &e));
    CHECK_INT(n, 3);
    CHECK(!files[0].detail && files[1].detail && files[2].detail);
    arena_free(&a);
}

TEST(a_run_that_is_given_up_leaves_nothing)
{
    struct run_maker m;
    char home[PATH_LEN];
    struct err e;
    OK(path_join(home, &e, "%s/new/runs", test_tmpdir()));
    OK(run_maker_begin(&m, home, &e));
    add(&m, "n", 1);
    CHECK(storage_has(home));
    run_maker_end(&m);
    CHECK(!storage_has(home));
    run_maker_end(&m); /* once more does no harm */
}

TEST(a_run_takes_the_place_of_no_other)
{
    struct run_maker m;
    struct rundir out;
    struct err e;
    for (int i = 0; i < 2; i++) {
        OK(run_maker_begin(&m, test_tmpdir(), &e));
        add(&m, "n", 1);
        OK(run_maker_close(&m, &e));
        CHECK_INT(run_maker_place(&m, test_tmpdir(), "same", &about, &out, &e), i ? ERR_BUSY : 0);
        run_maker_end(&m);
    }
    CHECK_INT(runs_in(test_tmpdir()), 1);
}
