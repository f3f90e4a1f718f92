/* SPDX-License-Identifier: Apache-2.0 */
/* ship_hub.c - a hub (footplate serve --receive) as a target, see docs/remote.md. */
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/clock.h"
#include "base/json_read.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "net/curl.h"
#include "net/http_client.h"
#include "net/hub_client.h"
#include "run/run_names.h"
#include "ship/ship_targets.h"

enum {
    APPEND_FIRST = 256 << 10, /* bytes of a part until the hub has reported what it takes */
    APPEND_MOST = 1 << 20,
    REQUEST_MS = 60000,
    ZSTD_FROM = 1024, /* bytes of a part that is worth compressing */
    ZSTD_FAST = 1,
    SETUP_RETRY_S = 600,
    HEADERS_MOST = 8,
    LINE_LEN = 320,
    FILE_NAME_LEN = 128,
    TRIES_MOST = 5, /* offsets that the hub corrects, one after the other */
    URL_LEN = 1024,
    REQUESTS_MOST = 16, /* of users, in one round */
    ANSWER_LEN = 256,
};
#define INTERVAL_NS (2 * NS_PER_S)

/* A file, and how far it is on the hub. */
struct hub_file {
    char node[NODE_ID_LEN];
    char name[FILE_NAME_LEN];
    uint64_t size, segment;
    uint8_t id[FILE_ID_LEN];
    bool completed; /* Upload-Complete was sent */
};

struct ship_hub {
    struct ship_target target; /* first */
    char run[RUN_ID_LEN];
    struct hub_file *files; /* of a node that was requested, one has no name */
    size_t n_files, cap_files;
    size_t append_most; /* bytes of a part */
    struct http_client *client;
    char base[URL_LEN]; /* "https://host:port" */
    char to[URL_LEN];
    char *authorization; /* the header, with the token */
    bool plain;          /* it takes no compressed parts */
};

/* ---- requests ---- */

struct hub_request {
    const char *method;
    const char *node, *file; /* NULL: none */
    const void *body;
    size_t n;
    char line[HEADERS_MOST][LINE_LEN];
    size_t n_lines;
};

__attribute__((format(printf, 2, 3))) static void hub_line(struct hub_request *q, const char *fmt,
                                                           ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(q->line[q->n_lines++], LINE_LEN, fmt, ap);
    va_end(ap);
}

/* What arrived before the oldest data that the hub has not synced is durable. */
static void hub_note_durable(struct ship_hub *h, const struct http_response *r, mono_ns sent)
{
    const char *text = http_response_header(r, "Footplate-Unsynced");
    const long long ms = text ? strtoll(text, NULL, 10) : -1;
    if (ms >= 0 && ms < sent.ns / NS_PER_MS)
        h->target.durable = mono_add(sent, -ms * NS_PER_MS);
}

static int hub_send(struct ship_hub *h, const struct hub_request *q, struct http_response *r,
                    struct err *e)
{
    char url[URL_LEN + 512];
    const char *headers[HEADERS_MOST + 1] = {h->authorization};
    size_t n = 1;
    for (size_t i = 0; i < q->n_lines; i++)
        headers[n++] = q->line[i];
    snprintf(url, sizeof url, "%s/api/v1/ingest/%s%s%s%s%s", h->base, h->run,
             q->node ? "/node-" : "", q->node ? q->node : "", q->file ? "/" : "",
             q->file ? q->file : "");
    const struct http_request ask = {.method = q->method,
                                     .url = url,
                                     .headers = headers,
                                     .n_headers = n,
                                     .body = q->body,
                                     .body_len = q->n,
                                     .body_most = APPEND_MOST,
                                     .timeout_ms = REQUEST_MS};
    const mono_ns sent = clock_mono();
    TRY(http_client_send(h->client, &ask, r, e));
    hub_note_durable(h, r, sent);
    return 0;
}

/* ---- answers ---- */

static const char *hub_sentence(const struct http_response *r, struct arena *a)
{
    json_t *o = json_loadb((const char *)r->body.p, r->body.len, 0, NULL);
    const char *text = json_get_str(o, "error", a, "no reason given");
    json_decref(o);
    return text;
}

