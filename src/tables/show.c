/* SPDX-License-Identifier: Apache-2.0 */
/* show.c - see show.h: reading, then the JSON of `footplate show --json` and the server
 * (run_rows.def). */
#include "tables/show.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/human.h"
#include "base/mem.h"
#include "base/stat.h"
#include "base/vec.h"
#include "cost/machines.h"
#include "record/record.h"

/* ==== what the GPUs achieved ==== */

int gpuview_read(struct gpu_view *out, struct run *r, const struct efficiency_ask *ask,
                 const struct loss_list *lost, struct arena *a, struct err *e)
{
    struct efficiency x;
    TRY(efficiency_read(r, ask, a, &x, e));
    *out = (struct gpu_view){.x = x, .loop = x.window.known, .lost = lost, .arena = a};
    struct gpu_use *use = arena_new(a, struct gpu_use);
    *use = x.window.known ? x.loop : x.job;
    out->use = use;
    return 0;
}

/* ---- numbers of the GPUs ---- */

enum gpu_number_of { OF_USE, OF_EFFICIENCY, OF_BYTES };

#define USE(field)   OF_USE, offsetof(struct gpu_use, field)
#define WHOLE(field) OF_EFFICIENCY, offsetof(struct efficiency, field)
#define BYTES(field) OF_BYTES, offsetof(struct efficiency, field)
static const struct {
    const char *key;
    const char *metric; /* whose loss explains that it is missing; NULL: see gpuview_why */
    enum gpu_number_of of;
    size_t at;
} numbers[GPU_NUMBERS] = {
    [GPU_NUMBER_TFLOPS] = {"tflops", NULL, USE(tflops)},
    [GPU_NUMBER_PEAK_TFLOPS] = {"peak_tflops", NULL, USE(peak_tflops)},
    [GPU_NUMBER_MFU] = {"mfu_pct", NULL, USE(mfu_pct)},
    [GPU_NUMBER_UTIL] = {"util_pct", "gpu.util", USE(mean[GPU_MEAN_UTIL])},
    [GPU_NUMBER_SM] = {"sm_active_pct", "gpu.sm_active", USE(mean[GPU_MEAN_SM])},
    [GPU_NUMBER_OCCUPANCY] = {"sm_occupancy_pct", "gpu.sm_occupancy",
                              USE(mean[GPU_MEAN_OCCUPANCY])},
    [GPU_NUMBER_TENSOR] = {"tensor_active_pct", "gpu.tensor_active", USE(mean[GPU_MEAN_TENSOR])},
    [GPU_NUMBER_DRAM] = {"dram_active_pct", "gpu.dram_active", USE(mean[GPU_MEAN_DRAM])},
    [GPU_NUMBER_DRAM_TB_S] = {"dram_tb_s", NULL, USE(dram_tb_s)},
    [GPU_NUMBER_POWER] = {"power_w", "gpu.power", USE(mean[GPU_MEAN_POWER])},
    [GPU_NUMBER_CLOCK] = {"clock_mhz", "gpu.clock_sm", USE(mean[GPU_MEAN_CLOCK])},
    [GPU_NUMBER_ENERGY] = {"energy_j", "gpu.power", WHOLE(job.energy_j)},
    [GPU_NUMBER_LOOP_ENERGY] = {"loop_energy_j", NULL, WHOLE(loop.energy_j)},
    [GPU_NUMBER_STEP_ENERGY] = {"energy_per_step_j", NULL, WHOLE(energy_per_step_j)},
    [GPU_NUMBER_SAMPLE_ENERGY] = {"energy_per_sample_j", NULL, WHOLE(energy_per_sample_j)},
    [GPU_NUMBER_PEAK_MEMORY] = {"peak_memory_bytes", NULL, BYTES(allocator.allocated_bytes)},
    [GPU_NUMBER_RESERVED_MEMORY] = {"reserved_memory_bytes", NULL, BYTES(allocator.reserved_bytes)},
    [GPU_NUMBER_USED_MEMORY] = {"used_memory_bytes", "gpu.mem_used", USE(mem_used_bytes)},
};

