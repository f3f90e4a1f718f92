/* SPDX-License-Identifier: Apache-2.0 */
/* report_job.c - the head of a report and the summary of the job. */
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/human.h"
#include "base/mem.h"
#include "base/vec.h"
#include "cost/machines.h"
#include "report/report_internal.h"
#include "rules/verdict.h"
#include "tables/summary.h"

enum { TOP_ISSUES = 3 };

static const char *wall(const struct report *r, wall_ns t)
{
    char text[64];
    return arena_strdup(r->arena, wall_text(t, text, sizeof text));
}

/* Without the zone, which the start time of the job shows. */
static const char *wall_beside_start(const struct report *r, wall_ns t)
{
    char text[64];
    return arena_strdup(r->arena, wall_text_beside(t, r->show.phases.job_start, text, sizeof text));
}

/* ---- phases ---- */

static struct svg_span report_span(const struct report *r, const struct phase *p)
{
    const struct report_look look = look_of(phase_name(p->kind));
    return (struct svg_span){look.title, report_since(r, p->start), report_since(r, p->end),
                             (int)look.colour};
}

size_t report_spans(const struct report *r, struct svg_span **out)
{
    const struct run_phases *p = &r->show.phases;
    size_t n = 0;
    *out = arena_array(r->arena, struct svg_span, p->n + 1);
    for (size_t i = 0; i < p->n; i++)
        if (r->show.phases.has_steps || p->phases[i].kind == PHASE_INTERRUPTION)
            (*out)[n++] = report_span(r, &p->phases[i]);
    return n;
}

static void put_pie(const struct report *r, struct doc *d)
{
    struct svg_part parts[PHASE_N];
    struct figure f = {.kind = FIGURE_PIE,
                       .words = {.title = "Time by training phase", .unit = "s"},
                       .parts = parts};
    for (enum phase_kind k = 0; k < PHASE_N; k++) {
        const struct report_look look = look_of(phase_name(k));
        if (r->show.phases.seconds[k] > 0)
            parts[f.n++] =
                (struct svg_part){look.title, r->show.phases.seconds[k], (int)look.colour};
    }
    doc_figure(d, &f);
}

static void put_progress(const struct report *r, struct doc *d)
{
    struct svg_span *spans;
    struct figure f = {.kind = FIGURE_PROGRESS,
                       .words = {.title = "Training progress over time"},
                       .n = report_spans(r, &spans),
                       .to = report_since(r, r->show.phases.job_end)};
    f.spans = spans;
    if (f.n > 0)
        doc_figure(d, &f);
}

/* ---- details ---- */

static void put_time(const struct report *r, struct doc *d, const char *name, bool known, wall_ns t)
{
    doc_fact(d, name, NAN, known ? wall_beside_start(r, t) : "not known: no steps were detected");
}

static void put_phase(const struct report *r, struct doc *d, const char *name, double s)
{
    const char *why = r->show.phases.has_steps ? "not known: the job is still running"
                                               : "not known: no steps were detected";
    doc_fact(d, name, s, isnan(s) ? why : value_text(r->arena, s, "s"));
}

static void put_percent(const struct report *r, struct doc *d, const char *name, double pct)
{
    doc_fact(d, name, isnan(pct) ? NAN : pct,
             isnan(pct) ? "not known" : arena_printf(r->arena, "%.1f %%", pct));
}

static void report_job_put_details(const struct report *r, struct doc *d)
{
    const struct run_phases *p = &r->show.phases;
    const double *pct = r->phase_pct, interruption = p->seconds[PHASE_INTERRUPTION];
    const bool has = p->has_steps;
    doc_facts(d);
    doc_fact(d, "Start time", NAN, wall(r, p->job_start));
    doc_fact(d, r->live ? "Data up to" : "End time", NAN, wall_beside_start(r, p->job_end));
    doc_fact(d, "Job duration", wall_span_s(p->job_start, p->job_end),
             value_text(r->arena, wall_span_s(p->job_start, p->job_end), "s"));
    put_time(r, d, "Training loop start", has, p->loop_start);
    if (p->loop_goes_on)
        doc_fact(d, "Training loop end", NAN, "still running");
    else
        put_time(r, d, "Training loop end", has, p->loop_end);
    put_phase(r, d, "Training loop duration",
              show_phase_s(&r->show, PHASE_TRAIN) + show_phase_s(&r->show, PHASE_EVAL));
    put_phase(r, d, "Initialization", show_phase_s(&r->show, PHASE_INIT));
    put_phase(r, d, "Finalization", show_phase_s(&r->show, PHASE_FINAL));
    if (interruption > 0)
        doc_fact(d, "Interruption", interruption, value_text(r->arena, interruption, "s"));
    put_percent(r, d, "Initialization (%)", pct[PHASE_INIT]);
    put_percent(r, d, "Training loop (%)", show_loop_percent(pct));
    put_percent(r, d, "Finalization (%)", pct[PHASE_FINAL]);
    if (interruption > 0)
        put_percent(r, d, "Interruption (%)", pct[PHASE_INTERRUPTION]);
    doc_facts_end(d);
}

