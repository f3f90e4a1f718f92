/* SPDX-License-Identifier: Apache-2.0 */
/* Routes without HTTP: their functions over runs with few steps and with many. */
#include <jansson.h>
#include <unistd.h>

#include "base/mem.h"
#include "query/recordkit.h"
#include "serve/route.h"
#include "serve/runs.h"
#include "test.h"

/* A run of `steps` steps in a folder of its own, held as a request holds it. */
struct held {
    struct runs *runs;
    struct runs_hold hold;
    struct arena arena;
};

static struct held hold_run(unsigned steps)
{
    struct held h = {0};
    struct err e;
    const char *path = kit_run("r", "r", "r", KIT_START);
    struct recordkit k = recordkit_open(path, "a");
    int64_t at = NS_PER_S;
    for (unsigned i = 0; i < steps; i++)
        at = recordkit_thread(k.events, 7, 7, at, "D5000 F3000 B4000 O1000");
    recordkit_close(&k, 0, at + NS_PER_S, "finished");
    const char *folder = arena_strndup(&h.arena, path, strlen(path) - strlen("/r"));
    OK(runs_open(&h.runs, &folder, 1, RUNS_OPEN_BYTES, &e));
    OK(runs_take(h.runs, "r", true, &h.hold, &e));
    return h;
}

static void let_go(struct held *h)
{
    runs_give(h->runs, &h->hold);
    runs_close(h->runs);
    arena_free(&h->arena);
}

static int ask(struct held *h, route_fn *route, const struct route_value *v, size_t n,
               struct route_answer *out, struct err *e)
{
    const struct route_request q = {.values = v,
                                    .n_values = n,
                                    .name = "r",
                                    .run = h->hold.run,
                                    .info = h->hold.info,
                                    .version = h->hold.version,
                                    .runs = h->runs,
                                    .arena = &h->arena};
    *out = (struct route_answer){.status = 200};
    return route(&q, out, e);
}

static json_t *tree_of(struct route_answer *a)
{
    json_t *t = json_loadb((const char *)a->body.p, a->body.len, 0, NULL);
    CHECK(t);
    buf_free(&a->body);
    return t;
}

TEST(steps_of_a_small_run_are_answered_at_once)
{
    struct held h = hold_run(40);
    struct route_answer a;
    struct err e;
    OK(ask(&h, api_steps, NULL, 0, &a, &e));
    CHECK_INT(a.status, 200);
    json_t *t = tree_of(&a);
    CHECK_INT(json_array_size(json_object_get(t, "steps")), 30);
    const json_t *rank = json_array_get(json_object_get(t, "ranks"), 0);
    CHECK_INT(json_integer_value(json_object_get(rank, "count")), 40);
    const json_t *last = json_array_get(json_object_get(t, "steps"), 29);
    CHECK_INT(json_integer_value(json_object_get(last, "step")), 39);
    json_decref(t);
    let_go(&h);
}

TEST(what_takes_long_is_worked_out_beside_the_request)
{
    enum { STEPS = 80000, TRIES = 2000, WAIT_US = 20000 };
    struct held h = hold_run(STEPS);
    static route_fn *const slow[] = {api_steps, api_run, api_histograms, api_timeline, api_ops};
    for (size_t i = 0; i < COUNT_OF(slow); i++) {
        struct route_answer a;
        struct err e;
        OK(ask(&h, slow[i], NULL, 0, &a, &e));
        if (i == 0) { /* the others find what the first one began */
            CHECK_INT(a.status, 202);
            CHECK(!a.passing);
        }
        for (int k = 0; a.status == 202 && k < TRIES; k++) {
            buf_free(&a.body);
            usleep(WAIT_US);
            OK(ask(&h, slow[i], NULL, 0, &a, &e));
        }
        CHECK_INT(a.status, 200);
        json_decref(tree_of(&a));
    }
    let_go(&h);
}

TEST(a_digest_of_older_data_is_used_but_not_to_be_kept)
{
    enum { STEPS = 80000, TRIES = 2000, WAIT_US = 20000 };
    struct held h = hold_run(STEPS);
    struct route_answer a;
    struct err e;
    OK(ask(&h, api_steps, NULL, 0, &a, &e));
    for (int k = 0; a.status == 202 && k < TRIES; k++) {
        buf_free(&a.body);
        usleep(WAIT_US);
        OK(ask(&h, api_steps, NULL, 0, &a, &e));
    }
    CHECK_INT(a.status, 200);
    CHECK(!a.passing);
    buf_free(&a.body);
    h.hold.version++;
    OK(ask(&h, api_steps, NULL, 0, &a, &e));
    CHECK_INT(a.status, 200);
    CHECK(a.passing);
    buf_free(&a.body);
    let_go(&h);
}

TEST(the_description_is_json_with_a_path_for_every_route)
{
    struct held h = hold_run(1);
    struct route_answer a;
    struct err e;
    OK(ask(&h, api_openapi, NULL, 0, &a, &e));
    json_t *t = tree_of(&a);
    const json_t *paths = json_object_get(t, "paths");
    for (size_t i = 0; i < n_routes; i++) {
        struct buf path = {0};
        for (const char *word = routes[i].path; *word;) { /* those in capitals in braces */
            const size_t n = strcspn(++word, "/");
            const bool any = *word >= 'A' && *word <= 'Z';
            buf_printf(&path, any ? "/{%.*s}" : "/%.*s", (int)n, word);
            word += n;
        }
        buf_u8(&path, 0);
        const json_t *p = json_object_get(paths, (const char *)path.p);
        buf_free(&path);
        CHECK(json_object_get(p, routes[i].method == ROUTE_POST ? "post" : "get"));
        CHECK(!routes[i].schema || routes[i].stream ||
              json_object_get(json_object_get(json_object_get(t, "components"), "schemas"),
                              routes[i].schema));
    }
    json_decref(t);
    let_go(&h);
}
