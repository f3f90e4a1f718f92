/* SPDX-License-Identifier: Apache-2.0 */
/* verdict.c - see verdict.h. */
#include "rules/verdict.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "rules/rule.h"

const char *const rule_state_names[RULE_STATE_N] = {
    [RULE_CLEAR] = "clear",
    [RULE_ISSUE] = "issue",
    [RULE_NOT_EVALUATED] = "not_evaluated",
};

const char *const rule_state_words[RULE_STATE_N] = {
    [RULE_CLEAR] = "passed",
    [RULE_ISSUE] = "issue",
    [RULE_NOT_EVALUATED] = "skipped",
};

const char *const severity_names[SEVERITY_N] = {
    [SEVERITY_INFO] = "info",
    [SEVERITY_WARNING] = "warning",
    [SEVERITY_CRITICAL] = "critical",
};

#define SAY(to, a, fmt)                                                                            \
    do {                                                                                           \
        va_list args_;                                                                             \
        va_start(args_, fmt);                                                                      \
        (to) = arena_vprintf(a, fmt, args_);                                                       \
        va_end(args_);                                                                             \
    } while (0)

struct verdict verdict_new(const struct rule *r, struct arena *a)
{
    return (struct verdict){.rule = r,
                            .why = "",
                            .lost_s = NAN,
                            .lost_share = NAN,
                            .lost_gpu_s = NAN,
                            .lost_cost = NAN,
                            .arena = a};
}

struct finding *verdict_find(struct verdict *v, const char *node, const char *entity)
{
    struct finding *f = ARENA_ADD(v->arena, v->findings, v->n_findings, v->cap_findings);
    *f = (struct finding){.node = arena_strdup(v->arena, node),
                          .entity = arena_strdup(v->arena, entity),
                          .step = -1,
                          .message = "",
                          .lost_s = NAN,
                          .lost_gpu_s = NAN,
                          .estimated = v->rule && v->rule->estimates};
    v->state = RULE_ISSUE;
    return f;
}

void verdict_not_evaluated(struct verdict *v, const char *fmt, ...)
{
    SAY(v->why, v->arena, fmt);
    v->state = RULE_NOT_EVALUATED;
}

void verdict_why(struct verdict *v, const char *fmt, ...)
{
    SAY(v->why, v->arena, fmt);
}

void verdict_remark(struct verdict *v, const char *fmt, ...)
{
    SAY(*ARENA_ADD(v->arena, v->remarks, v->n_remarks, v->cap_remarks), v->arena, fmt);
}

struct plot *verdict_plot(struct verdict *v, enum plot_kind kind, const char *title,
                          const char *unit)
{
    struct plot *p = ARENA_ADD(v->arena, v->plots, v->n_plots, v->cap_plots);
    *p = (struct plot){.kind = kind, .title = arena_strdup(v->arena, title), .unit = unit};
    return p;
}

void plot_row(struct verdict *v, struct plot *p, const char *label, const double *values, size_t n)
{
    *ARENA_ADD(v->arena, p->rows, p->n_rows, p->cap_rows) =
        (struct plot_row){arena_strdup(v->arena, label), ARENA_COPY(v->arena, values, n), n};
}

/* Numbers of custom rules are called as their author did. */
static const char *verdict_label_of(const struct rule *r, const char *name)
{
    for (const struct number_label *l = r ? r->labels : NULL; r && l->name; l++)
        if (strcmp(l->name, name) == 0)
            return l->label;
    assert(!r || r->custom);
    return name;
}

void finding_number(struct verdict *v, struct finding *f, const char *name, double value,
                    const char *unit)
{
    *ARENA_ADD(v->arena, f->numbers, f->n_numbers, f->cap_numbers) =
        (struct finding_number){name, unit, verdict_label_of(v->rule, name), value};
}

