/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_health.c - whether the model learns: losses, norms, updates, and the worst tensors. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/mem.h"
#include "base/stat.h"
#include "base/table.h"
#include "base/text.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "query/run.h"
#include "rules/feed_run.h"
#include "rules/rule.h"
#include "tables/healthview.h"
#include "tables/show.h"

enum { CURVE_WIDTH = 32, SCALARS_SHOWN = 24, WORST_SHOWN = 5 };

struct health_report {
    struct run *run;
    struct arena *arena;
    struct health_index index;
    int64_t rank; /* that is shown */
};

/* Three or four digits, for numbers of any size. */
static const char *health_number_text(struct arena *a, double v)
{
    if (isnan(v))
        return "-";
    return arena_printf(a, "%.4g", v);
}

static const char *health_at_step(struct arena *a, int64_t step)
{
    return step < 0 ? "" : arena_printf(a, " at step %" PRId64, step);
}

/* ---- the verdict ---- */

static const struct verdict *health_worst(const struct checked *c, size_t count[RULE_STATE_N])
{
    const struct verdict *worst = NULL;
    for (size_t i = 0; i < RULE_N; i++) {
        const struct verdict *v = &c->verdicts.v[i];
        if (!rules[i]->health || verdict_has_nothing(v))
            continue;
        count[v->state]++;
        if (v->state == RULE_ISSUE && (!worst || v->severity > worst->severity))
            worst = v;
    }
    return worst;
}

static int health_put_verdict(struct health_report *h, struct err *e)
{
    struct rule_params params;
    struct checked checked;
    size_t count[RULE_STATE_N] = {0};
    rule_params_init(&params, h->arena);
    TRY(rules_check_run(h->run, &params, h->arena, &checked, e));
    const struct verdict *worst = health_worst(&checked, count);
    if (worst && worst->n_findings) {
        const struct finding *f = &worst->findings[0];
        printf("%s: %s\n", rule_title(worst->rule->name), text_safe(h->arena, f->message));
        printf("  fix   %s\n",
               text_safe(h->arena, f->advice ? f->advice : worst->rule->recommendation));
        printf("  more  footplate check: %zu health issue%s, %zu passed, %zu skipped\n",
               count[RULE_ISSUE], count[RULE_ISSUE] == 1 ? "" : "s", count[RULE_CLEAR],
               count[RULE_NOT_EVALUATED]);
    } else if (count[RULE_CLEAR]) {
        printf("No health issues found (%zu rules passed, %zu skipped)\n", count[RULE_CLEAR],
               count[RULE_NOT_EVALUATED]);
    } else if (count[RULE_NOT_EVALUATED]) {
        printf("No health rule was evaluated (%zu skipped; footplate check has the reasons)\n",
               count[RULE_NOT_EVALUATED]);
    } else {
        puts("No health rule was evaluated: there is no loss, and no statistic of a tensor.");
    }
    return 0;
}

/* ---- sparklines ---- */

/* From the smallest to the largest value; a point that has a value which is not finite is '!'. */
static const char *health_spark(struct arena *a, const double *v, const bool *bad, size_t n)
{
    struct buf out = {0};
    double lo = INFINITY, hi = -INFINITY;
    for (size_t i = 0; i < n; i++)
        if (isfinite(v[i])) {
            lo = fmin(lo, v[i]);
            hi = fmax(hi, v[i]);
        }
    for (size_t i = 0; i < n; i++)
        buf_printf(&out, "%s",
                   bad[i] ? "!"
                          : chart_block(isfinite(v[i]) ? v[i] - lo : NAN, hi > lo ? hi - lo : 1));
    const char *text = arena_strndup(a, (const char *)out.p, out.len);
    buf_free(&out);
    return text;
}

static int health_curve_text(struct health_report *h, const struct health_scalar *s,
                             const char **out, struct err *e)
{
    const struct health_curve_ask ask = {
        .rank = s->rank, .name = s->name, .mode = (int)s->mode, .points = CURVE_WIDTH};
    struct health_curve c;
    double v[CURVE_WIDTH];
    bool bad[CURVE_WIDTH];
    TRY(health_curve(h->run, &ask, h->arena, &c, e));
    for (size_t i = 0; i < c.n; i++) {
        v[i] = c.v[i].mean;
        bad[i] = c.v[i].nonfinite > 0;
    }
    *out = health_spark(h->arena, v, bad, c.n);
    return 0;
}

/* ---- scalars ---- */

