/* SPDX-License-Identifier: Apache-2.0 */
/* export_chrome.c - a run as one Chrome trace, for Perfetto and chrome://tracing.
 *
 * Times are microseconds with three decimals from "baseTimeNanoseconds" on, the start of the run:
 * a double holds those exactly for a hundred days, which it does not from 1970 on. */
#include <stdio.h>
#include <string.h>

#include "base/json_write.h"
#include "base/mem.h"
#include "export/chrome.h"
#include "query/steps.h"
#include "record/group.h"

/* ---- samples: one counter per series ---- */

/* A counter from its pid to its time, and what stands behind the time: the unit names the value. */
static void put_prefix(struct chrome *c, unsigned session, const struct row_column *col)
{
    struct buf name = {0};
    buf_printf(&c->names, "{\"ph\":\"C\",\"pid\":%lld,\"name\":", (long long)c->node_pid);
    chrome_counter_name(&name, col);
    buf_u8(&name, '\0');
    json_put_text(&c->names, (const char *)name.p);
    if (session > 1) /* whose times may overlap those of the first */
        buf_printf(&c->names, ",\"session\":%u", session);
    buf_printf(&c->names, ",\"args\":{");
    json_put_text(&c->names, *col->unit ? col->unit : "value");
    buf_u8(&c->names, ':');
    buf_free(&name);
}

static int export_chrome_begin_group(void *to, const struct row_group *g, struct err *e)
{
    struct chrome *c = to;
    (void)e;
    if (g->n > c->cap_columns) {
        c->cap_columns = g->n;
        c->ends = arena_array(&c->arena, size_t, g->n);
        c->steps = arena_array(&c->arena, double, g->n);
    }
    c->n_columns = g->n;
    c->node_pid = chrome_node_pid(c, g->node);
    c->names.len = 0;
    for (size_t i = 0; i < g->n; i++) {
        put_prefix(c, g->session, &g->columns[i]);
        c->ends[i] = c->names.len;
        c->steps[i] = g->columns[i].step;
    }
    return 0;
}

static int export_chrome_put_row(void *to, wall_ns t, const int64_t *cells, struct err *e)
{
    struct chrome *c = to;
    for (size_t i = 0, at = 0; i < c->n_columns; at = c->ends[i++]) {
        if (cells[i] == CELL_MISSING)
            continue;
        chrome_next(c);
        buf_put(c->b, c->names.p + at, c->ends[i] - at);
        json_put_number(c->b, row_value(c->steps[i], cells[i]));
        buf_put(c->b, "},\"ts\":", 7);
        chrome_time(c, t);
        buf_u8(c->b, '}');
    }
    return outfile_pass(c->job->out, e);
}

static int export_chrome_put_samples(struct chrome *c, struct err *e)
{
    static const struct row_sink sink = {export_chrome_begin_group, export_chrome_put_row};
    return rows_read(c->job->run, &c->job->ask, &sink, c, e);
}

/* ---- tracks that are derived: phases, steps, marks of nodes ---- */

struct box {
    const char *ph, *cat, *name;
    int64_t pid, tid;
    wall_ns at;
    int64_t dur_ns; /* of X */
};

static void open_box(struct chrome *c, struct jw *j, const struct box *x)
{
    chrome_next(c);
    *j = (struct jw){.out = c->b};
    jw_object(j, NULL);
    jw_str(j, "ph", x->ph);
    jw_int(j, "pid", x->pid);
    jw_int(j, "tid", x->tid);
    jw_str(j, "cat", x->cat);
    jw_str(j, "name", x->name);
    buf_printf(c->b, ",\"ts\":");
    chrome_time(c, x->at);
    if (*x->ph == 'X') {
        buf_printf(c->b, ",\"dur\":");
        chrome_us(c->b, x->dur_ns);
    }
}

static void close_box(struct jw *j)
{
    jw_end(j);
}

static bool export_chrome_in_window(const struct series_ask *ask, wall_ns begin, int64_t end)
{
    return (!ask->from.ns || end > ask->from.ns) && (!ask->to.ns || begin.ns < ask->to.ns);
}

