/* SPDX-License-Identifier: Apache-2.0 */
/* steps.c - the steps of every rank of a run.
 *
 *     events of hooks --hook_pass--> points of each thread, spans of devices, named events
 *     points of the thread that has most --steps_derive.c--> steps --steps_parts.c--> their parts
 *
 * The events of a process are decoded once, and only what steps are made of stays in memory. */
#include "query/steps.h"

#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread.h"
#include "base/vec.h"
#include "query/event_flow.h"
#include "query/run_internal.h"
#include "query/steps_internal.h"
#include "record/event.h"

/* ---- events that have one of a few names ---- */

static bool named_events_in_order(const void *a, const void *b)
{
    const struct named_event *x = a, *y = b;
    return x->at.ns <= y->at.ns;
}

static void named_list_free(struct named_list *l)
{
    free(l->v);
    sorted_runs_free(&l->runs);
    *l = (struct named_list){0};
}

enum { C_AT, C_DUR, C_VALUE, C_PROCESS, C_ID, COLUMNS };

static void named_events_pack(const struct named_event *v, size_t n, struct arena *a,
                              struct node_events *out)
{
    struct packed_cells cells;
    out->n = n;
    packed_open(&out->packed, COLUMNS, n, a);
    for (size_t from = 0; from < n; from += PACKED_ROWS) {
        for (size_t i = 0; i < MIN_OF(n - from, (size_t)PACKED_ROWS); i++) {
            cells.v[C_AT][i] = v[from + i].at.ns;
            cells.v[C_DUR][i] = v[from + i].dur_ns;
            cells.v[C_VALUE][i] = v[from + i].value;
            cells.v[C_PROCESS][i] = v[from + i].process;
            cells.v[C_ID][i] = v[from + i].id;
        }
        packed_put(&out->packed, from, &cells, a);
    }
}

size_t node_events_read(const struct node_events *x, size_t i, struct named_event *out)
{
    struct packed_cells cells;
    const size_t n = packed_get(&x->packed, i, &cells);
    for (size_t k = 0; k < n; k++)
        out[k] = (struct named_event){
            .at = {cells.v[C_AT][k]},
            .dur_ns = cells.v[C_DUR][k],
            .value = cells.v[C_VALUE][k],
            .process = (uint32_t)cells.v[C_PROCESS][k],
            .id = (enum event_id)cells.v[C_ID][k],
        };
    return n;
}

int64_t steps_planned(const struct run_steps *s)
{
    struct named_event v[PACKED_ROWS];
    int64_t planned = -1, at_ns = INT64_MIN;
    for (size_t k = 0; k < s->n_named; k++)
        for (size_t i = 0; i < s->named[k].n; i += PACKED_ROWS) {
            const size_t some = node_events_read(&s->named[k], i, v);
            for (size_t x = 0; x < some; x++)
                if (v[x].id == EV_STEPS_TOTAL && v[x].value > 0 && v[x].at.ns >= at_ns) {
                    planned = v[x].value;
                    at_ns = v[x].at.ns;
                }
        }
    return planned;
}

double steps_left_s(wall_ns loop_start, wall_ns now, uint64_t done, int64_t planned)
{
    const double left = (double)planned - (double)done;
    return done && left > 0 ? wall_span_s(loop_start, now) * left / (double)done : done ? 0 : NAN;
}

/* ---- one pass over the events of hooks ----
 *
 * Every block is decoded once, for the points that steps are made of and for the events that have
 * one of a few names. The blocks of a track are split into parts, so that one long track is read by
 * several threads of ours. */

struct hook_pass {
    const struct event_index *index;
    bool (*wanted)(enum event_id id); /* the names; NULL: none */
    struct hook_part *v;              /* in the order of tracks */
    size_t n, cap;
    struct point *room; /* for the points of all parts that were read last */
    size_t cap_room;
};

enum { PART_ROWS = 1 << 16 };