/* The loss of training first, then other losses, then the rest as they came. */
static int health_scalar_order(const struct health_scalar *s)
{
    const char *last = strrchr(s->name, '/') ? strrchr(s->name, '/') + 1 : s->name;
    const bool loss = strncmp(last, "loss", 4) == 0 || text_ends(last, "_loss");
    return loss ? s->mode == MODE_TRAIN ? 0 : 1 : 2;
}

static int health_put_scalar(struct health_report *h, struct table *t,
                             const struct health_scalar *s, struct err *e)
{
    struct arena *a = h->arena;
    const char *curve;
    TRY(health_curve_text(h, s, &curve, e));
    table_cell(t, "%s", text_safe(a, s->name));
    table_cell(t, "%s", event_mode_names[s->mode]);
    cell_count(t, s->count);
    table_cell(t, "%s", health_number_text(a, s->first));
    table_cell(t, "%s%s", health_number_text(a, s->min), health_at_step(a, s->min_step));
    table_cell(t, "%s%s", health_number_text(a, s->max), health_at_step(a, s->max_step));
    table_cell(t, "%s", health_number_text(a, s->last));
    table_cell(t, "%s", curve);
    if (s->nonfinite)
        table_cell(t, "%" PRIu64 " not finite, first%s", s->nonfinite,
                   health_at_step(a, s->nonfinite_step));
    else
        table_cell(t, "%s", "");
    return 0;
}

static int health_put_scalars(struct health_report *h, struct err *e)
{
    struct table t;
    size_t shown = 0, all = 0;
    table_init(&t, h->arena, "SCALAR|MODE|>VALUES|>FIRST|>MIN|>MAX|>LAST|CURVE|NOTE");
    for (int order = 0; order < 3; order++)
        for (size_t i = 0; i < h->index.n_scalars; i++) {
            const struct health_scalar *s = &h->index.scalars[i];
            if (s->rank != h->rank || health_is_internal(s) || health_scalar_order(s) != order)
                continue;
            all++;
            if (shown < SCALARS_SHOWN) {
                TRY(health_put_scalar(h, &t, s, e));
                shown++;
            }
        }
    if (!shown)
        return 0;
    putchar('\n');
    output_table(&t);
    if (all > shown)
        printf("and %zu more: --json lists all\n", all - shown);
    return 0;
}

/* ---- the gradient norm ---- */

/* p50, p99 and maximum of a scalar. */
static int health_put_spread(struct health_report *h, const char *name, const char *title,
                             struct err *e)
{
    const struct health_curve_ask ask = {.rank = h->rank, .name = name, .mode = MODE_TRAIN};
    struct health_curve c;
    size_t n = 0;
    TRY(health_curve(h->run, &ask, h->arena, &c, e));
    double *v = arena_array(h->arena, double, c.n + 1), max = -INFINITY;
    int64_t step = HEALTH_NO_STEP;
    for (size_t i = 0; i < c.n; i++) {
        const double x = c.v[i].mean;
        if (!isfinite(x))
            continue;
        v[n++] = x;
        step = x >= max ? c.v[i].step : step;
        max = fmax(max, x);
    }
    if (n == 0)
        return 0;
    stat_sort(v, n);
    printf("%-14s p50 %s, p99 %s, max %s%s\n", title,
           health_number_text(h->arena, stat_quantile(v, n, 0.5)),
           health_number_text(h->arena, stat_quantile(v, n, 0.99)),
           health_number_text(h->arena, max), health_at_step(h->arena, step));
    return 0;
}

/* ---- updates ---- */

/* Quantile q over the tensors of each column. */
static const char *health_quantile_spark(struct health_report *h, const struct health_matrix *m,
                                         double q, double *last)
{
    double *column = arena_array(h->arena, double, m->n_rows + 1);
    double *v = arena_array(h->arena, double, m->n_columns + 1);
    bool *bad = arena_array(h->arena, bool, m->n_columns + 1);
    *last = NAN;
    for (size_t k = 0; k < m->n_columns; k++) {
        size_t n = 0;
        for (size_t i = 0; i < m->n_rows; i++)
            if (isfinite(health_cell(m, i, k)))
                column[n++] = (double)health_cell(m, i, k);
        stat_sort(column, n);
        const double x = n ? stat_quantile(column, n, q) : NAN;
        *last = n ? x : *last;
        v[k] = x > 0 ? log10(x) : NAN;
    }
    return health_spark(h->arena, v, bad, m->n_columns);
}

