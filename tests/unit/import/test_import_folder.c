/* SPDX-License-Identifier: Apache-2.0 */
/* test_import_folder.c - which files of a folder are read, as what and as whose; processes that
 * share a pid; rows of many files. */
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "import/import_folder.h"
#include "import/import_sinks.h"
#include "import_catch.h"
#include "sm_rows_catch.h"

static const char trace[] = "{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"pid\":1}]}";

static void put(const char *name, const char *text)
{
    char path[PATH_LEN], folder[PATH_LEN];
    struct err e;
    OK(path_join(path, &e, "%s/%s", test_tmpdir(), name));
    OK(path_join(folder, &e, "%s", path));
    *strrchr(folder, '/') = '\0';
    OK(dir_make(folder, &e));
    OK(file_create(path, text, strlen(text), &e));
}

static const struct folder_file *file_of(const struct folder *f, const char *name)
{
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->files[i].name, name) == 0)
            return &f->files[i];
    return NULL;
}

TEST(files_are_taken_by_name_and_bytes_in_order_of_their_names)
{
    struct folder f;
    struct err e;
    put("b/host_9.1.pt.trace.json", trace);
    put("a.json", trace);
    put("notes.txt", "hello\n");
    put("b/27-x_pythontimeline.json.tmp", "[");
    put(".hidden.json", trace);
    put("b/.git/x.json", trace);
    OK(folder_open(&f, test_tmpdir(), NULL, &e));
    CHECK(!f.single);
    CHECK_INT(f.n, 4);
    CHECK_INT(f.n_read, 2);
    CHECK_STR(f.files[0].name, "a.json");
    CHECK(f.files[0].format == &importer_kineto && f.files[0].sure);
    CHECK_STR(file_of(&f, "b/host_9.1.pt.trace.json")->hint.worker, "host_9");
    CHECK_STR(file_of(&f, "notes.txt")->skipped, "not a trace");
    CHECK(strstr(file_of(&f, "b/27-x_pythontimeline.json.tmp")->skipped, "being written"));
    folder_close(&f);
}

TEST(files_without_a_machine_join_the_only_one_that_is_named)
{
    struct folder f;
    struct err e;
    put("host_9.1.pt.trace.json", trace);
    put("plain.json", trace);
    OK(folder_open(&f, test_tmpdir(), NULL, &e));
    CHECK_STR(file_of(&f, "plain.json")->hint.node, "host");
    folder_close(&f);
    put("other_9.1.pt.trace.json", trace);
    OK(folder_open(&f, test_tmpdir(), NULL, &e));
    CHECK_STR(file_of(&f, "plain.json")->hint.node, "");
    folder_close(&f);
}

TEST(files_of_one_worker_or_rank_are_one_process)
{
    static const char ranked[] = "{\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 5},"
                                 "\"traceEvents\":[{\"ph\":\"X\"}]}";
    struct folder f;
    struct err e;
    put("host_9.1.pt.trace.json", trace);
    put("host_9.2.pt.trace.json", trace);
    put("one.json", ranked);
    put("two.json", ranked);
    put("x.json", trace);
    put("y.json", trace);
    OK(folder_open(&f, test_tmpdir(), NULL, &e));
    CHECK_STR(f.files[0].process, f.files[1].process);
    CHECK_STR(file_of(&f, "one.json")->process, file_of(&f, "two.json")->process);
    CHECK_INT(file_of(&f, "one.json")->hint.rank, 5);
    CHECK(strcmp(file_of(&f, "x.json")->process, file_of(&f, "y.json")->process) != 0);
    folder_close(&f);
}

TEST(links_that_lead_out_of_the_folder_are_not_followed)
{
    char inside[PATH_LEN], from[PATH_LEN], to[PATH_LEN];
    struct folder f;
    struct err e;
    put("in/a.json", trace);
    put("out/b.json", trace);
    OK(path_join(inside, &e, "%s/in", test_tmpdir()));
    const char *const links[][2] = {
        {"out/b.json", "in/out.json"}, {"in/a.json", "in/near.json"}, {"out", "in/folder"}};
    for (size_t i = 0; i < COUNT_OF(links); i++) {
        OK(path_join(to, &e, "%s/%s", test_tmpdir(), links[i][0]));
        OK(path_join(from, &e, "%s/%s", test_tmpdir(), links[i][1]));
        CHECK_INT(symlink(to, from), 0);
    }
    OK(folder_open(&f, inside, NULL, &e));
    CHECK_INT(f.n, 2);
    CHECK(file_of(&f, "a.json") && file_of(&f, "near.json"));
    folder_close(&f);
}

TEST(folders_beyond_the_depth_are_not_entered_and_that_is_known)
{
    char name[256] = "";
    struct folder f;
    struct err e;
    for (int i = 0; i < FOLDER_DEPTH_MOST + 2; i++)
        snprintf(name + strlen(name), sizeof name - strlen(name), "d/");
    snprintf(name + strlen(name), sizeof name - strlen(name), "a.json");
    put(name, trace);
    put("z.json", trace);
    OK(folder_open(&f, test_tmpdir(), NULL, &e));
    CHECK(f.cut);
    folder_close(&f);
}

