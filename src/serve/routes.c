/* SPDX-License-Identifier: Apache-2.0 */
/* routes.c - the table of routes, and the description of the API (OpenAPI 3.1), which is printed
 * from the tables that the server works by: routes.def, the parameters of each route, the tables of
 * rows. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "compare/compare.h"
#include "report/report.h"
#include "rules/verdict_json.h"
#include "serve/api_internal.h"
#include "tables/healthview.h"
#include "tables/opsview.h"
#include "tables/statview.h"
#include "tables/stepsview.h"

/* ---- the table ---- */

#define ROUTE(i, m, p, f, s, ...)                                                                  \
    {.id = #i,                                                                                     \
     .method = ROUTE_##m,                                                                          \
     .path = p,                                                                                    \
     .answer = api_##i,                                                                            \
     .flags = f,                                                                                   \
     .params = api_##i##_params,                                                                   \
     .summary = s,                                                                                 \
     __VA_ARGS__},
#define ROW(name)       .type = TYPE_JSON, .schema = #name, .rows = {&row_##name}
#define ROWS(name, row) .type = TYPE_JSON, .schema = #name, .list = true, .rows = {&row_##row}
#define ROWS2(name, a, b)                                                                          \
    .type = TYPE_JSON, .schema = #name, .list = true, .rows = {&row_##a, &row_##b}
#define DOCUMENT   .type = TYPE_HTML, .document = true
#define STREAM     .type = TYPE_STREAM, .stream = true
#define BYTES      .type = TYPE_BYTES
#define BODY(name) .body = &row_##name
const struct route routes[] = {
#include "serve/routes.def"
};
#undef ROUTE

const size_t n_routes = COUNT_OF(routes);

/* ---- types ---- */

/* Words: one for a number, a text and so on, "[]" before it for an array, "?" after it when it may
 * be null, or the name of a row. */
static const struct {
    const char *word, *type, *format;
} types[] = {
    {"int", "integer", "int64"}, {"ns", "integer", "int64"}, {"number", "number", NULL},
    {"text", "string", NULL},    {"bool", "boolean", NULL},  {"object", "object", NULL},
};

static void openapi_put_ref(struct jw *j, const char *name, size_t n)
{
    char path[96];
    snprintf(path, sizeof path, "#/components/schemas/%.*s", (int)MIN_OF(n, (size_t)48), name);
    jw_str(j, "$ref", path);
}

static void openapi_put_plain(struct jw *j, size_t i, bool null)
{
    if (null) {
        jw_array(j, "type");
        jw_str(j, NULL, types[i].type);
        jw_str(j, NULL, "null");
        jw_end(j);
    } else {
        jw_str(j, "type", types[i].type);
    }
    if (types[i].format)
        jw_str(j, "format", types[i].format);
}

static void openapi_put_any(struct jw *j)
{
    jw_array(j, "type");
    jw_str(j, NULL, "number");
    jw_str(j, NULL, "string");
    jw_str(j, NULL, "null");
    jw_end(j);
}

/* Into an object that the caller opened. */
static void openapi_put_type(struct jw *j, const char *type)
{
    size_t n = strlen(type);
    const bool null = n && type[n - 1] == '?';
    n -= null;
    if (strncmp(type, "[]", 2) == 0) {
        jw_str(j, "type", "array");
        jw_object(j, "items");
        openapi_put_type(j, type + 2);
        jw_end(j);
        return;
    }
    if (strcmp(type, "any") == 0) {
        openapi_put_any(j);
        return;
    }
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (strlen(types[i].word) == n && strncmp(types[i].word, type, n) == 0) {
            openapi_put_plain(j, i, null);
            return;
        }
    if (!null) {
        openapi_put_ref(j, type, n);
        return;
    }
    jw_array(j, "oneOf");
    jw_object(j, NULL);
    openapi_put_ref(j, type, n);
    jw_end(j);
    jw_object(j, NULL);
    jw_str(j, "type", "null");
    jw_end(j);
    jw_end(j);
}

/* ---- rows ---- */

enum { ROW_TYPE_LEN = 64, ROW_TABLES_MOST = 128 };

struct row_tables {
    const struct row_table *v[ROW_TABLES_MOST];
    size_t n;
};