double gpuview_number(const struct gpu_view *v, enum gpu_number n)
{
    const char *from = numbers[n].of == OF_USE ? (const char *)v->use : (const char *)&v->x;
    double d;
    int64_t bytes;
    if (numbers[n].of != OF_BYTES) {
        memcpy(&d, from + numbers[n].at, sizeof d);
        return d;
    }
    memcpy(&bytes, from + numbers[n].at, sizeof bytes);
    return bytes < 0 ? NAN : (double)bytes;
}

/* ---- reasons that one is missing ---- */

/* By the first GPU that the job used. */
static const char *why_metric(const struct gpu_view *v, const char *metric)
{
    const char *what;
    for (size_t i = 0; i < v->x.n_gpus; i++)
        if (v->x.gpus[i].used)
            return loss_list_why(v->lost, v->x.gpus[i].node, metric, &what);
    return "no GPU was measured";
}

static const char *why_no_gpu(const struct gpu_view *v)
{
    const struct run_info *info = v->lost->info;
    for (size_t i = 0; i < info->n_nodes; i++)
        if (info->nodes[i].gpus_known && info->nodes[i].n_gpus == 0)
            return info->nodes[i].gpu_absent && *info->nodes[i].gpu_absent
                       ? info->nodes[i].gpu_absent
                       : "no GPU found";
    return "no GPU was measured";
}

static const char *why_no_peak(const struct gpu_view *v)
{
    for (size_t i = 0; i < v->x.n_gpus; i++) {
        const struct gpu_efficiency *g = &v->x.gpus[i];
        if (g->used && !g->peak)
            return *g->name
                       ? arena_printf(v->arena,
                                      "the peak performance of '%s' is not in the built-in table",
                                      g->name)
                       : "the GPU model is not known, so its peak is not known either";
    }
    return "peak performance is not known";
}

static const char *why_no_tflops(const struct gpu_view *v)
{
    if (isnan(v->use->peak_tflops))
        return why_no_peak(v);
    if (isnan(v->use->mean[GPU_MEAN_TENSOR]))
        return why_metric(v, "gpu.tensor_active");
    if (isnan(v->use->mean[GPU_MEAN_CLOCK]))
        return why_metric(v, "gpu.clock_sm");
    return arena_printf(v->arena,
                        "the tensor cores were hardly used (%.1f %%); other units are not measured",
                        v->use->mean[GPU_MEAN_TENSOR]);
}

static const char *why_no_loop_energy(const struct gpu_view *v, bool samples)
{
    if (isnan(v->x.job.energy_j))
        return why_metric(v, "gpu.power");
    if (!v->x.window.known)
        return "no training steps were detected";
    if (isnan(v->x.loop.energy_j))
        return "the training loop was too short for a reading";
    return samples ? "batch sizes are not known" : "the training loop has no complete iteration";
}

const char *gpuview_why(const struct gpu_view *v, enum gpu_number n)
{
    if (v->x.n_used == 0 && n != GPU_NUMBER_PEAK_MEMORY && n != GPU_NUMBER_RESERVED_MEMORY)
        return why_no_gpu(v);
    switch (n) {
    case GPU_NUMBER_TFLOPS:
    case GPU_NUMBER_MFU:
        return why_no_tflops(v);
    case GPU_NUMBER_PEAK_TFLOPS:
        return why_no_peak(v);
    case GPU_NUMBER_DRAM_TB_S:
        return isnan(v->use->mean[GPU_MEAN_DRAM]) ? why_metric(v, "gpu.dram_active")
                                                  : why_no_peak(v);
    case GPU_NUMBER_LOOP_ENERGY:
    case GPU_NUMBER_STEP_ENERGY:
    case GPU_NUMBER_SAMPLE_ENERGY:
        return why_no_loop_energy(v, n == GPU_NUMBER_SAMPLE_ENERGY);
    case GPU_NUMBER_PEAK_MEMORY:
    case GPU_NUMBER_RESERVED_MEMORY:
        return "no process reported the memory of PyTorch's CUDA allocator";
    default:
        return why_metric(v, numbers[n].metric);
    }
}

