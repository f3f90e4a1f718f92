/* SPDX-License-Identifier: Apache-2.0 */
/* sm_events.h - between the files of the importer of SageMaker's timelines: one event as it stands
 * there (sm_events_read.c fills it), and what it becomes (import_sm_events.c). */
#ifndef IMPORT_SM_EVENTS_H
#define IMPORT_SM_EVENTS_H

#include "import/import_out.h"

enum { SM_ARGS_MOST = 1024 };

/* Texts are of the window. INT64_MIN: the number is not there. */
struct sm_event {
    char ph;
    bool has_ts;
    int64_t ts_ns, dur_ns;
    int64_t lane, tid; /* "pid" at the top is the number of the lane */
    struct json_text name;

    /* Among the arguments. */
    int64_t pid, thread, step, worker, workers, pinned, bytes, base_us;
    struct json_text arg_name; /* what metadata calls a lane or thread */
    uint32_t args_len, long_texts;
    char args[SM_ARGS_MOST]; /* all but ids, as lines for people */
};

/* The keys that sm_event_read wants. */
void sm_event_keys(struct json_keys *keys);
/* Reads the members of the event that the scanner has just entered: JS_END, or a kind from JS_LOST
 * on. */
enum json_kind sm_event_read(struct json_scan *s, struct sm_event *v);

#endif
