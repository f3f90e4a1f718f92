/* SPDX-License-Identifier: Apache-2.0 */
/* group.h - series that are read together, one row at a time.
 *
 * A probe opens a group, adds a slot per series, then for every reading sets cells and commits.
 * Slots may be added and dropped between rows (processes come and go); a dropped slot's number is
 * used again. Values are stored in whole steps: value = cell x slot.step. */
#ifndef RECORD_GROUP_H
#define RECORD_GROUP_H

#include "record/record.h"

#define CELL_MISSING INT64_MIN

enum { GROUP_NAME_LEN = 24 };

typedef uint32_t slot_id;
#define SLOT_NONE UINT32_MAX

struct slot {
    bool used;
    uint32_t born; /* generation of the group in which it was added */
    enum metric_id metric;
    unsigned parts; /* sources that it is the mean of */
    double step;    /* what one unit of the cell is worth, in the metric's unit */
    bool own_step;  /* the step was requested, whatever the period is */
    char entity[ENTITY_LEN];
};

/* How counts become cells. Apart from the slots, so that a reading touches few cache lines: 100 ms
 * after the last one they are all cold. */
struct slot_scale {
    double cells; /* per count of a gauge; per count and nanosecond of a rate */
    double most;  /* the largest cell; values above are clamped to it */
};

struct group {
    char name[GROUP_NAME_LEN];
    int64_t period_ns;   /* the nominal time between rows */
    uint32_t generation; /* grows whenever slots or the period change */
    uint32_t n, cap;
    struct slot *slots;
    struct slot_scale *scales;
    int64_t *cells;
    void *sink_data; /* the sink's own, NULL at first; cleared by group_close */
};

void group_open(struct group *g, const char *name, int64_t period_ns);
void group_close(struct group *g); /* frees its memory; a zeroed one is fine */
slot_id group_add(struct group *g, enum metric_id m, const char *entity);
/* A series that is the mean of `parts` sources (all cores): its step is that much finer. */
slot_id group_add_mean(struct group *g, enum metric_id m, const char *entity, unsigned parts);
/* A series whose readings are finer than its metric's own step. */
slot_id group_add_step(struct group *g, enum metric_id m, const char *entity, double step);
void group_drop(struct group *g, slot_id s);
/* A new nominal period: the steps of rates change with it. */
void group_set_period(struct group *g, int64_t period_ns);

/* A gauge in counts of its source (metrics.def: count), rounded to the step and clamped. */
void group_gauge(struct group *g, slot_id s, double counts);
/* Growth of a counter, `delta` counts over `dt_ns`. Nothing is set when dt_ns is not positive. */
void group_rate(struct group *g, slot_id s, double delta, int64_t dt_ns);

/* Hands the row to the sink and sets all cells to missing. A row with no value is not sent. */
void group_commit(struct group *g, struct sink *s, mono_ns t);

/* A counter as it was last read. */
struct counter {
    uint64_t last;
    mono_ns at;
    bool known;
};

enum counter_step {
    COUNTER_FIRST, /* nothing to compare with yet */
    COUNTER_OK,
    COUNTER_RESET, /* it went backwards: growth unknown */
};

/* Compares a counter with its last reading, stores this one, and puts the rate into slot s when
 * there is one. `bits` is the counter's width (32 or 64): a 32-bit one that went back by more than
 * half its range has wrapped, and its growth is known. */
enum counter_step group_counter(struct group *g, slot_id s, struct counter *c, uint64_t now,
                                unsigned bits, mono_ns t);

#endif
