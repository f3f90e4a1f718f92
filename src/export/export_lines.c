/* SPDX-License-Identifier: Apache-2.0 */
/* export_lines.c - the formats that are one record a line: CSV, one kind of record in a file, and
 * JSON lines, whose every line says what it is, so that a whole run goes into one stream. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "export/export_about.h"
#include "export/fields.h"
#include "query/ops.h"
#include "record/group.h"
#include "tables/stepsview.h"

/* What is being written. */
struct line_writer {
    const struct export_job *job;
    struct outfile *out;
    struct fields f;
    struct about_writer about;
    struct arena arena;
    struct tracks tracks;
    struct row_prefixes prefixes;
    struct series_teller teller;
    struct row_columns columns; /* of steps */
};

typedef int part_fn(struct line_writer *l, struct err *e);

static bool is_json(const struct line_writer *l)
{
    return l->f.as == AS_JSON;
}

/* ---- samples ---- */

static void sample_head(struct fields *f, const struct row_group *g, const struct row_column *c)
{
    fields_begin(f, "sample");
    fields_str(f, "node", g->node);
    fields_str(f, "metric", c->metric);
    fields_str(f, "entity", c->entity);
    fields_str(f, "unit", c->unit);
}

static void sample_rest(struct fields *f, wall_ns t, double v)
{
    fields_int(f, "time_ns", t.ns);
    fields_num(f, "value", v);
    fields_end(f);
}

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
    sample_head(&(struct fields){.out = &l->prefixes.text, .as = l->f.as}, g, c);
}

static int lines_begin_group(void *to, const struct row_group *g, struct err *e)
{
    struct line_writer *l = to;
    (void)e;
    if (is_json(l) && l->job->what == EXPORT_ALL)
        series_tell(&l->teller, g);
    row_prefixes_make(&l->prefixes, g, &l->arena, lines_put_prefix, l);
    return 0;
}

static int lines_put_row(void *to, wall_ns t, const int64_t *cells, struct err *e)
{
    struct line_writer *l = to;
    for (size_t i = 0; i < l->prefixes.n; i++) {
        if (cells[i] == CELL_MISSING)
            continue;
        row_prefixes_put(&l->prefixes, i, l->f.out);
        l->f.some = true;
        sample_rest(&l->f, t, row_value(l->prefixes.steps[i], cells[i]));
    }
    return outfile_pass(l->out, e);
}

static void sample_names(struct fields *f)
{
    sample_head(f, &(struct row_group){0}, &(struct row_column){0});
    sample_rest(f, (wall_ns){0}, 0);
}

static int lines_put_samples(struct line_writer *l, struct err *e)
{
    static const struct row_sink sink = {lines_begin_group, lines_put_row};
    l->teller = (struct series_teller){.tell = series_line, .to = l};
    const int rc = rows_read(l->job->run, &l->job->ask, &sink, l, e);
    series_tell_end(&l->teller);
    return rc;
}

/* ---- events ---- */

static void optional_str(struct fields *f, const char *key, const char *v, bool known)
{
    if (known)
        fields_str(f, key, v);
    else
        fields_none(f, key);
}

static void optional_int(struct fields *f, const char *key, int64_t v, bool known)
{
    if (known)
        fields_int(f, key, v);
    else
        fields_none(f, key);
}

static void track_fields(struct fields *f, const struct line_writer *l, const struct run_track *t)
{
    const struct run_process *p = t->process;
    if (f->as == AS_JSON) {
        fields_int(f, "track", t - l->tracks.v);
        return;
    }
    fields_str(f, "node", p->node);
    optional_int(f, "rank", p->rank, p->rank >= 0);
    fields_int(f, "pid", p->pid);
    fields_str(f, "on", t->track.kind == TRACK_DEVICE ? "device" : "thread");
    fields_str(f, "track", t->track.name);
}

static void value_field(struct fields *f, const struct event *v)
{
    const double real = v->kind == EVENT_REAL ? event_real(v) : 0;
    if (v->kind != EVENT_REAL)
        optional_int(f, "value", v->value, v->value != 0 || v->kind != EVENT_SPAN);
    else if (isfinite(real))
        fields_num(f, "value", real);
    else
        fields_str(f, "value", isnan(real) ? "nan" : real > 0 ? "inf" : "-inf");
}

static void event_fields(struct fields *f, const struct line_writer *l, const struct run_track *t,
                         const struct run_event *x)
{
    const struct event *v = &x->event;
    const bool lasts = v->kind == EVENT_SPAN || v->kind == EVENT_STEP;
    fields_begin(f, "event");
    track_fields(f, l, t);
    fields_str(f, "kind", event_kind_names[v->kind]);
    fields_str(f, "name", v->name);
    fields_str(f, "category", category_words[v->category].name);
    fields_int(f, "time_ns", x->at.ns);
    optional_int(f, "duration_ns", v->dur_ns, lasts || v->dur_ns);
    value_field(f, v);
    optional_str(f, "mode", event_mode_names[v->mode], v->kind == EVENT_STEP);
    optional_str(f, "end", event_end_names[v->end], v->end != END_KNOWN);
    optional_int(f, "link", (int64_t)v->link, v->link != 0);
    optional_int(f, "parent", (int64_t)v->parent, v->parent != 0);
    optional_str(f, "args", v->args, v->args != NULL);
    fields_end(f);
}

