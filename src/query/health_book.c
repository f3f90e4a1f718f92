/* SPDX-License-Identifier: Apache-2.0 */
/* health_book.c - see health_book.h. From top to bottom: windows and spikes, curves, tables, the
 * scalars by name, and the book. */
#include "query/health_book.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/stat.h"
#include "base/vec.h"
#include "record/event.h"
#include "store/format.h"

/* Scales a median absolute deviation to a standard deviation of normal values. */
#define MAD_SCALE 1.4826

double health_median(double *v, size_t n)
{
    if (n == 0)
        return NAN;
    stat_sort(v, n);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* The first few values, whose median is the usual value at the start. */
static void health_first(double *first, uint64_t n, double v)
{
    if (n < FIRST_LOSSES)
        first[n] = v;
}

static double health_first_median(const double *first, uint64_t n)
{
    double v[FIRST_LOSSES];
    memcpy(v, first, sizeof v);
    return n < FIRST_LOSSES ? (double)NAN : health_median(v, FIRST_LOSSES);
}

double health_first_loss(const struct book_rank *r)
{
    return health_first_median(r->loss.first, r->loss.n);
}

/* Rounding makes no loss negative. */
#define NEGATIVE_SHARE 0.01

const char *health_loss_without_level(const struct book_rank *r)
{
    const double first = health_first_loss(r);
    if (r->loss.several)
        return "several losses are trained in turn, as those of adversaries: none of them must "
               "fall";
    if (first <= 0 || r->loss.least < -NEGATIVE_SHARE * first)
        return "the loss is negative in some steps, as that of a policy gradient: it has no level "
               "that must fall";
    return NULL;
}

/* ---- windows ---- */

static size_t window_place(const struct book_window *w, double x)
{
    return SEARCH_FIRST(i, 0, w->n, w->sorted[i] < x);
}

static void health_window_add(struct book_window *w, double x)
{
    if (w->n == SPIKE_WINDOW) {
        const size_t old = window_place(w, w->order[w->next]);
        assert(w->sorted[old] == w->order[w->next]);
        w->n--;
        memmove(w->sorted + old, w->sorted + old + 1, (w->n - old) * sizeof *w->sorted);
    }
    const size_t at = window_place(w, x);
    memmove(w->sorted + at + 1, w->sorted + at, (w->n - at) * sizeof *w->sorted);
    w->sorted[at] = x;
    w->n++;
    w->order[w->next] = x;
    w->next = (w->next + 1) % SPIKE_WINDOW;
}

static double window_median(const struct book_window *w)
{
    return w->n % 2 ? w->sorted[w->n / 2] : (w->sorted[w->n / 2 - 1] + w->sorted[w->n / 2]) / 2;
}

/* Median absolute deviation, as a standard deviation. */
static double window_deviation(const struct book_window *w, double median)
{
    double v[SPIKE_WINDOW];
    for (size_t i = 0; i < w->n; i++)
        v[i] = fabs(w->sorted[i] - median);
    return MAD_SCALE * health_median(v, w->n);
}

/* ---- spikes ---- */

static void spikes_keep(struct book_spikes *s)
{
    if (s->n < SPIKES_KEPT)
        s->v[s->n] = s->now;
    s->n++;
    s->open = false;
}

static void spikes_begin(struct book_spikes *s, const struct book_value *v, double above)
{
    s->now = (struct book_spike){v->step, v->at, v->v, window_median(&s->window), -1};
    s->above = above;
    s->open = true;
    s->sure = false;
    s->after = s->after_above = 0;
}

/* ---- spikes of the loss ----
 *
 * A value is a spike if it is far above the values before it, and either above twice the first
 * losses or followed by more such values. Values of a spike are not usual values: the window does
 * not get them, until there are so many that the level has changed. */

enum { LOSS_SPIKE_AFTER = 32, SPIKE_LOOKS = 10, SPIKE_AGAIN = 3 };

static double loss_limit(const struct book_loss *l, double first)
{
    const struct book_window *w = &l->spikes.window;
    const double median = window_median(w), least = fmax(0.2 * median, 0.05 * first);
    return median + fmax(least, 7 * window_deviation(w, median));
}

static void loss_spike_goes_on(struct book_spikes *s, const struct book_value *v)
{
    s->after++; /* not all steps are recorded, but those with a conspicuous loss are */
    const bool near = s->after <= SPIKE_LOOKS && v->step - s->now.step <= SPIKE_LOOKS;
    if (v->v > s->above) {
        s->now.value = fmax(s->now.value, v->v);
        s->after_above++;
        s->sure |= near && s->after_above >= SPIKE_AGAIN;
        if (s->after_above >= SPIKE_WINDOW) { /* the new level */
            if (s->sure)
                spikes_keep(s);
            s->open = false;
            s->window.n = s->window.next = 0;
        }
        return;
    }
    health_window_add(&s->window, v->v);
    if (s->sure) {
        s->now.back = v->step;
        spikes_keep(s);
    } else if (!near || s->after == SPIKE_LOOKS)
        s->open = false;
}

/* Whether it is above twice each of the first losses. Single batches of a healthy training whose
 * noise has a heavy tail come above all of them: one such run of 30 had 1.4 times the largest. */
static bool is_above_first(const struct book_loss *l, double v)
{
    return !FIND_ANY(i, MIN_OF(l->n, (uint64_t)FIRST_LOSSES), v <= 2 * l->first[i]);
}

static void loss_look_for_spike(struct book_loss *l, const struct book_value *v)
{
    struct book_spikes *s = &l->spikes;
    const double first = health_first_median(l->first, l->n);
    if (s->open) {
        loss_spike_goes_on(s, v);
        return;
    }
    const bool looks = s->window.n >= LOSS_SPIKE_AFTER && !isnan(first);
    s->looked |= looks;
    const double above =
        looks && v->v > 1.2 * window_median(&s->window) ? loss_limit(l, first) : (double)INFINITY;
    if (v->v > above) {
        spikes_begin(s, v, above);
        s->sure = is_above_first(l, v->v);
    } else
        health_window_add(&s->window, v->v);
}

/* ---- spikes of the gradient ---- */

/* Norms grow in the first steps of healthy trainings, of which short steps record only some. */
enum { GRADIENT_SPIKE_AFTER = 32, GRADIENT_SPIKE_STEPS = 64 };

static void rank_gradient_norm(struct book_rank *r, const struct book_value *v)
{
    struct book_spikes *s = &r->grad;
    const struct book_window *w = &s->window;
    if (!isfinite(v->v))
        return;
    if (r->grad_norms == 0)
        r->grad_since = v->step;
    health_first(r->grad_first, r->grad_norms, v->v);
    r->grad_norms++;
    const bool looks =
        w->n >= GRADIENT_SPIKE_AFTER && v->step - r->grad_since >= GRADIENT_SPIKE_STEPS;
    s->looked |= looks;
    if (looks && v->v > 3 * w->sorted[w->n - 1]) {
        const double median = window_median(w);
        const double above = fmax(median + 10 * window_deviation(w, median),
                                  health_first_median(r->grad_first, r->grad_norms));
        if (v->v > above) {
            spikes_begin(s, v, above);
            spikes_keep(s);
        }
    }
    health_window_add(&s->window, v->v);
}

/* ---- curves ---- */

static void curve_halve(struct book_curve *c)
{
    for (size_t i = 0; i < CURVE_BUCKETS / 2; i++) {
        const struct curve_bucket *a = &c->v[2 * i], *b = &c->v[2 * i + 1];
        c->v[i] = (struct curve_bucket){a->sum + b->sum, a->squares + b->squares, a->n + b->n};
    }
    c->n = CURVE_BUCKETS / 2;
    c->each *= 2;
}

static void curve_add(struct book_curve *c, double v)
{
    if (c->n == 0)
        c->each = 1;
    if (c->n == CURVE_BUCKETS && c->v[c->n - 1].n == c->each)
        curve_halve(c);
    if (c->n == 0 || c->v[c->n - 1].n == c->each)
        *VEC_ADD(c->v, c->n, c->cap) = (struct curve_bucket){0};
    struct curve_bucket *b = &c->v[c->n - 1];
    b->sum += v;
    b->squares += v * v;
    b->n++;
    c->values++;
}

struct curve_part book_curve_part(const struct book_curve *c, double from, double to)
{
    const size_t first = (size_t)floor(from * (double)c->n), end = (size_t)ceil(to * (double)c->n);
    double sum = 0, squares = 0;
    struct curve_part p = {NAN, NAN, 0};
    for (size_t i = first; i < end; i++) {
        sum += c->v[i].sum;
        squares += c->v[i].squares;
        p.n += c->v[i].n;
    }
    const double n = (double)p.n;
    if (p.n > 0)
        p.mean = sum / n;
    if (p.n > 1)
        p.error = sqrt(fmax(squares / n - p.mean * p.mean, 0) / (n - 1));
    return p;
}

/* ---- tables ---- */

static void table_drop_row(struct table_row *row)
{
    free(row->v);
    *row = (struct table_row){0};
}

/* Every second sample goes. */
static void table_halve(struct book_table *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++)
        if (i % 2 == 0)
            t->rows[n++] = t->rows[i];
        else
            table_drop_row(&t->rows[i]);
    t->n = n;
    t->every *= 2;
}