/* A type of row_table.h in these words: "int_or_null" is "int?". */
static const char *openapi_type_word(const struct row_field *f, char out[static ROW_TYPE_LEN])
{
    const bool row = f->shape == SHAPE_OBJECT || f->shape == SHAPE_LIST;
    const bool word = !row && strncmp(f->type, "word", 4) == 0;
    const size_t n = row ? strlen(f->type) : strcspn(f->type, "_(");
    snprintf(out, ROW_TYPE_LEN, "%s%.*s%s",
             f->shape == SHAPE_LIST || f->shape == SHAPE_ARRAY ? "[]" : "", (int)(word ? 4 : n),
             word ? "text" : f->type,
             (f->null && f->shape == SHAPE_OBJECT) || strstr(f->type, "_or_null") ? "?" : "");
    return out;
}

static void openapi_put_row_field(struct jw *j, const struct row_field *f)
{
    char type[ROW_TYPE_LEN];
    jw_object(j, f->name);
    if (f->shape == SHAPE_MAP) {
        openapi_put_type(j, f->null ? "object?" : "object");
        jw_object(j, "additionalProperties");
        openapi_put_type(j, openapi_type_word(f, type));
        jw_end(j);
    } else {
        openapi_put_type(j, openapi_type_word(f, type));
    }
    if (*f->help)
        jw_str(j, "description", f->help);
    jw_end(j);
}

static void openapi_put_row_fields(struct jw *j, const struct row_table *t)
{
    for (size_t i = 0; i < t->n; i++) {
        if (t->fields[i].shape == SHAPE_EMBED)
            openapi_put_row_fields(j, t->fields[i].of);
        else
            openapi_put_row_field(j, &t->fields[i]);
    }
}

static void openapi_put_required(struct jw *j, const struct row_table *t)
{
    for (size_t i = 0; i < t->n; i++) {
        if (t->fields[i].shape == SHAPE_EMBED)
            openapi_put_required(j, t->fields[i].of);
        else if (!t->optional[i])
            jw_str(j, NULL, t->fields[i].name);
    }
}

static void openapi_put_row_table(struct jw *j, const struct row_table *t)
{
    jw_object(j, t->name);
    jw_str(j, "type", "object");
    jw_str(j, "description", t->help);
    jw_array(j, "required");
    openapi_put_required(j, t);
    jw_end(j);
    jw_object(j, "properties");
    openapi_put_row_fields(j, t);
    jw_end(j);
    jw_end(j);
}

/* A table and those of the rows inside it, each once. */
static void openapi_add_row_table(struct row_tables *out, const struct row_table *t, bool itself)
{
    for (size_t i = 0; i < out->n; i++)
        if (out->v[i] == t)
            return;
    assert(out->n < ROW_TABLES_MOST);
    if (itself)
        out->v[out->n++] = t;
    for (size_t i = 0; i < t->n; i++)
        if (t->fields[i].of)
            openapi_add_row_table(out, t->fields[i].of, t->fields[i].shape != SHAPE_EMBED);
}

/* Those of errors, of bodies and of answers. */
static void openapi_put_row_tables(struct jw *j)
{
    struct row_tables all = {.n = 0};
    openapi_add_row_table(&all, &row_Error, true);
    openapi_add_row_table(&all, &row_Pending, true);
    for (size_t i = 0; i < n_routes; i++) {
        if (routes[i].body)
            openapi_add_row_table(&all, routes[i].body, true);
        for (size_t k = 0; k < COUNT_OF(routes[i].rows); k++)
            if (routes[i].rows[k])
                openapi_add_row_table(&all, routes[i].rows[k], true);
    }
    for (size_t i = 0; i < all.n; i++)
        openapi_put_row_table(j, all.v[i]);
}

static void openapi_put_list(struct jw *j, const struct route *r)
{
    const bool several = r->rows[1] != NULL;
    jw_object(j, r->schema);
    jw_str(j, "type", "array");
    jw_object(j, "items");
    if (!several)
        openapi_put_ref(j, r->rows[0]->name, strlen(r->rows[0]->name));
    else
        jw_array(j, "anyOf");
    for (size_t k = 0; several && k < COUNT_OF(r->rows); k++) {
        jw_object(j, NULL);
        openapi_put_ref(j, r->rows[k]->name, strlen(r->rows[k]->name));
        jw_end(j);
    }
    if (several)
        jw_end(j);
    jw_end(j);
    jw_end(j);
}

