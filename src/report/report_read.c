/* SPDX-License-Identifier: Apache-2.0 */
/* report_read.c - collects the contents of a report: rules, costs, charts over time, the pace of
 * the steps, operators. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "cost/machines.h"
#include "query/breakdown.h"
#include "query/detail.h"
#include "report/report_internal.h"
#include "rules/verdict.h"

/* ---- use over time ---- */

static const struct {
    const char *title;
    struct {
        const char *label, *metric, *entity; /* entity NULL: all of them */
    } lines[2];
} charts[] = {
    {"CPU",
     {{"CPU utilization", "cpu.util", ENTITY_TOTAL}, {"I/O wait", "cpu.iowait", ENTITY_TOTAL}}},
    {"GPU", {{"GPU utilization", "gpu.util", NULL}, {"SMs active", "gpu.sm_active", NULL}}},
    {"GPU units",
     {{"tensor cores active", "gpu.tensor_active", NULL},
      {"memory bandwidth used", "gpu.dram_active", NULL}}},
    {"GPU power", {{"power, mean of GPUs", "gpu.power", NULL}}},
    {"Memory", {{"CPU memory", "mem.util", NULL}, {"GPU memory, mean of all", "gpu.mem", NULL}}},
    {"Network", {{"received", "net.rx", ENTITY_TOTAL}, {"sent", "net.tx", ENTITY_TOTAL}}},
};

struct charts_column {
    double sum, min, max;
    size_t n;
};

/* Adds the points of one series to the columns of the line. */
static void charts_add_series(const struct report *r, const struct series *s, double width,
                              struct charts_column *columns)
{
    for (size_t i = 0; i < s->n; i++) {
        const double at = report_since(r, s->t[i]) / width;
        if (at < 0 || at >= REPORT_POINTS || isnan(s->v[i]))
            continue;
        struct charts_column *c = &columns[(size_t)at];
        c->sum += s->v[i];
        c->min = c->n ? fmin(c->min, s->min[i]) : s->min[i];
        c->max = c->n ? fmax(c->max, s->max[i]) : s->max[i];
        c->n++;
    }
}

/* A run with fewer samples than columns leaves columns empty between them; those are not gaps. A
 * gap is where nothing was read for three times the usual distance. */
static void charts_fill_line(const struct report *r, const struct charts_column *columns,
                             double width, struct report_line *line)
{
    size_t used = 0, since = 0;
    for (size_t i = 0; i < REPORT_POINTS; i++)
        used += columns[i].n > 0;
    const size_t usual = used ? (REPORT_POINTS + used - 1) / used : 1;
    line->t = arena_array(r->arena, double, 2 * REPORT_POINTS);
    line->v = arena_array(r->arena, double, 2 * REPORT_POINTS);
    line->min = arena_array(r->arena, double, 2 * REPORT_POINTS);
    line->max = arena_array(r->arena, double, 2 * REPORT_POINTS);
    for (size_t i = 0; i < REPORT_POINTS; i++) {
        const struct charts_column *c = &columns[i];
        if (c->n == 0)
            continue;
        if (line->n && i - since > 3 * usual) {
            line->t[line->n] = width * ((double)since + 1);
            line->v[line->n] = line->min[line->n] = line->max[line->n] = NAN;
            line->n++;
        }
        line->t[line->n] = width * ((double)i + 0.5);
        line->v[line->n] = c->sum / (double)c->n;
        line->min[line->n] = c->min;
        line->max[line->n] = c->max;
        line->n++;
        since = i;
    }
}

static int charts_read_line(struct report *r, struct run *run, const char *node, const char *entity,
                            struct report_line *line, const char **unit, struct err *e)
{
    const double job_s = report_since(r, r->show.phases.job_end), width = job_s / REPORT_POINTS;
    const struct series_ask ask = {.node = node,
                                   .metric = line->metric,
                                   .entity = entity,
                                   .from = r->show.phases.job_start,
                                   .to = {r->show.phases.job_end.ns + 1},
                                   .points = REPORT_POINTS};
    struct charts_column columns[REPORT_POINTS] = {{0}};
    struct series *s;
    size_t n;
    const int rc = series_read(run, &ask, r->arena, &s, &n, e);
    if (rc != 0 || n == 0 || job_s <= 0)
        return rc;
    for (size_t i = 0; i < n; i++)
        charts_add_series(r, &s[i], width, columns);
    *unit = s[0].key.unit;
    charts_fill_line(r, columns, width, line);
    return 0;
}

