/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "gather.h"
#include "ring/ring_write.h"
#include "test.h"

static struct ring_writer writer;
static uint8_t on;
static _Thread_local struct ring_thread thread = RING_THREAD_INIT;
static struct ring_clock the_clock;

static void put(uint32_t name, uint64_t value)
{
    ring_put(&writer, &thread, ring_payload_of(RING_COUNT_INT, name, value));
}

static void start(void)
{
    ring_writer_start(&writer, &on, test_tmpdir(), 0);
    CHECK_INT(on, 1);
    ring_clock_start(&the_clock);
}

static const char *file_path(void)
{
    static char path[256];
    char name[64];
    gather_only_file(test_tmpdir(), name, sizeof name);
    snprintf(path, sizeof path, "%s/%s", test_tmpdir(), name);
    return path;
}

static struct ring_reader *open_reader(const char *path)
{
    struct ring_reader *r;
    struct err e;
    OK(ring_reader_open(&r, AT_FDCWD, path, &e));
    return r;
}

/* Everything that a reader of the file has to say. */
static int read_file(const char *path, struct gather *g)
{
    const struct ring_folder_handler h = gather_handler(g);
    struct ring_reader *r;
    struct err e;
    size_t n;
    int rc = ring_reader_open(&r, AT_FDCWD, path, &e);
    if (rc)
        return rc;
    do {
        ring_reader_check(r);
        rc = ring_reader_drain(r, &the_clock, &h.ring, &n, &e);
    } while (rc == 0 && n > 0);
    ring_reader_close(r);
    return rc;
}

static void patch(const char *path, size_t at, const void *p, size_t n)
{
    const int fd = open(path, O_RDWR);
    CHECK(fd >= 0);
    CHECK(pwrite(fd, p, n, (off_t)at) == (ssize_t)n);
    close(fd);
}

/* A child that emits without end and is killed at a time of chance. */
static void burst_and_kill(struct gather *g, unsigned us)
{
    const struct ring_folder_handler h = gather_handler(g);
    struct ring_folder *f;
    struct err e;
    size_t n;
    const pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        const uint32_t name = ring_intern(&writer, "burst");
        for (uint64_t i = 0;; i++)
            put(name, i);
    }
    OK(ring_folder_open(&f, test_tmpdir(), &h, &e));
    for (unsigned slept = 0; slept < us || g->n == 0; slept += 500) {
        usleep(500);
        OK(ring_folder_drain(f, &n, &e));
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    OK(ring_folder_finish(f, &n, &e));
    ring_folder_close(f, false);
}

TEST(a_writer_killed_in_mid_burst_leaves_only_whole_events)
{
    start();
    for (unsigned round = 0; round < 25; round++) {
        struct gather g = {0};
        burst_and_kill(&g, 2000 + round * 137);
        CHECK(g.n > 1000);
        for (size_t i = 0; i < g.n; i++) {
            CHECK(i == 0 || g.v[i].value > g.v[i - 1].value);
            CHECK_INT(g.v[i].kind, RING_COUNT_INT);
            CHECK_STR(g.v[i].name, "burst");
        }
        /* Each one was delivered or counted, but for the one it died in. */
        CHECK(g.lost.torn <= 1);
        CHECK(g.v[g.n - 1].value + 1 <= g.n + g.lost.dropped + 1);
        CHECK_INT(g.lost.bad, 0);
        CHECK_INT(g.ended, 1);
        CHECK_INT(gather_file_count(test_tmpdir()), 0);
        gather_free(&g);
    }
}

