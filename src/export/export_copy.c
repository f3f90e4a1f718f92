/* SPDX-License-Identifier: Apache-2.0 */
/* export_copy.c - see export.h. Times on monotonic clocks stay as they are: that everything is
 * later is a matter of what the clock is tied to. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "export/export.h"
#include "export/export_about.h"
#include "record/group.h"
#include "run/run_files.h"

struct copying {
    const struct export_copy *ask;
    const struct run_info *info;
    struct arena arena;
    struct node_clocks clocks;
    struct tracks tracks;
    /* The group of samples that is being copied. */
    struct group group;
    struct series_emitter columns; /* shows whether they are the ones before */
    bool changed;
    slot_id *slots;
    size_t n_slots;
    struct sink *rows;
    int64_t ahead_ns; /* of its clock */
};

static const char *node_name(struct copying *c, const char *node)
{
    return *c->ask->prefix ? arena_printf(&c->arena, "%s-%s", c->ask->prefix, node)
                           : arena_strdup(&c->arena, node);
}

static const struct node_info *copy_find_node(const struct copying *c, const char *id,
                                              unsigned session)
{
    for (size_t i = 0; i < c->info->n_nodes; i++)
        if (c->info->nodes[i].session == session && strcmp(c->info->nodes[i].id, id) == 0)
            return &c->info->nodes[i];
    return &c->info->nodes[0];
}

static struct sink *copy_sink_of(struct copying *c, struct remake_place p)
{
    struct remake *m = c->ask->to;
    p.node = node_name(c, p.node);
    return m->ops->sink(m, &p);
}

/* ---- recorders ---- */

static void move_time(json_t *o, const char *key, int64_t by_ns)
{
    json_t *v = json_object_get(o, key);
    if (json_is_integer(v))
        json_object_set_new(o, key, json_integer(clock_clamp(json_integer_value(v)) + by_ns));
}

/* Its node.json as it is in the copy; NULL: it has none. */
static char *node_about(struct copying *c, const struct node_info *n)
{
    struct err ignored;
    json_t *o = NULL;
    if (run_read_node(&o, c->info, n, &ignored) != 0)
        return NULL;
    move_time(o, "start_ns", c->ask->later_ns);
    move_time(o, "end_ns", c->ask->later_ns);
    if (export_is_part(c->ask->job))
        json_object_del(o, "self");
    char *text = json_dumps(o, JSON_COMPACT);
    json_decref(o);
    return text;
}

static void copy_emit_node(struct copying *c, const struct node_info *n)
{
    struct remake *m = c->ask->to;
    char *about = node_about(c, n);
    m->ops->node(m, &(struct remake_node){
                        .id = node_name(c, n->id),
                        .session = n->session,
                        .clock_ahead_ns = clock_of(&c->clocks, n) + c->ask->later_ns,
                        .start = {n->start.ns + c->ask->later_ns},
                        .end = {n->end.ns + c->ask->later_ns},
                        .about = about,
                        .about_len = about ? strlen(about) : 0,
                    });
    free(about);
}

/* ---- losses and marks ---- */

static struct sink *remark_sink(struct copying *c, const char *node, wall_ns t, mono_ns *at)
{
    const unsigned session = session_at(c->info, node, t);
    at->ns = t.ns - clock_of(&c->clocks, copy_find_node(c, node, session));
    return copy_sink_of(c, (struct remake_place){.node = node, .session = session});
}

static int copy_emit_losses(struct copying *c, struct err *e)
{
    struct run_loss *v;
    size_t n;
    TRY(run_losses(c->ask->job->run, &c->arena, &v, &n, e));
    for (size_t i = 0; i < n; i++) {
        struct loss l = v[i].loss;
        if (!loss_is_exported(c->info, &v[i]))
            continue;
        struct sink *s = remark_sink(c, v[i].node, v[i].at, &l.at);
        s->ops->loss(s, &l);
    }
    return 0;
}

static int copy_emit_marks(struct copying *c, struct err *e)
{
    struct run_mark *v;
    size_t n;
    TRY(run_marks(c->ask->job->run, &c->arena, &v, &n, e));
    for (size_t i = 0; i < n; i++) {
        struct mark m = v[i].mark;
        if (!export_in_window(c->ask->job, v[i].at, v[i].at.ns + 1))
            continue;
        struct sink *s = remark_sink(c, v[i].node, v[i].at, &m.at);
        s->ops->mark(s, &m);
    }
    return 0;
}

/* ---- samples ---- */

static void note_change(void *to, const struct row_group *g, const struct row_column *col)
{
    (void)g;
    (void)col;
    ((struct copying *)to)->changed = true;
}

