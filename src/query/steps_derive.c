/* SPDX-License-Identifier: Apache-2.0 */
/* steps_derive.c - the events of one thread in, its steps out. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "query/steps_internal.h"
#include "record/event.h"

/* ---- steps that the program or its framework marked ---- */

#define NEVER INT64_MIN

/* Appends it; what would overlap the one before is cut off at its front. */
static void step_list_add(struct step_list *l, struct bare_step s)
{
    if (l->n)
        s.start = MAX_OF(s.start, l->v[l->n - 1].end);
    if (s.end < s.start)
        return;
    *VEC_ADD(l->v, l->n, l->cap) = s;
    l->numbers[s.mode]++;
}

/* Whether a fetch before it cannot belong to a step after it. */
static bool parts_fetch_from_step(uint8_t what)
{
    return what == EV_FORWARD || what == EV_FORWARD_EVAL || what == EV_BACKWARD ||
           what == EV_OPTIMIZER || what == EV_CHECKPOINT || what == EV_LOADER_START;
}

static void add_marked(struct step_list *out, const struct point *x, int64_t start)
{
    step_list_add(out, (struct bare_step){
                           .start = start,
                           .end = x->end,
                           .number = x->value,
                           .mode = (enum event_mode)x->mode,
                           .cut = x->open,
                           .marked = true,
                       });
}

/* The fetches before the next step. */
struct fetched {
    int64_t first;  /* NEVER: there are none */
    size_t n, most; /* most: before any step so far */
};

static void fetched_on_fetch(struct fetched *f, const struct point *x)
{
    /* A loader that looks ahead is found empty before its last step. Where more was fetched
     * than any step takes, the batches were for something else. */
    if (x->dead && f->n > f->most)
        f->first = NEVER;
    if (x->dead)
        return;
    f->n = f->first == NEVER ? 1 : f->n + 1;
    f->first = f->first == NEVER ? x->at : f->first;
}

static void fetched_on_step(struct fetched *f)
{
    if (f->first != NEVER)
        f->most = MAX_OF(f->most, f->n);
    f->first = NEVER;
}

struct marked_walk {
    struct fetched f;
    int64_t done, inner;
    size_t before; /* steps, without the one that ends at `done` */
    bool any;
};

static void marked_walk_take(struct marked_walk *w, const struct point *x, struct step_list *out)
{
    if (x->what == EV_STEP_VOID && x->at <= w->done && x->at > w->inner)
        out->n = w->before;
    if (x->at < w->done) { /* inside a step: the outermost one counts */
        w->inner = x->what == POINT_STEP ? MAX_OF(w->inner, x->end) : w->inner;
        return;
    }
    if (x->what == POINT_STEP) {
        w->before = out->n;
        add_marked(out, x, w->f.first == NEVER ? x->at : w->f.first);
        w->done = x->end;
        fetched_on_step(&w->f);
        w->any = true;
    } else if (x->what == EV_DATA) {
        fetched_on_fetch(&w->f, x);
    } else if (parts_fetch_from_step(x->what)) {
        w->f.first = NEVER;
    }
}

/* ---- steps as a training loop shows them by its fetches, passes and optimizers ----
 *
 * docs/steps.md is the definition, with pictures. One walk over the thread's points, in order:
 *
 *   a fetch       ends the step before it when that one has had its optimizer, or has only looked
 *                 (no gradients); else continues it: gradients are being accumulated
 *   an optimizer  is where the step ends, should no other follow. Where no loader is used, one that
 *                 steps a second time ends the step before it. The replay of a CUDA graph, which
 *                 may contain a whole step, is taken for an optimizer, each graph for another one
 *   a loader's    beginning or end means that fetches without any work after them led to nothing,
 *                 and that forward passes without a backward pass were an evaluation
 *
 * Spans inside others do not count, but for optimizers that run inside the backward pass. */

struct pass_span {
    int64_t at, end;
    bool cut; /* its end is not known */
};

