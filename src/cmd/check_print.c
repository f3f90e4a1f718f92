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
#include "view/verdict_words.h"

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

static size_t of_state(const struct check *c, enum rule_state state, const struct verdict ***out)
{
    size_t n = 0;
    *out = arena_array(c->arena, const struct verdict *, c->n_v + 1);
    for (size_t k = 0; k < c->n_v; k++)
        if (c->v[k].state == state)
            (*out)[n++] = &c->v[k];
    return n;
}

static void put_sentence(const struct check *c, const char *label, const char *text)
{
    const size_t n = strlen(text);
    const bool ends = n && strchr(".!?", text[n - 1]);
    printf("    %-9s %s%s\n", label, text_safe(c->arena, text), ends || !n ? "" : ".");
}

static const char *after(const struct check *c, wall_ns t, char *buf, size_t size)
{
    return duration_text((double)(t.ns - c->checked.run.job_start.ns) / 1e9, buf, size);
}

static void put_when(const struct check *c, const struct finding *f)
{
    char from[HUMAN_LEN], to[HUMAN_LEN], held[HUMAN_LEN];
    double s = 0;
    if (f->n_ranges == 0)
        return;
    for (size_t i = 0; i < f->n_ranges; i++)
        s += (double)(f->ranges[i].end.ns - f->ranges[i].start.ns) / 1e9;
    printf("    %-9s from %s to %s after the start", "when", after(c, f->start, from, sizeof from),
           after(c, f->end, to, sizeof to));
    if (f->n_ranges > 1)
        printf(", in %zu stretches of %s in all", f->n_ranges, duration_text(s, held, sizeof held));
    puts(".");
}

static void put_lost(double lost_s, double lost_gpu_s)
{
    char text[HUMAN_LEN], gpu[HUMAN_LEN];
    if (isnan(lost_s) && isnan(lost_gpu_s))
        return;
    printf("    %-9s ", "cost");
    if (!isnan(lost_s))
        printf("%s", duration_text(lost_s, text, sizeof text));
    if (!isnan(lost_gpu_s))
        printf("%s%s of GPU time", isnan(lost_s) ? "" : ", ",
               duration_text(lost_gpu_s, gpu, sizeof gpu));
    puts(".");
}

static void put_explained(const struct finding *f)
{
    if (f->n_explained_by == 0)
        return;
    printf("    %-9s ", "explained");
    for (size_t i = 0; i < f->n_explained_by; i++)
        printf("%s%s", i ? ", " : "by ", f->explained_by[i]);
    puts(".");
}

/* Of the first rank; programs get all of them. */
static void put_shares(const struct check *c, const struct finding *f)
{
    static const struct {
        const char *what;
        size_t most;
    } kinds[] = {{"phase", 2}, {"event", 3}, {"operator", 2}};
    bool some = false;
    if (f->n_shares == 0)
        return;
    printf("    %-9s ", "during");
    if (f->shares[0].rank >= 0)
        printf("rank %lld: ", (long long)f->shares[0].rank);
    for (size_t k = 0; k < COUNT_OF(kinds); k++)
        for (size_t i = 0, n = 0; i < f->n_shares && n < kinds[k].most; i++) {
            const struct share *s = &f->shares[i];
            if (s->rank != f->shares[0].rank || strcmp(s->what, kinds[k].what) != 0)
                continue;
            printf("%s%s %.0f %%", some ? ", " : "", text_safe(c->arena, s->name), s->share * 100);
            some = true;
            n++;
        }
    puts(".");
}

static const char *advice_of(const struct verdict *v, const struct finding *f)
{
    return f->advice ? f->advice : v->rule->recommendation;
}

static const char *place_of(const struct check *c, const struct finding *f)
{
    const bool node = c->checked.n_nodes > 1 && *f->node;
    return text_safe(c->arena, arena_printf(c->arena, "%s%s%s", node ? f->node : "",
                                            node && *f->entity ? " " : "", f->entity));
}

/* Advice that is the same for several findings is said once, below the last of them. */
static void put_finding(const struct check *c, const struct verdict *v, const struct finding *f,
                        bool advise)
{
    const bool node = c->checked.n_nodes > 1 && *f->node;
    const size_t n = strlen(f->message);
    printf("  %s%s%s%s\n", node ? text_safe(c->arena, f->node) : "", node ? ": " : "",
           text_safe(c->arena, f->message), n && f->message[n - 1] == '.' ? "" : ".");
    put_when(c, f);
    put_lost(f->lost_s, f->lost_gpu_s);
    put_explained(f);
    put_shares(c, f);
    if (advise)
        put_sentence(c, "to do", advice_of(v, f));
}

