/* SPDX-License-Identifier: Apache-2.0 */
/* api.h - the functions and parameter tables that routes.def names. */
#ifndef SERVE_API_H
#define SERVE_API_H

#include "serve/route.h"

#define ROUTE(id, ...)                                                                             \
    route_fn api_##id;                                                                             \
    extern const struct route_param api_##id##_params[];
#include "serve/routes.def"
#undef ROUTE

#endif
