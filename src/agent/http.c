/* SPDX-License-Identifier: Apache-2.0 */
/* http.c - see http.h. */
#include "agent/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"

/* ==== connections ==== */

static bool http_decimal(const char *p, size_t n, size_t most, size_t *out)
{
    size_t v = 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i] < '0' || p[i] > '9' || v > most)
            return false;
        v = v * 10 + (size_t)(p[i] - '0');
    }
    *out = v;
    return n > 0 && v <= most;
}

/* Names and addresses only: nothing that could end a header line. */
static bool is_host(const char *p, size_t n, bool bracketed)
{
    for (size_t i = 0; i < n; i++) {
        const char c = p[i];
        const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                           (c >= 'A' && c <= 'Z') || c == '.' || c == '-' || c == '_';
        if (!plain && !(bracketed && (c == ':' || c == '%')))
            return false;
    }
    return n > 0 && n < NET_HOST;
}

int net_place_parse(const char *text, size_t len, int otherwise, char host[NET_HOST], int *port,
                    struct err *e)
{
    const char *end = text + len, *from = text, *to = NULL, *rest = NULL;
    const bool bracketed = len > 0 && *text == '[';
    if (bracketed) {
        from++;
        to = memchr(from, ']', (size_t)(end - from));
        rest = to ? to + 1 : NULL;
    } else {
        to = memchr(from, ':', len);
        to = rest = to ? to : end;
    }
    size_t number = (size_t)otherwise;
    if (!to || !is_host(from, (size_t)(to - from), bracketed) ||
        (rest < end &&
         (*rest != ':' || !http_decimal(rest + 1, (size_t)(end - rest - 1), 65535, &number))) ||
        number == 0)
        return err_set(e, ERR_USAGE, "not a host name (example: example.org:%d)", otherwise);
    snprintf(host, NET_HOST, "%.*s", (int)(to - from), from);
    *port = (int)number;
    return 0;
}

/* Waits for the socket; 0, or an error when the time is up. */
static int net_wait_for(int fd, short events, mono_ns until, struct err *e)
{
    for (;;) {
        const int64_t left = mono_diff(until, clock_mono()) / NS_PER_MS;
        struct pollfd p = {.fd = fd, .events = events};
        const int n = left > 0 ? poll(&p, 1, (int)left) : 0;
        if (n > 0)
            return 0;
        if (n < 0 && errno == EINTR)
            continue;
        return n < 0 ? err_sys(e, "poll") : err_set(e, ERR_NOT_FOUND, "no answer in time");
    }
}

static int finish_connect(int fd, const struct sockaddr *a, socklen_t len, mono_ns until,
                          struct err *e)
{
    int sys = 0;
    socklen_t n = sizeof sys;
    if (connect(fd, a, len) == 0)
        return 0;
    if (errno != EINPROGRESS)
        return err_sys(e, "connect");
    TRY(net_wait_for(fd, POLLOUT, until, e));
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &sys, &n) < 0 || sys) {
        errno = sys ? sys : errno;
        return err_sys(e, "connect");
    }
    return 0;
}

/* A connected socket that does not block. */
static int net_connect_to(int *fd, const struct sockaddr *a, socklen_t len, mono_ns until,
                          struct err *e)
{
    const int s = socket(a->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s < 0)
        return err_sys(e, "socket");
    const int rc = finish_connect(s, a, len, until, e);
    if (rc) {
        close(s);
        return rc;
    }
    *fd = s;
    return 0;
}

int net_send(int fd, const void *p, size_t n, mono_ns until, struct err *e)
{
    const char *from = p;
    while (n > 0) {
        TRY(net_wait_for(fd, POLLOUT, until, e));
        const ssize_t sent = send(fd, from, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EAGAIN && errno != EINTR)
            return err_sys(e, "send");
        if (sent > 0) {
            from += sent;
            n -= (size_t)sent;
        }
    }
    return 0;
}

int net_recv(int fd, void *p, size_t n, mono_ns until, size_t *got, struct err *e)
{
    for (;;) {
        TRY(net_wait_for(fd, POLLIN, until, e));
        const ssize_t r = recv(fd, p, n, MSG_DONTWAIT);
        if (r >= 0) {
            *got = (size_t)r;
            return 0;
        }
        if (errno != EAGAIN && errno != EINTR)
            return err_sys(e, "receive");
    }
}

/* ==== requests ==== */

int http_host_parse(struct http_host *out, const char *text, struct err *e)
{
    struct in_addr a;
    char host[NET_HOST];
    int port;
    if (strncmp(text, "http://", 7) == 0)
        text += 7;
    if (net_place_parse(text, strcspn(text, "/"), 80, host, &port, e) ||
        inet_pton(AF_INET, host, &a) != 1)
        return err_set(e, ERR_USAGE, "'%s' is not an address like 127.0.0.1:8080", text);
    *out = (struct http_host){.address = a.s_addr, .port = (uint16_t)port};
    snprintf(out->text, sizeof out->text, "%.15s:%d", host, port);
    return 0;
}

