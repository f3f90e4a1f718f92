/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "test.h"

static const char *at(char *path, const char *name)
{
    struct err e;
    OK(path_join(path, &e, "%s/%s", test_tmpdir(), name));
    return path;
}

static int count_files(const char *dir)
{
    int n = 0;
    DIR *d = opendir(dir);
    CHECK(d);
    for (struct dirent *f; (f = readdir(d));)
        n += f->d_name[0] != '.';
    closedir(d);
    return n;
}

static void expect(const char *path, const char *text)
{
    struct arena a = {0};
    struct err e;
    char *got;
    size_t n;
    OK(file_read(path, 1 << 20, &a, &got, &n, &e));
    CHECK_STR(got, text);
    CHECK_INT(n, strlen(text));
    arena_free(&a);
}

TEST(a_replaced_file_has_the_new_bytes_and_leaves_nothing_beside_it)
{
    char p[PATH_LEN];
    struct err e;
    OK(file_replace(at(p, "f"), "one", 3, &e));
    expect(p, "one");
    OK(file_replace(p, "second", 6, &e));
    expect(p, "second");
    OK(file_replace(p, "", 0, &e));
    expect(p, "");
    CHECK_INT(count_files(test_tmpdir()), 1);
}

TEST(creating_a_file_that_exists_is_refused_and_keeps_it)
{
    char p[PATH_LEN];
    struct err e;
    OK(file_create(at(p, "f"), "first", 5, &e));
    CHECK_INT(file_create(p, "second", 6, &e), ERR_BUSY);
    CHECK(strstr(e.msg, "exists already"));
    expect(p, "first");
    CHECK_INT(count_files(test_tmpdir()), 1);
}

TEST(replacing_in_a_folder_that_is_not_there_names_the_path)
{
    char p[PATH_LEN];
    struct err e;
    CHECK_INT(file_replace(at(p, "no/f"), "x", 1, &e), ERR_SYS);
    CHECK_INT(e.sys, ENOENT);
    CHECK(strstr(e.msg, "no/f"));
    CHECK_INT(file_create(p, "x", 1, &e), ERR_SYS);
}

TEST(a_file_larger_than_the_limit_is_refused)
{
    char p[PATH_LEN], *got = NULL;
    struct err e;
    struct arena a = {0};
    size_t n = 0;
    OK(file_replace(at(p, "f"), "12345", 5, &e));
    CHECK_INT(file_read(p, 4, &a, &got, &n, &e), ERR_LIMIT);
    CHECK(got == NULL && n == 0);
    OK(file_read(p, 5, &a, &got, &n, &e));
    CHECK_INT(n, 5);
    arena_free(&a);
}

TEST(reading_a_folder_or_nothing_fails_with_the_reason)
{
    char p[PATH_LEN], *got;
    struct err e;
    struct arena a = {0};
    size_t n;
    CHECK_INT(file_read(test_tmpdir(), 100, &a, &got, &n, &e), ERR_SYS);
    CHECK_INT(e.sys, EISDIR);
    CHECK_INT(file_read(at(p, "gone"), 100, &a, &got, &n, &e), ERR_SYS);
    CHECK_INT(e.sys, ENOENT);
    struct fmap m = {0};
    CHECK_INT(fmap_open(p, false, &m, &e), ERR_SYS);
    CHECK_INT(fmap_open(test_tmpdir(), false, &m, &e), ERR_FORMAT);
}

TEST(a_fifo_is_refused_and_does_not_hang)
{
    char p[PATH_LEN];
    struct err e;
    struct fmap m;
    CHECK(mkfifo(at(p, "fifo"), 0600) == 0);
    CHECK_INT(fmap_open(p, false, &m, &e), ERR_FORMAT);
}

TEST(a_mapped_file_shows_its_bytes_and_an_empty_one_none)
{
    char p[PATH_LEN];
    struct err e;
    struct fmap m;
    OK(file_replace(at(p, "f"), "bytes", 5, &e));
    OK(fmap_open(p, false, &m, &e));
    CHECK(m.len == 5 && memcmp(m.p, "bytes", 5) == 0);
    fmap_close(&m);
    fmap_close(&m);
    OK(file_replace(p, "", 0, &e));
    OK(fmap_open(p, false, &m, &e));
    CHECK_INT(m.len, 0);
    fmap_close(&m);
}

TEST(a_file_of_many_reads_comes_whole)
{
    char p[PATH_LEN], *got;
    struct err e;
    struct arena a = {0};
    size_t n;
    char *big = malloc(300000);
    for (size_t i = 0; i < 300000; i++)
        big[i] = (char)('a' + i % 26);
    OK(file_replace(at(p, "f"), big, 300000, &e));
    OK(file_read(p, 1 << 20, &a, &got, &n, &e));
    CHECK(n == 300000 && memcmp(got, big, n) == 0 && got[n] == 0);
    free(big);
    arena_free(&a);
}

TEST(folders_are_made_with_their_parents_and_may_exist)
{
    char p[PATH_LEN];
    struct err e;
    struct stat st;
    OK(dir_make(at(p, "a/b/c"), &e));
    CHECK(stat(p, &st) == 0 && S_ISDIR(st.st_mode));
    OK(dir_make(p, &e));
    OK(dir_make(at(p, "a/b/c/d//e/"), &e));
    CHECK(stat(p, &st) == 0 && S_ISDIR(st.st_mode));
}

TEST(a_folder_cannot_be_made_where_a_file_is_or_from_no_name)
{
    char p[PATH_LEN];
    struct err e;
    OK(file_replace(at(p, "f"), "x", 1, &e));
    CHECK_INT(dir_make(p, &e), ERR_SYS);
    CHECK_INT(e.sys, EEXIST);
    CHECK_INT(dir_make(at(p, "f/sub"), &e), ERR_SYS);
    CHECK_INT(e.sys, ENOTDIR);
    CHECK_INT(dir_make("", &e), ERR_SYS);
    CHECK_INT(e.sys, ENOENT);
}

