/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/jobinfo.h"
#include "base/file.h"
#include "test.h"

#define COMMIT_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define COMMIT_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

/* Writes <test folder>/<name>, making the folders above it. */
static void put(const char *name, const char *text)
{
    char path[PATH_LEN], dir[PATH_LEN];
    struct err e;
    OK(path_join(path, &e, "%s/%s", test_tmpdir(), name));
    OK(path_join(dir, &e, "%s", path));
    *strrchr(dir, '/') = 0;
    OK(dir_make(dir, &e));
    OK(file_replace(path, text, strlen(text), &e));
}

static const char *commit_in(const char *name)
{
    static char out[GIT_COMMIT_LEN];
    char path[PATH_LEN];
    struct err e;
    OK(path_join(path, &e, "%s/%s", test_tmpdir(), name));
    OK(dir_make(path, &e));
    git_commit_of(path, out);
    return out;
}

TEST(a_branch_is_followed_to_its_commit_from_a_folder_below)
{
    put("r/.git/HEAD", "ref: refs/heads/main\n");
    put("r/.git/refs/heads/main", COMMIT_A "\n");
    CHECK_STR(commit_in("r/src/deep"), COMMIT_A);
}

TEST(a_detached_head_is_the_commit_itself)
{
    put("r/.git/HEAD", COMMIT_B "\n");
    CHECK_STR(commit_in("r"), COMMIT_B);
}

TEST(a_packed_branch_is_found)
{
    put("r/.git/HEAD", "ref: refs/heads/main\n");
    put("r/.git/packed-refs", "# pack-refs with: peeled\n" COMMIT_A " refs/heads/main2\n" COMMIT_B
                              " refs/heads/main\n^" COMMIT_A "\n");
    CHECK_STR(commit_in("r"), COMMIT_B);
}

TEST(a_worktree_has_its_own_head_and_shares_the_branches)
{
    put("r/.git/HEAD", "ref: refs/heads/main\n");
    put("r/.git/refs/heads/main", COMMIT_A "\n");
    put("r/.git/refs/heads/side", COMMIT_B "\n");
    put("r/.git/worktrees/w/HEAD", "ref: refs/heads/side\n");
    put("r/.git/worktrees/w/commondir", "../..\n");
    put("w/.git", "gitdir: ../r/.git/worktrees/w\n");
    CHECK_STR(commit_in("w"), COMMIT_B);
}

TEST(no_commit_no_name)
{
    put("r/.git/HEAD", "ref: refs/heads/main\n");
    CHECK_STR(commit_in("r"), "");
    put("s/.git/HEAD", "garbage\n");
    CHECK_STR(commit_in("s"), "");
    put("t/.git/HEAD", "ref: ../../../etc/passwd\n");
    CHECK_STR(commit_in("t"), "");
    put("u/.git/HEAD", "ref: HEAD\n");
    CHECK_STR(commit_in("u"), "");
}
