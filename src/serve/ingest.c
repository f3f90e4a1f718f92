/* SPDX-License-Identifier: Apache-2.0 */
/* ingest.c - see ingest.h.
 *
 * The thread that speaks HTTP parses and checks a request and hands it to a worker: it touches no
 * disk. Requests for the same file are worked on one after the other (the key of the job), so each
 * file has one writer at a time, and the second of two finds its offset taken. Bodies that wait are
 * bounded by HTTP_BODIES. */
#include "serve/ingest.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zstd.h>

#include "base/json_read.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/text.h"
#include "run/storage.h"
#include "serve/hub.h"
#include "serve/hub_control.h"

enum {
    INGEST_STEPS = 3, /* "api", "v1", "ingest" */
    ZSTD_WINDOW_LOG = 23,
    KEY_LEN = 300,
    NUMBER_LEN = 24,
};

/* ---- the request. Pure ---- */

static bool ingest_number(const char *text, uint64_t *out)
{
    if (!text || !*text || strlen(text) > 18 || strspn(text, "0123456789") != strlen(text))
        return false;
    *out = strtoull(text, NULL, 10);
    return true;
}

static bool ingest_file_id(const char *text, uint8_t out[FILE_ID_LEN])
{
    if (!text || strlen(text) != 2 * FILE_ID_LEN ||
        strspn(text, "0123456789abcdef") != strlen(text))
        return false;
    for (size_t i = 0; i < FILE_ID_LEN; i++) {
        const char two[] = {text[2 * i], text[2 * i + 1], 0};
        out[i] = (uint8_t)strtoul(two, NULL, 16);
    }
    return true;
}

static int ingest_parse_encoding(struct ingest_ask *out, const char *encoding, const char **why)
{
    out->zstd = encoding && strcasecmp(encoding, "zstd") == 0;
    if (!encoding || out->zstd || strcasecmp(encoding, "identity") == 0)
        return 0;
    *why = "the Content-Encoding must be zstd, or absent";
    return 415;
}

static int ingest_parse_part(struct ingest_ask *out, ingest_header *header, const void *ctx,
                             const char **why)
{
    const char *type = header(ctx, "Content-Type"), *complete = header(ctx, "Upload-Complete");
    struct receive_part *part = &out->part;
    if (!type || strcasecmp(type, "application/partial-upload") != 0) {
        *why = "the Content-Type must be application/partial-upload";
        return 415;
    }
    *why = !ingest_number(header(ctx, "Upload-Offset"), &part->offset)
               ? "Upload-Offset must be the place of the part in the file, in bytes"
           : !ingest_file_id(header(ctx, "Footplate-File"), part->id)
               ? "Footplate-File must be the id of the file, 32 hexadecimal digits"
           : out->kind == RUN_FILE_TAIL &&
                   !ingest_number(header(ctx, "Footplate-Segment"), &part->segment)
               ? "Footplate-Segment must be the segment of the tail"
           : complete && strcmp(complete, "?0") != 0 && strcmp(complete, "?1") != 0
               ? "Upload-Complete must be ?0 or ?1"
               : NULL;
    part->complete = complete && complete[1] == '1';
    return *why ? 400 : ingest_parse_encoding(out, header(ctx, "Content-Encoding"), why);
}

/* RUN/FILE, RUN/node-ID or RUN/node-ID/FILE after the first `skip` words of the path. */
static int ingest_parse_place(struct receive_place *at, const struct request *q, size_t skip,
                              enum run_file_kind *kind, const char **why)
{
    struct err e;
    const size_t n = q->n_steps - skip;
    const char *const *step = q->step + skip;
    *why = "no such file of a run";
    if (n < 2 || n > 3)
        return 404;
    *at = (struct receive_place){.runs = "", .run = step[0], .node = run_node_id(step[1])};
    if (n == 3 && !at->node)
        return 404;
    at->file = n == 3 ? step[2] : at->node ? NULL : step[1];
    return receive_check_place(at, kind, &e) ? 404 : 0;
}

static bool ingest_is_growing(enum run_file_kind kind)
{
    return kind == RUN_FILE_SEALED || kind == RUN_FILE_TAIL;
}

