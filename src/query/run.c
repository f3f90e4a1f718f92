/* SPDX-License-Identifier: Apache-2.0 */
/* run.c - opens the files of all nodes of a run. */
#include "query/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/thread.h"
#include "base/vec.h"
#include "query/event_flow.h"
#include "query/run_internal.h"

/* ---- series over all sessions ---- */

struct run_entry {
    const char *node;
    struct series_part part;
    size_t order; /* session */
};

static int run_by_name(const void *a, const void *b)
{
    const struct run_entry *x = a, *y = b;
    return name_compare(x->node, y->node)
               ?: name_compare(x->part.series->metric, y->part.series->metric)
               ?: name_compare(x->part.series->entity, y->part.series->entity)
               ?: COMPARE(x->order, y->order);
}

static bool same_series(const struct run_entry *a, const struct run_entry *b)
{
    return strcmp(a->node, b->node) == 0 &&
           strcmp(a->part.series->metric, b->part.series->metric) == 0 &&
           strcmp(a->part.series->entity, b->part.series->entity) == 0;
}

static void merge_entries(struct run *r, const struct run_entry *list, size_t n)
{
    r->series = arena_array(&r->arena, struct run_series, n);
    struct series_part *parts = arena_array(&r->arena, struct series_part, n);
    for (size_t i = 0; i < n; i++) {
        parts[i] = list[i].part;
        if (i && same_series(&list[i - 1], &list[i])) {
            r->series[r->n_series - 1].n_parts++;
            continue;
        }
        const struct store_series *s = list[i].part.series;
        r->series[r->n_series++] = (struct run_series){
            .node = list[i].node,
            .metric = s->metric,
            .entity = s->entity,
            .unit = s->unit,
            .parts = &parts[i],
            .n_parts = 1,
        };
    }
}

static void merge_series(struct run *r)
{
    const size_t n = SUM_OF(i, r->info.n_nodes, r->stores[i] ? r->stores[i]->n_series : 0);
    struct run_entry *list = xcalloc(n, sizeof *list);
    size_t at = 0;
    for (size_t i = 0; i < r->info.n_nodes; i++)
        for (uint32_t k = 0; r->stores[i] && k < r->stores[i]->n_series; k++)
            list[at++] = (struct run_entry){
                r->info.nodes[i].id, {r->stores[i], &r->stores[i]->series[k]}, i};
    SORT(list, n, run_by_name);
    merge_entries(r, list, n);
    free(list);
}

/* ---- opening ---- */

/* Of runs with at least this number of sessions, only the files in use stay open. */
enum { LARGE = 5 };

struct opening {
    struct run *run;
    int *rc; /* by session */
    struct err *e;
};

static void open_some(struct parallel *c, struct arena *results)
{
    const struct opening *x = c->ctx;
    (void)results;
    for (size_t i; parallel_next(c, &i);) {
        x->rc[i] =
            run_open_metrics(&x->run->stores[i], &x->run->info, i, x->run->follows, &x->e[i]);
        if (x->rc[i] == 0 && x->run->lean)
            store_forget(x->run->stores[i]);
    }
}

/* The description of a node is sent before its data. */
static bool has_no_data_yet(const struct node_info *n, int rc, const struct err *e)
{
    return n->status == RUN_RUNNING && err_no_file(rc, e);
}

/* One node whose file is damaged must not hide the others; a newer format concerns all of them. */
static int settle_opening(struct run *r, const struct opening *x, struct err *e)
{
    for (size_t i = 0; i < r->info.n_nodes; i++) {
        if (x->rc[i] == ERR_VERSION) {
            *e = x->e[i];
            return x->rc[i];
        }
        if (x->rc[i] == 0 || has_no_data_yet(&r->info.nodes[i], x->rc[i], &x->e[i]))
            continue;
        r->file_loss[i] =
            loss_of(LOSS_DAMAGED, LOST_PART(r->info.nodes[i].id), "%.159s", x->e[i].msg);
    }
    return 0;
}

/* The store of the same recorder, when the run was opened before. */
static struct store *take_store(struct run *before, const struct node_info *n)
{
    for (size_t i = 0; before && i < before->info.n_nodes; i++)
        if (before->info.nodes[i].session == n->session &&
            strcmp(before->info.nodes[i].id, n->id) == 0) {
            struct store *s = before->stores[i];
            before->stores[i] = NULL;
            return s;
        }
    return NULL;
}

static int open_stores(struct run *r, struct err *e)
{
    const size_t n = r->info.n_nodes;
    struct arena scratch = {0};
    struct opening x = {r, arena_array(&scratch, int, n), arena_array(&scratch, struct err, n)};
    struct parallel job = {.n = n, .each = 1, .work = open_some, .ctx = &x};
    r->stores = arena_array(&r->arena, struct store *, n);
    r->file_loss = arena_array(&r->arena, struct loss, n);
    for (size_t i = 0; i < n; i++)
        r->stores[i] = take_store(r->before, &r->info.nodes[i]);
    parallel_run(&job, &scratch);
    const int rc = settle_opening(r, &x, e);
    arena_free(&scratch);
    return rc;
}

