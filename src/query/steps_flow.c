/* SPDX-License-Identifier: Apache-2.0 */
/* steps_flow.c - see steps_flow.h. */
#include "query/steps_flow.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/steps_internal.h"

/* LAG: steps that wait for those that follow. POINTS_MOST: when nothing becomes a step for so long,
 * the older half is given up. */
enum { LAG = 2, POINTS_MOST = 1 << 16 };

struct steps_flow {
    struct points points;
    struct names_seen names;
    uint64_t marked;                            /* of those that are gone */
    int64_t numbers[MODE_N];                    /* of steps handed out */
    int64_t first_ns[MODE_N][WARMUP_LOOKED_AT]; /* iterations of the first steps */
    size_t n_first[MODE_N];                     /* of those, handed out */
};

struct steps_flow *steps_flow_open(void)
{
    return xcalloc(1, sizeof(struct steps_flow));
}

void steps_flow_close(struct steps_flow *f)
{
    if (f)
        points_free(&f->points);
    free(f);
}

void steps_flow_add(struct steps_flow *f, const struct event *v, size_t n)
{
    names_seen_forget(&f->names);
    for (size_t i = 0; i < n; i++)
        if (v[i].end != END_OPEN)
            points_add(&f->points, &v[i], names_seen_find(&f->names, v[i].name));
}

uint64_t steps_flow_marked(const struct steps_flow *f)
{
    return f->marked + f->points.marked;
}

size_t steps_flow_kept(const struct steps_flow *f)
{
    return f->points.n;
}

/* Keeps what ends after t. */
static void drop_before(struct steps_flow *f, int64_t t)
{
    struct points kept = {0};
    for (size_t i = 0; i < f->points.n; i++)
        if (f->points.v[i].end > t)
            points_push(&kept, &f->points.v[i]);
    f->marked += f->points.marked - kept.marked;
    points_free(&f->points);
    f->points = kept;
}

static void steps_flow_number(struct steps_flow *f, struct step *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!v[i].said)
            v[i].number = f->numbers[v[i].mode];
        f->numbers[v[i].mode]++;
    }
}

/* As steps_mark_warmup does with all of them, by what is known so far: `n` are handed out now, and
 * `known` are known. */
static void mark_warmup(struct steps_flow *f, struct step *v, size_t n, size_t known)
{
    for (enum event_mode m = 0; m < MODE_N; m++) {
        const size_t from = f->n_first[m];
        size_t all = from, k = from;
        if (from >= WARMUP_MOST)
            continue;
        for (size_t i = 0; i < known && all < WARMUP_LOOKED_AT; i++)
            if (v[i].mode == m && !v[i].cut)
                f->first_ns[m][all++] = MAX_OF(step_iteration_ns(&v[i]), v[i].dur_ns);
        for (size_t i = 0; i < n && k < all; i++) {
            if (v[i].mode != m || v[i].cut)
                continue;
            v[i].warmup |= warmup_is_slow(f->first_ns[m], all, k);
            k++;
        }
        f->n_first[m] = k;
    }
}

void steps_flow_take(struct steps_flow *f, bool ended, struct arena *a, struct step **out,
                     size_t *n)
{
    points_sort(&f->points);
    steps_of_points(&f->points, a, out, n);
    const size_t known = *n;
    if (!ended)
        *n = *n > LAG ? *n - LAG : 0;
    steps_flow_number(f, *out, *n);
    mark_warmup(f, *out, *n, known);
    if (*n)
        drop_before(f, step_end(&(*out)[*n - 1]));
    else if (f->points.n > POINTS_MOST)
        drop_before(f, f->points.v[f->points.n / 2].at);
}
