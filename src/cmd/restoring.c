/* SPDX-License-Identifier: Apache-2.0 */
/* restoring.c - see restoring.h. */
#include "cmd/restoring.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/nodefile.h"
#include "base/json_read.h"
#include "base/mem.h"
#include "cmd/interrupted.h"
#include "run/run_names.h"

enum { FLUSH_ROWS = 256 << 10, FLUSH_EVENTS = 1 << 20, NODES_MOST = 4096 };

/* ---- what is told ---- */

static void drop_row(struct sink *s, struct group *g, mono_ns t)
{
    (void)s;
    (void)g;
    (void)t;
}

static void drop_loss(struct sink *s, const struct loss *l)
{
    (void)s;
    (void)l;
}

static void drop_mark(struct sink *s, const struct mark *m)
{
    (void)s;
    (void)m;
}

static void drop_events(struct sink *s, const struct track *t, const struct event *v, size_t n)
{
    (void)s;
    (void)t;
    (void)v;
    (void)n;
}

static void keep_error(struct restoring *m, const struct err *e)
{
    if (m->err.code == 0)
        m->err = *e;
}

static void on_run(struct remake *r, const char *about, size_t len)
{
    struct restoring *m = (struct restoring *)r;
    m->about = arena_strndup(&m->arena, about, len);
}

static struct restored_node *find_node(struct restoring *m, const char *id, unsigned session)
{
    for (size_t i = 0; i < m->n_nodes; i++)
        if (m->nodes[i]->session == session && strcmp(m->nodes[i]->id, id) == 0)
            return m->nodes[i];
    return NULL;
}

static void on_node(struct remake *r, const struct remake_node *n)
{
    struct restoring *m = (struct restoring *)r;
    struct err e = {0};
    char id[NODE_ID_LEN];
    name_sanitize(id, sizeof id, n->id);
    if (find_node(m, id, n->session))
        return;
    if (m->n_nodes == NODES_MOST || n->session == 0 || n->session >= SESSIONS_MOST) {
        err_set(&e, ERR_LIMIT, "more recorders than a run can have");
        keep_error(m, &e);
        return;
    }
    struct restored_node *d = xcalloc(1, sizeof *d);
    snprintf(d->id, sizeof d->id, "%s", id);
    d->session = n->session;
    d->start = n->start;
    d->end = n->end;
    d->about = n->about ? arena_strndup(&m->arena, n->about, n->about_len) : NULL;
    m->nodes = xrealloc(m->nodes, m->n_nodes + 1, sizeof *m->nodes);
    m->nodes[m->n_nodes++] = d;
    const struct clock_tie tie = {{0}, {n->clock_ahead_ns}};
    if (rundir_open_bulk(&m->dir, id, d->session, tie, &d->metrics, &d->events, &e) != 0)
        keep_error(m, &e);
}

static struct writer *window_of(struct restoring *m, struct restored_node *d,
                                const struct remake_place *p)
{
    char name[64];
    struct writer *w = NULL;
    struct err e;
    for (size_t i = 0; i < d->n_windows; i++)
        if (d->windows[i].pid == p->pid && d->windows[i].window == p->window)
            return d->windows[i].writer;
    run_window_stem(name, sizeof name, p->pid, false, p->window);
    if (writer_open_beside(&w, d->metrics, name, &e) != 0) {
        keep_error(m, &e);
        return NULL;
    }
    d->windows = xrealloc(d->windows, d->n_windows + 1, sizeof *d->windows);
    d->windows[d->n_windows++] = (struct restored_window){p->pid, p->window, w};
    return w;
}

static struct sink *on_sink(struct remake *r, const struct remake_place *p)
{
    struct restoring *m = (struct restoring *)r;
    char id[NODE_ID_LEN];
    name_sanitize(id, sizeof id, p->node);
    struct restored_node *d = find_node(m, id, p->session);
    struct writer *w = NULL;
    if (d && d->events)
        w = p->file == REMAKE_METRICS  ? d->metrics
            : p->file == REMAKE_EVENTS ? d->events
                                       : window_of(m, d, p);
    return w ? writer_sink(w) : &m->nowhere;
}

int restoring_begin(struct restoring *m, const char *home, struct err *e)
{
    static const struct remake_ops ops = {on_run, on_node, on_sink};
    static const struct sink_ops nowhere = {drop_row, drop_loss, drop_mark, drop_events};
    *m = (struct restoring){.remake = {&ops}, .nowhere = {&nowhere}};
    return rundir_hide(&m->dir, home, e);
}

/* ---- writing ---- */

static int flush_writer(struct writer *w, size_t most, struct err *e)
{
    return w && writer_pending(w) >= most ? writer_flush(w, false, e) : 0;
}

int restoring_flush(struct restoring *m, struct err *e)
{
    int rc = interrupted_check(e);
    if (rc == 0 && m->err.code)
        rc = err_set(e, (enum err_code)m->err.code, "%s", m->err.msg);
    for (size_t i = 0; rc == 0 && i < m->n_nodes; i++) {
        struct restored_node *d = m->nodes[i];
        rc = flush_writer(d->metrics, FLUSH_ROWS, e);
        if (rc == 0)
            rc = flush_writer(d->events, FLUSH_EVENTS, e);
        for (size_t k = 0; rc == 0 && k < d->n_windows; k++)
            rc = flush_writer(d->windows[k].writer, FLUSH_EVENTS, e);
    }
    return rc;
}

