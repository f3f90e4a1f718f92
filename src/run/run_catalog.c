/* SPDX-License-Identifier: Apache-2.0 */
/* run_catalog.c - see run_catalog.h. A line of a pack:
 *
 *     RUN <tab> start, ns <tab> ETag of the entry <tab> entry <newline>
 *
 * The ETag shows that an entry which is still listed is already in the pack. */
#include "run/run_catalog.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zstd.h>

#include "base/file.h"
#include "base/json_read.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "run/object_cache.h"
#include "run/run_names.h"
#include "run/rundir.h"
#include "run/storage.h"
#include "run/storage_s3.h"
#include "store/format.h"

#define CATALOG_FOLDER ".footplate/1/"
#define PACK_END       ".zst"
#define ENTRY_END      ".json"

enum {
    DAY_LEN = sizeof "2026-11-18",
    ENTRY_MOST = 4 << 20,
    PACK_MOST = 1 << 30, /* bytes, unpacked */
    LIST_MOST = 4000,    /* of a larger catalogue the prefix is not listed, but when it is packed */
    DUE_ENTRIES = 500,   /* that are in no pack */
    DAY_S = 24 * 3600,
    FRESH_MS = 5000, /* as a view of object storage */
    KEEP_DAYS = 2,   /* a sender with another clock may still put entries of these days */
    PACK_LEVEL = 3,
    PACKS_KEPT = 2, /* a reader may be about to get the one before */
};

/* An entry of a day, or a line of the pack. */
struct run_catalog_item {
    struct run_catalog_run run;
    const char *etag;
    char day[DAY_LEN]; /* "": of the pack */
    uint64_t bytes;
    bool known; /* run has been filled */
    bool gone;  /* the run was removed */
};

struct run_catalog {
    struct arena arena;
    char root[PATH_LEN];
    char bucket[64];
    const char *base, *prefix, *endpoint; /* keys: of the catalogue, of the runs */
    struct run_catalog_item *items;
    size_t n_items, cap_items;
    size_t n_new;         /* entries that are in no pack */
    size_t n_since;       /* entries that were put since the pack was */
    char packed[DAY_LEN]; /* the day of the pack; "": there is none */
    char oldest[DAY_LEN]; /* of the entries; "": there are none */
    struct s3_object *packs;
    size_t n_packs, cap_packs;
    struct run_catalog_run *runs;
    size_t n_runs;
    int64_t server_s;
    mono_ns taken;
    int refs;
};

