/* SPDX-License-Identifier: Apache-2.0 */
/* api_internal.h - what the files of the API share: parameters that many routes have, limits,
 * errors. */
#ifndef SERVE_API_INTERNAL_H
#define SERVE_API_INTERNAL_H

#include "base/json_write.h"
#include "serve/route.h"
#include "tables/stepdigest.h"

/* No answer is larger; who wants more asks for less at a time. */
enum { ANSWER_MOST = 1 << 20 };

#define PARAM_ROW_NODE                                                                             \
    {                                                                                              \
        "node", PARAM_TEXT, .help = "Only this node."                                              \
    }
#define PARAM_ROW_RANK                                                                             \
    {                                                                                              \
        "rank", PARAM_INT, .lo = 0, .hi = INT32_MAX, .help = "Only this rank."                     \
    }
#define PARAM_ROW_FROM                                                                             \
    {                                                                                              \
        "from", PARAM_TIME, .help = "Start of the window, ns since the epoch (default: open)."     \
    }
#define PARAM_ROW_TO                                                                               \
    {                                                                                              \
        "to", PARAM_TIME,                                                                          \
            .help = "End of the window, exclusive, ns since the epoch (default: open)."            \
    }

/* ERR_USAGE that says to ask for less. */
int answer_too_large(const char *what, struct err *e);
MUST_CHECK int answer_fits(const struct buf *body, const char *what, struct err *e);

/* An answer that is no 200: {"error": text}. */
void answer_error(struct route_answer *out, int status, const char *text);
/* 202 {"pending": true}: it is being worked out; ask again. */
void answer_pending(struct route_answer *out);

/* The place of a parameter's value in a list that ends with NULL; `*at` stays when it was not
 * given. ERR_USAGE names the words that are allowed. */
MUST_CHECK int route_word(const struct route_request *q, const char *name, const char *const *words,
                          int64_t *at, struct err *e);

/* from and to of the request, where open those of the run; to is after from. ERR_USAGE: not. */
MUST_CHECK int route_window(const struct route_request *q, wall_ns *from, wall_ns *to,
                            struct err *e);

/* `now` for a run with few events, at once. For one with many, an async job computes the answer:
 * 202 until that is done. `now` may use run, values and arena of the request, and nothing else of
 * it. */
MUST_CHECK int answer_async(const struct route_request *q, route_fn *now, struct route_answer *out,
                            struct err *e);

/* Writes an answer from the digest of the run's steps. */
typedef int steps_fn(const struct route_request *q, const struct step_digest *d,
                     struct route_answer *out, struct err *e);
/* `put` with the digest; 202 while an async job computes it. With a digest of older data the answer
 * is not cached (`passing`). */
MUST_CHECK int answer_with_steps(const struct route_request *q, steps_fn *put,
                                 struct route_answer *out, struct err *e);

#endif
