/* SPDX-License-Identifier: Apache-2.0 */
/* steps.c - the steps of every rank of a run.
 *
 * The events of a process are decoded once, block by block, and only what steps are made of is
 * kept; the thread that has most of it is the one that trains. */
#include "query/steps.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/run_open.h"
#include "query/steps_own.h"

/* ---- the thread that trains ---- */

struct reader {
    struct codec *codec;
    struct event *block;
    uint32_t most; /* rows that block has room for */
};

static void read_points(struct reader *rd, const struct event_track *t, struct points *out)
{
    for (uint32_t i = 0; i < t->n_blocks; i++) {
        const struct events_block *b = &t->store->events[t->blocks[i]];
        struct arena texts = {0};
        if (b->rows > rd->most) {
            rd->block = xrealloc(rd->block, b->rows, sizeof *rd->block);
            rd->most = b->rows;
        }
        points_forget_names(out);
        if (store_events(rd->codec, b, &texts, rd->block))
            for (uint32_t k = 0; k < b->rows; k++)
                points_add(out, &rd->block[k]);
        arena_free(&texts);
    }
    points_sort(out);
}

/* The thread of the process that has most to do with steps; NULL when none has. */
static const struct event_track *read_main(struct reader *rd, const struct event_index *x,
                                           const struct run_process *p, struct points *out)
{
    const struct event_track *best = NULL;
    for (size_t i = 0; i < x->n_tracks; i++) {
        const struct event_track *t = &x->tracks[i];
        if (t->track.process != p || t->track.detail || t->track.track.kind != TRACK_THREAD)
            continue;
        struct points one = {0};
        read_points(rd, t, &one);
        if (one.marked > out->marked) {
            points_free(out);
            *out = one;
            best = t;
        } else {
            points_free(&one);
        }
    }
    return best;
}

static bool read_process(struct reader *rd, const struct event_index *x,
                         const struct run_process *p, struct arena *a, struct rank_steps *out)
{
    struct points points = {0};
    const struct event_track *t = read_main(rd, x, p, &points);
    *out = (struct rank_steps){.rank = p->rank};
    if (t)
        steps_of_points(&points, a, &out->steps, &out->n);
    for (size_t i = 0; i < out->n; i++)
        out->steps[i].start = event_wall(t->store, (mono_ns){out->steps[i].start.ns});
    points_free(&points);
    return out->n > 0;
}

/* ---- ranks ---- */

static bool is_taken(const struct rank_steps *v, size_t n, unsigned session, int64_t rank)
{
    for (size_t i = 0; i < n; i++)
        if (v[i].process->session == session && v[i].rank == rank)
            return true;
    return false;
}

static int by_node_pid(const void *a, const void *b)
{
    const struct rank_steps *x = *(struct rank_steps *const *)a,
                            *y = *(struct rank_steps *const *)b;
    /* Processes are sorted by node already; of one node without ranks, by pid. */
    return (x->process > y->process) - (x->process < y->process);
}

/* Who did not say its rank gets the first number that nobody has in the same session. */
static void number_ranks(struct rank_steps *v, size_t n)
{
    struct rank_steps **list = xcalloc(n, sizeof *list);
    size_t unknown = 0;
    for (size_t i = 0; i < n; i++)
        if (v[i].rank < 0)
            list[unknown++] = &v[i];
    if (unknown)
        qsort(list, unknown, sizeof *list, by_node_pid);
    for (size_t i = 0; i < unknown; i++) {
        int64_t rank = 0;
        while (is_taken(v, n, list[i]->process->session, rank))
            rank++;
        list[i]->rank = rank;
    }
    free(list);
}

static int by_rank(const void *a, const void *b)
{
    const struct rank_steps *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    const int64_t s = x->process->first.ns, t = y->process->first.ns;
    return s != t ? (s > t) - (s < t) : (x->process > y->process) - (x->process < y->process);
}

static size_t read_all(const struct event_index *x, struct run_process *processes, struct arena *a,
                       struct rank_steps *out)
{
    struct reader rd = {.codec = codec_open()};
    size_t n = 0;
    for (size_t i = 0; i < x->n_processes; i++) {
        if (x->processes[i].worker >= 0 || !read_process(&rd, x, &x->processes[i], a, &out[n]))
            continue;
        out[n].process = &processes[i];
        out[n].node = processes[i].node;
        n++;
    }
    codec_close(rd.codec);
    free(rd.block);
    return n;
}

int steps_read(struct run *r, struct arena *a, struct rank_steps **out, size_t *n, struct err *e)
{
    struct event_index *x;
    struct run_process *processes;
    size_t most;
    int rc = run_events(r, &x, e);
    if (rc == 0)
        rc = events_processes(r, a, &processes, &most, e);
    if (rc)
        return rc;
    *out = arena_array(a, struct rank_steps, most);
    *n = read_all(x, processes, a, *out);
    number_ranks(*out, *n);
    if (*n)
        qsort(*out, *n, sizeof **out, by_rank);
    return 0;
}
