/* SPDX-License-Identifier: Apache-2.0 */
/* scene_series.c - the series of a scene: the lines that describe them, and their values. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/nearest.h"
#include "import/scene_internal.h"
#include "record/record.h"

/* ---- chance ---- */

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint64_t scene_mix(uint64_t a, uint64_t b, uint64_t c)
{
    return mix(mix(mix(a) ^ b) ^ c);
}

double scene_chance(uint64_t a, uint64_t b, uint64_t c)
{
    return (double)(scene_mix(a, b, c) >> 11) / (double)(UINT64_C(1) << 52) - 1;
}

/* ---- lines ---- */

static int scene_series_metric_of(const char *name, enum metric_id *out, struct err *e)
{
    struct nearest near = nearest_to(name);
    *out = metric_find(name);
    if (*out != METRIC_N)
        return 0;
    for (enum metric_id m = 0; m < METRIC_N; m++)
        nearest_offer(&near, metrics[m].name);
    if (near.best)
        return err_set(e, ERR_FORMAT, "unknown metric '%.60s'; did you mean %s?", name, near.best);
    return err_set(e, ERR_FORMAT, "unknown metric '%.60s'", name);
}

/* "5", or "5 for 10s 90 for 2s", or "10 to 90"; then "noise 3". */
static int take_shape(struct parsing *p, struct scene_piece *x, struct err *e)
{
    if (word_take(p, "none")) {
        x->shape = SCENE_NONE;
        return 0;
    }
    do {
        struct scene_level *l = &x->level[x->n_levels];
        const char *w = word_next(p);
        if (x->n_levels == SCENE_WAVE_MOST)
            return err_set(e, ERR_LIMIT, "more than %d levels in a wave", SCENE_WAVE_MOST);
        if (!scene_number(w, &l->value))
            return err_set(e, ERR_FORMAT, "'%.60s' is not a value", *w ? w : "the end of the line");
        x->n_levels++;
        if (word_take(p, "for")) {
            const int rc = word_time(p, &l->dur_ns, e);
            if (rc != 0 || l->dur_ns == 0)
                return rc != 0 ? rc
                               : err_set(e, ERR_FORMAT, "a wave level needs a duration above 0 s");
            x->shape = SCENE_WAVE;
        }
    } while (x->shape == SCENE_WAVE && !word_last(p) && !word_is_range(word_now(p)) &&
             strcmp(word_now(p), "noise") != 0);
    if (x->shape == SCENE_FLAT && word_take(p, "to")) {
        x->shape = SCENE_RAMP;
        if (!scene_number(word_next(p), &x->level[1].value))
            return err_set(e, ERR_FORMAT, "expected a ramp such as '10 to 90'");
    }
    if (word_take(p, "noise") && !scene_number(word_next(p), &x->noise))
        return err_set(e, ERR_FORMAT, "expected noise such as 'noise 5'");
    return 0;
}

static uint64_t text_key(const char *a, const char *b, const char *c)
{
    uint64_t h = 1469598103934665603u;
    const char *const texts[] = {a, b, c};
    for (size_t i = 0; i < COUNT_OF(texts); i++, h = mix(h))
        for (const char *t = texts[i]; *t; t++)
            h = (h ^ (unsigned char)*t) * 1099511628211u;
    return h;
}

static int scene_series_of(struct parsing *p, size_t node, enum metric_id m, const char *entity,
                           struct scene_series **out, struct err *e)
{
    struct scene *s = p->out;
    for (size_t i = 0; i < s->n_series; i++)
        if (s->series[i].node == node && s->series[i].metric == m &&
            strcmp(s->series[i].entity, entity) == 0) {
            *out = &s->series[i];
            return 0;
        }
    if (s->n_series == SCENE_SERIES_MOST)
        return err_set(e, ERR_LIMIT, "more than %d series", SCENE_SERIES_MOST);
    s->series = scene_grow(p->arena, s->series, s->n_series, &s->cap_series, sizeof *s->series);
    *out = &s->series[s->n_series++];
    **out = (struct scene_series){
        .node = node,
        .metric = m,
        .entity = arena_strdup(p->arena, entity),
        .key = text_key(s->nodes[node].id, metrics[m].name, entity),
    };
    return 0;
}

struct scene_series_wanted {
    enum metric_id metric;
    const char *entity; /* may end with '*': all of the node's devices */
    const struct scene_piece *pieces;
    size_t n;
};