/* The row of the sample that is being read; NULL: it is not stored. */
static struct table_row *table_sample(struct book_table *t, const struct book_value *v,
                                      uint32_t names)
{
    struct table_row *last = t->n ? &t->rows[t->n - 1] : NULL;
    if (t->skipping && t->skip_step == v->step)
        return NULL;
    if (!t->skipping && last && last->step == v->step)
        return last;
    t->every = MAX_OF(t->every, (uint64_t)1);
    t->skipping = t->samples++ % t->every != 0;
    t->skip_step = v->step;
    if (t->skipping)
        return NULL;
    const size_t most = MAX_OF((size_t)32, MIN_OF((size_t)TABLE_ROWS, (size_t)TABLE_CELLS / names));
    if (t->n >= most)
        table_halve(t);
    struct table_row *row = VEC_ADD(t->rows, t->n, t->cap);
    *row = (struct table_row){.step = v->step, .at = v->at};
    return row;
}

static void table_add(struct book_table *t, const struct book_value *v, uint32_t name,
                      uint32_t names, double x)
{
    struct table_row *row = table_sample(t, v, names);
    if (!row)
        return;
    if (name >= row->n) {
        const uint32_t n = MAX_OF(names, name + 1);
        row->v = xrealloc(row->v, n, sizeof *row->v);
        for (uint32_t i = row->n; i < n; i++)
            row->v[i] = (double)NAN;
        row->n = n;
    }
    row->v[name] = x;
}

