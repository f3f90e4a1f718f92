/* SPDX-License-Identifier: Apache-2.0 */
/* steps_said.c - steps that the program or its framework marked itself. */
#include "base/mem.h"
#include "query/steps_internal.h"

#define NEVER INT64_MIN

/* Whether a fetch before it cannot belong to a step behind it. */
static bool parts_fetch_from_step(uint8_t what)
{
    switch (what) {
    case EV_FORWARD:
    case EV_FORWARD_EVAL:
    case EV_BACKWARD:
    case EV_OPTIMIZER:
    case EV_CHECKPOINT:
    case EV_LOADER_START:
        return true;
    default:
        return false;
    }
}

static void add_said(struct step_list *out, const struct point *x, int64_t start)
{
    step_list_add(out, (struct bare_step){
                           .start = start,
                           .end = x->end,
                           .number = x->value,
                           .mode = (enum event_mode)x->mode,
                           .cut = x->open,
                           .said = true,
                       });
}

/* The fetches in front of the next step. */
struct fetched {
    int64_t first;  /* NEVER: there are none */
    size_t n, most; /* most: in front of any step so far */
};

static void steps_said_on_fetch(struct fetched *f, const struct point *x)
{
    /* A loader that looks ahead is found empty in front of its last step. Where more was fetched
     * than any step takes, the batches were for something else. */
    if (x->dead && f->n > f->most)
        f->first = NEVER;
    if (x->dead)
        return;
    f->n = f->first == NEVER ? 1 : f->n + 1;
    f->first = f->first == NEVER ? x->at : f->first;
}

static void steps_said_on_step(struct fetched *f)
{
    if (f->first != NEVER)
        f->most = MAX_OF(f->most, f->n);
    f->first = NEVER;
}

bool steps_said(const struct points *p, struct step_list *out)
{
    struct fetched f = {.first = NEVER};
    int64_t done = INT64_MIN, inner = INT64_MIN;
    size_t before = 0; /* steps, without the one that ends at `done` */
    bool any = false;
    for (size_t i = 0; i < p->n; i++) {
        const struct point *x = &p->v[i];
        if (x->what == EV_STEP_VOID && x->at <= done && x->at > inner)
            out->n = before;
        if (x->at < done) { /* inside a step: the outermost one counts */
            inner = x->what == POINT_STEP ? MAX_OF(inner, x->end) : inner;
            continue;
        }
        if (x->what == POINT_STEP) {
            before = out->n;
            add_said(out, x, f.first == NEVER ? x->at : f.first);
            done = x->end;
            steps_said_on_step(&f);
            any = true;
        } else if (x->what == EV_DATA) {
            steps_said_on_fetch(&f, x);
        } else if (parts_fetch_from_step(x->what)) {
            f.first = NEVER;
        }
    }
    return any;
}
