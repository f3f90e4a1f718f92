/* SPDX-License-Identifier: Apache-2.0 */
/* export_rows.c - the formats that are one row per sample. Memory stays bounded: one series at a
 * time, in windows of time that hold so many samples. */
#include <errno.h>
#include <string.h>

#include "base/json_write.h"
#include "base/mem.h"
#include "cmd/export.h"
#include "cmd/query_match.h"
#include "cmd/runview.h"

enum { WINDOW_SAMPLES = 65536, FLUSH_BYTES = 65536 };

struct walk {
    const struct export_job *job;
    const struct export_rows *format;
    struct buf prefix, out;
    wall_ns from, to; /* to: exclusive */
    int64_t window_ns;
};

static int flush(struct walk *w, struct err *e)
{
    const size_t n = w->out.len;
    w->out.len = 0;
    errno = 0;
    if (n > 0 && fwrite(w->out.p, 1, n, w->job->to) != n)
        return err_sys(e, "write %s", w->job->name);
    return 0;
}

static int put_series(struct walk *w, const struct series *s, struct err *e)
{
    for (size_t i = 0; i < s->n; i++) {
        w->format->row(&w->out, &w->prefix, s->t[i], s->v[i]);
        if (w->out.len >= FLUSH_BYTES && flush(w, e) != 0)
            return e->code;
    }
    return 0;
}

static int put_window(struct walk *w, const struct series_key *k, wall_ns from, wall_ns to,
                      struct err *e)
{
    struct arena a = {0};
    const struct series_ask ask = {k->node, k->metric, k->entity, from, to, 0};
    struct series *s;
    size_t n;
    int rc = series_read(w->job->run, &ask, &a, &s, &n, e);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = put_series(w, &s[i], e);
    arena_free(&a);
    return rc;
}

/* done: series before this one; of: series in all. */
static int put_key(struct walk *w, const struct series_key *k, size_t done, size_t of,
                   struct err *e)
{
    const double span = (double)(w->to.ns - w->from.ns);
    w->prefix.len = 0;
    w->format->series(&w->prefix, k);
    for (int64_t at = w->from.ns; at < w->to.ns; at += w->window_ns) {
        const double share = (double)done + (double)(at - w->from.ns) / span;
        progress_at(w->job->progress, share / (double)of, clock_mono());
        const int64_t end = w->to.ns - at > w->window_ns ? at + w->window_ns : w->to.ns;
        const int rc = put_window(w, k, (wall_ns){at}, (wall_ns){end}, e);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static struct walk start_walk(const struct export_job *job, const struct export_rows *f)
{
    const struct run_info *info = run_get_info(job->run);
    const int64_t interval_ns = runview_interval_ns(info);
    struct walk w = {
        .job = job,
        .format = f,
        .from = job->ask.from.ns ? job->ask.from : info->start,
        .to = job->ask.to.ns ? job->ask.to : (wall_ns){info->end.ns + 1},
        .window_ns = WINDOW_SAMPLES * MAX_OF(interval_ns, NS_PER_MS),
    };
    return w;
}

static int walk_keys(struct walk *w, const struct keys *all, struct err *e)
{
    size_t of = 0, done = 0;
    int rc = 0;
    for (size_t i = 0; i < all->n; i++)
        of += query_matches(&w->job->ask, &all->v[i]);
    for (size_t i = 0; rc == 0 && i < all->n; i++)
        if (query_matches(&w->job->ask, &all->v[i]))
            rc = put_key(w, &all->v[i], done++, of, e);
    return rc;
}

int export_walk(const struct export_job *job, const struct export_rows *f, struct err *e)
{
    struct arena a = {0};
    struct keys all;
    struct walk w = start_walk(job, f);
    int rc = series_list(job->run, &a, &all.v, &all.n, e);
    if (rc == 0 && job->ask.metric)
        rc = query_check(job->run, &job->ask, &all, e);
    if (rc == 0 && f->begin)
        f->begin(&w.out);
    if (rc == 0)
        rc = walk_keys(&w, &all, e);
    if (rc == 0)
        rc = flush(&w, e);
    buf_free(&w.prefix);
    buf_free(&w.out);
    arena_free(&a);
    return rc;
}

/* ------------------------------------------------------------------------------------------------
 * CSV */

static void put_number(struct buf *out, double v)
{
    struct jw j = {.out = out};
    jw_num(&j, NULL, v);
}

static void csv_field(struct buf *out, const char *s)
{
    const bool quote = s[strcspn(s, ",\"\r\n")] != '\0';
    if (quote)
        buf_u8(out, '"');
    for (; *s; s++) {
        if (*s == '"')
            buf_u8(out, '"');
        buf_u8(out, (uint8_t)*s);
    }
    if (quote)
        buf_u8(out, '"');
    buf_u8(out, ',');
}

static void csv_begin(struct buf *out)
{
    buf_printf(out, "node,metric,entity,unit,time_ns,value\n");
}

static void csv_series(struct buf *prefix, const struct series_key *k)
{
    csv_field(prefix, k->node);
    csv_field(prefix, k->metric);
    csv_field(prefix, k->entity);
    csv_field(prefix, k->unit);
}

static void csv_row(struct buf *out, const struct buf *prefix, wall_ns t, double v)
{
    buf_put(out, prefix->p, prefix->len);
    buf_int(out, t.ns);
    buf_u8(out, ',');
    put_number(out, v);
    buf_u8(out, '\n');
}

static const struct export_rows csv_rows = {csv_begin, csv_series, csv_row};

static int write_csv(const struct export_job *job, struct err *e)
{
    return export_walk(job, &csv_rows, e);
}

const struct export_format export_csv = {
    "csv",
    "comma-separated values, one row per sample",
    write_csv,
};

/* ------------------------------------------------------------------------------------------------
 * JSON lines */

static void jsonl_series(struct buf *prefix, const struct series_key *k)
{
    struct jw j = {.out = prefix};
    jw_object(&j, NULL);
    jw_str(&j, "node", k->node);
    jw_str(&j, "metric", k->metric);
    jw_str(&j, "entity", k->entity);
    jw_str(&j, "unit", k->unit);
}

static const char time_key[] = ",\"time_ns\":", value_key[] = ",\"value\":";

static void jsonl_row(struct buf *out, const struct buf *prefix, wall_ns t, double v)
{
    buf_put(out, prefix->p, prefix->len);
    buf_put(out, time_key, sizeof time_key - 1);
    buf_int(out, t.ns);
    buf_put(out, value_key, sizeof value_key - 1);
    put_number(out, v);
    buf_put(out, "}\n", 2);
}

static const struct export_rows jsonl_rows = {NULL, jsonl_series, jsonl_row};

static int write_jsonl(const struct export_job *job, struct err *e)
{
    return export_walk(job, &jsonl_rows, e);
}

const struct export_format export_jsonl = {
    "jsonl",
    "one JSON object a line, one per sample",
    write_jsonl,
};
