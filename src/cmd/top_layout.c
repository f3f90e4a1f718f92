/* SPDX-License-Identifier: Apache-2.0 */
/* top_layout.c - see top_view.h. Where a frame does not fit, it is made again with less: cores as
 * one character each, then parts of an iteration as text. What still does not fit is cut from the
 * findings, which scroll. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/buf.h"
#include "base/human.h"
#include "base/mem.h"
#include "base/table.h"
#include "cmd/output.h"
#include "cmd/screen.h"
#include "cmd/top_view.h"

enum {
    CORE_CELL = 18,     /* columns that a core wants as a bar */
    CORE_BAR_ROWS = 12, /* rows of bars that cores may take; more of them are one character each */
    CORE_GROUP = 8,     /* such characters side by side */
    PART_NAME = 14,
    PART_BAR = 60,
    CORE_CELL_MOST = 40,
    WIDE_BAR = 90,
    BAR_LEAST = 10,
    SPARK_LEAST = 10,
    FINDING_ROWS = 6, /* that findings get before parts get bars */
    SEVERITY = 9,
    LESS_MOST = 3,
};

static const enum top_style severity_styles[SEVERITY_N] = {
    [SEVERITY_INFO] = STYLE_LABEL,
    [SEVERITY_WARNING] = STYLE_WARNING,
    [SEVERITY_CRITICAL] = STYLE_CRITICAL,
};

/* ---- head ---- */

static void top_put_title(struct top_lines *l, const struct top_view *v, const struct top_choice *c)
{
    char took[HUMAN_LEN];
    const char *right =
        c->clock ? arena_printf(l->arena, "%s%s  every %g s", c->paused ? "PAUSED  " : "", c->clock,
                                ns_to_s(c->interval_ns))
                 : "";
    const size_t end = l->width - MIN_OF(text_columns(right), l->width);
    const size_t width = l->width;
    l->width = end > 2 ? end - 2 : 0;
    top_text(l, STYLE_STRONG, v->name);
    top_put(l, v->status == RUN_RUNNING || v->status == RUN_FINISHED ? STYLE_GOOD : STYLE_CRITICAL,
            "  %s", run_status_name(v->status));
    top_put(l, STYLE_PLAIN, " %s%s", v->status == RUN_RUNNING ? "for " : "after ",
            duration_text(v->duration_s, took, sizeof took));
    if (v->node.count > 1)
        top_put(l, STYLE_PLAIN, "  node %s, %zu of %zu", v->node.id, v->node.number + 1,
                v->node.count);
    l->width = width;
    top_pad(l, end);
    top_text(l, c->paused ? STYLE_WARNING : STYLE_PLAIN, right);
    top_end_line(l);
}

static void top_put_head(struct top_lines *l, const struct top_view *v, const struct top_choice *c,
                         bool command)
{
    top_put_title(l, v, c);
    if (v->note) {
        top_text(l, STYLE_WARNING, v->note);
        top_end_line(l);
    }
    if (!command)
        return;
    top_label(l, "command");
    top_text(l, STYLE_PLAIN, v->command);
    top_end_line(l);
}

/* ---- the machine ---- */

static void top_not_measured(struct top_lines *l, const char *label, const char *why)
{
    top_label(l, label);
    top_put(l, STYLE_PLAIN, "not measured%s%s", why && *why ? ": " : "", why ? why : "");
    top_end_line(l);
}

/* A bar from the label on, and words after it in a separate column. */
static void top_wide_bar(struct top_lines *l, const char *label, double pct, const char *words)
{
    enum { WORDS = 22 };
    const size_t room =
        l->width > TOP_LABEL + WORDS + 1 ? l->width - TOP_LABEL - WORDS - 1 : BAR_LEAST;
    top_label(l, label);
    top_bar(l, MIN_OF(room, (size_t)WIDE_BAR), pct / 100, value_text(l->arena, pct, "%"));
    top_put(l, STYLE_PLAIN, " %s", words);
    top_end_line(l);
}

static size_t top_core_columns(const struct top_lines *l, size_t n)
{
    const size_t most = l->width / CORE_CELL;
    return MAX_OF(MIN_OF(most, n), (size_t)1);
}

static size_t top_core_rows(const struct top_lines *l, size_t n)
{
    const size_t columns = top_core_columns(l, n);
    return (n + columns - 1) / columns;
}

