/* SPDX-License-Identifier: Apache-2.0 */
/* jobsteps.c - see jobsteps.h. */
#include "compare/jobsteps.h"

#include <string.h>

#include "base/mem.h"

size_t iteration_parts(void)
{
    return step_parts() + 1;
}

const char *iteration_part_name(size_t part)
{
    return part < step_parts() ? step_part_name(part) : "between";
}

/* The position in one rank. */
struct jobsteps_head {
    const struct step *at, *end;
    int64_t order; /* how many of its steps come before */
};

static bool jobsteps_counts(const struct step *s)
{
    return s->mode == MODE_TRAIN && !s->cut && s->dur_ns >= 0;
}

static void skip(struct jobsteps_head *h)
{
    while (h->at < h->end && !jobsteps_counts(h->at))
        h->at++;
}

/* Restarts begin at an earlier number again. */
static bool ascends(const struct rank_steps *r)
{
    const struct step *last = NULL;
    for (size_t i = 0; i < r->n; i++) {
        if (!jobsteps_counts(&r->steps[i]))
            continue;
        if (last && r->steps[i].number <= last->number)
            return false;
        last = &r->steps[i];
    }
    return true;
}

struct merge {
    struct jobsteps_head *heads;
    size_t n;
    bool by_number;
    size_t sync;  /* the part that waits for the GPU count for; step_parts(): there is none */
    bool batches; /* known in every step */
    struct jobsteps *out;
    struct arena *arena;
};

static int64_t jobsteps_key_of(const struct merge *m, const struct jobsteps_head *h)
{
    return m->by_number ? h->at->number : h->order;
}

static bool least_key(const struct merge *m, int64_t *key)
{
    bool some = false;
    for (size_t i = 0; i < m->n; i++) {
        const struct jobsteps_head *h = &m->heads[i];
        if (h->at == h->end)
            continue;
        const int64_t k = jobsteps_key_of(m, h);
        *key = some ? MIN_OF(*key, k) : k;
        some = true;
    }
    return some;
}

/* ---- one iteration ---- */

static int64_t jobsteps_end_of(const struct step *s)
{
    const int64_t ns = step_iteration_ns(s);
    return s->start.ns + (ns < 0 ? s->dur_ns : ns);
}

/* Waits for the GPU after the end of a step count for "sync", as those inside it do, so parts add
 * up to the iteration. */
static int64_t jobsteps_part_of(const struct merge *m, const struct step *s, size_t part)
{
    const int64_t between = MAX_OF(s->between_ns, 0),
                  waited = m->sync < step_parts() ? MIN_OF(s->between_sync_ns, between) : 0;
    if (part == step_parts())
        return between - waited;
    return s->part_ns[part] + (part == m->sync ? waited : 0);
}

static size_t sync_part(void)
{
    size_t part = 0;
    while (part < step_parts() && strcmp(step_part_name(part), "sync") != 0)
        part++;
    return part;
}

/* All ranks' steps of one number. The iteration of the job lasts from where the last rank begins
 * to where the last rank ends: so iterations add up to the time of the loop. The longest of each
 * number would not: ranks that run ahead of their GPUs have long ones at different numbers. */
struct jobsteps_taken {
    const struct step *last; /* of the rank that ends last */
    int64_t begin, end, batch;
    bool warmup, disturbed;
};

static void jobsteps_put_step(struct merge *m, const struct jobsteps_taken *t, size_t most)
{
    struct jobsteps *o = m->out;
    const size_t k = o->n++;
    o->number[k] = t->last->number;
    o->s[k] = (double)(t->end - t->begin) / (double)NS_PER_S;
    o->warmup[k] = t->warmup;
    o->disturbed[k] = t->disturbed;
    for (size_t p = 0; p < iteration_parts(); p++) {
        const int64_t ns = jobsteps_part_of(m, t->last, p);
        if (!o->part_s[p] && ns)
            o->part_s[p] = arena_array(m->arena, double, most); /* zeros so far */
        if (o->part_s[p])
            o->part_s[p][k] = (double)ns / (double)NS_PER_S;
    }
    m->batches &= t->batch > 0;
    o->batch[k] = (double)t->batch;
}

/* The ranks go on to their next step. */
static struct jobsteps_taken jobsteps_take(struct merge *m, int64_t key)
{
    struct jobsteps_taken t = {0};
    for (size_t i = 0; i < m->n; i++) {
        struct jobsteps_head *h = &m->heads[i];
        if (h->at == h->end || jobsteps_key_of(m, h) != key)
            continue;
        t.begin = t.last ? MAX_OF(t.begin, h->at->start.ns) : h->at->start.ns;
        if (!t.last || jobsteps_end_of(h->at) > t.end) {
            t.last = h->at;
            t.end = jobsteps_end_of(h->at);
        }
        t.batch = t.batch < 0 || h->at->batch <= 0 ? -1 : t.batch + h->at->batch;
        t.warmup |= h->at->warmup;
        t.disturbed |= h->at->disturbed;
        h->at++;
        h->order++;
        skip(h);
    }
    return t;
}

static void rewind_heads(struct merge *m, const struct rank_steps *ranks)
{
    for (size_t i = 0; i < m->n; i++) {
        m->heads[i] = (struct jobsteps_head){ranks[i].steps, ranks[i].steps + ranks[i].n, 0};
        skip(&m->heads[i]);
    }
}

static size_t jobsteps_count_steps(struct merge *m)
{
    size_t n = 0;
    for (int64_t key; least_key(m, &key); n++)
        jobsteps_take(m, key);
    return n;
}

void jobsteps_of(const struct rank_steps *ranks, size_t n, struct arena *a, struct jobsteps *out)
{
    struct merge m = {.n = n, .by_number = true, .sync = sync_part(), .batches = true};
    *out = (struct jobsteps){0};
    m.out = out;
    m.arena = a;
    m.heads = arena_array(a, struct jobsteps_head, n + 1);
    rewind_heads(&m, ranks);
    for (size_t i = 0; i < n; i++) {
        out->ranks += m.heads[i].at < m.heads[i].end;
        m.by_number &= ascends(&ranks[i]);
    }
    const size_t most = jobsteps_count_steps(&m);
    out->number = arena_array(a, int64_t, most + 1);
    out->s = arena_array(a, double, most + 1);
    out->batch = arena_array(a, double, most + 1);
    out->warmup = arena_array(a, bool, most + 1);
    out->disturbed = arena_array(a, bool, most + 1);
    rewind_heads(&m, ranks);
    for (int64_t key; least_key(&m, &key);) {
        const struct jobsteps_taken t = jobsteps_take(&m, key);
        jobsteps_put_step(&m, &t, most);
    }
    if (!m.batches || out->n == 0)
        out->batch = NULL;
}
