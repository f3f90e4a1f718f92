/* SPDX-License-Identifier: Apache-2.0 */
/* footplate_rows.c - samples of our own exports become rows again.
 *
 * Samples of one group and one moment stand together, as they were one row. How a series is kept
 * may change in the middle of a run, so each has a list: what holds from when on. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "import/footplate_in.h"
#include "json/json.h"

/* What a double holds exactly. */
#define CELL_MOST 9007199254740992.0

/* 1 + index under that key in the names; 0 and `new_number` for a new one, kept when it is not 0.
 */
static uint32_t footplate_rows_number_of(struct footplate *f, const char *key, size_t len,
                                         uint32_t new_number)
{
    if (texts_full(&f->names))
        return 0;
    struct kept_text *t = texts_keep(&f->names, key, len);
    if (t->number)
        return (uint32_t)t->number;
    t->number = new_number;
    return 0;
}

/* 1 + index of the group; 0: there are too many. */
static uint32_t find_group(struct footplate *f, uint32_t node, const char *name, int64_t period_ns)
{
    char key[64] = {1}; /* no pid and no name of a node begins so */
    memcpy(key + 1, &node, sizeof node);
    memcpy(key + 5, &period_ns, sizeof period_ns);
    const size_t len = strnlen(name, GROUP_NAME_LEN);
    memcpy(key + 13, name, len);
    const uint32_t found = footplate_rows_number_of(f, key, 13 + len, f->n_groups + 1);
    if (found || texts_full(&f->names))
        return found;
    f->groups = xrealloc(f->groups, f->n_groups + 1, sizeof *f->groups);
    struct fp_group *g = xcalloc(1, sizeof *g);
    g->node = node;
    group_open(&g->group, name, period_ns);
    f->groups[f->n_groups++] = g;
    return f->n_groups;
}

/* The list under that key; with `make` made when it is new. NULL: there is none, or too many. */
static struct fp_series *footplate_rows_find_series(struct footplate *f, const char *key,
                                                    size_t len, bool make)
{
    make = make && f->n_series < FP_SERIES_MOST;
    const uint32_t found = footplate_rows_number_of(f, key, len, make ? f->n_series + 1 : 0);
    if (found)
        return &f->series[found - 1];
    if (!make || texts_full(&f->names))
        return NULL;
    f->series = xrealloc(f->series, f->n_series + 1, sizeof *f->series);
    f->series[f->n_series] = (struct fp_series){0};
    return &f->series[f->n_series++];
}

/* Series of a trace are known by pid, session and counter, those of lines by node, metric and
 * entity. */
static size_t trace_key(struct footplate *f, enum footplate_key name, char key[], size_t room)
{
    const int64_t who[] = {fp_int(f, F_PID, 0), fp_int(f, F_SESSION, 1)};
    memcpy(key, who, sizeof who);
    fp_text(f, name, key + sizeof who, room - sizeof who);
    return sizeof who + strlen(key + sizeof who);
}

static size_t line_key(struct footplate *f, char key[], size_t room)
{
    static const enum footplate_key parts[] = {F_NODE, F_METRIC, F_ENTITY};
    size_t len = 0;
    for (size_t i = 0; i < COUNT_OF(parts) && len + 1 < room; i++) {
        fp_text(f, parts[i], key + len, room - len);
        len += strlen(key + len) + 1;
    }
    return MIN_OF(len, room);
}

void fp_tell_series(void *ctx)
{
    struct footplate *f = ctx;
    char key[512], node[IMPORT_NAME_LEN], group[GROUP_NAME_LEN], metric[ENTITY_LEN];
    const size_t len = fp_has(f, F_COUNTER) ? trace_key(f, F_COUNTER, key, sizeof key)
                                            : line_key(f, key, sizeof key);
    struct fp_kept k = {.from = fp_int(f, F_FROM, 0), .slot = SLOT_NONE};
    const int64_t period_ns = fp_int(f, F_PERIOD, 0);
    fp_text(f, F_NODE, node, sizeof node);
    fp_text(f, F_GROUP, group, sizeof group);
    fp_text(f, F_METRIC, metric, sizeof metric);
    fp_text(f, F_ENTITY, k.entity, sizeof k.entity);
    k.metric = metric_find(metric);
    const struct fp_node *n = fp_node(f, node, (unsigned)fp_int(f, F_SESSION, 1), (wall_ns){0});
    if (k.metric == METRIC_N || !n || period_ns <= 0 || !fp_has(f, F_STEP) ||
        !json_double(&f->record.item[F_STEP], &k.step) || !(k.step > 0)) {
        f->result->count[IMPORTED_NO_METRIC]++;
        return;
    }
    const uint32_t in = find_group(f, (uint32_t)(n - f->nodes), group, period_ns);
    struct fp_series *s = in ? footplate_rows_find_series(f, key, len, true) : NULL;
    if (!s) {
        f->result->count[IMPORTED_NODES]++;
        return;
    }
    k.group = in - 1;
    /* At once where that needs no look at the time, so that columns keep their order. */
    struct group *g = &f->groups[k.group]->group;
    const bool fresh = s->n == 0 || s->v[s->n - 1].group != k.group;
    if (fresh && g->n < FP_SLOTS_MOST)
        k.slot = group_add_step(g, k.metric, k.entity, k.step);
    s->v = xrealloc(s->v, s->n + 1, sizeof *s->v);
    s->v[s->n++] = k;
    if (fresh)
        s->slotted = s->n;
}

