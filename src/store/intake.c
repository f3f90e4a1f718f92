/* SPDX-License-Identifier: Apache-2.0 */
/* intake.c - see intake.h. */
#include "store/intake.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/format.h"

enum {
    LOSSES_MOST = 256,    /* different ones */
    KEEP_BYTES = 2 << 20, /* of memory for records; what a burst took beyond is given back */
};

/* What the tail knows of a group. */
struct wgroup {
    uint64_t tail;       /* number of the tail in which it is declared; 0: in none */
    uint32_t number;     /* in that tail */
    uint32_t generation; /* of the group, as declared */
    uint32_t rows;
    int64_t period_ns, t_prev_us;
    uint32_t n, cap;
    uint32_t *born; /* per slot: as declared; 0: not in use */
    int64_t *last;  /* per slot: the cell before */
};

struct pending_loss {
    struct loss loss;
    uint64_t count; /* not written yet */
};

static struct wgroup *wgroup_of(struct intake *in, struct group *g)
{
    if (g->sink_data)
        return g->sink_data;
    struct wgroup *wg = xcalloc(1, sizeof *wg);
    in->groups = xrealloc(in->groups, in->n_groups + 1, sizeof *in->groups);
    in->groups[in->n_groups++] = wg;
    g->sink_data = wg;
    return wg;
}

static void intake_make_room(struct wgroup *wg, uint32_t n)
{
    if (n > wg->cap) {
        wg->cap = MAX_OF(n, wg->cap * 2);
        wg->born = xrealloc(wg->born, wg->cap, sizeof *wg->born);
        wg->last = xrealloc(wg->last, wg->cap, sizeof *wg->last);
    }
    for (; wg->n < n; wg->n++)
        wg->born[wg->n] = 0;
}

static void put_slot(struct buf *out, const struct wgroup *wg, uint32_t i, const struct slot *s)
{
    const struct metric *m = &metrics[s->metric];
    buf_u8(out, TAG_SLOT);
    buf_varint(out, wg->number);
    buf_varint(out, i);
    buf_str(out, m->name);
    buf_str(out, unit_name(m->unit));
    buf_str(out, s->entity);
    buf_f64(out, s->step);
}

static void declare_slots(struct buf *out, struct wgroup *wg, const struct group *g)
{
    intake_make_room(wg, g->n);
    for (uint32_t i = 0; i < g->n; i++) {
        const struct slot *s = &g->slots[i];
        const uint32_t born = s->used ? s->born : 0;
        if (wg->born[i] == born)
            continue;
        if (wg->born[i] && !born) {
            buf_u8(out, TAG_DROP);
            buf_varint(out, wg->number);
            buf_varint(out, i);
        }
        if (born)
            put_slot(out, wg, i, s);
        wg->born[i] = born;
        wg->last[i] = 0;
    }
    wg->generation = g->generation;
}

static void declare_group(struct intake *in, struct wgroup *wg, const struct group *g, int64_t t_us)
{
    wg->tail = in->tail;
    wg->number = in->tail_groups++;
    wg->rows = 0;
    wg->period_ns = g->period_ns;
    wg->t_prev_us = t_us - g->period_ns / NS_PER_US;
    wg->n = 0;
    buf_u8(&in->records, TAG_GROUP);
    buf_varint(&in->records, wg->number);
    buf_str(&in->records, g->name);
    buf_varint(&in->records, (uint64_t)g->period_ns);
    buf_varint(&in->records, zigzag(wg->t_prev_us));
}

static inline uint8_t *put_cell(uint8_t *p, int64_t cell, int64_t *last)
{
    if (cell == CELL_MISSING) {
        *p = CELL_GAP;
        return p + 1;
    }
    const uint64_t z = zigzag((int64_t)((uint64_t)cell - (uint64_t)*last));
    *last = cell;
    if (z <= CELL_SMALL_MOST) {
        *p = (uint8_t)z;
        return p + 1;
    }
    const unsigned len = z <= UINT16_MAX ? 2 : z <= UINT32_MAX ? 4 : 8;
    *p = len == 2 ? CELL_U16 : len == 4 ? CELL_U32 : CELL_U64;
    memcpy(p + 1, &z, len);
    return p + 1 + len;
}

