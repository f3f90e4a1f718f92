/* SPDX-License-Identifier: Apache-2.0 */
/* efficiency.c - see efficiency.h. */
#include "query/efficiency.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/stat.h"
#include "base/vec.h"
#include "query/block_cursor.h"
#include "query/reduce.h"
#include "record/record.h"

/* ---- data sheets of GPUs ---- */

/* What GPUs can do at most, from the vendors' data sheets: dense, without sparsity. Words of the
 * name, format, FP16/BF16, TF32, FP32 in TFLOP/s, memory in TB/s, MHz, W.
 *
 * The words are searched in the name that the driver gives, in upper case; the longest that match
 * count. A GPU that is not here has no peak: a guess would make every share of it wrong.
 * MHz: the SM clock at which the data sheet's FP16/BF16 number applies (SMs x FLOP a clock x
 * clock), which is below the highest clock of some cards (H100 and H200: 1980). 0 in a column: not
 * offered, or not published. */
const struct gpu_peak gpu_peaks[] = {
    {"V100-SXM2", "FP16", 125, 0, 15.7, 0.900, 1530, 300},
    {"V100-PCIE", "FP16", 112, 0, 14, 0.900, 1367, 250},
    {"T4", "FP16", 65, 0, 8.1, 0.320, 1590, 70},
    {"A100-SXM4-40GB", "BF16", 312, 156, 19.5, 1.555, 1410, 400},
    {"A100-SXM4-80GB", "BF16", 312, 156, 19.5, 2.039, 1410, 400},
    {"A100-SXM-40GB", "BF16", 312, 156, 19.5, 1.555, 1410, 400},
    {"A100-SXM-80GB", "BF16", 312, 156, 19.5, 2.039, 1410, 400},
    {"A100-PCIE-40GB", "BF16", 312, 156, 19.5, 1.555, 1410, 250},
    {"A100 80GB PCIE", "BF16", 312, 156, 19.5, 1.935, 1410, 300},
    {"A100-PCIE-80GB", "BF16", 312, 156, 19.5, 1.935, 1410, 300},
    {"A10", "BF16", 125, 62.5, 31.2, 0.600, 1695, 150},
    {"A10G", "BF16", 70, 35, 31.5, 0.600, 1710, 300},
    {"L4", "BF16", 121, 60, 30.3, 0.300, 2040, 72},
    {"L40S", "BF16", 362, 183, 91.6, 0.864, 2490, 350},
    {"H100 80GB HBM3", "BF16", 989, 495, 67, 3.35, 1830, 700},
    {"H100 PCIE", "BF16", 756, 378, 51, 2.0, 1620, 350},
    {"H100 NVL", "BF16", 835, 418, 60, 3.94, 1545, 400},
    {"H200", "BF16", 989, 495, 67, 4.8, 1830, 700},
    {"H200 NVL", "BF16", 835, 418, 60, 4.8, 1545, 600},
    {"B200", "BF16", 2250, 1100, 75, 7.67, 1856, 1000},
    {"MI250X", "BF16", 191.5, 0, 23.9, 1.64, 1700, 280},
    {"MI250", "BF16", 181, 0, 22.6, 1.64, 1700, 280},
    {"MI300X", "BF16", 1307, 654, 163.4, 5.3, 2100, 750},
};

const size_t n_gpu_peaks = COUNT_OF(gpu_peaks);

static bool starts_with_words(const char *text, const char *words)
{
    while (*words && toupper((unsigned char)*text) == *words) {
        text++;
        words++;
    }
    return !*words && !isalnum((unsigned char)*text); /* "A10" is not in "A100" */
}

/* Whether the words are in the name, from the start of one of its words to the end of one. */
static bool has_words(const char *name, const char *words)
{
    for (const char *p = name; *p; p++)
        if ((p == name || !isalnum((unsigned char)p[-1])) && starts_with_words(p, words))
            return true;
    return false;
}

