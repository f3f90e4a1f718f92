/* SPDX-License-Identifier: Apache-2.0 */
/* breakdown_run.c - what the hooks record beside a breakdown: memory of the whole run, the steps in
 * which it was highest, and what recording a window cost. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/mem.h"
#include "base/vec.h"
#include "query/breakdown.h"
#include "query/breakdown_internal.h"
#include "query/detail.h"
#include "query/trace.h"

/* ---- the steps of a process ----
 *
 * Where they really begin and end, and where their time went (docs/breakdowns.md, "Steps"). */

void host_steps_free(struct host_steps *s)
{
    free(s->v);
    free(s->loose);
}

static int breakdown_steps_by_begin(const void *a, const void *b)
{
    const struct host_step *x = a, *y = b;
    return COMPARE(x->begin, y->begin) ?: COMPARE(x->end, y->end);
}

void host_steps_sort(struct host_steps *s)
{
    SORT(s->v, s->n, breakdown_steps_by_begin);
}

void host_steps_unseen(const struct host_steps *s, struct intervals *out)
{
    int64_t end = s->n ? s->v[0].end : 0;
    for (size_t i = 1; i < s->n; i++) {
        if (s->v[i].number > s->v[i - 1].number + 1)
            intervals_add(out, end, s->v[i].begin);
        end = MAX_OF(end, s->v[i].end);
    }
    intervals_finish(out);
}

/* ---- device operations ---- */

static bool is_last_before(const struct host_steps *s, size_t i, int64_t t)
{
    return s->v[i].begin <= t && (i + 1 == s->n || s->v[i + 1].begin > t);
}

/* The last step that began by `t`; s->n: none did. */
static size_t last_before(const struct host_steps *s, int64_t t)
{
    const size_t after = SEARCH_FIRST(i, 0, s->n, s->v[i].begin <= t);
    return after ? after - 1 : s->n;
}

/* The step that the whole call lies in. */
static struct host_step *breakdown_steps_step_of(struct host_steps *s, const struct launch *l)
{
    if (!l || s->n == 0)
        return NULL;
    if (s->near >= s->n || !is_last_before(s, s->near, l->begin))
        s->near = last_before(s, l->begin);
    if (s->near == s->n || l->end > s->v[s->near].end)
        return NULL;
    return &s->v[s->near];
}

void host_steps_match(struct host_steps *s, const struct launch *l, int64_t begin, int64_t end)
{
    struct host_step *step = breakdown_steps_step_of(s, l);
    if (!step) {
        if (s->n)
            *VEC_ADD(s->loose, s->n_loose, s->cap_loose) = end;
        return;
    }
    step->first_begin = step->matched ? MIN_OF(step->first_begin, begin) : begin;
    step->last_end = step->matched ? MAX_OF(step->last_end, end) : end;
    step->matched++;
}

/* ---- where steps begin and end ---- */

static bool any_matched(const struct host_steps *s)
{
    return FIND_ANY(i, s->n, s->v[i].matched);
}

/* What runs on the device when the first step begins may be work of a step before the trace: it
 * ends that one. */
static int64_t end_before_first(const struct host_steps *s)
{
    int64_t end = s->v[0].begin;
    for (size_t i = 0; s->v[0].matched && i < s->n_loose; i++)
        if (s->loose[i] < s->v[0].first_begin)
            end = MAX_OF(end, s->loose[i]);
    return end;
}

static void move_edges(struct host_steps *s)
{
    int64_t before = end_before_first(s);
    for (size_t i = 0; i < s->n; i++) {
        struct host_step *v = &s->v[i];
        v->begin = MAX_OF(v->begin, before);
        if (v->matched)
            v->end = MAX_OF(v->end, v->last_end);
        v->end = MAX_OF(v->end, v->begin);
        before = v->end;
    }
}

/* The profiler may have stopped before the device was done with the last steps: those without any
 * device operation go, and one that has fewer than 0.8 of those of the one before. */
static size_t keep_count(const struct host_steps *s)
{
    size_t keep = s->n;
    while (keep && s->v[keep - 1].matched == 0)
        keep--;
    if (keep > 1 && 0.8 * (double)s->v[keep - 2].matched > (double)s->v[keep - 1].matched)
        keep--;
    return keep;
}

