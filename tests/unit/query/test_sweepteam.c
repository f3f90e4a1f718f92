/* SPDX-License-Identifier: Apache-2.0 */
/* Stretches of sweeps against the grid that sees the same rows one by one. */
#include "base/mem.h"
#include "query/sweepteam.h"
#include "test.h"

enum { GROUPS = 5, ROWS = 40, PERIOD_US = 1000 };

static int64_t times[GROUPS][ROWS];

static uint32_t dice(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % below;
}

/* The last of them is read at every tenth tick. */
static void make_times(uint32_t *seed, uint32_t late_us)
{
    for (int g = 0; g < GROUPS; g++)
        for (int i = 0; i < ROWS; i++) {
            const int64_t tick = (g == GROUPS - 1 ? 10 : 1) * i * PERIOD_US;
            const int64_t t = tick + 20 * g + (int64_t)dice(seed, late_us);
            times[g][i] = i && t <= times[g][i - 1] ? times[g][i - 1] + 1 : t;
        }
}

/* The next row of all in order of time; -1: there is none. */
static int earliest(const size_t *row, size_t n)
{
    int best = -1;
    for (int g = 0; g < (int)n; g++)
        if (row[g] < ROWS && (best < 0 || times[g][row[g]] < times[best][row[best]]))
            best = g;
    return best;
}

struct seen {
    int64_t at_us[GROUPS * ROWS];
    uint64_t groups[GROUPS * ROWS];
    size_t n;
};

static void see_rows(struct seen *s, size_t n)
{
    struct sweepgrid grid = {0};
    size_t row[GROUPS] = {0};
    s->n = 0;
    for (int g; (g = earliest(row, n)) >= 0; row[g]++) {
        s->n += sweepgrid_row(&grid, (unsigned)g, times[g][row[g]], PERIOD_US);
        s->at_us[s->n - 1] = grid.at_us;
        s->groups[s->n - 1] = grid.groups;
    }
}

static size_t count(struct sweepteam *t, size_t n, size_t most)
{
    sweepteam_open(t);
    for (size_t g = 0; g < n; g++)
        sweepteam_put(t, (unsigned)g, times[g], ROWS);
    return sweepteam_count(t, PERIOD_US, most);
}

TEST(sweeps_that_are_counted_are_those_that_the_grid_finds_row_by_row)
{
    static const uint32_t late_us[] = {1, 15, 60, 400, 900, 1500, 4000};
    uint32_t seed = 11;
    size_t counted = 0;
    for (int turn = 0; turn < 3000; turn++) {
        const size_t groups = 1 + dice(&seed, GROUPS);
        struct sweepteam t;
        struct seen s;
        make_times(&seed, late_us[turn % (int)COUNT_OF(late_us)]);
        see_rows(&s, groups);
        const size_t n = count(&t, groups, 1 + dice(&seed, ROWS));
        uint64_t team = 0;
        for (size_t k = 0; k < t.n; k++)
            team |= sweepgrid_bit(t.groups[k]);
        for (size_t i = 0; i < n; i++) {
            CHECK_INT(s.groups[i], team);
            CHECK_INT(s.at_us[i], t.times[0][i]);
        }
        counted += n;
    }
    CHECK(counted > 10000);
}

TEST(groups_in_step_are_counted_to_the_last_row_but_one)
{
    struct sweepteam t;
    uint32_t seed = 1;
    make_times(&seed, 1);
    CHECK_INT(count(&t, GROUPS - 1, 1000), ROWS - 1);
    CHECK_INT(t.n, GROUPS - 1);
    CHECK_INT(count(&t, GROUPS - 1, 7), 7);
}

TEST(a_slow_group_ends_the_stretch_before_its_row)
{
    struct sweepteam t;
    uint32_t seed = 1;
    make_times(&seed, 1);
    for (int i = 0; i < ROWS; i++)
        times[GROUPS - 1][i] += 5 * PERIOD_US;
    CHECK_INT(count(&t, GROUPS, 1000), 5);
    CHECK_INT(t.n, GROUPS - 1);
}
