/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/storage.h"
#include "store/format.h"
#include "test.h"

/* The tests use storage_of, so that another implementation can be tested by the same file. */

static const char *at(char path[PATH_LEN], const char *name)
{
    struct err e;
    OK(path_join(path, &e, "%s/%s", test_tmpdir(), name));
    return path;
}

static void put(const char *name, const char *text)
{
    char path[PATH_LEN];
    struct err e;
    at(path, name);
    OK(storage_of(path)->put(path, text, strlen(text), STORAGE_PUT_REPLACE, &e));
}

static const char *text_of(const char *path, int64_t from, struct arena *a)
{
    char *text;
    size_t len;
    struct err e;
    OK(storage_of(path)->source->read(path, from, 1 << 20, a, &text, &len, &e));
    CHECK_INT(strlen(text), len);
    return text;
}

TEST(what_is_put_is_read_whole_or_in_part)
{
    char path[PATH_LEN], *text;
    size_t len;
    struct arena a = {0};
    struct err e;
    put("f", "0123456789");
    at(path, "f");
    CHECK_STR(text_of(path, 0, &a), "0123456789");
    CHECK_STR(text_of(path, 7, &a), "789");
    CHECK_STR(text_of(path, -2, &a), "89");
    CHECK_STR(text_of(path, -100, &a), "0123456789");
    CHECK_STR(text_of(path, 100, &a), "");
    CHECK_INT(storage_of(path)->source->read(path, 0, 9, &a, &text, &len, &e), ERR_LIMIT);
    arena_free(&a);
}

TEST(of_several_that_put_a_file_if_it_is_absent_the_first_wins)
{
    char path[PATH_LEN];
    struct arena a = {0};
    struct err e;
    at(path, "f");
    OK(storage_of(path)->put(path, "one", 3, STORAGE_PUT_ABSENT, &e));
    CHECK_INT(storage_of(path)->put(path, "two", 3, STORAGE_PUT_ABSENT, &e), ERR_BUSY);
    CHECK_STR(text_of(path, 0, &a), "one");
    arena_free(&a);
}

TEST(a_version_changes_with_the_content)
{
    char path[PATH_LEN];
    struct storage_stat one, two, three;
    struct err e;
    put("f", "x");
    at(path, "f");
    OK(storage_of(path)->stat(path, 0, &one, &e));
    OK(storage_of(path)->stat(path, 0, &two, &e));
    CHECK(one.version == two.version);
    CHECK_INT(one.kind, STORAGE_FILE);
    CHECK_INT(one.bytes, 1);
    CHECK(one.changed_ns > 0);
    put("f", "y"); /* another file of the same size takes its place */
    OK(storage_of(path)->stat(path, 0, &three, &e));
    CHECK(one.version != three.version);
    CHECK(storage_has(path));
    CHECK(!storage_has(at(path, "no-such")));
}

struct seen {
    size_t files, folders, links;
    uint64_t bytes;
};

static void see(void *ctx, const struct storage_entry *x)
{
    struct seen *s = ctx;
    CHECK(strcmp(x->name, ".") != 0 && strcmp(x->name, "..") != 0);
    s->files += x->kind == STORAGE_FILE;
    s->folders += x->kind == STORAGE_FOLDER;
    s->links += x->kind == STORAGE_LINK;
    s->bytes += x->kind == STORAGE_FILE ? x->stat.bytes : 0;
}

TEST(a_list_tells_files_folders_and_links_apart)
{
    char path[PATH_LEN];
    const struct storage *s = storage_of(test_tmpdir());
    struct seen plain = {0}, with_stat = {0};
    struct err e;
    bool made;
    put("f", "abc");
    OK(s->claim(at(path, "d"), &made, &e));
    CHECK_INT(symlink("/etc", at(path, "l")), 0);
    OK(s->list(test_tmpdir(), 0, see, &plain, &e));
    OK(s->list(test_tmpdir(), STORAGE_WITH_STAT, see, &with_stat, &e));
    CHECK(plain.files == 1 && plain.folders == 1 && plain.links == 1 && plain.bytes == 0);
    CHECK(with_stat.files == 1 && with_stat.folders == 1 && with_stat.links == 1);
    CHECK_INT(with_stat.bytes, 3);
}

