/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "config/settings.h"
#include "query/runkit.h"
#include "test.h"
#include "userrules/user_rules.h"

static struct arena arena;

static struct action_setting custom(const char *name, const char *metric)
{
    return (struct action_setting){.from = {FROM_FILE, "footplate.yaml, line 3"},
                                   .n = 4,
                                   .v = {{"name", name, false},
                                         {"metric", metric, false},
                                         {"above", "5", false},
                                         {"window", "1s", false}}};
}

/* Ten seconds of CPU use at 50 %. */
static const char *make_run(void)
{
    const char *path = kit_run("r", "r", "r", KIT_START);
    struct buf payload = {0};
    kit_group(&payload, 0, "g", NS_PER_S, 0);
    kit_slot(&payload, 0, 0, "cpu.util", "%", "total", 1);
    for (int i = 0; i < 10; i++) {
        kit_row(&payload, 0, 0);
        kit_cell(&payload, i ? 0 : 50);
    }
    kit_node(path, "a", 1,
             "{\"id\": \"a\", \"status\": \"finished\", \"interval_ns\": 1000000000}");
    kit_metrics(path, "a", &payload);
    buf_free(&payload);
    return path;
}

TEST(two_custom_rules_cannot_have_one_name)
{
    struct user_rule_set *u = arena_new(&arena, struct user_rule_set);
    const struct action_setting hot = custom("Hot", "cpu.util");
    struct err e;
    CHECK(!user_rules_any(u));
    OK(user_rules_add(u, &hot, &e));
    CHECK(user_rules_any(u));
    CHECK(user_rules_has(u, "Hot") && !user_rules_has(u, "Cold"));
    CHECK_INT(user_rules_add(u, &hot, &e), ERR_USAGE);
    CHECK_STR(e.msg, "footplate.yaml, line 3: custom rule 'Hot' is already defined");
    CHECK_INT(u->n_custom, 1);
}

TEST(an_invalid_custom_rule_is_refused_with_its_place)
{
    struct user_rule_set *u = arena_new(&arena, struct user_rule_set);
    struct action_setting odd = custom("Odd", "cpu.util");
    struct err e;
    odd.v[2].key = "abvoe";
    CHECK_INT(user_rules_add(u, &odd, &e), ERR_USAGE);
    CHECK(strncmp(e.msg, "footplate.yaml, line 3: ", 24) == 0);
    CHECK(!user_rules_any(u));
}

TEST(a_parameter_is_for_a_rule_in_python_unless_a_built_in_rule_has_the_name)
{
    struct settings *s = arena_new(&arena, struct settings);
    struct user_rule_set *u = arena_new(&arena, struct user_rule_set);
    CHECK(!user_rules_set(u, "Mine.x=3", &arena)); /* no files */
    settings_init(s, &arena);
    s->rule_files[s->n_rule_files++] = "mine.py";
    s->n_rule_settings = 2;
    user_rules_files(u, s, &arena);
    CHECK(user_rules_any(u));
    CHECK(user_rules_set(u, "Mine.x=3", &arena));
    CHECK(!user_rules_set(u, "CPUBottleneck.cpu_threshold=3", &arena));
    CHECK(!user_rules_set(u, "ProfilerReport.x=3", &arena));
    CHECK_INT(u->n_sets, 1);
}

TEST(only_the_rules_that_are_named_are_evaluated)
{
    struct user_rule_set *u = arena_new(&arena, struct user_rule_set);
    const struct action_setting a = custom("A", "cpu.util"), b = custom("B", "cpu.util");
    static const char *const only[] = {"B"};
    struct hosted *v;
    struct run *r;
    struct err e;
    size_t n;
    OK(user_rules_add(u, &a, &e));
    OK(user_rules_add(u, &b, &e));
    OK(run_open(&r, make_run(), &e));
    OK(user_rules_check(u, NULL, r, &arena, &v, &n, &e));
    CHECK_INT(n, 2);
    u->only = only;
    u->n_only = 1;
    OK(user_rules_check(u, NULL, r, &arena, &v, &n, &e));
    CHECK_INT(n, 1);
    CHECK_STR(v[0].v.rule->name, "B");
    CHECK_INT(v[0].v.state, RULE_ISSUE);
    run_close(r);
}

TEST(a_rule_file_that_cannot_be_read_is_an_error)
{
    struct settings *s = arena_new(&arena, struct settings);
    struct user_rule_set *u = arena_new(&arena, struct user_rule_set);
    struct hosted *v;
    struct run *r;
    struct err e;
    size_t n;
    settings_init(s, &arena);
    s->rule_files[s->n_rule_files++] = "/nonexistent.py";
    user_rules_files(u, s, &arena);
    OK(run_open(&r, make_run(), &e));
    CHECK_INT(user_rules_check(u, NULL, r, &arena, &v, &n, &e), ERR_USAGE);
    CHECK(strstr(e.msg, "/nonexistent.py"));
    run_close(r);
}
