/* SPDX-License-Identifier: Apache-2.0 */
/* probes.c - the array of probes, in the order of probes.def, and what is the same for all. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
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

/* ---- the process ids of the job ---- */

COMPARE_NUMBERS(pidset_by_value, int)

void pidset_init(struct pidset *p)
{
    pthread_mutex_init(&p->lock, NULL);
    p->n = 0;
}

void pidset_set(struct pidset *p, const int *pid, size_t n)
{
    pthread_mutex_lock(&p->lock);
    p->n = MIN_OF(n, (size_t)PIDSET_MOST);
    if (p->n)
        memcpy(p->pid, pid, p->n * sizeof *pid);
    SORT(p->pid, p->n, pidset_by_value);
    pthread_mutex_unlock(&p->lock);
}

bool pidset_has(struct pidset *p, int pid)
{
    pthread_mutex_lock(&p->lock);
    const bool has = bsearch(&pid, p->pid, p->n, sizeof *p->pid, pidset_by_value) != NULL;
    pthread_mutex_unlock(&p->lock);
    return has;
}

void pidset_free(struct pidset *p)
{
    pthread_mutex_destroy(&p->lock);
    p->n = 0;
}