void run_forget(struct run *r, const char *node)
{
    for (size_t i = 0; r->lean && i < r->info.n_nodes; i++)
        if (r->stores[i] && strcmp(r->info.nodes[i].id, node) == 0)
            store_forget(r->stores[i]);
}

/* A node that is still running, or died, ends where its data ends. */
static void settle_ends(struct run *r)
{
    for (size_t i = 0; i < r->info.n_nodes; i++) {
        struct node_info *n = &r->info.nodes[i];
        const struct store *s = r->stores[i];
        if (!s || !s->n_blocks)
            continue;
        if (!n->start.ns)
            n->start = store_wall(s, s->t_first_us);
        const wall_ns last = store_wall(s, s->t_last_us);
        if (n->status == RUN_RUNNING || n->status == RUN_DIED || n->end.ns < last.ns)
            n->end = last;
    }
    for (size_t i = 0, known = r->info.start.ns != 0; !known && i < r->info.n_nodes; i++)
        if (r->info.nodes[i].start.ns &&
            (!r->info.start.ns || r->info.nodes[i].start.ns < r->info.start.ns))
            r->info.start = r->info.nodes[i].start; /* not in run.json: the first node's */
    r->info.end.ns = r->info.start.ns;
    for (size_t i = 0; i < r->info.n_nodes; i++)
        r->info.end.ns = MAX_OF(r->info.end.ns, r->info.nodes[i].end.ns);
}

static void keep_node(struct run_info *info, const char *node)
{
    size_t n = 0;
    for (size_t i = 0; i < info->n_nodes; i++)
        if (strcmp(info->nodes[i].id, node) == 0)
            info->nodes[n++] = info->nodes[i];
    info->n_nodes = n;
}

int run_open(struct run **out, const char *path, struct err *e)
{
    return run_open_node(out, path, NULL, e);
}

/* Takes `r`, which is empty. */
static int run_open_files(struct run **out, struct run *r, const char *path, const char *node,
                          struct err *e)
{
    int rc = run_info_read(&r->info, path, &r->arena, e);
    if (rc == 0 && node)
        keep_node(&r->info, node);
    r->lean = node || r->info.n_nodes >= LARGE;
    if (rc == 0)
        rc = open_stores(r, e);
    if (rc) {
        run_close(r);
        return rc;
    }
    settle_ends(r);
    merge_series(r);
    *out = r;
    return 0;
}

int run_open_node(struct run **out, const char *path, const char *node, struct err *e)
{
    return run_open_files(out, xcalloc(1, sizeof(struct run)), path, node, e);
}

int run_open_next(struct run **r, const char *path, const char *node, struct err *e)
{
    struct run *next = xcalloc(1, sizeof *next);
    next->follows = true;
    next->before = *r;
    if (*r) { /* events were not read meanwhile */
        run_close((*r)->before);
        (*r)->before = NULL;
    }
    *r = NULL;
    return run_open_files(r, next, path, node, e);
}

const struct run_info *run_get_info(const struct run *r)
{
    return &r->info;
}

void run_close(struct run *r)
{
    if (!r)
        return;
    for (size_t i = 0; r->stores && i < r->info.n_nodes; i++)
        store_close(r->stores[i]);
    event_flow_close(r->flow);
    run_events_close(r);
    run_close(r->before);
    arena_free(&r->arena);
    free(r);
}

/* ---- losses, marks, size ---- */

static void run_add_loss(struct run_loss *list, size_t *n, const char *node, const struct loss *l,
                         wall_ns at)
{
    list[(*n)++] = (struct run_loss){.node = node, .loss = *l, .at = at};
}

static bool has_loss(const struct store *s, enum loss_id id)
{
    return FIND_ANY(k, s->n_losses, s->losses[k].id == id);
}

/* A file that was cut between two blocks looks whole; only its recorder knew how much there was. */
static uint64_t missing_samples(const struct node_info *node, const struct store *s)
{
    if (node->status == RUN_RUNNING || node->status == RUN_DIED || node->samples < 0 ||
        has_loss(s, LOSS_TORN) || has_loss(s, LOSS_DAMAGED))
        return 0;
    const uint64_t had = (uint64_t)node->samples;
    return had > s->samples ? had - s->samples : 0;
}

