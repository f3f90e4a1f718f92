/* SPDX-License-Identifier: Apache-2.0 */
/* ship.c - see ship.h. */
#include "ship/ship.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "run/run_info.h"
#include "run/run_names.h"
#include "run/storage.h"

enum { SHIP_SMALL_MOST = 256 << 20, SHIP_TAIL_MOST = 256 << 20 };

struct ship {
    char run[PATH_LEN], place[PATH_LEN];
    char *node;
    struct ship_target *target;
};

/* ---- targets ---- */

static const struct {
    const char *scheme;
    int (*open)(struct ship_target **out, const char *dest, const char *run, struct err *e);
} ship_targets[] = {
    {"s3://", ship_target_s3},
};

static int ship_target_open(struct ship_target **out, const char *dest, const char *run,
                            struct err *e)
{
    for (size_t i = 0; i < COUNT_OF(ship_targets); i++)
        if (text_starts(dest, ship_targets[i].scheme))
            return ship_targets[i].open(out, dest, run, e);
    return err_set(e, ERR_USAGE, "'%.100s' is not a place for runs: write s3://BUCKET/PREFIX",
                   dest);
}

int ship_open(struct ship **out, const struct ship_config *config, struct err *e)
{
    struct ship *s = xcalloc(1, sizeof *s);
    const char *name;
    const size_t n = strlen(config->dest) - text_ends(config->dest, "/");
    int rc = path_join(s->run, e, "%s", config->run);
    for (size_t len = strlen(s->run); len > 1 && s->run[len - 1] == '/'; len--)
        s->run[len - 1] = 0;
    name = path_base(s->run);
    if (rc == 0 && !name_is_sane(name, 256))
        rc = err_set(e, ERR_USAGE, "'%s' has a name that a run elsewhere cannot have", s->run);
    if (rc == 0)
        rc = path_join(s->place, e, "%.*s/%s", (int)n, config->dest, name);
    if (rc == 0)
        rc = ship_target_open(&s->target, config->dest, name, e);
    s->node = config->node ? xstrdup(config->node) : NULL;
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
    if (s->target)
        s->target->ops->close(s->target);
    free(s->node);
    free(s);
}

const char *ship_place(const struct ship *s)
{
    return s->place;
}

/* ---- which files there are ---- */

struct ship_name {
    const char *name;
    enum run_file_kind kind;
};

struct ship_names {
    struct arena *arena;
    bool in_node;
    struct ship_name *v;
    size_t n, cap;
    const char **nodes;
    size_t n_nodes, cap_nodes;
};

static void ship_note(void *ctx, const struct storage_entry *x)
{
    struct ship_names *s = ctx;
    const char *id = s->in_node ? NULL : run_node_id(x->name);
    const enum run_file_kind kind = run_file_kind(x->name, s->in_node);
    if (x->kind == STORAGE_FOLDER && id && name_is_sane(id, 256))
        *ARENA_ADD(s->arena, s->nodes, s->n_nodes, s->cap_nodes) = arena_strdup(s->arena, id);
    else if (x->kind == STORAGE_FILE && kind != RUN_FILE_OTHER)
        *ARENA_ADD(s->arena, s->v, s->n, s->cap) =
            (struct ship_name){arena_strdup(s->arena, x->name), kind};
}

static int ship_list(const char *folder, bool in_node, struct arena *a, struct ship_names *out,
                     struct err *e)
{
    *out = (struct ship_names){.arena = a, .in_node = in_node};
    return storage_of(folder)->list(folder, in_node ? 0 : STORAGE_FOLLOW, ship_note, out, e);
}

/* ---- sending ---- */

/* One that vanished meanwhile is no error. */
static int ship_put_small(struct ship *s, const char *folder, const char *node, const char *name,
                          bool absent, struct err *e)
{
    char path[PATH_LEN], *text;
    struct arena a = {0};
    size_t len;
    TRY(run_path(path, folder, name, e));
    int rc = storage_of(path)->source->read(path, 0, SHIP_SMALL_MOST, &a, &text, &len, e);
    if (rc == 0)
        rc = s->target->ops->put(s->target, node, name, text, len, absent, e);
    else if (rc == ERR_SYS && e->sys == ENOENT && !absent)
        rc = 0;
    arena_free(&a);
    return rc;
}

static int ship_sealed(struct ship *s, const char *node, const char *folder, const char *name,
                       bool *closed, struct err *e)
{
    char path[PATH_LEN];
    struct fmap m;
    struct file_header h;
    TRY(run_path(path, folder, name, e));
    TRY(storage_of(path)->source->map(path, true, &m, e));
    int rc = 0;
    *closed = m.len > FILE_END_LEN && format_is_closed(m.p + m.len - FILE_END_LEN, m.len);
    if (m.len >= FILE_HEADER_LEN) {
        rc = file_header_get(&h, m.p, m.len, path, e);
        if (rc == 0) {
            struct ship_file f = {
                .node = node,
                .name = name,
                .p = m.p,
                .len = *closed ? m.len : format_final_len(m.p, m.len, 0),
                .closed = *closed,
            };
            memcpy(f.id, h.id, sizeof f.id);
            rc = s->target->ops->sealed(s->target, &f, e);
        }
    }
    fmap_close(&m);
    return rc;
}

