/* SPDX-License-Identifier: Apache-2.0 */
/* report_rules.c - every rule in a table; those that found something each in a section. */
#include <math.h>
#include <string.h>

#include "base/human.h"
#include "base/mem.h"
#include "report/report_internal.h"
#include "rules/params.h"
#include "tables/summary.h"

enum { FINDINGS_MOST = 12, TABLE_ROWS_MOST = 40 };

/* Section of a rule in the page. */
static const char *report_rule_id(const struct report *r, const struct verdict *v)
{
    size_t k = 0; /* names of user rules may be anything */
    while (k < r->n_rules && r->rules[k].v != v)
        k++;
    return arena_printf(r->arena, "rule-%zu", k + 1);
}

/* ---- the table ---- */

static const char *report_rules_params_text(const struct report *r, const struct report_rule *x)
{
    const char *text = "";
    for (size_t i = 0; x->p && x->v->rule->params && x->v->rule->params[i].name; i++) {
        const struct param *p = &x->v->rule->params[i];
        const struct param_value *v = &x->p[i];
        char value[PARAM_TEXT_LEN];
        text = arena_printf(r->arena, "%s%s%s=%s", text, *text ? ", " : "", p->name,
                            param_text(p, v, value, sizeof value));
    }
    return text;
}

static void put_state(struct doc *d, const struct verdict *v)
{
    if (v->state == RULE_ISSUE)
        doc_badge(d, severity_tone(v->severity), severity_names[v->severity]);
    else if (v->state == RULE_CLEAR)
        doc_badge(d, v->rule->summary ? TONE_NONE : TONE_GOOD,
                  v->rule->summary ? "summary" : "passed");
    else
        doc_badge(d, TONE_NONE, "skipped");
}

/* A user rule has no title. */
static const char *report_rules_title_of(const struct rule *rule)
{
    return rule->custom ? rule->name : rule->title;
}

/* "Checks whether ... (Dataloader: factor=20)"; the name and parameters are those of settings. */
static const char *report_rules_about(const struct report *r, const struct report_rule *x)
{
    const struct rule *rule = x->v->rule;
    const char *params = report_rules_params_text(r, x);
    const bool described = rule->description && *rule->description;
    return arena_printf(r->arena, "%s%s(%s%s%s)", described ? rule->description : "",
                        described ? " " : "", rule->name, *params ? ": " : "", params);
}

/* A rule that passed or was skipped has the reason, an issue has a separate section. */
static void put_rule(const struct report *r, struct doc *d, const struct report_rule *x)
{
    const struct verdict *v = x->v;
    const struct rule *rule = v->rule;
    const bool cost = v->state == RULE_ISSUE && !isnan(v->lost_s);
    if (v->state == RULE_ISSUE)
        doc_link(d, report_rule_id(r, v), report_rules_title_of(rule));
    else
        doc_cell(d, report_rules_title_of(rule));
    put_state(d, v);
    doc_value(d, cost ? v->lost_s : NAN, "s");
    doc_count(d, v->triggered);
    doc_count(d, v->datapoints);
    if (v->state == RULE_ISSUE)
        doc_cell(d, rule->recommendation ? rule->recommendation : "");
    else
        doc_cell(d, v->why);
    doc_cell(d, report_rules_about(r, x));
}

void report_put_rules(const struct report *r, struct doc *d)
{
    doc_section(d, "rules", "Rules summary");
    doc_text(d,
             "%zu issue%s \xc2\xb7 %zu passed \xc2\xb7 %zu skipped. Rules with the largest time "
             "lost come first.",
             r->states[RULE_ISSUE], r->states[RULE_ISSUE] == 1 ? "" : "s", r->states[RULE_CLEAR],
             r->states[RULE_NOT_EVALUATED]);
    doc_table(d, "Rules by time lost",
              "Rule|State|>Time lost|>Triggered|>Checked|~Reason or what to do|~About the rule");
    for (size_t i = 0; i < r->n_rules; i++)
        put_rule(r, d, &r->rules[i]);
    doc_table_end(d);
    doc_section_end(d);
}

/* ---- plots ---- */

static void put_plot_table(const struct report *r, struct doc *d, const struct plot *p)
{
    struct table_column *c = arena_array(r->arena, struct table_column, p->n_columns + 1);
    c[0].title = "Item";
    for (size_t i = 0; i < p->n_columns; i++)
        c[i + 1] = (struct table_column){p->columns[i], .right = true};
    doc_table_of(d, p->title, c, p->n_columns + 1);
    for (size_t i = 0; i < MIN_OF(p->n_rows, (size_t)TABLE_ROWS_MOST); i++) {
        doc_cell(d, p->rows[i].label);
        for (size_t k = 0; k < p->n_columns; k++)
            doc_value(d, k < p->rows[i].n ? p->rows[i].v[k] : NAN, p->unit);
    }
    doc_table_end(d);
}

