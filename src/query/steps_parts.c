/* SPDX-License-Identifier: Apache-2.0 */
/* steps_parts.c - what the time of a step was spent on, and how many samples it took in; warm-up;
 * steps as a packed table. */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/stat.h"
#include "query/steps.h"
#include "query/steps_internal.h"

/* ---- the sweep over all spans ----
 *
 * Spans of one thread lie in each other like calls. At any moment the outermost one has the time,
 * with two exceptions: compilations and waits for the GPU count for themselves wherever they lie,
 * and so do the passes that an optimizer is handed as a closure. Spans come in order of their
 * begin. `owned` assigns all time from here on to parts, without gaps; what lies before the
 * begin of the next span cannot change any more and is counted. */

void steps_fill_open(struct steps_fill *w, const struct points *p)
{
    *w = (struct steps_fill){
        .points = p,
        .detail_end = INT64_MIN,
    };
}

static int64_t iteration_end(const struct step *s)
{
    return step_end(s) + MAX_OF(s->between_ns, 0);
}

/* Makes the first iteration that does not end before t the current one. */
static void move_to(struct steps_fill *w, int64_t t)
{
    while (w->at < w->n && iteration_end(&w->v[w->at]) <= t)
        w->at++;
}

static int64_t step_overlap(int64_t a, int64_t b, int64_t from, int64_t to)
{
    return MAX_OF(MIN_OF(b, to) - MAX_OF(a, from), 0);
}

static void steps_parts_count(struct steps_fill *w, int64_t from, int64_t to, uint8_t part)
{
    move_to(w, from);
    assert(from <= to && part < STEP_PARTS_MOST);
    for (size_t i = w->at; i < w->n && w->v[i].start.ns < to; i++) {
        struct step *s = &w->v[i];
        s->part_ns[part] += step_overlap(from, to, s->start.ns, step_end(s));
        if (part == STEP_PART_SYNC)
            s->between_sync_ns += step_overlap(from, to, step_end(s), iteration_end(s));
    }
}

/* Counts what is owned before t. */
static void steps_parts_settle(struct steps_fill *w, int64_t t)
{
    size_t kept = 0;
    for (size_t i = 0; i < w->n_owned; i++) {
        struct step_owned *o = &w->owned[i];
        if (o->from < t)
            steps_parts_count(w, o->from, MIN_OF(o->to, t), o->part);
        o->from = MAX_OF(o->from, t);
        if (o->from < o->to)
            w->owned[kept++] = *o;
    }
    w->n_owned = kept;
}

static bool counts_inside(uint8_t part, uint8_t owner)
{
    if (owner == STEP_PART_COMPILE || owner == STEP_PART_SYNC)
        return false;
    return part == STEP_PART_COMPILE || part == STEP_PART_SYNC ||
           (owner == STEP_PART_OPTIMIZER &&
            (part == STEP_PART_FORWARD || part == STEP_PART_BACKWARD));
}

/* from..to of the i-th goes to another part: it becomes up to three. False: there is no room. */
static bool steps_parts_split(struct steps_fill *w, size_t i, int64_t from, int64_t to,
                              uint8_t part)
{
    const struct step_owned old = w->owned[i];
    const struct step_owned parts[] = {
        {old.from, from, old.part}, {from, to, part}, {to, old.to, old.part}};
    assert(old.from <= from && from < to && to <= old.to);
    if (w->n_owned + 2 > COUNT_OF(w->owned))
        return false;
    memmove(&w->owned[i + 3], &w->owned[i + 1], (w->n_owned - i - 1) * sizeof old);
    memcpy(&w->owned[i], parts, sizeof parts);
    w->n_owned += 2;
    return true;
}

static void count_span(struct steps_fill *w, const struct point *p)
{
    steps_parts_settle(w, p->at);
    for (size_t i = 0; i < w->n_owned; i++) {
        const struct step_owned *o = &w->owned[i];
        const int64_t from = MAX_OF(p->at, o->from), to = MIN_OF(p->end, o->to);
        if (from < to && counts_inside(p->part, o->part) &&
            steps_parts_split(w, i, from, to, p->part))
            i += 2;
    }
    const int64_t covered = w->n_owned ? w->owned[w->n_owned - 1].to : p->at;
    if (p->end > covered && w->n_owned < COUNT_OF(w->owned))
        w->owned[w->n_owned++] = (struct step_owned){covered, p->end, p->part};
}

