/* SPDX-License-Identifier: Apache-2.0 */
/* catalog.c - the contents of a store that is being opened: heads of blocks, series, losses, marks,
 * the mapping to wall time. Nothing here decodes a column. All bytes are a file's: they are
 * checked, and bad ones are left out by the caller. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/format.h"
#include "store/reader_internal.h"

/* ---- names of tracks ---- */

void track_names_add(struct track_names *k, const struct track *t)
{
    const uint32_t at = HASH_FIND(&k->index, track_hash(t), i, track_same(&k->v[i], t));
    if (at) {
        track_rename(&k->v[at - 1], t->process, t->name);
        return;
    }
    *VEC_ADD(k->v, k->n, k->cap) = *t;
    hash_add(&k->index, track_hash(t), k->n);
}

void track_names_apply(struct track_names *k, struct track *t)
{
    const uint32_t at = HASH_FIND(&k->index, track_hash(t), i, track_same(&k->v[i], t));
    if (at)
        track_rename(t, k->v[at - 1].process, k->v[at - 1].name);
}

void track_names_free(struct track_names *k)
{
    free(k->v);
    hash_free(&k->index);
    *k = (struct track_names){0};
}

/* ---- the head of a block of rows ----
 *
 * The directory of a block's columns takes several times the room of its bytes in the file: 25 MB
 * for a day of a wide node. So it can be given back, and is read again from the head. */

/* Times of every l2-th row as differences. They are checked against the limits afterwards. */
static bool get_times_head(struct cur *head, struct cur *data, struct rows_block *b,
                           struct arena *a)
{
    b->times = blob_get(head, data);
    b->n_t_l2 = (uint32_t)cur_varint_most(head, ROWS_MOST);
    if (head->bad || b->n_t_l2 != bucket_count(b->rows, b->l2))
        return false;
    b->t_l2_us = arena_array(a, int64_t, b->n_t_l2);
    uint64_t t = (uint64_t)b->t_first_us;
    for (uint32_t i = 0; i < b->n_t_l2; i++) {
        t += (uint64_t)unzigzag(cur_varint(head));
        b->t_l2_us[i] = (int64_t)t;
    }
    return !head->bad;
}

#define PERIOD_MOST_NS (INT64_C(1) << 53)

static bool time_fits(int64_t us)
{
    return us >= -TIME_MOST_US && us <= TIME_MOST_US;
}

static bool rows_block_times_fit(const struct rows_block *b)
{
    bool good = time_fits(b->t_first_us) && time_fits(b->t_last_us);
    for (uint32_t i = 0; i < b->n_t_l2; i++)
        good = good && time_fits(b->t_l2_us[i]);
    return good && b->period_ns <= PERIOD_MOST_NS;
}

/* ---- columns ---- */

/* What readers rely on without checking it again: rows of the column are rows of the block, and
 * the step is a number that can be divided by. */
static bool column_fits(const struct column *c, const struct rows_block *b)
{
    return c->first_row <= b->rows && c->count <= b->rows - c->first_row && c->step > 0 &&
           c->step < 1e300 && c->min <= c->max;
}

/* The directory of the block. All of it must parse; there is no partial block. */
static bool read_columns(const struct rows_block *b, struct column *out)
{
    struct cur head = b->list->head, data = b->list->data;
    for (uint32_t i = 0; i < b->n_columns && !head.bad; i++) {
        column_get(&head, &data, b->l1, b->l2, &out[i]);
        if (!head.bad && !column_fits(&out[i], b))
            head.bad = true;
    }
    return !head.bad;
}

/* They were right when the store was opened. If the file was changed since, they are empty. */
static void read_again(const struct rows_block *b, struct column *out)
{
    assert(b->list);
    if (!read_columns(b, out))
        memset(out, 0, b->n_columns * sizeof *out);
}

static struct column *new_columns(const struct rows_block *b)
{
    return xmalloc((b->n_columns + 1) * sizeof(struct column));
}

/* Of two threads that read them at once, one stores what it read. The other frees its own, which no
 * third thread can have seen. */
const struct column *block_columns_again(const struct rows_block *b)
{
    struct column *v = NULL, *mine = new_columns(b);
    read_again(b, mine);
    if (atomic_compare_exchange_strong(&b->list->cached, &v, mine))
        return mine;
    free(mine);
    return v;
}