/* "NVIDIA A10-24Q": profiles of NVIDIA's virtual GPUs end with their memory and a letter. */
static bool is_virtual(const char *name)
{
    const char *p = strrchr(name, '-');
    const size_t digits = p ? strspn(p + 1, "0123456789") : 0;
    return digits > 0 && p[1 + digits] && strchr("ABCQ", p[1 + digits]) && !p[2 + digits];
}

const struct gpu_peak *gpu_peak_find(const char *name)
{
    const struct gpu_peak *best = NULL;
    if (!name || has_words(name, "MIG") || has_words(name, "GRID") || is_virtual(name))
        return NULL;
    for (size_t i = 0; i < n_gpu_peaks; i++)
        if (has_words(name, gpu_peaks[i].words) &&
            (!best || strlen(gpu_peaks[i].words) > strlen(best->words)))
            best = &gpu_peaks[i];
    return best;
}

/* ---- the loop ---- */

static bool step_trains(const struct step *s)
{
    return s->mode == MODE_TRAIN && !s->cut;
}

/* The training steps of one rank. */
struct rank_loop {
    size_t steps, steady;
    wall_ns first, first_steady, last, end; /* begins; the end of the last */
};

static struct rank_loop rank_loop_of(const struct rank_steps *r)
{
    struct rank_loop l = {0};
    for (size_t i = 0; i < r->n; i++) {
        const struct step s = rank_step(r, i);
        if (!step_trains(&s))
            continue;
        if (l.steps++ == 0)
            l.first = s.start;
        if (!s.warmup && l.steady++ == 0)
            l.first_steady = s.start;
        l.last = s.start;
        l.end = (wall_ns){s.start.ns + s.dur_ns};
    }
    return l;
}

static void count_rank(const struct rank_steps *r, struct loop_window *w)
{
    uint64_t steps = 0;
    double samples = 0;
    bool known = false;
    for (size_t i = 0; i < r->n; i++) {
        const struct step s = rank_step(r, i);
        if (!step_trains(&s) || s.start.ns < w->from.ns || s.start.ns >= w->to.ns)
            continue;
        steps++;
        known |= s.batch >= 0;
        samples += (double)MAX_OF(s.batch, 0);
    }
    w->steps = MAX_OF(w->steps, steps);
    if (steps > 0)
        w->samples += known ? samples : NAN;
}

/* A rank that began later than the others, as one that joined, does not move the start: what counts
 * is where most of the loop lies, so the earliest steady step is taken. */
void loop_window_of(const struct rank_steps *ranks, size_t n, struct loop_window *out)
{
    struct loop_window w = {.samples = 0};
    wall_ns first = {0}, end = {0}, steady = {0}, last = {0};
    for (size_t i = 0; i < n; i++) {
        const struct rank_loop l = rank_loop_of(&ranks[i]);
        if (l.steps == 0)
            continue;
        first = w.known && first.ns < l.first.ns ? first : l.first;
        end = end.ns > l.end.ns ? end : l.end;
        w.known = true;
        if (l.steady < 2)
            continue;
        steady = w.steady && steady.ns < l.first_steady.ns ? steady : l.first_steady;
        last = last.ns > l.last.ns ? last : l.last;
        w.steady = true;
    }
    w.from = w.steady ? steady : first;
    w.to = w.steady ? last : end;
    for (size_t i = 0; i < n && w.known; i++)
        count_rank(&ranks[i], &w);
    if (w.samples <= 0)
        w.samples = NAN;
    *out = w;
}

/* ---- the allocator ---- */

bool allocator_event_wanted(enum event_id id)
{
    return id == EV_CUDA_PEAK || id == EV_CUDA_RESERVED || id == EV_CUDA_TF32;
}

struct allocator_peak allocator_peak_of(const struct node_events *named, size_t n)
{
    struct allocator_peak p = {-1, -1, false};
    struct named_event v[PACKED_ROWS];
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < named[k].n; i += PACKED_ROWS) {
            const size_t some = node_events_read(&named[k], i, v);
            for (size_t x = 0; x < some; x++) {
                if (v[x].id == EV_CUDA_PEAK)
                    p.allocated_bytes = MAX_OF(p.allocated_bytes, v[x].value);
                if (v[x].id == EV_CUDA_RESERVED)
                    p.reserved_bytes = MAX_OF(p.reserved_bytes, v[x].value);
                if (v[x].id == EV_CUDA_TF32)
                    p.tf32 = v[x].value > 0; /* the last report counts */
            }
        }
    return p;
}

