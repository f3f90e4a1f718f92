/* SPDX-License-Identifier: Apache-2.0 */
/* digests.c - see digests.h. */
#include "serve/digests.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/run.h"
#include "run/run_files.h"
#include "serve/cutfile.h"
#include "serve/heavy.h"
#include "serve/work.h"

/* Events that are looked at while a request waits: some 20 ms. */
enum { AT_ONCE = 150000 };

struct digests_entry {
    struct step_digest digest; /* first, so that who holds it finds the entry */
    struct arena arena;
    struct digests_entry *next; /* the one asked for before this one */
    char *path;
    uint64_t version;
    unsigned refs; /* under the lock; one is the table's */
};

struct digests {
    pthread_mutex_t lock;
    struct digests_entry *first; /* the last asked for; at most one of each run */
    size_t bytes, bytes_most;
    struct work *maker;
    struct heavy *heavy; /* not ours */
    char **making;       /* paths of runs whose digest is being made */
    size_t n_making, cap_making;
};

struct making {
    struct work_job job;
    struct digests *digests;
    char *path;
    uint64_t version;
};

static void entry_free(struct digests_entry *x)
{
    arena_free(&x->arena);
    free(x->path);
    free(x);
}

/* Under the lock. */
static void unref(struct digests_entry *x)
{
    if (--x->refs == 0)
        entry_free(x);
}

/* The place that points to the entry of a run, or to the end. Under the lock. */
static struct digests_entry **digests_find(struct digests *d, const char *path)
{
    struct digests_entry **at = &d->first;
    while (*at && strcmp((*at)->path, path) != 0)
        at = &(*at)->next;
    return at;
}

static struct digests_entry *unlink_at(struct digests *d, struct digests_entry **at)
{
    struct digests_entry *x = *at;
    *at = x->next;
    d->bytes -= x->digest.bytes;
    return x;
}

/* What is behind the limit goes; the newest stays, however large. Under the lock. */
static void trim(struct digests *d)
{
    while (d->bytes > d->bytes_most && d->first && d->first->next) {
        struct digests_entry **at = &d->first;
        while ((*at)->next)
            at = &(*at)->next;
        unref(unlink_at(d, at));
    }
}

static void digests_put(struct digests *d, struct digests_entry *x)
{
    pthread_mutex_lock(&d->lock);
    struct digests_entry **old = digests_find(d, x->path);
    if (*old)
        unref(unlink_at(d, old));
    x->next = d->first;
    d->first = x;
    d->bytes += x->digest.bytes;
    trim(d);
    pthread_mutex_unlock(&d->lock);
}

/* NULL, and `e` says why, when it cannot be read. */
static struct digests_entry *digests_make(struct run *r, const char *path, uint64_t version,
                                          struct err *e)
{
    struct digests_entry *x = xcalloc(1, sizeof *x);
    x->path = xstrdup(path);
    x->version = version;
    x->refs = 1;
    if (stepdigest_read(&x->digest, r, &x->arena, e) == 0)
        return x;
    entry_free(x);
    return NULL;
}

/* ---- in the background ---- */

static void made(struct digests *d, const char *path)
{
    pthread_mutex_lock(&d->lock);
    for (size_t i = 0; i < d->n_making; i++) {
        if (strcmp(d->making[i], path) != 0)
            continue;
        free(d->making[i]);
        d->making[i] = d->making[--d->n_making];
        break;
    }
    pthread_mutex_unlock(&d->lock);
}

/* A run that cannot be read is tried again when somebody asks; that request gets the reason. */
static void run_making(struct work_job *j, bool ends)
{
    struct making *m = (struct making *)j;
    struct run *r = NULL;
    struct err e;
    const uint64_t bytes = ends ? 0 : heavy_begin(m->digests->heavy, run_stamp_data(m->path).bytes);
    const uint64_t cuts = cutfile_count();
    if (!ends && run_open(&r, m->path, &e) == 0) {
        struct digests_entry *x = digests_make(r, m->path, m->version, &e);
        if (x && cutfile_count() == cuts)
            digests_put(m->digests, x);
        else if (x)
            entry_free(x);
    }
    run_close(r);
    if (!ends)
        heavy_end(m->digests->heavy, bytes);
    made(m->digests, m->path);
    free(m->path);
    free(m);
}

