/* SPDX-License-Identifier: Apache-2.0 */
/* http.c - see http.h. */
#include "agent/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

int http_host_parse(struct http_host *out, const char *text, struct err *e)
{
    struct in_addr a;
    char host[20];
    unsigned long port = 80;
    if (strncmp(text, "http://", 7) == 0)
        text += 7;
    const size_t n = strcspn(text, ":/");
    snprintf(host, sizeof host, "%.*s", (int)n, text);
    if (text[n] == ':') {
        char *end;
        port = strtoul(text + n + 1, &end, 10);
        if (*end && *end != '/')
            port = 0;
    }
    if (n >= sizeof host || inet_pton(AF_INET, host, &a) != 1 || port == 0 || port > 65535)
        return err_set(e, ERR_USAGE, "'%s' is not an address like 127.0.0.1:8080", text);
    *out = (struct http_host){.address = a.s_addr, .port = (uint16_t)port};
    snprintf(out->text, sizeof out->text, "%s:%lu", host, port);
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

static bool decimal(const char *p, size_t n, size_t *out)
{
    size_t v = 0;
    if (n == 0 || n > 9)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (p[i] < '0' || p[i] > '9')
            return false;
        v = v * 10 + (size_t)(p[i] - '0');
    }
    *out = v;
    return true;
}

int http_answer_parse(const char *p, size_t n, struct http_answer *out, struct err *e)
{
    static const char version[] = "HTTP/1.";
    size_t status, len, value_len;
    const char *blank = memmem(p, n, "\r\n\r\n", 4);
    if (n < 12 || memcmp(p, version, sizeof version - 1) != 0 || p[8] != ' ' ||
        !decimal(p + 9, 3, &status) || !blank)
        return err_set(e, ERR_FORMAT, "no HTTP answer");
    const char *body = blank + 4, *head = memchr(p, '\n', n);
    const size_t have = n - (size_t)(body - p);
    if (header_of(head + 1, blank + 2, "Transfer-Encoding", &value_len))
        return err_set(e, ERR_FORMAT, "an HTTP answer with a transfer coding");
    const char *v = header_of(head + 1, blank + 2, "Content-Length", &value_len);
    len = have;
    if (v && (!decimal(v, value_len, &len) || len > have))
        return err_set(e, ERR_FORMAT, "an HTTP answer that is cut short");
    *out = (struct http_answer){.status = (int)status, .body = body, .len = len};
    return 0;
}

/* Waits for the socket; 0, or an error when the time is up. */
static int wait_for(int fd, short events, mono_ns until, struct err *e)
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

static int connect_within(int fd, const struct http_host *h, mono_ns until, struct err *e)
{
    const struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_port = htons(h->port), .sin_addr = {h->address}};
    int sys = 0;
    socklen_t n = sizeof sys;
    if (connect(fd, (const struct sockaddr *)&a, sizeof a) == 0)
        return 0;
    if (errno != EINPROGRESS)
        return err_sys(e, "connect");
    int rc = wait_for(fd, POLLOUT, until, e);
    if (rc)
        return rc;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &sys, &n) < 0 || sys) {
        errno = sys ? sys : errno;
        return err_sys(e, "connect");
    }
    return 0;
}

/* Reads to the end of file: the request asked for the connection to be closed. */
static int read_answer(int fd, mono_ns until, char *buf, size_t *len, struct err *e)
{
    *len = 0;
    for (;;) {
        int rc = wait_for(fd, POLLIN, until, e);
        if (rc)
            return rc;
        const ssize_t got = recv(fd, buf + *len, HTTP_MOST - *len, MSG_DONTWAIT);
        if (got == 0)
            return 0;
        if (got < 0 && errno != EAGAIN && errno != EINTR)
            return err_sys(e, "receive");
        if (got > 0)
            *len += (size_t)got;
        if (*len == HTTP_MOST)
            return err_set(e, ERR_LIMIT, "an HTTP answer of more than %d bytes", HTTP_MOST);
    }
}

static int talk(int fd, const struct http_host *h, const char *request, mono_ns until, char *buf,
                size_t *len, struct err *e)
{
    const size_t n = strlen(request);
    int rc = connect_within(fd, h, until, e);
    if (rc)
        return rc;
    if (send(fd, request, n, MSG_NOSIGNAL) != (ssize_t)n)
        return err_sys(e, "send");
    return read_answer(fd, until, buf, len, e);
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
        return err_set(e, ERR_LIMIT, "too long a request");
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_sys(e, "socket");
    int rc = talk(fd, h, request, until, buf, &len, e);
    close(fd);
    return rc ? rc : http_answer_parse(buf, len, out, e);
}