/* In columns, as htop has them: the first column has the first cores. */
static void top_put_core_bars(struct top_lines *l, const struct top_node *n)
{
    const size_t rows = top_core_rows(l, n->n_cores);
    const size_t columns = rows ? (n->n_cores + rows - 1) / rows : 1;
    const size_t cell = MIN_OF(l->width / columns, (size_t)CORE_CELL_MOST);
    const int digits = n->n_cores > 100 ? 3 : n->n_cores > 10 ? 2 : 1;
    for (size_t r = 0; r < rows; r++) {
        for (size_t i = r, c = 0; i < n->n_cores; i += rows, c++) {
            top_pad(l, c * cell);
            top_put(l, STYLE_LABEL, "%*zu", digits, i);
            top_bar(l, cell - (size_t)digits - 1, n->cores[i] / 100,
                    value_text(l->arena, n->cores[i], "%"));
        }
        top_end_line(l);
    }
}

/* One character for each core, in groups. */
static void top_put_core_strip(struct top_lines *l, const struct top_node *n)
{
    const size_t room = l->width > TOP_LABEL ? l->width - TOP_LABEL : 1;
    const size_t groups = MAX_OF((room + 1) / (CORE_GROUP + 1), (size_t)1);
    const size_t each = groups * CORE_GROUP;
    for (size_t from = 0; from < n->n_cores; from += each) {
        const size_t to = MIN_OF(from + each, n->n_cores);
        struct buf b = {0};
        for (size_t i = from; i < to; i++)
            buf_printf(&b, "%s%s", i > from && (i - from) % CORE_GROUP == 0 ? " " : "",
                       isnan(n->cores[i]) ? "-" : chart_block(n->cores[i], 100));
        top_label(l, arena_printf(l->arena, "%zu-%zu", from, to - 1));
        top_text(l, STYLE_BAR, arena_strndup(l->arena, (const char *)b.p, b.len));
        top_end_line(l);
        buf_free(&b);
    }
}

static void top_put_cpu(struct top_lines *l, const struct top_node *n, bool bars)
{
    if (isnan(n->cpu)) {
        top_not_measured(l, "CPU", n->cpu_why);
    } else {
        const char *wait =
            isnan(n->iowait) || n->iowait < 0.05
                ? ""
                : arena_printf(l->arena, ", I/O %s", value_text(l->arena, n->iowait, "%"));
        top_wide_bar(
            l, "CPU", n->cpu,
            arena_printf(l->arena, "%zu core%s%s", n->n_cores, n->n_cores == 1 ? "" : "s", wait));
    }
    if (bars && top_core_rows(l, n->n_cores) <= CORE_BAR_ROWS)
        top_put_core_bars(l, n);
    else
        top_put_core_strip(l, n);
}

static void top_put_memory(struct top_lines *l, const struct top_node *n)
{
    if (isnan(n->mem)) {
        top_not_measured(l, "memory", n->mem_why);
        return;
    }
    const char *words = isnan(n->mem_used) || isnan(n->mem_total)
                            ? ""
                            : arena_printf(l->arena, "%s of %s", bytes_text(l->arena, n->mem_used),
                                           bytes_text(l->arena, n->mem_total));
    top_wide_bar(l, "memory", n->mem, words);
}

static void top_put_job(struct top_lines *l, const struct top_node *n)
{
    if (isnan(n->job_cpu) && isnan(n->job_rss)) {
        top_not_measured(l, "job", NULL);
        return;
    }
    top_label(l, "job");
    top_put(l, STYLE_PLAIN, "%s cores busy, memory %s",
            isnan(n->job_cpu) ? "-" : arena_printf(l->arena, "%.2f", n->job_cpu / 100),
            value_text(l->arena, n->job_rss, "B"));
    if (!isnan(n->job_processes))
        top_put(l, STYLE_PLAIN, ", %.0f process%s", n->job_processes,
                n->job_processes == 1 ? "" : "es");
    if (!isnan(n->job_threads))
        top_put(l, STYLE_PLAIN, ", %s thread%s", value_text(l->arena, n->job_threads, ""),
                n->job_threads == 1 ? "" : "s");
    top_end_line(l);
}

/* ---- GPUs ---- */