/* ---- reasons ---- */

#define X(id, bit, name, words) [CLOCK_HOLD_##id] = {bit, name, words},
static const struct {
    uint32_t bit;
    const char *name, *words;
} holds[CLOCK_HOLD_N] = {CLOCK_HOLDS(X)};
#undef X

const char *clock_hold_name(enum clock_hold h)
{
    return holds[h].name;
}

const char *clock_hold_words(enum clock_hold h)
{
    return holds[h].words;
}

/* ---- integrals over time ---- */

/* Of a longer distance between two samples nothing is known. */
enum { GAP_USUAL = 5 };
static const double GAP_LEAST_S = 3;

/* The median distance of two samples, s. */
static double usual_distance(const struct series *s)
{
    assert(s->n >= 2);
    double *d = xmalloc(s->n * sizeof *d);
    for (size_t i = 1; i < s->n; i++)
        d[i - 1] = ns_to_s(s->t[i].ns - s->t[i - 1].ns);
    stat_sort(d, s->n - 1);
    const double median = stat_quantile(d, s->n - 1, 0.5);
    free(d);
    return median;
}

/* Points of several samples each begin at their first one; a single sample ends the time that it
 * covers. */
static bool is_reduced(const struct series *s)
{
    return FIND_ANY(i, s->n, s->min[i] < s->max[i]);
}

/* From `at` s to `end` s, times of the series' own; the value goes from v to w. */
struct efficiency_interval {
    double at, end, v, w;
};

static void efficiency_add_interval(struct time_integral *sum, struct efficiency_interval p,
                                    double from, double to)
{
    const double lo = fmax(p.at, from), hi = fmin(p.end, to);
    if (hi <= lo || isnan(p.v) || isnan(p.w))
        return;
    const double middle = ((lo + hi) / 2 - p.at) / (p.end - p.at);
    sum->sum += (p.v + (p.w - p.v) * middle) * (hi - lo);
    sum->covered_s += hi - lo;
}

struct time_integral series_integral(const struct series *s, enum sampled how, wall_ns from,
                                     wall_ns to)
{
    struct time_integral sum = {0};
    if (s->n < 2)
        return sum;
    const bool reduced = is_reduced(s);
    const double usual = usual_distance(s), gap = fmax(GAP_LEAST_S, GAP_USUAL * usual);
    const double lo = 0, hi = ns_to_s(to.ns - from.ns);
    for (size_t i = 0; i < s->n; i++) {
        const double at = ns_to_s(s->t[i].ns - from.ns);
        const double before = i ? ns_to_s(s->t[i - 1].ns - from.ns) : at - usual;
        const double after = i + 1 < s->n ? ns_to_s(s->t[i + 1].ns - from.ns) : at + usual;
        const double v = s->v[i];
        if (reduced)
            efficiency_add_interval(
                &sum, (struct efficiency_interval){at, fmin(after, at + gap), v, v}, lo, hi);
        else if (how == SAMPLED_INTERVAL)
            efficiency_add_interval(
                &sum, (struct efficiency_interval){fmax(before, at - gap), at, v, v}, lo, hi);
        else if (i == 0 || at - before > gap)
            efficiency_add_interval(&sum, (struct efficiency_interval){at - usual, at, v, v}, lo,
                                    hi);
        else
            efficiency_add_interval(&sum, (struct efficiency_interval){before, at, s->v[i - 1], v},
                                    lo, hi);
        if (!reduced && how == SAMPLED_POINT && (i + 1 == s->n || after - at > gap))
            efficiency_add_interval(&sum, (struct efficiency_interval){at, at + usual, v, v}, lo,
                                    hi);
    }
    return sum;
}

/* ---- reading ---- */

