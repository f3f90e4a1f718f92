/* SPDX-License-Identifier: Apache-2.0 */
/* ops_class.c - see ops_class.h. */
#include "query/ops_class.h"

#include <string.h>

#include "base/mem.h"

enum where { STARTS, HOLDS };

#define MODULE_MARK "nn.Module: "

static const struct {
    unsigned sense;
    enum where where;
    const char *text;
    const char *ends; /* the name must end so; NULL: as it likes */
} senses[] = {
    {NAME_COMM_OP, STARTS, "nccl:", NULL},
    {NAME_COMM_OP, STARTS, "gloo:", NULL},
    {NAME_COMM_OP, STARTS, "c10d", NULL},
    {NAME_COMM_KERNEL, STARTS, "nccl", NULL},
    {NAME_COMM_KERNEL, STARTS, "hccl", NULL},
    {NAME_COMM_KERNEL, HOLDS, "ncclKernel", NULL},
    {NAME_COMM_KERNEL, HOLDS, "ncclDevKernel", NULL},
    {NAME_MEMCPY, STARTS, "Memcpy", NULL},
    {NAME_MEMSET, STARTS, "Memset", NULL},
    {NAME_LOADER, STARTS, "enumerate(DataLoader)#", ".__next__"},
    {NAME_LOADER, STARTS, "enumerate(DataPipe)#", NULL},
    {NAME_MODULE, STARTS, MODULE_MARK, NULL},
    {NAME_STEP, STARTS, "ProfilerStep#", NULL},
};

static bool ends_with(const char *name, const char *end)
{
    const size_t n = strlen(name), m = strlen(end);
    return n >= m && strcmp(name + n - m, end) == 0;
}

unsigned name_sense(const char *name)
{
    unsigned sense = 0;
    for (size_t i = 0; i < COUNT_OF(senses); i++) {
        const bool is = senses[i].where == STARTS
                            ? strncmp(name, senses[i].text, strlen(senses[i].text)) == 0
                            : strstr(name, senses[i].text) != NULL;
        if (is && (!senses[i].ends || ends_with(name, senses[i].ends)))
            sense |= senses[i].sense;
    }
    return sense;
}

const char *name_of_module(const char *name)
{
    const size_t n = sizeof MODULE_MARK - 1;
    return strncmp(name, MODULE_MARK, n) == 0 ? name + n : name;
}

enum role host_role(const struct event *v, unsigned sense)
{
    if (v->kind != EVENT_SPAN || sense & NAME_STEP)
        return ROLE_OTHER;
    switch (v->category) {
    case CAT_RUNTIME:
    case CAT_SYNC: /* a call that waits is a call */
        return ROLE_RUNTIME;
    case CAT_LOADER:
        return ROLE_LOADER;
    case CAT_COMM:
        return ROLE_COMM;
    case CAT_OP:
    case CAT_USER:
        return sense & NAME_LOADER ? ROLE_LOADER : sense & NAME_COMM_OP ? ROLE_COMM : ROLE_CPU;
    default:
        return ROLE_OTHER;
    }
}

enum role device_role(const struct event *v, unsigned sense)
{
    if (v->kind != EVENT_SPAN)
        return ROLE_OTHER;
    switch (v->category) {
    case CAT_MEMCPY:
        return ROLE_MEMCPY;
    case CAT_MEMSET:
        return ROLE_MEMSET;
    case CAT_COMM:
        return ROLE_COMM;
    case CAT_KERNEL:
        return sense & NAME_COMM_KERNEL ? ROLE_COMM
               : sense & NAME_MEMCPY    ? ROLE_MEMCPY
               : sense & NAME_MEMSET    ? ROLE_MEMSET
                                        : ROLE_KERNEL;
    default:
        return ROLE_OTHER;
    }
}

uint32_t track_device(const struct track *t)
{
    return (uint32_t)(t->id >> 32);
}

uint32_t track_stream(const struct track *t)
{
    return (uint32_t)t->id;
}