struct top_gpu_column {
    const char *title;
    size_t width;
    size_t from; /* screens narrower than this leave it out */
    const char *unit;
    size_t value, of; /* where they are in a top_gpu; of 0: it is of nothing */
};

#define GPU_AT(field) offsetof(struct top_gpu, field)
static const struct top_gpu_column gpu_columns[] = {
    {"SM", 8, 0, "%", GPU_AT(sm), 0},
    {"TENSOR", 8, 110, "%", GPU_AT(tensor), 0},
    {"MEMORY", 18, 0, "B", GPU_AT(mem_used), GPU_AT(mem_total)},
    {"POWER", 10, 0, "W", GPU_AT(power), GPU_AT(power_limit)},
    {"TEMP", 6, 0, "C", GPU_AT(temp), 0},
    {"CLOCK", 9, 0, "MHz", GPU_AT(clock_sm), 0},
    {"MEM CLOCK", 10, 100, "MHz", GPU_AT(clock_mem), 0},
};

static double top_gpu_value(const struct top_gpu *g, size_t at)
{
    double v;
    memcpy(&v, (const char *)g + at, sizeof v);
    return v;
}

/* "45.1 %", "20.1 GiB/141 GiB", "310/700 W" */
static const char *top_gpu_text(struct arena *a, const struct top_gpu_column *c,
                                const struct top_gpu *g)
{
    const double v = top_gpu_value(g, c->value), of = c->of ? top_gpu_value(g, c->of) : NAN;
    const char *text = value_text(a, v, c->unit);
    if (isnan(of) || (isnan(v) && *c->unit == 'W'))
        return text;
    return *c->unit == 'W' ? arena_printf(a, "%.0f/%.0f W", v, of)
                           : arena_printf(a, "%s/%s", text, value_text(a, of, c->unit));
}

enum { GPU_NAME = 6, GPU_BAR_MOST = 80 };

static size_t top_gpu_bar(const struct top_lines *l)
{
    size_t taken = GPU_NAME;
    for (size_t i = 0; i < COUNT_OF(gpu_columns); i++)
        taken += l->width >= gpu_columns[i].from ? gpu_columns[i].width : 0;
    return l->width > taken + BAR_LEAST ? MIN_OF(l->width - taken, (size_t)GPU_BAR_MOST)
                                        : BAR_LEAST;
}

/* `g` NULL: the titles. */
static void top_put_gpu(struct top_lines *l, const struct top_node *n, const struct top_gpu *g)
{
    const size_t bar = top_gpu_bar(l);
    top_text(l, STYLE_LABEL, g ? g->entity : "GPU");
    top_pad(l, GPU_NAME);
    if (g)
        top_bar(l, bar, g->busy / 100, value_text(l->arena, g->busy, "%"));
    else
        top_put(l, STYLE_LABEL, "BUSY%s%.*s", *n->gpu_name ? "  " : "",
                (int)(bar > 7 ? bar - 7 : 0), n->gpu_name);
    top_pad(l, GPU_NAME + bar);
    for (size_t i = 0; i < COUNT_OF(gpu_columns); i++)
        if (l->width >= gpu_columns[i].from)
            top_right(l, gpu_columns[i].width,
                      g ? top_gpu_text(l->arena, &gpu_columns[i], g) : gpu_columns[i].title);
    top_end_line(l);
}

static void top_put_gpus(struct top_lines *l, const struct top_node *n)
{
    if (n->n_gpus == 0 && !n->gpu_why)
        return;
    if (n->n_gpus == 0) {
        top_label(l, "GPU");
        top_text(l, STYLE_PLAIN, n->gpu_why);
        top_end_line(l);
        return;
    }
    top_put_gpu(l, n, NULL);
    for (size_t i = 0; i < n->n_gpus; i++)
        top_put_gpu(l, n, &n->gpus[i]);
}

/* ---- steps ---- */

