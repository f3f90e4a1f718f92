/* SPDX-License-Identifier: Apache-2.0 */
/* breakdown_steps.c - steps of one process: where they really begin and end, and what their time
 * went to (docs/breakdowns.md, "Steps"). */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/breakdown_internal.h"

void host_steps_add(struct host_steps *s, int64_t number, int64_t begin, int64_t end)
{
    if (s->n == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 64;
        s->v = xrealloc(s->v, s->cap, sizeof *s->v);
    }
    s->v[s->n++] = (struct host_step){.number = number, .begin = begin, .end = end};
}

void host_steps_clear(struct host_steps *s)
{
    s->n = s->n_loose = s->near = 0;
}

void host_steps_free(struct host_steps *s)
{
    free(s->v);
    free(s->loose);
}

static int breakdown_steps_by_begin(const void *a, const void *b)
{
    const struct host_step *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

void host_steps_sort(struct host_steps *s)
{
    if (s->n)
        qsort(s->v, s->n, sizeof *s->v, breakdown_steps_by_begin);
}

void host_steps_unseen(const struct host_steps *s, struct intervals *out)
{
    int64_t end = s->n ? s->v[0].end : 0;
    for (size_t i = 1; i < s->n; i++) {
        if (s->v[i].number > s->v[i - 1].number + 1)
            intervals_add(out, end, s->v[i].begin);
        end = MAX_OF(end, s->v[i].end);
    }
    intervals_finish(out);
}

/* ---- device operations ---- */

static bool is_last_before(const struct host_steps *s, size_t i, int64_t t)
{
    return s->v[i].begin <= t && (i + 1 == s->n || s->v[i + 1].begin > t);
}

/* The last step that began by `t`; s->n: none did. */
static size_t last_before(const struct host_steps *s, int64_t t)
{
    size_t lo = 0, hi = s->n;
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (s->v[mid].begin <= t)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo ? lo - 1 : s->n;
}

/* The step that the whole call lies in. */
static struct host_step *breakdown_steps_step_of(struct host_steps *s, const struct launch *l)
{
    if (!l || s->n == 0)
        return NULL;
    if (s->near >= s->n || !is_last_before(s, s->near, l->begin))
        s->near = last_before(s, l->begin);
    if (s->near == s->n || l->end > s->v[s->near].end)
        return NULL;
    return &s->v[s->near];
}

static void add_loose(struct host_steps *s, int64_t end)
{
    if (s->n_loose == s->cap_loose) {
        s->cap_loose = s->cap_loose ? 2 * s->cap_loose : 256;
        s->loose = xrealloc(s->loose, s->cap_loose, sizeof *s->loose);
    }
    s->loose[s->n_loose++] = end;
}

void host_steps_match(struct host_steps *s, const struct launch *l, int64_t begin, int64_t end)
{
    struct host_step *step = breakdown_steps_step_of(s, l);
    if (!step) {
        if (s->n)
            add_loose(s, end);
        return;
    }
    step->first_begin = step->matched ? MIN_OF(step->first_begin, begin) : begin;
    step->last_end = step->matched ? MAX_OF(step->last_end, end) : end;
    step->matched++;
}

/* ---- where steps begin and end ---- */

static bool any_matched(const struct host_steps *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->v[i].matched)
            return true;
    return false;
}

/* What runs on the device when the first step begins may be work of a step before the trace: it
 * ends that one. */
static int64_t end_before_first(const struct host_steps *s)
{
    int64_t end = s->v[0].begin;
    for (size_t i = 0; s->v[0].matched && i < s->n_loose; i++)
        if (s->loose[i] < s->v[0].first_begin)
            end = MAX_OF(end, s->loose[i]);
    return end;
}

static void move_edges(struct host_steps *s)
{
    int64_t before = end_before_first(s);
    for (size_t i = 0; i < s->n; i++) {
        struct host_step *v = &s->v[i];
        v->begin = MAX_OF(v->begin, before);
        if (v->matched)
            v->end = MAX_OF(v->end, v->last_end);
        v->end = MAX_OF(v->end, v->begin);
        before = v->end;
    }
}

/* The profiler may have stopped before the device was done with the last steps: those without any
 * device operation go, and one that has fewer than 0.8 of those of the one before. */
static size_t keep_count(const struct host_steps *s)
{
    size_t keep = s->n;
    while (keep && s->v[keep - 1].matched == 0)
        keep--;
    if (keep > 1 && 0.8 * (double)s->v[keep - 2].matched > (double)s->v[keep - 1].matched)
        keep--;
    return keep;
}

/* ---- what their time went to ---- */

/* Each role gets what those before it left, in `slots`; what nobody took stays there. */
static void breakdown_steps_share_out(const struct host_steps *s, size_t n,
                                      const struct intervals role[], struct step_row *out)
{
    struct intervals slots = {0}, taken = {0}, left = {0};
    for (size_t i = 0; i < n; i++)
        intervals_add(&slots, s->v[i].begin, s->v[i].end);
    intervals_finish(&slots);
    for (unsigned r = 0; r < ROLE_N; r++) {
        size_t from = 0;
        if (r < ROLE_OTHER)
            intervals_both(&slots, &role[r], &taken);
        for (size_t i = 0; i < n; i++)
            out[i].role_ns[r] = intervals_length_within(r < ROLE_OTHER ? &taken : &slots,
                                                        out[i].begin, out[i].end, &from);
        if (r == ROLE_OTHER)
            break;
        intervals_minus(&slots, &taken, &left);
        const struct intervals swap = slots;
        slots = left;
        left = swap;
    }
    intervals_free(&slots);
    intervals_free(&taken);
    intervals_free(&left);
}

static enum role most_of(const struct step_row *s)
{
    enum role most = ROLE_KERNEL;
    for (enum role r = ROLE_KERNEL; r < ROLE_N; r++)
        if (s->role_ns[r] > s->role_ns[most])
            most = r;
    return most;
}

size_t host_steps_rows(struct host_steps *s, const struct intervals role[ROLE_OTHER],
                       struct step_row *out)
{
    size_t n = s->n;
    if (any_matched(s)) {
        move_edges(s);
        n = s->n > 1 ? keep_count(s) : n;
    }
    for (size_t i = 0; i < n; i++)
        out[i] = (struct step_row){.step = s->v[i].number,
                                   .begin = s->v[i].begin,
                                   .end = s->v[i].end,
                                   .device_ops = s->v[i].matched};
    breakdown_steps_share_out(s, n, role, out);
    for (size_t i = 0; i < n; i++)
        out[i].critical = most_of(&out[i]);
    return n;
}
