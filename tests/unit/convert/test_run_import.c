/* SPDX-License-Identifier: Apache-2.0 */
/* Runs made out of traces: complete, or not there at all. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "convert/run_import.h"
#include "query/run.h"
#include "test.h"

static const char trace[] = "{\"traceEvents\": ["
                            "{\"ph\": \"X\", \"name\": \"forward\", \"pid\": 1, \"tid\": 1, "
                            "\"ts\": 1700000000000000, \"dur\": 5},"
                            "{\"ph\": \"X\", \"name\": \"backward\", \"pid\": 1, \"tid\": 1, "
                            "\"ts\": 1700000000000010, \"dur\": 7}"
                            "]}";

static const char *put(const char *name, const char *text)
{
    static char path[PATH_LEN];
    struct err e;
    snprintf(path, sizeof path, "%s/%s", test_tmpdir(), name);
    OK(file_replace(path, text, strlen(text), &e));
    return path;
}

static const char *home(void)
{
    static char path[PATH_LEN];
    snprintf(path, sizeof path, "%s/runs", test_tmpdir());
    mkdir(path, 0700);
    return path;
}

static size_t count_entries(const char *folder)
{
    size_t n = 0;
    DIR *d = opendir(folder);
    for (const struct dirent *x; d && (x = readdir(d));)
        n += strcmp(x->d_name, ".") != 0 && strcmp(x->d_name, "..") != 0;
    if (d)
        closedir(d);
    return n;
}

static const struct run_about about = {
    .name = "mine", .command = (const char *const[]){"x", NULL}, .directory = "", .git_commit = ""};

TEST(a_trace_becomes_a_run_that_can_be_opened)
{
    struct folder from;
    struct run_import m;
    struct rundir dir;
    struct run *r;
    struct err e;
    OK(folder_open(&from, put("a.json", trace), NULL, &e));
    CHECK(!run_import_is_export(&from));
    OK(run_import_begin(&m, home(), &from, &e));
    OK(run_import_read(&m, &e));
    CHECK_INT(m.sum.count[IMPORTED_KEPT], 2);
    CHECK_INT(m.n_nodes, 1);
    OK(run_import_place(&m, home(), "imported", &about, &dir, &e));
    run_import_end(&m);
    folder_close(&from);
    CHECK_STR(dir.id, "imported");
    CHECK_INT(count_entries(home()), 1);
    OK(run_open(&r, dir.path, &e));
    CHECK_STR(run_get_info(r)->name, "mine");
    CHECK_INT(run_get_info(r)->n_nodes, 1);
    CHECK_INT(run_get_info(r)->status, RUN_FINISHED);
    run_close(r);
}

TEST(an_import_that_is_given_up_leaves_nothing)
{
    struct folder from;
    struct run_import m;
    struct err e;
    OK(folder_open(&from, put("a.json", trace), NULL, &e));
    OK(run_import_begin(&m, home(), &from, &e));
    OK(run_import_read(&m, &e));
    run_import_end(&m);
    folder_close(&from);
    CHECK_INT(count_entries(home()), 0);
}

TEST(a_file_that_is_not_a_trace_is_an_error)
{
    struct folder from;
    struct run_import m;
    struct err e;
    OK(folder_open(&from, put("a.json", "{\"x\": 1}"), NULL, &e));
    OK(run_import_begin(&m, home(), &from, &e));
    CHECK_INT(run_import_read(&m, &e), ERR_FORMAT);
    run_import_end(&m);
    folder_close(&from);
    CHECK_INT(count_entries(home()), 0);
}

TEST(in_a_folder_a_broken_trace_does_not_stop_the_others)
{
    struct folder from;
    struct run_import m;
    struct rundir dir;
    struct run *r;
    struct err e;
    char folder[PATH_LEN];
    snprintf(folder, sizeof folder, "%s/in", test_tmpdir());
    mkdir(folder, 0700);
    put("in/good.pt.trace.json", trace);
    put("in/bad.pt.trace.json",
        "{\"traceEvents\": [{\"ph\": \"X\", \"name\": \"f\", \"ts\": 17000");
    OK(folder_open(&from, folder, NULL, &e));
    OK(run_import_begin(&m, home(), &from, &e));
    OK(run_import_read(&m, &e));
    CHECK_INT(m.n_good, 1);
    size_t failed = 0;
    for (size_t i = 0; i < from.n; i++)
        failed += m.parts[i].failed != NULL;
    CHECK_INT(failed, 1);
    OK(run_import_place(&m, home(), NULL, &about, &dir, &e));
    run_import_end(&m);
    folder_close(&from);
    OK(run_open(&r, dir.path, &e));
    struct arena a = {0};
    struct run_loss *losses_of;
    size_t n;
    bool named = false;
    OK(run_losses(r, &a, &losses_of, &n, &e));
    for (size_t i = 0; i < n; i++)
        named |= strstr(losses_of[i].loss.part, "bad.pt.trace.json") != NULL;
    CHECK(named);
    arena_free(&a);
    run_close(r);
}
