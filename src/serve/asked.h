/* SPDX-License-Identifier: Apache-2.0 */
/* asked.h - what a request line asks for: its path and its parameters, decoded and checked.
 * Pure: bytes in, structs out. Texts live in the arena. */
#ifndef SERVE_ASKED_H
#define SERVE_ASKED_H

#include "serve/route.h"

enum {
    ASKED_URI_MOST = 8 << 10,
    ASKED_STEPS = 8,   /* words of a path */
    ASKED_VALUES = 64, /* parameters of one request */
};

struct asked_value {
    const char *name, *text;
};

struct asked {
    const char *step[ASKED_STEPS]; /* "/runs/a%20b" has "runs" and "a b"; "/" has none */
    size_t n_steps;
    struct asked_value value[ASKED_VALUES];
    size_t n_values;
};

/* ERR_USAGE says what is wrong with it. */
MUST_CHECK int asked_read(struct asked *out, const char *uri, struct arena *a, struct err *e);
/* The parameters of a form or a query: "a=1&b=x+y". */
MUST_CHECK int asked_values(struct asked *out, const char *text, struct arena *a, struct err *e);

/* The route with this path; `name` gets the word that stands for RUN. NULL: there is none, and
 * `*other_method` says whether there is one for another method. */
const struct route *asked_route(const struct asked *q, size_t skip, enum route_method m,
                                const char **name, bool *other_method);
/* The values by the route's table: unknown, repeated or wrong ones are ERR_USAGE. */
MUST_CHECK int asked_params(const struct asked *q, const struct route *r, struct arena *a,
                            struct route_ask *out, struct err *e);

#endif
