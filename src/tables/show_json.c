/* SPDX-License-Identifier: Apache-2.0 */
/* show_json.c - a run as `footplate show --json` and the server give it. Keys may be added here,
 * never renamed. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "tables/loss_words.h"
#include "tables/show.h"

static void time_json(struct jw *j, const char *key, bool known, wall_ns t)
{
    if (known)
        jw_int(j, key, t.ns);
    else
        jw_null(j, key);
}

/* What is known only once the job shows where its steps begin and end is null without them. */
static void loop_json(struct jw *j, const struct show *s)
{
    const struct run_phases *p = &s->phases;
    const bool has = p->has_steps;
    const double *took = p->seconds;
    double pct[PHASE_N];
    show_percents(s, pct);
    const struct {
        const char *key;
        double v;
    } numbers[] = {
        {"loop_duration_s", took[PHASE_TRAIN] + took[PHASE_EVAL]},
        {"train_s", took[PHASE_TRAIN]},
        {"eval_s", took[PHASE_EVAL]},
        {"initialization_s", took[PHASE_INIT]},
        {"finalization_s", took[PHASE_FINAL]},
        {"interruption_s", took[PHASE_INTERRUPTION]},
        {"initialization_pct", pct[PHASE_INIT]},
        {"loop_pct", show_loop_percent(pct)},
        {"train_pct", pct[PHASE_TRAIN]},
        {"eval_pct", pct[PHASE_EVAL]},
        {"finalization_pct", pct[PHASE_FINAL]},
        {"interruption_pct", pct[PHASE_INTERRUPTION]},
    };
    jw_int(j, "job_start_ns", p->job_start.ns);
    jw_int(j, "job_end_ns", p->job_end.ns);
    jw_num(j, "job_duration_s", wall_span_s(p->job_start, p->job_end));
    time_json(j, "loop_start_ns", has, p->loop_start);
    time_json(j, "loop_end_ns", has && !p->loop_goes_on, p->loop_end);
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        jw_num(j, numbers[i].key, has ? numbers[i].v : NAN);
}

/* Without steps all that can be told is when a node was interrupted. */
static void phases_json(struct jw *j, const struct run_phases *p)
{
    jw_array(j, "phases");
    for (size_t i = 0; i < p->n; i++) {
        if (!p->has_steps && p->phases[i].kind != PHASE_INTERRUPTION)
            continue;
        jw_object(j, NULL);
        jw_str(j, "phase", phase_name(p->phases[i].kind));
        jw_int(j, "start_ns", p->phases[i].start.ns);
        jw_int(j, "end_ns", p->phases[i].end.ns);
        jw_end(j);
    }
    jw_end(j);
}

static void loss_json(struct jw *j, const char *what, const char *title, const char *why,
                      int64_t count, const char *kind, const char *node)
{
    jw_object(j, NULL);
    jw_str(j, "what", what);
    jw_str(j, "title", title);
    jw_str(j, "why", why);
    jw_int(j, "count", count);
    jw_str(j, "kind", kind);
    jw_str(j, "node", node);
    jw_end(j);
}

/* Numbers of the object "gpu" that are null. */
static void gpu_loss_json(void *ctx, const char *what, const char *why)
{
    loss_json(ctx, what, what, why, 1, losses[LOSS_ABSENT].name, NULL);
}

static void losses_json(struct jw *j, const struct show *s)
{
    const struct loss_list *l = &s->losses;
    jw_array(j, "losses");
    for (size_t i = 0; i < l->n; i++) {
        const struct loss *x = &l->v[i].loss;
        loss_json(j, x->what, loss_what_words(x->what, s->arena),
                  *x->why ? x->why : losses[x->id].help, (int64_t)x->count, losses[x->id].name,
                  l->v[i].node);
    }
    if (s->no_steps)
        loss_json(j, "steps", "steps", s->no_steps, 1, losses[LOSS_ABSENT].name, NULL);
    gpuview_missing(&s->gpu, gpu_loss_json, j);
    jw_end(j);
}

static void marks_json(struct jw *j, const struct show *s)
{
    jw_array(j, "marks");
    for (size_t i = 0; i < s->n_marks; i++) {
        const struct run_mark *m = &s->marks[i];
        jw_object(j, NULL);
        jw_str(j, "node", m->node);
        jw_str(j, "mark", marks[m->mark.id].name);
        jw_int(j, "time_ns", m->at.ns);
        jw_int(j, "number", m->mark.number);
        jw_str(j, "text", m->mark.text);
        jw_end(j);
    }
    jw_end(j);
}

static void self_json(struct jw *j, const struct show *s)
{
    jw_object(j, "self");
    jw_num(j, "cpu_s", runview_self_cpu_s(s->info));
    jw_num(j, "bytes_written", runview_bytes_written(s->info));
    jw_int(j, "events_dropped", runview_events_dropped(s->info, &s->losses));
    jw_int(j, "samples", (int64_t)s->size.samples);
    jw_int(j, "file_bytes", (int64_t)s->size.file_bytes);
    jw_end(j);
}

void show_json(struct jw *j, const struct show *s)
{
    runview_json(j, s->info, s->arena);
    loop_json(j, s);
    phases_json(j, &s->phases);
    gpuview_json(j, "gpu", &s->gpu);
    self_json(j, s);
    marks_json(j, s);
    losses_json(j, s);
}
