/* SPDX-License-Identifier: Apache-2.0 */
/* kineto_internal.h - between the files of the Kineto importer: one event as it is in the trace
 * (import_kineto.c fills it), and what it becomes (kineto_events.c). */
#ifndef IMPORT_KINETO_INTERNAL_H
#define IMPORT_KINETO_INTERNAL_H

#include "import/import_out.h"

#define KEY(id, ...) K_##id,
enum kineto_key {
    K_NONE,
#include "import/kineto_keys.def"
    K_N
};
#undef KEY

enum {
    KINETO_ARGS_MOST = 1024,
    KINETO_SERIES_MOST = 16,
    KINETO_PROCESSES_MOST = 256,
    KINETO_ASYNC_MOST = 512
};

/* A pid or tid: a number, or a text. */
struct kineto_who {
    bool given, is_text;
    int64_t number;
    struct json_text text;
};

struct kineto_series {
    struct json_text key;
    double value;
};

/* Texts are of the window. INT64_MIN: the number is not there. */
struct kineto_event {
    uint32_t seen; /* which of the keys K_PH.. it has */
    char ph;
    bool has_ts;
    bool others; /* it has keys that are not used here */
    int64_t ts_ns, dur_ns;
    struct json_text cat, name;
    struct kineto_who pid, tid;
    uint64_t id, link, parent;
    int64_t bytes, device, stream;
    int64_t mem_bytes, mem_allocated, mem_reserved, mem_device_type, mem_device;
    uint64_t mem_address;
    /* Counted when it is put: it may be read twice. */
    uint32_t long_texts, duplicates, bad_escapes, bad_utf8;
    struct json_text arg_name; /* the name of a process or thread in metadata */
    uint32_t n_series;         /* numbers among the arguments; only for counters */
    uint32_t args_len;
    struct kineto_series series[KINETO_SERIES_MOST];
    char args[KINETO_ARGS_MOST];
};

enum kineto_near { NEAR_THREAD, NEAR_STREAM };

struct kineto_process {
    uint32_t pid;
    char name[TRACK_NAME_LEN];
};

/* One that is open, with all of its id; see kineto_events.c. */
struct kineto_async {
    uint32_t pid, cat; /* cat: a hash of its text */
    uint64_t id;
    uint32_t lane, depth, track;
};

/* What the phase of an event means for its span. */
enum kineto_how { KINETO_WHOLE, KINETO_BEGIN, KINETO_END, KINETO_MARK };

struct kineto {
    const struct import_ask *ask;
    struct import_result *result;
    struct import_out out;
    struct json_scan scan;
    struct json_keys keys, cats;
    bool has_events; /* the list of them was there */
    bool base_known; /* what times count from: read, looked for, or not needed */
    uint32_t host_pid;
    mono_ns first_host; /* time of the first event of the process */
    uint32_t host_track;
    struct kineto_event event;
    unsigned cat; /* of the event: its number in kineto_cats.def, from 1; 0: another */
    enum kineto_how how;
    bool in_args; /* of the event that is being read */
    struct kineto_process processes[KINETO_PROCESSES_MOST];
    uint32_t n_processes;
    struct kineto_async async[KINETO_ASYNC_MOST];
    uint32_t n_async;
    struct { /* the last one looked up, by enum kineto_near */
        int64_t pid, tid;
        uint32_t track;
        bool good;
    } near[2];
};

/* Reads the members of the object that was just entered into k->event: JS_END, or a kind from
 * JS_LOST on. As json_elements takes it. */
enum json_kind kineto_read(void *kineto);
/* Hands k->event over as events of a run. As json_elements takes it. */
void kineto_put(void *kineto);
/* Of a device as a whole. */
#define KINETO_NO_STREAM UINT32_MAX

/* What times count from, which is found once. */
void kineto_set_base(struct kineto *k, int64_t base_ns);
/* Names and facts that are known only now. */
void kineto_put_rest(struct kineto *k);
void kineto_keys_init(struct json_keys *keys);
void kineto_cats_init(struct json_keys *cats);

#endif