TEST(a_link_is_followed_only_where_the_user_named_it)
{
    char path[PATH_LEN], *text;
    size_t len;
    const struct storage *s = storage_of(test_tmpdir());
    struct storage_stat st;
    struct seen seen = {0};
    struct arena a = {0};
    struct fmap map;
    struct err e;
    bool made;
    CHECK_INT(symlink("/etc", at(path, "folder")), 0);
    CHECK_INT(s->list(path, 0, see, &seen, &e), ERR_SYS);
    OK(s->list(path, STORAGE_FOLLOW, see, &seen, &e));
    OK(s->stat(path, 0, &st, &e));
    CHECK_INT(st.kind, STORAGE_LINK);
    OK(s->stat(path, STORAGE_FOLLOW, &st, &e));
    CHECK_INT(st.kind, STORAGE_FOLDER);
    CHECK_INT(s->claim(path, &made, &e), ERR_SYS);
    CHECK_INT(symlink("/etc/passwd", at(path, "file")), 0);
    CHECK_INT(s->source->read(path, 0, 1 << 20, &a, &text, &len, &e), ERR_FORMAT);
    CHECK_INT(s->source->map(path, false, &map, &e), ERR_FORMAT);
    CHECK_INT(s->source->map(path, true, &map, &e), ERR_FORMAT);
    arena_free(&a);
}

TEST(a_pipe_in_a_run_does_not_make_a_reader_wait)
{
    char path[PATH_LEN];
    struct fmap map;
    struct err e;
    CHECK_INT(mkfifo(at(path, "p"), 0600), 0);
    CHECK_INT(storage_of(path)->source->map(path, true, &map, &e), ERR_FORMAT);
    CHECK_INT(storage_of(path)->alive(test_tmpdir()), STORAGE_ALIVE_UNKNOWN);
}

TEST(a_folder_is_claimed_by_one_and_used_by_others_of_the_same_user)
{
    char path[PATH_LEN];
    struct err e;
    bool made = false;
    at(path, "run");
    OK(storage_of(path)->claim(path, &made, &e));
    CHECK(made);
    OK(storage_of(path)->claim(path, &made, &e));
    CHECK(!made);
    put("file", "");
    CHECK_INT(storage_of(path)->claim(at(path, "file"), &made, &e), ERR_SYS);
}

TEST(a_hidden_run_is_published_whole_and_replaces_nothing)
{
    char from[PATH_LEN], to[PATH_LEN], path[PATH_LEN];
    const struct storage *s = storage_of(test_tmpdir());
    struct arena a = {0};
    struct err e;
    bool made;
    OK(s->claim(at(from, ".import"), &made, &e));
    OK(s->put(at(path, ".import/run.json"), "{}", 2, STORAGE_PUT_STAGED, &e));
    OK(s->publish(from, at(to, "run"), &e));
    CHECK(!storage_has(from));
    CHECK_STR(text_of(at(path, "run/run.json"), 0, &a), "{}");
    OK(s->claim(from, &made, &e));
    CHECK_INT(s->publish(from, to, &e), ERR_BUSY);
    CHECK(storage_has(from));
    arena_free(&a);
}

TEST(a_folder_is_removed_when_it_is_empty_or_with_all_that_is_in_it)
{
    char path[PATH_LEN], file[PATH_LEN];
    const struct storage *s = storage_of(test_tmpdir());
    struct err e;
    bool made;
    OK(s->claim(at(path, "d"), &made, &e));
    put("d/f", "x");
    CHECK(!s->remove(path, STORAGE_REMOVE_EMPTY));
    CHECK(s->remove(at(file, "d/f"), STORAGE_REMOVE_FILE));
    CHECK(s->remove(path, STORAGE_REMOVE_EMPTY));
    OK(s->claim(path, &made, &e));
    put("d/f", "x");
    CHECK(s->remove(path, STORAGE_REMOVE_TREE));
    CHECK(!storage_has(path));
}

TEST(a_writer_is_alive_as_long_as_it_holds_its_lock)
{
    char path[PATH_LEN];
    const struct storage *s = storage_of(test_tmpdir());
    CHECK_INT(s->alive(test_tmpdir()), STORAGE_ALIVE_UNKNOWN); /* it has never locked anything */
    put(STORE_LOCK, "");
    CHECK_INT(s->alive(test_tmpdir()), STORAGE_DEAD);
    const int fd = open(at(path, STORE_LOCK), O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0 && flock(fd, LOCK_EX) == 0);
    CHECK_INT(s->alive(test_tmpdir()), STORAGE_ALIVE);
    close(fd);
    CHECK_INT(s->alive(test_tmpdir()), STORAGE_DEAD);
}

TEST(json_that_is_damaged_is_refused_with_its_line)
{
    char path[PATH_LEN];
    struct err e;
    json_t *o = NULL;
    put("good.json", "{\"a\": 1}");
    OK(storage_read_json(&o, at(path, "good.json"), &e));
    json_decref(o);
    put("bad.json", "{\n\"a\": }");
    CHECK_INT(storage_read_json(&o, at(path, "bad.json"), &e), ERR_FORMAT);
    CHECK(strstr(e.msg, "line 2"));
    put("twice.json", "{\"a\": 1, \"a\": 2}");
    CHECK_INT(storage_read_json(&o, at(path, "twice.json"), &e), ERR_FORMAT);
    CHECK_INT(storage_read_json(&o, at(path, "no-such"), &e), ERR_SYS);
}
