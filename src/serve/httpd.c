/* SPDX-License-Identifier: Apache-2.0 */
/* httpd.c - see httpd.h.
 *
 * A pool of threads, each with its own poll(): Debian's libmicrohttpd 0.9.75 stalls with its
 * internal epoll when the number of ready connections is a multiple of 128. */
#include "serve/httpd.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/thread.h"
#include "base/mem.h"
#include "serve/httpd_internal.h"

enum {
    CONNECTION_BYTES = 16 << 10, /* request line and headers of one request; else 413 or 431 */
    STACK = 1 << 20,
    LOOK_MS = 1000,
    WORD_MOST = 256, /* of an If-None-Match that is looked at */
};

struct httpd {
    struct MHD_Daemon *daemon;
    struct httpd_options ask;
    struct conns conns;
    _Atomic uint64_t requests;
    _Atomic size_t unsent; /* bytes of answers that are being sent; each counts once */
    pthread_t looker;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool end;
};

/* ---- connections ---- */

static enum MHD_Result httpd_admit(void *cls, const struct sockaddr *peer, socklen_t len)
{
    struct httpd *h = cls;
    if (conns_count(&h->conns) >= HTTP_CONNECTIONS)
        return MHD_NO;
    if (!addr_is_loopback(peer) && conns_of(&h->conns, peer) >= HTTP_PER_ADDRESS)
        return MHD_NO;
    return h->ask.admit(h->ask.ctx, peer, len) ? MHD_YES : MHD_NO;
}

static void notify_conn(void *cls, struct MHD_Connection *c, void **own,
                        enum MHD_ConnectionNotificationCode code)
{
    struct httpd *h = cls;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        if (*own)
            conns_remove(&h->conns, *own);
        return;
    }
    const union MHD_ConnectionInfo *fd =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    const int sock = fd->connect_fd;
    const union MHD_ConnectionInfo *peer =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const socklen_t len = peer->client_addr->sa_family == AF_INET ? sizeof(struct sockaddr_in)
                                                                  : sizeof(struct sockaddr_in6);
    *own = conns_add(&h->conns, sock, peer->client_addr, len);
}

/* Only who takes the sleeper out resumes it, and until then it cannot end. */
static void wake_sleeper(struct conn *x)
{
    struct MHD_Connection *c = atomic_exchange(&x->sleeper, NULL);
    if (c)
        MHD_resume_connection(c);
}

static void *httpd_look(void *cls)
{
    struct httpd *h = cls;
    pthread_mutex_lock(&h->lock);
    while (!h->end) {
        const mono_ns now = clock_mono();
        conns_look(&h->conns, now, wake_sleeper);
        while (!h->end && thread_wait(&h->ended, &h->lock, mono_add(now, LOOK_MS * NS_PER_MS)))
            ;
    }
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

/* ---- answers on their way ---- */

/* Whoever takes the answer out gives it up, and until then it stays. */
static void httpd_let_go(void *cls, struct conn *x)
{
    struct httpd *h = cls;
    struct reply *r = atomic_exchange(&x->takes, NULL);
    if (r && atomic_fetch_sub(&r->takers, 1) == 1)
        atomic_fetch_sub(&h->unsent, r->bytes);
    reply_free(r);
}

/* Others who have been slow for longest make room for it. */
static void take_up(struct httpd *h, struct conn *x, struct reply *r)
{
    if (atomic_fetch_add(&r->takers, 1) == 0)
        atomic_fetch_add(&h->unsent, r->bytes);
    atomic_store(&x->takes, reply_ref(r));
    while (atomic_load(&h->unsent) > HTTP_UNSENT &&
           conns_cut_slowest(&h->conns, x, httpd_let_go, h))
        ;
}

/* ---- requests ---- */

static struct exchange *httpd_begin(struct httpd *h, struct MHD_Connection *c, const char *uri)
{
    struct exchange *x = xcalloc(1, sizeof *x);
    const union MHD_ConnectionInfo *own =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    *x = (struct exchange){.httpd = h, .connection = c, .conn = own->socket_context};
    x->uri = xstrdup(uri);
    return x;
}

static void *log_uri(void *cls, const char *uri, struct MHD_Connection *c)
{
    return httpd_begin(cls, c, uri);
}

static void completed(void *cls, struct MHD_Connection *c, void **own,
                      enum MHD_RequestTerminationCode code)
{
    struct exchange *x = *own;
    (void)c, (void)code;
    if (!x)
        return;
    *own = NULL;
    if (x->conn) {
        httpd_let_go(cls, x->conn);
        conn_is(x->conn, CONN_REQUESTS);
    }
    reply_free(x->reply);
    buf_free(&x->body);
    free(x->uri);
    free(x);
}

static enum http_method method_of(const char *text)
{
    if (strcmp(text, "GET") == 0 || strcmp(text, "HEAD") == 0)
        return HTTP_GET;
    return strcmp(text, "POST") == 0 ? HTTP_POST : HTTP_OTHER;
}

static bool declared_too_large(struct exchange *x)
{
    const char *length = exchange_header(x, "Content-Length");
    return length && strtoull(length, NULL, 10) > HTTP_BODY_MOST;
}

static bool has_tag(const struct exchange *x, const struct reply *r)
{
    const char *list = r->etag[0] ? exchange_header(x, "If-None-Match") : NULL;
    return list && strlen(list) < WORD_MOST && strstr(list, r->etag) != NULL;
}

static enum MHD_Result send_reply(struct exchange *x)
{
    struct reply *r = x->reply;
    conn_is(x->conn, r->stream ? CONN_STREAMS : CONN_TAKES);
    if (r->status != 200 || !has_tag(x, r)) {
        if (r->bytes)
            take_up(x->httpd, x->conn, r);
        return MHD_queue_response(x->connection, (unsigned)r->status, r->response);
    }
    struct MHD_Response *m = reply_not_modified(r);
    const enum MHD_Result done = MHD_queue_response(x->connection, MHD_HTTP_NOT_MODIFIED, m);
    MHD_destroy_response(m);
    return done;
}

/* The request is whole, or it is refused before its body came. */
static enum MHD_Result httpd_serve(struct exchange *x)
{
    if (!x->complete) {
        x->complete = true;
        atomic_fetch_add(&x->httpd->requests, 1);
        x->httpd->ask.request(x->httpd->ask.ctx, x);
        if (x->waits) /* another thread has it; once that has answered this is called again */
            return MHD_YES;
    }
    return send_reply(x);
}

static enum MHD_Result take_body(struct exchange *x, const char *data, size_t *n)
{
    if (x->body.len + *n > HTTP_BODY_MOST)
        return MHD_NO;
    buf_put(&x->body, data, *n);
    *n = 0;
    return MHD_YES;
}

static enum MHD_Result handle(void *cls, struct MHD_Connection *c, const char *url,
                              const char *method, const char *version, const char *data, size_t *n,
                              void **own)
{
    struct exchange *x = *own;
    (void)version;
    if (!x)
        x = *own = httpd_begin(cls, c, url);
    if (!x->seen) {
        x->seen = true;
        x->method = method_of(method);
        x->too_large = declared_too_large(x);
        return x->too_large ? httpd_serve(x) : MHD_YES;
    }
    return *n ? take_body(x, data, n) : httpd_serve(x);
}

/* ---- the daemon ---- */

static void start_daemon(struct httpd *h)
{
    const bool tls = h->ask.cert != NULL;
    const struct MHD_OptionItem tls_options[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)h->ask.cert},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)h->ask.key},
        {MHD_OPTION_END, 0, NULL},
    };
    const struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
    h->daemon = MHD_start_daemon(
        MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC |
            (tls ? MHD_USE_TLS : 0),
        0, httpd_admit, h, handle, h, MHD_OPTION_LISTEN_SOCKET, h->ask.fd,
        MHD_OPTION_THREAD_POOL_SIZE, h->ask.threads, MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)HTTP_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)HTTP_IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_URI_LOG_CALLBACK, log_uri, h,
        MHD_OPTION_NOTIFY_COMPLETED, completed, h, MHD_OPTION_NOTIFY_CONNECTION, notify_conn, h,
        MHD_OPTION_ARRAY, tls ? tls_options : none, MHD_OPTION_END);
}

