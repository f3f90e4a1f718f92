/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>

#include "base/mem.h"
#include "query/recordkit.h"
#include "test.h"

/* "init 0-100, train 100-250": the phases, from the start of the job on. */
static const char *phases_text(const struct run_phases *p)
{
    static char ring[4][4096];
    static unsigned turn;
    char *out = ring[turn++ % COUNT_OF(ring)];
    static const char *const names[PHASE_N] = {"init", "train", "eval", "final", "away"};
    size_t len = 0;
    out[0] = '\0';
    double sum_s = 0;
    for (size_t i = 0; i < p->n; i++) {
        const struct phase *x = &p->phases[i];
        CHECK(x->start.ns < x->end.ns);
        CHECK_INT(x->start.ns, i ? p->phases[i - 1].end.ns : p->job_start.ns);
        CHECK(i == 0 || x->kind != p->phases[i - 1].kind);
        len += (size_t)snprintf(out + len, sizeof ring[0] - len, "%s%s %lld-%lld", i ? ", " : "",
                                names[x->kind], (long long)(x->start.ns - p->job_start.ns),
                                (long long)(x->end.ns - p->job_start.ns));
    }
    if (p->n)
        CHECK_INT(p->phases[p->n - 1].end.ns, p->job_end.ns);
    for (size_t i = 0; i < PHASE_N; i++)
        sum_s += p->seconds[i];
    const double all_s = (double)(p->job_end.ns - p->job_start.ns) / 1e9;
    NEAR(sum_s, all_s, 1e-9 * (1 + all_s));
    return out;
}

/* A job from 0 to 1000 whose ranks did what the texts say, each from 100 on. */
static const char *phases_of_ranks(const char *first, const char *second)
{
    struct arena a = {0};
    struct rank_steps ranks[2] = {0};
    struct run_phases p;
    struct node_info node = {.id = "a", .session = 1, .status = RUN_FINISHED, .end = {2000}};
    const struct run_info info = {.nodes = &node, .n_nodes = 1, .end = {2000}};
    const struct run_mark m[] = {{"a", {.id = MARK_JOB_START}, {KIT_WALL}},
                                 {"a", {.id = MARK_JOB_EXIT}, {KIT_WALL + 990}},
                                 {"a", {.id = MARK_JOB_END}, {KIT_WALL + 1000}}};
    const char *texts[] = {first, second};
    for (size_t i = 0; i < 2; i++) {
        struct stepkit k = {.at = 100};
        stepkit_add(&k, texts[i]);
        steps_derive(k.v, k.n, &a, &ranks[i].steps, &ranks[i].n);
        stepkit_free(&k);
    }
    phases_of(&(struct phases_from){&info, m, COUNT_OF(m), ranks, 2}, &a, &p);
    const char *out = phases_text(&p);
    arena_free(&a);
    return out;
}

TEST(a_job_gets_ready_trains_and_finishes)
{
    CHECK_STR(phases_of_ranks("D5 F3 B4 O1 .7 D5 F3 B4 O1", ""),
              "init 0-100, train 100-133, final 133-1000");
}

TEST(evaluation_begins_with_its_first_step_and_ends_where_training_goes_on)
{
    CHECK_STR(phases_of_ranks("D5 F3 B4 O1 .7 L1 D5 E5 .2 D5 E5 .8 D5 F3 B4 O1", ""),
              "init 0-100, train 100-121, eval 121-151, train 151-164, final 164-1000");
}

TEST(an_evaluation_before_the_first_training_step_is_getting_ready)
{
    CHECK_STR(phases_of_ranks("D5 E5 .50 D5 F3 B4 O1", ""),
              "init 0-160, train 160-173, final 173-1000");
}

TEST(a_job_that_only_evaluates_loops_over_that)
{
    CHECK_STR(phases_of_ranks("D5 E5 .50 D5 E5", ""), "init 0-100, eval 100-170, final 170-1000");
    CHECK_STR(phases_of_ranks("P9:0 P9:1", ""), "init 0-100, eval 100-118, final 118-1000");
}