const struct table_row *health_table_row(const struct book_table *t, int64_t step)
{
    return FIND_ITEM(x, t->rows, t->n, x->step == step);
}

/* ---- names ---- */

/* The number of a name of the rank, from 1 on. */
static uint32_t rank_name(struct book_rank *r, const char *name)
{
    const uint32_t hash = format_sum32(name, strlen(name), 0);
    if (r->n_names == 0) {
        r->names = xcalloc(VEC_FIRST, sizeof *r->names);
        r->dims = xcalloc(VEC_FIRST, 1);
        r->cap_names = VEC_FIRST;
        r->names[r->n_names++] = xstrdup("");
    }
    const uint32_t found = HASH_FIND(&r->by_name, hash, i, strcmp(r->names[i], name) == 0);
    if (found)
        return found - 1;
    if (r->n_names == r->cap_names) {
        r->dims = xrealloc(r->dims, 2 * (size_t)r->cap_names, 1);
        memset(r->dims + r->cap_names, 0, r->cap_names);
    }
    *VEC_ADD(r->names, r->n_names, r->cap_names) = xstrdup(name);
    hash_add(&r->by_name, hash, r->n_names);
    return r->n_names - 1;
}

/* ---- scalars ---- */

/* A step has one entry: a skipped one may have a value of each tensor. */
static void rank_bad(struct book_rank *r, enum bad_tracks track, const struct book_value *v,
                     double count)
{
    struct book_bads *b = &r->bad[track];
    r->n_bad++;
    if (b->n == BAD_KEPT || (b->n && b->v[b->n - 1].step == v->step))
        return;
    *VEC_ADD(b->v, b->n, b->cap) =
        (struct book_bad){v->step, v->at, v->track, rank_name(r, v->name), count};
}

