/* SPDX-License-Identifier: Apache-2.0 */
/* summary.c - see summary.h. */
#include "tables/summary.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/mem.h"
#include "base/table.h"
#include "base/vec.h"

/* Parts of an iteration that are listed: what is left of the lines by the others. */
enum { PARTS_MOST = SUMMARY_LINES - 8, LINES_AFTER = 3, TIME_WIDTH = 10, USES_MOST = 4 };

/* A part below this share of an iteration, by either clock, is not listed. */
static const double PART_SHARE = 0.01;

/* Of the loop: what reads "0.0 %". Other issues have lost the same time. */
static const double NOTHING = 0.0005;

#define ESTIMATE " (estimate)"

struct summary_text {
    const struct summary_ask *ask;
    const struct show *show;
    struct arena *arena;
    const char **lines;
    size_t n;
};

PRINTF_LIKE(3, 4)
static void summary_put(struct summary_text *x, const char *label, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *text = arena_vprintf(x->arena, fmt, ap);
    va_end(ap);
    assert(x->n < SUMMARY_LINES);
    x->lines[x->n++] = *label ? arena_printf(x->arena, "  %-12s%s", label, text) : text;
}

/* ---- how it ended ---- */

static void summary_put_ending(struct summary_text *x)
{
    const struct verdicts *all = &x->ask->checked->verdicts;
    const struct verdict *ended = &all->v[RULE_failed_early];
    const char *ending = verdicts_ending(x->show->info, all, x->arena);
    if (ending)
        summary_put(x, "", "%s", ending);
    if (ended->n_findings)
        summary_put(x, "fix", "%s", finding_advice(ended, &ended->findings[0]));
}

/* ---- what was found ---- */

static size_t summary_of_state(const struct summary_text *x, enum rule_state state,
                               const struct verdict ***out)
{
    const struct summary_ask *ask = x->ask;
    size_t n = 0;
    *out = arena_array(x->arena, const struct verdict *, RULE_N + ask->n_own);
    for (size_t k = 0; k < RULE_N; k++) {
        const struct verdict *v = &ask->checked->verdicts.v[k];
        if (v->state == state && verdict_counts(v) && !v->rule->ending)
            (*out)[n++] = v;
    }
    for (size_t i = 0; i < ask->n_own; i++)
        if (ask->own[i].v.state == state)
            (*out)[n++] = &ask->own[i].v;
    return n;
}

static size_t summary_count_why(const struct verdict *const *v, size_t n, const char *why)
{
    return SUM_OF(i, n, strcmp(v[i]->why, why) == 0);
}

/* The reason that most of them have, leaving one out; NULL: there is no other. */
static const char *summary_usual_why(const struct verdict *const *v, size_t n, const char *but)
{
    const char *best = NULL;
    for (size_t i = 0; i < n; i++)
        if ((!but || strcmp(v[i]->why, but) != 0) &&
            (!best || summary_count_why(v, n, v[i]->why) > summary_count_why(v, n, best)))
            best = v[i]->why;
    return best;
}

static const char *summary_skipped(const struct summary_text *x, const struct verdict *const *v,
                                   size_t n)
{
    const char *first = summary_usual_why(v, n, NULL);
    const char *second = first ? summary_usual_why(v, n, first) : NULL;
    return second ? arena_printf(x->arena, "%s; %s", first, second) : first ? first : "";
}

static void summary_put_no_issue(struct summary_text *x)
{
    const struct verdict **clear, **not_evaluated;
    const size_t n_clear = summary_of_state(x, RULE_CLEAR, &clear),
                 n_not = summary_of_state(x, RULE_NOT_EVALUATED, &not_evaluated);
    const struct run_info *info = x->show->info;
    const char *why = summary_skipped(x, not_evaluated, n_not);
    if (n_clear == 0)
        summary_put(x, "", "No rules ran: %s",
                    x->ask->checked->run.has_steps ? why
                    : runview_attached(info)       ? steps_none_words(info)
                                                   : "no training steps were detected");
    else if (n_not == 0)
        summary_put(x, "", "%s (%zu rule%s passed)", verdict_none_words(info), n_clear,
                    n_clear == 1 ? "" : "s");
    else
        summary_put(x, "", "%s (%zu rule%s passed, %zu skipped: %s)", verdict_none_words(info),
                    n_clear, n_clear == 1 ? "" : "s", n_not, why);
}

