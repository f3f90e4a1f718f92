/* SPDX-License-Identifier: Apache-2.0 */
/* engine_internal.h - the inside of the engine, for engine*.c alone. */
#ifndef RULES_ENGINE_INTERNAL_H
#define RULES_ENGINE_INTERNAL_H

#include "rules/engine.h"
#include "rules/shared.h"

/* What a rule has of one stretch of time. */
struct rule_part {
    void *state;
    uint64_t sweeps, before; /* that reached it; that came too early */
};

/* One stretch of time of one node. Several only after engines were merged. */
struct stretch {
    int64_t first_ns; /* of anything seen in it; INT64_MAX: nothing yet */
    struct rule_part part[RULE_N];
};

/* Sweeps of the latest time, as columns. Those before `fed` were handed on, and are kept for the
 * case that the loop turns out to have begun at another moment. */
struct hold {
    size_t n, cap, fed;
    wall_ns *at;
    int64_t *period_ns;
    float *v[NODE_SIGNAL_N];
    float *gpu[SIGHT_GPUS_MOST][GPU_SIGNAL_N];
    char entity[SIGHT_GPUS_MOST][ENTITY_LEN];
    size_t n_gpus;
};

/* Steps of one rank as they were told. */
struct early_step {
    struct rank_sight rank;
    struct step step;
};

/* What was told while the begin of the loop may still turn out to be another. */
struct early {
    struct told *told;
    size_t n_told, cap_told;
    struct early_step *steps;
    size_t n_steps, cap_steps;
};

/* Times whose sweeps do not count, in order and apart from each other. */
struct left_out {
    struct time_range *v;
    size_t n, cap;
};

struct engine_node {
    struct node_facts facts;
    struct left_out left_out;
    char id[ENTITY_LEN], machine[ENTITY_LEN];
    bool has_gpu, has_sweeps;
    struct stretch *stretches; /* what is fed goes to the last one */
    size_t n_stretches;
    struct rule_part after[RULE_N]; /* behind the last step: of the loop only if one follows */
    int64_t after_ns;               /* the latest sweep in it; INT64_MIN: none */
    uint64_t seen;                  /* sweeps */
    struct hold hold;
    struct early early;
};

struct engine {
    struct arena arena; /* parameters */
    struct rule_params params;
    bool finished;    /* the window is known: nothing is held */
    bool has_steps;   /* of any mode */
    bool trains;      /* a train step among them, warm-up or not */
    bool has_trained; /* one that is no warm-up: the loop begins with the first of those */
    bool settled;     /* the loop does not turn out to have begun earlier */
    wall_ns loop_start, loop_end; /* after warm-up; of the steps so far, or the window's */
    int64_t first_other_ns;       /* of the first steady step of another mode; 0: none */
    wall_ns sure;
    struct engine_node *nodes;
    size_t n_nodes, cap_nodes;
    struct shared *shared; /* of the batch that is being fed */
};

/* hold */
void hold_add(struct hold *h, const struct sweeps *s);
/* Those in [from, to) of it, as a batch that points into it. All of one period. */
struct sweeps hold_view(const struct hold *h, size_t from, size_t to, struct gpu_sweeps *gpus);
/* How far those of the period of `from` reach, at most to `to`. */
size_t hold_same_period(const struct hold *h, size_t from, size_t to);
size_t hold_from(const struct hold *h, int64_t t); /* the first that is not before t */
void hold_drop(struct hold *h, size_t n);          /* the first n */
bool hold_is_full(const struct hold *h);
void hold_free(struct hold *h);

/* early; false: there is no room for all of it */
bool early_add_told(struct early *e, const struct told *v, size_t n);
bool early_add_steps(struct early *e, const struct rank_sight *r, const struct step *v, size_t n);
void early_free(struct early *e);

/* parts */
struct rule_view part_view(const struct engine *g, const struct engine_node *n, size_t rule);
void part_free(const struct rule *r, struct rule_part *p);
void part_join(const struct engine *g, const struct engine_node *n, size_t rule,
               struct rule_part *p, struct rule_part *later);
/* All stretches of the node joined into the first, in order of time. */
void node_fold(struct engine *g, struct engine_node *n);
struct stretch *stretch_now(struct engine_node *n);

/* feeding: the parts of one stretch, or those after the last step */
void feed_sweeps(const struct engine *g, const struct engine_node *n, struct rule_part *parts,
                 const struct sweeps *s, bool whole_job);
void feed_steps(const struct engine *g, const struct engine_node *n, size_t rule,
                struct rule_part *p, const struct rank_sight *r, const struct step *v, size_t n_v);
void feed_told(const struct engine *g, const struct engine_node *n, size_t rule,
               struct rule_part *p, const struct told *v, size_t n_v);
/* A time whose sweeps do not count. */
void left_out_add(struct left_out *l, struct time_range x);
/* Those in [from, to), in `gpus` of the caller. */
struct sweeps sweeps_cut(const struct sweeps *s, size_t from, size_t to, struct gpu_sweeps *gpus);

/* the loop of a run that lives */
void live_sweeps(struct engine *g, struct engine_node *n, const struct sweeps *s);
void live_steps(struct engine *g, const struct step *v, size_t n);
void live_sure(struct engine *g);
/* Something was kept for a loop that may begin elsewhere, or there was no room for it. */
void live_keep(struct engine *g, bool has_room);

/* Order, severity, sums and links, when all rules have judged. */
void verdicts_complete(struct verdicts *v, const struct engine *g, const struct run_facts *run);

#endif
