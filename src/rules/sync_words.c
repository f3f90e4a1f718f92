/* SPDX-License-Identifier: Apache-2.0 */
/* sync_words.c - see sync_words.h. */
#include "rules/sync_words.h"

#include <math.h>
#include <string.h>

#include "base/human.h"
#include "base/mem.h"
#include "query/sync_places.h"
#include "rules/correlate_internal.h"

/* That a message names. */
enum { PLACES_NAMED = 3 };

static const struct run_process *sync_words_process_of(const struct correlate_ask *ask,
                                                       const struct finding *f)
{
    for (size_t i = 0; i < ask->n_ranks; i++)
        if (is_about(f, ask->ranks[i].node, ask->ranks[i].rank))
            return ask->ranks[i].process;
    return NULL;
}

static bool is_same_process(const struct run_process *a, const struct run_process *b)
{
    return a->pid == b->pid && a->session == b->session && strcmp(a->node, b->node) == 0;
}

/* "item() at train.py:31 (205 per step, 4.1 s)" */
static const char *place_words(const struct sync_place *x, double steps, struct arena *a)
{
    char seconds[HUMAN_LEN];
    const double each = (double)x->count / steps;
    const char *often = each >= 1 ? arena_printf(a, "%.3g per step", each)
                                  : arena_printf(a, "%llu times", (unsigned long long)x->count);
    return arena_printf(a, "%s%s%s (%s%s%s)", x->op, *x->op ? " at " : "", x->where, often,
                        isnan(x->seconds) ? "" : ", ",
                        isnan(x->seconds) ? ""
                                          : duration_text(x->seconds, seconds, sizeof seconds));
}

static double sync_words_number_of(const struct finding *f, const char *name)
{
    for (size_t i = 0; i < f->n_numbers; i++)
        if (strcmp(f->numbers[i].name, name) == 0)
            return f->numbers[i].v;
    return NAN;
}

static void name_places(const struct correlate_ask *ask, struct verdict *v, struct finding *f,
                        const struct sync_place *places, size_t n)
{
    const struct run_process *process = sync_words_process_of(ask, f);
    const double steps = fmax(sync_words_number_of(f, "steps"), 1); /* 1: not known */
    const char *words = "";
    size_t named = 0;
    double calls = 0;
    for (size_t i = 0; process && i < n; i++) {
        if (!is_same_process(places[i].process, process))
            continue;
        calls += (double)places[i].count;
        if (named++ < PLACES_NAMED)
            words = arena_printf(v->arena, "%s%s%s", words, *words ? ", " : "",
                                 place_words(&places[i], steps, v->arena));
    }
    if (!named)
        return;
    f->message = arena_printf(v->arena, "%s; mostly in %s%s", f->message, words,
                              named > PLACES_NAMED ? " and others" : "");
    finding_number(v, f, "waits_per_step", calls / steps, "");
}

int sync_name_places(const struct correlate_ask *ask, struct verdict *v, struct arena *a,
                     struct err *e)
{
    struct sync_place *places;
    size_t n;
    if (v->n_findings == 0)
        return 0;
    const int rc = sync_places_read(ask->run, a, &places, &n, e);
    for (size_t i = 0; rc == 0 && i < v->n_findings; i++)
        name_places(ask, v, &v->findings[i], places, n);
    return rc;
}
