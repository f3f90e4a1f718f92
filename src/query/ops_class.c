/* SPDX-License-Identifier: Apache-2.0 */
/* ops_class.c - see ops_class.h. */
#include "query/ops_class.h"

enum role host_role(const struct event *v, unsigned sense)
{
    if (v->kind != EVENT_SPAN || sense & (NAME_STEP | NAME_MODULE))
        return ROLE_OTHER;
    switch (v->category) {
    case CAT_RUNTIME:
    case CAT_SYNC: /* a call that waits is a call */
        return ROLE_RUNTIME;
    case CAT_LOADER:
        return ROLE_LOADER;
    case CAT_COMM:
        return ROLE_COMM;
    case CAT_OP:
    case CAT_USER:
        return sense & NAME_LOADER ? ROLE_LOADER : sense & NAME_COMM_OP ? ROLE_COMM : ROLE_CPU;
    default:
        return ROLE_OTHER;
    }
}

enum role device_role(const struct event *v, unsigned sense)
{
    if (v->kind != EVENT_SPAN)
        return ROLE_OTHER;
    switch (v->category) {
    case CAT_MEMCPY:
        return ROLE_MEMCPY;
    case CAT_MEMSET:
        return ROLE_MEMSET;
    case CAT_COMM:
        return ROLE_COMM;
    case CAT_KERNEL:
        return sense & NAME_COMM_KERNEL ? ROLE_COMM
               : sense & NAME_MEMCPY    ? ROLE_MEMCPY
               : sense & NAME_MEMSET    ? ROLE_MEMSET
                                        : ROLE_KERNEL;
    default:
        return ROLE_OTHER;
    }
}

uint32_t track_device(const struct track *t)
{
    return (uint32_t)(t->id >> 32);
}

uint32_t track_stream(const struct track *t)
{
    return (uint32_t)t->id;
}
