/* SPDX-License-Identifier: Apache-2.0 */
/* scene_walk.c - what a rank of a scene does, one thing after the other. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "import/scene_internal.h"

void scene_walk_begin(struct scene_walk *w, const struct scene *s, const struct scene_rank *r)
{
    *w = (struct scene_walk){.scene = s, .rank = r};
    if (r->n_steps)
        w->at_ns = MAX_OF(r->steps[0].from_ns, 0);
}

/* The one that was said last counts. */
static const struct scene_odd *odd_of(const struct scene_steps *x, int64_t number)
{
    for (size_t i = x->n_odd; i > 0; i--) {
        const struct scene_odd *o = &x->odd[i - 1];
        if (o->every ? (number + 1) % o->every == 0 : number == o->at)
            return o;
    }
    return NULL;
}

static void scene_walk_take_step(struct scene_walk *w, const struct scene_steps *x,
                                 struct scene_doing *out)
{
    const struct scene_odd *odd = odd_of(x, w->done);
    const double by = x->jitter * scene_chance(w->scene->seed, (uint64_t)w->rank->number,
                                               (uint64_t)w->numbers[x->mode]);
    const int64_t usual = x->dur_ns + (int64_t)((double)x->dur_ns * by);
    *out = (struct scene_doing){
        .is_step = true,
        .start_ns = w->at_ns,
        .dur_ns = odd ? odd->dur_ns : usual,
        .number = w->numbers[x->mode]++,
        .batch = x->batch,
        .mode = x->mode,
        .parts = x->parts,
        .n_parts = x->n_parts,
        .odd = odd,
        .usual_ns = odd ? MIN_OF(usual, odd->dur_ns) : usual,
    };
    w->done++;
    w->after = 0;
    w->after_done = 0;
    w->at_ns += out->dur_ns;
}

/* Evaluation steps and checkpoints behind the step that was just done. */
static bool take_after(struct scene_walk *w, const struct scene_steps *x, struct scene_doing *out)
{
    while (w->after < x->n_after) {
        const struct scene_after *a = &x->after[w->after];
        if (w->done % a->every != 0 || w->after_done == MAX_OF(a->count, 1)) {
            w->after++;
            w->after_done = 0;
            continue;
        }
        *out = (struct scene_doing){
            .is_step = a->count > 0,
            .start_ns = w->at_ns,
            .dur_ns = a->dur_ns,
            .mode = MODE_EVAL,
            .parts = a->parts,
            .n_parts = a->n_parts,
            .usual_ns = a->dur_ns,
        };
        if (out->is_step)
            out->number = w->numbers[MODE_EVAL]++;
        w->after_done++;
        w->at_ns += a->dur_ns;
        return true;
    }
    return false;
}

bool scene_walk_next(struct scene_walk *w, struct scene_doing *out)
{
    while (w->stretch < w->rank->n_steps) {
        const struct scene_steps *x = &w->rank->steps[w->stretch];
        if (w->done > 0 && take_after(w, x, out))
            return true;
        if (w->done < x->count) {
            w->at_ns += w->done > 0 ? x->pause_ns : 0;
            scene_walk_take_step(w, x, out);
            return true;
        }
        w->stretch++;
        w->done = 0;
        if (w->stretch < w->rank->n_steps)
            w->at_ns = MAX_OF(w->at_ns, w->rank->steps[w->stretch].from_ns);
    }
    return false;
}

static int64_t rank_end(const struct scene *s, const struct scene_rank *r)
{
    struct scene_walk w;
    struct scene_doing d;
    int64_t end = 0;
    scene_walk_begin(&w, s, r);
    while (scene_walk_next(&w, &d))
        end = d.start_ns + d.dur_ns;
    for (size_t i = 0; i < r->n_events; i++) {
        const struct scene_event *x = &r->events[i];
        const bool whole = x->kind == EVENT_SPAN && x->to_ns != INT64_MAX;
        end = MAX_OF(end, whole ? x->to_ns : x->at_ns);
    }
    for (size_t i = 0; i < r->n_workers; i++)
        end = MAX_OF(end, r->workers[i].to_ns);
    return end;
}

int64_t scene_end(const struct scene *s)
{
    int64_t end = s->job_to_ns;
    for (size_t i = 0; i < s->n_series; i++)
        for (size_t k = 0; k < s->series[i].n; k++)
            end = MAX_OF(end, s->series[i].pieces[k].to_ns);
    for (size_t i = 0; i < s->n_ranks; i++)
        end = MAX_OF(end, rank_end(s, &s->ranks[i]));
    for (size_t i = 0; i < s->n_marks; i++)
        end = MAX_OF(end, s->marks[i].at_ns);
    return end;
}
