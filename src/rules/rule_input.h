/* SPDX-License-Identifier: Apache-2.0 */
/* rule_input.h - what rules are given of a run.
 *
 * A sweep is one reading of all metrics of one node. Sweeps come in batches of columns; steps come
 * rank by rank; events are those of the framework that rules want. All in order of time within a
 * node. Arrays belong to the caller. */
#ifndef RULES_RULE_INPUT_H
#define RULES_RULE_INPUT_H

#include "query/steps.h"
#include "record/event.h"
#include "run/run_ending.h"

#define NODE_SIGNAL(id, ...) SIG_##id,
enum node_signal {
#include "rules/signals.def"
    NODE_SIGNAL_N
};

#define GPU_SIGNAL(id, ...) GPU_SIG_##id,
enum gpu_signal {
#include "rules/signals.def"
    GPU_SIGNAL_N
};

enum { RULE_GPUS_MOST = 64 };

/* One sweep's values are NAN where nothing was read; a column is NULL when it never was. */
struct gpu_sweeps {
    const char *entity; /* "gpu0" */
    const float *v[GPU_SIGNAL_N];
};

struct sweeps {
    size_t n;
    const wall_ns *at;
    int64_t period_ns; /* that each of them covers */
    const float *v[NODE_SIGNAL_N];
    const struct gpu_sweeps *gpus; /* the same ones in the same order in all batches of a node */
    size_t n_gpus;
    struct shared *shared; /* see hist.h; NULL is fine */
};

/* An event with one of the ids of event_words, on its own or inside a step. */
struct rule_event {
    enum event_id id;
    wall_ns at;
    int64_t dur_ns; /* of a span, else 0 */
    int64_t value;
    int64_t rank;   /* -1: not known */
    int64_t worker; /* of a loader; -1: it is none */
    uint32_t pid;
};

/* Whether rules want events of this name. */
bool rules_want_event(enum event_id id);

struct rule_rank {
    int64_t rank, device; /* -1: not known */
    uint32_t pid;
    const struct gpu_phases *gpu; /* of the whole rank, for the time of the call; NULL: not known */
};

/* A program outside of the job that used the CPU while the node was busy. */
struct other_use {
    const char *name; /* "user:program"; ENTITY_NOT_VISIBLE */
    double cores;     /* mean of that time */
};

struct node_facts {
    const char *id;
    unsigned cores; /* 0: not known */
    size_t n_gpus;
    int64_t memory_bytes;           /* 0: not known */
    double price_per_hour;          /* NAN: not known */
    const char *currency;           /* of the price; NULL or "": not set */
    double hours;                   /* that it is paid for, all its sessions; 0: not known */
    const char *gpu;                /* what its driver calls the first one; NULL or "": not known */
    int64_t gpu_memory_bytes;       /* of one; 0: not known */
    const char *machine;            /* as the price table calls it; "": not known */
    const struct other_use *others; /* those that used most come first; NULL: not recorded */
    size_t n_others;
    wall_ns first;     /* of its first sweep */
    int64_t period_ns; /* at first */
};

/* What is known of the run as a whole when it is judged. */
struct run_facts {
    bool ended;
    bool interrupted; /* it was ended from outside: a signal, a notice, the user, a lost recorder */
    struct run_ending ending;
    bool has_steps;
    wall_ns job_start, job_end;   /* end: or now */
    wall_ns loop_start, loop_end; /* of the steps so far, when there are any */
    wall_ns steady_start;         /* the loop after its warm-up: where sweeps begin to count */
};

#endif
