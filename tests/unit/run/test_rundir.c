/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json_read.h"
#include "base/mem.h"
#include "run/run_files.h"
#include "run/rundir.h"
#include "run/storage.h"
#include "test.h"

static const char *const train[] = {"python", "train.py", "--api-key", "SECRET", NULL};

static struct run_about about_of(const char *name)
{
    return (struct run_about){
        .name = name,
        .command = train,
        .directory = "/home/me",
        .git_commit = "",
        .start = {INT64_C(1767225600) * NS_PER_S},
        .interval_ns = 500 * NS_PER_MS,
    };
}

static bool exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

TEST(a_fresh_folder_is_name_date_and_four_hex)
{
    struct rundir a = {0}, b = {0};
    struct err e;
    const struct run_about about = about_of("train");
    OK(rundir_make(&a, test_tmpdir(), NULL, &about, &e));
    OK(rundir_make(&b, test_tmpdir(), NULL, &about, &e));
    CHECK(strcmp(a.path, b.path) != 0);
    CHECK_INT(strlen(a.id), strlen("train-20260101-000000-0123"));
    CHECK(strncmp(a.id, "train-202", 9) == 0);
    for (const char *p = a.id + strlen(a.id) - 4; *p; p++)
        CHECK(isxdigit((unsigned char)*p));
}

TEST(run_json_says_what_ran)
{
    struct rundir r = {0};
    struct err e;
    struct arena a = {0};
    json_t *o;
    char path[PATH_LEN];
    struct run_about about = about_of("train");
    const struct run_label labels[] = {{"team", "vision"}, {"quote", "\"x\""}};
    about.labels = labels;
    about.n_labels = 2;
    OK(rundir_make(&r, test_tmpdir(), "job7", &about, &e));
    OK(path_join(path, &e, "%s/run.json", r.path));
    OK(storage_read_json(&o, path, &e));
    CHECK_STR(json_get_str(o, "format", &a, ""), "footplate-run");
    CHECK_INT(json_get_int(o, "format_version", 0), 1);
    CHECK_STR(json_get_str(o, "id", &a, ""), "job7");
    CHECK_STR(json_get_str(o, "name", &a, ""), "train");
    CHECK(json_is_null(json_object_get(o, "git_commit")));
    CHECK_INT(json_get_int(o, "start_ns", 0), about.start.ns);
    NEAR(json_get_num(o, "interval_ms", 0), 500, 0);
    CHECK_STR(json_string_value(json_array_get(json_object_get(o, "command"), 1)), "train.py");
    CHECK_STR(json_string_value(json_array_get(json_object_get(o, "command"), 3)), "***");
    CHECK_STR(json_get_str(json_object_get(o, "labels"), "quote", &a, ""), "\"x\"");
    json_decref(o);
    arena_free(&a);
}

TEST(the_second_node_of_a_run_joins_and_leaves_run_json_alone)
{
    struct rundir a = {0}, b = {0};
    struct err e;
    struct arena ar = {0};
    json_t *o;
    char path[PATH_LEN];
    const struct run_about first = about_of("first"), second = about_of("second");
    OK(rundir_make(&a, test_tmpdir(), "shared", &first, &e));
    OK(rundir_make(&b, test_tmpdir(), "shared", &second, &e));
    CHECK_STR(a.path, b.path);
    CHECK(a.made_run && !b.made_run);
    OK(path_join(path, &e, "%s/run.json", a.path));
    OK(storage_read_json(&o, path, &e));
    CHECK_STR(json_get_str(o, "name", &ar, ""), "first");
    json_decref(o);
    arena_free(&ar);
    /* And what the second takes back is not the first one's. */
    OK(rundir_make_node(&a, "n0", &e));
    OK(rundir_make_node(&b, "n1", &e));
    char node[PATH_LEN];
    snprintf(node, sizeof node, "%s", b.node_path);
    rundir_remove(&b, 1);
    CHECK(!exists(node));
    CHECK(exists(a.node_path) && exists(path));
    /* Nor does the first take run.json away while another node is there. */
    OK(rundir_make(&b, test_tmpdir(), "shared", &second, &e));
    OK(rundir_make_node(&b, "n1", &e));
    rundir_remove(&a, 1);
    CHECK(exists(path) && exists(b.node_path));
}

/* ---- runs of jobs ---- */

#define DAY_NS (86400 * NS_PER_S)

static const char *id_made(const char *id, const struct run_job *job, int64_t start_ns)
{
    struct rundir r = {0};
    struct err e;
    struct run_about about = about_of("train");
    static char out[4][RUN_ID_LEN]; /* the latest few */
    static unsigned turn;
    about.job = job;
    about.start.ns += start_ns;
    OK(rundir_make(&r, test_tmpdir(), id, &about, &e));
    return strcpy(out[turn++ % 4], r.id);
}

static void add_node(const char *run, const char *node)
{
    struct rundir r = {0};
    struct err e;
    snprintf(r.path, sizeof r.path, "%s/%s", test_tmpdir(), run);
    OK(rundir_make_node(&r, node, &e));
}

