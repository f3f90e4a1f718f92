/* SPDX-License-Identifier: Apache-2.0 */
/* importers.c - the list of formats, and what several of them need. */
#include <stdio.h>
#include <string.h>

#include "import/importer.h"
#include "record/record.h"

#define IMPORTER(id) &importer_##id,
const struct importer *const importers[] = {
#include "import/importers.def"
    NULL,
};
#undef IMPORTER

#define COUNT(id, lost, name, help) [IMPORTED_##id] = {name, help},
const struct word import_count_words[IMPORTED_N] = {
#include "import/import_counts.def"
};
#undef COUNT

const struct importer *importer_find(const char *name)
{
    for (const struct importer *const *p = importers; *p; p++)
        if (strcmp((*p)->name, name) == 0)
            return *p;
    return NULL;
}

const struct importer *importer_sniff(const char *head, size_t n)
{
    const struct importer *best = NULL;
    int sure = 0;
    for (const struct importer *const *p = importers; *p; p++) {
        const int now = (*p)->sniff(head, n);
        if (now > sure) {
            sure = now;
            best = *p;
        }
    }
    return best;
}

/* ------------------------------------------------------------------------------------------------
 * Which process a trace is of, where the trace itself does not name it */

/* "80807" of "80807-host"; 0: the name begins with no number. */
static uint32_t pid_in_name(const char *worker)
{
    uint32_t pid = 0;
    const char *p = worker;
    for (; *p >= '0' && *p <= '9' && p - worker < 9; p++)
        pid = pid * 10 + (uint32_t)(*p - '0');
    return *p == '-' || *p == '\0' ? pid : 0;
}

uint32_t import_pid(const struct import_ask *ask)
{
    const uint32_t named = pid_in_name(ask->hint.worker);
    if (ask->pid)
        return ask->pid;
    if (named)
        return named;
    return ask->hint.has_rank ? (uint32_t)(ask->hint.rank & INT32_MAX) + 1 : 1;
}

enum event_category import_device_category(const char *name)
{
    const unsigned sense = name_sense(name);
    return sense & NAME_COMM_KERNEL ? CAT_COMM
           : sense & NAME_MEMCPY    ? CAT_MEMCPY
           : sense & NAME_MEMSET    ? CAT_MEMSET
                                    : CAT_KERNEL;
}

bool import_digits(const char *p, size_t n, int64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i] < '0' || p[i] > '9' || i == 18)
            return false;
        *out = *out * 10 + (p[i] - '0');
    }
    return n > 0;
}

struct event import_fact(enum event_id id, int64_t value, mono_ns at)
{
    return (struct event){
        .at = at,
        .kind = EVENT_COUNT,
        .value = value,
        .category = event_words[id].category,
        .name = event_words[id].name,
    };
}

/* ------------------------------------------------------------------------------------------------
 * What an import counted and could not use */

/* LOSS_N: none. */
#define COUNT(id, lost, name, help) [IMPORTED_##id] = LOSS_##lost,
static const enum loss_id lost_by[IMPORTED_N] = {
#include "import/import_counts.def"
};
#undef COUNT

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
        if (lost_by[c] != LOSS_N)
            import_put_loss(r, s, r->count[c], lost_by[c], &import_count_words[c]);
    for (const struct json_fault_word *w = json_fault_words; w->name; w++) {
        uint64_t count;
        memcpy(&count, (const char *)&r->faults + w->at, sizeof count);
        import_put_loss(r, s, count, LOSS_MALFORMED, &(struct word){w->name, w->help});
    }
}
