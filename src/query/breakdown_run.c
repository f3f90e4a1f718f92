/* SPDX-License-Identifier: Apache-2.0 */
/* breakdown_run.c - what the hooks know beside a breakdown: memory of the whole run, the steps in
 * which it was highest, and what recording a window cost. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/mem.h"
#include "query/breakdown_internal.h"
#include "query/detail_cost.h"

static bool breakdown_run_same_process(const struct breakdown_of *x, const struct breakdown_of *y)
{
    return x->pid == y->pid && strcmp(x->node, y->node) == 0;
}

/* ---- memory ---- */

static bool has_memory(const struct memory_row *v, size_t n, const struct memory_row *like)
{
    for (size_t i = 0; i < n; i++)
        if (breakdown_run_same_process(&v[i].of, &like->of) &&
            v[i].curve.device == like->curve.device)
            return true;
    return false;
}

/* What hooks saw of the whole run goes before what was recorded in a window. */
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
    for (size_t i = 0; i < n; i++)
        if (v[i].process->pid == of->pid && strcmp(v[i].node, of->node) == 0)
            return &v[i];
    return NULL;
}

/* Training steps alone have numbers that others would say, too. */
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
