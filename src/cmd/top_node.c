/* SPDX-License-Identifier: Apache-2.0 */
/* top_node.c - the readings of one node for `footplate top` (top_view.h): means of the last
 * interval while the run is recorded, means of all of it afterwards. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "cmd/top_view.h"
#include "query/series.h"
#include "tables/runview.h"

enum { READING_OLD_S = 15 }; /* older readings do not count */

/* The newest readings of a node. */
struct top_readings {
    struct series *v;
    size_t n;
    int64_t from_ns, old_ns; /* means are from `from` on; readings before `old` do not count */
};

static int64_t top_newest_ns(const struct series *v, size_t n)
{
    int64_t newest = 0;
    for (size_t i = 0; i < n; i++)
        newest = v[i].n ? MAX_OF(newest, v[i].t[v[i].n - 1].ns) : newest;
    return newest;
}

/* Which readings are wanted: the newest `interval_ns` of data that ends at about `end_ns`, or
 * (interval 0) the means of the whole run. */
struct top_span_ask {
    const char *node;
    int64_t end_ns, interval_ns;
};

static int top_read_series(struct run *r, const struct top_span_ask *x, struct arena *a,
                           struct top_readings *out, struct err *e)
{
    static const char *const wanted[] = {"cpu.util", "cpu.iowait", "mem.util",
                                         "mem.used", "job.",       "gpu."};
    const int64_t back_ns = MAX_OF(x->interval_ns, READING_OLD_S * NS_PER_S);
    const bool whole = x->interval_ns == 0;
    size_t cap = 0;
    *out = (struct top_readings){0};
    for (size_t i = 0; i < COUNT_OF(wanted); i++) {
        const int64_t from_ns = MAX_OF(x->end_ns - back_ns - 2 * NS_PER_S, (int64_t)1);
        const struct series_ask ask = {
            .node = x->node, .metric = wanted[i], .from = {whole ? 0 : from_ns}, .points = whole};
        struct series *v;
        size_t n;
        TRY(series_read(r, &ask, a, &v, &n, e));
        for (size_t k = 0; k < n; k++)
            *ARENA_ADD(a, out->v, out->n, cap) = v[k];
    }
    const int64_t newest_ns = top_newest_ns(out->v, out->n);
    out->from_ns = whole ? INT64_MIN : newest_ns - x->interval_ns;
    out->old_ns = newest_ns - back_ns;
    return 0;
}

static double top_mean(const struct top_readings *x, const struct series *s)
{
    double sum = 0;
    size_t n = 0;
    for (size_t i = s->n; i-- > 0 && s->t[i].ns > x->from_ns; n++)
        sum += s->v[i];
    if (n)
        return sum / (double)n;
    return s->n && s->t[s->n - 1].ns > x->old_ns ? s->v[s->n - 1] : NAN;
}

/* entity NULL: the first; NULL: there is none. */
static const struct series *top_series(const struct top_readings *x, const char *metric,
                                       const char *entity)
{
    for (size_t i = 0; i < x->n; i++)
        if (strcmp(x->v[i].key.metric, metric) == 0 &&
            (!entity || strcmp(x->v[i].key.entity, entity) == 0))
            return &x->v[i];
    return NULL;
}

static double top_reading(const struct top_readings *x, const char *metric, const char *entity)
{
    const struct series *s = top_series(x, metric, entity);
    return s ? top_mean(x, s) : NAN;
}

/* A count has no mean. */
static double top_count(const struct top_readings *x, const char *metric)
{
    const struct series *s = top_series(x, metric, NULL);
    return s && s->n && x->from_ns != INT64_MIN && s->t[s->n - 1].ns > x->old_ns ? s->v[s->n - 1]
                                                                                 : NAN;
}

static size_t top_core_number(const struct series_key *k)
{
    return text_starts(k->entity, "cpu") && k->entity[3] >= '0' && k->entity[3] <= '9'
               ? strtoul(k->entity + 3, NULL, 10)
               : SIZE_MAX;
}

