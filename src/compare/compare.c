/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c - see compare.h: what each side is (runs, machines, durations, cost), what is known to
 * differ before anything is measured (command, commit, hardware), and the result as JSON. */
#include "compare/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/human.h"
#include "base/mem.h"
#include "base/text.h"
#include "compare/compare_internal.h"
#include "cost/machines.h"
#include "rules/rule.h"

/* ---- cost ---- */

/* Every session of every node at the price of its machine. */
static double sides_cost_of(const struct compare_ask *ask, int side, const struct run_info *info,
                            struct arena *a)
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
static double sides_price_of(const struct side_reading *s)
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

/* As it is shown: to the cent, below 1 to a hundredth of it. The saving is computed from these
 * numbers, so that readers get the same result. */
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
        .cost = sides_cost_of(c->ask, side, i, c->scratch),
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
    out->price_per_hour = sides_price_of(in);
    const struct checked *first = &in->v[0].checked; /* a side has a run */
    if (side == COMPARE_A)
        c->out->currency =
            arena_strdup(c->arena, currency_name(first->n_nodes ? first->nodes[0].currency : NULL));
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

static const char *sides_memory_of(const struct node_info *n, struct arena *a)
{
    /* The kernel reserves a part that changes from boot to boot: whole GiB. */
    const double gib = (double)n->memory_bytes / (double)(1 << 30);
    return gib > 0 ? arena_printf(a, "%.0f GiB of memory", gib) : "";
}

static const char *sides_gpus_of(const struct node_info *n, struct arena *a)
{
    if (n->n_gpus == 0)
        return n->cores ? "no GPU" : ""; /* traces of a framework know nothing of the machine */
    if (!*n->gpus[0].name)
        return arena_printf(a, "%zu GPU%s", n->n_gpus, n->n_gpus == 1 ? "" : "s");
    return arena_printf(a, "%zu x %s", n->n_gpus, n->gpus[0].name);
}

/* Where its machines differ, two of the kinds. */
static const char *sides_of_side(const struct side_reading *s, describe_node *describe,
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
    *ARENA_ADD(c->arena, c->out->hardware, c->out->n_hardware, c->cap_hardware) = text;
}

static const char *machines_text(double n, struct arena *a)
{
    return arena_printf(a, "%.3g node%s", n, n == 1 ? "" : "s");
}

static void fill_hardware(struct comparing *c)
{
    static describe_node *const all[] = {cpu_of, sides_gpus_of, sides_memory_of};
    const struct compared_side *a = &c->out->side[COMPARE_A], *b = &c->out->side[COMPARE_B];
    if (a->machines != b->machines)
        differ(c,
               arena_printf(c->arena, "A has %s, B has %s", machines_text(a->machines, c->scratch),
                            machines_text(b->machines, c->scratch)));
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        const char *x = sides_of_side(&c->side[COMPARE_A], all[i], c->scratch),
                   *y = sides_of_side(&c->side[COMPARE_B], all[i], c->scratch);
        if (*x && *y && strcmp(x, y) != 0)
            differ(c, arena_printf(c->arena, "the nodes of A have %s, those of B %s", x, y));
    }
    c->out->same_hardware = c->out->n_hardware == 0;
}

static void compare_sides(struct comparing *c)
{
    for (int s = 0; s < COMPARE_SIDES; s++)
        fill_side(c, s);
    c->out->same_run = same_run(c->out);
    fill_cost(c);
    fill_hardware(c);
}

/* ---- what is known to differ ---- */

enum { COMMIT_SHOWN = 7, CHANGES_MOST = 8 };

/* What a run has, as text; NULL: not known. `brief`: as people read it. */
typedef const char *describe_run(const struct run_info *info, bool brief, struct arena *a);

static const char *command_of(const struct run_info *info, bool brief, struct arena *a)
{
    (void)brief;
    const char *text = NULL;
    for (const char *const *w = info->command; w && *w; w++)
        text = text ? arena_printf(a, "%s %s", text, *w) : *w;
    return text;
}

static const char *commit_of(const struct run_info *info, bool brief, struct arena *a)
{
    const char *c = info->git_commit;
    if (!c || !*c)
        return NULL;
    return brief && strlen(c) > COMMIT_SHOWN ? arena_strndup(a, c, COMMIT_SHOWN) : c;
}

/* All that occur, each once, in order; NULL where one is not known. */
static const char *changes_together(const char **v, size_t n, struct arena *a)
{
    const char *text = NULL;
    for (size_t i = 0; i < n; i++)
        if (!v[i])
            return NULL;
    qsort((void *)v, n, sizeof *v, text_compare);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || strcmp(v[i], v[i - 1]) != 0)
            text = text ? arena_printf(a, "%s or %s", text, v[i]) : v[i];
    return text;
}

static const char *changes_machine_of(const struct run_info *info, bool brief, struct arena *a)
{
    const char **v = arena_array(a, const char *, info->n_nodes + 1);
    (void)brief;
    for (size_t i = 0; i < info->n_nodes; i++)
        v[i] = info->nodes[i].machine && *info->nodes[i].machine ? info->nodes[i].machine : NULL;
    return changes_together(v, info->n_nodes, a);
}

static const char *changes_gpus_of(const struct run_info *info, bool brief, struct arena *a)
{
    (void)brief;
    for (size_t i = 0; i < info->n_nodes; i++)
        if (!info->nodes[i].gpus_known)
            return NULL;
    return info->n_nodes ? arena_printf(a, "%zu", runview_gpus(info)) : NULL;
}