/* "Slow steps (info), Low GPU utilization (info, explained by Data loading)". */
static const char *summary_others(const struct summary_text *x, const struct verdict **v, size_t n)
{
    const char *text = "";
    for (size_t i = 1; i < n; i++) {
        const char *cause = verdict_explained_by(v[i]);
        text = arena_printf(x->arena, "%s%s%s (%s%s%s)", text, *text ? ", " : "",
                            v[i]->rule->custom ? v[i]->rule->name : v[i]->rule->title,
                            severity_names[v[i]->severity], cause ? ", explained by " : "",
                            cause ? rule_title(cause) : "");
    }
    return text;
}

/* What lost_share is a share of. */
static const char *verdict_whole(const struct verdict *v, bool has_steps)
{
    return has_steps && !v->rule->whole_job ? "training loop" : "job";
}

/* " Would save up to 13.0 s."; "": not known, the advice has what to expect, or the run continues.
 */
static const char *summary_saving(const struct summary_text *x, const struct verdict *v,
                                  const char *advice)
{
    if (!(v->lost_share >= NOTHING) || strstr(advice, "Expected: ") ||
        x->show->info->status == RUN_RUNNING)
        return "";
    return arena_printf(x->arena, " Would save up to %s, %.0f %% of the %s.",
                        value_text(x->arena, v->lost_s, "s"), v->lost_share * 100,
                        verdict_whole(v, x->ask->checked->run.has_steps));
}

static void summary_put_issues(struct summary_text *x, const struct verdict **v, size_t n)
{
    const struct checked *c = x->ask->checked;
    verdicts_worst_first(v, n);
    const struct finding *f = &v[0]->findings[0];
    const bool several = c->n_nodes > 1 && *f->node;
    const char *title =
        v[0]->rule->custom ? v[0]->rule->name
                           : arena_printf(x->arena, "%s (%s)", v[0]->rule->title, v[0]->rule->name);
    summary_put(x, "", "%s: %s", title, verdict_size_words(v[0], c->run.has_steps, x->arena));
    summary_put(x, "why", "%s%s%s%s", several ? f->node : "", several ? ": " : "", f->message,
                v[0]->n_findings > 1
                    ? arena_printf(x->arena, " (and %zu more)", v[0]->n_findings - 1)
                    : "");
    const char *advice = finding_advice(v[0], f);
    if (*advice)
        summary_put(x, "fix", "%s%s", advice, summary_saving(x, v[0], advice));
    if (n > 1)
        summary_put(x, "also", "%s", summary_others(x, v, n));
}

/* ---- what an iteration is spent on ---- */

/* The mean seconds of a part by one clock; step_parts(): between steps. NAN: not known. */
static double summary_part_s(const struct step_stats *b, enum steps_clock clock, size_t part)
{
    if (clock == CLOCK_GPU)
        return part < step_parts() && steps_has_clock(b, CLOCK_GPU) ? b->gpu_part_s[part] : NAN;
    return part < step_parts() ? b->host_part_s[part] : b->between_s;
}

/* A column of TIME_WIDTH characters: "µ" has two bytes. */
static const char *summary_time(const struct summary_text *x, double s)
{
    const char *text = isnan(s) || s <= 0 ? "-" : value_text(x->arena, s, "s");
    const int bytes = (int)(strlen(text) - text_columns(text)); /* beyond one per column */
    return arena_printf(x->arena, "%*s", TIME_WIDTH + bytes, text);
}

/* The parts that are listed, in the order of a step; of too many the largest. */
static size_t summary_parts(const struct step_stats *b, size_t most, size_t out[PARTS_MOST])
{
    size_t n;
    double least = PART_SHARE * b->iteration_mean_s;
    do {
        n = 0;
        for (size_t k = 0; k <= step_parts(); k++) {
            const double host = summary_part_s(b, CLOCK_HOST, k),
                         gpu = summary_part_s(b, CLOCK_GPU, k);
            if (!(host >= least) && !(gpu >= least))
                continue;
            if (n < most)
                out[n] = k;
            n++;
        }
        least *= 1.5;
    } while (n > most);
    return n;
}

