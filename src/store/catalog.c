/* SPDX-License-Identifier: Apache-2.0 */
/* catalog.c - see catalog.h. */
#include "store/catalog.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/event_bits.h"

/* Room for one more in an array of the store's arena: doubled by copying, freed with the store. */
static void *catalog_room(struct arena *a, void *p, uint32_t n, uint32_t *cap, size_t size)
{
    if (n < *cap)
        return p;
    *cap = *cap ? *cap * 2 : 8;
    void *bigger = arena_alloc(a, *cap, size);
    if (n)
        memcpy(bigger, p, n * size);
    return bigger;
}

enum { LOSSES_MOST = 4096 }; /* kinds; a writer keeps 256 apart */

void catalog_loss(struct catalog *c, const struct loss *l)
{
    struct store *s = c->store;
    for (uint32_t i = 0; i < s->n_losses; i++)
        if (loss_same(&s->losses[i], l)) {
            s->losses[i].count += l->count;
            s->losses[i].at = l->at;
            return;
        }
    if (s->n_losses == LOSSES_MOST)
        return;
    s->losses = catalog_room(&s->arena, s->losses, s->n_losses, &c->cap_losses, sizeof *s->losses);
    s->losses[s->n_losses++] = *l;
}

void catalog_tie(struct catalog *c, struct clock_tie tie)
{
    struct store *s = c->store;
    if (!clock_fits(tie.mono.ns) || !clock_fits(tie.wall.ns))
        return;
    s->ties = catalog_room(&s->arena, s->ties, s->n_ties, &c->cap_ties, sizeof *s->ties);
    s->ties[s->n_ties++] = tie;
}

static void catalog_add_mark(struct catalog *c, const struct mark *m)
{
    struct store *s = c->store;
    s->marks = catalog_room(&s->arena, s->marks, s->n_marks, &c->cap_marks, sizeof *s->marks);
    s->marks[s->n_marks++] = *m;
}

static unsigned catalog_find_loss(const char *name)
{
    unsigned i = 0;
    while (i < LOSS_N && strcmp(losses[i].name, name) != 0)
        i++;
    return i;
}

static unsigned find_mark(const char *name)
{
    unsigned i = 0;
    while (i < MARK_N && strcmp(marks[i].name, name) != 0)
        i++;
    return i;
}

/* us from the file as ns, without overflowing on made-up numbers. */
static mono_ns from_us(int64_t us)
{
    us = MIN_OF(MAX_OF(us, -TIME_MOST_US), TIME_MOST_US);
    return (mono_ns){us * NS_PER_US};
}

static void get_loss(struct catalog *c, struct cur *in)
{
    char name[NAME_LEN];
    char what[ENTITY_LEN] = "", why[TEXT_LEN] = "";
    cur_str(in, name, sizeof name);
    const uint64_t count = cur_varint(in);
    const mono_ns at = from_us(unzigzag(cur_varint(in)));
    cur_str(in, what, sizeof what);
    cur_str(in, why, sizeof why);
    const unsigned id = catalog_find_loss(name);
    if (in->bad || id >= LOSS_N)
        return;
    struct loss l = loss_from_text((enum loss_id)id, what, why);
    l.count = count;
    l.at = at;
    catalog_loss(c, &l);
}

static void get_mark(struct catalog *c, struct cur *in)
{
    char name[NAME_LEN];
    struct mark m = {0};
    cur_str(in, name, sizeof name);
    m.at = from_us(unzigzag(cur_varint(in)));
    m.number = unzigzag(cur_varint(in));
    cur_str(in, m.text, sizeof m.text);
    const unsigned id = find_mark(name);
    m.id = (enum mark_id)id;
    if (!in->bad && id < MARK_N)
        catalog_add_mark(c, &m);
}

static void get_tie(struct catalog *c, struct cur *in)
{
    struct clock_tie t;
    t.mono.ns = unzigzag(cur_varint(in));
    t.wall.ns = unzigzag(cur_varint(in));
    if (!in->bad)
        catalog_tie(c, t);
}

static void get_track(struct catalog *c, struct cur *in)
{
    struct track t = {0};
    cur_varint(in); /* its number in the tail that it came from */
    t.kind = track_kind_of(cur_u8(in));
    t.pid = (uint32_t)cur_varint_most(in, UINT32_MAX);
    t.id = cur_varint(in);
    cur_str(in, t.process, sizeof t.process);
    cur_str(in, t.name, sizeof t.name);
    if (!in->bad)
        track_names_tell(&c->names, &t);
}

/* The content of one record; kinds of a later version say nothing to us. */
static bool get_record(struct catalog *c, uint8_t tag, struct cur content)
{
    switch (tag) {
    case TAG_LOSS:
        get_loss(c, &content);
        break;
    case TAG_MARK:
        get_mark(c, &content);
        break;
    case TAG_TIE:
        get_tie(c, &content);
        break;
    case TAG_TRACK:
        get_track(c, &content);
        break;
    default:
        return tag > TAG_TRACK;
    }
    return !content.bad;
}

