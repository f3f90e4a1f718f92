/* SPDX-License-Identifier: Apache-2.0 */
/* stepmarks.c - see stepmarks.h. */
#include "query/stepmarks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* ---- stepindex ----
 *
 * what is known beforehand of several marks in a row, so that a caller that
 * asks about many steps need not look at each. Only whole stretches from a multiple of their length
 * on are known; the marks before and after them are examined. For the files of stepmarks.h alone.
 */

enum { STEPS_RUN = 64, STEPS_SUMMED = 1024, STEPS_ORDERED = 8192 };

/* STEPS_RUN steps. */
struct step_run {
    int64_t end;    /* of the last to end */
    int64_t dur_ns; /* of all */
    enum event_mode mode;
    bool mixed; /* there are other modes too */
};

/* The steps of a mode that are not left out, in ns. Sums are of what lies above a step of the same
 * rank, so that long steps do not cost the digits that short differences need. */
struct spread {
    size_t n;
    int64_t min, max;
    double sum, squares;
};

/* STEPS_SUMMED steps, or as many as were asked about. */
struct step_sums {
    struct spread of[MODE_N];
};

/* STEPS_ORDERED steps: those that are not left out, mode by mode, each mode by duration. */
struct step_order {
    size_t n[MODE_N];
    int64_t *dur_ns;
    uint16_t *at; /* which of them it is */
};

struct step_index {
    struct step_run *runs;
    struct step_sums *sums;
    struct step_order *orders;
};

/* The whole stretch that begins with step i; NULL: none does, or it reaches behind the end. */
static inline const struct step_run *step_run_at(const struct rank_marks *r, size_t i, size_t end)
{
    const bool known = r->index && i % STEPS_RUN == 0 && i + STEPS_RUN <= end;
    return known ? &r->index->runs[i / STEPS_RUN] : NULL;
}

static inline const struct step_order *step_order_at(const struct rank_marks *r, size_t i,
                                                     size_t end)
{
    const bool known = r->index && i % STEPS_ORDERED == 0 && i + STEPS_ORDERED <= end;
    return known ? &r->index->orders[i / STEPS_ORDERED] : NULL;
}

_Static_assert(STEPS_ORDERED <= UINT16_MAX + 1, "a step of a stretch is found by 16 bits");

/* ---- runs ---- */

static struct step_run run_of(const struct step_mark *v)
{
    struct step_run out = {.end = INT64_MIN, .mode = v->mode};
    for (size_t i = 0; i < STEPS_RUN; i++) {
        out.end = MAX_OF(out.end, v[i].start + v[i].dur_ns);
        out.dur_ns += v[i].dur_ns;
        out.mixed |= v[i].mode != out.mode;
    }
    return out;
}

/* ---- sums ---- */

/* Steps from `i` on as long as they are of one mode; returns the first that is not. */
static size_t see_some(const struct rank_marks *r, size_t i, size_t end, struct step_sums *out)
{
    const enum event_mode mode = r->v[i].mode;
    const int64_t base = r->v[0].iteration_ns;
    struct spread s = out->of[mode];
    for (; i < end && r->v[i].mode == mode; i++) {
        const int64_t dur = r->v[i].iteration_ns;
        if (r->v[i].left_out)
            continue;
        if (s.n++ == 0)
            s.min = s.max = dur;
        s.min = MIN_OF(s.min, dur);
        s.max = MAX_OF(s.max, dur);
        const double above = (double)(dur - base);
        s.sum += above;
        s.squares += above * above;
    }
    out->of[mode] = s;
    return i;
}

static void see_all(const struct rank_marks *r, size_t i, size_t end, struct step_sums *out)
{
    while (i < end)
        i = see_some(r, i, end, out);
}

static void stepindex_join(struct step_sums *to, const struct step_sums *from)
{
    for (size_t m = 0; m < MODE_N; m++) {
        struct spread *s = &to->of[m];
        const struct spread *x = &from->of[m];
        if (x->n == 0)
            continue;
        s->min = s->n ? MIN_OF(s->min, x->min) : x->min;
        s->max = s->n ? MAX_OF(s->max, x->max) : x->max;
        s->n += x->n;
        s->sum += x->sum;
        s->squares += x->squares;
    }
}

