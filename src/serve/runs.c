/* SPDX-License-Identifier: Apache-2.0 */
/* runs.c - see runs.h. Open runs, and the requests that use them. */
#include "serve/runs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "run/run_names.h"
#include "run/rundir.h"
#include "serve/limits.h"
#include "serve/memo.h"
#include "serve/runs_internal.h"

enum { JUDGES = 1 };

static const size_t cache_bytes[CACHE_N] = {[CACHE_ANSWERS] = 64 << 20, [CACHE_STEPS] = 96 << 20};

/* ---- all of them ---- */

static void runs_close_caches(struct runs *r)
{
    for (int i = 0; i < CACHE_N; i++)
        memo_close(r->memo[i]);
}

int runs_open(struct runs **out, const char *const *folders, size_t n, size_t open_bytes_most,
              struct err *e)
{
    struct runs *r = xcalloc(1, sizeof *r);
    r->open_bytes_most = open_bytes_most;
    r->limit = memory_limit_open();
    int rc = work_open(&r->judges, JUDGES, "judge", e);
    if (rc == 0)
        rc = work_open(&r->quiet, 1, "quiet", e);
    for (int i = 0; rc == 0 && i < CACHE_N; i++)
        rc = memo_open(&r->memo[i], cache_bytes[i], r->limit, e);
    if (rc) {
        runs_close_caches(r);
        work_close(r->quiet);
        work_close(r->judges);
        memory_limit_close(r->limit);
        free(r);
        return rc;
    }
    pthread_mutex_init(&r->scan, NULL);
    pthread_mutex_init(&r->lock, NULL);
    r->fill_list = (struct fill){{.run = fill_list}, r};
    r->began = clock_mono();
    r->folders = xcalloc(n + 1, sizeof(char *));
    for (size_t i = 0; i < n; i++)
        r->folders[r->n_folders++] = xstrdup(folders[i]);
    *out = r;
    return 0;
}

void runs_close(struct runs *r)
{
    if (!r)
        return;
    work_close(r->quiet);
    work_close(r->judges);
    runs_close_caches(r);
    memory_limit_close(r->limit);
    picture_unref(r, r->picture);
    for (size_t i = 0; i < RUNS_SLOTS; i++)
        while (r->slot[i]) {
            struct runs_item *x = r->slot[i];
            r->slot[i] = x->chain;
            runs_unref(r, x);
        }
    for (size_t i = 0; i < r->n_folders; i++)
        free(r->folders[i]);
    for (size_t i = 0; i < RUNS_GONE; i++)
        free(r->gone[i]);
    free(r->folders);
    pthread_mutex_destroy(&r->scan);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

void runs_list_read(struct runs *r, struct runs_list *out)
{
    runs_scan(r, false);
    pthread_mutex_lock(&r->lock);
    struct runs_picture *p = r->picture;
    p->refs++;
    pthread_mutex_unlock(&r->lock);
    *out = (struct runs_list){.v = p->v, .n = p->n, .own = p, .runs = r};
}

void runs_list_free(struct runs_list *l)
{
    if (l->own)
        picture_unref(l->runs, l->own);
    *l = (struct runs_list){0};
}

struct memo *runs_memo(struct runs *r, enum runs_cache which)
{
    return r->memo[which];
}

struct memory_limit *runs_memory_limit(struct runs *r)
{
    return r->limit;
}

size_t runs_folders(const struct runs *r, const char *const **out)
{
    *out = (const char *const *)r->folders;
    return r->n_folders;
}

/* ---- one of them ---- */

static bool runs_is_fresh(mono_ns looked)
{
    return looked.ns && mono_diff(clock_mono(), looked) < RUNS_FRESH_MS * NS_PER_MS;
}

bool runs_version(struct runs *r, const char *name, uint64_t *version)
{
    struct runs_item *x = runs_find(r, name);
    if (!x)
        return false;
    pthread_mutex_lock(&r->lock);
    const bool fresh = runs_is_fresh(x->looked) && x->version;
    *version = x->version;
    pthread_mutex_unlock(&r->lock);
    runs_unref(r, x);
    return fresh;
}

uint64_t runs_look(struct runs *r, struct runs_item *x)
{
    pthread_mutex_lock(&r->lock);
    const bool fresh = runs_is_fresh(x->looked);
    uint64_t version = x->version;
    pthread_mutex_unlock(&r->lock);
    if (fresh)
        return version;
    version = run_stamp_data(x->path).version;
    pthread_mutex_lock(&r->lock);
    x->version = version;
    x->looked = clock_mono();
    pthread_mutex_unlock(&r->lock);
    return version;
}

static bool runs_was_there(struct runs *r, const char *name)
{
    bool was = false;
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < RUNS_GONE; i++)
        was |= r->gone[i] && strcmp(r->gone[i], name) == 0;
    pthread_mutex_unlock(&r->lock);
    return was;
}

