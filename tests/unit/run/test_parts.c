/* SPDX-License-Identifier: Apache-2.0 */
/* test_parts.c - files that lie in part files side by side. */
#include <errno.h>
#include <stdio.h>

#include "base/mem.h"
#include "run/parts.h"
#include "test.h"

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
    OK(file_replace(at(path, name), text, strlen(text), &e));
}

TEST(the_name_of_a_part_has_offset_and_length)
{
    struct part p;
    char path[PATH_LEN];
    struct err e;
    CHECK(part_name_parse("metrics.fp.00000001a2f4-00016456", "metrics.fp", &p));
    CHECK(p.offset == 0x1a2f4 && p.bytes == 0x16456);
    OK(part_path(path, "x/metrics.fp", &p, &e));
    CHECK_STR(path, "x/metrics.fp.00000001a2f4-00016456");
    CHECK(part_name_parse("events-2.fp.000000000000-00000040", NULL, &p));
}

TEST(other_names_are_no_parts)
{
    static const char *const names[] = {
        "metrics.fp",
        "metrics.fp.00000001a2f4-0001645",  /* too short */
        "metrics.fp.00000001A2F4-00016456", /* capitals */
        "metrics.fp.00000001a2f4_00016456",
        "metrics.fp.00000001a2f4-00000000", /* empty */
        "metrics.fpx00000001a2f4-00016456",
        "-2.00000001a2f4-00016456",
        ".00000001a2f4-00016456",
    };
    struct part p;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        CHECK(!part_name_parse(names[i], "metrics.fp", &p));
}

TEST(parts_follow_each_other_and_the_longest_counts)
{
    struct part v[] = {{30, 10}, {0, 10}, {10, 10}, {0, 20}, {20, 10}, {50, 5}, {10, 20}};
    CHECK_INT(parts_choose(v, COUNT_OF(v)), 3);
    CHECK(v[0].offset == 0 && v[0].bytes == 20 && v[1].offset == 20 && v[2].offset == 30);
    struct part gap[] = {{10, 10}};
    CHECK_INT(parts_choose(gap, 1), 0);
    CHECK_INT(parts_choose(NULL, 0), 0);
}

static void check_text(const char *path, int64_t from, const char *want)
{
    struct arena a = {0};
    struct err e;
    char *text;
    size_t len;
    OK(storage_of(path)->source->read(path, from, 100, &a, &text, &len, &e));
    CHECK_STR(text, want);
    CHECK_INT(len, strlen(want));
    arena_free(&a);
}

TEST(parts_in_a_local_folder_are_read_mapped_and_looked_at_as_one_file)
{
    char path[PATH_LEN], *text;
    struct storage_stat st;
    struct fmap m;
    struct arena a = {0};
    size_t len;
    struct err e;
    put("m.fp.000000000000-00000004", "0123");
    put("m.fp.000000000004-00000003", "456");
    put("m.fp.000000000009-00000003", "never"); /* after a gap */
    at(path, "m.fp");
    check_text(path, 0, "0123456");
    check_text(path, 3, "3456");
    check_text(path, -4, "3456");
    check_text(path, -100, "0123456");
    check_text(path, 100, "");
    CHECK_INT(storage_of(path)->source->read(path, 0, 6, &a, &text, &len, &e), ERR_LIMIT);
    OK(storage_of(path)->stat(path, 0, &st, &e));
    CHECK(st.kind == STORAGE_FILE && st.bytes == 7 && st.changed_ns > 0);
    OK(storage_of(path)->source->map(path, true, &m, &e));
    CHECK(m.len == 7 && memcmp(m.p, "0123456", 7) == 0);
    fmap_close(&m);
    put("m.fp", "whole");
    check_text(path, 0, "whole");
    arena_free(&a);
}

TEST(a_part_that_is_shorter_than_its_name_says_is_refused)
{
    char path[PATH_LEN];
    struct fmap m;
    struct err e;
    put("m.fp.000000000000-00000009", "0123");
    CHECK_INT(storage_of(at(path, "m.fp"))->source->map(path, true, &m, &e), ERR_FORMAT);
}

TEST(empty_parts_with_large_names_take_no_memory)
{
    char path[PATH_LEN], name[64];
    struct fmap m;
    struct err e;
    for (unsigned long long i = 0; i < 15; i++) { /* 60 GiB */
        snprintf(name, sizeof name, "m.fp.%012llx-ffffffff", i * 0xffffffffULL);
        put(name, "");
    }
    CHECK_INT(storage_of(at(path, "m.fp"))->source->map(path, true, &m, &e), ERR_FORMAT);
}

TEST(without_parts_a_missing_file_is_missing)
{
    char path[PATH_LEN];
    struct fmap m;
    struct storage_stat st;
    struct err e;
    at(path, "m.fp");
    CHECK_INT(storage_of(path)->source->map(path, true, &m, &e), ERR_SYS);
    CHECK_INT(e.sys, ENOENT);
    CHECK_INT(storage_of(path)->stat(path, 0, &st, &e), ERR_SYS);
    CHECK_INT(e.sys, ENOENT);
}
