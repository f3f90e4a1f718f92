/* SPDX-License-Identifier: Apache-2.0 */
/* routes.c - the table of routes, and how a route reads its parameters. */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "serve/api.h"
#include "serve/route.h"

#define ROUTE(id, m, p, f, s, o)                                                                   \
    {.method = ROUTE_##m,                                                                          \
     .path = p,                                                                                    \
     .answer = api_##id,                                                                           \
     .flags = f,                                                                                   \
     .params = api_##id##_params,                                                                  \
     .summary = s,                                                                                 \
     .schema = o},
const struct route routes[] = {
#include "serve/routes.def"
};
#undef ROUTE

const size_t n_routes = COUNT_OF(routes);

int http_status_of(const struct err *e)
{
    switch (e->code) {
    case ERR_USAGE:
        return 400;
    case ERR_NOT_FOUND:
        return 404;
    case ERR_BUSY:
        return 503;
    case ERR_SYS:
        return e->sys == ENOENT ? 410 : 500; /* it was there when it was looked up */
    default:
        return 500;
    }
}

static const struct route_value *routes_find(const struct route_ask *q, const char *name)
{
    for (size_t i = 0; i < q->n_values; i++)
        if (strcmp(q->values[i].param->name, name) == 0)
            return &q->values[i];
    return NULL;
}

const char *route_text(const struct route_ask *q, const char *name)
{
    const struct route_value *v = routes_find(q, name);
    return v ? v->text : NULL;
}

int64_t route_number(const struct route_ask *q, const char *name, int64_t otherwise)
{
    const struct route_value *v = routes_find(q, name);
    return v ? v->number : otherwise;
}

wall_ns route_time(const struct route_ask *q, const char *name)
{
    return (wall_ns){route_number(q, name, 0)};
}
