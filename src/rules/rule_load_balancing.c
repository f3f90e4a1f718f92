/* SPDX-License-Identifier: Apache-2.0 */
/* rule_load_balancing.c - GPUs of a node that have more to do than others. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "rules/rule_internal.h"

/* ==== how far apart two GPUs are ==== */

const double shape_edges[SHAPE_BINS + 1] = {0,    2.5,  7.5,  12.5, 17.5, 22.5, 27.5, 32.5,
                                            37.5, 42.5, 47.5, 52.5, 57.5, 62.5, 67.5, 72.5,
                                            77.5, 82.5, 87.5, 92.5, 97.5, 100};

static double balance_bits(double share)
{
    return share > 0 ? -share * log2(share) : 0;
}

struct shape shape_of(const struct hist *h)
{
    struct shape s = {.mean = hist_mean(h)};
    uint64_t count[SHAPE_BINS] = {0};
    for (size_t i = 0; i < HIST_BINS; i++)
        count[(i + 25) / 50] += h->bin[i];
    for (size_t i = 0; h->n && i < SHAPE_BINS; i++) {
        s.share[i] = (double)count[i] / (double)h->n;
        s.entropy += balance_bits(s.share[i]);
    }
    return s;
}

double shape_distance(const struct shape *a, const struct shape *b)
{
    double both = 0;
    for (size_t i = 0; i < SHAPE_BINS; i++)
        both += balance_bits((a->share[i] + b->share[i]) / 2);
    return sqrt(fmin(fmax(both - (a->entropy + b->entropy) / 2, 0), 1));
}

double hist_apart(const struct hist *a, const struct hist *b)
{
    double area = 0, f = 0, g = 0; /* shares that lie at or below the bin */
    for (size_t i = 0; i + 1 < HIST_BINS; i++) {
        f += (double)a->bin[i] / (double)a->n;
        g += (double)b->bin[i] / (double)b->n;
        area += fabs(f - g);
    }
    return area / 10;
}

double hist_chance_gap(const struct hist *a, const struct hist *b)
{
    double area = 0, f = 0, g = 0;
    for (size_t i = 0; i + 1 < HIST_BINS; i++) {
        f += (double)a->bin[i] / (double)a->n;
        g += (double)b->bin[i] / (double)b->n;
        area += f * (1 - g) + g * (1 - f);
    }
    return area / 10;
}

/* ---- at once ---- */

enum { CHUNK = 256 };

static void balance_fit(struct gaps *g, size_t n)
{
    if (n <= g->n)
        return;
    g->v = xrealloc(g->v, n, sizeof *g->v);
    memset(g->v + g->n, 0, (n - g->n) * sizeof *g->v);
    g->n = n;
}

/* The tenths of a column of the batch, from `from` on; `room` is for those that are not shared. */
static const uint16_t *balance_tenths(const struct sweeps *s, const float *v, size_t from, size_t n,
                                      uint16_t *room)
{
    const uint16_t *all = v ? shared_tenths(s, v) : NULL;
    if (all)
        return all + from;
    if (v)
        hist_tenths(v + from, n, room);
    for (size_t i = 0; !v && i < n; i++)
        room[i] = TENTHS_NAN;
    return room;
}

static bool has_missing(const uint16_t *v, size_t n)
{
    uint16_t missing = 0;
    for (size_t i = 0; i < n; i++)
        missing |= v[i] == TENTHS_NAN;
    return missing;
}

/* Of two that have all. Sums have 16 bits, so that a vector has room for many: enough for so many
 * differences. */
enum { FEW = UINT16_MAX / TENTHS_MOST / 8 * 8 };

static uint32_t sum_apart(const uint16_t *a, const uint16_t *b, size_t n)
{
    uint32_t all = 0;
    for (size_t i = 0; i < n; i += FEW) {
        const size_t end = MIN_OF(n, i + FEW);
        uint16_t sum = 0;
        for (size_t k = i; k < end; k++)
            sum = (uint16_t)(sum + (a[k] > b[k] ? a[k] - b[k] : b[k] - a[k]));
        all += sum;
    }
    return all;
}

static void add_whole(struct gap *g, const uint16_t *a, const uint16_t *b, size_t n)
{
    g->sum += sum_apart(a, b, n);
    g->n += n;
}

static void add_pair(struct gap *g, const uint16_t *a, const uint16_t *b, size_t n)
{
    uint32_t sum = 0, count = 0;
    for (size_t i = 0; i < n; i++) {
        const int32_t d = a[i] - b[i];
        const bool both = (a[i] != TENTHS_NAN) & (b[i] != TENTHS_NAN);
        sum += both ? (uint32_t)(d < 0 ? -d : d) : 0;
        count += both;
    }
    g->sum += sum;
    g->n += count;
}