int ingest_parse(struct ingest_ask *out, enum http_method m, const struct request *q,
                 ingest_header *header, const void *ctx, const char **why)
{
    *out = (struct ingest_ask){0};
    const int rc = ingest_parse_place(&out->at, q, INGEST_STEPS, &out->kind, why);
    if (rc)
        return rc;
    const bool grows = ingest_is_growing(out->kind);
    uint64_t within_s = 0;
    if (ingest_number(header(ctx, "Footplate-Control"), &within_s))
        out->within_s = (unsigned)MIN_OF(within_s, (uint64_t)UINT32_MAX);
    *why = "method not allowed";
    if (m == HTTP_GET && (!out->at.file || grows)) {
        out->op = out->at.file ? INGEST_LOOK : INGEST_STATE;
        return 0;
    }
    if (m == HTTP_PATCH && grows) {
        out->op = INGEST_APPEND;
        return ingest_parse_part(out, header, ctx, why);
    }
    if (m == HTTP_POST && !out->at.file) {
        out->op = INGEST_ANSWER;
        return 0;
    }
    if (m == HTTP_DELETE && out->kind == RUN_FILE_SEALED) {
        out->op = INGEST_REMOVE;
        *why = "Footplate-File must be the id of the file, 32 hexadecimal digits";
        return ingest_file_id(header(ctx, "Footplate-File"), out->part.id) ? 0 : 400;
    }
    out->op = INGEST_PUT;
    if (m != HTTP_PUT || grows || !out->at.file)
        return 405;
    return ingest_parse_encoding(out, header(ctx, "Content-Encoding"), why);
}

/* ---- bodies ---- */

/* A frame with its size, or one without: never more than `most` bytes come out of
 * it, and no more than a window of memory is used. */
static int ingest_unpack(const void *p, size_t n, size_t most, struct buf *out, struct err *e)
{
    ZSTD_DCtx *z = ZSTD_createDCtx();
    ZSTD_inBuffer in = {p, n, 0};
    size_t rc = ZSTD_DCtx_setParameter(z, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG), had = 1;
    bool over = false, ended = false;
    while (!ZSTD_isError(rc) && !over && !ended && (in.pos < n || had)) {
        buf_reserve(out, 64 << 10);
        ZSTD_outBuffer to = {out->p + out->len, out->cap - out->len, 0};
        rc = ZSTD_decompressStream(z, &to, &in);
        had = to.pos;
        out->len += to.pos;
        over = out->len > most;
        ended = rc == 0;
    }
    const bool whole = ended && in.pos == n;
    ZSTD_freeDCtx(z);
    if (over)
        return err_set(e, ERR_LIMIT, "the part has more than %zu bytes", most);
    return whole ? 0 : err_set(e, ERR_FORMAT, "the body is not a zstd frame");
}

/* ---- answers ---- */

struct ingest_job {
    struct work_job job;
    struct server *server;
    struct exchange *x;
    struct arena arena; /* of the request's texts */
    struct ingest_ask ask;
    struct token token;
    unsigned requests; /* that wait for the sender */
    char key[KEY_LEN];
};

static struct reply *ingest_reply(int status, const char *const (*more)[2], struct buf *body,
                                  int retry_s)
{
    return reply_make(&(struct reply_head){.status = status,
                                           .type = body->len ? TYPE_JSON : NULL,
                                           .retry_after_s = retry_s,
                                           .more = more},
                      body);
}

static struct reply *ingest_reply_offset(const struct ingest_job *q, int status,
                                         const struct receive_file *f, struct buf *body)
{
    char offset[NUMBER_LEN], requests[NUMBER_LEN], unsynced[NUMBER_LEN];
    snprintf(offset, sizeof offset, "%llu", (unsigned long long)f->size);
    snprintf(requests, sizeof requests, "%u", q->requests);
    snprintf(unsynced, sizeof unsynced, "%llu",
             (unsigned long long)hub_unsynced_ms(q->server->hub));
    const char *const more[][2] = {{"Upload-Offset", offset},
                                   {"Upload-Complete", f->complete ? "?1" : "?0"},
                                   {"Footplate-Unsynced", unsynced},
                                   {q->requests ? "Footplate-Requests" : NULL, requests},
                                   {NULL, NULL}};
    return ingest_reply(status, more, body, 0);
}

static struct reply *ingest_wrong_offset(const struct ingest_job *q, const struct receive_file *f)
{
    struct buf b = {0};
    struct jw j = {.out = &b};
    jw_object(&j, NULL);
    jw_str(&j, "type", "https://iana.org/assignments/http-problem-types#mismatching-upload-offset");
    jw_str(&j, "error", "the part does not begin where the file ends");
    jw_int(&j, "expected-offset", (int64_t)f->size);
    jw_int(&j, "provided-offset", (int64_t)q->ask.part.offset);
    jw_end(&j);
    return ingest_reply_offset(q, 409, f, &b);
}

/* Paths of this machine are not shown to the client. */
static struct reply *ingest_reply_of_sys(const struct err *e)
{
    char text[160];
    const bool full = e->sys == ENOSPC || e->sys == EDQUOT || e->sys == EFBIG;
    if (full)
        return reply_refused(507);
    fprintf(stderr, "footplate: %s\n", e->msg);
    snprintf(text, sizeof text, "the hub could not write the file: %s", strerror(e->sys));
    return reply_error(500, text);
}