/* ---- what is cached of earlier reads ----
 *
 * Of every node a moment, `from`: all events that begin before it were taken. Only blocks that end
 * after it are decoded again, and of these only the events from that moment on are taken. The
 * moment lies well before the newest event (HORIZON_LAG_NS), because an event is recorded when it
 * ends. Should an event come later all the same, the number of rows that begin before `from` is
 * another one than it was; then all that is cached is dropped, and the run is read anew. So
 * what is taken never depends on how often the run was read.
 *
 * Of every process the state of each pass after the events before `from`, and what it has not
 * consumed: points of its main thread, spans of its devices. Steps are final when nothing that
 * follows can change them: the walker is past them by two steps, and their table part is full (the
 * first part decides about warm-up). What steps depend on besides events, detail windows and the
 * clock, is compared. Nodes of several sessions are not cached. */

#define HORIZON_LAG_NS (120 * NS_PER_S)

struct steps_node {
    char id[ENTITY_LEN];
    int64_t from, to; /* monotonic; `to`: the next `from` */
    uint64_t rows;    /* that begin before `from` */
    uint64_t skipped; /* in blocks that are not read */
    uint32_t clock_steps;
    bool good; /* it can be cached */
};

struct steps_memory {
    struct steps_node *nodes;
    size_t n_nodes, cap_nodes;
    struct steps_cached **cached;
    size_t n_cached, cap_cached;
    uint64_t age;
};

static struct steps_node *steps_memory_node(const struct steps_memory *m, const char *id)
{
    return m ? FIND_ITEM(x, m->nodes, m->n_nodes, strcmp(x->id, id) == 0 && x->good) : NULL;
}

static bool hook_block_ends_before(const struct event_track *t, uint32_t block, int64_t at)
{
    return at != INT64_MIN && t->store->events[t->blocks[block]].t_last_us < at / NS_PER_US;
}

/* ---- the parts ---- */

static bool may_step(const struct event_track *t)
{
    return t->track.process->worker < 0 && t->track.track.kind == TRACK_THREAD;
}

/* Whether phases are timed there. */
static bool has_gpu_times(const struct event_track *t)
{
    return t->track.process->worker < 0 && t->track.track.kind == TRACK_DEVICE;
}

static struct hook_part *hook_pass_add_part(struct hook_pass *p, const struct event_track *t,
                                            uint32_t first)
{
    struct hook_part *part = VEC_ADD(p->v, p->n, p->cap);
    *part = (struct hook_part){
        .track = t, .first = first, .may_step = may_step(t), .gpu_times = has_gpu_times(t)};
    return part;
}

static void add_track(struct hook_pass *p, const struct event_track *t, struct steps_node *node)
{
    struct hook_part *part = NULL;
    uint32_t i = 0;
    for (; node && i + 1 < t->n_blocks && hook_block_ends_before(t, i, node->from); i++)
        node->skipped += t->store->events[t->blocks[i]].rows;
    for (; i < t->n_blocks; i++) {
        if (!part || part->rows >= PART_ROWS) {
            part = hook_pass_add_part(p, t, i);
            part->from = node ? node->from : INT64_MIN;
            part->to = node ? node->to : INT64_MIN;
        }
        part->n++;
        part->rows += t->store->events[t->blocks[i]].rows;
    }
}

/* Lists the parts; nothing is read. */
static void hook_pass_open(struct hook_pass *p, const struct event_index *x,
                           const struct steps_want *want)
{
    *p = (struct hook_pass){.index = x, .wanted = want->wanted};
    for (size_t i = 0; i < x->n_tracks; i++) {
        const struct event_track *t = &x->tracks[i];
        if (!t->track.detail && (want->wanted || may_step(t) || has_gpu_times(t)))
            add_track(p, t, steps_memory_node(want->memory, t->track.process->node));
    }
}

/* Room for a point of every event. Most of it is used as a rule; what is not costs nothing. */
static void give_room(struct hook_pass *p, size_t begin, size_t end)
{
    size_t rows = 0;
    for (size_t i = begin; i < end; i++)
        rows += p->v[i].may_step ? p->v[i].rows : 0;
    if (rows > p->cap_room) {
        free(p->room);
        p->room = xmalloc(rows * sizeof *p->room);
        p->cap_room = rows;
    }
    rows = 0;
    for (size_t i = begin; i < end; i++)
        if (p->v[i].may_step) {
            p->v[i].points = (struct points){.v = p->room + rows, .cap = p->v[i].rows};
            rows += p->v[i].rows;
        }
    assert(rows <= p->cap_room);
}

