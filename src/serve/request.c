/* SPDX-License-Identifier: Apache-2.0 */
/* request.c - the path and the parameters of a request, see route.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "serve/route.h"

/* ---- bytes ---- */

/* -1: not two hexadecimal digits. */
static int request_byte_of(const char *p, size_t n)
{
    if (n < 3 || hex_digit(p[1]) < 0 || hex_digit(p[2]) < 0)
        return -1;
    return hex_digit(p[1]) * 16 + hex_digit(p[2]);
}

/* No path and no parameter has control characters in it, and a NUL would end the text early. */
static int request_decode(const char **out, const char *p, size_t n, bool plus, struct arena *a,
                          struct err *e)
{
    char *to = arena_array(a, char, n + 1);
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        int c = (unsigned char)p[i];
        if (c == '%') {
            c = request_byte_of(p + i, n - i);
            i += 2;
        } else if (plus && c == '+') {
            c = ' ';
        }
        if (c < ' ' || c == 0x7f)
            return err_set(e, ERR_USAGE, "the URL is malformed");
        to[at++] = (char)c;
    }
    *out = to;
    return 0;
}

/* ---- path and query ---- */

static int request_read_path(struct request *out, const char *p, size_t n, struct arena *a,
                             struct err *e)
{
    const char *end = p + n;
    while (p < end) {
        const char *slash = memchr(p, '/', (size_t)(end - p));
        const size_t len = slash ? (size_t)(slash - p) : (size_t)(end - p);
        if (out->n_steps == REQUEST_STEPS)
            return err_set(e, ERR_NOT_FOUND, "page not found");
        if (len > 0 || slash) {
            TRY(request_decode(&out->step[out->n_steps], p, len, false, a, e));
            out->n_steps++;
        }
        p += len + 1;
    }
    return 0;
}

static int request_read_value(struct request *out, const char *p, size_t n, struct arena *a,
                              struct err *e)
{
    if (n == 0)
        return 0;
    if (out->n_values == REQUEST_VALUES)
        return err_set(e, ERR_USAGE, "more than %d parameters", REQUEST_VALUES);
    const char *equals = memchr(p, '=', n);
    const size_t name = equals ? (size_t)(equals - p) : n;
    struct request_value *v = &out->value[out->n_values++];
    v->text = "";
    TRY(request_decode(&v->name, p, name, true, a, e));
    return equals ? request_decode(&v->text, equals + 1, n - name - 1, true, a, e) : 0;
}

int request_parse_values(struct request *out, const char *text, struct arena *a, struct err *e)
{
    for (const char *p = text; *p;) {
        const size_t n = strcspn(p, "&");
        TRY(request_read_value(out, p, n, a, e));
        p += n + (p[n] == '&');
    }
    return 0;
}

int request_parse(struct request *out, const char *uri, struct arena *a, struct err *e)
{
    const size_t len = strnlen(uri, REQUEST_URI_MOST + 1);
    *out = (struct request){0};
    if (len > REQUEST_URI_MOST)
        return err_set(e, ERR_USAGE, "the URL is longer than %d bytes", REQUEST_URI_MOST);
    if (uri[0] != '/')
        return err_set(e, ERR_USAGE, "the URL is malformed");
    const size_t path = strcspn(uri, "?");
    TRY(request_read_path(out, uri + 1, path - 1, a, e));
    return uri[path] ? request_parse_values(out, uri + path + 1, a, e) : 0;
}

/* ---- routes ---- */

/* A word in capitals matches any. */
static bool request_same_word(const char *word, size_t n, const char *step, const char **name)
{
    const bool any = *word >= 'A' && *word <= 'Z';
    if (n == 3 && memcmp(word, "RUN", 3) == 0)
        *name = step;
    return any ? *step != 0 : strlen(step) == n && memcmp(word, step, n) == 0;
}

static bool request_is_path(const struct request *q, size_t at, const char *path, const char **name)
{
    *name = NULL;
    for (const char *p = path; *p; at++) {
        const size_t n = strcspn(++p, "/");
        if (at >= q->n_steps || !request_same_word(p, n, q->step[at], name))
            return false;
        p += n;
    }
    return at == q->n_steps;
}

