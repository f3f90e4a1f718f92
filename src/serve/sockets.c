/* SPDX-License-Identifier: Apache-2.0 */
/* sockets.c - see sockets.h.
 *
 * The owner of a connection within this machine: the kernel is queried for the one socket that is
 * the other end of ours, over netlink, else in /proc/net. A socket that its program has closed
 * stays known for a while, without an inode and with uid 0: it has no owner, and is not root's. */
#include "serve/sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/trust.h"

/* ---- addresses ---- */

static const struct in6_addr *addr_v6_of(const struct sockaddr *a)
{
    return &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr;
}

static const struct in_addr *addr_v4_of(const struct sockaddr *a)
{
    return &((const struct sockaddr_in *)(const void *)a)->sin_addr;
}

bool addr_is_loopback(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET)
        return ((const uint8_t *)addr_v4_of(a))[0] == 127;
    if (a->sa_family != AF_INET6)
        return false;
    const struct in6_addr *v6 = addr_v6_of(a);
    return IN6_IS_ADDR_LOOPBACK(v6) || (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == 127);
}

bool addr_same(const struct sockaddr *a, const struct sockaddr *b)
{
    if (a->sa_family != b->sa_family)
        return false;
    if (a->sa_family == AF_INET)
        return memcmp(addr_v4_of(a), addr_v4_of(b), sizeof *addr_v4_of(a)) == 0;
    return a->sa_family == AF_INET6 &&
           memcmp(addr_v6_of(a), addr_v6_of(b), sizeof *addr_v6_of(a)) == 0;
}

/* ---- listening ---- */

enum {
    BACKLOG = 1024,
    /* Bytes of answers that the kernel may buffer: by default megabytes for each client that does
     * not read. Connections inherit it from the listening socket. */
    UNREAD = 256 << 10,
};

union socket_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static int listen_parse(const char *text, union socket_address *out, struct err *e)
{
    *out = (union socket_address){0};
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

int listen_look(const char *address, struct listen_place *out, struct err *e)
{
    union socket_address a;
    *out = (struct listen_place){.fd = -1};
    TRY(listen_parse(address, &a, e));
    out->v6 = a.any.sa_family == AF_INET6;
    out->loopback = addr_is_loopback(&a.any);
    out->anywhere = out->v6 ? IN6_IS_ADDR_UNSPECIFIED(&a.v6.sin6_addr)
                            : a.v4.sin_addr.s_addr == htonl(INADDR_ANY);
    return 0;
}

static int listen_bind(union socket_address *a, int port)
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

static int listen_port_of(int fd)
{
    union socket_address a = {0};
    socklen_t len = sizeof a;
    if (getsockname(fd, &a.any, &len) < 0)
        return 0;
    return ntohs(a.any.sa_family == AF_INET6 ? a.v6.sin6_port : a.v4.sin_port);
}

int listen_open(const char *address, int port, bool preferred, struct listen_place *out,
                struct err *e)
{
    union socket_address a;
    TRY(listen_look(address, out, e));
    TRY(listen_parse(address, &a, e));
    const int tries = preferred && port ? LISTEN_TRIES : 1;
    for (int i = 0; i < tries && port + i <= UINT16_MAX; i++) {
        out->fd = listen_bind(&a, port + i);
        if (out->fd >= 0 || errno != EADDRINUSE)
            break;
    }
    if (out->fd < 0)
        return err_sys(e, "listen on %s port %d", address, port);
    out->port = listen_port_of(out->fd);
    return 0;
}

/* ---- the user at the other end ---- */

struct peer_request {
    struct nlmsghdr head;
    struct inet_diag_req_v2 ask;
};

struct socket_name {
    uint8_t family;
    struct inet_diag_sockid id;
};

/* Their source is our peer, their destination is us. False: the connection is over. */
static bool peer_name_socket(int fd, struct socket_name *out)
{
    union socket_address mine = {0}, theirs = {0};
    socklen_t n = sizeof mine, m = sizeof theirs;
    if (getsockname(fd, &mine.any, &n) < 0 || getpeername(fd, &theirs.any, &m) < 0)
        return false;
    *out = (struct socket_name){.family = (uint8_t)mine.any.sa_family};
    struct inet_diag_sockid *id = &out->id;
    memset(id->idiag_cookie, 0xff, sizeof id->idiag_cookie);
    if (out->family == AF_INET) {
        id->idiag_sport = theirs.v4.sin_port;
        id->idiag_dport = mine.v4.sin_port;
        memcpy(id->idiag_src, &theirs.v4.sin_addr, sizeof theirs.v4.sin_addr);
        memcpy(id->idiag_dst, &mine.v4.sin_addr, sizeof mine.v4.sin_addr);
        return true;
    }
    id->idiag_sport = theirs.v6.sin6_port;
    id->idiag_dport = mine.v6.sin6_port;
    memcpy(id->idiag_src, &theirs.v6.sin6_addr, sizeof theirs.v6.sin6_addr);
    memcpy(id->idiag_dst, &mine.v6.sin6_addr, sizeof mine.v6.sin6_addr);
    return out->family == AF_INET6;
}

/* The owner of a socket as the kernel lists it. */
struct peer_owner {
    uint64_t inode; /* 0: no program has it open */
    uid_t uid;
};

/* ---- netlink ---- */

static bool peer_owner_in(const void *answer, size_t n, struct peer_owner *out)
{
    struct nlmsghdr head;
    struct inet_diag_msg msg;
    if (n < NLMSG_HDRLEN + sizeof msg)
        return false;
    memcpy(&head, answer, sizeof head);
    if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY)
        return false;
    memcpy(&msg, (const char *)answer + NLMSG_HDRLEN, sizeof msg);
    *out = (struct peer_owner){.inode = msg.idiag_inode, .uid = msg.idiag_uid};
    return true;
}