/* The value of a header line, or NULL. `head` ends with an empty line. */
static const char *header_of(const char *head, const char *end, const char *name, size_t *len)
{
    const size_t n = strlen(name);
    while (head < end) {
        const char *eol = memchr(head, '\r', (size_t)(end - head));
        if (!eol)
            return NULL;
        if ((size_t)(eol - head) > n && head[n] == ':' && strncasecmp(head, name, n) == 0) {
            head += n + 1;
            while (head < eol && *head == ' ')
                head++;
            *len = (size_t)(eol - head);
            return head;
        }
        head = eol + 2;
    }
    return NULL;
}

int http_answer_parse(const char *p, size_t n, struct http_answer *out, struct err *e)
{
    static const char version[] = "HTTP/1.";
    size_t status, len, value_len;
    const char *blank = memmem(p, n, "\r\n\r\n", 4);
    if (n < 12 || memcmp(p, version, sizeof version - 1) != 0 || p[8] != ' ' ||
        !http_decimal(p + 9, 3, 999, &status) || !blank)
        return err_set(e, ERR_FORMAT, "not an HTTP response");
    const char *body = blank + 4, *head = memchr(p, '\n', n);
    const size_t have = n - (size_t)(body - p);
    if (header_of(head + 1, blank + 2, "Transfer-Encoding", &value_len))
        return err_set(e, ERR_FORMAT, "HTTP response with a transfer encoding");
    const char *v = header_of(head + 1, blank + 2, "Content-Length", &value_len);
    len = have;
    if (v && (!http_decimal(v, value_len, HTTP_MOST, &len) || len > have))
        return err_set(e, ERR_FORMAT, "truncated HTTP response");
    *out = (struct http_answer){.status = (int)status, .body = body, .len = len};
    return 0;
}

/* Reads to the end of file: the request has "Connection: close". */
static int http_read_answer(int fd, mono_ns until, char *buf, size_t *len, struct err *e)
{
    size_t got = 1;
    for (*len = 0; got > 0; *len += got) {
        if (*len == HTTP_MOST)
            return err_set(e, ERR_LIMIT, "HTTP response larger than %d bytes", HTTP_MOST);
        TRY(net_recv(fd, buf + *len, HTTP_MOST - *len, until, &got, e));
    }
    return 0;
}

static int talk(const struct http_host *h, const char *request, mono_ns until, char *buf,
                size_t *len, struct err *e)
{
    const struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_port = htons(h->port), .sin_addr = {h->address}};
    int fd = -1;
    TRY(net_connect_to(&fd, (const struct sockaddr *)&a, sizeof a, until, e));
    int rc = net_send(fd, request, strlen(request), until, e);
    if (rc == 0)
        rc = http_read_answer(fd, until, buf, len, e);
    close(fd);
    return rc;
}

int http_ask(const struct http_host *h, const char *method, const char *path, const char *headers,
             int timeout_ms, char buf[HTTP_MOST], struct http_answer *out, struct err *e)
{
    char request[2048];
    size_t len = 0;
    const mono_ns until = mono_add(clock_mono(), timeout_ms * NS_PER_MS);
    const int n = snprintf(request, sizeof request,
                           "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n"
                           "Content-Length: 0\r\nUser-Agent: footplate\r\n%s\r\n",
                           method, path, h->text, headers);
    if (n < 0 || n >= (int)sizeof request)
        return err_set(e, ERR_LIMIT, "the request is too long");
    TRY(talk(h, request, until, buf, &len, e));
    return http_answer_parse(buf, len, out, e);
}

/* -- webhooks -- */

int http_url_parse(struct http_url *out, const char *text, struct err *e)
{
    static const char plain[] = "http://", tls[] = "https://";
    const bool is_tls = strncasecmp(text, tls, sizeof tls - 1) == 0;
    if (!is_tls && strncasecmp(text, plain, sizeof plain - 1) != 0)
        return err_set(e, ERR_USAGE, "a URL must start with http:// or https://");
    const char *host = text + (is_tls ? sizeof tls : sizeof plain) - 1;
    const size_t n = strcspn(host, "/?#");
    for (const char *p = host; *p; p++)
        if (*p <= ' ' || *p == 127)
            return err_set(e, ERR_USAGE, "a URL cannot contain spaces or control characters");
    if (memchr(host, '@', n))
        return err_set(e, ERR_USAGE, "a URL with a user name is not supported");
    *out = (struct http_url){.tls = is_tls, .path = host + n};
    return net_place_parse(host, n, is_tls ? 443 : 80, out->host, &out->port, e);
}
