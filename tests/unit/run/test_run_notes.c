/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "run/run_files.h"
#include "run/run_names.h"
#include "run/run_notes.h"
#include "run/rundir.h"
#include "run/storage.h"
#include "test.h"

static struct rundir make_run(const char *id)
{
    static const char *const command[] = {"train", NULL};
    const struct run_about about = {
        .name = "train", .command = command, .directory = "", .git_commit = ""};
    struct rundir r = {0};
    struct err e;
    OK(rundir_make(&r, test_tmpdir(), id, &about, &e));
    OK(rundir_make_node(&r, "n", &e));
    OK(rundir_put_node(&r, "n", 1, "{\"status\":\"finished\"}", 21, &e));
    return r;
}

static struct run_info info_of(const char *path, struct arena *a)
{
    struct run_info info;
    struct err e;
    OK(run_info_read(&info, path, a, &e));
    return info;
}

static int check(const char *name, const char *tag, const char *text, struct err *e)
{
    const char *tags[] = {tag};
    return run_notes_check(&(struct run_notes){name, tags, tag ? 1 : 0, text}, e);
}

TEST(a_run_without_notes_has_its_recorded_name_and_no_tags)
{
    struct rundir r = make_run("one");
    struct arena a = {0};
    const struct run_info info = info_of(r.path, &a);
    CHECK_STR(info.name, "train");
    CHECK_STR(info.recorded_name, "train");
    CHECK_STR(info.notes.text, "");
    CHECK_INT(info.notes.n_tags, 0);
    arena_free(&a);
}

TEST(notes_are_read_back_and_the_shown_name_follows_them)
{
    struct rundir r = make_run("one");
    struct arena a = {0};
    struct err e;
    const char *tags[] = {"paper", "b \"c\""};
    const struct run_notes notes = {"bäse/line", tags, 2, "a\n\tb"};
    OK(run_notes_put(r.path, &notes, &e));
    const struct run_info info = info_of(r.path, &a);
    CHECK_STR(info.name, "bäse/line");
    CHECK_STR(info.recorded_name, "train");
    CHECK_INT(info.notes.n_tags, 2);
    CHECK_STR(info.notes.tags[1], "b \"c\"");
    CHECK_STR(info.notes.text, "a\n\tb");
    arena_free(&a);
}

TEST(a_run_is_found_by_the_name_that_a_user_gave_it_and_by_the_recorded_one)
{
    struct rundir r = make_run("one");
    struct err e;
    char path[PATH_LEN];
    OK(run_notes_put(r.path, &(struct run_notes){.name = "baseline", .text = ""}, &e));
    OK(run_find(test_tmpdir(), "baseline", path, &e));
    CHECK_STR(path, r.path);
    OK(run_find(test_tmpdir(), "train", path, &e));
    CHECK_STR(path, r.path);
}

TEST(notes_beyond_the_limits_are_refused)
{
    struct err e;
    char much[NOTES_TEXT_MOST + 2];
    const char *many[NOTES_TAGS_MOST + 1];
    memset(much, 'x', sizeof much - 1);
    much[sizeof much - 1] = '\0';
    OK(check("name", "tag", "text", &e));
    CHECK_INT(check(much, NULL, "", &e), ERR_USAGE);
    CHECK_INT(check("", much, "", &e), ERR_USAGE);
    CHECK_INT(check("", NULL, much, &e), ERR_USAGE);
    CHECK_INT(check("two\nlines", NULL, "", &e), ERR_USAGE);
    CHECK_INT(check("\033[31m", NULL, "", &e), ERR_USAGE);
    CHECK_INT(check("\xc2\x9b"
                    "31m",
                    NULL, "", &e),
              ERR_USAGE);
    CHECK_INT(check("\xff", NULL, "", &e), ERR_USAGE);
    CHECK_INT(check(" x", NULL, "", &e), ERR_USAGE);
    CHECK_INT(check("", "a,b", "", &e), ERR_USAGE);
    CHECK_INT(check("", "", "", &e), ERR_USAGE);
    CHECK_INT(check("", NULL, "bell\a", &e), ERR_USAGE);
    for (size_t i = 0; i < COUNT_OF(many); i++)
        many[i] = i % 2 ? "a" : "b";
    CHECK_INT(run_notes_check(&(struct run_notes){"", many, COUNT_OF(many), ""}, &e), ERR_USAGE);
    CHECK_INT(run_notes_check(&(struct run_notes){"", many, 3, ""}, &e), ERR_USAGE); /* twice */
}