void gaps_add(struct gaps *g, const struct sweeps *s)
{
    uint16_t room[RULE_GPUS_MOST][CHUNK];
    const uint16_t *v[RULE_GPUS_MOST];
    bool missing[RULE_GPUS_MOST];
    const size_t gpus = MIN_OF(s->n_gpus, (size_t)RULE_GPUS_MOST);
    if (gpus < 2)
        return;
    balance_fit(g, gpus * (gpus - 1) / 2);
    for (size_t i = 0; i < s->n; i += CHUNK) {
        const size_t n = MIN_OF(s->n - i, (size_t)CHUNK);
        for (size_t k = 0; k < gpus; k++) {
            v[k] = balance_tenths(s, s->gpus[k].v[GPU_SIG_UTIL], i, n, room[k]);
            missing[k] = has_missing(v[k], n);
        }
        for (size_t b = 1, at = 0; b < gpus; b++)
            for (size_t a = 0; a < b; a++)
                (missing[a] || missing[b] ? add_pair : add_whole)(&g->v[at++], v[a], v[b], n);
    }
}

void gaps_memory(struct gaps *g, enum state_op op)
{
    state_memory(op, &g->v, g->n * sizeof *g->v);
}

double gaps_mean(const struct gaps *g, size_t a, size_t b)
{
    const size_t lo = MIN_OF(a, b), hi = MAX_OF(a, b), at = hi * (hi - 1) / 2 + lo;
    if (lo == hi || at >= g->n || g->v[at].n == 0)
        return NAN;
    return (double)g->v[at].sum / (double)g->v[at].n / 10;
}

/* ==== the rule ==== */

/* LoadBalancing: the GPUs of the job do not share the work evenly, over time or at once. */

enum { THRESHOLD, PATIENCE };

enum { LEAST = 50 }; /* readings of a GPU that make a histogram */

/* Histograms of two steady GPUs have nothing in common even at 90 % and 93 %: that is no uneven
 * share of the work. Percentage points. */
static const double APART_LEAST = 5;
/* At once: percentage points, and against what two GPUs that know nothing of each other would
 * show. */
static const double GAP_LEAST = 20, GAP_OVER_CHANCE = 1.25;

struct balance_gpu {
    struct gpu_head head;
    struct hist util;
};

struct balance_state {
    struct node_state head;
    struct gaps gaps;
    int64_t period_ns;
};

static void balance_see_gpu(void *gpu, const struct gpu_batch *c)
{
    shared_hist(c->s, c->gpu->v[GPU_SIG_UTIL], &((struct balance_gpu *)gpu)->util);
}

static void balance_sweeps(void *state, const struct rule_view *c, const struct sweeps *s)
{
    struct balance_state *t = state;
    (void)c;
    gaps_add(&t->gaps, s);
    t->period_ns = s->period_ns;
}

static void balance_memory(void *state, enum state_op op)
{
    gaps_memory(&((struct balance_state *)state)->gaps, op);
}

/* ---- judging ---- */

/* A GPU in use, of any node. */
struct balance_entry {
    size_t node, index;
    const struct balance_gpu *g;
    struct shape shape;
};

struct entries {
    struct balance_entry *v;
    size_t n, busiest;
    double mean; /* of all */
};

static struct entries entries_of(const struct judge *j)
{
    struct entries e = {0};
    size_t most = 0;
    const struct balance_gpu *g;
    for (struct entity_at at = {0}; next_gpu(j, &at);)
        most++;
    e.v = arena_array(j->arena, struct balance_entry, MAX_OF(most, 1));
    for (struct entity_at at = {0}; (g = next_gpu(j, &at));) {
        if (g->util.n < LEAST)
            continue;
        e.v[e.n] = (struct balance_entry){at.next_node, at.next - 1, g, shape_of(&g->util)};
        if (e.v[e.n].shape.mean > e.v[e.busiest].shape.mean)
            e.busiest = e.n;
        e.mean += e.v[e.n++].shape.mean;
    }
    e.mean /= (double)MAX_OF(e.n, 1);
    return e;
}

/* Two GPUs that are apart; a is the less used one. */
struct pair {
    const struct balance_entry *a, *b;
    double distance, gap; /* gap: of turns, else NAN */
    uint64_t pairs;       /* like it on the node of a */
};

static void balance_offer(struct pair *worst, const struct balance_entry *x,
                          const struct balance_entry *y, double distance, double gap)
{
    const bool x_less = x->shape.mean <= y->shape.mean;
    const struct pair p = {x_less ? x : y, x_less ? y : x, distance, gap, 0};
    struct pair *w = &worst[p.a->node];
    const uint64_t pairs = w->pairs + 1;
    const double size = isnan(gap) ? distance : gap;
    if (!w->a || size > (isnan(gap) ? w->distance : w->gap))
        *w = p;
    w->pairs = pairs;
}

