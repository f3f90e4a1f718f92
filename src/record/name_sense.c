/* SPDX-License-Identifier: Apache-2.0 */
/* name_sense.c - see name_sense.h. */
#include "record/name_sense.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"

#define MODULE_MARK "nn.Module: "
#define STEP_MARK   "ProfilerStep#"

enum where { STARTS, HOLDS };

static const struct {
    unsigned sense;
    enum where where;
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
    {NAME_STEP, STARTS, STEP_MARK, NULL},
};

static bool starts_with(const char *name, const char *start)
{
    return strncmp(name, start, strlen(start)) == 0;
}

static bool ends_with(const char *name, const char *end)
{
    const size_t n = strlen(name), m = strlen(end);
    return n >= m && strcmp(name + n - m, end) == 0;
}

unsigned name_sense(const char *name)
{
    unsigned sense = 0;
    for (size_t i = 0; i < COUNT_OF(senses); i++) {
        const bool is = senses[i].where == STARTS ? starts_with(name, senses[i].text)
                                                  : strstr(name, senses[i].text) != NULL;
        if (is && (!senses[i].ends || ends_with(name, senses[i].ends)))
            sense |= senses[i].sense;
    }
    return sense;
}

const char *name_of_module(const char *name)
{
    return starts_with(name, MODULE_MARK) ? name + strlen(MODULE_MARK) : name;
}

const char *name_of_step(const char *name)
{
    return starts_with(name, STEP_MARK) ? name + strlen(STEP_MARK) : name;
}