static const char *nodes_of(const struct run_info *info, bool brief, struct arena *a)
{
    (void)brief;
    return info->n_nodes ? arena_printf(a, "%zu", runview_count_nodes(info)) : NULL;
}

static const char *changes_of_side(const struct comparing *c, int side, describe_run *describe,
                                   bool brief)
{
    const struct side_reading *s = &c->side[side];
    const char **v = arena_array(c->scratch, const char *, s->n + 1);
    for (size_t i = 0; i < s->n; i++)
        v[i] = describe(s->v[i].info, brief, c->scratch);
    return changes_together(v, s->n, c->scratch);
}

static void compare_changes(struct comparing *c)
{
    static const struct {
        const char *what;
        describe_run *describe;
        bool long_text; /* named only */
    } all[] = {
        {"command", command_of, true},
        {"commit", commit_of, false},
        {"machine type", changes_machine_of, false},
        {"nodes", nodes_of, false},
        {"GPUs", changes_gpus_of, false},
    };
    struct compared *o = c->out;
    o->differences = arena_array(c->arena, struct compared_difference, CHANGES_MOST);
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        const char *x = changes_of_side(c, COMPARE_A, all[i].describe, false),
                   *y = changes_of_side(c, COMPARE_B, all[i].describe, false);
        if (!x || !y || strcmp(x, y) == 0)
            continue;
        o->differences[o->n_differences++] = (struct compared_difference){
            .what = all[i].what,
            .v = {arena_strdup(c->arena, x), arena_strdup(c->arena, y)},
            .text = all[i].long_text
                        ? all[i].what
                        : arena_printf(c->arena, "%s %s -> %s", all[i].what,
                                       changes_of_side(c, COMPARE_A, all[i].describe, true),
                                       changes_of_side(c, COMPARE_B, all[i].describe, true))};
    }
}

/* ---- JSON: see compare_rows.def ---- */

/* compared_use.v of one side. */
struct compared_quantiles {
    double v[COMPARE_QUANTILES];
};

struct compared_part_row {
    const struct compared_part *part;
    const char *clock;
};

static const char *severity_of(const struct compared_finding *f, int side)
{
    return f->runs[side] ? severity_names[f->severity[side]] : NULL;
}

static struct row_cell parts_cell(const char *clock, const struct compared_part *v, size_t n,
                                  struct arena *a)
{
    struct compared_part_row *rows = arena_array(a, struct compared_part_row, n + 1);
    for (size_t i = 0; i < n; i++)
        rows[i] = (struct compared_part_row){&v[i], clock};
    return row_list(rows, n, NULL);
}

static struct row_cell findings_cell(const struct compared *c, enum finding_change change,
                                     struct arena *a)
{
    struct compared_finding *rows = arena_array(a, struct compared_finding, c->n_findings + 1);
    size_t n = 0;
    for (size_t i = 0; i < c->n_findings; i++)
        if (c->findings[i].change == change)
            rows[n++] = c->findings[i];
    return row_list(rows, n, NULL);
}

#define ROWS_FILE "compare/compare_rows.def"
#include "base/row_expand.h"

void compare_json(struct jw *j, const struct compared *c)
{
    struct arena a = {0};
    row_fields_json(j, &row_Compare, c, &a);
    arena_free(&a);
}

/* ---- the comparison ---- */

static const double CONFIDENCE = 0.95;

void compare_lose(struct comparing *c, const char *what, const char *why, int side)
{
    *ARENA_ADD(c->arena, c->out->losses, c->out->n_losses, c->cap_losses) =
        (struct compared_loss){arena_strdup(c->arena, what), arena_strdup(c->arena, why), side};
}

static int compare_check_ask(const struct compare_ask *ask, struct err *e)
{
    for (int s = 0; s < COMPARE_SIDES; s++)
        if (ask->side[s].n == 0 || ask->side[s].n > COMPARE_RUNS_MOST)
            return err_set(e, ERR_USAGE, "a group must have 1 to %d runs, not %zu",
                           COMPARE_RUNS_MOST, ask->side[s].n);
    if (ask->confidence != 0 && !(ask->confidence >= 0.5 && ask->confidence <= 0.999))
        return err_set(e, ERR_USAGE, "the confidence must be between 0.5 and 0.999");
    return 0;
}

int compare_runs(const struct compare_ask *ask, struct arena *a, struct compared *out,
                 struct err *e)
{
    struct arena scratch[COMPARE_SIDES] = {{0}};
    struct side_reading side[COMPARE_SIDES] = {{0}};
    int rc = compare_check_ask(ask, e);
    if (rc == 0)
        rc = readings_open(ask, scratch, side, e);
    if (rc == 0) {
        struct comparing c = {.ask = ask, .side = side, .arena = a, .scratch = &scratch[0]};
        *out = (struct compared){.confidence = ask->confidence > 0 ? ask->confidence : CONFIDENCE};
        c.out = out;
        compare_sides(&c);
        compare_changes(&c);
        compare_steps(&c);
        compare_tables(&c);
        compare_detail(&c);
        compare_health(&c);
        compare_findings(&c);
        compare_conclude(&c);
    }
    for (int s = 0; s < COMPARE_SIDES; s++)
        arena_free(&scratch[s]);
    return rc;
}