static void intake_put_row(struct intake *in, struct wgroup *wg, const struct group *g,
                           int64_t t_us)
{
    const int64_t off = t_us - wg->t_prev_us - wg->period_ns / NS_PER_US;
    buf_u8(&in->records, TAG_ROW);
    buf_varint(&in->records, wg->number);
    buf_varint(&in->records, zigzag(off));
    buf_reserve(&in->records, 9 * (size_t)g->n);
    uint8_t *p = in->records.p + in->records.len;
    /* In locals, as a byte stored through p could otherwise have changed any of these. */
    const uint32_t *born = wg->born, n = g->n;
    const int64_t *cells = g->cells;
    int64_t *last = wg->last;
    uint64_t samples = 0;
    for (uint32_t i = 0; i < n; i++)
        if (born[i]) {
            samples += cells[i] != CELL_MISSING;
            p = put_cell(p, cells[i], &last[i]);
        }
    in->samples += samples;
    in->records.len = (size_t)(p - in->records.p);
    wg->t_prev_us = t_us;
    wg->rows++;
    in->rows++;
}

void intake_row(struct intake *in, struct group *g, mono_ns t)
{
    const int64_t t_us = t.ns / NS_PER_US;
    pthread_mutex_lock(&in->lock);
    if (in->records.len > in->pending_most) {
        in->rows_dropped++;
    } else {
        struct wgroup *wg = wgroup_of(in, g);
        if (wg->tail != in->tail || wg->period_ns != g->period_ns || wg->rows == ROWS_MOST)
            declare_group(in, wg, g, t_us);
        if (wg->generation != g->generation || wg->rows == 0)
            declare_slots(&in->records, wg, g);
        intake_put_row(in, wg, g, t_us);
    }
    pthread_mutex_unlock(&in->lock);
}

/* Losses are counted here and written with the next flush, so a reading that fails a thousand times
 * a second costs one record a second. */
static struct pending_loss *intake_find_loss(struct intake *in, const struct loss *l)
{
    for (size_t i = 0; i < in->n_losses; i++)
        if (loss_same(&in->losses[i].loss, l))
            return &in->losses[i];
    if (in->n_losses == LOSSES_MOST)
        return &in->losses[LOSSES_MOST - 1];
    in->losses = xrealloc(in->losses, in->n_losses + 1, sizeof *in->losses);
    struct pending_loss *p = &in->losses[in->n_losses++];
    *p = (struct pending_loss){.loss = *l};
    if (in->n_losses == LOSSES_MOST)
        p->loss = loss_of(LOSS_LIMIT, LOST_PART("losses"), "too many different kinds of loss");
    return p;
}

void intake_count_loss(struct intake *in, const struct loss *l)
{
    struct pending_loss *p = intake_find_loss(in, l);
    p->loss.at = l->at;
    p->count += l->count;
}

void intake_loss(struct intake *in, const struct loss *l)
{
    pthread_mutex_lock(&in->lock);
    intake_count_loss(in, l);
    pthread_mutex_unlock(&in->lock);
}

void intake_mark(struct intake *in, const struct mark *m)
{
    pthread_mutex_lock(&in->lock);
    if (in->records.len > in->pending_most / 4 * 5) { /* they come rarely and say more than rows */
        struct loss l = loss_of(LOSS_WRITE, LOST_PART("marks"),
                                "no memory left to buffer them until the run folder is writable");
        l.at = m->at;
        intake_count_loss(in, &l);
    } else {
        const size_t begun = record_begin(&in->records, TAG_MARK);
        buf_str(&in->records, marks[m->id].name);
        buf_varint(&in->records, zigzag(m->at.ns / NS_PER_US));
        buf_varint(&in->records, zigzag(m->number));
        buf_str(&in->records, m->text);
        record_end(&in->records, begun);
    }
    pthread_mutex_unlock(&in->lock);
}