static const struct {
    enum metric_id metric;
    enum sampled how;
} means[GPU_MEANS] = {
    [GPU_MEAN_UTIL] = {M_GPU_UTIL, SAMPLED_INTERVAL},
    [GPU_MEAN_SM] = {M_GPU_SM_ACTIVE, SAMPLED_INTERVAL},
    [GPU_MEAN_OCCUPANCY] = {M_GPU_SM_OCCUPANCY, SAMPLED_INTERVAL},
    [GPU_MEAN_TENSOR] = {M_GPU_TENSOR_ACTIVE, SAMPLED_INTERVAL},
    [GPU_MEAN_DRAM] = {M_GPU_DRAM_ACTIVE, SAMPLED_INTERVAL},
    [GPU_MEAN_POWER] = {M_GPU_POWER, SAMPLED_POINT}, /* see read_energy */
    [GPU_MEAN_CLOCK] = {M_GPU_CLOCK_SM, SAMPLED_POINT},
};

/* Points of a series that an integral is made of: a window with fewer samples is exact, of a longer
 * one the error at its edges is a thousandth. */
enum { INTEGRAL_POINTS = 2048 };

struct efficiency_reader {
    struct run *run;
    struct arena *arena; /* of what is read on the way */
    struct efficiency *out;
    int64_t margin_ns; /* samples that cover the window's edges lie outside of it */
};

static struct gpu_efficiency *efficiency_find_gpu(const struct efficiency *x,
                                                  const struct series_key *k)
{
    for (size_t i = 0; i < x->n_gpus; i++)
        if (strcmp(x->gpus[i].node, k->node) == 0 && strcmp(x->gpus[i].entity, k->entity) == 0)
            return &x->gpus[i];
    return NULL;
}

static void clear_use(struct gpu_use *u)
{
    for (size_t i = 0; i < GPU_MEANS; i++)
        u->mean[i] = NAN;
    for (size_t i = 0; i < CLOCK_HOLD_N; i++)
        u->held_pct[i] = NAN;
    u->held_any_pct = u->energy_j = u->measured_share = NAN;
    u->tflops = u->peak_tflops = u->mfu_pct = u->dram_tb_s = u->mem_used_bytes = NAN;
}

static const char *gpu_name(const struct run_info *info, const char *node, const char *entity)
{
    const char *name = "";
    for (size_t i = 0; i < info->n_nodes; i++)
        for (size_t k = 0; strcmp(info->nodes[i].id, node) == 0 && k < info->nodes[i].n_gpus; k++)
            if (strcmp(info->nodes[i].gpus[k].entity, entity) == 0 && info->nodes[i].gpus[k].name)
                name = info->nodes[i].gpus[k].name;
    return name;
}

/* Every GPU that anything was measured of. */
static int efficiency_find_gpus(struct efficiency_reader *rd, struct arena *a, struct err *e)
{
    struct efficiency *out = rd->out;
    struct series_key *keys;
    size_t n;
    TRY(series_list(rd->run, rd->arena, &keys, &n, e));
    out->gpus = arena_array(a, struct gpu_efficiency, n + 1);
    for (size_t i = 0; i < n; i++) {
        const enum metric_id m = metric_find(keys[i].metric);
        if (m >= METRIC_N || metrics[m].per != PER_GPU || efficiency_find_gpu(out, &keys[i]))
            continue;
        struct gpu_efficiency *g = &out->gpus[out->n_gpus++];
        g->node = arena_strdup(a, keys[i].node);
        g->entity = arena_strdup(a, keys[i].entity);
        g->name = arena_strdup(a, gpu_name(run_get_info(rd->run), g->node, g->entity));
        g->peak = gpu_peak_find(g->name);
        g->mem_total_bytes = NAN;
        clear_use(&g->loop);
        clear_use(&g->job);
    }
    return 0;
}

/* A window of the run, and where its numbers go. */
struct span_of {
    wall_ns from, to;
    bool loop;
};

static struct gpu_use *efficiency_use_of(struct gpu_efficiency *g, const struct span_of *w)
{
    return w->loop ? &g->loop : &g->job;
}