static int lines_put_events(void *to, const struct run_track *t, const struct run_event *v,
                            size_t n, struct err *e)
{
    struct line_writer *l = to;
    for (size_t i = 0; i < n; i++) {
        event_fields(&l->f, l, t, &v[i]);
        TRY(outfile_pass(l->out, e));
    }
    return 0;
}

static void event_names(struct fields *f)
{
    static const struct run_process process = {.node = "", .name = ""};
    const struct run_track t = {.process = &process};
    const struct run_event x = {.event = {.kind = EVENT_MARK, .name = ""}};
    event_fields(f, NULL, &t, &x);
}

static int put_all_events(struct line_writer *l, struct err *e)
{
    int rc = export_tracks(l->job, &l->arena, &l->tracks, e);
    for (size_t i = 0; rc == 0 && is_json(l) && i < l->tracks.n; i++) {
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

/* A row as CSV or as a JSON line. */
static int put_table_row(struct line_writer *l, const char *type, const void *row, struct err *e)
{
    if (is_json(l))
        row_line(&l->columns, type, row, &l->out->buf, &l->arena);
    else
        row_csv(&l->columns, row, &l->out->buf, &l->arena);
    return outfile_pass(l->out, e);
}

static int lines_put_rank(struct line_writer *l, const struct rank_steps *rank,
                          const struct run_loss *lost, size_t n_lost, struct err *e)
{
    const char *node = l->job->ask.node;
    unsigned unseen[MODE_N];
    if (node && strcmp(node, rank->node) != 0)
        return 0;
    for (enum event_mode m = 0; m < MODE_N; m++)
        unseen[m] = steps_unseen(rank, m, lost, n_lost);
    for (size_t k = 0; k < rank->n; k++) {
        const struct steps_item x = {rank, &rank->steps[k], unseen[rank->steps[k].mode]};
        if (export_in_window(l->job, x.step->start, x.step->start.ns + x.step->dur_ns))
            TRY(put_table_row(l, "step", &x, e));
    }
    return 0;
}

static int lines_put_steps(struct line_writer *l, struct err *e)
{
    struct rank_steps *ranks;
    struct run_loss *lost;
    size_t n, n_lost;
    row_columns_of(&l->columns, &row_Step, step_columns, &l->arena);
    if (!is_json(l))
        row_csv_head(&l->columns, &l->out->buf);
    TRY(run_losses(l->job->run, &l->arena, &lost, &n_lost, e));
    TRY(steps_read(l->job->run, &l->arena, &ranks, &n, e));
    for (size_t i = 0; i < n; i++)
        TRY(lines_put_rank(l, &ranks[i], lost, n_lost, e));
    return 0;
}

/* ---- operators ---- */

static void op_fields(struct fields *f, const struct op_row *r)
{
    const double s = 1.0 / (double)NS_PER_S;
    fields_begin(f, "op");
    fields_str(f, "device", r->device == OP_GPU ? "gpu" : "cpu");
    fields_str(f, "category", category_words[r->category].name);
    fields_str(f, "name", r->name);
    fields_str(f, "full_name", r->full);
    fields_int(f, "calls", (int64_t)r->calls);
    fields_num(f, "self_s", (double)r->self_ns * s);
    fields_num(f, "total_s", (double)r->total_ns * s);
    fields_num(f, "device_self_s", (double)r->device_self_ns * s);
    fields_num(f, "device_total_s", (double)r->device_total_ns * s);
    fields_num(f, "share", r->share);
    fields_end(f);
}

static int lines_put_ops(struct line_writer *l, struct err *e)
{
    struct op_row *v;
    size_t n;
    TRY(ops_read(l->job->run, &(struct ops_ask){.by = OPS_BY_NAME}, &l->arena, &v, &n, e));
    for (size_t i = 0; i < n; i++) {
        op_fields(&l->f, &v[i]);
        TRY(outfile_pass(l->out, e));
    }
    return 0;
}

static void op_names(struct fields *f)
{
    op_fields(f, &(struct op_row){.name = "", .full = ""});
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

static const struct {
    part_fn *put;
    void (*names)(struct fields *f); /* of CSV; NULL: `put` writes them */
} kinds[EXPORT_N] = {
    [EXPORT_METRICS] = {lines_put_samples, sample_names},
    [EXPORT_EVENTS] = {put_all_events, event_names},
    [EXPORT_STEPS] = {lines_put_steps, NULL},
    [EXPORT_OPS] = {lines_put_ops, op_names},
    [EXPORT_ALL] = {lines_put_all, NULL},
};

static int write_lines(const struct export_job *job, enum fields_as as, struct err *e)
{
    struct line_writer l = {.job = job,
                            .out = job->out,
                            .f = {.out = &job->out->buf, .as = as},
                            .about = {{.out = &job->out->buf}, .lines = true}};
    if (as == AS_CSV && kinds[job->what].names)
        kinds[job->what].names(&(struct fields){.out = &job->out->buf, .as = AS_NAMES});
    const int rc = kinds[job->what].put(&l, e);
    buf_free(&l.prefixes.text);
    arena_free(&l.arena);
    return rc;
}

static int write_csv(const struct export_job *job, struct err *e)
{
    return write_lines(job, AS_CSV, e);
}

static int write_jsonl(const struct export_job *job, struct err *e)
{
    return write_lines(job, AS_JSON, e);
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