static int health_put_updates(struct health_report *h, struct err *e)
{
    static const double quantiles[] = {0.05, 0.5, 0.95};
    const struct health_matrix_ask ask = {
        .rank = h->rank, .stat = HEALTH_UPDATE_RATIO, .columns = CURVE_WIDTH};
    struct health_matrix m;
    TRY(health_matrix(h->run, &ask, h->arena, &m, e));
    for (size_t i = 0; m.n_rows && i < COUNT_OF(quantiles); i++) {
        double last;
        const char *curve = health_quantile_spark(h, &m, quantiles[i], &last);
        printf("%-14s p%-2.0f %-9s %s\n", i ? "" : "update ratio", 100 * quantiles[i],
               health_number_text(h->arena, last), curve);
    }
    return 0;
}

/* ---- tensors ---- */

static void health_put_layers(const struct health_report *h, const struct health_layers *l)
{
    struct table t;
    struct arena *a = h->arena;
    table_init(&t, a,
               "TENSOR OR MODULE|>STEP|>GRADIENT|>WEIGHT|>UPDATE RATIO|>ZERO GRADIENT|>DEAD|"
               ">SATURATED|>OUTPUT STD|>NOT FINITE");
    for (size_t i = 0; i < l->n; i++) {
        const struct health_layer *x = &l->v[i];
        table_cell(&t, "%s", text_safe(a, x->name));
        cell_int(&t, x->step);
        table_cell(&t, "%s", health_number_text(a, x->v[HEALTH_GRADIENT_L2]));
        table_cell(&t, "%s", health_number_text(a, x->v[HEALTH_WEIGHT_L2]));
        table_cell(&t, "%s", health_number_text(a, x->v[HEALTH_UPDATE_RATIO]));
        cell_share(&t, x->v[HEALTH_GRADIENT_ZEROS]);
        cell_share(&t, x->v[HEALTH_OUTPUT_DEAD]);
        cell_share(&t, x->v[HEALTH_OUTPUT_SATURATED]);
        table_cell(&t, "%s", health_number_text(a, x->v[HEALTH_OUTPUT_STD]));
        cell_count(&t, x->nonfinite);
    }
    putchar('\n');
    output_table(&t);
    if (l->more)
        printf("and %zu more values of tensors that are not listed\n", l->more);
}

/* What tensors are listed for, the worst first. */
static const struct {
    enum health_id stat;
    const char *title;
    double least; /* from here on it is worth a line */
} outstanding[] = {
    {HEALTH_GRADIENT_NONFINITE, "gradient not finite, values", 1},
    {HEALTH_WEIGHT_NONFINITE, "weight not finite, values", 1},
    {HEALTH_OUTPUT_NONFINITE, "output not finite, values", 1},
    {HEALTH_UPDATE_RATIO, "largest update ratio", 0.1},
    {HEALTH_OUTPUT_DEAD, "largest share of dead units", 0.5},
    {HEALTH_OUTPUT_SATURATED, "largest share of saturated values", 0.5},
    {HEALTH_GRADIENT_ZEROS, "gradient that is all zero, share", 1},
};

static void health_put_worst(const struct health_report *h, const struct health_layers *l)
{
    size_t shown = 0;
    for (size_t k = 0; k < COUNT_OF(outstanding); k++) {
        const enum health_id stat = outstanding[k].stat;
        const struct health_layer *worst = NULL;
        size_t more = 0;
        for (size_t i = 0; i < l->n; i++) {
            const struct health_layer *x = &l->v[i];
            if (!(x->worst[stat] >= outstanding[k].least))
                continue;
            more++;
            if (!worst || x->worst[stat] > worst->worst[stat])
                worst = x;
        }
        if (!worst || shown++ == WORST_SHOWN)
            continue;
        printf("%-14s %s: %s%s, %s%s\n", shown == 1 ? "tensors" : "",
               text_safe(h->arena, worst->name), outstanding[k].title,
               health_at_step(h->arena, worst->worst_step[stat]),
               health_number_text(h->arena, worst->worst[stat]),
               more > 1 ? arena_printf(h->arena, " (and %zu more)", more - 1) : "");
    }
}

/* ---- saved tensors ---- */

static void health_put_saved(const struct health_report *h)
{
    const struct health_index *x = &h->index;
    uint64_t bytes = 0;
    int64_t first = INT64_MAX, last = 0;
    for (size_t i = 0; i < x->n_saved; i++) {
        bytes += x->saved[i].bytes;
        first = MIN_OF(first, x->saved[i].step);
        last = MAX_OF(last, x->saved[i].step);
    }
    if (x->n_saved)
        printf("%-14s %zu tensors, %s, step%s %s: --json lists them\n", "saved", x->n_saved,
               bytes_text(h->arena, (double)bytes), first == last ? "" : "s",
               first == last ? arena_printf(h->arena, "%" PRId64, first)
                             : arena_printf(h->arena, "%" PRId64 " to %" PRId64, first, last));
}

