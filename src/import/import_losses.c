/* SPDX-License-Identifier: Apache-2.0 */
/* import_losses.c - see import_losses.h. */
#include "import/import_losses.h"

#include <stdio.h>
#include <string.h>

#include "record/record.h"

/* Counts that lose nothing that anybody would miss. */
static bool is_no_loss(enum import_count c)
{
    return c == IMPORTED_KEPT || c == IMPORTED_READINGS || c == IMPORTED_FLOWS ||
           c == IMPORTED_MARKERS;
}

static bool is_limit(enum import_count c)
{
    return c == IMPORTED_TRACKS || c == IMPORTED_NODES || c == IMPORTED_OPEN ||
           c == IMPORTED_LONG_TEXTS;
}

static void import_put_loss(const struct import_result *r, struct sink *s, uint64_t count,
                            enum loss_id id, const struct word *of)
{
    char part[ENTITY_LEN];
    snprintf(part, sizeof part, "trace %s", of->name);
    struct loss l = loss_of(id, LOST_PART(part), "%s", of->help);
    l.count = count;
    l.at = r->first;
    if (count)
        s->ops->loss(s, &l);
}

void import_put_losses(const struct import_result *r, struct sink *s)
{
    for (enum import_count c = 0; c < IMPORTED_N; c++)
        if (!is_no_loss(c))
            import_put_loss(r, s, r->count[c], is_limit(c) ? LOSS_LIMIT : LOSS_MALFORMED,
                            &import_count_words[c]);
    for (const struct json_fault_word *w = json_fault_words; w->name; w++) {
        uint64_t count;
        memcpy(&count, (const char *)&r->faults + w->at, sizeof count);
        import_put_loss(r, s, count, LOSS_MALFORMED, &(struct word){w->name, w->help});
    }
}
