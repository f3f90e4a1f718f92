/* SPDX-License-Identifier: Apache-2.0 */
/* listen.c - see listen.h. */
#include "serve/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "serve/conns.h"

enum {
    BACKLOG = 1024,
    /* Bytes that the kernel may hold of what a connection was sent: left alone it holds megabytes
     * for each that does not read. Connections have it from the socket that they came by. */
    UNREAD = 256 << 10,
};

union listen_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static int parse(const char *text, union listen_address *out, struct err *e)
{
    *out = (union listen_address){0};
    if (strcmp(text, "localhost") == 0)
        text = "127.0.0.1";
    if (inet_pton(AF_INET, text, &out->v4.sin_addr) == 1) {
        out->any.sa_family = AF_INET;
        return 0;
    }
    if (inet_pton(AF_INET6, text, &out->v6.sin6_addr) == 1) {
        out->any.sa_family = AF_INET6;
        return 0;
    }
    return err_set(e, ERR_USAGE, "'%.100s' is not a numeric IP address of this machine", text);
}

static void listen_describe(const union listen_address *a, struct listen_place *out)
{
    out->v6 = a->any.sa_family == AF_INET6;
    out->loopback = addr_is_loopback(&a->any);
    out->anywhere = out->v6 ? IN6_IS_ADDR_UNSPECIFIED(&a->v6.sin6_addr)
                            : a->v4.sin_addr.s_addr == htonl(INADDR_ANY);
}

int listen_look(const char *address, struct listen_place *out, struct err *e)
{
    union listen_address a;
    const int rc = parse(address, &a, e);
    *out = (struct listen_place){.fd = -1};
    if (rc == 0)
        listen_describe(&a, out);
    return rc;
}

static int bind_one(union listen_address *a, int port)
{
    const bool v6 = a->any.sa_family == AF_INET6;
    const int fd = socket(a->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int on = 1, unread = UNREAD;
    if (fd < 0)
        return -1;
    *(v6 ? &a->v6.sin6_port : &a->v4.sin_port) = htons((uint16_t)port);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &unread, sizeof unread);
    if (bind(fd, &a->any, v6 ? sizeof a->v6 : sizeof a->v4) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    const int sys = errno;
    close(fd);
    errno = sys;
    return -1;
}

static int port_of(int fd)
{
    union listen_address a = {0};
    socklen_t len = sizeof a;
    if (getsockname(fd, &a.any, &len) < 0)
        return 0;
    return ntohs(a.any.sa_family == AF_INET6 ? a.v6.sin6_port : a.v4.sin_port);
}

int listen_open(const char *address, int port, bool wish, struct listen_place *out, struct err *e)
{
    union listen_address a;
    int rc = listen_look(address, out, e);
    if (rc == 0)
        rc = parse(address, &a, e);
    if (rc)
        return rc;
    const int tries = wish && port ? LISTEN_TRIES : 1;
    for (int i = 0; i < tries && port + i <= UINT16_MAX; i++) {
        out->fd = bind_one(&a, port + i);
        if (out->fd >= 0 || errno != EADDRINUSE)
            break;
    }
    if (out->fd < 0)
        return err_sys(e, "listen on %s port %d", address, port);
    out->port = port_of(out->fd);
    return 0;
}