TEST(what_a_dead_process_left_is_read_and_then_it_is_finished)
{
    struct gather g = {0};
    const struct ring_folder_handler h = gather_handler(&g);
    struct err e;
    size_t n;
    start();
    const pid_t pid = fork();
    if (pid == 0) {
        for (uint64_t i = 0; i < 100; i++)
            put(0, i);
        ring_take(&thread.ring->head); /* killed in the middle of one, after another */
        put(0, 100);
        ring_take(&thread.ring->head);
        _exit(0);
    }
    struct stat st;
    while (gather_file_count(test_tmpdir()) == 0 || stat(file_path(), &st) != 0)
        usleep(1000);
    siginfo_t info;
    waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT); /* it stays a zombie */
    struct ring_reader *r = open_reader(file_path());
    CHECK_INT(ring_reader_check(r), RING_ALIVE); /* gone, but not read */
    OK(ring_reader_drain(r, &the_clock, &h.ring, &n, &e));
    CHECK_INT(n, 101);
    CHECK_INT(ring_reader_check(r), RING_ALIVE); /* there might be more */
    OK(ring_reader_drain(r, &the_clock, &h.ring, &n, &e));
    CHECK_INT(n, 0);
    CHECK_INT(ring_reader_check(r), RING_FINISHED);
    CHECK_INT(g.lost.torn, 2);
    ring_reader_close(r);
    waitpid(pid, NULL, 0);
    gather_free(&g);
}

TEST(a_living_process_is_never_finished)
{
    struct gather g = {0};
    const struct ring_folder_handler h = gather_handler(&g);
    struct err e;
    size_t n;
    start();
    put(0, 1);
    struct ring_reader *r = open_reader(file_path());
    for (int i = 0; i < 5; i++) {
        CHECK_INT(ring_reader_check(r), RING_ALIVE);
        OK(ring_reader_drain(r, &the_clock, &h.ring, &n, &e));
    }
    ring_reader_close(r);
    gather_free(&g);
}

/* The checks and drains of a file that says its process started at another time, and was perhaps in
 * another namespace; true when it ends up finished. */
static bool ends_with(uint64_t other_ns)
{
    struct gather g = {0};
    const struct ring_folder_handler h = gather_handler(&g);
    struct err e;
    size_t n;
    bool finished = false;
    start();
    put(0, 1);
    const uint64_t start_ticks = 1;
    patch(file_path(), offsetof(struct ring_file, start_ticks), &start_ticks, sizeof start_ticks);
    if (other_ns)
        patch(file_path(), offsetof(struct ring_file, pid_ns), &other_ns, sizeof other_ns);
    struct ring_reader *r = open_reader(file_path());
    for (int i = 0; i < 4; i++) {
        finished = ring_reader_check(r) == RING_FINISHED;
        OK(ring_reader_drain(r, &the_clock, &h.ring, &n, &e));
    }
    CHECK_INT(g.n, 1);
    ring_reader_close(r);
    gather_free(&g);
    return finished;
}

TEST(a_pid_that_was_given_to_another_process_does_not_keep_a_file_alive)
{
    CHECK(ends_with(0));
}

TEST(a_pid_of_another_namespace_is_not_looked_up)
{
    CHECK(!ends_with(12345));
}

TEST(a_second_reader_goes_on_where_the_first_stopped)
{
    struct gather g = {0};
    start();
    put(0, 0);
    put(0, 1);
    CHECK_INT(read_file(file_path(), &g), 0);
    put(0, 2);
    CHECK_INT(read_file(file_path(), &g), 0);
    CHECK_INT(g.n, 3);
    for (size_t i = 0; i < g.n; i++) {
        CHECK_INT(g.v[i].value, i);
        CHECK_INT(g.v[i].tid, gettid());
    }
    gather_free(&g);
}

TEST(a_file_that_is_just_being_made_is_busy_and_others_are_refused)
{
    static const struct {
        const char *name;
        size_t at;
        uint32_t value;
        int code;
    } changes[] = {
        {"magic", 0, 0x12345678, ERR_FORMAT},
        {"version", offsetof(struct ring_file, version), 2, ERR_VERSION},
        {"rings", offsetof(struct ring_file, rings), 65, ERR_FORMAT},
        {"slots", offsetof(struct ring_file, slots), 1 << 30, ERR_FORMAT},
        {"names", offsetof(struct ring_file, names), 0, ERR_FORMAT},
        {"clock", offsetof(struct ring_file, clock), 3, ERR_FORMAT},
    };
    struct gather g = {0};
    char path[256];
    start();
    put(0, 1);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        uint32_t old;
        memcpy(&old, (uint8_t *)thread.map + changes[i].at, sizeof old);
        patch(file_path(), changes[i].at, &changes[i].value, sizeof old);
        CHECK_INT(read_file(file_path(), &g), changes[i].code);
        patch(file_path(), changes[i].at, &old, sizeof old);
    }
    const uint64_t none = 0;
    patch(file_path(), 0, &none, sizeof none);
    CHECK_INT(read_file(file_path(), &g), ERR_BUSY);
    snprintf(path, sizeof path, "%s/empty", test_tmpdir());
    close(open(path, O_CREAT | O_RDWR, 0600));
    CHECK_INT(read_file(path, &g), ERR_BUSY);
    CHECK_INT(g.n, 0);
}

