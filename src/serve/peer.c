/* SPDX-License-Identifier: Apache-2.0 */
/* peer.c - see peer.h. Asks the kernel for the one socket that is the other end of ours, over
 * netlink, else in /proc/net. A socket that its program has closed stays known for a while, without
 * an inode and with uid 0: it has no owner, and is not root's. */
#include "serve/peer.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/trust.h"

union peer_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

struct peer_request {
    struct nlmsghdr head;
    struct inet_diag_req_v2 ask;
};

struct socket_name {
    uint8_t family;
    struct inet_diag_sockid id;
};

/* Their source is our peer, their destination is us. False: the connection is over. */
static bool name_socket(int fd, struct socket_name *out)
{
    union peer_address mine = {0}, theirs = {0};
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
struct owner {
    uint64_t inode; /* 0: no program has it open */
    uid_t uid;
};

/* ---- netlink ---- */

static bool owner_in(const void *answer, size_t n, struct owner *out)
{
    struct nlmsghdr head;
    struct inet_diag_msg msg;
    if (n < NLMSG_HDRLEN + sizeof msg)
        return false;
    memcpy(&head, answer, sizeof head);
    if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY)
        return false;
    memcpy(&msg, (const char *)answer + NLMSG_HDRLEN, sizeof msg);
    *out = (struct owner){.inode = msg.idiag_inode, .uid = msg.idiag_uid};
    return true;
}

static bool ask_kernel(int link, const struct socket_name *name, struct owner *out)
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
    return n > 0 && owner_in(answer, (size_t)n, out);
}

/* As it is called from the other end. */
static struct socket_name other_end(const struct socket_name *s)
{
    struct socket_name o = *s;
    o.id.idiag_sport = s->id.idiag_dport;
    o.id.idiag_dport = s->id.idiag_sport;
    memcpy(o.id.idiag_src, s->id.idiag_dst, sizeof o.id.idiag_src);
    memcpy(o.id.idiag_dst, s->id.idiag_src, sizeof o.id.idiag_dst);
    return o;
}

/* False: netlink gives no answer here. A kernel without the module for it answers as if there were
 * no such socket, so it is asked for our own end, too. */
static bool ask_netlink(const struct socket_name *theirs, struct owner *out)
{
    const int link = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (link < 0)
        return false;
    const struct socket_name ours = other_end(theirs);
    struct owner ignored;
    bool told = ask_kernel(link, theirs, out);
    if (!told && ask_kernel(link, &ours, &ignored)) {
        *out = (struct owner){0};
        told = true;
    }
    close(link);
    return told;
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

static bool ask_proc(const struct socket_name *theirs, struct owner *out)
{
    const bool v6 = theirs->family == AF_INET6;
    char src[TEXT], dst[TEXT], line[512];
    FILE *f = fopen(v6 ? "/proc/net/tcp6" : "/proc/net/tcp", "re");
    if (!f)
        return false;
    peer_put_end(src, theirs->id.idiag_src, v6 ? 4 : 1, theirs->id.idiag_sport);
    peer_put_end(dst, theirs->id.idiag_dst, v6 ? 4 : 1, theirs->id.idiag_dport);
    *out = (struct owner){0};
    while (fgets(line, sizeof line, f)) {
        char local[TEXT], remote[TEXT];
        unsigned uid;
        uint64_t inode;
        if (sscanf(line, " %*d: %47[0-9A-F:] %47[0-9A-F:] %*x %*x:%*x %*x:%*x %*x %u %*u %" SCNu64,
                   local, remote, &uid, &inode) == 4 &&
            strcmp(local, src) == 0 && strcmp(remote, dst) == 0) {
            *out = (struct owner){.inode = inode, .uid = (uid_t)uid};
            break;
        }
    }
    fclose(f);
    return true;
}

/* ---- together ---- */

enum peer peer_of(int fd)
{
    struct socket_name theirs, again;
    struct owner o;
    if (!name_socket(fd, &theirs))
        return PEER_OTHERS;
    if (!ask_netlink(&theirs, &o) && !ask_proc(&theirs, &o))
        return PEER_UNKNOWN;
    /* Between a reset and the question another program may have got the same port. */
    const bool ours = o.inode != 0 && trust_owner(o.uid) && name_socket(fd, &again);
    return ours ? PEER_OURS : PEER_OTHERS;
}
