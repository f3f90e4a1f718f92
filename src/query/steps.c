/* SPDX-License-Identifier: Apache-2.0 */
/* steps.c - the steps of every rank of a run.
 *
 * The events of a process are decoded once, block by block, and only what steps are made of is
 * kept; the thread that has most of it is the one that trains. */
#include "query/steps.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/crew.h"
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

/* Tracks are sorted by process, and processes as they lie in their list. */
static size_t first_track(const struct event_index *x, const struct run_process *p)
{
    size_t lo = 0, hi = x->n_tracks;
    while (lo < hi) {
        const size_t mid = (lo + hi) / 2;
        if (x->tracks[mid].track.process < p)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* The thread of the process that has most to do with steps; NULL when none has. */
static const struct event_track *read_main(struct reader *rd, const struct event_index *x,
                                           const struct run_process *p, struct points *out)
{
    const struct event_track *best = NULL;
    for (size_t i = first_track(x, p); i < x->n_tracks && x->tracks[i].track.process == p; i++) {
        const struct event_track *t = &x->tracks[i];
        if (t->track.detail || t->track.track.kind != TRACK_THREAD)
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

static void read_process(struct reader *rd, const struct event_index *x,
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
}

/* ---- ranks ---- */

struct taken {
    unsigned session;
    int64_t rank;
};

static int by_taken(const void *a, const void *b)
{
    const struct taken *x = a, *y = b;
    if (x->session != y->session)
        return x->session < y->session ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static int by_session(const void *a, const void *b)
{
    const struct rank_steps *x = *(struct rank_steps *const *)a,
                            *y = *(struct rank_steps *const *)b;
    if (x->process->session != y->process->session)
        return x->process->session < y->process->session ? -1 : 1;
    /* Processes are sorted by node already; of one node without ranks, by pid. */
    return (x->process > y->process) - (x->process < y->process);
}

/* Who did not say its rank gets the first number that nobody has in the same session. */
static void number_ranks(struct rank_steps *v, size_t n)
{
    struct rank_steps **list = xcalloc(n, sizeof *list);
    struct taken *taken = xcalloc(n, sizeof *taken);
    size_t unknown = 0, known = 0;
    for (size_t i = 0; i < n; i++)
        if (v[i].rank < 0)
            list[unknown++] = &v[i];
        else
            taken[known++] = (struct taken){v[i].process->session, v[i].rank};
    if (known)
        qsort(taken, known, sizeof *taken, by_taken);
    if (unknown)
        qsort(list, unknown, sizeof *list, by_session);
    struct taken next = {0};
    for (size_t i = 0; i < unknown; i++, next.rank++) {
        if (i == 0 || next.session != list[i]->process->session)
            next = (struct taken){list[i]->process->session, 0};
        while (known && bsearch(&next, taken, known, sizeof *taken, by_taken))
            next.rank++;
        list[i]->rank = next.rank;
    }
    free(taken);
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

/* ---- processes, by as many threads as pay ---- */

struct batch {
    const struct event_index *index;
    struct rank_steps *out; /* by process; n 0: it has no steps */
};

static void work(struct crew *c, struct arena *results)
{
    const struct batch *b = c->ctx;
    const struct event_index *x = b->index;
    struct reader rd = {.codec = codec_open()};
    for (size_t i; crew_next(c, &i);)
        if (x->processes[i].worker < 0)
            read_process(&rd, x, &x->processes[i], results, &b->out[i]);
    codec_close(rd.codec);
    free(rd.block);
}

/* Those that have steps come to the front. */
static size_t read_all(const struct event_index *x, struct run_process *processes, struct arena *a,
                       struct rank_steps *out)
{
    struct batch b = {.index = x, .out = out};
    struct crew crew = {.n = x->n_processes, .each = 1, .work = work, .ctx = &b};
    size_t n = 0;
    crew_run(&crew, a);
    for (size_t i = 0; i < x->n_processes; i++) {
        if (out[i].n == 0)
            continue;
        out[n] = out[i];
        out[n].process = &processes[i];
        out[n].node = processes[i].node;
        n++;
    }
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