static int read_metric(struct efficiency_reader *rd, enum metric_id m, const struct span_of *w,
                       size_t points, struct series **out, size_t *n, struct err *e)
{
    const struct series_ask ask = {.metric = metrics[m].name,
                                   .from = {w->from.ns - rd->margin_ns},
                                   .to = {w->to.ns + rd->margin_ns},
                                   .points = points};
    return series_read(rd->run, &ask, rd->arena, out, n, e);
}

static int efficiency_read_mean(struct efficiency_reader *rd, enum gpu_mean m,
                                const struct span_of *w, struct err *e)
{
    struct series *s;
    size_t n = 0;
    const int rc = read_metric(rd, means[m].metric, w, INTEGRAL_POINTS, &s, &n, e);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        struct gpu_efficiency *g = efficiency_find_gpu(rd->out, &s[i].key);
        const struct time_integral x = series_integral(&s[i], means[m].how, w->from, w->to);
        if (!g || x.covered_s <= 0)
            continue;
        efficiency_use_of(g, w)->mean[m] = x.sum / x.covered_s;
    }
    return rc;
}

/* The largest value in the window itself. */
static int read_most(struct efficiency_reader *rd, enum metric_id m, const struct span_of *w,
                     struct err *e)
{
    const struct series_ask ask = {
        .metric = metrics[m].name, .from = w->from, .to = w->to, .points = 1};
    struct series *s;
    size_t n = 0;
    TRY(series_read(rd->run, &ask, rd->arena, &s, &n, e));
    for (size_t i = 0; i < n; i++) {
        struct gpu_efficiency *g = efficiency_find_gpu(rd->out, &s[i].key);
        if (!g || !s[i].n)
            continue;
        if (m == M_GPU_JOB_PROCESSES)
            g->used = s[i].max[0] > 0;
        else
            *(m == M_GPU_MEM_USED ? &efficiency_use_of(g, w)->mem_used_bytes
                                  : &g->mem_total_bytes) = s[i].max[0];
    }
    return 0;
}

/* ---- clocks ---- */

struct hold_counts {
    uint64_t all, any, by[CLOCK_HOLD_N];
};

static void count_holds(void *to, double value, uint64_t count)
{
    struct hold_counts *c = to;
    const uint32_t bits = (uint32_t)value;
    bool any = false;
    c->all += count;
    for (size_t k = 0; k < CLOCK_HOLD_N; k++) {
        const bool set = bits & holds[k].bit;
        c->by[k] += set ? count : 0;
        any |= set;
    }
    c->any += any ? count : 0;
}

static void read_holds(struct efficiency_reader *rd, const struct span_of *w)
{
    const struct series_ask ask = {.metric = metrics[M_GPU_THROTTLE].name};
    const struct run_series **list;
    struct scan scan;
    struct tally *t = xmalloc(sizeof *t);
    scan_open(&scan);
    const size_t n = series_select(rd->run, &ask, 1, &scan.arena, &list);
    for (size_t i = 0; i < n; i++) {
        const struct series_key key = {.node = list[i]->node, .entity = list[i]->entity};
        struct gpu_efficiency *g = efficiency_find_gpu(rd->out, &key);
        struct hold_counts c = {0};
        tally_open(t);
        tally_series(t, &scan, list[i], w->from, w->to);
        tally_each(t, count_holds, &c);
        tally_free(t);
        if (!g || c.all == 0)
            continue;
        struct gpu_use *u = efficiency_use_of(g, w);
        u->held_any_pct = 100 * (double)c.any / (double)c.all;
        for (size_t k = 0; k < CLOCK_HOLD_N; k++)
            u->held_pct[k] = 100 * (double)c.by[k] / (double)c.all;
    }
    scan_close(&scan);
    free(t);
}

/* ---- energy ---- */

/* The driver's energy counter is exact, and read rarely. Power is what the driver gives at a
 * moment, on most GPUs the mean of the second before, so it lags. A window with several readings of
 * the counter is taken from it, and power only covers the edges that it does not reach. A shorter
 * window is the integral of power, corrected by both values for the whole job. */
