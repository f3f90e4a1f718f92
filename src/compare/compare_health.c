/* SPDX-License-Identifier: Apache-2.0 */
/* compare_health.c - where the training of two runs parts: the first step whose losses differ, the
 * first sample whose weights differ in a bit, and the loss at equal steps. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "compare/compare_internal.h"

/* ---- reading ---- */

struct sums_reading {
    struct weight_sum *v;
    size_t n, cap;
    int64_t rank; /* the first that has any; -1: not known yet */
    struct arena *arena;
};

static uint64_t health_mix(uint64_t x)
{
    x ^= x >> 31;
    x *= 0x9e3779b97f4a7c15u;
    return x ^ x >> 29;
}

/* Values come by time: those of a sample have the same step. The order of tensors does not count.
 */
static void sums_take(void *ctx, const struct health_value *v)
{
    struct sums_reading *s = ctx;
    uint64_t name = 0;
    if (s->rank < 0)
        s->rank = v->rank;
    if (v->step < 0 || v->rank != s->rank)
        return;
    if (s->n == 0 || s->v[s->n - 1].step != v->step) {
        if (s->n && s->v[s->n - 1].step > v->step)
            return; /* a run that went back to an earlier step: its first pass counts */
        *ARENA_ADD(s->arena, s->v, s->n, s->cap) = (struct weight_sum){.step = v->step};
    }
    for (const char *c = v->name; *c; c++)
        name = health_mix(name + (unsigned char)*c + 1);
    s->v[s->n - 1].sum += health_mix(name ^ (uint64_t)v->event.value);
}

int compare_read_health(struct run *r, struct arena *a, struct compare_reading *out, struct err *e)
{
    struct sums_reading sums = {.rank = -1, .arena = a};
    const struct health_ask ask = {.rank = -1, .stats = HEALTH_STAT(HEALTH_WEIGHT_SUM)};
    struct health_losses *l = &out->losses;
    size_t n = 0;
    TRY(health_losses_read(r, (wall_ns){0}, a, l, e));
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].rank == l->v[0].rank && l->v[i].mode == MODE_TRAIN && l->v[i].step >= 0)
            l->v[n++] = l->v[i];
    l->n = n;
    TRY(health_read(r, &ask, a, sums_take, &sums, e));
    out->sums = sums.v;
    out->n_sums = sums.n;
    return 0;
}

/* ---- comparing ---- */

#define APART_SHARE 0.01

/* The same bits; NaN is equal to itself. */
static bool health_same(double x, double y)
{
    return x == y || (isnan(x) && isnan(y));
}

static void compare_sums(const struct compare_reading *a, const struct compare_reading *b,
                         struct compared_health *h)
{
    for (size_t i = 0, k = 0; i < a->n_sums && k < b->n_sums;) {
        const int64_t x = a->sums[i].step, y = b->sums[k].step;
        if (x == y) {
            h->samples++;
            if (h->sums_differ < 0 && a->sums[i].sum == b->sums[k].sum)
                h->sums_same_to = x;
            else if (h->sums_differ < 0)
                h->sums_differ = x;
        }
        i += x <= y;
        k += y <= x;
    }
}

/* Steps that have a loss in both, with both losses; returns how many. */
static size_t common_losses(const struct compare_reading *a, const struct compare_reading *b,
                            struct arena *scratch, struct compared_loss_row **out)
{
    const struct health_losses *x = &a->losses, *y = &b->losses;
    size_t n = 0;
    *out = arena_array(scratch, struct compared_loss_row, MIN_OF(x->n, y->n) + 1);
    for (size_t i = 0, k = 0; i < x->n && k < y->n;) {
        const int64_t p = x->v[i].step, q = y->v[k].step;
        if (p == q)
            (*out)[n++] = (struct compared_loss_row){p, p, {x->v[i].v, y->v[k].v}};
        i += p <= q;
        k += q <= p;
    }
    return n;
}

