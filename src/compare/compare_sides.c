/* SPDX-License-Identifier: Apache-2.0 */
/* compare_sides.c - what each side is: its runs, machines, how long they took and what that cost;
 * and in what their hardware differs. */
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/human.h"
#include "base/mem.h"
#include "compare/compare_internal.h"
#include "cost/pricing.h"

/* ---- cost ---- */

/* Every session of every node at the price of its machine. */
static double compare_sides_cost_of(const struct compare_ask *ask, int side,
                                    const struct run_info *info, struct arena *a)
{
    const struct pricing p = {.table = ask->table,
                              .price_per_hour = ask->side[side].price_per_hour};
    double sum = info->n_nodes ? 0 : NAN;
    for (size_t i = 0; i < info->n_nodes; i++) {
        const struct node_info *n = &info->nodes[i];
        sum += node_hours(n) * pricing_of_node(&p, info, n, a).price_per_hour;
    }
    return sum;
}

/* Of one machine, when all cost the same. */
static double compare_sides_price_of(const struct side_reading *s)
{
    double price = NAN;
    bool some = false;
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < s->v[i].checked.n_nodes; k++) {
            const double p = s->v[i].checked.nodes[k].price_per_hour;
            if (some && p != price)
                return NAN;
            price = p;
            some = true;
        }
    return price;
}

/* As it is shown: to the cent, below 1 to a hundredth of it. What is saved is told of these
 * numbers, so that whoever reads them can work it out. */
static double as_shown(double cost)
{
    const double parts = cost < 1 ? 1e4 : 1e2;
    return nearbyint(cost * parts) / parts;
}

static void fill_cost(struct comparing *c)
{
    struct compared *o = c->out;
    for (int s = 0; s < COMPARE_SIDES; s++) {
        o->cost[s] = as_shown(o->side[s].cost);
        if (isnan(o->cost[s]))
            compare_lose(c, "cost", "the machine price is not known; set it with --price", s);
    }
    o->saving = as_shown(o->cost[COMPARE_A] - o->cost[COMPARE_B]);
    o->saving_share = o->cost[COMPARE_A] > 0 ? o->saving / o->cost[COMPARE_A] : NAN;
}

/* ---- the runs ---- */

static void fill_run(struct comparing *c, int side, const struct compare_reading *r,
                     struct compared_run *out)
{
    const struct run_info *i = r->info;
    *out = (struct compared_run){
        .run = arena_strdup(c->arena, path_base(i->path)),
        .id = arena_strdup(c->arena, i->id),
        .name = arena_strdup(c->arena, i->name),
        .path = arena_strdup(c->arena, i->path),
        .status = i->status,
        .start = i->start,
        .duration_s = runview_duration_s(i),
        .cost = compare_sides_cost_of(c->ask, side, i, c->scratch),
        .machines = r->checked.n_nodes,
        .gpus = runview_gpus(i),
        .ranks = r->steps.ranks,
        .steps = r->steps.n,
    };
}

static const char *names_of(const struct compared_side *s, struct arena *a)
{
    const char *text = s->runs[0].name;
    for (size_t i = 1; i < s->n; i++)
        text = arena_printf(a, "%s, %s", text, s->runs[i].name);
    return text;
}

static const char *currency_of(const struct side_reading *s)
{
    const struct checked *first = s->n ? &s->v[0].checked : NULL;
    return currency_name(first && first->n_nodes ? first->nodes[0].currency : NULL);
}

static void fill_side(struct comparing *c, int side)
{
    struct compared_side *out = &c->out->side[side];
    const struct side_reading *in = &c->side[side];
    out->n = in->n;
    out->runs = arena_array(c->arena, struct compared_run, in->n);
    for (size_t i = 0; i < in->n; i++) {
        struct compared_run *r = &out->runs[i];
        fill_run(c, side, &in->v[i], r);
        out->machines += (double)r->machines / (double)in->n;
        out->duration_s += r->duration_s / (double)in->n;
        out->cost += r->cost / (double)in->n;
    }
    out->name = names_of(out, c->arena);
    out->price_per_hour = compare_sides_price_of(in);
    if (side == COMPARE_A)
        c->out->currency = arena_strdup(c->arena, currency_of(in));
}

