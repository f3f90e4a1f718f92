/* SPDX-License-Identifier: Apache-2.0 */
/* steps.c - the steps of every rank of a run.
 *
 *     events of hooks --hook_pass--> points of each thread, spans of devices, named events
 *     points of the thread that has most --steps_derive.c--> steps --steps_parts.c--> their parts
 *
 * The events of a process are decoded once, and only what steps are made of stays in memory. */
#include "query/steps.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "query/event_flow.h"
#include "query/parallel.h"
#include "query/run_internal.h"
#include "query/steps_internal.h"
#include "record/event.h"

/* ---- events that have one of a few names ---- */

struct named_list {
    struct named_event *v;
    size_t n, cap;
    struct sorted_runs runs;
};

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

/* ---- one pass over the events of hooks ----
 *
 * Every block is decoded once, for the points that steps are made of and for the events that have
 * one of a few names. The blocks of a track are split into parts, so that one long track is read by
 * several threads of ours. */

/* A phase as the device had it. */
struct gpu_span {
    int64_t at, dur_ns; /* monotonic clock of the node */
    enum event_id id;
};

struct gpu_spans {
    struct gpu_span *v;
    size_t n, cap;
};

/* Some blocks of a track, one after the other. */
struct hook_part {
    const struct event_track *track;
    uint32_t first, n; /* of its blocks */
    uint64_t rows;
    bool may_step;        /* steps may be in it */
    bool gpu_times;       /* phases of the process, as a device had them */
    struct points points; /* in memory of the pass, after those of the part before */
    struct gpu_spans gpu; /* of a device's line */
    struct named_list named;
};

struct hook_pass {
    const struct event_index *index;
    bool (*wanted)(enum event_id id); /* the names; NULL: none */
    struct hook_part *v;              /* in the order of tracks */
    size_t n, cap;
    struct point *room; /* for the points of all parts that were read last */
    size_t cap_room;
};

enum { PART_ROWS = 1 << 16 };

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

static void add_track(struct hook_pass *p, const struct event_track *t)
{
    struct hook_part *part = NULL;
    for (uint32_t i = 0; i < t->n_blocks; i++) {
        if (!part || part->rows >= PART_ROWS)
            part = hook_pass_add_part(p, t, i);
        part->n++;
        part->rows += t->store->events[t->blocks[i]].rows;
    }
}

/* Lists the parts; nothing is read. */
static void hook_pass_open(struct hook_pass *p, const struct event_index *x,
                           bool (*wanted)(enum event_id id))
{
    *p = (struct hook_pass){.index = x, .wanted = wanted};
    for (size_t i = 0; i < x->n_tracks; i++)
        if (!x->tracks[i].track.detail &&
            (wanted || may_step(&x->tracks[i]) || has_gpu_times(&x->tracks[i])))
            add_track(p, &x->tracks[i]);
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
}

static void gpu_spans_free(struct gpu_spans *g)
{
    free(g->v);
    *g = (struct gpu_spans){0};
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
    for (size_t i = 0; i < n; i++)
        if (rd->wanted[event_find(names[i])])
            return true;
    return false;
}