static struct run_job job_of(const char *cluster, int64_t start_ns)
{
    return (struct run_job){
        .cluster = cluster, .id = "42", .step = "0", .start_ns = start_ns, .common = 4};
}

TEST(nodes_of_a_job_join_and_those_of_another_job_take_the_next_id_together)
{
    const struct run_job mine = job_of("fp", 5 * NS_PER_S), later = job_of("fp", 6 * NS_PER_S),
                         other = job_of("xy", 5 * NS_PER_S);
    CHECK_STR(id_made("t-42-d", &mine, 0), "t-42-d");
    CHECK_STR(id_made("t-42-d", &later, 1), "t-42-d-2");
    CHECK_STR(id_made("t-42-d", &other, 2), "t-42-d-3");
    for (int node = 0; node < 2; node++) { /* also when a recorder comes a day later */
        CHECK_STR(id_made("t-42-d", &later, node * DAY_NS), "t-42-d-2");
        CHECK_STR(id_made("t-42-d", &other, node * DAY_NS), "t-42-d-3");
        CHECK_STR(id_made("t-42-d", &mine, node * DAY_NS), "t-42-d");
    }
    /* The user's own id means that run. */
    CHECK_STR(id_made("t-42-d", NULL, 0), "t-42-d");
}

TEST(a_run_without_a_job_is_not_joined_by_one)
{
    const struct run_job mine = job_of("fp", 5 * NS_PER_S);
    CHECK_STR(id_made("t-42-d", NULL, 0), "t-42-d");
    CHECK_STR(id_made("t-42-d", &mine, 0), "t-42-d-2");
}

TEST(a_job_id_that_repeats_is_another_job_after_an_hour)
{
    struct run_job mine = job_of("", 0);
    mine.id_repeats = true;
    CHECK_STR(id_made("t-42", &mine, 0), "t-42");
    CHECK_STR(id_made("t-42", &mine, 60 * NS_PER_S), "t-42");
    CHECK_STR(id_made("t-42", &mine, DAY_NS), "t-42-2");
    CHECK_STR(id_made("t-42", &mine, DAY_NS + NS_PER_S), "t-42-2");
}

TEST(a_requeued_job_goes_on_in_its_run_where_the_nodes_share_the_folder)
{
    const struct run_job first = job_of("fp", 5 * NS_PER_S);
    struct run_job again = job_of("fp", 7 * NS_PER_S), cousin = again;
    again.restarted = true;
    /* Of several runs with this job's number the newest counts, in whatever order they are found.
     */
    static const struct {
        const char *id;
        int days;
    } runs[] = {{"t-42-d5", -5}, {"t-42-d1", 0}, {"t-42-d7", -7}, {"t-42-d3", -3}};
    for (size_t i = 0; i < COUNT_OF(runs); i++) {
        CHECK_STR(id_made(runs[i].id, &first, runs[i].days * DAY_NS), runs[i].id);
        add_node(runs[i].id, "a");
        add_node(runs[i].id, "b");
    }
    CHECK_STR(id_made("t-42-d2", &again, DAY_NS), "t-42-d1");
    /* But not for a start that is no restart, nor for a job whose number begins alike. */
    CHECK_STR(id_made("t-42-d2", &cousin, DAY_NS), "t-42-d2");
    again.id = "42x";
    CHECK_STR(id_made("t-42x-d2", &again, DAY_NS), "t-42x-d2");
}

TEST(a_requeued_job_takes_the_new_id_where_each_node_has_its_own_folder)
{
    const struct run_job first = job_of("fp", 5 * NS_PER_S);
    struct run_job again = job_of("fp", 7 * NS_PER_S);
    again.restarted = true;
    CHECK_STR(id_made("t-42-d1", &first, 0), "t-42-d1");
    add_node("t-42-d1", "a");
    CHECK_STR(id_made("t-42-d2", &again, DAY_NS), "t-42-d2");
    /* On the same day it is the same id anyway. */
    CHECK_STR(id_made("t-42-d1", &again, DAY_NS), "t-42-d1");
}

TEST(a_run_that_never_started_leaves_nothing)
{
    struct rundir r = {0};
    struct err e;
    char dir[PATH_LEN], file[PATH_LEN];
    const struct run_about about = about_of("x");
    OK(path_join(dir, &e, "%s/runs", test_tmpdir()));
    OK(rundir_make(&r, dir, NULL, &about, &e));
    OK(rundir_make_node(&r, "n", &e));
    OK(path_join(file, &e, "%s/metrics.fp", r.node_path));
    OK(file_replace(file, "x", 1, &e));
    CHECK_INT(rundir_session_bytes(&r, 1), 1);
    rundir_remove(&r, 1);
    CHECK(!exists(dir));
}