const struct route *request_route(const struct request *q, size_t skip, enum route_method m,
                                  const char **name, bool *other_method)
{
    *other_method = false;
    for (size_t i = 0; i < n_routes; i++) {
        if (!request_is_path(q, skip, routes[i].path, name))
            continue;
        if (routes[i].method == m)
            return &routes[i];
        *other_method = true;
    }
    *name = NULL;
    return NULL;
}

/* ---- values ---- */

static int request_read_number(const struct route_param *p, const char *text, int64_t *out,
                               struct err *e)
{
    char *end;
    errno = 0;
    const long long v = strtoll(text, &end, 10);
    if (errno || end == text || *end || strchr(" \t+", *text))
        return err_set(e, ERR_USAGE, "%s: '%.40s' is not a whole number", p->name, text);
    if ((p->lo || p->hi) && (v < p->lo || v > p->hi))
        return err_set(e, ERR_USAGE, "%s: %lld is not between %lld and %lld", p->name, v,
                       (long long)p->lo, (long long)p->hi);
    if (p->kind == PARAM_TIME && !clock_fits(v))
        return err_set(e, ERR_USAGE, "%s: %lld is more than 142 years from the epoch", p->name, v);
    *out = v;
    return 0;
}

static int request_read_flag(const struct route_param *p, const char *text, int64_t *out,
                             struct err *e)
{
    static const char *const words[][2] = {{"0", "1"}, {"false", "true"}, {"no", "yes"}};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        for (int k = 0; k < 2; k++)
            if (strcmp(text, words[i][k]) == 0) {
                *out = k;
                return 0;
            }
    return err_set(e, ERR_USAGE, "%s: '%.40s' is neither 1 nor 0", p->name, text);
}

static const struct route_param *request_find_param(const struct route *r, const char *name)
{
    for (const struct route_param *p = r->params; p && p->name; p++)
        if (strcmp(p->name, name) == 0)
            return p;
    return NULL;
}

static int request_add_value(const struct route *r, const struct request_value *from,
                             struct route_value *list, size_t *n, struct err *e)
{
    const struct route_param *p = request_find_param(r, from->name);
    if (!p)
        return err_set(e, ERR_USAGE, "unknown parameter '%.40s'", from->name);
    for (size_t i = 0; i < *n && !p->repeat; i++)
        if (list[i].param == p)
            return err_set(e, ERR_USAGE, "%s is given twice", p->name);
    struct route_value *v = &list[(*n)++];
    *v = (struct route_value){.param = p, .text = from->text};
    if (p->kind == PARAM_TEXT)
        return 0;
    return p->kind == PARAM_FLAG ? request_read_flag(p, v->text, &v->number, e)
                                 : request_read_number(p, v->text, &v->number, e);
}

int request_params(const struct request *q, const struct route *r, struct arena *a,
                   struct route_request *out, struct err *e)
{
    struct route_value *list = arena_array(a, struct route_value, q->n_values + 1);
    out->values = list;
    out->n_values = 0;
    for (size_t i = 0; i < q->n_values; i++)
        TRY(request_add_value(r, &q->value[i], list, &out->n_values, e));
    return 0;
}

/* ---- for routes ---- */

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

static const struct route_value *route_find_value(const struct route_request *q, const char *name)
{
    return FIND_ITEM(x, q->values, q->n_values, strcmp(x->param->name, name) == 0);
}

const char *route_text(const struct route_request *q, const char *name)
{
    const struct route_value *v = route_find_value(q, name);
    return v ? v->text : NULL;
}

int64_t route_number(const struct route_request *q, const char *name, int64_t otherwise)
{
    const struct route_value *v = route_find_value(q, name);
    return v ? v->number : otherwise;
}

wall_ns route_time(const struct route_request *q, const char *name)
{
    return (wall_ns){route_number(q, name, 0)};
}
