/* SPDX-License-Identifier: Apache-2.0 */
/* steps_process.c - see steps_internal.h. From top to bottom: the thread that trains, GPU times,
 * the steps, their points. steps.c has the argument why what is cached is right. */

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "query/event_flow.h"
#include "query/steps_internal.h"
#include "record/event.h"

void gpu_spans_free(struct gpu_spans *g)
{
    free(g->v);
    *g = (struct gpu_spans){0};
}

/* All points of n parts of one track, in order of time; they lie in the pass. Once for each. */
static struct points *hook_pass_points(struct hook_part *v, size_t n)
{
    struct points *all = &v[0].points;
    for (size_t i = 1; i < n; i++) {
        const struct points *more = &v[i].points;
        assert(more->n == 0 || more->v >= all->v + all->n); /* give_room: one after the other */
        memmove(all->v + all->n, more->v, more->n * sizeof *more->v);
        sorted_runs_append(&all->runs, &more->runs, all->n);
        all->n += more->n;
        all->marked += more->marked;
    }
    points_sort(all);
    return all;
}

/* ---- the thread that trains ---- */

static size_t end_of_track(const struct process_parts *p, size_t i)
{
    const struct event_track *t = p->v[i].track;
    while (i < p->n && p->v[i].track == t)
        i++;
    return i;
}

static size_t *steps_cached_marked(struct steps_cached *k, uint64_t id)
{
    for (size_t i = 0; i < k->n_ids; i++)
        if (k->ids[i] == id)
            return &k->marked[i];
    VEC_ROOM(k->marked, k->cap_marked, k->n_ids + 1);
    *VEC_ADD(k->ids, k->n_ids, k->cap_ids) = id;
    k->marked[k->n_ids - 1] = 0;
    return &k->marked[k->n_ids - 1];
}

/* The thread that has most to do with steps; n 0: none has. */
static struct process_parts find_main(const struct process_parts *p, struct steps_cached *kept)
{
    struct process_parts best = {0};
    size_t most = 0;
    for (size_t i = 0, end; i < p->n; i = end) {
        size_t marked = 0;
        end = end_of_track(p, i);
        for (size_t k = i; k < end; k++)
            marked += p->v[k].points.marked;
        if (kept && p->v[i].may_step)
            marked += *steps_cached_marked(kept, p->v[i].track->track.track.id);
        if (marked > most) {
            best = (struct process_parts){&p->v[i], end - i};
            most = marked;
        }
    }
    return best;
}

/* ---- GPU times ---- */

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
    return FIND_ANY(i, w->n,
                    w->v[i]->track.first.ns < step_end(s) && w->v[i]->track.last.ns > s->start.ns);
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
    return COMPARE(x->at, y->at) ?: COMPARE(y->dur_ns, x->dur_ns);
}

/* The first n spans of a line, which are in order. The time of a span that lies in another is taken
 * from the outer one, which continues in *outer. */
static void gpu_line_count(const struct gpu_line *l, size_t from, size_t to,
                           const struct store *store, const struct quiet_times *q,
                           struct gpu_span *outer, struct gpu_phases *out)
{
    for (size_t i = from; i < to; i++) {
        const struct gpu_span *x = &l->spans.v[i];
        if (is_quiet(q, event_wall(store, (mono_ns){x->at}).ns))
            continue;
        out->n[x->id]++;
        out->sum_ns[x->id] += x->dur_ns;
        if (outer->at != INT64_MIN && x->at + x->dur_ns <= outer->at + outer->dur_ns)
            out->sum_ns[outer->id] -= x->dur_ns;
        else
            *outer = *x;
    }
}

static bool is_timed_phase(uint8_t what)
{
    return what == EV_FORWARD || what == EV_FORWARD_EVAL || what == EV_BACKWARD ||
           what == EV_OPTIMIZER || what == EV_ZERO_GRAD || what == EV_GRAPH;
}

