/* SPDX-License-Identifier: Apache-2.0 */
/* columns_batch.c - rows of all lanes become the sweeps of a batch. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "query/columns_state.h"
#include "query/sweepteam.h"

/* ---- copying ---- */

/* A peak may come from several groups; of all else there is one value in a sweep. */
static void copy_value(float *to, float v, bool peak)
{
    if (!peak || isnan(*to) || v > *to)
        *to = v;
}

/* Sweeps before `end` that nothing was copied to have nothing so far. */
static void fill_to(struct columns *c, size_t ask, uint32_t end)
{
    for (; c->filled[ask] < end; c->filled[ask]++)
        c->now->batch[ask][c->filled[ask]] = NAN;
}

/* Values of sweeps one after the other. */
static void copy_stretch(struct columns *c, size_t ask, uint32_t to, const float *v, uint32_t n)
{
    const bool peak = c->asks[ask].which == COLUMN_PEAK;
    float *batch = c->now->batch[ask];
    if (!peak || c->filled[ask] <= to) {
        fill_to(c, ask, to);
        memcpy(batch + to, v, n * sizeof *v);
        c->filled[ask] = MAX_OF(c->filled[ask], to + n);
        return;
    }
    fill_to(c, ask, to + n);
    for (uint32_t i = 0; i < n; i++)
        if (!isnan(v[i]))
            copy_value(&batch[to + i], v[i], peak);
}

static void copy_ask(struct columns *c, struct lane *l, uint32_t ask)
{
    const uint32_t first = l->first, n = l->row - first, *to = l->to + first;
    const bool whole = to[n - 1] - to[0] == n - 1;
    struct late *late = late_find(&c->lates, (size_t)(l - c->lanes), ask);
    if (late && whole) {
        late->first = first;
        late->n = n;
        late->to = to[0];
        return;
    }
    if (late) {
        const struct fold_parts parts = late_parts(late, c->asks[ask].limits, NULL);
        fold_columns(&c->room, &parts, lane_room(l, ask));
    }
    const float *v = l->v[ask] + first;
    if (whole) {
        copy_stretch(c, ask, to[0], v, n);
        return;
    }
    fill_to(c, ask, to[n - 1] + 1);
    for (uint32_t i = 0; i < n; i++)
        if (!isnan(v[i]))
            copy_value(&c->now->batch[ask][to[i]], v[i], c->asks[ask].which == COLUMN_PEAK);
}

static void copy_rows(struct columns *c, struct lane *l)
{
    for (uint32_t k = 0; l->first < l->row && k < c->n_asks; k++)
        if (l->has[k])
            copy_ask(c, l, k);
    l->first = l->row;
}

/* Where the rows of the block are looked at that were taken. */
static const uint8_t *find_where(struct columns *c, const struct late *l)
{
    const struct column_where *w = c->asks[l->ask].where;
    memset(c->where, 0, l->block->rows);
    for (size_t k = 0; k < w->n; k++) {
        const float *v = c->now->batch[w->asks[k]];
        for (uint32_t i = 0; v && i < l->n; i++)
            c->where[l->first + i] |= v[l->to + i] < w->below;
    }
    return c->where;
}

/* All other columns of the batch are complete. */
static void make_lates(struct columns *c)
{
    for (size_t i = 0; i < c->lates.n; i++) {
        const struct late *l = &c->lates.v[i];
        if (l->n == 0)
            continue;
        const struct fold_parts parts = late_parts(l, c->asks[l->ask].limits, find_where(c, l));
        fold_columns(&c->room, &parts, c->late);
        copy_stretch(c, l->ask, l->to, c->late + l->first, l->n);
    }
    late_done(&c->lates);
}

static struct lane *earliest(const struct columns *c)
{
    struct lane *best = NULL;
    int64_t at = 0;
    for (struct lane *l = c->lanes; l < c->lanes + c->n_lanes; l++)
        if (l->row < l->rows && (!best || l->times[l->row] < at)) {
            best = l;
            at = l->times[l->row];
        }
    return best;
}

/* That of a lane that has ended still counts: the last rows of a run are like those before. */
static void find_period(struct columns *c)
{
    c->period_us = INT64_MAX;
    for (size_t i = 0; i < c->n_lanes; i++)
        c->period_us = MIN_OF(c->period_us, c->lanes[i].period_us);
}