const struct column *block_columns_once(const struct rows_block *b, struct column *room)
{
    const struct column *v = atomic_load_explicit(&b->list->cached, memory_order_acquire);
    if (v)
        return v;
    read_again(b, room);
    return room;
}

void rows_block_forget(struct rows_block *b)
{
    free(atomic_exchange(&b->list->cached, NULL));
}

size_t rows_block_memory(const struct rows_block *b)
{
    return atomic_load(&b->list->cached) ? (b->n_columns + 1) * sizeof(struct column) : 0;
}

/* ---- the head ---- */

static bool keep_columns(struct rows_block *b)
{
    struct column *v = new_columns(b);
    if (!read_columns(b, v)) {
        free(v);
        return false;
    }
    for (uint32_t i = 0; i < b->n_columns; i++)
        b->samples += v[i].count;
    atomic_init(&b->list->cached, v);
    return true;
}

bool rows_block_get(const struct block_header *h, const uint8_t *payload, struct arena *a,
                    struct rows_block *b)
{
    struct cur head = cur_of(payload, h->head_len);
    struct cur data = cur_of(payload + h->head_len, h->payload_len - h->head_len);
    *b = (struct rows_block){.t_first_us = h->t_first_us, .t_last_us = h->t_last_us};
    b->group.n = (uint32_t)cur_varint_most(&head, NAME_LEN - 1);
    const void *group = cur_take(&head, b->group.n);
    b->period_ns = (int64_t)cur_varint_most(&head, INT64_MAX);
    b->rows = (uint32_t)cur_varint_most(&head, ROWS_MOST);
    b->l1 = (uint32_t)cur_varint_most(&head, ROWS_MOST);
    b->l2 = (uint32_t)cur_varint_most(&head, ROWS_MOST);
    if (head.bad || !b->period_ns || !b->rows || b->l1 < 2 || b->l2 < b->l1 ||
        !get_times_head(&head, &data, b, a) || !rows_block_times_fit(b))
        return false;
    /* An entry takes at least 20 bytes, which bounds what a made-up number can allocate. */
    b->n_columns = (uint32_t)cur_varint_most(&head, cur_left(&head) / 20 + 1);
    b->group.p =
        arena_strndup(a, group, b->group.n); /* groups are found without pages of the file */
    b->list = arena_new(a, struct column_list);
    b->list->head = head;
    b->list->data = data;
    return !head.bad && keep_columns(b);
}

/* ---- catalog ---- */

enum { LOSSES_MOST = 4096 }; /* kinds; a writer distinguishes 256 */

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
    *ARENA_ADD(&s->arena, s->losses, s->n_losses, c->cap_losses) = *l;
}

void catalog_tie(struct catalog *c, struct clock_tie tie)
{
    struct store *s = c->store;
    assert(!s->steps); /* catalog_find_steps comes after the last one */
    if (!clock_fits(tie.mono.ns) || !clock_fits(tie.wall.ns))
        return;
    *ARENA_ADD(&s->arena, s->ties, s->n_ties, c->cap_ties) = tie;
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
    enum loss_id id = 0;
    while (id < LOSS_N && strcmp(losses[id].name, name) != 0)
        id++;
    if (in->bad || id == LOSS_N)
        return;
    struct loss l = loss_from_text(id, what, why);
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
    while (m.id < MARK_N && strcmp(marks[m.id].name, name) != 0)
        m.id++;
    if (!in->bad && m.id < MARK_N)
        *ARENA_ADD(&c->store->arena, c->store->marks, c->store->n_marks, c->cap_marks) = m;
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
        track_names_add(&c->names, &t);
}

/* The content of one record; kinds of a later version are ignored. */
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

static uint64_t catalog_hash_of(struct text metric, struct text entity)
{
    return format_sum32(metric.p, metric.n, format_sum(entity.p, entity.n));
}

static bool catalog_is(const struct store_series *s, const struct column *col)
{
    return catalog_text_is(&col->metric, s->metric) && catalog_text_is(&col->entity, s->entity);
}

