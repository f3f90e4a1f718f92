/* SPDX-License-Identifier: Apache-2.0 */
/* segment_events.h - the records of a tail that make events. The segment's own helper.
 * Each takes the record whose tag was just read; false when no writer writes that, and then it has
 * changed nothing. */
#ifndef STORE_SEGMENT_EVENTS_H
#define STORE_SEGMENT_EVENTS_H

#include "store/segment.h"

bool segment_feed_track(struct segment *s, struct cur *in);
bool segment_feed_text(struct segment *s, struct cur *in);
bool segment_feed_events(struct segment *s, struct cur *in);

#endif
