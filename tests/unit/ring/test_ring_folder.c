/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gather.h"
#include "ring/ring_write.h"
#include "test.h"

static struct ring_writer writer;
static uint8_t on;
static _Thread_local struct ring_thread thread = RING_THREAD_INIT;

static void put(uint64_t value)
{
    ring_put(&writer, &thread, ring_payload_of(RING_COUNT_INT, 0, value));
}

static pid_t child_that_puts(uint64_t n)
{
    const pid_t pid = fork();
    if (pid == 0) {
        for (uint64_t i = 0; i < n; i++)
            put(i);
        _exit(0);
    }
    return pid;
}

TEST(a_folder_is_made_for_this_user_alone_and_removed_with_all_in_it)
{
    struct gather g = {0};
    const struct ring_folder_handler h = gather_handler(&g);
    struct ring_folder *f;
    struct stat st;
    struct err e;
    char path[256];
    OK(ring_folder_make(&f, test_tmpdir(), &h, &e));
    snprintf(path, sizeof path, "%s", ring_folder_path(f));
    CHECK(stat(path, &st) == 0);
    CHECK_INT(st.st_mode & 07777, 0700);
    ring_writer_start(&writer, &on, path, 0);
    put(1);
    CHECK_INT(gather_file_count(path), 1);
    ring_folder_close(f, true);
    CHECK(stat(path, &st) != 0);
}

TEST(files_that_appear_later_are_found_and_those_of_ended_processes_removed)
{
    struct gather g = {0};
    const struct ring_folder_handler h = gather_handler(&g);
    struct ring_folder *f;
    struct err e;
    size_t n;
    ring_writer_start(&writer, &on, test_tmpdir(), 0);
    OK(ring_folder_open(&f, test_tmpdir(), &h, &e));
    for (int round = 1; round <= 10; round++) {
        const pid_t pid = child_that_puts(100);
        waitpid(pid, NULL, 0);
        gather_wait(&g, f, (size_t)round * 100);
        CHECK_INT(g.n, round * 100);
        CHECK_INT(g.v[g.n - 1].pid, pid);
    }
    for (int i = 0; i < 300 && g.ended < 10; i++) {
        usleep(10000);
        OK(ring_folder_drain(f, &n, &e));
    }
    CHECK_INT(g.begun, 10);
    CHECK_INT(g.ended, 10);
    CHECK_INT(gather_file_count(test_tmpdir()), 0);
    CHECK_INT(ring_folder_count(f), 0);
    ring_folder_close(f, false);
    gather_free(&g);
}

TEST(finishing_reads_all_and_ends_living_processes_too)
{
    struct gather g = {0};
    ring_writer_start(&writer, &on, test_tmpdir(), 0);
    put(1);
    put(2);
    gather_all(&g, test_tmpdir());
    CHECK_INT(g.n, 2);
    CHECK_INT(g.ended, 1);
    gather_free(&g);
}

TEST(a_file_that_is_no_ring_is_reported_once_and_the_others_are_read)
{
    struct gather g = {0};
    const struct ring_folder_handler h = gather_handler(&g);
    struct ring_folder *f;
    struct err e;
    size_t n;
    char path[256];
    static const char junk[16384] = "not a ring";
    snprintf(path, sizeof path, "%s/ring-1-junk", test_tmpdir());
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    CHECK(write(fd, junk, sizeof junk) == (ssize_t)sizeof junk);
    close(fd);
    snprintf(path, sizeof path, "%s/other", test_tmpdir());
    close(open(path, O_CREAT | O_WRONLY, 0600));
    ring_writer_start(&writer, &on, test_tmpdir(), 0);
    put(1);
    OK(ring_folder_open(&f, test_tmpdir(), &h, &e));
    for (int i = 0; i < 5; i++)
        OK(ring_folder_drain(f, &n, &e));
    CHECK_INT(g.n, 1);
    CHECK_INT(g.broken, 1);
    CHECK_INT(g.why.code, ERR_FORMAT);
    ring_folder_close(f, false);
    gather_free(&g);
}

