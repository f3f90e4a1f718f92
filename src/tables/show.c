/* SPDX-License-Identifier: Apache-2.0 */
/* show.c - see show.h. */
#include "tables/show.h"

#include <math.h>

#include "base/stat.h"
#include "query/efficiency.h"

void show_percents(const struct show *s, double pct[PHASE_N])
{
    percents_of(s->phases.seconds, PHASE_N, pct);
    for (size_t k = 0; k < PHASE_N && !s->phases.has_steps; k++)
        pct[k] = NAN;
}

/* Tenths are added as whole numbers: 50.3 + 1.8 as they are make 52.099999999999994. */
double show_loop_percent(const double pct[PHASE_N])
{
    return round((pct[PHASE_TRAIN] + pct[PHASE_EVAL]) * 10) / 10;
}

static int find_phases(struct show *out, struct run *r, struct arena *a, struct err *e)
{
    phases_of(&(struct phases_from){out->info, out->marks, out->n_marks, out->ranks, out->n_ranks},
              a, &out->phases);
    return out->phases.has_steps ? 0 : steps_why_none(r, &out->losses, a, &out->no_steps, e);
}

static int read_rest(struct show *out, struct run *r, const struct show_known *known,
                     struct arena *a, struct err *e)
{
    const struct series_ask whole = {0};
    const struct efficiency_ask ask = {.window = known->window,
                                       .allocator = known->allocator,
                                       .job_from = out->phases.job_start,
                                       .job_to = out->phases.job_end};
    const int rc = summary_read(r, &whole, &out->losses, a, &out->lines, &out->n_lines, e);
    return rc ? rc : gpuview_read(&out->gpu, r, &ask, &out->losses, a, e);
}

static int read_begin(struct show *out, struct run *r, struct arena *a, struct err *e)
{
    *out = (struct show){.info = run_get_info(r), .arena = a};
    run_get_size(r, &out->size);
    const int rc = loss_list_read(&out->losses, r, a, e);
    return rc ? rc : run_marks(r, a, &out->marks, &out->n_marks, e);
}

int show_read_named(struct show *out, struct run *r, const struct run_steps *steps, struct arena *a,
                    struct err *e)
{
    struct show_known known = {.allocator = allocator_peak_of(steps->named, steps->n_named)};
    int rc = read_begin(out, r, a, e);
    out->ranks = steps->ranks;
    out->n_ranks = steps->n_ranks;
    loop_window_of(steps->ranks, steps->n_ranks, &known.window);
    if (rc == 0)
        rc = find_phases(out, r, a, e);
    return rc ? rc : read_rest(out, r, &known, a, e);
}

int show_read_steps(struct show *out, struct run *r, struct rank_steps *ranks, size_t n,
                    struct arena *a, struct err *e)
{
    return show_read_named(out, r, &(struct run_steps){.ranks = ranks, .n_ranks = n}, a, e);
}

int show_read(struct show *out, struct run *r, struct arena *a, struct err *e)
{
    const struct steps_want want = {.wanted = allocator_event_wanted};
    struct run_steps steps;
    const int rc = steps_read_named(r, &want, a, &steps, e);
    return rc ? rc : show_read_named(out, r, &steps, a, e);
}

int show_read_with(struct show *out, struct run *r, const struct show_known *known, struct arena *a,
                   struct err *e)
{
    const int rc = read_begin(out, r, a, e);
    out->phases = *known->phases;
    out->no_steps = known->no_steps;
    return rc ? rc : read_rest(out, r, known, a, e);
}
