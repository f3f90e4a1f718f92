/* SPDX-License-Identifier: Apache-2.0 */
/* event.h - what the framework did: spans, steps, moments and numbers, each on a track.
 *
 * A track is one line of a timeline: a thread of a process, or a lane of a device. Producers (ring,
 * importers) hand events of a track to the sink, each with its name as text; the store has every
 * text once. Spans of a track nest. */
#ifndef RECORD_EVENT_H
#define RECORD_EVENT_H

#include "record/record.h"

enum event_kind {
    EVENT_SPAN = 1, /* from `at` for `dur_ns` */
    EVENT_STEP,     /* the same; the value is the step's number */
    EVENT_MARK,     /* a moment */
    EVENT_COUNT,    /* a whole number at a moment */
    EVENT_REAL,     /* a number at a moment: the value is the bits of a double */
    EVENT_KIND_N
};

/* What a step is for. */
enum event_mode { MODE_TRAIN, MODE_EVAL, MODE_PREDICT, MODE_N };

/* How sure the end is. */
enum event_end {
    END_KNOWN,
    END_CUT,  /* it never came: the process ended first; dur_ns reaches to its last event
               */
    END_OPEN, /* it has not come yet. Stored only until the end is known or the run is read: an
               * event of the same track, kind, name and time with another end takes its place */
};

/* Where a span comes from; what a breakdown sorts by. */
#define CATEGORY(id, ...) CAT_##id,
enum event_category {
#include "record/categories.def"
    CAT_N
};
#undef CATEGORY

enum track_kind {
    TRACK_THREAD,
    TRACK_DEVICE,
    TRACK_HEALTH, /* a statistic of training health; see below. Not a line of a timeline */
};

extern const char *const track_kind_names[]; /* "thread", "device", "health", NULL */

enum { TRACK_NAME_LEN = 64, EVENT_NAME_MOST = 4096 };

struct track {
    enum track_kind kind;
    uint32_t pid;                 /* as the machine sees it; of the process that emitted it */
    uint64_t id;                  /* thread id, device and stream, or enum health_id */
    char process[TRACK_NAME_LEN]; /* "python train.py" */
    char name[TRACK_NAME_LEN];    /* "gpu0", "stream 7", the thread's name; may be "" */
};

bool track_same(const struct track *a, const struct track *b); /* kind, pid and id */
uint32_t track_hash(const struct track *t);                    /* of what track_same compares */
/* Takes over the names that are not empty; whether any of them is another now. */
bool track_rename(struct track *t, const char *process, const char *name);

/* A zeroed one with kind, at and name is whole. */
struct event {
    mono_ns at;
    int64_t dur_ns;
    int64_t value; /* by kind; of a span: the number of its category (bytes of a copy), else 0 */
    const char *name;
    const char *args; /* "key=value" lines for people; NULL: none */
    uint64_t link;    /* ties a launch to what it launched (correlation id); 0: none */
    uint64_t parent;  /* ties it to the operator that caused it (external id); 0: none */
    enum event_kind kind;
    enum event_mode mode;
    enum event_end end;
    enum event_category category;
};

double event_real(const struct event *v); /* of EVENT_REAL */

/* By their enums; all end with NULL. No kind is 0, whose name is "". */
extern const char *const event_kind_names[EVENT_KIND_N + 1]; /* "span", "step", ... */
extern const char *const event_mode_names[MODE_N + 1];       /* "train", ... */
extern const char *const event_end_names[END_OPEN + 2];      /* "known", ... */

/* Names that mean something to what follows; others are the program's. */
#define EVENT(id, ...) EV_##id,
enum event_id {
#include "record/events.def"
    EV_N
};

/* Parts of a step, in the order in which they are shown. */
#define STEP_PART(id, name) STEP_PART_##id,
enum step_part {
#include "record/events.def"
    STEP_PART_OTHER,
    STEP_PART_NONE = 255,
};

struct event_word {
    const char *name;
    enum event_category category;
    enum step_part part; /* of a step, that its time counts for */
    const char *help;
};

extern const struct event_word event_words[EV_N];
extern const char *const step_part_names[STEP_PART_OTHER + 1]; /* the last is "other" */
extern const struct word category_words[CAT_N];

/* EV_N when the name is none of them. "comm.x" is EV_COMM for every x. */
enum event_id event_find(const char *name);

/* ---- training health ----
 *
 * Statistics are events on separate tracks, one track per process and statistic: `name` is that
 * of the scalar, parameter or module, the kind is EVENT_REAL or EVENT_COUNT, `mode` that of the
 * step, `link` the step's number + 1 (0: of no step), `at` when it was measured. All values of one
 * sample have the same time. */

#define HEALTH(id, ...) HEALTH_##id,
enum health_id {
#include "record/health.def"
    HEALTH_N
};
#undef HEALTH

enum health_subject { HEALTH_OF_SCALAR, HEALTH_OF_PARAMETER, HEALTH_OF_MODULE };
enum health_merge { HEALTH_MERGE_MAX, HEALTH_MERGE_MIN, HEALTH_MERGE_MEAN, HEALTH_MERGE_LAST };

struct health_word {
    const char *name;
    enum event_kind kind; /* EVENT_REAL or EVENT_COUNT */
    enum health_subject subject;
    enum health_merge merge;
    const char *unit, *help;
};

extern const struct health_word health_words[HEALTH_N];
extern const char *const health_subject_names[]; /* "scalar", "parameter", "module", NULL */

enum health_id health_find(const char *name); /* HEALTH_N: there is none */
double health_number(const struct event *v);  /* of either kind */

/* ---- names of a framework's profiler ----
 *
 * What they mean where their category leaves it open: a collective's kernel is a kernel like any
 * other to the profiler. All names with a meaning are in one table. */

enum name_sense {                       /* bits */
                  NAME_COMM_OP = 1,     /* on a thread: a collective */
                  NAME_COMM_KERNEL = 2, /* on a device: a collective's kernel */
                  NAME_MEMCPY = 4,      /* on a device */
                  NAME_MEMSET = 8,      /* on a device */
                  NAME_LOADER = 16,     /* on a thread: the next batch is awaited */
                  NAME_MODULE = 32,     /* on a thread: a module of the model */
                  NAME_STEP = 64,       /* a profiler's step, given as a plain span */
};

unsigned name_sense(const char *name);
/* After what makes a name that of a module; the name itself when it is not one. */
const char *name_of_module(const char *name);
/* After what makes a name that of a step: its number, as text. */
const char *name_of_step(const char *name);

#endif