static struct {
    pthread_mutex_t lock;
    struct run_catalog *latest;
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- keys ---- */

static void run_catalog_day(char out[DAY_LEN], int64_t s)
{
    struct tm tm;
    const time_t t = (time_t)s;
    gmtime_r(&t, &tm);
    strftime(out, DAY_LEN, "%Y-%m-%d", &tm);
}

static int run_catalog_open(struct run_catalog *c, const char *runs, struct err *e)
{
    struct s3_place p;
    TRY(s3_place_of(&p, runs, e));
    TRY(path_join(c->root, e, S3_SCHEME "%s%s%s", p.bucket, *p.key ? "/" : "", p.key));
    snprintf(c->bucket, sizeof c->bucket, "%s", p.bucket);
    c->prefix = arena_printf(&c->arena, "%s%s", p.key, *p.key ? "/" : "");
    c->base = arena_printf(&c->arena, "%s" CATALOG_FOLDER, c->prefix);
    c->taken = clock_mono();
    c->refs = 1;
    return 0;
}

static void run_catalog_free(struct run_catalog *c)
{
    free(c->items);
    arena_free(&c->arena);
    free(c);
}

/* ---- lists ---- */

static int run_catalog_note_pack(void *ctx, const struct s3_object *x, struct err *e)
{
    struct run_catalog *c = ctx;
    const char *name = path_base(x->key);
    (void)e;
    if (strlen(name) != DAY_LEN - 1 + strlen(PACK_END) || !text_ends(name, PACK_END))
        return 0;
    struct s3_object *pack = ARENA_ADD(&c->arena, c->packs, c->n_packs, c->cap_packs);
    *pack = *x;
    pack->key = arena_strdup(&c->arena, x->key);
    snprintf(c->packed, sizeof c->packed, "%s", name); /* the last one is the newest */
    return 0;
}

/* BASE day/DAY/RUN.json */
static int run_catalog_note_entry(void *ctx, const struct s3_object *x, struct err *e)
{
    struct run_catalog *c = ctx;
    const char *day = x->key + strlen(c->base) + strlen("day/");
    const char *name = path_base(x->key);
    (void)e;
    if (!text_ends(name, ENTRY_END) || name - day != DAY_LEN || x->bytes > ENTRY_MOST)
        return 0;
    char *folder = arena_strndup(&c->arena, name, strlen(name) - strlen(ENTRY_END));
    if (!name_is_sane(folder, RUN_ID_LEN))
        return 0;
    struct run_catalog_item *i = VEC_ADD(c->items, c->n_items, c->cap_items);
    *i = (struct run_catalog_item){.etag = arena_strdup(&c->arena, x->etag), .bytes = x->bytes};
    snprintf(i->day, sizeof i->day, "%s", day);
    i->run.folder = folder;
    c->n_since += !c->n_packs || x->changed_s >= c->packs[c->n_packs - 1].changed_s;
    if (!*c->oldest)
        snprintf(c->oldest, sizeof c->oldest, "%s", i->day);
    return 0;
}

static int run_catalog_list(struct run_catalog *c, struct s3 *s3, bool all_days, struct err *e)
{
    char *packs = arena_printf(&c->arena, "%spack/", c->base);
    char *days = arena_printf(&c->arena, "%sday/", c->base);
    TRY(s3_list(s3, &(struct s3_list){.prefix = packs}, run_catalog_note_pack, c, e));
    /* After all entries of the day that was packed last. */
    const char *after = *c->packed ? arena_printf(&c->arena, "%s%s0", days, c->packed) : NULL;
    const struct s3_list q = {.prefix = days, .start_after = all_days ? NULL : after};
    TRY(s3_list(s3, &q, run_catalog_note_entry, c, e));
    c->server_s = s3_server_time(s3);
    c->endpoint = arena_strdup(&c->arena, s3_endpoint(s3));
    return 0;
}

/* ---- the pack ---- */

/* An object through the cache of this machine. */
static int run_catalog_object(const struct run_catalog *c, struct s3 *s3, const char *key,
                              const char *etag, uint64_t bytes, size_t most, struct buf *out,
                              struct err *e)
{
    struct arena a = {0};
    char path[PATH_LEN], *text;
    size_t len;
    bool there = false;
    struct err ignored; /* it works without a cache, too */
    struct s3_got got;
    struct object_cache_file f;
    const char *identity = arena_printf(&a, "%s\n%s\n%s\n%s", c->endpoint, c->bucket, key, etag);
    const bool cached = object_cache_find(identity, bytes, path, &there, &ignored) == 0;
    int rc = 0;
    if (there && file_read(path, most, &a, &text, &len, &ignored) == 0) {
        buf_put(out, text, len);
    } else {
        rc = s3_get(s3, &(struct s3_get){.key = key, .most = most, .if_match = etag}, &got, e);
        if (rc == 0 && cached && object_cache_begin(&f, path, &ignored) == 0) {
            if (fd_write_all(f.fd, got.body.p, got.body.len, "the cache", &ignored) ||
                object_cache_end(&f, &ignored))
                object_cache_drop(&f);
        }
        if (rc == 0)
            *out = got.body;
    }
    arena_free(&a);
    return rc;
}

static void run_catalog_add_line(struct run_catalog *c, char *line, size_t len)
{
    char *start = memchr(line, '\t', len);
    char *etag = start ? memchr(start + 1, '\t', len - (size_t)(start + 1 - line)) : NULL;
    char *entry = etag ? memchr(etag + 1, '\t', len - (size_t)(etag + 1 - line)) : NULL;
    if (!entry)
        return;
    *start = *etag = *entry = 0;
    if (!name_is_sane(line, RUN_ID_LEN)) /* as in a list, see run_catalog_note_entry */
        return;
    struct run_catalog_item *i = VEC_ADD(c->items, c->n_items, c->cap_items);
    *i = (struct run_catalog_item){.etag = etag + 1, .known = true};
    i->run = (struct run_catalog_run){
        .folder = line,
        .entry = entry + 1,
        .entry_len = len - (size_t)(entry + 1 - line),
        .start_ns = strtoll(start + 1, NULL, 10),
    };
    i->run.stamp = format_sum(i->run.entry, i->run.entry_len) | 1;
}

static int run_catalog_unpack(struct run_catalog *c, const struct buf *packed, struct err *e)
{
    const unsigned long long n = ZSTD_getFrameContentSize(packed->p, packed->len);
    if (n > PACK_MOST) /* also the two numbers that mean an error */
        return err_set(e, ERR_FORMAT, "the catalogue of '%s' cannot be read", c->root);
    char *text = arena_array(&c->arena, char, (size_t)n + 1);
    const size_t got = ZSTD_decompress(text, (size_t)n, packed->p, packed->len);
    if (ZSTD_isError(got))
        return err_set(e, ERR_FORMAT, "the catalogue of '%s' cannot be read", c->root);
    for (char *p = text, *end = text + got; p < end;) {
        char *newline = memchr(p, '\n', (size_t)(end - p));
        const size_t len = (size_t)((newline ? newline : end) - p);
        p[len] = 0;
        run_catalog_add_line(c, p, len);
        p += len + 1;
    }
    return 0;
}

static int run_catalog_read_pack(struct run_catalog *c, struct s3 *s3, struct err *e)
{
    struct buf packed = {0};
    if (!c->n_packs)
        return 0;
    const struct s3_object *x = &c->packs[c->n_packs - 1];
    int rc = run_catalog_object(c, s3, x->key, x->etag, x->bytes, PACK_MOST, &packed, e);
    if (rc == 0)
        rc = run_catalog_unpack(c, &packed, e);
    buf_free(&packed);
    return rc;
}

/* ---- entries ---- */

struct run_catalog_fetch {
    struct run_catalog *catalog;
    pthread_mutex_t lock; /* of the arena */
};

static void run_catalog_take_entry(struct run_catalog_fetch *f, struct run_catalog_item *i,
                                   const struct buf *body)
{
    json_error_t why;
    json_t *o = json_loadb((const char *)body->p, body->len, 0, &why);
    pthread_mutex_lock(&f->lock);
    i->known = o != NULL;
    i->gone = json_is_true(json_object_get(o, "removed"));
    i->run.start_ns = json_get_time(json_object_get(o, "run"), "start_ns", 0);
    i->run.entry = arena_strndup(&f->catalog->arena, (const char *)body->p, body->len);
    i->run.entry_len = body->len;
    i->run.stamp = format_sum(body->p, body->len) | 1;
    pthread_mutex_unlock(&f->lock);
    json_decref(o);
}

static int run_catalog_fetch_entry(void *ctx, struct s3 *s3, size_t at, struct err *e)
{
    struct run_catalog_fetch *f = ctx;
    struct run_catalog_item *i = &f->catalog->items[at];
    char key[S3_KEY_MOST + 1];
    struct buf body = {0};
    if (i->known)
        return 0;
    snprintf(key, sizeof key, "%sday/%s/%s" ENTRY_END, f->catalog->base, i->day, i->run.folder);
    const int rc = run_catalog_object(f->catalog, s3, key, i->etag, i->bytes, ENTRY_MOST, &body, e);
    if (rc == 0)
        run_catalog_take_entry(f, i, &body);
    buf_free(&body);
    /* One that was replaced or removed meanwhile: its run itself is read. */
    return rc == ERR_BUSY || err_no_file(rc, e) ? 0 : rc;
}

static int run_catalog_fetch_entries(struct run_catalog *c, struct err *e)
{
    struct run_catalog_fetch f = {.catalog = c, .lock = PTHREAD_MUTEX_INITIALIZER};
    const struct s3_batch b = {c->bucket, c->n_items, run_catalog_fetch_entry, &f};
    return c->n_new ? s3_batch_run(&b, c->n_new - 1, e) : 0;
}

/* ---- joining ---- */

/* By name; of one name the newest first. */
static int run_catalog_by_name(const void *a, const void *b)
{
    const struct run_catalog_item *x = a, *y = b;
    return strcmp(x->run.folder, y->run.folder) ?: strcmp(y->day, x->day);
}

/* Each name once. An entry that the pack has got already is taken from there. */
static void run_catalog_merge(struct run_catalog *c)
{
    size_t n = 0;
    SORT(c->items, c->n_items, run_catalog_by_name);
    for (size_t i = 0, end; i < c->n_items; i = end) {
        struct run_catalog_item *first = &c->items[i];
        for (end = i + 1;
             end < c->n_items && strcmp(c->items[end].run.folder, first->run.folder) == 0;)
            end++;
        const struct run_catalog_item *packed = &c->items[end - 1];
        if (*first->day && !*packed->day && strcmp(first->etag, packed->etag) == 0)
            first = &c->items[end - 1];
        c->items[n] = *first;
        c->n_new += *c->items[n].day != 0;
        n++;
    }
    c->n_items = n;
}

struct run_catalog_compare {
    struct run_catalog *catalog;
    const struct run_catalog_item *old;
    size_t n_old, at;
};

/* Folders come in the order of their names. */
static void run_catalog_see_folder(void *ctx, const struct storage_entry *found)
{
    struct run_catalog_compare *m = ctx;
    struct run_catalog *c = m->catalog;
    if (found->kind != STORAGE_FOLDER || *found->name == '.')
        return;
    while (m->at < m->n_old && strcmp(m->old[m->at].run.folder, found->name) < 0)
        m->at++;
    struct run_catalog_item *x = VEC_ADD(c->items, c->n_items, c->cap_items);
    const struct run_catalog_item *old = m->at < m->n_old ? &m->old[m->at] : NULL;
    const bool known = old && strcmp(old->run.folder, found->name) == 0 && !old->gone;
    *x = known ? *old : (struct run_catalog_item){.known = true, .etag = "-"};
    if (!known)
        x->run.folder = arena_strdup(&c->arena, found->name);
}

/* Entries do not cover runs that other programs copied there or deleted. */
static int run_catalog_compare_prefix(struct run_catalog *c, struct err *e)
{
    struct run_catalog_item *old = c->items;
    struct run_catalog_compare m = {c, old, c->n_items, 0};
    c->items = NULL;
    c->n_items = c->cap_items = 0;
    const int rc = storage_of(c->root)->list(c->root, 0, run_catalog_see_folder, &m, e);
    free(old);
    return rc;
}

static void run_catalog_take_runs(struct run_catalog *c)
{
    c->runs = arena_array(&c->arena, struct run_catalog_run, c->n_items + 1);
    for (size_t i = 0; i < c->n_items; i++)
        if (!c->items[i].gone)
            c->runs[c->n_runs++] = c->items[i].run;
}

static int run_catalog_read(struct run_catalog *c, bool whole, struct err *e)
{
    struct s3 *s3;
    TRY(s3_client_take(&s3, c->bucket, e));
    int rc = run_catalog_list(c, s3, whole, e);
    if (rc == 0)
        rc = run_catalog_read_pack(c, s3, e);
    s3_client_give(s3, c->bucket);
    TRY(rc);
    run_catalog_merge(c);
    TRY(run_catalog_fetch_entries(c, e));
    if (whole || c->n_items <= LIST_MOST)
        TRY(run_catalog_compare_prefix(c, e));
    run_catalog_take_runs(c);
    return 0;
}

static int run_catalog_make(struct run_catalog **out, const char *runs, bool whole, struct err *e)
{
    struct run_catalog *c = xcalloc(1, sizeof *c);
    int rc = run_catalog_open(c, runs, e);
    if (rc == 0)
        rc = run_catalog_read(c, whole, e);
    if (rc)
        run_catalog_free(c);
    else
        *out = c;
    return rc;
}

/* Under the lock. */
static void run_catalog_unref(struct run_catalog *c)
{
    if (c && --c->refs == 0)
        run_catalog_free(c);
}

void run_catalog_release(struct run_catalog *c)
{
    pthread_mutex_lock(&shared.lock);
    run_catalog_unref(c);
    pthread_mutex_unlock(&shared.lock);
}

static void run_catalog_share(struct run_catalog *c)
{
    pthread_mutex_lock(&shared.lock);
    run_catalog_unref(shared.latest);
    shared.latest = c;
    if (c)
        c->refs++;
    pthread_mutex_unlock(&shared.lock);
}

int run_catalog_get(struct run_catalog **out, const char *runs, struct err *e)
{
    if (!text_starts(runs, S3_SCHEME))
        return err_set(e, ERR_NOT_FOUND, "'%s' has no catalogue", runs);
    struct run_catalog wanted = {0};
    const int named = run_catalog_open(&wanted, runs, e);
    arena_free(&wanted.arena);
    TRY(named);
    pthread_mutex_lock(&shared.lock);
    struct run_catalog *c = shared.latest;
    const bool fresh = c && strcmp(c->root, wanted.root) == 0 &&
                       mono_diff(clock_mono(), c->taken) < FRESH_MS * NS_PER_MS;
    if (fresh)
        c->refs++;
    pthread_mutex_unlock(&shared.lock);
    if (!fresh) {
        int rc = run_catalog_make(&c, runs, false, e);
        if (rc == ERR_BUSY || err_no_file(rc, e)) /* a new pack came meanwhile */
            rc = run_catalog_make(&c, runs, false, e);
        TRY(rc);
        run_catalog_share(c);
    }
    *out = c;
    return 0;
}

const struct run_catalog_run *run_catalog_runs(const struct run_catalog *c, size_t *n)
{
    *n = c->n_runs;
    return c->runs;
}

/* ---- writing ---- */

/* The folder of a run, and the prefix that it is in. */
static int run_catalog_split(const char *run, char prefix[PATH_LEN], const char **folder,
                             struct err *e)
{
    TRY(path_join(prefix, e, "%s", run));
    char *slash = strrchr(prefix, '/');
    *folder = run + (slash - prefix) + 1;
    *slash = 0;
    return name_is_sane(*folder, RUN_ID_LEN)
               ? 0
               : err_set(e, ERR_USAGE, "'%s' is not a name of a run", *folder);
}

static int run_catalog_put_entry(const char *prefix, const char *folder, const struct buf *b,
                                 struct err *e)
{
    struct run_catalog c = {.refs = 1};
    struct s3 *s3;
    char day[DAY_LEN];
    int rc = run_catalog_open(&c, prefix, e);
    if (rc == 0)
        rc = s3_client_take(&s3, c.bucket, e);
    if (rc == 0) {
        const int64_t server_s = s3_server_time(s3);
        run_catalog_day(day, server_s ? server_s : clock_wall().ns / NS_PER_S);
        const char *key = arena_printf(&c.arena, "%sday/%s/%s" ENTRY_END, c.base, day, folder);
        rc = s3_put(s3, key, b->p, b->len, false, e);
        s3_client_give(s3, c.bucket);
    }
    arena_free(&c.arena);
    run_catalog_share(NULL); /* what is shared is older */
    return rc;
}

int run_catalog_put(const char *run, struct err *e)
{
    struct arena a = {0};
    struct run_info info;
    struct buf b = {0};
    char prefix[PATH_LEN];
    const char *folder;
    if (!text_starts(run, S3_SCHEME))
        return 0;
    TRY(run_catalog_split(run, prefix, &folder, e));
    object_view_expire(run);
    int rc = run_info_read(&info, run, &a, e);
    if (rc == 0) {
        run_info_entry(&info, &b);
        rc = run_catalog_put_entry(prefix, folder, &b, e);
    }
    buf_free(&b);
    arena_free(&a);
    return rc;
}

/* Its listed entries are removed, and a new one that records the removal hides those in packs. */
int run_catalog_remove(const char *run, struct err *e)
{
    struct buf b = {0};
    struct run_catalog *c;
    struct s3 *s3;
    char prefix[PATH_LEN], key[S3_KEY_MOST + 1];
    const char *folder;
    if (!text_starts(run, S3_SCHEME))
        return 0;
    TRY(run_catalog_split(run, prefix, &folder, e));
    c = xcalloc(1, sizeof *c);
    int rc = run_catalog_open(c, prefix, e);
    if (rc == 0)
        rc = s3_client_take(&s3, c->bucket, e);
    if (rc == 0) {
        rc = run_catalog_list(c, s3, true, e);
        for (size_t i = 0; i < c->n_items && rc == 0; i++) {
            if (strcmp(c->items[i].run.folder, folder) != 0)
                continue;
            snprintf(key, sizeof key, "%sday/%s/%s" ENTRY_END, c->base, c->items[i].day, folder);
            rc = s3_delete(s3, key, e);
        }
        s3_client_give(s3, c->bucket);
    }
    const bool packed = c->n_packs > 0;
    run_catalog_free(c);
    buf_printf(&b, "{\"removed\": true}\n");
    if (rc == 0 && packed)
        rc = run_catalog_put_entry(prefix, folder, &b, e);
    run_catalog_share(NULL);
    buf_free(&b);
    return rc;
}

/* ---- packing ---- */

/* One whose run was being recorded when it was put, or that has none, is read again. */
static void run_catalog_refresh(struct run_catalog *c, struct run_catalog_item *i)
{
    struct arena a = {0};
    struct run_info info;
    struct buf b = {0};
    char path[PATH_LEN];
    struct err e;
    const bool final = i->run.entry && !run_entry_is_running(i->run.entry, i->run.entry_len);
    if (final || i->gone || path_join(path, &e, "%s/%s", c->root, i->run.folder))
        return;
    if (run_info_read(&info, path, &a, &e) == 0) {
        run_info_entry(&info, &b);
        i->run.entry = arena_strndup(&c->arena, (const char *)b.p, b.len);
        i->run.entry_len = b.len;
        i->run.start_ns = info.start.ns;
    } else if (!i->run.entry) {
        i->gone = true; /* it is no run */
    }
    buf_free(&b);
    arena_free(&a);
}

static void run_catalog_put_line(const struct run_catalog_item *i, struct buf *out)
{
    const char *entry = i->run.entry;
    size_t len = i->run.entry_len;
    if (i->gone || !entry || memchr(entry, '\t', len))
        return;
    while (len && entry[len - 1] == '\n')
        len--;
    if (memchr(entry, '\n', len))
        return;
    buf_printf(out, "%s\t%lld\t%s\t", i->run.folder, (long long)i->run.start_ns, i->etag);
    buf_put(out, entry, len);
    buf_u8(out, '\n');
}

static int run_catalog_put_pack(struct run_catalog *c, struct s3 *s3, const char *day,
                                struct err *e)
{
    struct buf text = {0}, packed = {0};
    for (size_t i = 0; i < c->n_items; i++)
        run_catalog_put_line(&c->items[i], &text);
    buf_reserve(&packed, ZSTD_compressBound(text.len));
    packed.len = ZSTD_compress(packed.p, packed.cap, text.len ? (const void *)text.p : "", text.len,
                               PACK_LEVEL);
    const char *key = arena_printf(&c->arena, "%spack/%s" PACK_END, c->base, day);
    const int rc = ZSTD_isError(packed.len)
                       ? err_set(e, ERR_LIMIT, "the catalogue cannot be compressed")
                       : s3_put(s3, key, packed.p, packed.len, false, e);
    buf_free(&text);
    buf_free(&packed);
    return rc;
}

struct run_catalog_sweep {
    struct run_catalog *catalog;
    const char *day;
    const char **keys;
    size_t n, cap;
};

static int run_catalog_note_packed(void *ctx, const struct s3_object *x, struct err *e)
{
    struct run_catalog_sweep *w = ctx;
    const char *day = x->key + strlen(w->catalog->base) + strlen("day/");
    (void)e;
    if (strncmp(day, w->day, DAY_LEN - 1) > 0)
        return 1; /* and all that follow */
    *ARENA_ADD(&w->catalog->arena, w->keys, w->n, w->cap) =
        arena_strdup(&w->catalog->arena, x->key);
    return 0;
}

/* Entries of days that the pack has whole, and packs of before. */
static int run_catalog_sweep(struct run_catalog *c, struct s3 *s3, const char *day, struct err *e)
{
    struct run_catalog_sweep w = {.catalog = c, .day = day};
    const char *days = arena_printf(&c->arena, "%sday/", c->base);
    const int rc = s3_list(s3, &(struct s3_list){.prefix = days}, run_catalog_note_packed, &w, e);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < w.n; i++)
        TRY(s3_delete(s3, w.keys[i], e));
    for (size_t i = 0; i + PACKS_KEPT - 1 < c->n_packs; i++)
        if (strcmp(path_base(c->packs[i].key), arena_printf(&c->arena, "%s" PACK_END, day)) != 0)
            TRY(s3_delete(s3, c->packs[i].key, e));
    return 0;
}