/* Cores that are offline leave gaps in the numbers. */
static void top_fill_cores(struct top_node *out, const struct top_readings *x, struct arena *a)
{
    enum { CORES_MOST = 4096 };
    for (size_t i = 0; i < x->n; i++) {
        const size_t k = top_core_number(&x->v[i].key);
        if (strcmp(x->v[i].key.metric, "cpu.util") == 0 && k < CORES_MOST)
            out->n_cores = MAX_OF(out->n_cores, k + 1);
    }
    out->cores = arena_array(a, double, out->n_cores + 1);
    for (size_t k = 0; k < out->n_cores; k++)
        out->cores[k] = NAN;
    for (size_t i = 0; i < x->n; i++) {
        const size_t k = top_core_number(&x->v[i].key);
        if (strcmp(x->v[i].key.metric, "cpu.util") == 0 && k < out->n_cores)
            out->cores[k] = top_mean(x, &x->v[i]);
    }
}

static double top_known_bytes(int64_t bytes)
{
    return bytes > 0 ? (double)bytes : NAN;
}

static void top_fill_gpus(struct top_node *out, const struct node_info *n,
                          const struct top_readings *x, struct arena *a)
{
    out->gpus = arena_array(a, struct top_gpu, n->n_gpus + 1);
    out->n_gpus = n->n_gpus;
    out->gpu_name = n->n_gpus ? arena_strdup(a, n->gpus[0].name) : "";
    if (n->n_gpus == 0 && n->gpus_known)
        out->gpu_why = n->gpu_absent && *n->gpu_absent
                           ? arena_printf(a, "no GPU found: %s", n->gpu_absent)
                           : "no GPU found";
    for (size_t i = 0; i < n->n_gpus; i++) {
        const char *g = arena_strdup(a, n->gpus[i].entity);
        const double total = top_reading(x, "gpu.mem_total", g);
        out->gpus[i] = (struct top_gpu){
            .entity = g,
            .busy = top_reading(x, "gpu.util", g),
            .sm = top_reading(x, "gpu.sm_active", g),
            .tensor = top_reading(x, "gpu.tensor_active", g),
            .mem_used = top_reading(x, "gpu.mem_used", g),
            .mem_total = isnan(total) ? top_known_bytes(n->gpus[i].memory_bytes) : total,
            .power = top_reading(x, "gpu.power", g),
            .power_limit = top_reading(x, "gpu.power_limit", g),
            .temp = top_reading(x, "gpu.temp", g),
            .clock_sm = top_reading(x, "gpu.clock_sm", g),
            .clock_mem = top_reading(x, "gpu.clock_mem", g),
        };
    }
}

static int top_fill_why(struct top_node *out, struct run *r, struct arena *a, struct err *e)
{
    struct loss_list lost;
    const char *what;
    if (!isnan(out->cpu) && !isnan(out->mem))
        return 0;
    TRY(loss_list_read(&lost, r, a, e));
    out->cpu_why = loss_list_why(&lost, out->id, "cpu.util", &what);
    out->mem_why = loss_list_why(&lost, out->id, "mem.util", &what);
    return 0;
}

int top_read_node(struct run *r, const struct top_want *w, struct arena *a, struct top_node *out,
                  struct err *e)
{
    const struct run_info *info = run_get_info(r);
    struct node_view *nodes;
    struct top_readings x;
    const size_t count = runview_nodes(info, a, &nodes);
    *out = (struct top_node){.id = "", .count = count, .gpu_name = "", .cpu = NAN, .mem = NAN};
    out->job_cpu = out->job_rss = out->job_processes = out->job_threads = NAN;
    if (count == 0)
        return 0;
    const struct node_info *n = nodes[w->node % count].last;
    out->number = w->node % count;
    out->id = arena_strdup(a, n->id);
    const struct top_span_ask ask = {out->id, n->end.ns,
                                     info->status == RUN_RUNNING ? w->interval_ns : 0};
    TRY(top_read_series(r, &ask, a, &x, e));
    out->cpu = top_reading(&x, "cpu.util", ENTITY_TOTAL);
    out->iowait = top_reading(&x, "cpu.iowait", ENTITY_TOTAL);
    out->n_cores = n->cores;
    top_fill_cores(out, &x, a);
    out->mem = top_reading(&x, "mem.util", NULL);
    out->mem_used = top_reading(&x, "mem.used", NULL);
    out->mem_total = top_known_bytes(n->memory_bytes);
    out->job_cpu = top_reading(&x, "job.cpu", NULL);
    out->job_rss = top_reading(&x, "job.rss", NULL);
    out->job_processes = top_count(&x, "job.processes");
    out->job_threads = top_count(&x, "job.threads");
    top_fill_gpus(out, n, &x, a);
    return top_fill_why(out, r, a, e);
}
