/* SPDX-License-Identifier: Apache-2.0 */
/* net.c - see net.h. */
#include "agent/net.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static bool parse_port(const char *p, size_t n, int *out)
{
    int port = 0;
    if (n == 0 || n > 5)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (p[i] < '0' || p[i] > '9')
            return false;
        port = port * 10 + (p[i] - '0');
    }
    *out = port;
    return port > 0 && port <= 65535;
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
    *port = otherwise;
    if (!to || !is_host(from, (size_t)(to - from), bracketed) ||
        (rest < end && (*rest != ':' || !parse_port(rest + 1, (size_t)(end - rest - 1), port))))
        return err_set(e, ERR_USAGE, "not a host name (example: example.org:%d)", otherwise);
    snprintf(host, NET_HOST, "%.*s", (int)(to - from), from);
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
    const int rc = net_wait_for(fd, POLLOUT, until, e);
    if (rc)
        return rc;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &sys, &n) < 0 || sys) {
        errno = sys ? sys : errno;
        return err_sys(e, "connect");
    }
    return 0;
}

int net_connect_to(int *fd, const struct sockaddr *a, socklen_t len, mono_ns until, struct err *e)
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
        const int rc = net_wait_for(fd, POLLOUT, until, e);
        if (rc)
            return rc;
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
        const int rc = net_wait_for(fd, POLLIN, until, e);
        if (rc)
            return rc;
        const ssize_t r = recv(fd, p, n, MSG_DONTWAIT);
        if (r >= 0) {
            *got = (size_t)r;
            return 0;
        }
        if (errno != EAGAIN && errno != EINTR)
            return err_sys(e, "receive");
    }
}