/* `culprit`: the part that the worst finding is about; NULL: none. */
static void summary_put_parts(struct summary_text *x, const struct mode_steps *m,
                              const char *culprit)
{
    const struct step_stats *b = &m->best;
    const bool gpu = steps_has_clock(b, CLOCK_GPU);
    size_t parts[PARTS_MOST];
    const size_t n =
        summary_parts(b, MIN_OF((size_t)PARTS_MOST, SUMMARY_LINES - LINES_AFTER - x->n), parts);
    for (size_t i = 0; i < n; i++) {
        const char *name = parts[i] < step_parts() ? step_part_name(parts[i]) : "between steps";
        const double host = summary_part_s(b, CLOCK_HOST, parts[i]);
        const char *times = summary_time(x, host);
        if (gpu)
            times = arena_printf(x->arena, "%s%s",
                                 summary_time(x, summary_part_s(b, CLOCK_GPU, parts[i])), times);
        x->lines[x->n++] = arena_printf(x->arena, "    %-14s%s  %4.0f %%%s", name, times,
                                        isnan(host) ? 0 : 100 * host / b->iteration_mean_s,
                                        culprit && strcmp(culprit, name) == 0 ? "  <-- here" : "");
    }
}

/* The rank that the finding is about is the one whose iterations are shown. */
static void summary_take_rank(const struct summary_text *x, const struct finding *f,
                              struct mode_steps *m)
{
    for (size_t i = 0; i < x->show->n_ranks; i++) {
        const struct rank_steps *r = &x->show->ranks[i];
        struct step_stats one;
        if (strcmp(r->node, f->node) != 0 ||
            strcmp(f->entity, arena_printf(x->arena, "rank %lld", (long long)r->rank)) != 0)
            continue;
        step_stats_of(r, MODE_TRAIN, x->arena, &one);
        if (one.iterations == 0)
            continue;
        m->best = one;
        m->rank = r;
    }
}

/* `worst`: NULL: there are no issues. */
static void summary_put_loop(struct summary_text *x, const struct verdict *worst)
{
    const struct finding *f = worst ? &worst->findings[0] : NULL;
    struct mode_steps m = mode_steps_of(x->show->ranks, x->show->n_ranks, MODE_TRAIN, x->arena);
    if (f && m.ranks > 1)
        summary_take_rank(x, f, &m);
    const struct step_stats *b = &m.best;
    if (m.ranks == 0 || b->iterations == 0)
        return;
    const char *gpu = steps_has_clock(b, CLOCK_GPU)
                          ? arena_printf(x->arena, "GPU time (%zu of %zu steps timed), ",
                                         b->gpu_timed_steps, b->count)
                          : "";
    summary_put(x, "iteration", "p50 %s, p95 %s, %s; mean of each part: %s%s, share",
                value_text(x->arena, b->iteration_p50_s, "s"),
                value_text(x->arena, b->iteration_p95_s, "s"), mode_steps_words(&m, x->arena), gpu,
                steps_clock_text(b, m.rank, CLOCK_HOST, x->arena));
    summary_put_parts(x, &m, f && f->part ? f->part : worst ? worst->rule->part : NULL);
    if (!isnan(m.steady))
        summary_put(x, "throughput", "%s", show_throughput(x->show, &m));
}

/* "CPU 12 %, GPU 74 %, CPU memory 1.2 % (median)": of the first node. */
static void summary_put_use(struct summary_text *x)
{
    const struct show *s = x->show;
    const char *text = "";
    for (size_t i = 0; i < s->n_lines && i < USES_MOST; i++) {
        const struct summary_line *l = &s->lines[i];
        if (!l->why && strcmp(l->node, s->lines[0].node) == 0)
            text = arena_printf(x->arena, "%s%s%s %s", text, *text ? ", " : "", l->row->title,
                                value_text(x->arena, l->stats.p50, l->unit));
    }
    if (*text)
        summary_put(x, "used", "%s (median%s%s)", text, x->ask->checked->n_nodes > 1 ? " of " : "",
                    x->ask->checked->n_nodes > 1 ? s->lines[0].node : "");
}

size_t summary_lines(const struct summary_ask *ask, const char *out[SUMMARY_LINES])
{
    struct summary_text x = {ask, ask->show, ask->show->arena, out, 0};
    const struct verdict **issues;
    const size_t n = summary_of_state(&x, RULE_ISSUE, &issues);
    summary_put_ending(&x);
    if (n > 0)
        summary_put_issues(&x, issues, n);
    else
        summary_put_no_issue(&x);
    summary_put_loop(&x, n > 0 ? issues[0] : NULL);
    summary_put_use(&x);
    if (ask->more)
        summary_put(&x, "more", "%s", ask->more);
    return x.n;
}

/* ---- verdicts in words ---- */

