/* SPDX-License-Identifier: Apache-2.0 */
/* walks.c - see walks.h. */
#include "walks.h"

#include <math.h>

const char *const walk_names[WALKS] = {
    "independent", "AR(1) 0.5", "AR(1) 0.9", "lognormal",
    "Pareto 2.2",  "drift",     "stalls",    "AR(1) 0.8, heavy tails",
    "bursts",
};

double walk_uniform(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return ((double)(*state >> 11) + 0.5) / 9007199254740992.0;
}

double walk_normal(uint64_t *state)
{
    const double r = sqrt(-2 * log(walk_uniform(state)));
    return r * cos(6.283185307179586 * walk_uniform(state));
}

static double rho_of(enum walk kind)
{
    return kind == WALK_AR5 ? 0.5 : kind == WALK_AR9 ? 0.9 : kind == WALK_AR8_HEAVY ? 0.8 : 0;
}

/* `x` is a normal value that hangs together with those before. */
static double shaped(enum walk kind, double x, double at, uint64_t *state)
{
    switch (kind) {
    case WALK_LOGNORMAL:
        return (exp(x) - exp(0.5)) / 2.16;
    case WALK_PARETO:
        return pow(walk_uniform(state), -1 / 2.2) - 2.2 / 1.2;
    case WALK_DRIFT:
        return x + 2 * at;
    case WALK_STALLS:
        return walk_uniform(state) < 0.01 ? x + 20 : x;
    case WALK_AR8_HEAVY:
        return x * x * x / 4;
    default:
        return x;
    }
}

/* Iterations as the host sees them: up to 40 steps are only launched, then it waits until the GPU
 * has done them all. The first burst began before the first value. */
static void fill_bursts(double spread, double *v, size_t n, uint64_t *state)
{
    static const double launch = 0.2;
    double owed = 0; /* work of the GPU that the host has not waited for */
    size_t left = (size_t)(40 * walk_uniform(state));
    for (size_t i = 0; i < n; i++) {
        owed += 1 + spread * walk_normal(state);
        v[i] = left > 0 ? launch * (1 + spread * walk_normal(state)) : fmax(owed, launch);
        owed -= v[i];
        left = left > 0 ? left - 1 : 2 + (size_t)(38 * walk_uniform(state));
    }
}

void walk_fill(enum walk kind, double spread, double *v, size_t n, uint64_t *state)
{
    const double rho = rho_of(kind);
    double x = walk_normal(state);
    if (kind == WALK_BURSTS) {
        fill_bursts(spread, v, n, state);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        x = rho * x + sqrt(1 - rho * rho) * walk_normal(state);
        v[i] = 1 + spread * shaped(kind, x, (double)i / (double)n, state);
    }
}