static struct store_series *catalog_series_of(struct catalog *c, const struct column *col)
{
    struct store *s = c->store;
    const uint64_t hash = catalog_hash_of(col->metric, col->entity);
    const uint32_t at = HASH_FIND(&c->index, hash, i, catalog_is(&s->series[i], col));
    if (at)
        return &s->series[at - 1];
    struct store_series *one = ARENA_ADD(&s->arena, s->series, s->n_series, c->cap_series);
    *one = (struct store_series){
        .metric = arena_strndup(&s->arena, col->metric.p, col->metric.n),
        .unit = arena_strndup(&s->arena, col->unit.p, col->unit.n),
        .entity = arena_strndup(&s->arena, col->entity.p, col->entity.n),
    };
    hash_add(&c->index, hash, s->n_series);
    return one;
}

/* Ties differ by microseconds; only real jumps move the mapping, and only forward. */
#define STEP_NS (10 * NS_PER_MS)

static int64_t offset_of(const struct clock_tie *t)
{
    return t->wall.ns - t->mono.ns; /* catalog_tie took none that is too far away */
}

void catalog_find_steps(struct store *s, struct arena *a)
{
    s->n_steps = 0;
    s->steps = arena_array(a, struct clock_tie, s->n_ties);
    for (uint32_t i = 0; i < s->n_ties; i++) {
        const int64_t now = offset_of(&s->ties[i]);
        const int64_t old = i ? offset_of(&s->steps[s->n_steps - 1]) : 0;
        if (i == 0 || (now > old && (uint64_t)now - (uint64_t)old > STEP_NS))
            s->steps[s->n_steps++] = s->ties[i];
    }
}

void catalog_finish(struct catalog *c, uint32_t first)
{
    struct store *s = c->store;
    for (uint32_t i = first; i < s->n_blocks; i++)
        for (uint32_t k = 0; k < s->blocks[i].n_columns; k++) {
            const struct column *column = &block_columns(&s->blocks[i])[k];
            if (column->count == 0)
                continue;
            struct store_series *one = catalog_series_of(c, column);
            assert(one->n_refs == 0 || one->refs[one->n_refs - 1].block <= i);
            *ARENA_ADD(&s->arena, one->refs, one->n_refs, one->cap_refs) = (struct store_ref){i, k};
        }
}

void catalog_free(struct catalog *c)
{
    hash_free(&c->index);
    track_names_free(&c->names);
}

/* ---- the catalog of a file that grows ---- */

void catalog_set_mark(const struct catalog *c, struct catalog_mark *m)
{
    const struct store *s = c->store;
    free(m->losses);
    *m = (struct catalog_mark){s->n_blocks,
                               s->n_series,
                               s->n_marks,
                               s->n_ties,
                               xcalloc(s->n_losses + 1u, sizeof *m->losses),
                               s->n_losses};
    if (s->n_losses)
        memcpy(m->losses, s->losses, s->n_losses * sizeof *s->losses);
}

/* A hash index has no way to take an item out, so it is made again. */
static void catalog_drop_series(struct catalog *c, uint32_t from)
{
    struct store *s = c->store;
    if (from == s->n_series)
        return;
    hash_free(&c->index);
    s->n_series = from;
    for (uint32_t i = 0; i < from; i++) {
        const char *metric = s->series[i].metric, *entity = s->series[i].entity;
        hash_add(&c->index,
                 catalog_hash_of((struct text){metric, (uint32_t)strlen(metric)},
                                 (struct text){entity, (uint32_t)strlen(entity)}),
                 i + 1u);
    }
}

void catalog_return(struct catalog *c, const struct catalog_mark *m)
{
    struct store *s = c->store;
    assert(m->blocks <= s->n_blocks && m->series <= s->n_series && m->marks <= s->n_marks);
    for (uint32_t i = m->blocks; i < s->n_blocks; i++)
        rows_block_forget(&s->blocks[i]);
    s->n_blocks = m->blocks;
    catalog_drop_series(c, m->series);
    for (uint32_t i = 0; i < s->n_series; i++)
        while (s->series[i].refs[s->series[i].n_refs - 1].block >= m->blocks)
            s->series[i].n_refs--; /* the series is in a block of the file: one stays */
    s->n_marks = m->marks;
    s->n_ties = m->ties;
    s->n_losses = m->n_losses;
    if (m->n_losses)
        memcpy(s->losses, m->losses, m->n_losses * sizeof *s->losses);
}

/* ---- clocks ---- */

wall_ns store_wall(const struct store *s, int64_t mono_us)
{
    const int64_t mono = from_us(mono_us).ns;
    uint32_t i = 0;
    assert(s->n_steps > 0); /* catalog_find_steps was called, and there was a tie */
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
    assert(s->n_steps > 0);
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
