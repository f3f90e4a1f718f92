/* SPDX-License-Identifier: Apache-2.0 */
/* The engine: however a run is seen, cut, held back or merged, its verdicts are the same bytes. */
#include "base/mem.h"
#include "rules/engine.h"
#include "rules/engine_internal.h"
#include "rules/verdict_json.h"
#include "test.h"

#define START_NS (INT64_C(1700000000) * NS_PER_S)

enum { NODES = 2, GPUS = 2, RANKS = 2, SWEEPS = 3600, PERIOD_MS = 500, STEPS = 1000 };

struct camera {
    char id[8];
    wall_ns at[SWEEPS];
    int64_t period_ns[SWEEPS];
    float v[NODE_SIGNAL_N][SWEEPS];
    float gpu[GPUS][GPU_SIGNAL_N][SWEEPS];
    struct step steps[RANKS][STEPS];
    size_t n_steps[RANKS];
    struct rule_event events[2 * STEPS];
    size_t n_events;
};

struct story {
    struct camera node[NODES];
    struct rule_params params;
    struct run_facts run;
    uint32_t seed;
    bool no_steps;
};

static struct arena life;

static uint32_t dice(struct story *s, uint32_t below)
{
    s->seed = s->seed * 1664525u + 1013904223u;
    return (s->seed >> 8) % below;
}

/* ---- a run: getting ready, a look at the evaluation, training, what comes after ---- */

static void make_sweeps(struct story *s, struct camera *n)
{
    int64_t t = START_NS;
    for (size_t i = 0; i < SWEEPS; i++) {
        const bool loads = i / 300 % 2, busy = i > 600;
        n->at[i].ns = t + dice(s, 3) * NS_PER_MS;
        n->period_ns[i] = (i < 2400 ? 1 : 2) * PERIOD_MS * NS_PER_MS;
        t += n->period_ns[i];
        for (size_t k = 0; k < NODE_SIGNAL_N; k++)
            n->v[k][i] = dice(s, 40) ? (float)dice(s, 60) : NAN;
        n->v[SIG_CPU_PEAK][i] = loads ? 97 : 30;
        n->v[SIG_JOB_RSS][i] = 1e9f + (float)i * 2e5f;
        for (size_t g = 0; g < GPUS; g++)
            for (size_t k = 0; k < GPU_SIGNAL_N; k++)
                n->gpu[g][k][i] = dice(s, 50) ? (float)dice(s, busy && !loads ? 100 : 8) : NAN;
    }
}

static void add_event(struct camera *n, enum event_id id, int64_t at, int64_t dur, int64_t value)
{
    n->events[n->n_events++] = (struct rule_event){
        .id = id, .at = {at}, .dur_ns = dur, .value = value, .rank = 0, .worker = -1, .pid = 7};
}

/* Rank 1 of every node begins a little earlier than rank 0, and is told later. */
static void make_steps(struct story *s, struct camera *n, size_t rank)
{
    int64_t t = START_NS + 270 * NS_PER_S - (int64_t)rank * 3 * NS_PER_S;
    for (size_t i = 0; i < STEPS; i++) {
        struct step *x = &n->steps[rank][i];
        const bool eval = i < 3 || i % 200 > 190;
        *x = (struct step){.number = (int64_t)i,
                           .mode = eval ? MODE_EVAL : MODE_TRAIN,
                           .start = {t},
                           .dur_ns = (900 + dice(s, 200)) * NS_PER_MS,
                           .batch = 32};
        if (i % 90 == 89)
            x->dur_ns *= 8;
        x->part_ns[0] = x->dur_ns / 3;
        x->part_ns[step_parts() - 1] = x->dur_ns - x->dur_ns / 3;
        t += x->dur_ns;
        if (rank == 0)
            add_event(n, i % 90 == 89 ? EV_CHECKPOINT : EV_LOADER_QUEUE, x->start.ns,
                      i % 90 == 89 ? x->dur_ns / 2 : 0, dice(s, 3));
    }
    n->n_steps[rank] = STEPS;
}

