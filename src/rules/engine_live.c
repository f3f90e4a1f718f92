/* SPDX-License-Identifier: Apache-2.0 */
/* engine_live.c - the training loop of a run that lives: which sweeps belong to it is known only
 * later.
 *
 * While no step is known every sweep counts as if none would come. The first step that is no
 * warm-up, or the first such train step after others, or one of a rank that began earlier, says
 * where the loop begins; what was fed is then forgotten and fed again from what is held. As long as
 * there are only warm-up steps nothing counts. */
#include "base/mem.h"
#include "rules/engine_internal.h"

/* Ranks begin within this time of each other. */
#define SETTLED_NS (60 * NS_PER_S)

static void feed_held(const struct engine *g, const struct engine_node *n, struct rule_part *parts,
                      size_t from, size_t to)
{
    struct gpu_sweeps gpus[SIGHT_GPUS_MOST];
    while (from < to) {
        const size_t end = hold_same_period(&n->hold, from, to);
        const struct sweeps s = hold_view(&n->hold, from, end, gpus);
        feed_sweeps(g, n, parts, &s, false);
        from = end;
    }
}

/* ---- the loop begins ---- */

static bool is_fed_again(const struct rule *r)
{
    return r->sweeps && !r->whole_job;
}

static void feed_early(struct engine *g, struct engine_node *n, size_t rule)
{
    struct rule_part *p = &stretch_now(n)->part[rule];
    for (size_t i = 0; i < n->early.n_steps; i++)
        feed_steps(g, n, rule, p, &n->early.steps[i].rank, &n->early.steps[i].step, 1);
    if (n->early.n_told)
        feed_told(g, n, rule, p, n->early.told, n->early.n_told);
}

/* A loop that began before what is held counts from there. */
static void begin_on(struct engine *g, struct engine_node *n)
{
    struct rule_part *parts = stretch_now(n)->part;
    n->hold.fed = hold_from(&n->hold, g->loop_start.ns);
    n->after_ns = INT64_MIN;
    for (size_t k = 0; k < RULE_N; k++) {
        part_free(rules[k], &n->after[k]);
        if (rules[k]->whole_job)
            continue;
        if (is_fed_again(rules[k]))
            part_free(rules[k], &parts[k]);
        parts[k].sweeps = 0;
        parts[k].before = n->seen - (n->hold.n - n->hold.fed);
        if (is_fed_again(rules[k]))
            feed_early(g, n, k);
    }
}

static void begin_loop(struct engine *g, int64_t start_ns)
{
    g->has_steps = true;
    g->loop_start.ns = start_ns;
    for (size_t i = 0; i < g->n_nodes; i++)
        begin_on(g, &g->nodes[i]);
}

/* Where the loop begins by what is known so far, when no train step but those of warm-up was seen.
 */
static int64_t begin_without_training(const struct engine *g)
{
    return g->trains || g->first_other_ns == 0 ? g->loop_end.ns : g->first_other_ns;
}

void live_steps(struct engine *g, const struct step *v, size_t n)
{
    int64_t first_train = INT64_MAX;
    for (size_t i = 0; i < n; i++) {
        const int64_t start = v[i].start.ns;
        g->loop_end.ns = MAX_OF(g->loop_end.ns, start + v[i].dur_ns);
        g->trains |= v[i].mode == MODE_TRAIN;
        if (v[i].warmup)
            continue;
        if (v[i].mode == MODE_TRAIN)
            first_train = MIN_OF(first_train, start);
        else if (g->first_other_ns == 0 || start < g->first_other_ns)
            g->first_other_ns = start;
    }
    const bool begins = !g->has_trained && first_train < INT64_MAX;
    g->has_trained |= begins;
    const int64_t start = g->has_trained ? first_train : begin_without_training(g);
    if (!g->has_steps || begins || (!g->has_trained && start != g->loop_start.ns) ||
        (!g->settled && start < g->loop_start.ns))
        begin_loop(g, start);
}

/* From now on the loop begins elsewhere only when its first train step comes after others. */
static void engine_live_settle(struct engine *g)
{
    g->settled = true;
    for (size_t i = 0; g->has_trained && i < g->n_nodes; i++)
        early_free(&g->nodes[i].early);
}

void live_keep(struct engine *g, bool has_room)
{
    if (!has_room && g->has_trained)
        engine_live_settle(g);
}

/* ---- sweeps ---- */

static void join_after(struct engine *g, struct engine_node *n)
{
    for (size_t k = 0; k < RULE_N; k++)
        if (!rules[k]->whole_job)
            part_join(g, n, k, &stretch_now(n)->part[k], &n->after[k]);
    n->after_ns = INT64_MIN;
}

/* Sweeps before the end of the last step are of the loop; others up to `to` wait in `after`. */
static void hand_on(struct engine *g, struct engine_node *n, size_t to)
{
    struct hold *h = &n->hold;
    const size_t in = MAX_OF(hold_from(h, g->loop_end.ns), h->fed);
    if (n->after_ns != INT64_MIN && n->after_ns < g->loop_end.ns)
        join_after(g, n);
    feed_held(g, n, stretch_now(n)->part, h->fed, in);
    feed_held(g, n, n->after, in, to);
    if (to > in)
        n->after_ns = h->at[to - 1].ns;
    h->fed = MAX_OF(in, to);
    if (g->settled && g->has_trained)
        hold_drop(h, h->fed);
}

void live_sure(struct engine *g)
{
    if (g->has_trained && g->sure.ns - g->loop_start.ns >= SETTLED_NS)
        engine_live_settle(g);
    for (size_t i = 0; i < g->n_nodes; i++)
        hand_on(g, &g->nodes[i], hold_from(&g->nodes[i].hold, g->sure.ns));
}

/* The older half of what is held goes. */
static void engine_live_make_room(struct engine *g, struct engine_node *n)
{
    if (!g->has_steps) {
        hold_drop(&n->hold, n->hold.n / 2);
        return;
    }
    engine_live_settle(g);
    hand_on(g, n, MAX_OF(n->hold.fed, n->hold.n / 2));
    hold_drop(&n->hold, MIN_OF(n->hold.fed, n->hold.n / 2));
}

void live_sweeps(struct engine *g, struct engine_node *n, const struct sweeps *s)
{
    if (!g->has_steps)
        feed_sweeps(g, n, stretch_now(n)->part, s, false);
    hold_add(&n->hold, s);
    if (hold_is_full(&n->hold))
        engine_live_make_room(g, n);
}
