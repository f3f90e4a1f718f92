/* SPDX-License-Identifier: Apache-2.0 */
/* runview.c - see runview.h. */
#include "tables/runview.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/human.h"
#include "base/mem.h"
#include "base/vec.h"
#include "cost/machines.h"
#include "record/record.h"
#include "run/run_ending.h"
#include "run/run_info.h"

int runview_open(struct run **out, const char *dir, const char *ref, struct err *e)
{
    char path[PATH_LEN];
    const int rc = run_find(runs_folder(dir), ref, path, e);
    return rc ? rc : run_open(out, path, e);
}

size_t runview_nodes(const struct run_info *info, struct arena *a, struct node_view **out)
{
    struct node_view *v = arena_array(a, struct node_view, info->n_nodes + 1);
    size_t n = 0;
    for (size_t i = 0; i < info->n_nodes; i++) {
        const struct node_info *node = &info->nodes[i];
        if (n == 0 || strcmp(v[n - 1].last->id, node->id) != 0)
            v[n++].first = node;
        v[n - 1].last = node;
        v[n - 1].sessions++;
    }
    *out = v;
    return n;
}

size_t runview_count_nodes(const struct run_info *info)
{
    return SUM_OF(i, info->n_nodes,
                  i == 0 || strcmp(info->nodes[i - 1].id, info->nodes[i].id) != 0);
}

size_t runview_gpus(const struct run_info *info)
{
    struct arena a = {0};
    struct node_view *v;
    const size_t n = runview_nodes(info, &a, &v);
    const size_t gpus = SUM_OF(i, n, v[i].last->n_gpus);
    arena_free(&a);
    return gpus;
}

double runview_duration_s(const struct run_info *info)
{
    return (double)(info->end.ns - info->start.ns) / (double)NS_PER_S;
}

const char *sentence(struct arena *a, const char *text)
{
    const size_t n = strlen(text);
    if (n == 0)
        return text;
    char *out = arena_printf(a, "%s%s", text, strchr(".!?", text[n - 1]) ? "" : ".");
    const size_t word = strspn(out, "abcdefghijklmnopqrstuvwxyz"); /* a name is left as it is */
    if (word > 0 && (out[word] == ' ' || out[word] == ','))
        *out = (char)(*out - 'a' + 'A');
    return out;
}

const char *runview_ending(const struct run_info *info, struct arena *a)
{
    const struct run_ending x = run_ending_of(info);
    const char *how = run_ending_words(&x, a);
    if (!how)
        return NULL;
    return sentence(a, arena_printf(a, "%s after %s%s%s", how,
                                    value_text(a, runview_duration_s(info), "s"),
                                    *x.node ? " on node " : "", x.node));
}

bool runview_attached(const struct run_info *info)
{
    return info->n_nodes > 0 && !FIND_ANY(i, info->n_nodes, !info->nodes[i].attached);
}

double runview_self_cpu_s(const struct run_info *info)
{
    double s = info->n_nodes ? 0 : NAN;
    for (size_t i = 0; i < info->n_nodes; i++)
        s += info->nodes[i].self_cpu_s;
    return s;
}

/* Words for it where it is NAN. */
static const char *runview_why_no_cost(const struct run_info *info)
{
    for (size_t i = 0; i < info->n_nodes; i++)
        if (info->nodes[i].status == RUN_RUNNING || info->nodes[i].status == RUN_DIED)
            return "available when the run ends (meanwhile see self.cpu)";
    return "not available: this run was not recorded by Footplate";
}

/* Of a shorter run the share of a core is that of starting and ending. */
static const double SHARE_LEAST_S = 5;

const char *runview_cost_text(const struct run_info *info, struct arena *a)
{
    const double cpu_s = runview_self_cpu_s(info), took_s = runview_duration_s(info);
    if (isnan(cpu_s))
        return runview_why_no_cost(info);
    return took_s >= SHARE_LEAST_S
               ? arena_printf(a, "%.2f s of CPU (%.2f %% of one core)", cpu_s, 100 * cpu_s / took_s)
               : arena_printf(a, "%.2f s of CPU", cpu_s);
}

double runview_bytes_written(const struct run_info *info)
{
    double n = info->n_nodes ? 0 : NAN;
    for (size_t i = 0; i < info->n_nodes; i++)
        n += info->nodes[i].bytes_written < 0 ? NAN : (double)info->nodes[i].bytes_written;
    return n;
}

int64_t runview_interval_ns(const struct run_info *info)
{
    int64_t least = 0;
    for (size_t i = 0; i < info->n_nodes; i++) {
        const int64_t ns = info->nodes[i].interval_ns;
        if (ns > 0 && (least == 0 || ns < least))
            least = ns;
    }
    return least;
}

