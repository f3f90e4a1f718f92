/* SPDX-License-Identifier: Apache-2.0 */
/* per_entity.h - what rules are written with: states, and what they need when they judge.
 *
 * A rule has one state for each node, one for each GPU and one for each rank. The record of a rule
 * defines how large they are and what to do with readings and events:
 *
 *     struct low_gpu {
 *         struct gpu_head head;
 *         struct hist util;
 *     };
 *
 *     static void low_gpu_see(void *gpu, const struct gpu_batch *c)
 *     {
 *         shared_hist(c->s, c->gpu->v[GPU_SIG_UTIL], &((struct low_gpu *)gpu)->util);
 *     }
 *
 *     const struct rule rule_low = {
 *         ...
 *         RULE_STATE(struct node_state, .gpu_size = sizeof(struct low_gpu), .gpu = low_gpu_see),
 *         .judge = low_judge,
 *     };
 *
 * All states begin as zeros. */
#ifndef RULES_PER_ENTITY_H
#define RULES_PER_ENTITY_H

#include "rules/hist.h"
#include "rules/rule.h"
#include "rules/rule_input.h"
#include "rules/state.h"

/* The head of a rule's struct for one GPU. It records whether the job used the GPU at all: one that
 * it did not use is a separate finding (UnusedGPU) and not evidence for others. */
struct gpu_head {
    char entity[ENTITY_LEN];
    float most_util;      /* percent; until it was used */
    float most_processes; /* of the job on it; the same */
};

/* All that most rules need of a GPU: how busy it was. Members of a state_spec: KEEPS_BUSY_GPUS. */
struct busy_gpu {
    struct gpu_head head;
    struct hist util;
};

/* A GPU that is busier than this waits for nothing; percent. */
#define GPU_BUSY 90.0

/* The head of a rule's struct for one rank. */
struct rank_head {
    struct rule_rank id;
};

/* The head of a rule's state of a node. */
struct node_state {
    const struct state_spec *spec; /* NULL: nothing was seen */
    unsigned char *gpus;           /* n_gpus of spec->gpu_size bytes */
    size_t n_gpus;
    void **ranks; /* in order of rank */
    size_t n_ranks;
    struct hist *signals;   /* by spec->signals; NULL: nothing was seen */
    struct time_range seen; /* from the first sweep to the end of the last */
};

enum { STATE_SIGNALS = 3 };

/* A batch of sweeps of one GPU. */
struct gpu_batch {
    const struct rule_view *rule;
    const struct sweeps *s;
    const struct gpu_sweeps *gpu;
};

/* Functions may be NULL. */
struct state_spec {
    enum node_signal signals[STATE_SIGNALS]; /* of the node, in percent, stored as histograms */
    size_t n_signals;
    size_t gpu_size, rank_size; /* 0: there are none */
    void (*gpu)(void *gpu, const struct gpu_batch *c);
    void (*sweeps)(void *state, const struct rule_view *c, const struct sweeps *s);
    void (*event)(void *state, const struct rule_view *c, const struct rule_event *v);
    /* The memory that they own; of a state, what follows the head. */
    void (*memory_gpu)(void *gpu, enum state_op op);
    void (*memory_rank)(void *rank, enum state_op op);
    void (*memory_own)(void *state, enum state_op op);
    const void *family; /* what makes the rule one of several that share functions */
};

void state_sweeps(void *state, const struct rule_view *c, const struct sweeps *s);
void state_events(void *state, const struct rule_view *c, const struct rule_event *v, size_t n);
void state_keep(void *state, enum state_op op);

/* Members of a rule's record. `type` begins with a struct node_state; what follows are members of
 * a struct state_spec. */
#define RULE_STATE(type, ...)                                                                      \
    .spec = &(const struct state_spec){__VA_ARGS__}, .state_size = sizeof(type),                   \
    .sweeps = state_sweeps, .events = state_events, .memory = state_keep

/* The state of that rank, or of the one that an event is of, made when it is new. A process that
 * reports its rank late does not lose what was recorded before. */
void *state_rank(void *state, const struct rule_view *c, const struct rule_rank *id);
void *state_event_rank(void *state, const struct rule_view *c, const struct rule_event *v);

/* ---- judging ---- */

/* All that was read of spec->signals[i]; the state is one of a node. */
const struct hist *state_signal(const void *state, size_t i);

bool gpu_was_used(const struct gpu_head *h);
/* Whether it was used or not; the state is one of a node. */
void *state_gpu(const void *state, size_t i);

/* One after the other, of all nodes. NULL: that was the last. */
struct entity_at {
    const struct judged_node *node;
    size_t next_node, next;
};

#define KEEPS_BUSY_GPUS .gpu_size = sizeof(struct busy_gpu), .gpu = busy_gpu_see
void busy_gpu_see(void *gpu, const struct gpu_batch *c);
/* Mean utilization of the GPUs of a node that the job used, percent; NAN: none is known. */
double node_gpu_use(const void *state);

/* GPUs that the job used. */
const void *next_gpu(const struct judge *j, struct entity_at *at);
const void *next_rank(const struct judge *j, struct entity_at *at);

/* ---- what several rules need when they judge ---- */

/* GPUs of all nodes. */
size_t judge_gpus(const struct judge *j);
/* Where the loop begins that rules are about: after its warm-up, or with its first step where all
 * of it is warm-up. */
wall_ns judge_loop_start(const struct judge *j);
double judge_counted_s(const struct judge *j); /* from there to the end of the loop */
double judge_loop_s(const struct judge *j);    /* with its warm-up */
double judge_job_s(const struct judge *j);
/* At least a second and 1 % of the job: less is never more than information, and to most rules no
 * finding. */
bool run_is_much(const struct run_facts *run, double seconds);
bool judge_is_much(const struct judge *j, double seconds);
/* "rank 3"; `rank` begins with a rank_head. */
const char *rank_entity(const struct judge *j, const void *rank);
/* "node1 gpu0"; `gpu` begins with a gpu_head. */
const char *judge_gpu_name(const struct judge *j, const struct judged_node *node, const void *gpu);

/* Of the verdicts by enum rule_id: the title of the first rule that found what slows the run down,
 * and more than a little; NULL: none did. Low use, and room for a larger batch, only show that
 * there is room. */
const char *held_back_by(const struct verdict *v);

/* "47.5 ms", in the judge's arena. */
const char *judge_time(const struct judge *j, double seconds);

/* ---- enough readings ---- */

/* Whether there is enough to judge, and the sentence for when there is not. */

/* Whether no node has `least` sweeps that count; then the verdict is "needs 1000 readings (500 s),
 * has 312", patience included where it applied, or "needs 20 readings of the training loop (10 s),
 * has 7" where what came before the loop does not count. */
bool judge_is_short(const struct judge *j, uint64_t least, struct verdict *out);
/* " (50 s of training)": how long taking so many readings lasts; "" where that is not known. */
const char *judge_time_of(const struct judge *j, uint64_t readings, bool training);

/* ---- numbers that hooks emit as "so far" ---- */

/* How fast one grew in the training loop: CPU times, context switches. The last readings are
 * stored, since the end of the loop is not known while they come. */

struct counted_reading {
    int64_t at_ns, value;
};

enum { COUNTED_LAST = 8 };

struct counted {
    uint64_t n;
    struct counted_reading first, last[COUNTED_LAST];
};

/* In order of time; those before `from` do not count. */
void counted_see(struct counted *c, wall_ns from, const struct rule_event *v);
/* NAN: there are no two readings a second apart, or it went backwards. */
double counted_per_s(const struct counted *c, wall_ns loop_end);

#endif