static void rank_eval(struct book_loss *l, const struct book_value *v)
{
    if (!isfinite(v->v) || l->n_evals == EVALS_KEPT)
        return;
    *VEC_ADD(l->evals, l->n_evals, l->cap_evals) = (struct book_eval){
        v->step, v->at, v->v, l->since_n ? l->since_sum / (double)l->since_n : (double)NAN};
    l->since_sum = 0;
    l->since_n = 0;
}

static void rank_loss(struct book_rank *r, const struct book_value *v)
{
    struct book_loss *l = &r->loss;
    if (v->mode != MODE_TRAIN) {
        rank_eval(l, v);
        return;
    }
    if (!isfinite(v->v)) {
        rank_bad(r, BAD_LOSS, v, 1);
        return;
    }
    loss_look_for_spike(l, v);
    l->first_step = l->n ? l->first_step : v->step;
    l->several |= l->others;
    l->least = fmin(l->least, v->v);
    health_first(l->first, l->n, v->v);
    curve_add(&l->curve, v->v);
    l->n++;
    l->last = v->v;
    l->last_step = v->step;
    l->since_sum += v->v;
    l->since_n++;
}

/* "loss.1": of the second optimizer. A later one that continues where the first one ended is the
 * next part of the training. */
static void rank_other_loss(struct book_rank *r, const struct book_value *v)
{
    r->loss.others |= v->mode == MODE_TRAIN;
}

/* Of short steps not all are recorded; those that are have a learning rate. */
static void rank_recorded(struct book_rank *r, int64_t step)
{
    r->recorded += step > r->recorded_step;
    r->recorded_step = MAX_OF(r->recorded_step, step);
}

static void lr_add(struct book_rank *r, int64_t step, float rate)
{
    while (step / r->lr_each >= LR_PARTS) {
        for (size_t i = 0; i < LR_PARTS / 2; i++)
            r->lr_most[i] = MAX_OF(r->lr_most[2 * i], r->lr_most[2 * i + 1]);
        memset(r->lr_most + LR_PARTS / 2, 0, sizeof r->lr_most / 2);
        r->lr_each *= 2;
    }
    float *most = &r->lr_most[step / r->lr_each];
    *most = MAX_OF(*most, rate);
}

double health_lr_share(const struct book_rank *r, int64_t step)
{
    const int64_t part = step / r->lr_each;
    const bool known = step >= 0 && part < LR_PARTS && r->lr_most[part] > 0;
    return known ? (double)r->lr_most[part] / r->lr_peak : (double)NAN;
}

static void rank_lr(struct book_rank *r, const struct book_value *v)
{
    rank_recorded(r, v->step);
    if (v->step >= 0 && isfinite(v->v))
        lr_add(r, v->step, (float)v->v);
    r->lr_n++;
    r->lr_last = v->v;
    r->lr_peak = fmax(r->lr_peak, v->v);
}