/* ---- what their time went to ---- */

/* Each role gets what those before it left, in `slots`; what no role took stays there. */
static void breakdown_steps_share_out(const struct host_steps *s, size_t n,
                                      const struct intervals role[], struct step_row *out)
{
    struct intervals slots = {0}, taken = {0}, left = {0};
    for (size_t i = 0; i < n; i++)
        intervals_add(&slots, s->v[i].begin, s->v[i].end);
    intervals_finish(&slots);
    for (unsigned r = 0; r < ROLE_N; r++) {
        size_t from = 0;
        if (r < ROLE_OTHER)
            intervals_both(&slots, &role[r], &taken);
        for (size_t i = 0; i < n; i++)
            out[i].role_ns[r] = intervals_length_within(r < ROLE_OTHER ? &taken : &slots,
                                                        out[i].begin, out[i].end, &from);
        if (r == ROLE_OTHER)
            break;
        intervals_minus(&slots, &taken, &left);
        const struct intervals swap = slots;
        slots = left;
        left = swap;
    }
    intervals_free(&slots);
    intervals_free(&taken);
    intervals_free(&left);
}

static enum role most_of(const struct step_row *s)
{
    enum role most = ROLE_KERNEL;
    for (enum role r = ROLE_KERNEL; r < ROLE_N; r++)
        if (s->role_ns[r] > s->role_ns[most])
            most = r;
    return most;
}

size_t host_steps_rows(struct host_steps *s, const struct intervals role[ROLE_OTHER],
                       struct step_row *out)
{
    size_t n = s->n;
    if (any_matched(s)) {
        move_edges(s);
        n = s->n > 1 ? keep_count(s) : n;
    }
    for (size_t i = 0; i < n; i++)
        out[i] = (struct step_row){.step = s->v[i].number,
                                   .begin = s->v[i].begin,
                                   .end = s->v[i].end,
                                   .device_ops = s->v[i].matched};
    breakdown_steps_share_out(s, n, role, out);
    for (size_t i = 0; i < n; i++)
        out[i].critical = most_of(&out[i]);
    return n;
}

/* ---- memory in use over time ---- */

/* ---- events ---- */

static const char device_key[] = "device=";

/* "device=gpu3" or "device=cpu", a separate line of the args. */
static bool device_of_args(const char *args, int64_t *out)
{
    const char *at = args ? strstr(args, device_key) : NULL;
    if (!at || (at > args && at[-1] != '\n'))
        return false;
    at += sizeof device_key - 1;
    if (strncmp(at, "gpu", 3) != 0) {
        *out = MEM_CPU;
        return strncmp(at, "cpu", 3) == 0;
    }
    char *end;
    *out = strtol(at + 3, &end, 10);
    return end > at + 3 && *out >= 0;
}

/* The device of a thread's events without one: the thread's own. */
static int64_t device_of_track(const struct run_track *t)
{
    if (t->track.kind == TRACK_DEVICE)
        return track_device(&t->track);
    return MAX_OF(0, t->process->device);
}

static const struct {
    const char *name;
    enum mem_what what;
    bool cpu;
} totals[] = {
    {"cpu.allocated", MEM_TOTAL, true},
    {"cuda.allocated", MEM_TOTAL, false},
    {"cuda.reserved", MEM_RESERVED, false},
    {"cuda.peak", MEM_PEAK, false},
};

bool mem_event_of(const struct run_track *t, const struct run_event *x, struct mem_event *out)
{
    const struct event *e = &x->event;
    *out = (struct mem_event){.at = x->at.ns, .bytes = e->value};
    if (e->kind == EVENT_MARK)
        return device_of_args(e->args, &out->device);
    for (size_t i = 0; i < COUNT_OF(totals) && e->kind == EVENT_COUNT; i++) {
        if (strcmp(totals[i].name, e->name) != 0)
            continue;
        out->what = totals[i].what;
        out->device = totals[i].cpu ? MEM_CPU : device_of_track(t);
        return true;
    }
    return false;
}

/* ---- curves ---- */

