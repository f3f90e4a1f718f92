/* SPDX-License-Identifier: Apache-2.0 */
/* footplate_internal.h - between the files of the importer of our own exports: a record as it
 * is in the input (import_footplate.c fills it), and what it becomes (footplate_records.c). */
#ifndef IMPORT_FOOTPLATE_INTERNAL_H
#define IMPORT_FOOTPLATE_INTERNAL_H

#include "import/import_out.h"
#include "import/importer.h"
#include "record/group.h"
#include "record/remake.h"

#define KEY(id, ...) F_##id,
enum footplate_key {
    F_NONE,
#include "import/footplate_keys.def"
    F_N
};
#undef KEY

_Static_assert(F_N <= 64, "one bit for each key");

/* SLOTS: of a group. What is beyond is counted. */
enum {
    FP_EVENTS = 1024,
    FP_TRACKS_MOST = 1 << 16,
    FP_SERIES_MOST = 1 << 20,
    FP_SLOTS_MOST = 1 << 14,
    FP_NODES_MOST = 1 << 12,
};

/* Texts are of the window. */
struct fp_record {
    uint64_t seen; /* which keys it has */
    struct json_item item[F_N];
    struct json_item only; /* a number under no key of ours: what a counter shows */
    bool has_only, args_cut;
    uint32_t args_len; /* arguments that are text, as lines */
    char args[EVENT_NAME_MOST];
};

struct fp_node {
    char id[IMPORT_NAME_LEN];
    unsigned session;
    wall_ns start;
    int64_t offset_ns; /* what its times are taken off by */
    struct sink *metrics;
};

struct fp_track {
    struct track track;
    struct sink *sink;
    int64_t offset_ns;
    bool given;
};

/* A series as it is stored from some time on. */
struct fp_stored_as {
    int64_t from;
    double step;
    uint32_t group;
    slot_id slot; /* SLOT_NONE until it is used */
    enum metric_id metric;
    char entity[ENTITY_LEN];
};

struct fp_series {
    struct fp_stored_as *v;
    uint32_t n, now;  /* now: the one that is in use */
    uint32_t slotted; /* 1 + index of the last one that was given a slot; 0: none */
};

struct fp_group {
    struct group group;
    uint32_t node;
};

struct footplate {
    const struct import_ask *ask;
    struct import_result *result;
    struct json_scan scan;
    struct json_keys keys;
    struct texts texts; /* names and arguments of events */
    struct texts names; /* of series and groups: the number is 1 + index */
    struct fp_record record;

    int64_t base_ns, lanes, version;
    bool ours; /* it declares that it is an export of ours */
    struct fp_node *nodes;
    uint32_t n_nodes;
    struct fp_track *tracks; /* by their number */
    uint32_t n_tracks;
    struct fp_series *series;
    uint32_t n_series;
    struct fp_group **groups; /* each stays where it is: sinks know them by their address */
    uint32_t n_groups;

    uint32_t row_group; /* 1 + index: whose row is open; 0: none */
    int64_t row_time;

    uint32_t batch_track;
    uint32_t n_batch;
    struct event batch[FP_EVENTS];
};

static inline bool fp_has(const struct footplate *f, enum footplate_key k)
{
    return f->record.seen >> k & 1;
}

/* ---- import_footplate.c ---- */

int64_t fp_int(const struct footplate *f, enum footplate_key k, int64_t otherwise);
/* Decoded, cut where it is too long; "" when it is not there. */
void fp_text(struct footplate *f, enum footplate_key k, char *to, size_t room);
bool fp_is(const struct footplate *f, enum footplate_key k, const char *text);
/* The index of the text in a list of names; `otherwise` when it is not one of them. */
unsigned fp_word(const struct footplate *f, enum footplate_key k, const char *const *names,
                 unsigned n, unsigned otherwise);

/* ---- footplate_records.c: the fields of a record, then samples ---- */

void fp_put_run(struct footplate *f, const struct json_text *about);
void fp_put_node(void *f);
void fp_put_track(void *f);
void fp_put_loss(void *f);
void fp_put_mark(void *f);
void fp_emit_event(void *f);      /* a line */
void fp_put_trace_event(void *f); /* an element of traceEvents */
void fp_flush_events(struct footplate *f);

void fp_put_series(void *f);
void fp_put_sample(void *f); /* a line */
void fp_flush_row(struct footplate *f);
void fp_rows_free(struct footplate *f);

#endif