/* Waits too short for a span each: their sum, reported inside of the span in which they were, or
 * right before the next one. */
static void count_short(struct steps_fill *w, const struct point *p)
{
    steps_parts_settle(w, p->at);
    move_to(w, p->at);
    struct step *s = w->at < w->n ? &w->v[w->at] : NULL;
    if (!s || s->start.ns > p->at)
        return;
    if (p->at >= step_end(s)) {
        s->between_sync_ns += MIN_OF(p->value, s->between_ns - s->between_sync_ns);
        return;
    }
    int64_t ns = p->value;
    if (w->n_owned) {
        int64_t *owner = &s->part_ns[w->owned[0].part];
        ns = MIN_OF(ns, *owner);
        *owner -= ns;
    }
    s->part_ns[STEP_PART_SYNC] += ns;
}

/* What begins when the last of these iterations is over belongs to those that follow. */
static void steps_parts_fill(struct steps_fill *w, int64_t until)
{
    const struct points *p = w->points;
    for (; w->point < p->n && p->v[w->point].at < until; w->point++)
        if (p->v[w->point].part != NO_PART)
            count_span(w, &p->v[w->point]);
        else if (p->v[w->point].what == EV_SYNC_SHORT && p->v[w->point].value > 0)
            count_short(w, &p->v[w->point]);
    steps_parts_settle(w, until);
}

/* Short waits are a sum that may be larger than the time there is; other parts are what they are.
 */
static void fill_other(struct steps_fill *w)
{
    const size_t other = STEP_PART_OTHER;
    for (size_t i = 0; i < w->n; i++) {
        struct step *s = &w->v[i];
        int64_t left = s->dur_ns;
        for (size_t k = 0; k < other; k++)
            left -= s->part_ns[k];
        s->part_ns[STEP_PART_SYNC] += MIN_OF(left, 0);
        s->part_ns[other] = MAX_OF(left, 0);
    }
}

static void steps_parts_fill_batches(struct steps_fill *w)
{
    const struct points *p = w->points;
    size_t at = 0;
    for (; w->batch < p->n && p->v[w->batch].at <= w->end; w->batch++) {
        const struct point *x = &p->v[w->batch];
        if (x->what != EV_BATCH_SIZE || x->value < 0)
            continue;
        while (step_end(&w->v[at]) < x->at)
            at++;
        assert(at < w->n); /* w->end is that of the last one */
        if (w->v[at].start.ns <= x->at)
            w->v[at].batch = MAX_OF(w->v[at].batch, 0) + x->value;
    }
}

/* A step that spends more of its time on compiling is not one of the loop's usual ones. */
static const double COMPILES_FROM = 0.05;

/* Which iterations a detail window slowed, and how long checkpoints were saved in them. */
static void fill_marks(struct steps_fill *w)
{
    const struct points *p = w->points;
    for (size_t i = 0; i < w->n; i++) {
        struct step *s = &w->v[i];
        const int64_t end = iteration_end(s);
        int64_t saved = s->start.ns; /* up to here checkpoints are counted */
        for (; w->mark < p->n && p->v[w->mark].at < end; w->mark++) {
            const struct point *x = &p->v[w->mark];
            if (x->what == EV_DETAIL)
                w->detail_end = MAX_OF(w->detail_end, x->end);
            if (x->what == EV_CHECKPOINT && x->at >= s->start.ns)
                s->save_ns += MAX_OF(MIN_OF(x->end, end) - MAX_OF(x->at, saved), 0);
            if (x->what == EV_CHECKPOINT)
                saved = MAX_OF(saved, x->end);
        }
        if (w->detail_end > s->start.ns)
            w->disturbed = DISTURBED_AFTER + 1;
        s->disturbed = w->disturbed > 0;
        s->warmup = (double)s->part_ns[STEP_PART_COMPILE] > COMPILES_FROM * (double)s->dur_ns;
        w->disturbed -= w->disturbed > 0;
    }
}