TEST(files_of_an_earlier_session_stay)
{
    struct rundir r = {0};
    struct err e;
    char one[PATH_LEN], two[PATH_LEN];
    const struct run_about about = about_of("x");
    OK(rundir_make(&r, test_tmpdir(), "id", &about, &e));
    OK(rundir_make_node(&r, "n", &e));
    OK(path_join(one, &e, "%s/node.json", r.node_path));
    OK(path_join(two, &e, "%s/node-2.json", r.node_path));
    OK(file_replace(one, "1", 1, &e));
    OK(file_replace(two, "22", 2, &e));
    CHECK_INT(rundir_session_bytes(&r, 2), 2);
    rundir_remove(&r, 2);
    CHECK(exists(one) && !exists(two));
}

TEST(a_folder_that_cannot_be_made_is_named_with_the_reason)
{
    struct rundir r = {0};
    struct err e = {0};
    char dir[PATH_LEN];
    const struct run_about about = about_of("x");
    OK(path_join(dir, &e, "%s/file", test_tmpdir()));
    OK(file_replace(dir, "", 0, &e));
    CHECK_INT(rundir_make(&r, dir, NULL, &about, &e), ERR_SYS);
    CHECK(strstr(e.msg, dir) != NULL);
    CHECK_INT(rundir_make(&r, "/proc/nowhere", NULL, &about, &e), ERR_SYS);
    CHECK(strstr(e.msg, "/proc/nowhere") != NULL);
}

TEST(ids_that_would_leave_the_folder_are_refused)
{
    struct rundir r = {0};
    struct err e = {0};
    const struct run_about about = about_of("x");
    CHECK_INT(rundir_make(&r, test_tmpdir(), "../up", &about, &e), ERR_USAGE);
    CHECK_INT(rundir_make(&r, test_tmpdir(), "..", &about, &e), ERR_USAGE);
    CHECK_INT(rundir_make(&r, test_tmpdir(), "", &about, &e), ERR_USAGE);
    OK(rundir_make(&r, test_tmpdir(), "id", &about, &e));
    CHECK_INT(rundir_make_node(&r, "a/b", &e), ERR_USAGE);
    CHECK_INT(rundir_make_node(&r, "", &e), ERR_USAGE);
}

/* ---- runs that are made out of something else ---- */

static size_t runs_in(const char *dir)
{
    struct arena a = {0};
    struct run_listed *runs;
    size_t n;
    struct err e;
    OK(run_list(dir, &a, &runs, &n, &e));
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
    const struct run_about made = about_of("made");
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
    OK(run_maker_place(&m, test_tmpdir(), "r", &made, &out, &e));
    run_maker_end(&m);
    CHECK_INT(runs_in(test_tmpdir()), 1);
    OK(run_info_read(&info, out.path, &a, &e));
    CHECK_INT(info.n_nodes, 3);
    for (size_t i = 0; i < info.n_nodes; i++) {
        struct store *s;
        OK(run_open_metrics(&s, &info, i, false, &e));
        CHECK(s->closed);
        store_close(s);
    }
    arena_free(&a);
}

TEST(a_detail_window_has_one_file_of_its_own)
{
    const struct run_about made = about_of("made");
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
    OK(run_maker_place(&m, test_tmpdir(), NULL, &made, &out, &e));
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

TEST(the_id_of_a_node_is_refused_when_it_is_too_long_and_not_cut)
{
    struct run_maker m;
    struct run_maker_node *n;
    struct err e;
    char id[NODE_ID_LEN + 1];
    OK(run_maker_begin(&m, test_tmpdir(), &e));
    memset(id, 'n', NODE_ID_LEN);
    id[NODE_ID_LEN] = 0;
    CHECK_INT(run_maker_node(&m, id, 1, (struct clock_tie){0}, &n, &e), ERR_USAGE);
    id[NODE_ID_LEN - 1] = 0;
    CHECK_STR(add(&m, id, 1)->id, id);
    run_maker_end(&m);
}

TEST(a_run_takes_the_place_of_no_other)
{
    const struct run_about made = about_of("made");
    struct run_maker m;
    struct rundir out;
    struct err e;
    for (int i = 0; i < 2; i++) {
        OK(run_maker_begin(&m, test_tmpdir(), &e));
        add(&m, "n", 1);
        OK(run_maker_close(&m, &e));
        CHECK_INT(run_maker_place(&m, test_tmpdir(), "same", &made, &out, &e), i ? ERR_BUSY : 0);
        run_maker_end(&m);
    }
    CHECK_INT(runs_in(test_tmpdir()), 1);
}

TEST(a_name_that_no_run_may_have_is_refused)
{
    struct run_maker m;
    struct rundir out;
    struct err e;
    const struct run_about made = about_of("made");
    OK(run_maker_begin(&m, test_tmpdir(), &e));
    CHECK(path_base(m.dir.path)[0] == '.');
    CHECK_INT(run_maker_place(&m, test_tmpdir(), ".hidden", &made, &out, &e), ERR_USAGE);
    OK(run_maker_place(&m, test_tmpdir(), NULL, &made, &out, &e));
    CHECK(strncmp(out.id, "made-202", 8) == 0);
    run_maker_end(&m);
    CHECK_INT(run_maker_begin(&m, "/proc/nowhere", &e), ERR_SYS);
}