TEST(a_pipe_a_link_and_a_folder_are_refused_without_waiting)
{
    struct gather g = {0};
    char path[256];
    start();
    put(0, 1);
    snprintf(path, sizeof path, "%s/pipe", test_tmpdir());
    CHECK(mkfifo(path, 0600) == 0);
    CHECK_INT(read_file(path, &g), ERR_FORMAT);
    snprintf(path, sizeof path, "%s/link", test_tmpdir());
    CHECK(symlink(file_path(), path) == 0);
    CHECK_INT(read_file(path, &g), ERR_SYS);
    CHECK_INT(read_file(test_tmpdir(), &g), ERR_SYS);
}

TEST(a_file_that_is_cut_while_it_is_read_is_an_error_and_no_signal)
{
    start();
    static const off_t lengths[] = {RING_SLOTS_AT + 3200, RING_SLOTS_AT, RING_NAMES_AT, 4096, 17};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct gather g = {0};
        const struct ring_folder_handler h = gather_handler(&g);
        struct err e;
        size_t n;
        const pid_t pid = fork(); /* the writer would get the signal */
        if (pid == 0) {
            for (uint64_t k = 0; k < 1000; k++)
                put(0, k);
            _exit(0);
        }
        waitpid(pid, NULL, 0);
        struct ring_reader *r = open_reader(file_path());
        CHECK(truncate(file_path(), lengths[i]) == 0);
        CHECK_INT(ring_reader_drain(r, &the_clock, &h.ring, &n, &e), ERR_FORMAT);
        ring_reader_close(r);
        CHECK(unlink(file_path()) == 0);
        gather_free(&g);
    }
}

