/* SPDX-License-Identifier: Apache-2.0 */
/* export_chrome.c - a run as one Chrome trace, for Perfetto and chrome://tracing.
 *
 * Times are microseconds with three decimals from "baseTimeNanoseconds" on, the start of the run:
 * those are exact in a double for a hundred days; times since 1970 would not be. */
#include <stdio.h>
#include <string.h>

#include "base/json_write.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "export/chrome_internal.h"
#include "query/samples.h"
#include "query/steps.h"
#include "record/group.h"

/* ------------------------------------------------------------------------------------------------
 * What comes before the first event: everything that makes the trace a run again, and then the
 * names of processes and threads */

/* ---- numbers and names ---- */

void chrome_next(struct chrome *c)
{
    if (c->some)
        buf_put(c->b, ",\n", 2);
    c->some = true;
}

void chrome_us(struct buf *b, int64_t ns)
{
    uint64_t v = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    const unsigned rest = (unsigned)(v % NS_PER_US);
    if (ns < 0)
        buf_u8(b, '-');
    buf_int(b, (int64_t)(v / NS_PER_US));
    const char digits[] = {'.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10),
                           (char)('0' + rest % 10)};
    buf_put(b, digits, sizeof digits);
}

void chrome_time(struct chrome *c, wall_ns t)
{
    chrome_us(c->b, t.ns - c->base_ns);
}

static int64_t chrome_node_pid(const struct chrome *c, const char *node)
{
    const size_t at = FIND_FIRST(i, c->n_nodes, strcmp(c->nodes[i], node) == 0);
    return at < c->n_nodes ? CHROME_RUN_PID + 1 + (int64_t)at : CHROME_RUN_PID;
}

/* tid of the first derived track, and those after it. */
static int64_t chrome_derived_tid(const struct chrome *c, size_t i)
{
    return (int64_t)(c->tracks.n * CHROME_LANES + i) + 1;
}

enum { COUNTER_LEN = 256 }; /* more than a metric and an entity have */

/* "cpu.util gpu0", as a counter is called; the unit is the name of its value. */
static void chrome_counter_name(char out[COUNTER_LEN], const struct row_column *col)
{
    snprintf(out, COUNTER_LEN, "%s %s", col->metric, col->entity);
}

/* ---- metadata ---- */

/* The name of a process or thread; `text` NULL: its place among the others. */
static void put_meta(struct chrome *c, const char *what, int64_t pid, int64_t tid, const char *text,
                     size_t order)
{
    struct jw j = {.out = c->b};
    chrome_next(c);
    jw_object(&j, NULL);
    jw_str(&j, "ph", "M");
    jw_str(&j, "name", what);
    jw_int(&j, "pid", pid);
    jw_int(&j, "tid", tid);
    jw_object(&j, "args");
    if (text)
        jw_str(&j, text_ends(what, "_name") ? "name" : "labels", text);
    else
        jw_int(&j, "sort_index", (int64_t)order);
    jw_end(&j);
    jw_end(&j);
}

/* Metadata: names and order of processes and threads. */
static void chrome_name_process(struct chrome *c, int64_t pid, const char *name, size_t order)
{
    put_meta(c, "process_name", pid, 0, name, 0);
    put_meta(c, "process_sort_index", pid, 0, NULL, order);
}

void chrome_name_thread(struct chrome *c, int64_t pid, int64_t tid, const char *name, size_t order)
{
    put_meta(c, "thread_name", pid, tid, name, 0);
    put_meta(c, "thread_sort_index", pid, tid, NULL, order);
}

/* "rank 0 · python train.py · host" */
static const char *process_title(struct arena *a, const struct run_process *p)
{
    const char *what = p->worker >= 0 ? "worker" : p->rank >= 0 ? "rank" : "pid";
    const int64_t number = p->worker >= 0 ? p->worker : p->rank >= 0 ? p->rank : (int64_t)p->pid;
    return arena_printf(a, "%s %lld \xc2\xb7 %s \xc2\xb7 %s", what, (long long)number, p->name,
                        p->node);
}

static const char *track_title(struct arena *a, const struct run_track *t)
{
    const bool device = t->track.kind == TRACK_DEVICE;
    const char *what = t->detail ? " (detail)" : device ? " (GPU time)" : "";
    if (*t->track.name)
        return arena_printf(a, "%s%s", t->track.name, what);
    if (device)
        return arena_printf(a, "gpu%llu stream %llu%s", (unsigned long long)(t->track.id >> 32),
                            (unsigned long long)(t->track.id & UINT32_MAX), what);
    return arena_printf(a, "thread %llu%s", (unsigned long long)t->track.id, what);
}

static void chrome_name_track(struct chrome *c, size_t i)
{
    const struct run_process *p = c->tracks.v[i].process;
    if (i == 0 || c->pids[i - 1] != c->pids[i]) {
        chrome_name_process(c, c->pids[i], process_title(&c->arena, p), (size_t)c->pids[i]);
        put_meta(c, "process_labels", c->pids[i], 0, arena_printf(&c->arena, "pid %u", p->pid), 0);
    }
    chrome_name_thread(c, c->pids[i], (int64_t)(i * CHROME_LANES) + 1,
                       track_title(&c->arena, &c->tracks.v[i]), i * CHROME_LANES);
}

