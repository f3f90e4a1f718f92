/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "footplate/emit.h"
#include "gather.h"
#include "test.h"

enum { FORKS = 20, SPEAKERS = 4, WORDS = 200 }; /* as in talker.c */

static const char *const programs[] = {TALKER, TALKER_SHARED};

static pid_t start_talker(const char *program, const char *how, const char *env, int out)
{
    const pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        if (env)
            putenv((char *)(uintptr_t)env);
        if (out >= 0)
            dup2(out, 1);
        if (strcmp(program, TRAIN) == 0)
            execl(program, program, how, "1", (char *)NULL);
        execl(program, program, how, (char *)NULL);
        _exit(127);
    }
    return pid;
}

/* Runs it to its end with the recorder listening; its status. `said`: what it printed. */
static int listen_to(struct gather *g, const char *program, const char *how, char *said,
                     size_t size)
{
    const struct ring_folder_handler h = gather_handler(g);
    struct ring_folder *f;
    struct err e;
    size_t n;
    int out[2], status = 0;
    OK(ring_folder_make(&f, test_tmpdir(), &h, &e));
    CHECK(setenv(RING_ENV, ring_folder_path(f), 1) == 0);
    CHECK(pipe(out) == 0);
    const pid_t pid = start_talker(program, how, NULL, out[1]);
    while (waitpid(pid, &status, WNOHANG) == 0) {
        OK(ring_folder_drain(f, &n, &e));
        usleep(500);
    }
    close(out[1]);
    const ssize_t got = read(out[0], said, size - 1);
    said[got > 0 ? got : 0] = '\0';
    close(out[0]);
    OK(ring_folder_finish(f, &n, &e));
    CHECK_INT(g->broken, 0);
    CHECK_INT(gather_file_count(ring_folder_path(f)), 0);
    ring_folder_close(f, true);
    unsetenv(RING_ENV);
    return status;
}

static int listen_quietly(struct gather *g, const char *program, const char *how)
{
    char said[64];
    return listen_to(g, program, how, said, sizeof said);
}

static void check_no_loss(const struct gather *g)
{
    CHECK_INT(g->lost.dropped + g->lost.no_ring + g->lost.torn + g->lost.bad, 0);
}

static void check_event(const struct gathered *v, enum ring_kind kind, uint8_t mode,
                        const char *name, uint64_t value)
{
    CHECK_INT(v->kind, kind);
    CHECK_INT(v->mode, mode);
    CHECK_STR(v->name, name);
    CHECK_INT(v->value, value);
}

TEST(every_kind_of_event_arrives_as_it_was_said_from_either_library)
{
    for (size_t i = 0; i < 2; i++) {
        struct gather g = {0};
        double loss;
        CHECK_INT(listen_quietly(&g, programs[i], "everything"), 0);
        CHECK_INT(g.n, 7);
        check_event(&g.v[0], RING_STEP_BEGIN, FP_EVAL, "", 7);
        check_event(&g.v[1], RING_SPAN_BEGIN, 0, "forward", 0);
        check_event(&g.v[2], RING_SPAN_END, 0, "forward", 0);
        check_event(&g.v[3], RING_MARK, 0, "saved", 0);
        check_event(&g.v[4], RING_COUNT_INT, 0, "depth", (uint64_t)-3);
        CHECK_INT(g.v[5].kind, RING_COUNT_REAL);
        memcpy(&loss, &g.v[5].value, sizeof loss);
        NEAR(loss, 0.25, 0);
        check_event(&g.v[6], RING_STEP_END, FP_EVAL, "", 7);
        check_no_loss(&g);
        gather_free(&g);
    }
}

/* What `talker state` prints: whether it was enabled, and the id of a name. */
static void check_silent(const char *env)
{
    char said[64];
    int out[2], status;
    CHECK(pipe(out) == 0);
    waitpid(start_talker(TALKER, "state", env, out[1]), &status, 0);
    CHECK_INT(status, 0);
    const ssize_t n = read(out[0], said, sizeof said - 1);
    CHECK(n > 0);
    said[n] = '\0';
    CHECK_STR(said, "0 0\n");
    CHECK_INT(gather_file_count(test_tmpdir()), 0);
}

TEST(with_no_recorder_nothing_is_enabled_and_no_file_is_made)
{
    unsetenv(RING_ENV);
    check_silent(NULL);
    check_silent("FOOTPLATE_RING=");
    check_silent("FOOTPLATE_RING=/nowhere/at/all"); /* it is off from the first event on */
}

TEST(footplate_disable_switches_it_off_under_a_recorder)
{
    setenv(RING_ENV, test_tmpdir(), 1);
    check_silent("FOOTPLATE_DISABLE=1");
}

TEST(a_recorder_that_does_not_use_the_counter_gets_the_monotonic_clock)
{
    struct gather g = {0};
    setenv("FOOTPLATE_CLOCK", "monotonic", 1);
    const int64_t before = clock_mono().ns;
    CHECK_INT(listen_quietly(&g, TALKER, "everything"), 0);
    CHECK_INT(g.n, 7);
    CHECK(g.v[0].at_ns >= before && g.v[6].at_ns <= clock_mono().ns);
    gather_free(&g);
}

