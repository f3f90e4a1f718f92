/* SPDX-License-Identifier: Apache-2.0 */
/* check_print.c - verdicts for people, as JSON and as CSV. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/table.h"
#include "cmd/check.h"
#include "cmd/output.h"
#include "rules/verdict_json.h"
#include "tables/runview.h"
#include "tables/verdict_words.h"

enum { FINDINGS_MOST = 3, NAMES_MOST = 12, REMARKS_MOST = 8 };

void check_json(const struct check *c)
{
    struct buf b = {0};
    struct jw j = {.out = &b, .indent = 2};
    jw_array(&j, NULL);
    for (size_t k = 0; k < c->n_v; k++)
        verdict_json(&j, NULL, &c->v[k], c->p[k]);
    jw_end(&j);
    output_buf(&b);
    buf_free(&b);
}

/* ---- CSV: a line for each finding, and one for each rule without ---- */

static void csv_line(const struct verdict *v, const struct finding *f)
{
    printf("%s,%s,%s,", v->rule->name, rule_state_names[v->state],
           v->state == RULE_ISSUE ? severity_names[v->severity] : "");
    csv_text(stdout, f ? f->node : "");
    putchar(',');
    csv_text(stdout, f ? f->entity : "");
    if (f && f->start.ns)
        printf(",%" PRId64 ",%" PRId64 ",", f->start.ns, f->end.ns);
    else
        printf(",,,");
    csv_number(stdout, f ? f->lost_s : NAN);
    putchar(',');
    csv_number(stdout, f ? f->lost_gpu_s : NAN);
    putchar(',');
    csv_text(stdout, f ? f->message : v->why);
    putchar('\n');
}

void check_csv(const struct check *c)
{
    puts("rule,state,severity,node,entity,start_ns,end_ns,lost_s,lost_gpu_s,message");
    for (size_t k = 0; k < c->n_v; k++) {
        const struct verdict *v = &c->v[k];
        for (size_t i = 0; i < v->n_findings; i++)
            csv_line(v, &v->findings[i]);
        if (v->n_findings == 0)
            csv_line(v, NULL);
    }
}

/* ---- for people ---- */

static size_t check_print_of_state(const struct check *c, enum rule_state state,
                                   const struct verdict ***out)
{
    size_t n = 0;
    *out = arena_array(c->arena, const struct verdict *, c->n_v + 1);
    for (size_t k = 0; k < c->n_v; k++)
        if (c->v[k].state == state && verdict_counts(&c->v[k]))
            (*out)[n++] = &c->v[k];
    return n;
}

/* "Data loading (Dataloader)", "Mine (custom rule)". */
static const char *check_print_name_of(const struct check *c, const struct rule *rule)
{
    return rule->custom ? arena_printf(c->arena, "%s (custom rule)", rule->name)
                        : arena_printf(c->arena, "%s (%s)", rule->title, rule->name);
}

static void put_sentence(const struct check *c, const char *label, const char *text)
{
    const size_t n = strlen(text);
    const bool ends = n && strchr(".!?", text[n - 1]);
    printf("    %-9s %s%s\n", label, text_safe(c->arena, text), ends || !n ? "" : ".");
}

/* Nothing is said where there are no words. */
static void check_print_put_words(const struct check *c, const char *label, struct buf *words)
{
    if (words->len)
        put_sentence(c, label,
                     arena_printf(c->arena, "%.*s.", (int)words->len, (const char *)words->p));
    buf_free(words);
}

static const char *check_print_place_of(const struct check *c, const struct finding *f)
{
    const bool node = c->checked.n_nodes > 1 && *f->node;
    return text_safe(c->arena, arena_printf(c->arena, "%s%s%s", node ? f->node : "",
                                            node && *f->entity ? " " : "", f->entity));
}

/* Advice that is the same for several findings is said once, below the last of them. */
static void check_print_put_finding(const struct check *c, const struct verdict *v,
                                    const struct finding *f, bool advise)
{
    const bool node = c->checked.n_nodes > 1 && *f->node;
    const size_t n = strlen(f->message);
    printf("  %s%s%s%s\n", node ? text_safe(c->arena, f->node) : "", node ? ": " : "",
           text_safe(c->arena, f->message), n && f->message[n - 1] == '.' ? "" : ".");
    struct buf when = {0}, lost = {0}, explained = {0}, shares = {0};
    finding_when_words(&when, f, c->checked.run.job_start);
    finding_lost_words(&lost, f);
    finding_explained_words(&explained, f);
    finding_shares_words(&shares, f);
    check_print_put_words(c, "when", &when);
    check_print_put_words(c, "lost", &lost);
    check_print_put_words(c, "explained", &explained);
    check_print_put_words(c, "during", &shares);
    if (advise && *finding_advice(v, f))
        put_sentence(c, "fix", finding_advice(v, f));
}

/* "also n2 gpu0, n2 gpu1 and 7 more." */
static void check_print_put_also(const struct check *c, const struct finding *const *v, size_t n)
{
    const size_t named = MIN_OF(n, (size_t)NAMES_MOST);
    printf("  also ");
    for (size_t i = 0; i < named; i++)
        printf("%s%s", i ? ", " : "", check_print_place_of(c, v[i]));
    if (n > named)
        printf(" and %zu more", n - named);
    puts("; use --json to list all.");
}