/* The newest seconds at the right. */
static void top_put_spark(struct top_lines *l, const struct top_steps *s)
{
    const char *tail = "  last 999 s";
    const size_t room = l->width > l->at + strlen(tail) ? l->width - l->at - strlen(tail) : 0;
    const size_t n = MIN_OF(room, s->n_rates);
    double top = 0;
    struct buf b = {0};
    if (room < SPARK_LEAST || n == 0)
        return;
    for (size_t i = s->n_rates - n; i < s->n_rates; i++)
        top = fmax(top, isnan(s->rates[i]) ? 0 : s->rates[i]);
    for (size_t i = s->n_rates - n; i < s->n_rates; i++)
        buf_printf(&b, "%s", chart_block(s->rates[i], top > 0 ? top : 1));
    top_text(l, STYLE_BAR, arena_strndup(l->arena, (const char *)b.p, b.len));
    top_put(l, STYLE_WEAK, "  last %zu s", n);
    buf_free(&b);
}

/* A newest step that is this much older than usual is worth a word. */
static bool top_is_late(const struct top_view *v)
{
    const struct top_steps *s = &v->steps;
    return v->status == RUN_RUNNING && s->since_s > 10 && !(s->since_s < 5 * s->p95_s);
}

static void top_put_rate(struct top_lines *l, const struct top_view *v)
{
    const struct top_steps *s = &v->steps;
    top_label(l, "steps");
    top_put(l, STYLE_STRONG, "step %s",
            s->number < 0 ? "-" : count_text(l->arena, (uint64_t)s->number));
    if (s->planned > 0)
        top_put(l, STYLE_PLAIN, " of %s", count_text(l->arena, (uint64_t)s->planned));
    if (top_is_late(v))
        top_put(l, STYLE_WARNING, ", began %s ago", value_text(l->arena, s->since_s, "s"));
    else if (isnan(s->rate))
        top_put(l, STYLE_PLAIN, ", no rate yet");
    else
        top_put(l, STYLE_PLAIN, ", %s", value_text(l->arena, s->rate, "steps/s"));
    if (s->left_s > 0 && v->status == RUN_RUNNING)
        top_put(l, STYLE_PLAIN, ", %s left", value_text(l->arena, s->left_s, "s"));
    top_pad(l, MAX_OF(l->at + 2, (size_t)TOP_LABEL + 30));
    top_put_spark(l, s);
    top_end_line(l);
}

static void top_put_iteration(struct top_lines *l, const struct top_steps *s)
{
    if (isnan(s->p50_s))
        return;
    top_label(l, "iteration");
    top_put(l, STYLE_PLAIN, "p50 %s, p95 %s", value_text(l->arena, s->p50_s, "s"),
            value_text(l->arena, s->p95_s, "s"));
    if (!isnan(s->samples_s))
        top_put(l, STYLE_PLAIN, ", %s", value_text(l->arena, s->samples_s, "samples/s"));
    if (s->ranks > 1)
        top_put(l, STYLE_PLAIN, ", %zu ranks together", s->ranks);
    top_end_line(l);
}

static void top_put_clock_bars(struct top_lines *l, const struct top_clock *c, double iteration_s)
{
    enum { TIME = 10 };
    const size_t room = l->width > 2 + PART_NAME + TIME ? l->width - 2 - PART_NAME - TIME : 0;
    top_put(l, STYLE_LABEL, "%s", c->label);
    top_end_line(l);
    for (size_t i = 0; i < c->n; i++) {
        const double share = c->parts[i].seconds / iteration_s;
        top_pad(l, 2);
        top_text(l, STYLE_PLAIN, c->parts[i].name);
        top_pad(l, 2 + PART_NAME);
        top_bar(l, MAX_OF(MIN_OF(room, (size_t)PART_BAR), (size_t)BAR_LEAST), share,
                value_text(l->arena, share * 100, "%"));
        top_right(l, TIME, value_text(l->arena, c->parts[i].seconds, "s"));
        top_end_line(l);
    }
}

static void top_put_clock_text(struct top_lines *l, const struct top_clock *c, double iteration_s)
{
    struct buf b = {0};
    for (size_t i = 0; i < c->n; i++)
        buf_printf(&b, "%s%s %s", i ? ", " : "", c->parts[i].name,
                   value_text(l->arena, c->parts[i].seconds / iteration_s * 100, "%"));
    top_pad(l, TOP_LABEL);
    top_wrapped(l, STYLE_PLAIN,
                arena_printf(l->arena, "%s: %.*s", c->label, (int)b.len, (const char *)b.p));
    buf_free(&b);
}