TEST(a_folder_without_a_trace_is_refused_in_a_sentence)
{
    struct folder f;
    struct err e;
    CHECK_INT(folder_open(&f, test_tmpdir(), NULL, &e), ERR_FORMAT);
    CHECK(strstr(e.msg, "is empty"));
    put("notes.txt", "hello\n");
    CHECK_INT(folder_open(&f, test_tmpdir(), NULL, &e), ERR_FORMAT);
    CHECK(strstr(e.msg, "none of the 1 files"));
    CHECK_INT(folder_open(&f, "/nonexistent/x", NULL, &e), ERR_SYS);
}

TEST(a_single_file_is_itself_with_what_its_name_says)
{
    char path[PATH_LEN];
    struct folder f;
    struct err e;
    put("host_9.1.pt.trace.json", trace);
    OK(path_join(path, &e, "%s/host_9.1.pt.trace.json", test_tmpdir()));
    OK(folder_open(&f, path, NULL, &e));
    CHECK(f.single && f.n == 1 && f.n_read == 1 && !f.files[0].format);
    CHECK_STR(f.files[0].hint.node, "host");
    folder_close(&f);
}

/* ---- processes ---- */

static uint32_t pid_told(struct import_pids *p, struct catch *c, uint32_t pid)
{
    const struct track t = {.pid = pid, .id = 5};
    const struct event v = {.kind = EVENT_MARK, .name = "x", .at = {7}};
    p->pass.sink.ops->events(&p->pass.sink, &t, &v, 1);
    return c->v[c->n - 1].track.pid;
}

TEST(two_processes_with_one_pid_do_not_run_together)
{
    struct catch c;
    struct import_pids p;
    catch_open(&c);
    pids_open(&p, &c.sink);
    pids_enter(&p, "rank 0");
    CHECK_INT(pid_told(&p, &c, 27), 27);
    CHECK_INT(pid_told(&p, &c, 28), 28);
    pids_enter(&p, "rank 1");
    const uint32_t moved = pid_told(&p, &c, 27);
    CHECK(moved != 27 && moved != 28);
    CHECK_INT(pid_told(&p, &c, 29), 29);
    pids_put_rank(&p, 1, (mono_ns){7});
    CHECK_STR(c.v[c.n - 1].event.name, "process.rank");
    CHECK_INT(c.v[c.n - 1].track.pid, moved);
    pids_enter(&p, "rank 0"); /* once more */
    CHECK_INT(pid_told(&p, &c, 27), 27);
    CHECK(pid_told(&p, &c, 29) != 29);
    pids_enter(&p, "rank 1");
    CHECK_INT(pid_told(&p, &c, 27), moved);
    pids_close(&p);
    catch_close(&c);
}

TEST(a_hundred_thousand_pids_take_no_time)
{
    static const struct sink_ops ops = {.events = catch_events};
    struct catch c = {.sink = {&ops}};
    struct import_pids p;
    pids_open(&p, &c.sink);
    for (int k = 0; k < 2; k++) {
        pids_enter(&p, k ? "a" : "b");
        for (uint32_t pid = 1; pid <= 100000; pid++) {
            const uint32_t shown = pid_told(&p, &c, pid);
            CHECK((shown == pid) == (k == 0));
            c.n = 0;
        }
    }
    pids_close(&p);
    catch_close(&c);
}

/* ---- rows ---- */

static void one_file(struct import_rows *r, const char *const entities[2], int64_t at)
{
    struct group g;
    group_open(&g, "g", 500 * NS_PER_MS);
    const slot_id a = group_add_step(&g, M_CPU_UTIL, entities[0], 0.01);
    const slot_id b = group_add_step(&g, M_CPU_UTIL, entities[1], 0.01);
    rows_begin(r);
    g.cells[a] = 100 * (entities[0][3] - '0');
    g.cells[b] = 100 * (entities[1][3] - '0');
    rows_take(r, &g, (mono_ns){at});
    group_close(&g);
}

TEST(series_of_several_files_are_one_in_whatever_order_they_come)
{
    struct rows_catch c;
    struct import_rows r;
    rows_catch_open(&c);
    rows_open(&r, &c.sink);
    one_file(&r, (const char *const[]){"cpu1", "cpu2"}, 10);
    one_file(&r, (const char *const[]){"cpu2", "cpu3"}, 20);
    CHECK_INT(r.n, 1);
    CHECK_INT(r.groups[0].own.n, 3);
    CHECK_INT(c.n, 4);
    NEAR(rows_find(&c, "cpu.util", "cpu2", 1)->value, 2, 1e-9);
    NEAR(rows_find(&c, "cpu.util", "cpu3", 0)->value, 3, 1e-9);
    CHECK_INT(c.period_ns, 500 * NS_PER_MS);
    CHECK_INT(rows_devices(&r, PER_CORE), 3);
    CHECK_INT(rows_devices(&r, PER_GPU), 0);
    rows_close(&r);
    rows_catch_close(&c);
}