bool health_step_skipped(const struct book_rank *r, int64_t step)
{
    return FIND_ANY(i, r->n_skips, step >= r->skips[i].first && step <= r->skips[i].last);
}

static void rank_skip(struct book_rank *r, int64_t step)
{
    if (health_step_skipped(r, step))
        return;
    if (r->n_skips && r->skips[r->n_skips - 1].last + 1 == step)
        r->skips[r->n_skips - 1].last = step;
    else if (r->n_skips < SKIPS_KEPT)
        r->skips[r->n_skips++] = (struct book_skips){step, step};
}

/* The first scale cannot have fallen. */
static void rank_step_skipped(struct book_rank *r, const struct book_value *v)
{
    if (r->scales == 0)
        rank_skip(r, v->step);
}

/* A scale that fell belongs to a step that was skipped; 0 cannot fall. */
static void rank_scale(struct book_rank *r, const struct book_value *v)
{
    const bool skipped = r->scales && (v->v < r->scale_last || v->v == 0);
    unsigned char *flag = &r->scale_flags[r->scales % SCALE_WINDOW];
    if (r->scales == 0)
        r->scale_first = r->scale_least = v->v;
    r->scale_recent += (uint32_t)skipped - *flag;
    r->scale_most = MAX_OF(r->scale_most, r->scale_recent);
    *flag = skipped;
    r->run = skipped ? r->run + 1 : 0;
    r->longest_run = MAX_OF(r->longest_run, r->run);
    if (skipped)
        rank_skip(r, v->step);
    r->skipped += skipped;
    r->scales++;
    r->scale_last = v->v;
    if (v->v < r->scale_least) {
        r->scale_least = v->v;
        r->scale_least_step = v->step;
        r->scale_least_at = v->at;
    }
}

static void rank_missing(struct book_rank *r, const struct book_value *v)
{
    rank_recorded(r, v->step);
    if (r->missing == 0 || r->recorded > r->missing_recorded + 1) {
        r->missing_run = 0;
        r->missing_begin = (struct book_place){v->step, v->at};
    }
    r->missing_run += r->missing == 0 || r->recorded != r->missing_recorded;
    r->missing++;
    r->missing_recorded = r->recorded;
    r->missing_parameters = v->v;
    if (r->missing_run > r->missing_longest) {
        r->missing_longest = r->missing_run;
        r->missing_first = r->missing_begin;
    }
}

/* Of short steps not all are recorded. */
enum { BATCH_STEPS_LEAST = 50, BATCHES_LEAST = 20 };

COMPARE_NUMBERS(health_by_word, int64_t)

static uint32_t hashes_distinct(const struct book_rank *r)
{
    int64_t v[HASHES_KEPT];
    uint32_t n = 0;
    memcpy(v, r->hashes, r->n_hashes * sizeof *v);
    SORT(v, r->n_hashes, health_by_word);
    for (uint32_t i = 0; i < r->n_hashes; i++)
        n += i == 0 || v[i] != v[i - 1];
    return n;
}

/* An epoch, or HASHES_KEPT steps, have ended: the worst ones are stored. */
void health_close_hashes(struct book_rank *r)
{
    const bool enough =
        r->n_hashes >= BATCHES_LEAST && r->hashes_last - r->hashes_step + 1 >= BATCH_STEPS_LEAST;
    const uint64_t distinct = enough ? hashes_distinct(r) : 0;
    if (distinct && (!r->batches || distinct * r->batches < r->distinct * r->n_hashes)) {
        r->batches = r->n_hashes;
        r->distinct = distinct;
        r->batches_step = r->hashes_step;
    }
    r->n_hashes = 0;
}

static void rank_hash(struct book_rank *r, const struct book_value *v)
{
    if (r->n_hashes == HASHES_KEPT)
        health_close_hashes(r);
    if (r->n_hashes == 0)
        r->hashes_step = v->step;
    r->hashes_last = v->step;
    r->hashes[r->n_hashes++] = v->count;
    if (r->n_first_batches < HASHES_COMPARED)
        r->first_batches[r->n_first_batches++] = (struct book_batch){v->step, v->count};
}