static void top_put_steps(struct top_lines *l, const struct top_view *v, bool bars)
{
    const struct top_steps *s = &v->steps;
    if (s->none) {
        top_label(l, "steps");
        top_wrapped(l, STYLE_PLAIN, s->none);
        return;
    }
    top_put_rate(l, v);
    top_put_iteration(l, s);
    for (size_t i = 0; i < s->n_clocks; i++)
        if (bars)
            top_put_clock_bars(l, &s->clocks[i], s->mean_s);
        else
            top_put_clock_text(l, &s->clocks[i], s->mean_s);
}

/* ---- findings ---- */

static void top_put_finding_head(struct top_lines *l, const struct top_finding *f, bool selected)
{
    top_text(l, selected ? STYLE_STRONG : STYLE_PLAIN, selected ? "> " : "  ");
    top_text(l, severity_styles[f->severity], severity_names[f->severity]);
    top_pad(l, 2 + SEVERITY);
    top_text(l, selected ? STYLE_STRONG : STYLE_PLAIN, f->title);
    top_put(l, STYLE_PLAIN, "%s%s", *f->size ? ": " : "", f->size);
    if (f->explained_by)
        top_put(l, STYLE_WEAK, " (explained by %s)", f->explained_by);
    top_end_line(l);
}

static void top_put_advice(struct top_lines *l, const struct top_finding *f)
{
    if (!f->advice || !*f->advice)
        return;
    top_pad(l, 2 + SEVERITY);
    top_text(l, STYLE_GOOD, "fix");
    top_pad(l, 2 + SEVERITY + 5);
    top_wrapped(l, STYLE_STRONG, f->advice);
}

/* `tight`: the end may not be seen, so what to do comes first. */
static void top_put_finding_body(struct top_lines *l, const struct top_finding *f, bool tight)
{
    if (tight)
        top_put_advice(l, f);
    top_pad(l, 2 + SEVERITY);
    top_wrapped(l, STYLE_PLAIN, f->message);
    if (!tight)
        top_put_advice(l, f);
}

static void top_put_counts(struct top_lines *l, const struct top_view *v)
{
    top_label(l, "findings");
    if (!v->judged) {
        top_text(l, STYLE_PLAIN, "the rules have not been evaluated yet");
    } else {
        if (v->n_findings)
            top_put(l, STYLE_PLAIN, "%zu issue%s", v->n_findings, v->n_findings == 1 ? "" : "s");
        else
            top_text(l, STYLE_PLAIN, v->passed ? v->none_words : "no rule applied");
        if (v->passed)
            top_put(l, STYLE_WEAK, ", %zu rule%s passed", v->passed, v->passed == 1 ? "" : "s");
        top_put(l, STYLE_WEAK, ", %zu skipped", v->skipped);
    }
    top_end_line(l);
}

/* Lines first..end of the selected finding. */
struct top_span {
    size_t first, end;
};

static struct top_span top_put_findings(struct top_lines *l, const struct top_view *v,
                                        const struct top_choice *c, bool tight)
{
    struct top_span span = {0};
    for (size_t i = 0; i < v->n_findings; i++) {
        const bool selected = i == MIN_OF(c->selected, v->n_findings - 1);
        if (selected)
            span.first = l->n;
        top_put_finding_head(l, &v->findings[i], selected);
        if (selected)
            top_put_finding_body(l, &v->findings[i], tight);
        if (selected)
            span.end = l->n;
    }
    return span;
}

/* ---- the frame ---- */

static const struct {
    const char *key, *what, *help;
} top_keys[] = {
    {"q", "quit", "quit; Ctrl-C too"},
    {"h", "help", "show or leave this help; ? too"},
    {"j k", "finding", "the next and the previous finding in full; arrows, PgUp, PgDn too"},
    {"space", "pause", "stop and resume reading"},
    {"+ -", "interval", "longer and shorter interval; 1 to 9: so many seconds"},
    {"n", "node", "the next node of the run; left and right arrow too"},
    {"r", "run", "the next older run, after the oldest the newest"},
};

static void top_put_keys(struct top_lines *l, const struct top_view *v)
{
    for (size_t i = 0; i < COUNT_OF(top_keys); i++) {
        if (*top_keys[i].key == 'n' && v->node.count < 2)
            continue;
        top_text(l, STYLE_KEY, top_keys[i].key);
        top_put(l, STYLE_PLAIN, " %s  ", top_keys[i].what);
    }
    top_end_line(l);
}

