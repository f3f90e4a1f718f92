/* SPDX-License-Identifier: Apache-2.0 */
/* insight_steps.c - events as the job tells them become steps. See insight_internal.h. */
#include <stdlib.h>
#include <string.h>

#include "agent/insight_internal.h"
#include "base/mem.h"

/* OTHERS_KEPT: of a thread that may turn out to be the one that trains. */
enum { PROCESSES_MOST = 1024, THREADS_MOST = 64, TOLD_MOST = 1 << 14, OTHERS_KEPT = 4096 };

static wall_ns wall_of(mono_ns t, struct clock_tie tie)
{
    return (wall_ns){t.ns - tie.mono.ns + tie.wall.ns};
}

static struct seen_process *insight_steps_process_of(struct step_buf *b, uint32_t pid)
{
    for (size_t i = 0; i < b->n; i++)
        if (b->v[i].who.pid == pid)
            return &b->v[i];
    if (b->n == PROCESSES_MOST)
        return NULL;
    b->v = xrealloc(b->v, b->n + 1, sizeof *b->v);
    b->v[b->n] = (struct seen_process){.who = {.rank = -1, .device = -1, .pid = pid}, .worker = -1};
    return &b->v[b->n++];
}

static struct seen_thread *insight_steps_thread_of(struct seen_process *p, uint64_t tid)
{
    for (size_t i = 0; i < p->n_threads; i++)
        if (p->threads[i].tid == tid)
            return &p->threads[i];
    if (p->n_threads == THREADS_MOST)
        return NULL;
    p->threads = xrealloc(p->threads, p->n_threads + 1, sizeof *p->threads);
    p->threads[p->n_threads] = (struct seen_thread){tid, steps_flow_open()};
    return &p->threads[p->n_threads++];
}

static void insight_steps_take_fact(struct seen_process *p, enum event_id id, int64_t value)
{
    int64_t *to = id == EV_RANK        ? &p->who.rank
                  : id == EV_DEVICE    ? &p->who.device
                  : id == EV_WORKER_ID ? &p->worker
                                       : NULL;
    if (to)
        *to = value;
}

static void insight_steps_tell(struct step_buf *b, const struct seen_process *p, enum event_id id,
                               const struct event *v, struct clock_tie tie)
{
    if (!rules_are_told(id) || b->n_told == TOLD_MOST)
        return;
    if (b->n_told == b->cap_told) {
        b->cap_told = b->cap_told ? 2 * b->cap_told : 64;
        b->told = xrealloc(b->told, b->cap_told, sizeof *b->told);
    }
    b->told[b->n_told++] = (struct told){
        .id = id,
        .at = wall_of(v->at, tie),
        .dur_ns = v->dur_ns,
        .value = v->value,
        .rank = p->who.rank,
        .worker = p->worker,
        .pid = p->who.pid,
    };
}

void step_buf_events(struct step_buf *b, const struct track *t, const struct event *v, size_t n,
                     struct clock_tie tie)
{
    struct seen_process *p = insight_steps_process_of(b, t->pid);
    b->waiting += n;
    struct seen_thread *th =
        p && t->kind == TRACK_THREAD && p->worker < 0 ? insight_steps_thread_of(p, t->id) : NULL;
    for (size_t i = 0; p && i < n; i++) {
        const enum event_id id = v[i].end == END_OPEN ? EV_N : event_find(v[i].name);
        if (id == EV_N)
            continue;
        insight_steps_take_fact(p, id, v[i].value);
        insight_steps_tell(b, p, id, &v[i], tie);
    }
    if (th)
        steps_flow_add(th->flow, v, n);
}

/* The thread that trains; NULL: none does. */
static struct steps_flow *main_flow(const struct seen_process *p)
{
    struct steps_flow *best = NULL;
    uint64_t most = 0;
    for (size_t i = 0; i < p->n_threads; i++)
        if (steps_flow_marked(p->threads[i].flow) > most) {
            best = p->threads[i].flow;
            most = steps_flow_marked(best);
        }
    return best;
}

/* Threads beside the one that trains keep only so much: they would for as long as they live. */
static void take_process(const struct seen_process *p, const struct steps_flow *trains,
                         struct clock_tie tie, struct arena *a, struct step_batch *out)
{
    *out = (struct step_batch){.who = p->who};
    for (size_t i = 0; i < p->n_threads; i++) {
        struct steps_flow *f = p->threads[i].flow;
        struct step *v;
        size_t n;
        if (f != trains && steps_flow_held(f) <= OTHERS_KEPT)
            continue;
        steps_flow_take(f, false, a, &v, &n);
        if (f == trains) {
            out->v = v;
            out->n = n;
        }
    }
    for (size_t k = 0; k < out->n; k++)
        out->v[k].start = wall_of((mono_ns){out->v[k].start.ns}, tie);
}

/* Who did not say its rank is called by its place among the processes, as elsewhere. */
void step_buf_take(struct step_buf *b, struct clock_tie tie, struct arena *a, struct step_news *out)
{
    int64_t unnamed = 0;
    *out = (struct step_news){.batches = arena_array(a, struct step_batch, b->n),
                              .told = arena_array(a, struct told, b->n_told),
                              .n_told = b->n_told};
    for (size_t i = 0; i < b->n; i++) {
        struct step_batch *to = &out->batches[out->n];
        const struct steps_flow *trains = b->v[i].worker < 0 ? main_flow(&b->v[i]) : NULL;
        take_process(&b->v[i], trains, tie, a, to);
        if (trains && to->who.rank < 0)
            to->who.rank = unnamed++;
        out->n += to->n > 0;
    }
    if (b->n_told)
        memcpy(out->told, b->told, b->n_told * sizeof *b->told);
    b->n_told = b->waiting = 0;
}

void step_buf_free(struct step_buf *b)
{
    for (size_t i = 0; i < b->n; i++) {
        for (size_t k = 0; k < b->v[i].n_threads; k++)
            steps_flow_close(b->v[i].threads[k].flow);
        free(b->v[i].threads);
    }
    free(b->v);
    free(b->told);
    *b = (struct step_buf){0};
}