struct pass_spans {
    struct pass_span *v;
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

struct steps_walk {
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
    int64_t next;   /* first pass or zero_grad after it; NEVER: none yet */
    bool busy;      /* a pass with gradients, since then or since the last fetch */
    struct stepped stepped;

    /* Since its last fetch. */
    int64_t fetch; /* that one, or the first of several with nothing between; NEVER: none */
    bool fetch_forward, fetch_backward;
    struct pass_spans looks;  /* passes without gradients, since it or since the last optimizer */
    struct pass_spans passes; /* earlier fetches with nothing but forward passes, gradients on */
};

static void pass_spans_add(struct pass_spans *l, struct pass_span x)
{
    *VEC_ADD(l->v, l->n, l->cap) = x;
}

/* ---- which optimizers have stepped ---- */

static size_t stepped_slot(const struct stepped *s, int64_t optimizer)
{
    size_t i = (size_t)((uint64_t)optimizer * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (s->cap - 1);
    assert((s->cap & (s->cap - 1)) == 0 && s->n < s->cap); /* so one is free, and this ends */
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

static void steps_walk_add_step(struct steps_walk *w, enum event_mode mode, int64_t start,
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

static void add_all(struct steps_walk *w, struct pass_spans *l)
{
    for (size_t i = 0; i < l->n; i++)
        steps_walk_add_step(w, MODE_EVAL, l->v[i].at, l->v[i].end, l->v[i].cut);
    l->n = 0;
}

/* Nothing is being made. The loop that we are in stays what it is. */
static void steps_walk_begin_anew(struct steps_walk *w)
{
    w->start = w->solved = w->next = w->fetch = w->last = NEVER;
    w->by_fetch = w->forward = w->backward = w->busy = w->open = false;
    w->fetch_forward = w->fetch_backward = false;
    w->looks.n = w->passes.n = 0;
    stepped_clear(&w->stepped);
}

static void end_train(struct steps_walk *w)
{
    assert(w->start != NEVER && w->solved != NEVER);
    steps_walk_add_step(w, MODE_TRAIN, w->start, w->solved, false);
    add_all(w, &w->looks); /* after the optimizer: the program evaluates the model */
    steps_walk_begin_anew(w);
}

static bool only_looked(const struct steps_walk *w)
{
    return w->looks.n > 0 && !w->fetch_forward && !w->fetch_backward;
}

/* Passes without gradients: of one fetch one step, else one step each. */
static void end_eval(struct steps_walk *w)
{
    struct pass_spans *l = &w->looks;
    assert(l->n > 0);
    if (w->fetch != NEVER) {
        l->v[0] = (struct pass_span){w->fetch, l->v[l->n - 1].end, l->v[l->n - 1].cut};
        l->n = 1;
    }
    add_all(w, l);
    steps_walk_begin_anew(w);
}

/* What the fetch, or the end of the loader, that comes now puts an end to. */
static void steps_walk_settle(struct steps_walk *w)
{
    if (w->solved != NEVER)
        end_train(w);
    else if (only_looked(w))
        end_eval(w);
    else if (w->fetch != NEVER && w->fetch_forward && !w->fetch_backward)
        pass_spans_add(&w->passes, (struct pass_span){w->fetch, w->last, false});
}

/* ---- what a point means ---- */

static bool is_idle(const struct steps_walk *w)
{
    return w->fetch != NEVER && !w->fetch_forward && !w->fetch_backward && w->looks.n == 0;
}

static void steps_walk_on_fetch(struct steps_walk *w, const struct point *p)
{
    steps_walk_settle(w);
    if (!w->by_fetch) /* what came before was not fetched: it is not part of this loop */
        steps_walk_begin_anew(w);
    if (w->start == NEVER)
        w->start = p->at;
    if (!is_idle(w))
        w->fetch = p->at;
    w->by_fetch = w->fetched = true;
    w->fetch_forward = w->fetch_backward = w->busy = false;
}

/* A loader's iterator was made, or has come to its end. */
static void steps_walk_on_loader(struct steps_walk *w)
{
    steps_walk_settle(w);
    if (w->start != NEVER && !w->backward) {
        add_all(w, &w->passes);
        steps_walk_begin_anew(w);
    }
    w->fetch = NEVER;
    w->fetch_forward = w->fetch_backward = w->busy = w->fetched = w->trained = false;
    w->mode = MODE_TRAIN;
}

static void note_begin(struct steps_walk *w, int64_t at)
{
    if (w->start == NEVER)
        w->start = at;
    else if (w->solved != NEVER && w->next == NEVER)
        w->next = at;
}

/* Work with gradients begins, and before it the program only looked; there is no loader. */
static void decide_looks(struct steps_walk *w, const struct point *p)
{
    assert(w->looks.n > 0 && !w->fetched);
    const int64_t first = w->looks.v[0].at, seen = w->looks.v[w->looks.n - 1].end;
    if (w->teacher && w->solved != NEVER) {
        w->next = w->next == NEVER ? first : MIN_OF(w->next, first);
    } else if (w->teacher) {
        w->start = w->start == NEVER ? first : MIN_OF(w->start, first);
    } else {
        const int64_t begun = w->solved != NEVER ? w->next : w->start;
        if (w->solved != NEVER)
            steps_walk_add_step(w, MODE_TRAIN, w->start, w->solved, false);
        add_all(w, &w->looks);
        steps_walk_begin_anew(w);
        w->start = begun != NEVER && begun >= seen ? begun : p->at;
    }
    w->looks.n = 0;
}

static void on_work(struct steps_walk *w, const struct point *p)
{
    if (w->looks.n && !w->busy && !w->fetched)
        decide_looks(w, p);
    else if (w->looks.n && w->solved == NEVER)
        w->looks.n = 0; /* a teacher's, in a fetch that then trains */
    note_begin(w, p->at);
    w->busy = true;
}

static void on_forward(struct steps_walk *w, const struct point *p)
{
    on_work(w, p);
    w->forward = w->fetch_forward = true;
}

static void on_backward(struct steps_walk *w, const struct point *p)
{
    on_work(w, p);
    w->backward = w->fetch_backward = true;
}

static void on_look(struct steps_walk *w, const struct point *p)
{
    if (!w->busy)
        pass_spans_add(&w->looks, (struct pass_span){p->at, p->end, p->open});
}

/* Optimizers and graphs are numbered apart from each other. */
static int64_t solver_of(const struct point *p)
{
    return p->what == EV_GRAPH ? ~p->value : p->value;
}

static void on_optimizer(struct steps_walk *w, const struct point *p)
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

static void steps_walk_take(struct steps_walk *w, const struct point *p)
{
    switch (p->what) {
    case EV_DATA:
        if (p->dead)
            steps_walk_on_loader(w);
        else
            steps_walk_on_fetch(w, p);
        break;
    case EV_LOADER_START:
        steps_walk_on_loader(w);
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

/* Whether the pass after the last fetch waits for its backward pass: those before it got one. */
static bool awaits_backward(const struct steps_walk *w)
{
    return w->trained && w->by_fetch && w->fetch_forward && w->passes.n == 0;
}

/* The process, or what we know of it, ends while a step is being made. */
static void end_cut(struct steps_walk *w)
{
    const bool evaluates = !w->backward && w->solved == NEVER &&
                           (w->passes.n || (!w->forward && w->mode == MODE_EVAL));
    const int64_t start = evaluates && w->fetch != NEVER ? w->fetch : w->start;
    add_all(w, &w->passes);
    steps_walk_add_step(w, evaluates ? MODE_EVAL : MODE_TRAIN, start, w->last, true);
}

static void end_walk(struct steps_walk *w)
{
    /* Without a loader, work after an optimizer is the next step's; else more of this one. */
    const bool goes_on = w->busy && !w->fetched && (w->fetch_backward || w->open);
    if (w->solved != NEVER && goes_on) {
        const int64_t next = w->next, last = w->last;
        end_train(w);
        steps_walk_add_step(w, MODE_TRAIN, next, last, true);
    } else if (w->solved != NEVER && w->open) {
        end_cut(w);
    } else if (w->solved != NEVER) {
        end_train(w);
    } else if (only_looked(w)) {
        end_eval(w);
    } else if (w->start != NEVER && (w->backward || w->open || awaits_backward(w))) {
        end_cut(w);
    } else if (w->start != NEVER && w->by_fetch) {
        steps_walk_settle(w);
        add_all(w, &w->passes);
    }
}

/* ---- the walk ---- */

/* The spans that decide, in order, those inside others left out. */
struct outermost {
    int64_t covered;
    bool by_optimizer;
};

static bool point_covers(uint8_t what)
{
    return point_is_phase(what) || what == EV_ZERO_GRAD;
}

/* Whether the point is one of them; *out is what it counts as. */
static bool is_outermost(struct outermost *o, const struct point *p, struct point *out)
{
    const bool inside = p->at < o->covered;
    *out = *p;
    if (p->what == EV_LOADER_START)
        return !inside;
    if (!point_covers(p->what) || (inside && (p->what != EV_OPTIMIZER || o->by_optimizer)))
        return false;
    if (inside) /* run by the backward pass, with which it ends */
        out->end = MAX_OF(out->end, o->covered);
    else
        o->by_optimizer = p->what == EV_OPTIMIZER;
    o->covered = MAX_OF(o->covered, out->end);
    return true;
}

/* A teacher works in every step, an evaluation comes now and then: whether in half of the steps
 * passes without gradients come before the work. */
struct teacher_walk {
    struct outermost outermost;
    size_t steps, looked;
    int64_t first;
    bool looks, busy;
};

static void teacher_walk_take(struct teacher_walk *w, const struct point *x)
{
    struct point p;
    if (!is_outermost(&w->outermost, x, &p))
        return;
    const bool works = p.what == EV_FORWARD || p.what == EV_BACKWARD || p.what == EV_OPTIMIZER;
    if (p.what == EV_FORWARD_EVAL && !w->busy)
        w->looks = w->steps > 0;
    if (p.what == EV_DATA)
        w->looks = false;
    if (works) {
        w->looked += w->looks;
        w->looks = false;
        w->busy = p.what != EV_OPTIMIZER;
    }
    if (p.what != EV_OPTIMIZER)
        return;
    w->first = w->steps ? w->first : p.value;
    w->steps += p.value == w->first;
}

static bool has_teacher(const struct teacher_walk *w)
{
    return w->looked > 0 && w->looked * 2 >= w->steps;
}

/* ---- steps whose work is not seen ---- */

/* A CUDA job may fetch batch after batch with nothing in between that hooks see: its steps run as a
 * graph, or in C++. After steps that were seen, so many fetches without any work after them are
 * steps. */
enum { BARE_FETCHES_LEAST = 10 };

static bool is_bare(const struct point *p)
{
    return p->what == EV_DATA && !p->dead && !p->open;
}

/* `dropped`: steps that are not in the list any more. */
static void add_bare_fetches(const struct points *points, struct step_list *out, size_t dropped)
{
    const int64_t after = out->v[out->n - 1].end;
    size_t from = points->n, n = 0;
    for (; from > 0 && points->v[from - 1].at >= after; from--) {
        const struct point *p = &points->v[from - 1];
        if (point_covers(p->what) && p->what != EV_DATA)
            break;
        n += is_bare(p);
    }
    if (n < BARE_FETCHES_LEAST || n <= out->n + dropped)
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

/* ---- the walker ----
 *
 * Passes follow each other, because one needs what another found in all points: which fetches were
 * from an empty loader, whether there is a teacher, whether the program marks steps. Each pass
 * takes points one by one, so its state after the points before the mark is all that it needs to
 * continue. What a pass found in all points may become another one later: then steps_walker_end
 * refuses, and the caller begins anew. */

/* Finds fetches from an empty loader: hooks emit the size of every batch where it is known, so it
 * is one without a size when the fetch before it had one. */
struct look_walk {
    bool fetched, sized, sized_before;
};

struct steps_walker {
    size_t taken, dropped;
    bool goes_on; /* points were taken by a pass before: `marked` and `taught` are decided */
    bool marked, taught, cuda;
    bool marks_some, looks; /* there are marked steps; passes without gradients */
    struct look_walk look;
    struct teacher_walk teacher;
    struct marked_walk marks;
    struct outermost outermost;
    struct steps_walk loop;
    struct step_list list;
};

struct steps_walker *steps_walker_open(void)
{
    struct steps_walker *w = xcalloc(1, sizeof *w);
    w->outermost.covered = w->teacher.outermost.covered = INT64_MIN;
    w->marks = (struct marked_walk){.f = {.first = NEVER}, .done = INT64_MIN, .inner = INT64_MIN};
    w->loop.mode = MODE_TRAIN;
    steps_walk_begin_anew(&w->loop);
    return w;
}

void steps_walker_close(struct steps_walker *w)
{
    if (!w)
        return;
    free(w->loop.looks.v);
    free(w->loop.passes.v);
    free(w->loop.stepped.v);
    free(w->list.v);
    free(w);
}

static void *steps_walker_dup(const void *p, size_t n, size_t size)
{
    return n ? memcpy(xmalloc(n * size), p, n * size) : NULL;
}

/* The steps and the pass that makes them; the other passes are the caller's. */
static void steps_walker_copy_steps(struct steps_walker *to, const struct steps_walker *w)
{
    to->marks = w->marks;
    to->outermost = w->outermost;
    to->loop = w->loop;
    to->loop.looks.v =
        steps_walker_dup(w->loop.looks.v, w->loop.looks.cap, sizeof *w->loop.looks.v);
    to->loop.passes.v =
        steps_walker_dup(w->loop.passes.v, w->loop.passes.cap, sizeof *w->loop.passes.v);
    to->loop.stepped.v =
        steps_walker_dup(w->loop.stepped.v, w->loop.stepped.cap, sizeof *w->loop.stepped.v);
    to->list = w->list;
    to->list.v = steps_walker_dup(w->list.v, w->list.n, sizeof *w->list.v);
    to->list.cap = w->list.n; /* it may have been much longer */
}

struct steps_walker *steps_walker_copy(const struct steps_walker *w)
{
    struct steps_walker *to = steps_walker_open();
    *to = *w;
    steps_walker_copy_steps(to, w);
    return to;
}

size_t steps_walker_taken(const struct steps_walker *w)
{
    return w->taken;
}

const struct step_list *steps_walker_list(const struct steps_walker *w)
{
    return &w->list;
}

void steps_walker_drop(struct steps_walker *w, size_t points, size_t steps)
{
    const size_t n = steps - w->dropped;
    assert(points <= w->taken && steps >= w->dropped && n <= w->list.n);
    assert(!w->marked || n <= w->marks.before);
    w->taken -= points;
    w->dropped = steps;
    w->list.n -= n;
    if (n) {
        memmove(w->list.v, w->list.v + n, w->list.n * sizeof *w->list.v);
        w->list.v = xrealloc(w->list.v, w->list.n, sizeof *w->list.v);
        w->list.cap = w->list.n;
    }
    w->marks.before -= w->marked ? n : 0;
}

/* Returns whether what is known of the fetches before `mark` is final. */
static bool steps_walker_look(struct steps_walker *w, struct points *p, size_t mark,
                              struct look_walk *at_mark)
{
    struct look_walk *l = &w->look;
    struct point *fetch = NULL;
    for (size_t i = w->taken; i < p->n; i++) {
        struct point *x = &p->v[i];
        if (i == mark)
            *at_mark = *l;
        w->cuda |= x->what == EV_DEVICE;
        w->marks_some |= x->what == POINT_STEP;
        w->looks |= x->what == EV_FORWARD_EVAL;
        l->sized |= x->what == EV_BATCH_SIZE;
        if (x->what != EV_DATA)
            continue;
        if (fetch)
            fetch->dead = l->sized_before && !l->sized;
        l->sized_before = l->fetched && l->sized;
        l->sized = false;
        l->fetched = true;
        fetch = x;
    }
    if (fetch) /* while it waits, nothing is known about it */
        fetch->dead = l->sized_before && !l->sized && !fetch->open;
    return !l->fetched || (fetch && fetch >= p->v + mark);
}

static void steps_walker_take(struct steps_walker *w, const struct point *x)
{
    struct point p;
    if (w->marked)
        marked_walk_take(&w->marks, x, &w->list);
    else if (is_outermost(&w->outermost, x, &p))
        steps_walk_take(&w->loop, &p);
}

/* Where the program marks no steps. */
static void steps_walker_end_loop(struct steps_walker *w, const struct points *p)
{
    w->loop.out = &w->list;
    end_walk(&w->loop);
    if (w->list.n && w->cuda)
        add_bare_fetches(p, &w->list, w->dropped);
}

bool steps_walker_end(struct steps_walker *w, struct points *p, size_t mark,
                      struct steps_walker **before)
{
    struct steps_walker at = *w;
    const bool final = steps_walker_look(w, p, mark, &at.look) && before && mark < p->n;
    for (size_t i = w->taken; (w->looks || before) && i < p->n; i++) {
        if (i == mark)
            at.teacher = w->teacher;
        teacher_walk_take(&w->teacher, &p->v[i]);
    }
    const bool taught = has_teacher(&w->teacher), marked = w->marks_some;
    if (before)
        *before = NULL;
    if (w->goes_on && (marked != w->marked || (!marked && taught != w->taught)))
        return false;
    w->marked = marked;
    w->taught = w->loop.teacher = taught;
    w->loop.out = &w->list;
    for (size_t i = w->taken; i < p->n; i++) {
        if (i == mark && final && i > w->taken) {
            *before = steps_walker_open();
            at.goes_on = true;
            at.marked = marked;
            at.taught = taught;
            at.cuda = w->cuda;
            at.marks_some = w->marks_some;
            at.looks = w->looks;
            at.taken = mark;
            **before = at;
            steps_walker_copy_steps(*before, w);
        }
        steps_walker_take(w, &p->v[i]);
    }
    if (!marked)
        steps_walker_end_loop(w, p);
    return true;
}

void steps_of_points(struct points *p, struct arena *a, struct step **out, size_t *n)
{
    struct steps_walker *w = steps_walker_open();
    struct steps_fill fill;
    const bool good = steps_walker_end(w, p, p->n, NULL);
    assert(good);
    (void)good;
    *out = arena_array(a, struct step, w->list.n);
    *n = w->list.n;
    steps_fill_open(&fill, p);
    steps_fill_next(&fill, &w->list, 0, *out, *n);
    steps_walker_close(w);
}

void steps_derive(const struct run_event *v, size_t n, struct arena *a, struct step **out,
                  size_t *n_out)
{
    struct points p = {0};
    struct names_seen names = {0};
    for (size_t i = 0; i < n; i++)
        points_add(&p, &v[i].event, names_seen_find(&names, v[i].event.name));
    points_sort(&p);
    steps_of_points(&p, a, out, n_out);
    steps_mark_warmup(*out, *n_out);
    points_free(&p);
    /* Every step begins with an event; both are in order of time. */
    for (size_t i = 0, k = 0; i < *n_out; i++) {
        wall_ns *start = &(*out)[i].start;
        while (k + 1 < n && v[k + 1].event.at.ns <= start->ns)
            k++;
        start->ns += v[k].at.ns - v[k].event.at.ns;
    }
}
