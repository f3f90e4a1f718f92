/* SPDX-License-Identifier: Apache-2.0 */
/* show_json.c - a run as `footplate show --json` and the server give it; see run_rows.def. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "rules/pricing.h"
#include "tables/loss_words.h"
#include "tables/show.h"

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

static double phase_s(const struct show *s, enum phase_kind k)
{
    return s->phases.has_steps ? s->phases.seconds[k] : NAN;
}

static double phase_pct(const struct show *s, enum phase_kind k)
{
    double pct[PHASE_N];
    show_percents(s, pct);
    return s->phases.has_steps ? pct[k] : NAN;
}

static double loop_pct(const struct show *s)
{
    double pct[PHASE_N];
    show_percents(s, pct);
    return s->phases.has_steps ? show_loop_percent(pct) : NAN;
}

/* Without steps all that can be told is when a node was interrupted. */
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
#include "query/efficiency.h"

void runview_json(struct jw *j, const struct run_info *info, struct arena *a)
{
    row_fields_json(j, &row_RunBase, run_row_of(info, a), a);
}

void show_json(struct jw *j, const struct show *s)
{
    row_fields_json(j, &row_RunShow, s, s->arena);
}
