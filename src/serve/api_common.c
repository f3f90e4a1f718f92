/* SPDX-License-Identifier: Apache-2.0 */
/* api_common.c - see api_internal.h. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "control/control_client.h"
#include "query/events.h"
#include "query/eventsum.h"
#include "rules/verdict_json.h"
#include "serve/api_internal.h"
#include "serve/memo.h"
#include "serve/runs.h"
#include "tables/opsview.h"
#include "tables/statview.h"
#include "tables/stepsview.h"

/* Events that are read while a request waits: some 50 ms for an answer, some 20 ms for the steps.
 */
enum { ANSWER_EVENTS = 300000, STEPS_EVENTS = 150000 };

int answer_too_large(const char *what, struct err *e)
{
    return err_set(e, ERR_USAGE,
                   "%s: the response would be larger than 1 MB; request fewer points, fewer series "
                   "or a shorter time range",
                   what);
}

int answer_fits(const struct buf *body, const char *what, struct err *e)
{
    return body->len <= ANSWER_MOST ? 0 : answer_too_large(what, e);
}

void answer_pending(struct route_answer *out)
{
    struct jw j = {.out = &out->body};
    out->status = 202;
    out->body.len = 0;
    jw_object(&j, NULL);
    jw_bool(&j, "pending", true);
    jw_end(&j);
}

int route_word(const struct route_request *q, const char *name, const char *const *words,
               int64_t *at, struct err *e)
{
    const char *text = route_text(q, name);
    struct buf list = {0};
    if (!text)
        return 0;
    for (int64_t i = 0; words[i]; i++) {
        if (strcmp(words[i], text) == 0) {
            *at = i;
            buf_free(&list);
            return 0;
        }
        buf_printf(&list, "%s%s", i ? ", " : "", words[i]);
    }
    err_set(e, ERR_USAGE, "%s: '%.40s' is not one of %.*s", name, text, (int)list.len,
            (const char *)list.p);
    buf_free(&list);
    return e->code;
}

int route_window(const struct route_request *q, wall_ns *from, wall_ns *to, struct err *e)
{
    const struct run_info *info = run_get_info(q->run);
    *from = route_time(q, "from");
    *to = route_time(q, "to");
    if (!from->ns)
        *from = info->start;
    if (!to->ns) /* the last sample is in it */
        *to = (wall_ns){info->end.ns + 1};
    return to->ns > from->ns ? 0 : err_set(e, ERR_USAGE, "the window ends before it starts");
}

/* ---- async answers ---- */

struct async_answer {
    struct memo_value value;
    struct buf body;
};

/* What the job needs of the request. */
struct async_request {
    route_fn *now;
    struct arena arena; /* of the texts */
    struct route_value *values;
    size_t n_values;
};

static void async_free_answer(struct memo_value *v)
{
    struct async_answer *x = (struct async_answer *)v;
    buf_free(&x->body);
    free(x);
}

static void async_free_request(void *ctx)
{
    struct async_request *k = ctx;
    arena_free(&k->arena);
    free(k);
}

static int async_make(void *ctx, struct run *run, struct memo_value **out, struct err *e)
{
    const struct async_request *k = ctx;
    struct arena a = {0};
    struct route_answer answer = {.status = 200};
    const struct route_request q = {
        .values = k->values, .n_values = k->n_values, .run = run, .arena = &a};
    const int rc = k->now(&q, &answer, e);
    arena_free(&a);
    if (rc) {
        buf_free(&answer.body);
        return rc;
    }
    struct async_answer *x = xcalloc(1, sizeof *x);
    *x = (struct async_answer){{.bytes = answer.body.cap, .free = async_free_answer}, answer.body};
    atomic_init(&x->value.refs, 1);
    *out = &x->value;
    return 0;
}

static struct memo_job async_job_of(const struct route_request *q, route_fn *now)
{
    struct async_request *k = xcalloc(1, sizeof *k);
    *k = (struct async_request){.now = now, .n_values = q->n_values};
    k->values = arena_array(&k->arena, struct route_value, q->n_values + 1);
    for (size_t i = 0; i < q->n_values; i++) {
        k->values[i] = q->values[i];
        k->values[i].text = arena_strdup(&k->arena, q->values[i].text);
    }
    return (struct memo_job){run_get_info(q->run)->path, async_make, k, async_free_request};
}