/* The tail beside a sealed file; its bytes are in the arena. *len 0: there is none. */
static int ship_read_tail(const char *folder, const char *name, struct arena *a, char **bytes,
                          size_t *len, const char **tail, struct err *e)
{
    char path[PATH_LEN];
    const size_t stem = strlen(name) - strlen(STORE_SEALED);
    *tail = arena_printf(a, "%.*s" STORE_TAIL, (int)stem, name);
    *len = 0;
    TRY(run_path(path, folder, *tail, e));
    const int rc = storage_of(path)->source->read(path, 0, SHIP_TAIL_MOST, a, bytes, len, e);
    return rc == ERR_SYS && e->sys == ENOENT ? 0 : rc;
}

/* A sealed file and its tail, in the order of ship.h. */
static int ship_pair(struct ship *s, const char *node, const char *folder, const char *name,
                     struct err *e)
{
    struct arena a = {0};
    char *bytes = NULL;
    const char *tail;
    size_t len;
    bool closed = false;
    struct file_header h;
    int rc = ship_read_tail(folder, name, &a, &bytes, &len, &tail, e);
    if (rc == 0)
        rc = ship_sealed(s, node, folder, name, &closed, e);
    const size_t whole = rc || !len ? 0 : format_tail_len((const uint8_t *)bytes, len, &h);
    if (rc == 0 && whole && !closed) {
        struct ship_file f = {.node = node,
                              .name = tail,
                              .p = (const uint8_t *)bytes,
                              .len = whole,
                              .segment = h.segment};
        memcpy(f.id, h.id, sizeof f.id);
        rc = s->target->ops->tail(s->target, &f, e);
    }
    arena_free(&a);
    return rc;
}

/* node.json comes last: when it says that the run has ended, the data is there. So it is read
 * before them. */
static int ship_node(struct ship *s, const char *node, bool ended, struct arena *a, struct err *e)
{
    char folder[PATH_LEN], path[PATH_LEN];
    struct ship_names names;
    TRY(run_node_path(folder, s->run, node, e));
    TRY(ship_list(folder, true, a, &names, e));
    char **texts = arena_array(a, char *, names.n);
    size_t *lens = arena_array(a, size_t, names.n);
    for (size_t i = 0; i < names.n; i++)
        if (names.v[i].kind == RUN_FILE_NODE) {
            TRY(run_path(path, folder, names.v[i].name, e));
            TRY(storage_of(path)->source->read(path, 0, SHIP_SMALL_MOST, a, &texts[i], &lens[i],
                                               e));
        }
    const char **sealed = arena_array(a, const char *, names.n + 1);
    size_t n_sealed = 0;
    for (size_t i = 0; i < names.n; i++)
        if (names.v[i].kind == RUN_FILE_SEALED) {
            sealed[n_sealed++] = names.v[i].name;
            TRY(ship_pair(s, node, folder, names.v[i].name, e));
        }
    if (ended && s->target->ops->prune)
        TRY(s->target->ops->prune(s->target, node, sealed, e));
    for (size_t i = 0; i < names.n; i++)
        if (texts[i])
            TRY(s->target->ops->put(s->target, node, names.v[i].name, texts[i], lens[i], false, e));
    return 0;
}

static bool ship_is_mine(const struct ship *s, const char *node)
{
    return !s->node || strcmp(s->node, node) == 0;
}

/* node.json has its end before the files are closed; the lock is free after that. */
static bool ship_has_ended(const struct ship *s, const struct run_info *info)
{
    char folder[PATH_LEN];
    struct err e;
    bool ended = info->status != RUN_RUNNING;
    for (size_t i = 0; i < info->n_nodes && ended; i++)
        ended = run_node_path(folder, s->run, info->nodes[i].id, &e) ||
                storage_of(folder)->alive(folder) != STORAGE_ALIVE;
    return ended;
}

/* The rules are evaluated after the recorder has ended. */
static bool ship_has_findings(const struct ship_names *names)
{
    for (size_t i = 0; i < names->n; i++)
        if (strcmp(names->v[i].name, RUN_FINDINGS) == 0)
            return true;
    return false;
}

static int ship_all(struct ship *s, struct arena *a, struct ship_state *out, struct err *e)
{
    struct ship_names names;
    struct run_info info;
    TRY(run_info_read(&info, s->run, a, e)); /* before the files: what it says has ended is whole */
    out->running = !ship_has_ended(s, &info);
    TRY(ship_list(s->run, false, a, &names, e));
    TRY(ship_put_small(s, s->run, NULL, RUN_ABOUT, true, e));
    for (size_t i = 0; i < names.n_nodes; i++)
        if (ship_is_mine(s, names.nodes[i]))
            TRY(ship_node(s, names.nodes[i], !out->running, a, e));
    for (size_t i = 0; i < names.n && !out->running; i++)
        if (names.v[i].kind == RUN_FILE_WHOLE)
            TRY(ship_put_small(s, s->run, NULL, names.v[i].name, false, e));
    out->complete = !out->running && ship_has_findings(&names);
    return 0;
}

int ship_pass(struct ship *s, struct ship_state *out, struct err *e)
{
    struct arena a = {0};
    *out = (struct ship_state){.running = true};
    const int rc = ship_all(s, &a, out, e);
    out->bytes = s->target->bytes;
    out->complete &= rc == 0;
    arena_free(&a);
    return rc;
}
