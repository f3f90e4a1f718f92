/* SPDX-License-Identifier: Apache-2.0 */
/* route.h - the routes of the API: one function and one line in routes.def each.
 *
 * A route does not deal with HTTP: it gets the request, decoded and checked, and fills a buffer.
 * Errors go through `struct err`; http_status_of maps them to a status. Routes are called by
 * several threads at once, but a run is never given to two at a time. */
#ifndef SERVE_ROUTE_H
#define SERVE_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "query/run.h"

struct runs;      /* runs.h: the folders that are followed, and the runs that are open */
struct live;      /* live.c: the streams of running runs */
struct exchange;  /* httpd.h: a request and its connection */
struct reply;     /* httpd.h */
struct row_table; /* base/row_table.h */
struct hub;       /* hub.h */

enum route_method { ROUTE_GET, ROUTE_POST };

enum route_flags {
    ROUTE_RUN = 1,     /* has RUN in its path: `run` is open */
    ROUTE_INFO = 2,    /* has RUN in its path, but only `info` is needed: `run` is NULL */
    ROUTE_CONTROL = 4, /* changes something: needs the right for it */
    ROUTE_SLOW = 16,   /* takes seconds for a large run: runs in its own thread */
    ROUTE_CACHE = 8,   /* same version and parameters, same answer: it is cached */
    ROUTE_FILES = 32,  /* of the files of a run, by `name`; `node` and `file` are set */
};

#define TYPE_JSON   "application/json"
#define TYPE_HTML   "text/html; charset=utf-8"
#define TYPE_STREAM "text/event-stream"
#define TYPE_BYTES  "application/octet-stream"

enum param_kind { PARAM_TEXT, PARAM_INT, PARAM_TIME, PARAM_FLAG };

/* A parameter of the query; one that is not in the route's table is refused. */
struct route_param {
    const char *name; /* NULL ends the table */
    enum param_kind kind;
    bool repeat;
    int64_t lo, hi;   /* of numbers; both 0: any */
    const char *help; /* for the description of the API */
};

struct route_value {
    const struct route_param *param;
    const char *text;
    int64_t number; /* of PARAM_INT, PARAM_TIME (ns) and PARAM_FLAG */
};

struct route_request {
    const struct route_value *values; /* in the order in which they came */
    size_t n_values;
    const char *body; /* of a POST; a NUL follows the last byte */
    size_t body_len;
    const char *name;            /* RUN; NULL: the route has none */
    const char *node, *file;     /* NODE and FILE; NULL: the route has none */
    struct run *run;             /* open, and this request's alone until it is answered */
    const struct run_info *info; /* of the run; NULL: the route has none */
    uint64_t version;            /* of the run's data: another one, other data */
    struct runs *runs;
    bool may_control;
    struct hub *hub;     /* NULL: the server receives no runs */
    const char *by;      /* of ROUTE_CONTROL: the name of the client's token; "": it has none */
    struct arena *arena; /* lives as long as the request */
    struct live *live;   /* for streams */
    struct exchange *exchange;
};

struct route_answer {
    int status; /* 200 unless the route sets another, also of an error */
    struct buf body;
    struct reply *stream;  /* instead of a body: a stream, or the bytes of a file; NULL: none */
    bool noise;            /* mostly bytes that hardly repeat, see base/gzip.h */
    const char *file_name; /* to save it under; NULL: to be shown */
    bool passing;          /* from older data, while a job computes the newer: not cached */
};

typedef int route_fn(const struct route_request *q, struct route_answer *out, struct err *e);

struct route {
    const char *id;
    enum route_method method;
    const char *path; /* below /api/v1; RUN is replaced by the name of a run, NODE by that of the
                         folder of a node, FILE by that of a file */
    route_fn *answer;
    unsigned flags;
    const struct route_param *params; /* NULL: none */
    const char *summary;              /* for the description of the API */
    const char *type;                 /* Content-Type of the answer */
    bool document;                    /* a page, which may run its own script */
    bool stream;
    const char *schema;              /* name of the answer in the description; NULL: no JSON */
    bool list;                       /* the answer is an array of rows */
    const struct row_table *rows[2]; /* the second is of lists; NULL: none */
    const struct row_table *body;    /* of a POST */
};

extern const struct route routes[];
extern const size_t n_routes;

#define ROUTE(id, ...)                                                                             \
    route_fn api_##id;                                                                             \
    extern const struct route_param api_##id##_params[];
#include "serve/routes.def"
#undef ROUTE

/* The status that an error means. */
int http_status_of(const struct err *e);

/* The first value of a parameter, or the value for "not given". */
const char *route_text(const struct route_request *q, const char *name); /* NULL: not given */
int64_t route_number(const struct route_request *q, const char *name, int64_t otherwise);
wall_ns route_time(const struct route_request *q, const char *name); /* 0: open */

/* ---- the path and the parameters of a request ----
 * Pure: bytes in, structs out. Texts live in the arena. */

enum {
    REQUEST_URI_MOST = 8 << 10,
    REQUEST_STEPS = 8,   /* words of a path */
    REQUEST_VALUES = 64, /* parameters of one request */
};

struct request_value {
    const char *name, *text;
};

struct request {
    const char *step[REQUEST_STEPS]; /* "/runs/a%20b" has "runs" and "a b"; "/" has none */
    size_t n_steps;
    struct request_value value[REQUEST_VALUES];
    size_t n_values;
};

/* ERR_USAGE with what is wrong with it. */
MUST_CHECK int request_parse(struct request *out, const char *uri, struct arena *a, struct err *e);
/* The parameters of a form or a query: "a=1&b=x+y". */
MUST_CHECK int request_parse_values(struct request *out, const char *text, struct arena *a,
                                    struct err *e);

/* The route with this path; `name` gets the word in place of RUN. NULL: there is none, and
 * `*other_method` is whether there is one for another method. */
const struct route *request_route(const struct request *q, size_t skip, enum route_method m,
                                  const char **name, bool *other_method);
/* The values by the route's table: unknown, repeated or wrong ones are ERR_USAGE. */
MUST_CHECK int request_params(const struct request *q, const struct route *r, struct arena *a,
                              struct route_request *out, struct err *e);

#endif
