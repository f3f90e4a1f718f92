/* SPDX-License-Identifier: Apache-2.0 */
/* live.h - runs as they go on: streams of server-sent events with what is new.
 *
 * One thread looks at the runs that somebody watches, twice a second at most, and hands each client
 * what it has not seen. A client that takes its events too slowly loses them and gets a fresh
 * status instead; what is kept for it never grows. */
#ifndef SERVE_LIVE_H
#define SERVE_LIVE_H

#include "serve/httpd.h"
#include "serve/route.h"

enum { LIVE_CLIENTS = 2000, LIVE_METRICS = 32 };

struct live;

MUST_CHECK int live_open(struct live **out, struct runs *runs, struct err *e);
size_t live_clients(struct live *l); /* NULL is fine for these three */
/* Ends all streams; none begins any more. */
void live_end(struct live *l);
/* After the last stream is done. */
void live_close(struct live *l);

#endif
