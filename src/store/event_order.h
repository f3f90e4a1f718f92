/* SPDX-License-Identifier: Apache-2.0 */
/* event_order.h - events in order of their begin, the longer one first. */
#ifndef STORE_EVENT_ORDER_H
#define STORE_EVENT_ORDER_H

#include <stddef.h>
#include <stdint.h>

struct order_key {
    int64_t at, dur;
    uint32_t row; /* in the order of telling */
};

/* Of two that begin and end together the one told later contains the other, so it comes first;
 * moments stay as they were told. `spare` has room for n. Events come in the order of their ends,
 * which is nearly this one; that case costs few steps an event, any other n log n. */
void event_order(struct order_key *v, struct order_key *spare, size_t n);

#endif
