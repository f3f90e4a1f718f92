/* SPDX-License-Identifier: Apache-2.0 */
/* ops_class.h - what an event is for operators and breakdowns: by its category, and by its name
 * where the category leaves it open (record/event.h). */
#ifndef QUERY_OPS_CLASS_H
#define QUERY_OPS_CLASS_H

#include "query/events.h"
#include "record/event.h"

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
