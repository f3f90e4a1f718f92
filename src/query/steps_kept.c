/* SPDX-License-Identifier: Apache-2.0 */
/* steps_kept.c - steps in a quarter of their room; see steps.h. */
#include "base/mem.h"
#include "query/steps_internal.h"

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
    FLAG_SAID = 2,
    FLAG_WARMUP = 4,
    FLAG_DISTURBED = 8,
    FLAG_SAVES = 16,
    MODE_SHIFT = 5
};

_Static_assert((int)COLUMNS <= (int)KEPT_COLUMNS_MOST, "a step fits into a row");

static void steps_kept_cells_of(const struct step *v, size_t n, struct kept_cells *out)
{
    for (size_t i = 0; i < n; i++) {
        out->v[C_NUMBER][i] = v[i].number;
        out->v[C_FLAGS][i] = (int64_t)v[i].mode << MODE_SHIFT | (v[i].said ? FLAG_SAID : 0) |
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

void steps_kept_open(struct kept *k, size_t n, struct arena *a)
{
    kept_open(k, COLUMNS, n, a);
}

void steps_kept_put(struct kept *k, size_t i, const struct step *v, struct arena *a)
{
    struct kept_cells cells;
    steps_kept_cells_of(v, MIN_OF(k->n - i, (size_t)KEPT_ROWS), &cells);
    kept_put(k, i, &cells, a);
}

static void set_flags(struct step *s, int64_t flags)
{
    s->cut = flags & FLAG_CUT;
    s->said = flags & FLAG_SAID;
    s->warmup = flags & FLAG_WARMUP;
    s->disturbed = flags & FLAG_DISTURBED;
    s->mode = (enum event_mode)(flags >> MODE_SHIFT);
}

size_t rank_steps_read(const struct rank_steps *r, size_t i, struct step *out)
{
    struct kept_cells x;
    const size_t n = kept_get(&r->kept, i, &x);
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
    s.number = kept_cell(&r->kept, C_NUMBER, i);
    set_flags(&s, kept_cell(&r->kept, C_FLAGS, i));
    s.start.ns = kept_cell(&r->kept, C_START, i);
    s.dur_ns = kept_cell(&r->kept, C_DUR, i);
    s.batch = kept_cell(&r->kept, C_BATCH, i);
    s.between_ns = kept_cell(&r->kept, C_BETWEEN, i);
    s.between_sync_ns = kept_cell(&r->kept, C_BETWEEN_SYNC, i);
    s.save_ns = kept_cell(&r->kept, C_SAVE, i);
    for (size_t k = 0; k < STEP_PARTS_MOST; k++)
        s.part_ns[k] = kept_cell(&r->kept, C_PARTS + k, i);
    return s;
}