static bool peer_ask_kernel(int link, const struct socket_name *name, struct peer_owner *out)
{
    char answer[1024];
    const struct peer_request r = {
        .head = {.nlmsg_len = sizeof r,
                 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                 .nlmsg_flags = NLM_F_REQUEST},
        .ask = {.sdiag_family = name->family,
                .sdiag_protocol = IPPROTO_TCP,
                .idiag_states = ~0U,
                .id = name->id},
    };
    if (send(link, &r, sizeof r, 0) != (ssize_t)sizeof r)
        return false;
    const ssize_t n = recv(link, answer, sizeof answer, 0);
    return n > 0 && peer_owner_in(answer, (size_t)n, out);
}

/* The addresses as seen from the other end. */
static struct socket_name peer_other_end(const struct socket_name *s)
{
    struct socket_name o = *s;
    o.id.idiag_sport = s->id.idiag_dport;
    o.id.idiag_dport = s->id.idiag_sport;
    memcpy(o.id.idiag_src, s->id.idiag_dst, sizeof o.id.idiag_src);
    memcpy(o.id.idiag_dst, s->id.idiag_src, sizeof o.id.idiag_dst);
    return o;
}

/* False: netlink gives no answer here. A kernel without the module for it answers as if there were
 * no such socket, so our own end is looked up, too. */
static bool peer_ask_netlink(const struct socket_name *theirs, struct peer_owner *out)
{
    const int link = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (link < 0)
        return false;
    const struct socket_name ours = peer_other_end(theirs);
    struct peer_owner ignored;
    bool known = peer_ask_kernel(link, theirs, out);
    if (!known && peer_ask_kernel(link, &ours, &ignored)) {
        *out = (struct peer_owner){0};
        known = true;
    }
    close(link);
    return known;
}

/* ---- /proc/net ---- */

enum { TEXT = 48 }; /* 32 digits, a colon, four digits */

static void peer_put_end(char out[TEXT], const uint32_t *address, size_t words, uint16_t port)
{
    int n = 0;
    for (size_t i = 0; i < words; i++)
        n += snprintf(out + n, TEXT - (size_t)n, "%08" PRIX32, address[i]);
    snprintf(out + n, TEXT - (size_t)n, ":%04X", (unsigned)ntohs(port));
}

static bool peer_ask_proc(const struct socket_name *theirs, struct peer_owner *out)
{
    const bool v6 = theirs->family == AF_INET6;
    char src[TEXT], dst[TEXT], line[512];
    FILE *f = fopen(v6 ? "/proc/net/tcp6" : "/proc/net/tcp", "re");
    if (!f)
        return false;
    peer_put_end(src, theirs->id.idiag_src, v6 ? 4 : 1, theirs->id.idiag_sport);
    peer_put_end(dst, theirs->id.idiag_dst, v6 ? 4 : 1, theirs->id.idiag_dport);
    *out = (struct peer_owner){0};
    while (fgets(line, sizeof line, f)) {
        char local[TEXT], remote[TEXT];
        unsigned uid;
        uint64_t inode;
        if (sscanf(line, " %*d: %47[0-9A-F:] %47[0-9A-F:] %*x %*x:%*x %*x:%*x %*x %u %*u %" SCNu64,
                   local, remote, &uid, &inode) == 4 &&
            strcmp(local, src) == 0 && strcmp(remote, dst) == 0) {
            *out = (struct peer_owner){.inode = inode, .uid = (uid_t)uid};
            break;
        }
    }
    fclose(f);
    return true;
}

enum peer peer_of(int fd)
{
    struct socket_name theirs, again;
    struct peer_owner o;
    if (!peer_name_socket(fd, &theirs))
        return PEER_OTHERS;
    if (!peer_ask_netlink(&theirs, &o) && !peer_ask_proc(&theirs, &o))
        return PEER_UNKNOWN;
    /* Between a reset and the query another program may have got the same port. */
    const bool ours = o.inode != 0 && trust_owner(o.uid) && peer_name_socket(fd, &again);
    return ours ? PEER_OURS : PEER_OTHERS;
}