static void put_run_facts(const struct report *r, struct doc *d)
{
    const struct run_info *info = r->info;
    const char *command = runview_command(info, r->arena);
    doc_facts(d);
    doc_fact(d, "Command", NAN, *command ? command : "not known");
    if (info->directory && *info->directory)
        doc_fact(d, "Directory", NAN, info->directory);
    if (info->git_commit && *info->git_commit)
        doc_fact(d, "Git commit", NAN, info->git_commit);
    for (size_t i = 0; i < info->n_labels; i++)
        doc_fact(d, arena_printf(r->arena, "Label %s", info->labels[i].key), NAN,
                 info->labels[i].value);
    doc_fact(d, "Folder", NAN, path_base(info->path));
    doc_facts_end(d);
}

void report_put_job(const struct report *r, struct doc *d)
{
    doc_section(d, "job", "Training job summary");
    doc_columns(d);
    if (r->show.phases.has_steps)
        put_pie(r, d);
    else
        doc_note(d, TONE_INFO, "%s Without steps, the phases are not known.",
                 sentence(r->arena, steps_none_text(r->info, r->show.no_steps, r->arena)));
    report_job_put_details(r, d);
    doc_columns_end(d);
    put_progress(r, d);
    doc_part(d, NULL, "Job details");
    put_run_facts(r, d);
    doc_section_end(d);
}

/* ---- the head ---- */

static const struct stat_line *report_job_use_of(const struct statview *use, const char *metric)
{
    return FIND_ITEM(x, use->v, use->n, strcmp(x->metric, metric) == 0 && x->s->count > 0);
}

/* In the training loop, where there is one. */
static void put_use_tile(const struct report *r, struct doc *d, const char *name,
                         const char *metric)
{
    struct node_view *nodes;
    const bool loop = r->loop_use.n > 0;
    const struct stat_line *l = report_job_use_of(loop ? &r->loop_use : &r->use, metric);
    const bool several = runview_nodes(r->info, r->arena, &nodes) > 1;
    if (!l)
        return;
    doc_tile(d, name, value_text(r->arena, l->s->p50, l->unit),
             arena_printf(r->arena, "median %s%s%s", loop ? "in the training loop" : "of the job",
                          several ? " on " : "", several ? l->node : ""));
}

static void put_iteration_tile(const struct report *r, struct doc *d)
{
    const struct steps_row *row = report_best_row(r);
    if (!row)
        return;
    const struct step_stats *s = &row->stats;
    const bool iterations = s->iterations > 0;
    doc_tile(d, iterations ? "Training iteration" : "Training step",
             value_text(r->arena, iterations ? s->iteration_p50_s : s->p50_s, "s"),
             arena_printf(r->arena, "median of %s; p95 %s",
                          count_text(r->arena, iterations ? s->iterations : s->count),
                          value_text(r->arena, iterations ? s->iteration_p95_s : s->p95_s, "s")));
}

/* Of all ranks together. */
static void put_throughput_tile(const struct report *r, struct doc *d)
{
    double steady = 0, overall = 0;
    size_t ranks = 0;
    for (size_t i = 0; i < r->steps.n_rows; i++) {
        const struct step_stats *s = &r->steps.rows[i].stats;
        if (s->mode != MODE_TRAIN || s->count == 0)
            continue;
        ranks++;
        steady += s->throughput_steady;
        overall += s->throughput_overall;
    }
    if (ranks == 0 || isnan(steady))
        return;
    doc_tile(d, "Samples per second", value_text(r->arena, steady, ""),
             arena_printf(r->arena, "steady%s%s",
                          overall > 0 ? arena_printf(r->arena, "; %s overall",
                                                     value_text(r->arena, overall, ""))
                                      : "",
                          ranks > 1 ? arena_printf(r->arena, ", %zu ranks together", ranks) : ""));
}

static void put_peak_tile(const struct report *r, struct doc *d)
{
    const struct gpu_use *u = r->show.gpu.use;
    const double tensor = u->mean[GPU_MEAN_TENSOR];
    if (!isnan(u->mfu_pct))
        doc_tile(d, "Share of peak", arena_printf(r->arena, "%.1f %%", u->mfu_pct),
                 arena_printf(r->arena, "%.0f of %.0f TFLOP/s; tensor cores active %.1f %%",
                              u->tflops, u->peak_tflops, tensor));
    else if (!isnan(tensor))
        doc_tile(d, "Tensor cores active", arena_printf(r->arena, "%.1f %%", tensor),
                 r->show.gpu.loop ? "mean in the training loop" : "mean of the job");
}

