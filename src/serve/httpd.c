/* SPDX-License-Identifier: Apache-2.0 */
/* httpd.c - see httpd.h.
 *
 * A pool of threads, each with its own poll(): Debian's libmicrohttpd 0.9.75 stalls with its
 * internal epoll when the number of ready connections is a multiple of 128.
 *
 * A connection sends a request, waits for the answer, receives it, and sends the next request. A
 * client that sends or receives too slowly is cut off; one that waits is not. Cutting only shuts
 * the socket down: libmicrohttpd closes it and reports that. */
#include "serve/httpd.h"

#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "serve/sockets.h"

enum {
    CONNECTION_BYTES = 16 << 10, /* request line and headers of one request; else 413 or 431 */
    STACK = 1 << 20,
    WATCH_MS = 1000,
    STREAM_BLOCK = 4096,
    WORD_MOST = 256, /* of an If-None-Match that is compared */
};

enum conn_state { CONN_REQUESTS, CONN_WAITS, CONN_RECEIVES, CONN_STREAMS };

struct conn {
    int fd;
    struct sockaddr_storage peer;
    _Atomic int state;                        /* enum conn_state */
    _Atomic int64_t since;                    /* ns of the monotonic clock */
    _Atomic bool large;                       /* it is sending a large body */
    _Atomic(struct MHD_Connection *) sleeper; /* a stream that has nothing to send; NULL: none */
    _Atomic bool gone;                        /* the client hung up while the stream slept */
    _Atomic(struct reply *) sending;          /* NULL: none */
    uintptr_t note;                           /* see exchange_note */
    struct conn *before, *next;
};

struct reply {
    _Atomic unsigned refs;
    _Atomic unsigned receivers; /* connections that it is being sent to */
    struct MHD_Response *response;
    int status;
    size_t bytes;
    struct reply_source *source; /* of a stream; NULL: it is none */
    char etag[HTTP_ETAG_LEN];    /* "": none */
};

struct httpd_exchange {
    struct exchange x; /* first, so that the caller's pointer is ours */
    struct httpd *httpd;
    struct MHD_Connection *connection;
    struct conn *conn;
    char *uri;
    struct buf body;
    size_t body_most;
    size_t held; /* of HTTP_BODIES */
    bool seen, complete, waits;
    struct reply *reply; /* to be sent */
};

struct httpd {
    struct MHD_Daemon *daemon;
    struct httpd_options options;
    _Atomic uint64_t requests;
    _Atomic size_t unsent; /* bytes of replies that are being sent; each counts once */
    _Atomic size_t bodies; /* bytes of large bodies that are received or worked on */
    pthread_mutex_t conns_lock;
    struct conn *conns;
    size_t n_conns;
    pthread_t watcher; /* of slow and closed connections */
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool end;
};

/* ---- replies, and the headers that all of them have ---- */

/* Answers are not framed, their type is not guessed, and they are not shared with other sites. */
static const char *const always[][2] = {
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"X-Frame-Options", "DENY"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
};
static const char no_loading[] =
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static void reply_put_header(struct MHD_Response *m, const char *name, const char *value)
{
    if (value)
        (void)MHD_add_response_header(m, name, value);
}

static void reply_put_common(struct MHD_Response *m, const char *csp, const char *cache,
                             const char *etag)
{
    for (size_t i = 0; i < COUNT_OF(always); i++)
        reply_put_header(m, always[i][0], always[i][1]);
    reply_put_header(m, "Content-Security-Policy", csp ? csp : no_loading);
    reply_put_header(m, "Cache-Control", cache ? cache : "no-store");
    reply_put_header(m, "ETag", etag);
}

