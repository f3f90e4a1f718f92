/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"
#include "run/run_names.h"
#include "test.h"

TEST(files_of_sessions_are_numbered_from_the_second_on)
{
    char name[64];
    store_file_name(name, sizeof name, "metrics", 1, "fp");
    CHECK_STR(name, "metrics.fp");
    store_file_name(name, sizeof name, "metrics", 2, "fp");
    CHECK_STR(name, "metrics-2.fp");
    store_file_name(name, sizeof name, "node", 12, "json");
    CHECK_STR(name, "node-12.json");
}

TEST(names_keep_only_what_is_safe_in_a_path)
{
    char out[16];
    name_sanitize(out, sizeof out, "../../etc/passwd");
    CHECK_STR(out, "etc-passwd");
    name_sanitize(out, sizeof out, "a b\nc\xc3\xa9");
    CHECK_STR(out, "a-b-c--");
    name_sanitize(out, sizeof out, "0123456789abcdefghij");
    CHECK_STR(out, "0123456789abcde");
}

TEST(paths_in_a_run_are_composed_in_one_place)
{
    char path[PATH_LEN];
    struct err e;
    OK(run_path(path, "runs/r1", RUN_ABOUT, &e));
    CHECK_STR(path, "runs/r1/run.json");
    OK(run_node_path(path, "runs/r1", "n-1", &e));
    CHECK_STR(path, "runs/r1/node-n-1");
    OK(run_session_path(path, "runs/r1/node-a", RUN_NODE_STEM, 2, RUN_NODE_END, &e));
    CHECK_STR(path, "runs/r1/node-a/node-2.json");
    OK(run_hidden_path(path, "runs", 0x12ab, &e));
    CHECK_STR(path, "runs/.import-000012ab");
}

TEST(a_path_that_is_too_long_is_refused)
{
    char path[PATH_LEN], run[PATH_LEN];
    struct err e;
    memset(run, 'x', sizeof run);
    run[sizeof run - 1] = 0;
    CHECK_INT(run_path(path, run, RUN_ABOUT, &e), ERR_LIMIT);
    CHECK_INT(run_node_path(path, run, "n", &e), ERR_LIMIT);
}

TEST(folders_of_nodes_are_told_from_other_files)
{
    CHECK_STR(run_node_id("node-gpu-07"), "gpu-07");
    CHECK(!run_node_id("node.json"));
    CHECK(!run_node_id("derived"));
}

TEST(detail_windows_are_told_from_other_files)
{
    char stem[64];
    run_window_stem(stem, sizeof stem, 12, false, 3);
    CHECK_STR(stem, "trace-12-3");
    run_window_stem(stem, sizeof stem, 12, true, 3);
    CHECK_STR(stem, "trace-12-python-3");
    CHECK(run_is_window("trace-12-3.fp"));
    CHECK(run_is_window("trace-12-python-3-2.fp"));
    CHECK(!run_is_window("trace-12-3.tail"));
    CHECK(!run_is_window("trace-.fp"));
    CHECK(!run_is_window("events.fp"));
}

TEST(a_file_belongs_to_the_session_that_its_name_ends_in)
{
    CHECK(run_is_of_session("metrics.fp", 1));
    CHECK(!run_is_of_session("metrics-2.fp", 1));
    CHECK(run_is_of_session("metrics-2.fp", 2));
    CHECK(!run_is_of_session("metrics-21.fp", 2));
    CHECK(!run_is_of_session("metrics.fp", 2));
    CHECK(run_is_of_session("trace-12-2.fp", 1));
    CHECK(!run_is_of_session("trace-12-2.fp", 2));
    CHECK(run_is_of_session("trace-12-python-3-2.fp", 2));
    CHECK(run_is_of_session("tensors-0-5-12-2.npz", 1));
    CHECK(!run_is_of_session("tensors-0-5-12-2.npz", 2));
    CHECK(run_is_of_session("tensors-0-5-12-0-2.npz", 2));
}

TEST(names_of_saved_tensors_are_read_back)
{
    static const char *const others[] = {
        "tensors-0-5-12.npz",     "tensors-0-5-12-0.fp",          "tensors-0-5-12-0-1.npz",
        "tensors-0-05-12-0.npz",  "tensors--1-5-12-0.npz",        "tensors-0-5-12-0-2-3.npz",
        "tensors-0-5-12-x.npz",   ".tensors-0-5-12-0.npz",        "tensors-99999999999-5-12-0.npz",
        "tensors-0-5-12-0.npz.1", "tensors-4294967295-0-0-0.npz",
    };
    const struct run_saved x = {.rank = 3, .step = 1000000, .pid = 42, .k = 7};
    struct run_saved is;
    unsigned session;
    char name[64];
    run_saved_name(name, sizeof name, &x, 1);
    CHECK_STR(name, "tensors-3-1000000-42-7.npz");
    run_saved_name(name, sizeof name, &x, 12);
    CHECK_STR(name, "tensors-3-1000000-42-7-12.npz");
    CHECK(run_saved_parse(name, &is, &session));
    CHECK_INT(session, 12);
    CHECK(is.rank == 3 && is.step == 1000000 && is.pid == 42 && is.k == 7);
    CHECK_INT(run_file_kind(name, true), RUN_FILE_SAVED);
    CHECK_INT(run_file_kind(name, false), RUN_FILE_OTHER);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        CHECK_INT(run_file_kind(others[i], true), RUN_FILE_OTHER);
}