void finding_numbers(struct verdict *v, struct finding *f, const double *values, size_t n)
{
    const struct number_label *l = v->rule->labels;
    for (size_t i = 0; i < n; i++)
        if (!isinf(values[i]))
            finding_number(v, f, l[i].name, values[i], l[i].unit);
}

void finding_say(struct verdict *v, struct finding *f, const char *fmt, ...)
{
    SAY(f->message, v->arena, fmt);
}

void finding_advise(struct verdict *v, struct finding *f, const char *fmt, ...)
{
    SAY(f->advice, v->arena, fmt);
}

void finding_when(struct verdict *v, struct finding *f, const struct time_range *r, size_t n)
{
    f->ranges = arena_copy(v->arena, r, n, sizeof *r);
    f->n_ranges = n;
    if (n == 0)
        return;
    f->start = r[0].start;
    f->end = r[n - 1].end;
}

void finding_count(struct verdict *v, const struct finding *f, uint64_t triggered,
                   uint64_t violations)
{
    v->triggered += triggered;
    v->violations += violations;
    v->last_triggered.ns = MAX_OF(v->last_triggered.ns, f->end.ns);
}

void finding_lost(struct finding *f, double seconds, size_t gpus)
{
    f->lost_s = seconds;
    f->lost_gpu_s = gpus ? seconds * (double)gpus : NAN;
}

const char *finding_basis(const struct finding *f, const struct rule *r)
{
    return isnan(f->lost_s) || r->custom ? NULL : f->estimated ? "estimated" : "measured";
}

bool verdict_has_nothing(const struct verdict *v)
{
    return v->rule->health && v->state == RULE_NOT_EVALUATED && v->datapoints == 0;
}

bool verdict_counts(const struct verdict *v)
{
    return verdict_has_nothing(v) ? false
           : v->rule->ending      ? v->state != RULE_CLEAR
           : v->rule->summary     ? v->state == RULE_NOT_EVALUATED
                                  : true;
}

bool verdict_is_cause(const struct verdict *v)
{
    return v->state == RULE_ISSUE && FIND_ANY(i, v->n_findings, v->findings[i].n_explained_by == 0);
}

/* ---- order ---- */

static double verdict_cost_of(const struct verdict *v)
{
    return isnan(v->lost_s) ? -1 : v->lost_s;
}

const char *verdict_explained_by(const struct verdict *v)
{
    return v->n_findings && !verdict_is_cause(v) && v->findings[0].n_explained_by
               ? v->findings[0].explained_by[0]
               : NULL;
}

/* A training that learns nothing wastes all of its time, however fast it is. */
static bool learns_nothing(const struct verdict *v)
{
    return v->rule->health && v->severity == SEVERITY_CRITICAL;
}

/* Causes before what they explain. */
static bool is_worse(const struct verdict *x, const struct verdict *y)
{
    const bool x_follows = verdict_explained_by(x), y_follows = verdict_explained_by(y);
    if (x_follows != y_follows)
        return y_follows;
    if (x->severity != y->severity)
        return x->severity > y->severity;
    if (learns_nothing(x) != learns_nothing(y))
        return learns_nothing(x);
    return verdict_cost_of(x) > verdict_cost_of(y);
}

/* By insertion: they are few, and the sort is stable. */
void verdicts_worst_first(const struct verdict **v, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const struct verdict *one = v[i];
        size_t at = i;
        for (; at > 0 && is_worse(one, v[at - 1]); at--)
            v[at] = v[at - 1];
        v[at] = one;
    }
}

void verdicts_in_order(const struct verdict *v, size_t n, const struct verdict **out)
{
    static const enum rule_state order[] = {RULE_ISSUE, RULE_CLEAR, RULE_NOT_EVALUATED};
    size_t at = 0;
    for (size_t s = 0; s < COUNT_OF(order); s++) {
        const size_t from = at;
        for (size_t k = 0; k < n; k++)
            if (v[k].state == order[s])
                out[at++] = &v[k];
        if (order[s] == RULE_ISSUE)
            verdicts_worst_first(out + from, at - from);
    }
}