/* A name that a header can carry: anything else in it becomes '-'. */
static void reply_put_file_name(struct MHD_Response *m, const char *name)
{
    char text[300];
    if (!name)
        return;
    const int n = snprintf(text, sizeof text, "attachment; filename=\"%.255s\"", name);
    for (int i = (int)strlen("attachment; filename=\""); i < n - 1; i++)
        if (!strchr("._-~@", text[i]) && !(text[i] >= '0' && text[i] <= '9') &&
            !((text[i] | 32) >= 'a' && (text[i] | 32) <= 'z'))
            text[i] = '-';
    reply_put_header(m, "Content-Disposition", text);
}

static struct reply *reply_finish(struct MHD_Response *m, const struct reply_head *h, size_t bytes)
{
    if (!m) /* libmicrohttpd has no memory: nor have we */
        abort();
    struct reply *r = xcalloc(1, sizeof *r);
    *r = (struct reply){.response = m, .status = h->status, .bytes = bytes};
    atomic_store(&r->refs, 1);
    if (h->etag)
        snprintf(r->etag, sizeof r->etag, "%s", h->etag);
    reply_put_common(m, h->csp, h->cache, h->etag);
    reply_put_header(m, "Content-Type", h->type);
    reply_put_header(m, "Content-Encoding", h->encoding);
    reply_put_header(m, "Vary", h->etag ? "Accept-Encoding" : NULL);
    reply_put_header(m, "Set-Cookie", h->cookie);
    reply_put_header(m, "Location", h->location);
    reply_put_file_name(m, h->file_name);
    for (size_t i = 0; h->more && h->more[i][0]; i++)
        reply_put_header(m, h->more[i][0], h->more[i][1]);
    if (h->retry_after_s > 0) {
        char text[16];
        snprintf(text, sizeof text, "%d", h->retry_after_s);
        reply_put_header(m, "Retry-After", text);
    }
    return r;
}

struct reply *reply_make(const struct reply_head *h, struct buf *body)
{
    const size_t n = body->len;
    struct MHD_Response *m = MHD_create_response_from_buffer(
        n, body->p, n ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    if (!n)
        buf_free(body);
    *body = (struct buf){0};
    return reply_finish(m, h, n);
}

struct reply *reply_fixed(const struct reply_head *h, const void *p, size_t n)
{
    return reply_finish(
        MHD_create_response_from_buffer(n, (void *)(uintptr_t)p, MHD_RESPMEM_PERSISTENT), h, n);
}

static ssize_t reply_read_source(void *cls, uint64_t at, char *out, size_t most)
{
    struct reply_source *s = cls;
    (void)at;
    const ssize_t n = s->read(s->ctx, out, most);
    return n < 0 ? MHD_CONTENT_READER_END_OF_STREAM : n;
}

/* Once, by the thread of the connection. */
static void reply_end_source(struct reply_source *s)
{
    if (s->done)
        s->done(s->ctx);
    s->done = NULL;
}

static void reply_free_source(void *cls)
{
    struct reply_source *s = cls;
    reply_end_source(s);
    free(s);
}

struct reply *reply_stream(const struct reply_head *h, const struct reply_source *s)
{
    struct reply_source *own = xmalloc(sizeof *own);
    *own = *s;
    struct reply *r =
        reply_finish(MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK,
                                                       reply_read_source, own, reply_free_source),
                     h, 0);
    r->source = own;
    return r;
}

static struct MHD_Response *reply_not_modified(const struct reply *r)
{
    struct MHD_Response *m = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    if (!m)
        abort();
    /* A browser replaces the headers that it has cached by these. */
    reply_put_common(m, MHD_get_response_header(r->response, "Content-Security-Policy"),
                     MHD_get_response_header(r->response, "Cache-Control"), r->etag);
    reply_put_header(m, "Vary", "Accept-Encoding");
    return m;
}

struct reply *reply_ref(struct reply *r)
{
    atomic_fetch_add(&r->refs, 1);
    return r;
}

void reply_free(struct reply *r)
{
    if (!r || atomic_fetch_sub(&r->refs, 1) != 1)
        return;
    MHD_destroy_response(r->response);
    free(r);
}