/* The steps i..end are added to `out`. */
static void step_sums_add(const struct rank_marks *r, size_t i, size_t end, struct step_sums *out)
{
    while (i < end) {
        const size_t stop = (i / STEPS_SUMMED + 1) * STEPS_SUMMED;
        if (r->index && i % STEPS_SUMMED == 0 && stop <= end)
            stepindex_join(out, &r->index->sums[i / STEPS_SUMMED]);
        else
            see_all(r, i, MIN_OF(stop, end), out);
        i = stop;
    }
}

/* ---- orders ---- */

struct ordered {
    uint64_t above; /* the shortest */
    uint16_t at;
};

/* Eight bits at a time from the lowest, as many as the longest has; into v or spare. */
static struct ordered *stepindex_sort(struct ordered *v, struct ordered *spare, size_t n,
                                      uint64_t most)
{
    for (unsigned shift = 0; shift < 64 && most >> shift; shift += 8) {
        size_t first[257] = {0};
        for (size_t i = 0; i < n; i++)
            first[(v[i].above >> shift & 255) + 1]++;
        for (size_t i = 0; i < 256; i++)
            first[i + 1] += first[i];
        for (size_t i = 0; i < n; i++)
            spare[first[v[i].above >> shift & 255]++] = v[i];
        struct ordered *other = spare;
        spare = v;
        v = other;
    }
    return v;
}

/* The steps of a mode behind what is in the order already; v and spare have room for all. */
static size_t order_mode(const struct step_mark *from, enum event_mode mode, struct ordered *v,
                         struct ordered *spare, struct step_order *to)
{
    size_t n = 0, before = 0;
    int64_t min = INT64_MAX, max = INT64_MIN;
    for (enum event_mode m = 0; m < mode; m++)
        before += to->n[m];
    for (size_t i = 0; i < STEPS_ORDERED; i++) {
        if (from[i].left_out || from[i].mode != mode)
            continue;
        min = MIN_OF(min, from[i].iteration_ns);
        max = MAX_OF(max, from[i].iteration_ns);
        v[n++] = (struct ordered){(uint64_t)from[i].iteration_ns, (uint16_t)i};
    }
    for (size_t i = 0; i < n; i++)
        v[i].above -= (uint64_t)min;
    v = stepindex_sort(v, spare, n, n ? (uint64_t)max - (uint64_t)min : 0);
    for (size_t i = 0; i < n; i++) {
        to->dur_ns[before + i] = (int64_t)(v[i].above + (uint64_t)min);
        to->at[before + i] = v[i].at;
    }
    return n;
}

static void order_all(const struct rank_marks *r, struct step_order *out, struct arena *a)
{
    struct ordered *v = xmalloc(2 * STEPS_ORDERED * sizeof *v);
    for (size_t i = 0; i + STEPS_ORDERED <= r->n; i += STEPS_ORDERED) {
        struct step_order *o = &out[i / STEPS_ORDERED];
        o->dur_ns = arena_array(a, int64_t, STEPS_ORDERED);
        o->at = arena_array(a, uint16_t, STEPS_ORDERED);
        for (enum event_mode m = 0; m < MODE_N; m++)
            o->n[m] = order_mode(&r->v[i], m, v, v + STEPS_ORDERED, o);
    }
    free(v);
}

static const struct step_index *step_index_make(const struct rank_marks *r, struct arena *a)
{
    struct step_index *x = arena_new(a, struct step_index);
    x->runs = arena_array(a, struct step_run, r->n / STEPS_RUN + 1);
    x->sums = arena_array(a, struct step_sums, r->n / STEPS_SUMMED + 1);
    x->orders = arena_array(a, struct step_order, r->n / STEPS_ORDERED + 1);
    for (size_t i = 0; i + STEPS_RUN <= r->n; i += STEPS_RUN)
        x->runs[i / STEPS_RUN] = run_of(&r->v[i]);
    for (size_t i = 0; i + STEPS_SUMMED <= r->n; i += STEPS_SUMMED)
        see_all(r, i, i + STEPS_SUMMED, &x->sums[i / STEPS_SUMMED]);
    order_all(r, x->orders, a);
    return x;
}

/* ---- stepmarks ---- */

