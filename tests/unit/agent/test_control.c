/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/control.h"
#include "base/mem.h"
#include "control/control_client.h"
#include "test.h"

static bool handle(void *ctx, const struct control_request *r, char *answer, size_t size)
{
    int *count = ctx;
    ++*count;
    snprintf(answer, size, "number %lld", (long long)r->number);
    return r->kind != CONTROL_STOP;
}

/* A recorder's loop in small: serves until told to stop. */
struct server {
    struct control c;
    int count;
    _Atomic int stop;
    pthread_t thread;
};

static void *serve(void *arg)
{
    struct server *s = arg;
    while (!s->stop) {
        struct pollfd p[CONTROL_CLIENTS + 1];
        if (poll(p, (nfds_t)control_poll(&s->c, p), 10) > 0)
            control_serve(&s->c);
    }
    return NULL;
}

static void start(struct server *s)
{
    struct err e;
    setenv("XDG_RUNTIME_DIR", test_tmpdir(), 1);
    *s = (struct server){.c = {.handle = handle, .ctx = &s->count}};
    OK(control_open(&s->c, "run", "node", &e));
    pthread_create(&s->thread, NULL, serve, s);
}

static void end(struct server *s)
{
    s->stop = 1;
    pthread_join(s->thread, NULL);
    control_close(&s->c);
}

TEST(a_request_gets_its_answer)
{
    struct server s;
    struct err e;
    char answer[CONTROL_ANSWER];
    start(&s);
    OK(control_send("run", "node", getuid(), "interval=20ms", answer, &e));
    CHECK_STR(answer, "number 20000000");
    CHECK_INT(control_send("run", "node", getuid(), "stop", answer, &e), ERR_USAGE);
    CHECK_STR(e.msg, "number 0");
    CHECK_INT(control_send("run", "node", getuid(), "nonsense", answer, &e), ERR_USAGE);
    CHECK(strstr(e.msg, "nonsense") != NULL);
    end(&s);
    CHECK_INT(s.count, 2);
}

TEST(a_run_or_node_that_does_not_run_here_is_not_found)
{
    struct server s;
    struct err e;
    char answer[CONTROL_ANSWER];
    start(&s);
    CHECK_INT(control_send("run", "other", getuid(), "status", answer, &e), ERR_NOT_FOUND);
    CHECK_INT(control_send("ru", "nnode", getuid(), "status", answer, &e), ERR_NOT_FOUND);
    end(&s);
    CHECK_INT(control_send("run", "node", getuid(), "status", answer, &e), ERR_NOT_FOUND);
}

static int connect_raw(const struct control *c)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    snprintf(a.sun_path, sizeof a.sun_path, "%s", c->path);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(connect(fd, (struct sockaddr *)&a, sizeof a) == 0);
    return fd;
}

TEST(clients_that_say_nothing_do_not_keep_others_out)
{
    struct server s;
    struct err e;
    char answer[CONTROL_ANSWER];
    int fd[CONTROL_CLIENTS * 3];
    start(&s);
    for (size_t i = 0; i < COUNT_OF(fd); i++) {
        fd[i] = connect_raw(&s.c);
        CHECK(send(fd[i], "inter", 5, MSG_NOSIGNAL) == 5);
        usleep(5000);
    }
    OK(control_send("run", "node", getuid(), "status", answer, &e));
    CHECK_INT(recv(fd[0], answer, 1, MSG_DONTWAIT), 0); /* the oldest was hung up on */
    for (size_t i = 0; i < COUNT_OF(fd); i++)
        close(fd[i]);
    end(&s);
}

TEST(a_line_without_end_is_answered_with_an_error)
{
    struct server s;
    char flood[CONTROL_LINE * 4], got[CONTROL_ANSWER] = "";
    start(&s);
    memset(flood, 'x', sizeof flood);
    const int fd = connect_raw(&s.c);
    CHECK(send(fd, flood, sizeof flood, MSG_NOSIGNAL) > 0);
    CHECK(recv(fd, got, sizeof got - 1, 0) > 0);
    CHECK(strncmp(got, "error ", 6) == 0);
    close(fd);
    end(&s);
    CHECK_INT(s.count, 0);
}

TEST(a_request_in_pieces_is_put_together)
{
    struct server s;
    char got[CONTROL_ANSWER] = "";
    start(&s);
    const int fd = connect_raw(&s.c);
    for (const char *p = "interval=30ms\n"; *p; p++) {
        CHECK(send(fd, p, 1, MSG_NOSIGNAL) == 1);
        usleep(2000);
    }
    CHECK(recv(fd, got, sizeof got - 1, 0) > 0);
    CHECK_STR(got, "ok number 30000000\n");
    close(fd);
    end(&s);
}

TEST(the_socket_lies_in_a_folder_of_its_user_alone)
{
    struct server s;
    struct stat st;
    char dir[CONTROL_PATH];
    start(&s);
    snprintf(dir, sizeof dir, "%s", s.c.path);
    *strrchr(dir, '/') = 0;
    CHECK(stat(dir, &st) == 0);
    CHECK_INT(st.st_mode & 0777, 0700);
    end(&s);
    CHECK(access(s.c.path, F_OK) != 0);
}

TEST(a_folder_open_to_others_is_not_used)
{
    struct control c = {0};
    struct err e;
    char dir[CONTROL_PATH];
    setenv("XDG_RUNTIME_DIR", test_tmpdir(), 1);
    snprintf(dir, sizeof dir, "%s/footplate", test_tmpdir());
    CHECK(mkdir(dir, 0700) == 0 && chmod(dir, 0777) == 0);
    /* It takes the next place or none, but never this one. */
    if (control_open(&c, "run", "node", &e) == 0)
        CHECK(strncmp(c.path, test_tmpdir(), strlen(test_tmpdir())) != 0);
    control_close(&c);
}

TEST(a_socket_left_by_a_killed_recorder_is_taken_over_but_not_a_living_one)
{
    struct control a = {0}, b = {0};
    struct err e;
    setenv("XDG_RUNTIME_DIR", test_tmpdir(), 1);
    OK(control_open(&a, "run", "node", &e));
    CHECK_INT(control_open(&b, "run", "node", &e), ERR_BUSY);
    close(a.fd); /* as a kill -9 does: the name stays */
    OK(control_open(&b, "run", "node", &e));
    control_close(&b);
}
