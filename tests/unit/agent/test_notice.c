/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/notice.h"
#include "base/file.h"
#include "base/mem.h"
#include "test.h"

static const struct notice_provider *provider(const char *name)
{
    for (const struct notice_provider *p = notice_providers; p->name; p++)
        if (strcmp(p->name, name) == 0)
            return p;
    test_fail(__FILE__, __LINE__, "no provider %s", name);
}

TEST(answers_of_each_provider_are_judged)
{
    static const struct {
        const char *provider;
        int question;
        const char *body;
        bool found, ends;
        const char *text;
    } rows[] = {
        {"AWS", 0, "{\"action\": \"terminate\", \"time\": \"2026-01-01T08:22:00Z\"}", true, true,
         "AWS spot: terminate at 2026-01-01T08:22:00Z"},
        {"AWS", 0, "{\"action\": \"stop\"}", true, true, "AWS spot: stop at an unknown time"},
        {"AWS", 0, "{}", false, false, ""},
        {"AWS", 0, "not json", false, false, ""},
        {"AWS", 0, "", false, false, ""},
        {"AWS", 0, "[\"action\"]", false, false, ""},
        {"AWS", 1, "{\"noticeTime\": \"2026-01-01T08:22:00Z\"}", true, false,
         "AWS spot: higher risk of interruption since 2026-01-01T08:22:00Z"},
        {"GCP", 0, "TRUE\n", true, true, "GCP spot: preempted"},
        {"GCP", 0, "FALSE", false, false, ""},
        {"GCP", 0, "TRUEST", false, false, ""},
        {"GCP", 1, "NONE", false, false, ""},
        {"GCP", 1, "TERMINATE_ON_HOST_MAINTENANCE", true, true,
         "GCP maintenance: TERMINATE_ON_HOST_MAINTENANCE"},
        {"GCP", 1, "MIGRATE_ON_HOST_MAINTENANCE", true, false,
         "GCP maintenance: MIGRATE_ON_HOST_MAINTENANCE"},
        {"GCP", 1, "<html>oops</html>", false, false, ""},
        {"Azure", 0, "{\"DocumentIncarnation\":1,\"Events\":[]}", false, false, ""},
        {"Azure", 0,
         "{\"Events\":[{\"EventType\":\"Preempt\",\"NotBefore\":\"Mon, 19 Sep 2026 18:29:47 GMT\"},"
         "{\"EventType\":\"Freeze\"}]}",
         true, true, "Azure: Preempt not before Mon, 19 Sep 2026 18:29:47 GMT"},
        {"Azure", 0, "{\"Events\":[{\"EventType\":\"Reboot\"}]}", true, false,
         "Azure: Reboot not before now"},
        {"Azure", 0, "{\"Events\":\"Preempt\"}", false, false, ""},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct notice n = {0};
        const struct notice_question *q = &provider(rows[i].provider)->question[rows[i].question];
        q->judge(rows[i].body, strlen(rows[i].body), &n);
        CHECK_STR(n.text, rows[i].text);
        CHECK(n.found == rows[i].found);
        CHECK(n.ends == rows[i].ends);
    }
}

static int answer(const char *text, struct http_answer *a)
{
    struct err e;
    return http_answer_parse(text, strlen(text), a, &e);
}

TEST(http_answers_are_taken_apart)
{
    struct http_answer a;
    CHECK_INT(answer("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", &a), 0);
    CHECK_INT(a.status, 200);
    CHECK_INT(a.len, 5);
    CHECK(memcmp(a.body, "hello", 5) == 0);
    CHECK_INT(answer("HTTP/1.0 404 Not Found\r\ncontent-length:0\r\n\r\n", &a), 0);
    CHECK_INT(a.status, 404);
    CHECK_INT(a.len, 0);
    CHECK_INT(answer("HTTP/1.1 200 OK\r\n\r\nto the end", &a), 0);
    CHECK_INT(a.len, 10);
}

TEST(http_answers_that_are_broken_are_refused)
{
    static const char *const rows[] = {
        "",
        "hello",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 2x0 OK\r\n\r\n",
        "HTTP/2 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct http_answer a;
        CHECK_INT(answer(rows[i], &a), ERR_FORMAT);
    }
}