size_t reply_bytes(const struct reply *r)
{
    return r->bytes;
}

int reply_status(const struct reply *r)
{
    return r->status;
}

/* ---- connections ---- */

static void conn_is(struct conn *x, enum conn_state s)
{
    atomic_store(&x->since, clock_mono().ns);
    atomic_store(&x->state, (int)s);
}

static struct conn *conn_add(struct httpd *h, int fd, const struct sockaddr *peer)
{
    struct conn *x = xcalloc(1, sizeof *x);
    x->fd = fd;
    memcpy(&x->peer, peer,
           peer->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
    conn_is(x, CONN_REQUESTS);
    pthread_mutex_lock(&h->conns_lock);
    x->next = h->conns;
    if (x->next)
        x->next->before = x;
    h->conns = x;
    h->n_conns++;
    pthread_mutex_unlock(&h->conns_lock);
    return x;
}

static void conn_remove(struct httpd *h, struct conn *x)
{
    pthread_mutex_lock(&h->conns_lock);
    *(x->before ? &x->before->next : &h->conns) = x->next;
    if (x->next)
        x->next->before = x->before;
    h->n_conns--;
    pthread_mutex_unlock(&h->conns_lock);
    free(x);
}

size_t httpd_connections(struct httpd *h)
{
    pthread_mutex_lock(&h->conns_lock);
    const size_t n = h->n_conns;
    pthread_mutex_unlock(&h->conns_lock);
    return n;
}

static enum MHD_Result httpd_admit(void *cls, const struct sockaddr *peer, socklen_t len)
{
    struct httpd *h = cls;
    size_t same = 0;
    (void)len;
    pthread_mutex_lock(&h->conns_lock);
    const bool room = h->n_conns < HTTP_CONNECTIONS;
    for (const struct conn *x = h->conns; room && x && !addr_is_loopback(peer); x = x->next)
        same += addr_same((const struct sockaddr *)&x->peer, peer);
    pthread_mutex_unlock(&h->conns_lock);
    return room && same < HTTP_PER_ADDRESS ? MHD_YES : MHD_NO;
}

static void httpd_notify(void *cls, struct MHD_Connection *c, void **own,
                         enum MHD_ConnectionNotificationCode code)
{
    struct httpd *h = cls;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        if (*own)
            conn_remove(h, *own);
        return;
    }
    const int fd = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    *own = conn_add(h, fd,
                    MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr);
}

/* Only the thread that takes the sleeper out resumes it, and until then it cannot end. */
static void conn_wake(struct conn *x)
{
    struct MHD_Connection *c = atomic_exchange(&x->sleeper, NULL);
    if (c)
        MHD_resume_connection(c);
}

