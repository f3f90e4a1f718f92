/* SPDX-License-Identifier: Apache-2.0 */
/* http_stub.h - a server on 127.0.0.1 for tests of clients: a thread that reads requests and sends
 * what the test's function answers, byte for byte.
 *
 *     struct http_stub s;
 *     http_stub_start(&s, answer, ctx);     s.url is "http://127.0.0.1:PORT"
 *     http_stub_stop(&s); */
#ifndef TEST_HTTP_STUB_H
#define TEST_HTTP_STUB_H

#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "test.h"

struct http_stub_request {
    int number;       /* from 0, of all connections */
    int connection;   /* from 0 */
    const char *head; /* the lines, as they came, with a NUL at the end */
    const char *body;
    size_t body_len;
};

/* Puts an answer into `out`, or bytes that are none. false: the connection is closed after it. */
typedef bool http_stub_answer(void *ctx, const struct http_stub_request *q, struct buf *out);

struct http_stub {
    http_stub_answer *answer;
    void *ctx;
    int fd, requests, connections, port;
    char url[64];
    pthread_t thread;
};

/* The value of a header in the head of a request; NULL: not there. Not ended by a NUL. */
static inline const char *http_stub_header(const char *head, const char *name)
{
    const size_t n = strlen(name);
    for (const char *p = strstr(head, "\r\n"); p && p[2]; p = strstr(p + 2, "\r\n"))
        if (strncasecmp(p + 2, name, n) == 0 && p[2 + n] == ':')
            return p + 2 + n + 1 + strspn(p + 3 + n, " ");
    return NULL;
}

static inline bool http_stub_starts(const char *text, const char *start)
{
    return text && strncmp(text, start, strlen(start)) == 0;
}

/* An answer with a length; `more` are further header lines, each with its end. */
static inline void http_stub_put(struct buf *out, int status, const char *more, const char *body)
{
    buf_printf(out, "HTTP/1.1 %d X\r\n%sContent-Length: %zu\r\n\r\n%s", status, more, strlen(body),
               body);
}

static inline bool http_stub_one(struct http_stub *s, int fd, struct buf *in)
{
    const char *end;
    uint8_t some[65536];
    while (buf_u8(in, 0), in->len--, !(end = strstr((char *)in->p, "\r\n\r\n"))) {
        const ssize_t n = recv(fd, some, sizeof some, 0);
        if (n <= 0)
            return false;
        buf_put(in, some, (size_t)n);
    }
    const size_t head = (size_t)(end - (char *)in->p) + 4;
    in->p[head - 2] = 0;
    const char *length = http_stub_header((char *)in->p, "Content-Length");
    const size_t body = length ? strtoul(length, NULL, 10) : 0;
    while (in->len < head + body) {
        const ssize_t n = recv(fd, some, sizeof some, 0);
        if (n <= 0)
            return false;
        buf_put(in, some, (size_t)n);
    }
    struct buf out = {0};
    const struct http_stub_request q = {s->requests++, s->connections - 1, (char *)in->p,
                                        (char *)in->p + head, body};
    const bool more = s->answer(s->ctx, &q, &out);
    for (size_t at = 0; at < out.len;) {
        const ssize_t n = send(fd, out.p + at, out.len - at, MSG_NOSIGNAL);
        if (n <= 0)
            break;
        at += (size_t)n;
    }
    buf_free(&out);
    in->len = 0;
    return more;
}

static inline void *http_stub_serve(void *ctx)
{
    struct http_stub *s = ctx;
    for (;;) {
        const int fd = accept(s->fd, NULL, NULL);
        if (fd < 0)
            return NULL;
        struct buf in = {0};
        s->connections++;
        while (http_stub_one(s, fd, &in))
            ;
        buf_free(&in);
        close(fd);
    }
}

static inline void http_stub_start(struct http_stub *s, http_stub_answer *answer, void *ctx)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    *s = (struct http_stub){.answer = answer, .ctx = ctx};
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(s->fd >= 0 && bind(s->fd, (struct sockaddr *)&a, len) == 0 && listen(s->fd, 16) == 0);
    CHECK(getsockname(s->fd, (struct sockaddr *)&a, &len) == 0);
    s->port = ntohs(a.sin_port);
    snprintf(s->url, sizeof s->url, "http://127.0.0.1:%d", s->port);
    CHECK(pthread_create(&s->thread, NULL, http_stub_serve, s) == 0);
}

/* After the client has closed its connection. */
static inline void http_stub_stop(struct http_stub *s)
{
    shutdown(s->fd, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->fd);
}

#endif