static void rank_epoch(struct book_rank *r, const struct book_value *v)
{
    (void)v;
    health_close_hashes(r);
}

static const struct {
    const char *name;
    void (*take)(struct book_rank *r, const struct book_value *v);
} scalars[] = {
    {"loss", rank_loss},
    {"lr", rank_lr},
    {"grad.norm", rank_gradient_norm},
    {"step.skipped", rank_step_skipped},
    {"amp.scale", rank_scale},
    {"batch.hash", rank_hash},
    {"epoch", rank_epoch},
    {"grad.missing", rank_missing},
};

#define ORIGIN "nonfinite.origin/"

static void rank_scalar(struct book_rank *r, const struct book_value *v)
{
    for (size_t i = 0; i < COUNT_OF(scalars); i++)
        if (strcmp(v->name, scalars[i].name) == 0) {
            scalars[i].take(r, v);
            return;
        }
    if (strncmp(v->name, "lr.", 3) == 0) /* of another group */
        rank_recorded(r, v->step);
    if (strncmp(v->name, "loss.", 5) == 0)
        rank_other_loss(r, v);
    if (!r->origin && strncmp(v->name, ORIGIN, sizeof ORIGIN - 1) == 0) {
        r->origin = rank_name(r, v->name + sizeof ORIGIN - 1);
        r->origin_step = v->step;
        r->origin_at = v->at;
    }
}

/* ---- the book ---- */

static const struct {
    enum health_id stat;
    enum book_tables table;
} tabled[] = {
    {HEALTH_GRADIENT_L2, TABLE_GRADIENT_L2},   {HEALTH_GRADIENT_ZEROS, TABLE_GRADIENT_ZEROS},
    {HEALTH_WEIGHT_L2, TABLE_WEIGHT_L2},       {HEALTH_WEIGHT_SUM, TABLE_WEIGHT_SUM},
    {HEALTH_UPDATE_RATIO, TABLE_UPDATE_RATIO}, {HEALTH_UPDATE_UNCHANGED, TABLE_UPDATE_UNCHANGED},
    {HEALTH_OUTPUT_DEAD, TABLE_OUTPUT_DEAD},   {HEALTH_OUTPUT_SATURATED, TABLE_OUTPUT_SATURATED},
    {HEALTH_INPUT_STD, TABLE_INPUT_STD},
};

/* Losses are scalars: rank_loss. */
static const enum health_id bad_stats[BAD_TRACK_N] = {
    [BAD_LOSS] = HEALTH_N,
    [BAD_GRADIENT] = HEALTH_GRADIENT_NONFINITE,
    [BAD_WEIGHT] = HEALTH_WEIGHT_NONFINITE,
    [BAD_OUTPUT] = HEALTH_OUTPUT_NONFINITE,
};

/* The spread of activations is about the initial weights. */
enum { INPUT_STD_STEPS = 3 };

static void rank_tensor(struct book_rank *r, const struct book_value *v)
{
    for (enum bad_tracks i = 0; i < BAD_TRACK_N; i++)
        if (bad_stats[i] == v->track && v->v > 0)
            rank_bad(r, i, v, v->v);
    if (v->track == HEALTH_PARAMETER_DIMS) {
        const uint32_t name = rank_name(r, v->name);
        r->dims[name] = (unsigned char)fmin(fmax(v->v, 0), 255);
    }
    if (v->track == HEALTH_INPUT_STD && v->step >= INPUT_STD_STEPS)
        return;
    for (size_t i = 0; i < COUNT_OF(tabled); i++)
        if (tabled[i].stat == v->track) {
            const uint32_t name = rank_name(r, v->name);
            double x = v->v;
            if (v->track == HEALTH_WEIGHT_SUM)
                memcpy(&x, &v->count, sizeof x);
            table_add(&r->tables[tabled[i].table], v, name, r->n_names, x);
        }
}