struct rank_marks rank_marks_of(const struct rank_steps *s, struct arena *a)
{
    enum step_choice choice[MODE_N];
    struct rank_marks out = {.node = arena_strdup(a, s->node),
                             .rank = s->rank,
                             .pid = s->process->pid,
                             .v = arena_array(a, struct step_mark, s->n),
                             .n = s->n};
    for (int m = 0; m < MODE_N; m++)
        choice[m] = step_choice_of(s, (enum event_mode)m);
    for (size_t i = 0; i < s->n; i++) {
        const struct step *x = &s->steps[i];
        out.v[i] = (struct step_mark){
            .start = x->start.ns,
            .dur_ns = x->dur_ns,
            .iteration_ns = MAX_OF(step_iteration_ns(x), x->dur_ns),
            .number = x->number,
            .mode = x->mode,
            .cut = x->cut,
            .left_out = !step_is_chosen(x, x->mode, choice[x->mode]),
        };
    }
    out.index = step_index_make(&out, a);
    return out;
}

size_t rank_marks_bytes(size_t n)
{
    const size_t order = sizeof(int64_t) + sizeof(uint16_t);
    return n * (sizeof(struct step_mark) + order) + n / STEPS_RUN * sizeof(struct step_run) +
           n / STEPS_SUMMED * sizeof(struct step_sums);
}

struct steps_sum steps_together(const struct rank_marks *r, size_t i, int64_t begin_by,
                                int64_t within_ns)
{
    const enum event_mode mode = r->v[i].mode;
    const int64_t begin = r->v[i].start;
    const size_t first = i;
    struct steps_sum out = {.dur_ns = r->v[i++].dur_ns};
    while (i < r->n) {
        const struct step_run *run = step_run_at(r, i, r->n);
        const struct step_mark *m = &r->v[i];
        if (run && !run->mixed && run->mode == mode && run->end < begin_by &&
            run->end - begin < within_ns) {
            out.dur_ns += run->dur_ns;
            i += STEPS_RUN;
            continue;
        }
        if (m->mode != mode || m->start >= begin_by || m->start + m->dur_ns - begin >= within_ns)
            break;
        out.dur_ns += m->dur_ns;
        i++;
    }
    out.n = i - first;
    return out;
}

/* ---- stephist ----
 *
 * how long steps took, see stepmarks.h. */

/* The mean and three standard deviations. */
static double outliers_from(const struct spread *s, int64_t base)
{
    const double above = s->sum / (double)s->n;
    const double variance = s->squares / (double)s->n - above * above;
    return ((double)base + above + 3 * sqrt(fmax(variance, 0))) / (double)NS_PER_S;
}