static bool losses_are_apart(const struct compared_loss_row *v)
{
    const double x = v->loss[COMPARE_A], y = v->loss[COMPARE_B];
    if (!isfinite(x) || !isfinite(y))
        return isfinite(x) != isfinite(y);
    return fabs(x - y) > APART_SHARE * fmax(fabs(x), fabs(y));
}

/* The first step that is apart together with nine of ten steps from there to the end: single steps
 * may be close by chance. -1: the last one is not. */
static int64_t losses_apart_from(const struct compared_loss_row *v, size_t n)
{
    int64_t from = -1;
    size_t apart = 0;
    for (size_t i = n; i-- > 0 && losses_are_apart(&v[n - 1]);) {
        apart += losses_are_apart(&v[i]);
        if (losses_are_apart(&v[i]) && 10 * apart >= 9 * (n - i))
            from = v[i].from;
    }
    return from;
}

static void compare_losses(const struct compared_loss_row *v, size_t n, struct compared_health *h)
{
    h->steps = n;
    for (size_t i = 0; i < n && h->loss_differs < 0; i++)
        if (health_same(v[i].loss[COMPARE_A], v[i].loss[COMPARE_B]))
            h->loss_same_to = v[i].from;
        else
            h->loss_differs = v[i].from;
    h->loss_apart = losses_apart_from(v, n);
    const size_t rows = MIN_OF(n, (size_t)COMPARE_LOSS_ROWS);
    for (size_t k = 0; k < rows; k++) {
        const size_t from = n * k / rows, to = n * (k + 1) / rows;
        struct compared_loss_row *row = &h->rows[h->n_rows++];
        *row = (struct compared_loss_row){v[from].from, v[to - 1].to, {NAN, NAN}};
        for (int s = 0; s < COMPARE_SIDES; s++) {
            double sum = 0;
            size_t known = 0;
            for (size_t i = from; i < to; i++)
                if (isfinite(v[i].loss[s])) {
                    sum += v[i].loss[s];
                    known++;
                }
            row->loss[s] = known ? sum / (double)known : NAN;
        }
    }
}

/* "the same to step 49 and differ from step 50 on" */
static const char *parting_words(struct arena *a, int64_t same_to, int64_t differs)
{
    if (differs < 0)
        return "are the same in all of them";
    if (same_to < 0)
        return arena_printf(a, "differ from the first on, step %" PRId64, differs);
    return arena_printf(a,
                        "are the same up to step %" PRId64 " and differ from step %" PRId64 " on",
                        same_to, differs);
}

void compare_health(struct comparing *c)
{
    const struct compare_reading *a = &c->side[COMPARE_A].v[0], *b = &c->side[COMPARE_B].v[0];
    struct compared_loss_row *v;
    const size_t n = common_losses(a, b, c->scratch, &v);
    if (n == 0)
        return;
    struct compared_health *h = arena_new(c->arena, struct compared_health);
    *h = (struct compared_health){.loss_same_to = -1,
                                  .loss_differs = -1,
                                  .loss_apart = -1,
                                  .sums_same_to = -1,
                                  .sums_differ = -1};
    compare_losses(v, n, h);
    compare_sums(a, b, h);
    h->sentence = arena_printf(c->arena, "%zu steps have a loss in both: the losses %s.", n,
                               parting_words(c->arena, h->loss_same_to, h->loss_differs));
    if (h->loss_apart >= 0)
        h->sentence =
            arena_printf(c->arena, "%s They are more than 1 %% apart from step %" PRId64 " on.",
                         h->sentence, h->loss_apart);
    else if (h->loss_differs >= 0)
        h->sentence = arena_printf(c->arena, "%s They end less than 1 %% apart.", h->sentence);
    if (h->samples)
        h->sentence = arena_printf(
            c->arena, "%s The weights were summed at %zu common steps: their bits %s.", h->sentence,
            h->samples, parting_words(c->arena, h->sums_same_to, h->sums_differ));
    c->out->health = h;
}
