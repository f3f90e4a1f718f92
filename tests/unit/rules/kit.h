/* SPDX-License-Identifier: Apache-2.0 */
/* kit.h - runs made by hand for tests of rules: a function says what each sweep of a node reads.
 *
 *     static void course(size_t i, struct moment *m)
 *     {
 *         m->v[SIG_CPU] = 95;
 *         m->gpu[0][GPU_SIG_UTIL] = i % 2 ? 5 : 80;
 *     }
 *
 *     const struct kit_node node = {"n0", course, .sweeps = 1000, .gpus = 1};
 *     const struct verdict *v = kit_verdict(&(struct kit){&node, 1}, "CPUBottleneck");
 *
 * What a sweep does not set was not read. The loop lasts from the first sweep to the last, unless
 * the kit says otherwise. Verdicts live as long as the test. */
#ifndef RULES_KIT_H
#define RULES_KIT_H

#include "rules/engine.h"
#include "test.h"

enum { KIT_GPUS = 4 };

struct moment {
    float v[NODE_SIGNAL_N];
    float gpu[KIT_GPUS][GPU_SIGNAL_N];
    bool skip; /* no sweep was made at all */
};

struct kit_node {
    const char *id;
    void (*course)(size_t i, struct moment *m);
    size_t sweeps, gpus;
    int64_t period_ns; /* 0: 500 ms */
    unsigned cores;
    int64_t memory_bytes;
    int64_t batch; /* of one step at the start; 0: there is none */
};

struct kit {
    const struct kit_node *nodes;
    size_t n_nodes;
    const char *const *set; /* parameters, ends with NULL; NULL: none */
    bool no_steps, goes_on;
    int64_t loop_after_ns; /* the loop begins so long after the first sweep */
    unsigned seed;         /* of the cuts; 0: each node in one piece */
    size_t engines; /* that each see an interval of the time and are merged in any order; 0: one */
};

const struct verdict *kit_verdict(const struct kit *k, const char *rule);
/* Everything a verdict says, as text. */
const char *kit_text(const struct verdict *v);
/* Cut at random places, and seen by several engines that are merged in any order: the verdict must
 * be the same to the last bit. */
void kit_cuts_do_not_matter(const struct kit *k, const char *rule);
/* NAN when there is no such number. */
double kit_number(const struct finding *f, const char *name);
/* Of a row of a plot, by their labels; ends the test when there is none. */
const struct plot_row *kit_row(const struct verdict *v, const char *title, const char *label);
/* The same in 0..below for the same i. */
unsigned kit_noise(size_t i, unsigned below);

#endif
