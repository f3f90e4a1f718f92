/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c - see compare.h. */
#include "compare/compare.h"

#include <math.h>

#include "base/mem.h"
#include "compare/compare_internal.h"

static const double CONFIDENCE = 0.95;

enum { LOSSES_MOST = 256 };

void compare_lose(struct comparing *c, const char *what, const char *why, int side)
{
    struct compared *o = c->out;
    if (!o->losses)
        o->losses = arena_array(c->arena, struct compared_loss, LOSSES_MOST);
    if (o->n_losses < LOSSES_MOST)
        o->losses[o->n_losses++] =
            (struct compared_loss){arena_strdup(c->arena, what), arena_strdup(c->arena, why), side};
}

static int compare_check_ask(const struct compare_ask *ask, struct err *e)
{
    for (int s = 0; s < COMPARE_SIDES; s++)
        if (ask->side[s].n == 0 || ask->side[s].n > COMPARE_RUNS_MOST)
            return err_set(e, ERR_USAGE, "a group must have 1 to %d runs, not %zu",
                           COMPARE_RUNS_MOST, ask->side[s].n);
    if (ask->confidence != 0 && !(ask->confidence >= 0.5 && ask->confidence <= 0.999))
        return err_set(e, ERR_USAGE, "the confidence must be between 0.5 and 0.999");
    return 0;
}

int compare_runs(const struct compare_ask *ask, struct arena *a, struct compared *out,
                 struct err *e)
{
    struct arena scratch[COMPARE_SIDES] = {{0}};
    struct side_reading side[COMPARE_SIDES] = {{0}};
    int rc = compare_check_ask(ask, e);
    if (rc == 0)
        rc = readings_open(ask, scratch, side, e);
    if (rc == 0) {
        struct comparing c = {.ask = ask, .side = side, .arena = a, .scratch = &scratch[0]};
        *out = (struct compared){.confidence = ask->confidence > 0 ? ask->confidence : CONFIDENCE};
        c.out = out;
        compare_sides(&c);
        compare_changes(&c);
        compare_steps(&c);
        compare_tables(&c);
        compare_detail(&c);
        compare_findings(&c);
        compare_conclude(&c);
    }
    for (int s = 0; s < COMPARE_SIDES; s++)
        arena_free(&scratch[s]);
    return rc;
}