/* `next` is the begin of the step after these; INT64_MIN: there is none. */
static void steps_parts_fill_times(const struct bare_step *bare, struct step *v, size_t n,
                                   int64_t next)
{
    for (size_t i = 0; i < n; i++) {
        const int64_t following = i + 1 < n ? bare[i + 1].start : next;
        v[i] = (struct step){
            .number = bare[i].number,
            .mode = bare[i].mode,
            .cut = bare[i].cut,
            .marked = bare[i].marked,
            .start = {bare[i].start},
            .dur_ns = bare[i].end - bare[i].start,
            .between_ns =
                bare[i].cut || following == INT64_MIN ? -1 : MAX_OF(following - bare[i].end, 0),
            .batch = -1,
        };
    }
}

void steps_fill_next(struct steps_fill *w, const struct step_list *l, size_t from, struct step *v,
                     size_t n)
{
    if (n == 0)
        return;
    const int64_t next = from + n < l->n ? l->v[from + n].start : INT64_MIN;
    steps_parts_fill_times(l->v + from, v, n, next);
    w->v = v;
    w->n = n;
    w->at = 0;
    w->end = step_end(&v[n - 1]);
    steps_parts_fill(w, MAX_OF(next, w->end));
    fill_other(w);
    steps_parts_fill_batches(w);
    fill_marks(w);
}

/* ---- warm-up: steps before the loop has its usual pace ----
 *
 * The first step of a mode always is: it loads libraries, grows the allocator's cache, tunes. Of
 * the first WARMUP_MOST, at most a quarter of all, also those up to the last one whose iteration is
 * slow: it takes more than twice the median of those after them, up to WARMUP_LOOKED_AT, and
 * clearly more than nine in ten of them. A loop whose steps are of two kinds is not warming up. (A
 * step that compiles is warm-up wherever it is: the sweep marks those.) */

static const double SLOW = 2;      /* times the median of later ones */
static const double SLOWEST = 1.2; /* times their 90th percentile */

/* How long an iteration may take to be one of the usual ones. */
static double usual_most(const int64_t *later, size_t n)
{
    double sorted[WARMUP_LOOKED_AT];
    for (size_t i = 0; i < n; i++)
        sorted[i] = (double)later[i];
    stat_sort(sorted, n);
    return MAX_OF(SLOW * stat_quantile(sorted, n, 0.5), SLOWEST * stat_quantile(sorted, n, 0.9));
}

/* The same while steps still come: whether iteration k of the n first ones is slow. */
static bool warmup_is_slow(const int64_t *iteration_ns, size_t n, size_t k)
{
    const size_t most = MIN_OF((size_t)WARMUP_MOST, n / 4);
    return k == 0 ||
           (k < most && (double)iteration_ns[k] > usual_most(iteration_ns + most, n - most));
}

static void mark_mode(struct step *v, size_t n, enum event_mode mode)
{
    int64_t ns[WARMUP_LOOKED_AT];
    size_t known = 0, slow = 0;
    for (size_t i = 0; i < n && known < WARMUP_LOOKED_AT; i++)
        if (v[i].mode == mode && !v[i].cut)
            ns[known++] = MAX_OF(step_iteration_ns(&v[i]), v[i].dur_ns);
    for (size_t k = 0; k < MIN_OF(known, (size_t)WARMUP_MOST); k++)
        slow = warmup_is_slow(ns, known, k) ? k + 1 : slow;
    for (size_t i = 0; i < n && slow; i++) {
        v[i].warmup |= v[i].mode == mode;
        slow -= v[i].mode == mode && !v[i].cut;
    }
}

void steps_mark_warmup(struct step *v, size_t n)
{
    for (enum event_mode m = 0; m < MODE_N; m++)
        mark_mode(v, MIN_OF(n, (size_t)PACKED_ROWS), m);
}

/* ---- steps as a packed table, a quarter of the memory ---- */