int httpd_start(struct httpd **out, const struct httpd_options *ask, struct err *e)
{
    struct httpd *h = xcalloc(1, sizeof *h);
    h->ask = *ask;
    conns_init(&h->conns);
    pthread_mutex_init(&h->lock, NULL);
    thread_cond_init(&h->ended);
    int rc = thread_start(&h->looker, STACK, httpd_look, h, "http-look", e);
    if (rc) {
        free(h);
        return rc;
    }
    start_daemon(h);
    if (!h->daemon) {
        h->ask.fd = -1; /* stays the caller's */
        httpd_stop(h);
        return err_set(e, ERR_SYS, "the HTTP server could not be started%s",
                       ask->cert ? ": check that the certificate and the key are matching PEM files"
                                 : "");
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
    pthread_mutex_lock(&h->lock);
    h->end = true;
    pthread_cond_signal(&h->ended);
    pthread_mutex_unlock(&h->lock);
    pthread_join(h->looker, NULL);
    if (h->daemon)
        MHD_stop_daemon(h->daemon);
    free(h);
}

size_t httpd_connections(struct httpd *h)
{
    return conns_count(&h->conns);
}

uint64_t httpd_requests(struct httpd *h)
{
    return atomic_load(&h->requests);
}

/* ---- an exchange ---- */

enum http_method exchange_method(const struct exchange *x)
{
    return x->method;
}

const char *exchange_uri(const struct exchange *x)
{
    return x->uri;
}

const char *exchange_header(const struct exchange *x, const char *name)
{
    return MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, name);
}

const char *exchange_body(const struct exchange *x, size_t *n)
{
    struct buf *b = (struct buf *)(uintptr_t)&x->body;
    buf_reserve(b, 1);
    b->p[b->len] = 0;
    *n = b->len;
    return (const char *)b->p;
}

bool exchange_body_too_large(const struct exchange *x)
{
    return x->too_large;
}

const struct sockaddr *exchange_peer(const struct exchange *x)
{
    return (const struct sockaddr *)&x->conn->peer;
}

int exchange_fd(const struct exchange *x)
{
    return x->conn->fd;
}

uintptr_t *exchange_note(const struct exchange *x)
{
    return &x->conn->note;
}

void exchange_answer(struct exchange *x, struct reply *r)
{
    x->reply = r;
    if (x->waits)
        MHD_resume_connection(x->connection);
}

void exchange_wait(struct exchange *x)
{
    x->waits = true;
    conn_is(x->conn, CONN_WAITS);
    MHD_suspend_connection(x->connection);
}

void exchange_sleep(struct exchange *x)
{
    MHD_suspend_connection(x->connection);
    atomic_store(&x->conn->sleeper, x->connection);
}

void exchange_wake(struct exchange *x)
{
    wake_sleeper(x->conn);
}

bool exchange_gone(const struct exchange *x)
{
    return atomic_load(&x->conn->gone);
}
