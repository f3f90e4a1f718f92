/* SPDX-License-Identifier: Apache-2.0 */
/* remarks.h - sentences for the user, collected while a configuration is read. Bounded: what is
 * more is counted. Texts live in the arena. */
#ifndef CONFIG_REMARKS_H
#define CONFIG_REMARKS_H

#include <stddef.h>

#include "base/arena.h"

enum { REMARKS_MOST = 32 };

struct remarks {
    struct arena *arena;
    size_t n;
    size_t left_off; /* more of them */
    const char *v[REMARKS_MOST];
};

void remarks_add(struct remarks *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
