/* SPDX-License-Identifier: Apache-2.0 */
/* lttng_peer.h - the tracepoint of lttng_peer.c; LTTng includes it several times. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER footplate_peer

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./lttng_peer.h"

#if !defined(LTTNG_PEER_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define LTTNG_PEER_H

#include <lttng/tracepoint.h>

/* As much as one of our events carries besides its time. */
LTTNG_UST_TRACEPOINT_EVENT(footplate_peer, event,
                           LTTNG_UST_TP_ARGS(unsigned, name, unsigned, what, unsigned long, value),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(unsigned, name, name)
                                                   lttng_ust_field_integer(unsigned, what, what)
                                                       lttng_ust_field_integer(unsigned long, value,
                                                                               value)))
#endif

#include <lttng/tracepoint-event.h>