/* Pages of their files, from `begin` to before `end`, are not needed any more. */
static void hook_pass_forget(const struct hook_pass *p, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++)
        if (i == begin || p->v[i].track->store != p->v[i - 1].track->store)
            store_forget(p->v[i].track->store);
    for (size_t i = begin; i < end; i++)
        gpu_spans_free(&p->v[i].gpu);
}

static void hook_pass_close(struct hook_pass *p)
{
    for (size_t i = 0; i < p->n; i++) {
        sorted_runs_free(&p->v[i].points.runs);
        gpu_spans_free(&p->v[i].gpu);
        named_list_free(&p->v[i].named);
    }
    free(p->room);
    free(p->v);
}

/* ---- reading ---- */

struct hook_reader {
    const struct hook_pass *pass;
    struct event_flow *flow;
    struct names_seen names;
    bool wanted[EV_N + 1]; /* by id; a name that is not in events.def is not */
};

static struct hook_reader *hook_reader_open(const struct hook_pass *p)
{
    struct hook_reader *rd = xcalloc(1, sizeof *rd);
    rd->pass = p;
    rd->flow = event_flow_open(&(struct event_want){.value = true});
    for (enum event_id id = 0; p->wanted && id < EV_N; id++)
        rd->wanted[id] = p->wanted(id);
    return rd;
}

static void hook_reader_close(struct hook_reader *rd)
{
    event_flow_close(rd->flow);
    free(rd);
}

static bool hook_names_wanted(void *ctx, const char *const *names, size_t n)
{
    const struct hook_reader *rd = ctx;
    return FIND_ANY(i, n, rd->wanted[event_find(names[i])]);
}

static void hook_pass_take_named(struct hook_part *to, const struct hook_pass *p,
                                 const struct event *v, enum event_id id)
{
    assert(to->track->track.process < p->index->processes + p->index->n_processes);
    const struct named_event x = {
        .at = event_wall(to->track->store, v->at),
        .dur_ns = v->kind == EVENT_SPAN ? v->dur_ns : 0,
        .value = v->kind == EVENT_REAL ? (int64_t)event_real(v) : v->value,
        .process = (uint32_t)(to->track->track.process - p->index->processes),
        .id = id,
    };
    struct named_list *l = &to->named;
    if (l->n == 0 || !named_events_in_order(&l->v[l->n - 1], &x))
        sorted_runs_add(&l->runs, l->n);
    *VEC_ADD(l->v, l->n, l->cap) = x;
}

static void take_gpu(struct gpu_spans *to, const struct event *v, enum event_id id)
{
    if (id == EV_N || v->kind != EVENT_SPAN || v->end != END_KNOWN || v->dur_ns < 0)
        return;
    *VEC_ADD(to->v, to->n, to->cap) = (struct gpu_span){v->at.ns, v->dur_ns, id};
}

static void hook_pass_take(struct hook_reader *rd, struct hook_part *to, const struct event *v)
{
    const struct point_name name = names_seen_find(&rd->names, v->name);
    if (to->may_step)
        points_add(&to->points, v, name);
    if (to->gpu_times)
        take_gpu(&to->gpu, v, name.id);
    if (rd->wanted[name.id] && v->kind != EVENT_STEP)
        hook_pass_take_named(to, rd->pass, v, name.id);
}

/* Blocks of the part; `all`: whatever names they have. */
static void hook_read_blocks(struct hook_reader *rd, struct hook_part *to, uint32_t first,
                             uint32_t n, bool all)
{
    event_flow_blocks(rd->flow, to->track, first, n, all ? NULL : hook_names_wanted, rd);
    for (struct flow_rows rows; event_flow_rows(rd->flow, &rows);) {
        names_seen_forget(&rd->names); /* names are found by their address, which is the block's */
        for (uint32_t i = rows.from; i < rows.to; i++) {
            struct event v;
            event_columns_row(rows.columns, i, &v);
            to->before_from += v.at.ns < to->from;
            to->before_to += all && v.at.ns < to->to;
            if (v.at.ns >= to->from)
                hook_pass_take(rd, to, &v);
        }
    }
}