/* Balanced over time, but while one works the other waits. */
static double turns(const struct judge *j, const struct balance_entry *x,
                    const struct balance_entry *y)
{
    if (x->node != y->node)
        return NAN; /* clocks and sweeps of nodes do not match */
    const struct balance_state *t = j->nodes[x->node].state;
    const double gap = gaps_mean(&t->gaps, x->index, y->index);
    return gap >= GAP_LEAST && gap >= GAP_OVER_CHANCE * hist_chance_gap(&x->g->util, &y->g->util)
               ? gap
               : NAN;
}

static bool is_apart(const struct balance_entry *x, const struct balance_entry *y)
{
    return fabs(x->shape.mean - y->shape.mean) >= APART_LEAST || /* shown without the work */
           hist_apart(&x->g->util, &y->g->util) >= APART_LEAST;
}

/* Fills the worst pair of each node by time and by turns; returns the largest distance. */
static double compare_all(const struct judge *j, const struct entries *e, struct pair *uneven,
                          struct pair *turn)
{
    double most = 0;
    for (size_t x = 0; x < e->n; x++)
        for (size_t y = x + 1; y < e->n; y++) {
            const struct balance_entry *a = &e->v[x], *b = &e->v[y];
            const double d = shape_distance(&a->shape, &b->shape);
            const bool over = d > j->p[THRESHOLD].v;
            most = fmax(most, d);
            if (over && is_apart(a, b))
                balance_offer(uneven, a, b, d, NAN);
            else if (!isnan(turns(j, a, b)))
                balance_offer(turn, a, b, d, turns(j, a, b));
        }
    return most;
}

static const char *balance_name_of(const struct judge *j, const struct balance_entry *x)
{
    return j->n_nodes < 2
               ? x->g->head.entity
               : arena_printf(j->arena, "%s of %s", x->g->head.entity, j->nodes[x->node].facts->id);
}

static double balance_seconds_of(const struct judge *j, const struct balance_entry *x)
{
    const struct balance_state *t = j->nodes[x->node].state;
    return (double)x->g->util.n * (double)t->period_ns / 1e9;
}

static struct finding *balance_begin(const struct judge *j, const struct pair *p, struct verdict *v)
{
    const struct judged_node *node = &j->nodes[p->a->node];
    const struct balance_state *t = node->state;
    struct finding *f = verdict_find(v, node->facts->id, p->a->g->head.entity);
    finding_when(v, f, &(struct time_range){node->from, t->head.seen.end}, 1);
    finding_count(v, f, 1, p->pairs);
    return f;
}

/* What the GPUs of the node idle more than the busiest GPU of the job does. */
static double idle_gpu_s(const struct judge *j, const struct entries *e, size_t node)
{
    double idle = 0;
    for (size_t i = 0; i < e->n; i++)
        if (e->v[i].node == node)
            idle += (e->v[e->busiest].shape.mean - e->v[i].shape.mean) / 100 *
                    balance_seconds_of(j, &e->v[i]);
    return idle;
}

static void find_uneven(const struct judge *j, const struct entries *e, const struct pair *p,
                        struct verdict *v)
{
    const double less = p->a->shape.mean, more = p->b->shape.mean;
    struct finding *f = balance_begin(j, p, v);
    finding_say(v, f,
                "%s (mean %.0f %%) and %s (mean %.0f %%) were unevenly loaded: the Jensen-Shannon "
                "distance of their utilization histograms was %.2f (threshold %g)",
                balance_name_of(j, p->a), less, balance_name_of(j, p->b), more, p->distance,
                j->p[THRESHOLD].v);
    finding_advise(v, f,
                   "Give %s as much work as %s: even shards and batches, the same model part on "
                   "each, or another distribution strategy. With an even load, the work would take "
                   "%.0f %% of the time.",
                   balance_name_of(j, p->a), balance_name_of(j, p->b),
                   100 * e->mean / e->v[e->busiest].shape.mean);
    f->refute = "the GPUs are different models, or do different work on purpose";
    FINDING_NUMBERS(v, f, p->distance, more - less, hist_apart(&p->a->g->util, &p->b->g->util),
                    NUMBER_ABSENT, NUMBER_ABSENT, (double)p->pairs);
    f->lost_gpu_s = idle_gpu_s(j, e, p->a->node);
    f->lost_s = balance_seconds_of(j, p->a) * (1 - e->mean / e->v[e->busiest].shape.mean);
}