static void host_count(const struct points *host, int64_t from, int64_t to,
                       const struct store *store, const struct quiet_times *q,
                       struct gpu_phases *out)
{
    for (size_t i = 0; i < host->n && host->v[i].at < to; i++) {
        const struct point *x = &host->v[i];
        if (x->at >= from && is_timed_phase(x->what) &&
            !is_quiet(q, event_wall(store, (mono_ns){x->at}).ns))
            out->host_n[x->what]++;
    }
}

/* The line of a track, with its new spans, in order; made when it is new. */
static struct gpu_line *gpu_line_read(struct steps_cached *k, const struct hook_part *v, size_t n)
{
    const uint64_t id = v->track->track.track.id;
    size_t at = 0;
    while (at < k->n_lines && k->lines[at].id != id)
        at++;
    if (at == k->n_lines)
        *VEC_ADD(k->lines, k->n_lines, k->cap_lines) =
            (struct gpu_line){.id = id, .outer = {.at = INT64_MIN}};
    struct gpu_line *l = &k->lines[at];
    for (size_t i = 0; i < n; i++)
        for (size_t s = 0; s < v[i].gpu.n; s++)
            *VEC_ADD(l->spans.v, l->spans.n, l->spans.cap) = v[i].gpu.v[s];
    SORT(l->spans.v, l->spans.n, steps_by_begin);
    return l;
}

/* Spans that are counted finally, and those that are read again, are dropped. */
static void gpu_line_keep(struct gpu_line *l, size_t counted, int64_t to)
{
    size_t n = 0;
    for (size_t i = counted; i < l->spans.n && l->spans.v[i].at < to; i++)
        l->spans.v[n++] = l->spans.v[i];
    l->spans.n = n;
}

/* What begins before `limit` is counted finally. */
static struct gpu_phases gpu_phases_of(const struct process_parts *p,
                                       const struct process_parts *main, const struct points *host,
                                       const struct quiet_times *q, struct steps_cached *k,
                                       int64_t limit)
{
    const struct store *store = main->v[0].track->store;
    struct gpu_phases rest = {0};
    host_count(host, k->limit, limit, store, q, &k->gpu);
    host_count(host, limit, INT64_MAX, store, q, &rest);
    for (size_t i = 0, end; i < p->n; i = end) {
        end = end_of_track(p, i);
        if (!p->v[i].gpu_times)
            continue;
        struct gpu_line *l = gpu_line_read(k, &p->v[i], end - i);
        const size_t n = FIND_FIRST(x, l->spans.n, l->spans.v[x].at >= limit);
        gpu_line_count(l, 0, n, store, q, &l->outer, &k->gpu);
        struct gpu_span outer = l->outer;
        struct gpu_phases more = k->gpu;
        gpu_line_count(l, n, l->spans.n, store, q, &outer, &more);
        for (size_t id = 0; id < EV_N; id++) {
            rest.n[id] += more.n[id] - k->gpu.n[id];
            rest.sum_ns[id] += more.sum_ns[id] - k->gpu.sum_ns[id];
        }
        k->timed |= l->spans.n > 0;
        gpu_line_keep(l, n, p->v[i].to);
    }
    k->limit = limit;
    for (size_t id = 0; id < EV_N; id++) {
        rest.n[id] += k->gpu.n[id];
        rest.sum_ns[id] += k->gpu.sum_ns[id];
        rest.host_n[id] = k->timed ? rest.host_n[id] + k->gpu.host_n[id] : 0;
    }
    return rest;
}

/* ---- the steps of a process ---- */

static void to_wall(const struct process_parts *main, struct step *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        v[i].start = event_wall(main->v[0].track->store, (mono_ns){v[i].start.ns});
}

void steps_cached_free(struct steps_cached *k)
{
    for (size_t i = 0; i < k->n_lines; i++)
        gpu_spans_free(&k->lines[i].spans);
    free(k->lines);
    free(k->ids);
    free(k->marked);
    free(k->parts);
    steps_walker_close(k->walker);
    points_free(&k->points);
    arena_free(&k->arena);
}