static bool conn_hung_up(const struct conn *x)
{
    struct pollfd p = {.fd = x->fd, .events = POLLRDHUP};
    return poll(&p, 1, 0) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

static bool conn_too_slow(struct conn *x, mono_ns now)
{
    static const int64_t most_s[] = {
        [CONN_REQUESTS] = HTTP_REQUEST_S, [CONN_RECEIVES] = HTTP_ANSWER_S};
    const int state = atomic_load(&x->state);
    if (state != CONN_REQUESTS && state != CONN_RECEIVES)
        return false;
    const int64_t most =
        state == CONN_REQUESTS && atomic_load(&x->large) ? HTTP_LARGE_S : most_s[state];
    return now.ns - atomic_load(&x->since) > most * NS_PER_S;
}

/* Cuts off clients that are too slow, and wakes streams whose client has disconnected. */
static void httpd_check_conns(struct httpd *h, mono_ns now)
{
    pthread_mutex_lock(&h->conns_lock);
    for (struct conn *x = h->conns; x; x = x->next) {
        if (conn_too_slow(x, now))
            shutdown(x->fd, SHUT_RDWR);
        if (atomic_load(&x->sleeper) && conn_hung_up(x)) {
            atomic_store(&x->gone, true);
            conn_wake(x);
        }
    }
    pthread_mutex_unlock(&h->conns_lock);
}

static void *httpd_watch(void *cls)
{
    struct httpd *h = cls;
    mono_ns now = clock_mono(), next = now;
    for (; !thread_sleep(&h->end, &h->lock, &h->ended, next); now = clock_mono()) {
        next = mono_add(now, WATCH_MS * NS_PER_MS);
        httpd_check_conns(h, now);
    }
    return NULL;
}

/* ---- replies that are being sent ---- */

/* The thread that takes the reply out gives its count back; until then it stays. */
static void httpd_end_sending(struct httpd *h, struct conn *x)
{
    struct reply *r = atomic_exchange(&x->sending, NULL);
    if (r && atomic_fetch_sub(&r->receivers, 1) == 1)
        atomic_fetch_sub(&h->unsent, r->bytes);
    reply_free(r);
}

/* Cuts off the client that has been receiving for longest. False: only `but` is receiving. */
static bool httpd_cut_slowest(struct httpd *h, const struct conn *but)
{
    struct conn *slowest = NULL;
    pthread_mutex_lock(&h->conns_lock);
    for (struct conn *x = h->conns; x; x = x->next)
        if (x != but && atomic_load(&x->sending) &&
            (!slowest || atomic_load(&x->since) < atomic_load(&slowest->since)))
            slowest = x;
    if (slowest) {
        shutdown(slowest->fd, SHUT_RDWR);
        httpd_end_sending(h, slowest);
    }
    pthread_mutex_unlock(&h->conns_lock);
    return slowest != NULL;
}

/* The slowest clients make room for it. */
static void httpd_begin_sending(struct httpd *h, struct conn *x, struct reply *r)
{
    if (atomic_fetch_add(&r->receivers, 1) == 0)
        atomic_fetch_add(&h->unsent, r->bytes);
    atomic_store(&x->sending, reply_ref(r));
    while (atomic_load(&h->unsent) > HTTP_UNSENT && httpd_cut_slowest(h, x))
        ;
}

/* ---- requests ---- */

const char *exchange_header(const struct exchange *x, const char *name)
{
    return MHD_lookup_connection_value(((const struct httpd_exchange *)x)->connection,
                                       MHD_HEADER_KIND, name);
}

static struct httpd_exchange *exchange_begin(struct httpd *h, struct MHD_Connection *c,
                                             const char *uri)
{
    struct httpd_exchange *x = xcalloc(1, sizeof *x);
    struct conn *conn =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    *x = (struct httpd_exchange){.httpd = h, .connection = c, .conn = conn, .uri = xstrdup(uri)};
    x->x = (struct exchange){.uri = x->uri, .body = ""};
    if (conn) {
        x->x.peer = (const struct sockaddr *)&conn->peer;
        x->x.fd = conn->fd;
        x->x.note = &conn->note;
    }
    return x;
}

static void *httpd_log_uri(void *cls, const char *uri, struct MHD_Connection *c)
{
    return exchange_begin(cls, c, uri);
}

static void httpd_completed(void *cls, struct MHD_Connection *c, void **own,
                            enum MHD_RequestTerminationCode code)
{
    struct httpd_exchange *x = *own;
    (void)c, (void)code;
    if (!x)
        return;
    *own = NULL;
    /* The response is freed later, and until its source ends a producer may wake the exchange. */
    if (x->reply && x->reply->source)
        reply_end_source(x->reply->source);
    if (x->conn) {
        httpd_end_sending(cls, x->conn);
        atomic_store(&x->conn->large, false);
        conn_is(x->conn, CONN_REQUESTS);
    }
    atomic_fetch_sub(&x->httpd->bodies, x->held);
    reply_free(x->reply);
    buf_free(&x->body);
    free(x->uri);
    free(x);
}

static enum http_method httpd_method_of(const char *text)
{
    static const char *const words[] = {
        [HTTP_GET] = "GET",     [HTTP_POST] = "POST",     [HTTP_PUT] = "PUT",
        [HTTP_PATCH] = "PATCH", [HTTP_DELETE] = "DELETE", [HTTP_OTHER] = NULL};
    if (strcmp(text, "HEAD") == 0)
        return HTTP_GET;
    for (size_t i = 0; words[i]; i++)
        if (strcmp(text, words[i]) == 0)
            return (enum http_method)i;
    return HTTP_OTHER;
}

static bool exchange_has_tag(const struct httpd_exchange *x, const struct reply *r)
{
    const char *list = r->etag[0] ? exchange_header(&x->x, "If-None-Match") : NULL;
    return list && strlen(list) < WORD_MOST && strstr(list, r->etag) != NULL;
}

static enum MHD_Result exchange_send(struct httpd_exchange *x)
{
    struct reply *r = x->reply;
    conn_is(x->conn, r->source ? CONN_STREAMS : CONN_RECEIVES);
    if (r->status != 200 || !exchange_has_tag(x, r)) {
        if (r->bytes)
            httpd_begin_sending(x->httpd, x->conn, r);
        return MHD_queue_response(x->connection, (unsigned)r->status, r->response);
    }
    struct MHD_Response *m = reply_not_modified(r);
    const enum MHD_Result done = MHD_queue_response(x->connection, MHD_HTTP_NOT_MODIFIED, m);
    MHD_destroy_response(m);
    return done;
}

/* The request is whole, or it is refused before its body came. */
static enum MHD_Result exchange_serve(struct httpd_exchange *x)
{
    if (!x->complete) {
        x->complete = true;
        x->x.body_len = x->body.len;
        if (x->body.len) {
            buf_u8(&x->body, 0);
            x->x.body = (const char *)x->body.p;
        }
        atomic_fetch_add(&x->httpd->requests, 1);
        x->httpd->options.request(x->httpd->options.ctx, &x->x);
        if (x->waits) /* another thread has it; once that has answered this is called again */
            return MHD_YES;
    }
    return exchange_send(x);
}

static enum MHD_Result exchange_take_body(struct httpd_exchange *x, const char *data, size_t *n)
{
    if (x->body.len + *n > x->body_most)
        return MHD_NO;
    buf_put(&x->body, data, *n);
    *n = 0;
    return MHD_YES;
}

/* 0, or the status to refuse it with. A body of unknown length must be small. */
static int exchange_admit(struct httpd_exchange *x)
{
    const struct httpd_options *o = &x->httpd->options;
    const char *length = exchange_header(&x->x, "Content-Length");
    const uint64_t bytes = length ? strtoull(length, NULL, 10) : 0;
    x->body_most = HTTP_BODY_MOST;
    const int status = o->admit ? o->admit(o->ctx, &x->x, bytes, &x->body_most) : 0;
    if (status || bytes > x->body_most)
        return status ? status : MHD_HTTP_CONTENT_TOO_LARGE;
    if (bytes <= HTTP_BODY_MOST) {
        x->body_most = HTTP_BODY_MOST;
        return 0;
    }
    x->held = bytes;
    x->body_most = bytes;
    atomic_store(&x->conn->large, true);
    return atomic_fetch_add(&x->httpd->bodies, bytes) + bytes > HTTP_BODIES
               ? MHD_HTTP_SERVICE_UNAVAILABLE
               : 0;
}

static enum MHD_Result httpd_handle(void *cls, struct MHD_Connection *c, const char *url,
                                    const char *method, const char *version, const char *data,
                                    size_t *n, void **own)
{
    struct httpd_exchange *x = *own;
    (void)version;
    if (!x)
        x = *own = exchange_begin(cls, c, url);
    if (!x->seen) {
        x->seen = true;
        x->x.method = httpd_method_of(method);
        x->x.body_refused = exchange_admit(x);
        return x->x.body_refused ? exchange_serve(x) : MHD_YES;
    }
    return *n ? exchange_take_body(x, data, n) : exchange_serve(x);
}

/* ---- the daemon ---- */

static void httpd_start_daemon(struct httpd *h)
{
    static char tls_1_2[] = "NORMAL:-VERS-TLS1.0:-VERS-TLS1.1"; /* or later */
    const bool tls = h->options.cert != NULL;
    const struct MHD_OptionItem tls_options[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)h->options.cert},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)h->options.key},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, tls_1_2},
        {MHD_OPTION_END, 0, NULL},
    };
    const struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
    h->daemon = MHD_start_daemon(
        MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC |
            (tls ? MHD_USE_TLS : 0),
        0, httpd_admit, h, httpd_handle, h, MHD_OPTION_LISTEN_SOCKET, h->options.fd,
        MHD_OPTION_THREAD_POOL_SIZE, h->options.threads, MHD_OPTION_THREAD_STACK_SIZE,
        (size_t)STACK, MHD_OPTION_CONNECTION_LIMIT, (unsigned)HTTP_CONNECTIONS,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)HTTP_IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CONNECTION_BYTES, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_URI_LOG_CALLBACK,
        httpd_log_uri, h, MHD_OPTION_NOTIFY_COMPLETED, httpd_completed, h,
        MHD_OPTION_NOTIFY_CONNECTION, httpd_notify, h, MHD_OPTION_ARRAY, tls ? tls_options : none,
        MHD_OPTION_END);
}

