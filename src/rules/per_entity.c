/* SPDX-License-Identifier: Apache-2.0 */
/* per_entity.c - see per_entity.h. */
#include "rules/per_entity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/mem.h"
#include "base/vec.h"
#include "query/steps.h"
#include "rules/hist.h"

static const float UNUSED_BELOW = 1; /* percent */

/* ---- GPUs ---- */

bool gpu_was_used(const struct gpu_head *h)
{
    return h->most_util >= UNUSED_BELOW || h->most_processes > 0;
}

void *state_gpu(const void *state, size_t i)
{
    const struct node_state *t = state;
    return t->gpus + i * t->spec->gpu_size;
}

/* Room for n of them. */
static void state_fit_gpus(struct node_state *t, size_t n)
{
    const size_t size = t->spec->gpu_size;
    if (n <= t->n_gpus)
        return;
    t->gpus = xrealloc(t->gpus, n, size);
    memset(t->gpus + t->n_gpus * size, 0, (n - t->n_gpus) * size);
    t->n_gpus = n;
}

static void gpu_head_see(struct gpu_head *h, const struct gpu_sweeps *g, size_t n)
{
    snprintf(h->entity, sizeof h->entity, "%s", g->entity);
    if (gpu_was_used(h)) /* nothing more to learn */
        return;
    h->most_util = values_highest(g->v[GPU_SIG_UTIL], n, h->most_util);
    h->most_processes = values_highest(g->v[GPU_SIG_PROCESSES], n, h->most_processes);
}

void busy_gpu_see(void *gpu, const struct gpu_batch *c)
{
    shared_hist(c->s, c->gpu->v[GPU_SIG_UTIL], &((struct busy_gpu *)gpu)->util);
}

double node_gpu_use(const void *state)
{
    const struct node_state *t = state;
    double sum = 0, n = 0;
    for (size_t i = 0; i < t->n_gpus; i++) {
        const struct busy_gpu *g = state_gpu(t, i);
        if (gpu_was_used(&g->head) && g->util.n) {
            sum += hist_mean(&g->util);
            n++;
        }
    }
    return n > 0 ? sum / n : NAN;
}

void state_sweeps(void *state, const struct rule_view *c, const struct sweeps *s)
{
    struct node_state *t = state;
    t->spec = c->spec;
    t->seen.start = t->seen.start.ns ? t->seen.start : s->at[0];
    t->seen.end.ns = s->at[s->n - 1].ns + s->period_ns;
    if (!t->signals && t->spec->n_signals)
        t->signals = xcalloc(t->spec->n_signals, sizeof *t->signals);
    for (size_t i = 0; i < t->spec->n_signals; i++)
        shared_hist(s, s->v[t->spec->signals[i]], &t->signals[i]);
    if (t->spec->gpu_size)
        state_fit_gpus(t, s->n_gpus);
    for (size_t i = 0; t->spec->gpu_size && i < s->n_gpus; i++) {
        gpu_head_see(state_gpu(t, i), &s->gpus[i], s->n);
        if (t->spec->gpu)
            t->spec->gpu(state_gpu(t, i), &(struct gpu_batch){c, s, &s->gpus[i]});
    }
    if (t->spec->sweeps)
        t->spec->sweeps(state, c, s);
}

/* ---- ranks ---- */

static bool rank_is_same(const struct rule_rank *a, const struct rule_rank *b)
{
    return a->rank >= 0 && b->rank >= 0 ? a->rank == b->rank : a->pid == b->pid;
}

static bool rank_is_before(const struct rank_head *a, const struct rank_head *b)
{
    return a->id.rank != b->id.rank ? a->id.rank < b->id.rank : a->id.pid < b->id.pid;
}

/* Restores the order after the number of the one at i has changed. */
static void *state_settle_rank(struct node_state *t, size_t i)
{
    void *one = t->ranks[i];
    for (; i > 0 && rank_is_before(one, t->ranks[i - 1]); i--)
        t->ranks[i] = t->ranks[i - 1];
    for (; i + 1 < t->n_ranks && rank_is_before(t->ranks[i + 1], one); i++)
        t->ranks[i] = t->ranks[i + 1];
    t->ranks[i] = one;
    return one;
}

