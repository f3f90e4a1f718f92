/* SPDX-License-Identifier: Apache-2.0 */
/* test_peer.c - whose connection it is: real ones over loopback. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "serve/sockets.h"
#include "test.h"

struct pair {
    int client, server;
};

static int listen_at(struct sockaddr_in *a)
{
    socklen_t n = sizeof *a;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    *a = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    CHECK(bind(fd, (struct sockaddr *)a, sizeof *a) == 0 && listen(fd, 1) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)a, &n) == 0);
    return fd;
}

static int connect_to(const struct sockaddr_in *a)
{
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(connect(fd, (const struct sockaddr *)a, sizeof *a) == 0);
    return fd;
}

static struct pair connected(void)
{
    struct sockaddr_in a;
    const int fd = listen_at(&a);
    struct pair p = {.client = connect_to(&a)};
    p.server = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
    CHECK(p.server >= 0);
    close(fd);
    return p;
}

/* The kernel forgets a closed socket's owner when the end of the connection is acknowledged. */
static void settle(void)
{
    usleep(200000);
}

TEST(an_open_connection_of_this_user_is_ours)
{
    const struct pair p = connected();
    if (peer_of(p.server) == PEER_UNKNOWN)
        SKIP("this system does not say whose connections are whose");
    CHECK_INT(peer_of(p.server), PEER_OURS);
    CHECK_INT(peer_of(p.client), PEER_OURS);
}

TEST(a_connection_that_was_closed_is_nobodys_not_roots)
{
    const struct pair p = connected();
    close(p.client);
    settle();
    CHECK(peer_of(p.server) != PEER_OURS);
}

TEST(a_connection_that_was_reset_is_nobodys)
{
    const struct pair p = connected();
    const struct linger now = {.l_onoff = 1};
    CHECK(setsockopt(p.client, SOL_SOCKET, SO_LINGER, &now, sizeof now) == 0);
    close(p.client);
    settle();
    CHECK(peer_of(p.server) != PEER_OURS);
}

TEST(a_client_that_has_sent_all_and_waits_is_still_ours)
{
    const struct pair p = connected();
    if (peer_of(p.server) == PEER_UNKNOWN)
        SKIP("this system does not say whose connections are whose");
    CHECK(shutdown(p.client, SHUT_WR) == 0);
    settle();
    CHECK_INT(peer_of(p.server), PEER_OURS);
}

TEST(a_connection_of_another_user_is_not_ours)
{
    struct sockaddr_in a;
    if (geteuid() != 0)
        SKIP("needs root to become another user");
    const int fd = listen_at(&a);
    int hold[2];
    CHECK(pipe2(hold, O_CLOEXEC) == 0);
    const pid_t child = fork();
    if (child == 0) {
        char c;
        close(hold[1]);
        _exit(setgid(65534) != 0 || setuid(65534) != 0 || connect_to(&a) < 0 ||
              read(hold[0], &c, 1) < 0);
    }
    const int server = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
    const enum peer peer = peer_of(server);
    close(hold[1]);
    CHECK(waitpid(child, NULL, 0) == child);
    CHECK(peer != PEER_OURS);
}

TEST(what_is_no_connection_is_nobodys)
{
    int fds[2];
    CHECK(pipe2(fds, O_CLOEXEC) == 0);
    CHECK_INT(peer_of(fds[0]), PEER_OTHERS);
    CHECK_INT(peer_of(-1), PEER_OTHERS);
}