static int read_chart(struct report *r, struct run *run, const char *node, size_t k, struct err *e)
{
    struct report_chart *c = &r->charts[r->n_charts];
    int rc = 0;
    *c = (struct report_chart){.node = node, .title = charts[k].title};
    for (size_t i = 0; rc == 0 && i < COUNT_OF(charts[k].lines) && charts[k].lines[i].label; i++) {
        struct report_line line = {charts[k].lines[i].label, charts[k].lines[i].metric};
        rc = charts_read_line(r, run, node, charts[k].lines[i].entity, &line, &c->unit, e);
        if (line.n > 0)
            c->lines[c->n++] = line;
    }
    r->n_charts += c->n > 0;
    return rc;
}

static int charts_read(struct report *r, struct run *run, struct err *e)
{
    struct node_view *nodes;
    const size_t n = runview_nodes(r->info, r->arena, &nodes);
    const size_t shown = MIN_OF(n, (size_t)REPORT_NODES);
    r->charts = arena_array(r->arena, struct report_chart, shown * COUNT_OF(charts) + 1);
    r->nodes_left_out = n - shown;
    for (size_t i = 0; i < shown; i++)
        for (size_t k = 0; k < COUNT_OF(charts); k++)
            TRY(read_chart(r, run, nodes[i].last->id, k, e));
    return 0;
}

/* ---- steps ---- */

/* The training steps that count, in groups of `each`. */
static void take_pace(struct report *r, const struct rank_steps *rank, struct report_pace *out)
{
    size_t all = 0, seen = 0, in = 0;
    for (size_t i = 0; i < rank->n; i++)
        all += rank->steps[i].mode == MODE_TRAIN && !rank->steps[i].cut;
    const size_t each = MAX_OF((all + REPORT_POINTS - 1) / REPORT_POINTS, (size_t)1);
    const size_t n = (all + each - 1) / each;
    *out = (struct report_pace){.rank = rank};
    out->step = arena_array(r->arena, double, n + 1);
    out->v = arena_array(r->arena, double, n + 1);
    out->min = arena_array(r->arena, double, n + 1);
    out->max = arena_array(r->arena, double, n + 1);
    for (size_t i = 0; i < rank->n; i++) {
        const struct step *s = &rank->steps[i];
        if (s->mode != MODE_TRAIN || s->cut)
            continue;
        const double took = ns_to_s(MAX_OF(step_iteration_ns(s), s->dur_ns));
        const size_t k = out->n;
        if (in == 0)
            out->step[k] = (double)s->number, out->min[k] = took, out->max[k] = took;
        out->v[k] += took;
        out->min[k] = fmin(out->min[k], took);
        out->max[k] = fmax(out->max[k], took);
        in++;
        seen++;
        if (in == each || seen == all) {
            out->v[k] /= (double)in;
            out->n++;
            in = 0;
        }
    }
}

static int report_steps_read(struct report *r, struct run *run, struct err *e)
{
    const struct steps_ask ask = {.last = REPORT_LAST_STEPS, .rank = -1, .modes = STEPS_ALL_MODES};
    TRY(stepsview_of(&r->steps, run, r->show.ranks, r->show.n_ranks, &ask, r->arena, e));
    r->paces = arena_array(r->arena, struct report_pace, REPORT_RANKS);
    for (size_t i = 0; i < r->show.n_ranks && r->n_paces < REPORT_RANKS; i++) {
        struct report_pace *p = &r->paces[r->n_paces];
        take_pace(r, &r->show.ranks[i], p);
        r->n_paces += p->n > 0;
    }
    return 0;
}

