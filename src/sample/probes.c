/* SPDX-License-Identifier: Apache-2.0 */
/* probes.c - the array of probes, in the order of probes.def, and what is the same for all. */
#include "base/mem.h"
#include "sample/probe.h"

#define PROBE(id) &probe_##id,
const struct probe *const probes[] = {
#include "sample/probes.def"
    NULL,
};
#undef PROBE

void probe_set_period(const struct probe *p, void *state, int64_t period_ns)
{
    if (p->set_period)
        p->set_period(state, period_ns);
    else
        group_set_period((struct group *)(void *)((char *)state + p->group),
                         MAX_OF(period_ns, p->min_period_ns));
}