static int runs_vanished(const char *name, struct err *e)
{
    errno = ENOENT;
    return err_sys(e, "run '%.100s' was removed", name);
}

/* Whether one has begun since the last scan, which was a moment ago. */
static bool runs_is_new(const struct runs *r, const char *name)
{
    char path[PATH_LEN];
    struct err e;
    bool is = false;
    for (size_t i = 0; i < r->n_folders && !is && name_is_sane(name, RUN_ID_LEN); i++)
        is = run_path(path, r->folders[i], name, &e) == 0 && run_stamp_about(path);
    return is;
}

/* A run that is not known may have begun since the last scan. */
static int runs_look_up(struct runs *r, const char *name, struct runs_item **out, struct err *e)
{
    *out = runs_find(r, name);
    if (!*out) {
        runs_scan(r, false);
        *out = runs_find(r, name);
    }
    if (!*out && runs_is_new(r, name)) {
        runs_scan(r, true);
        *out = runs_find(r, name);
    }
    if (*out)
        return 0;
    if (runs_was_there(r, name))
        return runs_vanished(name, e);
    return err_set(e, ERR_NOT_FOUND, "no run '%.100s'", name);
}

int runs_path(struct runs *r, const char *name, struct arena *a, const char **out, struct err *e)
{
    struct runs_item *x;
    TRY(runs_look_up(r, name, &x, e));
    *out = arena_strdup(a, x->path);
    runs_unref(r, x);
    return 0;
}

void runs_changed(struct runs *r, const char *name)
{
    struct runs_item *x = runs_find(r, name);
    if (x) {
        pthread_mutex_lock(&r->lock);
        x->looked.ns = 0;
        pthread_mutex_unlock(&r->lock);
        runs_unref(r, x);
    }
    runs_scan(r, true);
}

/* ---- opening ---- */

static void runs_shut(struct runs *r, struct runs_item *x)
{
    struct run *run = x->run;
    x->run = NULL;
    if (!run)
        return;
    pthread_mutex_lock(&r->lock);
    x->open = false;
    r->n_open--;
    r->open_bytes -= x->bytes;
    x->bytes = 0;
    pthread_mutex_unlock(&r->lock);
    run_close(run);
}

static struct runs_item *runs_least_used(struct runs *r, const struct runs_item *but)
{
    struct runs_item *best = NULL;
    for (size_t i = 0; i < RUNS_SLOTS; i++)
        for (struct runs_item *x = r->slot[i]; x; x = x->chain)
            if (x->open && x != but && (!best || x->used < best->used) &&
                pthread_mutex_trylock(&x->use) == 0) {
                if (best)
                    pthread_mutex_unlock(&best->use);
                best = x;
            }
    if (best)
        best->refs++;
    return best;
}

/* The memory of an open run grows with its use. Under the lock. */
static void runs_count_bytes(struct runs *r, struct runs_item *x)
{
    const size_t now = x->run ? run_memory(x->run) : 0;
    r->open_bytes += now - x->bytes;
    x->bytes = now;
}

static bool runs_too_much_open(const struct runs *r)
{
    return r->n_open > RUNS_OPEN || (r->n_open > 1 && r->open_bytes > r->open_bytes_most);
}

/* Closes the least recently used; those in use stay. */
static void runs_make_room(struct runs *r, const struct runs_item *mine)
{
    for (;;) {
        pthread_mutex_lock(&r->lock);
        struct runs_item *x = runs_too_much_open(r) ? runs_least_used(r, mine) : NULL;
        pthread_mutex_unlock(&r->lock);
        if (!x)
            return;
        runs_shut(r, x);
        pthread_mutex_unlock(&x->use);
        runs_unref(r, x);
    }
}

