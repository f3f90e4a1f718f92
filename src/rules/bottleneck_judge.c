/* SPDX-License-Identifier: Apache-2.0 */
/* bottleneck_judge.c - see bottleneck.h. Here: judging and words. */
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "rules/bottleneck.h"
#include "rules/bottleneck_internal.h"
#include "rules/enough.h"

/* Below this a share of snapshots says nothing. */
enum { LEAST = 10 };

struct counts {
    uint64_t all, low; /* snapshots in which a GPU in use was read; in which one was low */
    uint64_t hot[BOTTLENECK_HOTS], bottleneck;
    const struct episodes *episodes; /* NULL: none was low */
};

static struct counts bottleneck_judge_count(const struct bottleneck *b)
{
    struct counts n = {0};
    for (size_t i = 0; i < b->n_rows; i++) {
        const struct bottleneck_row *r = &b->row[i];
        uint64_t hot = 0;
        for (size_t k = 0; k < BOTTLENECK_HOTS; k++)
            hot += r->hot[k];
        if (r->gpus != GPUS_NOT_READ)
            n.all += r->cool + hot;
        if (r->gpus != GPUS_LOW)
            continue;
        n.low = r->cool + hot;
        n.bottleneck = hot;
        n.episodes = &r->episodes;
        for (size_t k = 0; k < BOTTLENECK_HOTS; k++)
            n.hot[k] = r->hot[k];
    }
    return n;
}

static double bottleneck_judge_percent(uint64_t n, uint64_t all)
{
    return all ? 100 * (double)n / (double)all : NAN;
}

static size_t main_kind(const struct counts *n, const struct bottleneck_spec *spec)
{
    size_t most = 0;
    for (size_t k = 1; k < spec->n_hots; k++)
        if (n->hot[k] > n->hot[most])
            most = k;
    return most;
}

static double waited_gpu_s(const struct bottleneck *b)
{
    int64_t ns = 0;
    for (size_t i = 0; i < b->gpus.n; i++) {
        const struct bottleneck_gpu *g = per_gpu_at(&b->gpus, i);
        if (gpu_was_used(&g->head))
            ns += g->waited_ns;
    }
    return (double)ns / 1e9;
}

static void bottleneck_judge_pie(struct verdict *v, const struct bottleneck_spec *spec,
                                 const struct judged_node *node, const struct param_value *p,
                                 const struct counts *n)
{
    char label[120];
    struct plot *plot =
        verdict_plot(v, PLOT_PIE, arena_printf(v->arena, "Readings of %s", node->facts->id), "%");
    snprintf(label, sizeof label, "GPUs at %g %% or more", p[spec->gpu_threshold].v);
    plot_row(v, plot, label, &(double){bottleneck_judge_percent(n->all - n->low, n->all)}, 1);
    plot_row(v, plot, "GPU low, other reasons",
             &(double){bottleneck_judge_percent(n->low - n->bottleneck, n->all)}, 1);
    for (size_t k = 0; k < spec->n_hots; k++) {
        snprintf(label, sizeof label, "GPU low, %s above %g %%", spec->hots[k].words,
                 p[spec->hot_threshold].v);
        plot_row(v, plot, label, &(double){bottleneck_judge_percent(n->hot[k], n->all)}, 1);
    }
}

/* "whole node: 20 %, one core: 51 %": the larger first would reorder the
 * words between runs, so they come in the order of the table. */
static const char *kinds_text(struct verdict *v, const struct bottleneck_spec *spec,
                              const struct counts *n)
{
    const char *text = "";
    for (size_t k = 0; k < spec->n_hots; k++)
        if (n->hot[k])
            text = arena_printf(v->arena, "%s%s%s: %.0f %%", text, *text ? ", " : "",
                                spec->hots[k].words, bottleneck_judge_percent(n->hot[k], n->all));
    return text;
}

