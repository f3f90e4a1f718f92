/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gather.h"
#include "ring/ring_write.h"
#include "test.h"

static struct ring_writer writer;
static uint8_t on;
static _Thread_local struct ring_thread thread = RING_THREAD_INIT;

static void start_with(enum ring_clock_kind clock)
{
    ring_writer_start(&writer, &on, test_tmpdir(), clock);
    CHECK_INT(on, 1);
}

static void start(void)
{
    start_with(0);
}

static void put(uint32_t name, uint64_t value)
{
    const struct ring_payload s = ring_payload_of(RING_COUNT_INT, name, value);
    if (writer.clock == RING_CLOCK_MONOTONIC)
        ring_put_mono(&writer, &thread, s);
    else
        ring_put(&writer, &thread, s);
}

static void check_no_loss(const struct gather *g)
{
    CHECK_INT(g->lost.dropped, 0);
    CHECK_INT(g->lost.no_ring, 0);
    CHECK_INT(g->lost.torn, 0);
    CHECK_INT(g->lost.bad, 0);
    CHECK_INT(g->broken, 0);
}

static void check_counts_up(const struct gathered *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        CHECK_INT(v[i].value, i);
        CHECK(i == 0 || v[i].at_ns >= v[i - 1].at_ns);
    }
}

static void check_order_with(enum ring_clock_kind clock)
{
    struct gather g = {0};
    start_with(clock);
    const uint32_t name = ring_intern(&writer, "n");
    const int64_t before = clock_mono().ns;
    for (uint64_t i = 0; i < 5000; i++)
        put(name, i);
    const int64_t after = clock_mono().ns;
    gather_all(&g, test_tmpdir());
    CHECK_INT(g.n, 5000);
    check_counts_up(g.v, g.n);
    CHECK(g.v[0].at_ns >= before - 200 * NS_PER_US);
    CHECK(g.v[4999].at_ns <= after + 200 * NS_PER_US);
    CHECK(g.v[4999].at_ns > g.v[0].at_ns);
    CHECK_INT(g.v[0].tid, gettid());
    CHECK_INT(g.v[0].pid, getpid());
    check_no_loss(&g);
    gather_free(&g);
}

TEST(events_come_out_in_the_order_and_at_the_time_they_were_put)
{
    check_order_with(0);
}

TEST(events_stamped_with_the_monotonic_clock_come_out_likewise)
{
    check_order_with(RING_CLOCK_MONOTONIC);
}

TEST(a_caller_that_does_not_know_the_clock_gets_that_of_the_writer)
{
    struct gather g = {0};
    start_with(RING_CLOCK_MONOTONIC);
    const int64_t before = clock_mono().ns;
    for (uint64_t i = 0; i < 100; i++)
        ring_put(&writer, &thread, ring_payload_of(RING_COUNT_INT, 0, i));
    gather_all(&g, test_tmpdir());
    CHECK_INT(g.n, 100);
    check_counts_up(g.v, g.n);
    CHECK(g.v[0].at_ns >= before && g.v[99].at_ns <= clock_mono().ns);
    gather_free(&g);
}

static void check_full_with(enum ring_clock_kind clock)
{
    struct gather g = {0};
    const struct ring_folder_handler h = gather_handler(&g);
    struct ring_folder *f;
    struct err e;
    size_t n;
    enum { PUT = 20000, KEPT = RING_ROOM - 1 }; /* one place says which thread it is */
    start_with(clock);
    for (uint64_t i = 0; i < PUT; i++)
        put(0, i);
    OK(ring_folder_open(&f, test_tmpdir(), &h, &e));
    OK(ring_folder_drain(f, &n, &e));
    CHECK_INT(g.n, KEPT);
    check_counts_up(g.v, g.n);
    CHECK_INT(g.lost.dropped, PUT - KEPT);
    for (uint64_t i = 0; i < 100; i++) /* there is room again */
        put(0, KEPT + i);
    OK(ring_folder_drain(f, &n, &e));
    CHECK_INT(g.n, KEPT + 100);
    check_counts_up(g.v, g.n);
    CHECK_INT(g.lost.dropped, PUT - KEPT);
    ring_folder_close(f, false);
    gather_free(&g);
}

TEST(a_full_ring_keeps_what_it_has_and_counts_the_rest_exactly)
{
    check_full_with(0);
}

