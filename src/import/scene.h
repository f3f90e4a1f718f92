/* SPDX-License-Identifier: Apache-2.0 */
/* scene.h - a made-up run, written down as text: machines with their series, ranks with their
 * steps. docs/scenes.md describes the language.
 *
 * scene_parse is pure: text in, struct out; everything lives in the arena. A scene is evaluated
 * moment by moment (scene_value, scene_walk), so a day costs no more memory than a minute. All
 * times are nanoseconds since the scene's begin. */
#ifndef IMPORT_SCENE_H
#define IMPORT_SCENE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "record/event.h"

enum {
    SCENE_BYTES_MOST = 4 << 20,
    SCENE_NODES_MOST = 256,
    SCENE_RANKS_MOST = 4096,
    SCENE_SERIES_MOST = 1 << 16,
    SCENE_WAVE_MOST = 8,
    SCENE_WORKERS_MOST = 256,
};

/* Readings, steps and events that are made of a scene, at most. */
#define SCENE_SIZE_MOST 200000000.0

/* When all scenes begin: 2026-01-01 00:00:00 UTC. */
#define SCENE_START_NS (1767225600 * NS_PER_S)

struct scene_node {
    const char *id;
    unsigned cores, gpus;
    int64_t memory_bytes; /* 0: not given */
};

struct scene_level {
    double value;
    int64_t dur_ns; /* of a wave */
};

enum scene_shape {
    SCENE_FLAT, /* level[0] */
    SCENE_RAMP, /* from level[0] to level[1] */
    SCENE_WAVE, /* one level after the other, over and over */
    SCENE_NONE, /* nothing is read */
};

/* What a series does in a span of time. */
struct scene_range {
    int64_t from_ns, to_ns;
    enum scene_shape shape;
    struct scene_level level[SCENE_WAVE_MOST];
    size_t n_levels;
    double noise; /* either way at most, evenly spread */
};

struct scene_series {
    size_t node;
    enum metric_id metric;
    const char *entity;
    uint64_t key; /* of its noise */
    struct scene_range *ranges;
    size_t n, cap;
};

/* A part of a step, as a share of it or as a time. */
struct scene_part {
    enum event_id id;
    double share; /* NAN: dur_ns has it */
    int64_t dur_ns;
};

enum { SCENE_PARTS_MOST = 12, SCENE_EXTRAS_MOST = 8 };

/* Steps that differ: every n-th, or the one numbered `at`. What they take longer goes to `in`. */
struct scene_odd {
    int64_t every, at; /* one of them is 0 / -1 */
    int64_t dur_ns;
    enum event_id in; /* EV_N: no part */
};

/* What comes after every n-th step. */
struct scene_after {
    int64_t every;
    int64_t count;  /* steps of evaluation; 0: a checkpoint */
    int64_t dur_ns; /* of each */
    struct scene_part parts[SCENE_PARTS_MOST];
    size_t n_parts;
};

struct scene_steps {
    int64_t from_ns; /* -1: right after the steps before */
    int64_t count, dur_ns, pause_ns;
    int64_t batch; /* 0: not given */
    double jitter; /* share of the duration, either way */
    enum event_mode mode;
    struct scene_part parts[SCENE_PARTS_MOST];
    size_t n_parts;
    struct scene_odd odd[SCENE_EXTRAS_MOST];
    size_t n_odd;
    struct scene_after after[SCENE_EXTRAS_MOST];
    size_t n_after;
};

/* A separate span, mark or number. */
struct scene_event {
    enum event_kind kind;
    const char *name;
    int64_t at_ns, to_ns; /* to: of a span; INT64_MAX: it never ended */
    int64_t value;
};

/* Processes that load data for a rank. */
struct scene_workers {
    size_t count;
    int64_t fetch_ns, every_ns;
    int64_t from_ns, to_ns; /* to 0: as long as there are steps */
};

struct scene_rank {
    int64_t number;
    size_t node;
    int64_t device; /* -1: not given */
    struct scene_steps *steps;
    size_t n_steps, cap_steps;
    struct scene_event *events;
    size_t n_events, cap_events;
    struct scene_workers *workers;
    size_t n_workers, cap_workers;
};

/* A mark of a node (marks.def). */
struct scene_mark {
    size_t node;
    enum mark_id id;
    int64_t at_ns, number;
    const char *text;
};

/* For tests: "expect Rule state ..." and "set Rule.param=value", as they are there. */
struct scene_note {
    unsigned line;
    const char *kind; /* "expect" or "set" */
    const char *text;
};

struct scene {
    int64_t interval_ns;
    uint64_t seed;
    int64_t job_from_ns, job_to_ns; /* to 0: not given */
    int job_exit;
    bool no_job; /* its begin and end are not given */
    struct scene_node *nodes;
    size_t n_nodes, cap_nodes;
    struct scene_series *series;
    size_t n_series, cap_series;
    struct scene_rank *ranks;
    size_t n_ranks, cap_ranks;
    struct scene_mark *marks;
    size_t n_marks, cap_marks;
    struct scene_note *notes;
    size_t n_notes, cap_notes;
};

/* 100 when bytes begin as a scene does, else 0. */
int scene_sniff(const char *text, size_t n);
/* ERR_FORMAT or ERR_LIMIT with a sentence that names the line. */
MUST_CHECK int scene_parse(const char *text, size_t n, struct arena *a, struct scene *out,
                           struct err *e);
/* The end of everything that the scene describes, the job included. */
int64_t scene_end(const struct scene *s);

/* NAN: nothing is read then. */
double scene_value(const struct scene *s, const struct scene_series *x, int64_t t);

/* Something that a rank does, in order of time: a step, or a checkpoint between steps. */
struct scene_doing {
    bool is_step;
    int64_t start_ns, dur_ns;
    int64_t number; /* of the step, by mode */
    int64_t batch;
    enum event_mode mode;
    const struct scene_part *parts;
    size_t n_parts;
    const struct scene_odd *odd; /* NULL: it is like the others */
    int64_t usual_ns;            /* what parts are shares of */
};

struct scene_walk {
    const struct scene *scene;
    const struct scene_rank *rank;
    size_t block;
    int64_t done; /* steps of the block */
    size_t after; /* what comes after the step; its count that is done */
    int64_t after_done;
    int64_t at_ns;
    int64_t numbers[MODE_N];
};

void scene_walk_begin(struct scene_walk *w, const struct scene *s, const struct scene_rank *r);
bool scene_walk_next(struct scene_walk *w, struct scene_doing *out);

#endif
