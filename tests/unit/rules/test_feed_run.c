/* SPDX-License-Identifier: Apache-2.0 */
/* Rules over runs in files, as a recorder writes them. */
#include "base/mem.h"
#include "query/recordkit.h"
#include "record/group.h"
#include "rules/feed_run.h"
#include "rules/verdict_json.h"
#include "test.h"

enum { PERIOD_MS = 100, SECONDS = 400, LOOP_AT = 100, LOOP_END = 380 };

/* GPU 0 has work in the loop, at `util` percent; GPU 1 never has. */
static void put_metrics(struct recordkit *k, int64_t util)
{
    struct group g;
    group_open(&g, "all", PERIOD_MS * NS_PER_MS);
    const slot_id cpu = group_add(&g, M_CPU_UTIL, "cpu0"), gpu0 = group_add(&g, M_GPU_UTIL, "gpu0"),
                  gpu1 = group_add(&g, M_GPU_UTIL, "gpu1");
    for (int64_t t = 0; t < SECONDS * 1000; t += PERIOD_MS) {
        const bool loop = t >= LOOP_AT * 1000 && t < LOOP_END * 1000;
        g.cells[cpu] = 3;
        g.cells[gpu0] = loop ? util : 0;
        g.cells[gpu1] = 0;
        group_commit(&g, writer_sink(k->metrics), (mono_ns){t * NS_PER_MS});
    }
    group_close(&g);
}

static void put_node(const char *run, const char *node, int64_t util, uint32_t pid)
{
    struct recordkit k = recordkit_open(run, node);
    int64_t t = LOOP_AT * NS_PER_S;
    put_metrics(&k, util);
    recordkit_fact(k.events, pid, pid, "process.rank", pid - 70);
    recordkit_fact(k.events, pid, pid, "process.device", 0);
    while (t < LOOP_END * NS_PER_S)
        t = recordkit_thread(k.events, pid, pid, t, "D200000000 F300000000 B400000000 O100000000");
    recordkit_mark(&k, MARK_JOB_START, 0, 1);
    recordkit_mark(&k, MARK_JOB_END, SECONDS * NS_PER_S, 0);
    recordkit_close(&k, 0, SECONDS * NS_PER_S, "finished");
}

static struct checked *checked_of(const char *path, struct arena *a)
{
    struct checked *c = arena_new(a, struct checked);
    struct rule_params p;
    struct run *r;
    struct err e;
    rule_params_init(&p, a);
    OK(run_open(&r, path, &e));
    OK(rules_check_run(r, &p, a, c, &e));
    run_close(r);
    return c;
}

/* By who reads the steps himself, as they are. */
static struct checked *checked_by_steps(const char *path, struct arena *a)
{
    struct checked *c = arena_new(a, struct checked);
    const struct pricing unpriced = {0};
    struct rule_params p;
    struct run_steps steps;
    struct run *r;
    struct err e;
    rule_params_init(&p, a);
    OK(run_open(&r, path, &e));
    OK(rules_read_steps(r, a, &steps, &e));
    OK(rules_check_steps(r, &(struct check_ask){&p, &unpriced, &steps}, a, c, &e));
    run_close(r);
    return c;
}

static void put_json(const struct checked *c, struct arena *a, struct buf *out)
{
    struct rule_params p;
    struct jw j = {.out = out};
    rule_params_init(&p, a);
    jw_array(&j, NULL);
    for (size_t i = 0; i < RULE_N; i++)
        verdict_json(&j, NULL, &c->verdicts.v[i], p.v[i]);
    jw_end(&j);
}

TEST(the_facts_of_the_run_are_those_of_its_files)
{
    struct arena a = {0};
    const char *run = kit_run("run", "run", "run", KIT_START);
    put_node(run, "n1", 90, 70);
    const struct checked *c = checked_of(run, &a);
    CHECK(c->run.ended && c->run.has_steps);
    CHECK_INT(c->run.job_start.ns, KIT_START);
    CHECK_INT(c->run.loop_start.ns, KIT_START + LOOP_AT * NS_PER_S);
    CHECK_INT(c->run.loop_end.ns, KIT_START + LOOP_END * NS_PER_S);
    CHECK_INT(c->n_nodes, 1);
    CHECK_STR(c->nodes[0].id, "n1");
    CHECK_INT(c->nodes[0].n_gpus, 2);
    CHECK_INT(c->nodes[0].first.ns, KIT_START);
    CHECK_INT(c->nodes[0].period_ns, PERIOD_MS * NS_PER_MS);
    CHECK(isnan(c->nodes[0].price_per_hour));
    arena_free(&a);
}