/* What an unexpected answer means. */
static int hub_refused(struct ship_hub *h, const struct http_response *r, struct err *e)
{
    static const struct {
        int status, retry_s;
        enum err_code code;
    } rows[] = {
        {401, SETUP_RETRY_S, ERR_USAGE}, {403, SETUP_RETRY_S, ERR_USAGE},
        {400, SETUP_RETRY_S, ERR_USAGE}, {405, SETUP_RETRY_S, ERR_USAGE},
        {507, SETUP_RETRY_S, ERR_LIMIT}, {404, 1, ERR_NOT_FOUND},
        {413, 1, ERR_NOT_FOUND},         {415, 1, ERR_NOT_FOUND},
        {0, 0, ERR_NOT_FOUND},
    };
    struct arena a = {0};
    size_t i = 0;
    const char *retry = http_response_header(r, "Retry-After");
    while (rows[i].status && rows[i].status != r->status)
        i++;
    const long wait_s = retry ? strtol(retry, NULL, 10) : 0;
    h->target.retry_s = wait_s > 0 && wait_s <= SETUP_RETRY_S ? (int)wait_s : rows[i].retry_s;
    if (r->status == 413)
        h->append_most = APPEND_FIRST / 4;
    h->plain |= r->status == 415;
    err_set(e, rows[i].code, "%s answered %d: %.200s", h->to, r->status, hub_sentence(r, &a));
    arena_free(&a);
    return e->code;
}

static bool hub_offset(const struct http_response *r, uint64_t *out)
{
    const char *text = http_response_header(r, "Upload-Offset");
    if (!text || strspn(text, "0123456789") != strlen(text) || !*text)
        return false;
    *out = strtoull(text, NULL, 10);
    return true;
}

/* ---- how far it is ---- */

static struct hub_file *hub_find(struct ship_hub *h, const char *node, const char *name)
{
    return FIND_ITEM(x, h->files, h->n_files,
                     strcmp(x->node, node) == 0 && strcmp(x->name, name) == 0);
}

static struct hub_file *hub_add(struct ship_hub *h, const char *node, const char *name)
{
    struct hub_file *f = VEC_ADD(h->files, h->n_files, h->cap_files);
    *f = (struct hub_file){.size = 0};
    snprintf(f->node, sizeof f->node, "%s", node);
    snprintf(f->name, sizeof f->name, "%s", name);
    return f;
}

static void hub_add_files(struct ship_hub *h, const char *node, const json_t *files)
{
    const char *name;
    json_t *f;
    struct arena a = {0};
    json_object_foreach((json_t *)(uintptr_t)files, name, f)
    {
        const char *id = json_get_str(f, "id", &a, "");
        if (strlen(id) != 2 * FILE_ID_LEN || strlen(name) >= FILE_NAME_LEN)
            continue;
        struct hub_file *x = hub_add(h, node, name);
        x->size = (uint64_t)json_get_within(f, "size", 0, INT64_MAX, 0);
        x->segment = (uint64_t)json_get_within(f, "segment", 0, INT64_MAX, 0);
        for (size_t i = 0; i < FILE_ID_LEN; i++) {
            const char two[] = {id[2 * i], id[2 * i + 1], 0};
            x->id[i] = (uint8_t)strtoul(two, NULL, 16);
        }
    }
    arena_free(&a);
}

/* One request for all files of a node; an entry without a name reports that it was made. */
static int hub_learn(struct ship_hub *h, const char *node, struct err *e)
{
    struct hub_request q = {.method = "GET", .node = node};
    struct http_response r = {0};
    if (hub_find(h, node, ""))
        return 0;
    int rc = hub_send(h, &q, &r, e);
    if (rc == 0 && r.status == 200) {
        json_t *o = json_loadb((const char *)r.body.p, r.body.len, 0, NULL);
        h->append_most =
            (size_t)json_get_within(o, "append_bytes", 1024, APPEND_MOST, APPEND_FIRST);
        hub_add_files(h, node, json_object_get(o, "files"));
        json_decref(o);
    } else if (rc == 0 && r.status != 404) { /* 404: there is no such node yet */
        rc = hub_refused(h, &r, e);
    }
    http_response_free(&r);
    if (rc == 0)
        hub_add(h, node, "");
    return rc;
}

static void hub_forget(struct ship_target *t)
{
    ((struct ship_hub *)t)->n_files = 0;
}

static int hub_file(struct ship_hub *h, const struct ship_file *f, struct hub_file **out,
                    struct err *e)
{
    TRY(hub_learn(h, f->node, e));
    *out = hub_find(h, f->node, f->name);
    *out = *out ? *out : hub_add(h, f->node, f->name);
    return 0;
}

/* ---- parts ---- */

static void hub_compress(struct hub_request *q, struct buf *out)
{
    buf_reserve(out, ZSTD_compressBound(q->n));
    const size_t n = ZSTD_compress(out->p, out->cap, q->body, q->n, ZSTD_FAST);
    if (ZSTD_isError(n) || n >= q->n - q->n / 16)
        return;
    q->body = out->p;
    q->n = n;
    hub_line(q, "Content-Encoding: zstd");
}