/* ---- the command ---- */

enum { O_LAYERS, O_STEP, O_RANK };

static const struct opt options[] = {
    [O_LAYERS] = {"layers", 0, NULL, OPT_FLAG, .help = "List every parameter and module."},
    [O_STEP] = {"step", 0, "N", OPT_INT, .lo = 0, .hi = INT64_MAX / 2,
                .help = "Show the statistics of tensors of this step."},
    [O_RANK] = {"rank", 0, "R", OPT_INT, .lo = 0, .hi = INT32_MAX,
                .help = "Show this rank (default: the first)."},
    OPT_ROWS_OUTPUT,
};

static int health_text(struct health_report *h, const struct health_layers *l, bool layers,
                       struct err *e)
{
    if (h->index.values == 0) {
        puts("This run has no training health: it was not recorded, or the job did not train.");
        return 0;
    }
    TRY(health_put_verdict(h, e));
    TRY(health_put_scalars(h, e));
    putchar('\n');
    TRY(health_put_spread(h, "grad.norm", "gradient norm", e));
    TRY(health_put_updates(h, e));
    health_put_worst(h, l);
    health_put_saved(h);
    if (layers)
        health_put_layers(h, l);
    return 0;
}

/* ---- JSON ---- */

enum { SERIES_POINTS = 100000 };

struct health_series {
    const struct health_scalar *scalar;
    const struct health_curve *curve;
};

struct health_part {
    const struct health_layer *layer;
    const char *kind;
    const char *const *keys; /* by statistic; NULL: of no kind */
};

struct health_run {
    const struct health_index *index;
    struct health_series *series; /* by scalar of the index */
    struct health_part *parts;
    size_t n_parts;
    struct show_loss *losses;
    size_t n_losses;
};

static struct row_cell health_series_step_at(const void *x, size_t i, const char **key)
{
    (void)key;
    return row_int_or_null(((const struct health_curve *)x)->v[i].step);
}

static struct row_cell health_series_value_at(const void *x, size_t i, const char **key)
{
    (void)key;
    return row_number(((const struct health_curve *)x)->v[i].mean);
}

/* The first word of a statistic's name, its kind of tensor, and what precedes the rest as a key. */
static const struct health_kind {
    const char *word, *kind, *before;
} health_kinds[] = {
    {"weight.", "weight", ""},       {"parameter.", "weight", ""},
    {"gradient.", "gradient", ""},   {"update.", "update", ""},
    {"output.", "activation", ""},   {"input.", "activation", "input_"},
    {"optimizer.", "optimizer", ""},
};

/* NULL: not of a tensor. A sum of words does not fit into a number of JSON. */
static const struct health_kind *health_kind_of(enum health_id stat)
{
    for (size_t i = 0; i < COUNT_OF(health_kinds) && stat != HEALTH_WEIGHT_SUM; i++)
        if (text_starts(health_words[stat].name, health_kinds[i].word))
            return &health_kinds[i];
    return NULL;
}

static bool health_part_has(const struct health_part *x, size_t stat)
{
    const struct health_kind *k = health_kind_of((enum health_id)stat);
    return k && x->layer->count[stat] && strcmp(k->kind, x->kind) == 0;
}

static int64_t health_part_samples(const struct health_part *x)
{
    uint32_t most = 0;
    for (size_t i = 0; i < HEALTH_N; i++)
        if (health_part_has(x, i))
            most = MAX_OF(most, x->layer->count[i]);
    return most;
}

static struct row_cell health_part_stat_at(const void *x, size_t i, const char **key)
{
    const struct health_part *part = x;
    *key = part->keys[i];
    return health_part_has(part, i) ? row_number(part->layer->v[i]) : row_absent();
}

#define ROWS_FILE "cmd/health_run_rows.def"
#include "base/row_expand.h"

static const char *const *health_keys(struct arena *a)
{
    const char **keys = arena_array(a, const char *, HEALTH_N);
    for (size_t i = 0; i < HEALTH_N; i++) {
        const struct health_kind *k = health_kind_of((enum health_id)i);
        if (k)
            keys[i] = arena_printf(a, "%s%s", k->before, health_words[i].name + strlen(k->word));
    }
    return keys;
}