void gpuview_missing(const struct gpu_view *v,
                     void (*see)(void *ctx, const char *what, const char *why), void *ctx)
{
    if (v->x.n_used == 0) {
        see(ctx, "gpu", why_no_gpu(v));
        return;
    }
    for (enum gpu_number n = 0; n < GPU_NUMBERS; n++)
        if (isnan(gpuview_number(v, n)))
            see(ctx, arena_printf(v->arena, "gpu.%s", numbers[n].key), gpuview_why(v, n));
}

/* ---- the GPUs in words ---- */

/* Three digits: "13.7 mJ", "86.5 J", "10.7 kJ". */
static const char *three_digits(struct arena *a, double v, const char *unit)
{
    return arena_printf(a, "%.*f %s", v < 9.995 ? 2 : v < 99.95 ? 1 : 0, v, unit);
}

const char *joules_text(struct arena *a, double j)
{
    if (isnan(j))
        return "-";
    if (j > 0 && j < 0.9995)
        return three_digits(a, j * 1e3, "mJ");
    if (j < 999.5)
        return three_digits(a, j, "J");
    const double wh = j / 3600;
    const char *hours = wh < 999.5 ? three_digits(a, wh, "Wh") : three_digits(a, wh / 1e3, "kWh");
    const char *text = j < 999.5e3   ? three_digits(a, j / 1e3, "kJ")
                       : j < 999.5e6 ? three_digits(a, j / 1e6, "MJ")
                                     : three_digits(a, j / 1e9, "GJ");
    return arena_printf(a, "%s (%s)", text, hours);
}

const char *gpuview_activity(const struct gpu_view *v, const struct gpu_use *u)
{
    static const struct {
        enum gpu_mean mean;
        const char *words;
    } parts[] = {{GPU_MEAN_UTIL, "busy"},
                 {GPU_MEAN_SM, "SMs"},
                 {GPU_MEAN_TENSOR, "tensor cores"},
                 {GPU_MEAN_DRAM, "memory bandwidth"}};
    const char *text = "";
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        if (!isnan(u->mean[parts[i].mean]))
            text = arena_printf(v->arena, "%s%s%s %s", text, *text ? ", " : "", parts[i].words,
                                value_text(v->arena, u->mean[parts[i].mean], "%"));
    if (isnan(u->mean[GPU_MEAN_TENSOR]) && *text)
        text = arena_printf(v->arena, "%s (no SM and tensor activity: %s)", text,
                            why_metric(v, "gpu.tensor_active"));
    return *text ? text : arena_printf(v->arena, "not measured: %s", why_metric(v, "gpu.util"));
}

/* Of how many GPUs a mean is. */
static const char *each(const struct gpu_view *v)
{
    return v->x.n_used > 1 ? " per GPU" : "";
}

const char *gpuview_peak_format(const struct gpu_view *v)
{
    const size_t at = FIND_FIRST(i, v->x.n_gpus, v->x.gpus[i].used && v->x.gpus[i].peak);
    return at < v->x.n_gpus ? gpu_peak_format(v->x.gpus[at].peak, v->x.allocator.tf32) : "";
}

/* Another clock than that of the data sheet is worth a word from here on, in points. */
static const double CLOCK_POINTS = 3;

