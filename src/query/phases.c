/* SPDX-License-Identifier: Apache-2.0 */
/* phases.c - the job from its start to its end as a row of phases.
 *
 * All ranks together: a moment is train when any rank is in a train step, else eval when any is in
 * another step, else it stays what it was. Before the first train step it is
 * initialization, after the last step finalization, except in a running job: another step may
 * follow. Where a node got a notice to stop, or was away, it is interruption. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "query/intervals.h"
#include "query/steps.h"

static const char *const phase_names[PHASE_N] = {
    [PHASE_INIT] = "initialization",
    [PHASE_TRAIN] = "train",
    [PHASE_EVAL] = "eval",
    [PHASE_FINAL] = "finalization",
    [PHASE_INTERRUPTION] = "interruption",
};

const char *phase_name(enum phase_kind k)
{
    return phase_names[k];
}

/* Something that begins (+1) or ends (-1) at a moment. */
enum what { IN_TRAIN, IN_EVAL, IN_INTERRUPTION, WHAT_N };

struct change {
    int64_t at;
    enum what what;
    int by;
};

struct changes {
    struct change *v;
    size_t n, cap;
    struct sorted_runs runs;
};

static void phases_add_span(struct changes *c, enum what what, int64_t from, int64_t to)
{
    if (to < from)
        return;
    if (c->n == 0 || c->v[c->n - 1].at > from)
        sorted_runs_add(&c->runs, c->n);
    *VEC_ADD(c->v, c->n, c->cap) = (struct change){from, what, 1};
    *VEC_ADD(c->v, c->n, c->cap) = (struct change){to, what, -1};
}

static bool phases_in_order(const void *a, const void *b)
{
    return ((const struct change *)a)->at <= ((const struct change *)b)->at;
}

/* ---- where the loop begins and ends ---- */

/* The loop begins with the first train step; an evaluation before that belongs to initialization.
 * When nothing is trained it begins with the first step there is. */
static void phases_add_steps(struct changes *c, const struct phases_from *f, struct run_phases *out)
{
    int64_t first[2] = {INT64_MAX, INT64_MAX}, last = INT64_MIN; /* of any step, of train steps */
    for (size_t i = 0; i < f->n_ranks; i++)
        for (size_t k = 0; k < f->ranks[i].n; k++) {
            const struct step *s = &f->ranks[i].steps[k];
            const bool train = s->mode == MODE_TRAIN;
            const int64_t end = s->start.ns + s->dur_ns;
            phases_add_span(c, train ? IN_TRAIN : IN_EVAL, s->start.ns, end);
            first[0] = MIN_OF(first[0], s->start.ns);
            first[1] = train ? MIN_OF(first[1], s->start.ns) : first[1];
            last = MAX_OF(last, end);
        }
    out->has_steps = c->n > 0;
    if (out->has_steps) {
        out->loop_start.ns = first[1] == INT64_MAX ? first[0] : first[1];
        out->loop_end.ns = last;
    }
}

/* ---- the job ---- */

static void job_times(const struct phases_from *f, struct run_phases *out)
{
    const struct run_info *info = f->info;
    int64_t start = INT64_MAX, end = INT64_MIN;
    for (size_t i = 0; i < f->n_marks; i++) {
        const struct run_mark *m = &f->marks[i];
        if (m->mark.id == MARK_JOB_START)
            start = MIN_OF(start, m->at.ns);
        if (m->mark.id == MARK_JOB_EXIT || m->mark.id == MARK_JOB_END)
            end = MAX_OF(end, m->at.ns);
    }
    for (size_t i = 0; i < info->n_nodes; i++) /* their end was not recorded */
        if (info->nodes[i].status == RUN_RUNNING || info->nodes[i].status == RUN_DIED)
            end = MAX_OF(end, info->nodes[i].end.ns);
    out->job_start.ns = start == INT64_MAX ? info->start.ns : start;
    out->job_end.ns = end == INT64_MIN ? info->end.ns : end;
    if (out->has_steps) {
        out->job_start.ns = MIN_OF(out->job_start.ns, out->loop_start.ns);
        out->job_end.ns = MAX_OF(out->job_end.ns, out->loop_end.ns);
    }
    out->job_end.ns = MAX_OF(out->job_end.ns, out->job_start.ns);
}

/* ---- interruptions ---- */

/* The number of a notice: whether the machine goes away, or is only likelier to. */
static bool mark_asks_to_stop(const struct mark *m)
{
    if (m->id == MARK_INTERRUPTION)
        return m->number != 0;
    if (m->id != MARK_SIGNAL)
        return false;
    switch (m->number) {
    case SIGHUP:
    case SIGINT:
    case SIGQUIT:
    case SIGTERM:
        return true;
    default:
        return false;
    }
}

static bool phases_is_of(const struct run_mark *m, const struct node_info *n)
{
    return strcmp(m->node, n->id) == 0 && m->at.ns >= n->start.ns && m->at.ns <= n->end.ns;
}

/* Nodes that a request to stop ended, or may yet end: of a running one it is not known, nor of one
 * whose machine went away with its recorder. The others ignored it, or ended for another reason. */
static const bool stop_counts[RUN_STATUS_N] = {
    [RUN_RUNNING] = true,
    [RUN_INTERRUPTED] = true,
    [RUN_DIED] = true,
};