static void hook_pass_take_named(struct hook_part *to, const struct hook_pass *p,
                                 const struct event *v, enum event_id id)
{
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

static void hook_read_part(struct hook_reader *rd, struct hook_part *to)
{
    const bool all = to->may_step || to->gpu_times;
    event_flow_blocks(rd->flow, to->track, to->first, to->n, all ? NULL : hook_names_wanted, rd);
    for (struct flow_rows rows; event_flow_rows(rd->flow, &rows);) {
        names_seen_forget(&rd->names); /* names are found by their address, which is the block's */
        for (uint32_t i = rows.from; i < rows.to; i++) {
            struct event v;
            event_columns_row(rows.columns, i, &v);
            hook_pass_take(rd, to, &v);
        }
    }
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

/* Reads the parts from `begin` to before `end`; points of those before are gone. */
static void hook_pass_read(struct hook_pass *p, size_t begin, size_t end)
{
    struct arena none = {0};
    give_room(p, begin, end);
    struct hook_reading x = {p, p->v + begin};
    struct parallel job = {.n = end - begin, .each = 1, .work = hook_pass_work, .ctx = &x};
    parallel_run(&job, &none);
}

/* All points of n parts of one track, in order of time; they lie in the pass. Once for each. */
static struct points *hook_pass_points(struct hook_part *v, size_t n)
{
    struct points *all = &v[0].points;
    for (size_t i = 1; i < n; i++) {
        const struct points *more = &v[i].points;
        memmove(all->v + all->n, more->v, more->n * sizeof *more->v);
        sorted_runs_append(&all->runs, &more->runs, all->n);
        all->n += more->n;
        all->marked += more->marked;
    }
    points_sort(all);
    return all;
}

/* ---- the thread that trains ---- */

/* The parts of one process, or of some of its tracks, or of one node. */
struct process_parts {
    struct hook_part *v;
    size_t n;
};

static size_t end_of_track(const struct process_parts *p, size_t i)
{
    const struct event_track *t = p->v[i].track;
    while (i < p->n && p->v[i].track == t)
        i++;
    return i;
}

/* The thread that has most to do with steps; n 0: none has. */
static struct process_parts find_main(const struct process_parts *p)
{
    struct process_parts best = {0};
    size_t most = 0;
    for (size_t i = 0, end; i < p->n; i = end) {
        size_t marked = 0;
        end = end_of_track(p, i);
        for (size_t k = i; k < end; k++)
            marked += p->v[k].points.marked;
        if (marked > most) {
            best = (struct process_parts){&p->v[i], end - i};
            most = marked;
        }
    }
    return best;
}

/* ---- GPU times ---- */

/* Times that do not count: before the warm-up is over, and while detail windows slow the program.
 * In order. */
struct quiet_times {
    int64_t steady_from;
    struct {
        int64_t from, to;
    } v[64];
    size_t n;
};

/* When the operators of a process were recorded in detail, as the files of its windows show; wall
 * ns, in order. Newer runs have spans for it, too. */
struct windows_seen {
    const struct event_track *v[64];
    size_t n;
    int left; /* steps after one of them that are still to be marked */
};

static struct windows_seen windows_of(const struct event_index *x, const struct run_process *p)
{
    struct windows_seen w = {0};
    for (size_t i = 0; i < x->n_tracks && w.n < COUNT_OF(w.v); i++)
        if (x->tracks[i].track.detail && x->tracks[i].track.process == p)
            w.v[w.n++] = &x->tracks[i];
    return w;
}

static bool steps_in_window(const struct windows_seen *w, const struct step *s)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->v[i]->track.first.ns < step_end(s) && w->v[i]->track.last.ns > s->start.ns)
            return true;
    return false;
}

static void mark_disturbed(struct windows_seen *w, struct step *v, size_t n)
{
    for (size_t i = 0; w->n && i < n; i++) {
        if (steps_in_window(w, &v[i]))
            w->left = DISTURBED_AFTER + 1;
        v[i].disturbed |= w->left > 0;
        w->left -= w->left > 0;
    }
}

static void quiet_times_see(struct quiet_times *q, const struct step *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const int64_t from = v[i].start.ns, to = step_end(&v[i]) + MAX_OF(v[i].between_ns, 0);
        if (v[i].mode == MODE_TRAIN && step_is_steady(&v[i]) && q->steady_from == INT64_MAX)
            q->steady_from = from;
        if (!v[i].disturbed)
            continue;
        if (q->n && q->v[q->n - 1].to >= from)
            q->v[q->n - 1].to = to;
        else if (q->n < COUNT_OF(q->v))
            q->v[q->n].from = from, q->v[q->n++].to = to;
    }
}

static bool is_quiet(const struct quiet_times *q, int64_t t)
{
    bool quiet = t < q->steady_from;
    for (size_t i = 0; i < q->n && !quiet; i++)
        quiet = t >= q->v[i].from && t < q->v[i].to;
    return quiet;
}