static void put_energy_tile(const struct report *r, struct doc *d)
{
    const struct gpu_view *g = &r->show.gpu;
    const char *job = isnan(g->x.job.energy_j)
                          ? NULL
                          : arena_printf(r->arena, "%s%s in the loop; %s for the job",
                                         value_text(r->arena, g->use->mean[GPU_MEAN_POWER], "W"),
                                         g->x.n_used > 1 ? " per GPU" : "",
                                         joules_text(r->arena, g->x.job.energy_j));
    if (!isnan(g->x.energy_per_sample_j))
        doc_tile(d, "Energy per sample", joules_text(r->arena, g->x.energy_per_sample_j), job);
    else if (!isnan(g->x.energy_per_step_j))
        doc_tile(d, "Energy per step", joules_text(r->arena, g->x.energy_per_step_j), job);
    else if (job)
        doc_tile(d, "Energy", joules_text(r->arena, g->x.job.energy_j), "GPUs, whole job");
}

static void put_cost_tile(const struct report *r, struct doc *d)
{
    char money[HUMAN_LEN];
    if (!isnan(r->cost))
        doc_tile(d, "Cost", human_price(r->cost, pricing_currency(r->info), money, sizeof money),
                 arena_printf(r->arena, "at %g %s per hour%s", r->price_per_hour,
                              pricing_currency(r->info), r->live ? ", so far" : ""));
}

static void put_tiles(const struct report *r, struct doc *d)
{
    const struct run_phases *p = &r->show.phases;
    const size_t issues = r->states[RULE_ISSUE];
    doc_tiles(d);
    put_use_tile(r, d, "GPU utilization", "gpu");
    put_iteration_tile(r, d);
    put_throughput_tile(r, d);
    put_peak_tile(r, d);
    put_energy_tile(r, d);
    put_use_tile(r, d, "CPU utilization", "cpu");
    doc_tile(d, r->live ? "Job duration so far" : "Job duration",
             value_text(r->arena, wall_span_s(p->job_start, p->job_end), "s"),
             p->has_steps ? arena_printf(r->arena, "%.1f %% in the training loop",
                                         show_loop_percent(r->phase_pct))
                          : NULL);
    doc_tile(d, "Issues", arena_printf(r->arena, "%zu", issues),
             arena_printf(r->arena, "%zu passed \xc2\xb7 %zu skipped", r->states[RULE_CLEAR],
                          r->states[RULE_NOT_EVALUATED]));
    put_cost_tile(r, d);
    doc_facts_end(d);
}

enum tone severity_tone(enum severity s)
{
    static const enum tone tones[SEVERITY_N] = {[SEVERITY_INFO] = TONE_INFO,
                                                [SEVERITY_WARNING] = TONE_WARNING,
                                                [SEVERITY_CRITICAL] = TONE_BAD};
    return tones[s];
}

static void report_job_put_issue(const struct report *r, struct doc *d, const struct verdict *v)
{
    const struct finding **list = arena_array(r->arena, const struct finding *, v->n_findings);
    findings_costliest_first(v, list);
    const char *advice = finding_advice(v, list[0]);
    doc_note(d, severity_tone(v->severity), "%s (%s): %s%s%s", v->rule->title,
             verdict_size_words(v, r->show.phases.has_steps, r->arena),
             sentence(r->arena, list[0]->message), *advice ? " What to do: " : "",
             sentence(r->arena, advice));
}

/* What a reader in a hurry should know. */
static void put_short(const struct report *r, struct doc *d)
{
    const struct verdict **issues = arena_array(r->arena, const struct verdict *, r->n_rules);
    size_t n = 0;
    for (size_t i = 0; i < r->n_rules; i++)
        if (r->rules[i].v->state == RULE_ISSUE && r->rules[i].v->n_findings)
            issues[n++] = r->rules[i].v;
    verdicts_worst_first(issues, n);
    for (size_t i = 0; i < MIN_OF(n, (size_t)TOP_ISSUES); i++)
        report_job_put_issue(r, d, issues[i]);
    if (n > TOP_ISSUES)
        doc_text(d, "%zu more: see the rules summary.", n - TOP_ISSUES);
    if (n == 0 && r->states[RULE_CLEAR] > 0)
        doc_note(d, TONE_GOOD, "%s (%zu rule%s passed, %zu skipped).", verdict_none_words(r->info),
                 r->states[RULE_CLEAR], r->states[RULE_CLEAR] == 1 ? "" : "s",
                 r->states[RULE_NOT_EVALUATED]);
    if (n == 0 && r->states[RULE_CLEAR] == 0)
        doc_note(d, TONE_INFO, "No rules ran%s",
                 r->show.phases.has_steps
                     ? "; see the rules summary for the reasons."
                     : arena_printf(r->arena, ": %s.", steps_none_words(r->info)));
    if (r->ask.right_size)
        doc_note(d, TONE_INFO, "%s", sentence(r->arena, r->ask.right_size->why));
}

static void report_job_put_status(const struct report *r, struct doc *d)
{
    const char *ending = verdicts_ending(r->info, &r->ask.checked->verdicts, r->arena);
    if (r->live)
        doc_note(d, TONE_INFO, "This run is still running. Data up to %s.", wall(r, r->info->end));
    else if (ending)
        doc_note(d, TONE_WARNING, "%s", ending);
}

void report_put_head(const struct report *r, struct doc *d)
{
    doc_section(d, "short", "Summary");
    report_job_put_status(r, d);
    put_tiles(r, d);
    put_short(r, d);
    doc_section_end(d);
}