static void file_losses(const struct node_info *node, const struct store *s, struct run_loss *list,
                        size_t *n)
{
    for (uint32_t k = 0; k < s->n_losses; k++) {
        /* What is being written this moment is not torn. */
        if (node->status == RUN_RUNNING && s->losses[k].id == LOSS_TORN)
            continue;
        run_add_loss(list, n, node->id, &s->losses[k],
                     store_wall(s, s->losses[k].at.ns / NS_PER_US));
    }
}

/* Blocks whose checksum is wrong; `part` is what is missing with them. */
static void add_damage(const struct node_info *node, struct store *s, const char *part,
                       struct run_loss *list, size_t *n)
{
    struct loss bad =
        loss_of(LOSS_DAMAGED, LOST_PART(part), "wrong checksum in node-%.60s", node->id);
    bad.count = store_verify(s);
    if (bad.count)
        run_add_loss(list, n, node->id, &bad, node->end);
}

static void node_losses(struct run *r, size_t i, struct run_loss *list, size_t *n)
{
    const struct node_info *node = &r->info.nodes[i];
    struct store *s = r->stores[i];
    if (!s) {
        if (r->file_loss[i].count)
            run_add_loss(list, n, node->id, &r->file_loss[i], node->end);
        return;
    }
    file_losses(node, s, list, n);
    add_damage(node, s, "columns", list, n);
    struct loss cut =
        loss_of(LOSS_TORN, LOST_PART("samples"), "the files contain fewer than were recorded");
    cut.count = missing_samples(node, s);
    if (cut.count)
        run_add_loss(list, n, node->id, &cut, node->end);
    const struct loss died = loss_of(LOSS_NODE_DIED, LOST_PART("recorder"), "%.150s", node->why);
    if (node->status == RUN_DIED)
        run_add_loss(list, n, node->id, &died, node->end);
}

/* Losses in the event files, and damage of the files themselves. */
static void event_losses(struct run *r, const struct event_index *x, struct run_loss *list,
                         size_t *n)
{
    for (size_t i = 0; i < x->n_losses; i++)
        list[(*n)++] = x->losses[i];
    for (size_t i = 0; i < x->n_files; i++) {
        const struct node_info *node = &r->info.nodes[x->files[i].node];
        struct store *s = x->files[i].store;
        file_losses(node, s, list, n);
        add_damage(node, s, "events", list, n);
    }
}

int run_losses(struct run *r, struct arena *a, struct run_loss **out, size_t *n, struct err *e)
{
    struct event_index *x;
    const int rc = run_events(r, &x, e);
    if (rc)
        return rc;
    size_t most = x->n_losses;
    for (size_t i = 0; i < x->n_files; i++)
        most += x->files[i].store->n_losses + 1;
    for (size_t i = 0; i < r->info.n_nodes; i++)
        most += (r->stores[i] ? r->stores[i]->n_losses : 0) + 3;
    *out = arena_array(a, struct run_loss, most);
    *n = 0;
    for (size_t i = 0; i < r->info.n_nodes; i++)
        node_losses(r, i, *out, n);
    event_losses(r, x, *out, n);
    return 0;
}

COMPARE_BY(by_moment, struct run_mark, at.ns)

int run_marks(struct run *r, struct arena *a, struct run_mark **out, size_t *n, struct err *e)
{
    (void)e;
    const size_t most = SUM_OF(i, r->info.n_nodes, r->stores[i] ? r->stores[i]->n_marks : 0);
    *out = arena_array(a, struct run_mark, most);
    *n = 0;
    for (size_t i = 0; i < r->info.n_nodes; i++) {
        const struct store *s = r->stores[i];
        for (uint32_t k = 0; s && k < s->n_marks; k++)
            (*out)[(*n)++] = (struct run_mark){r->info.nodes[i].id, s->marks[k],
                                               store_wall(s, s->marks[k].at.ns / NS_PER_US)};
    }
    SORT(*out, *n, by_moment);
    return 0;
}

void run_get_size(struct run *r, struct run_size *out)
{
    *out = (struct run_size){0};
    for (size_t i = 0; i < r->info.n_nodes; i++) {
        const struct store *s = r->stores[i];
        if (!s)
            continue;
        out->samples += s->samples;
        out->rows += s->rows;
        out->file_bytes += s->file_bytes;
    }
    struct event_index *x;
    struct err e;
    if (run_events(r, &x, &e))
        return;
    for (size_t i = 0; i < x->n_files; i++)
        out->file_bytes += x->files[i].store->file_bytes;
}

size_t run_memory(const struct run *r)
{
    size_t bytes = sizeof *r + arena_bytes(&r->arena) + event_flow_memory(r->flow);
    for (size_t i = 0; i < r->info.n_nodes; i++)
        if (r->stores[i])
            bytes += store_memory(r->stores[i]);
    for (size_t i = 0; r->events && i < r->events->n_files; i++)
        bytes += store_memory(r->events->files[i].store);
    return bytes;
}