/* ---- rows ---- */

void fp_flush_row(struct footplate *f)
{
    if (!f->row_group)
        return;
    struct fp_group *g = f->groups[f->row_group - 1];
    struct fp_node *n = &f->nodes[g->node];
    f->row_group = 0;
    group_commit(&g->group, fp_metrics(f, n), (mono_ns){f->row_time - n->offset_ns});
}

/* What holds at that time; entries come in order of time. */
static struct fp_kept *kept_at(struct fp_series *s, int64_t at)
{
    while (s->now + 1 < s->n && s->v[s->now + 1].from <= at)
        s->now++;
    while (s->now > 0 && s->v[s->now].from > at)
        s->now--;
    return &s->v[s->now];
}

/* The series keeps its slot for as long as its step stays the same. False: there are too many. */
static bool footplate_rows_take_slot(struct footplate *f, struct fp_series *s, struct fp_kept *k)
{
    struct group *g = &f->groups[k->group]->group;
    struct fp_kept *old = s->slotted ? &s->v[s->slotted - 1] : NULL;
    if (old && old->group == k->group && old->slot != SLOT_NONE) {
        if (old->step == k->step)
            k->slot = old->slot;
        else
            group_drop(g, old->slot);
        old->slot = SLOT_NONE;
    }
    if (k->slot == SLOT_NONE && g->n < FP_SLOTS_MOST)
        k->slot = group_add_step(g, k->metric, k->entity, k->step);
    s->slotted = (uint32_t)(k - s->v) + 1;
    return k->slot != SLOT_NONE;
}

static void note_reading(struct footplate *f, int64_t at)
{
    struct import_result *r = f->result;
    const int64_t t = at - f->ask->wall_minus_mono_ns;
    const bool first = r->count[IMPORTED_READINGS]++ == 0 && r->count[IMPORTED_KEPT] == 0;
    r->first.ns = first ? t : MIN_OF(r->first.ns, t);
    r->last.ns = first ? t : MAX_OF(r->last.ns, t);
}

static void put_sample(struct footplate *f, struct fp_series *s, int64_t at, double v)
{
    struct fp_kept *k = s && s->n ? kept_at(s, at) : NULL;
    if (!k) {
        f->result->count[IMPORTED_NO_METRIC]++;
        return;
    }
    const double cell = nearbyint(v / k->step);
    if (!(fabs(cell) <= CELL_MOST) || at > INT64_MAX / 4 || at < 0) {
        f->result->count[IMPORTED_NO_VALUE]++;
        return;
    }
    if (f->row_group != k->group + 1 || f->row_time != at)
        fp_flush_row(f);
    if (k->slot == SLOT_NONE && !footplate_rows_take_slot(f, s, k)) {
        f->result->count[IMPORTED_NODES]++;
        return;
    }
    f->row_group = k->group + 1;
    f->row_time = at;
    f->groups[k->group]->group.cells[k->slot] = (int64_t)cell;
    note_reading(f, at);
}

void fp_tell_sample(void *ctx)
{
    struct footplate *f = ctx;
    char key[512];
    double v;
    const size_t len = line_key(f, key, sizeof key);
    if (!fp_has(f, F_VALUE) || !fp_has(f, F_TIME) || !json_double(&f->record.item[F_VALUE], &v))
        f->result->count[IMPORTED_NO_VALUE]++;
    else
        put_sample(f, footplate_rows_find_series(f, key, len, false), fp_int(f, F_TIME, 0), v);
}

void fp_tell_counter(struct footplate *f, int64_t at)
{
    char key[512];
    double v;
    const size_t len = trace_key(f, F_NAME, key, sizeof key);
    if (fp_is(f, F_CAT, "step"))
        return; /* derived */
    if (!f->record.has_only || !json_double(&f->record.only, &v))
        f->result->count[IMPORTED_NO_VALUE]++;
    else
        put_sample(f, footplate_rows_find_series(f, key, len, false), at, v);
}

void fp_rows_free(struct footplate *f)
{
    for (uint32_t i = 0; i < f->n_series; i++)
        free(f->series[i].v);
    for (uint32_t i = 0; i < f->n_groups; i++) {
        group_close(&f->groups[i]->group);
        free(f->groups[i]);
    }
    free(f->series);
    free(f->groups);
    texts_clear(&f->names);
}