static int steps_by_begin(const void *a, const void *b)
{
    const struct gpu_span *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return (x->dur_ns < y->dur_ns) - (x->dur_ns > y->dur_ns);
}

/* The time of a span that lies in another is taken from the outer one. */
static void add_gpu_spans(const struct hook_part *part, const struct quiet_times *q,
                          struct gpu_phases *out)
{
    const struct gpu_spans *g = &part->gpu;
    struct gpu_span outer = {.at = INT64_MIN};
    if (g->n)
        qsort(g->v, g->n, sizeof *g->v, steps_by_begin);
    for (size_t i = 0; i < g->n; i++) {
        const struct gpu_span *x = &g->v[i];
        if (is_quiet(q, event_wall(part->track->store, (mono_ns){x->at}).ns))
            continue;
        out->n[x->id]++;
        out->sum_ns[x->id] += x->dur_ns;
        if (outer.at != INT64_MIN && x->at + x->dur_ns <= outer.at + outer.dur_ns)
            out->sum_ns[outer.id] -= x->dur_ns;
        else
            outer = *x;
    }
}

static bool is_timed_phase(uint8_t what)
{
    switch (what) {
    case EV_FORWARD:
    case EV_FORWARD_EVAL:
    case EV_BACKWARD:
    case EV_OPTIMIZER:
    case EV_ZERO_GRAD:
    case EV_GRAPH:
        return true;
    default:
        return false;
    }
}

static struct gpu_phases gpu_phases_of(const struct process_parts *p,
                                       const struct process_parts *main, const struct points *host,
                                       const struct quiet_times *q)
{
    const struct store *store = main->v[0].track->store;
    struct gpu_phases out = {0};
    bool timed = false;
    for (size_t i = 0; i < p->n; i++) {
        add_gpu_spans(&p->v[i], q, &out);
        timed |= p->v[i].gpu.n > 0;
    }
    for (size_t i = 0; timed && i < host->n; i++) {
        const struct point *x = &host->v[i];
        if (is_timed_phase(x->what) && !is_quiet(q, event_wall(store, (mono_ns){x->at}).ns))
            out.host_n[x->what]++;
    }
    return out;
}

/* ---- the steps of a process ---- */

struct steps_batch {
    struct process_parts *v;
    const struct event_index *index;
    struct rank_steps *out; /* by process; n 0: it has no steps */
    bool packed;
};

static void to_wall(const struct process_parts *main, struct step *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        v[i].start = event_wall(main->v[0].track->store, (mono_ns){v[i].start.ns});
}

/* Packed steps are made some at a time, so that never all of them are in memory. */
static void steps_of_process(const struct process_parts *p, const struct steps_batch *b,
                             struct arena *a, struct rank_steps *out)
{
    const struct process_parts m = find_main(p);
    const struct run_process *process = p->v[0].track->track.process;
    struct quiet_times quiet = {.steady_from = INT64_MAX};
    struct steps_fill fill;
    *out = (struct rank_steps){.rank = process->rank};
    if (m.n == 0)
        return;
    struct windows_seen windows = windows_of(b->index, process);
    struct points *points = hook_pass_points(m.v, m.n);
    struct steps_walker *w = steps_walker_open();
    const bool good = steps_walker_end(w, points, points->n, NULL);
    assert(good);
    (void)good;
    const struct step_list l = *steps_walker_list(w);
    steps_fill_open(&fill, points);
    const size_t most = b->packed ? PACKED_ROWS : MAX_OF(l.n, (size_t)1);
    struct step *some =
        b->packed ? xmalloc(most * sizeof *some) : arena_array(a, struct step, most);
    if (b->packed)
        steps_pack_open(&out->packed, l.n, a);
    for (size_t i = 0; i < l.n; i += most) {
        const size_t n = MIN_OF(l.n - i, most);
        steps_fill_next(&fill, &l, i, some, n);
        if (i == 0)
            steps_mark_warmup(some, n);
        to_wall(&m, some, n);
        mark_disturbed(&windows, some, n);
        quiet_times_see(&quiet, some, n);
        if (b->packed)
            steps_pack(&out->packed, i, some, a);
    }
    out->n = l.n;
    out->gpu = gpu_phases_of(p, &m, points, &quiet);
    if (b->packed)
        free(some);
    else
        out->steps = some;
    steps_walker_close(w);
}

