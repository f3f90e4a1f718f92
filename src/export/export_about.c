/* SPDX-License-Identifier: Apache-2.0 */
/* export_about.c - see export_about.h. */
#include "export/export_about.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "record/event.h"
#include "run/run_files.h"
#include "run/run_notes.h"

/* ---- files that are JSON already ---- */

/* Ends the tree, and puts it as one line after the key; null when there is none. A
 * `command` takes the place of the file's, which may contain secrets. */
static void put_tree(struct jw *j, const char *key, json_t *o, const char *without,
                     const char *const *command)
{
    if (!o) {
        jw_null(j, key);
        return;
    }
    if (without)
        json_object_del(o, without);
    if (command && json_object_get(o, "command")) {
        json_t *words = json_array();
        for (; *command; command++)
            json_array_append_new(words, json_string(*command));
        json_object_set_new(o, "command", words);
    }
    char *text = json_dumps(o, JSON_COMPACT);
    jw_null(j, key);
    if (text) { /* in place of the null */
        j->out->len -= strlen("null");
        buf_text(j->out, text);
    }
    free(text);
    json_decref(o);
}

void about_begin(struct about_writer *w, const char *type)
{
    if (w->lines)
        w->j = (struct jw){.out = w->j.out};
    jw_object(&w->j, NULL);
    if (w->lines)
        jw_str(&w->j, "type", type);
}

void about_end(struct about_writer *w)
{
    jw_end(&w->j);
    if (w->lines)
        buf_u8(w->j.out, '\n');
}

void about_run(struct jw *j, const struct run_info *info)
{
    struct err e;
    json_t *o = NULL;
    jw_int(j, "version", ABOUT_VERSION);
    jw_str(j, "name", info->name);
    jw_int(j, "start_ns", info->start.ns);
    jw_int(j, "end_ns", info->end.ns);
    json_t *notes = run_notes_tree(&info->notes);
    if (run_read_about(&o, info, &e) != 0)
        o = NULL;
    if (notes)
        json_object_set_new(o, "notes", notes);
    put_tree(j, "about", o, NULL, (const char *const *)info->command);
}

void about_nodes(struct about_writer *w, const struct export_job *job,
                 const struct node_clocks *clocks)
{
    const struct run_info *info = run_get_info(job->run);
    for (size_t i = 0; i < info->n_nodes; i++) {
        const struct node_info *n = &info->nodes[i];
        struct err e;
        json_t *o = NULL;
        if (job->ask.node && strcmp(job->ask.node, n->id) != 0)
            continue;
        about_begin(w, "node");
        jw_str(&w->j, "node", n->id);
        jw_int(&w->j, "session", n->session);
        jw_int(&w->j, "start_ns", n->start.ns);
        jw_int(&w->j, "end_ns", n->end.ns);
        jw_int(&w->j, "clock_ahead_ns", clock_of(clocks, n));
        put_tree(&w->j, "about", run_read_node(&o, info, n, &e) == 0 ? o : NULL,
                 export_is_part(job) ? "self" : NULL, NULL);
        about_end(w);
    }
}

/* ---- tracks ---- */

unsigned track_window(const struct tracks *all, size_t i)
{
    const struct run_track *t = &all->v[i];
    unsigned n = 0;
    for (size_t k = i; t->detail && k > 0 && all->v[k - 1].process == t->process; k--)
        n += all->v[k - 1].detail && track_same(&all->v[k - 1].track, &t->track);
    return n;
}

void about_track(struct about_writer *w, const struct tracks *all, size_t i)
{
    struct jw *j = &w->j;
    const struct run_track *t = &all->v[i];
    const struct run_process *p = t->process;
    about_begin(w, "track");
    jw_int(j, "track", (int64_t)i);
    jw_str(j, "node", p->node);
    jw_int(j, "session", p->session);
    if (p->rank >= 0)
        jw_int(j, "rank", p->rank);
    jw_str(j, "on", track_kind_names[t->track.kind]);
    jw_int(j, "os_pid", t->track.pid);
    jw_int(j, "id", (int64_t)t->track.id);
    jw_str(j, "process", t->track.process);
    jw_str(j, "name", t->track.name);
    if (t->detail)
        jw_int(j, "window", track_window(all, i));
    about_end(w);
}

/* ---- series ---- */

void about_series(struct jw *j, const struct row_group *g, const struct row_column *c)
{
    jw_str(j, "node", g->node);
    jw_int(j, "session", g->session);
    jw_str(j, "group", g->name);
    jw_int(j, "period_ns", g->period_ns);
    jw_str(j, "metric", c->metric);
    jw_str(j, "entity", c->entity);
    jw_str(j, "unit", c->unit);
    jw_num(j, "step", c->step);
    jw_int(j, "from_ns", g->first.ns);
}

static bool same_column(const struct row_column *a, const struct row_column *b)
{
    return a->step == b->step && strcmp(a->entity, b->entity) == 0 &&
           strcmp(a->metric, b->metric) == 0;
}

static bool column_is_declared(const struct row_group *before, const struct row_column *c, size_t i)
{
    if (i < before->n && same_column(&before->columns[i], c))
        return true;
    return FIND_ANY(k, before->n, same_column(&before->columns[k], c));
}

