/* SPDX-License-Identifier: Apache-2.0 */
/* derived.c - see derived.h; docs/format.md has the bytes. */
#include "query/derived.h"

#include <string.h>

#include "query/run_open.h"
#include "run/storage.h"
#include "store/format.h"

enum { HEAD_LEN = 24 };

static const uint8_t magic[8] = {0x89, 'F', 'P', 'D', '\r', '\n', 0x1a, '\n'};

/* ---- the key ---- */

static void put_nodes(struct buf *b, const struct run_info *info)
{
    for (size_t i = 0; i < info->n_nodes; i++) {
        const struct node_info *n = &info->nodes[i];
        const int64_t facts[] = {n->session, n->start.ns, n->rank, n->world_size, n->local_rank};
        buf_str(b, n->id);
        buf_put(b, facts, sizeof facts);
    }
}

/* False: what is open is not what lies there now, or is still being written. */
static bool is_as_opened(const struct run *r, size_t i, size_t len)
{
    if (!r->events)
        return true;
    const struct store *s = r->events->files[i].store;
    return s->closed && s->file_bytes == len;
}

static bool put_file(struct buf *b, const struct run *r, size_t i,
                     const struct run_event_file *from)
{
    struct fmap map;
    struct err e;
    if (storage_of(from->path)->source->map(from->path, false, &map, &e))
        return false;
    buf_str(b, r->info.nodes[from->node].id);
    buf_str(b, path_base(from->path));
    buf_u64(b, map.len);
    buf_u64(b, format_sum(map.p, map.len));
    const bool good = is_as_opened(r, i, map.len);
    fmap_close(&map);
    return good;
}

static bool put_files(struct buf *b, const struct run *r)
{
    struct arena a = {0};
    struct run_event_file *v;
    struct err e;
    size_t n;
    bool good =
        run_event_files(&r->info, &a, &v, &n, &e) == 0 && (!r->events || r->events->n_files == n);
    for (size_t i = 0; good && i < n; i++)
        good = put_file(b, r, i, &v[i]);
    arena_free(&a);
    return good;
}

static bool key_of(const struct run *r, const char *name, uint64_t *out)
{
    struct buf b = {0};
    buf_u32(&b, DERIVED_VERSION);
    buf_str(&b, FP_VERSION);
    buf_str(&b, name);
    put_nodes(&b, &r->info);
    const bool good = put_files(&b, r);
    *out = format_sum(b.p, b.len);
    buf_free(&b);
    return good;
}

/* ---- reading ---- */

static bool is_whole(const struct fmap *m)
{
    if (m->len < HEAD_LEN || memcmp(m->p, magic, sizeof magic) != 0)
        return false;
    struct cur c = cur_of(m->p + sizeof magic, HEAD_LEN - sizeof magic);
    cur_u64(&c);
    return cur_u64(&c) == format_sum(m->p + HEAD_LEN, m->len - HEAD_LEN);
}

static bool is_of(const struct fmap *m, const struct run *r, const char *name)
{
    struct cur c = cur_of(m->p + sizeof magic, sizeof(uint64_t));
    uint64_t key;
    return key_of(r, name, &key) && cur_u64(&c) == key;
}

bool derived_open(struct derived *out, struct run *r, const char *name)
{
    struct fmap map;
    struct err e;
    if (r->info.status == RUN_RUNNING || run_open_derived(&map, &r->info, name, &e))
        return false;
    if (!is_whole(&map) || !is_of(&map, r, name)) {
        fmap_close(&map);
        return false;
    }
    *out = (struct derived){map, cur_of(map.p + HEAD_LEN, map.len - HEAD_LEN)};
    return true;
}

void derived_close(struct derived *d)
{
    fmap_close(&d->map);
}

/* ---- keeping ---- */

bool derived_wanted(const struct run *r)
{
    const struct event_index *x = r->events;
    uint64_t events = 0;
    for (size_t i = 0; x && i < x->n_tracks; i++)
        events += x->tracks[i].track.events;
    return r->info.status != RUN_RUNNING && events >= DERIVED_LEAST_EVENTS;
}

void derived_keep(struct run *r, const char *name, const struct buf *answer)
{
    struct buf b = {0};
    uint64_t key;
    if (!run_may_derive(&r->info) || !key_of(r, name, &key))
        return;
    buf_put(&b, magic, sizeof magic);
    buf_u64(&b, key);
    buf_u64(&b, format_sum(answer->p, answer->len));
    buf_put(&b, answer->p, answer->len);
    run_put_derived(&r->info, name, b.p, b.len);
    buf_free(&b);
}