TEST(addresses_are_numbers_with_a_port)
{
    struct http_host h;
    struct err e;
    OK(http_host_parse(&h, "127.0.0.1:8080", &e));
    CHECK_INT(h.port, 8080);
    CHECK_STR(h.text, "127.0.0.1:8080");
    OK(http_host_parse(&h, "http://169.254.169.254/", &e));
    CHECK_INT(h.port, 80);
    CHECK_INT(http_host_parse(&h, "example.org", &e), ERR_USAGE);
    CHECK_INT(http_host_parse(&h, "127.0.0.1:0", &e), ERR_USAGE);
    CHECK_INT(http_host_parse(&h, "127.0.0.1:x", &e), ERR_USAGE);
    CHECK_INT(http_host_parse(&h, "", &e), ERR_USAGE);
}

/* A folder in the place of /sys whose DMI file says `text`. */
static const char *fake_sys(const char *file, const char *text)
{
    static char sys[PATH_LEN];
    char path[PATH_LEN];
    struct err e;
    OK(path_join(sys, &e, "%s/sys", test_tmpdir()));
    OK(path_join(path, &e, "%s/class/dmi/id", sys));
    OK(dir_make(path, &e));
    OK(path_join(path, &e, "%s/class/dmi/id/%s", sys, file));
    OK(file_replace(path, text, strlen(text), &e));
    return sys;
}

TEST(the_cloud_is_known_by_its_dmi_and_nothing_else_is_one)
{
    CHECK(notice_provider_here("/nonexistent") == NULL);
    CHECK(notice_provider_here(fake_sys("sys_vendor", "Microsoft Corporation\n")) == NULL);
    CHECK(notice_provider_here(fake_sys("product_name", "Virtual Machine\n")) == NULL);
    CHECK_STR(
        notice_provider_here(fake_sys("chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77\n"))
            ->name,
        "Azure");
    CHECK_STR(notice_provider_here(fake_sys("product_name", "Google Compute Engine\n"))->name,
              "GCP");
    CHECK_STR(notice_provider_here(fake_sys("sys_vendor", "Amazon EC2\n"))->name, "AWS");
}

/* A metadata service on loopback: the script says what it answers to which request line. */
struct stand_in {
    int fd;
    char address[32];
    const char *(*script)(const char *request);
    atomic_int asked;
    atomic_bool stop;
    pthread_t thread;
};