static void find_turns(const struct judge *j, const struct pair *p, struct verdict *v)
{
    const struct hist *a = &p->a->g->util, *b = &p->b->g->util;
    const double chance = hist_chance_gap(a, b);
    struct finding *f = balance_begin(j, p, v);
    finding_say(
        v, f,
        "%s and %s took turns: their mean utilization was similar (%.0f and %.0f %%, "
        "distance %.2f), but at the same moment they differed by %.0f percentage points on average "
        "(%.0f expected for independent GPUs)",
        balance_name_of(j, p->a), balance_name_of(j, p->b), p->a->shape.mean, p->b->shape.mean,
        p->distance, p->gap, chance);
    finding_advise(v, f,
                   "One of %s and %s waits while the other works: split the batch into more "
                   "micro-batches, or use data parallelism instead of stages.",
                   balance_name_of(j, p->a), balance_name_of(j, p->b));
    f->refute = "the two GPUs were not read at the same time";
    FINDING_NUMBERS(v, f, p->distance, NUMBER_ABSENT, NUMBER_ABSENT, p->gap, chance,
                    (double)p->pairs);
    f->lost_s = balance_seconds_of(j, p->a) * (p->gap - chance) / 100;
    f->lost_gpu_s = 2 * f->lost_s;
}

static void balance_plot(const struct judge *j, const struct entries *e, struct verdict *out)
{
    struct plot *p = verdict_plot(out, PLOT_HISTOGRAM, "GPU utilization", "%");
    p->edges = shape_edges;
    p->n_edges = SHAPE_BINS + 1;
    for (size_t i = 0; i < e->n; i++) {
        double counts[SHAPE_BINS];
        for (size_t k = 0; k < SHAPE_BINS; k++)
            counts[k] = round(e->v[i].shape.share[k] * (double)e->v[i].g->util.n);
        plot_row(out, p, judge_gpu_name(j, &j->nodes[e->v[i].node], e->v[i].g), counts, SHAPE_BINS);
    }
}

static void balance_judge(const struct judge *j, struct verdict *out)
{
    const struct entries e = entries_of(j);
    for (size_t i = 0; i < e.n; i++)
        out->datapoints = MAX_OF(out->datapoints, e.v[i].g->util.n);
    if (e.n < 2) {
        if (!judge_is_short(j, LEAST, out))
            verdict_not_evaluated(out, "needs two GPUs in use, has %zu", e.n);
        return;
    }
    struct pair *uneven = arena_array(j->arena, struct pair, j->n_nodes);
    struct pair *turn = arena_array(j->arena, struct pair, j->n_nodes);
    const double most = compare_all(j, &e, uneven, turn);
    balance_plot(j, &e, out);
    for (size_t i = 0; i < j->n_nodes; i++) {
        if (uneven[i].a)
            find_uneven(j, &e, &uneven[i], out);
        if (turn[i].a)
            find_turns(j, &turn[i], out);
    }
    if (out->state == RULE_CLEAR)
        verdict_why(out, "%zu GPUs in use, distance at most %.2f (threshold %g)", e.n, most,
                    j->p[THRESHOLD].v);
}

const struct rule rule_load_balancing = {
    .name = "LoadBalancing",
    .title = "Load balance",
    .description = "Checks whether the job's GPUs are evenly loaded, by the Jensen-Shannon "
                   "distance between the utilization histograms of each pair (0: identical, 1: no "
                   "overlap); differences below 5 percentage points are ignored. Also checks "
                   "whether GPUs of a node take turns, by their difference at the same moment.",
    .recommendation =
        "Give every GPU the same amount of work, or use another distribution strategy.",
    RULE_PARAMS(
        [THRESHOLD] =
            {"threshold", 0.2, 0, 1, PARAM_RATIO,
             "maximum Jensen-Shannon distance between the utilization histograms of two GPUs "
             "(0: identical, 1: no overlap)"},
        [PATIENCE] = {"patience", 1000, 0, 1e7, PARAM_POINTS,
                      "readings skipped at the start when no steps are known"}),
    .labels = {{"distance", "", "Jensen-Shannon distance"},
               {"mean_difference", "%", "Difference of mean utilization"},
               {"moved", "%", ""},
               {"gap", "%", "Difference at the same moment, average"},
               {"gap_by_chance", "%", "Difference expected for independent GPUs"},
               {"pairs", "", "Affected GPU pairs"}},
    .estimates = true,
    .needs = NEEDS_SWEEPS | NEEDS_GPU,
    .explained_by = (const char *const[]){"GPUThrottling", "Straggler", NULL},
    RULE_STATE(struct balance_state, .gpu_size = sizeof(struct balance_gpu), .gpu = balance_see_gpu,
               .sweeps = balance_sweeps, .memory_own = balance_memory),
    .judge = balance_judge,
};
