/* SPDX-License-Identifier: Apache-2.0 */
/* ship.c - see ship.h. */
#include "ship/ship.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "run/run_names.h"
#include "run/storage.h"

enum {
    WHOLE_MOST = 16 << 20, /* bytes of findings and reports */
    TAIL_MOST = 8 << 20,   /* bytes of a tail in one round */
    TRIES_MOST = 5,        /* offsets that the target corrects, one after the other */
    FILE_NAME_LEN = 128,
};

/* A file, and how far it is at the target. */
struct ship_file {
    char node[NODE_ID_LEN]; /* "": of the run */
    char name[FILE_NAME_LEN];
    uint64_t size, segment; /* there */
    uint8_t id[FILE_ID_LEN];
    bool there;     /* these three are known */
    bool completed; /* the target knows that it is complete */
    size_t final;   /* bytes of the local one that will not change */
    uint64_t seen;  /* version of the local one that is there whole; 0: none */
};

struct ship {
    char path[PATH_LEN];
    const char *id; /* of the run: the name of its folder */
    char node[NODE_ID_LEN];
    struct ship_target *target;
    bool known; /* the target's state was read */
    struct ship_file *files;
    size_t n_files, cap_files;
    uint64_t bytes;
};

/* An entry of a folder, in the arena of a round. */
struct ship_entry {
    const char *name;
    struct storage_stat stat;
};

struct ship_list {
    struct arena *arena;
    struct ship_entry *v;
    size_t n, cap;
};

int ship_open(struct ship **out, const char *run, const char *node, struct ship_target *t,
              struct err *e)
{
    struct ship *s = xcalloc(1, sizeof *s);
    int rc = path_join(s->path, e, "%s", run);
    for (size_t n = strlen(s->path); n > 1 && s->path[n - 1] == '/'; n--)
        s->path[n - 1] = 0;
    s->id = path_base(s->path);
    s->target = t;
    snprintf(s->node, sizeof s->node, "%s", node ? node : "");
    if (rc == 0 && !name_is_sane(s->id, RUN_ID_LEN))
        rc = err_set(e, ERR_USAGE, "'%s' is not a name that a run can have elsewhere", s->id);
    if (rc)
        ship_close(s);
    else
        *out = s;
    return rc;
}

void ship_close(struct ship *s)
{
    if (!s)
        return;
    free(s->files);
    free(s);
}

uint64_t ship_bytes(const struct ship *s)
{
    return s->bytes;
}

/* ---- what there is ---- */

static struct ship_file *ship_file(struct ship *s, const char *node, const char *name)
{
    for (size_t i = 0; i < s->n_files; i++)
        if (strcmp(s->files[i].node, node) == 0 && strcmp(s->files[i].name, name) == 0)
            return &s->files[i];
    struct ship_file *f = VEC_ADD(s->files, s->n_files, s->cap_files);
    *f = (struct ship_file){.size = 0};
    snprintf(f->node, sizeof f->node, "%s", node);
    snprintf(f->name, sizeof f->name, "%s", name);
    return f;
}

static struct ship_place ship_place(const struct ship *s, const struct ship_file *f)
{
    return (struct ship_place){s->id, *f->node ? f->node : NULL, f->name};
}

static void ship_add_entry(void *ctx, const struct storage_entry *x)
{
    struct ship_list *l = ctx;
    if (strlen(x->name) < FILE_NAME_LEN)
        *ARENA_ADD(l->arena, l->v, l->n, l->cap) =
            (struct ship_entry){arena_strdup(l->arena, x->name), x->stat};
}

static int ship_list(const char *folder, struct arena *a, struct ship_list *out, struct err *e)
{
    *out = (struct ship_list){.arena = a};
    return storage_of(folder)->list(folder, STORAGE_FOLLOW | STORAGE_WITH_STAT, ship_add_entry, out,
                                    e);
}

static const struct ship_entry *ship_find(const struct ship_list *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->v[i].name, name) == 0)
            return &l->v[i];
    return NULL;
}

/* ---- whole files ---- */

