/* SPDX-License-Identifier: Apache-2.0 */
/* steps_seen.c - steps as a training loop shows them by its fetches, passes and optimizers.
 *
 * docs/steps.md is the definition, with pictures. One walk over the thread's points, in order:
 *
 *   a fetch       ends the step before it when that one has had its optimizer, or has only looked
 *                 (no gradients); else goes on with it: gradients are being accumulated
 *   an optimizer  is where the step ends, should no other follow. Where no loader is used, one that
 *                 steps a second time ends the step before it. The replay of a CUDA graph, which
 *                 may hold a whole step, is taken for an optimizer, each graph for another one
 *   a loader's    beginning or end means that fetches without any work behind them led to nothing,
 *                 and that forward passes without a backward pass were an evaluation
 *
 * Spans inside others do not count, but for optimizers that run inside the backward pass. */
#include <stdlib.h>

#include "base/mem.h"
#include "query/steps_internal.h"

#define NEVER INT64_MIN

struct steps_seen_stretch {
    int64_t at, end;
    bool cut; /* its end was not told */
};

struct stretches {
    struct steps_seen_stretch *v;
    size_t n, cap;
};

/* The optimizers that stepped in this step: a hash table whose entries of earlier steps count as
 * free. */
struct stepped {
    struct {
        int64_t optimizer;
        uint64_t step;
    } * v;
    size_t n, cap;
    uint64_t step;
};

struct steps_seen_walk {
    struct step_list *out;
    bool teacher; /* passes without gradients before a step's work belong to it; no loader */
    enum event_mode mode; /* of the step before, in this loop */
    bool fetched;         /* the loop that we are in has a loader */
    bool trained;         /* and a training step of it is done */

    /* The step that is being made. */
    int64_t start;          /* NEVER: there is none */
    bool by_fetch;          /* start is a fetch */
    bool forward, backward; /* with gradients, in this step */
    int64_t last;           /* end of what was last seen in it */
    bool open;              /* something in it has no end */

    /* Since its last optimizer. */
    int64_t solved; /* end of that one; NEVER: none yet */
    int64_t next;   /* first pass or zero_grad behind it; NEVER: none yet */
    bool busy;      /* a pass with gradients, since then or since the last fetch */
    struct stepped stepped;

    /* Since its last fetch. */
    int64_t fetch; /* that one, or the first of several with nothing between; NEVER: none */
    bool fetch_forward, fetch_backward;
    struct stretches looks;  /* passes without gradients, since it or since the last optimizer */
    struct stretches passes; /* earlier fetches with nothing but forward passes, gradients on */
};

static void stretches_add(struct stretches *l, struct steps_seen_stretch x)
{
    if (l->n == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 16;
        l->v = xrealloc(l->v, l->cap, sizeof *l->v);
    }
    l->v[l->n++] = x;
}

/* ---- which optimizers have stepped ---- */

