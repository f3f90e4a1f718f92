/* SPDX-License-Identifier: Apache-2.0 */
/* ring_clock.c - see ring_clock.h. */
#include "ring/ring_clock.h"

#include <string.h>
#include <time.h>

#include "ring/ring_ticks.h"

/* Ties come fast at first, until the rate is known well, then rarely: 128 of them are 32 s. */
enum { FIRST_TIES = 16, TRIES = 5, RATE_OVER = 8 };
static const int64_t first_gap_ns = 5 * NS_PER_MS, gap_ns = 250 * NS_PER_MS;

/* The clock between two readings of the counter, the tightest of a few tries: a preemption in
 * between would shift the tie by a time slice. */
static struct ring_tie take_tie(void)
{
    struct ring_tie best = {0};
    uint64_t best_width = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        const uint64_t before = ring_tsc(), ns = ring_mono_ns(), width = ring_tsc() - before;
        if (width < best_width) {
            best_width = width;
            best = (struct ring_tie){before + width / 2, (int64_t)ns};
        }
    }
    return best;
}

void ring_clock_add(struct ring_clock *c, struct ring_tie tie)
{
    if (c->n && (tie.ticks <= c->tie[c->n - 1].ticks || tie.ns <= c->tie[c->n - 1].ns))
        return;
    if (c->n == RING_TIES)
        memmove(c->tie, c->tie + 1, --c->n * sizeof c->tie[0]);
    c->tie[c->n++] = tie;
}

void ring_clock_start(struct ring_clock *c)
{
    const struct timespec wait = {.tv_nsec = 2 * NS_PER_MS};
    *c = (struct ring_clock){0};
    if (!ring_tsc_usable())
        return;
    ring_clock_add(c, take_tie());
    nanosleep(&wait, NULL);
    ring_clock_add(c, take_tie());
}

void ring_clock_tick(struct ring_clock *c)
{
    if (c->n == 0)
        return;
    const int64_t gap = c->n < FIRST_TIES ? first_gap_ns : gap_ns;
    if ((int64_t)ring_mono_ns() - c->tie[c->n - 1].ns >= gap)
        ring_clock_add(c, take_tie());
}

static mono_ns on_line(struct ring_tie a, struct ring_tie b, struct ring_tie from, uint64_t ticks)
{
    const double rate = (double)(b.ns - a.ns) / (double)(b.ticks - a.ticks);
    const double ns = (double)(int64_t)(ticks - from.ticks) * rate;
    const double most = 4e18; /* about 130 years: beyond is nonsense, and must not overflow */
    if (!(ns > -most && ns < most))
        return (mono_ns){0};
    return (mono_ns){(int64_t)((uint64_t)from.ns + (uint64_t)(int64_t)ns)};
}

mono_ns ring_clock_at(const struct ring_clock *c, uint64_t ticks)
{
    if (c->n < 2)
        return (mono_ns){c->n ? c->tie[0].ns : 0};
    const struct ring_tie *last = &c->tie[c->n - 1], *t = last;
    if (ticks >= last->ticks) { /* newer than the last tie: go on at the rate of late */
        const unsigned back = c->n - 1 < RATE_OVER ? c->n - 1 : RATE_OVER;
        return on_line(last[-(int)back], *last, *last, ticks);
    }
    while (t > c->tie + 1 && t[-1].ticks > ticks)
        t--;
    return on_line(t[-1], *t, t[-1], ticks);
}
