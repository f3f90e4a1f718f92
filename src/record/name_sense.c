/* SPDX-License-Identifier: Apache-2.0 */
/* name_sense.c - see name_sense.h. */
#include "record/name_sense.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

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