enum { COUNTER_LEAST = 4 };
static const double CORRECTION_MOST = 0.1; /* beyond that the two do not measure the same thing */

struct energy_series {
    const struct series *counter, *power; /* NULL: there is none */
};

static struct time_integral integral_or_none(const struct series *s, enum sampled how, wall_ns from,
                                             wall_ns to)
{
    return s && from.ns < to.ns ? series_integral(s, how, from, to) : (struct time_integral){0};
}

/* Energy by the counter over energy by the samples of power; 1: not comparable. */
static double power_factor(const struct energy_series *x, const struct span_of *job)
{
    if (!x->counter || !x->power || x->counter->n < COUNTER_LEAST)
        return 1;
    const wall_ns from = {MAX_OF(x->counter->t[0].ns, job->from.ns)};
    const wall_ns to = {MIN_OF(x->counter->t[x->counter->n - 1].ns, job->to.ns)};
    const struct time_integral c = integral_or_none(x->counter, SAMPLED_INTERVAL, from, to);
    const struct time_integral p = integral_or_none(x->power, SAMPLED_POINT, from, to);
    if (c.sum <= 0 || p.sum <= 0)
        return 1;
    const double factor = (c.sum / c.covered_s) / (p.sum / p.covered_s);
    return fabs(factor - 1) <= CORRECTION_MOST ? factor : 1;
}

static void add_power(struct time_integral *sum, const struct energy_series *x, double factor,
                      wall_ns from, wall_ns to)
{
    const struct time_integral p = integral_or_none(x->power, SAMPLED_POINT, from, to);
    sum->sum += p.sum * factor;
    sum->covered_s += p.covered_s;
}

/* Where the counter's readings begin, or end, at an edge of from..to: at the edge itself when most
 * of the interval around it lies in the window, else at the next reading inside. A reading of an
 * interval that is mostly outside does not show what happened inside. */
static int64_t counter_edge(const struct series *c, wall_ns from, wall_ns to, wall_ns edge)
{
    const int64_t usual = (int64_t)(usual_distance(c) * (double)NS_PER_S);
    const bool begins = edge.ns == from.ns;
    int64_t best = begins ? to.ns : from.ns;
    for (size_t i = 0; i < c->n; i++) {
        const int64_t end = c->t[i].ns, begin = i ? c->t[i - 1].ns : end - usual;
        const int64_t lo = MAX_OF(begin, from.ns), hi = MIN_OF(end, to.ns);
        if (hi <= lo || 2 * (hi - lo) < end - begin)
            continue;
        best = begins ? MIN_OF(best, lo) : MAX_OF(best, hi);
    }
    return best;
}

static struct time_integral energy_of(const struct energy_series *x, double factor, wall_ns from,
                                      wall_ns to)
{
    const struct series *c = x->counter;
    const double window_s = ns_to_s(to.ns - from.ns);
    struct time_integral sum = {0};
    if (!c || c->n < 2 || (x->power && usual_distance(c) * COUNTER_LEAST > window_s)) {
        add_power(&sum, x, factor, from, to);
        return sum;
    }
    const wall_ns lo = {counter_edge(c, from, to, from)}, hi = {counter_edge(c, lo, to, to)};
    sum = integral_or_none(c, SAMPLED_INTERVAL, lo, hi);
    add_power(&sum, x, factor, from, lo);
    add_power(&sum, x, factor, hi, to);
    return sum;
}

static const struct series *series_like(const struct series *v, size_t n,
                                        const struct gpu_efficiency *g)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(v[i].key.node, g->node) == 0 && strcmp(v[i].key.entity, g->entity) == 0)
            return v[i].n ? &v[i] : NULL;
    return NULL;
}