static int export_chrome_put_phases(struct chrome *c, struct err *e)
{
    struct run_phases p;
    struct jw j;
    const int rc = phases_read(c->job->run, &c->arena, &p, e);
    if (rc != 0)
        return rc;
    const int64_t tid = chrome_derived_tid(c, 0);
    chrome_name_thread(c, CHROME_RUN_PID, tid, "phases", 0);
    for (size_t i = 0; i < p.n; i++) {
        const struct phase *x = &p.phases[i];
        const struct box box = {.ph = "X",
                                .cat = "phase",
                                .name = phase_name(x->kind),
                                .pid = CHROME_RUN_PID,
                                .tid = tid,
                                .at = x->start,
                                .dur_ns = x->end.ns - x->start.ns};
        if (!export_chrome_in_window(&c->job->ask, x->start, x->end.ns))
            continue;
        open_box(c, &j, &box);
        close_box(&j);
    }
    return 0;
}

static double export_chrome_ns_to_ms(int64_t ns)
{
    return (double)ns / (double)NS_PER_MS;
}

static void export_chrome_put_parts(struct jw *j, const struct step *s)
{
    for (size_t i = 0; i < step_parts(); i++)
        if (s->part_ns[i]) {
            char key[64];
            snprintf(key, sizeof key, "%s_ms", step_part_name(i));
            jw_num(j, key, export_chrome_ns_to_ms(s->part_ns[i]));
        }
}

static void export_chrome_put_step(struct chrome *c, const struct step *s, int64_t tid)
{
    struct jw j;
    char name[64];
    snprintf(name, sizeof name, "%s %lld", event_mode_names[s->mode], (long long)s->number);
    open_box(c, &j,
             &(struct box){.ph = "X",
                           .cat = "step",
                           .name = name,
                           .pid = CHROME_RUN_PID,
                           .tid = tid,
                           .at = s->start,
                           .dur_ns = s->dur_ns});
    jw_object(&j, "args");
    jw_int(&j, "step", s->number);
    jw_str(&j, "mode", event_mode_names[s->mode]);
    jw_bool(&j, "said", s->said);
    if (s->cut)
        jw_bool(&j, "cut", true);
    if (s->warmup)
        jw_bool(&j, "warmup", true);
    if (s->disturbed)
        jw_bool(&j, "disturbed", true);
    if (s->batch >= 0)
        jw_int(&j, "batch", s->batch);
    export_chrome_put_parts(&j, s);
    if (s->between_ns >= 0) {
        jw_num(&j, "between_ms", export_chrome_ns_to_ms(s->between_ns));
        jw_num(&j, "iteration_ms", export_chrome_ns_to_ms(step_iteration_ns(s)));
    }
    if (s->between_ns > 0 && s->between_sync_ns)
        jw_num(&j, "between_sync_ms", export_chrome_ns_to_ms(s->between_sync_ns));
    jw_end(&j);
    close_box(&j);
}

/* What the host did in the iteration, as a stack of curves. */
static void put_step_parts(struct chrome *c, const struct rank_steps *rank, const struct step *s)
{
    struct jw j;
    char name[64];
    snprintf(name, sizeof name, "rank %lld host parts of an iteration ms", (long long)rank->rank);
    open_box(c, &j,
             &(struct box){.ph = "C",
                           .cat = "step",
                           .name = name,
                           .pid = CHROME_RUN_PID,
                           .tid = 0,
                           .at = s->start});
    jw_object(&j, "args");
    for (size_t i = 0; i < step_parts(); i++)
        jw_num(&j, step_part_name(i), export_chrome_ns_to_ms(s->part_ns[i]));
    jw_num(&j, "between", export_chrome_ns_to_ms(MAX_OF(s->between_ns, 0)));
    jw_end(&j);
    close_box(&j);
}

