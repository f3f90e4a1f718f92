/* SPDX-License-Identifier: Apache-2.0 */
/* loss_words.c - see loss_words.h. */
#include "tables/loss_words.h"

#include <string.h>

#include "base/mem.h"

static const struct {
    const char *name, *words;
} probe_titles[] = {
    {"cpu", "CPU metrics"},
    {"mem", "memory metrics"},
    {"psi", "pressure stall metrics"},
    {"disk", "disk metrics"},
    {"net", "network metrics"},
    {"proc", "process metrics"},
    {"cgroup", "cgroup metrics"},
    {"nvml", "NVIDIA GPU metrics"},
    {"nvml_gpm", "NVIDIA GPU activity metrics (SMs, tensor cores, memory bandwidth)"},
    {"nvml_slow", "NVIDIA GPU energy, PCIe and NVLink metrics"},
    {"amdgpu", "AMD GPU metrics"},
    {"self", "overhead of Footplate"},
};

const char *probe_words(const char *probe)
{
    for (size_t i = 0; i < COUNT_OF(probe_titles); i++)
        if (strcmp(probe_titles[i].name, probe) == 0)
            return probe_titles[i].words;
    return NULL;
}

const char *loss_what_words(const struct loss *l, struct arena *a)
{
    const bool metric = l->metric < METRIC_N;
    const char *title = metric ? metrics[l->metric].title : probe_words(l->part);
    if (!title || (!metric && *l->entity))
        return loss_what(l, arena_array(a, char, ENTITY_LEN));
    return *l->entity ? arena_printf(a, "%s: %s", l->entity, title) : title;
}

bool loss_is_no_news(const struct loss *l)
{
    static const enum metric_id may_lack[] = {M_SWAP_USED, M_CGROUP_CPU_LIMIT, M_CGROUP_MEM_LIMIT,
                                              M_CGROUP_THROTTLED};
    for (size_t i = 0; l->id == LOSS_ABSENT && i < COUNT_OF(may_lack); i++)
        if (l->metric == may_lack[i] && !*l->entity)
            return true;
    return false;
}
