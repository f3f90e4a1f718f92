/* SPDX-License-Identifier: Apache-2.0 */
/* request.h - the path and the parameters of a request, decoded and checked.
 * Pure: bytes in, structs out. Texts live in the arena. */
#ifndef SERVE_REQUEST_H
#define SERVE_REQUEST_H

#include "serve/route.h"

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

/* ERR_USAGE says what is wrong with it. */
MUST_CHECK int request_parse(struct request *out, const char *uri, struct arena *a, struct err *e);
/* The parameters of a form or a query: "a=1&b=x+y". */
MUST_CHECK int request_parse_values(struct request *out, const char *text, struct arena *a,
                                    struct err *e);

/* The route with this path; `name` gets the word that stands for RUN. NULL: there is none, and
 * `*other_method` says whether there is one for another method. */
const struct route *request_route(const struct request *q, size_t skip, enum route_method m,
                                  const char **name, bool *other_method);
/* The values by the route's table: unknown, repeated or wrong ones are ERR_USAGE. */
MUST_CHECK int request_params(const struct request *q, const struct route *r, struct arena *a,
                              struct route_request *out, struct err *e);

#endif