static void hub_put_id(struct hub_request *q, const uint8_t id[FILE_ID_LEN])
{
    char text[2 * FILE_ID_LEN + 1];
    for (size_t i = 0; i < FILE_ID_LEN; i++)
        snprintf(text + 2 * i, 3, "%02x", id[i]);
    hub_line(q, "Footplate-File: %s", text);
}

static int hub_another(const struct ship_hub *h, const struct ship_file *f, struct err *e)
{
    return err_set(e, ERR_USAGE, "%s has another recording of node '%s' in the run '%s'", h->to,
                   f->node, h->run);
}

static void hub_describe(const struct ship_hub *h, struct hub_request *q, const struct ship_file *f,
                         uint64_t offset, bool complete)
{
    hub_line(q, "Content-Type: application/partial-upload");
    hub_line(q, "Upload-Offset: %llu", (unsigned long long)offset);
    hub_line(q, "Upload-Complete: ?%d", complete);
    hub_put_id(q, f->id);
    if (f->segment)
        hub_line(q, "Footplate-Segment: %llu", (unsigned long long)f->segment);
    if (h->target.control_s)
        hub_line(q, "Footplate-Control: %u", h->target.control_s);
}

/* The bytes from `offset` on, n of them; 0: only that the file is complete, if it is closed, or
 * that its recorder is alive. *size: how far the file is on the hub. ERR_BUSY: the part does not
 * begin there. */
static int hub_append(struct ship_hub *h, const struct ship_file *f, uint64_t offset, size_t n,
                      uint64_t *size, struct err *e)
{
    static const uint8_t nothing[1];
    struct hub_request q = {.method = "PATCH",
                            .node = f->node,
                            .file = f->name,
                            .body = n ? f->p + offset : nothing,
                            .n = n};
    struct http_response r = {0};
    struct buf packed = {0};
    hub_describe(h, &q, f, offset, n == 0 && f->closed);
    if (n >= ZSTD_FROM && !h->plain)
        hub_compress(&q, &packed);
    int rc = hub_send(h, &q, &r, e);
    const bool known = rc == 0 && hub_offset(&r, size);
    h->target.has_requests |= rc == 0 && http_response_header(&r, "Footplate-Requests");
    if (rc == 0 && r.status == 409 && known)
        rc = err_set(e, ERR_BUSY, "%s is at another offset", h->to);
    else if (rc == 0 && r.status == 409 && f->segment) /* another process sent a later one */
        rc = err_set(e, ERR_NOT_FOUND, "%s has a later '%s'", h->to, f->name);
    else if (rc == 0 && r.status == 409)
        rc = hub_another(h, f, e);
    else if (rc == 0 && (r.status != 204 || !known))
        rc = hub_refused(h, &r, e);
    buf_free(&packed);
    http_response_free(&r);
    return rc;
}

static int hub_send_parts(struct ship_hub *h, const struct ship_file *f, struct hub_file *x,
                          struct err *e)
{
    for (int wrong = 0; x->size < f->len;) {
        if (x->size < f->gone)
            return ship_gone(&h->target, f, e);
        const size_t n = MIN_OF(h->append_most, (size_t)(f->len - x->size));
        uint64_t size = 0;
        const int rc = hub_append(h, f, x->size, n, &size, e);
        if (rc && rc != ERR_BUSY)
            return rc;
        if (rc && ++wrong > TRIES_MOST)
            return err_set(e, ERR_NOT_FOUND, "%s and this machine disagree on '%s'", h->to,
                           f->name);
        h->target.bytes += rc ? 0 : n;
        x->size = size;
    }
    return 0;
}

/* ---- the operations ---- */

static int hub_check(struct ship_target *t, const struct ship_file *f, struct err *e)
{
    struct ship_hub *h = (struct ship_hub *)t;
    TRY(hub_learn(h, f->node, e));
    const struct hub_file *x = hub_find(h, f->node, f->name);
    return x && x->size && memcmp(x->id, f->id, sizeof x->id) != 0 ? hub_another(h, f, e) : 0;
}

static int hub_sealed(struct ship_target *t, const struct ship_file *f, struct err *e)
{
    struct ship_hub *h = (struct ship_hub *)t;
    struct hub_file *x;
    uint64_t size;
    TRY(hub_check(t, f, e));
    TRY(hub_file(h, f, &x, e));
    memcpy(x->id, f->id, sizeof x->id);
    TRY(hub_send_parts(h, f, x, e));
    if (!f->closed || x->completed)
        return 0;
    TRY(hub_append(h, f, f->len, 0, &size, e));
    x->completed = true;
    return 0;
}