static void top_put_help(struct top_lines *l)
{
    top_text(l, STYLE_STRONG, "footplate top: keys");
    top_end_line(l);
    top_end_line(l);
    for (size_t i = 0; i < COUNT_OF(top_keys); i++) {
        top_pad(l, 2);
        top_text(l, STYLE_KEY, top_keys[i].key);
        top_pad(l, 2 + TOP_LABEL);
        top_wrapped(l, STYLE_PLAIN, top_keys[i].help);
    }
    top_end_line(l);
    top_wrapped(l, STYLE_PLAIN,
                "CPU, memory and GPU are means of the last interval. '-' is a value that was not "
                "measured. Iteration, parts and findings are of the whole run, as 'footplate show' "
                "and 'footplate check' print them; they are read less often when that takes long.");
}

enum { TOP_SECTIONS = 6 };

/* All but the findings; sections[i] is the line at which a section begins. */
static size_t top_put_body(struct top_lines *l, const struct top_view *v,
                           const struct top_choice *c, unsigned less, size_t sections[TOP_SECTIONS])
{
    size_t n = 0;
    top_put_head(l, v, c, less < LESS_MOST);
    sections[n++] = l->n;
    top_put_cpu(l, &v->node, less < 1);
    top_put_memory(l, &v->node);
    top_put_job(l, &v->node);
    sections[n++] = l->n;
    top_put_gpus(l, &v->node);
    if (sections[n - 1] != l->n)
        sections[n++] = l->n;
    top_put_steps(l, v, less < 2);
    sections[n++] = l->n;
    top_put_counts(l, v);
    return n;
}

/* The findings that are seen, the selected one first of all. */
static void top_add_findings(struct top_lines *to, const struct top_lines *f, struct top_span s,
                             size_t rows)
{
    size_t from = 0;
    if (s.end > rows)
        from = MIN_OF(s.first, s.end - MIN_OF(rows, s.end));
    for (size_t i = from; i < f->n && i - from < rows; i++)
        *ARENA_ADD(to->arena, to->v, to->n, to->cap) = f->v[i];
}

/* An empty line before each section, the last ones first, as long as there is room. */
static void top_add_gaps(struct top_lines *l, const size_t *sections, size_t n, size_t room)
{
    for (size_t i = n; i-- > 0 && room > 0; room--) {
        (void)*ARENA_ADD(l->arena, l->v, l->n, l->cap);
        memmove(&l->v[sections[i] + 1], &l->v[sections[i]],
                (l->n - 1 - sections[i]) * sizeof *l->v);
        l->v[sections[i]] = "";
    }
}

static void top_fill(struct top_lines *l, const struct top_view *v, const struct top_choice *c,
                     size_t rows)
{
    struct top_lines f = {.arena = l->arena, .width = l->width, .color = l->color};
    struct top_span span = {0};
    size_t sections[TOP_SECTIONS], n = 0;
    for (unsigned less = 0; less <= LESS_MOST; less++) {
        l->n = f.n = 0;
        n = top_put_body(l, v, c, less, sections);
        span = top_put_findings(&f, v, c, less == LESS_MOST);
        if (rows == 0 || l->n + MIN_OF(f.n, (size_t)FINDING_ROWS) <= rows)
            break;
    }
    const size_t left = rows == 0 ? f.n : rows > l->n ? rows - l->n : 0;
    const size_t shown = MIN_OF(f.n, left);
    top_add_gaps(l, sections, n, rows == 0 ? n : left - shown);
    top_add_findings(l, &f, span, shown);
    buf_free(&f.line);
}

size_t top_layout(const struct top_view *v, const struct top_choice *c, const struct top_page *p,
                  struct arena *a, const char ***out)
{
    struct top_lines l = {.arena = a, .width = p->columns, .color = p->color};
    const size_t rows = p->rows > 1 ? p->rows - 1 : p->rows;
    if (c->help)
        top_put_help(&l);
    else
        top_fill(&l, v, c, rows);
    if (p->rows) {
        l.n = MIN_OF(l.n, rows);
        while (l.n < rows)
            top_end_line(&l);
        if (p->rows > 1)
            top_put_keys(&l, v);
    }
    buf_free(&l.line);
    *out = l.v;
    return l.n;
}