static int by_device_and_time(const void *a, const void *b)
{
    const struct mem_event *x = a, *y = b;
    return COMPARE(x->device, y->device) ?: COMPARE(x->at, y->at) ?: COMPARE(x->order, y->order);
}

static bool is_sorted(const struct mem_event *v, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (by_device_and_time(&v[i - 1], &v[i]) > 0)
            return false;
    return true;
}

static size_t memcurve_count(const struct mem_event *v, size_t n, enum mem_what what)
{
    return SUM_OF(i, n, v[i].what == what);
}

/* Sums wrap instead of overflowing: what they add up comes from a file. */
static void fill_points(struct memcurve *c, const struct mem_event *v, size_t n)
{
    const enum mem_what what = c->exact ? MEM_TOTAL : MEM_CHANGE;
    uint64_t sum = 0;
    int64_t lowest = 0;
    for (size_t i = 0; i < n; i++) {
        if (v[i].what != what)
            continue;
        sum = c->exact ? (uint64_t)v[i].bytes : sum + (uint64_t)v[i].bytes;
        c->points[c->n++] = (struct mem_point){v[i].at, (int64_t)sum};
        lowest = MIN_OF(lowest, (int64_t)sum);
    }
    for (size_t i = 0; i < c->n && !c->exact; i++)
        c->points[i].bytes = (int64_t)((uint64_t)c->points[i].bytes - (uint64_t)lowest);
}

static void fill_peaks(struct memcurve *c, const struct mem_event *v, size_t n)
{
    for (size_t i = 0; i < c->n; i++) {
        if (i > 0 && c->points[i].bytes <= c->peak_bytes)
            continue;
        c->peak_bytes = c->points[i].bytes;
        c->peak_at = c->points[i].at;
    }
    c->highest_bytes = c->peak_bytes;
    c->reserved_peak_bytes = -1;
    for (size_t i = 0; i < n; i++) {
        if (v[i].what == MEM_RESERVED)
            c->reserved_peak_bytes = MAX_OF(c->reserved_peak_bytes, v[i].bytes);
        if (v[i].what != MEM_PEAK || v[i].bytes < c->peak_bytes)
            continue;
        if (v[i].bytes > c->peak_bytes || !c->allocator_peak)
            c->peak_at = v[i].at;
        c->peak_bytes = v[i].bytes;
        c->allocator_peak = true;
    }
}

/* False when there is nothing to draw. */
static bool curve_of(const struct mem_event *v, size_t n, struct arena *a, struct memcurve *out)
{
    const size_t n_totals = memcurve_count(v, n, MEM_TOTAL),
                 changes = memcurve_count(v, n, MEM_CHANGE);
    if (n_totals + changes == 0)
        return false;
    *out = (struct memcurve){.device = v[0].device, .exact = n_totals > 0};
    out->points = arena_array(a, struct mem_point, n_totals ? n_totals : changes);
    fill_points(out, v, n);
    fill_peaks(out, v, n);
    return true;
}

static size_t device_end(const struct mem_event *v, size_t n, size_t i)
{
    const int64_t device = v[i].device;
    while (i < n && v[i].device == device)
        i++;
    return i;
}

void memcurve_build(struct mem_event *v, size_t n, struct arena *a, struct memcurve **out,
                    size_t *n_out)
{
    size_t devices = 0;
    for (size_t i = 0; i < n; i++)
        v[i].order = i;
    if (!is_sorted(v, n))
        SORT(v, n, by_device_and_time);
    for (size_t i = 0; i < n; i = device_end(v, n, i))
        devices++;
    *out = arena_array(a, struct memcurve, devices);
    *n_out = 0;
    for (size_t i = 0, end; i < n; i = end) {
        end = device_end(v, n, i);
        *n_out += curve_of(v + i, end - i, a, &(*out)[*n_out]);
    }
}

/* ---- what hooks of the same run add ---- */

static bool breakdown_run_same_process(const struct breakdown_of *x, const struct breakdown_of *y)
{
    return x->pid == y->pid && strcmp(x->node, y->node) == 0;
}

/* ---- memory ---- */

