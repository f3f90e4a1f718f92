/* SPDX-License-Identifier: Apache-2.0 */
/* test_trust.c - files and folders of this user, of others, and of anybody. */
#include <unistd.h>

#include "base/file.h"
#include "base/trust.h"
#include "test.h"

enum { OTHER = 65534 };

static char *at(char *out, const char *name)
{
    struct err e;
    OK(path_join(out, &e, "%s/%s", test_tmpdir(), name));
    return out;
}

static const char *put(char *path, const char *name, mode_t mode)
{
    struct err e;
    OK(file_replace(at(path, name), "text", 4, &e));
    CHECK(chmod(path, mode) == 0);
    return path;
}

static int read_it(const char *path, struct err *e)
{
    struct arena a = {0};
    char *text;
    size_t len;
    const int rc = trust_read(path, 100, &a, &text, &len, e);
    if (rc == 0)
        CHECK(len == 4 && memcmp(text, "text", 4) == 0);
    arena_free(&a);
    return rc;
}

TEST(a_file_of_the_user_that_only_the_user_writes_is_read)
{
    char p[PATH_LEN];
    struct err e;
    OK(read_it(put(p, "f", 0644), &e));
    OK(read_it(put(p, "g", 0400), &e));
}

TEST(a_file_or_a_folder_that_anybody_may_write_is_refused)
{
    char p[PATH_LEN];
    struct err e;
    CHECK_INT(read_it(put(p, "f", 0646), &e), ERR_USAGE);
    CHECK(strstr(e.msg, "other users can write"));
    OK(read_it(put(p, "f", 0644), &e));
    CHECK(chmod(test_tmpdir(), 01777) == 0);
    CHECK_INT(read_it(p, &e), ERR_USAGE);
    CHECK(strstr(e.msg, "its folder"));
}

TEST(a_group_may_write_when_it_is_the_owners_alone)
{
    struct stat st = {.st_mode = S_IFREG | 0664, .st_uid = 1000, .st_gid = 1000};
    CHECK(!trust_others_write(&st));
    st.st_gid = 100;
    CHECK(trust_others_write(&st));
    st.st_mode = S_IFREG | 0644;
    CHECK(!trust_others_write(&st));
    st = (struct stat){.st_mode = S_IFREG | 0666, .st_uid = 1000, .st_gid = 1000};
    CHECK(trust_others_write(&st));
}

TEST(a_file_or_a_folder_of_another_user_is_refused)
{
    char p[PATH_LEN];
    struct err e;
    if (geteuid() != 0)
        SKIP("needs root to make files of another user");
    CHECK(chown(put(p, "f", 0644), OTHER, OTHER) == 0);
    CHECK_INT(read_it(p, &e), ERR_USAGE);
    CHECK(strstr(e.msg, "belongs to another user (uid 65534)"));
    CHECK(chown(p, 0, 0) == 0 && chown(test_tmpdir(), OTHER, OTHER) == 0);
    CHECK_INT(read_it(p, &e), ERR_USAGE);
}

TEST(a_fifo_and_a_folder_are_no_files_and_do_not_hang)
{
    char p[PATH_LEN];
    struct err e;
    CHECK(mkfifo(at(p, "fifo"), 0600) == 0);
    CHECK_INT(read_it(p, &e), ERR_FORMAT);
    CHECK_INT(read_it(test_tmpdir(), &e), ERR_FORMAT);
    CHECK_INT(read_it(at(p, "none"), &e), ERR_SYS);
}

TEST(a_link_to_a_file_of_the_user_is_followed_and_one_to_a_strangers_is_not)
{
    char p[PATH_LEN], link[PATH_LEN];
    struct err e;
    put(p, "f", 0644);
    CHECK(symlink(p, at(link, "link")) == 0);
    OK(read_it(link, &e));
    CHECK(chmod(p, 0666) == 0);
    CHECK_INT(read_it(link, &e), ERR_USAGE);
}

TEST(a_folder_of_the_user_may_be_written_whatever_its_mode)
{
    char p[PATH_LEN];
    struct err e;
    OK(dir_make(at(p, "d"), &e));
    OK(trust_folder(p, &e));
    CHECK(chmod(p, 0777) == 0);
    OK(trust_folder(p, &e));
}

TEST(a_link_and_a_file_are_no_folders_to_write_to)
{
    char p[PATH_LEN], link[PATH_LEN];
    struct err e;
    OK(dir_make(at(p, "d"), &e));
    CHECK(symlink(p, at(link, "link")) == 0);
    CHECK_INT(trust_folder(link, &e), ERR_SYS);
    CHECK_INT(trust_folder(put(p, "f", 0644), &e), ERR_SYS);
}

TEST(a_folder_of_another_user_is_refused_also_when_root_could_write_it)
{
    char p[PATH_LEN];
    struct err e;
    if (geteuid() != 0)
        SKIP("needs root to make folders of another user");
    OK(dir_make(at(p, "d"), &e));
    CHECK(chown(p, OTHER, OTHER) == 0);
    CHECK_INT(trust_folder(p, &e), ERR_SYS);
    CHECK(strstr(e.msg, "belongs to another user"));
}

TEST(a_folder_of_root_is_taken_by_others_unless_strangers_could_change_it)
{
    char p[PATH_LEN];
    struct err e;
    if (geteuid() != 0)
        SKIP("needs root to become another user");
    OK(dir_make(at(p, "d"), &e));
    CHECK(chmod(test_tmpdir(), 0755) == 0 && chmod(p, 0777) == 0);
    CHECK(seteuid(OTHER) == 0);
    const int open_to_all = trust_folder(p, &e);
    CHECK(seteuid(0) == 0 && chmod(p, 01777) == 0 && seteuid(OTHER) == 0);
    const int sticky = trust_folder(p, &e);
    CHECK(seteuid(0) == 0);
    CHECK_INT(open_to_all, ERR_SYS);
    CHECK_INT(sticky, 0);
}