/* A file that is replaced meanwhile is sent again by the next round. */
static int ship_whole(struct ship *s, const char *folder, struct ship_file *f,
                      const struct ship_entry *x, struct err *e)
{
    struct arena a = {0};
    char path[PATH_LEN], *text;
    size_t len;
    const struct ship_place at = ship_place(s, f);
    if (f->seen == x->stat.version)
        return 0;
    TRY(run_path(path, folder, x->name, e));
    int rc = storage_of(path)->source->read(path, 0, WHOLE_MOST, &a, &text, &len, e);
    if (rc) { /* gone, or larger than any that is sent: the run is complete without it */
        arena_free(&a);
        return 0;
    }
    rc = s->target->ops->put(s->target, &at, text, len,
                             run_file_kind(x->name, at.node != NULL) == RUN_FILE_ABOUT, e);
    arena_free(&a);
    if (rc == 0) {
        f->seen = x->stat.version;
        s->bytes += len;
    }
    return rc;
}

static int ship_wholes(struct ship *s, const char *folder, const char *node,
                       const struct ship_list *l, enum run_file_kind kind, struct err *e)
{
    for (size_t i = 0; i < l->n; i++)
        if (run_file_kind(l->v[i].name, *node != 0) == kind)
            TRY(ship_whole(s, folder, ship_file(s, node, l->v[i].name), &l->v[i], e));
    return 0;
}

/* ---- files that grow ---- */

static int ship_header(const char *path, struct file_header *h, struct err *e)
{
    uint8_t head[FILE_HEADER_LEN];
    size_t n;
    TRY(storage_of(path)->range(path, 0, head, sizeof head, &n, e));
    return file_header_get(h, head, n, path, e);
}

/* Sends p, which begins at `from` in the file; what the target has of it is left out. */
static int ship_send(struct ship *s, struct ship_file *f, const struct file_header *h,
                     uint64_t from, const uint8_t *p, size_t n, struct err *e)
{
    const uint64_t end = from + n;
    const bool tail = h->kind == FILE_TAIL;
    for (int wrong = 0; f->size < end;) {
        struct ship_part part = {ship_place(s, f), .tail = tail, .segment = tail ? h->segment : 0};
        uint64_t size = 0;
        if (f->size < from || wrong > TRIES_MOST) /* the target went back: the next round sees */
            return err_set(e, ERR_NOT_FOUND, "%s lost a part of '%s'", s->target->to, f->name);
        memcpy(part.id, h->id, sizeof part.id);
        part.offset = f->size;
        part.p = p + (f->size - from);
        part.n = MIN_OF(s->target->append_most, (size_t)(end - f->size));
        const int rc = s->target->ops->append(s->target, &part, &size, e);
        if (rc && rc != ERR_BUSY)
            return rc;
        wrong = rc ? wrong + 1 : 0;
        s->bytes += rc ? 0 : part.n;
        f->size = size;
        f->segment = part.segment;
    }
    return 0;
}

/* The tail as it was at one moment, from where the target has it. Its writer may empty it at any
 * time: what was read counts when its header is the same afterwards. */
struct ship_tail {
    struct file_header header;
    uint64_t from;
    struct buf bytes; /* empty: nothing to send */
};

static void ship_read_tail(const char *path, const struct ship_file *f, uint64_t size,
                           struct ship_tail *out)
{
    struct file_header after;
    struct err e;
    size_t got;
    *out = (struct ship_tail){.from = 0};
    if (size <= FILE_HEADER_LEN || ship_header(path, &out->header, &e))
        return;
    if (f->there && f->size && f->segment == out->header.segment)
        out->from = f->size;
    const size_t n = size > out->from ? (size_t)MIN_OF(size - out->from, (uint64_t)TAIL_MOST) : 0;
    buf_reserve(&out->bytes, n + 1);
    if (n == 0 || storage_of(path)->range(path, out->from, out->bytes.p, n, &got, &e) ||
        ship_header(path, &after, &e) || after.segment != out->header.segment)
        return;
    out->bytes.len = got;
}

static int ship_send_tail(struct ship *s, struct ship_file *f, const struct ship_tail *t,
                          struct err *e)
{
    if (!t->bytes.len)
        return 0;
    if (f->there && f->size && f->segment > t->header.segment)
        return 0; /* the target has a later one, from before this process began */
    if (!f->there || f->segment != t->header.segment)
        f->size = 0;
    f->there = true;
    return ship_send(s, f, &t->header, t->from, t->bytes.p, t->bytes.len, e);
}