bool catalog_log(struct catalog *c, const uint8_t *p, size_t n)
{
    struct cur in = cur_of(p, n);
    while (cur_left(&in)) {
        const uint8_t tag = cur_u8(&in);
        const struct cur content = record_content(&in);
        if (in.bad || !get_record(c, tag, content))
            return false;
    }
    return true;
}

/* ---- series ---- */

static bool catalog_text_is(const struct text *t, const char *s)
{
    return strlen(s) == t->n && memcmp(t->p, s, t->n) == 0;
}

static uint64_t catalog_hash_of(const struct column *c)
{
    return format_sum32(c->metric.p, c->metric.n, format_sum(c->entity.p, c->entity.n));
}

static void grow_buckets(struct catalog *c, uint32_t want)
{
    uint32_t n = 256;
    while (n < want)
        n *= 2;
    free(c->buckets);
    c->buckets = xcalloc(n, sizeof *c->buckets);
    c->n_buckets = n;
}

static struct store_series *catalog_series_of(struct catalog *c, const struct column *col)
{
    struct store *s = c->store;
    uint64_t at = catalog_hash_of(col);
    for (;; at++) {
        uint32_t *bucket = &c->buckets[at & (c->n_buckets - 1)];
        if (*bucket == 0) {
            s->series =
                catalog_room(&s->arena, s->series, s->n_series, &c->cap_series, sizeof *s->series);
            s->series[s->n_series] = (struct store_series){
                .metric = arena_strndup(&s->arena, col->metric.p, col->metric.n),
                .unit = arena_strndup(&s->arena, col->unit.p, col->unit.n),
                .entity = arena_strndup(&s->arena, col->entity.p, col->entity.n),
            };
            *bucket = ++s->n_series;
            return &s->series[s->n_series - 1];
        }
        struct store_series *one = &s->series[*bucket - 1];
        if (catalog_text_is(&col->metric, one->metric) &&
            catalog_text_is(&col->entity, one->entity))
            return one;
    }
}

/* Ties differ by microseconds; only real jumps move the mapping, and only forward. */
#define STEP_NS (10 * NS_PER_MS)

static int64_t offset_of(const struct clock_tie *t)
{
    return t->wall.ns - t->mono.ns; /* catalog_tie took none that is too far away */
}

void catalog_find_steps(struct store *s)
{
    s->n_steps = 0;
    s->steps = arena_array(&s->arena, struct clock_tie, s->n_ties);
    for (uint32_t i = 0; i < s->n_ties; i++) {
        const int64_t now = offset_of(&s->ties[i]);
        const int64_t old = i ? offset_of(&s->steps[s->n_steps - 1]) : 0;
        if (i == 0 || (now > old && (uint64_t)now - (uint64_t)old > STEP_NS))
            s->steps[s->n_steps++] = s->ties[i];
    }
}

void catalog_finish(struct catalog *c)
{
    struct store *s = c->store;
    uint64_t columns = 0;
    for (uint32_t i = 0; i < s->n_blocks; i++)
        columns += s->blocks[i].n_columns;
    grow_buckets(c, (uint32_t)MIN_OF(columns * 2, (uint64_t)1 << 30));
    for (uint32_t i = 0; i < s->n_blocks; i++)
        for (uint32_t k = 0; k < s->blocks[i].n_columns; k++) {
            const struct column *column = &block_columns(&s->blocks[i])[k];
            if (column->count == 0)
                continue;
            struct store_series *one = catalog_series_of(c, column);
            one->refs =
                catalog_room(&s->arena, one->refs, one->n_refs, &one->cap_refs, sizeof *one->refs);
            one->refs[one->n_refs++] = (struct store_ref){i, k};
        }
    free(c->buckets);
}

/* ---- clocks ---- */

wall_ns store_wall(const struct store *s, int64_t mono_us)
{
    const int64_t mono = from_us(mono_us).ns;
    uint32_t i = 0;
    while (i + 1 < s->n_steps && s->steps[i + 1].mono.ns <= mono)
        i++;
    int64_t wall;
    if (__builtin_add_overflow(mono, offset_of(&s->steps[i]), &wall))
        wall = mono < 0 ? INT64_MIN : INT64_MAX;
    return (wall_ns){clock_clamp(wall)};
}

bool store_wall_fits(const struct store *s, int64_t first_us, int64_t last_us)
{
    return store_wall(s, first_us).ns > -CLOCK_MOST_NS && store_wall(s, last_us).ns < CLOCK_MOST_NS;
}

int64_t store_mono_us(const struct store *s, wall_ns t)
{
    uint32_t i = 0;
    while (i + 1 < s->n_steps && s->steps[i + 1].wall.ns <= t.ns)
        i++;
    int64_t ns;
    if (__builtin_sub_overflow(t.ns, offset_of(&s->steps[i]), &ns))
        ns = t.ns < 0 ? INT64_MIN : INT64_MAX;
    /* A time that a jump forward left out is the moment of the jump. */
    if (i + 1 < s->n_steps && ns > s->steps[i + 1].mono.ns)
        ns = s->steps[i + 1].mono.ns;
    return ns / NS_PER_US + (ns % NS_PER_US > 0); /* the first whole us that is not before t */
}
