/* SPDX-License-Identifier: Apache-2.0 */
/* event.c - see event.h. */
#include "record/event.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

#define CATEGORY(id, name, help) [CAT_##id] = {name, help},
const struct word category_words[CAT_N] = {
#include "record/categories.def"
};
#undef CATEGORY

#define EVENT(id, name, category, part, help)                                                      \
    [EV_##id] = {name, CAT_##category, STEP_PART_##part, help},
const struct event_word event_words[EV_N] = {
#include "record/events.def"
};

#define STEP_PART(id, name) [STEP_PART_##id] = name,
const char *const step_part_names[STEP_PART_OTHER + 1] = {
#include "record/events.def"
    [STEP_PART_OTHER] = "other",
};

#define HEALTH(id, name, kind, subject, merge, unit, help)                                         \
    [HEALTH_##id] = {name, EVENT_##kind, HEALTH_OF_##subject, HEALTH_MERGE_##merge, unit, help},
const struct health_word health_words[HEALTH_N] = {
#include "record/health.def"
};
#undef HEALTH

const char *const health_subject_names[] = {
    [HEALTH_OF_SCALAR] = "scalar",
    [HEALTH_OF_PARAMETER] = "parameter",
    [HEALTH_OF_MODULE] = "module",
    NULL,
};

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

const char *const track_kind_names[] = {
    [TRACK_THREAD] = "thread",
    [TRACK_DEVICE] = "device",
    [TRACK_HEALTH] = "health",
    NULL,
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

enum health_id health_find(const char *name)
{
    enum health_id i = 0;
    while (i < HEALTH_N && strcmp(health_words[i].name, name) != 0)
        i++;
    return i;
}

double health_number(const struct event *v)
{
    return v->kind == EVENT_REAL ? event_real(v) : (double)v->value;
}

/* ------------------------------------------------------------------------------------------------
 * Names of a framework's profiler */

#define MODULE_MARK "nn.Module: " /* of PyTorch's profiler, with_modules */
#define RANGE_MARK  "module: "    /* of our own windows: "module: encoder.0.linear (Linear)" */
#define STEP_MARK   "ProfilerStep#"

enum name_sense_where { STARTS, HOLDS };

static const struct {
    unsigned sense;
    enum name_sense_where where;
    const char *text;
    const char *ends; /* the name must end so; NULL: as it likes */
} senses[] = {
    {NAME_COMM_OP, STARTS, "nccl:", NULL},
    {NAME_COMM_OP, STARTS, "gloo:", NULL},
    {NAME_COMM_OP, STARTS, "mpi:", NULL},
    {NAME_COMM_OP, STARTS, "ucc:", NULL},
    {NAME_COMM_OP, STARTS, "hccl:", NULL},
    {NAME_COMM_OP, STARTS, "xccl:", NULL},
    {NAME_COMM_OP, STARTS, "c10d", NULL},
    {NAME_COMM_OP, STARTS, "record_param_comms", NULL},
    {NAME_COMM_KERNEL, STARTS, "nccl", NULL},
    {NAME_COMM_KERNEL, STARTS, "hccl", NULL},
    {NAME_COMM_KERNEL, HOLDS, "ncclKernel", NULL},
    {NAME_COMM_KERNEL, HOLDS, "ncclDevKernel", NULL},
    {NAME_MEMCPY, STARTS, "Memcpy", NULL},
    {NAME_MEMSET, STARTS, "Memset", NULL},
    {NAME_LOADER, STARTS, "enumerate(DataLoader)#", ".__next__"},
    {NAME_LOADER, STARTS, "enumerate(DataPipe)#", NULL},
    {NAME_MODULE, STARTS, MODULE_MARK, NULL},
    {NAME_MODULE, STARTS, RANGE_MARK, NULL},
    {NAME_STEP, STARTS, STEP_MARK, NULL},
};

unsigned name_sense(const char *name)
{
    unsigned sense = 0;
    for (size_t i = 0; i < COUNT_OF(senses); i++) {
        const bool is = senses[i].where == STARTS ? text_starts(name, senses[i].text)
                                                  : strstr(name, senses[i].text) != NULL;
        if (is && (!senses[i].ends || text_ends(name, senses[i].ends)))
            sense |= senses[i].sense;
    }
    return sense;
}

const char *name_of_module(const char *name)
{
    if (text_starts(name, RANGE_MARK))
        return name + strlen(RANGE_MARK);
    return text_starts(name, MODULE_MARK) ? name + strlen(MODULE_MARK) : name;
}

const char *name_of_step(const char *name)
{
    return text_starts(name, STEP_MARK) ? name + strlen(STEP_MARK) : name;
}