/* How much of the local file will not change; *closed: nothing will be added. */
static int ship_final(struct ship_file *f, const char *path, bool all, uint64_t *final,
                      bool *closed, struct err *e)
{
    struct fmap m;
    TRY(storage_of(path)->source->map(path, true, &m, e));
    *closed = m.len >= FILE_HEADER_LEN + FILE_END_LEN &&
              format_is_closed(m.p + m.len - FILE_END_LEN, m.len);
    f->final = format_final_len(m.p, m.len, f->final);
    *final = all ? m.len : f->final;
    fmap_close(&m);
    return 0;
}

static int ship_complete(struct ship *s, struct ship_file *f, const struct file_header *h,
                         struct err *e)
{
    struct ship_part part = {ship_place(s, f), .offset = f->size, .complete = true, .p = ""};
    uint64_t size;
    memcpy(part.id, h->id, sizeof part.id);
    TRY(s->target->ops->append(s->target, &part, &size, e));
    f->completed = true;
    return 0;
}

static int ship_sealed(struct ship *s, struct ship_file *f, const char *path,
                       const struct storage_stat *st, bool all, struct err *e)
{
    struct file_header h;
    struct buf b = {0};
    uint64_t final;
    bool closed;
    int rc = 0;
    if (st->version == f->seen || st->bytes < FILE_HEADER_LEN)
        return 0;
    TRY(ship_header(path, &h, e));
    if (f->there && f->size && memcmp(f->id, h.id, sizeof h.id) != 0)
        return err_set(e, ERR_USAGE, "%s has another recording of node '%s' in the run '%s'",
                       s->target->to, f->node, s->id);
    TRY(ship_final(f, path, all, &final, &closed, e));
    memcpy(f->id, h.id, sizeof h.id);
    f->there = true;
    buf_reserve(&b, s->target->append_most);
    while (rc == 0 && f->size < final) {
        const uint64_t from = f->size;
        size_t got;
        rc = storage_of(path)->range(
            path, from, b.p, MIN_OF(s->target->append_most, (size_t)(final - from)), &got, e);
        rc = rc        ? rc
             : got > 0 ? ship_send(s, f, &h, from, b.p, got, e)
                       : err_set(e, ERR_NOT_FOUND, "'%s' was cut while it was read", path);
    }
    buf_free(&b);
    if (rc == 0 && closed && !f->completed)
        rc = ship_complete(s, f, &h, e);
    if (rc == 0 && final == st->bytes)
        f->seen = st->version;
    return rc;
}

/* Tail, sealed file, tail: see ship.h. */
static int ship_growing(struct ship *s, const char *folder, const struct ship_list *l, size_t i,
                        bool all, struct err *e)
{
    char path[PATH_LEN], tail_path[PATH_LEN], name[FILE_NAME_LEN];
    const char *node = run_node_id(path_base(folder));
    struct ship_tail tail = {.from = 0};
    const size_t stem = strlen(l->v[i].name) - strlen(STORE_SEALED);
    snprintf(name, sizeof name, "%.*s" STORE_TAIL, (int)stem, l->v[i].name);
    const struct ship_entry *t = ship_find(l, name);
    TRY(run_path(path, folder, l->v[i].name, e));
    TRY(run_path(tail_path, folder, name, e));
    int rc;
    bool more;
    do {
        if (t)
            ship_read_tail(tail_path, ship_file(s, node, name), t->stat.bytes, &tail);
        rc = ship_sealed(s, ship_file(s, node, l->v[i].name), path, &l->v[i].stat, all, e);
        if (rc == 0 && t)
            rc = ship_send_tail(s, ship_file(s, node, name), &tail, e);
        more = tail.bytes.len == TAIL_MOST;
        buf_free(&tail.bytes);
    } while (rc == 0 && more);
    return rc;
}

