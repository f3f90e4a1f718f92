/* SPDX-License-Identifier: Apache-2.0 */
/* run_restore.c - see run_restore.h. */
#include "convert/run_restore.h"

#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/mem.h"
#include "run/nodefile.h"
#include "run/run_names.h"
#include "run/run_notes.h"
#include "store/writer.h"

enum { NODES_MOST = 4096 };

/* ---- the input ---- */

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

static void run_restore_fail(struct run_restore *m, const struct err *e)
{
    if (m->err.code == 0)
        m->err = *e;
}

static void run_restore_on_run(struct remake *r, const char *about, size_t len)
{
    struct run_restore *m = (struct run_restore *)r;
    m->about = arena_strndup(&m->arena, about, len);
}

static void run_restore_on_node(struct remake *r, const struct remake_node *n)
{
    struct run_restore *m = (struct run_restore *)r;
    struct err e = {0};
    char id[NODE_ID_LEN];
    struct run_maker_node *made;
    name_sanitize(id, sizeof id, n->id);
    if (run_maker_find(&m->maker, id, n->session))
        return;
    const struct clock_tie tie = {{0}, {n->clock_ahead_ns}};
    int rc = 0;
    if (m->n_nodes == NODES_MOST || n->session == 0 || n->session >= SESSIONS_MOST)
        rc = err_set(&e, ERR_LIMIT, "more recorders than a run can have");
    if (rc == 0)
        rc = run_maker_node(&m->maker, id, n->session, tie, &made, &e);
    if (rc != 0) {
        run_restore_fail(m, &e);
        return;
    }
    m->nodes = xrealloc(m->nodes, m->n_nodes + 1, sizeof *m->nodes);
    m->nodes[m->n_nodes++] = (struct restored_node){
        .made = made,
        .start = n->start,
        .end = n->end,
        .about = n->about ? arena_strndup(&m->arena, n->about, n->about_len) : NULL,
    };
}

static struct sink *run_restore_on_sink(struct remake *r, const struct remake_place *p)
{
    struct run_restore *m = (struct run_restore *)r;
    struct err e;
    char id[NODE_ID_LEN];
    name_sanitize(id, sizeof id, p->node);
    struct run_maker_node *n = run_maker_find(&m->maker, id, p->session);
    struct writer *w = NULL;
    if (n && p->file != REMAKE_DETAIL)
        w = p->file == REMAKE_METRICS ? n->metrics : n->events;
    else if (n && run_maker_window(n, p->pid, p->window, &w, &e) != 0)
        run_restore_fail(m, &e);
    return w ? writer_sink(w) : &m->nowhere;
}

int run_restore_begin(struct run_restore *m, const char *home, struct err *e)
{
    static const struct remake_ops ops = {run_restore_on_run, run_restore_on_node,
                                          run_restore_on_sink};
    static const struct sink_ops nowhere = {drop_row, drop_loss, drop_mark, drop_events};
    *m = (struct run_restore){
        .remake = {&ops}, .nowhere = {&nowhere}, .notes = {.name = "", .text = ""}};
    return run_maker_begin(&m->maker, home, e);
}

/* ---- writing ---- */

int run_restore_flush(struct run_restore *m, struct err *e)
{
    TRY(interrupted_check(e));
    if (m->err.code)
        return err_set(e, (enum err_code)m->err.code, "%s", m->err.msg);
    return run_maker_flush(&m->maker, e);
}

/* ---- the run ---- */

/* Notes that are not valid are left out. */
static int run_restore_put_notes(struct run_restore *m, struct err *e)
{
    json_t *o = m->about ? json_loads(m->about, 0, NULL) : NULL;
    const json_t *notes = json_object_get(o, "notes");
    struct err ignored;
    if (notes)
        (void)!run_notes_parse(&m->notes, notes, &m->arena, &ignored);
    json_decref(o);
    const bool some = *m->notes.name || *m->notes.text || m->notes.n_tags > 0;
    return some ? run_notes_put(m->maker.dir.path, &m->notes, e) : 0;
}

/* node.json as it was, with the id and session of its folder. */
static int run_restore_put_node(const struct rundir *dir, const struct restored_node *d,
                                struct err *e)
{
    json_t *o = json_loads(d->about, 0, NULL);
    if (!json_is_object(o)) {
        json_decref(o);
        return err_set(e, ERR_FORMAT, "the description of node '%s' is not a JSON object",
                       d->made->id);
    }
    json_object_set_new(o, "id", json_string(d->made->id));
    json_object_set_new(o, "session", json_integer(d->made->session));
    char *text = json_dumps(o, JSON_INDENT(2));
    const int rc = rundir_put_node(dir, d->made->id, d->made->session, text ? text : "",
                                   text ? strlen(text) : 0, e);
    free(text);
    json_decref(o);
    return rc;
}

static int run_restore_make_node(const struct rundir *dir, const struct restored_node *d,
                                 struct err *e)
{
    struct nodefile f;
    const struct node_about about = {
        .id = d->made->id,
        .session = d->made->session,
        .status = RUN_FINISHED,
        .launcher = {.rank = -1, .world_size = -1, .local_rank = -1},
        .start = d->start,
        .end = d->end,
        .exit_status = -1,
        .cpu_s = -1,
    };
    nodefile_init(&f, dir, &about);
    return nodefile_write(&f, e);
}

/* The contents of run.json; texts live in the arena. */
static struct run_about run_restore_about(struct run_restore *m, const struct run_about *otherwise)
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
            .user = json_get_str(o, "user", a, ""),
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

int run_restore_place(struct run_restore *m, const char *home, const char *id,
                      const struct run_about *otherwise, struct rundir *dir, struct err *e)
{
    const struct run_about about = run_restore_about(m, otherwise);
    TRY(run_restore_flush(m, e));
    TRY(run_maker_close(&m->maker, e));
    for (size_t i = 0; i < m->n_nodes; i++)
        TRY((m->nodes[i].about ? run_restore_put_node : run_restore_make_node)(&m->maker.dir,
                                                                               &m->nodes[i], e));
    TRY(run_restore_put_notes(m, e));
    return run_maker_place(&m->maker, home, id, &about, dir, e);
}

void run_restore_end(struct run_restore *m)
{
    run_maker_end(&m->maker);
    free(m->nodes);
    arena_free(&m->arena);
    *m = (struct run_restore){0};
}

/* ---- interrupted ---- */

static volatile sig_atomic_t noted;

static void interrupted_note(int sig)
{
    noted = sig;
}

void interrupted_watch(void)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    const struct sigaction take = {.sa_handler = interrupted_note,
                                   .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        struct sigaction now;
        if (sigaction(ends[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaction(ends[i], &take, NULL);
    }
}

int interrupted_check(struct err *e)
{
    return noted ? err_set(e, ERR_BUSY, "interrupted") : 0;
}

void interrupted_end(void)
{
    if (noted)
        raise(noted);
}
