/* SPDX-License-Identifier: Apache-2.0 */
/* export_lines.c - the formats that are one record a line: CSV, one kind of record in a file, and
 * JSON lines, whose every line has its type, so that a whole run goes into one stream. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "export/export_about.h"
#include "query/ops.h"
#include "record/group.h"
#include "tables/healthview.h"
#include "tables/stepsview.h"

/* What is being written. */
struct line_writer {
    const struct export_job *job;
    struct outfile *out;
    bool json;
    struct about_writer about;
    struct arena arena;
    struct tracks tracks;
    struct row_prefixes prefixes;
    struct series_emitter emitter;
    struct row_columns columns;
};

typedef int part_fn(struct line_writer *l, struct err *e);

/* ---- rows ---- */

/* What follows are rows of the table; CSV begins with their names. */
static void lines_begin_rows(struct line_writer *l, const struct row_table *t, const char *first)
{
    row_columns_of(&l->columns, t, first, &l->arena);
    if (!l->json)
        row_csv_head(&l->columns, &l->out->buf);
}

/* A row as CSV or as a JSON line. */
static int lines_put_table_row(struct line_writer *l, const char *type, const void *row,
                               struct err *e)
{
    if (l->json)
        row_line(&l->columns, type, row, &l->out->buf, &l->arena);
    else
        row_csv(&l->columns, row, &l->out->buf, &l->arena);
    return outfile_pass(l->out, e);
}

/* ---- samples ---- */

static void series_line(void *to, const struct row_group *g, const struct row_column *c)
{
    struct line_writer *l = to;
    about_begin(&l->about, "series");
    about_series(&l->about.j, g, c);
    about_end(&l->about);
}

static void lines_put_prefix(void *to, const struct row_group *g, const struct row_column *c)
{
    struct line_writer *l = to;
    const char *const keys[] = {"node", "metric", "entity", "unit"};
    const char *const v[] = {g->node, c->metric, c->entity, c->unit};
    struct jw j = {.out = &l->prefixes.text};
    if (l->json) {
        jw_object(&j, NULL);
        jw_str(&j, "type", "sample");
    }
    for (size_t i = 0; i < COUNT_OF(v); i++)
        if (l->json) {
            jw_str(&j, keys[i], v[i]);
        } else {
            csv_put(j.out, v[i]);
            buf_u8(j.out, ',');
        }
}

/* Not by buf_printf: it would take three quarters of the time of an export. */
static void lines_put_text(struct buf *out, const char *text)
{
    buf_text(out, text);
}

static void lines_put_sample(struct buf *out, bool json, wall_ns t, double v)
{
    lines_put_text(out, json ? ",\"time_ns\":" : "");
    buf_int(out, t.ns);
    if (isfinite(v) || !json)
        lines_put_text(out, json ? ",\"value\":" : ",");
    if (isfinite(v))
        json_put_number(out, v);
    lines_put_text(out, json ? "}\n" : "\n");
}

static int lines_begin_group(void *to, const struct row_group *g, struct err *e)
{
    struct line_writer *l = to;
    (void)e;
    if (l->json && l->job->what == EXPORT_ALL)
        series_emit(&l->emitter, g);
    row_prefixes_make(&l->prefixes, g, &l->arena, lines_put_prefix, l);
    return 0;
}

static int lines_put_row(void *to, wall_ns t, const int64_t *cells, struct err *e)
{
    struct line_writer *l = to;
    for (size_t i = 0; i < l->prefixes.n; i++) {
        if (cells[i] == CELL_MISSING)
            continue;
        row_prefixes_put(&l->prefixes, i, &l->out->buf);
        lines_put_sample(&l->out->buf, l->json, t, row_value(l->prefixes.steps[i], cells[i]));
    }
    return outfile_pass(l->out, e);
}

static int lines_put_samples(struct line_writer *l, struct err *e)
{
    static const struct row_sink sink = {lines_begin_group, lines_put_row};
    l->emitter = (struct series_emitter){.emit = series_line, .to = l};
    if (!l->json)
        buf_printf(&l->out->buf, "node,metric,entity,unit,time_ns,value\n");
    const int rc = rows_read(l->job->run, &l->job->ask, &sink, l, e);
    series_emit_end(&l->emitter);
    return rc;
}

/* ---- events ---- */

/* Lines of JSON give the track by the number of its record, -1: CSV. */
struct export_event {
    const struct run_track *track;
    int64_t number;
    wall_ns at;
    const struct event *event;
};

static const char *track_on(const struct run_track *t)
{
    return track_kind_names[t->track.kind];
}

static bool event_lasts(const struct event *v)
{
    return v->kind == EVENT_SPAN || v->kind == EVENT_STEP;
}

static struct row_cell row_int_if(int64_t v, bool known)
{
    return known ? row_int(v) : row_text(NULL);
}

static struct row_cell event_value_cell(const struct event *v)
{
    const double real = v->kind == EVENT_REAL ? event_real(v) : 0;
    if (v->kind != EVENT_REAL)
        return row_int_if(v->value, v->value != 0 || v->kind != EVENT_SPAN);
    return isfinite(real) ? row_number(real)
                          : row_text(isnan(real) ? "nan"
                                     : real > 0  ? "inf"
                                                 : "-inf");
}

#define ROWS_FILE "export/export_rows.def"
#include "base/row_expand.h"

static int lines_put_events(void *to, const struct run_track *t, const struct run_event *v,
                            size_t n, struct err *e)
{
    struct line_writer *l = to;
    for (size_t i = 0; i < n; i++) {
        const struct export_event x = {t, l->json ? t - l->tracks.v : -1, v[i].at, &v[i].event};
        TRY(lines_put_table_row(l, "event", &x, e));
    }
    return 0;
}