/* All points of the main thread that are not used up, in order. */
static struct points *steps_points(const struct process_parts *m, const struct steps_cached *k,
                                   struct points *room)
{
    if (k->points.n == 0)
        return hook_pass_points(m->v, m->n);
    for (size_t i = 0; i < k->points.n; i++)
        points_push(room, &k->points.v[i]);
    for (size_t i = 0; i < m->n; i++)
        for (size_t s = 0; s < m->v[i].points.n; s++)
            points_push(room, &m->v[i].points.v[s]);
    points_sort(room);
    return room;
}

/* What changes while steps are filled. */
struct steps_filling {
    struct steps_fill fill;
    struct quiet_times quiet;
    int windows_left;
};

/* Steps that are final: whole parts, and two steps that the walker had when it could continue. */
static size_t steps_final(const struct steps_walker *before, size_t base)
{
    const size_t n = before ? steps_walker_list(before)->n : 0;
    return base + (n > 2 ? (n - 2) / PACKED_ROWS * PACKED_ROWS : 0);
}

/* Packed steps are made some at a time, so that never all of them are in memory. *at: as it was
 * before the first step that is not final. */
static void steps_make(struct rank_steps *out, const struct process_parts *m,
                       const struct step_list *l, struct windows_seen *windows,
                       struct steps_filling *now, struct steps_filling *at, struct steps_cached *k,
                       bool packed, struct arena *a)
{
    const size_t base = k->n_parts * PACKED_ROWS, total = base + l->n;
    const size_t most = packed ? PACKED_ROWS : MAX_OF(l->n, (size_t)1);
    struct step *some = packed ? xmalloc(most * sizeof *some) : arena_array(a, struct step, most);
    if (packed)
        steps_pack_open(&out->packed, total, a);
    assert(out->final % PACKED_ROWS == 0 && out->final <= total);
    for (size_t i = 0; i < k->n_parts; i++)
        out->packed.parts[i] = k->parts[i];
    windows->left = now->windows_left;
    for (size_t i = base; i < total; i += most) {
        const size_t n = MIN_OF(total - i, most);
        now->windows_left = windows->left;
        if (i == out->final)
            *at = *now;
        steps_fill_next(&now->fill, l, i - base, some, n);
        if (i == 0)
            steps_mark_warmup(some, n);
        to_wall(m, some, n);
        mark_disturbed(windows, some, n);
        quiet_times_see(&now->quiet, some, n);
        if (packed)
            steps_pack(&out->packed, i, some, i < out->final ? &k->arena : a);
        if (packed && i < out->final)
            *VEC_ADD(k->parts, k->n_parts, k->cap_parts) = out->packed.parts[i / PACKED_ROWS];
    }
    out->n = total;
    if (packed)
        free(some);
    else
        out->steps = some;
}

/* Points before `mark` that are still needed stay. */
static void steps_keep_points(struct steps_cached *k, const struct points *p, size_t mark,
                              struct steps_walker *before, size_t final)
{
    struct points kept = {0};
    const size_t taken = before ? mark : k->walker ? steps_walker_taken(k->walker) : 0;
    const size_t drop = MIN_OF(MIN_OF(k->fill.point, k->fill.batch), MIN_OF(k->fill.mark, taken));
    struct steps_walker *w = before ? before : k->walker;
    for (size_t i = drop; i < mark; i++)
        points_push(&kept, &p->v[i]);
    if (w)
        steps_walker_drop(w, drop, final);
    if (before) {
        steps_walker_close(k->walker);
        k->walker = before;
    }
    assert(drop <= k->fill.point && drop <= k->fill.batch && drop <= k->fill.mark);
    k->fill.point -= drop;
    k->fill.batch -= drop;
    k->fill.mark -= drop;
    points_free(&k->points);
    k->points = kept;
}