static void chrome_names(struct chrome *c)
{
    chrome_name_process(c, CHROME_RUN_PID, arena_printf(&c->arena, "run %s", c->info->name), 0);
    for (size_t i = 0; i < c->n_nodes; i++)
        chrome_name_process(c, chrome_node_pid(c, c->nodes[i]),
                            arena_printf(&c->arena, "node %s", c->nodes[i]), 1 + i);
    for (size_t i = 0; i < c->tracks.n; i++)
        chrome_name_track(c, i);
}

/* ---- what makes it a run again ---- */

struct chrome_series_out {
    struct chrome *c;
    struct about_writer *w;
};

static void chrome_put_series(void *to, const struct row_group *g, const struct row_column *col)
{
    struct chrome_series_out *h = to;
    char name[COUNTER_LEN];
    chrome_counter_name(name, col);
    about_begin(h->w, "series");
    jw_int(&h->w->j, "pid", chrome_node_pid(h->c, g->node));
    jw_str(&h->w->j, "counter", name);
    about_series(&h->w->j, g, col);
    about_end(h->w);
    h->c->base_ns = MIN_OF(h->c->base_ns, g->first.ns);
}

static int chrome_emit_group(void *to, const struct row_group *g, struct err *e)
{
    (void)e;
    series_emit(to, g);
    return 0;
}

static int put_all_series(struct chrome *c, struct about_writer *w, struct err *e)
{
    static const struct row_sink sink = {.group = chrome_emit_group};
    struct chrome_series_out h = {c, w};
    struct series_emitter emitter = {.emit = chrome_put_series, .to = &h};
    jw_array(&w->j, "series");
    const int rc = rows_read(c->job->run, &c->job->ask, &sink, &emitter, e);
    jw_end(&w->j);
    series_emit_end(&emitter);
    return rc;
}

/* Everything before the first event, and the names of all processes and threads. */
static int chrome_head(struct chrome *c, struct err *e)
{
    struct about_writer w = {.j = {.out = c->b}};
    struct jw *j = &w.j;
    jw_object(j, NULL);
    jw_object(j, "footplate");
    about_run(j, c->info);
    jw_int(j, "lanes", CHROME_LANES);
    jw_array(j, "nodes");
    about_nodes(&w, c->job, &c->clocks);
    jw_end(j);
    jw_array(j, "tracks");
    for (size_t i = 0; i < c->tracks.n; i++) {
        about_track(&w, &c->tracks, i);
        c->base_ns = MIN_OF(c->base_ns, c->tracks.v[i].first.ns);
    }
    jw_end(j);
    TRY(put_all_series(c, &w, e));
    jw_array(j, "losses");
    TRY(about_losses(&w, c->job, &c->arena, e));
    jw_end(j);
    jw_array(j, "marks");
    TRY(about_marks(&w, c->job, &c->arena, e));
    jw_end(j);
    jw_end(j);
    jw_str(j, "displayTimeUnit", "ms");
    jw_int(j, "baseTimeNanoseconds", c->base_ns);
    buf_printf(c->b, ",\n\"traceEvents\":[\n");
    return 0;
}

/* ------------------------------------------------------------------------------------------------
 * Samples, steps and phases; the trace */

/* ---- samples: one counter per series ---- */

/* A counter from its pid to its time, and what is after the time: the unit names the value. */
static void chrome_put_prefix(void *to, const struct row_group *g, const struct row_column *col)
{
    struct chrome *c = to;
    struct buf *b = &c->prefixes.text;
    char name[COUNTER_LEN];
    buf_printf(b, "{\"ph\":\"C\",\"pid\":%lld,\"name\":", (long long)c->node_pid);
    chrome_counter_name(name, col);
    json_put_text(b, name);
    if (g->session > 1) /* whose times may overlap those of the first */
        buf_printf(b, ",\"session\":%u", g->session);
    buf_printf(b, ",\"args\":{");
    json_put_text(b, *col->unit ? col->unit : "value");
    buf_u8(b, ':');
}

static int chrome_begin_group(void *to, const struct row_group *g, struct err *e)
{
    struct chrome *c = to;
    (void)e;
    c->node_pid = chrome_node_pid(c, g->node);
    row_prefixes_make(&c->prefixes, g, &c->arena, chrome_put_prefix, c);
    return 0;
}

static int chrome_put_row(void *to, wall_ns t, const int64_t *cells, struct err *e)
{
    struct chrome *c = to;
    for (size_t i = 0; i < c->prefixes.n; i++) {
        if (cells[i] == CELL_MISSING)
            continue;
        chrome_next(c);
        row_prefixes_put(&c->prefixes, i, c->b);
        json_put_number(c->b, row_value(c->prefixes.steps[i], cells[i]));
        buf_put(c->b, "},\"ts\":", 7);
        chrome_time(c, t);
        buf_u8(c->b, '}');
    }
    return outfile_pass(c->job->out, e);
}

