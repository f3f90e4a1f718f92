/* SPDX-License-Identifier: Apache-2.0 */
/* event.c - see event.h. */
#include "record/event.h"

#include <string.h>

#define CATEGORY(id, name, help) [CAT_##id] = {name, help},
const struct word category_words[CAT_N] = {
#include "record/categories.def"
};
#undef CATEGORY

#define EVENT(id, name, category, part, help) [EV_##id] = {name, CAT_##category, part, help},
const struct event_word event_words[EV_N] = {
#include "record/events.def"
};
#undef EVENT

bool track_same(const struct track *a, const struct track *b)
{
    return a->kind == b->kind && a->pid == b->pid && a->id == b->id;
}

double event_real(const struct event *v)
{
    double real;
    memcpy(&real, &v->value, sizeof real);
    return real;
}

enum event_id event_find(const char *name)
{
    const size_t comm = strlen(event_words[EV_COMM].name);
    for (enum event_id i = 0; i < EV_N; i++)
        if (strcmp(event_words[i].name, name) == 0)
            return i;
    if (strncmp(name, event_words[EV_COMM].name, comm) == 0 && name[comm] == '.')
        return EV_COMM;
    return EV_N;
}