static int close_writer(struct writer **w, struct err *e)
{
    struct writer_stats s;
    struct writer *x = *w;
    *w = NULL;
    if (!x)
        return 0;
    writer_get_stats(x, &s);
    const int rc = writer_close(x, e);
    if (rc == 0 && s.rows_dropped + s.events_dropped)
        return err_set(e, ERR_LIMIT, "%llu rows and %llu events could not be written to disk",
                       (unsigned long long)s.rows_dropped, (unsigned long long)s.events_dropped);
    return rc;
}

/* All of them, whatever became of the others; the first error counts. */
static int close_node(struct restored_node *d, struct err *e)
{
    struct err other;
    int rc = 0;
    for (size_t i = 0; i < d->n_windows + 2; i++) { /* the first file is closed last */
        struct writer **w = i < d->n_windows    ? &d->windows[i].writer
                            : i == d->n_windows ? &d->events
                                                : &d->metrics;
        const int one = close_writer(w, rc ? &other : e);
        rc = rc ? rc : one;
    }
    return rc;
}

/* ---- the run ---- */

/* As it was, but for its name and number, which are those of its folder. */
static int write_about(const struct rundir *dir, const struct restored_node *d, struct err *e)
{
    json_t *o = json_loads(d->about, 0, NULL);
    if (!json_is_object(o)) {
        json_decref(o);
        return err_set(e, ERR_FORMAT, "the description of node '%s' is not a JSON object", d->id);
    }
    json_object_set_new(o, "id", json_string(d->id));
    json_object_set_new(o, "session", json_integer(d->session));
    char *text = json_dumps(o, JSON_INDENT(2));
    const int rc =
        rundir_put_node(dir, d->id, d->session, text ? text : "", text ? strlen(text) : 0, e);
    free(text);
    json_decref(o);
    return rc;
}

static int make_about(const struct rundir *dir, const struct restored_node *d, struct err *e)
{
    struct nodefile f;
    const struct node_about about = {
        .id = d->id,
        .session = d->session,
        .status = NODE_FINISHED,
        .launcher = {.rank = -1, .world_size = -1, .local_rank = -1},
        .start = d->start,
        .end = d->end,
        .exit_status = -1,
        .cpu_s = -1,
    };
    nodefile_init(&f, dir, &about);
    return nodefile_write(&f, e);
}

static int finish_node(const struct rundir *dir, struct restored_node *d, struct err *e)
{
    const int rc = close_node(d, e);
    if (rc != 0)
        return rc;
    return d->about ? write_about(dir, d, e) : make_about(dir, d, e);
}

/* The words of a run.json; they live in the arena. */
static struct run_about about_of(struct restoring *m, const struct run_about *otherwise)
{
    struct run_about out = *otherwise;
    json_t *o = m->about ? json_loads(m->about, 0, NULL) : NULL;
    if (json_is_object(o)) {
        struct arena *a = &m->arena;
        const json_t *command = json_object_get(o, "command");
        json_t *labels = json_object_get(o, "labels"), *value;
        const size_t n = json_array_size(command);
        const char **words = arena_array(a, const char *, n + 1), *key;
        struct run_label *list = arena_array(a, struct run_label, json_object_size(labels) + 1);
        for (size_t i = 0; i < n; i++) {
            const char *w = json_string_value(json_array_get(command, i));
            words[i] = arena_strdup(a, w ? w : "");
        }
        out = (struct run_about){
            .name = json_get_str(o, "name", a, otherwise->name),
            .command = words,
            .directory = json_get_str(o, "directory", a, ""),
            .git_commit = json_get_str(o, "git_commit", a, ""),
            .labels = list,
            .start = {json_get_time(o, "start_ns", otherwise->start.ns)},
            .interval_ns = (int64_t)(json_get_num(o, "interval_ms", 0) * 1e6),
        };
        json_object_foreach(labels, key, value)
        {
            const char *text = json_string_value(value);
            list[out.n_labels++] =
                (struct run_label){arena_strdup(a, key), arena_strdup(a, text ? text : "")};
        }
    }
    json_decref(o);
    return out;
}

int restoring_place(struct restoring *m, const char *home, const char *id,
                    const struct run_about *otherwise, struct rundir *dir, struct err *e)
{
    const struct run_about about = about_of(m, otherwise);
    int rc = restoring_flush(m, e);
    for (size_t i = 0; rc == 0 && i < m->n_nodes; i++)
        rc = finish_node(&m->dir, m->nodes[i], e);
    if (rc == 0)
        rc = rundir_settle(&m->dir, home, id, &about, e);
    if (rc != 0)
        return rc;
    *dir = m->dir;
    m->dir = (struct rundir){0};
    return 0;
}

void restoring_end(struct restoring *m)
{
    struct err ignored;
    for (size_t i = 0; i < m->n_nodes; i++) {
        if (close_node(m->nodes[i], &ignored) != 0)
            ignored.code = 0; /* it is removed next */
        free(m->nodes[i]->windows);
        free(m->nodes[i]);
    }
    free(m->nodes);
    rundir_remove(&m->dir, 0);
    arena_free(&m->arena);
    *m = (struct restoring){0};
}