static int runs_open_item(struct runs *r, struct runs_item *x, uint64_t version, struct err *e)
{
    if (x->run && x->run_version == version)
        return 0;
    runs_shut(r, x);
    const int rc = run_open(&x->run, x->path, e);
    if (rc) /* a run that is being deleted loses its files one by one */
        return e->sys == ENOENT ? runs_vanished(x->name, e) : rc;
    x->run_version = version;
    pthread_mutex_lock(&r->lock);
    x->open = true;
    x->used = clock_mono().ns;
    r->n_open++;
    runs_count_bytes(r, x);
    pthread_mutex_unlock(&r->lock);
    runs_make_room(r, x);
    return 0;
}

/* The list may be half a second old, which is too old for a request that stops a run. */
static int runs_describe(struct runs_hold *h, struct err *e)
{
    h->about = about_read(&(struct run_listed){.path = h->item->path}, 0);
    /* it was opened, and deleted since */
    if (h->about->broken && !run_stamp_about(h->item->path))
        return runs_vanished(h->item->name, e);
    if (h->about->broken)
        return err_set(e, ERR_FORMAT, "%s", h->about->broken);
    h->info = &h->about->info;
    return 0;
}

static int runs_hold_item(struct runs *r, struct runs_hold *h, bool open, struct err *e)
{
    struct runs_item *x = h->item;
    h->version = runs_look(r, x);
    if (!h->version)
        return runs_vanished(x->name, e);
    int rc = open ? runs_open_item(r, x, h->version, e) : runs_describe(h, e);
    if (rc || !open)
        return rc;
    h->run = x->run;
    h->info = run_get_info(x->run);
    h->truncations = sigbus_guard_count();
    return 0;
}

int runs_take(struct runs *r, const char *name, bool open, struct runs_hold *out, struct err *e)
{
    *out = (struct runs_hold){0};
    int rc = runs_look_up(r, name, &out->item, e);
    if (rc)
        return rc;
    out->locked = open;
    if (open)
        pthread_mutex_lock(&out->item->use);
    out->truncations = sigbus_guard_count();
    rc = runs_hold_item(r, out, open, e);
    if (rc)
        runs_give(r, out);
    else
        out->live = out->info->status == RUN_RUNNING;
    return rc;
}

/* Data from a file that was truncated while it was read is wrong. */
static void runs_distrust(struct runs *r, struct runs_item *x)
{
    runs_shut(r, x);
    pthread_mutex_lock(&r->lock);
    x->looked.ns = 0;
    pthread_mutex_unlock(&r->lock);
}

bool runs_give(struct runs *r, struct runs_hold *h)
{
    struct runs_item *x = h->item;
    if (!x)
        return true;
    const bool good = !h->locked || sigbus_guard_count() == h->truncations;
    if (!good)
        runs_distrust(r, x);
    pthread_mutex_lock(&r->lock);
    x->used = clock_mono().ns;
    if (h->locked)
        runs_count_bytes(r, x);
    pthread_mutex_unlock(&r->lock);
    if (h->locked) {
        runs_make_room(r, x);
        pthread_mutex_unlock(&x->use);
    }
    about_unref(r, h->about);
    runs_unref(r, x);
    *h = (struct runs_hold){0};
    return good;
}

/* ---- about itself ---- */

void runs_set_facts(struct runs *r, void (*fill)(void *ctx, struct runs_facts *out), void *ctx)
{
    r->fill = fill;
    r->fill_ctx = ctx;
}

void runs_get_facts(struct runs *r, struct runs_facts *out)
{
    *out = (struct runs_facts){0};
    runs_scan(r, false);
    pthread_mutex_lock(&r->lock);
    out->runs = r->n_items;
    out->open = r->n_open;
    out->open_bytes = r->open_bytes;
    out->evaluations = r->evaluations;
    out->uptime_s = (double)mono_diff(clock_mono(), r->began) / (double)NS_PER_S;
    pthread_mutex_unlock(&r->lock);
    if (r->fill)
        r->fill(r->fill_ctx, out);
}
