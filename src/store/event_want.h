/* SPDX-License-Identifier: Apache-2.0 */
/* event_want.h - what the user of events looks at, so that the rest need not be decoded. */
#ifndef STORE_EVENT_WANT_H
#define STORE_EVENT_WANT_H

#include <stdbool.h>
#include <stdint.h>

/* Beside begin, duration, name and `what`, which always come. The rest may come as 0. */
struct event_want {
    bool value, link, parent;
    uint64_t args_of; /* events of these categories, as bits */
};

#define EVENT_WANT_ALL                                                                             \
    (struct event_want)                                                                            \
    {                                                                                              \
        .value = true, .link = true, .parent = true, .args_of = UINT64_MAX                         \
    }

#endif