/* Where rows are counted, blocks are decoded whatever names they have, unless all their rows begin
 * before `to` and none of them was read before. */
static void hook_read_part(struct hook_reader *rd, struct hook_part *to)
{
    const bool all = to->may_step || to->gpu_times || to->from != INT64_MIN;
    uint32_t n = all ? 0 : to->n;
    if (to->to != INT64_MIN && !all)
        for (n = 0; n < to->n && hook_block_ends_before(to->track, to->first + n, to->to); n++)
            to->before_to += to->track->store->events[to->track->blocks[to->first + n]].rows;
    if (n)
        hook_read_blocks(rd, to, to->first, n, false);
    if (n < to->n)
        hook_read_blocks(rd, to, to->first + n, to->n - n, true);
}

struct hook_reading {
    const struct hook_pass *pass;
    struct hook_part *v;
};

static void hook_pass_work(struct parallel *c, struct arena *results)
{
    const struct hook_reading *x = c->ctx;
    struct hook_reader *rd = hook_reader_open(x->pass);
    (void)results;
    for (size_t i; parallel_next(c, &i);)
        hook_read_part(rd, &x->v[i]);
    hook_reader_close(rd);
}

/* Reads the parts from `begin` to before `end`; points of those before are dropped. */
static void hook_pass_read(struct hook_pass *p, size_t begin, size_t end)
{
    struct arena none = {0};
    give_room(p, begin, end);
    struct hook_reading x = {p, p->v + begin};
    struct parallel job = {.n = end - begin, .each = 1, .work = hook_pass_work, .ctx = &x};
    parallel_run(&job, &none);
}

/* ---- ranks ---- */

struct steps_taken {
    unsigned session;
    int64_t rank;
};

static int by_taken(const void *a, const void *b)
{
    const struct steps_taken *x = a, *y = b;
    return COMPARE(x->session, y->session) ?: COMPARE(x->rank, y->rank);
}

static int by_session(const void *a, const void *b)
{
    const struct rank_steps *x = *(struct rank_steps *const *)a,
                            *y = *(struct rank_steps *const *)b;
    /* Processes are sorted by node already; of one node without ranks, by pid. */
    return COMPARE(x->process->session, y->process->session) ?: COMPARE(x->process, y->process);
}

/* A process without a rank gets the first number that no other has in the same session. */
static void steps_number_ranks(struct rank_steps *v, size_t n)
{
    struct rank_steps **list = xcalloc(n, sizeof *list);
    struct steps_taken *taken = xcalloc(n, sizeof *taken);
    size_t unknown = 0, known = 0;
    for (size_t i = 0; i < n; i++)
        if (v[i].rank < 0)
            list[unknown++] = &v[i];
        else
            taken[known++] = (struct steps_taken){v[i].process->session, v[i].rank};
    SORT(taken, known, by_taken);
    SORT(list, unknown, by_session);
    struct steps_taken next = {0};
    for (size_t i = 0; i < unknown; i++, next.rank++) {
        if (i == 0 || next.session != list[i]->process->session)
            next = (struct steps_taken){list[i]->process->session, 0};
        while (known && bsearch(&next, taken, known, sizeof *taken, by_taken))
            next.rank++;
        list[i]->rank = next.rank;
    }
    free(taken);
    free(list);
}

static int steps_by_rank(const void *a, const void *b)
{
    const struct rank_steps *x = a, *y = b;
    return COMPARE(x->rank, y->rank)
               ?: COMPARE(x->process->first.ns, y->process->first.ns)
               ?: COMPARE(x->process, y->process);
}

/* ---- processes, by as many threads as pay ---- */

struct steps_batch {
    struct process_parts *v;
    const struct event_index *index;
    struct rank_steps *out; /* by process; n 0: it has no steps */
    bool packed;
    struct steps_memory *memory; /* NULL: nothing is cached */
    atomic_bool stale;           /* what is cached does not fit */
};