/* ---- operators ---- */

/* Without a detail window there are only the spans of hooks; of a long run those are many and show
 * nothing that the steps do not. */
static const uint64_t SPANS_MOST = 300000;

static int wants_ops(struct report *r, struct run *run, bool *wants, struct err *e)
{
    struct run_track *tracks;
    size_t n;
    uint64_t events = 0;
    bool detail = false;
    const int rc = events_tracks(run, r->arena, &tracks, &n, e);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        detail |= tracks[i].detail;
        events += tracks[i].events;
    }
    *wants = rc == 0 && (detail || events <= SPANS_MOST);
    return rc;
}

/* What the detail windows cost, where operators come from windows of ours. */
static int read_window_costs(struct report *r, struct run *run, struct err *e)
{
    const struct trace_ask all = {0};
    struct detail_range *ranges;
    struct breakdown b;
    size_t n;
    TRY(detail_ranges(run, r->arena, &ranges, &n, e));
    if (n == 0)
        return 0;
    TRY(breakdown_read(run, &all, r->arena, &b, e));
    r->window_costs = arena_array(r->arena, const char *, MAX_OF(b.n_windows, 1));
    for (size_t i = 0; i < b.n_windows; i++) {
        const char *text = window_sentence(&b.windows[i], r->arena);
        if (text)
            r->window_costs[r->n_window_costs++] = text;
    }
    return 0;
}

static int report_ops_read(struct report *r, struct run *run, struct err *e)
{
    bool wants = false;
    struct opsview_ask ask = {.device = -1, .limit = REPORT_OPS};
    TRY(wants_ops(r, run, &wants, e));
    if (wants)
        TRY(opsview_read(&r->ops, run, &ask, r->arena, e));
    for (size_t i = 0; i < r->ops.n; i++) {
        const struct op_row *x = &r->ops.v[i];
        if (r->op_s[x->device] == 0 && x->share > 0)
            r->op_s[x->device] = (double)x->self_ns / (double)NS_PER_S / x->share;
    }
    if (r->ops.n == 0)
        r->no_ops = "no operators were recorded: record some steps in detail with 'footplate run "
                    "--detail-steps 5:2', or import a profiler trace";
    return r->ops.n ? read_window_costs(r, run, e) : 0;
}

/* ---- rules ---- */

static double report_read_cost_of(const struct verdict *v)
{
    return v->state == RULE_ISSUE && !isnan(v->lost_s) ? v->lost_s : -1;
}

/* The place of a rule in the list when it cost nothing. */
static int report_read_place_of(const struct verdict *v)
{
    static const int places[RULE_STATE_N] = {
        [RULE_ISSUE] = 0, [RULE_CLEAR] = 1, [RULE_NOT_EVALUATED] = 2};
    return places[v->state];
}

/* Costliest first, then by triggers; equal ones stay as rules.def has them. */
static int by_cost(const void *a, const void *b)
{
    const struct report_rule *x = a, *y = b;
    const double p = report_read_cost_of(x->v), q = report_read_cost_of(y->v);
    if (p != q)
        return p < q ? 1 : -1;
    if (x->v->triggered != y->v->triggered)
        return x->v->triggered < y->v->triggered ? 1 : -1;
    if (report_read_place_of(x->v) != report_read_place_of(y->v))
        return report_read_place_of(x->v) - report_read_place_of(y->v);
    return strcmp(x->v->rule->name, y->v->rule->name);
}

static void report_read_take_rules(struct report *r)
{
    const struct report_ask *ask = &r->ask;
    r->rules = arena_array(r->arena, struct report_rule, RULE_N + ask->n_own);
    for (size_t k = 0; k < RULE_N; k++)
        if (!verdict_has_nothing(&ask->checked->verdicts.v[k]))
            r->rules[r->n_rules++] =
                (struct report_rule){&ask->checked->verdicts.v[k], ask->params->v[k]};
    for (size_t i = 0; i < ask->n_own; i++)
        r->rules[r->n_rules++] = (struct report_rule){&ask->own[i].v, ask->own[i].p};
    SORT(r->rules, r->n_rules, by_cost);
    for (size_t i = 0; i < r->n_rules; i++)
        if (verdict_counts(r->rules[i].v))
            r->states[r->rules[i].v->state]++;
        else
            r->summaries++;
}