static struct book_rank *book_rank_of(struct health_book *b, const struct book_value *v)
{
    for (size_t i = 0; i < b->n; i++)
        if (b->ranks[i]->pid == v->pid && b->ranks[i]->rank == v->rank)
            return b->ranks[i];
    struct book_rank *r = xcalloc(1, sizeof *r);
    r->rank = v->rank;
    r->pid = v->pid;
    r->origin_step = r->recorded_step = -1;
    r->lr_each = 1;
    *VEC_ADD(b->ranks, b->n, b->cap) = r;
    return r;
}

void health_book_add(struct health_book *b, const struct book_value *v)
{
    struct book_rank *r = book_rank_of(b, v);
    if (v->track == HEALTH_SCALAR)
        rank_scalar(r, v);
    else
        rank_tensor(r, v);
}

struct health_book *health_book_open(void)
{
    return xcalloc(1, sizeof(struct health_book));
}

static void book_rank_free(struct book_rank *r)
{
    for (uint32_t i = 0; i < r->n_names; i++)
        free(r->names[i]);
    free(r->names);
    free(r->dims);
    hash_free(&r->by_name);
    for (size_t k = 0; k < HEALTH_TABLE_N; k++) {
        for (size_t i = 0; i < r->tables[k].n; i++)
            free(r->tables[k].rows[i].v);
        free(r->tables[k].rows);
    }
    for (size_t k = 0; k < BAD_TRACK_N; k++)
        free(r->bad[k].v);
    free(r->loss.curve.v);
    free(r->loss.evals);
    free(r);
}

void health_book_close(struct health_book *b)
{
    for (size_t i = 0; b && i < b->n; i++)
        book_rank_free(b->ranks[i]);
    if (b)
        free(b->ranks);
    free(b);
}

/* A copy of so many bytes; NULL: none. */
static void *health_dup(const void *p, size_t bytes)
{
    return p && bytes ? memcpy(xmalloc(bytes), p, bytes) : NULL;
}

static void health_table_copy(struct book_table *t)
{
    t->rows = health_dup(t->rows, t->cap * sizeof *t->rows);
    for (size_t i = 0; i < t->n; i++)
        t->rows[i].v = health_dup(t->rows[i].v, t->rows[i].n * sizeof *t->rows[i].v);
}

static struct book_rank *book_rank_copy(const struct book_rank *from)
{
    struct book_rank *r = health_dup(from, sizeof *from);
    r->names = health_dup(r->names, r->cap_names * sizeof *r->names);
    for (uint32_t i = 0; i < r->n_names; i++)
        r->names[i] = xstrdup(r->names[i]);
    r->dims = health_dup(r->dims, r->cap_names);
    r->by_name.slots = health_dup(r->by_name.slots, r->by_name.n_slots * sizeof *r->by_name.slots);
    for (size_t k = 0; k < HEALTH_TABLE_N; k++)
        health_table_copy(&r->tables[k]);
    for (size_t k = 0; k < BAD_TRACK_N; k++)
        r->bad[k].v = health_dup(r->bad[k].v, r->bad[k].cap * sizeof *r->bad[k].v);
    r->loss.curve.v = health_dup(r->loss.curve.v, r->loss.curve.cap * sizeof *r->loss.curve.v);
    r->loss.evals = health_dup(r->loss.evals, r->loss.cap_evals * sizeof *r->loss.evals);
    return r;
}

struct health_book *health_book_copy(const struct health_book *b)
{
    struct health_book *c = health_book_open();
    for (size_t i = 0; i < b->n; i++)
        *VEC_ADD(c->ranks, c->n, c->cap) = book_rank_copy(b->ranks[i]);
    return c;
}