const char *verdict_size_words(const struct verdict *v, bool has_steps, struct arena *a)
{
    char money[HUMAN_LEN];
    const char *t = severity_names[v->severity];
    if (v->lost_share < NOTHING && v->severity > SEVERITY_INFO)
        return arena_printf(a, "%s, in time that other issues account for", t);
    if (!isnan(v->lost_s))
        t = arena_printf(a, "%s, %s lost%s", t, value_text(a, v->lost_s, "s"),
                         FIND_ANY(i, v->n_findings, v->findings[i].estimated) ? ESTIMATE : "");
    if (!isnan(v->lost_share))
        t = arena_printf(a, "%s, %.1f %% of the %s", t, v->lost_share * 100,
                         verdict_whole(v, has_steps));
    if (!isnan(v->lost_cost))
        t = arena_printf(a, "%s, at a cost of %s", t,
                         human_price(v->lost_cost, v->currency, money, sizeof money));
    return t;
}

const char *verdict_none_words(const struct run_info *info)
{
    return info->status == RUN_FINISHED || info->status == RUN_RUNNING
               ? "No issues found"
               : "No performance issues found in the recorded part";
}

const char *verdicts_ending(const struct run_info *info, const struct verdicts *v, struct arena *a)
{
    const struct verdict *ended = &v->v[RULE_failed_early];
    return ended->n_findings ? sentence(a, ended->findings[0].message) : runview_ending(info, a);
}

/* ---- findings ---- */

const char *finding_when_words(const struct finding *f, wall_ns job_start, struct arena *a)
{
    char from[HUMAN_LEN], to[HUMAN_LEN], held[HUMAN_LEN];
    double s = 0;
    if (f->n_ranges == 0)
        return "";
    for (size_t i = 0; i < f->n_ranges; i++)
        s += wall_span_s(f->ranges[i].start, f->ranges[i].end);
    const char *t = arena_printf(a, "from %s to %s after the start",
                                 duration_text(wall_span_s(job_start, f->start), from, sizeof from),
                                 duration_text(wall_span_s(job_start, f->end), to, sizeof to));
    return f->n_ranges == 1 ? t
                            : arena_printf(a, "%s; %zu times, %s in total", t, f->n_ranges,
                                           duration_text(s, held, sizeof held));
}

const char *finding_lost_words(const struct finding *f, struct arena *a)
{
    const char *t = isnan(f->lost_s) ? ""
                                     : arena_printf(a, "%s%s", value_text(a, f->lost_s, "s"),
                                                    f->estimated ? ESTIMATE : "");
    return isnan(f->lost_gpu_s) ? t
                                : arena_printf(a, "%s%s%s of GPU time", t, *t ? ", " : "",
                                               value_text(a, f->lost_gpu_s, "s"));
}

const char *finding_explained_words(const struct finding *f, struct arena *a)
{
    const char *t = "";
    for (size_t i = 0; i < f->n_explained_by; i++)
        t = arena_printf(a, "%s%s%s", t, i ? ", " : "by ", rule_title(f->explained_by[i]));
    return t;
}

const char *finding_shares_words(const struct finding *f, struct arena *a)
{
    static const struct {
        const char *what;
        size_t most;
    } kinds[] = {{"phase", 2}, {"event", 3}, {"operator", 2}};
    bool some = false;
    const char *t = f->n_shares && f->shares[0].rank >= 0
                        ? arena_printf(a, "rank %lld: ", (long long)f->shares[0].rank)
                        : "";
    for (size_t k = 0; k < COUNT_OF(kinds); k++)
        for (size_t i = 0, n = 0; i < f->n_shares && n < kinds[k].most; i++) {
            const struct share *s = &f->shares[i];
            if (s->rank != f->shares[0].rank || strcmp(s->what, kinds[k].what) != 0)
                continue;
            t = arena_printf(a, "%s%s%s %.0f %%", t, some ? ", " : "", s->name, s->share * 100);
            some = true;
            n++;
        }
    return t;
}

const char *finding_advice(const struct verdict *v, const struct finding *f)
{
    return f->advice ? f->advice : v->rule->recommendation;
}

static int by_lost(const void *a, const void *b)
{
    const struct finding *x = *(const struct finding *const *)a,
                         *y = *(const struct finding *const *)b;
    const double p = isnan(x->lost_s) ? -1 : x->lost_s, q = isnan(y->lost_s) ? -1 : y->lost_s;
    return p != q ? (p < q) - (p > q) : (x > y) - (x < y); /* both are in one array */
}

void findings_costliest_first(const struct verdict *v, const struct finding **out)
{
    for (size_t i = 0; i < v->n_findings; i++)
        out[i] = &v->findings[i];
    SORT(out, v->n_findings, by_lost);
}