TEST(a_full_ring_with_the_monotonic_clock_likewise)
{
    check_full_with(RING_CLOCK_MONOTONIC);
}

enum { MANY = 300000 };
static uint64_t read_so_far; /* atomic */

static void *put_many(void *arg)
{
    (void)arg;
    const uint32_t name = ring_intern(&writer, "many");
    for (uint64_t i = 0; i < MANY; i++) {
        while (i - __atomic_load_n(&read_so_far, __ATOMIC_ACQUIRE) > RING_ROOM - 10)
            sched_yield(); /* the test waits, the ring never does */
        put(name, i);
    }
    return NULL;
}

TEST(nothing_is_lost_or_changed_over_many_laps_under_a_draining_reader)
{
    struct gather g = {0};
    const struct ring_folder_handler h = gather_handler(&g);
    struct ring_folder *f;
    struct err e;
    size_t n;
    pthread_t t;
    start();
    OK(ring_folder_open(&f, test_tmpdir(), &h, &e));
    CHECK(pthread_create(&t, NULL, put_many, NULL) == 0);
    while (g.n < MANY && g.lost.dropped == 0) {
        OK(ring_folder_drain(f, &n, &e));
        __atomic_store_n(&read_so_far, g.n, __ATOMIC_RELEASE);
    }
    pthread_join(t, NULL);
    CHECK_INT(g.n, MANY);
    check_counts_up(g.v, g.n);
    CHECK_STR(g.v[MANY - 1].name, "many");
    check_no_loss(&g);
    ring_folder_close(f, false);
    gather_free(&g);
}

enum { VISITORS = 600, AT_ONCE = 8, EACH = 20 };

static void *visit(void *arg)
{
    const uint64_t number = (uint64_t)(uintptr_t)arg;
    for (uint64_t i = 0; i < EACH; i++)
        put(0, number * EACH + i);
    return (void *)(uintptr_t)gettid();
}

/* VISITORS threads, AT_ONCE at a time; tids[i] is the thread id of visitor i. */
static void run_visitors(uint32_t *tids, struct ring_folder *f)
{
    for (uintptr_t first = 0; first < VISITORS; first += AT_ONCE) {
        pthread_t t[AT_ONCE];
        struct err e;
        size_t n;
        for (uintptr_t i = 0; i < AT_ONCE; i++)
            CHECK(pthread_create(&t[i], NULL, visit, (void *)(first + i)) == 0);
        for (uintptr_t i = 0; i < AT_ONCE; i++) {
            void *tid;
            pthread_join(t[i], &tid);
            tids[first + i] = (uint32_t)(uintptr_t)tid;
        }
        OK(ring_folder_drain(f, &n, &e));
    }
}

static void check_visitors(bool has_key)
{
    struct gather g = {0};
    const struct ring_folder_handler h = gather_handler(&g);
    struct ring_folder *f;
    struct err e;
    uint32_t tids[VISITORS];
    uint64_t next[VISITORS] = {0};
    start();
    writer.has_key = has_key;
    OK(ring_folder_open(&f, test_tmpdir(), &h, &e));
    run_visitors(tids, f);
    ring_folder_close(f, false);
    CHECK_INT(g.n, VISITORS * EACH);
    for (size_t i = 0; i < g.n; i++) {
        const uint64_t who = g.v[i].value / EACH;
        CHECK_INT(g.v[i].value % EACH, next[who]++);
        CHECK_INT(g.v[i].tid, tids[who]);
    }
    check_no_loss(&g);
    gather_free(&g);
}

static uint64_t file_bytes(void)
{
    char name[64], path[256];
    struct stat st;
    gather_only_file(test_tmpdir(), name, sizeof name);
    snprintf(path, sizeof path, "%s/%s", test_tmpdir(), name);
    CHECK(stat(path, &st) == 0);
    return (uint64_t)st.st_blocks * 512;
}

TEST(threads_that_come_and_go_by_the_hundred_lose_nothing_and_need_few_rings)
{
    check_visitors(true);
    CHECK(file_bytes() <= RING_SLOTS_AT + (AT_ONCE + 2) * RING_BYTES);
}

TEST(rings_of_threads_that_ended_without_giving_them_back_are_found)
{
    check_visitors(false);
}

enum { CROWD = RING_COUNT + 16 };
static pthread_barrier_t barrier;

