/* SPDX-License-Identifier: Apache-2.0 */
/* tensorflow.h - between the files of the importer of TensorFlow's and JAX's traces: what a line of
 * the trace is (tensorflow_lines.c), what its events are (tensorflow_names.c), and the phases of
 * training that marked operators show (tensorflow_phases.c). */
#ifndef IMPORT_TENSORFLOW_H
#define IMPORT_TENSORFLOW_H

#include <stdbool.h>

#include "record/event.h"

/* ---- lines ---- */

enum tf_line {
    TF_HOST,   /* a thread */
    TF_STREAM, /* what ran on a device */
    TF_STEPS,  /* steps as the profiler worked them out, one line for each device */
    TF_SHADOW, /* the same time as on streams, told in another way: it must not count twice */
};

/* From the names that the trace gives its process and its thread. */
enum tf_line tf_line_of(const struct track *t);
/* Makes it a track of process `pid`: threads keep their id, lines of devices become
 * TRACK_DEVICE. */
void tf_place(struct track *t, enum tf_line line, uint32_t pid);

/* ---- events ---- */

/* A step's number and what it is for, from a span of a thread. False: it is no step. */
bool tf_step_of(const struct event *v, int64_t *number, enum event_mode *mode);
enum event_category tf_host_category(const char *name);
/* Category, link and bytes of what ran on a stream. */
void tf_device_event(struct event *v);
/* Ties a call to what it launched. */
uint64_t tf_link_of(const struct event *v);

/* ---- phases ---- */

enum tf_phase { TF_FORWARD, TF_BACKWARD, TF_NO_PHASE };

/* What an operator's name is marked with. */
enum tf_phase tf_phase_of(const char *name);

struct tf_stretch {
    int64_t at, end;
    enum tf_phase phase;
};

/* Marked operators of all threads; zeroed: none. Bounded: beyond TF_STRETCHES_MOST they are
 * counted and not followed. */
enum { TF_STRETCHES_MOST = 1 << 18 };

struct tf_phases {
    struct tf_stretch *v;
    size_t n, cap;
    uint64_t dropped;
};

void tf_phases_add(struct tf_phases *p, enum tf_phase phase, const struct event *v);
/* Joins what lies between two changes of the phase: afterwards `v` is in order and does not
 * overlap. */
void tf_phases_join(struct tf_phases *p);
void tf_phases_free(struct tf_phases *p);

#endif