static bool same_run(const struct compared *o)
{
    const struct compared_side *a = &o->side[COMPARE_A], *b = &o->side[COMPARE_B];
    for (size_t i = 0; i < a->n; i++)
        for (size_t k = 0; k < b->n; k++)
            if (strcmp(a->runs[i].id, b->runs[k].id) == 0)
                return true;
    return false;
}

/* ---- hardware ---- */

/* What all nodes of all runs of a side are; "": they differ, or it is not known. */
typedef const char *describe_node(const struct node_info *n, struct arena *a);

static const char *cpu_of(const struct node_info *n, struct arena *a)
{
    if (!n->cores)
        return "";
    return arena_printf(a, "%u core%s%s%s", n->cores, n->cores == 1 ? "" : "s",
                        *n->cpu_model ? " of " : "", n->cpu_model);
}

static const char *compare_sides_memory_of(const struct node_info *n, struct arena *a)
{
    /* The kernel keeps a part for itself that changes from boot to boot: whole GiB. */
    const double gib = (double)n->memory_bytes / (double)(1 << 30);
    return gib > 0 ? arena_printf(a, "%.0f GiB of memory", gib) : "";
}

static const char *compare_sides_gpus_of(const struct node_info *n, struct arena *a)
{
    if (n->n_gpus == 0)
        return n->cores ? "no GPU" : ""; /* traces of a framework know nothing of the machine */
    if (!*n->gpus[0].name)
        return arena_printf(a, "%zu GPU%s", n->n_gpus, n->n_gpus == 1 ? "" : "s");
    return arena_printf(a, "%zu x %s", n->n_gpus, n->gpus[0].name);
}

/* Where its machines differ, two of the kinds. */
static const char *compare_sides_of_side(const struct side_reading *s, describe_node *describe,
                                         struct arena *a)
{
    const char *text = NULL;
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < s->v[i].info->n_nodes; k++) {
            const char *t = describe(&s->v[i].info->nodes[k], a);
            if (text && *text && *t && strcmp(text, t) != 0)
                return arena_printf(a, "%s or %s", text, t);
            text = text && *text ? text : t;
        }
    return text ? text : "";
}

static void differ(struct comparing *c, const char *text)
{
    struct compared *o = c->out;
    if (!o->hardware)
        o->hardware = arena_array(c->arena, const char *, 8);
    if (o->n_hardware < 8)
        o->hardware[o->n_hardware++] = text;
}

static const char *machines_text(double n, struct arena *a)
{
    return arena_printf(a, "%.3g node%s", n, n == 1 ? "" : "s");
}

static void fill_hardware(struct comparing *c)
{
    static describe_node *const all[] = {cpu_of, compare_sides_gpus_of, compare_sides_memory_of};
    const struct compared_side *a = &c->out->side[COMPARE_A], *b = &c->out->side[COMPARE_B];
    if (a->machines != b->machines)
        differ(c,
               arena_printf(c->arena, "A has %s, B has %s", machines_text(a->machines, c->scratch),
                            machines_text(b->machines, c->scratch)));
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        const char *x = compare_sides_of_side(&c->side[COMPARE_A], all[i], c->scratch),
                   *y = compare_sides_of_side(&c->side[COMPARE_B], all[i], c->scratch);
        if (*x && *y && strcmp(x, y) != 0)
            differ(c, arena_printf(c->arena, "the nodes of A have %s, those of B %s", x, y));
    }
    c->out->same_hardware = c->out->n_hardware == 0;
}

void compare_sides(struct comparing *c)
{
    for (int s = 0; s < COMPARE_SIDES; s++)
        fill_side(c, s);
    c->out->same_run = same_run(c->out);
    fill_cost(c);
    fill_hardware(c);
}