TEST(the_loop_of_all_ranks_begins_with_the_first_and_ends_with_the_last)
{
    CHECK_STR(phases_of_ranks("D5 F3 B4 O1", ".30 D5 F3 B4 O9"),
              "init 0-100, train 100-151, final 151-1000");
}

TEST(a_moment_is_evaluation_only_when_no_rank_is_in_a_training_step)
{
    /* The second rank trains on for 10 while the first evaluates. */
    CHECK_STR(phases_of_ranks("D5 F5 O10 D5 E25 D5 F5 O10", "D5 F5 O20 D5 E15 D5 F5 O10"),
              "init 0-100, train 100-130, eval 130-150, train 150-170, final 170-1000");
    /* The second rank waits outside of any step. */
    CHECK_STR(phases_of_ranks("D5 F5 O10 D5 E25 D5 F5 O10", "D5 F5 O10 .30 D5 F5 O10"),
              "init 0-100, train 100-120, eval 120-150, train 150-170, final 170-1000");
}

TEST(steps_that_end_behind_the_job_by_another_nodes_clock_make_it_longer)
{
    CHECK_STR(phases_of_ranks("D5 F3 B4 O1 .950 D5 F3 B4 O1", ""), "init 0-100, train 100-1076");
}

/* A node from 0 on that came to that status, with a word from outside at 200 and steps from 100
 * to 420: those of a living one are ahead of its last sample. */
static const char *phases_when_told(enum run_status status, struct mark word)
{
    struct arena a = {0};
    struct rank_steps rank = {0};
    struct run_phases p;
    struct node_info node = {.id = "a", .session = 1, .status = status, .start = {KIT_WALL}};
    node.end.ns = KIT_WALL + (status == RUN_RUNNING ? 400 : 420);
    const struct run_info info = {.nodes = &node, .n_nodes = 1, .status = status};
    const struct run_mark m[] = {{"a", {.id = MARK_JOB_START}, {KIT_WALL}},
                                 {"a", word, {KIT_WALL + 200}}};
    struct stepkit k = {.at = 100};
    stepkit_add(&k, "D100 F30 B20 O10 D100 F30 B20 O10");
    steps_derive(k.v, k.n, &a, &rank.steps, &rank.n);
    stepkit_free(&k);
    phases_of(&(struct phases_from){&info, m, COUNT_OF(m), &rank, 1}, &a, &p);
    const char *out = phases_text(&p);
    arena_free(&a);
    return out;
}

TEST(a_living_job_that_was_told_to_stop_is_interrupted_from_then_until_now)
{
    static const struct mark words[] = {{.id = MARK_SIGNAL, .number = SIGTERM},
                                        {.id = MARK_SIGNAL, .number = SIGINT},
                                        {.id = MARK_INTERRUPTION, .number = 1}};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        CHECK_STR(phases_when_told(RUN_RUNNING, words[i]),
                  "init 0-100, train 100-200, away 200-420");
        CHECK_STR(phases_when_told(RUN_FINISHED, words[i]), "init 0-100, train 100-420");
        CHECK_STR(phases_when_told(RUN_STOPPED, words[i]), "init 0-100, train 100-420");
    }
}

TEST(what_does_not_end_a_job_does_not_interrupt_it)
{
    static const struct mark words[] = {{.id = MARK_SIGNAL, .number = SIGUSR1},
                                        {.id = MARK_INTERRUPTION, .number = 0}, /* a warning */
                                        {.id = MARK_STOP, .number = SIGTERM}}; /* the user's wish */
    static const enum run_status all[] = {RUN_RUNNING, RUN_INTERRUPTED, RUN_DIED};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        for (size_t k = 0; k < COUNT_OF(all); k++)
            CHECK_STR(phases_when_told(all[k], words[i]), "init 0-100, train 100-420");
}

TEST(a_machine_that_goes_away_with_its_recorder_was_interrupted_by_the_notice)
{
    const struct mark notice = {.id = MARK_INTERRUPTION, .number = 1};
    CHECK_STR(phases_when_told(RUN_DIED, notice), "init 0-100, train 100-200, away 200-420");
}