static int hub_tail(struct ship_target *t, const struct ship_file *f, struct err *e)
{
    struct ship_hub *h = (struct ship_hub *)t;
    struct hub_file *x;
    TRY(hub_file(h, f, &x, e));
    if (x->size && x->segment > f->segment) /* from before this process began */
        return 0;
    if (x->segment != f->segment)
        x->size = 0;
    x->segment = f->segment;
    memcpy(x->id, f->id, sizeof x->id);
    return hub_send_parts(h, f, x, e);
}

static int hub_put(struct ship_target *t, const char *node, const char *name, const void *p,
                   size_t n, bool absent, struct err *e)
{
    struct ship_hub *h = (struct ship_hub *)t;
    struct hub_request q = {.method = "PUT", .node = node, .file = name, .body = p, .n = n};
    struct http_response r = {0};
    hub_line(&q, "Content-Type: application/octet-stream");
    if (absent)
        hub_line(&q, "If-None-Match: *");
    int rc = hub_send(h, &q, &r, e);
    if (rc == 0 && absent && r.status == 412)
        rc = ship_another_run(t, h->run, e);
    else if (rc == 0 && r.status / 100 != 2)
        rc = hub_refused(h, &r, e);
    t->bytes += rc ? 0 : n;
    http_response_free(&r);
    return rc;
}

static int hub_remove(struct ship_hub *h, struct hub_file *x, struct err *e)
{
    struct hub_request q = {.method = "DELETE", .node = x->node, .file = x->name};
    struct http_response r = {0};
    hub_put_id(&q, x->id);
    int rc = hub_send(h, &q, &r, e);
    if (rc == 0 && r.status != 204 && r.status != 409) /* 409: it has data, and stays */
        rc = hub_refused(h, &r, e);
    http_response_free(&r);
    if (rc == 0)
        x->size = 0;
    return rc;
}

static bool hub_has_name(const char *const *names, size_t n, const char *name)
{
    return FIND_ANY(i, n, strcmp(names[i], name) == 0);
}

static int hub_prune(struct ship_target *t, const char *node, const char *const *names, size_t n,
                     struct err *e)
{
    struct ship_hub *h = (struct ship_hub *)t;
    TRY(hub_learn(h, node, e));
    for (size_t i = 0; i < h->n_files; i++) {
        struct hub_file *x = &h->files[i];
        if (strcmp(x->node, node) == 0 && x->size == FILE_HEADER_LEN &&
            run_file_kind(x->name, true) == RUN_FILE_SEALED && !hub_has_name(names, n, x->name))
            TRY(hub_remove(h, x, e));
    }
    return 0;
}

/* ---- a recorder that pauses, and requests to it ---- */

/* Whether x is newer evidence of the recorder that runs now: it is of a later session
 * ("metrics-2.tail" after "metrics.tail"), or its tail. */
static bool hub_is_later(const struct hub_file *x, const struct hub_file *y)
{
    const size_t n = strcspn(x->name, "."), m = strcspn(y->name, ".");
    const int order = n != m ? (n > m ? 1 : -1) : memcmp(x->name, y->name, n);
    return order ? order > 0 : x->segment > y->segment;
}

/* A part without bytes, of the readings: a file whose time shows readers that the recorder runs.
 */
static int hub_alive(struct ship_target *t, const char *node, struct err *e)
{
    struct ship_hub *h = (struct ship_hub *)t;
    const struct hub_file *best = NULL;
    for (size_t i = 0; i < h->n_files; i++) {
        const struct hub_file *x = &h->files[i];
        if (strcmp(x->node, node) == 0 && text_starts(x->name, STORE_METRICS) && x->size &&
            !x->completed && (!best || hub_is_later(x, best)))
            best = x;
    }
    if (!best)
        return 0;
    struct ship_file f = {.node = node, .name = best->name, .segment = best->segment};
    uint64_t size;
    memcpy(f.id, best->id, sizeof f.id);
    const int rc = hub_append(h, &f, best->size, 0, &size, e);
    return rc == ERR_BUSY ? err_set(e, ERR_NOT_FOUND, "%s is at another offset", h->to) : rc;
}