static void openapi_put_schemas(struct jw *j)
{
    jw_object(j, "schemas");
    openapi_put_row_tables(j);
    for (size_t i = 0; i < n_routes; i++)
        if (routes[i].list)
            openapi_put_list(j, &routes[i]);
    jw_end(j);
}

/* ---- routes ---- */

static void openapi_put_content(struct jw *j, const char *type, const char *schema)
{
    char plain[64]; /* without the encoding */
    snprintf(plain, sizeof plain, "%.*s", (int)strcspn(type, ";"), type);
    jw_object(j, "content");
    jw_object(j, plain);
    jw_object(j, "schema");
    if (schema)
        openapi_put_ref(j, schema, strlen(schema));
    else
        jw_str(j, "type", "string");
    jw_end(j);
    jw_end(j);
    jw_end(j);
}

static void openapi_put_response(struct jw *j, const char *status, const char *help,
                                 const char *type, const char *schema)
{
    jw_object(j, status);
    jw_str(j, "description", help);
    openapi_put_content(j, type, schema);
    jw_end(j);
}

static const struct {
    const char *status, *help;
    unsigned when; /* flags of the route; 0: always */
} openapi_errors[] = {
    {"400", "A parameter is unknown or invalid.", 0},
    {"401", "A token is required.", 0},
    {"403", "Not allowed.", ROUTE_CONTROL},
    {"404", "No such run, or the run has no such data.", ROUTE_RUN | ROUTE_INFO | ROUTE_FILES},
    {"409", "The run is not being recorded on this machine.", ROUTE_CONTROL},
    {"410", "The run was removed.", ROUTE_RUN | ROUTE_INFO | ROUTE_FILES},
    {"429", "Too many simultaneous requests.", 0},
};

/* Of the bytes of a file. */
static const struct {
    const char *status, *help;
} openapi_file_answers[] = {
    {"206", "The part that Range names."},
    {"304", "The file is the one that If-None-Match names."},
    {"412", "The file is another one than If-Match names."},
    {"413", "The file is larger than 16 MiB: use Range."},
    {"416", "The file ends before the range."},
};

static void openapi_put_responses(struct jw *j, const struct route *r)
{
    jw_object(j, "responses");
    openapi_put_response(j, "200", r->summary, r->type, r->schema);
    if (strstr(r->path, "RUN") && !(r->flags & ROUTE_FILES) && !r->stream && r->method == ROUTE_GET)
        openapi_put_response(j, "202", "Still computing; try again in a moment.", TYPE_JSON,
                             row_Pending.name);
    for (size_t i = 0; i < COUNT_OF(openapi_file_answers) && strcmp(r->type, TYPE_BYTES) == 0;
         i++) {
        jw_object(j, openapi_file_answers[i].status);
        jw_str(j, "description", openapi_file_answers[i].help);
        jw_end(j);
    }
    for (size_t i = 0; i < COUNT_OF(openapi_errors); i++)
        if (!openapi_errors[i].when || r->flags & openapi_errors[i].when)
            openapi_put_response(j, openapi_errors[i].status, openapi_errors[i].help, TYPE_JSON,
                                 row_Error.name);
    jw_end(j);
}

static void openapi_put_param_schema(struct jw *j, const struct route_param *p)
{
    static const char *const of_kind[] = {
        [PARAM_TEXT] = "text", [PARAM_INT] = "int", [PARAM_TIME] = "ns", [PARAM_FLAG] = "int"};
    jw_object(j, "schema");
    if (p->repeat) {
        jw_str(j, "type", "array");
        jw_object(j, "items");
    }
    openapi_put_type(j, of_kind[p->kind]);
    if (p->kind == PARAM_FLAG || p->lo || p->hi) {
        jw_int(j, "minimum", p->lo);
        jw_int(j, "maximum", p->kind == PARAM_FLAG ? 1 : p->hi);
    }
    if (p->repeat)
        jw_end(j);
    jw_end(j);
}