/* A recorder removes its file of events at the end when there were none. */
static int ship_take_back(struct ship *s, const char *node, const struct ship_list *l,
                          struct err *e)
{
    for (size_t i = 0; i < s->n_files; i++) {
        struct ship_file *f = &s->files[i];
        const struct ship_place at = ship_place(s, f);
        if (strcmp(f->node, node) != 0 || !f->there || !f->size || ship_find(l, f->name) ||
            run_file_kind(f->name, true) != RUN_FILE_SEALED)
            continue;
        TRY(s->target->ops->remove(s->target, &at, f->id, e));
        f->there = false;
    }
    return 0;
}

/* ---- nodes ---- */

/* node.json comes before the data the first time, so that the node is known, and after it
 * otherwise: it may say that the run has ended. */
static int ship_node(struct ship *s, const char *folder, bool all, struct err *e)
{
    struct arena a = {0};
    struct ship_list l;
    const char *node = run_node_id(path_base(folder));
    int rc = ship_list(folder, &a, &l, e);
    const bool dead = rc == 0 && storage_of(folder)->alive(folder) == STORAGE_DEAD;
    bool first = true;
    for (size_t i = 0; i < s->n_files; i++)
        first &= strcmp(s->files[i].node, node) != 0 || !s->files[i].seen;
    if (rc == 0 && first)
        rc = ship_wholes(s, folder, node, &l, RUN_FILE_NODE, e);
    for (size_t i = 0; rc == 0 && i < l.n; i++)
        if (run_file_kind(l.v[i].name, true) == RUN_FILE_SEALED)
            rc = ship_growing(s, folder, &l, i, all || dead, e);
    if (rc == 0)
        rc = ship_take_back(s, node, &l, e);
    if (rc == 0)
        rc = ship_wholes(s, folder, node, &l, RUN_FILE_NODE, e);
    arena_free(&a);
    return rc;
}

struct ship_learning {
    struct ship *ship;
    const char *node;
};

static void ship_learn_file(void *ctx, const struct ship_remote *r)
{
    struct ship_learning *x = ctx;
    struct ship_file *f = ship_file(x->ship, x->node, r->file);
    f->size = r->size;
    f->segment = r->segment;
    f->there = true;
    memcpy(f->id, r->id, sizeof f->id);
}

/* After a failure nothing is taken for granted: the target may have lost what it had. */
static int ship_learn(struct ship *s, const char *node, struct err *e)
{
    struct ship_learning x = {s, node};
    for (size_t i = 0; i < s->n_files; i++)
        if (strcmp(s->files[i].node, node) == 0) {
            struct ship_file *f = &s->files[i];
            f->size = f->segment = f->seen = 0;
            f->there = f->completed = false;
        }
    return s->target->ops->state(s->target, s->id, node, ship_learn_file, &x, e);
}

static bool ship_is_node(const struct ship *s, const struct ship_entry *x)
{
    const char *node = x->stat.kind == STORAGE_FOLDER ? run_node_id(x->name) : NULL;
    return node && name_is_sane(node, NODE_ID_LEN) && (!*s->node || strcmp(node, s->node) == 0);
}

static int ship_all(struct ship *s, const struct ship_list *l, bool all, struct err *e)
{
    char folder[PATH_LEN];
    TRY(ship_wholes(s, s->path, "", l, RUN_FILE_ABOUT, e));
    for (size_t i = 0; i < l->n; i++)
        if (ship_is_node(s, &l->v[i])) {
            TRY(run_path(folder, s->path, l->v[i].name, e));
            TRY(s->known ? 0 : ship_learn(s, run_node_id(l->v[i].name), e));
            TRY(ship_node(s, folder, all, e));
        }
    return ship_wholes(s, s->path, "", l, RUN_FILE_WHOLE, e);
}

int ship_round(struct ship *s, bool all, struct err *e)
{
    struct arena a = {0};
    struct ship_list l;
    s->target->retry_s = 0;
    if (!s->known) /* run.json and all that is whole, too */
        for (size_t i = 0; i < s->n_files; i++)
            s->files[i].seen = 0;
    int rc = ship_list(s->path, &a, &l, e);
    if (rc == 0)
        rc = ship_all(s, &l, all, e);
    s->known = rc == 0;
    arena_free(&a);
    return rc;
}
