/* SPDX-License-Identifier: Apache-2.0 */
/* event_order.h - events in order of their begin, the longer one first. */
#ifndef STORE_EVENT_ORDER_H
#define STORE_EVENT_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct order_key {
    int64_t at, dur;
    uint32_t row; /* in the order of telling */
    uint32_t tie; /* of those that begin and end together the least comes first */
};

/* A recorder is told spans when they end: of two that begin and end together the one told later
 * contains the other. A file has what contains another in front of it (`listed`), as viewers take
 * it and as exports are written. Moments stay as they were told. */
static inline struct order_key order_key(int64_t at, int64_t dur, uint32_t row, bool listed)
{
    return (struct order_key){at, dur, row, dur > 0 && !listed ? UINT32_MAX - row : row};
}

/* `spare` has room for n. Events come in the order of their ends, which is nearly this one; that
 * case costs few steps an event, any other n log n. */
void event_order(struct order_key *v, struct order_key *spare, size_t n);

#endif