/* So many rows are read before steps are made of them: enough for several threads, and a bound for
 * the memory that points take. */
enum { ROWS_AT_ONCE = 1 << 21 };

/* NULL: nothing is cached of it. */
static struct steps_cached *steps_cached_of(const struct steps_memory *m,
                                            const struct run_process *p)
{
    for (size_t i = 0; m && i < m->n_cached; i++)
        if (m->cached[i]->pid == p->pid && strcmp(m->cached[i]->node, p->node) == 0)
            return m->cached[i];
    return NULL;
}

static void steps_work(struct parallel *c, struct arena *results)
{
    struct steps_batch *b = c->ctx;
    for (size_t i; parallel_next(c, &i);) {
        const struct run_process *process = b->v[i].v[0].track->track.process;
        struct steps_cached once = {.limit = INT64_MIN};
        struct steps_cached *k = steps_cached_of(b->memory, process);
        const struct steps_make_ask ask = {b->packed, k != NULL};
        if (!steps_of_process(&b->v[i], b->index, k ? k : &once, &ask, results,
                              &b->out[process - b->index->processes]))
            atomic_store(&b->stale, true);
        steps_cached_free(&once);
    }
}

static size_t end_of_process(const struct hook_pass *p, size_t i)
{
    const struct run_process *x = p->v[i].track->track.process;
    while (i < p->n && p->v[i].track->track.process == x)
        i++;
    return i;
}

/* Steps of as many processes as are read at once, from part `begin`; returns where to continue. */
static size_t read_some(struct hook_pass *p, size_t begin, struct steps_batch *b, struct arena *a)
{
    struct parallel job = {.each = 1, .work = steps_work, .ctx = b};
    uint64_t rows = 0;
    size_t end = begin;
    while (end < p->n && rows < ROWS_AT_ONCE) {
        const size_t i = end;
        end = end_of_process(p, i);
        b->v[job.n++] = (struct process_parts){&p->v[i], end - i};
        for (size_t k = i; k < end; k++)
            rows += p->v[k].rows;
    }
    hook_pass_read(p, begin, end);
    parallel_run(&job, a);
    return end;
}

static bool has_gpus(const struct run_info *info, const char *node)
{
    return FIND_ANY(i, info->n_nodes,
                    info->nodes[i].n_gpus && strcmp(info->nodes[i].id, node) == 0);
}

/* Those that have steps come to the front. */
static size_t close_up(const struct run_info *info, const struct hook_pass *p,
                       struct run_process *processes, struct rank_steps *v)
{
    size_t n = 0;
    for (size_t i = 0; i < p->index->n_processes; i++) {
        if (v[i].n == 0)
            continue;
        v[n] = v[i];
        v[n].process = &processes[i];
        v[n].node = processes[i].node;
        v[n].near_gpu = has_gpus(info, v[n].node);
        n++;
    }
    return n;
}

/* ---- events by name, by as many threads as pay ---- */

struct naming {
    struct process_parts *v; /* of one node each */
    struct node_events *out;
};

/* The events of all parts of a node, in order of time. */
static void join_node(const struct process_parts *p, struct arena *a, struct node_events *out)
{
    struct sorted_runs runs = {0};
    struct named_event *v = NULL;
    size_t n = 0, cap = 0;
    for (size_t i = 0; i < p->n; i++) {
        struct named_list *l = &p->v[i].named;
        VEC_ROOM(v, cap, n + l->n);
        if (l->n)
            memcpy(v + n, l->v, l->n * sizeof *v);
        sorted_runs_append(&runs, &l->runs, n);
        n += l->n;
        named_list_free(l);
    }
    sorted_runs_merge(&runs, v, n, sizeof *v, named_events_in_order);
    sorted_runs_free(&runs);
    assert(p->n > 0);
    out->node = p->v[0].track->track.process->node;
    named_events_pack(v, n, a, out);
    free(v);
}

static void name_some(struct parallel *c, struct arena *results)
{
    const struct naming *x = c->ctx;
    for (size_t i; parallel_next(c, &i);)
        join_node(&x->v[i], results, &x->out[i]);
}