static struct reply *ingest_reply_of_err(const struct err *e, int status_of_usage)
{
    switch (e->code) {
    case ERR_SYS:
        return ingest_reply_of_sys(e);
    case ERR_USAGE:
        return reply_error(status_of_usage, e->msg);
    case ERR_NOT_FOUND:
        return reply_error(404, e->msg);
    case ERR_LIMIT:
        return reply_refused(413);
    case ERR_BUSY:
        return reply_error(412, e->msg);
    default:
        return reply_error(400, e->msg);
    }
}

static void ingest_put_file(void *ctx, const struct receive_file *f)
{
    struct jw *j = ctx;
    char id[2 * FILE_ID_LEN + 1] = "";
    for (size_t i = 0; i < FILE_ID_LEN; i++)
        snprintf(id + 2 * i, 3, "%02x", f->id[i]);
    if (!f->size)
        return;
    jw_object(j, f->name);
    jw_int(j, "size", (int64_t)f->size);
    jw_str(j, "id", id);
    if (f->kind == RUN_FILE_TAIL)
        jw_int(j, "segment", (int64_t)f->segment);
    else
        jw_bool(j, "complete", f->complete);
    jw_end(j);
}

static void ingest_put_request(void *ctx, const struct hub_control_request *q)
{
    struct jw *j = ctx;
    jw_object(j, NULL);
    jw_int(j, "id", (int64_t)q->id);
    jw_str(j, "set", q->set);
    jw_end(j);
}

static struct reply *ingest_state(const struct ingest_job *q, struct err *e)
{
    struct buf b = {0};
    struct jw j = {.out = &b};
    const uint64_t left = hub_left(q->server->hub, &q->token);
    jw_object(&j, NULL);
    jw_object(&j, "files");
    const int rc = receive_state(&q->ask.at, ingest_put_file, &j, e);
    jw_end(&j);
    jw_array(&j, "requests");
    hub_control_take(hub_control(q->server->hub), q->ask.at.run, q->ask.at.node, ingest_put_request,
                     &j);
    jw_end(&j);
    jw_int(&j, "append_bytes", HUB_APPEND_MOST);
    if (left != UINT64_MAX)
        jw_int(&j, "quota_left_bytes", (int64_t)left);
    jw_end(&j);
    if (rc) {
        buf_free(&b);
        return ingest_reply_of_err(e, 400);
    }
    return ingest_reply(200, NULL, &b, 0);
}

static struct reply *ingest_look(const struct ingest_job *q, struct err *e)
{
    struct receive_file f;
    struct buf none = {0};
    return receive_look(&q->ask.at, &f, e) ? ingest_reply_of_err(e, 400)
                                           : ingest_reply_offset(q, 204, &f, &none);
}

static struct reply *ingest_append(struct ingest_job *q, const void *p, size_t n, struct err *e)
{
    struct receive_part *part = &q->ask.part;
    struct receive_file f = {0};
    struct buf none = {0};
    part->p = p;
    part->n = n;
    const int rc = receive_append(&q->ask.at, part, &f, e);
    if (rc == ERR_BUSY)
        return ingest_wrong_offset(q, &f);
    if (rc)
        return ingest_reply_of_err(e, 409);
    hub_count(q->server->hub, &q->token, n);
    q->requests = hub_control_seen(hub_control(q->server->hub), q->ask.at.run, q->ask.at.node,
                                   q->ask.within_s);
    return ingest_reply_offset(q, 204, &f, &none);
}

static struct reply *ingest_put(const struct ingest_job *q, const void *p, size_t n, struct err *e)
{
    struct buf none = {0};
    const bool makes = q->ask.kind == RUN_FILE_ABOUT; /* nothing is made for what is none */
    if ((makes || q->ask.kind == RUN_FILE_NODE) && n > RECEIVE_SMALL_MOST)
        return reply_refused(413);
    if (makes &&
        (receive_check(&q->ask.at, p, n, e) || receive_own(&q->ask.at, q->token.name, true, e)))
        return ingest_reply_of_err(e, 403);
    if (receive_put(&q->ask.at, p, n, e))
        return ingest_reply_of_err(e, 400);
    hub_count(q->server->hub, &q->token, n);
    return ingest_reply(makes ? 201 : 204, NULL, &none, 0);
}

static struct reply *ingest_remove(const struct ingest_job *q, struct err *e)
{
    struct buf none = {0};
    return receive_remove(&q->ask.at, q->ask.part.id, e) ? ingest_reply_of_err(e, 409)
                                                         : ingest_reply(204, NULL, &none, 0);
}

