/* SPDX-License-Identifier: Apache-2.0 */
/* control_body.h - what a POST asks a recorder for. */
#ifndef SERVE_CONTROL_BODY_H
#define SERVE_CONTROL_BODY_H

#include "base/arena.h"
#include "base/err.h"

/* {"set": "interval=100ms"}, and nothing else in it: the request, checked, in the arena. Pure. */
MUST_CHECK int control_body(const char *body, size_t n, struct arena *a, const char **set,
                            struct err *e);

#endif