static void *stay(void *arg)
{
    const uint64_t number = (uint64_t)(uintptr_t)arg;
    pthread_barrier_wait(&barrier);
    for (uint64_t i = 0; i < EACH; i++)
        put(0, number);
    pthread_barrier_wait(&barrier);
    return NULL;
}

TEST(threads_beyond_the_last_ring_are_counted_and_harm_nobody)
{
    struct gather g = {0};
    pthread_t t[CROWD];
    unsigned of[CROWD] = {0}, heard = 0;
    start();
    pthread_barrier_init(&barrier, NULL, CROWD);
    for (uintptr_t i = 0; i < CROWD; i++)
        CHECK(pthread_create(&t[i], NULL, stay, (void *)i) == 0);
    for (size_t i = 0; i < CROWD; i++)
        pthread_join(t[i], NULL);
    gather_all(&g, test_tmpdir());
    for (size_t i = 0; i < g.n; i++)
        of[g.v[i].value]++;
    for (size_t i = 0; i < CROWD; i++)
        heard += of[i] == EACH;
    CHECK_INT(heard, RING_COUNT);
    CHECK_INT(g.lost.no_ring, (CROWD - RING_COUNT) * EACH);
    gather_free(&g);
}

TEST(an_event_between_taking_a_place_and_filling_it_waits_for_the_first)
{
    struct gather g = {0};
    const struct ring_folder_handler h = gather_handler(&g);
    struct ring_folder *f;
    struct err e;
    size_t n;
    start();
    OK(ring_folder_open(&f, test_tmpdir(), &h, &e));
    put(0, 0);
    const uint64_t place = ring_take(&thread.ring->head); /* an emit, interrupted here */
    put(0, 2);                                            /* by a handler that emits */
    OK(ring_folder_drain(f, &n, &e));
    CHECK_INT(g.n, 1);
    ring_fill(&thread, place, ring_tsc(), ring_payload_of(RING_COUNT_INT, 0, 1));
    OK(ring_folder_drain(f, &n, &e));
    CHECK_INT(g.n, 3);
    check_counts_up(g.v, g.n);
    check_no_loss(&g);
    ring_folder_close(f, false);
    gather_free(&g);
}

TEST(an_emit_that_is_never_finished_costs_one_event_and_a_second)
{
    struct gather g = {0};
    const struct ring_folder_handler h = gather_handler(&g);
    struct ring_folder *f;
    struct err e;
    start();
    OK(ring_folder_open(&f, test_tmpdir(), &h, &e));
    put(0, 0);
    ring_take(&thread.ring->head); /* as after a jump out of a signal handler */
    put(0, 1);
    gather_wait(&g, f, 2);
    CHECK_INT(g.n, 2);
    check_counts_up(g.v, g.n);
    CHECK_INT(g.lost.torn, 1);
    ring_folder_close(f, false);
    gather_free(&g);
}

static uint64_t by_handler;
static uint32_t handler_name;

static void emit_in_handler(int sig)
{
    (void)sig;
    put(handler_name, by_handler++);
}

static void *poke(void *arg)
{
    for (int i = 0; i < 3000; i++) {
        pthread_kill(*(pthread_t *)arg, SIGUSR1);
        for (int k = 0; k < 200; k++)
            __asm__ volatile("");
    }
    return NULL;
}

static void check_signals_with(enum ring_clock_kind clock)
{
    struct gather g = {0};
    const struct ring_folder_handler h = gather_handler(&g);
    const struct sigaction act = {.sa_handler = emit_in_handler, .sa_flags = SA_RESTART};
    struct ring_folder *f;
    struct err e;
    size_t n, left;
    pthread_t self = pthread_self(), t;
    uint64_t put_by_main = 0;
    start_with(clock);
    handler_name = ring_intern(&writer, "handler");
    const uint32_t name = ring_intern(&writer, "main");
    sigaction(SIGUSR1, &act, NULL);
    OK(ring_folder_open(&f, test_tmpdir(), &h, &e));
    CHECK(pthread_create(&t, NULL, poke, &self) == 0);
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < 2000; i++)
            put(name, put_by_main++);
        OK(ring_folder_drain(f, &n, &e));
    }
    pthread_join(t, NULL);
    OK(ring_folder_drain(f, &left, &e));
    struct gathered *v = gather_named(&g, "main", &n);
    CHECK_INT(n, put_by_main);
    check_counts_up(v, n);
    free(v);
    v = gather_named(&g, "handler", &n);
    CHECK(by_handler > 0);
    CHECK_INT(n, by_handler);
    check_counts_up(v, n);
    free(v);
    CHECK_INT(g.n, put_by_main + by_handler);
    check_no_loss(&g);
    ring_folder_close(f, false);
    gather_free(&g);
}