static size_t stepped_slot(const struct stepped *s, int64_t optimizer)
{
    size_t i = (size_t)((uint64_t)optimizer * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (s->cap - 1);
    while (s->v[i].step == s->step && s->v[i].optimizer != optimizer)
        i = (i + 1) & (s->cap - 1);
    return i;
}

static bool stepped_has(const struct stepped *s, int64_t optimizer)
{
    return s->cap && s->v[stepped_slot(s, optimizer)].step == s->step;
}

static void stepped_grow(struct stepped *s)
{
    const struct stepped old = *s;
    s->cap = old.cap ? old.cap * 2 : 16;
    s->v = xcalloc(s->cap, sizeof *s->v);
    for (size_t i = 0; i < old.cap; i++)
        if (old.v[i].step == s->step)
            s->v[stepped_slot(s, old.v[i].optimizer)] = old.v[i];
    free(old.v);
}

static void stepped_add(struct stepped *s, int64_t optimizer)
{
    if ((s->n + 1) * 2 > s->cap)
        stepped_grow(s);
    const size_t i = stepped_slot(s, optimizer);
    s->n += s->v[i].step != s->step;
    s->v[i].optimizer = optimizer;
    s->v[i].step = s->step;
}

static void stepped_clear(struct stepped *s)
{
    s->step++;
    s->n = 0;
}

/* ---- steps that are done ---- */

static void steps_seen_add_step(struct steps_seen_walk *w, enum event_mode mode, int64_t start,
                                int64_t end, bool cut)
{
    step_list_add(w->out, (struct bare_step){
                              .start = start,
                              .end = end,
                              .number = w->out->numbers[mode],
                              .mode = mode,
                              .cut = cut,
                          });
    w->mode = mode;
    w->trained |= mode == MODE_TRAIN;
}

static void add_all(struct steps_seen_walk *w, struct stretches *l)
{
    for (size_t i = 0; i < l->n; i++)
        steps_seen_add_step(w, MODE_EVAL, l->v[i].at, l->v[i].end, l->v[i].cut);
    l->n = 0;
}

/* Nothing is being made. The loop that we are in stays what it is. */
static void steps_seen_begin_anew(struct steps_seen_walk *w)
{
    w->start = w->solved = w->next = w->fetch = w->last = NEVER;
    w->by_fetch = w->forward = w->backward = w->busy = w->open = false;
    w->fetch_forward = w->fetch_backward = false;
    w->looks.n = w->passes.n = 0;
    stepped_clear(&w->stepped);
}

static void end_train(struct steps_seen_walk *w)
{
    steps_seen_add_step(w, MODE_TRAIN, w->start, w->solved, false);
    add_all(w, &w->looks); /* behind the optimizer: the program looks at what it has learnt */
    steps_seen_begin_anew(w);
}

static bool only_looked(const struct steps_seen_walk *w)
{
    return w->looks.n > 0 && !w->fetch_forward && !w->fetch_backward;
}

/* Passes without gradients: of one fetch one step, else one step each. */
static void end_eval(struct steps_seen_walk *w)
{
    struct stretches *l = &w->looks;
    if (w->fetch != NEVER) {
        l->v[0] = (struct steps_seen_stretch){w->fetch, l->v[l->n - 1].end, l->v[l->n - 1].cut};
        l->n = 1;
    }
    add_all(w, l);
    steps_seen_begin_anew(w);
}

/* What the fetch, or the end of the loader, that comes now puts an end to. */
static void steps_seen_settle(struct steps_seen_walk *w)
{
    if (w->solved != NEVER)
        end_train(w);
    else if (only_looked(w))
        end_eval(w);
    else if (w->fetch != NEVER && w->fetch_forward && !w->fetch_backward)
        stretches_add(&w->passes, (struct steps_seen_stretch){w->fetch, w->last, false});
}

/* ---- what a point means ---- */

static bool is_idle(const struct steps_seen_walk *w)
{
    return w->fetch != NEVER && !w->fetch_forward && !w->fetch_backward && w->looks.n == 0;
}

static void steps_seen_on_fetch(struct steps_seen_walk *w, const struct point *p)
{
    steps_seen_settle(w);
    if (!w->by_fetch) /* what came before was not fetched: it is no part of this loop */
        steps_seen_begin_anew(w);
    if (w->start == NEVER)
        w->start = p->at;
    if (!is_idle(w))
        w->fetch = p->at;
    w->by_fetch = w->fetched = true;
    w->fetch_forward = w->fetch_backward = w->busy = false;
}

/* A loader's iterator was made, or has come to its end. */
static void steps_seen_on_loader(struct steps_seen_walk *w)
{
    steps_seen_settle(w);
    if (w->start != NEVER && !w->backward) {
        add_all(w, &w->passes);
        steps_seen_begin_anew(w);
    }
    w->fetch = NEVER;
    w->fetch_forward = w->fetch_backward = w->busy = w->fetched = w->trained = false;
    w->mode = MODE_TRAIN;
}

static void note_begin(struct steps_seen_walk *w, int64_t at)
{
    if (w->start == NEVER)
        w->start = at;
    else if (w->solved != NEVER && w->next == NEVER)
        w->next = at;
}

/* Work with gradients begins, and before it the program only looked; there is no loader. */
static void decide_looks(struct steps_seen_walk *w, const struct point *p)
{
    const int64_t first = w->looks.v[0].at, seen = w->looks.v[w->looks.n - 1].end;
    if (w->teacher && w->solved != NEVER) {
        w->next = w->next == NEVER ? first : MIN_OF(w->next, first);
    } else if (w->teacher) {
        w->start = w->start == NEVER ? first : MIN_OF(w->start, first);
    } else {
        const int64_t begun = w->solved != NEVER ? w->next : w->start;
        if (w->solved != NEVER)
            steps_seen_add_step(w, MODE_TRAIN, w->start, w->solved, false);
        add_all(w, &w->looks);
        steps_seen_begin_anew(w);
        w->start = begun != NEVER && begun >= seen ? begun : p->at;
    }
    w->looks.n = 0;
}

static void on_work(struct steps_seen_walk *w, const struct point *p)
{
    if (w->looks.n && !w->busy && !w->fetched)
        decide_looks(w, p);
    else if (w->looks.n && w->solved == NEVER)
        w->looks.n = 0; /* a teacher's, in a fetch that goes on to train */
    note_begin(w, p->at);
    w->busy = true;
}

static void on_forward(struct steps_seen_walk *w, const struct point *p)
{
    on_work(w, p);
    w->forward = w->fetch_forward = true;
}

static void on_backward(struct steps_seen_walk *w, const struct point *p)
{
    on_work(w, p);
    w->backward = w->fetch_backward = true;
}

static void on_look(struct steps_seen_walk *w, const struct point *p)
{
    if (!w->busy)
        stretches_add(&w->looks, (struct steps_seen_stretch){p->at, p->end, p->open});
}

/* Optimizers and graphs are numbered apart from each other. */
static int64_t solver_of(const struct point *p)
{
    return p->what == EV_GRAPH ? ~p->value : p->value;
}

static void on_optimizer(struct steps_seen_walk *w, const struct point *p)
{
    on_work(w, p);
    if (!w->fetched && w->solved != NEVER && stepped_has(&w->stepped, solver_of(p))) {
        const int64_t next = w->next;
        end_train(w);
        w->start = next;
    }
    stepped_add(&w->stepped, solver_of(p));
    w->solved = p->end;
    w->next = NEVER;
    w->busy = w->fetch_forward = w->fetch_backward = false;
    w->looks.n = w->passes.n = 0;
}

static void steps_seen_take(struct steps_seen_walk *w, const struct point *p)
{
    switch (p->what) {
    case EV_DATA:
        if (p->dead)
            steps_seen_on_loader(w);
        else
            steps_seen_on_fetch(w, p);
        break;
    case EV_LOADER_START:
        steps_seen_on_loader(w);
        return;
    case EV_FORWARD:
        on_forward(w, p);
        break;
    case EV_FORWARD_EVAL:
        on_look(w, p);
        break;
    case EV_BACKWARD:
        on_backward(w, p);
        break;
    case EV_ZERO_GRAD:
        note_begin(w, p->at);
        break;
    case EV_OPTIMIZER:
    case EV_GRAPH:
        on_optimizer(w, p);
        break;
    default:
        return;
    }
    const bool solves = p->what == EV_OPTIMIZER || p->what == EV_GRAPH;
    const bool inside = w->busy || p->what == EV_DATA || solves;
    w->last = MAX_OF(w->last, p->end);
    w->open |= p->open && inside;
}

/* ---- the end of the events ---- */

/* Whether the pass behind the last fetch waits for its backward pass: those before it got one. */
static bool awaits_backward(const struct steps_seen_walk *w)
{
    return w->trained && w->by_fetch && w->fetch_forward && w->passes.n == 0;
}

/* The process, or what we know of it, ends while a step is being made. */
static void end_cut(struct steps_seen_walk *w)
{
    const bool evaluates = !w->backward && w->solved == NEVER &&
                           (w->passes.n || (!w->forward && w->mode == MODE_EVAL));
    const int64_t start = evaluates && w->fetch != NEVER ? w->fetch : w->start;
    add_all(w, &w->passes);
    steps_seen_add_step(w, evaluates ? MODE_EVAL : MODE_TRAIN, start, w->last, true);
}

static void end_walk(struct steps_seen_walk *w)
{
    /* Without a loader, work behind an optimizer is the next step's; else more of this one. */
    const bool goes_on = w->busy && !w->fetched && (w->fetch_backward || w->open);
    if (w->solved != NEVER && goes_on) {
        const int64_t next = w->next, last = w->last;
        end_train(w);
        steps_seen_add_step(w, MODE_TRAIN, next, last, true);
    } else if (w->solved != NEVER && w->open) {
        end_cut(w);
    } else if (w->solved != NEVER) {
        end_train(w);
    } else if (only_looked(w)) {
        end_eval(w);
    } else if (w->start != NEVER && (w->backward || w->open || awaits_backward(w))) {
        end_cut(w);
    } else if (w->start != NEVER && w->by_fetch) {
        steps_seen_settle(w);
        add_all(w, &w->passes);
    }
}

/* ---- the walk ---- */

/* The spans that decide, in order, those inside others left out. */
struct outermost {
    const struct points *p;
    size_t at;
    int64_t covered;
    bool by_optimizer;
};

static bool covers(uint8_t what)
{
    switch (what) {
    case EV_DATA:
    case EV_FORWARD:
    case EV_FORWARD_EVAL:
    case EV_BACKWARD:
    case EV_OPTIMIZER:
    case EV_GRAPH:
    case EV_ZERO_GRAD:
        return true;
    default:
        return false;
    }
}

static bool next_outermost(struct outermost *o, struct point *out)
{
    while (o->at < o->p->n) {
        *out = o->p->v[o->at++];
        const bool inside = out->at < o->covered;
        if (out->what == EV_LOADER_START && !inside)
            return true;
        if (!covers(out->what))
            continue;
        if (inside && (out->what != EV_OPTIMIZER || o->by_optimizer))
            continue;
        if (inside) /* run by the backward pass, with which it ends */
            out->end = MAX_OF(out->end, o->covered);
        else
            o->by_optimizer = out->what == EV_OPTIMIZER;
        o->covered = MAX_OF(o->covered, out->end);
        return true;
    }
    return false;
}

/* A teacher works in every step, an evaluation comes now and then: whether in half of the steps
 * passes without gradients come before the work. */
static bool has_teacher(const struct points *points)
{
    struct outermost o = {.p = points, .covered = INT64_MIN};
    struct point p;
    size_t steps = 0, looked = 0;
    int64_t first = 0;
    bool looks = false, busy = false;
    while (points->evals && next_outermost(&o, &p)) {
        const bool works = p.what == EV_FORWARD || p.what == EV_BACKWARD || p.what == EV_OPTIMIZER;
        if (p.what == EV_FORWARD_EVAL && !busy)
            looks = steps > 0;
        if (p.what == EV_DATA)
            looks = false;
        if (works) {
            looked += looks;
            looks = false;
            busy = p.what != EV_OPTIMIZER;
        }
        if (p.what != EV_OPTIMIZER)
            continue;
        first = steps ? first : p.value;
        steps += p.value == first;
    }
    return looked > 0 && looked * 2 >= steps;
}

/* ---- steps whose work is not seen ---- */

/* A CUDA job may fetch batch after batch with nothing in between that hooks see: its steps run as a
 * graph, or in C++. After steps that were seen, so many fetches that nothing follows are steps. */
enum { BARE_FETCHES_LEAST = 10 };

static bool is_bare(const struct point *p)
{
    return p->what == EV_DATA && !p->dead && !p->open;
}

static void add_bare_fetches(const struct points *points, struct step_list *out)
{
    const int64_t after = out->v[out->n - 1].end;
    size_t from = points->n, n = 0;
    for (; from > 0 && points->v[from - 1].at >= after; from--) {
        const struct point *p = &points->v[from - 1];
        if (covers(p->what) && p->what != EV_DATA)
            break;
        n += is_bare(p);
    }
    if (n < BARE_FETCHES_LEAST || n <= out->n)
        return;
    const struct point *last = NULL;
    for (size_t i = from; i < points->n; i++) {
        const struct point *p = &points->v[i];
        if (p->what != EV_DATA)
            continue;
        if (last)
            step_list_add(out, (struct bare_step){.start = last->at,
                                                  .end = p->at,
                                                  .number = out->numbers[MODE_TRAIN]});
        last = is_bare(p) ? p : NULL;
    }
}

static bool uses_cuda(const struct points *points)
{
    for (size_t i = 0; i < points->n; i++)
        if (points->v[i].what == EV_DEVICE)
            return true;
    return false;
}

void steps_seen(const struct points *points, struct step_list *out)
{
    struct steps_seen_walk w = {.out = out, .teacher = has_teacher(points), .mode = MODE_TRAIN};
    struct outermost o = {.p = points, .covered = INT64_MIN};
    struct point p;
    steps_seen_begin_anew(&w);
    while (next_outermost(&o, &p))
        steps_seen_take(&w, &p);
    end_walk(&w);
    if (out->n && uses_cuda(points))
        add_bare_fetches(points, out);
    free(w.looks.v);
    free(w.passes.v);
    free(w.stepped.v);
}
