/* SPDX-License-Identifier: Apache-2.0 */
/* later.c - see later.h. */
#include "serve/later.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/events.h"
#include "run/run_files.h"
#include "serve/api_internal.h"
#include "serve/cutfile.h"
#include "serve/heavy.h"
#include "serve/work.h"

enum {
    AT_ONCE = 300000, /* events that are looked at while a request waits: some 50 ms */
    KEPT = 32,
};

/* A question and, once it is there, its answer. */
struct later_entry {
    char *key;
    bool ready;
    int rc; /* of the answer; then its reason */
    struct err why;
    struct buf body;
    uint64_t turn; /* the smallest came first */
};

struct later {
    pthread_mutex_t lock;
    struct later_entry entry[KEPT];
    uint64_t turns;
    struct work *worker;
    struct heavy *heavy; /* not ours */
};

struct asking {
    struct work_job job;
    struct later *later;
    route_fn *now;
    char *path, *key;
    struct arena arena; /* of the values */
    struct route_value *values;
    size_t n_values;
};

static char *later_key_of(const struct route_ask *q, route_fn *now)
{
    struct buf b = {0};
    buf_printf(&b, "%llx %llu %s\n", (unsigned long long)(uintptr_t)now,
               (unsigned long long)q->version, run_get_info(q->run)->path);
    for (size_t i = 0; i < q->n_values; i++)
        buf_printf(&b, "%s=%s\n", q->values[i].param->name, q->values[i].text);
    buf_u8(&b, 0);
    return (char *)b.p;
}

/* Under the lock. */
static struct later_entry *later_find(struct later *l, const char *key)
{
    for (size_t i = 0; i < KEPT; i++)
        if (l->entry[i].key && strcmp(l->entry[i].key, key) == 0)
            return &l->entry[i];
    return NULL;
}

static void later_forget(struct later_entry *x)
{
    free(x->key);
    buf_free(&x->body);
    *x = (struct later_entry){0};
}

/* ---- working it out ---- */

static void later_keep(struct later *l, const char *key, int rc, const struct err *why,
                       struct buf *body)
{
    pthread_mutex_lock(&l->lock);
    struct later_entry *x = later_find(l, key);
    if (x) { /* else it was forgotten meanwhile */
        x->ready = true;
        x->rc = rc;
        x->why = *why;
        x->body = *body;
        *body = (struct buf){0};
    }
    pthread_mutex_unlock(&l->lock);
}

static int work_out(const struct asking *k, struct arena *a, struct buf *body, struct err *e)
{
    struct run *run = NULL;
    struct route_answer out = {.status = 200};
    const uint64_t cuts = cutfile_count();
    int rc = run_open(&run, k->path, e);
    if (rc == 0) {
        const struct route_ask q = {
            .values = k->values, .n_values = k->n_values, .run = run, .arena = a};
        rc = k->now(&q, &out, e);
    }
    run_close(run);
    *body = out.body;
    if (rc == 0 && cutfile_count() != cuts)
        rc = err_set(e, ERR_FORMAT, "files of the run were truncated while being read");
    return rc;
}

static void run_asking(struct work_job *j, bool ends)
{
    struct asking *k = (struct asking *)j;
    struct arena a = {0};
    struct err e = {0};
    struct buf body = {0};
    if (!ends) {
        const uint64_t bytes = heavy_begin(k->later->heavy, run_stamp_data(k->path).bytes);
        const int rc = work_out(k, &a, &body, &e);
        arena_free(&a);
        heavy_end(k->later->heavy, bytes);
        later_keep(k->later, k->key, rc, &e, &body);
    }
    buf_free(&body);
    arena_free(&k->arena);
    free(k->path);
    free(k->key);
    free(k);
}

/* ---- asked for ---- */

/* The place of the oldest that is ready, or a free one; NULL: all are being worked out. */
static struct later_entry *later_place_for(struct later *l)
{
    struct later_entry *oldest = NULL;
    for (size_t i = 0; i < KEPT; i++) {
        struct later_entry *x = &l->entry[i];
        if (!x->key)
            return x;
        if (x->ready && (!oldest || x->turn < oldest->turn))
            oldest = x;
    }
    if (oldest)
        later_forget(oldest);
    return oldest;
}

static void add_job(struct later *l, const struct route_ask *q, route_fn *now, const char *key)
{
    struct asking *k = xcalloc(1, sizeof *k);
    *k = (struct asking){.job = {.run = run_asking}, .later = l, .now = now};
    k->path = xstrdup(run_get_info(q->run)->path);
    k->key = xstrdup(key);
    k->n_values = q->n_values;
    k->values = arena_array(&k->arena, struct route_value, q->n_values + 1);
    for (size_t i = 0; i < q->n_values; i++) {
        k->values[i] = q->values[i];
        k->values[i].text = arena_strdup(&k->arena, q->values[i].text);
    }
    work_add(l->worker, &k->job);
}

/* What is there of it. `*begin`: nothing yet, and the caller has to set it going. Why it could not
 * be worked out is told once: the run may be there again when somebody asks the next time. */
static int fetch(struct later *l, const char *key, struct route_answer *out, bool *begin,
                 struct err *e)
{
    int rc = 0;
    pthread_mutex_lock(&l->lock);
    struct later_entry *x = later_find(l, key);
    *begin = false;
    if (x && x->ready) {
        rc = x->rc;
        *e = x->why;
        buf_put(&out->body, x->body.p, x->body.len);
        if (rc)
            later_forget(x);
    } else {
        answer_pending(out);
        if (!x && (x = later_place_for(l))) {
            *x = (struct later_entry){.key = xstrdup(key), .turn = ++l->turns};
            *begin = true;
        }
    }
    pthread_mutex_unlock(&l->lock);
    return rc;
}

static int later_count_events(const struct route_ask *q, uint64_t *events, struct err *e)
{
    struct run_track *tracks;
    size_t n;
    const int rc = events_tracks(q->run, q->arena, &tracks, &n, e);
    *events = 0;
    for (size_t i = 0; rc == 0 && i < n; i++)
        *events += tracks[i].events;
    return rc;
}

int later_answer(struct later *l, const struct route_ask *q, route_fn *now,
                 struct route_answer *out, struct err *e)
{
    uint64_t events;
    bool begin;
    int rc = later_count_events(q, &events, e);
    if (rc || events <= AT_ONCE)
        return rc ? rc : now(q, out, e);
    char *key = later_key_of(q, now);
    rc = fetch(l, key, out, &begin, e);
    if (begin)
        add_job(l, q, now, key);
    free(key);
    return rc;
}

int later_open(struct later **out, struct heavy *heavy, struct err *e)
{
    struct later *l = xcalloc(1, sizeof *l);
    pthread_mutex_init(&l->lock, NULL);
    l->heavy = heavy;
    const int rc = work_open(&l->worker, 1, "later", e);
    if (rc == 0)
        *out = l;
    else
        later_close(l);
    return rc;
}

void later_close(struct later *l)
{
    if (!l)
        return;
    work_close(l->worker);
    for (size_t i = 0; i < KEPT; i++)
        later_forget(&l->entry[i]);
    pthread_mutex_destroy(&l->lock);
    free(l);
}