static int add_pieces(struct parsing *p, size_t node, const char *entity,
                      const struct scene_series_wanted *w, struct err *e)
{
    struct scene_series *x = NULL;
    const int rc = scene_series_of(p, node, w->metric, entity, &x, e);
    if (rc != 0)
        return rc;
    for (size_t i = 0; i < w->n; i++) {
        x->pieces = scene_grow(p->arena, x->pieces, x->n, &x->cap, sizeof *x->pieces);
        x->pieces[x->n++] = w->pieces[i];
    }
    return 0;
}

static int add_to_node(struct parsing *p, size_t node, const struct scene_series_wanted *w,
                       struct err *e)
{
    const struct scene_node *d = &p->out->nodes[node];
    const size_t len = strlen(w->entity);
    char entity[ENTITY_LEN];
    if (len >= ENTITY_LEN - 8)
        return err_set(e, ERR_FORMAT, "name '%.20s...' is too long", w->entity);
    if (len == 0 || w->entity[len - 1] != '*')
        return add_pieces(p, node, w->entity, w, e);
    const unsigned all = metrics[w->metric].per == PER_GPU    ? d->gpus
                         : metrics[w->metric].per == PER_CORE ? d->cores
                                                              : 0;
    if (all == 0)
        return err_set(e, ERR_FORMAT, "node '%s' does not declare its number of '%s'", d->id,
                       w->entity);
    int rc = 0;
    for (unsigned i = 0; i < all && rc == 0; i++) {
        snprintf(entity, sizeof entity, "%.*s%u", (int)len - 1, w->entity, i);
        rc = add_pieces(p, node, entity, w, e);
    }
    return rc;
}

/* The first word is a node, or '*' for all of them. */
static int add_everywhere(struct parsing *p, const char *id, const struct scene_series_wanted *w,
                          struct err *e)
{
    size_t node = 0;
    if (strcmp(id, "*") != 0) {
        const int rc = scene_node_find(p, id, &node, e);
        return rc != 0 ? rc : add_to_node(p, node, w, e);
    }
    int rc = p->out->n_nodes ? 0 : err_set(e, ERR_FORMAT, "no node is declared yet");
    for (; node < p->out->n_nodes && rc == 0; node++)
        rc = add_to_node(p, node, w, e);
    return rc;
}

int scene_series_line(struct parsing *p, struct err *e)
{
    const char *id = word_next(p);
    struct scene_series_wanted w = {.entity = ENTITY_TOTAL};
    size_t node;
    int rc = strcmp(id, "*") == 0 ? 0 : scene_node_find(p, id, &node, e);
    if (rc != 0)
        return err_set(e, ERR_FORMAT, "'%.60s' is neither a node nor a keyword", id);
    rc = scene_series_metric_of(word_next(p), &w.metric, e);
    if (rc != 0)
        return rc;
    if (!word_is_range(word_now(p)))
        w.entity = word_next(p);
    struct scene_piece *pieces = arena_array(p->arena, struct scene_piece, p->words.n);
    do {
        struct scene_piece *x = &pieces[w.n++];
        rc = word_range(p, false, &x->from_ns, &x->to_ns, e);
        if (rc == 0)
            rc = take_shape(p, x, e);
    } while (rc == 0 && !word_last(p));
    w.pieces = pieces;
    return rc != 0 ? rc : add_everywhere(p, id, &w, e);
}

/* ---- values ---- */

static double wave_at(const struct scene_piece *x, int64_t t)
{
    int64_t whole = 0;
    for (size_t i = 0; i < x->n_levels; i++)
        whole += x->level[i].dur_ns;
    int64_t in = whole ? (t - x->from_ns) % whole : 0;
    size_t i = 0;
    while (i + 1 < x->n_levels && in >= x->level[i].dur_ns)
        in -= x->level[i++].dur_ns;
    return x->level[i].value;
}

static double shape_at(const struct scene_piece *x, int64_t t)
{
    switch (x->shape) {
    case SCENE_NONE:
        return NAN;
    case SCENE_WAVE:
        return wave_at(x, t);
    case SCENE_RAMP:
        return x->level[0].value + (x->level[1].value - x->level[0].value) *
                                       (double)(t - x->from_ns) / (double)(x->to_ns - x->from_ns);
    default:
        return x->level[0].value;
    }
}

/* What was said last counts. */
double scene_value(const struct scene *s, const struct scene_series *x, int64_t t)
{
    for (size_t i = x->n; i > 0; i--) {
        const struct scene_piece *c = &x->pieces[i - 1];
        if (t < c->from_ns || t >= c->to_ns)
            continue;
        const double noise = c->noise != 0 ? scene_chance(s->seed, x->key, (uint64_t)t) : 0;
        const double v = shape_at(c, t) + c->noise * noise;
        return v < 0 ? 0 : v; /* what is missing stays so */
    }
    return NAN;
}
