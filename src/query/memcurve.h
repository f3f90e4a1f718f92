/* SPDX-License-Identifier: Apache-2.0 */
/* memcurve.h - how much memory was in use over time, by the allocator's counters.
 *
 * Where the allocator says what is in use (cuda.allocated, cpu.allocated) the curve is that, and
 * exact. Older profilers tell only allocations and releases: then it is their sum. What had been
 * allocated before the trace began is not known then, so the curve is raised until it never lies
 * below nothing, and is a lower bound. The peak is not taken from the curve where the allocator
 * counts it itself (cuda.peak). */
#ifndef QUERY_MEMCURVE_H
#define QUERY_MEMCURVE_H

#include "query/events.h"

enum { MEM_CPU = -1 }; /* the device of the host's own memory */

enum mem_what {
    MEM_CHANGE,   /* bytes more, or fewer when negative */
    MEM_TOTAL,    /* bytes in use from now on */
    MEM_RESERVED, /* bytes that the allocator holds from now on */
    MEM_PEAK,     /* most bytes that were ever in use until now, by the allocator's own count */
};

struct mem_event {
    int64_t at; /* wall ns */
    int64_t bytes;
    int64_t device; /* MEM_CPU or a device's number */
    enum mem_what what;
    size_t order; /* memcurve_build's own */
};

struct mem_point {
    int64_t at, bytes;
};

struct memcurve {
    int64_t device;
    bool exact;
    struct mem_point *points; /* in order of time */
    size_t n;
    /* The allocator's own peak where it reports one: readings once a second miss what lives for a
     * part of a step, which is most of it. Else the highest point. */
    bool allocator_peak;
    int64_t peak_bytes;
    int64_t peak_at;             /* when it was first read */
    int64_t highest_bytes;       /* of the points */
    int64_t reserved_peak_bytes; /* -1: not known */
};

/* What an event of CAT_MEMORY says; false when it is nothing of these, or of no known device. */
bool mem_event_of(const struct run_track *t, const struct run_event *x, struct mem_event *out);

/* One curve per device, the host first. `v` is sorted by device and time on the way; what happened
 * in one moment keeps its order. A device of which only reserved or peak bytes are known has no
 * curve. */
void memcurve_build(struct mem_event *v, size_t n, struct arena *a, struct memcurve **out,
                    size_t *n_out);

#endif
