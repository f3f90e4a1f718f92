/* SPDX-License-Identifier: Apache-2.0 */
/* test_upkeep.c - which runs of a hub are old, and that others stay. */
#include <fcntl.h>
#include <sys/stat.h>

#include "run/receive.h"
#include "run/run_names.h"
#include "run/storage.h"
#include "run/upkeep.h"
#include "test.h"

#define ABOUT                                                                                      \
    "{\"format\": \"footplate-run\", \"format_version\": 1, \"id\": \"r\", "                       \
    "\"start_ns\": 1590000000000000000}"
#define OLD_S   1600000000
#define LATER_S 1700000000

static char run[PATH_LEN];

/* A run that came from elsewhere long ago. */
static void make_old_run(void)
{
    const struct receive_place about = {test_tmpdir(), "r", NULL, RUN_ABOUT};
    struct err e;
    OK(receive_own(&about, "team", true, &e));
    OK(receive_put(&about, ABOUT, strlen(ABOUT), &e));
    OK(path_join(run, &e, "%s/r", test_tmpdir()));
}

static void put(const char *file, const char *text, time_t s)
{
    const struct timespec t[] = {{.tv_sec = s}, {.tv_sec = s}};
    char path[PATH_LEN];
    struct err e;
    OK(run_path(path, run, file, &e));
    OK(storage_of(path)->put(path, text, strlen(text), STORAGE_PUT_REPLACE, &e));
    CHECK(utimensat(AT_FDCWD, path, t, 0) == 0);
}

TEST(a_run_that_got_the_tag_or_new_data_after_it_was_found_stays)
{
    struct arena a = {0};
    struct prune_run *v;
    size_t n;
    struct err e;
    make_old_run();
    put(RUN_ABOUT, ABOUT, OLD_S);
    OK(prune_find(test_tmpdir(), (wall_ns){LATER_S * NS_PER_S}, &a, &v, &n, &e));
    CHECK_INT(n, 1);
    put(RUN_NOTES, "{\"name\": \"\", \"tags\": [\"" PRUNE_TAG "\"], \"text\": \"\"}", OLD_S);
    CHECK_INT(prune_remove(test_tmpdir(), v, "test", &e), ERR_BUSY);
    put(RUN_NOTES, "{\"name\": \"\", \"tags\": [], \"text\": \"\"}", OLD_S);
    put(RUN_ABOUT, ABOUT, LATER_S + 1);
    CHECK_INT(prune_remove(test_tmpdir(), v, "test", &e), ERR_BUSY);
    put(RUN_ABOUT, ABOUT, OLD_S);
    OK(prune_remove(test_tmpdir(), v, "test", &e));
    CHECK(!storage_has(run));
    arena_free(&a);
}
