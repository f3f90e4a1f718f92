/* SPDX-License-Identifier: Apache-2.0 */
/* server_internal.h - shared by server.c, server_api.c, ingest.c and live.c. */
#ifndef SERVE_SERVER_INTERNAL_H
#define SERVE_SERVER_INTERNAL_H

#include "serve/httpd.h"
#include "serve/rights.h"
#include "serve/route.h"
#include "serve/runs.h"
#include "serve/server.h"
#include "serve/sockets.h"
#include "serve/work.h"

enum {
    WORKERS_LEAST = 2,
    WORKERS_MOST = 8,
    INGEST_WORKERS = 3,
    PEM_MOST = 1 << 20,
    COOKIE_NAME = 32,
};

struct hub;

/* ---- live.c: streams of server-sent events with the new data of runs; the route is api_live ----
 *
 * One thread reads the runs that have clients, twice a second at most, and sends each client what
 * is new to it. A client that receives too slowly loses events and gets a fresh status instead; its
 * queue is bounded. */

enum { LIVE_CLIENTS = 2000, LIVE_METRICS = 32 };

struct live;

MUST_CHECK int live_open(struct live **out, struct runs *runs, struct err *e);
size_t live_clients(struct live *l); /* NULL is fine for these three */
/* Ends all streams; none begins any more. */
void live_end(struct live *l);
/* After the last stream is done. */
void live_close(struct live *l);

/* ---- the server ---- */

struct server {
    struct arena arena; /* of the options */
    struct listen_place place;
    bool tls;
    const char **hosts;
    size_t n_hosts;
    char cookie[COOKIE_NAME]; /* its name has the port in it: cookies do not know ports */
    struct rights *rights;
    const char *token_file; /* NULL: none */
    struct runs *runs;
    struct work *work;
    struct work *slow; /* for ROUTE_SLOW, one after the other */
    struct live *live;
    struct hub *hub;     /* NULL: it receives no runs */
    struct work *ingest; /* for what is received */
    struct httpd *httpd;
    struct reply **assets,
        **assets_plain; /* by the table of assets.h; plain: for clients without gzip */
};

/* A request on its way, and the right of its client. */
struct visit {
    struct server *server;
    struct exchange *x;
    struct arena arena;
    struct request request;
    enum right right;
};

/* {"error": ...} with the status. */
struct reply *reply_error(int status, const char *text);
struct reply *reply_of_err(const struct err *e);
/* For what is refused before it is parsed: 413, 429, 503 or 507. */
struct reply *reply_refused(int status);
bool accepts_gzip(const struct exchange *x);

bool has_json_body(const struct exchange *x);
/* The name of the client's token, in the arena of the visit; "": it has none. */
const char *server_client_name(struct visit *v);

/* Answers a request to the API, now or from another thread. May take the visit's arena over. */
void serve_api(struct visit *v);

#endif