const char *gpuview_compute(const struct gpu_view *v)
{
    const struct gpu_use *u = v->use;
    if (isnan(u->tflops))
        return arena_printf(v->arena, "not known: %s", gpuview_why(v, GPU_NUMBER_TFLOPS));
    const char *text =
        arena_printf(v->arena, "%.0f TFLOP/s%s, %.1f %% of the peak (%.0f in %s)", u->tflops,
                     each(v), u->mfu_pct, u->peak_tflops, gpuview_peak_format(v));
    if (fabs(u->mean[GPU_MEAN_TENSOR] - u->mfu_pct) < CLOCK_POINTS)
        return text;
    return arena_printf(v->arena, "%s; %.1f %% of the peak at the actual clock", text,
                        u->mean[GPU_MEAN_TENSOR]);
}

/* Less is not worth a line. */
static const double HELD_LEAST_PCT = 1;

const char *gpuview_clock(const struct gpu_view *v, const struct gpu_use *u)
{
    if (isnan(u->mean[GPU_MEAN_CLOCK]))
        return arena_printf(v->arena, "not measured: %s", why_metric(v, "gpu.clock_sm"));
    const char *text = value_text(v->arena, u->mean[GPU_MEAN_CLOCK], "MHz");
    size_t n = 0;
    for (enum clock_hold h = 0; h < CLOCK_HOLD_N; h++)
        if (u->held_pct[h] >= HELD_LEAST_PCT)
            text = arena_printf(v->arena, "%s%s %s %.0f %% of the time", text,
                                n++ ? "," : ", reduced by", clock_hold_words(h), u->held_pct[h]);
    return text;
}

const char *gpuview_power(const struct gpu_view *v)
{
    const struct gpu_use *u = v->use;
    if (isnan(u->mean[GPU_MEAN_POWER]))
        return arena_printf(v->arena, "not measured: %s", why_metric(v, "gpu.power"));
    const char *text =
        arena_printf(v->arena, "%s%s", value_text(v->arena, u->mean[GPU_MEAN_POWER], "W"), each(v));
    if (!isnan(v->x.energy_per_step_j))
        text = arena_printf(v->arena, "%s, %s per step", text,
                            joules_text(v->arena, v->x.energy_per_step_j));
    if (!isnan(v->x.energy_per_sample_j))
        text = arena_printf(v->arena, "%s, %s per sample", text,
                            joules_text(v->arena, v->x.energy_per_sample_j));
    return text;
}

static double total_memory(const struct gpu_view *v)
{
    double most = NAN;
    for (size_t i = 0; i < v->x.n_gpus; i++)
        if (v->x.gpus[i].used)
            most = fmax(most, v->x.gpus[i].mem_total_bytes);
    return most;
}

const char *gpuview_memory(const struct gpu_view *v)
{
    const struct allocator_peak *p = &v->x.allocator;
    const char *text = "";
    if (p->allocated_bytes >= 0)
        text = arena_printf(v->arena, "%s allocated at peak",
                            value_text(v->arena, (double)p->allocated_bytes, "B"));
    if (p->reserved_bytes >= 0)
        text = arena_printf(v->arena, "%s%s%s reserved", text, *text ? ", " : "",
                            value_text(v->arena, (double)p->reserved_bytes, "B"));
    if (!isnan(v->x.job.mem_used_bytes))
        text = arena_printf(v->arena, "%s%s%s of %s used by all processes", text, *text ? "; " : "",
                            value_text(v->arena, v->x.job.mem_used_bytes, "B"),
                            value_text(v->arena, total_memory(v), "B"));
    return *text ? text : arena_printf(v->arena, "not measured: %s", why_metric(v, "gpu.mem_used"));
}

/* ==== the page: reading ==== */

void show_percents(const struct show *s, double pct[PHASE_N])
{
    percents_of(s->phases.seconds, PHASE_N, pct);
    for (size_t k = 0; k < PHASE_N && !s->phases.has_steps; k++)
        pct[k] = NAN;
    if (s->phases.loop_goes_on)
        pct[PHASE_FINAL] = NAN;
}

double show_phase_s(const struct show *s, enum phase_kind k)
{
    const bool known = s->phases.has_steps && !(k == PHASE_FINAL && s->phases.loop_goes_on);
    return known ? s->phases.seconds[k] : NAN;
}

