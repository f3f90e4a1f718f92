/* SPDX-License-Identifier: Apache-2.0 */
/* Every scene of tests/rules: how it is cut, merged or watched does not change what rules say. */
#include <glob.h>

#include "base/mem.h"
#include "scenekit.h"
#include "test.h"

enum { PIECES_MOST = 12, SEEDS = 3 };

static uint64_t roll(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

/* Cuts of the time of the scene, in order; the first and last take in everything. */
static size_t cut(const struct played *p, uint64_t *seed, int64_t *at)
{
    const size_t n = 1 + roll(seed) % PIECES_MOST;
    const int64_t length = MAX_OF(scene_end(&p->scene), 1);
    at[0] = 0;
    for (size_t i = 1; i < n; i++)
        at[i] = SCENE_START_NS + (int64_t)((uint64_t)length / n * i) +
                (int64_t)(roll(seed) % (uint64_t)MAX_OF(length / (int64_t)n, 1));
    at[n] = INT64_MAX;
    return n;
}

static struct engine *open_for(const struct played *p)
{
    struct engine *g = engine_open(&p->params);
    engine_window(g, p->run.steady_start, p->run.loop_end);
    play_leave_out(p, g);
    return g;
}

static const char *whole(struct played *p)
{
    struct engine *g = open_for(p);
    play_feed(p, g, 0, INT64_MAX);
    const char *text = play_json(p, g);
    engine_close(g);
    return text;
}

/* Piece by piece, and judged in between. */
static const char *in_pieces(struct played *p, uint64_t seed)
{
    int64_t at[PIECES_MOST + 1];
    const size_t n = cut(p, &seed, at);
    struct engine *g = open_for(p);
    for (size_t i = 0; i < n; i++) {
        play_feed(p, g, at[i], at[i + 1]);
        if (i + 1 < n)
            (void)play_json(p, g);
    }
    const char *text = play_json(p, g);
    engine_close(g);
    return text;
}

/* The first line in which they differ, for the message. */
static void same(const char *scene, const char *how, const char *a, const char *b)
{
    const char *line = a, *rule = "";
    if (strcmp(a, b) == 0)
        return;
    for (; *a && *a == *b; a++, b++) {
        if (*a == '\n')
            line = a + 1;
        if (strncmp(a, "\"rule\"", 6) == 0)
            rule = a;
    }
    test_fail(__FILE__, __LINE__, "%s, %s: %.40s: '%.200s' is '%.100s'", scene, how, rule, line, b);
}

static void each_scene(const char *(*other)(struct played *p, uint64_t seed), const char *how)
{
    glob_t g;
    CHECK(glob(FP_TEST_DATA "/../rules/*/*.scene", 0, NULL, &g) == 0);
    CHECK(g.gl_pathc >= 50);
    for (size_t i = 0; i < g.gl_pathc; i++) {
        struct played p;
        play(&p, g.gl_pathv[i]);
        const char *want = whole(&p);
        for (uint64_t seed = 1; seed <= SEEDS; seed++)
            same(g.gl_pathv[i], how, want, other(&p, seed * 977 + i));
        play_free(&p);
    }
    globfree(&g);
}

TEST(a_scene_cut_at_random_places_and_judged_in_between_is_judged_the_same)
{
    each_scene(in_pieces, "in pieces");
}

/* "expect Rule state ..." of the scene, the first two words; more is looked at by tests/cli. */
static void check_states(const struct played *p, const struct verdicts *v, const char *scene)
{
    for (size_t i = 0; i < p->scene.n_notes; i++) {
        char rule[64], state[32];
        if (strcmp(p->scene.notes[i].kind, "expect") != 0 ||
            sscanf(p->scene.notes[i].text, "%63s %31s", rule, state) != 2 ||
            strcmp(rule, "nothing") == 0)
            continue;
        size_t k = 0;
        while (k < RULE_N && strcmp(rules[k]->name, rule) != 0)
            k++;
        if (k == RULE_N || strcmp(rule_state_names[v->v[k].state], state) != 0)
            test_fail(__FILE__, __LINE__, "%s: %s is %s, not %s", scene, rule,
                      k == RULE_N ? "no rule" : rule_state_names[v->v[k].state], state);
    }
}

TEST(every_scene_is_judged_as_it_expects)
{
    glob_t g;
    CHECK(glob(FP_TEST_DATA "/../rules/*/*.scene", 0, NULL, &g) == 0);
    for (size_t i = 0; i < g.gl_pathc; i++) {
        struct played p;
        play(&p, g.gl_pathv[i]);
        struct engine *e = open_for(&p);
        play_feed(&p, e, 0, INT64_MAX);
        struct verdicts *v = arena_new(&p.arena, struct verdicts);
        engine_judge(e, &p.run, &p.arena, v);
        check_states(&p, v, g.gl_pathv[i]);
        engine_close(e);
        play_free(&p);
    }
    globfree(&g);
}

TEST(the_same_scene_gives_the_same_bytes_every_time)
{
    struct played p, q;
    play(&p, FP_TEST_DATA "/../rules/example/first.scene");
    play(&q, FP_TEST_DATA "/../rules/example/first.scene");
    CHECK_STR(whole(&p), whole(&q));
    play_free(&p);
    play_free(&q);
}