static void bottleneck_judge_find(const struct judge *j, const struct bottleneck_spec *spec,
                                  const struct judged_node *node, const struct counts *n,
                                  struct verdict *v)
{
    const struct param_value *p = j->p;
    const struct bottleneck_hot *most = &spec->hots[main_kind(n, spec)];
    struct finding *f = verdict_find(v, node->facts->id, "");
    finding_when(v, f, episodes_ranges(n->episodes, j->arena), n->episodes->n);
    finding_say(v, f,
                "in %.0f %% of %llu readings (threshold %g %%), a GPU in use was below %g %% while "
                "%s was above %g %% (%s)",
                bottleneck_judge_percent(n->bottleneck, n->all), (unsigned long long)n->all,
                p[spec->threshold].v, p[spec->gpu_threshold].v, spec->resource,
                p[spec->hot_threshold].v, kinds_text(v, spec, n));
    f->advice = node->facts->cores ? arena_printf(v->arena, "%s (this node has %u cores).",
                                                  most->advice, node->facts->cores)
                                   : arena_printf(v->arena, "%s.", most->advice);
    f->refute = spec->refute;
    finding_number(v, f, "bottleneck_pct", bottleneck_judge_percent(n->bottleneck, n->all), "%");
    finding_number(v, f, "gpu_low_pct", bottleneck_judge_percent(n->low, n->all), "%");
    for (size_t k = 0; k < spec->n_hots; k++)
        finding_number(v, f, spec->hots[k].number, bottleneck_judge_percent(n->hot[k], n->all),
                       "%");
    finding_number(v, f, "snapshots", (double)n->all, "");
    f->lost_s = (double)episodes_held_ns(n->episodes) / 1e9;
    f->lost_gpu_s = waited_gpu_s(node->state);
    v->triggered += n->episodes->n;
    v->violations += n->bottleneck;
    v->last_triggered.ns = MAX_OF(v->last_triggered.ns, f->end.ns);
}

static bool any_gpu_used(const struct judge *j)
{
    for (size_t i = 0; i < j->n_nodes; i++) {
        const struct bottleneck *b = j->nodes[i].state;
        for (size_t k = 0; k < b->gpus.n; k++)
            if (gpu_was_used(per_gpu_at(&b->gpus, k)))
                return true;
    }
    return false;
}

/* Nothing to count: says why. */
static void say_nothing(const struct judge *j, const struct bottleneck_spec *spec, uint64_t most,
                        struct verdict *out)
{
    if (judge_is_short(j, LEAST, out))
        return;
    if (!any_gpu_used(j))
        verdict_not_evaluated(out, "the job did not use a GPU");
    else
        verdict_not_evaluated(out, "needs %d readings with a GPU in use and %s%s, has %llu", LEAST,
                              spec->resource, judge_time_of(j, LEAST, true),
                              (unsigned long long)most);
}

void bottleneck_judge(const struct judge *j, struct verdict *out)
{
    const struct bottleneck_spec *spec = j->rule->spec;
    double highest = -1;
    uint64_t most = 0;
    const char *where = "";
    for (size_t i = 0; i < j->n_nodes; i++) {
        const struct counts n = bottleneck_judge_count(j->nodes[i].state);
        const double share = bottleneck_judge_percent(n.bottleneck, n.all);
        out->datapoints += n.all;
        most = MAX_OF(most, n.all);
        if (n.all < LEAST)
            continue;
        bottleneck_judge_pie(out, spec, &j->nodes[i], j->p, &n);
        if (share > highest) {
            highest = share;
            where = j->nodes[i].facts->id;
        }
        if (share > j->p[spec->threshold].v)
            bottleneck_judge_find(j, spec, &j->nodes[i], &n, out);
    }
    if (most < LEAST)
        say_nothing(j, spec, most, out);
    else if (out->state == RULE_CLEAR)
        verdict_why(out, "at most %.0f %% of the readings of a node (%s; threshold %g %%)", highest,
                    where, j->p[spec->threshold].v);
}
