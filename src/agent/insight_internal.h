/* SPDX-License-Identifier: Apache-2.0 */
/* insight_internal.h - between the files of insight.h. */
#ifndef AGENT_INSIGHT_INTERNAL_H
#define AGENT_INSIGHT_INTERNAL_H

#include "agent/insight.h"
#include "query/steps.h"
#include "query/sweepgrid.h"
#include "record/group.h"
#include "rules/sight.h"

/* ---- rows become sweeps (insight_rows.c) ---- */

/* A slot of a group that is of use to rules. */
struct wanted_slot {
    slot_id slot;
    int gpu; /* -1: of the machine */
    uint8_t signal;
    bool peak; /* the highest of several slots counts */
};

struct known_group {
    const struct group *group;
    char name[GROUP_NAME_LEN]; /* another group may come to lie where one was */
    uint32_t generation, slots;
    struct wanted_slot *v;
    size_t n, cap;
};

/* The newest sweeps. */
struct sweep_buf {
    struct known_group *groups;
    size_t n_groups;
    int64_t period_ns;
    struct sweepgrid grid;
    size_t n, cap;
    wall_ns *at;
    float *v[NODE_SIGNAL_N];
    float *gpu[SIGHT_GPUS_MOST][GPU_SIGNAL_N];
    char entity[SIGHT_GPUS_MOST][ENTITY_LEN];
    size_t n_gpus;
};

void sweep_buf_row(struct sweep_buf *b, const struct group *g, mono_ns t, struct clock_tie tie);
/* All of them as a batch that points into the buffer. */
struct sweeps sweep_buf_view(const struct sweep_buf *b, struct gpu_sweeps *gpus);
/* How many began before t. */
size_t sweep_buf_before(const struct sweep_buf *b, wall_ns t);
/* Those move to `out`, which holds nothing else then; its groups and grid mean nothing. */
void sweep_buf_move(struct sweep_buf *b, size_t n, struct sweep_buf *out);
void sweep_buf_period(struct sweep_buf *b, int64_t ns); /* empties it */
void sweep_buf_free(struct sweep_buf *b);

/* ---- events become steps (insight_steps.c) ---- */

struct seen_thread {
    uint64_t tid;
    struct steps_flow *flow;
};

struct seen_process {
    struct rank_sight who;
    int64_t worker; /* -1: it is none */
    struct seen_thread *threads;
    size_t n_threads;
};

struct step_buf {
    struct seen_process *v;
    size_t n;
    struct told *told;
    size_t n_told, cap_told;
    size_t waiting; /* events since the last take */
};

/* Steps of one process. */
struct step_batch {
    struct rank_sight who;
    struct step *v;
    size_t n;
};

/* What has come since the last take. */
struct step_news {
    struct step_batch *batches;
    size_t n;
    struct told *told;
    size_t n_told;
};

void step_buf_events(struct step_buf *b, const struct track *t, const struct event *v, size_t n,
                     struct clock_tie tie);
/* Steps that are done, of every process that trains, with wall time, and what rules are told; in
 * the arena. */
void step_buf_take(struct step_buf *b, struct clock_tie tie, struct arena *a,
                   struct step_news *out);
void step_buf_free(struct step_buf *b);

/* ---- rules of the user's own (insight_users.c) ---- */

struct seen_user_rule {
    char *name;
    struct rule_seen seen;
};

struct user_rules {
    struct seen_user_rule *v;
    size_t n;
    struct arena arena; /* of what they said last */
    struct hosted *said;
    size_t n_said;
};

/* Takes in what they say when it comes within `wait_ns`, and tells what is new in it. */
void user_rules_hear(struct user_rules *u, const struct insight_ask *ask, int64_t wait_ns);
void user_rules_free(struct user_rules *u);
/* Whether that is worth telling. */
bool rule_seen_differs(const struct rule_seen *a, const struct rule_seen *b);

#endif