/* The job first: its factor is good for the loop. */
static int efficiency_read_energy(struct efficiency_reader *rd, const struct span_of *w,
                                  double *factors, struct err *e)
{
    struct series *counters, *powers;
    size_t n = 0, n_powers = 0;
    TRY(read_metric(rd, M_GPU_ENERGY, w, INTEGRAL_POINTS, &counters, &n, e));
    TRY(read_metric(rd, M_GPU_POWER, w, INTEGRAL_POINTS, &powers, &n_powers, e));
    for (size_t i = 0; i < rd->out->n_gpus; i++) {
        struct gpu_efficiency *g = &rd->out->gpus[i];
        struct gpu_use *u = efficiency_use_of(g, w);
        const struct energy_series x = {series_like(counters, n, g),
                                        series_like(powers, n_powers, g)};
        if (!w->loop)
            factors[i] = power_factor(&x, w);
        const struct time_integral j = energy_of(&x, factors[i], w->from, w->to);
        if (j.covered_s <= 0)
            continue;
        u->energy_j = j.sum;
        u->mean[GPU_MEAN_POWER] = j.sum / j.covered_s;
        u->measured_share = j.covered_s / ns_to_s(w->to.ns - w->from.ns);
    }
    return 0;
}

/* ---- what follows from it ---- */

/* Tensor cores that are nearly idle while the SMs work: the matrix products run elsewhere (FP32
 * without TF32 leaves 2 % on an H200), so that tensor activity is not the work done. */
static const double TENSOR_LEAST_PCT = 3, TENSOR_LEAST_OF_SM = 0.05, TENSOR_NONE_PCT = 0.1;

bool efficiency_tensor_unused(const struct gpu_use *u)
{
    const double tensor = u->mean[GPU_MEAN_TENSOR], sm = u->mean[GPU_MEAN_SM];
    return tensor < TENSOR_NONE_PCT ||
           (tensor < TENSOR_LEAST_PCT && tensor < TENSOR_LEAST_OF_SM * sm);
}

double gpu_peak_tflops(const struct gpu_peak *p, bool tf32)
{
    return tf32 && p->tf32_tflops > 0 ? p->tf32_tflops : p->tflops;
}

const char *gpu_peak_format(const struct gpu_peak *p, bool tf32)
{
    return tf32 && p->tf32_tflops > 0 ? "TF32" : p->format;
}

static void use_achieve(struct gpu_use *u, const struct gpu_peak *peak, bool tf32)
{
    if (!peak)
        return;
    u->peak_tflops = gpu_peak_tflops(peak, tf32);
    u->dram_tb_s = u->mean[GPU_MEAN_DRAM] / 100 * peak->dram_tb_s;
    if (efficiency_tensor_unused(u))
        return;
    u->tflops =
        u->mean[GPU_MEAN_TENSOR] / 100 * u->peak_tflops * u->mean[GPU_MEAN_CLOCK] / peak->clock_mhz;
    u->mfu_pct = 100 * u->tflops / u->peak_tflops;
}

/* Where the job's processes are known on no GPU of a node, all of them count. */
static void find_used(struct efficiency *x)
{
    for (size_t i = 0; i < x->n_gpus; i++) {
        const bool any = FIND_ANY(k, x->n_gpus,
                                  strcmp(x->gpus[k].node, x->gpus[i].node) == 0 && x->gpus[k].used);
        for (size_t k = 0; k < x->n_gpus && !any; k++)
            if (strcmp(x->gpus[k].node, x->gpus[i].node) == 0)
                x->gpus[k].used = true;
        x->n_used += x->gpus[i].used;
    }
}

/* Sums of all, to be divided; what one lacks stays NAN. */
static void add_use(struct gpu_use *sum, const struct gpu_use *u)
{
    for (size_t i = 0; i < GPU_MEANS; i++)
        sum->mean[i] += u->mean[i];
    for (size_t i = 0; i < CLOCK_HOLD_N; i++)
        sum->held_pct[i] += u->held_pct[i];
    sum->held_any_pct += u->held_any_pct;
    sum->energy_j += u->energy_j;
    sum->measured_share += u->measured_share;
    sum->tflops += u->tflops;
    sum->peak_tflops += u->peak_tflops;
    sum->dram_tb_s += u->dram_tb_s;
    sum->mem_used_bytes = fmax(sum->mem_used_bytes, u->mem_used_bytes);
}