/* Whether there is enough for a new pack: some hundred entries, or a day that is over. */
static bool run_catalog_is_due(const char *runs, char day[DAY_LEN], struct err *e)
{
    struct run_catalog *c = xcalloc(1, sizeof *c);
    struct s3 *s3;
    int rc = run_catalog_open(c, runs, e);
    if (rc == 0)
        rc = s3_client_take(&s3, c->bucket, e);
    if (rc == 0) {
        rc = run_catalog_list(c, s3, true, e);
        s3_client_give(s3, c->bucket);
    }
    const int64_t now_s = c->server_s ? c->server_s : clock_wall().ns / NS_PER_S;
    run_catalog_day(day, now_s - KEEP_DAYS * DAY_S);
    const bool due =
        rc == 0 && (c->n_since >= DUE_ENTRIES || (*c->oldest && strcmp(c->oldest, day) <= 0));
    run_catalog_free(c);
    return due;
}

int run_catalog_pack(const char *runs, bool now, struct err *e)
{
    struct run_catalog *c;
    struct s3 *s3;
    char day[DAY_LEN];
    *e = (struct err){0};
    if (!text_starts(runs, S3_SCHEME))
        return err_set(e, ERR_USAGE, "only a prefix of object storage has a catalogue");
    const bool due = run_catalog_is_due(runs, day, e);
    if (!due && !now)
        return e->code;
    TRY(run_catalog_make(&c, runs, true, e));
    for (size_t i = 0; i < c->n_items; i++)
        run_catalog_refresh(c, &c->items[i]);
    int rc = s3_client_take(&s3, c->bucket, e);
    if (rc == 0) {
        rc = run_catalog_put_pack(c, s3, day, e);
        if (rc == 0)
            rc = run_catalog_sweep(c, s3, day, e);
        s3_client_give(s3, c->bucket);
    }
    run_catalog_release(c);
    run_catalog_share(NULL);
    return rc;
}
