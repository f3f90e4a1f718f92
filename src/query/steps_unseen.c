/* SPDX-License-Identifier: Apache-2.0 */
/* steps_unseen.c - parts of steps that nobody could see. See steps.h. */
#include <string.h>

#include "base/mem.h"
#include "query/steps.h"

/* "keras data" is about the part "data". */
bool steps_part_lost(const struct run_loss *lost, size_t n_lost, size_t part)
{
    const char *name = step_part_name(part);
    for (size_t i = 0; i < n_lost; i++) {
        const struct loss *l = &lost[i].loss;
        if (l->id == LOSS_HOOK && *l->entity && strcmp(l->part, name) == 0)
            return true;
    }
    return false;
}

static bool are_said(const struct rank_steps *rank, enum event_mode mode)
{
    for (size_t i = 0; i < rank->n; i++)
        if (rank->steps[i].mode == mode && !rank->steps[i].said)
            return false;
    return true;
}

/* What every step of a mode has. A step that the hooks derived from its parts shows all there are;
 * one that was marked as a whole may have parts that nobody told. */
static bool belongs(enum event_mode mode, const char *part)
{
    static const struct {
        const char *part;
        bool train_only;
    } rows[] = {{"data", false}, {"forward", false}, {"backward", true}, {"optimizer", true}};
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (strcmp(part, rows[i].part) == 0)
            return !rows[i].train_only || mode == MODE_TRAIN;
    return false;
}

unsigned steps_unseen(const struct rank_steps *rank, enum event_mode mode,
                      const struct run_loss *lost, size_t n_lost)
{
    const bool said = are_said(rank, mode);
    unsigned unseen = 0;
    double took_s[STEP_PARTS_MOST];
    steps_parts_s(rank, mode, took_s);
    for (size_t k = 0; k < step_parts(); k++)
        if (took_s[k] == 0 &&
            (steps_part_lost(lost, n_lost, k) || (said && belongs(mode, step_part_name(k)))))
            unseen |= 1u << k;
    return unseen;
}
