/* SPDX-License-Identifier: Apache-2.0 */
#include "run/run_files.h"
#include "run/run_names.h"
#include "run/rundir.h"
#include "run/storage.h"
#include "test.h"

static struct rundir make_run(void)
{
    static const char *const command[] = {"train", NULL};
    const struct run_about about = {
        .name = "train", .command = command, .directory = "", .git_commit = ""};
    struct rundir r = {0};
    struct err e;
    OK(rundir_make(&r, test_tmpdir(), "run", &about, &e));
    OK(rundir_make_node(&r, "n", &e));
    return r;
}

static void put(const char *folder, const char *name, const char *text)
{
    char path[PATH_LEN];
    struct err e;
    OK(run_path(path, folder, name, &e));
    OK(storage_of(path)->put(path, text, strlen(text), STORAGE_PUT_REPLACE, &e));
}

TEST(what_is_not_a_run_has_no_version)
{
    CHECK_INT(run_stamp_about(test_tmpdir()), 0);
    CHECK_INT(run_stamp_data(test_tmpdir()).version, 0);
    CHECK_INT(run_stamp_data("/no/such").version, 0);
    CHECK_INT(run_stamp_folder("/no/such"), 0);
}

TEST(a_run_that_does_not_change_keeps_its_version)
{
    struct rundir r = make_run();
    put(r.node_path, "metrics.fp", "abc");
    const struct run_stamp one = run_stamp_data(r.path), two = run_stamp_data(r.path);
    CHECK(one.version && one.version == two.version && one.version < (UINT64_C(1) << 53));
    CHECK(run_stamp_about(r.path) == run_stamp_about(r.path));
    CHECK(one.newest_ns > 0 && one.newest_ns == two.newest_ns);
    CHECK(run_stamp_folder(r.path) > 0);
}

TEST(a_run_that_grows_has_another_version_of_its_data)
{
    struct rundir r = make_run();
    put(r.node_path, "metrics.tail", "a");
    const struct run_stamp one = run_stamp_data(r.path);
    put(r.node_path, "metrics.tail", "ab");
    const struct run_stamp two = run_stamp_data(r.path);
    CHECK(one.version != two.version);
    CHECK_INT(two.bytes, one.bytes + 1);
    put(r.node_path, ".metrics.tail.tmp-1", "x"); /* hidden files do not count */
    CHECK(run_stamp_data(r.path).version == two.version);
}

TEST(new_findings_change_the_description_and_not_the_data)
{
    struct rundir r = make_run();
    const uint64_t about = run_stamp_about(r.path), data = run_stamp_data(r.path).version;
    const struct run_stamp before = run_stamp_data(r.path);
    CHECK_INT(run_stamp_findings(r.path), 0);
    put(r.path, RUN_FINDINGS, "{}");
    CHECK(run_stamp_about(r.path) != about);
    CHECK(run_stamp_data(r.path).version == data);
    CHECK(run_stamp_findings(r.path) > 0);
    put(r.path, RUN_REPORT, "123");
    const struct run_stamp after = run_stamp_data(r.path);
    CHECK(after.version == data && after.newest_ns == before.newest_ns);
    CHECK_INT(after.bytes, before.bytes + 5);
}

TEST(the_same_file_in_another_node_is_another_version)
{
    struct rundir r = make_run();
    struct err e;
    const uint64_t one = run_stamp_about(r.path);
    OK(rundir_make_node(&r, "m", &e));
    CHECK(run_stamp_about(r.path) != one);
}
