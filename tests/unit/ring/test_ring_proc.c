/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ring/ring_proc.h"
#include "test.h"

#define FIELDS " S 1 2 3 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 17 0 987654 1000 200 1844"

TEST(the_fields_are_found_behind_whatever_name_a_program_has)
{
    static const char *const texts[] = {"77 (train)" FIELDS, "77 (a b) c (d) )" FIELDS,
                                        "77 ()" FIELDS};
    for (size_t i = 0; i < 3; i++) {
        struct ring_stat s;
        CHECK(ring_stat_parse(texts[i], strlen(texts[i]), &s));
        CHECK_INT(s.state, 'S');
        CHECK_INT(s.threads, 17);
        CHECK_INT(s.start_ticks, 987654);
    }
}

TEST(a_text_that_ends_early_is_refused)
{
    const char *text = "77 (train)" FIELDS;
    const size_t whole = (size_t)(strstr(text, " 987654") - text) + 1;
    struct ring_stat s;
    for (size_t n = 0; n < whole; n++)
        CHECK(!ring_stat_parse(text, n, &s));
}

TEST(this_process_lives_and_one_that_started_at_another_time_does_not)
{
    struct ring_stat s;
    CHECK(ring_stat_read(0, &s));
    CHECK(ring_process_lives((uint32_t)getpid(), s.start_ticks));
    CHECK(!ring_process_lives((uint32_t)getpid(), s.start_ticks + 1));
    CHECK(!ring_process_lives(0, 0));
    CHECK(!ring_process_lives(UINT32_MAX, 0));
    CHECK(ring_pid_ns() != 0);
}

TEST(a_process_that_has_ended_does_not_live_even_before_it_is_waited_for)
{
    siginfo_t info;
    const pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
    CHECK(!ring_process_lives((uint32_t)pid, 0));
    waitpid(pid, NULL, 0);
    CHECK(!ring_process_lives((uint32_t)pid, 0));
}

static void *outlive(void *arg)
{
    pause();
    return arg;
}

TEST(a_process_lives_when_only_its_first_thread_has_ended)
{
    const pid_t pid = fork();
    if (pid == 0) {
        pthread_t t;
        pthread_create(&t, NULL, outlive, NULL);
        pthread_exit(NULL);
    }
    struct ring_stat s = {0};
    for (int i = 0; i < 2000 && s.state != 'Z'; i++) {
        usleep(1000);
        CHECK(ring_stat_read((uint32_t)pid, &s));
    }
    CHECK_INT(s.state, 'Z');
    CHECK(ring_process_lives((uint32_t)pid, 0));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

TEST(numbers_are_written_with_at_least_the_digits_asked_for)
{
    char text[32];
    *ring_put_number(text, 0, 10, 1) = '\0';
    CHECK_STR(text, "0");
    *ring_put_number(text, UINT64_MAX, 10, 1) = '\0';
    CHECK_STR(text, "18446744073709551615");
    *ring_put_number(text, 0xabc, 16, 16) = '\0';
    CHECK_STR(text, "0000000000000abc");
}
