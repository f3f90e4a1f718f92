/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that are kept open, and how much they may hold together. */
#include "base/arena.h"
#include "query/recordkit.h"
#include "serve/runs.h"
#include "test.h"

enum { RUNS = 4 };

static const char *const names[RUNS] = {"r0", "r1", "r2", "r3"};

static const char *make_runs(struct arena *a)
{
    const char *path = NULL;
    for (size_t i = 0; i < RUNS; i++) {
        path = kit_run(names[i], names[i], names[i], KIT_START);
        struct recordkit k = recordkit_open(path, "a");
        const int64_t end = recordkit_thread(k.events, 7, 7, NS_PER_S, "D5000 F3000 B4000 O1000");
        recordkit_close(&k, 0, end + NS_PER_S, "finished");
    }
    return arena_strndup(a, path, strlen(path) - strlen("/r3"));
}

/* What the server holds after it has looked at the first n runs. */
static struct runs_facts look_at(const char *folder, size_t n, size_t bytes_most)
{
    struct runs *runs;
    struct runs_facts facts;
    struct err e;
    OK(runs_open(&runs, &folder, 1, bytes_most, &e));
    for (size_t i = 0; i < n; i++) {
        struct runs_hold hold;
        OK(runs_take(runs, names[i], true, &hold, &e));
        CHECK(runs_give(runs, &hold));
    }
    runs_get_facts(runs, &facts);
    runs_close(runs);
    return facts;
}

TEST(open_runs_hold_no_more_together_than_they_may)
{
    struct arena a = {0};
    const char *folder = make_runs(&a);
    const size_t one = look_at(folder, 1, RUNS_OPEN_BYTES).open_bytes;
    CHECK(one > 0);
    struct runs_facts f = look_at(folder, RUNS, RUNS_OPEN_BYTES);
    CHECK_INT(f.open, RUNS);
    CHECK_INT(f.open_bytes, RUNS * one);
    f = look_at(folder, RUNS, 2 * one + one / 2);
    CHECK_INT(f.open, 2);
    CHECK_INT(f.open_bytes, 2 * one);
    arena_free(&a);
}

TEST(a_run_that_holds_more_alone_is_open_alone)
{
    struct arena a = {0};
    const char *folder = make_runs(&a);
    const struct runs_facts f = look_at(folder, RUNS, 1);
    CHECK_INT(f.open, 1);
    CHECK(f.open_bytes > 1);
    arena_free(&a);
}