TEST(only_an_object_with_name_tags_and_text_is_notes)
{
    static const char *const wrong[] = {
        "[]",
        "{}",
        "{\"name\":\"x\",\"tags\":[]}",
        "{\"name\":\"x\",\"tags\":[],\"text\":\"\",\"more\":1}",
        "{\"name\":1,\"tags\":[],\"text\":\"\"}",
        "{\"name\":\"x\",\"tags\":[1],\"text\":\"\"}",
        "{\"name\":\"x\",\"tags\":\"a\",\"text\":\"\"}",
    };
    struct arena a = {0};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct run_notes out;
        struct err e;
        json_t *tree = json_loads(wrong[i], 0, NULL);
        CHECK_INT(run_notes_parse(&out, tree, &a, &e), ERR_USAGE);
        json_decref(tree);
    }
    struct run_notes out;
    struct err e;
    CHECK_INT(run_notes_parse(&out, NULL, &a, &e), ERR_USAGE); /* what is no JSON */
    arena_free(&a);
}

TEST(damaged_notes_do_not_hide_the_run)
{
    struct rundir r = make_run("one");
    struct arena a = {0};
    struct run_notes notes;
    struct err e;
    OK(run_put(r.path, RUN_NOTES, "{\"name\"", 7, &e));
    CHECK_STR(info_of(r.path, &a).name, "train");
    CHECK_INT(run_notes_read(&notes, r.path, &a, &e), ERR_FORMAT);
    arena_free(&a);
}

TEST(new_notes_change_the_version_but_do_not_make_the_data_newer)
{
    struct rundir r = make_run("one");
    struct err e;
    const struct run_stamp before = run_stamp_data(r.path);
    const uint64_t about = run_stamp_about(r.path);
    OK(run_notes_put(r.path, &(struct run_notes){.name = "x", .text = ""}, &e));
    const struct run_stamp after = run_stamp_data(r.path);
    CHECK(before.version != after.version && about != run_stamp_about(r.path));
    CHECK_INT(after.newest_ns, before.newest_ns);
    CHECK(after.bytes > before.bytes); /* the size of a run is that of all its files */
}

TEST(a_removed_run_is_gone_and_others_stay)
{
    struct rundir r = make_run("one"), other = make_run("two");
    struct arena a = {0};
    struct err e;
    const struct run_info info = info_of(r.path, &a);
    OK(run_remove(&info, &e));
    CHECK(access(r.path, F_OK) != 0 && access(other.path, F_OK) == 0);
    arena_free(&a);
}

TEST(a_run_that_is_being_recorded_is_not_removed)
{
    struct rundir r = make_run("one");
    struct arena a = {0};
    struct err e;
    struct run_info info = info_of(r.path, &a);
    info.status = RUN_RUNNING;
    CHECK_INT(run_remove(&info, &e), ERR_BUSY);
    CHECK(access(r.path, F_OK) == 0 && storage_has(info.path));
    arena_free(&a);
}

TEST(what_a_link_leads_to_is_not_removed)
{
    struct rundir r = make_run("one");
    struct arena a = {0};
    struct err e;
    char link[PATH_LEN], about[PATH_LEN];
    OK(path_join(link, &e, "%s/link", test_tmpdir()));
    CHECK_INT(symlink(r.path, link), 0);
    const struct run_info info = info_of(link, &a);
    CHECK_INT(run_remove(&info, &e), ERR_USAGE);
    OK(run_path(about, r.path, RUN_ABOUT, &e));
    CHECK(access(about, F_OK) == 0);
    arena_free(&a);
}