/* The same job at 1000, whose node is in this state and has these marks. */
static struct run_phases phases_at_1000(const char *text, enum run_status status,
                                        const struct run_mark *m, size_t n_marks, struct arena *a)
{
    struct rank_steps rank = {0};
    struct run_phases p;
    struct node_info node = {
        .id = "a", .session = 1, .status = status, .start = {KIT_WALL}, .end = {KIT_WALL + 1000}};
    const struct run_info info = {.nodes = &node, .n_nodes = 1, .end = {KIT_WALL + 1000}};
    struct stepkit k = {.at = 100};
    stepkit_add(&k, text);
    steps_derive(k.v, k.n, a, &rank.steps, &rank.n);
    stepkit_free(&k);
    phases_of(&(struct phases_from){&info, m, n_marks, &rank, 1}, a, &p);
    return p;
}

TEST(a_job_that_lives_has_no_finalization_it_goes_on_being_what_it_was)
{
    static const char trains[] = "D5 F3 B4 O1 .7 D5 F3 B4 O1";
    const struct run_mark m[] = {{"a", {.id = MARK_JOB_START}, {KIT_WALL}},
                                 {"a", {.id = MARK_JOB_EXIT}, {KIT_WALL + 990}}};
    struct arena a = {0};
    struct run_phases p = phases_at_1000(trains, RUN_RUNNING, m, 1, &a);
    CHECK(p.loop_goes_on);
    CHECK_INT(p.loop_end.ns, KIT_WALL + 133); /* what is known of it */
    CHECK_STR(phases_text(&p), "init 0-100, train 100-1000");
    p = phases_at_1000("D5 F3 B4 O1 .7 L1 D5 E5", RUN_RUNNING, m, 1, &a);
    CHECK_STR(phases_text(&p), "init 0-100, train 100-121, eval 121-1000");
    p = phases_at_1000(trains, RUN_RUNNING, m, 2, &a); /* its recorder is about to end, too */
    CHECK(!p.loop_goes_on);
    CHECK_STR(phases_text(&p), "init 0-100, train 100-133, final 133-1000");
    p = phases_at_1000(trains, RUN_DIED, m, 1, &a);
    CHECK(!p.loop_goes_on);
    CHECK_STR(phases_text(&p), "init 0-100, train 100-133, final 133-1000");
    p = phases_at_1000("", RUN_RUNNING, m, 1, &a);
    CHECK(!p.loop_goes_on && !p.has_steps);
    CHECK_STR(phases_text(&p), "init 0-1000");
    arena_free(&a);
}

TEST(without_steps_all_is_getting_ready_and_it_says_so)
{
    struct arena a = {0};
    struct run_phases p;
    struct node_info node = {.id = "a", .session = 1, .end = {500}};
    const struct run_info info = {.nodes = &node, .n_nodes = 1, .start = {100}, .end = {500}};
    phases_of(&(struct phases_from){.info = &info}, &a, &p);
    CHECK(!p.has_steps);
    CHECK_INT(p.job_start.ns, 100);
    CHECK_STR(phases_text(&p), "init 0-400");
    arena_free(&a);
}

/* ---- from files ---- */

static struct run_phases read_phases(const char *path, struct arena *a)
{
    struct run *r;
    struct run_phases p;
    struct err e;
    OK(run_open(&r, path, &e));
    OK(phases_read(r, a, &p, &e));
    run_close(r);
    return p;
}

/* One session of node "a": the job from `at` to `at` + 100 us (its
 * recorder 20 more), a step every 10 us from 30 us on. */
static void session(const char *run, int64_t at, const char *status, int signal)
{
    struct recordkit k = recordkit_open(run, "a");
    const int64_t us = NS_PER_US;
    recordkit_mark(&k, MARK_JOB_START, at, 1);
    recordkit_thread(k.events, 7, 7, at + 30 * us,
                     "D5000 F2000 B2000 O1000 D5000 F2000 B2000 O1000");
    if (signal)
        recordkit_mark(&k, MARK_SIGNAL, at + 80 * us, signal);
    recordkit_mark(&k, MARK_JOB_END, at + 100 * us, 0);
    recordkit_close(&k, at, at + 120 * us, status);
}

