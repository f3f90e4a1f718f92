/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_words.c - see verdict_words.h. */
#include "tables/verdict_words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/mem.h"

const char *verdict_size_words(const struct verdict *v, bool has_steps, struct arena *a)
{
    char money[HUMAN_LEN];
    const char *t = severity_names[v->severity];
    if (!isnan(v->lost_s))
        t = arena_printf(a, "%s, %s lost", t, value_text(a, v->lost_s, "s"));
    if (!isnan(v->lost_share))
        t = arena_printf(a, "%s, %.1f %% of the %s", t, v->lost_share * 100,
                         has_steps ? "training loop" : "job");
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
    const char *t = isnan(f->lost_s) ? "" : value_text(a, f->lost_s, "s");
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
    qsort(out, v->n_findings, sizeof *out, by_lost);
}
