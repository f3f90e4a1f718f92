/* SPDX-License-Identifier: Apache-2.0 */
/* test_later.c - answers that are worked out beside the requests. */
#include <time.h>

#include "query/events.h"
#include "query/recordkit.h"
#include "serve/heavy.h"
#include "serve/later.h"
#include "test.h"

enum { ROUNDS = 110000 }; /* of three events: too many to be looked at while a request waits */

static const char *record(const char *folder)
{
    const char *path = kit_run(folder, folder, folder, KIT_START);
    struct recordkit k = recordkit_open(path, "a");
    int64_t at = 1000;
    for (int i = 0; i < ROUNDS; i++)
        at = recordkit_thread(k.events, 7, 7, at, "F2 B3 O1 .1");
    recordkit_close(&k, 0, at + 1000, "finished");
    return path;
}

static int answer_fine(const struct route_ask *q, struct route_answer *out, struct err *e)
{
    (void)q;
    (void)e;
    buf_put(&out->body, "fine", 4);
    return 0;
}

struct asking {
    struct later *later;
    struct run *run;
    struct arena arena;
    struct buf body;
    struct err why;
};

/* Asks until there is an answer; how it ended. */
static int ask(struct asking *k, route_fn *now)
{
    const struct route_ask q = {.run = k->run, .arena = &k->arena, .version = 1};
    for (;;) {
        struct route_answer out = {.status = 200};
        const int rc = later_answer(k->later, &q, now, &out, &k->why);
        buf_free(&k->body);
        k->body = out.body;
        if (rc || out.status == 200)
            return rc;
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
}

TEST(a_run_that_was_away_for_a_moment_is_tried_again_when_somebody_asks)
{
    const char *path = record("later");
    char away[PATH_LEN];
    struct asking k = {0};
    struct heavy *heavy = heavy_open();
    struct run_track *tracks;
    size_t n;
    struct err e;
    snprintf(away, sizeof away, "%s-away", path);
    OK(run_open(&k.run, path, &e));
    OK(events_tracks(k.run, &k.arena, &tracks, &n, &e)); /* its files stay open */
    OK(later_open(&k.later, heavy, &e));
    CHECK(rename(path, away) == 0);
    CHECK(ask(&k, answer_fine) != 0);
    CHECK(rename(away, path) == 0);
    OK(ask(&k, answer_fine));
    CHECK(k.body.len == 4 && memcmp(k.body.p, "fine", 4) == 0);
    CHECK(rename(path, away) == 0); /* what was worked out is kept */
    OK(ask(&k, answer_fine));
    later_close(k.later);
    heavy_close(heavy);
    run_close(k.run);
    arena_free(&k.arena);
    buf_free(&k.body);
}