TEST(all_files_of_a_folder_can_be_brought_to_the_medium_and_a_folder_that_is_not_there_cannot)
{
    char p[PATH_LEN];
    struct err e;
    OK(dir_make(at(p, "s/t"), &e));
    OK(file_replace(at(p, "s/t/f"), "x", 1, &e));
    OK(file_put(at(p, "s/g"), "y", 1, &e));
    CHECK_INT(file_put(p, "y", 1, &e), ERR_SYS);
    CHECK_INT(e.sys, EEXIST);
    CHECK_INT(symlink("nowhere", at(p, "s/link")), 0);
    OK(dir_sync(at(p, "s"), &e));
    CHECK_INT(dir_sync(at(p, "no"), &e), ERR_SYS);
    CHECK_INT(e.sys, ENOENT);
}

TEST(a_path_that_is_too_long_is_refused_not_cut)
{
    char p[PATH_LEN], text[PATH_LEN + 10];
    struct err e;
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = 0;
    CHECK_INT(path_join(p, &e, "%s", text), ERR_LIMIT);
    text[PATH_LEN - 1] = 0;
    OK(path_join(p, &e, "%s", text));
    CHECK_INT(strlen(p), PATH_LEN - 1);
}

TEST(writing_to_a_full_device_is_an_error)
{
    const int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        SKIP("no /dev/full here");
    struct err e;
    CHECK_INT(fd_write_all(fd, "x", 1, "full", &e), ERR_SYS);
    CHECK_INT(e.sys, ENOSPC);
    OK(fd_write_all(fd, "", 0, "full", &e));
    close(fd);
}

TEST(a_link_in_a_run_folder_is_not_followed)
{
    char p[PATH_LEN], link[PATH_LEN], *got;
    struct arena a = {0};
    struct fmap m;
    struct err e;
    size_t n;
    int fd;
    OK(file_replace(at(p, "f"), "x", 1, &e));
    CHECK_INT(symlink(p, at(link, "link")), 0);
    CHECK_INT(fmap_open(link, false, &m, &e), ERR_FORMAT);
    CHECK_INT(fmap_open(link, true, &m, &e), ERR_FORMAT);
    CHECK_INT(file_read_range(link, 0, 10, &a, &got, &n, &e), ERR_FORMAT);
    CHECK_INT(file_create_new(&fd, link, &e), ERR_SYS);
    CHECK_INT(e.sys, EEXIST);
    OK(file_read_range(p, 0, 10, &a, &got, &n, &e));
    OK(file_replace(link, "yy", 2, &e)); /* the link, not what it leads to */
    OK(file_read(p, 10, &a, &got, &n, &e));
    CHECK_STR(got, "x");
    arena_free(&a);
}

TEST(a_file_that_is_mostly_a_hole_ends_where_its_data_ends)
{
    char p[PATH_LEN];
    struct fmap m;
    struct err e;
    OK(file_replace(at(p, "f"), "bytes", 5, &e));
    CHECK(truncate(p, (off_t)1 << 40) == 0);
    OK(fmap_open(p, true, &m, &e));
    CHECK(m.len >= 5 && m.len <= 1 << 20 && memcmp(m.p, "bytes", 5) == 0);
    fmap_close(&m);
    OK(fmap_open(p, false, &m, &e));
    CHECK(m.len >= 5 && m.len <= 1 << 20);
    fmap_close(&m);
    CHECK(truncate(p, 1 << 20) == 0); /* a small hole may be what a copying program made of zeros */
    OK(fmap_open(p, true, &m, &e));
    CHECK_INT(m.len, 1 << 20);
    fmap_close(&m);
}

TEST(of_a_long_file_that_is_still_written_only_the_end_is_copied)
{
    enum { LONG = (64 << 20) + 12345, PIECE = 1 << 20 };
    char p[PATH_LEN];
    struct fmap m;
    struct err e;
    uint8_t *piece = malloc(PIECE);
    const int fd = open(at(p, "f"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    for (int i = 0; i * PIECE < LONG; i++) {
        memset(piece, i + 1, PIECE);
        OK(fd_write_all(fd, piece, (size_t)(LONG - i * PIECE < PIECE ? LONG - i * PIECE : PIECE), p,
                        &e));
    }
    OK(fmap_open(p, true, &m, &e));
    CHECK(m.len == LONG && m.copied >= 16 << 20 && m.copied <= 17 << 20 && m.mapped > 0);
    for (int i = 0; i * PIECE < LONG; i++)
        CHECK_INT(m.p[i * PIECE], i + 1);
    CHECK(ftruncate(fd, LONG - PIECE) == 0); /* the writer takes back what it could not finish */
    CHECK_INT(m.p[LONG - 1], LONG / PIECE + 1);
    fmap_forget(&m);
    CHECK(m.p[0] == 1 && m.p[LONG - 1] == LONG / PIECE + 1);
    fmap_close(&m);
    close(fd);
    free(piece);
}

TEST(a_new_file_has_the_rights_that_the_umask_leaves)
{
    static const mode_t masks[] = {077, 022, 002, 0};
    char p[PATH_LEN];
    struct stat st;
    struct err e;
    for (size_t i = 0; i < 4; i++) {
        umask(masks[i]);
        OK(file_replace(at(p, "f"), "x", 1, &e));
        CHECK(stat(p, &st) == 0);
        CHECK_INT(st.st_mode & 0777, 0666 & ~masks[i]);
    }
}
