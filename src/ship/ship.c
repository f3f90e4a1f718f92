/* SPDX-License-Identifier: Apache-2.0 */
/* ship.c - see ship.h. */
#include "ship/ship.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "run/run_info.h"
#include "run/run_names.h"
#include "run/storage.h"
#include "ship/ship_targets.h"

enum {
    WHOLE_MOST = 16 << 20, /* bytes of findings, reports and saved tensors */
    TAIL_MOST = 256 << 20, /* bytes of a tail: a frame of a burst may be large */
    FILE_NAME_LEN = 128,
    SETUP_RETRY_S = 600,
    PASSES_MOST = 3, /* of a round */
};

/* What was sent of a file. */
struct ship_sent {
    char node[NODE_ID_LEN]; /* "": of the run */
    char name[FILE_NAME_LEN];
    size_t final;   /* bytes of a sealed file that will not change */
    size_t arrived; /* of them, at `arrived_at` */
    size_t durable; /* of them, for sure */
    mono_ns arrived_at;
    bool closed;
    uint64_t version; /* of the file that is there whole; 0: none */
};

struct ship {
    char path[PATH_LEN];
    char node[NODE_ID_LEN];
    struct ship_target *target;
    uint64_t spool; /* bytes that stay here; 0: all */
    bool only_sealed;
    bool announced;
    bool again; /* a recorder has ended since its data was listed */
    struct ship_sent *sent;
    size_t n_sent, cap_sent;
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

/* ---- targets ---- */

static const struct ship_scheme {
    const char *scheme;
    int (*check)(const struct ship_target_ask *ask, struct err *e);
    int (*open)(struct ship_target **out, const struct ship_target_ask *ask, const char *run,
                struct err *e);
    bool writers_read;
} ship_schemes[] = {
    {"s3://", ship_s3_check, ship_s3_open, true},
    {"", ship_hub_check, ship_hub_open, false}, /* which refuses other addresses */
};

static const struct ship_scheme *ship_scheme_of(const char *to)
{
    const struct ship_scheme *s = ship_schemes;
    while (!text_starts(to, s->scheme))
        s++;
    return s;
}

bool ship_target_is_open(const char *to)
{
    return ship_scheme_of(to)->writers_read;
}

int ship_target_check(const struct ship_target_ask *ask, struct err *e)
{
    return ship_scheme_of(ask->to)->check(ask, e);
}

int ship_target_open(struct ship_target **out, const struct ship_target_ask *ask, const char *run,
                     struct err *e)
{
    return ship_scheme_of(ask->to)->open(out, ask, run, e);
}

int ship_another_run(struct ship_target *t, const char *run, struct err *e)
{
    t->retry_s = SETUP_RETRY_S;
    return err_set(
        e, ERR_BUSY,
        "%s has another run called '%s': nothing was sent; rename the folder of this one "
        "and push it",
        t->to, run);
}

int ship_gone(struct ship_target *t, const struct ship_file *f, struct err *e)
{
    t->retry_s = SETUP_RETRY_S;
    return err_set(e, ERR_BUSY,
                   "%s does not have the beginning of '%s', and it is no longer on this machine",
                   t->to, f->name);
}

/* ---- a run ---- */

int ship_run_name(const char *run, char out[RUN_ID_LEN], struct err *e)
{
    char path[PATH_LEN];
    TRY(path_join(path, e, "%s", run));
    for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
        path[n - 1] = 0;
    const char *name = path_base(path);
    if (!name_is_sane(name, RUN_ID_LEN))
        return err_set(e, ERR_USAGE, "'%s' is not a name that a run can have elsewhere", name);
    snprintf(out, RUN_ID_LEN, "%s", name);
    return 0;
}

int ship_open(struct ship **out, const char *run, const char *node, struct ship_target *t,
              struct err *e)
{
    struct ship *s = xcalloc(1, sizeof *s);
    const int rc = path_join(s->path, e, "%s", run);
    s->target = t;
    snprintf(s->node, sizeof s->node, "%s", node ? node : "");
    if (rc)
        ship_close(s);
    else
        *out = s;
    return rc;
}

void ship_set_seal(struct ship *s, bool only_sealed)
{
    s->only_sealed = only_sealed;
}

void ship_set_spool(struct ship *s, uint64_t most)
{
    s->spool = most;
}

void ship_close(struct ship *s)
{
    if (!s)
        return;
    free(s->sent);
    free(s);
}

/* ---- what there is ---- */

static struct ship_sent *ship_sent(struct ship *s, const char *node, const char *name)
{
    for (size_t i = 0; i < s->n_sent; i++)
        if (strcmp(s->sent[i].node, node) == 0 && strcmp(s->sent[i].name, name) == 0)
            return &s->sent[i];
    struct ship_sent *f = VEC_ADD(s->sent, s->n_sent, s->cap_sent);
    *f = (struct ship_sent){.version = 0};
    snprintf(f->node, sizeof f->node, "%s", node);
    snprintf(f->name, sizeof f->name, "%s", name);
    return f;
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

/* ---- whole files ---- */

static bool ship_says_running(const char *text, size_t n)
{
    struct arena a = {0};
    json_error_t why;
    json_t *o = json_loadb(text, n, 0, &why);
    const char *status = json_get_str(o, "status", &a, "");
    const bool running = strcmp(status, run_status_name(RUN_RUNNING)) == 0;
    json_decref(o);
    arena_free(&a);
    return running;
}

static bool ship_is_replaced(const char *path, const struct ship_entry *x)
{
    struct storage_stat st;
    struct err e;
    return storage_of(path)->stat(path, 0, &st, &e) != 0 || st.version != x->stat.version;
}

/* A file that is replaced meanwhile is sent again by the next round. The file that reports the
 * recorder's end waits for another pass if data may be missing: `early`, before the data, or if it
 * was written after the data was listed. */
static int ship_whole(struct ship *s, const char *folder, const char *node,
                      const struct ship_entry *x, bool early, struct err *e)
{
    struct arena a = {0};
    char path[PATH_LEN], *text;
    size_t len;
    struct ship_sent *f = ship_sent(s, node, x->name);
    const enum run_file_kind kind = run_file_kind(x->name, *node != 0);
    const bool once = kind == RUN_FILE_ABOUT;
    if (f->version == x->stat.version && !(s->only_sealed && kind == RUN_FILE_NODE))
        return 0;
    TRY(run_path(path, folder, x->name, e));
    int rc = storage_of(path)->source->read(path, 0, WHOLE_MOST, &a, &text, &len, e);
    const bool waits = rc == 0 && kind == RUN_FILE_NODE && !ship_says_running(text, len) &&
                       (early || ship_is_replaced(path, x));
    s->again |= waits && !early;
    if (rc && !once) /* gone, or larger than any that is sent: the run is complete without it */
        rc = 0;
    else if (rc == 0 && !waits)
        rc = s->target->ops->put(s->target, *node ? node : NULL, x->name, text, len, once, e);
    arena_free(&a);
    if (rc == 0 && !waits)
        f->version = x->stat.version;
    return rc;
}

static int ship_wholes(struct ship *s, const char *folder, const char *node,
                       const struct ship_list *l, enum run_file_kind kind, bool early,
                       struct err *e)
{
    for (size_t i = 0; i < l->n; i++)
        if (run_file_kind(l->v[i].name, *node != 0) == kind)
            TRY(ship_whole(s, folder, node, &l->v[i], early, e));
    return 0;
}

/* ---- files that grow ---- */

/* The tail as it was at one moment. Its writer may empty it at any time: what was read counts when
 * its header is the same afterwards. f->len 0: there is none, or it has just begun again. */
static void ship_read_tail(const char *path, struct arena *a, struct ship_file *f)
{
    uint8_t again[FILE_HEADER_LEN];
    struct file_header h;
    struct err e;
    char *p;
    size_t n, got;
    f->len = 0;
    if (!storage_has(path) || storage_of(path)->source->read(path, 0, TAIL_MOST, a, &p, &n, &e) ||
        n <= FILE_HEADER_LEN || file_header_get(&h, (const uint8_t *)p, n, path, &e) ||
        storage_of(path)->range(path, 0, again, sizeof again, &got, &e) || got != sizeof again ||
        memcmp(again, p, sizeof again) != 0)
        return;
    f->p = (const uint8_t *)p;
    f->len = n;
    f->segment = h.segment;
    memcpy(f->id, h.id, sizeof f->id);
}

/* For a shipper that has just begun, where what is final may continue after a hole: at the first
 * block, which begins a segment, or is of one whose beginning has gone. */
static size_t ship_after_hole(const struct fmap *m, size_t hole, size_t final)
{
    unsigned tries = 0;
    if (hole <= final)
        return final;
    const size_t from = (hole + BLOCK_ALIGN - 1) / BLOCK_ALIGN * BLOCK_ALIGN;
    const size_t at = format_next_block(m->p, from, m->len, &tries);
    return at < m->len ? at : hole;
}

static int ship_sealed_bytes(struct ship *s, struct ship_sent *sent, struct ship_file *f,
                             const struct fmap *m, bool all, struct err *e)
{
    struct file_header h;
    TRY(file_header_get(&h, m->p, m->len, f->name, e));
    sent->final = ship_after_hole(m, f->gone, sent->final);
    memcpy(f->id, h.id, sizeof f->id);
    f->p = m->p;
    f->closed = m->len >= FILE_HEADER_LEN + FILE_END_LEN &&
                format_is_closed(m->p + m->len - FILE_END_LEN, m->len);
    sent->closed = f->closed;
    sent->final = format_final_len(m->p, m->len, sent->final);
    f->len = all ? m->len : sent->final;
    return s->target->ops->sealed(s->target, f, e);
}

static int ship_hole(const char *path, size_t *hole, struct err *e)
{
    const struct storage *s = storage_of(path);
    uint64_t end = 0;
    TRY(s->hole ? s->hole(path, &end, e) : 0);
    *hole = (size_t)end;
    return 0;
}

static int ship_sealed(struct ship *s, struct ship_file *f, const char *path,
                       const struct storage_stat *st, bool all, struct err *e)
{
    struct ship_sent *sent = ship_sent(s, f->node, f->name);
    struct fmap m;
    if (st->version == sent->version || st->bytes < FILE_HEADER_LEN)
        return 0;
    TRY(ship_hole(path, &f->gone, e));
    TRY(storage_of(path)->source->map(path, true, &m, e));
    const int rc = m.len < FILE_HEADER_LEN ? 0 : ship_sealed_bytes(s, sent, f, &m, all, e);
    if (rc == 0 && f->len == st->bytes)
        sent->version = st->version;
    fmap_close(&m);
    return rc;
}

/* Tail, sealed file, tail: see ship.h. */
static int ship_growing(struct ship *s, const char *folder, const char *node,
                        const struct ship_entry *x, bool all, struct err *e)
{
    char path[PATH_LEN], tail_path[PATH_LEN], name[FILE_NAME_LEN];
    struct arena a = {0};
    struct ship_file f = {.node = node, .name = x->name}, tail = {.node = node, .name = name};
    struct storage_stat st;
    const size_t stem = strlen(x->name) - strlen(STORE_SEALED);
    snprintf(name, sizeof name, "%.*s" STORE_TAIL, (int)stem, x->name);
    TRY(run_path(path, folder, x->name, e));
    TRY(run_path(tail_path, folder, name, e));
    ship_read_tail(tail_path, &a, &tail);
    int rc = storage_of(path)->stat(path, 0, &st, e); /* since it was listed a segment may be new */
    const bool gone = err_no_file(rc, e); /* its recorder took it back: see ship_prune */
    rc = gone ? 0 : rc ? rc : ship_sealed(s, &f, path, &st, all, e);
    if (rc == 0 && !gone && tail.len && !f.closed && (all || !s->only_sealed))
        rc = s->target->ops->tail(s->target, &tail, e);
    arena_free(&a);
    return rc;
}

/* Before anything of a node is sent: another recorder may have been there. */
static int ship_check_node(struct ship *s, const char *folder, const char *node,
                           const struct ship_list *l, struct err *e)
{
    uint8_t head[FILE_HEADER_LEN];
    char path[PATH_LEN];
    size_t n;
    for (size_t i = 0; i < l->n; i++) {
        struct ship_file f = {.node = node, .name = l->v[i].name};
        struct file_header h;
        if (run_file_kind(f.name, true) != RUN_FILE_SEALED)
            continue;
        TRY(run_path(path, folder, f.name, e));
        if (storage_of(path)->range(path, 0, head, sizeof head, &n, e) || n < sizeof head ||
            file_header_get(&h, head, n, path, e))
            continue; /* it has just begun, or is damaged: seen when it is sent */
        memcpy(f.id, h.id, sizeof f.id);
        TRY(s->target->ops->check(s->target, &f, e));
    }
    return 0;
}

/* A recorder removes its file of events at the end when there were none. */
static int ship_prune(struct ship *s, const char *node, const struct ship_list *l, struct err *e)
{
    const char **names = arena_array(l->arena, const char *, l->n + 1);
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++)
        if (run_file_kind(l->v[i].name, true) == RUN_FILE_SEALED)
            names[n++] = l->v[i].name;
    return s->target->ops->prune ? s->target->ops->prune(s->target, node, names, n, e) : 0;
}

/* ---- nodes ---- */

static bool ship_is_new(const struct ship *s, const char *node)
{
    return !FIND_ANY(i, s->n_sent, strcmp(s->sent[i].node, node) == 0 && s->sent[i].version);
}

/* node.json comes before the data the first time, so that the node is known, and after it
 * otherwise. The file that reports the recorder's end always comes after its data. */
static int ship_node(struct ship *s, const char *node, bool all, struct err *e)
{
    char folder[PATH_LEN];
    struct arena a = {0};
    struct ship_list l;
    const uint64_t before = s->target->bytes;
    TRY(run_node_path(folder, s->path, node, e));
    int rc = ship_list(folder, &a, &l, e);
    const bool dead = rc == 0 && storage_of(folder)->alive(folder) == STORAGE_DEAD;
    const bool is_new = rc == 0 && ship_is_new(s, node);
    if (is_new)
        rc = ship_check_node(s, folder, node, &l, e);
    if (rc == 0 && is_new)
        rc = ship_wholes(s, folder, node, &l, RUN_FILE_NODE, true, e);
    for (size_t i = 0; rc == 0 && i < l.n; i++)
        if (run_file_kind(l.v[i].name, true) == RUN_FILE_SEALED)
            rc = ship_growing(s, folder, node, &l.v[i], all || dead, e);
    if (rc == 0)
        rc = ship_prune(s, node, &l, e);
    if (rc == 0)
        rc = ship_wholes(s, folder, node, &l, RUN_FILE_SAVED, false, e);
    if (rc == 0)
        rc = ship_wholes(s, folder, node, &l, RUN_FILE_NODE, false, e);
    if (rc == 0 && !all && !dead && s->target->bytes == before && s->target->ops->alive)
        rc = s->target->ops->alive(s->target, node, e);
    arena_free(&a);
    return rc;
}

static bool ship_is_node(const struct ship *s, const struct ship_entry *x)
{
    const char *node = x->stat.kind == STORAGE_FOLDER ? run_node_id(x->name) : NULL;
    return node && name_is_sane(node, NODE_ID_LEN) && (!*s->node || strcmp(node, s->node) == 0);
}

static int ship_all(struct ship *s, const struct ship_list *l, bool all, struct err *e)
{
    TRY(ship_wholes(s, s->path, "", l, RUN_FILE_ABOUT, false, e));
    for (size_t i = 0; i < l->n; i++)
        if (ship_is_node(s, &l->v[i]))
            TRY(ship_node(s, run_node_id(l->v[i].name), all, e));
    return ship_wholes(s, s->path, "", l, RUN_FILE_WHOLE, false, e);
}

/* ---- a spool ---- */

/* After a round: all that was final then has arrived. */
static int ship_free_file(const struct ship *s, struct ship_sent *f, bool wanted, struct err *e)
{
    char folder[PATH_LEN], path[PATH_LEN];
    const struct ship_target *t = s->target;
    if (!t->syncs_later || mono_diff(t->durable, f->arrived_at) >= 0) {
        f->durable = t->syncs_later ? f->arrived : f->final;
        f->arrived = f->final;
        f->arrived_at = clock_mono();
    }
    if (!wanted || !f->durable)
        return 0;
    TRY(run_node_path(folder, s->path, f->node, e));
    TRY(run_path(path, folder, f->name, e));
    const struct storage *of = storage_of(path);
    return of->punch ? of->punch(path, f->durable - (f->closed ? FILE_END_LEN : 0), e) : 0;
}

/* A failure is not reported: then the spool fills, and that is. */
static void ship_make_room(struct ship *s)
{
    char folder[PATH_LEN];
    struct err e;
    if (!s->spool || run_node_path(folder, s->path, s->node, &e))
        return;
    const bool wanted = rundir_disk_bytes(folder) > s->spool / 2;
    for (size_t i = 0; i < s->n_sent; i++)
        if (run_file_kind(s->sent[i].name, true) == RUN_FILE_SEALED)
            (void)!ship_free_file(s, &s->sent[i], wanted, &e);
}

struct ship_partial {
    const char *folder;
    bool found;
};

static void ship_look_for_hole(void *ctx, const struct storage_entry *x)
{
    struct ship_partial *p = ctx;
    char path[PATH_LEN];
    struct err e;
    size_t hole = 0;
    if (run_file_kind(x->name, true) == RUN_FILE_SEALED &&
        run_path(path, p->folder, x->name, &e) == 0 && ship_hole(path, &hole, &e) == 0)
        p->found |= hole > 0;
}

bool ship_is_partial(const char *run, const char *node)
{
    char folder[PATH_LEN];
    struct err e;
    struct ship_partial p = {folder, false};
    return run_node_path(folder, run, node, &e) == 0 &&
           storage_of(folder)->list(folder, 0, ship_look_for_hole, &p, &e) == 0 && p.found;
}

/* After a failure nothing is taken for granted: the target may have lost what it had. */
static void ship_forget(struct ship *s)
{
    for (size_t i = 0; i < s->n_sent; i++)
        s->sent[i].version = 0;
    if (s->target->ops->forget)
        s->target->ops->forget(s->target);
}

int ship_round(struct ship *s, bool all, struct err *e)
{
    struct arena a = {0};
    struct ship_list l;
    s->target->retry_s = 0;
    s->target->has_requests = false;
    int rc = 0;
    for (int pass = 0; rc == 0 && (pass == 0 || s->again) && pass < PASSES_MOST; pass++) {
        s->again = false;
        rc = ship_list(s->path, &a, &l, e);
        if (rc == 0)
            rc = ship_all(s, &l, all, e);
    }
    if (rc)
        ship_forget(s);
    else if (s->target->ops->announce && (all || !s->announced))
        s->target->ops->announce(s->target, !s->announced && (!all || !*s->node));
    s->announced |= rc == 0;
    if (rc == 0)
        ship_make_room(s);
    arena_free(&a);
    return rc;
}