static void openapi_put_param(struct jw *j, const struct route_param *p, bool in_path)
{
    jw_object(j, NULL);
    jw_str(j, "name", p->name);
    jw_str(j, "in", in_path ? "path" : "query");
    if (in_path)
        jw_bool(j, "required", true);
    jw_str(j, "description", p->help);
    openapi_put_param_schema(j, p);
    jw_end(j);
}

/* The meaning of the words in capitals in paths. */
static const struct route_param path_words[] = {
    {"RUN", PARAM_TEXT, .help = "The name of the run's folder, as listed by /runs."},
    {"NODE", PARAM_TEXT, .help = "The name of the node's folder: node- and the node."},
    {"FILE", PARAM_TEXT, .help = "The name of the file, as listed by /files/RUN."},
};

static void openapi_put_params(struct jw *j, const struct route *r)
{
    jw_array(j, "parameters");
    for (size_t i = 0; i < COUNT_OF(path_words); i++)
        if (strstr(r->path, path_words[i].name))
            openapi_put_param(j, &path_words[i], true);
    for (const struct route_param *p = r->params; p && p->name; p++)
        openapi_put_param(j, p, false);
    jw_end(j);
}

static void openapi_put_body(struct jw *j, const struct route *r)
{
    jw_object(j, "requestBody");
    jw_bool(j, "required", true);
    openapi_put_content(j, TYPE_JSON, r->body->name);
    jw_end(j);
}

static void openapi_put_route(struct jw *j, const struct route *r)
{
    jw_object(j, r->method == ROUTE_POST ? "post" : "get");
    jw_str(j, "operationId", r->id);
    jw_str(j, "summary", r->summary);
    openapi_put_params(j, r);
    if (r->body)
        openapi_put_body(j, r);
    openapi_put_responses(j, r);
    jw_end(j);
}

/* "/runs/RUN/stats" as "/runs/{RUN}/stats". */
static const char *openapi_path_of(const struct route *r, struct arena *a)
{
    const char *out = r->path;
    for (size_t i = 0; i < COUNT_OF(path_words); i++) {
        const char *word = path_words[i].name, *at = strstr(out, word);
        if (at)
            out = arena_printf(a, "%.*s{%s}%s", (int)(at - out), out, word, at + strlen(word));
    }
    return out;
}

/* Routes of one path are neighbours in routes.def. */
static void openapi_put_paths(struct jw *j, struct arena *a)
{
    jw_object(j, "paths");
    for (size_t i = 0; i < n_routes; i++) {
        const bool new_path = i == 0 || strcmp(routes[i - 1].path, routes[i].path) != 0;
        if (new_path && i)
            jw_end(j);
        if (new_path)
            jw_object(j, openapi_path_of(&routes[i], a));
        openapi_put_route(j, &routes[i]);
    }
    if (n_routes)
        jw_end(j);
    jw_end(j);
}

/* A value that is written as JSON in this file. */
static void openapi_put_raw(struct jw *j, const char *key, const char *json)
{
    jw_null(j, key);
    j->out->len -= strlen("null");
    buf_put(j->out, json, strlen(json));
}

const struct route_param api_openapi_params[] = {{0}};

int api_openapi(const struct route_request *q, struct route_answer *out, struct err *e)
{
    struct jw j = {.out = &out->body};
    (void)e;
    jw_object(&j, NULL);
    jw_str(&j, "openapi", "3.1.0");
    jw_object(&j, "info");
    jw_str(&j, "title", "Footplate");
    jw_str(&j, "version", FP_VERSION);
    jw_str(&j, "description",
           "The API of footplate serve. Times (*_ns) are integer nanoseconds since the epoch, "
           "durations (*_s) are seconds, shares are 0 to 1. Data that was not measured is null, "
           "never 0. Every error is {\"error\": \"one sentence\"}.");
    jw_end(&j);
    openapi_put_raw(&j, "servers", "[{\"url\":\"/api/v1\"}]");
    openapi_put_paths(&j, q->arena);
    jw_object(&j, "components");
    openapi_put_schemas(&j);
    openapi_put_raw(&j, "securitySchemes",
                    "{\"token\":{\"type\":\"http\",\"scheme\":\"bearer\",\"description\":"
                    "\"Required if the server listens beyond its own machine.\"}}");
    jw_end(&j);
    openapi_put_raw(&j, "security", "[{},{\"token\":[]}]");
    jw_end(&j);
    return 0;
}