/* Tenths are added as whole numbers: 50.3 + 1.8 as they are make 52.099999999999994. */
double show_loop_percent(const double pct[PHASE_N])
{
    return round((pct[PHASE_TRAIN] + pct[PHASE_EVAL]) * 10) / 10;
}

static int show_find_phases(struct show *out, struct run *r, struct arena *a, struct err *e)
{
    phases_of(&(struct phases_from){out->info, out->marks, out->n_marks, out->ranks, out->n_ranks},
              a, &out->phases);
    return out->phases.has_steps ? 0 : steps_why_none(r, &out->losses, a, &out->no_steps, e);
}

static int show_read_rest(struct show *out, struct run *r, const struct show_known *known,
                          struct arena *a, struct err *e)
{
    const struct series_ask whole = {0};
    const struct efficiency_ask ask = {.window = known->window,
                                       .allocator = known->allocator,
                                       .job_from = out->phases.job_start,
                                       .job_to = out->phases.job_end};
    const int rc = summary_read(r, &whole, &out->losses, a, &out->lines, &out->n_lines, e);
    return rc ? rc : gpuview_read(&out->gpu, r, &ask, &out->losses, a, e);
}

static int show_read_begin(struct show *out, struct run *r, struct arena *a, struct err *e)
{
    struct shipping *shipping = arena_new(a, struct shipping);
    *out = (struct show){.info = run_get_info(r), .arena = a, .planned = -1};
    out->shipping = shipping_of_run(out->info, shipping, e) == 0 ? shipping : NULL;
    run_get_size(r, &out->size);
    const int rc = loss_list_read(&out->losses, r, a, e);
    return rc ? rc : run_marks(r, a, &out->marks, &out->n_marks, e);
}

int show_read_named(struct show *out, struct run *r, const struct run_steps *steps, struct arena *a,
                    struct err *e)
{
    struct show_known known = {.allocator = allocator_peak_of(steps->named, steps->n_named)};
    int rc = show_read_begin(out, r, a, e);
    out->ranks = steps->ranks;
    out->n_ranks = steps->n_ranks;
    out->planned = steps_planned(steps);
    loop_window_of(steps->ranks, steps->n_ranks, &known.window);
    if (rc == 0)
        rc = show_find_phases(out, r, a, e);
    return rc ? rc : show_read_rest(out, r, &known, a, e);
}

int show_read(struct show *out, struct run *r, struct arena *a, struct err *e)
{
    const struct steps_want want = {.wanted = allocator_event_wanted};
    struct run_steps steps;
    const int rc = steps_read_named(r, &want, a, &steps, e);
    return rc ? rc : show_read_named(out, r, &steps, a, e);
}

int show_read_with(struct show *out, struct run *r, const struct show_known *known, struct arena *a,
                   struct err *e)
{
    const int rc = show_read_begin(out, r, a, e);
    out->phases = *known->phases;
    out->no_steps = known->no_steps;
    return rc ? rc : show_read_rest(out, r, known, a, e);
}

/* ---- JSON ---- */

/* ---- what the list of runs has ---- */

static int64_t known_above_0(int64_t v)
{
    return v > 0 ? v : -1;
}

static double ns_to_ms(int64_t ns)
{
    return (double)ns / (double)NS_PER_MS;
}

static struct row_cell label_at(const void *x, size_t i, const char **key)
{
    const struct run_row *row = x;
    *key = row->info->labels[i].key;
    return row_text(row->info->labels[i].value);
}

struct run_row *run_row_of(const struct run_info *info, struct arena *a)
{
    struct run_row *row = arena_new(a, struct run_row);
    row->info = info;
    row->n_nodes = runview_nodes(info, a, &row->nodes);
    while (info->command && info->command[row->n_words])
        row->n_words++;
    row->interval_ns = runview_interval_ns(info);
    return row;
}