const struct verdict *report_verdict(const struct report *r, const char *rule)
{
    const size_t at = FIND_FIRST(i, r->n_rules, strcmp(r->rules[i].v->rule->name, rule) == 0);
    return at < r->n_rules ? r->rules[at].v : NULL;
}

/* ---- the job ---- */

double report_since(const struct report *r, wall_ns t)
{
    return (double)(t.ns - r->show.phases.job_start.ns) / (double)NS_PER_S;
}

static double report_read_price_of(const struct report *r, const char *node)
{
    const struct checked *c = r->ask.checked;
    const size_t at = FIND_FIRST(i, c->n_nodes, strcmp(c->nodes[i].id, node) == 0);
    return at < c->n_nodes ? c->nodes[at].price_per_hour : NAN;
}

/* With the prices that the rules were evaluated with; all sessions of a node are paid for. */
static void take_cost(struct report *r)
{
    const struct run_info *info = r->info;
    r->cost = r->price_per_hour = info->n_nodes ? 0 : NAN;
    for (size_t i = 0; i < info->n_nodes; i++) {
        const struct node_info *n = &info->nodes[i];
        const double price = report_read_price_of(r, n->id);
        const bool last = i + 1 == info->n_nodes || strcmp(n->id, info->nodes[i + 1].id) != 0;
        r->cost += node_hours(n) * price;
        r->price_per_hour += last ? price : 0;
    }
    if (isnan(r->cost))
        r->price_per_hour = NAN;
}

/* What `show` shows, with steps that were read once. */
static int take_show(struct report *r, struct run *run, struct err *e)
{
    if (!r->ask.ranks)
        return show_read(&r->show, run, r->arena, e);
    const struct run_steps steps = {r->ask.ranks, r->ask.n_ranks, r->ask.named, r->ask.n_named};
    return show_read_named(&r->show, run, &steps, r->arena, e);
}

/* The same numbers as of the whole job, in the training loop. */
static int take_loop_use(struct report *r, struct run *run, struct err *e)
{
    const struct loop_window *w = &r->show.gpu.x.window;
    const struct series_ask ask = {.from = w->from, .to = w->to};
    struct summary_line *lines;
    size_t n;
    if (!w->known)
        return 0;
    TRY(summary_read(run, &ask, &r->show.losses, r->arena, &lines, &n, e));
    statview_of(&r->loop_use, lines, n, r->arena);
    r->loop_use.window = "loop";
    return 0;
}

int report_gather(struct report **out, struct run *run, const struct report_ask *ask,
                  struct arena *a, struct err *e)
{
    struct report *r = arena_new(a, struct report);
    *r = (struct report){.arena = a, .ask = *ask, .info = run_get_info(run)};
    r->now = ask->now.ns ? ask->now : clock_wall();
    r->live = r->info->status == RUN_RUNNING;
    TRY(take_show(r, run, e));
    statview_of(&r->use, r->show.lines, r->show.n_lines, a);
    show_percents(&r->show, r->phase_pct);
    TRY(take_loop_use(r, run, e));
    TRY(charts_read(r, run, e));
    TRY(report_steps_read(r, run, e));
    TRY(report_ops_read(r, run, e));
    TRY(report_health_read(r, run, e));
    TRY(general_read(run, REPORT_GENERAL, a, &r->general, e));
    *out = r;
    return 0;
}

void report_conclude(struct report *r, const struct report_ask *ask)
{
    r->ask = *ask;
    report_read_take_rules(r);
    take_cost(r);
}

int report_read(struct report **out, struct run *run, const struct report_ask *ask, struct arena *a,
                struct err *e)
{
    TRY(report_gather(out, run, ask, a, e));
    report_conclude(*out, ask);
    return 0;
}