void *state_rank(void *state, const struct rule_view *c, const struct rule_rank *id)
{
    struct node_state *t = state;
    t->spec = c->spec;
    for (size_t i = 0; i < t->n_ranks; i++) {
        struct rank_head *h = t->ranks[i];
        if (!rank_is_same(&h->id, id))
            continue;
        const bool settled = h->id.rank >= 0 || id->rank < 0;
        h->id.rank = MAX_OF(h->id.rank, id->rank);
        h->id.device = MAX_OF(h->id.device, id->device);
        return settled ? h : state_settle_rank(t, i);
    }
    t->ranks = xrealloc(t->ranks, t->n_ranks + 1, sizeof(void *));
    struct rank_head *h = t->ranks[t->n_ranks++] = xcalloc(1, t->spec->rank_size);
    h->id = *id;
    h->id.gpu = NULL; /* it is not there for long */
    return state_settle_rank(t, t->n_ranks - 1);
}

void *state_event_rank(void *state, const struct rule_view *c, const struct rule_event *v)
{
    return state_rank(state, c, &(struct rule_rank){v->rank, -1, v->pid, NULL});
}

void state_events(void *state, const struct rule_view *c, const struct rule_event *v, size_t n)
{
    struct node_state *t = state;
    t->spec = c->spec;
    for (size_t i = 0; t->spec->event && i < n; i++)
        t->spec->event(state, c, &v[i]);
}

static void state_keep_ranks(struct node_state *t, enum state_op op)
{
    for (size_t i = 0; i < t->n_ranks; i++) {
        if (op == STATE_COPY)
            state_memory(op, &t->ranks[i], t->spec->rank_size);
        if (t->spec->memory_rank)
            t->spec->memory_rank(t->ranks[i], op);
        if (op == STATE_FREE)
            free(t->ranks[i]);
    }
}

/* A copy gets its arrays before what is in them, and a freed one loses them after it. */
static void state_keep_arrays(struct node_state *t, enum state_op op)
{
    state_memory(op, &t->gpus, t->n_gpus * t->spec->gpu_size);
    state_memory(op, &t->ranks, t->n_ranks * sizeof *t->ranks);
    state_memory(op, &t->signals, t->spec->n_signals * sizeof *t->signals);
}

void state_keep(void *state, enum state_op op)
{
    struct node_state *t = state;
    if (!t->spec) /* nothing was seen */
        return;
    if (op == STATE_COPY)
        state_keep_arrays(t, op);
    for (size_t i = 0; i < t->n_gpus && t->spec->memory_gpu; i++)
        t->spec->memory_gpu(state_gpu(t, i), op);
    state_keep_ranks(t, op);
    if (t->spec->memory_own)
        t->spec->memory_own(state, op);
    if (op == STATE_FREE)
        state_keep_arrays(t, op);
}

/* ---- judging ---- */

const struct hist *state_signal(const void *state, size_t i)
{
    static const struct hist none;
    const struct node_state *t = state;
    return t->signals ? &t->signals[i] : &none;
}

const void *next_gpu(const struct judge *j, struct entity_at *at)
{
    for (; at->next_node < j->n_nodes; at->next_node++, at->next = 0) {
        at->node = &j->nodes[at->next_node];
        while (at->next < ((const struct node_state *)at->node->state)->n_gpus) {
            const void *gpu = state_gpu(at->node->state, at->next++);
            if (gpu_was_used(gpu))
                return gpu;
        }
    }
    return NULL;
}

const void *next_rank(const struct judge *j, struct entity_at *at)
{
    for (; at->next_node < j->n_nodes; at->next_node++, at->next = 0) {
        const struct node_state *t = j->nodes[at->next_node].state;
        at->node = &j->nodes[at->next_node];
        if (at->next < t->n_ranks)
            return t->ranks[at->next++];
    }
    return NULL;
}

/* ---- what several rules need when they judge ---- */

size_t judge_gpus(const struct judge *j)
{
    return SUM_OF(i, j->n_nodes, j->nodes[i].facts->n_gpus);
}

wall_ns judge_loop_start(const struct judge *j)
{
    const wall_ns from = j->run->steady_start;
    return from.ns > 0 && from.ns < j->run->loop_end.ns ? from : j->run->loop_start;
}

double judge_counted_s(const struct judge *j)
{
    return wall_span_s(judge_loop_start(j), j->run->loop_end);
}

double judge_loop_s(const struct judge *j)
{
    return wall_span_s(j->run->loop_start, j->run->loop_end);
}

double judge_job_s(const struct judge *j)
{
    return (double)(j->run->job_end.ns - j->run->job_start.ns) / 1e9;
}