static bool export_about_same_group(const struct row_group *a, const struct row_group *b)
{
    return a->node && a->session == b->session && a->period_ns == b->period_ns &&
           strcmp(a->name, b->name) == 0 && strcmp(a->node, b->node) == 0;
}

static void remember(struct series_emitter *t, const struct row_group *g)
{
    struct row_column *c = arena_array(&t->arena, struct row_column, g->n);
    t->before = *g;
    t->before.node = arena_strdup(&t->arena, g->node);
    t->before.name = arena_strdup(&t->arena, g->name);
    t->before.columns = c;
    for (size_t i = 0; i < g->n; i++) {
        c[i] = g->columns[i];
        c[i].metric = arena_strdup(&t->arena, c[i].metric);
        c[i].entity = arena_strdup(&t->arena, c[i].entity);
        c[i].unit = arena_strdup(&t->arena, c[i].unit);
    }
}

void series_emit(struct series_emitter *t, const struct row_group *g)
{
    const bool goes_on = export_about_same_group(&t->before, g);
    for (size_t i = 0; i < g->n; i++)
        if (!goes_on || !column_is_declared(&t->before, &g->columns[i], i))
            t->emit(t->to, g, &g->columns[i]);
    struct arena old = t->arena;
    t->arena = (struct arena){0};
    remember(t, g);
    arena_free(&old);
}

void series_emit_end(struct series_emitter *t)
{
    arena_free(&t->arena);
    t->before = (struct row_group){0};
}

/* ---- samples as text ---- */

void row_prefixes_make(struct row_prefixes *p, const struct row_group *g, struct arena *a,
                       void (*put)(void *to, const struct row_group *g, const struct row_column *c),
                       void *to)
{
    if (g->n > p->cap) {
        p->cap = g->n;
        p->ends = arena_array(a, size_t, g->n);
        p->steps = arena_array(a, double, g->n);
    }
    p->n = g->n;
    p->text.len = 0;
    for (size_t i = 0; i < g->n; i++) {
        put(to, g, &g->columns[i]);
        p->ends[i] = p->text.len;
        p->steps[i] = g->columns[i].step;
    }
}

void row_prefixes_put(const struct row_prefixes *p, size_t i, struct buf *to)
{
    const size_t begin = i ? p->ends[i - 1] : 0;
    buf_put(to, p->text.p + begin, p->ends[i] - begin);
}

/* ---- losses and marks ---- */

bool loss_is_exported(const struct run_info *info, const struct run_loss *l)
{
    return !FIND_ANY(i, info->n_nodes,
                     l->loss.id == LOSS_NODE_DIED && info->nodes[i].status == RUN_DIED &&
                         strcmp(info->nodes[i].id, l->node) == 0);
}

int about_losses(struct about_writer *w, const struct export_job *job, struct arena *a,
                 struct err *e)
{
    struct run_loss *v;
    size_t n;
    TRY(run_losses(job->run, a, &v, &n, e));
    for (size_t i = 0; i < n; i++) {
        char what[ENTITY_LEN];
        if (!loss_is_exported(run_get_info(job->run), &v[i]))
            continue;
        about_begin(w, "loss");
        jw_str(&w->j, "node", v[i].node);
        jw_str(&w->j, "loss", losses[v[i].loss.id].name);
        jw_str(&w->j, "what", loss_what(&v[i].loss, what));
        jw_str(&w->j, "why", v[i].loss.why);
        jw_int(&w->j, "count", (int64_t)v[i].loss.count);
        jw_int(&w->j, "time_ns", v[i].at.ns);
        about_end(w);
    }
    return 0;
}

int about_marks(struct about_writer *w, const struct export_job *job, struct arena *a,
                struct err *e)
{
    struct run_mark *v;
    size_t n;
    TRY(run_marks(job->run, a, &v, &n, e));
    for (size_t i = 0; i < n; i++) {
        about_begin(w, "mark");
        jw_str(&w->j, "node", v[i].node);
        jw_str(&w->j, "mark", marks[v[i].mark.id].name);
        jw_str(&w->j, "text", v[i].mark.text);
        jw_int(&w->j, "number", v[i].mark.number);
        jw_int(&w->j, "time_ns", v[i].at.ns);
        about_end(w);
    }
    return 0;
}

/* ---- clocks ---- */

static int add_clock(void *to, const struct row_group *g, struct err *e)
{
    struct node_clocks *c = to;
    (void)e;
    for (size_t i = 0; i < c->n; i++)
        if (c->v[i].session == g->session && strcmp(c->v[i].node, g->node) == 0)
            c->v[i].ahead_ns = g->clock_ahead_ns;
    return 0;
}

int about_clocks(struct run *r, struct arena *a, struct node_clocks *out, struct err *e)
{
    static const struct row_sink sink = {.group = add_clock};
    const struct run_info *info = run_get_info(r);
    out->n = info->n_nodes;
    out->v = arena_array(a, struct node_clock, out->n);
    for (size_t i = 0; i < out->n; i++)
        out->v[i] = (struct node_clock){info->nodes[i].id, info->nodes[i].session, 0};
    return rows_read(r, &(struct series_ask){0}, &sink, out, e);
}

int64_t clock_of(const struct node_clocks *c, const struct node_info *n)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->v[i].session == n->session && strcmp(c->v[i].node, n->id) == 0)
            return c->v[i].ahead_ns;
    return 0;
}