static void health_list_parts(struct health_run *x, const struct health_layers *l, struct arena *a)
{
    static const char *const kinds[] = {"weight", "gradient", "update", "activation", "optimizer"};
    const char *const *keys = health_keys(a);
    x->parts = arena_array(a, struct health_part, COUNT_OF(kinds) * l->n + 1);
    for (size_t i = 0; i < l->n; i++)
        for (size_t k = 0; k < COUNT_OF(kinds); k++) {
            const struct health_part part = {&l->v[i], kinds[k], keys};
            if (health_part_samples(&part))
                x->parts[x->n_parts++] = part;
        }
}

static int health_list_losses(struct health_run *x, struct run *r, struct arena *a, struct err *e)
{
    struct loss_list all;
    TRY(loss_list_read(&all, r, a, e));
    x->losses = arena_array(a, struct show_loss, all.n + 1);
    for (size_t i = 0; i < all.n; i++)
        if (all.v[i].loss.id == LOSS_HOOK || all.v[i].loss.id == LOSS_HEALTH)
            x->losses[x->n_losses++] = show_loss_of(&all.v[i], a);
    return 0;
}

static int health_json(struct health_report *h, const struct health_layers *l, bool layers,
                       struct err *e)
{
    struct health_run x = {.index = &h->index};
    struct health_curve *curves;
    struct output_json o;
    TRY(health_curves(h->run, &h->index, SERIES_POINTS, h->arena, &curves, e));
    x.series = arena_array(h->arena, struct health_series, h->index.n_scalars + 1);
    for (size_t i = 0; i < h->index.n_scalars; i++)
        x.series[i] = (struct health_series){&h->index.scalars[i], &curves[i]};
    health_list_parts(&x, l, h->arena);
    TRY(health_list_losses(&x, h->run, h->arena, e));
    struct jw *j = output_begin(&o);
    jw_object(j, NULL);
    row_fields_json(j, &row_HealthRun, &x, h->arena);
    if (layers)
        rows_json(j, "layers", &row_HealthLayer, l->v, l->n, h->arena);
    jw_end(j);
    output_end(&o);
    return 0;
}

static int health_wrong_rank(const struct health_report *h, struct err *e)
{
    for (size_t i = 0; i < h->index.n_ranks; i++)
        if (h->index.ranks[i].rank == h->rank)
            return 0;
    return err_set(e, ERR_NOT_FOUND, "run '%s' has no training health of rank %" PRId64,
                   run_get_info(h->run)->name, h->rank);
}

static int cmd_health_on_run(struct run *r, const struct cmd_args *args, struct arena *a,
                             struct err *e)
{
    struct health_report h = {.run = r, .arena = a};
    struct health_layers l;
    const bool one_step = args->opt[O_STEP].given, layers = args->opt[O_LAYERS].given || one_step;
    TRY(health_index(r, a, &h.index, e));
    h.rank = args->opt[O_RANK].given ? args->opt[O_RANK].number
             : h.index.n_ranks       ? h.index.ranks[0].rank
                                     : 0;
    if (args->opt[O_RANK].given)
        TRY(health_wrong_rank(&h, e));
    TRY(healthview_layers(r, h.rank, one_step ? args->opt[O_STEP].number : -1, a, &l, e));
    if (one_step && l.n == 0)
        return err_set(e, ERR_NOT_FOUND, "tensors were not measured in step %" PRId64,
                       args->opt[O_STEP].number);
    if (args->output == OUTPUT_JSON)
        TRY(health_json(&h, &l, layers, e));
    else if (args->output == OUTPUT_CSV && layers)
        output_csv(&row_HealthLayer, "", l.v, l.n, a);
    else if (args->output == OUTPUT_CSV)
        output_csv(&row_HealthScalar, "", h.index.scalars, h.index.n_scalars, a);
    else if (one_step)
        health_put_layers(&h, &l);
    else
        TRY(health_text(&h, &l, layers, e));
    return 0;
}

const struct cmd cmd_health = {
    .name = "health",
    .summary = "show losses, gradients and other training health",
    .args = cmd_arg_run,
    .options = options,
    .help = CMD_HELP(
        "Prints the worst finding about the training, then losses, learning rates and other "
        "scalars "
        "with their first, smallest, largest and last value, then norms, update ratios and the "
        "worst "
        "tensors.",
        "Scalars are recorded in every step, statistics of tensors in samples: some of the steps. "
        "A "
        "curve begins at its smallest and ends at its largest value; '!' marks values that are not "
        "finite."),
    .examples =
        CMD_EXAMPLES({"footplate health last", "Show whether the last run learned."},
                     {"footplate health last --layers --csv",
                      "Print the newest statistics of every tensor as CSV."},
                     {"footplate health last --step 100", "Show the tensors of one sampled step."}),
    .on_run = cmd_health_on_run,
};