TEST(signal_handlers_that_emit_all_the_time_lose_and_mix_nothing)
{
    check_signals_with(0);
}

TEST(signal_handlers_lose_and_mix_nothing_with_the_monotonic_clock)
{
    check_signals_with(RING_CLOCK_MONOTONIC);
}

static void fork_and_put(bool tell)
{
    const uint32_t name = ring_intern(&writer, "before the fork");
    put(name, 1);
    const pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        if (tell)
            ring_writer_forked(&writer);
        put(name, 2);
        put(ring_intern(&writer, "in the child"), 3);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    put(name, 4);
}

static void check_fork(bool tell)
{
    struct gather g = {0};
    start();
    fork_and_put(tell);
    CHECK_INT(gather_file_count(test_tmpdir()), 2);
    gather_all(&g, test_tmpdir());
    CHECK_INT(g.n, 4);
    for (size_t i = 0; i < g.n; i++) {
        const bool mine = g.v[i].value == 1 || g.v[i].value == 4;
        CHECK((g.v[i].pid == (uint32_t)getpid()) == mine);
        CHECK_STR(g.v[i].name, g.v[i].value == 3 ? "in the child" : "before the fork");
    }
    CHECK_INT(g.begun, 2);
    check_no_loss(&g);
    gather_free(&g);
}

TEST(a_child_of_fork_writes_to_a_file_of_its_own_and_knows_the_names)
{
    check_fork(true);
}

TEST(the_kernel_alone_keeps_a_child_out_of_its_parents_file)
{
    check_fork(false);
}

static void in_child(void (*go)(void))
{
    const pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        go();
        _exit(0);
    }
    waitpid(pid, NULL, 0);
}

static void say_something(void)
{
    put(ring_intern(&writer, "said"), 7);
}

static void say_nothing(void)
{
}

TEST(a_child_of_fork_says_first_what_it_is_when_it_says_something)
{
    struct gather g = {0};
    start();
    const uint32_t rank = ring_intern(&writer, "rank"), size = ring_intern(&writer, "size");
    ring_put_fact(&writer, &thread, rank, 1);
    ring_put_fact(&writer, &thread, size, 4);
    ring_put_fact(&writer, &thread, rank, 2);
    in_child(say_nothing);
    CHECK_INT(gather_file_count(test_tmpdir()), 1);
    in_child(say_something);
    gather_all(&g, test_tmpdir());
    CHECK_INT(g.n, 6);
    uint64_t values[3], n = 0;
    for (size_t i = 0; i < g.n; i++)
        if (g.v[i].pid != (uint32_t)getpid() && n < 3)
            values[n++] = g.v[i].value;
    CHECK_INT(n, 3);
    CHECK(values[0] == 2 && values[1] == 4 && values[2] == 7);
    check_no_loss(&g);
    gather_free(&g);
}

TEST(facts_beyond_the_last_place_are_said_and_not_kept)
{
    struct gather g = {0};
    char name[16];
    start();
    for (unsigned i = 0; i < RING_FACTS + 3; i++) {
        snprintf(name, sizeof name, "fact %u", i);
        ring_put_fact(&writer, &thread, ring_intern(&writer, name), i);
    }
    ring_put_fact(&writer, &thread, 0, 99);
    in_child(say_something);
    gather_all(&g, test_tmpdir());
    CHECK_INT(g.n, (RING_FACTS + 4) + (RING_FACTS + 1));
    check_no_loss(&g);
    gather_free(&g);
}

TEST(errno_and_the_signal_mask_are_as_before)
{
    sigset_t before, after;
    start();
    sigemptyset(&before);
    sigaddset(&before, SIGUSR2);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = 1234;
    put(0, 1);
    CHECK_INT(errno, 1234);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    CHECK(sigismember(&after, SIGUSR2) == 1 && sigismember(&after, SIGUSR1) == 0);
}

TEST(a_folder_that_is_gone_switches_the_writer_off)
{
    char dir[256];
    snprintf(dir, sizeof dir, "%s/gone", test_tmpdir());
    ring_writer_start(&writer, &on, dir, 0);
    CHECK_INT(on, 1);
    errno = 1234;
    put(0, 1);
    CHECK_INT(on, 0);
    CHECK_INT(errno, 1234);
    put(0, 2);
}