static void *stand_in_main(void *arg)
{
    struct stand_in *s = arg;
    while (!s->stop) {
        const int fd = accept(s->fd, NULL, NULL);
        char request[2048] = "";
        if (fd < 0)
            continue;
        if (recv(fd, request, sizeof request - 1, 0) > 0) {
            const char *text = s->script(request);
            s->asked++;
            (void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
        }
        close(fd);
    }
    return NULL;
}

static void stand_in_start(struct stand_in *s, const char *(*script)(const char *))
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof a;
    const struct timeval limit = {.tv_usec = 50000};
    *s = (struct stand_in){.fd = socket(AF_INET, SOCK_STREAM, 0), .script = script};
    CHECK(bind(s->fd, (struct sockaddr *)&a, sizeof a) == 0 && listen(s->fd, 8) == 0);
    setsockopt(s->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    getsockname(s->fd, (struct sockaddr *)&a, &n);
    snprintf(s->address, sizeof s->address, "127.0.0.1:%d", ntohs(a.sin_port));
    pthread_create(&s->thread, NULL, stand_in_main, s);
}

static void stand_in_stop(struct stand_in *s)
{
    s->stop = true;
    pthread_join(s->thread, NULL);
    close(s->fd);
}

/* A sink that remembers its last mark and loss. */
struct heard {
    struct sink sink;
    pthread_mutex_t lock;
    int marks, losses;
    struct mark mark;
};

static void hear_row(struct sink *s, struct group *g, mono_ns t)
{
    (void)s;
    (void)g;
    (void)t;
}

static void hear_loss(struct sink *s, const struct loss *l)
{
    (void)l;
    ((struct heard *)(void *)s)->losses++;
}

static void hear_mark(struct sink *s, const struct mark *m)
{
    struct heard *h = (struct heard *)(void *)s;
    pthread_mutex_lock(&h->lock);
    h->marks++;
    h->mark = *m;
    pthread_mutex_unlock(&h->lock);
}

static const struct sink_ops hear_ops = {.row = hear_row, .loss = hear_loss, .mark = hear_mark};

static void on_notice(void *ctx, const struct notice *n)
{
    if (n->ends)
        atomic_fetch_add((atomic_int *)ctx, 1);
}

static bool wait_for(atomic_int *value, int least)
{
    for (int i = 0; i < 400 && *value < least; i++)
        usleep(10000);
    return *value >= least;
}

static const char *aws_script(const char *request)
{
    if (strncmp(request, "PUT /latest/api/token ", 22) == 0)
        return strstr(request, "X-aws-ec2-metadata-token-ttl-seconds: ")
                   ? "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret"
                   : "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
    if (!strstr(request, "X-aws-ec2-metadata-token: secret\r\n"))
        return "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n";
    if (strncmp(request, "GET /latest/meta-data/spot/instance-action ", 43) == 0)
        return "HTTP/1.1 200 "
               "OK\r\n\r\n{\"action\":\"terminate\",\"time\":\"2026-01-01T00:00:00Z\"}";
    return "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
}

TEST(a_notice_from_the_metadata_service_becomes_a_mark_once)
{
    struct stand_in s;
    struct heard h = {.sink = {&hear_ops}, .lock = PTHREAD_MUTEX_INITIALIZER};
    struct notice_watch w;
    atomic_int notices = 0;
    stand_in_start(&s, aws_script);
    CHECK(notice_start(&w, fake_sys("sys_vendor", "Amazon EC2\n"), s.address, 20, &h.sink,
                       on_notice, &notices));
    CHECK(wait_for(&notices, 1));
    CHECK(wait_for(&s.asked, 9)); /* the token, then both questions several times */
    notice_stop(&w);
    stand_in_stop(&s);
    CHECK_INT(notices, 1);
    CHECK_INT(h.marks, 1);
    CHECK_INT(h.mark.id, MARK_INTERRUPTION);
    CHECK_STR(h.mark.text, "AWS spot: terminate at 2026-01-01T00:00:00Z");
}

static const char *quiet_script(const char *request)
{
    (void)request;
    return "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
}

TEST(a_machine_of_no_known_cloud_asks_nobody)
{
    struct stand_in s;
    struct heard h = {.sink = {&hear_ops}, .lock = PTHREAD_MUTEX_INITIALIZER};
    struct notice_watch w;
    atomic_int notices = 0;
    stand_in_start(&s, quiet_script);
    CHECK(!notice_start(&w, fake_sys("sys_vendor", "QEMU\n"), s.address, 20, &h.sink, on_notice,
                        &notices));
    usleep(200000);
    notice_stop(&w);
    stand_in_stop(&s);
    CHECK_INT(s.asked, 0);
}

TEST(no_notice_no_mark)
{
    struct stand_in s;
    struct heard h = {.sink = {&hear_ops}, .lock = PTHREAD_MUTEX_INITIALIZER};
    struct notice_watch w;
    atomic_int notices = 0;
    stand_in_start(&s, quiet_script);
    CHECK(notice_start(&w, fake_sys("product_name", "Google Compute Engine\n"), s.address, 20,
                       &h.sink, on_notice, &notices));
    CHECK(wait_for(&s.asked, 2));
    notice_stop(&w);
    stand_in_stop(&s);
    CHECK_INT(h.marks, 0);
}

TEST(a_service_that_never_answers_does_not_hold_up_the_end)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof a;
    struct heard h = {.sink = {&hear_ops}, .lock = PTHREAD_MUTEX_INITIALIZER};
    struct notice_watch w;
    atomic_int notices = 0;
    char address[32];
    const int fd = socket(AF_INET, SOCK_STREAM, 0); /* accepts in the backlog, says nothing */
    CHECK(bind(fd, (struct sockaddr *)&a, sizeof a) == 0 && listen(fd, 8) == 0);
    getsockname(fd, (struct sockaddr *)&a, &n);
    snprintf(address, sizeof address, "127.0.0.1:%d", ntohs(a.sin_port));
    CHECK(notice_start(&w, fake_sys("sys_vendor", "Amazon EC2\n"), address, 20, &h.sink, on_notice,
                       &notices));
    usleep(50000);
    const mono_ns before = clock_mono();
    notice_stop(&w);
    CHECK(mono_diff(clock_mono(), before) < 3 * NS_PER_S);
    close(fd);
}
