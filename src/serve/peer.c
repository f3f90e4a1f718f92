/* SPDX-License-Identifier: Apache-2.0 */
/* peer.c - see peer.h. Asks the kernel for the one socket that is the other end of ours. */
#include "serve/peer.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

struct request {
    struct nlmsghdr head;
    struct inet_diag_req_v2 ask;
};

/* Their source is our peer, their destination is us. */
static bool name_socket(int fd, struct inet_diag_sockid *id, uint8_t *family)
{
    union address mine = {0}, theirs = {0};
    socklen_t n = sizeof mine, m = sizeof theirs;
    if (getsockname(fd, &mine.any, &n) < 0 || getpeername(fd, &theirs.any, &m) < 0)
        return false;
    *family = (uint8_t)mine.any.sa_family;
    memset(id->idiag_cookie, 0xff, sizeof id->idiag_cookie);
    if (*family == AF_INET) {
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
    return *family == AF_INET6;
}

static bool uid_in(const void *answer, size_t n, uid_t *out)
{
    struct nlmsghdr head;
    struct inet_diag_msg msg;
    if (n < NLMSG_HDRLEN + sizeof msg)
        return false;
    memcpy(&head, answer, sizeof head);
    if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY)
        return false;
    memcpy(&msg, (const char *)answer + NLMSG_HDRLEN, sizeof msg);
    *out = msg.idiag_uid;
    return true;
}

static bool ask_kernel(int link, const struct request *r, uid_t *out)
{
    char answer[1024];
    if (send(link, r, sizeof *r, 0) != (ssize_t)sizeof *r)
        return false;
    const ssize_t n = recv(link, answer, sizeof answer, 0);
    return n > 0 && uid_in(answer, (size_t)n, out);
}

static bool peer_uid(int fd, uid_t *out)
{
    struct request r = {
        .head = {.nlmsg_len = sizeof r,
                 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                 .nlmsg_flags = NLM_F_REQUEST},
        .ask = {.sdiag_protocol = IPPROTO_TCP, .idiag_states = ~0U},
    };
    if (!name_socket(fd, &r.ask.id, &r.ask.sdiag_family))
        return false;
    const int link = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (link < 0)
        return false;
    const bool known = ask_kernel(link, &r, out);
    close(link);
    return known;
}

bool peer_is_ours(int fd)
{
    uid_t uid;
    return !peer_uid(fd, &uid) || uid == geteuid() || uid == 0;
}
