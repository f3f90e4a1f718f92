/* SPDX-License-Identifier: Apache-2.0 */
/* import_sm_system.c - system metrics as SageMaker writes them: JSON lines, one reading each.
 *
 *     {"Type":"cpu","Name":"cpu3","Dimension":"CPUUtilization","Value":37.5,"NodeId":"algo-2",
 *      "Timestamp":1700000000.2514321}
 *
 * A line that is broken is counted and skipped; so is a last one that is cut.
 *
 * The agent that wrote them reads all its devices in one sweep, by several threads, so that the
 * times of a sweep are a few milliseconds apart and its lines may come in any order. A reading
 * within SWEEP_NS of the first one of a sweep belongs to it. A few sweeps stay open; when there are
 * more, the oldest becomes a row. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "import/import_out.h"
#include "import/importer.h"
#include "json/json.h"
#include "record/group.h"

enum { SWEEPS_OPEN = 4, SM_SERIES_MOST = 4096 };

#define SWEEP_NS (20 * NS_PER_MS)

enum sm_key { SM_NONE, SM_TYPE, SM_NAME, SM_DIMENSION, SM_NODE, SM_VALUE, SM_TIME };
enum { SM_TEXTS = SM_NODE + 1, SM_TEXT_MOST = 128 };

static const char *const sm_keys[] = {"Type", "Name", "Dimension", "NodeId", "Value", "Timestamp"};

struct sm_line {
    struct json_text text[SM_TEXTS]; /* by enum sm_key; len 0: not there */
    bool has_value, has_time;
    double value;
    int64_t time_ns;
    char room[SM_TEXTS][SM_TEXT_MOST + 1]; /* of texts that have to be decoded */
};

struct sm_series {
    slot_id slot; /* SLOT_NONE: no metric of ours */
    double scale; /* what the value is multiplied by to be a cell */
    double most;  /* the largest cell */
};

struct sm_sweep {
    int64_t at; /* of its first reading, wall time */
    uint32_t n; /* cells that it has room for */
    int64_t *cells;
};

/* The mean of all devices of a metric. */
struct sm_total {
    slot_id slot;
    uint32_t members;
    uint32_t n; /* of them in the current row */
    double sum;
};

enum { SM_TOTALS = 2 }; /* metrics that have one */

struct sm_sweeps {
    struct sink *sink;
    struct import_result *result;
    int64_t wall_minus_mono_ns;
    struct group group;
    bool begun;   /* a row was put */
    int64_t last; /* time of that row */

    struct sm_series *series;
    uint32_t n_series, cap_series;
    struct texts names; /* type, name and dimension of a series; the number is 1 + its index */

    struct sm_total totals[SM_TOTALS];
    uint32_t n_totals;
    uint8_t member[SM_SERIES_MOST + SM_TOTALS]; /* per slot: 1 + its total; 0: none */

    struct sm_sweep open[SWEEPS_OPEN]; /* in order of time; all have separate cells */
    uint32_t n_open, now;              /* the one that the last reading went to */
};

/* ------------------------------------------------------------------------------------------------
 * Sweeps */

/* ---- which metric a line is of ---- */

enum entity_from { FROM_NAME, FROM_DIMENSION, FROM_TOTAL };