static bool has_memory(const struct memory_row *v, size_t n, const struct memory_row *like)
{
    return FIND_ANY(i, n,
                    breakdown_run_same_process(&v[i].of, &like->of) &&
                        v[i].curve.device == like->curve.device);
}

/* What hooks recorded of the whole run takes precedence over what was recorded in a window. */
static int memory_of_hooks(struct run *r, const struct trace_ask *ask, struct arena *a,
                           struct breakdown *b, struct err *e)
{
    struct memory_row *v;
    size_t n;
    const int rc = breakdown_hook_memory(r, ask, a, &v, &n, e);
    if (rc || n == 0)
        return rc;
    struct memory_row *all = arena_array(a, struct memory_row, n + b->n_memory);
    memcpy(all, v, n * sizeof *all);
    for (size_t i = 0; i < b->n_memory; i++)
        if (!has_memory(v, n, &b->memory[i]))
            all[n++] = b->memory[i];
    b->memory = all;
    b->n_memory = n;
    return 0;
}

static const struct rank_steps *breakdown_run_steps_of(const struct rank_steps *v, size_t n,
                                                       const struct breakdown_of *of)
{
    return FIND_ITEM(x, v, n, x->process->pid == of->pid && strcmp(x->node, of->node) == 0);
}

/* Only training steps: numbers of other modes could be the same. */
static int64_t breakdown_run_step_at(const struct rank_steps *r, int64_t at)
{
    int64_t number = -1;
    for (size_t i = 0; i < r->n && r->steps[i].start.ns <= at; i++)
        if (r->steps[i].mode == MODE_TRAIN)
            number = r->steps[i].number;
    return number;
}

static void fill_peak_steps(struct breakdown *b, const struct rank_steps *v, size_t n)
{
    for (size_t i = 0; i < b->n_memory; i++) {
        const struct rank_steps *r = breakdown_run_steps_of(v, n, &b->memory[i].of);
        if (r && b->memory[i].curve.n)
            b->memory[i].peak_step = breakdown_run_step_at(r, b->memory[i].curve.peak_at);
    }
}

/* ---- windows ---- */

/* Time with any operation on a device, and the steps that it is of. */
struct breakdown_run_busy {
    int64_t ns, total_ns;
    size_t steps;
};

/* By the steps that launched the operations. */
static struct breakdown_run_busy busy_by_launch(const struct window_row *w,
                                                const struct breakdown *b)
{
    struct breakdown_run_busy out = {0};
    for (size_t i = 0; i < b->n_steps; i++) {
        const struct step_row *s = &b->steps[i];
        if (!breakdown_run_same_process(&s->of, &w->of) || s->device_ops == 0 ||
            s->begin < w->begin || s->begin > w->end)
            continue;
        out.ns += s->role_ns[ROLE_KERNEL] + s->role_ns[ROLE_MEMCPY] + s->role_ns[ROLE_MEMSET] +
                  s->role_ns[ROLE_COMM];
        out.total_ns += s->end - s->begin;
        out.steps++;
    }
    return out;
}

/* Where no launches are known, as with JAX: all of the busiest device, by all steps. */
static struct breakdown_run_busy busy_of_device(const struct window_row *w,
                                                const struct breakdown *b)
{
    struct breakdown_run_busy out = {0};
    for (size_t i = 0; i < b->n_devices; i++) {
        const struct device_row *d = &b->devices[i];
        if (!breakdown_run_same_process(&d->of, &w->of) || d->busy_ns < out.ns)
            continue;
        out.ns = d->busy_ns;
        out.total_ns = d->end - d->begin;
    }
    for (size_t i = 0; i < b->n_steps; i++)
        out.steps += breakdown_run_same_process(&b->steps[i].of, &w->of);
    return out;
}

static void fill_busy(struct window_row *w, const struct breakdown *b, double usual_mean_s)
{
    struct breakdown_run_busy busy = busy_by_launch(w, b);
    if (busy.steps == 0)
        busy = busy_of_device(w, b);
    if (busy.steps == 0 || busy.total_ns <= 0)
        return;
    w->busy_s = ns_to_s(busy.ns) / (double)busy.steps;
    w->idle_share = 1 - (double)busy.ns / (double)busy.total_ns;
    /* No device works for longer than an iteration lasts: the host runs ahead of it. */
    if (w->busy_s > w->usual_step_s)
        w->usual_step_s = fmax(usual_mean_s, w->usual_step_s);
    if (!isnan(w->usual_step_s))
        w->usual_idle_share = fmax(0, 1 - w->busy_s / w->usual_step_s);
}