TEST(only_the_training_loop_counts_and_the_gpu_that_was_used)
{
    struct arena a = {0};
    const char *run = kit_run("run", "run", "run", KIT_START);
    put_node(run, "n1", 90, 70);
    const struct verdict *v = &checked_of(run, &a)->verdicts.v[RULE_low_gpu_utilization];
    CHECK_INT(v->state, RULE_CLEAR);
    CHECK_INT(v->datapoints, (LOOP_END - LOOP_AT - 1) * 1000 / PERIOD_MS); /* one step of warm-up */
    const struct verdict *unused = &checked_of(run, &a)->verdicts.v[RULE_unused_gpu];
    CHECK_INT(unused->state, RULE_ISSUE);
    CHECK_INT(unused->n_findings, 1);
    CHECK_STR(unused->findings[0].entity, "gpu1");
    arena_free(&a);
}

TEST(of_many_nodes_the_bad_one_is_found)
{
    struct arena a = {0};
    const char *run = kit_run("run", "run", "run", KIT_START);
    for (uint32_t i = 1; i <= 6; i++) {
        char id[8];
        snprintf(id, sizeof id, "n%u", i);
        put_node(run, id, i == 5 ? 20 : 90, 69 + i);
    }
    const struct checked *c = checked_of(run, &a);
    const struct verdict *v = &c->verdicts.v[RULE_low_gpu_utilization];
    CHECK_INT(c->n_nodes, 6);
    CHECK_INT(v->state, RULE_ISSUE);
    CHECK_INT(v->n_findings, 1);
    CHECK_STR(v->findings[0].node, "n5");
    CHECK_STR(v->findings[0].entity, "gpu0");
    CHECK(v->lost_share > 0.7 && v->lost_share < 0.9);
    CHECK_INT(v->severity, SEVERITY_CRITICAL);
    arena_free(&a);
}

TEST(the_same_run_gives_the_same_bytes)
{
    struct arena a = {0};
    struct buf b[2] = {0};
    const char *run = kit_run("run", "run", "run", KIT_START);
    for (uint32_t i = 1; i <= 5; i++)
        put_node(run, i % 2 ? "n1" : "n2", 10 * i, 69 + i); /* some have several sessions */
    for (int k = 0; k < 2; k++)
        put_json(checked_of(run, &a), &a, &b[k]);
    CHECK_INT(b[0].len, b[1].len);
    CHECK(memcmp(b[0].p, b[1].p, b[0].len) == 0);
    buf_free(&b[0]);
    buf_free(&b[1]);
    arena_free(&a);
}

TEST(steps_in_little_room_and_whole_ones_give_the_same_bytes)
{
    struct arena a = {0};
    struct buf b[2] = {0};
    const char *run = kit_run("run", "run", "run", KIT_START);
    put_node(run, "n1", 90, 70);
    put_node(run, "n2", 20, 71);
    const struct checked *c = checked_of(run, &a);
    CHECK(c->verdicts.v[RULE_low_gpu_utilization].findings[0].n_shares > 1);
    put_json(c, &a, &b[0]);
    put_json(checked_by_steps(run, &a), &a, &b[1]);
    CHECK_INT(b[0].len, b[1].len);
    CHECK(memcmp(b[0].p, b[1].p, b[0].len) == 0);
    buf_free(&b[0]);
    buf_free(&b[1]);
    arena_free(&a);
}

TEST(a_run_without_nodes_is_not_evaluated)
{
    struct arena a = {0};
    const char *run = kit_run("run", "run", "run", KIT_START);
    const struct checked *c = checked_of(run, &a);
    CHECK_INT(c->n_nodes, 0);
    CHECK_INT(c->verdicts.v[RULE_low_gpu_utilization].state, RULE_NOT_EVALUATED);
    arena_free(&a);
}