static size_t end_of_node(const struct hook_pass *p, size_t i)
{
    const char *node = p->v[i].track->track.process->node;
    while (i < p->n && strcmp(p->v[i].track->track.process->node, node) == 0)
        i++;
    return i;
}

/* Events of the nodes from part `begin` on of which all parts before `end` are; returns where to
 * continue. Processes, and so the parts, are sorted by node. */
static size_t steps_take_named(struct hook_pass *p, size_t begin, size_t end, struct arena *a,
                               struct run_steps *out)
{
    struct naming x = {xcalloc(end - begin + 1, sizeof *x.v), &out->named[out->n_named]};
    struct parallel job = {.each = 1, .work = name_some, .ctx = &x};
    for (size_t next; begin < end && (next = end_of_node(p, begin)) <= end; begin = next)
        x.v[job.n++] = (struct process_parts){&p->v[begin], next - begin};
    parallel_run(&job, a);
    out->n_named += job.n;
    free(x.v);
    return begin;
}

static size_t steps_count_nodes(const struct hook_pass *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n; i = end_of_node(p, i))
        n++;
    return n;
}

/* False: what is cached does not fit. */
static bool steps_read_all(struct hook_pass *p, const struct steps_want *want, struct arena *a,
                           struct run_steps *out)
{
    struct process_parts *v = xcalloc(p->index->n_processes + 1, sizeof *v);
    struct steps_batch b = {v, p->index, out->ranks, want->packed, want->memory, false};
    size_t named = 0;
    if (want->wanted)
        out->named = arena_array(a, struct node_events, steps_count_nodes(p));
    for (size_t i = 0, end; i < p->n; i = end) {
        end = read_some(p, i, &b, a);
        if (want->wanted)
            named = steps_take_named(p, named, end, a, out);
        hook_pass_forget(p, i, end);
    }
    free(v);
    return !atomic_load(&b.stale);
}

/* ---- memory ---- */

struct steps_memory *steps_memory_open(void)
{
    return xcalloc(1, sizeof(struct steps_memory));
}

void steps_memory_reset(struct steps_memory *m)
{
    for (size_t i = 0; i < m->n_cached; i++) {
        steps_cached_free(m->cached[i]);
        free(m->cached[i]);
    }
    m->n_cached = m->n_nodes = 0;
    m->age++;
}

void steps_memory_close(struct steps_memory *m)
{
    if (!m)
        return;
    steps_memory_reset(m);
    free(m->cached);
    free(m->nodes);
    free(m);
}

uint64_t steps_memory_age(const struct steps_memory *m)
{
    return m->age;
}

/* The file of events of a node that has one session; NULL: it has several, or no events. */
static const struct store *steps_only_store(const struct run_info *info,
                                            const struct event_index *x, const char *id)
{
    const struct store *store = NULL;
    const size_t sessions = SUM_OF(i, info->n_nodes, strcmp(info->nodes[i].id, id) == 0);
    for (size_t i = 0; i < x->n_files; i++)
        if (!x->files[i].detail && strcmp(info->nodes[x->files[i].node].id, id) == 0)
            store = x->files[i].store;
    return sessions == 1 && store && store->n_events ? store : NULL;
}

static struct steps_node *steps_node_of(struct steps_memory *m, const char *id)
{
    for (size_t i = 0; i < m->n_nodes; i++)
        if (strcmp(m->nodes[i].id, id) == 0)
            return &m->nodes[i];
    struct steps_node *n = VEC_ADD(m->nodes, m->n_nodes, m->cap_nodes);
    *n = (struct steps_node){.from = INT64_MIN, .to = INT64_MIN};
    snprintf(n->id, sizeof n->id, "%s", id);
    return n;
}

