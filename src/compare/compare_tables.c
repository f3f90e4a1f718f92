/* SPDX-License-Identifier: Apache-2.0 */
/* compare_tables.c - the tables of a comparison: throughput, phases, utilization; operators and
 * breakdowns, where a detail window or a trace has them (per step and rank, when the steps of the
 * windows are known on both sides); findings.
 *
 * In a group, a rule counts as found when it is in more than half of the runs that it could
 * evaluate, and as not evaluated when it could evaluate none. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/vec.h"
#include "compare/compare_internal.h"
#include "rules/rule.h"

/* ---- numbers ---- */

static double throughput_of(const struct compare_reading *r, size_t overall)
{
    return overall ? r->throughput_overall : r->throughput_steady;
}

static void fill_numbers(struct comparing *c)
{
    static const char why[] = "the batch sizes are not known";
    /* Other numbers of the loop belong here: energy of a sample, tensor activity, share of peak. */
    static const struct compared_number rows[] = {
        {.key = "throughput_steady", .title = "Throughput, steady", .unit = "samples/s"},
        {.key = "throughput_overall", .title = "Throughput, overall", .unit = "samples/s"},
    };
    static_assert(COUNT_OF(rows) <= COMPARE_NUMBERS_MOST, "room for all");
    struct compared *o = c->out;
    for (size_t k = 0; k < COUNT_OF(rows); k++) {
        struct compared_number n = rows[k];
        for (int s = 0; s < COMPARE_SIDES; s++) {
            n.v[s] = side_mean(&c->side[s], throughput_of, k);
            n.why[s] = isnan(n.v[s]) ? why : NULL;
            *(k ? &o->side[s].throughput_overall : &o->side[s].throughput_steady) = n.v[s];
        }
        if (!isnan(n.v[COMPARE_A]) || !isnan(n.v[COMPARE_B]))
            o->numbers[o->n_numbers++] = n;
    }
    for (int s = 0; s < COMPARE_SIDES; s++)
        if (isnan(o->side[s].throughput_steady) && o->side[s].steps.count)
            compare_lose(c, "throughput", why, s);
}

/* ---- phases ---- */

static double phase_of(const struct compare_reading *r, size_t k)
{
    return r->has_phases ? r->phase_s[k] : NAN;
}

static double job_of(const struct compare_reading *r, size_t unused)
{
    (void)unused;
    return r->job_s;
}

static void fill_phase(struct comparing *c, const char *name,
                       double (*of)(const struct compare_reading *, size_t), size_t k)
{
    struct compared_phase p = {.phase = name};
    for (int s = 0; s < COMPARE_SIDES; s++)
        p.s[s] = side_mean(&c->side[s], of, k);
    /* A phase that occurs in neither is not worth a line. */
    if (p.s[COMPARE_A] != 0 || p.s[COMPARE_B] != 0)
        c->out->phases[c->out->n_phases++] = p;
}

static void fill_phases(struct comparing *c)
{
    c->out->phases = arena_array(c->arena, struct compared_phase, PHASE_N + 1);
    for (size_t k = 0; k < PHASE_N; k++)
        fill_phase(c, phase_name((enum phase_kind)k), phase_of, k);
    fill_phase(c, "total", job_of, 0);
}

/* ---- utilization ---- */

const char *const compare_quantile_names[COMPARE_QUANTILES] = {"min", "mean", "p50", "p90",
                                                               "p95", "p99",  "max"};

static void tables_add_line(double v[COMPARE_QUANTILES], const struct series_stats *s, bool first)
{
    const double of[COMPARE_QUANTILES] = {s->min, s->mean, s->p50, s->p90, s->p95, s->p99, s->max};
    for (size_t q = 0; q < COMPARE_QUANTILES; q++)
        v[q] = first ? of[q] : v[q] + of[q];
    if (!first) { /* the outermost of all, not their sum */
        v[0] = fmin(v[0] - s->min, s->min);
        v[COMPARE_QUANTILES - 1] = fmax(v[COMPARE_QUANTILES - 1] - s->max, s->max);
    }
}

/* All nodes of all runs: least, largest, and the means of their quantiles. */
static void fill_use(struct comparing *c, int side, const struct summary_row *row,
                     struct compared_use *out)
{
    size_t n = 0;
    for (size_t i = 0; i < c->side[side].n; i++) {
        const struct compare_reading *r = &c->side[side].v[i];
        for (size_t k = 0; k < r->n_lines; k++) {
            const struct summary_line *l = &r->lines[k];
            if (strcmp(l->row->name, row->name) != 0)
                continue;
            out->unit = l->unit;
            if (l->stats.count)
                tables_add_line(out->v[side], &l->stats, n++ == 0);
            else if (!out->why[side])
                out->why[side] = arena_strdup(c->arena, l->why);
        }
    }
    for (size_t q = 0; q < COMPARE_QUANTILES; q++)
        out->v[side][q] = n == 0                                 ? NAN
                          : q == 0 || q == COMPARE_QUANTILES - 1 ? out->v[side][q]
                                                                 : out->v[side][q] / (double)n;
    if (n)
        out->why[side] = NULL;
}