/* "I/O bottleneck (IOBottleneck): warning, 12.4 s lost, 3.1 % of the training loop" */
static void check_print_put_head(const struct check *c, const struct verdict *v)
{
    struct buf size = {0};
    const bool bold = term_color(stdout);
    verdict_size_words(&size, v, c->checked.run.has_steps);
    printf("\n%s%s%s: %.*s\n", bold ? "\033[1m" : "", check_print_name_of(c, v->rule),
           bold ? "\033[0m" : "", (int)size.len, (const char *)size.p);
    buf_free(&size);
}

static const struct verdict *named(const char *name, const struct verdict *const *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(v[i]->rule->name, name) == 0)
            return v[i];
    return NULL;
}

/* The issue below which a symptom is listed: the first of its causes that is shown, or what
 * explains that. NULL: it is no symptom, or its causes are not shown. */
static const struct verdict *cause_of(const struct verdict *v, const struct verdict *const *issues,
                                      size_t n)
{
    const struct verdict *at = v;
    for (size_t steps = 0; at && verdict_explained_by(at) && steps < n; steps++) {
        const struct finding *f = &at->findings[0];
        const struct verdict *next = NULL;
        for (size_t i = 0; i < f->n_explained_by; i++) {
            const struct verdict *x = named(f->explained_by[i], issues, n);
            if (x && (!next || (verdict_explained_by(next) && !verdict_explained_by(x))))
                next = x;
        }
        at = next;
    }
    return at == v || !at || verdict_explained_by(at) ? NULL : at;
}

/* What it explains, each in a line. */
static void put_explained(const struct check *c, const struct verdict *cause,
                          const struct verdict *const *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (cause_of(v[i], v, n) != cause)
            continue;
        struct buf size = {0};
        const struct finding *f = &v[i]->findings[0];
        const char *more = v[i]->n_findings > 1
                               ? arena_printf(c->arena, " (and %zu more)", v[i]->n_findings - 1)
                               : "";
        verdict_size_words(&size, v[i], c->checked.run.has_steps);
        printf("    explains  %s: %.*s: %s%s.\n", check_print_name_of(c, v[i]->rule), (int)size.len,
               (const char *)size.p, text_safe(c->arena, f->message), more);
        buf_free(&size);
    }
}

/* The findings that cost most in full, the others by their names. */
static void check_print_put_issue(const struct check *c, const struct verdict *v)
{
    const struct finding **list = arena_array(c->arena, const struct finding *, v->n_findings);
    const size_t shown = MIN_OF(v->n_findings, (size_t)FINDINGS_MOST);
    findings_costliest_first(v, list);
    check_print_put_head(c, v);
    for (size_t i = 0; i < shown; i++)
        check_print_put_finding(c, v, list[i],
                                i + 1 == shown || strcmp(finding_advice(v, list[i]),
                                                         finding_advice(v, list[i + 1])) != 0);
    if (v->n_findings > shown)
        check_print_put_also(c, list + shown, v->n_findings - shown);
}

static void check_print_put_summary(const struct check *c, const struct verdict *v)
{
    const size_t shown = MIN_OF(v->n_remarks, (size_t)REMARKS_MOST);
    printf("\n%s\n", check_print_name_of(c, v->rule));
    for (size_t i = 0; i < shown; i++)
        printf("  %s.\n", text_safe(c->arena, v->remarks[i]));
    if (v->n_remarks > shown)
        printf("  and %zu more; use --json to list all.\n", v->n_remarks - shown);
    if (v->n_remarks == 0 && *v->why)
        printf("  %s.\n", text_safe(c->arena, v->why));
}

static void put_rest(const struct check *c, const char *title, const struct verdict **v, size_t n)
{
    size_t width = 0;
    if (n)
        printf("\n%s\n", title);
    for (size_t i = 0; i < n; i++)
        width = MAX_OF(width, text_columns(check_print_name_of(c, v[i]->rule)));
    for (size_t i = 0; i < n; i++) {
        const char *name = check_print_name_of(c, v[i]->rule);
        if (*v[i]->why)
            printf("  %s%*s  %s\n", name, (int)(width - text_columns(name)), "",
                   text_safe(c->arena, v[i]->why));
        else
            printf("  %s\n", name);
    }
}

static void put_issues(const struct check *c, const struct verdict *const *issues, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (cause_of(issues[i], issues, n))
            continue; /* it is listed there */
        check_print_put_issue(c, issues[i]);
        put_explained(c, issues[i], issues, n);
    }
}

void check_text(const struct check *c)
{
    const struct verdict **issues, **clear, **not_evaluated;
    const size_t n = check_print_of_state(c, RULE_ISSUE, &issues),
                 n_clear = check_print_of_state(c, RULE_CLEAR, &clear),
                 n_not = check_print_of_state(c, RULE_NOT_EVALUATED, &not_evaluated);
    const char *ending = runview_ending(c->info, c->arena);
    if (ending)
        puts(text_safe(c->arena, ending));
    printf("%s: %zu issue%s%s, %zu passed, %zu skipped\n", text_safe(c->arena, c->info->name), n,
           n == 1 ? "" : "s", ending ? " in the recorded part" : "", n_clear, n_not);
    put_issues(c, issues, n);
    for (size_t k = 0; k < c->n_v; k++)
        if (!verdict_counts(&c->v[k]))
            check_print_put_summary(c, &c->v[k]);
    if (c->right_size)
        printf("\nRight-sizing\n  %s.\n", text_safe(c->arena, c->right_size->why));
    put_rest(c, "passed", clear, n_clear);
    put_rest(c, "skipped", not_evaluated, n_not);
}