enum {
    C_NUMBER,
    C_FLAGS,
    C_START,
    C_DUR,
    C_BATCH,
    C_BETWEEN,
    C_BETWEEN_SYNC,
    C_SAVE,
    C_PARTS,
    COLUMNS = C_PARTS + STEP_PARTS_MOST
};
enum {
    FLAG_CUT = 1,
    FLAG_MARKED = 2,
    FLAG_WARMUP = 4,
    FLAG_DISTURBED = 8,
    FLAG_SAVES = 16,
    MODE_SHIFT = 5
};

static_assert((int)COLUMNS <= (int)PACKED_COLUMNS_MOST, "a step fits into a row");

static void steps_pack_cells(const struct step *v, size_t n, struct packed_cells *out)
{
    for (size_t i = 0; i < n; i++) {
        out->v[C_NUMBER][i] = v[i].number;
        out->v[C_FLAGS][i] = (int64_t)v[i].mode << MODE_SHIFT | (v[i].marked ? FLAG_MARKED : 0) |
                             (v[i].cut ? FLAG_CUT : 0) | (v[i].warmup ? FLAG_WARMUP : 0) |
                             (v[i].disturbed ? FLAG_DISTURBED : 0);
        out->v[C_START][i] = v[i].start.ns;
        out->v[C_DUR][i] = v[i].dur_ns;
        out->v[C_BATCH][i] = v[i].batch;
        out->v[C_BETWEEN][i] = v[i].between_ns;
        out->v[C_BETWEEN_SYNC][i] = v[i].between_sync_ns;
        out->v[C_SAVE][i] = v[i].save_ns;
        for (size_t k = 0; k < STEP_PARTS_MOST; k++)
            out->v[C_PARTS + k][i] = v[i].part_ns[k];
    }
}

void steps_pack_open(struct packed *k, size_t n, struct arena *a)
{
    packed_open(k, COLUMNS, n, a);
}

void steps_pack(struct packed *k, size_t i, const struct step *v, struct arena *a)
{
    struct packed_cells cells;
    steps_pack_cells(v, MIN_OF(k->n - i, (size_t)PACKED_ROWS), &cells);
    packed_put(k, i, &cells, a);
}

static void set_flags(struct step *s, int64_t flags)
{
    s->cut = flags & FLAG_CUT;
    s->marked = flags & FLAG_MARKED;
    s->warmup = flags & FLAG_WARMUP;
    s->disturbed = flags & FLAG_DISTURBED;
    s->mode = (enum event_mode)(flags >> MODE_SHIFT);
}

size_t rank_steps_read(const struct rank_steps *r, size_t i, struct step *out)
{
    struct packed_cells x;
    const size_t n = packed_get(&r->packed, i, &x);
    for (size_t s = 0; s < n; s++) {
        out[s].number = x.v[C_NUMBER][s];
        set_flags(&out[s], x.v[C_FLAGS][s]);
        out[s].start.ns = x.v[C_START][s];
        out[s].dur_ns = x.v[C_DUR][s];
        out[s].batch = x.v[C_BATCH][s];
        out[s].between_ns = x.v[C_BETWEEN][s];
        out[s].between_sync_ns = x.v[C_BETWEEN_SYNC][s];
        out[s].save_ns = x.v[C_SAVE][s];
        for (size_t k = 0; k < STEP_PARTS_MOST; k++)
            out[s].part_ns[k] = x.v[C_PARTS + k][s];
    }
    return n;
}

struct step rank_step(const struct rank_steps *r, size_t i)
{
    struct step s;
    if (r->steps)
        return r->steps[i];
    s.number = packed_cell(&r->packed, C_NUMBER, i);
    set_flags(&s, packed_cell(&r->packed, C_FLAGS, i));
    s.start.ns = packed_cell(&r->packed, C_START, i);
    s.dur_ns = packed_cell(&r->packed, C_DUR, i);
    s.batch = packed_cell(&r->packed, C_BATCH, i);
    s.between_ns = packed_cell(&r->packed, C_BETWEEN, i);
    s.between_sync_ns = packed_cell(&r->packed, C_BETWEEN_SYNC, i);
    s.save_ns = packed_cell(&r->packed, C_SAVE, i);
    for (size_t k = 0; k < STEP_PARTS_MOST; k++)
        s.part_ns[k] = packed_cell(&r->packed, C_PARTS + k, i);
    return s;
}

