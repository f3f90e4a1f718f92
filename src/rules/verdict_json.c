/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_json.c - see verdict_json.h. */
#include "rules/verdict_json.h"

#include <math.h>

#include "base/human.h"
#include "base/mem.h"
#include "cost/rightsize.h"

static const char *const plot_names[] = {
    [PLOT_HISTOGRAM] = "histogram", [PLOT_BOX] = "box",       [PLOT_PIE] = "pie",
    [PLOT_BARS] = "bars",           [PLOT_SERIES] = "series", [PLOT_TABLE] = "table",
};

static const struct {
    enum rule_needs bit;
    const char *name;
} needs[] = {
    {NEEDS_SWEEPS, "system metrics"},
    {NEEDS_GPU, "a GPU"},
    {NEEDS_STEPS, "steps"},
};

static int64_t known_time(wall_ns t)
{
    return t.ns ? t.ns : -1;
}

/* Texts that end with NULL; NULL: none. */
static struct row_cell words_cell(const char *const *v)
{
    size_t n = 0;
    while (v && v[n])
        n++;
    return row_texts(v, n);
}

/* ---- parameters ---- */

static size_t params_count(const struct rule *r)
{
    size_t n = 0;
    while (r->params && r->params[n].name)
        n++;
    return n;
}

static struct row_cell param_cell(const struct param *p, double v)
{
    return p->unit == PARAM_WORD ? row_text(p->words[(size_t)v]) : row_number(v);
}

/* "24 h". */
static const char *param_words(const struct param *p, const struct param_value *v, struct arena *a)
{
    char text[PARAM_TEXT_LEN];
    return arena_strdup(a, param_text(p, v, text, sizeof text));
}

static struct row_cell need_at(const void *x, size_t i, const char **key)
{
    (void)key;
    return ((const struct rule *)x)->needs & needs[i].bit ? row_text(needs[i].name) : row_absent();
}

/* ---- verdicts ---- */

struct finding_row {
    const struct finding *f;
    const struct rule *r;
};

struct verdict_row {
    const struct verdict *v;
    const struct param_value *p; /* what it was evaluated with */
    size_t n_params;
    struct finding_row *findings;
    struct arena *arena;
};

/* Points that were given as time are shown as time. */
static struct row_cell param_value_at(const void *x, size_t i, const char **key)
{
    const struct verdict_row *row = x;
    const struct param *p = &row->v->rule->params[i];
    *key = p->name;
    if (!row->p[i].is_duration)
        return param_cell(p, row->p[i].v);
    return row_text(arena_printf(row->arena, "%gs", row->p[i].v / 1e9));
}

static struct row_cell param_text_at(const void *x, size_t i, const char **key)
{
    const struct verdict_row *row = x;
    const struct param *p = &row->v->rule->params[i];
    *key = p->name;
    return row_text(param_words(p, &row->p[i], row->arena));
}

static struct row_cell number_value_at(const void *x, size_t i, const char **key)
{
    const struct finding_number *n = &((const struct finding_row *)x)->f->numbers[i];
    *key = n->name;
    return row_number(n->v);
}

static struct row_cell number_unit_at(const void *x, size_t i, const char **key)
{
    const struct finding_number *n = &((const struct finding_row *)x)->f->numbers[i];
    *key = n->name;
    return row_text(n->unit);
}

static struct row_cell number_label_at(const void *x, size_t i, const char **key)
{
    const struct finding_number *n = &((const struct finding_row *)x)->f->numbers[i];
    *key = n->name;
    return *n->label ? row_text(n->label) : row_absent();
}

/* ---- fewer or smaller machines ---- */

struct sizing_row {
    const struct sizing *s;
    double hours;
};

/* NULL: there is none. */
static struct sizing_row *sizing_row_of(const struct sizing *s, double hours, struct arena *a)
{
    struct sizing_row *row = arena_new(a, struct sizing_row);
    *row = (struct sizing_row){s, hours};
    return s->machine ? row : NULL;
}

/* ---- rows ---- */

#define ROWS_FILE "rules/verdict_rows.def"
#include "base/row_expand.h"

void verdict_json(struct jw *j, const char *key, const struct verdict *v,
                  const struct param_value *p)
{
    struct arena a = {0};
    struct verdict_row row = {v, p, params_count(v->rule),
                              arena_array(&a, struct finding_row, v->n_findings + 1), &a};
    for (size_t i = 0; i < v->n_findings; i++)
        row.findings[i] = (struct finding_row){&v->findings[i], v->rule};
    row_json(j, key, &row_Verdict, &row, &a);
    arena_free(&a);
}

void rule_json(struct jw *j, const char *key, const struct rule *r)
{
    struct arena a = {0};
    row_json(j, key, &row_Rule, r, &a);
    arena_free(&a);
}

void right_size_json(struct jw *j, const char *key, const struct right_size *r)
{
    struct arena a = {0};
    if (r)
        row_json(j, key, &row_RightSize, r, &a);
    else
        jw_null(j, key);
    arena_free(&a);
}