/* The first that begins at or after t. */
static size_t first_at(const struct rank_marks *r, int64_t t)
{
    size_t lo = 0, hi = r->n;
    while (lo < hi) {
        const size_t mid = (lo + hi) / 2;
        if (r->v[mid].start < t)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static void make_edges(struct step_hist *h, const struct spread *s)
{
    const double low = ns_to_s(s->min), most = ns_to_s(s->max), top = fmin(most, h->outlier_from_s);
    for (size_t i = 0; i <= STEP_HIST_BINS; i++)
        h->edges_s[i] = low + (top - low) * (double)i / STEP_HIST_BINS;
    h->edges_s[STEP_HIST_BINS] = top; /* not a rounding below it */
    h->n = STEP_HIST_BINS;
    if (most > top)
        h->edges_s[++h->n] = most;
}

static size_t stephist_bin_of(const struct step_hist *h, double s)
{
    const double low = h->edges_s[0], top = h->edges_s[STEP_HIST_BINS];
    if (s > top)
        return STEP_HIST_BINS;
    const double at = top > low ? (s - low) / (top - low) * STEP_HIST_BINS : 0;
    return MIN_OF((size_t)at, (size_t)STEP_HIST_BINS - 1);
}

/* Keeps the longest: a new one takes the place of the shortest that is kept. False: it is none. */
static bool keep_outlier(struct step_hist *h, const struct step_mark *m)
{
    h->outliers_all++;
    if (h->n_outliers < STEP_HIST_OUTLIERS) {
        h->outliers[h->n_outliers++] = m;
        return true;
    }
    size_t shortest = 0;
    for (size_t i = 1; i < h->n_outliers; i++)
        if (h->outliers[i]->iteration_ns < h->outliers[shortest]->iteration_ns)
            shortest = i;
    if (h->outliers[shortest]->iteration_ns >= m->iteration_ns)
        return false;
    h->outliers[shortest] = m;
    return true;
}

static int stephist_by_time(const void *a, const void *b)
{
    const struct step_mark *x = *(const struct step_mark *const *)a,
                           *y = *(const struct step_mark *const *)b;
    return (x->start > y->start) - (x->start < y->start);
}

static void count_step(struct step_hist *h, const struct step_mark *m)
{
    const double took = ns_to_s(m->iteration_ns);
    h->counts[stephist_bin_of(h, took)]++;
    if (took > h->outlier_from_s)
        keep_outlier(h, m);
}

/* ---- many steps at once ---- */

/* The shortest duration of each bin and of those behind it: bins follow durations, so it can be
 * searched for. */
struct bounds {
    int64_t from_ns[STEP_HIST_BINS + 1];
};

static int64_t bound_of(const struct step_hist *h, const struct spread *s, size_t bin)
{
    int64_t lo = s->min, hi = s->max;
    if (stephist_bin_of(h, ns_to_s(hi)) < bin)
        return INT64_MAX;
    while (lo < hi) {
        const int64_t mid = lo + (int64_t)(((uint64_t)hi - (uint64_t)lo) / 2);
        if (stephist_bin_of(h, ns_to_s(mid)) < bin)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* How many of them are shorter. Few, often, so it is looked for near the begin first. */
static size_t shorter(const int64_t *v, size_t n, int64_t than)
{
    size_t lo = 0, hi = 1;
    while (hi <= n && v[hi - 1] < than) {
        lo = hi;
        hi *= 4;
    }
    hi = MIN_OF(hi, n);
    while (lo < hi) {
        const size_t mid = (lo + hi) / 2;
        if (v[mid] < than)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* From the longest on, until there is none that is longer than those that are kept. */
static void keep_outliers(struct step_hist *h, const struct step_mark *from, const uint16_t *at,
                          size_t n)
{
    const size_t all = h->outliers_all + n;
    while (n-- > 0 && keep_outlier(h, &from[at[n]]))
        continue;
    h->outliers_all = all;
}

static void count_order(struct step_hist *h, const struct bounds *b, const struct step_mark *from,
                        const int64_t *dur_ns, const uint16_t *at, size_t n)
{
    size_t before = 0;
    for (size_t i = 0; i < STEP_HIST_BINS; i++) {
        const size_t upto = before + shorter(dur_ns + before, n - before, b->from_ns[i + 1]);
        h->counts[i] += upto - before;
        before = upto;
    }
    h->counts[STEP_HIST_BINS] += n - before;
    if (h->n > STEP_HIST_BINS)
        keep_outliers(h, from, at + before, n - before);
}

static void count_stretch(struct step_hist *out, const struct bounds *bounds,
                          const struct step_mark *from, const struct step_order *o)
{
    size_t at = 0;
    for (size_t m = 0; m < MODE_N; m++) {
        if (o->n[m])
            count_order(&out[m], &bounds[m], from, o->dur_ns + at, o->at + at, o->n[m]);
        at += o->n[m];
    }
}

static void count_all(const struct rank_marks *r, size_t i, size_t end, const struct bounds *bounds,
                      struct step_hist *out)
{
    while (i < end) {
        const struct step_order *o = step_order_at(r, i, end);
        if (o)
            count_stretch(out, bounds, &r->v[i], o);
        else if (!r->v[i].left_out)
            count_step(&out[r->v[i].mode], &r->v[i]);
        i += o ? STEPS_ORDERED : 1;
    }
}

void step_hists_of(const struct rank_marks *r, wall_ns from, wall_ns to,
                   struct step_hist out[MODE_N])
{
    const size_t first = first_at(r, from.ns), end = to.ns ? first_at(r, to.ns) : r->n;
    struct step_sums sums = {0};
    struct bounds bounds[MODE_N];
    step_sums_add(r, first, end, &sums);
    for (size_t m = 0; m < MODE_N; m++) {
        const struct spread *s = &sums.of[m];
        out[m] = (struct step_hist){.count = s->n};
        if (s->n == 0)
            continue;
        out[m].outlier_from_s = outliers_from(s, r->v[0].iteration_ns);
        make_edges(&out[m], s);
        for (size_t b = 0; b <= STEP_HIST_BINS; b++)
            bounds[m].from_ns[b] = bound_of(&out[m], s, b);
    }
    count_all(r, first, end, bounds, out);
    for (size_t m = 0; m < MODE_N; m++)
        qsort(out[m].outliers, out[m].n_outliers, sizeof *out[m].outliers, stephist_by_time);
}