static int chrome_put_samples(struct chrome *c, struct err *e)
{
    static const struct row_sink sink = {chrome_begin_group, chrome_put_row};
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

static int chrome_put_phases(struct chrome *c, struct err *e)
{
    struct run_phases p;
    struct jw j;
    TRY(phases_read(c->job->run, &c->arena, &p, e));
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
        if (!export_in_window(c->job, x->start, x->end.ns))
            continue;
        open_box(c, &j, &box);
        jw_end(&j);
    }
    return 0;
}

static double chrome_ns_to_ms(int64_t ns)
{
    return (double)ns / (double)NS_PER_MS;
}

static void chrome_put_parts(struct jw *j, const struct step *s)
{
    for (size_t i = 0; i < step_parts(); i++)
        if (s->part_ns[i]) {
            char key[64];
            snprintf(key, sizeof key, "%s_ms", step_part_name(i));
            jw_num(j, key, chrome_ns_to_ms(s->part_ns[i]));
        }
}

static void chrome_put_step(struct chrome *c, const struct step *s, int64_t tid)
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
    jw_bool(&j, "said", s->marked);
    if (s->cut)
        jw_bool(&j, "cut", true);
    if (s->warmup)
        jw_bool(&j, "warmup", true);
    if (s->disturbed)
        jw_bool(&j, "disturbed", true);
    if (s->batch >= 0) {
        jw_int(&j, "batch", s->batch); /* the old name of `samples` */
        jw_int(&j, "samples", s->batch);
    }
    chrome_put_parts(&j, s);
    if (s->between_ns >= 0) {
        jw_num(&j, "between_ms", chrome_ns_to_ms(s->between_ns));
        jw_num(&j, "iteration_ms", chrome_ns_to_ms(step_iteration_ns(s)));
    }
    if (s->between_ns > 0 && s->between_sync_ns)
        jw_num(&j, "between_sync_ms", chrome_ns_to_ms(s->between_sync_ns));
    jw_end(&j);
    jw_end(&j);
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
        jw_num(&j, step_part_name(i), chrome_ns_to_ms(s->part_ns[i]));
    jw_num(&j, "between", chrome_ns_to_ms(MAX_OF(s->between_ns, 0)));
    jw_end(&j);
    jw_end(&j);
}

static int chrome_put_steps(struct chrome *c, struct err *e)
{
    struct rank_steps *ranks;
    size_t n;
    TRY(steps_read(c->job->run, &c->arena, &ranks, &n, e));
    for (size_t i = 0; i < n; i++) {
        const int64_t tid = chrome_derived_tid(c, 1 + i);
        chrome_name_thread(
            c, CHROME_RUN_PID, tid,
            arena_printf(&c->arena, "steps of rank %lld (host)", (long long)ranks[i].rank), 1 + i);
        for (size_t k = 0; k < ranks[i].n; k++) {
            const struct step *s = &ranks[i].steps[k];
            if (!export_in_window(c->job, s->start, s->start.ns + s->dur_ns))
                continue;
            chrome_put_step(c, s, tid);
            put_step_parts(c, &ranks[i], s);
            TRY(outfile_pass(c->job->out, e));
        }
    }
    return 0;
}

static int export_chrome_put_marks(struct chrome *c, struct err *e)
{
    struct run_mark *v;
    struct jw j;
    size_t n;
    TRY(run_marks(c->job->run, &c->arena, &v, &n, e));
    for (size_t i = 0; i < n; i++) {
        if (!export_in_window(c->job, v[i].at, v[i].at.ns + 1))
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
        jw_end(&j);
    }
    return 0;
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
    TRY(export_tracks(c->job, &c->arena, &c->tracks, e));
    TRY(about_clocks(c->job->run, &c->arena, &c->clocks, e));
    number_nodes(c);
    number_processes(c);
    TRY(chrome_head(c, e));
    chrome_names(c);
    static int (*const parts[])(struct chrome * c, struct err * e) = {
        chrome_put_phases, chrome_put_steps, export_chrome_put_marks, chrome_put_samples,
        chrome_events};
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        TRY(parts[i](c, e));
    buf_printf(c->b, "\n]}\n");
    return 0;
}

static int write_chrome(const struct export_job *job, struct err *e)
{
    struct chrome c = {.job = job, .info = run_get_info(job->run), .b = &job->out->buf};
    c.base_ns = c.info->start.ns;
    const int rc = write_trace(&c, e);
    buf_free(&c.prefixes.text);
    arena_free(&c.arena);
    return rc;
}

const struct export_format export_chrome = {
    .name = "chrome",
    .can = 1u << EXPORT_ALL,
    .otherwise = EXPORT_ALL,
    .write = write_chrome,
};