static void see_loop(struct story *s, const struct step *v, size_t n)
{
    struct run_facts *r = &s->run;
    for (size_t i = 0; i < n; i++) {
        if (v[i].mode == MODE_TRAIN && (!r->has_steps || v[i].start.ns < r->loop_start.ns)) {
            r->loop_start = v[i].start;
            r->has_steps = true;
        }
        r->loop_end.ns = MAX_OF(r->loop_end.ns, v[i].start.ns + v[i].dur_ns);
    }
}

static struct story *make_story(uint32_t seed, bool no_steps)
{
    struct story *s = xcalloc(1, sizeof *s);
    s->seed = seed;
    s->no_steps = no_steps;
    rule_params_init(&s->params, &life);
    for (size_t i = 0; i < NODES; i++) {
        struct camera *n = &s->node[i];
        snprintf(n->id, sizeof n->id, "n%zu", i + 9);
        make_sweeps(s, n);
        add_event(n, EV_LOADER_WORKERS, START_NS + NS_PER_S, 0, 2);
        for (size_t r = 0; !no_steps && r < RANKS; r++) {
            make_steps(s, n, r);
            see_loop(s, n->steps[r], n->n_steps[r]);
        }
    }
    s->run.ended = true;
    s->run.job_start.ns = START_NS;
    s->run.job_end.ns = s->node[0].at[SWEEPS - 1].ns + NS_PER_S;
    return s;
}

/* ---- how it is seen ---- */

static struct node_facts facts_of(const struct camera *n)
{
    return (struct node_facts){.id = n->id,
                               .cores = 16,
                               .n_gpus = GPUS,
                               .memory_bytes = INT64_C(1) << 34,
                               .price_per_hour = 3.5,
                               .machine = "m",
                               .first = n->at[0],
                               .period_ns = PERIOD_MS * NS_PER_MS};
}

/* A batch has one period. */
static void show(struct engine *g, size_t node, const struct camera *n, size_t from, size_t to)
{
    static const char *const names[GPUS] = {"gpu0", "gpu1"};
    struct gpu_sweeps gpus[GPUS];
    for (size_t end; from < to; from = end) {
        for (end = from + 1; end < to && n->period_ns[end] == n->period_ns[from];)
            end++;
        struct sweeps s = {.n = end - from,
                           .at = n->at + from,
                           .period_ns = n->period_ns[from],
                           .gpus = gpus,
                           .n_gpus = GPUS};
        for (size_t k = 0; k < NODE_SIGNAL_N; k++)
            s.v[k] = n->v[k] + from;
        for (size_t i = 0; i < GPUS; i++) {
            gpus[i].entity = names[i];
            for (size_t k = 0; k < GPU_SIGNAL_N; k++)
                gpus[i].v[k] = n->gpu[i][k] + from;
        }
        engine_sweeps(g, node, &s);
    }
}

static struct rule_rank sight_of(const struct story *s, const struct camera *n, size_t rank)
{
    const int64_t number = (n - s->node) * RANKS + (int64_t)rank;
    return (struct rule_rank){number, (int64_t)rank, (uint32_t)(70 + rank)};
}

/* How many sweeps reached each rule, and how many came too early for it. */
static void put_counts(struct buf *b, const struct story *s, const struct engine *g)
{
    for (size_t i = 0; i < NODES; i++)
        for (size_t k = 0; k < g->n_nodes; k++)
            for (size_t r = 0; strcmp(s->node[i].id, g->nodes[k].id) == 0 && r < RULE_N; r++) {
                const struct rule_part *p = &g->nodes[k].part[r];
                buf_printf(b, "\n%s %s %llu %llu", s->node[i].id, rules[r]->name,
                           (unsigned long long)p->sweeps, (unsigned long long)p->before);
            }
}

