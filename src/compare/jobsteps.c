/* SPDX-License-Identifier: Apache-2.0 */
/* jobsteps.c - see jobsteps.h. */
#include "compare/jobsteps.h"

#include "base/mem.h"

/* Where one rank stands. */
struct head {
    const struct step *at, *end;
    int64_t order; /* how many of its steps lie behind it */
};

static bool counts(const struct step *s)
{
    return s->mode == MODE_TRAIN && !s->cut && s->dur_ns >= 0;
}

static void skip(struct head *h)
{
    while (h->at < h->end && !counts(h->at))
        h->at++;
}

/* Restarts begin at an earlier number again. */
static bool ascends(const struct rank_steps *r)
{
    const struct step *last = NULL;
    for (size_t i = 0; i < r->n; i++) {
        if (!counts(&r->steps[i]))
            continue;
        if (last && r->steps[i].number <= last->number)
            return false;
        last = &r->steps[i];
    }
    return true;
}

struct merge {
    struct head *heads;
    size_t n;
    bool by_number;
    size_t parts;
    bool batches; /* known in every step */
    struct jobsteps *out;
    struct arena *arena;
};

static int64_t key_of(const struct merge *m, const struct head *h)
{
    return m->by_number ? h->at->number : h->order;
}

static bool least_key(const struct merge *m, int64_t *key)
{
    bool some = false;
    for (size_t i = 0; i < m->n; i++) {
        const struct head *h = &m->heads[i];
        if (h->at == h->end)
            continue;
        const int64_t k = key_of(m, h);
        *key = some ? MIN_OF(*key, k) : k;
        some = true;
    }
    return some;
}

static void put_step(struct merge *m, const struct step *slowest, int64_t batch, size_t most)
{
    struct jobsteps *o = m->out;
    const size_t k = o->n++;
    o->number[k] = slowest->number;
    o->s[k] = (double)slowest->dur_ns / (double)NS_PER_S;
    for (size_t p = 0; p < m->parts; p++) {
        if (!o->part_s[p] && slowest->part_ns[p])
            o->part_s[p] = arena_array(m->arena, double, most); /* zeros so far */
        if (o->part_s[p])
            o->part_s[p][k] = (double)slowest->part_ns[p] / (double)NS_PER_S;
    }
    m->batches &= batch > 0;
    o->batch[k] = (double)batch;
}

/* All ranks' steps of this number; they go on to the next. */
static const struct step *take(struct merge *m, int64_t key, int64_t *batch)
{
    const struct step *slowest = NULL;
    *batch = 0;
    for (size_t i = 0; i < m->n; i++) {
        struct head *h = &m->heads[i];
        if (h->at == h->end || key_of(m, h) != key)
            continue;
        if (!slowest || h->at->dur_ns > slowest->dur_ns)
            slowest = h->at;
        *batch = *batch < 0 || h->at->batch <= 0 ? -1 : *batch + h->at->batch;
        h->at++;
        h->order++;
        skip(h);
    }
    return slowest;
}

static void rewind_heads(struct merge *m, const struct rank_steps *ranks)
{
    for (size_t i = 0; i < m->n; i++) {
        m->heads[i] = (struct head){ranks[i].steps, ranks[i].steps + ranks[i].n, 0};
        skip(&m->heads[i]);
    }
}

static size_t count_steps(struct merge *m)
{
    size_t n = 0;
    for (int64_t key, batch; least_key(m, &key); n++)
        take(m, key, &batch);
    return n;
}

void jobsteps_of(const struct rank_steps *ranks, size_t n, struct arena *a, struct jobsteps *out)
{
    struct merge m = {.n = n, .by_number = true, .parts = step_parts(), .batches = true};
    *out = (struct jobsteps){0};
    m.out = out;
    m.arena = a;
    m.heads = arena_array(a, struct head, n + 1);
    rewind_heads(&m, ranks);
    for (size_t i = 0; i < n; i++) {
        out->ranks += m.heads[i].at < m.heads[i].end;
        m.by_number &= ascends(&ranks[i]);
    }
    const size_t most = count_steps(&m);
    out->number = arena_array(a, int64_t, most + 1);
    out->s = arena_array(a, double, most + 1);
    out->batch = arena_array(a, double, most + 1);
    rewind_heads(&m, ranks);
    for (int64_t key, batch; least_key(&m, &key);) {
        const struct step *slowest = take(&m, key, &batch);
        put_step(&m, slowest, batch, most);
    }
    if (!m.batches || out->n == 0)
        out->batch = NULL;
}
