/* SPDX-License-Identifier: Apache-2.0 */
/* import_timeline.h - arrays of events like those of Chrome traces, as Horovod and SageMaker's
 * profiler write them: "pid" is no process but the number of a lane, times count from a base that
 * is in the first event, process and thread are among the arguments.
 *
 * timeline_run reads all of it: `put` is called for each event, `end` after the last one. */
#ifndef IMPORT_IMPORT_TIMELINE_H
#define IMPORT_IMPORT_TIMELINE_H

#include "import/import_out.h"

enum { TIMELINE_ARGS_MOST = 1024 };

/* Texts are of the window. INT64_MIN: the number is not there. */
struct import_timeline_event {
    char ph;
    bool has_ts;
    int64_t ts_ns, dur_ns;
    int64_t lane, tid; /* "pid" at the top is the number of the lane */
    struct json_text name;

    /* Among the arguments. */
    int64_t pid, thread, step, worker, workers, pinned, bytes, base_us;
    struct json_text arg_name; /* the name of a lane or thread in metadata */
    uint32_t args_len, long_texts;
    char args[TIMELINE_ARGS_MOST]; /* all but ids, as lines for people */
};

struct import_timeline {
    struct import_json json;
    struct import_timeline_event event;
    uint32_t pid; /* of the worker, from its name */
    bool has_base, warned;
    int64_t base_ns; /* wall time */
};

struct import_timeline_format {
    const char *name;    /* "Horovod timeline" */
    bool is_often_open;  /* the array is not closed as a rule */
    bool mono_otherwise; /* without a base the times are the monotonic clock */
    void (*put)(void *timeline);
    void (*end)(void *timeline); /* NULL: nothing is left to do */
};

/* The timeline is the first member of what `put` and `end` are given. */
MUST_CHECK int timeline_run(struct import_timeline *t, const struct import_timeline_format *f,
                            const struct import_ask *ask, struct import_result *out, struct err *e);
/* When the event was. False: it has no time, or an invalid one, which is counted. */
bool timeline_time(struct import_timeline *t, mono_ns *out);
/* The number in base_us becomes the base. */
void timeline_set_base(struct import_timeline *t);
/* The name of the event, stored in `out`. */
const char *timeline_name(struct import_timeline *t);

#endif