TEST(phases_of_a_recorded_run_tile_its_job)
{
    struct arena a = {0};
    const char *run = kit_run("r", "r", "r", KIT_START);
    session(run, 10000, "finished", 0);
    const struct run_phases p = read_phases(run, &a);
    CHECK(p.has_steps);
    CHECK_INT(p.job_start.ns, KIT_START + 10000);
    CHECK_INT(p.loop_start.ns, KIT_START + 40000);
    CHECK_INT(p.loop_end.ns, KIT_START + 60000);
    CHECK_STR(phases_text(&p), "init 0-30000, train 30000-50000, final 50000-100000");
    NEAR(p.seconds[PHASE_FINAL], 50e-6, 1e-12);
    arena_free(&a);
}

TEST(a_job_that_was_told_to_stop_is_interrupted_from_then_on)
{
    struct arena a = {0};
    const char *run = kit_run("r", "r", "r", KIT_START);
    session(run, 0, "interrupted", SIGTERM);
    struct run_phases p = read_phases(run, &a);
    CHECK_STR(phases_text(&p),
              "init 0-30000, train 30000-50000, final 50000-80000, away 80000-100000");
    run = kit_run("other", "r", "r", KIT_START);
    session(run, 0, "interrupted", SIGUSR1); /* not the signal that did it */
    p = read_phases(run, &a);
    CHECK_STR(phases_text(&p), "init 0-30000, train 30000-50000, final 50000-100000");
    run = kit_run("third", "r", "r", KIT_START);
    session(run, 0, "finished", SIGTERM); /* it took no notice */
    p = read_phases(run, &a);
    CHECK_STR(phases_text(&p), "init 0-30000, train 30000-50000, final 50000-100000");
    arena_free(&a);
}

TEST(between_two_sessions_a_node_was_away_and_then_got_ready_again)
{
    struct arena a = {0};
    const char *run = kit_run("r", "r", "r", KIT_START);
    session(run, 0, "died", 0);
    session(run, 300000, "finished", 0);
    const struct run_phases p = read_phases(run, &a);
    CHECK_STR(phases_text(&p), "init 0-30000, train 30000-120000, away 120000-300000, "
                               "init 300000-330000, train 330000-350000, final 350000-400000");
    CHECK_INT(p.loop_start.ns, KIT_START + 30000);
    CHECK_INT(p.loop_end.ns, KIT_START + 350000);
    arena_free(&a);
}

TEST(a_run_that_goes_on_ends_where_its_data_ends)
{
    struct arena a = {0};
    const char *run = kit_run("r", "r", "r", KIT_START);
    struct recordkit k = recordkit_open(run, "a");
    recordkit_mark(&k, MARK_JOB_START, 0, 1);
    recordkit_thread(k.events, 7, 7, 5000, "D5000 F2000 B2000 O1000 D1?");
    recordkit_thread(k.events, 7, 8, 5000, "U40000");
    const char *killed = recordkit_killed(&k, "killed");
    const struct run_phases p = read_phases(killed, &a);
    CHECK(p.has_steps);
    CHECK_INT(p.loop_end.ns, KIT_START + 45000); /* of the cut step */
    CHECK(p.job_end.ns >= p.loop_end.ns);
    CHECK_INT(p.phases[0].kind, PHASE_INIT);
    CHECK_INT(p.phases[1].kind, PHASE_TRAIN);
    CHECK_INT(p.phases[1].end.ns, p.loop_end.ns);
    phases_text(&p);
    recordkit_close(&k, 0, NS_PER_S, "finished");
    arena_free(&a);
}

/* ---- anything at all ---- */

TEST(phases_of_any_ranks_tile_the_job)
{
    static const char *const loops[] = {"D5 F3 B4 O1 ", "D5 E5 ", ".9 ", "L1 ", "E3 ", "F2 O2 "};
    struct kit_random r = {.state = 11};
    for (int i = 0; i < 500; i++) {
        char text[2][256];
        for (int k = 0; k < 2; k++) {
            text[k][0] = '\0';
            for (uint64_t n = kit_below(&r, 12); n > 0; n--)
                strncat(text[k], loops[kit_below(&r, COUNT_OF(loops))],
                        sizeof text[k] - strlen(text[k]) - 1);
        }
        phases_of_ranks(text[0], text[1]); /* which checks that they do */
    }
}