static int put_all_events(struct line_writer *l, struct err *e)
{
    lines_begin_rows(l, &row_ExportEvent, "");
    int rc = l->job->what == EXPORT_ALL ? export_all_tracks(l->job, &l->arena, &l->tracks, e)
                                        : export_tracks(l->job, &l->arena, &l->tracks, e);
    for (size_t i = 0; rc == 0 && l->json && i < l->tracks.n; i++) {
        about_track(&l->about, &l->tracks, i);
        rc = outfile_pass(l->out, e);
    }
    for (size_t i = 0; rc == 0 && i < l->tracks.n; i++) {
        export_progress(l->job, i, l->tracks.n);
        rc = export_events(l->job, &l->tracks.v[i], lines_put_events, l, e);
    }
    return rc;
}

/* ---- steps ---- */

/* New columns come after these. `batch` is the old name of `samples`. */
static const char step_columns[] =
    "node,rank,mode,step,start_ns,duration_s,iteration_s,between_s,between_sync_s,warmup,"
    "disturbed,cut,batch=samples,events";
static const char step_columns_without_loss[] =
    "node,rank,mode,step,start_ns,duration_s,iteration_s,between_s,between_sync_s,warmup,"
    "disturbed,cut,batch=samples,events,-loss";

static int lines_put_rank(struct line_writer *l, const struct rank_steps *rank,
                          const struct loss_list *lost, const struct health_losses *health,
                          struct err *e)
{
    const char *node = l->job->ask.node;
    unsigned unseen[MODE_N];
    if (node && strcmp(node, rank->node) != 0)
        return 0;
    for (enum event_mode m = 0; m < MODE_N; m++)
        unseen[m] = steps_unseen(rank, m, lost->v, lost->n);
    for (size_t k = 0; k < rank->n; k++) {
        const struct step *s = &rank->steps[k];
        const struct steps_item x = {rank, s, unseen[s->mode],
                                     health_loss_at(health, rank->rank, s->mode, s->number)};
        if (export_in_window(l->job, x.step->start, x.step->start.ns + x.step->dur_ns))
            TRY(lines_put_table_row(l, "step", &x, e));
    }
    return 0;
}

static int lines_put_steps(struct line_writer *l, struct err *e)
{
    struct rank_steps *ranks;
    struct loss_list lost;
    struct health_losses health;
    size_t n;
    TRY(health_losses_read(l->job->run, (wall_ns){0}, &l->arena, &health, e));
    lines_begin_rows(l, &row_Step, health.n ? step_columns : step_columns_without_loss);
    TRY(loss_list_read(&lost, l->job->run, &l->arena, e));
    TRY(steps_read(l->job->run, &l->arena, &ranks, &n, e));
    for (size_t i = 0; i < n; i++)
        TRY(lines_put_rank(l, &ranks[i], &lost, &health, e));
    return 0;
}

/* ---- operators ---- */

static int lines_put_ops(struct line_writer *l, struct err *e)
{
    struct op_row *v;
    size_t n;
    TRY(ops_read(l->job->run, &(struct ops_ask){.by = OPS_BY_NAME}, &l->arena, &v, &n, e));
    lines_begin_rows(l, &row_ExportOp, "");
    for (size_t i = 0; i < n; i++)
        TRY(lines_put_table_row(l, "op", &v[i], e));
    return 0;
}

/* ---- everything ---- */

static int lines_put_head(struct line_writer *l, struct err *e)
{
    struct node_clocks clocks;
    TRY(about_clocks(l->job->run, &l->arena, &clocks, e));
    about_begin(&l->about, "footplate");
    about_run(&l->about.j, run_get_info(l->job->run));
    about_end(&l->about);
    about_nodes(&l->about, l->job, &clocks);
    TRY(about_losses(&l->about, l->job, &l->arena, e));
    return about_marks(&l->about, l->job, &l->arena, e);
}

static int lines_put_all(struct line_writer *l, struct err *e)
{
    static part_fn *const parts[] = {lines_put_head, lines_put_samples, put_all_events};
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        TRY(parts[i](l, e));
    return 0;
}

static part_fn *const kinds[EXPORT_N] = {
    [EXPORT_METRICS] = lines_put_samples, [EXPORT_EVENTS] = put_all_events,
    [EXPORT_STEPS] = lines_put_steps,     [EXPORT_OPS] = lines_put_ops,
    [EXPORT_ALL] = lines_put_all,
};

static int write_lines(const struct export_job *job, bool json, struct err *e)
{
    struct line_writer l = {.job = job,
                            .out = job->out,
                            .json = json,
                            .about = {{.out = &job->out->buf}, .lines = true}};
    const int rc = kinds[job->what](&l, e);
    buf_free(&l.prefixes.text);
    arena_free(&l.arena);
    return rc;
}

static int write_csv(const struct export_job *job, struct err *e)
{
    return write_lines(job, false, e);
}

static int write_jsonl(const struct export_job *job, struct err *e)
{
    return write_lines(job, true, e);
}

enum {
    TABLES = 1u << EXPORT_METRICS | 1u << EXPORT_EVENTS | 1u << EXPORT_STEPS | 1u << EXPORT_OPS
};

const struct export_format export_csv = {
    .name = "csv",
    .can = TABLES,
    .otherwise = EXPORT_METRICS,
    .write = write_csv,
};

const struct export_format export_jsonl = {
    .name = "jsonl",
    .can = TABLES | 1u << EXPORT_ALL,
    .otherwise = EXPORT_ALL,
    .write = write_jsonl,
};