/* {"id": 17, "applied": true, "text": "interval is 100 ms now"} */
static struct reply *ingest_take_answer(const struct ingest_job *q, struct err *e)
{
    struct arena a = {0};
    struct buf none = {0};
    json_t *o = json_loadb(q->x->body, q->x->body_len, JSON_REJECT_DUPLICATES, NULL);
    const int64_t id = json_get_within(o, "id", 1, INT64_MAX, 0);
    const char *text = json_get_str(o, "text", &a, NULL);
    const bool applied = json_is_true(json_object_get(o, "applied"));
    json_decref(o);
    const int rc = id && text
                       ? 0
                       : err_set(e, ERR_FORMAT,
                                 "the body must be {\"id\": ..., \"applied\": ..., \"text\": ...}");
    if (rc == 0)
        hub_control_answer(hub_control(q->server->hub), q->ask.at.run, q->ask.at.node, (uint64_t)id,
                           applied, text);
    arena_free(&a);
    return rc ? ingest_reply_of_err(e, 400) : ingest_reply(204, NULL, &none, 0);
}

static struct reply *ingest_write(struct ingest_job *q, struct err *e)
{
    struct buf plain = {0};
    const void *p = q->x->body;
    size_t n = q->x->body_len;
    const size_t most = q->ask.op == INGEST_PUT ? HUB_WHOLE_MOST : HUB_PART_MOST;
    if (q->ask.zstd) {
        if (ingest_unpack(p, n, most, &plain, e)) {
            buf_free(&plain);
            return ingest_reply_of_err(e, 400);
        }
        p = plain.p ? plain.p : (const uint8_t *)"";
        n = plain.len;
    }
    struct reply *r = n && hub_left(q->server->hub, &q->token) < n
                          ? reply_refused(507) /* decoded it is more than was admitted */
                      : q->ask.op == INGEST_PUT ? ingest_put(q, p, n, e)
                                                : ingest_append(q, p, n, e);
    buf_free(&plain);
    return r;
}

static struct reply *ingest_answer(struct ingest_job *q)
{
    struct err e = {0};
    const bool makes = q->ask.op == INGEST_PUT && q->ask.kind == RUN_FILE_ABOUT;
    q->ask.at.runs = hub_folder(q->server->hub);
    if (!makes && receive_own(&q->ask.at, q->token.name, false, &e))
        return ingest_reply_of_err(&e, 403);
    if (q->ask.op == INGEST_STATE)
        return ingest_state(q, &e);
    if (q->ask.op == INGEST_LOOK)
        return ingest_look(q, &e);
    if (q->ask.op == INGEST_REMOVE)
        return ingest_remove(q, &e);
    if (q->ask.op == INGEST_ANSWER)
        return ingest_take_answer(q, &e);
    return ingest_write(q, &e);
}

static void ingest_end(struct ingest_job *q, struct reply *r)
{
    struct exchange *x = q->x;
    arena_free(&q->arena);
    explicit_bzero(&q->token, sizeof q->token);
    free(q);
    exchange_answer(x, r);
}

static void ingest_run_job(struct work_job *j, bool ends)
{
    struct ingest_job *q = (struct ingest_job *)j;
    ingest_end(q, ends ? reply_refused(503) : ingest_answer(q));
}

/* ---- requests ---- */

static const char *ingest_header_of(const void *ctx, const char *name)
{
    return exchange_header(ctx, name);
}

int ingest_admit(struct server *s, const struct exchange *x, const char *bearer, uint64_t bytes,
                 size_t *most)
{
    struct token t;
    if (!bearer || !rights_find_writer(s->rights, bearer, &t))
        return 0; /* refused when it is processed; a small body does no harm */
    *most = x->method == HTTP_PATCH ? HUB_APPEND_MOST : HUB_WHOLE_MOST;
    const int status = bytes <= *most ? hub_admit(s->hub, &t, bytes) : 0;
    explicit_bzero(&t, sizeof t);
    return status;
}

void serve_ingest(struct visit *v, const struct token *t)
{
    struct ingest_ask ask;
    const char *why;
    int status = ingest_parse(&ask, v->x->method, &v->request, ingest_header_of, v->x, &why);
    if (!status && !hub_run_allowed(t, ask.at.run)) {
        status = 403;
        why = "this token is for runs of other names";
    }
    if (status) {
        exchange_answer(v->x, reply_error(status, why));
        return;
    }
    struct ingest_job *q = xcalloc(1, sizeof *q);
    *q = (struct ingest_job){.job = {.key = q->key, .run = ingest_run_job},
                             .server = v->server,
                             .x = v->x,
                             .arena = v->arena,
                             .ask = ask,
                             .token = *t};
    v->arena = (struct arena){0};
    snprintf(q->key, sizeof q->key, "%s/%s/%s", ask.at.run, ask.at.node ? ask.at.node : "",
             ask.at.file ? ask.at.file : "");
    exchange_wait(q->x);
    if (!work_add(q->server->ingest, &q->job))
        ingest_run_job(&q->job, true);
}