/* ---- packed columns ---- */

/* A number is read and written as a whole word, whatever its width. */
enum { WORD = sizeof(uint64_t), SLACK = WORD };

static_assert(PACKED_ROWS * WORD * PACKED_COLUMNS_MOST <= UINT16_MAX, "places in a part fit");

static size_t packed_rows_of(const struct packed *k, size_t i)
{
    return MIN_OF(k->n - i, (size_t)PACKED_ROWS);
}

void packed_open(struct packed *k, size_t columns, size_t n, struct arena *a)
{
    assert(columns <= PACKED_COLUMNS_MOST);
    *k = (struct packed){.columns = columns, .n = n};
    k->parts = arena_array(a, struct packed_part, (n + PACKED_ROWS - 1) / PACKED_ROWS);
}

/* ---- in ---- */

static struct packed_column packed_measure(const int64_t *v, size_t n)
{
    int64_t lo = v[0], hi = v[0];
    for (size_t i = 1; i < n; i++) {
        lo = MIN_OF(lo, v[i]);
        hi = MAX_OF(hi, v[i]);
    }
    const uint64_t span = (uint64_t)hi - (uint64_t)lo;
    const unsigned width = span ? (71 - (unsigned)__builtin_clzll(span)) / 8 : 0;
    return (struct packed_column){.base = lo, .width = (uint8_t)width};
}

/* In order: the excess bytes of a word are overwritten by the next one. */
static void packed_put_column(const struct packed_column *c, const int64_t *v, size_t n,
                              uint8_t *to)
{
    for (size_t i = 0; i < n; i++, to += c->width) {
        const uint64_t x = (uint64_t)v[i] - (uint64_t)c->base;
        memcpy(to, &x, WORD);
    }
}

void packed_put(struct packed *k, size_t i, const struct packed_cells *cells, struct arena *a)
{
    const size_t rows = packed_rows_of(k, i);
    struct packed_part *p = &k->parts[i / PACKED_ROWS];
    size_t bytes = 0;
    assert(i % PACKED_ROWS == 0 && i < k->n);
    p->columns = arena_array(a, struct packed_column, k->columns);
    for (size_t c = 0; c < k->columns; c++) {
        p->columns[c] = packed_measure(cells->v[c], rows);
        p->columns[c].at = (uint16_t)bytes;
        bytes += rows * p->columns[c].width;
    }
    p->bytes = arena_alloc(a, bytes + SLACK, 1);
    for (size_t c = 0; c < k->columns; c++)
        if (p->columns[c].width)
            packed_put_column(&p->columns[c], cells->v[c], rows, p->bytes + p->columns[c].at);
}

/* ---- out ---- */

static uint64_t mask_of(unsigned width)
{
    return width ? UINT64_MAX >> (64 - 8 * width) : 0;
}

static int64_t cell_at(const struct packed_column *c, uint64_t mask, const uint8_t *from)
{
    uint64_t x;
    memcpy(&x, from, WORD);
    return (int64_t)((uint64_t)c->base + (x & mask));
}

size_t packed_get(const struct packed *k, size_t i, struct packed_cells *out)
{
    const size_t rows = packed_rows_of(k, i);
    const struct packed_part *p = &k->parts[i / PACKED_ROWS];
    assert(i % PACKED_ROWS == 0 && i < k->n);
    for (size_t c = 0; c < k->columns; c++) {
        const struct packed_column *column = &p->columns[c];
        const uint64_t mask = mask_of(column->width);
        const uint8_t *from = p->bytes + column->at;
        for (size_t r = 0; r < rows; r++, from += column->width)
            out->v[c][r] = cell_at(column, mask, from);
    }
    return rows;
}

int64_t packed_cell(const struct packed *k, size_t column, size_t i)
{
    const struct packed_part *p = &k->parts[i / PACKED_ROWS];
    const struct packed_column *c = &p->columns[column];
    return cell_at(c, mask_of(c->width), p->bytes + c->at + i % PACKED_ROWS * c->width);
}