static void take_mean(struct gpu_use *sum, double n)
{
    for (size_t i = 0; i < GPU_MEANS; i++)
        sum->mean[i] /= n;
    for (size_t i = 0; i < CLOCK_HOLD_N; i++)
        sum->held_pct[i] /= n;
    sum->held_any_pct /= n;
    sum->measured_share /= n;
    sum->tflops /= n;
    sum->peak_tflops /= n;
    sum->dram_tb_s /= n;
    sum->mfu_pct = 100 * sum->tflops / sum->peak_tflops;
}

static void efficiency_sum_up(struct efficiency *x)
{
    clear_use(&x->loop);
    clear_use(&x->job);
    if (x->n_used == 0)
        return;
    struct gpu_use loop = {.mem_used_bytes = NAN}, job = {.mem_used_bytes = NAN};
    for (size_t i = 0; i < x->n_gpus; i++) {
        if (!x->gpus[i].used)
            continue;
        add_use(&loop, &x->gpus[i].loop);
        add_use(&job, &x->gpus[i].job);
    }
    take_mean(&loop, (double)x->n_used);
    take_mean(&job, (double)x->n_used);
    x->loop = loop;
    x->job = job;
}

/* The loop's energy is extrapolated to the part that was not measured. */
static void per_step(struct efficiency *x)
{
    const double j = x->loop.energy_j / x->loop.measured_share;
    x->energy_per_step_j = x->window.steps ? j / (double)x->window.steps : NAN;
    x->energy_per_sample_j = j / x->window.samples;
}

static int efficiency_read_window(struct efficiency_reader *rd, const struct span_of *w,
                                  struct err *e)
{
    for (enum gpu_mean m = 0; m < GPU_MEANS; m++)
        if (m != GPU_MEAN_POWER) /* it follows from the energy */
            TRY(efficiency_read_mean(rd, m, w, e));
    TRY(read_most(rd, M_GPU_MEM_USED, w, e));
    read_holds(rd, w);
    return 0;
}

static int efficiency_read_all(struct efficiency_reader *rd, struct arena *a, struct err *e)
{
    struct efficiency *x = rd->out;
    const struct span_of w[] = {{x->job_from, x->job_to, false},
                                {x->window.from, x->window.to, true}};
    const size_t n = x->window.known && x->window.from.ns < x->window.to.ns ? 2 : 1;
    TRY(efficiency_find_gpus(rd, a, e));
    if (x->n_gpus == 0)
        return 0;
    double *factors = arena_array(rd->arena, double, x->n_gpus);
    for (size_t i = 0; i < n; i++) {
        TRY(efficiency_read_window(rd, &w[i], e));
        TRY(efficiency_read_energy(rd, &w[i], factors, e));
    }
    TRY(read_most(rd, M_GPU_MEM_TOTAL, &w[0], e));
    return read_most(rd, M_GPU_JOB_PROCESSES, &w[0], e);
}

int efficiency_read(struct run *r, const struct efficiency_ask *ask, struct arena *a,
                    struct efficiency *out, struct err *e)
{
    struct arena scratch = {0};
    const struct run_info *info = run_get_info(r);
    struct efficiency_reader rd = {
        .run = r, .arena = &scratch, .out = out, .margin_ns = 2 * NS_PER_S};
    *out = (struct efficiency){.window = ask->window,
                               .job_from = ask->job_from,
                               .job_to = ask->job_to,
                               .allocator = ask->allocator};
    for (size_t i = 0; i < info->n_nodes; i++)
        rd.margin_ns = MAX_OF(rd.margin_ns, 3 * info->nodes[i].interval_ns);
    const int rc = efficiency_read_all(&rd, a, e);
    arena_free(&scratch);
    if (rc != 0)
        return rc;
    for (size_t i = 0; i < out->n_gpus; i++) {
        use_achieve(&out->gpus[i].loop, out->gpus[i].peak, ask->allocator.tf32);
        use_achieve(&out->gpus[i].job, out->gpus[i].peak, ask->allocator.tf32);
    }
    find_used(out);
    efficiency_sum_up(out);
    per_step(out);
    return 0;
}