/* The moment up to which each node is cached after this read. */
static void steps_memory_begin(struct steps_memory *m, const struct run_info *info,
                               const struct event_index *x)
{
    bool fits = true;
    for (size_t i = 0; i < info->n_nodes; i++) {
        struct steps_node *n = steps_node_of(m, info->nodes[i].id);
        const struct store *s = steps_only_store(info, x, n->id);
        fits &= !n->good || (s && s->n_steps == n->clock_steps);
    }
    if (!fits)
        steps_memory_reset(m);
    for (size_t i = 0; i < info->n_nodes; i++) {
        struct steps_node *n = steps_node_of(m, info->nodes[i].id);
        const struct store *s = steps_only_store(info, x, n->id);
        n->good = s != NULL;
        n->skipped = 0;
        if (s) {
            n->clock_steps = s->n_steps;
            n->to = MAX_OF(n->from, s->t_last_us * NS_PER_US - HORIZON_LAG_NS);
        }
    }
    for (size_t i = 0; i < x->n_processes; i++) {
        const struct run_process *p = &x->processes[i];
        if (!steps_memory_node(m, p->node) || steps_cached_of(m, p))
            continue;
        struct steps_cached *k = *VEC_ADD(m->cached, m->n_cached, m->cap_cached) =
            xcalloc(1, sizeof *k);
        k->pid = p->pid;
        k->limit = INT64_MIN;
        snprintf(k->node, sizeof k->node, "%s", p->node);
    }
}

/* False: an event has come that begins before what was taken. */
static bool steps_memory_end(struct steps_memory *m, const struct hook_pass *p)
{
    bool good = true;
    for (struct steps_node *n = m->nodes; n < m->nodes + m->n_nodes; n++) {
        uint64_t before_from = n->skipped, before_to = n->skipped;
        for (size_t i = 0; n->good && i < p->n; i++)
            if (strcmp(p->v[i].track->track.process->node, n->id) == 0) {
                before_from += p->v[i].before_from;
                before_to += p->v[i].before_to;
            }
        good &= !n->good || n->from == INT64_MIN || before_from == n->rows;
        n->rows = before_to;
        n->from = n->good ? n->to : INT64_MIN;
    }
    return good;
}

static void steps_set_final(const struct run_steps *out, const struct steps_memory *m,
                            const struct run_info *info, const struct event_index *x)
{
    for (size_t i = 0; m && i < out->n_named; i++) {
        const struct steps_node *n = steps_memory_node(m, out->named[i].node);
        if (n)
            out->named[i].final = event_wall(steps_only_store(info, x, n->id), (mono_ns){n->from});
    }
}

/* ---- all of it ---- */

static bool steps_read_once(struct run *r, struct event_index *x, const struct steps_want *want,
                            struct run_process *processes, struct arena *a, struct run_steps *out)
{
    struct hook_pass pass;
    *out = (struct run_steps){.ranks = arena_array(a, struct rank_steps, x->n_processes + 1)};
    if (want->memory)
        steps_memory_begin(want->memory, run_get_info(r), x);
    hook_pass_open(&pass, x, want);
    bool good = steps_read_all(&pass, want, a, out);
    if (want->memory)
        good &= steps_memory_end(want->memory, &pass);
    steps_set_final(out, want->memory, run_get_info(r), x);
    out->n_ranks = close_up(run_get_info(r), &pass, processes, out->ranks);
    hook_pass_close(&pass);
    return good;
}

int steps_read_named(struct run *r, const struct steps_want *want, struct arena *a,
                     struct run_steps *out, struct err *e)
{
    struct event_index *x;
    struct run_process *processes;
    size_t most;
    assert(!want->memory || want->packed);
    *out = (struct run_steps){0};
    TRY(run_events(r, &x, e));
    TRY(events_processes(r, a, &processes, &most, e));
    if (!steps_read_once(r, x, want, processes, a, out)) {
        steps_memory_reset(want->memory);
        const bool good = steps_read_once(r, x, want, processes, a, out);
        assert(good);
        (void)good;
    }
    steps_number_ranks(out->ranks, out->n_ranks);
    SORT(out->ranks, out->n_ranks, steps_by_rank);
    return 0;
}

int steps_read(struct run *r, struct arena *a, struct rank_steps **out, size_t *n, struct err *e)
{
    struct run_steps steps;
    const int rc = steps_read_named(r, &(struct steps_want){0}, a, &steps, e);
    *out = steps.ranks;
    *n = steps.n_ranks;
    return rc;
}