static void make_later(struct digests *d, const char *path, uint64_t version)
{
    pthread_mutex_lock(&d->lock);
    bool begun = false;
    for (size_t i = 0; i < d->n_making; i++)
        begun |= strcmp(d->making[i], path) == 0;
    if (!begun) {
        if (d->n_making == d->cap_making) {
            d->cap_making = d->cap_making ? 2 * d->cap_making : 8;
            d->making = xrealloc(d->making, d->cap_making, sizeof *d->making);
        }
        d->making[d->n_making++] = xstrdup(path);
    }
    pthread_mutex_unlock(&d->lock);
    if (begun)
        return;
    struct making *m = xcalloc(1, sizeof *m);
    *m = (struct making){{.run = run_making}, d, xstrdup(path), version};
    work_add(d->maker, &m->job);
}

/* ---- asked for ---- */

/* The one that is kept, counted for the caller; it is the last asked for now. */
static struct digests_entry *take_kept(struct digests *d, const char *path)
{
    pthread_mutex_lock(&d->lock);
    struct digests_entry **at = digests_find(d, path), *x = *at;
    if (x) {
        *at = x->next;
        x->next = d->first;
        d->first = x;
        x->refs++;
    }
    pthread_mutex_unlock(&d->lock);
    return x;
}

static int take_new(struct digests *d, const struct route_ask *q, const char *path,
                    struct digests_entry **out, struct err *e)
{
    uint64_t events;
    const int rc = stepdigest_cost(q->run, q->arena, &events, e);
    *out = NULL;
    if (rc)
        return rc;
    if (events > AT_ONCE) {
        make_later(d, path, q->version);
        return 0;
    }
    struct digests_entry *x = digests_make(q->run, path, q->version, e);
    if (!x)
        return e->code;
    x->refs++; /* the caller's */
    digests_put(d, x);
    *out = x;
    return 0;
}

int digests_take(struct digests *d, const struct route_ask *q, const struct step_digest **out,
                 bool *older, struct err *e)
{
    const char *path = run_get_info(q->run)->path;
    struct digests_entry *kept = take_kept(d, path), *made_now;
    *out = kept ? &kept->digest : NULL;
    *older = false;
    if (kept && kept->version == q->version)
        return 0;
    const int rc = take_new(d, q, path, &made_now, e);
    if (rc == 0 && !made_now) {
        *older = kept != NULL;
        return 0;
    }
    digests_give(d, *out);
    *out = made_now ? &made_now->digest : NULL;
    return rc;
}

void digests_give(struct digests *d, const struct step_digest *x)
{
    if (!x)
        return;
    pthread_mutex_lock(&d->lock);
    unref((struct digests_entry *)x);
    pthread_mutex_unlock(&d->lock);
}

int digests_open(struct digests **out, struct heavy *heavy, size_t bytes_most, struct err *e)
{
    struct digests *d = xcalloc(1, sizeof *d);
    d->bytes_most = bytes_most;
    d->heavy = heavy;
    pthread_mutex_init(&d->lock, NULL);
    const int rc = work_open(&d->maker, 1, "fp-steps", e);
    if (rc == 0)
        *out = d;
    else
        digests_close(d);
    return rc;
}

void digests_close(struct digests *d)
{
    if (!d)
        return;
    work_close(d->maker);
    while (d->first)
        unref(unlink_at(d, &d->first));
    for (size_t i = 0; i < d->n_making; i++)
        free(d->making[i]);
    free(d->making);
    pthread_mutex_destroy(&d->lock);
    free(d);
}
