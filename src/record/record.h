/* SPDX-License-Identifier: Apache-2.0 */
/* record.h - the vocabulary: what a producer may record, and nothing else.
 *
 * A producer (probe, ring, importer) fills the cells of a `struct group` and commits them as one
 * row with the time of the reading. What it could not read stays CELL_MISSING, and a loss has the
 * reason. Everything goes through a `struct sink`; the producer cannot see what receives it (store,
 * test).
 */
#ifndef RECORD_RECORD_H
#define RECORD_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"

enum unit {
    UNIT_COUNT,
    UNIT_PERCENT,
    UNIT_BYTES,
    UNIT_BYTES_PER_SECOND,
    UNIT_PER_SECOND,
    UNIT_SECONDS,
    UNIT_WATT,
    UNIT_MEGAHERTZ,
    UNIT_CELSIUS,
    UNIT_BITS,
    UNIT_N,
};

enum metric_kind { KIND_GAUGE, KIND_RATE };

enum entity_kind {
    PER_NODE,
    PER_CORE,
    PER_DISK,
    PER_NIC,
    PER_PROCESS,
    PER_PROGRAM, /* "user:name", of all processes outside of the job */
    PER_JOB,
    PER_CGROUP,
    PER_GPU,
    PER_SELF,
};

#define METRIC(id, ...) M_##id,
enum metric_id {
#include "record/metrics.def"
    METRIC_N
};
#undef METRIC

#define LOSS(id, ...) LOSS_##id,
enum loss_id {
#include "record/losses.def"
    LOSS_N
};
#undef LOSS

#define MARK(id, ...) MARK_##id,
enum mark_id {
#include "record/marks.def"
    MARK_N
};
#undef MARK

struct metric {
    const char *name;
    enum unit unit;
    enum metric_kind kind;
    double count;
    double step;
    double hi;
    enum entity_kind per;
    const char *title;
};

struct word {
    const char *name;
    const char *help;
};

extern const struct metric metrics[METRIC_N];
struct mark_word {
    const char *name;
    const char *number; /* its label beside the text: "pid"; "": it need not be shown */
    const char *help;
};

extern const struct word losses[LOSS_N];
extern const struct mark_word marks[MARK_N];

const char *unit_name(enum unit u); /* "%", "B", "B/s", ... */
/* METRIC_N when there is no such metric. */
enum metric_id metric_find(const char *name);

/* Of others.cpu: what no process that can be seen used. */
#define ENTITY_NOT_VISIBLE "not_visible"

/* The whole-machine entity of a metric that also has parts ("cpu.util" of all cores). */
#define ENTITY_TOTAL "total"

enum { ENTITY_LEN = 64, TEXT_LEN = 160 };

/* What a loss is about: a metric, of one entity or of all, or a named part. A part
 * is a probe ("nvml_gpm"), a phase that a hook records ("data", of the entity "keras"), a file, an
 * action, or what else a run has ("events"). */
struct loss_subject {
    const char *entity; /* "gpu0", "keras"; NULL: none, or all of them */
    const char *part;   /* NULL: it is about the metric */
    enum metric_id metric;
};

#define LOST_PART(name) ((struct loss_subject){.part = (name)})
#define LOST_METRIC(id) ((struct loss_subject){.metric = (id)})

/* Made by loss_of and loss_from_text only. */
struct loss {
    enum loss_id id; /* the cause */
    uint64_t count;
    mono_ns at;
    enum metric_id metric; /* METRIC_N: it is about a part */
    char entity[ENTITY_LEN];
    char part[ENTITY_LEN];
    char why[TEXT_LEN]; /* the cause in words; "": the words of losses.def are enough */
};

/* Counts 1, at no time. */
struct loss loss_of(enum loss_id id, struct loss_subject of, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* A loss that is stored as text, as in run files and exports. `what` is as loss_what made it: the
 * only place that reads meaning out of such a text. */
struct loss loss_from_text(enum loss_id id, const char *what, const char *why);
/* "gpu0 gpu.energy", "keras data", "events": the text that is stored and printed. Returns `out`. */
const char *loss_what(const struct loss *l, char out[ENTITY_LEN]);
const char *loss_why(const struct loss *l);                  /* the cause in words, never "" */
bool loss_is_metric(const struct loss *l, enum metric_id m); /* of any entity */
bool loss_is_part(const struct loss *l, const char *part);   /* of no entity */

/* The same thing lost for the same cause; its words, counts and times aside. */
bool loss_same_subject(const struct loss *a, const struct loss *b);
bool loss_same(const struct loss *a, const struct loss *b); /* and in the same words */

struct mark {
    enum mark_id id;
    mono_ns at;
    int64_t number;
    char text[TEXT_LEN];
};

struct group;
struct sink;
struct track;
struct event;

struct sink_ops {
    /* The row of g's cells as read at t. The cells belong to the caller again afterwards. */
    void (*row)(struct sink *s, struct group *g, mono_ns t);
    void (*loss)(struct sink *s, const struct loss *l);
    void (*mark)(struct sink *s, const struct mark *m);
    /* Events of one track (event.h), in the order in which they ended; their texts are the
     * caller's. None of them: the name of the track has changed. */
    void (*events)(struct sink *s, const struct track *t, const struct event *v, size_t n);
};

/* Any thread may call; rows of one group come from one thread at a time. */
struct sink {
    const struct sink_ops *ops;
};

/* A sink before another one. A sink that handles some of the calls begins with it and uses these
 * functions for the rest. */
struct sink_pass {
    struct sink sink;
    struct sink *next;
};

void sink_pass_row(struct sink *s, struct group *g, mono_ns t);
void sink_pass_loss(struct sink *s, const struct loss *l);
void sink_pass_mark(struct sink *s, const struct mark *m);
void sink_pass_events(struct sink *s, const struct track *t, const struct event *v, size_t n);

/* printf-style shorthands. */
void sink_loss(struct sink *s, enum loss_id id, struct loss_subject of, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void sink_mark(struct sink *s, enum mark_id id, int64_t number, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

#endif
