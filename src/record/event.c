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

const char *const event_kind_names[EVENT_KIND_N + 1] = {
    [0] = "",
    [EVENT_SPAN] = "span",
    [EVENT_STEP] = "step",
    [EVENT_MARK] = "mark",
    [EVENT_COUNT] = "count",
    [EVENT_REAL] = "real",
};

const char *const event_mode_names[MODE_N + 1] = {
    [MODE_TRAIN] = "train",
    [MODE_EVAL] = "eval",
    [MODE_PREDICT] = "predict",
};

const char *const event_end_names[END_OPEN + 2] = {
    [END_KNOWN] = "known",
    [END_CUT] = "cut",
    [END_OPEN] = "open",
};

bool track_same(const struct track *a, const struct track *b)
{
    return a->kind == b->kind && a->pid == b->pid && a->id == b->id;
}

uint32_t track_hash(const struct track *t)
{
    const uint64_t key = (t->id * 0x9e3779b97f4a7c15u ^ t->pid) * 0xff51afd7ed558ccdu;
    return (uint32_t)((key + (uint64_t)t->kind) >> 32) ^ (uint32_t)t->kind;
}

static bool event_put_name(char to[TRACK_NAME_LEN], const char *name)
{
    const size_t n = strnlen(name, TRACK_NAME_LEN - 1);
    if (n == 0 || (strncmp(to, name, n) == 0 && to[n] == '\0'))
        return false;
    memset(to, 0, TRACK_NAME_LEN);
    memcpy(to, name, n);
    return true;
}

bool track_rename(struct track *t, const char *process, const char *name)
{
    const bool a = event_put_name(t->process, process), b = event_put_name(t->name, name);
    return a || b;
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
