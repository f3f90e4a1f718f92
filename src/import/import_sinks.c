/* SPDX-License-Identifier: Apache-2.0 */
/* import_sinks.c - see import_sinks.h. */
#include "import/import_sinks.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "import/importer.h"

/* ------------------------------------------------------------------------------------------------
 * Processes of several traces */

/* Linux gives no pid from here on. */
#define PIDS_BEYOND ((uint32_t)1 << 22)

static uint32_t pids_hash_of(uint32_t process, uint32_t pid)
{
    return (uint32_t)(((uint64_t)process << 32 | pid) * 0x9e3779b97f4a7c15u >> 32);
}

static bool is_shown(const struct import_pids *p, uint32_t shown)
{
    return FIND_ANY(i, p->n_rows, p->rows[i].shown == shown);
}

static uint32_t pids_add_row(struct import_pids *p, uint32_t pid)
{
    uint32_t shown = pid;
    for (uint32_t beyond = PIDS_BEYOND + p->n_rows; is_shown(p, shown); beyond++)
        shown = beyond;
    *VEC_ADD(p->rows, p->n_rows, p->cap) = (struct pid_row){p->now, pid, shown, false};
    hash_add(&p->index, pids_hash_of(p->now, pid), p->n_rows);
    p->last = p->n_rows - 1;
    return shown;
}

static uint32_t shown_as(struct import_pids *p, uint32_t pid)
{
    if (p->n_rows && p->rows[p->last].pid == pid && p->rows[p->last].process == p->now)
        return p->rows[p->last].shown;
    const uint32_t at = HASH_FIND(&p->index, pids_hash_of(p->now, pid), i,
                                  p->rows[i].pid == pid && p->rows[i].process == p->now);
    return at ? p->rows[p->last = at - 1].shown : pids_add_row(p, pid);
}

static void pids_on_events(struct sink *s, const struct track *t, const struct event *v, size_t n)
{
    struct import_pids *p = (struct import_pids *)s;
    const uint32_t pid = shown_as(p, t->pid);
    struct track moved;
    if (pid != t->pid) {
        moved = *t;
        moved.pid = pid;
        t = &moved;
    }
    if (!p->spoke && n && t->kind != TRACK_DEVICE) {
        p->spoke = true;
        p->first = *t;
        if (t->kind == TRACK_HEALTH) { /* a process without a thread gets one, for its rank */
            p->first.kind = TRACK_THREAD;
            p->first.id = pid;
            p->first.name[0] = '\0';
        }
    }
    sink_pass_events(s, t, v, n);
}

void pids_open(struct import_pids *p, struct sink *to)
{
    static const struct sink_ops ops = {sink_pass_row, sink_pass_loss, sink_pass_mark,
                                        pids_on_events};
    *p = (struct import_pids){.pass = {{&ops}, to}};
}

void pids_enter(struct import_pids *p, const char *process)
{
    p->spoke = false;
    for (p->now = 0; p->now < p->n_processes; p->now++)
        if (strcmp(p->processes[p->now], process) == 0)
            return;
    p->processes = xrealloc(p->processes, p->n_processes + 1, sizeof *p->processes);
    p->processes[p->n_processes++] = xstrdup(process);
}

void pids_put_rank(struct import_pids *p, int64_t rank, mono_ns at)
{
    const struct event v = import_fact(EV_RANK, rank, at);
    /* Once is enough where a process has many files. */
    if (!p->spoke || p->rows[p->last].ranked)
        return;
    p->rows[p->last].ranked = true;
    sink_pass_events(&p->pass.sink, &p->first, &v, 1);
}

void pids_close(struct import_pids *p)
{
    for (uint32_t i = 0; i < p->n_processes; i++)
        free(p->processes[i]);
    free(p->processes);
    free(p->rows);
    hash_free(&p->index);
    *p = (struct import_pids){0};
}

/* ------------------------------------------------------------------------------------------------
 * Rows in order of time */

static struct rows_group *rows_group_of(struct import_rows *r, const struct group *g)
{
    for (uint32_t i = 0; i < r->n; i++)
        if (strcmp(r->groups[i].own.name, g->name) == 0)
            return &r->groups[i];
    r->groups = xrealloc(r->groups, r->n + 1, sizeof *r->groups);
    struct rows_group *x = &r->groups[r->n++];
    *x = (struct rows_group){0};
    group_open(&x->own, g->name, g->period_ns);
    return x;
}

static bool rows_is_same(const struct slot *a, const struct slot *b)
{
    return a->metric == b->metric && a->step == b->step && strcmp(a->entity, b->entity) == 0;
}

/* Mostly the files of a machine name their series in the same order. */
static slot_id slot_like(struct group *own, const struct slot *s, slot_id guess)
{
    if (guess < own->n && rows_is_same(&own->slots[guess], s))
        return guess;
    for (slot_id i = 0; i < own->n; i++)
        if (rows_is_same(&own->slots[i], s))
            return i;
    return group_add_step(own, s->metric, s->entity, s->step);
}

static void map_slots(struct rows_group *x, struct group *g)
{
    x->to = xrealloc(x->to, g->n, sizeof *x->to);
    for (slot_id i = 0; i < g->n; i++)
        x->to[i] = g->slots[i].used ? slot_like(&x->own, &g->slots[i], i) : SLOT_NONE;
    x->n = g->n;
    x->from = g;
    x->generation = g->generation;
}

/* Rows of a group go forward in time. What goes back is put as a separate group. */
static void rows_begin_anew(struct rows_group *x)
{
    x->own.sink_data = NULL;
    x->begun = false;
}

void rows_take(struct import_rows *r, struct group *g, mono_ns t)
{
    struct rows_group *x = rows_group_of(r, g);
    if (x->from != g || x->generation != g->generation)
        map_slots(x, g);
    if (x->begun && t.ns < x->last.ns)
        rows_begin_anew(x);
    if (!x->begun)
        group_set_period(&x->own, g->period_ns);
    for (slot_id i = 0; i < x->n; i++)
        if (x->to[i] != SLOT_NONE && g->cells[i] != CELL_MISSING)
            x->own.cells[x->to[i]] = g->cells[i];
    group_commit(&x->own, r->sink, t);
    x->last = t;
    x->begun = true;
}

void rows_begin(struct import_rows *r)
{
    for (uint32_t i = 0; i < r->n; i++)
        r->groups[i].from = NULL;
}

/* Each once, whatever is read of it. */
static bool is_first_of(const struct group *g, slot_id at, enum entity_kind per)
{
    for (slot_id i = 0; i < at; i++)
        if (metrics[g->slots[i].metric].per == per &&
            strcmp(g->slots[i].entity, g->slots[at].entity) == 0)
            return false;
    return metrics[g->slots[at].metric].per == per &&
           strcmp(g->slots[at].entity, ENTITY_TOTAL) != 0;
}

unsigned rows_devices(const struct import_rows *r, enum entity_kind per)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < r->n; i++)
        for (slot_id s = 0; s < r->groups[i].own.n; s++)
            n += is_first_of(&r->groups[i].own, s, per);
    return n;
}

void rows_open(struct import_rows *r, struct sink *sink)
{
    *r = (struct import_rows){.sink = sink};
}

void rows_close(struct import_rows *r)
{
    for (uint32_t i = 0; i < r->n; i++) {
        group_close(&r->groups[i].own);
        free(r->groups[i].to);
    }
    free(r->groups);
    *r = (struct import_rows){0};
}
