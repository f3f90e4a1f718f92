/* SPDX-License-Identifier: Apache-2.0 */
/* What the framework was doing in the time of a finding: by the real writer and reader. */
#include "base/mem.h"
#include "query/recordkit.h"
#include "rules/engine_internal.h"
#include "test.h"

/* Of rank 3 on node a: four steps of 100 us each, then a pause of 600. */
static const char *const LOOP = "D40000 F20000 B30000 O10000 D40000 F20000 B30000 O10000 "
                                "D40000 F20000 B30000 O10000 D40000 F20000 B30000 O10000";

static void tell_op(struct writer *w, const char *name, int64_t at, int64_t dur_us)
{
    const struct track t = {.kind = TRACK_THREAD, .pid = 7, .id = 7, .process = "python"};
    const struct event v = {.kind = EVENT_SPAN,
                            .name = name,
                            .at = {at * NS_PER_US},
                            .dur_ns = dur_us * NS_PER_US,
                            .category = CAT_OP};
    struct sink *s = writer_sink(w);
    s->ops->events(s, &t, &v, 1);
}

struct told_run {
    struct run *run;
    struct arena arena;
    struct correlate_ask ask;
    struct run_facts facts;
    struct verdicts *verdicts;
};

/* Times in us. `detail`: operators in a window from 100 to 300. */
static void make(struct told_run *t, bool detail)
{
    struct err e;
    struct rank_steps *ranks;
    const char *path = kit_run("r", "r", "r", KIT_START);
    struct recordkit k = recordkit_open(path, "a");
    recordkit_fact(k.events, 7, 7, "process.rank", 3);
    recordkit_thread(k.events, 7, 7, 0, LOOP);
    if (detail) {
        struct writer *w = recordkit_beside(&k, "trace-7-0");
        tell_op(w, "aten::mm", 100, 60);
        tell_op(w, "aten::mm", 160, 60);
        tell_op(w, "aten::copy_", 220, 20);
        tell_op(w, "aten::view", 299, 1); /* too little to be told of */
        OK(writer_close(w, &e));
    }
    recordkit_close(&k, 0, NS_PER_MS, "finished");
    *t = (struct told_run){0};
    OK(run_open(&t->run, path, &e));
    OK(steps_read(t->run, &t->arena, &ranks, &t->ask.n_ranks, &e));
    CHECK_INT(ranks[0].n, 4);
    t->facts = (struct run_facts){.ended = true,
                                  .has_steps = true,
                                  .job_start = {KIT_START},
                                  .job_end = {KIT_START + NS_PER_MS},
                                  .loop_start = {KIT_START},
                                  .loop_end = {KIT_START + 400 * NS_PER_US}};
    t->ask.run = t->run;
    t->ask.ranks = ranks;
    t->ask.facts = &t->facts;
    t->verdicts = arena_new(&t->arena, struct verdicts);
    for (size_t i = 0; i < RULE_N; i++)
        t->verdicts->v[i] = (struct verdict){.rule = rules[i], .arena = &t->arena};
}

static const struct finding *found(struct told_run *t, const char *node, const char *entity,
                                   int64_t from, int64_t to)
{
    struct verdict *v = &t->verdicts->v[RULE_dataloader];
    struct err e;
    struct finding *f = verdict_find(v, node, entity);
    finding_when(v, f,
                 &(struct time_range){{KIT_START + from * NS_PER_US}, {KIT_START + to * NS_PER_US}},
                 1);
    OK(rules_correlate(&t->ask, t->verdicts, &t->arena, &e));
    return f;
}

static double share(const struct finding *f, const char *what, const char *name)
{
    for (size_t i = 0; i < f->n_shares; i++)
        if (strcmp(f->shares[i].what, what) == 0 && strcmp(f->shares[i].name, name) == 0) {
            CHECK_INT(f->shares[i].rank, 3);
            return f->shares[i].share;
        }
    return 0;
}

static void done(struct told_run *t)
{
    run_close(t->run);
    arena_free(&t->arena);
}

TEST(the_parts_of_steps_are_shares_of_the_findings_time)
{
    struct told_run t;
    make(&t, false);
    const struct finding *f = found(&t, "a", "gpu0", 100, 300);
    NEAR(share(f, "phase", "train"), 1, 1e-9);
    NEAR(share(f, "event", "data"), 0.4, 1e-9);
    NEAR(share(f, "event", "backward"), 0.3, 1e-9);
    CHECK_STR(f->shares[0].what, "phase");
    CHECK_STR(f->shares[1].name, "data"); /* the largest first */
    NEAR(f->shares[1].seconds, 80e-6, 1e-9);
    done(&t);
}

TEST(time_outside_of_steps_is_told_apart_by_where_it_lies)
{
    struct told_run t;
    make(&t, false);
    t.facts.loop_start.ns =
        KIT_START + 100 * NS_PER_US; /* as if the first one had been a look before */
    const struct finding *f = found(&t, "", "", -100, 600);
    NEAR(share(f, "phase", "initialization"), 200 / 700.0, 1e-9);
    NEAR(share(f, "phase", "finalization"), 200 / 700.0, 1e-9);
    done(&t);
}

TEST(time_after_the_last_step_of_a_run_that_lives_is_not_its_end)
{
    struct told_run t;
    make(&t, false);
    t.facts.ended = false;
    const struct finding *f = found(&t, "a", "", 350, 450);
    NEAR(share(f, "phase", "train"), 0.5, 1e-9);
    NEAR(share(f, "phase", "between steps"), 0.5, 1e-9);
    done(&t);
}

TEST(a_step_that_lies_partly_in_the_time_counts_partly)
{
    struct told_run t;
    make(&t, false);
    const struct finding *f = found(&t, "a", "", 350, 450);
    NEAR(share(f, "phase", "train"), 0.5, 1e-9);
    NEAR(share(f, "phase", "finalization"), 0.5, 1e-9);
    NEAR(share(f, "event", "data"), 0.2, 1e-9);
    done(&t);
}

TEST(operators_of_a_detail_window_that_lies_in_the_time_are_named)
{
    struct told_run t;
    make(&t, true);
    const struct finding *f = found(&t, "a", "rank 3", 0, 400);
    NEAR(share(f, "operator", "aten::mm"), 120 / 200.0, 1e-9);
    NEAR(share(f, "operator", "aten::copy_"), 20 / 200.0, 1e-9);
    CHECK(share(f, "operator", "aten::view") == 0);
    done(&t);
}

TEST(a_detail_window_outside_of_the_time_says_nothing_about_it)
{
    struct told_run t;
    make(&t, true);
    const struct finding *f = found(&t, "a", "rank 3", 320, 400);
    CHECK(share(f, "operator", "aten::mm") == 0);
    done(&t);
}

TEST(findings_of_another_node_or_rank_are_not_about_this_one)
{
    struct told_run t;
    make(&t, true);
    CHECK_INT(found(&t, "b", "", 0, 400)->n_shares, 0);
    CHECK_INT(found(&t, "a", "rank 4", 0, 400)->n_shares, 0);
    CHECK(found(&t, "", "", 0, 400)->n_shares > 0);
    done(&t);
}

TEST(the_summary_of_the_framework_names_the_operators_of_a_rank)
{
    struct told_run t;
    make(&t, true);
    (void)found(&t, "a", "", 0, 400);
    const struct verdict *v = &t.verdicts->v[RULE_overall_framework_metrics];
    CHECK_INT(v->n_plots, 1);
    CHECK_STR(v->plots[0].title, "Operators on the CPU, rank 3");
    CHECK_STR(v->plots[0].rows[0].label, "aten::mm");
    done(&t);
}
