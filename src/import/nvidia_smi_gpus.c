/* SPDX-License-Identifier: Apache-2.0 */
/* nvidia_smi_gpus.c - the GPUs of nvidia-smi's CSV and their rows. Each is a group of its own: its
 * lines have times of their own. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "import/nvidia_smi.h"

static bool same_gpu(const struct smi_gpu *g, struct smi_field id)
{
    return strlen(g->identity) == id.len && memcmp(g->identity, id.p, id.len) == 0;
}

static struct smi_gpu *nvidia_smi_gpus_add_gpu(struct smi *s, struct smi_field id)
{
    struct smi_gpu *g = &s->gpus[s->n_gpus];
    *g = (struct smi_gpu){.first = xcalloc(s->n_series, sizeof *g->first),
                          .absent = xcalloc(s->n_series, sizeof *g->absent)};
    memcpy(g->identity, id.p, id.len);
    if (s->index != SIZE_MAX)
        snprintf(g->entity, sizeof g->entity, "gpu%.*s", (int)MIN_OF(id.len, 40u), id.p);
    else
        snprintf(g->entity, sizeof g->entity, "gpu%zu", s->n_gpus);
    s->n_gpus++;
    return g;
}

struct smi_gpu *smi_gpu_of(struct smi *s, const struct smi_field *f)
{
    const size_t column = s->index != SIZE_MAX ? s->index : s->identity;
    const struct smi_field id = column != SIZE_MAX ? f[column] : (struct smi_field){"0", 1};
    if (id.len == 0 || id.len >= SMI_IDENTITY_LEN)
        return NULL;
    for (size_t i = 0; i < s->n_gpus; i++)
        if (same_gpu(&s->gpus[i], id))
            return &s->gpus[i];
    return s->n_gpus < SMI_GPUS_MOST ? nvidia_smi_gpus_add_gpu(s, id) : NULL;
}

/* ---- rows ---- */

/* Slots are numbered as series are. */
static void open_group(const struct smi *s, struct smi_gpu *g, int64_t period_ns)
{
    group_open(&g->group, g->entity, period_ns);
    for (size_t i = 0; i < s->n_series; i++)
        (void)group_add(&g->group, s->series[i].metric, g->entity);
    g->open = true;
}

static void note_times(struct import_result *r, mono_ns at)
{
    const bool first = r->count[IMPORTED_READINGS] == 0;
    if (first || at.ns < r->first.ns)
        r->first = at;
    if (first || at.ns > r->last.ns)
        r->last = at;
}

static void commit(struct smi *s, struct smi_gpu *g, const double *row, mono_ns at)
{
    uint64_t kept = 0;
    for (size_t i = 0; i < s->n_series; i++)
        if (!isnan(row[i])) {
            group_gauge(&g->group, (slot_id)i, row[i]);
            kept++;
        }
    group_commit(&g->group, s->ask->sink, at);
    if (kept)
        note_times(s->result, at);
    s->result->count[IMPORTED_READINGS] += kept;
}

void smi_gpu_row(struct smi *s, struct smi_gpu *g, const double *row, mono_ns at)
{
    if (!g->open && !g->waiting) {
        g->waiting = true;
        g->first_at = at;
        memcpy(g->first, row, s->n_series * sizeof *row);
        return;
    }
    if (g->waiting) {
        const int64_t period = at.ns - g->first_at.ns;
        open_group(s, g, period > 0 && period < 3600 * NS_PER_S ? period : NS_PER_S);
        commit(s, g, g->first, g->first_at);
        g->waiting = false;
    }
    commit(s, g, row, at);
}

/* ---- the end ---- */

static void nvidia_smi_gpus_tell_absent(struct smi *s, const struct smi_gpu *g)
{
    for (size_t i = 0; i < s->n_series; i++) {
        const struct loss_subject of = {.entity = g->entity, .metric = s->series[i].metric};
        struct loss l = loss_of(LOSS_UNSUPPORTED, of, "no value from nvidia-smi");
        l.count = g->absent[i];
        l.at = s->result->first;
        if (l.count && s->ask->sink->ops->loss)
            s->ask->sink->ops->loss(s->ask->sink, &l);
    }
}

void smi_gpu_end(struct smi *s, struct smi_gpu *g)
{
    if (g->waiting) {
        open_group(s, g, NS_PER_S);
        commit(s, g, g->first, g->first_at);
    }
    nvidia_smi_gpus_tell_absent(s, g);
    if (g->open)
        group_close(&g->group);
    free(g->first);
    free(g->absent);
}