static int export_chrome_put_steps(struct chrome *c, struct err *e)
{
    struct rank_steps *ranks;
    size_t n;
    int rc = steps_read(c->job->run, &c->arena, &ranks, &n, e);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        const int64_t tid = chrome_derived_tid(c, 1 + i);
        chrome_name_thread(
            c, CHROME_RUN_PID, tid,
            arena_printf(&c->arena, "steps of rank %lld (host)", (long long)ranks[i].rank), 1 + i);
        for (size_t k = 0; rc == 0 && k < ranks[i].n; k++) {
            const struct step *s = &ranks[i].steps[k];
            if (!export_chrome_in_window(&c->job->ask, s->start, s->start.ns + s->dur_ns))
                continue;
            export_chrome_put_step(c, s, tid);
            put_step_parts(c, &ranks[i], s);
            rc = outfile_pass(c->job->out, e);
        }
    }
    return rc;
}

static int export_chrome_put_marks(struct chrome *c, struct err *e)
{
    struct run_mark *v;
    struct jw j;
    size_t n;
    const int rc = run_marks(c->job->run, &c->arena, &v, &n, e);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        if (!export_chrome_in_window(&c->job->ask, v[i].at, v[i].at.ns + 1))
            continue;
        open_box(c, &j,
                 &(struct box){.ph = "i",
                               .cat = "mark",
                               .name = marks[v[i].mark.id].name,
                               .pid = chrome_node_pid(c, v[i].node),
                               .tid = 0,
                               .at = v[i].at});
        jw_str(&j, "s", "p");
        jw_object(&j, "args");
        jw_str(&j, "text", v[i].mark.text);
        jw_int(&j, "number", v[i].mark.number);
        jw_end(&j);
        close_box(&j);
    }
    return rc;
}

/* ---- the trace ---- */

static void number_nodes(struct chrome *c)
{
    c->nodes = arena_array(&c->arena, const char *, c->info->n_nodes);
    for (size_t i = 0; i < c->info->n_nodes; i++)
        if (i == 0 || strcmp(c->info->nodes[i - 1].id, c->info->nodes[i].id) != 0)
            c->nodes[c->n_nodes++] = c->info->nodes[i].id;
}

static void number_processes(struct chrome *c)
{
    int64_t pid = CHROME_RUN_PID + (int64_t)c->n_nodes;
    c->pids = arena_array(&c->arena, int64_t, c->tracks.n);
    for (size_t i = 0; i < c->tracks.n; i++) {
        pid += i == 0 || c->tracks.v[i - 1].process != c->tracks.v[i].process;
        c->pids[i] = pid;
    }
}

static int write_trace(struct chrome *c, struct err *e)
{
    int rc = export_tracks(c->job, &c->arena, &c->tracks, e);
    if (rc == 0)
        rc = about_clocks(c->job->run, &c->arena, &c->clocks, e);
    if (rc != 0)
        return rc;
    number_nodes(c);
    number_processes(c);
    rc = chrome_head(c, e);
    if (rc != 0)
        return rc;
    chrome_names(c);
    static int (*const parts[])(struct chrome * c, struct err * e) = {
        export_chrome_put_phases, export_chrome_put_steps, export_chrome_put_marks,
        export_chrome_put_samples, chrome_events};
    for (size_t i = 0; rc == 0 && i < COUNT_OF(parts); i++)
        rc = parts[i](c, e);
    buf_printf(c->b, "\n]}\n");
    return rc;
}

static int write_chrome(const struct export_job *job, struct err *e)
{
    struct chrome c = {.job = job, .info = run_get_info(job->run), .b = &job->out->buf};
    c.base_ns = c.info->start.ns;
    const int rc = write_trace(&c, e);
    buf_free(&c.names);
    arena_free(&c.arena);
    return rc;
}

const struct export_format export_chrome = {
    .name = "chrome",
    .title =
        "Chrome trace for Perfetto and chrome://tracing, including metrics; can be imported again",
    .can = 1u << EXPORT_ALL,
    .otherwise = EXPORT_ALL,
    .write = write_chrome,
};
