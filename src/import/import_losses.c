/* SPDX-License-Identifier: Apache-2.0 */
/* import_losses.c - see import_losses.h. */
#include "import/import_losses.h"

#include <stdio.h>
#include <string.h>

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

static void import_losses_tell(struct sink *s, const struct loss *about, const char *what,
                               const char *why)
{
    struct loss l = *about;
    if (l.count == 0)
        return;
    snprintf(l.what, sizeof l.what, "trace %s", what);
    snprintf(l.why, sizeof l.why, "%s", why);
    s->ops->loss(s, &l);
}

void import_tell_losses(const struct import_result *r, struct sink *s)
{
    struct loss l = {.at = r->first};
    for (enum import_count c = 0; c < IMPORTED_N; c++) {
        l.id = is_limit(c) ? LOSS_LIMIT : LOSS_MALFORMED;
        l.count = is_no_loss(c) ? 0 : r->count[c];
        import_losses_tell(s, &l, import_count_words[c].name, import_count_words[c].help);
    }
    l.id = LOSS_MALFORMED;
    for (const struct json_fault_word *w = json_fault_words; w->name; w++) {
        memcpy(&l.count, (const char *)&r->faults + w->at, sizeof l.count);
        import_losses_tell(s, &l, w->name, w->help);
    }
}
