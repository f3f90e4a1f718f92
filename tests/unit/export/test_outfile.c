/* SPDX-License-Identifier: Apache-2.0 */
/* The file that is written appears complete or not at all. */
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"
#include "export/export.h"
#include "test.h"

static char path[PATH_LEN];

static const char *in_tmp(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", test_tmpdir(), name);
    return path;
}

static int files(void)
{
    int n = 0;
    DIR *d = opendir(test_tmpdir());
    CHECK(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

/* So many lines that they are written in many pieces. */
static void put_lines(struct outfile *o, unsigned n)
{
    struct err e;
    for (unsigned i = 0; i < n; i++) {
        buf_printf(&o->buf, "line %u\n", i);
        OK(outfile_pass(o, &e));
    }
}

TEST(a_file_is_at_its_place_only_when_it_is_complete)
{
    struct outfile o;
    struct err e;
    struct stat st;
    OK(outfile_open(&o, in_tmp("x.csv"), &e));
    CHECK(!outfile_is_stdout(&o));
    put_lines(&o, 100000);
    CHECK(stat(path, &st) < 0);
    OK(outfile_close(&o, 0, &e));
    CHECK(stat(path, &st) == 0);
    CHECK_INT(st.st_size, 1088890);
    CHECK_INT(files(), 1);
}

TEST(what_failed_leaves_nothing_and_the_old_file_alone)
{
    struct outfile o;
    struct err e;
    OK(file_create(in_tmp("x.csv"), "old", 3, &e));
    OK(outfile_open(&o, path, &e));
    put_lines(&o, 100000);
    CHECK_INT(outfile_close(&o, ERR_LIMIT, &e), ERR_LIMIT);
    struct stat st;
    CHECK(stat(path, &st) == 0);
    CHECK_INT(st.st_size, 3);
    CHECK_INT(files(), 1);
}

TEST(a_name_that_ends_in_gz_is_compressed)
{
    struct outfile o;
    struct err e;
    char line[64];
    OK(outfile_open(&o, in_tmp("x.gz"), &e));
    put_lines(&o, 200000);
    OK(outfile_close(&o, 0, &e));
    gzFile z = gzopen(path, "rb");
    CHECK(z);
    for (unsigned i = 0; i < 200000; i++) {
        char want[64];
        snprintf(want, sizeof want, "line %u\n", i);
        CHECK(gzgets(z, line, sizeof line));
        CHECK_STR(line, want);
    }
    CHECK(!gzgets(z, line, sizeof line) && gzeof(z));
    gzclose(z);
}

TEST(a_full_disk_is_an_error)
{
    struct outfile o;
    struct err e;
    if (access("/dev/full", W_OK) != 0)
        SKIP("there is no /dev/full here");
    CHECK(freopen("/dev/full", "w", stdout));
    OK(outfile_open(&o, "-", &e));
    CHECK(outfile_is_stdout(&o));
    int rc = 0;
    for (unsigned i = 0; rc == 0 && i < 100000; i++) {
        buf_printf(&o.buf, "line %u of many that do not fit\n", i);
        rc = outfile_pass(&o, &e);
    }
    CHECK_INT(outfile_close(&o, rc, &e), ERR_SYS);
}
