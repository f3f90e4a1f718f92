/* SPDX-License-Identifier: Apache-2.0 */
/* memo.c - see memo.h. A hash table whose entries are also a list by last use. */
#include "serve/memo.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/run.h"
#include "run/run_files.h"
#include "serve/hash.h"
#include "serve/limits.h"
#include "serve/work.h"

enum {
    SLOTS = 4096,      /* a power of two */
    OVERHEAD = 1024,   /* bytes that an entry takes beside its key and its value */
    THREADS = 1,       /* that run jobs */
    PENDING_MOST = 32, /* jobs; more are not begun: the client requests again anyway */
};

struct memo_entry {
    struct memo_entry *chain;         /* same slot */
    struct memo_entry *newer, *older; /* by last use */
    struct memo_value *value;         /* NULL: none yet */
    uint64_t version;                 /* of the value */
    bool pending;                     /* a job computes it */
    struct err *failed;               /* why the last job has no value; NULL: it did not fail */
    uint64_t hash;
    size_t n;
    char key[];
};

struct memo {
    pthread_mutex_t lock;
    struct memo_entry *slot[SLOTS];
    struct memo_entry *newest, *oldest;
    size_t bytes, bytes_most, n_pending;
    struct work *worker;
    struct memory_limit *limit; /* not ours */
};

void memo_unref(struct memo_value *v)
{
    if (v && atomic_fetch_sub(&v->refs, 1) == 1)
        v->free(v);
}

/* ---- the table; all of it under the lock ---- */

static size_t memo_entry_bytes(const struct memo_entry *x)
{
    return OVERHEAD + x->n + (x->value ? x->value->bytes : 0);
}

static void memo_unlist(struct memo *m, struct memo_entry *x)
{
    *(x->newer ? &x->newer->older : &m->newest) = x->older;
    *(x->older ? &x->older->newer : &m->oldest) = x->newer;
}

static void memo_list_first(struct memo *m, struct memo_entry *x)
{
    x->newer = NULL;
    x->older = m->newest;
    *(x->older ? &x->older->newer : &m->oldest) = x;
    m->newest = x;
}

static struct memo_entry **memo_find(struct memo *m, uint64_t hash, const void *key, size_t n)
{
    struct memo_entry **at = &m->slot[hash & (SLOTS - 1)];
    while (*at && ((*at)->hash != hash || (*at)->n != n || memcmp((*at)->key, key, n) != 0))
        at = &(*at)->chain;
    return at;
}

/* The entry of the key, made where there is none; the last used one now. */
static struct memo_entry *memo_entry_of(struct memo *m, const void *key, size_t n)
{
    const uint64_t hash = hash_bytes(key, n);
    struct memo_entry **at = memo_find(m, hash, key, n), *x = *at;
    if (x) {
        memo_unlist(m, x);
    } else {
        x = *at = xmalloc(sizeof *x + n);
        *x = (struct memo_entry){.hash = hash, .n = n};
        memcpy(x->key, key, n);
        m->bytes += memo_entry_bytes(x);
    }
    memo_list_first(m, x);
    return x;
}

static void memo_drop(struct memo *m, struct memo_entry *x)
{
    struct memo_entry **at = memo_find(m, x->hash, x->key, x->n);
    assert(*at == x && !x->pending);
    *at = x->chain;
    memo_unlist(m, x);
    m->bytes -= memo_entry_bytes(x);
    memo_unref(x->value);
    free(x->failed);
    free(x);
}

/* The least recently used go, but for `last` and those that a job will fill. */
static void memo_trim(struct memo *m, const struct memo_entry *last)
{
    for (struct memo_entry *x = m->oldest, *newer; x && m->bytes > m->bytes_most; x = newer) {
        newer = x->newer;
        if (x != last && !x->pending)
            memo_drop(m, x);
    }
}

static void memo_set(struct memo *m, struct memo_entry *x, uint64_t version, struct memo_value *v)
{
    m->bytes -= memo_entry_bytes(x);
    memo_unref(x->value);
    free(x->failed);
    x->failed = NULL;
    x->value = v;
    x->version = version;
    m->bytes += memo_entry_bytes(x);
    memo_trim(m, x);
}

/* ---- values ---- */

struct memo_value *memo_get(struct memo *m, const struct memo_key *k, bool *older)
{
    const uint64_t hash = hash_bytes(k->p, k->n);
    struct memo_value *v = NULL;
    pthread_mutex_lock(&m->lock);
    struct memo_entry *x = *memo_find(m, hash, k->p, k->n);
    if (x && x->value && (older || x->version == k->version)) {
        v = x->value;
        atomic_fetch_add(&v->refs, 1);
        if (older)
            *older = x->version != k->version;
        if (x != m->newest) {
            memo_unlist(m, x);
            memo_list_first(m, x);
        }
    }
    pthread_mutex_unlock(&m->lock);
    return v;
}

