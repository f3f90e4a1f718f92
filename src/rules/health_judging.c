/* SPDX-License-Identifier: Apache-2.0 */
/* health_judging.c - see health_judging.h. */
#include "rules/health_judging.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/vec.h"

const struct book_rank *next_health_rank(const struct judge *j, struct health_at *at)
{
    while (at->next_node < j->n_nodes) {
        const struct health_book *b = j->nodes[at->next_node].health;
        at->node = &j->nodes[at->next_node];
        if (b && at->next < b->n)
            return b->ranks[at->next++];
        at->next_node++;
        at->next = 0;
    }
    return NULL;
}

void health_hit_add(struct health_hit *h, const struct health_at *at, const struct book_rank *r)
{
    if (!h->rank || r->rank < h->rank->rank) {
        h->rank = r;
        h->node = at->node;
    }
    h->ranks++;
}

bool health_is_replica(const struct book_rank *r)
{
    return r->tables[TABLE_WEIGHT_SUM].n > 0 && r->tables[TABLE_WEIGHT_L2].n == 0;
}

struct health_hit health_reference_rank(const struct judge *j)
{
    struct health_hit best = {0};
    const struct book_rank *r;
    for (struct health_at at = {0}; (r = next_health_rank(j, &at));) {
        if (!r->tables[TABLE_WEIGHT_SUM].n)
            continue;
        const int later = best.rank ? health_is_replica(r) - health_is_replica(best.rank) : -1;
        if (later < 0 || (later == 0 && r->rank < best.rank->rank))
            best = (struct health_hit){at.node, r, 1};
    }
    return best;
}

struct finding *health_finding(const struct judge *j, struct verdict *v, const struct health_hit *h,
                               int64_t step, const char *module)
{
    const char *entity =
        h->rank->rank < 0 ? "" : arena_printf(j->arena, "rank %lld", (long long)h->rank->rank);
    struct finding *f = verdict_find(v, h->node->facts->id, entity);
    f->step = step;
    f->module = module && *module ? arena_strdup(j->arena, module) : NULL;
    finding_count(v, f, 1, 1);
    return f;
}

void health_finding_from(const struct judge *j, struct verdict *v, struct finding *f, wall_ns from)
{
    const wall_ns end = j->run->has_steps ? j->run->loop_end : j->run->job_end;
    const struct time_range when = {from, {MAX_OF(end.ns, from.ns)}};
    finding_when(v, f, &when, 1);
}

const char *health_ranks_text(const struct judge *j, const struct health_hit *h)
{
    return h->ranks > 1 ? arena_printf(j->arena, " (on %zu ranks)", h->ranks) : "";
}

/* ---- tensors ---- */

void health_worst_add(struct health_worsts *w, struct arena *a, uint32_t name, double v)
{
    *ARENA_ADD(a, w->v, w->n, w->cap) = (struct health_worst){name, v};
}

static int health_by_badness(const void *a, const void *b)
{
    const struct health_worst *x = a, *y = b;
    return COMPARE(y->v, x->v) ?: COMPARE(x->name, y->name);
}

void health_worst_sort(struct health_worsts *w)
{
    SORT(w->v, w->n, health_by_badness);
}

enum { WORST_SHOWN = 3 };

const char *health_worst_text(const struct judge *j, const struct book_rank *r,
                              const struct health_worsts *w)
{
    const char *text = "";
    for (size_t i = 0; i < MIN_OF(w->n, (size_t)WORST_SHOWN); i++)
        text = arena_printf(j->arena, "%s%s%s", text, i ? ", " : "", r->names[w->v[i].name]);
    return w->n > WORST_SHOWN ? arena_printf(j->arena, "%s and %zu more", text, w->n - WORST_SHOWN)
                              : text;
}

double *health_cells(const struct book_table *t, size_t from, uint32_t name, struct arena *a,
                     size_t *n)
{
    double *v = arena_array(a, double, t->n + 1);
    *n = 0;
    for (size_t i = from; i < t->n; i++) {
        const double x = table_cell(&t->rows[i], name);
        if (!isnan(x))
            v[(*n)++] = x;
    }
    return v;
}