TEST(children_forked_by_a_threaded_program_are_heard_each_by_itself)
{
    struct gather g = {0};
    size_t n, same = 0;
    CHECK_INT(listen_quietly(&g, TALKER, "fork"), 0);
    struct gathered *v = gather_named(&g, "word", &n);
    CHECK_INT(n, FORKS * SPEAKERS * WORDS);
    for (size_t i = 1; i < n; i++) /* threads of one child come one after the other */
        if (v[i].pid == v[i - 1].pid && v[i].tid == v[i - 1].tid && v[i].value) {
            CHECK_INT(v[i].value, v[i - 1].value + 1);
            same++;
        }
    CHECK(same >= n / 2);
    CHECK_INT(g.begun, FORKS + 1);
    CHECK_INT(g.ended, FORKS + 1);
    CHECK(gather_count(&g, "background") > 0);
    check_no_loss(&g);
    free(v);
    gather_free(&g);
}

TEST(a_timer_that_interrupts_and_emits_loses_nothing_of_either)
{
    struct gather g = {0};
    char said[64];
    size_t n;
    CHECK_INT(listen_to(&g, TALKER, "signals", said, sizeof said), 0);
    struct gathered *v = gather_named(&g, "main", &n);
    CHECK_INT(n + g.lost.dropped >= 50000, 1);
    for (size_t i = 1; i < n; i++)
        CHECK(v[i].value > v[i - 1].value);
    free(v);
    CHECK(atol(said) > 100);
    CHECK_INT(g.n + g.lost.dropped, 50000 + (uint64_t)atol(said));
    CHECK_INT(g.lost.torn, 0);
    gather_free(&g);
}

TEST(what_is_said_at_exit_is_heard)
{
    struct gather g = {0};
    CHECK_INT(listen_quietly(&g, TALKER, "exit"), 0);
    CHECK_INT(gather_count(&g, "before"), 1);
    CHECK_INT(gather_count(&g, "at exit"), 1);
    gather_free(&g);
}

TEST(a_process_killed_in_mid_step_is_heard_up_to_there)
{
    struct gather g = {0};
    CHECK_INT(listen_quietly(&g, TALKER, "kill"), SIGKILL);
    CHECK_INT(g.n, 2);
    check_event(&g.v[1], RING_SPAN_BEGIN, 0, "forward", 0);
    gather_free(&g);
}

TEST(destructors_of_threads_may_emit)
{
    struct gather g = {0};
    CHECK_INT(listen_quietly(&g, TALKER, "destructors"), 0);
    CHECK_INT(gather_count(&g, "thread"), 200);
    CHECK_INT(gather_count(&g, "late"), 200);
    check_no_loss(&g);
    gather_free(&g);
}

TEST(a_process_is_heard_before_and_after_exec)
{
    struct gather g = {0};
    CHECK_INT(listen_quietly(&g, TALKER, "exec"), 0);
    CHECK_INT(g.begun, 2);
    CHECK_INT(gather_count(&g, "before exec"), 1);
    CHECK_INT(gather_count(&g, "forward"), 2);
    gather_free(&g);
}

TEST(a_program_that_closes_all_its_files_is_still_heard)
{
    struct gather g = {0};
    CHECK_INT(listen_quietly(&g, TALKER, "closed"), 0);
    CHECK_INT(gather_count(&g, "one"), 1);
    CHECK_INT(gather_count(&g, "two"), 1);
    CHECK_INT(gather_count(&g, "word"), SPEAKERS * WORDS);
    gather_free(&g);
}

TEST(vfork_does_not_disturb_its_parent)
{
    struct gather g = {0};
    CHECK_INT(listen_quietly(&g, TALKER, "vfork"), 0);
    CHECK_INT(gather_count(&g, "one"), 1);
    CHECK_INT(gather_count(&g, "two"), 1);
    CHECK_INT(g.begun, 1);
    gather_free(&g);
}

TEST(the_example_tells_its_steps_and_all_its_phases)
{
    static const char *const phases[] = {"data",      "forward",      "backward",
                                         "optimizer", "forward.eval", "checkpoint"};
    struct gather g = {0};
    char said[2048];
    unsigned long long steps = 0;
    CHECK_INT(listen_to(&g, TRAIN, "--epochs", said, sizeof said), 0);
    const char *done = strstr(said, "done: ");
    CHECK(done && sscanf(done, "done: %llu steps", &steps) == 1 && steps > 0);
    for (size_t i = 0; i < sizeof phases / sizeof phases[0]; i++)
        CHECK_INT(gather_count(&g, phases[i]), 2 * (i < 4 ? steps : 1));
    CHECK_INT(gather_count(&g, ""), 2 * (steps + 1)); /* of training, and one evaluation */
    check_no_loss(&g);
    gather_free(&g);
}