static int by_lost(const void *a, const void *b)
{
    const struct finding *x = *(const struct finding *const *)a,
                         *y = *(const struct finding *const *)b;
    const double p = isnan(x->lost_s) ? -1 : x->lost_s, q = isnan(y->lost_s) ? -1 : y->lost_s;
    return p != q ? (p < q) - (p > q) : (x > y) - (x < y); /* both stand in one array */
}

/* "also n2 gpu0, n2 gpu1 and 7 more." */
static void put_also(const struct check *c, const struct finding *const *v, size_t n)
{
    const size_t named = MIN_OF(n, (size_t)NAMES_MOST);
    printf("  also ");
    for (size_t i = 0; i < named; i++)
        printf("%s%s", i ? ", " : "", place_of(c, v[i]));
    if (n > named)
        printf(" and %zu more", n - named);
    puts("; --json has all of them.");
}

/* "warning   IOBottleneck: ..., 12.4 s lost (3.1 % of the training loop)" */
static void put_head(const struct check *c, const struct verdict *v)
{
    struct buf size = {0};
    const bool bold = term_color(stdout);
    verdict_size_words(&size, v, c->checked.run.has_steps);
    printf("\n%s%s%s: %s (%.*s)\n", bold ? "\033[1m" : "", v->rule->name, bold ? "\033[0m" : "",
           v->rule->title, (int)size.len, (const char *)size.p);
    buf_free(&size);
}

/* The findings that cost most in full, the others by their names. */
static void put_issue(const struct check *c, const struct verdict *v)
{
    const struct finding **list = arena_array(c->arena, const struct finding *, v->n_findings);
    const size_t shown = MIN_OF(v->n_findings, (size_t)FINDINGS_MOST);
    for (size_t i = 0; i < v->n_findings; i++)
        list[i] = &v->findings[i];
    qsort(list, v->n_findings, sizeof *list, by_lost);
    put_head(c, v);
    for (size_t i = 0; i < shown; i++)
        put_finding(c, v, list[i],
                    i + 1 == shown ||
                        strcmp(advice_of(v, list[i]), advice_of(v, list[i + 1])) != 0);
    if (v->n_findings > shown)
        put_also(c, list + shown, v->n_findings - shown);
}

static void put_remarks(const struct check *c, const struct verdict *v)
{
    const size_t shown = MIN_OF(v->n_remarks, (size_t)REMARKS_MOST);
    printf("\n%s: %s\n", v->rule->name, v->rule->title);
    for (size_t i = 0; i < shown; i++)
        printf("  %s.\n", text_safe(c->arena, v->remarks[i]));
    if (v->n_remarks > shown)
        printf("  and %zu more; --json has all of them.\n", v->n_remarks - shown);
}

static bool is_summary(const struct verdict *v)
{
    return v->rule->summary && v->n_remarks;
}

static void put_rest(const struct check *c, const char *title, const struct verdict **v, size_t n)
{
    if (n)
        printf("\n%s\n", title);
    for (size_t i = 0; i < n; i++)
        if (*v[i]->why)
            printf("  %-24s %s\n", v[i]->rule->name, text_safe(c->arena, v[i]->why));
        else
            printf("  %s\n", v[i]->rule->name);
}

void check_text(const struct check *c)
{
    const struct verdict **issues, **clear, **not_evaluated;
    const size_t n = of_state(c, RULE_ISSUE, &issues), n_clear = of_state(c, RULE_CLEAR, &clear),
                 n_not = of_state(c, RULE_NOT_EVALUATED, &not_evaluated);
    verdicts_worst_first(issues, n);
    printf("%s: %zu issue%s, %zu clear, %zu not evaluated\n", text_safe(c->arena, c->info->name), n,
           n == 1 ? "" : "s", n_clear, n_not);
    for (size_t i = 0; i < n; i++)
        put_issue(c, issues[i]);
    for (size_t i = 0; i < n_clear; i++)
        if (is_summary(clear[i]))
            put_remarks(c, clear[i]);
    if (c->right_size)
        printf("\nright size\n  %s.\n", text_safe(c->arena, c->right_size->why));
    put_rest(c, "clear", clear, n_clear);
    put_rest(c, "not evaluated", not_evaluated, n_not);
}
