/* SPDX-License-Identifier: Apache-2.0 */
/* run_maker.c - see run_maker.h. */
#include "run/run_maker.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "run/run_names.h"

/* Bytes that may wait; events come faster than rows. */
enum { FLUSH_ROWS = 256 << 10, FLUSH_EVENTS = 1 << 20 };

int run_maker_begin(struct run_maker *m, const char *home, struct err *e)
{
    *m = (struct run_maker){0};
    return rundir_hide(&m->dir, home, e);
}

struct run_maker_node *run_maker_find(const struct run_maker *m, const char *id, unsigned session)
{
    for (size_t i = 0; i < m->n_nodes; i++)
        if (m->nodes[i]->session == session && strcmp(m->nodes[i]->id, id) == 0)
            return m->nodes[i];
    return NULL;
}

int run_maker_node(struct run_maker *m, const char *id, unsigned session, struct clock_tie tie,
                   struct run_maker_node **out, struct err *e)
{
    assert(!run_maker_find(m, id, session));
    struct run_maker_node *n = xcalloc(1, sizeof *n);
    const int rc = rundir_open_bulk(&m->dir, id, session, tie, &n->metrics, &n->events, e);
    if (rc) {
        free(n);
        return rc;
    }
    snprintf(n->id, sizeof n->id, "%s", id);
    n->session = session;
    m->nodes = xrealloc(m->nodes, m->n_nodes + 1, sizeof(struct run_maker_node *));
    m->nodes[m->n_nodes++] = *out = n;
    return 0;
}

int run_maker_window(struct run_maker_node *n, unsigned pid, unsigned window, struct writer **out,
                     struct err *e)
{
    char stem[64];
    struct writer *w;
    for (size_t i = 0; i < n->n_windows; i++)
        if (n->windows[i].pid == pid && n->windows[i].window == window) {
            *out = n->windows[i].writer;
            return 0;
        }
    run_window_stem(stem, sizeof stem, pid, false, window);
    const int rc = writer_open_beside(&w, n->metrics, stem, e);
    if (rc)
        return rc;
    n->windows = xrealloc(n->windows, n->n_windows + 1, sizeof *n->windows);
    n->windows[n->n_windows++] = (struct run_maker_window){pid, window, w};
    *out = w;
    return 0;
}

/* ---- writing ---- */

/* The files of a node in the order in which they are closed: the first one last. */
static struct writer **run_maker_writer(struct run_maker_node *n, size_t i)
{
    assert(i < n->n_windows + 2);
    if (i < n->n_windows)
        return &n->windows[i].writer;
    return i == n->n_windows ? &n->events : &n->metrics;
}

int run_maker_flush(struct run_maker *m, struct err *e)
{
    int rc = 0;
    for (size_t i = 0; i < m->n_nodes; i++) {
        struct run_maker_node *n = m->nodes[i];
        for (size_t k = 0; rc == 0 && k < n->n_windows + 2; k++) {
            struct writer *w = *run_maker_writer(n, k);
            if (writer_pending(w) >= (size_t)(w == n->metrics ? FLUSH_ROWS : FLUSH_EVENTS))
                rc = writer_flush(w, false, e);
        }
    }
    return rc;
}

static int run_maker_close_writer(struct writer **w, struct err *e)
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
int run_maker_close(struct run_maker *m, struct err *e)
{
    struct err other;
    int rc = 0;
    for (size_t i = 0; i < m->n_nodes; i++)
        for (size_t k = 0; k < m->nodes[i]->n_windows + 2; k++) {
            const int one =
                run_maker_close_writer(run_maker_writer(m->nodes[i], k), rc ? &other : e);
            rc = rc ? rc : one;
        }
    return rc;
}

/* ---- the run ---- */

int run_maker_place(struct run_maker *m, const char *home, const char *id,
                    const struct run_about *about, struct rundir *out, struct err *e)
{
    for (size_t i = 0; i < m->n_nodes; i++)
        assert(!m->nodes[i]->metrics && !m->nodes[i]->events); /* closed, so complete */
    const int rc = rundir_settle(&m->dir, home, id, about, e);
    if (rc == 0) {
        *out = m->dir;
        m->dir = (struct rundir){0};
    }
    return rc;
}

void run_maker_end(struct run_maker *m)
{
    struct err ignored;
    (void)!run_maker_close(m, &ignored); /* what is open is removed next */
    for (size_t i = 0; i < m->n_nodes; i++) {
        free(m->nodes[i]->windows);
        free(m->nodes[i]);
    }
    free(m->nodes);
    rundir_remove(&m->dir, 0);
    *m = (struct run_maker){0};
}