static void async_put_key(struct buf *b, const struct route_request *q, route_fn *now)
{
    buf_printf(b, "async %llx %s\n", (unsigned long long)(uintptr_t)now,
               run_get_info(q->run)->path);
    for (size_t i = 0; i < q->n_values; i++)
        buf_printf(b, "%s=%s\n", q->values[i].param->name, q->values[i].text);
}

static int async_count_events(const struct route_request *q, uint64_t *events, struct err *e)
{
    struct run_track *tracks;
    size_t n;
    TRY(events_tracks(q->run, q->arena, &tracks, &n, e));
    *events = 0;
    for (size_t i = 0; i < n; i++)
        *events += tracks[i].events;
    return 0;
}

int answer_async(const struct route_request *q, route_fn *now, struct route_answer *out,
                 struct err *e)
{
    uint64_t events;
    struct buf text = {0};
    int rc = 0;
    TRY(async_count_events(q, &events, e));
    if (events <= ANSWER_EVENTS)
        return now(q, out, e);
    async_put_key(&text, q, now);
    const struct memo_key key = {text.p, text.len, q->version};
    struct memo_value *v = memo_get(runs_memo(q->runs, CACHE_ANSWERS), &key, NULL);
    if (v) {
        const struct buf *body = &((struct async_answer *)v)->body;
        buf_put(&out->body, body->p, body->len);
    } else {
        answer_pending(out);
        const struct memo_job job = async_job_of(q, now);
        rc = memo_start(runs_memo(q->runs, CACHE_ANSWERS), &key, &job, e);
    }
    memo_unref(v);
    buf_free(&text);
    return rc;
}

/* ---- steps ---- */

struct steps_value {
    struct memo_value value;
    struct step_digest digest;
    struct arena arena;
};

static void steps_free_value(struct memo_value *v)
{
    struct steps_value *x = (struct steps_value *)v;
    arena_free(&x->arena);
    free(x);
}

static int steps_make(void *ctx, struct run *run, struct memo_value **out, struct err *e)
{
    (void)ctx;
    struct steps_value *x = xcalloc(1, sizeof *x);
    const int rc = stepdigest_read(&x->digest, run, &x->arena, e);
    if (rc) {
        steps_free_value(&x->value);
        return rc;
    }
    x->value.bytes = x->digest.bytes;
    x->value.free = steps_free_value;
    atomic_init(&x->value.refs, 1);
    *out = &x->value;
    return 0;
}

/* The digest of the run's steps, counted for the caller, also when it fails. Few events are read at
 * once, more of them by an async job; until that is done, `*out` is the digest of older data
 * (`*older`) or NULL. */
static int steps_get(const struct route_request *q, struct memo_value **out, bool *older,
                     struct err *e)
{
    struct memo *m = runs_memo(q->runs, CACHE_STEPS);
    const char *path = run_get_info(q->run)->path;
    const char *text = arena_printf(q->arena, "steps %s", path);
    const struct memo_key key = {text, strlen(text), q->version};
    uint64_t events;
    *older = false;
    *out = memo_get(m, &key, older);
    if (*out && !*older)
        return 0;
    TRY(stepdigest_cost(q->run, q->arena, &events, e));
    if (events > STEPS_EVENTS)
        return memo_start(m, &key, &(struct memo_job){.path = path, .make = steps_make}, e);
    memo_unref(*out);
    *out = NULL;
    *older = false;
    TRY(steps_make(NULL, q->run, out, e));
    memo_put(m, &key, *out);
    return 0;
}

int answer_with_steps(const struct route_request *q, steps_fn *put, struct route_answer *out,
                      struct err *e)
{
    struct memo_value *v;
    int rc = steps_get(q, &v, &out->passing, e);
    if (rc == 0 && v)
        rc = put(q, &((struct steps_value *)v)->digest, out, e);
    else if (rc == 0)
        answer_pending(out);
    memo_unref(v);
    return rc;
}

/* ---- rows ---- */

static struct row_cell rows_entity_at(const void *x, size_t i, const char **key)
{
    (void)key;
    return row_text(((const struct series_key *)x)[i].entity);
}

static struct row_cell rows_outlier_at(const void *x, size_t i, const char **key)
{
    (void)key;
    return row_object(((const struct step_hist *)x)->outliers[i]);
}

#define ROWS_FILE "serve/api_rows.def"
#include "base/row_expand.h"