static void new_group(struct copying *c, const struct row_group *g)
{
    group_close(&c->group);
    group_open(&c->group, g->name, g->period_ns);
    c->slots = arena_array(&c->arena, slot_id, g->n);
    for (size_t i = 0; i < g->n; i++) {
        const enum metric_id m = metric_find(g->columns[i].metric);
        c->slots[i] = m == METRIC_N
                          ? SLOT_NONE
                          : group_add_step(&c->group, m, g->columns[i].entity, g->columns[i].step);
    }
}

/* A group that continues with the same columns stays the same one to the sink. */
static int copy_emit_group(void *to, const struct row_group *g, struct err *e)
{
    struct copying *c = to;
    c->changed = c->n_slots != g->n;
    series_emit(&c->columns, g);
    if (c->changed)
        new_group(c, g);
    c->n_slots = g->n;
    c->ahead_ns = g->clock_ahead_ns;
    c->rows = copy_sink_of(c, (struct remake_place){.node = g->node, .session = g->session});
    return c->ask->pass(c->ask->ctx, e);
}

static int copy_emit_row(void *to, wall_ns t, const int64_t *cells, struct err *e)
{
    struct copying *c = to;
    for (size_t i = 0; i < c->n_slots; i++)
        if (c->slots[i] != SLOT_NONE)
            c->group.cells[c->slots[i]] = cells[i];
    group_commit(&c->group, c->rows, (mono_ns){t.ns - c->ahead_ns});
    return c->ask->pass(c->ask->ctx, e);
}

static int copy_emit_samples(struct copying *c, struct err *e)
{
    static const struct row_sink sink = {copy_emit_group, copy_emit_row};
    c->columns = (struct series_emitter){.emit = note_change, .to = c};
    const int rc = rows_read(c->ask->job->run, &c->ask->job->ask, &sink, c, e);
    series_emit_end(&c->columns);
    group_close(&c->group);
    return rc;
}

/* ---- events ---- */

struct copy_events_to {
    struct copying *c;
    struct sink *sink;
    int64_t ahead_ns;
    size_t waiting; /* events since the last pass */
};

enum { BATCH = 1024 };

static int copy_emit_events(void *to, const struct run_track *t, const struct run_event *v,
                            size_t n, struct err *e)
{
    struct copy_events_to *x = to;
    struct event batch[BATCH];
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n;) {
        size_t k = 0;
        for (; k < BATCH && i < n; k++, i++) {
            batch[k] = v[i].event;
            batch[k].at.ns = v[i].at.ns - x->ahead_ns;
        }
        x->sink->ops->events(x->sink, &t->track, batch, k);
        x->waiting += k;
        if (x->waiting >= BATCH) {
            rc = x->c->ask->pass(x->c->ask->ctx, e);
            x->waiting = 0;
        }
    }
    return rc;
}

static int copy_emit_track(struct copying *c, size_t i, struct err *e)
{
    const struct run_track *t = &c->tracks.v[i];
    const struct remake_place place = {
        .node = t->process->node,
        .session = t->process->session,
        .file = t->detail ? REMAKE_DETAIL : REMAKE_EVENTS,
        .pid = t->track.pid,
        .window = track_window(&c->tracks, i),
    };
    struct copy_events_to x = {c, copy_sink_of(c, place),
                               clock_of(&c->clocks, copy_find_node(c, place.node, place.session)),
                               0};
    TRY(export_events(c->ask->job, t, copy_emit_events, &x, e));
    return c->ask->pass(c->ask->ctx, e);
}

static int copy_emit_tracks(struct copying *c, struct err *e)
{
    TRY(export_all_tracks(c->ask->job, &c->arena, &c->tracks, e));
    for (size_t i = 0; i < c->tracks.n; i++)
        TRY(copy_emit_track(c, i, e));
    return 0;
}

int export_copy(const struct export_copy *ask, struct err *e)
{
    static int (*const parts[])(struct copying * c, struct err * e) = {
        copy_emit_losses, copy_emit_marks, copy_emit_samples, copy_emit_tracks};
    struct copying c = {.ask = ask, .info = run_get_info(ask->job->run)};
    int rc = about_clocks(ask->job->run, &c.arena, &c.clocks, e);
    for (size_t i = 0; rc == 0 && i < c.info->n_nodes; i++)
        copy_emit_node(&c, &c.info->nodes[i]);
    for (size_t i = 0; rc == 0 && i < COUNT_OF(parts); i++)
        rc = parts[i](&c, e);
    arena_free(&c.arena);
    return rc;
}