static void add_windows(struct breakdown *b, const struct trace_ask *ask,
                        const struct detail_cost *v, size_t n, struct arena *a)
{
    b->windows = arena_array(a, struct window_row, n + 1);
    for (size_t i = 0; i < n; i++) {
        if (ask->one_rank && v[i].rank != ask->rank)
            continue;
        struct window_row *w = &b->windows[b->n_windows++];
        *w = (struct window_row){.of = {v[i].node, v[i].rank, v[i].pid},
                                 .begin = v[i].begin.ns - v[i].begin.ns % NS_PER_US,
                                 .end = v[i].end.ns - v[i].end.ns % NS_PER_US,
                                 .first_step = v[i].first_step,
                                 .n_steps = v[i].n_steps,
                                 .step_s = v[i].step_s,
                                 .usual_step_s = v[i].usual_step_s,
                                 .stall_s = v[i].stall_s,
                                 .busy_s = NAN,
                                 .idle_share = NAN,
                                 .usual_idle_share = NAN};
        fill_busy(w, b, v[i].usual_mean_s);
    }
}

int breakdown_add_hooks(struct run *r, const struct trace_ask *ask, struct arena *a,
                        struct breakdown *b, struct err *e)
{
    struct arena scratch = {0}; /* steps of a long run are many */
    struct detail_range *ranges;
    struct rank_steps *ranks;
    struct detail_cost *costs;
    size_t n_ranges, n_ranks, n_costs;
    int rc = detail_ranges(r, &scratch, &ranges, &n_ranges, e);
    if (rc == 0 && n_ranges)
        rc = memory_of_hooks(r, ask, a, b, e);
    const bool wanted = rc == 0 && (n_ranges || b->n_memory);
    if (wanted)
        rc = steps_read(r, &scratch, &ranks, &n_ranks, e);
    if (wanted && rc == 0) {
        fill_peak_steps(b, ranks, n_ranks);
        detail_costs_of(ranks, n_ranks, ranges, n_ranges, a, &costs, &n_costs);
        add_windows(b, ask, costs, n_costs, a);
    }
    arena_free(&scratch);
    return rc;
}

/* ---- words ---- */

static const char *seconds_text(double s, struct arena *a)
{
    char text[HUMAN_LEN];
    return arena_strdup(a, human_value(s, "s", text, sizeof text));
}

/* Steps that took less than this many times as long as usual were not slowed down. */
static const double SLOWED = 1.1;

const char *window_sentence(const struct window_row *w, struct arena *a)
{
    if (isnan(w->step_s) || isnan(w->usual_step_s))
        return NULL;
    const char *text = arena_printf(a, "%s took %s%s, other steps %s",
                                    w->n_steps == 1 ? "the step in the detail window"
                                                    : "the steps in the detail window",
                                    seconds_text(w->step_s, a), w->n_steps == 1 ? "" : " each",
                                    seconds_text(w->usual_step_s, a));
    const bool slowed = w->step_s > SLOWED * w->usual_step_s;
    if (slowed)
        text = arena_printf(a, "%s: detailed recording slowed the host%s", text,
                            isnan(w->busy_s) ? "" : ", so idle time is overstated");
    else
        text = arena_printf(a, "%s: detailed recording hardly slowed the host", text);
    if (slowed && !isnan(w->usual_idle_share))
        text = arena_printf(
            a,
            "%s; with %s of device work in a usual step, the device is idle %.0f %%, not %.0f %%",
            text, seconds_text(w->busy_s, a), 100 * w->usual_idle_share, 100 * w->idle_share);
    if (w->stall_s > 0)
        text = arena_printf(a, "%s; starting and stopping the profiler took another %s", text,
                            seconds_text(w->stall_s, a));
    return text;
}