int httpd_start(struct httpd **out, const struct httpd_options *options, struct err *e)
{
    struct httpd *h = xcalloc(1, sizeof *h);
    h->options = *options;
    pthread_mutex_init(&h->conns_lock, NULL);
    pthread_mutex_init(&h->lock, NULL);
    thread_cond_init(&h->ended);
    int rc = thread_start(&h->watcher, STACK, httpd_watch, h, "http-watch", e);
    if (rc) {
        free(h);
        return rc;
    }
    httpd_start_daemon(h);
    if (!h->daemon) {
        h->options.fd = -1; /* stays the caller's */
        httpd_stop(h);
        return err_set(
            e, ERR_SYS, "the HTTP server could not be started%s",
            options->cert ? ": check that the certificate and the key are matching PEM files" : "");
    }
    *out = h;
    return 0;
}

void httpd_quiesce(struct httpd *h)
{
    const int fd = MHD_quiesce_daemon(h->daemon);
    if (fd >= 0)
        close(fd);
}

void httpd_stop(struct httpd *h)
{
    if (!h)
        return;
    thread_set_flag(&h->end, &h->lock, &h->ended);
    pthread_join(h->watcher, NULL);
    if (h->daemon)
        MHD_stop_daemon(h->daemon);
    free(h);
}

uint64_t httpd_requests(struct httpd *h)
{
    return atomic_load(&h->requests);
}

/* ---- answering ---- */

static struct httpd_exchange *exchange_own(const struct exchange *x)
{
    return (struct httpd_exchange *)(uintptr_t)x;
}

void exchange_answer(struct exchange *x, struct reply *r)
{
    struct httpd_exchange *own = exchange_own(x);
    own->reply = r;
    if (own->waits)
        MHD_resume_connection(own->connection);
}

void exchange_wait(struct exchange *x)
{
    struct httpd_exchange *own = exchange_own(x);
    own->waits = true;
    conn_is(own->conn, CONN_WAITS);
    MHD_suspend_connection(own->connection);
}

void exchange_sleep(struct exchange *x)
{
    struct httpd_exchange *own = exchange_own(x);
    MHD_suspend_connection(own->connection);
    atomic_store(&own->conn->sleeper, own->connection);
}

void exchange_wake(struct exchange *x)
{
    conn_wake(exchange_own(x)->conn);
}

bool exchange_gone(const struct exchange *x)
{
    return atomic_load(&exchange_own(x)->conn->gone);
}
