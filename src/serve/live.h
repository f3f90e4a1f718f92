/* SPDX-License-Identifier: Apache-2.0 */
/* live.h - streams of server-sent events with the new data of runs. The route is api_live.
 *
 * One thread reads the runs that have clients, twice a second at most, and sends each client what
 * is new to it. A client that receives too slowly loses events and gets a fresh status instead; its
 * queue is bounded. */
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
