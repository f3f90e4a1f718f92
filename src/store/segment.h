/* SPDX-License-Identifier: Apache-2.0 */
/* segment.h - the contents of a tail, sorted into groups and series, tracks and texts.
 *
 * segment_feed takes the payloads of a tail's frames in order. Cells stay as the few bytes they
 * were in the tail, one stream per series, and become numbers one series at a time
 * (segment_decode), so a segment costs little more memory than its tail. Events likewise. Used by
 * the writer when it seals and by the reader for a tail that is not sealed. The bytes are checked,
 * never trusted. */
#ifndef STORE_SEGMENT_H
#define STORE_SEGMENT_H

#include "base/arena.h"
#include "base/buf.h"
#include "store/codec.h"
#include "store/format.h"

struct seg_series {
    const char *metric, *unit, *entity;
    double step;
    uint32_t first_row; /* in its group */
    uint32_t span;      /* rows since then that have a cell */
    uint32_t gaps;      /* of them missing */
    struct buf cells;
    uint64_t before; /* the value that the first of them is a difference to */
};

#define SEG_NONE UINT32_MAX

struct seg_group {
    const char *name;
    int64_t period_ns, t_first_us, t_prev_us;
    struct buf offs; /* of each row but the first: how far from a period after the one before, us */
    uint32_t rows;
    uint32_t *slots; /* the series in each; SEG_NONE: not in use */
    uint32_t n_slots;
    uint32_t *order; /* series in use, by slot; made anew when slots changed */
    uint32_t n_order;
    bool order_stale;
    uint32_t *series; /* all series of the group, by number in the segment */
    uint32_t n_series, cap_series;
};

struct seg_text {
    const char *text;
    uint32_t len;
    uint16_t what; /* of the events that it names, unless they have another */
};

struct seg_track {
    uint8_t kind;
    uint32_t pid;
    uint64_t id;
    const char *process, *name;
    struct buf events; /* as they are in the tail */
    uint32_t rows;
    uint32_t open;              /* of them, recorded as open */
    struct bare_event *carried; /* of them, those from before segment_cut: they come first */
    uint32_t n_carried;
    uint64_t before; /* end of the event before those in `events`, ns */
    uint64_t end;    /* of its last event */
    int64_t last;    /* the latest end of any */
};

struct segment {
    bool listed; /* events are in the order of a trace file, see order_key */
    struct arena names;
    struct seg_group *groups;
    uint32_t n_groups, cap_groups;
    struct seg_series *series;
    uint32_t n_series, cap_series;
    uint32_t n_slots; /* over all groups */
    struct buf log;   /* loss, mark and tie records as they are in the tail */
    uint64_t samples;
    struct seg_track *tracks;
    uint32_t n_tracks, cap_tracks;
    struct seg_text *texts;
    uint32_t n_texts, cap_texts;
};

/* False when the payload is not what a writer writes; what came before it stays. */
bool segment_feed(struct segment *s, const uint8_t *p, size_t n);
void segment_free(struct segment *s);
/* Rows, records and events go, except those of seg_track.carried. What later frames refer to
 * stays. */
void segment_cut(struct segment *s);

/* The times of all rows, us. */
void segment_times(const struct seg_group *g, int64_t *out);

/* The series' values without the gaps, and the lengths of value runs and gaps in turn (runs empty
 * when there is no gap). `values` needs span entries, `runs` grows. Returns the number of values.
 */
uint32_t segment_decode(const struct seg_series *s, int64_t *values, struct buf *runs);

/* The events of a track, one after the other. */
struct event_cur {
    struct cur in;
    uint64_t end; /* of the event before */
    const struct bare_event *carried;
    uint32_t n_carried; /* that are left of them */
};

static inline struct event_cur segment_events(const struct seg_track *t)
{
    return (struct event_cur){cur_of(t->events.p, t->events.len), t->before, t->carried,
                              t->n_carried};
}

/* The next event; false when there is none, or it is not what a writer writes. */
bool segment_event(const struct segment *s, struct event_cur *c, struct bare_event *out);

/* The frames of a tail file after its header. Calls segment_feed for each whole frame with a right
 * checksum until it has read `most` bytes or more, and returns the length of what was read; `*torn`
 * when it ended before, and bytes are left over. */
size_t segment_read_frames(struct segment *s, const uint8_t *p, size_t n, size_t most,
                           uint64_t number, bool *torn);

/* ---- sealing: a segment becomes the blocks that store it permanently ---- */

struct seal_out {
    /* One whole block; a failure ends the sealing with it. */
    int (*block)(void *ctx, const struct block_header *h, const struct buf *bytes, struct err *e);
    void *ctx;
};

/* A writer stores events that have an end; a reader shows open ones, too. */
enum seal_use { SEAL_TO_KEEP, SEAL_TO_SHOW };

/* A rows block for each group that has rows, events blocks for each track that has events, then a
 * log block that is flagged as the last. */
MUST_CHECK int seal_segment(struct codec *c, const struct segment *s, uint32_t number,
                            enum seal_use use, const struct seal_out *out, struct err *e);
/* After it was sealed to be stored, and more of the same tail will be fed: only events whose end
 * was not recorded yet stay. */
void seal_cut(struct segment *s);

#endif