void batch_clear(struct columns *c)
{
    c->n = 0;
    c->most = BATCH;
    c->now = &c->made[c->now == &c->made[0]];
    memset(c->filled, 0, c->n_asks * sizeof *c->filled);
}

/* Takes the lane's next row. False: it begins a sweep that is not of this batch. */
static bool take(struct columns *c, struct lane *l, int64_t period_us)
{
    const int64_t t = l->times[l->row];
    const unsigned group = (unsigned)(l - c->lanes);
    if ((c->n >= c->most || (c->n && c->period_us != period_us)) &&
        sweepgrid_begins(&c->grid, group, t, period_us))
        return false;
    if (sweepgrid_row(&c->grid, group, t, period_us))
        c->now->at[c->n++] = store_wall(c->store, c->grid.at_us);
    l->to[l->row++] = (uint32_t)c->n - 1;
    return true;
}

/* ---- sweeps in step ---- */

static size_t find_team(const struct columns *c, struct sweepteam *t, int64_t period_us)
{
    sweepteam_open(t);
    for (unsigned i = 0; i < c->n_lanes; i++) {
        const struct lane *l = &c->lanes[i];
        if (l->row < l->rows)
            sweepteam_put(t, i, l->times + l->row, l->rows - l->row);
    }
    return sweepteam_count(t, period_us, c->most - c->n);
}

static void take_sweeps(struct columns *c, const struct sweepteam *t, size_t n)
{
    c->grid = (struct sweepgrid){.begun = true, .at_us = t->times[0][n - 1]};
    for (size_t i = 0; i < n; i++)
        c->now->at[c->n + i] = store_wall(c->store, t->times[0][i]);
    for (size_t k = 0; k < t->n; k++) {
        struct lane *l = &c->lanes[t->groups[k]];
        for (size_t i = 0; i < n; i++)
            l->to[l->row + i] = (uint32_t)(c->n + i);
        l->row += (uint32_t)n;
        c->grid.groups |= sweepgrid_bit(t->groups[k]);
    }
    c->n += n;
}

/* Takes sweeps as long as they have rows of the same lanes, from the next row on, which is that of
 * `l`. False: there is none. No lane's last row is taken, since what follows must be loaded. */
static bool take_in_step(struct columns *c, const struct lane *l, int64_t period_us)
{
    const int64_t at = l->times[l->row];
    struct sweepteam t;
    if (c->n_lanes > SWEEP_GROUPS_MOST || c->period_us != period_us ||
        (c->grid.begun && at < c->grid.at_us) ||
        !sweepgrid_begins(&c->grid, (unsigned)(l - c->lanes), at, period_us))
        return false;
    const size_t n = find_team(c, &t, period_us);
    if (n)
        take_sweeps(c, &t, n);
    return n > 0;
}

/* What is made late is made once for each batch that has a part of the block: better ends the batch
 * with the sweep that is being made. */
static void end_if_split(struct columns *c, const struct lane *l)
{
    for (size_t i = 0; i < c->lates.n; i++) {
        const struct late *x = &c->lates.v[i];
        if (!x->ended && &c->lanes[x->lane] == l && c->n + x->block->rows > BATCH)
            c->most = c->n;
    }
}

/* Those that may be made late, or the others. */
static void fill_all(struct columns *c, bool late)
{
    for (size_t k = 0; k < c->n_asks; k++)
        if (c->ever[k] && late == (c->asks[k].where != NULL))
            fill_to(c, k, (uint32_t)c->n);
}

void batch_fill(struct columns *c, int64_t *period_us)
{
    find_period(c);
    *period_us = c->period_us;
    c->grid.begun = false; /* whatever comes next begins a sweep */
    for (struct lane *l; (l = earliest(c));) {
        if (take_in_step(c, l, *period_us))
            continue;
        if (!take(c, l, *period_us))
            break;
        if (l->row < l->rows)
            continue;
        copy_rows(c, l);
        lane_load(c, l);
        find_period(c);
        end_if_split(c, l);
    }
    for (size_t i = 0; i < c->n_lanes; i++)
        copy_rows(c, &c->lanes[i]);
    fill_all(c, false);
    make_lates(c);
    fill_all(c, true);
}
