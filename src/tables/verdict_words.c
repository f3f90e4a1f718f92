/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_words.c - see verdict_words.h. */
#include "tables/verdict_words.h"

#include <math.h>
#include <stdlib.h>

#include "base/human.h"
#include "base/mem.h"

void verdict_size_words(struct buf *b, const struct verdict *v, bool has_steps)
{
    char lost[HUMAN_LEN], money[HUMAN_LEN];
    buf_printf(b, "%s", severity_names[v->severity]);
    if (!isnan(v->lost_s))
        buf_printf(b, ", %s lost", human_value(v->lost_s, "s", lost, sizeof lost));
    if (!isnan(v->lost_share))
        buf_printf(b, ", %.1f %% of the %s", v->lost_share * 100,
                   has_steps ? "training loop" : "job");
    if (!isnan(v->lost_cost))
        buf_printf(b, ", at a cost of %s",
                   human_price(v->lost_cost, v->currency, money, sizeof money));
}

const char *verdict_none_words(const struct run_info *info)
{
    return info->status == RUN_FINISHED || info->status == RUN_RUNNING
               ? "No issues found"
               : "No performance issues found in the recorded part";
}

/* ---- findings ---- */

void finding_when_words(struct buf *b, const struct finding *f, wall_ns job_start)
{
    char from[HUMAN_LEN], to[HUMAN_LEN], held[HUMAN_LEN];
    double s = 0;
    if (f->n_ranges == 0)
        return;
    for (size_t i = 0; i < f->n_ranges; i++)
        s += wall_span_s(f->ranges[i].start, f->ranges[i].end);
    buf_printf(b, "from %s to %s after the start",
               duration_text(wall_span_s(job_start, f->start), from, sizeof from),
               duration_text(wall_span_s(job_start, f->end), to, sizeof to));
    if (f->n_ranges > 1)
        buf_printf(b, "; %zu times, %s in total", f->n_ranges, duration_text(s, held, sizeof held));
}

void finding_lost_words(struct buf *b, const struct finding *f)
{
    char text[HUMAN_LEN];
    if (!isnan(f->lost_s))
        buf_printf(b, "%s", human_value(f->lost_s, "s", text, sizeof text));
    if (!isnan(f->lost_gpu_s))
        buf_printf(b, "%s%s of GPU time", isnan(f->lost_s) ? "" : ", ",
                   human_value(f->lost_gpu_s, "s", text, sizeof text));
}

void finding_explained_words(struct buf *b, const struct finding *f)
{
    for (size_t i = 0; i < f->n_explained_by; i++)
        buf_printf(b, "%s%s", i ? ", " : "by ", rule_title(f->explained_by[i]));
}

void finding_shares_words(struct buf *b, const struct finding *f)
{
    static const struct {
        const char *what;
        size_t most;
    } kinds[] = {{"phase", 2}, {"event", 3}, {"operator", 2}};
    bool some = false;
    if (f->n_shares && f->shares[0].rank >= 0)
        buf_printf(b, "rank %lld: ", (long long)f->shares[0].rank);
    for (size_t k = 0; k < COUNT_OF(kinds); k++)
        for (size_t i = 0, n = 0; i < f->n_shares && n < kinds[k].most; i++) {
            const struct share *s = &f->shares[i];
            if (s->rank != f->shares[0].rank || strcmp(s->what, kinds[k].what) != 0)
                continue;
            buf_printf(b, "%s%s %.0f %%", some ? ", " : "", s->name, s->share * 100);
            some = true;
            n++;
        }
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
