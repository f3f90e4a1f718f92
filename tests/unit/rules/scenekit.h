/* SPDX-License-Identifier: Apache-2.0 */
/* scenekit.h - a scene as rules see it, without files between: sweeps, steps and events, to be
 * fed to engines in any pieces. */
#ifndef RULES_SCENEKIT_H
#define RULES_SCENEKIT_H

#include "import/scene.h"
#include "rules/engine.h"

struct played_node {
    struct node_facts facts;
    size_t n, cap; /* sweeps */
    wall_ns *at;
    float *v[NODE_SIGNAL_N]; /* NULL: never read */
    const char *entity[RULE_GPUS_MOST];
    float *gpu[RULE_GPUS_MOST][GPU_SIGNAL_N];
    size_t n_gpus;
    struct rule_event *events;
    size_t n_events, cap_events;
};

struct played_rank {
    size_t node;
    struct rule_rank id;
    struct step *steps;
    size_t n;
};

struct played {
    struct arena arena;
    struct scene scene;
    struct rule_params params; /* with what the scene sets */
    struct played_node *nodes;
    size_t n_nodes;
    struct played_rank *ranks;
    size_t n_ranks;
    struct run_facts run;
};

/* The scene of that file; ends the test when there is none. */
void play(struct played *p, const char *path);
void play_free(struct played *p);
/* To a finished run's engine, before it is fed: when detail windows were recorded. */
void play_leave_out(const struct played *p, struct engine *g);
/* What happened from..to, fed to an engine: steps by when they begin. */
void play_feed(const struct played *p, struct engine *g, int64_t from_ns, int64_t to_ns);
/* All verdicts as JSON, in the arena of p. */
const char *play_json(struct played *p, struct engine *g);

#endif
