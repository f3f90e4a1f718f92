/* SPDX-License-Identifier: Apache-2.0 */
/* breakdown.h - where the time of steps and devices went; docs/breakdowns.md has the definitions.
 *
 * breakdown_open, then for each process breakdown_process, its tracks (threads before devices) and
 * breakdown_process_end, then breakdown_result; or breakdown_read, which does all that for a run. A
 * track is breakdown_track_begin, any number of breakdown_events, breakdown_track_end.
 * Times are wall ns, amounts of time ns. */
#ifndef QUERY_BREAKDOWN_H
#define QUERY_BREAKDOWN_H

#include "query/events.h"
#include "query/trace.h"

/* ---- memory in use over time ----
 *
 * Where the allocator reports what is in use (cuda.allocated, cpu.allocated) the curve is that, and
 * exact. Older profilers record only allocations and releases: then it is their sum. What had been
 * allocated before the trace began is not known then, so the curve is raised until it never lies
 * below nothing, and is a lower bound. The peak is not taken from the curve where the allocator
 * counts it itself (cuda.peak). */

enum { MEM_CPU = -1 }; /* the device of the host's own memory */

enum mem_what {
    MEM_CHANGE,   /* bytes more, or fewer when negative */
    MEM_TOTAL,    /* bytes in use from now on */
    MEM_RESERVED, /* bytes that the allocator has reserved from now on */
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
    /* The allocator's own peak where it reports one: readings once a second miss what exists for a
     * part of a step, which is most of it. Else the highest point. */
    bool allocator_peak;
    int64_t peak_bytes;
    int64_t peak_at;             /* when it was first read */
    int64_t highest_bytes;       /* of the points */
    int64_t reserved_peak_bytes; /* -1: not known */
};

/* An event of CAT_MEMORY; false when it is none of these, or of no known device. */
bool mem_event_of(const struct run_track *t, const struct run_event *x, struct mem_event *out);

/* One curve per device, the host first. `v` is sorted by device and time on the way; entries with
 * equal times stay in their order. A device of which only reserved or peak bytes are known has no
 * curve. */
void memcurve_build(struct mem_event *v, size_t n, struct arena *a, struct memcurve **out,
                    size_t *n_out);

/* ---- rows ---- */

/* Whose numbers they are. */
struct breakdown_of {
    const char *node;
    int64_t rank; /* -1: not known */
    uint32_t pid;
};

struct step_row {
    struct breakdown_of of;
    int64_t step;
    int64_t begin, end;
    int64_t role_ns[ROLE_N]; /* they add up to end - begin */
    uint64_t device_ops;     /* launched inside the step */
    enum role critical;      /* the one that takes most of it */
};

struct device_row {
    struct breakdown_of of;
    uint32_t device;
    /* First begin on any of its streams, and so much later as was recorded until the last end: what
     * lies between two windows is left out. */
    int64_t begin, end;
    int64_t idle_ns, busy_ns, compute_ns, non_compute_ns;
    int64_t comm_ns, comm_overlap_ns; /* overlap: while computing */
    int64_t computation_ns, exposed_comm_ns, exposed_memcpy_ns;
};

/* One stream: why it was idle between two operations, and how it was fed. */
struct stream_row {
    struct breakdown_of of;
    uint32_t device, stream;
    uint64_t ops;
    int64_t host_wait_ns;   /* the next launch came after the end of the one before */
    int64_t kernel_wait_ns; /* gaps below 30 ns: the device's own pace */
    int64_t other_wait_ns;
    uint64_t launches;  /* operations whose launch is known; what follows is of these */
    uint64_t short_ops; /* shorter than the call that launched them */
    int64_t delay_p50_ns, delay_mean_ns, delay_max_ns; /* end of the call to begin on the device */
    double queue_mean;                                 /* launched and not yet begun */
    uint64_t queue_max;
};

/* Operations of one kind on the devices of a process, the kind that takes most time first; those
 * that overlap count each. */
struct group_row {
    struct breakdown_of of;
    enum kernel_group group;
    uint64_t ops;
    int64_t ns;
    double share; /* of all groups of the process */
};

struct memory_row {
    struct breakdown_of of;
    struct memcurve curve;
    int64_t peak_step; /* the step at whose time the peak was first read; -1: not known */
};

/* What recording a window cost (detail.h), and how idle the device was with and without it. */
struct window_row {
    struct breakdown_of of;
    int64_t begin, end; /* known to the microsecond */
    int64_t first_step; /* -1: not known */
    uint64_t n_steps;
    double step_s, usual_step_s, stall_s; /* NAN: not known */
    double busy_s;           /* a step's time with any operation on a device; NAN: not known */
    double idle_share;       /* of the recorded steps */
    double usual_idle_share; /* of usual steps, if their operations take as long */
};

struct breakdown {
    struct step_row *steps;
    struct device_row *devices;
    struct stream_row *streams;
    struct group_row *groups;
    struct memory_row *memory;
    struct window_row *windows;
    size_t n_steps, n_devices, n_streams, n_groups, n_memory, n_windows;
    size_t dropped_steps; /* at the end: their device operations were not all seen */
    size_t earlier_steps; /* left out because only the last ones were wanted */
};

struct breaking;

struct breaking *breakdown_open(void);
void breakdown_close(struct breaking *b); /* NULL is fine */
/* The functions of a trace_sink; what they get is a struct breaking. */
void breakdown_process(void *breaking, const struct run_process *p);
/* The track stays until its end, and the texts of its events. */
void breakdown_track_begin(void *breaking, const struct run_track *t);
/* Sorted by begin, the longer one first. */
void breakdown_events(void *breaking, const struct run_event *v, size_t n);
void breakdown_track_end(void *breaking);
void breakdown_process_end(void *breaking);
/* In the order of processes; rows live in the arena. Once, at the end. */
void breakdown_result(struct breaking *b, struct arena *a, struct breakdown *out);

MUST_CHECK int breakdown_read(struct run *r, const struct trace_ask *ask, struct arena *a,
                              struct breakdown *out, struct err *e);

/* Whether operators or device operations were recorded; else only memory is known. */
bool breakdown_has_detail(const struct breakdown *b);
/* What a window's recording cost, in one or two sentences; NULL: not known. */
const char *window_sentence(const struct window_row *w, struct arena *a);

/* One sentence: "step 12: 61 % of the step waits for the loader". */
const char *step_sentence(const struct step_row *s, struct arena *a);
/* "kernel", "dataloader": as in the names of the columns. */
const char *role_name(enum role r);

#endif