TEST(a_file_that_is_not_ready_is_tried_again_until_it_is)
{
    struct gather g = {0};
    const struct ring_folder_handler h = gather_handler(&g);
    const uint64_t magic = RING_MAGIC;
    struct ring_folder *f;
    struct err e;
    size_t n;
    ring_writer_start(&writer, &on, test_tmpdir(), 0);
    put(1);
    memset(thread.map, 0, sizeof magic);
    usleep(80000); /* the folder itself does not change any more */
    OK(ring_folder_open(&f, test_tmpdir(), &h, &e));
    OK(ring_folder_drain(f, &n, &e));
    OK(ring_folder_drain(f, &n, &e));
    CHECK_INT(g.begun, 0);
    CHECK(ring_folder_waits(f));
    memcpy(thread.map, &magic, sizeof magic);
    OK(ring_folder_drain(f, &n, &e));
    CHECK_INT(g.n, 1);
    CHECK(!ring_folder_waits(f));
    CHECK_INT(g.broken, 0);
    ring_folder_close(f, false);
    gather_free(&g);
}

TEST(a_folder_that_is_not_there_is_an_error)
{
    struct gather g = {0};
    const struct ring_folder_handler h = gather_handler(&g);
    struct ring_folder *f;
    struct err e;
    CHECK_INT(ring_folder_open(&f, "/nowhere/at/all", &h, &e), ERR_SYS);
}

/* Keeps a folder open until it is killed; its path comes through the pipe. */
static pid_t recorder_in_child(char *path, size_t size)
{
    int said[2];
    CHECK(pipe(said) == 0);
    const pid_t pid = fork();
    if (pid == 0) {
        struct gather g = {0};
        const struct ring_folder_handler h = gather_handler(&g);
        struct ring_folder *f;
        struct err e;
        if (ring_folder_make(&f, test_tmpdir(), &h, &e) == 0)
            (void)!write(said[1], ring_folder_path(f), strlen(ring_folder_path(f)) + 1);
        pause();
        _exit(1);
    }
    close(said[1]);
    CHECK(read(said[0], path, size) > 0);
    close(said[0]);
    return pid;
}

/* In a corner of its own: sweeping what is of any age would take the folders of others, who have
 * no lock yet. */
TEST(a_folder_is_swept_away_when_its_recorder_was_killed_and_not_before)
{
    char made[256], path[256], corner[] = RING_MEMORY "/fp-test-XXXXXX";
    struct stat st;
    const pid_t pid = recorder_in_child(made, sizeof made);
    if (strncmp(made, RING_MEMORY "/", sizeof RING_MEMORY) != 0) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        SKIP("no " RING_MEMORY " here");
    }
    CHECK(mkdtemp(corner));
    snprintf(path, sizeof path, "%s/footplate-one", corner);
    CHECK(rename(made, path) == 0);
    ring_folder_sweep(corner, 0);
    CHECK(stat(path, &st) == 0);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    ring_folder_sweep(corner, 3600 * NS_PER_S);
    CHECK(stat(path, &st) == 0);
    ring_folder_sweep(corner, 0);
    CHECK(stat(path, &st) != 0);
    CHECK(rmdir(corner) == 0);
}

static void ask_seven(void *arg, struct ring_reader *r)
{
    struct err e;
    OK(ring_reader_ask(r, 7, &e));
    ++*(int *)arg;
}

TEST(a_process_sees_what_the_recorder_asks_of_it)
{
    struct gather g = {0};
    const struct ring_folder_handler h = gather_handler(&g);
    struct ring_folder *f;
    struct err e;
    size_t n;
    int asked = 0;
    ring_writer_start(&writer, &on, test_tmpdir(), 0);
    CHECK_INT(ring_asked(&writer), 0);
    put(1);
    OK(ring_folder_open(&f, test_tmpdir(), &h, &e));
    OK(ring_folder_drain(f, &n, &e));
    CHECK_INT(ring_asked(&writer), 0);
    ring_folder_each(f, ask_seven, &asked);
    CHECK_INT(asked, 1);
    CHECK_INT(ring_asked(&writer), 7);
    ring_folder_close(f, false);
    gather_free(&g);
}
