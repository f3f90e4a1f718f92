/* SPDX-License-Identifier: Apache-2.0 */
/* trial.c - see trial.h. */
#include "cmd/trial.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "record/record.h"
#include "sample/nvml.h"
#include "sample/pidset.h"

enum { READINGS = 4 };

static const int64_t GAP_NS = 150 * NS_PER_MS;

/* The sink of one probe. */
struct collect {
    struct sink sink; /* first: the sink is the collect */
    struct trial_probe *to;
    struct arena *arena;
};

static struct collect *collect_of(struct sink *s)
{
    return (struct collect *)(void *)s;
}

static struct trial_series *trial_find_series(struct collect *c, const struct slot *s)
{
    struct trial_probe *p = c->to;
    for (size_t i = 0; i < p->n_series; i++)
        if (p->series[i].metric == s->metric && strcmp(p->series[i].entity, s->entity) == 0)
            return &p->series[i];
    if (p->n_series == p->series_cap) {
        const size_t cap = p->series_cap ? 2 * p->series_cap : 64;
        struct trial_series *more = arena_array(c->arena, struct trial_series, cap);
        if (p->n_series)
            memcpy(more, p->series, p->n_series * sizeof *more);
        p->series = more;
        p->series_cap = cap;
    }
    struct trial_series *fresh = &p->series[p->n_series++];
    fresh->metric = s->metric;
    memcpy(fresh->entity, s->entity, sizeof fresh->entity);
    return fresh;
}

static void trial_take_row(struct sink *s, struct group *g, mono_ns t)
{
    (void)t;
    for (uint32_t i = 0; i < g->n; i++)
        if (g->slots[i].used && g->cells[i] != CELL_MISSING)
            trial_find_series(collect_of(s), &g->slots[i])->value =
                (double)g->cells[i] * g->slots[i].step;
}

static void take_loss(struct sink *s, const struct loss *l)
{
    struct collect *c = collect_of(s);
    struct trial_probe *p = c->to;
    for (size_t i = 0; i < p->n_losses; i++)
        if (loss_same_subject(&p->losses[i], l))
            return;
    if (p->n_losses == p->losses_cap) {
        const size_t cap = p->losses_cap ? 2 * p->losses_cap : 16;
        struct loss *more = arena_array(c->arena, struct loss, cap);
        if (p->n_losses)
            memcpy(more, p->losses, p->n_losses * sizeof *more);
        p->losses = more;
        p->losses_cap = cap;
    }
    p->losses[p->n_losses++] = *l;
}

static void take_mark(struct sink *s, const struct mark *m)
{
    (void)s;
    (void)m;
}

static const struct sink_ops collect_ops = {
    .row = trial_take_row, .loss = take_loss, .mark = take_mark};

/* ------------------------------------------------------------------------------------------------
 * Reading */

static void **trial_open_all(struct trial *t, const struct probe_env *env, struct arena *a)
{
    void **states = arena_array(a, void *, t->n_probes + 1);
    for (size_t i = 0; i < t->n_probes; i++) {
        struct trial_probe *p = &t->probes[i];
        struct err e = {0};
        p->probe = probes[i];
        p->read_us = NAN;
        states[i] = arena_alloc(a, 1, MAX_OF(p->probe->state_size, (size_t)1));
        p->opened =
            p->probe->open(states[i], env, MAX_OF(GAP_NS, p->probe->min_period_ns), &e) == 0;
        snprintf(p->why, sizeof p->why, "%s", p->opened ? "" : e.msg);
    }
    return states;
}

static void trial_read_all(struct trial *t, void **states, int round, struct arena *a)
{
    for (size_t i = 0; i < t->n_probes; i++) {
        struct trial_probe *p = &t->probes[i];
        if (!p->opened)
            continue;
        struct collect c = {{&collect_ops}, p, a};
        const mono_ns before = clock_mono();
        p->probe->read(states[i], &c.sink);
        const double us = (double)mono_diff(clock_mono(), before) / (double)NS_PER_US;
        if (round > 0)
            p->read_us = (isnan(p->read_us) ? 0 : p->read_us) + us / (READINGS - 1);
    }
}

static void close_all(struct trial *t, void **states)
{
    for (size_t i = 0; i < t->n_probes; i++)
        if (t->probes[i].opened)
            t->probes[i].probe->close(states[i]);
}

static void wait_gap(void)
{
    const struct timespec gap = {0, (long)GAP_NS};
    nanosleep(&gap, NULL);
}

static void read_probes(struct trial *t, const struct probe_env *env, struct arena *a)
{
    while (probes[t->n_probes])
        t->n_probes++;
    t->probes = arena_array(a, struct trial_probe, t->n_probes + 1);
    void **states = trial_open_all(t, env, a);
    for (int round = 0; round < READINGS; round++) {
        if (round > 0)
            wait_gap();
        trial_read_all(t, states, round, a);
    }
    close_all(t, states);
}

void trial_run(struct trial *out, const char *proc, const char *sys, struct arena *a)
{
    *out = (struct trial){0};
    struct err e = {0};
    struct nvml_lib *nvml = NULL;
    struct pidset *pids = arena_new(a, struct pidset);
    if (nvml_open(&nvml, NULL, &e) != 0)
        nvml = NULL;
    hostinfo_read(&out->host, proc, sys);
    out->n_gpus = gpu_list(out->gpus, nvml, sys);
    if (out->n_gpus == 0)
        snprintf(out->gpu_absent, sizeof out->gpu_absent, "%s", e.msg);
    pidset_init(pids);
    const struct probe_env env = {
        .proc = proc,
        .sys = sys,
        .root_pid = getpid(),
        .self_pid = getpid(),
        .pids = pids,
        .nvml = nvml,
        .nvml_absent = nvml ? NULL : e.msg,
    };
    read_probes(out, &env, a);
    pidset_free(pids);
    nvml_close(nvml);
}
