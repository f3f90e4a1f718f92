/* SPDX-License-Identifier: Apache-2.0 */
/* show.c - see show.h: reading, then the JSON of `footplate show --json` and the server
 * (run_rows.def). */
#include "tables/show.h"

#include <math.h>
#include <string.h>

#include "base/human.h"
#include "base/stat.h"
#include "cost/machines.h"
#include "query/efficiency.h"
#include "tables/runview.h"

/* ---- reading ---- */

void show_percents(const struct show *s, double pct[PHASE_N])
{
    percents_of(s->phases.seconds, PHASE_N, pct);
    for (size_t k = 0; k < PHASE_N && !s->phases.has_steps; k++)
        pct[k] = NAN;
    if (s->phases.loop_goes_on)
        pct[PHASE_FINAL] = NAN;
}

double show_phase_s(const struct show *s, enum phase_kind k)
{
    const bool known = s->phases.has_steps && !(k == PHASE_FINAL && s->phases.loop_goes_on);
    return known ? s->phases.seconds[k] : NAN;
}

/* Tenths are added as whole numbers: 50.3 + 1.8 as they are make 52.099999999999994. */
double show_loop_percent(const double pct[PHASE_N])
{
    return round((pct[PHASE_TRAIN] + pct[PHASE_EVAL]) * 10) / 10;
}

static int show_find_phases(struct show *out, struct run *r, struct arena *a, struct err *e)
{
    phases_of(&(struct phases_from){out->info, out->marks, out->n_marks, out->ranks, out->n_ranks},
              a, &out->phases);
    return out->phases.has_steps ? 0 : steps_why_none(r, &out->losses, a, &out->no_steps, e);
}

static int show_read_rest(struct show *out, struct run *r, const struct show_known *known,
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

static int show_read_begin(struct show *out, struct run *r, struct arena *a, struct err *e)
{
    struct shipping *shipping = arena_new(a, struct shipping);
    *out = (struct show){.info = run_get_info(r), .arena = a, .planned = -1};
    out->shipping = shipping_of_run(out->info, shipping, e) == 0 ? shipping : NULL;
    run_get_size(r, &out->size);
    const int rc = loss_list_read(&out->losses, r, a, e);
    return rc ? rc : run_marks(r, a, &out->marks, &out->n_marks, e);
}

int show_read_named(struct show *out, struct run *r, const struct run_steps *steps, struct arena *a,
                    struct err *e)
{
    struct show_known known = {.allocator = allocator_peak_of(steps->named, steps->n_named)};
    int rc = show_read_begin(out, r, a, e);
    out->ranks = steps->ranks;
    out->n_ranks = steps->n_ranks;
    out->planned = steps_planned(steps);
    loop_window_of(steps->ranks, steps->n_ranks, &known.window);
    if (rc == 0)
        rc = show_find_phases(out, r, a, e);
    return rc ? rc : show_read_rest(out, r, &known, a, e);
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
    const int rc = show_read_begin(out, r, a, e);
    out->phases = *known->phases;
    out->no_steps = known->no_steps;
    return rc ? rc : show_read_rest(out, r, known, a, e);
}

/* ---- JSON ---- */

/* ---- what the list of runs has ---- */

static int64_t known_above_0(int64_t v)
{
    return v > 0 ? v : -1;
}

static double ns_to_ms(int64_t ns)
{
    return (double)ns / (double)NS_PER_MS;
}

static struct row_cell label_at(const void *x, size_t i, const char **key)
{
    const struct run_row *row = x;
    *key = row->info->labels[i].key;
    return row_text(row->info->labels[i].value);
}

struct run_row *run_row_of(const struct run_info *info, struct arena *a)
{
    struct run_row *row = arena_new(a, struct run_row);
    row->info = info;
    row->n_nodes = runview_nodes(info, a, &row->nodes);
    while (info->command && info->command[row->n_words])
        row->n_words++;
    row->interval_ns = runview_interval_ns(info);
    return row;
}

/* ---- GPUs ---- */

/* Reasons that did not occur are left out. */
static struct row_cell held_at(const void *x, size_t i, const char **key)
{
    const struct gpu_use *u = x;
    *key = clock_hold_name((enum clock_hold)i);
    return u->held_pct[i] > 0 ? row_number(u->held_pct[i]) : row_absent();
}

static struct row_cell view_held_at(const void *x, size_t i, const char **key)
{
    return held_at(((const struct gpu_view *)x)->use, i, key);
}

/* ---- phases: what is known only once the job shows where its steps begin and end ---- */

static double phase_pct(const struct show *s, enum phase_kind k)
{
    double pct[PHASE_N];
    show_percents(s, pct);
    return pct[k];
}

static double loop_pct(const struct show *s)
{
    double pct[PHASE_N];
    show_percents(s, pct);
    return show_loop_percent(pct);
}

/* Without steps only the interruptions of nodes are known. */
static struct row_cell phase_at(const void *x, size_t i, const char **key)
{
    const struct run_phases *p = x;
    (void)key;
    return p->has_steps || p->phases[i].kind == PHASE_INTERRUPTION ? row_object(&p->phases[i])
                                                                   : row_absent();
}

/* ---- losses ---- */

struct show_loss {
    const char *what, *title, *why;
    int64_t count;
    const char *kind, *node;
};

struct show_losses {
    struct show_loss *v;
    size_t n;
};

/* Numbers of the object "gpu" that are null. */
static void add_gpu_loss(void *ctx, const char *what, const char *why)
{
    struct show_losses *l = ctx;
    l->v[l->n++] = (struct show_loss){what, what, why, 1, losses[LOSS_ABSENT].name, NULL};
}

static struct row_cell show_losses(const struct show *s, struct arena *a)
{
    const struct loss_list *l = &s->losses;
    struct show_losses out = {arena_array(a, struct show_loss, l->n + 1 + GPU_NUMBERS), 0};
    for (size_t i = 0; i < l->n; i++) {
        const struct loss *x = &l->v[i].loss;
        out.v[out.n++] = (struct show_loss){
            .what = loss_what(x, arena_array(a, char, ENTITY_LEN)),
            .title = loss_what_words(x, a),
            .why = loss_why(x),
            .count = (int64_t)x->count,
            .kind = losses[x->id].name,
            .node = l->v[i].node,
        };
    }
    if (s->no_steps)
        out.v[out.n++] =
            (struct show_loss){"steps", "steps", s->no_steps, 1, losses[LOSS_ABSENT].name, NULL};
    gpuview_missing(&s->gpu, add_gpu_loss, &out);
    return row_list(out.v, out.n, NULL);
}

/* ---- rows ---- */

#define ROWS_FILE "tables/run_rows.def"
#include "base/row_expand.h"

void runview_json(struct jw *j, const struct run_info *info, struct arena *a)
{
    row_fields_json(j, &row_RunBase, run_row_of(info, a), a);
}

void show_json(struct jw *j, const struct show *s)
{
    row_fields_json(j, &row_RunShow, s, s->arena);
}

const char *show_throughput(const struct show *s, const struct mode_steps *x)
{
    const char *overall = x->overall > 0 ? arena_printf(s->arena, ", %s overall",
                                                        value_text(s->arena, x->overall, ""))
                                         : "";
    const char *ranks =
        x->ranks > 1 ? arena_printf(s->arena, ", %zu ranks together", x->ranks) : "";
    return arena_printf(s->arena, "%s steady%s%s", value_text(s->arena, x->steady, "samples/s"),
                        overall, ranks);
}