void memo_put(struct memo *m, const struct memo_key *k, struct memo_value *v)
{
    atomic_fetch_add(&v->refs, 1);
    pthread_mutex_lock(&m->lock);
    memo_set(m, memo_entry_of(m, k->p, k->n), k->version, v);
    pthread_mutex_unlock(&m->lock);
}

/* ---- jobs ---- */

int memo_with_run(struct memory_limit *limit, const char *path, memo_use *use, void *ctx,
                  struct err *e)
{
    struct run *run = NULL;
    const uint64_t bytes = memory_limit_enter(limit, run_stamp_data(path).bytes);
    const uint64_t truncations = sigbus_guard_count();
    int rc = run_open(&run, path, e);
    if (rc == 0)
        rc = use(ctx, run, e);
    run_close(run);
    memory_limit_leave(limit, bytes);
    if (rc == 0 && sigbus_guard_count() != truncations)
        rc = err_set(e, ERR_FORMAT, "files of the run were truncated while being read");
    return rc;
}

struct memo_running {
    struct work_job work;
    struct memo *memo;
    struct memo_job job;
    struct memo_value *value;
    uint64_t version;
    char *path;
    size_t n_key;
    char key[];
};

static int memo_make(void *ctx, struct run *run, struct err *e)
{
    struct memo_running *g = ctx;
    return g->job.make(g->job.ctx, run, &g->value, e);
}

/* A failure is of no interest as long as there is a value of older data. */
static void memo_end_job(struct memo_running *g, const struct err *failed)
{
    struct memo *m = g->memo;
    pthread_mutex_lock(&m->lock);
    struct memo_entry *x = *memo_find(m, hash_bytes(g->key, g->n_key), g->key, g->n_key);
    assert(x && x->pending);
    x->pending = false;
    m->n_pending--;
    if (failed) {
        memo_unref(g->value);
        if (!x->value) {
            x->failed = xmalloc(sizeof *failed);
            *x->failed = *failed;
        }
    } else if (g->value) {
        memo_set(m, x, g->version, g->value);
    }
    pthread_mutex_unlock(&m->lock);
}

static void memo_free_job(const struct memo_job *job)
{
    if (job->free)
        job->free(job->ctx);
}

static void memo_run_job(struct work_job *w, bool ends)
{
    struct memo_running *g = (struct memo_running *)w;
    struct err e = {0};
    const int rc = ends ? 0 : memo_with_run(g->memo->limit, g->path, memo_make, g, &e);
    memo_end_job(g, rc ? &e : NULL);
    memo_free_job(&g->job);
    free(g->path);
    free(g);
}

/* Whether a job has to be started for the entry; it is marked as pending then. */
static bool memo_begin(struct memo *m, const struct memo_key *k, struct err *e)
{
    pthread_mutex_lock(&m->lock);
    struct memo_entry *x = memo_entry_of(m, k->p, k->n);
    const bool begin = !x->pending && !x->failed && m->n_pending < PENDING_MOST;
    *e = x->failed ? *x->failed : (struct err){0};
    if (x->failed) {
        memo_drop(m, x);
    } else {
        x->pending |= begin;
        m->n_pending += begin;
        memo_trim(m, x);
    }
    pthread_mutex_unlock(&m->lock);
    return begin;
}

int memo_start(struct memo *m, const struct memo_key *k, const struct memo_job *job, struct err *e)
{
    if (!memo_begin(m, k, e)) {
        memo_free_job(job);
        return e->code;
    }
    struct memo_running *g = xmalloc(sizeof *g + k->n);
    *g = (struct memo_running){.work = {.run = memo_run_job},
                               .memo = m,
                               .job = *job,
                               .version = k->version,
                               .path = xstrdup(job->path),
                               .n_key = k->n};
    memcpy(g->key, k->p, k->n);
    if (!work_add(m->worker, &g->work))
        memo_run_job(&g->work, true); /* the server ends */
    return 0;
}

/* ---- all of it ---- */

int memo_open(struct memo **out, size_t bytes_most, struct memory_limit *limit, struct err *e)
{
    struct memo *m = xcalloc(1, sizeof *m);
    pthread_mutex_init(&m->lock, NULL);
    m->bytes_most = bytes_most;
    m->limit = limit;
    const int rc = work_open(&m->worker, THREADS, "memo", e);
    if (rc == 0)
        *out = m;
    else
        memo_close(m);
    return rc;
}

void memo_close(struct memo *m)
{
    if (!m)
        return;
    work_close(m->worker);
    while (m->oldest) {
        m->oldest->pending = false;
        memo_drop(m, m->oldest);
    }
    pthread_mutex_destroy(&m->lock);
    free(m);
}