void intake_tie(struct intake *in, struct clock_tie tie)
{
    pthread_mutex_lock(&in->lock);
    const size_t begun = record_begin(&in->records, TAG_TIE);
    buf_varint(&in->records, zigzag(tie.mono.ns));
    buf_varint(&in->records, zigzag(tie.wall.ns));
    record_end(&in->records, begun);
    pthread_mutex_unlock(&in->lock);
}

static void intake_put_losses(struct intake *in)
{
    char what[ENTITY_LEN];
    for (size_t i = 0; i < in->n_losses; i++) {
        struct pending_loss *p = &in->losses[i];
        if (!p->count)
            continue;
        const size_t begun = record_begin(&in->records, TAG_LOSS);
        buf_str(&in->records, losses[p->loss.id].name);
        buf_varint(&in->records, p->count);
        buf_varint(&in->records, zigzag(p->loss.at.ns / NS_PER_US));
        buf_str(&in->records, loss_what(&p->loss, what));
        buf_str(&in->records, p->loss.why);
        record_end(&in->records, begun);
        p->count = 0;
    }
}

/* What had to be dropped becomes a loss once there is room again. */
static void put_dropped(struct intake *in, const char *what, uint64_t dropped, uint64_t *told,
                        int why_errno)
{
    if (dropped == *told)
        return;
    const bool full = why_errno == ENOSPC || why_errno == EDQUOT;
    struct loss l =
        loss_of(full ? LOSS_DISK_FULL : LOSS_WRITE, LOST_PART(what), "%s",
                why_errno ? strerror(why_errno) : "they arrived faster than they could be written");
    l.at = clock_mono();
    l.count = dropped - *told;
    *told = dropped;
    intake_count_loss(in, &l);
}

/* Into an empty buffer by giving it away, else by copying. */
static void move_records(struct intake *in, struct buf *out)
{
    if (out->len == 0) {
        const struct buf spare = *out;
        *out = in->records;
        in->records = spare;
        return;
    }
    buf_put(out, in->records.p, in->records.len);
    in->records.len = 0;
    if (in->records.cap > KEEP_BYTES)
        buf_free(&in->records);
}

uint64_t intake_take(struct intake *in, struct buf *out, struct event_pile *pile, size_t tail_most,
                     int why_errno, bool *last)
{
    pthread_mutex_lock(&in->lock);
    put_dropped(in, "rows", in->rows_dropped, &in->dropped_told, why_errno);
    put_dropped(in, "events", in->ev.dropped, &in->ev.dropped_told, why_errno);
    intake_put_losses(in);
    move_records(in, out);
    pile_free(pile);
    *pile = in->ev.pile;
    in->ev.pile = (struct event_pile){0};
    const uint64_t tail = in->tail;
    *last = out->len >= tail_most;
    if (*last) {
        in->tail++;
        in->tail_groups = 0;
        intake_events_forget(&in->ev);
    }
    pthread_mutex_unlock(&in->lock);
    return tail;
}

void intake_give_back(struct intake *in, struct event_pile *pile)
{
    pthread_mutex_lock(&in->lock);
    if (in->ev.pile.n_parts == 0) {
        in->ev.pile = *pile;
        in->ev.pile.n = 0;
        *pile = (struct event_pile){0};
    }
    pthread_mutex_unlock(&in->lock);
    pile_free(pile);
}

void intake_open(struct intake *in, size_t pending_most)
{
    *in = (struct intake){.tail = 1, .pending_most = pending_most};
    pthread_mutex_init(&in->lock, NULL);
}

void intake_close(struct intake *in)
{
    for (uint32_t i = 0; i < in->n_groups; i++) {
        free(in->groups[i]->born);
        free(in->groups[i]->last);
        free(in->groups[i]);
    }
    free(in->groups);
    free(in->losses);
    intake_events_forget(&in->ev);
    pile_free(&in->ev.pile);
    buf_free(&in->records);
    pthread_mutex_destroy(&in->lock);
}