static uint64_t next_random(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

/* A value that is nasty more often than chance would have it. */
static uint64_t nasty(uint64_t *seed)
{
    static const uint64_t some[] = {0,          1,          UINT64_MAX,     INT64_MAX,
                                    1ull << 63, RING_SLOTS, RING_SLOTS + 1, 0xffffffff};
    const uint64_t r = next_random(seed);
    return r % 3 ? some[r / 3 % 8] : next_random(seed);
}

/* Where something is that a reader looks at. */
static size_t place_to_break(uint64_t *seed)
{
    const uint64_t r = next_random(seed), at = next_random(seed) >> 8;
    switch (r % 4) {
    case 0:
        return at % 12 * 8;
    case 1:
        return RING_HEADS_AT + at % 2 * sizeof(struct ring_head) + at / 2 % 9 * 8;
    case 2:
        return RING_NAMES_AT + sizeof(struct ring_name) + at % 128;
    default:
        return RING_SLOTS_AT + at % 600 * 8;
    }
}

TEST(no_change_of_any_field_makes_the_reader_stumble)
{
    static uint8_t good[RING_SLOTS_AT + 64 * 1024];
    uint64_t seed = 42;
    char path[256];
    start();
    const uint32_t a = ring_intern(&writer, "good name"), b = ring_intern(&writer, "another");
    for (uint64_t i = 0; i < 150; i++)
        put(i % 2 ? a : b, i);
    memcpy(good, thread.map, sizeof good);
    snprintf(path, sizeof path, "%s/broken", test_tmpdir());
    const int fd = open(path, O_CREAT | O_RDWR, 0600);
    CHECK(fd >= 0 && ftruncate(fd, (off_t)RING_FILE_BYTES) == 0);
    for (int round = 0; round < 3000; round++) {
        struct gather g = {0};
        CHECK(pwrite(fd, good, sizeof good, 0) == (ssize_t)sizeof good);
        for (uint64_t k = 1 + next_random(&seed) % 4; k > 0; k--) {
            const uint64_t v = nasty(&seed);
            CHECK(pwrite(fd, &v, 1 + seed % 8, (off_t)place_to_break(&seed)) > 0);
        }
        if (read_file(path, &g) == 0)
            CHECK(g.n <= 2 * RING_SLOTS);
        for (size_t i = 1; i < g.n; i++)
            CHECK(g.v[i].at_ns >= 0 && g.v[i].kind > 0 && g.v[i].kind != RING_THREAD &&
                  g.v[i].kind < RING_KIND_END);
        gather_free(&g);
    }
    close(fd);
}

TEST(events_that_make_no_sense_are_counted_and_the_others_delivered)
{
    struct gather g = {0};
    start();
    put(0, 0);
    ring_put(&writer, &thread, ring_payload_of(0, 0, 0));
    ring_put(&writer, &thread, ring_payload_of(RING_KIND_END, 0, 0));
    ring_put(&writer, &thread, ring_payload_of(RING_MARK | 256 << 8, 0, 0));
    put(0, 1);
    CHECK_INT(read_file(file_path(), &g), 0);
    CHECK_INT(g.n, 2);
    CHECK_INT(g.lost.bad, 3);
    gather_free(&g);
}

TEST(a_loss_comes_with_its_reason_and_without_one_when_that_makes_no_sense)
{
    static const uint64_t wrong[] = {0, RING_NAMES, UINT64_MAX, (uint64_t)1 << 32 | 1};
    struct gather g = {0};
    start();
    const uint32_t what = ring_intern(&writer, "keras data"), why = ring_intern(&writer, "no");
    ring_put(&writer, &thread, ring_payload_of(RING_LOSS, what, why));
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        ring_put(&writer, &thread, ring_payload_of(RING_LOSS, what, wrong[i]));
    CHECK_INT(read_file(file_path(), &g), 0);
    CHECK_INT(g.n, 1 + COUNT_OF(wrong));
    for (size_t i = 0; i < g.n; i++) {
        CHECK_STR(g.v[i].name, "keras data");
        CHECK_STR(g.v[i].reason, i ? "" : "no");
    }
    gather_free(&g);
}

TEST(a_head_that_jumped_is_followed_and_counted_once)
{
    struct gather g = {0};
    const struct ring_folder_handler h = gather_handler(&g);
    struct err e;
    size_t n;
    start();
    put(0, 0);
    struct ring_reader *r = open_reader(file_path());
    OK(ring_reader_drain(r, &the_clock, &h.ring, &n, &e));
    thread.ring->head += 10 * RING_SLOTS;
    OK(ring_reader_drain(r, &the_clock, &h.ring, &n, &e));
    put(0, 1);
    OK(ring_reader_drain(r, &the_clock, &h.ring, &n, &e));
    CHECK_INT(g.n, 2);
    CHECK_INT(g.v[1].value, 1);
    CHECK_INT(g.lost.bad, 1);
    CHECK_INT(g.lost.torn, 0);
    ring_reader_close(r);
    gather_free(&g);
}

TEST(a_time_in_the_future_becomes_now_and_one_in_the_past_does_not_go_back)
{
    struct gather g = {0};
    start();
    put(0, 0);
    put(0, 1);
    put(0, 2);
    thread.slots[2].time = 0; /* the first slot says whose they are */
    thread.slots[3].time += UINT64_C(100000000000);
    CHECK_INT(read_file(file_path(), &g), 0);
    CHECK_INT(g.n, 3);
    CHECK(g.v[0].at_ns <= g.v[1].at_ns && g.v[1].at_ns <= g.v[2].at_ns);
    CHECK(g.v[2].at_ns <= clock_mono().ns);
    gather_free(&g);
}