static const char *judged(const struct story *s, struct engine *g)
{
    struct arena a = {0};
    struct verdicts *v = xmalloc(sizeof *v);
    struct buf b = {0};
    struct jw j = {.out = &b, .indent = 1};
    engine_judge(g, &s->run, &a, v);
    jw_array(&j, NULL);
    for (size_t k = 0; k < RULE_N; k++)
        verdict_json(&j, NULL, &v->v[k], s->params.v[k]);
    jw_end(&j);
    put_counts(&b, s, g);
    const char *text = arena_strndup(&life, (const char *)b.p, b.len);
    buf_free(&b);
    arena_free(&a);
    free(v);
    return text;
}

static struct engine *open_finished(const struct story *s)
{
    struct engine *g = engine_open(&s->params);
    engine_window(g, s->run.loop_start, s->run.loop_end);
    return g;
}

/* In one piece, kind by kind. */
static const char *whole(const struct story *s)
{
    struct engine *g = open_finished(s);
    for (size_t i = 0; i < NODES; i++) {
        const struct camera *n = &s->node[i];
        const struct node_facts facts = facts_of(n);
        const size_t node = engine_node(g, &facts);
        show(g, node, n, 0, SWEEPS);
        for (size_t r = 0; r < RANKS; r++) {
            const struct rule_rank sight = sight_of(s, n, r);
            engine_steps(g, node, &sight, n->steps[r], n->n_steps[r]);
        }
        engine_events(g, node, n->events, n->n_events);
    }
    const char *text = judged(s, g);
    engine_close(g);
    return text;
}

static void same_text(const char *a, const char *b)
{
    size_t i = 0;
    while (a[i] && a[i] == b[i])
        i++;
    if (a[i] == b[i])
        return;
    const size_t from = i > 1500 ? i - 1500 : 0;
    test_fail(__FILE__, __LINE__, "differs:\n%.1800s\n------ and\n%.1800s", a + from, b + from);
}

/* A node in pieces of any size, its steps before its sweeps. */
static void show_pieces(struct story *s, struct engine *g, struct camera *n)
{
    const struct node_facts facts = facts_of(n);
    const size_t node = engine_node(g, &facts);
    for (size_t r = 0; r < RANKS; r++) {
        const struct rule_rank sight = sight_of(s, n, r);
        for (size_t i = 0; i < n->n_steps[r]; i++)
            engine_steps(g, node, &sight, &n->steps[r][i], 1);
    }
    for (size_t i = 0, end; i < SWEEPS; i = end) {
        const size_t more = 1 + dice(s, 400);
        end = MIN_OF(i + more, (size_t)SWEEPS);
        show(g, node, n, i, end);
    }
    for (size_t i = 0; i < n->n_events; i++)
        engine_events(g, node, &n->events[i], 1);
}

TEST(where_a_run_is_cut_does_not_matter)
{
    for (uint32_t seed = 1; seed <= 4; seed++) {
        struct story *s = make_story(seed, seed == 4);
        const char *want = whole(s);
        struct engine *g = open_finished(s);
        for (size_t i = 0; i < NODES; i++)
            show_pieces(s, g, &s->node[NODES - 1 - i]);
        same_text(want, judged(s, g));
        same_text(want, judged(s, g)); /* judging changes nothing */
        engine_close(g);
        free(s);
    }
}

TEST(engines_that_saw_other_nodes_merge_in_any_order)
{
    for (uint32_t seed = 1; seed <= 4; seed++) {
        struct story *s = make_story(seed, seed == 4);
        const char *want = whole(s);
        struct engine *part[NODES];
        for (size_t i = 0; i < NODES; i++) {
            part[i] = open_finished(s);
            show_pieces(s, part[i], &s->node[i]);
        }
        for (size_t n = COUNT_OF(part); n > 1; n--) {
            const size_t a = dice(s, (uint32_t)n), b = (a + 1 + dice(s, (uint32_t)n - 1)) % n;
            engine_merge(part[a], part[b]);
            engine_close(part[b]);
            part[b] = part[n - 1];
        }
        same_text(want, judged(s, part[0]));
        engine_close(part[0]);
        free(s);
    }
}