/* Points of the threads that decide which one is the main one. */
static void steps_keep_marked(struct steps_cached *k, const struct process_parts *p)
{
    for (size_t i = 0; i < p->n; i++) {
        const struct hook_part *part = &p->v[i];
        size_t *marked =
            part->may_step ? steps_cached_marked(k, part->track->track.track.id) : NULL;
        for (size_t s = 0; marked && s < part->points.n; s++)
            if (part->points.v[s].at < part->to)
                *marked += point_is_mark(part->points.v[s].what);
    }
}

static uint64_t windows_hash(const struct windows_seen *w)
{
    uint64_t h = w->n;
    for (size_t i = 0; i < w->n; i++)
        h = (h ^ (uint64_t)w->v[i]->track.first.ns) * UINT64_C(0x100000001b3) +
            (uint64_t)w->v[i]->track.last.ns;
    return h;
}

/* Whether it is known by what it was before. */
static bool steps_cached_fits(const struct steps_cached *k, const struct process_parts *m,
                              uint64_t windows)
{
    if (k->unused)
        return m->n == 0;
    return !k->known || (m->n && k->main == m->v[0].track->track.track.id && k->windows == windows);
}

static bool steps_had_any(const struct process_parts *p)
{
    return FIND_ANY(i, p->n, p->v[i].points.n || p->v[i].gpu.n);
}

bool steps_of_process(const struct process_parts *p, const struct event_index *x,
                      struct steps_cached *k, const struct steps_make_ask *ask, struct arena *a,
                      struct rank_steps *out)
{
    const bool remember = ask->remember;
    const struct process_parts m = find_main(p, remember ? k : NULL);
    const struct run_process *process = p->v[0].track->track.process;
    struct windows_seen windows = windows_of(x, process);
    struct points room = {0};
    struct steps_walker *before = NULL;
    *out = (struct rank_steps){.rank = process->rank};
    if (!steps_cached_fits(k, &m, windows_hash(&windows)))
        return false;
    if (remember)
        steps_keep_marked(k, p);
    if (m.n == 0) {
        k->unused |= remember && steps_had_any(p);
        return true;
    }
    struct points *points = steps_points(&m, k, &room);
    struct steps_walker *w = k->walker ? steps_walker_copy(k->walker) : steps_walker_open();
    size_t mark = points->n;
    while (remember && mark > 0 && points->v[mark - 1].at >= m.v[0].to)
        mark--;
    const bool good = steps_walker_end(w, points, mark, remember ? &before : NULL);
    if (good) {
        const struct step_list *l = steps_walker_list(w);
        struct steps_filling now = {k->fill, k->quiet, k->windows_left};
        if (!k->known) {
            steps_fill_open(&now.fill, points);
            now.quiet.steady_from = INT64_MAX;
        }
        now.fill.points = points;
        struct steps_filling at = now;
        const size_t base = k->n_parts * PACKED_ROWS;
        out->final = remember ? steps_final(before, base) : 0;
        const int64_t limit = out->final ? l->v[out->final - base].start : INT64_MIN;
        steps_make(out, &m, l, &windows, &now, &at, k, ask->packed, a);
        out->gpu = gpu_phases_of(p, &m, points, &now.quiet, k, limit);
        k->fill = at.fill;
        k->quiet = at.quiet;
        k->windows_left = at.windows_left;
        k->windows = windows_hash(&windows);
        k->main = m.v[0].track->track.track.id;
        k->known = true;
        if (remember)
            steps_keep_points(k, points, mark, before, out->final);
    }
    steps_walker_close(w);
    points_free(&room);
    return good;
}

/* ==== points: the events of a thread that steps are made of ====
 *
 * Events come block by block; blocks follow each other in time but for a few long spans, so sorting
 * merges only where neighbours really overlap. */

void names_seen_forget(struct names_seen *s)
{
    *s = (struct names_seen){0};
}