/* ---- ranks ---- */

struct steps_taken {
    unsigned session;
    int64_t rank;
};

static int by_taken(const void *a, const void *b)
{
    const struct steps_taken *x = a, *y = b;
    if (x->session != y->session)
        return x->session < y->session ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static int by_session(const void *a, const void *b)
{
    const struct rank_steps *x = *(struct rank_steps *const *)a,
                            *y = *(struct rank_steps *const *)b;
    if (x->process->session != y->process->session)
        return x->process->session < y->process->session ? -1 : 1;
    /* Processes are sorted by node already; of one node without ranks, by pid. */
    return (x->process > y->process) - (x->process < y->process);
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
    if (known)
        qsort(taken, known, sizeof *taken, by_taken);
    if (unknown)
        qsort(list, unknown, sizeof *list, by_session);
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
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    const int64_t s = x->process->first.ns, t = y->process->first.ns;
    return s != t ? (s > t) - (s < t) : (x->process > y->process) - (x->process < y->process);
}

/* ---- processes, by as many threads as pay ---- */

/* So many rows are read before steps are made of them: enough for several threads, and a bound for
 * the memory that points take. */
enum { ROWS_AT_ONCE = 1 << 21 };

static void steps_work(struct parallel *c, struct arena *results)
{
    const struct steps_batch *b = c->ctx;
    for (size_t i; parallel_next(c, &i);)
        steps_of_process(&b->v[i], b, results,
                         &b->out[b->v[i].v[0].track->track.process - b->index->processes]);
}

static size_t end_of_process(const struct hook_pass *p, size_t i)
{
    const struct run_process *x = p->v[i].track->track.process;
    while (i < p->n && p->v[i].track->track.process == x)
        i++;
    return i;
}

/* Steps of as many processes as are read at once, from part `begin`; returns where to go on. */
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
    for (size_t i = 0; i < info->n_nodes; i++)
        if (info->nodes[i].n_gpus && strcmp(info->nodes[i].id, node) == 0)
            return true;
    return false;
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
 * go on. Processes, and so the parts, are sorted by node. */
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

/* ---- all of it ---- */

static size_t steps_count_nodes(const struct hook_pass *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n; i = end_of_node(p, i))
        n++;
    return n;
}

static void steps_read_all(struct hook_pass *p, const struct steps_want *want, struct arena *a,
                           struct run_steps *out)
{
    struct process_parts *v = xcalloc(p->index->n_processes + 1, sizeof *v);
    struct steps_batch b = {v, p->index, out->ranks, want->packed};
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
}

int steps_read_named(struct run *r, const struct steps_want *want, struct arena *a,
                     struct run_steps *out, struct err *e)
{
    struct event_index *x;
    struct run_process *processes;
    struct hook_pass pass;
    size_t most;
    *out = (struct run_steps){0};
    int rc = run_events(r, &x, e);
    if (rc == 0)
        rc = events_processes(r, a, &processes, &most, e);
    if (rc)
        return rc;
    out->ranks = arena_array(a, struct rank_steps, most);
    hook_pass_open(&pass, x, want->wanted);
    steps_read_all(&pass, want, a, out);
    out->n_ranks = close_up(run_get_info(r), &pass, processes, out->ranks);
    hook_pass_close(&pass);
    steps_number_ranks(out->ranks, out->n_ranks);
    if (out->n_ranks)
        qsort(out->ranks, out->n_ranks, sizeof *out->ranks, steps_by_rank);
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