/* The first request to stop; the node's end when there is none that counts. */
static int64_t phases_stop_time(const struct phases_from *f, const struct node_info *n)
{
    int64_t at = n->end.ns;
    for (size_t k = 0; stop_counts[n->status] && k < f->n_marks; k++)
        if (phases_is_of(&f->marks[k], n) && mark_asks_to_stop(&f->marks[k].mark))
            at = MIN_OF(at, f->marks[k].at.ns);
    return at;
}

/* From the first request to the node's end, and on to its next session. A running node's end is
 * that of its samples, which its steps may be ahead of: it is interrupted until now. */
static void add_interruptions(struct changes *c, const struct phases_from *f, int64_t now)
{
    const struct run_info *info = f->info;
    for (size_t i = 0; i < info->n_nodes; i++) {
        const struct node_info *n = &info->nodes[i];
        const bool again = i + 1 < info->n_nodes && strcmp(n->id, info->nodes[i + 1].id) == 0;
        const int64_t from = phases_stop_time(f, n);
        const int64_t end = n->status == RUN_RUNNING && from < n->end.ns ? now : n->end.ns;
        const int64_t to = again ? info->nodes[i + 1].start.ns : end;
        if (from < to)
            phases_add_span(c, IN_INTERRUPTION, from, to);
    }
}

/* ---- whether it is running ---- */

static bool has_exited(const struct phases_from *f, const struct node_info *n)
{
    for (size_t i = 0; i < f->n_marks; i++) {
        const struct run_mark *m = &f->marks[i];
        if (m->mark.id == MARK_JOB_EXIT && strcmp(m->node, n->id) == 0 && m->at.ns >= n->start.ns)
            return true;
    }
    return false;
}

/* On any node; a recorder runs for a moment after its job. */
static bool phases_lives(const struct phases_from *f)
{
    return FIND_ANY(i, f->info->n_nodes,
                    f->info->nodes[i].status == RUN_RUNNING && !has_exited(f, &f->info->nodes[i]));
}

/* ---- tiling ---- */

struct tiling {
    struct run_phases *out;
    struct phase *v;
    size_t n, cap;
    int64_t at; /* everything before it is tiled */
};

static void tile_until(struct tiling *t, int64_t to, enum phase_kind kind)
{
    to = MIN_OF(to, t->out->job_end.ns);
    if (to <= t->at)
        return;
    if (t->n && t->v[t->n - 1].kind == kind)
        t->v[t->n - 1].end.ns = to;
    else
        *VEC_ADD(t->v, t->n, t->cap) = (struct phase){kind, {t->at}, {to}};
    t->at = to;
}

/* What the moments from here to the next change are. `was`: what those before were. */
static enum phase_kind kind_now(const struct run_phases *p, int64_t at, const int in[WHAT_N],
                                enum phase_kind was)
{
    if (in[IN_INTERRUPTION])
        return PHASE_INTERRUPTION;
    if (!p->has_steps || at < p->loop_start.ns)
        return PHASE_INIT;
    if (at >= p->loop_end.ns && !p->loop_goes_on)
        return PHASE_FINAL;
    if (in[IN_TRAIN] || in[IN_EVAL])
        return in[IN_TRAIN] ? PHASE_TRAIN : PHASE_EVAL;
    return was == PHASE_INTERRUPTION ? PHASE_INIT : was; /* initialization once more */
}

static void phases_tile(struct changes *c, struct run_phases *out, struct arena *a)
{
    struct tiling t = {.out = out, .at = out->job_start.ns};
    int in[WHAT_N] = {0};
    enum phase_kind kind = PHASE_INIT;
    sorted_runs_merge(&c->runs, c->v, c->n, sizeof *c->v, phases_in_order);
    for (size_t i = 0; i < c->n;) {
        const int64_t at = c->v[i].at;
        tile_until(&t, at, kind);
        for (; i < c->n && c->v[i].at == at; i++)
            in[c->v[i].what] += c->v[i].by;
        kind = kind_now(out, at, in, kind);
    }
    tile_until(&t, out->job_end.ns, kind);
    out->n = t.n;
    out->phases = ARENA_COPY(a, t.v, t.n);
    for (size_t i = 0; i < t.n; i++)
        out->seconds[t.v[i].kind] += (double)(t.v[i].end.ns - t.v[i].start.ns) / (double)NS_PER_S;
    free(t.v);
}

void phases_of(const struct phases_from *from, struct arena *a, struct run_phases *out)
{
    struct changes c = {0};
    *out = (struct run_phases){0};
    phases_add_steps(&c, from, out);
    job_times(from, out);
    out->loop_goes_on = out->has_steps && phases_lives(from);
    add_interruptions(&c, from, out->job_end.ns);
    phases_tile(&c, out, a);
    sorted_runs_free(&c.runs);
    free(c.v);
}

int phases_read(struct run *r, struct arena *a, struct run_phases *out, struct err *e)
{
    struct rank_steps *ranks;
    struct run_mark *m;
    size_t n_ranks, n;
    int rc = steps_read(r, a, &ranks, &n_ranks, e);
    if (rc == 0)
        rc = run_marks(r, a, &m, &n, e);
    if (rc == 0)
        phases_of(&(struct phases_from){run_get_info(r), m, n, ranks, n_ranks}, a, out);
    return rc;
}