#define SM(type, name, dimension, metric, step, from)                                              \
    {type, name, dimension, M_##metric, step, FROM_##from},
static const struct {
    const char *type, *name, *dimension;
    enum metric_id metric;
    double step;
    enum entity_from from;
} known[] = {
#include "record/sm_metrics.def"
};
#undef SM

/* A sweep that has all devices has their mean too, as recorded runs do. */
static const enum metric_id with_mean[SM_TOTALS] = {M_CPU_UTIL, M_CPU_IOWAIT};

static bool has_mean(enum metric_id m)
{
    return FIND_ANY(i, SM_TOTALS, with_mean[i] == m);
}

static bool sm_sweeps_text_is(const struct json_text *t, const char *s)
{
    return json_text_is(t, s, strlen(s));
}

static int sm_sweeps_find_known(const struct sm_line *l)
{
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (sm_sweeps_text_is(&l->text[SM_TYPE], known[i].type) &&
            (*known[i].name ? sm_sweeps_text_is(&l->text[SM_NAME], known[i].name)
                            : l->text[SM_NAME].len > 0) &&
            (*known[i].dimension == '*' ||
             sm_sweeps_text_is(&l->text[SM_DIMENSION], known[i].dimension)))
            return (int)i;
    return -1;
}

static void sm_sweeps_entity_of(char out[ENTITY_LEN], const struct sm_line *l,
                                enum entity_from from)
{
    const struct json_text total = {.p = ENTITY_TOTAL, .len = sizeof ENTITY_TOTAL - 1};
    const struct json_text *t = from == FROM_NAME ? &l->text[SM_NAME] : &total;
    if (from == FROM_DIMENSION && l->text[SM_DIMENSION].len)
        t = &l->text[SM_DIMENSION];
    const size_t n = MIN_OF(t->len, (size_t)ENTITY_LEN - 1);
    memcpy(out, t->p, n);
    out[n] = '\0';
}

/* ---- series ---- */

static unsigned sm_sweeps_total_of(struct sm_sweeps *s, enum metric_id metric, double step)
{
    for (uint32_t i = 0; i < s->n_totals; i++)
        if (s->group.slots[s->totals[i].slot].metric == metric)
            return i;
    s->totals[s->n_totals].slot = group_add_step(&s->group, metric, ENTITY_TOTAL, step);
    return s->n_totals++;
}

static void join_total(struct sm_sweeps *s, slot_id slot, enum metric_id metric, double step)
{
    const unsigned total = sm_sweeps_total_of(s, metric, step);
    s->totals[total].members++;
    s->member[slot] = (uint8_t)(total + 1);
}

static void add_slot(struct sm_sweeps *s, struct sm_series *x, const struct sm_line *l)
{
    char entity[ENTITY_LEN];
    const int row = sm_sweeps_find_known(l);
    x->slot = SLOT_NONE;
    if (row < 0)
        return;
    sm_sweeps_entity_of(entity, l, known[row].from);
    x->slot = group_add_step(&s->group, known[row].metric, entity, known[row].step);
    x->scale = 1 / known[row].step;
    x->most = s->group.scales[x->slot].most;
    if (has_mean(known[row].metric) && strcmp(entity, ENTITY_TOTAL) != 0)
        join_total(s, x->slot, known[row].metric, known[row].step);
}

/* NULL: there are too many. */
static struct sm_series *sm_sweeps_series_of(struct sm_sweeps *s, const struct sm_line *l)
{
    char key[SM_TEXTS * (SM_TEXT_MOST + 1)];
    size_t n = 0;
    for (unsigned k = SM_TYPE; k <= SM_DIMENSION; k++) {
        memcpy(key + n, l->text[k].p, l->text[k].len);
        n += l->text[k].len;
        key[n++] = '\0';
    }
    struct interned_text *t = texts_full(&s->names) ? NULL : texts_intern(&s->names, key, n);
    if (t && t->number)
        return &s->series[t->number - 1];
    if (!t || s->n_series == SM_SERIES_MOST)
        return NULL;
    struct sm_series *x = VEC_ADD(s->series, s->n_series, s->cap_series);
    *x = (struct sm_series){0};
    t->number = s->n_series;
    add_slot(s, x, l);
    return x;
}

/* ---- rows ---- */

/* How often sweeps are made: one of what the agent can be set to, nearest to the first distance. */
static int64_t sm_sweeps_period_of(const struct sm_sweeps *s)
{
    static const int64_t choices_ms[] = {100, 200, 500, 1000, 5000, 60000};
    int64_t best = 500;
    if (s->n_open < 2)
        return best * NS_PER_MS;
    const double gap = (double)(s->open[1].at - s->open[0].at) / (double)NS_PER_MS;
    for (size_t i = 0; i < COUNT_OF(choices_ms); i++)
        if (fabs((double)choices_ms[i] - gap) < fabs((double)best - gap))
            best = choices_ms[i];
    return best * NS_PER_MS;
}

/* A mean over some of the devices would not be that of all; one that is alone in its file may be
 * one of several, and needs no mean. */
static void set_totals(struct sm_sweeps *s, const struct sm_sweep *w)
{
    for (uint32_t i = 0; i < w->n; i++)
        if (s->member[i] && w->cells[i] != CELL_MISSING) {
            struct sm_total *t = &s->totals[s->member[i] - 1];
            t->sum += (double)w->cells[i];
            t->n++;
        }
    for (uint32_t i = 0; i < s->n_totals; i++) {
        struct sm_total *t = &s->totals[i];
        if (t->n == t->members && t->members > 1)
            s->group.cells[t->slot] = (int64_t)(t->sum / t->n + 0.5);
        t->n = 0;
        t->sum = 0;
    }
}

static void sm_sweeps_put_first(struct sm_sweeps *s)
{
    struct sm_sweep sweep = s->open[0];
    const mono_ns t = {sweep.at - s->wall_minus_mono_ns};
    uint64_t readings = 0;
    if (!s->begun)
        group_set_period(&s->group, sm_sweeps_period_of(s));
    for (uint32_t i = 0; i < sweep.n; i++) {
        s->group.cells[i] = sweep.cells[i];
        readings += sweep.cells[i] != CELL_MISSING;
    }
    set_totals(s, &sweep);
    import_note_span(s->result, t.ns, t.ns);
    s->result->count[IMPORTED_READINGS] += readings;
    group_commit(&s->group, s->sink, t);
    s->begun = true;
    s->last = sweep.at;
    s->n_open--;
    memmove(&s->open[0], &s->open[1], s->n_open * sizeof s->open[0]);
    s->open[s->n_open] = sweep; /* its cells are used again */
    s->now = s->now ? s->now - 1 : 0;
}

static inline bool is_in(const struct sm_sweep *w, int64_t at)
{
    return at - w->at <= SWEEP_NS && w->at - at <= SWEEP_NS;
}

/* The place of a new sweep among those open, for which there is room; false: it comes too late. */
static bool begin_sweep(struct sm_sweeps *s, int64_t at)
{
    if (s->n_open == SWEEPS_OPEN)
        sm_sweeps_put_first(s);
    if (s->begun && at <= s->last)
        return false;
    struct sm_sweep fresh = s->open[s->n_open];
    fresh.at = at;
    fresh.n = 0;
    uint32_t i = s->n_open++;
    for (; i > 0 && s->open[i - 1].at > at; i--)
        s->open[i] = s->open[i - 1];
    s->open[i] = fresh;
    s->now = i;
    return true;
}

static bool find_sweep(struct sm_sweeps *s, int64_t at)
{
    for (uint32_t i = s->n_open; i > 0; i--)
        if (is_in(&s->open[i - 1], at)) {
            s->now = i - 1;
            return true;
        }
    return begin_sweep(s, at);
}

/* Cells of series that came up since it began are missing. */
static void sm_sweeps_widen(const struct sm_sweeps *s, struct sm_sweep *w)
{
    w->cells = xrealloc(w->cells, s->group.cap, sizeof *w->cells);
    for (; w->n < s->group.n; w->n++)
        w->cells[w->n] = CELL_MISSING;
}

static inline void sm_sweeps_set_cell(struct sm_sweeps *s, const struct sm_series *x, double value)
{
    struct sm_sweep *w = &s->open[s->now];
    double cell = value * x->scale;
    if (x->slot >= w->n)
        sm_sweeps_widen(s, w);
    if (cell < 0 || cell > x->most) {
        s->result->count[IMPORTED_CLAMPED]++;
        cell = cell < 0 ? 0 : x->most;
    }
    s->result->count[IMPORTED_DUPLICATES] += w->cells[x->slot] != CELL_MISSING;
    w->cells[x->slot] = (int64_t)(cell + 0.5);
}

/* More than any of these metrics can be, and less than the largest value of a cell. Far from where
 * sums of times overflow. */
#define VALUE_MOST 1e13
#define TIME_MOST  (INT64_MAX / 4)

/* A line that has a value and a time. */
static void sm_sweeps_take(struct sm_sweeps *s, const struct sm_line *l)
{
    const struct sm_series *x = sm_sweeps_series_of(s, l);
    uint64_t *count = s->result->count;
    if (!x)
        count[IMPORTED_NODES]++;
    else if (x->slot == SLOT_NONE)
        count[IMPORTED_NO_METRIC]++;
    else if (!(fabs(l->value) < VALUE_MOST))
        count[IMPORTED_NO_VALUE]++;
    else if (l->time_ns > TIME_MOST)
        count[IMPORTED_BAD_TIME]++;
    else if ((s->n_open && is_in(&s->open[s->now], l->time_ns)) || find_sweep(s, l->time_ns))
        sm_sweeps_set_cell(s, x, l->value);
    else
        count[IMPORTED_LATE]++;
}

static void sm_sweeps_open(struct sm_sweeps *s, const struct import_ask *ask, struct sink *sink,
                           struct import_result *result)
{
    *s = (struct sm_sweeps){
        .sink = sink, .result = result, .wall_minus_mono_ns = ask->wall_minus_mono_ns};
    group_open(&s->group, "sagemaker", NS_PER_S);
}

/* Emits what is open, and frees. */
static void sm_sweeps_close(struct sm_sweeps *s)
{
    while (s->n_open)
        sm_sweeps_put_first(s);
    for (uint32_t i = 0; i < SWEEPS_OPEN; i++)
        free(s->open[i].cells);
    free(s->series);
    texts_clear(&s->names);
    group_close(&s->group);
}

/* ------------------------------------------------------------------------------------------------
 * The file */

enum { LINE_MOST = 256 << 10, NODES_MOST = 1024 };

struct sm_node {
    char name[IMPORT_NAME_LEN];
    struct sm_sweeps sweeps;
};

struct sm_reader {
    const struct import_ask *ask;
    struct import_result *result;
    struct sm_node **nodes;
    uint32_t n_nodes, now;
    struct json_scan scan;
    struct json_keys keys;
    struct sm_line line;
};

/* ---- nodes ---- */

static bool is_node(const struct sm_node *d, const struct json_text *name)
{
    return strncmp(d->name, name->p, name->len) == 0 && d->name[name->len] == '\0';
}

static struct sink *sm_system_sink_of(const struct sm_reader *r, const char *name)
{
    const struct import_ask *ask = r->ask;
    if (!*name || !ask->sink_of_node || strcmp(name, ask->hint.node) == 0)
        return ask->sink;
    return ask->sink_of_node(ask->ctx, name);
}

static struct sm_node *sm_system_add_node(struct sm_reader *r, const struct json_text *name)
{
    char text[IMPORT_NAME_LEN] = "";
    memcpy(text, name->p, name->len);
    struct sink *sink = r->n_nodes < NODES_MOST ? sm_system_sink_of(r, text) : NULL;
    if (!sink)
        return NULL;
    struct sm_node *d = xcalloc(1, sizeof *d);
    memcpy(d->name, text, sizeof text);
    sm_sweeps_open(&d->sweeps, r->ask, sink, r->result);
    r->nodes = xrealloc(r->nodes, r->n_nodes + 1, sizeof(struct sm_node *));
    r->nodes[r->now = r->n_nodes++] = d;
    return d;
}

/* A line that names no machine is of its file's own. A name ends with a NUL byte in it. */
static struct sm_node *sm_system_find_node(struct sm_reader *r, const struct json_text *name)
{
    const char *own = r->ask->hint.node;
    const size_t len =
        name->len ? strnlen(name->p, MIN_OF(name->len, (uint32_t)IMPORT_NAME_LEN - 1)) : 0;
    const struct json_text cut = {.p = len ? name->p : own,
                                  .len = (uint32_t)(len ? len : strlen(own))};
    if (r->n_nodes && is_node(r->nodes[r->now], &cut))
        return r->nodes[r->now];
    for (uint32_t i = 0; i < r->n_nodes; i++)
        if (is_node(r->nodes[i], &cut))
            return r->nodes[r->now = i];
    return sm_system_add_node(r, &cut);
}

/* ---- lines ---- */

static void sm_system_take_line(void *ctx)
{
    struct sm_reader *r = ctx;
    uint64_t *count = r->result->count;
    if (!r->line.has_time || !r->line.has_value) {
        count[r->line.has_time ? IMPORTED_NO_VALUE : IMPORTED_NO_TIME]++;
        return;
    }
    struct sm_node *d = sm_system_find_node(r, &r->line.text[SM_NODE]);
    if (d)
        sm_sweeps_take(&d->sweeps, &r->line);
    else
        count[IMPORTED_NODES]++;
}

static void sm_keep_text(struct sm_reader *r, const struct json_item *it)
{
    char *room = r->line.room[it->id];
    r->line.text[it->id] = it->text;
    if (!it->text.escaped && !it->text.high && it->text.len <= SM_TEXT_MOST)
        return;
    json_decode(&it->text, room, sizeof r->line.room[0], &r->scan.faults);
    r->line.text[it->id] = (struct json_text){.p = room, .len = (uint32_t)strlen(room)};
}

static enum json_kind sm_take_member(void *ctx, const struct json_item *it)
{
    struct sm_reader *r = ctx;
    struct sm_line *l = &r->line;
    if (it->id == SM_VALUE)
        l->has_value = json_double(it, &l->value);
    else if (it->id == SM_TIME)
        l->has_time = it->kind == JS_NUMBER && json_scaled(it, 9, &l->time_ns) && l->time_ns >= 0;
    else if (it->id && it->kind == JS_STRING)
        sm_keep_text(r, it);
    return JS_NULL;
}

static enum json_kind sm_read_line(void *ctx)
{
    struct sm_reader *r = ctx;
    for (unsigned i = 0; i < SM_TEXTS; i++)
        r->line.text[i] = (struct json_text){.p = ""};
    r->line.has_value = r->line.has_time = false;
    return json_each(&r->scan, sm_take_member, r);
}

static int sm_system_run(const struct import_ask *ask, struct import_result *out, struct err *e)
{
    struct sm_reader *r = xcalloc(1, sizeof *r);
    *out = (struct import_result){.rank = -1, .world_size = -1};
    r->ask = ask;
    r->result = out;
    json_keys_init(&r->keys, sm_keys, COUNT_OF(sm_keys));
    json_open(&r->scan, ask->in,
              &(struct json_options){.keys = &r->keys, .many = true, .window_most = LINE_MOST});
    struct json_elements all = {
        .scan = &r->scan, .read = sm_read_line, .emit = sm_system_take_line, .ctx = r};
    const enum json_kind kind = json_elements(&all);
    int rc = json_failed(&r->scan, kind, e);
    out->faults = r->scan.faults;
    out->faults.unread += all.others;
    out->bytes = json_position(&r->scan);
    json_close(&r->scan);
    for (uint32_t i = 0; i < r->n_nodes; i++) {
        sm_sweeps_close(&r->nodes[i]->sweeps);
        free(r->nodes[i]);
    }
    if (rc == 0 && out->count[IMPORTED_READINGS] == 0)
        rc = err_set(e, ERR_FORMAT, "no SageMaker system metrics in the file");
    free(r->nodes);
    free(r);
    return rc;
}

/* ---- names of files ---- */

/* 1591748100.algo-1.json */
static enum import_place sm_system_place(const char *path, struct import_hint *h)
{
    const char *name = path_base(path);
    const size_t n = strlen(name), end = sizeof ".json" - 1;
    if (import_digits_at(name) != 10 || name[10] != '.' || !text_ends(name, ".json") ||
        n <= 11 + end)
        return PLACE_ANY;
    import_hint_text(h->node, name + 11, n - end - 11);
    return PLACE_TRACE;
}

static int sm_system_sniff(const char *head, size_t n)
{
    const char *line = n ? memchr(head, '\n', n) : NULL;
    const size_t len = line ? (size_t)(line - head) : n;
    const bool mine = n && *head == '{' && memmem(head, len, "\"Type\"", 6) &&
                      memmem(head, len, "\"Timestamp\"", 11) && memmem(head, len, "\"Value\"", 7);
    return mine ? 95 : 0;
}

const struct importer importer_sagemaker_system = {
    .name = "sagemaker_system",
    .help = "SageMaker system metrics",
    .sniff = sm_system_sniff,
    .place = sm_system_place,
    .run = sm_system_run,
};