/* ---- GPUs ---- */

/* Reasons that did not occur are left out. */
static struct row_cell held_at(const void *x, size_t i, const char **key)
{
    const struct gpu_use *u = x;
    *key = clock_hold_name((enum clock_hold)i);
    return u->held_pct[i] > 0 ? row_number(u->held_pct[i]) : row_absent();
}

static struct row_cell view_held_at(const void *x, size_t i, const char **key)
{
    return held_at(((const struct gpu_view *)x)->use, i, key);
}

/* ---- phases: what is known only once the job shows where its steps begin and end ---- */

static double phase_pct(const struct show *s, enum phase_kind k)
{
    double pct[PHASE_N];
    show_percents(s, pct);
    return pct[k];
}

static double loop_pct(const struct show *s)
{
    double pct[PHASE_N];
    show_percents(s, pct);
    return show_loop_percent(pct);
}

/* Without steps only the interruptions of nodes are known. */
static struct row_cell phase_at(const void *x, size_t i, const char **key)
{
    const struct run_phases *p = x;
    (void)key;
    return p->has_steps || p->phases[i].kind == PHASE_INTERRUPTION ? row_object(&p->phases[i])
                                                                   : row_absent();
}

/* ---- losses ---- */

struct show_losses {
    struct show_loss *v;
    size_t n;
};

static struct show_loss show_loss_of_part(const char *part, const char *why)
{
    return (struct show_loss){.what = part,
                              .title = part,
                              .why = why,
                              .count = 1,
                              .kind = losses[LOSS_ABSENT].name,
                              .part = part};
}

/* Numbers of the object "gpu" that are null. */
static void add_gpu_loss(void *ctx, const char *what, const char *why)
{
    struct show_losses *l = ctx;
    l->v[l->n++] = show_loss_of_part(what, why);
}

struct show_loss show_loss_of(const struct run_loss *l, struct arena *a)
{
    const struct loss *x = &l->loss;
    return (struct show_loss){
        .what = loss_what(x, arena_array(a, char, ENTITY_LEN)),
        .title = loss_what_words(x, a),
        .why = loss_why(x),
        .count = (int64_t)x->count,
        .kind = losses[x->id].name,
        .node = l->node,
        .metric = x->metric < METRIC_N ? metrics[x->metric].name : NULL,
        .entity = known_text(x->entity),
        .part = known_text(x->part),
    };
}

static struct row_cell show_losses(const struct show *s, struct arena *a)
{
    const struct loss_list *l = &s->losses;
    struct show_losses out = {arena_array(a, struct show_loss, l->n + 1 + GPU_NUMBERS), 0};
    for (size_t i = 0; i < l->n; i++)
        out.v[out.n++] = show_loss_of(&l->v[i], a);
    if (s->no_steps)
        out.v[out.n++] = show_loss_of_part("steps", s->no_steps);
    gpuview_missing(&s->gpu, add_gpu_loss, &out);
    return row_list(out.v, out.n, NULL);
}

/* ---- rows ---- */

#define ROWS_FILE "tables/run_rows.def"
#include "base/row_expand.h"

void runview_json(struct jw *j, const struct run_info *info, struct arena *a)
{
    row_fields_json(j, &row_RunBase, run_row_of(info, a), a);
}

void show_json(struct jw *j, const struct show *s)
{
    row_fields_json(j, &row_RunShow, s, s->arena);
}

const char *show_throughput(const struct show *s, const struct mode_steps *x)
{
    const char *overall = x->overall > 0 ? arena_printf(s->arena, ", %s overall",
                                                        value_text(s->arena, x->overall, ""))
                                         : "";
    const char *ranks =
        x->ranks > 1 ? arena_printf(s->arena, ", %zu ranks together", x->ranks) : "";
    return arena_printf(s->arena, "%s steady%s%s", value_text(s->arena, x->steady, "samples/s"),
                        overall, ranks);
}
