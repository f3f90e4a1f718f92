/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_groups.h - what kind of work a kernel does, by its name: kernel_groups.def. */
#ifndef QUERY_KERNEL_GROUPS_H
#define QUERY_KERNEL_GROUPS_H

#include "record/event.h"

enum kernel_group {
    GROUP_MATMUL,
    GROUP_ATTENTION,
    GROUP_CONVOLUTION,
    GROUP_ELEMENTWISE,
    GROUP_REDUCTION,
    GROUP_OPTIMIZER,
    GROUP_COPY,
    GROUP_COMMUNICATION,
    GROUP_OTHER,
    GROUP_N
};

/* "matmul", ...; ends with NULL. */
extern const char *const kernel_group_names[];

/* Of an operation on a device, by its whole name, mangled or not. */
enum kernel_group kernel_group_of(const char *name, enum event_category c);

#endif