/* ---- the command ---- */

static const char plain_letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                    "_-./=:,@%+";

static void runview_put_word(struct buf *b, const char *word)
{
    if (*word && strspn(word, plain_letters) == strlen(word)) {
        buf_printf(b, "%s", word);
        return;
    }
    buf_u8(b, '\'');
    for (; *word; word++) {
        if (*word == '\'')
            buf_printf(b, "'\\''");
        else
            buf_u8(b, (uint8_t)*word);
    }
    buf_u8(b, '\'');
}

const char *runview_command(const struct run_info *info, struct arena *a)
{
    struct buf b = {0};
    for (size_t i = 0; info->command && info->command[i]; i++) {
        if (i)
            buf_u8(&b, ' ');
        runview_put_word(&b, info->command[i]);
    }
    const char *text = arena_strndup(a, b.len ? (const char *)b.p : "", b.len);
    buf_free(&b);
    return text;
}

/* ---- losses ---- */

int loss_list_read(struct loss_list *out, struct run *r, struct arena *a, struct err *e)
{
    *out = (struct loss_list){.info = run_get_info(r), .arena = a};
    return run_losses(r, a, &out->v, &out->n, e);
}

/* The first loss of the node that is about the metric, or, without one, about the probe. */
static const struct loss *runview_find_loss(const struct loss_list *l, const char *node,
                                            enum metric_id m, const char *probe)
{
    for (size_t i = 0; i < l->n; i++) {
        const struct loss *x = &l->v[i].loss;
        if (strcmp(l->v[i].node, node) == 0 &&
            (probe ? loss_is_part(x, probe) : loss_is_metric(x, m)))
            return x;
    }
    return NULL;
}

static const char *loss_no_gpu(const struct loss_list *l, const char *node)
{
    const char *why = NULL;
    for (size_t i = 0; i < l->info->n_nodes; i++)
        if (strcmp(l->info->nodes[i].id, node) == 0 && l->info->nodes[i].gpus_known &&
            l->info->nodes[i].n_gpus == 0)
            why = l->info->nodes[i].gpu_absent;
    return why;
}

/* The probe that reads a metric, where its name is not the beginning of the metric's: when it
 * cannot run at all, the loss is about the probe. "": the probe has the name of its metrics. */
static const char *loss_probe_of(enum metric_id m)
{
    return m == M_GPU_SM_ACTIVE || m == M_GPU_SM_OCCUPANCY || m == M_GPU_TENSOR_ACTIVE ||
                   m == M_GPU_DRAM_ACTIVE
               ? "nvml_gpm"
               : "";
}

const char *loss_list_why(const struct loss_list *l, const char *node, const char *metric,
                          const char **what)
{
    const enum metric_id m = metric_find(metric);
    const char *probe = loss_probe_of(m);
    const char *family = arena_printf(l->arena, "%.*s", (int)strcspn(metric, "."), metric);
    const struct loss *hit = runview_find_loss(l, node, m, NULL);
    if (!hit && *probe)
        hit = runview_find_loss(l, node, m, probe);
    if (!hit)
        hit = runview_find_loss(l, node, m, family); /* probes have the names of what they read */
    *what = hit ? loss_what(hit, arena_array(l->arena, char, ENTITY_LEN)) : metric;
    if (hit)
        return loss_why(hit);
    if (m < METRIC_N && metrics[m].per == PER_GPU) {
        const char *why = loss_no_gpu(l, node);
        if (why)
            return *why ? why : "no GPU found";
    }
    return "no readings were recorded";
}

static int64_t loss_count(const struct loss_list *l, const char *node, enum loss_id id)
{
    uint64_t n = 0;
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].loss.id == id && strcmp(l->v[i].node, node) == 0)
            n += l->v[i].loss.count;
    return (int64_t)n;
}

int64_t runview_events_dropped(const struct run_info *info, const struct loss_list *l)
{
    int64_t sum = 0;
    for (size_t i = 0; i < info->n_nodes;) {
        const char *node = info->nodes[i].id;
        int64_t counted = 0;
        for (; i < info->n_nodes && strcmp(info->nodes[i].id, node) == 0; i++)
            counted += MAX_OF(info->nodes[i].events_dropped, 0);
        sum += MAX_OF(counted, loss_count(l, node, LOSS_EVENTS));
    }
    return sum;
}

/* ---- losses as texts ---- */

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
    {"others", "programs outside of the job"},
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
    return l->id == LOSS_ABSENT &&
           FIND_ANY(i, COUNT_OF(may_lack), l->metric == may_lack[i] && !*l->entity);
}
