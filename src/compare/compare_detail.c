/* SPDX-License-Identifier: Apache-2.0 */
/* compare_detail.c - operators and breakdowns of both sides, where a profiler's window or a trace
 * has them. Per step and rank, when the steps of the windows are known on both sides. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "compare/compare_internal.h"

/* More are not worth reading; they are the most changed ones. */
enum { OPS_MOST = 200 };

/* ---- operators ---- */

static bool all_have_detail(const struct side_reading *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (!s->v[i].detail)
            return false;
    return true;
}

/* Steps of ranks that lie in the windows of a run. */
static size_t steps_in(const struct compare_reading *r)
{
    return r->breakdown.n_steps + r->breakdown.dropped_steps;
}

static bool steps_known(const struct comparing *c)
{
    for (int s = 0; s < COMPARE_SIDES; s++)
        for (size_t i = 0; i < c->side[s].n; i++)
            if (steps_in(&c->side[s].v[i]) == 0)
                return false;
    return true;
}

/* A row of one run, on its way to those of the same name. */
struct op_seen {
    const struct op_row *row;
    int side;
    double of; /* steps, or 1 */
};

static int compare_detail_by_name(const void *a, const void *b)
{
    const struct op_seen *x = a, *y = b;
    if (x->row->device != y->row->device)
        return x->row->device < y->row->device ? -1 : 1;
    const int rc = strcmp(x->row->full, y->row->full);
    return rc ? rc : x->side - y->side;
}

double compared_op_diff(const struct compared_op *o)
{
    const double a = o->self_s[COMPARE_A], b = o->self_s[COMPARE_B];
    return (isnan(b) ? 0 : b) - (isnan(a) ? 0 : a);
}

static int most_changed(const void *a, const void *b)
{
    const struct compared_op *x = a, *y = b;
    const double p = fabs(compared_op_diff(x)), q = fabs(compared_op_diff(y));
    return p != q ? (p < q) - (p > q) : strcmp(x->name, y->name);
}

static size_t collect_ops(const struct comparing *c, struct op_seen **out)
{
    size_t n = 0;
    for (int s = 0; s < COMPARE_SIDES; s++)
        for (size_t i = 0; i < c->side[s].n; i++)
            n += c->side[s].v[i].n_ops;
    *out = arena_array(c->scratch, struct op_seen, n + 1);
    n = 0;
    for (int s = 0; s < COMPARE_SIDES; s++)
        for (size_t i = 0; i < c->side[s].n; i++) {
            const struct compare_reading *r = &c->side[s].v[i];
            const double of = c->out->ops_per_step ? (double)steps_in(r) : 1;
            for (size_t k = 0; k < r->n_ops; k++)
                (*out)[n++] = (struct op_seen){&r->ops[k], s, of * (double)c->side[s].n};
        }
    qsort(*out, n, sizeof **out, compare_detail_by_name);
    return n;
}

static void add_op(struct compared_op *o, const struct op_seen *v)
{
    if (isnan(o->self_s[v->side]))
        o->self_s[v->side] = o->calls[v->side] = 0;
    o->self_s[v->side] += (double)v->row->self_ns / (double)NS_PER_S / v->of;
    o->calls[v->side] += (double)v->row->calls / v->of;
}

static bool same_op(const struct op_row *a, const struct op_row *b)
{
    return a->device == b->device && strcmp(a->full, b->full) == 0;
}

static void fill_ops(struct comparing *c)
{
    struct compared *o = c->out;
    struct op_seen *v;
    o->ops_per_step = steps_known(c);
    const size_t n = collect_ops(c, &v);
    struct compared_op *all = arena_array(c->scratch, struct compared_op, n + 1);
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || !same_op(v[i - 1].row, v[i].row))
            all[m++] =
                (struct compared_op){v[i].row->device, v[i].row->name, {NAN, NAN}, {NAN, NAN}};
        add_op(&all[m - 1], &v[i]);
    }
    qsort(all, m, sizeof *all, most_changed);
    o->n_ops = MIN_OF(m, (size_t)OPS_MOST);
    o->ops = arena_array(c->arena, struct compared_op, o->n_ops + 1);
    for (size_t i = 0; i < o->n_ops; i++) {
        o->ops[i] = all[i];
        o->ops[i].name = arena_strdup(c->arena, all[i].name);
    }
}

/* ---- breakdown ---- */

static double role_s(const struct compare_reading *r, size_t role)
{
    int64_t sum = 0;
    for (size_t i = 0; i < r->breakdown.n_steps; i++)
        sum += r->breakdown.steps[i].role_ns[role];
    return r->breakdown.n_steps ? (double)sum / (double)NS_PER_S / (double)r->breakdown.n_steps
                                : NAN;
}

enum device_time { DEV_IDLE, DEV_COMPUTE, DEV_NON_COMPUTE, DEV_COMM, DEV_EXPOSED, DEV_N };

static const char *const device_times[DEV_N] = {
    [DEV_IDLE] = "idle",
    [DEV_COMPUTE] = "compute",
    [DEV_NON_COMPUTE] = "non_compute",
    [DEV_COMM] = "communication",
    [DEV_EXPOSED] = "exposed_communication",
};

/* Share of the time of all devices. */
static double device_share(const struct compare_reading *r, size_t what)
{
    int64_t sum[DEV_N] = {0}, span = 0;
    for (size_t i = 0; i < r->breakdown.n_devices; i++) {
        const struct device_row *d = &r->breakdown.devices[i];
        span += d->end - d->begin;
        sum[DEV_IDLE] += d->idle_ns;
        sum[DEV_COMPUTE] += d->compute_ns;
        sum[DEV_NON_COMPUTE] += d->non_compute_ns;
        sum[DEV_COMM] += d->comm_ns;
        sum[DEV_EXPOSED] += d->exposed_comm_ns;
    }
    return span > 0 ? (double)sum[what] / (double)span : NAN;
}

static void fill_time(struct comparing *c, struct compared_time t,
                      double (*of)(const struct compare_reading *, size_t), size_t arg)
{
    for (int s = 0; s < COMPARE_SIDES; s++)
        t.v[s] = side_mean(&c->side[s], of, arg);
    const bool known = !isnan(t.v[COMPARE_A]) || !isnan(t.v[COMPARE_B]);
    if (known && (t.v[COMPARE_A] != 0 || t.v[COMPARE_B] != 0))
        c->out->times[c->out->n_times++] = t;
}

static void compare_detail_fill_times(struct comparing *c)
{
    c->out->times = arena_array(c->arena, struct compared_time, (size_t)ROLE_N + DEV_N);
    for (size_t k = 0; k < ROLE_N; k++)
        fill_time(c, (struct compared_time){"step", role_name((enum role)k), "s", {NAN, NAN}},
                  role_s, k);
    for (size_t k = 0; k < DEV_N; k++)
        fill_time(c, (struct compared_time){"device", device_times[k], "share", {NAN, NAN}},
                  device_share, k);
}

void compare_detail(struct comparing *c)
{
    bool all = true;
    for (int s = 0; s < COMPARE_SIDES; s++)
        if (!all_have_detail(&c->side[s])) {
            all = false;
            compare_lose(c, "operators",
                         "no operator details were recorded (use footplate run --detail-steps, or "
                         "import a trace)",
                         s);
        }
    if (!all)
        return;
    fill_ops(c);
    compare_detail_fill_times(c);
}