static int hub_report(struct ship_hub *h, const char *node, int64_t id, bool applied,
                      const char *text, struct err *e)
{
    struct hub_request q = {.method = "POST", .node = node};
    struct http_response r = {0};
    struct buf b = {0};
    struct jw j = {.out = &b};
    jw_object(&j, NULL);
    jw_int(&j, "id", id);
    jw_bool(&j, "applied", applied);
    jw_str(&j, "text", text);
    jw_end(&j);
    q.body = b.p;
    q.n = b.len;
    hub_line(&q, "Content-Type: application/json");
    int rc = hub_send(h, &q, &r, e);
    if (rc == 0 && r.status != 204)
        rc = hub_refused(h, &r, e);
    http_response_free(&r);
    buf_free(&b);
    return rc;
}

static int hub_take_requests(struct ship_hub *h, const char *node, const json_t *list,
                             const struct ship_requests *ask, struct err *e)
{
    struct arena a = {0};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < json_array_size(list) && i < REQUESTS_MOST; i++) {
        const json_t *o = json_array_get(list, i);
        const int64_t id = json_get_within(o, "id", 1, INT64_MAX, 0);
        char answer[ANSWER_LEN] = "";
        const bool applied =
            ask->take(ask->ctx, json_get_str(o, "set", &a, ""), answer, sizeof answer);
        rc = hub_report(h, node, id, applied, answer, e);
    }
    arena_free(&a);
    return rc;
}

static int hub_requests(struct ship_target *t, const char *node, const struct ship_requests *ask,
                        struct err *e)
{
    struct ship_hub *h = (struct ship_hub *)t;
    struct hub_request q = {.method = "GET", .node = node};
    struct http_response r = {0};
    int rc = hub_send(h, &q, &r, e);
    if (rc == 0 && r.status != 200)
        rc = hub_refused(h, &r, e);
    if (rc == 0) {
        json_t *o = json_loadb((const char *)r.body.p, r.body.len, 0, NULL);
        rc = hub_take_requests(h, node, json_object_get(o, "requests"), ask, e);
        json_decref(o);
    }
    http_response_free(&r);
    return rc;
}

static void hub_close(struct ship_target *t)
{
    struct ship_hub *h = (struct ship_hub *)t;
    http_client_close(h->client);
    if (h->authorization)
        explicit_bzero(h->authorization, strlen(h->authorization));
    free(h->authorization);
    free(h->files);
    free(h);
}

static const struct ship_target_ops hub_ops = {
    .put = hub_put,
    .check = hub_check,
    .sealed = hub_sealed,
    .tail = hub_tail,
    .prune = hub_prune,
    .alive = hub_alive,
    .requests = hub_requests,
    .forget = hub_forget,
    .close = hub_close,
};

/* ---- opening ---- */

/* "https://host[:port]": no path. */
static int hub_check_address(const char *to, char base[URL_LEN], struct err *e)
{
    const char *rest;
    TRY(hub_address_of(base, &rest, to, e));
    if (*rest && strcmp(rest, "/") != 0)
        return err_set(e, ERR_USAGE, "'%.200s' is not the address of a hub: https://HOST[:PORT]",
                       to);
    return 0;
}

int ship_read_token(const char *file, struct arena *a, const char **out, struct err *e)
{
    return hub_token_read(file, a, out, e);
}

int ship_hub_check(const struct ship_target_ask *ask, struct err *e)
{
    char base[URL_LEN];
    TRY(hub_check_address(ask->to, base, e));
    if (!ask->token || !*ask->token || strpbrk(ask->token, " \r\n"))
        return err_set(e, ERR_USAGE, "%s needs a write token: in FOOTPLATE_TOKEN, or in a file",
                       base);
    return curl_is_there(e);
}

int ship_hub_open(struct ship_target **out, const struct ship_target_ask *ask, const char *run,
                  struct err *e)
{
    struct ship_hub *h = xcalloc(1, sizeof *h);
    const struct http_client_config config = {.ca = ask->ca, .pinned_key = ask->pinned_key};
    int rc = hub_check_address(ask->to, h->base, e);
    if (rc == 0)
        rc = http_client_open(&h->client, &config, e);
    if (rc) {
        free(h);
        return rc;
    }
    struct buf b = {0};
    buf_printf(&b, "Authorization: Bearer %s%c", ask->token, 0);
    h->authorization = (char *)b.p;
    memcpy(h->to, h->base, sizeof h->to);
    snprintf(h->run, sizeof h->run, "%s", run);
    h->append_most = APPEND_FIRST;
    h->target = (struct ship_target){
        .ops = &hub_ops, .to = h->to, .interval_ns = INTERVAL_NS, .syncs_later = true};
    *out = &h->target;
    return 0;
}
