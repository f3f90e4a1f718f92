/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_request.c - what a request says: its line, then the headers that rights depend on, parted by
 * newlines. Whatever comes, texts end, numbers keep to their bounds, and no other host is ours. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "serve/rights.h"
#include "serve/route.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void expect(bool good)
{
    if (!good)
        abort();
}

static void check_text(const char *text)
{
    for (; *text; text++)
        expect((unsigned char)*text >= ' ' && *text != 0x7f);
}

static void check_params(const struct request *q, struct arena *a)
{
    for (size_t i = 0; i < n_routes; i++) {
        struct route_request ask = {0};
        struct err e = {0};
        if (request_params(q, &routes[i], a, &ask, &e) != 0) {
            expect(e.msg[0]);
            continue;
        }
        for (size_t k = 0; k < ask.n_values; k++) {
            const struct route_param *r = ask.values[k].param;
            const int64_t v = ask.values[k].number;
            expect((r->kind != PARAM_INT && r->kind != PARAM_TIME) || (!r->lo && !r->hi) ||
                   (v >= r->lo && v <= r->hi));
        }
    }
}

static void check_line(const char *line, struct arena *a)
{
    struct request q;
    struct err e = {0};
    const char *name;
    bool other;
    if (request_parse(&q, line, a, &e) != 0) {
        expect(e.msg[0]);
        return;
    }
    expect(q.n_steps <= REQUEST_STEPS && q.n_values <= REQUEST_VALUES);
    for (size_t i = 0; i < q.n_steps; i++)
        check_text(q.step[i]);
    for (size_t i = 0; i < q.n_values; i++) {
        check_text(q.value[i].name);
        check_text(q.value[i].text);
    }
    (void)request_route(&q, 2, ROUTE_GET, &name, &other);
    check_params(&q, a);
}

static void check_headers(const char *host, const char *origin, const char *cookie, struct arena *a)
{
    static const char *const ours[] = {"localhost"};
    if (host_allowed(host, ours, 1, false))
        expect(strncasecmp(host, "localhost", 9) == 0 || strncasecmp(host, "[localhost", 10) == 0);
    if (origin_allowed(origin, host))
        expect(strstr(origin, "://") != NULL);
    const char *value = cookie_find(cookie, "footplate-7171", a);
    expect(!value || strstr(cookie, "footplate-7171=") != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct arena a = {0};
    char *text = arena_strndup(&a, (const char *)p, n), *rest = text;
    const char *part[4];
    for (size_t i = 0; i < 4; i++) {
        part[i] = strsep(&rest, "\n");
        part[i] = part[i] ? part[i] : "";
    }
    check_line(part[0], &a);
    check_headers(part[1], part[2], part[3], &a);
    arena_free(&a);
    return 0;
}
