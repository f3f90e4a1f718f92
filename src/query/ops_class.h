/* SPDX-License-Identifier: Apache-2.0 */
/* ops_class.h - what an event is for operators and breakdowns: by its category, and by its name
 * where the category leaves it open (a collective's kernel is a kernel like any other to the
 * profiler). All names with a meaning stand in one table. */
#ifndef QUERY_OPS_CLASS_H
#define QUERY_OPS_CLASS_H

#include "query/events.h"

/* What a name says; bits. */
enum name_sense {
    NAME_COMM_OP = 1,     /* on a thread: a collective */
    NAME_COMM_KERNEL = 2, /* on a device: a collective's kernel */
    NAME_MEMCPY = 4,      /* on a device */
    NAME_MEMSET = 8,      /* on a device */
    NAME_LOADER = 16,     /* on a thread: the next batch is awaited */
    NAME_MODULE = 32,     /* on a thread: a module of the model */
    NAME_STEP = 64,       /* a profiler's step, told as a plain span */
};

unsigned name_sense(const char *name);
/* Behind what makes a name that of a module. */
const char *name_of_module(const char *name);

/* Roles of time in a step, in order of priority; what is left is ROLE_OTHER. */
enum role {
    ROLE_KERNEL,
    ROLE_MEMCPY,
    ROLE_MEMSET,
    ROLE_COMM,
    ROLE_RUNTIME,
    ROLE_LOADER,
    ROLE_CPU,
    ROLE_OTHER,
    ROLE_N
};

/* `sense` is that of its name. ROLE_OTHER: it plays none. */
enum role host_role(const struct event *v, unsigned sense);
enum role device_role(const struct event *v, unsigned sense);

/* Of a device's track. */
uint32_t track_device(const struct track *t);
uint32_t track_stream(const struct track *t);

#endif