/* What PyTorch's profiler calls the same things. They lie in steps that it marks; where there
 * are only these, there are no passes, so no steps are made of them. */
static const struct {
    const char *start;
    enum event_id as;
} profilers[] = {
    {"enumerate(DataLoader)#", EV_DATA},
    {"Optimizer.step#", EV_OPTIMIZER},
    {"Optimizer.zero_grad#", EV_ZERO_GRAD},
};

static struct point_name meaning_of(const char *name)
{
    const enum event_id id = event_find(name);
    if (id != EV_N)
        return (struct point_name){id, step_part_of(id)};
    for (size_t i = 0; i < COUNT_OF(profilers); i++)
        if (text_starts(name, profilers[i].start))
            return (struct point_name){EV_N, step_part_of(profilers[i].as)};
    return (struct point_name){EV_N, NO_PART};
}

struct point_name names_seen_find(struct names_seen *s, const char *name)
{
    const size_t at = ((uintptr_t)name >> 3 ^ (uintptr_t)name >> 11) % COUNT_OF(s->v);
    if (s->v[at].name != name) {
        s->v[at].name = name;
        s->v[at].means = meaning_of(name);
    }
    return s->v[at].means;
}

/* Whether steps are made of events of this kind and name. */
static bool point_matters(const struct event *e, enum event_id id, uint8_t part)
{
    if (e->kind == EVENT_SPAN)
        return part != NO_PART || id == EV_LOADER_START || id == EV_DETAIL;
    if (e->kind == EVENT_COUNT)
        return id == EV_BATCH_SIZE || id == EV_SYNC_SHORT || id == EV_DEVICE;
    return e->kind == EVENT_MARK && (id == EV_LOADER_START || id == EV_STEP_VOID);
}

bool point_is_phase(uint8_t what)
{
    switch (what) {
    case EV_DATA:
    case EV_FORWARD:
    case EV_FORWARD_EVAL:
    case EV_BACKWARD:
    case EV_OPTIMIZER:
    case EV_GRAPH:
        return true;
    default:
        return false;
    }
}

bool point_is_mark(uint8_t what)
{
    return point_is_phase(what) || what == POINT_STEP;
}

static bool steps_points_in_order(const struct point *a, const struct point *b)
{
    return a->at != b->at ? a->at < b->at : a->end >= b->end;
}

void points_push(struct points *p, const struct point *x)
{
    VEC_ROOM(p->v, p->cap, p->n + 1);
    if (p->n == 0 || !steps_points_in_order(&p->v[p->n - 1], x))
        sorted_runs_add(&p->runs, p->n);
    p->v[p->n++] = *x;
    p->marked += point_is_mark(x->what);
}

void points_add(struct points *p, const struct event *e, struct point_name name)
{
    struct point x = {.at = e->at.ns, .value = e->value, .part = NO_PART};
    if (e->kind == EVENT_STEP) {
        x.what = POINT_STEP;
    } else {
        if (!point_matters(e, name.id, name.part))
            return;
        x.what = (uint8_t)(name.id == EV_N ? POINT_PART : name.id);
        x.part = name.part;
    }
    if (e->kind == EVENT_SPAN || e->kind == EVENT_STEP)
        x.open = e->end != END_KNOWN;
    else
        x.part = NO_PART;
    x.end = x.at + MAX_OF(e->dur_ns, 0);
    x.mode = (uint8_t)(e->mode < MODE_N ? e->mode : MODE_TRAIN);
    points_push(p, &x);
}

static bool may_precede(const void *a, const void *b)
{
    return steps_points_in_order(a, b);
}

void points_sort(struct points *p)
{
    sorted_runs_merge(&p->runs, p->v, p->n, sizeof *p->v, may_precede);
}

void points_free(struct points *p)
{
    free(p->v);
    sorted_runs_free(&p->runs);
    *p = (struct points){0};
}