static void put_beside(const struct report *r, struct doc *d, const struct verdict *v)
{
    struct figure f;
    bool some = false;
    for (size_t round = 0; round < 2; round++)
        for (size_t i = 0; i < v->n_plots; i++) {
            if (!figure_of_plot(&v->plots[i], r->arena, &f) || f.kind == FIGURE_LINES ||
                (f.kind == FIGURE_PIE) != (round == 0))
                continue;
            if (!some)
                doc_columns(d);
            some = true;
            doc_figure(d, &f);
        }
    if (some)
        doc_columns_end(d);
}

void report_put_plots(const struct report *r, struct doc *d, const struct verdict *v)
{
    struct figure f;
    put_beside(r, d, v);
    for (size_t i = 0; i < v->n_plots; i++)
        if (figure_of_plot(&v->plots[i], r->arena, &f) && f.kind == FIGURE_LINES) {
            f.lines.to = report_since(r, r->show.phases.job_end);
            doc_figure(d, &f);
        }
    for (size_t i = 0; i < v->n_plots; i++)
        if (v->plots[i].kind == PLOT_TABLE && v->plots[i].n_columns)
            put_plot_table(r, d, &v->plots[i]);
}

/* ---- findings ---- */

static void report_rules_put_words(struct doc *d, const char *name, const char *words)
{
    if (*words)
        doc_fact(d, name, NAN, words);
}

static const char *report_rules_place_of(const struct report *r, const struct finding *f)
{
    const bool node = r->ask.checked->n_nodes > 1 && *f->node;
    return arena_printf(r->arena, "%s%s%s", node ? f->node : "", node && *f->entity ? " " : "",
                        f->entity);
}

/* A number of a custom rule has only the name that its author chose. */
static const char *report_rules_label_of(const struct report *r, const struct finding_number *n)
{
    if (strcmp(n->label, n->name) != 0)
        return n->label;
    char *name = arena_strdup(r->arena, n->name);
    for (char *s = name; *s; s++)
        *s = *s == '_' ? ' ' : *s;
    return name;
}

static void report_rules_put_numbers(const struct report *r, struct doc *d, const struct finding *f)
{
    for (size_t i = 0; i < f->n_numbers; i++) {
        const struct finding_number *n = &f->numbers[i];
        if (*n->label)
            doc_fact(d, report_rules_label_of(r, n), n->v, value_text(r->arena, n->v, n->unit));
    }
}

static void report_rules_put_finding(const struct report *r, struct doc *d, const struct verdict *v,
                                     const struct finding *f)
{
    struct arena *a = r->arena;
    const bool node = r->ask.checked->n_nodes > 1 && *f->node;
    const char *advice = finding_advice(v, f);
    doc_note(d, severity_tone(v->severity), "%s%s%s", node ? f->node : "", node ? ": " : "",
             sentence(r->arena, f->message));
    doc_facts(d);
    report_rules_put_words(d, "When", finding_when_words(f, r->show.phases.job_start, a));
    report_rules_put_words(d, "Time lost", finding_lost_words(f, a));
    report_rules_put_words(d, "Explained", finding_explained_words(f, a));
    report_rules_put_words(d, "Activity meanwhile", finding_shares_words(f, a));
    report_rules_put_numbers(r, d, f);
    if (*advice)
        doc_fact(d, "What to do", NAN, sentence(r->arena, advice));
    if (f->refute && *f->refute)
        doc_fact(d, "Not a problem if", NAN, sentence(r->arena, f->refute));
    doc_facts_end(d);
}

static void report_rules_put_also(const struct report *r, struct doc *d,
                                  const struct finding *const *v, size_t n)
{
    const char *names = "";
    for (size_t i = 0; i < MIN_OF(n, (size_t)TABLE_ROWS_MOST); i++)
        names =
            arena_printf(r->arena, "%s%s%s", names, i ? ", " : "", report_rules_place_of(r, v[i]));
    doc_text(d, "%zu more finding%s: %s; see report.json for all.", n, n == 1 ? "" : "s", names);
}

static void report_rules_put_issue(const struct report *r, struct doc *d, const struct verdict *v)
{
    const struct finding **list = arena_array(r->arena, const struct finding *, v->n_findings + 1);
    const size_t shown = MIN_OF(v->n_findings, (size_t)FINDINGS_MOST);
    findings_costliest_first(v, list);
    doc_section(d, report_rule_id(r, v),
                arena_printf(r->arena, "%s (%s)", v->rule->title, v->rule->name));
    doc_text(d, "%s",
             sentence(r->arena, verdict_size_words(v, r->show.phases.has_steps, r->arena)));
    if (v->rule->description && *v->rule->description)
        doc_text(d, "%s", v->rule->description);
    for (size_t i = 0; i < shown; i++)
        report_rules_put_finding(r, d, v, list[i]);
    if (v->n_findings > shown)
        report_rules_put_also(r, d, list + shown, v->n_findings - shown);
    for (size_t i = 0; i < v->n_remarks; i++)
        doc_text(d, "%s", sentence(r->arena, v->remarks[i]));
    report_put_plots(r, d, v);
    doc_section_end(d);
}

void report_put_findings(const struct report *r, struct doc *d)
{
    for (size_t i = 0; i < r->n_rules; i++)
        if (r->rules[i].v->state == RULE_ISSUE)
            report_rules_put_issue(r, d, r->rules[i].v);
}