bool run_is_much(const struct run_facts *run, double seconds)
{
    return seconds >= 1 && seconds >= wall_span_s(run->job_start, run->job_end) / 100;
}

bool judge_is_much(const struct judge *j, double seconds)
{
    return run_is_much(j->run, seconds);
}

const char *rank_entity(const struct judge *j, const void *rank)
{
    const struct rank_head *h = rank;
    return arena_printf(j->arena, "rank %lld", (long long)h->id.rank);
}

const char *judge_gpu_name(const struct judge *j, const struct judged_node *node, const void *gpu)
{
    const struct gpu_head *h = gpu;
    return arena_printf(j->arena, "%s %s", node->facts->id, h->entity);
}

const char *judge_time(const struct judge *j, double seconds)
{
    char text[HUMAN_LEN];
    const bool tiny = seconds > 0 && seconds < 1e-3; /* which would read "0 ms" */
    return arena_strdup(j->arena, tiny ? human_value(seconds, "s", text, sizeof text)
                                       : duration_text(seconds, text, sizeof text));
}

const char *held_back_by(const struct verdict *v)
{
    for (size_t k = 0; k < RULE_N; k++)
        if (!rules[k]->summary && k != RULE_low_gpu_utilization && k != RULE_batch_size &&
            v[k].severity > SEVERITY_INFO && verdict_is_cause(&v[k]))
            return rules[k]->title;
    return NULL;
}

/* ==== enough readings ==== */

/* The sweeps of a node that were left out on purpose. */
static uint64_t patience_of(const struct judge *j, const struct judged_node *n)
{
    const struct param_value *p = rule_patience(j->rule, j->p);
    if (!p || n->facts->period_ns <= 0 || p->v <= 0 || (j->run->has_steps && !p->set))
        return 0;
    return (uint64_t)param_points(p, n->facts->period_ns);
}

const char *judge_time_of(const struct judge *j, uint64_t readings, bool training)
{
    int64_t period_ns = 0;
    char took[HUMAN_LEN];
    for (size_t i = 0; i < j->n_nodes; i++)
        period_ns = MAX_OF(period_ns, j->nodes[i].facts->period_ns);
    if (period_ns <= 0)
        return "";
    const double s = (double)readings * (double)period_ns / 1e9;
    return arena_printf(j->arena, " (%s%s)", human_value(s, "s", took, sizeof took),
                        training && j->run->has_steps ? " of training" : "");
}

bool judge_is_short(const struct judge *j, uint64_t least, struct verdict *out)
{
    uint64_t has = 0, patience = 0, before = 0;
    for (size_t i = 0; i < j->n_nodes; i++) {
        const struct judged_node *n = &j->nodes[i];
        const uint64_t waits = patience_of(j, n);
        if (n->sweeps >= least)
            return false;
        has = MAX_OF(has, n->sweeps + (waits ? n->before : 0));
        patience = MAX_OF(patience, waits);
        before = MAX_OF(before, n->before);
    }
    const uint64_t needed = has < patience ? patience : patience + least;
    verdict_not_evaluated(out, "needs %llu readings%s%s, has %llu", (unsigned long long)needed,
                          before && !patience ? " of the training loop" : "",
                          judge_time_of(j, needed, !patience && !before), (unsigned long long)has);
    return true;
}

/* ---- numbers that hooks emit as "so far" ---- */

void counted_see(struct counted *c, wall_ns from, const struct rule_event *v)
{
    const struct counted_reading x = {v->at.ns, v->value};
    if (v->at.ns < from.ns)
        return;
    if (c->n == 0)
        c->first = x;
    c->last[c->n++ % COUNTED_LAST] = x;
}

/* The last reading in the loop, or the first one after it. */
static const struct counted_reading *counted_last(const struct counted *c, wall_ns loop_end)
{
    const uint64_t first = c->n - MIN_OF(c->n, (uint64_t)COUNTED_LAST);
    uint64_t at = c->n - 1;
    while (at > first && c->last[at % COUNTED_LAST].at_ns > loop_end.ns)
        at--;
    return &c->last[at % COUNTED_LAST];
}

double counted_per_s(const struct counted *c, wall_ns loop_end)
{
    if (c->n < 2)
        return NAN;
    const struct counted_reading *last = counted_last(c, loop_end);
    const double s = (double)(last->at_ns - c->first.at_ns) / 1e9,
                 grown = (double)(last->value - c->first.value);
    return s >= 1 && grown >= 0 ? grown / s : NAN;
}