TEST(a_second_recorder_gets_the_names_and_facts_of_a_process_and_only_new_events)
{
    char first[300], second[300];
    struct gather g = {0}, h = {0};
    snprintf(first, sizeof first, "%s/first", test_tmpdir());
    snprintf(second, sizeof second, "%s/second", test_tmpdir());
    CHECK(mkdir(first, 0700) == 0 && mkdir(second, 0700) == 0);
    ring_writer_start(&writer, &on, first, 0);
    const uint32_t name = ring_intern(&writer, "said");
    ring_put_fact(&writer, &thread, ring_intern(&writer, "rank"), 3);
    put(name, 1);
    ring_writer_end(&writer);
    CHECK_INT(on, 0);
    CHECK_INT(ring_asked(&writer), 0);
    ring_writer_start(&writer, &on, second, 0);
    CHECK_INT(on, 1);
    put(name, 2);
    gather_all(&g, first);
    gather_all(&h, second);
    CHECK(g.n == 2 && g.v[1].value == 1 && strcmp(g.v[1].name, "said") == 0);
    CHECK(h.n == 2 && h.v[0].value == 3 && strcmp(h.v[0].name, "rank") == 0);
    CHECK(h.v[1].value == 2 && strcmp(h.v[1].name, "said") == 0);
    check_no_loss(&g);
    check_no_loss(&h);
    gather_free(&g);
    gather_free(&h);
}

TEST(a_folder_that_another_user_made_switches_the_writer_off_and_stays_empty)
{
    char dir[256];
    if (geteuid() != 0)
        SKIP("needs root to make a folder of another user");
    snprintf(dir, sizeof dir, "%s/squatted", test_tmpdir());
    CHECK(mkdir(dir, 0777) == 0 && chown(dir, 65534, 65534) == 0);
    ring_writer_start(&writer, &on, dir, 0);
    put(0, 1);
    CHECK_INT(on, 0);
    CHECK_INT(rmdir(dir), 0); /* it is empty */
}

TEST(without_a_folder_the_writer_stays_off)
{
    char longer[RING_DIR_LEN + 10];
    memset(longer, 'x', sizeof longer);
    longer[0] = '/';
    longer[sizeof longer - 1] = '\0';
    static const char *const none[] = {NULL, "", "relative/folder"};
    for (size_t i = 0; i < 3; i++) {
        ring_writer_start(&writer, &on, none[i], 0);
        CHECK_INT(on, 0);
        CHECK_INT(ring_intern(&writer, "x"), 0);
    }
    ring_writer_start(&writer, &on, longer, 0);
    CHECK_INT(on, 0);
}

TEST(a_limit_on_file_size_raises_no_signal_and_what_was_said_is_counted)
{
    struct gather g = {0};
    struct rlimit old, small;
    start();
    CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0);
    small = old;
    small.rlim_cur = 100000;
    CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
    for (int i = 0; i < 10; i++)
        put(0, 0);
    CHECK_INT(gather_file_count(test_tmpdir()), 0);
    CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0);
    usleep(40000); /* until it tries again */
    put(0, 0);
    gather_all(&g, test_tmpdir());
    CHECK_INT(g.n, 1);
    CHECK_INT(g.lost.no_ring, 10);
    gather_free(&g);
}

/* A file system of that size over the test's folder, for this process alone. */
static bool mount_small(const char *size)
{
    const uid_t uid = getuid();
    if (unshare(CLONE_NEWNS) != 0) {
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
            return false;
        FILE *map = fopen("/proc/self/uid_map", "w");
        if (!map || fprintf(map, "0 %u 1", uid) < 0 || fclose(map) != 0)
            return false;
    }
    return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("none", test_tmpdir(), "tmpfs", 0, size) == 0;
}

TEST(a_full_file_system_raises_no_signal_and_what_was_said_is_counted)
{
    struct gather g = {0};
    if (!mount_small("size=160k"))
        SKIP("this user may not mount a small file system");
    start();
    for (int i = 0; i < 10; i++)
        put(0, 0); /* the head of the file has room, its first ring has not */
    gather_all(&g, test_tmpdir());
    CHECK_INT(g.n, 0);
    CHECK_INT(g.lost.no_ring, 10);
    gather_free(&g);
    umount(test_tmpdir());
}