static void fill_uses(struct comparing *c)
{
    const struct compare_reading *first = &c->side[COMPARE_A].v[0];
    size_t rows = 0; /* the lines of a node are adjacent, and each node has all */
    while (rows < first->n_lines && first->lines[rows].node == first->lines[0].node)
        rows++;
    c->out->uses = arena_array(c->arena, struct compared_use, rows + 1);
    for (size_t k = 0; k < rows; k++) {
        struct compared_use *u = &c->out->uses[c->out->n_uses++];
        const struct summary_row *row = first->lines[k].row;
        *u = (struct compared_use){.metric = row->name, .title = row->title};
        for (int s = 0; s < COMPARE_SIDES; s++)
            fill_use(c, s, row, u);
        u->diff = u->v[COMPARE_B][2] - u->v[COMPARE_A][2];
    }
}

void compare_tables(struct comparing *c)
{
    fill_numbers(c);
    fill_phases(c);
    fill_uses(c);
}

/* ---- operators and breakdowns ---- */

/* More are not worth reading; they are the most changed ones. */
enum { OPS_MOST = 200 };

/* ---- operators ---- */

static bool all_have_detail(const struct side_reading *s)
{
    return !FIND_ANY(i, s->n, !s->v[i].detail);
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

static int detail_by_name(const void *a, const void *b)
{
    const struct op_seen *x = a, *y = b;
    return COMPARE(x->row->device, y->row->device)
               ?: strcmp(x->row->full, y->row->full) ?: x->side - y->side;
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
    SORT(*out, n, detail_by_name);
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
    SORT(all, m, most_changed);
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

static void detail_fill_times(struct comparing *c)
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
    detail_fill_times(c);
}

/* ---- findings ---- */

const char *const finding_change_names[FINDING_CHANGES] = {
    [FINDING_APPEARED] = "appeared",
    [FINDING_WENT] = "went",
    [FINDING_STAYED] = "stayed",
    [FINDING_UNKNOWN] = "unknown",
};

struct verdict_sum {
    size_t judged, found;
    enum severity severity; /* the worst */
    double lost_s, lost_share;
    const char *message, *why;
};

static void add_verdict(struct verdict_sum *o, const struct verdict *v)
{
    if (v->state == RULE_NOT_EVALUATED) {
        o->why = v->why;
        return;
    }
    o->judged++;
    if (v->state != RULE_ISSUE)
        return;
    if (o->found++ == 0) {
        o->lost_s = o->lost_share = 0;
        o->severity = v->severity;
    }
    if (v->severity > o->severity)
        o->severity = v->severity;
    if (!o->message && v->n_findings)
        o->message = v->findings[0].message;
    o->lost_s += v->lost_s;
    o->lost_share += v->lost_share;
}

static struct verdict_sum verdict_sum_of(const struct side_reading *s, size_t rule)
{
    struct verdict_sum o = {.lost_s = NAN, .lost_share = NAN};
    for (size_t i = 0; i < s->n; i++)
        add_verdict(&o, &s->v[i].checked.verdicts.v[rule]);
    o.lost_s /= (double)o.found; /* NAN when there is none */
    o.lost_share /= (double)o.found;
    return o;
}

static bool is_found(const struct verdict_sum *o)
{
    return 2 * o->found > o->judged;
}

static bool change_of(const struct verdict_sum v[COMPARE_SIDES], enum finding_change *out)
{
    const bool a = is_found(&v[COMPARE_A]), b = is_found(&v[COMPARE_B]);
    const bool unknown = v[COMPARE_A].judged == 0 || v[COMPARE_B].judged == 0;
    *out = unknown  ? FINDING_UNKNOWN
           : a && b ? FINDING_STAYED
           : a      ? FINDING_WENT
                    : FINDING_APPEARED;
    return a || b;
}

static void fill_finding(struct comparing *c, size_t rule,
                         const struct verdict_sum v[COMPARE_SIDES], struct compared_finding *out)
{
    out->rule = rules[rule];
    for (int s = 0; s < COMPARE_SIDES; s++) {
        out->severity[s] = v[s].severity;
        out->runs[s] = v[s].found;
        out->message[s] = v[s].message ? arena_strdup(c->arena, v[s].message) : NULL;
        out->lost_s[s] = v[s].lost_s;
        out->lost_share[s] = v[s].lost_share;
        if (v[s].judged == 0)
            out->why = arena_strdup(c->arena, v[s].why ? v[s].why : "");
    }
}

void compare_findings(struct comparing *c)
{
    struct compared *o = c->out;
    struct verdict_sum v[RULE_N][COMPARE_SIDES];
    o->findings = arena_array(c->arena, struct compared_finding, RULE_N);
    for (size_t k = 0; k < RULE_N; k++)
        for (int s = 0; s < COMPARE_SIDES; s++) {
            v[k][s] = verdict_sum_of(&c->side[s], k);
            o->rules_judged[s] += v[k][s].judged > 0 && !rules[k]->summary;
        }
    for (enum finding_change want = 0; want < FINDING_CHANGES; want++)
        for (size_t k = 0; k < RULE_N; k++) {
            enum finding_change change;
            if (rules[k]->summary || !change_of(v[k], &change) || change != want)
                continue;
            struct compared_finding *f = &o->findings[o->n_findings++];
            f->change = change;
            fill_finding(c, k, v[k], f);
        }
}