TEST(patience_that_the_user_asked_for_counts_with_steps_too)
{
    struct story *s = make_story(1, false);
    struct err e;
    const char *without = whole(s);
    OK(rule_params_set(&s->params, "LowGPUUtilization.patience=20min", &e));
    CHECK(strcmp(without, whole(s)) != 0);
    free(s);
}

TEST(a_run_without_anything_is_evaluated_by_no_rule_that_needs_something)
{
    struct story *s = make_story(1, true);
    struct arena a = {0};
    struct verdicts *v = xmalloc(sizeof *v);
    struct engine *g = open_finished(s);
    engine_judge(g, &s->run, &a, v);
    for (size_t k = 0; k < RULE_N; k++)
        if (rules[k]->needs) {
            CHECK_INT(v->v[k].state, RULE_NOT_EVALUATED);
            CHECK(*v->v[k].why);
        }
    CHECK_STR(v->v[RULE_low_gpu_utilization].why, "no system metrics were recorded");
    engine_close(g);
    arena_free(&a);
    free(v);
    free(s);
}

/* ---- warm-up ---- */

/* One sweep a second, all alike. */
static void show_seconds(struct engine *g, size_t node, int64_t from_s, int64_t to_s)
{
    static const float busy = 90;
    for (int64_t s = from_s; s < to_s; s++) {
        const wall_ns at = {START_NS + s * NS_PER_S};
        struct gpu_sweeps gpu = {.entity = "gpu0"};
        gpu.v[GPU_SIG_UTIL] = &busy;
        const struct sweeps one = {
            .n = 1, .at = &at, .period_ns = NS_PER_S, .gpus = &gpu, .n_gpus = 1};
        engine_sweeps(g, node, &one);
    }
}

static uint64_t counted(const struct engine *g)
{
    return g->nodes[0].part[RULE_low_gpu_utilization].sweeps;
}

TEST(nothing_counts_before_the_warm_up_is_over_nor_after_the_last_step)
{
    const struct node_facts facts = {.id = "n", .first = {START_NS}, .period_ns = NS_PER_S};
    static const struct {
        int64_t steady_s, end_s;
        uint64_t counted;
    } rows[] = {{45, 50, 5}, {45, 45, 0} /* all steps are warm-up */};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct engine *g = engine_open(NULL);
        const size_t node = engine_node(g, &facts);
        engine_window(g, (wall_ns){START_NS + rows[i].steady_s * NS_PER_S},
                      (wall_ns){START_NS + rows[i].end_s * NS_PER_S});
        show_seconds(g, node, 0, 60);
        CHECK_INT(counted(g), rows[i].counted);
        engine_close(g);
    }
}

TEST(sweeps_of_our_own_detail_windows_do_not_count)
{
    struct engine *g = engine_open(NULL);
    const struct node_facts facts = {.id = "n", .first = {START_NS}, .period_ns = NS_PER_S};
    const size_t node = engine_node(g, &facts);
    engine_window(g, (wall_ns){START_NS + 10 * NS_PER_S}, (wall_ns){START_NS + 50 * NS_PER_S});
    /* Told in any order, and overlapping: from 5 to 20, from 30 to 35, and behind the loop. */
    static const int64_t windows[][2] = {{30, 33}, {5, 15}, {12, 20}, {32, 35}, {60, 70}};
    for (size_t i = 0; i < COUNT_OF(windows); i++)
        engine_leave_out(g, node,
                         &(struct time_range){{START_NS + windows[i][0] * NS_PER_S},
                                              {START_NS + windows[i][1] * NS_PER_S}},
                         1);
    show_seconds(g, node, 0, 100);
    CHECK_INT(counted(g), 25); /* 20 to 30 and 35 to 50 */
    CHECK_INT(g->nodes[0].part[RULE_unused_gpu].sweeps, 100);
    engine_close(g);
}
