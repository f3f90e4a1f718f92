/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "config/settings.h"
#include "test.h"

static const struct opt options[] = {
#define SETTING(id, slot, field, key, env, parse, print, ...)     {__VA_ARGS__},
#define SETTING_JOB(id, slot, field, key, env, parse, print, ...) {__VA_ARGS__},
#include "config/settings.def"
    {0},
};

enum { WORDS = 12 };

/* A folder with files, an environment and a command line. */
struct scene {
    struct arena arena;
    const char *folder;
    char *env[WORDS];
    size_t n_env;
    const char *args[WORDS];
    const char *command[WORDS];
    struct settings s;
    struct err e;
};

static struct scene scene_make(void)
{
    return (struct scene){.folder = test_tmpdir()};
}

static void scene_end(struct scene *c)
{
    arena_free(&c->arena);
}

#define SCENE(c) struct scene c __attribute__((cleanup(scene_end))) = scene_make()

static void scene_env(struct scene *c, const char *text)
{
    c->env[c->n_env++] = arena_strdup(&c->arena, text);
}

static const char *scene_file(struct scene *c, const char *name, const char *text)
{
    const char *path = arena_printf(&c->arena, "%s/%s", c->folder, name);
    char *dir = arena_strdup(&c->arena, path);
    *strrchr(dir, '/') = 0;
    struct err e;
    OK(dir_make(dir, &e));
    OK(file_replace(path, text, strlen(text), &e));
    return path;
}

static int scene_load(struct scene *c)
{
    struct opt_result r;
    int argc = 0;
    while (c->args[argc])
        argc++;
    struct err e;
    OK(opt_parse(options, OPT_FIRST, argc, (char *const *)c->args, &c->arena, &r, &e));
    const struct settings_ask ask = {
        .argv = c->command[0] ? c->command : NULL,
        .folder = c->folder,
        .environment = c->env,
        .options = options,
        .given = r.v,
        .profilerconfig = arena_printf(&c->arena, "%s/profilerconfig.json", c->folder),
        .now = {1600000000 * NS_PER_S},
    };
    return settings_load(&c->s, &ask, &c->arena, &c->e);
}

static const char *shown(struct scene *c, enum setting_id id)
{
    struct buf b = {0};
    settings_table[id].print(&c->s, id, &b);
    buf_u8(&b, 0);
    const char *text = arena_strdup(&c->arena, (const char *)b.p);
    buf_free(&b);
    return text;
}

static void load(struct scene *c)
{
    if (scene_load(c) != 0)
        test_fail(__FILE__, __LINE__, "%s", c->e.msg);
}

TEST(every_row_of_the_table_has_its_own_names)
{
    for (size_t i = 0; i < SETTING_N; i++) {
        const struct setting *a = &settings_table[i];
        CHECK(a->env && strncmp(a->env, "FOOTPLATE_", 10) == 0);
        CHECK(a->option.name && a->parse && a->print);
        for (size_t k = 0; k < i; k++) {
            const struct setting *b = &settings_table[k];
            CHECK(strcmp(a->env, b->env) != 0 && strcmp(a->option.name, b->option.name) != 0);
            CHECK(!a->key || !b->key || strcmp(a->key, b->key) != 0);
        }
    }
}

TEST(without_any_source_all_is_default_and_nothing_is_wrong)
{
    SCENE(c);
    load(&c);
    CHECK_INT(c.s.interval_ns, 500 * NS_PER_MS);
    CHECK(c.s.hooks);
    CHECK_STR(c.s.dir, "footplate-runs");
    CHECK(!c.s.name && !c.s.run_id && !c.s.node_id && !c.s.file && !c.s.profilerconfig);
    CHECK_INT(c.s.detail.n + c.s.python.n + c.s.n_labels + c.s.detail_ranks.n, 0);
    CHECK_INT(c.s.problems.n + c.s.notes.n, 0);
    for (size_t i = 0; i < SETTING_N; i++)
        CHECK_INT(settings_origin(&c.s, (enum setting_id)i)->source, FROM_DEFAULT);
}

/* The five sources of the interval, lowest first; each row takes one more. */
TEST(the_higher_source_counts_and_is_remembered)
{
    SCENE(c);
    scene_file(&c, "profilerconfig.json", "{\"ProfilingIntervalInMilliseconds\": 100}");
    load(&c);
    CHECK_STR(shown(&c, SETTING_INTERVAL), "100ms");
    CHECK_INT(c.s.from[SETTING_INTERVAL].source, FROM_PROFILERCONFIG);
    CHECK(strstr(c.s.from[SETTING_INTERVAL].where, "ProfilingIntervalInMilliseconds"));
    scene_file(&c, "footplate.yaml", "interval: 200ms\n");
    load(&c);
    CHECK_STR(shown(&c, SETTING_INTERVAL), "200ms");
    CHECK_INT(c.s.from[SETTING_INTERVAL].source, FROM_FILE);
    CHECK(strstr(c.s.from[SETTING_INTERVAL].where, "footplate.yaml, line 1"));
    scene_env(&c, "FOOTPLATE_INTERVAL=300ms");
    load(&c);
    CHECK_STR(shown(&c, SETTING_INTERVAL), "300ms");
    CHECK_STR(c.s.from[SETTING_INTERVAL].where, "FOOTPLATE_INTERVAL");
    c.args[0] = "--interval=2s";
    load(&c);
    CHECK_STR(shown(&c, SETTING_INTERVAL), "2s");
    CHECK_STR(c.s.from[SETTING_INTERVAL].where, "--interval");
    CHECK_INT(c.s.problems.n, 0);
}

TEST(a_wrong_value_is_told_and_the_next_source_counts)
{
    SCENE(c);
    scene_file(&c, "footplate.yaml", "interval: 200ms\n");
    scene_env(&c, "FOOTPLATE_INTERVAL=fast");
    load(&c);
    CHECK_STR(shown(&c, SETTING_INTERVAL), "200ms");
    CHECK_INT(c.s.problems.n, 1);
    CHECK_STR(c.s.problems.v[0], "FOOTPLATE_INTERVAL: 'fast' is not a duration (examples: 100ms, "
                                 "0.5s, 1min); ignored");
}

TEST(an_empty_variable_is_none)
{
    SCENE(c);
    scene_env(&c, "FOOTPLATE_INTERVAL=");
    scene_env(&c, "FOOTPLATE_INTERVALS=1s");
    load(&c);
    CHECK_STR(shown(&c, SETTING_INTERVAL), "500ms");
    CHECK_INT(c.s.problems.n, 0);
}

TEST(a_wrong_option_is_refused_as_wrong_use)
{
    static const struct {
        const char *option, *says;
    } rows[] = {
        {"--detail-steps=x", "--detail-steps: 'x' is not a start step"},
        {"--detail-at=5s:1s", "--detail-at: '5s' is not a start time"},
        {"--detail-ranks=a", "--detail-ranks: 'a' is not a rank"},
        {"--python-profile-steps=9:3:foo", "--python-profile-steps: unknown profiler"},
        {"--label=x", "--label: 'x' is not of the form KEY=VALUE"},
        {"--label==x", "--label: '=x' is not of the form KEY=VALUE"},
        {"--config=/nonexistent/x.yaml", "--config: open '/nonexistent/x.yaml'"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        SCENE(c);
        c.args[0] = rows[i].option;
        CHECK_INT(scene_load(&c), ERR_USAGE);
        if (strncmp(c.e.msg, rows[i].says, strlen(rows[i].says)) != 0)
            test_fail(__FILE__, __LINE__, "%s: %s", rows[i].option, c.e.msg);
    }
}

TEST(windows_of_one_source_add_up_and_replace_those_of_lower_ones)
{
    SCENE(c);
    scene_file(&c, "footplate.yaml", "detail:\n  steps: [5:2, '100:2']\n  at: +60s:10s\n");
    load(&c);
    CHECK_STR(shown(&c, SETTING_DETAIL_STEPS), "5:2, 100:2");
    CHECK_STR(shown(&c, SETTING_DETAIL_AT), "+60s:10s");
    c.args[0] = "--detail-steps=7:1,9:1";
    c.args[1] = "--detail-steps=11";
    load(&c);
    CHECK_STR(shown(&c, SETTING_DETAIL_STEPS), "7:1, 9:1, 11:1");
    CHECK_STR(shown(&c, SETTING_DETAIL_AT), "");
    CHECK_INT(settings_origin(&c.s, SETTING_DETAIL_AT)->source, FROM_OPTION);
    c.args[2] = "--detail-at=+1s:2s";
    load(&c);
    CHECK_STR(shown(&c, SETTING_DETAIL_STEPS), "7:1, 9:1, 11:1");
    CHECK_STR(shown(&c, SETTING_DETAIL_AT), "+1s:2s");
}

TEST(python_windows_follow_the_same_rule)
{
    SCENE(c);
    scene_env(&c, "FOOTPLATE_PYTHON_PROFILE_STEPS=9:3,20:1:sampling");
    scene_file(&c, "footplate.yaml", "python_profile:\n  at: +1s:1s\n");
    load(&c);
    CHECK_STR(shown(&c, SETTING_PYTHON_STEPS), "9:3:cprofile:total_time, 20:1:sampling");
    CHECK_STR(shown(&c, SETTING_PYTHON_AT), "");
    CHECK_INT(c.s.problems.n, 0);
    c.args[0] = "--python-profile-steps=1:1";
    c.args[1] = "--python-profile-at=+2s:1s:sampling";
    load(&c);
    CHECK_STR(shown(&c, SETTING_PYTHON_STEPS), "1:1:cprofile:total_time");
    CHECK_STR(shown(&c, SETTING_PYTHON_AT), "+2s:1s:sampling");
}

TEST(labels_are_put_together_key_by_key)
{
    SCENE(c);
    scene_file(&c, "footplate.yaml", "labels:\n  team: vision\n  try: 1\n");
    scene_env(&c, "FOOTPLATE_LABELS=kind=x,try=2,note=a=b");
    c.args[0] = "--label=try=3,4";
    c.args[1] = "-l";
    c.args[2] = "empty=";
    load(&c);
    CHECK_STR(shown(&c, SETTING_LABEL), "team=vision, try=3,4, kind=x, note=a=b, empty=");
    CHECK_INT(c.s.n_labels, 5);
    CHECK_STR(c.s.labels[3].value, "a=b");
}

TEST(ranks_are_numbers_ranges_or_all)
{
    static const struct {
        const char *text, *back; /* back NULL: refused */
    } rows[] = {
        {"0,1", "0,1"},    {"0-3", "0,1,2,3"}, {"3, 1 ,3", "3,1"},
        {"all", "all"},    {"0,1,all", "all"}, {"0 - 2,7", "0,1,2,7"},
        {"", NULL},        {"-1", NULL},       {"0000000000000000000000000001", NULL},
        {"0, all", "all"}, {"3-1", NULL},      {"1,,2", NULL},
        {"x", NULL},       {"0-999", NULL},    {"99999999", NULL},
        {"1 2", NULL},     {"1-2-3", NULL},    {"+1", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        SCENE(c);
        settings_init(&c.s, &c.arena);
        const struct origin o = {FROM_ENVIRONMENT, "x"};
        const int rc = settings_apply(&c.s, SETTING_DETAIL_RANKS, rows[i].text, &o, &c.e);
        if ((rc == 0) != (rows[i].back != NULL))
            test_fail(__FILE__, __LINE__, "'%s': %d", rows[i].text, rc);
        if (rc == 0)
            CHECK_STR(shown(&c, SETTING_DETAIL_RANKS), rows[i].back);
    }
}

TEST(the_switch_for_hooks_is_said_the_other_way_round_outside_the_file)
{
    static const struct {
        const char *file, *env, *arg;
        bool hooks;
    } rows[] = {
        {"hooks: on\n", NULL, NULL, true},
        {"hooks: YES\n", NULL, NULL, true},
        {"hooks: 1\n", NULL, NULL, true},
        {"hooks: 0\n", NULL, NULL, false},
        {"hooks: off\n", NULL, NULL, false},
        {"hooks: no\n", NULL, NULL, false},
        {"hooks: False\n", NULL, NULL, false},
        {"hooks: true\n", NULL, NULL, true},
        {"\n", "FOOTPLATE_NO_HOOKS=1", NULL, false},
        {"\n", "FOOTPLATE_NO_HOOKS=0", NULL, true},
        {"hooks: off\n", "FOOTPLATE_NO_HOOKS=0", NULL, true},
        {"hooks: on\n", "FOOTPLATE_NO_HOOKS=0", "--no-hooks", false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        SCENE(c);
        scene_file(&c, "footplate.yaml", rows[i].file);
        if (rows[i].env)
            scene_env(&c, rows[i].env);
        c.args[0] = rows[i].arg;
        load(&c);
        if (c.s.hooks != rows[i].hooks || c.s.problems.n)
            test_fail(__FILE__, __LINE__, "row %zu: %d", i, c.s.hooks);
    }
}

TEST(windows_without_hooks_are_told_to_be_of_no_effect)
{
    SCENE(c);
    c.args[0] = "--no-hooks";
    load(&c);
    CHECK_INT(c.s.problems.n, 0);
    c.args[1] = "--detail-steps=5:2";
    load(&c);
    CHECK_INT(c.s.problems.n, 1);
    CHECK(strstr(c.s.problems.v[0], "hooks are disabled (--no-hooks)"));
}

TEST(a_window_whose_time_is_past_is_told)
{
    SCENE(c);
    c.args[0] = "--detail-at=1599999990:10s";
    c.args[1] = "--python-profile-at=1599999990:11s,1599999980:1s";
    c.args[2] = "--detail-at=1599999990"; /* the first step from then on */
    load(&c);
    CHECK_INT(c.s.problems.n, 2);
    CHECK_STR(c.s.problems.v[0], "--detail-at: the window @1599999990:10s has already passed");
    CHECK_STR(c.s.problems.v[1],
              "--python-profile-at: the window @1599999980:1s has already passed");
}

/* -- which file -- */

TEST(the_file_beside_the_script_comes_before_the_one_in_the_folder)
{
    SCENE(c);
    scene_file(&c, "footplate.yaml", "name: here\n");
    c.command[0] = "python";
    c.command[1] = "sub/train.py";
    load(&c);
    CHECK_STR(c.s.name, "here");
    scene_file(&c, "sub/footplate.yaml", "name: beside\ndir: runs\n");
    load(&c);
    CHECK_STR(c.s.name, "beside");
    CHECK_STR(c.s.dir, arena_printf(&c.arena, "%s/sub/runs", c.folder));
    CHECK_STR(c.s.file, arena_printf(&c.arena, "%s/sub/footplate.yaml", c.folder));
    c.command[1] = "-m";
    c.command[2] = "sub.train";
    load(&c);
    CHECK_STR(c.s.name, "here");
}

TEST(a_script_below_something_that_is_no_folder_has_no_file_beside_it)
{
    SCENE(c);
    scene_file(&c, "footplate.yaml", "name: here\n");
    c.command[0] = "python";
    c.command[1] = "footplate.yaml/train.py";
    load(&c);
    CHECK_STR(c.s.name, "here");
    CHECK_INT(c.s.problems.n, 0);
}

TEST(the_shortest_and_the_longest_interval_are_allowed)
{
    static const char *const texts[] = {"10ms", "60s"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        SCENE(c);
        const struct origin o = {FROM_FILE, "x"};
        settings_init(&c.s, &c.arena);
        CHECK_INT(settings_apply(&c.s, SETTING_INTERVAL, texts[i], &o, &c.e), 0);
        CHECK_STR(shown(&c, SETTING_INTERVAL), texts[i]);
    }
}

TEST(a_file_can_be_named)
{
    SCENE(c);
    scene_file(&c, "footplate.yaml", "name: here\n");
    const char *other = scene_file(&c, "other.yaml", "name: other\n");
    const char *third = scene_file(&c, "third.yaml", "name: third\n");
    scene_env(&c, arena_printf(&c.arena, "FOOTPLATE_CONFIG=%s", other));
    load(&c);
    CHECK_STR(c.s.name, "other");
    CHECK_STR(settings_origin(&c.s, SETTING_CONFIG)->where, "FOOTPLATE_CONFIG");
    c.args[0] = arena_printf(&c.arena, "--config=%s", third);
    c.args[1] = "--interval=2s";
    load(&c);
    CHECK_STR(shown(&c, SETTING_INTERVAL), "2s");
    CHECK_STR(settings_origin(&c.s, SETTING_CONFIG)->where, "--config");
    CHECK_STR(c.s.name, "third");
    CHECK_STR(c.s.file, third);
}

TEST(a_named_file_that_is_not_there_is_told)
{
    SCENE(c);
    scene_env(&c, "FOOTPLATE_CONFIG=/nonexistent/x.yaml");
    scene_env(&c, "SMPROFILER_CONFIG_PATH=/nonexistent/p.json");
    load(&c);
    CHECK_INT(c.s.problems.n, 2);
    CHECK(strstr(c.s.problems.v[0], "SMPROFILER_CONFIG_PATH: open '/nonexistent/p.json'"));
    CHECK(strstr(c.s.problems.v[1], "FOOTPLATE_CONFIG: open '/nonexistent/x.yaml'"));
}

TEST(sagemakers_file_is_where_its_variable_says)
{
    SCENE(c);
    scene_file(&c, "profilerconfig.json", "{\"ProfilingIntervalInMilliseconds\": 100}");
    const char *other =
        scene_file(&c, "Other.json", "{\"ProfilingIntervalInMilliseconds\": \"5000\"}");
    scene_env(&c, arena_printf(&c.arena, "SMPROFILER_CONFIG_PATH=%s", other));
    load(&c);
    CHECK_STR(shown(&c, SETTING_INTERVAL), "5s");
    CHECK_STR(c.s.profilerconfig, other);
}

TEST(a_file_that_cannot_be_read_is_told_and_left_out)
{
    SCENE(c);
    CHECK(mkdir(arena_printf(&c.arena, "%s/footplate.yaml", c.folder), 0700) == 0);
    CHECK(mkdir(arena_printf(&c.arena, "%s/profilerconfig.json", c.folder), 0700) == 0);
    load(&c);
    CHECK_INT(c.s.problems.n, 2);
    CHECK(!c.s.file && !c.s.profilerconfig);
}

/* -- sentences about the file -- */

TEST(what_is_wrong_in_the_file_is_told_with_its_place_and_the_rest_counts)
{
    static const struct {
        const char *yaml, *says;
    } rows[] = {
        {"intervall: 1s\n", "line 1, column 12: unknown setting 'intervall' (did you mean "
                            "'interval'?)"},
        {"detail:\n  step: 5:2\n", "line 2, column 9: unknown setting 'detail.step' (did you "
                                   "mean 'detail.steps'?)"},
        {"detail-steps: 5:2\n", "unknown setting 'detail-steps' (did you mean "
                                "'detail.steps'?)"},
        {"no-hooks: true\n", "(did you mean 'hooks'?)"},
        {"frobnicate: {a: 1}\n", "line 1, column 1: unknown setting 'frobnicate'"},
        {"\"\": {a: 1}\n", "line 1, column 1: unknown setting ''"},
        {"'': 1\n", "line 1, column 5: unknown setting ''"},
        {"labels: {'': {a: 1}}\n", "line 1, column 10: 'labels.' takes a value, not a map"},
        {"rules: {'': {'': {a: 1}}}\n", "'rules..' takes a value, not a map"},
        {"interval: {a: 1}\n", "line 1, column 1: 'interval' takes a value, not a map"},
        {"interval: [1s, 2s]\n",
         "line 1, column 12: interval: this setting takes one value, not a list"},
        {"interval: fast\n", "line 1, column 11: interval: 'fast' is not a duration"},
        {"interval: 5ms\n", "interval: '5ms' is not a time from 10 ms to 60 s"},
        {"labels: {a: [1]}\n", "line 1, column 14: labels.a: this setting takes one value"},
        {"labels: x\n", "labels: 'x' is not of the form KEY=VALUE"},
        {"hooks: maybe\n", "hooks: 'maybe' is neither on nor off"},
        {"dir: ~/runs\n", "dir: '~' is not expanded"},
        {"name: ''\n", "name: the value is empty"},
        {"price: free\n", "price: 'free' is not an hourly price"},
        {"price: -1\n", "price: '-1' is not an hourly price"},
        {"price: 0x10\n", "price: '0x10' is not an hourly price"},
        {"price: inf\n", "price: 'inf' is not an hourly price"},
        {"currency: euros\n", "currency: 'euros' is not a currency"},
        {"currency: E1R\n", "currency: 'E1R' is not a currency"},
        {"config: x.yaml\n", "unknown setting 'config'"},
        {"detail:\n  steps: 5:2\n  ranks: x\n", "line 3, column 10: detail.ranks: 'x' is not a "
                                                "rank"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        SCENE(c);
        struct buf b = {0};
        buf_printf(&b, "%snode: n7\n", rows[i].yaml);
        settings_init(&c.s, &c.arena);
        settings_take_yaml(&c.s, (const char *)b.p, b.len, "footplate.yaml", ".");
        if (c.s.problems.n == 0 || !strstr(c.s.problems.v[0], rows[i].says))
            test_fail(__FILE__, __LINE__, "%s: %s", rows[i].yaml,
                      c.s.problems.n ? c.s.problems.v[0] : "nothing said");
        CHECK(strncmp(c.s.problems.v[0], "footplate.yaml, line ", 21) == 0);
        CHECK(c.s.node_id && strcmp(c.s.node_id, "n7") == 0);
        buf_free(&b);
    }
}

TEST(a_file_that_is_no_yaml_is_left_out_whole)
{
    SCENE(c);
    scene_file(&c, "footplate.yaml", "name: x\n  bad: [\n");
    load(&c);
    CHECK_INT(c.s.problems.n, 1);
    CHECK(strstr(c.s.problems.v[0], "footplate.yaml, line 2, column 6: "));
    CHECK(strstr(c.s.problems.v[0], "; the file is ignored"));
    CHECK(!c.s.name);
}

TEST(every_setting_with_a_key_can_be_given_in_the_file)
{
    static const struct {
        enum setting_id id;
        const char *yaml, *want;
    } rows[] = {
        {SETTING_NAME, "name: a b\n", "a b"},
        {SETTING_DIR, "dir: /d\n", "/d"},
        {SETTING_INTERVAL, "interval: 20\n", "20ms"},
        {SETTING_RUN, "run: 4711\n", "4711"},
        {SETTING_NODE, "node: n1\n", "n1"},
        {SETTING_LABEL, "labels: [a=1, b=2]\n", "a=1, b=2"},
        {SETTING_MACHINE, "machine: p3.8xlarge\n", "p3.8xlarge"},
        {SETTING_PRICE, "price: 14.688\n", "14.688"},
        {SETTING_CURRENCY, "currency: eur\n", "EUR"},
        {SETTING_SCAN, "rules: {scan-interval: 5s}\n", "5s"},
        {SETTING_NO_RULES, "rules: {off: true}\n", "yes"},
        {SETTING_RULES, "rules: {StepOutlier: {stddev: 5, mode: train}}\n",
         "StepOutlier.stddev=5, StepOutlier.mode=train"},
        {SETTING_ACTIONS, "actions: [{do: stop}, {do: exec, command: [a, b]}]\n", "stop, exec"},
        {SETTING_CUSTOM, "custom-rules: [{name: Hot, metric: gpu.temp, above: 85}]\n", "Hot"},
        {SETTING_RULE_FILES, "rule-files: [/r/a.py, /r/b.py]\n", "/r/a.py, /r/b.py"},
        {SETTING_REPORT, "report: off\n", "off"},
        {SETTING_TO, "to: https://hub.example.org\n", "https://hub.example.org"},
        {SETTING_TO_TOKEN_FILE, "to-token-file: /t\n", "/t"},
        {SETTING_TO_CA, "to-ca: /ca.pem\n", "/ca.pem"},
        {SETTING_TO_KEY, "to-pinned-key: sha256//AAAA\n", "sha256//AAAA"},
        {SETTING_TO_INTERVAL, "to-interval: 10s\n", "10s"},
        {SETTING_TO_ONLY, "to-only: 200MiB\n", "200MiB"},
        {SETTING_TO_CONTROL, "to-control: off\n", "off"},
        {SETTING_HEALTH, "health: off\n", "off"},
        {SETTING_HEALTH_BUDGET, "health: {budget: 1.5%}\n", "1.5%"},
        {SETTING_HEALTH_EVERY, "health: {every: 20}\n", "20"},
        {SETTING_HEALTH_INCLUDE, "health: {include: [layer1, 'a,b']}\n", "layer1, a,b"},
        {SETTING_HEALTH_EXCLUDE, "health: {exclude: bias$}\n", "bias$"},
        {SETTING_HEALTH_COLLECTIONS, "health: {collections: [gradients, x=fc]}\n",
         "gradients, x=fc"},
        {SETTING_HOOKS, "hooks: off\n", "off"},
        {SETTING_REQUIRE, "require-recording: yes\n", "yes"},
        {SETTING_DETAIL_STEPS, "detail: {steps: '5:2, 9'}\n", "5:2, 9:1"},
        {SETTING_OTHERS, "other-processes: off\n", "off"},
        {SETTING_DETAIL_AT, "detail: {at: [+1s:2s, 1700000000:1s]}\n", "+1s:2s, @1700000000:1s"},
        {SETTING_DETAIL_RANKS, "detail: {ranks: [0, 2]}\n", "0,2"},
        {SETTING_PYTHON_STEPS, "python-profile: {steps: 9:3}\n", "9:3:cprofile:total_time"},
        {SETTING_SAVE_TENSORS, "save: {tensors: ['layer4.*', 'a,b']}\n", "layer4.*, a,b"},
        {SETTING_SAVE_STEPS, "save: {steps: '100:3, 7'}\n", "100:3, 7:1"},
        {SETTING_SAVE_LIMIT, "save: {limit: 1GiB}\n", "1GiB"},
        {SETTING_SAVE_RANKS, "save: {ranks: [0, 2]}\n", "0,2"},
        {SETTING_PYTHON_AT, "python-profile: {at: +1s:1s:sampling}\n", "+1s:1s:sampling"},
    };
    size_t keys = 0;
    for (size_t i = 0; i < SETTING_N; i++)
        keys += settings_table[i].key != NULL;
    CHECK_INT(COUNT_OF(rows), keys);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        SCENE(c);
        scene_file(&c, "footplate.yaml", rows[i].yaml);
        load(&c);
        if (c.s.problems.n)
            test_fail(__FILE__, __LINE__, "%s: %s", rows[i].yaml, c.s.problems.v[0]);
        CHECK_STR(shown(&c, rows[i].id), rows[i].want);
        CHECK_INT(settings_origin(&c.s, rows[i].id)->source, FROM_FILE);
    }
}

TEST(every_setting_can_be_given_in_the_environment)
{
    static const char *const values[SETTING_N] = {
        [SETTING_NAME] = "n",
        [SETTING_DIR] = "/d",
        [SETTING_INTERVAL] = "20ms",
        [SETTING_RUN] = "r",
        [SETTING_NODE] = "n1",
        [SETTING_LABEL] = "a=1",
        [SETTING_HEALTH] = "on",
        [SETTING_HEALTH_BUDGET] = "1%",
        [SETTING_HEALTH_EVERY] = "20",
        [SETTING_HEALTH_INCLUDE] = "layer",
        [SETTING_HEALTH_EXCLUDE] = "bias",
        [SETTING_HEALTH_COLLECTIONS] = "gradients,weights",
        [SETTING_SAVE_TENSORS] = "fc",
        [SETTING_SAVE_STEPS] = "100:3",
        [SETTING_SAVE_LIMIT] = "1MiB",
        [SETTING_SAVE_RANKS] = "all",
        [SETTING_HOOKS] = "1",
        [SETTING_OTHERS] = "1",
        [SETTING_REQUIRE] = "1",
        [SETTING_DETAIL_STEPS] = "5:2",
        [SETTING_DETAIL_AT] = "now:1s",
        [SETTING_DETAIL_RANKS] = "3",
        [SETTING_PYTHON_STEPS] = "9:3",
        [SETTING_PYTHON_AT] = "+1s:1s",
        [SETTING_MACHINE] = "m5.large",
        [SETTING_PRICE] = "0.5",
        [SETTING_CURRENCY] = "CHF",
        [SETTING_SCAN] = "2s",
        [SETTING_NO_RULES] = "1",
        [SETTING_RULES] = "A.b=1,C.d=2",
        [SETTING_ACTIONS] = "do: stop",
        [SETTING_CUSTOM] = "name: Hot, metric: gpu.temp, above: 85",
        [SETTING_RULE_FILES] = "a.py,b.py",
        [SETTING_REPORT] = "on",
        [SETTING_TO] = "https://hub.example.org",
        [SETTING_TO_TOKEN_FILE] = "/t",
        [SETTING_TO_CA] = "/ca.pem",
        [SETTING_TO_KEY] = "sha256//AAAA",
        [SETTING_TO_INTERVAL] = "10s",
        [SETTING_TO_ONLY] = "on",
        [SETTING_TO_CONTROL] = "off",
    };
    for (size_t i = 0; i < SETTING_N; i++) {
        SCENE(c);
        if (i == SETTING_CONFIG)
            continue; /* has a test of its own */
        CHECK(values[i]);
        scene_env(&c, arena_printf(&c.arena, "%s=%s", settings_table[i].env, values[i]));
        load(&c);
        CHECK_INT(c.s.problems.n, 0);
        CHECK_INT(settings_origin(&c.s, (enum setting_id)i)->source, FROM_ENVIRONMENT);
        CHECK_STR(settings_origin(&c.s, (enum setting_id)i)->where, settings_table[i].env);
    }
}

TEST(more_problems_than_fit_are_counted)
{
    SCENE(c);
    struct buf b = {0};
    for (int i = 0; i < REMARKS_MOST + 5; i++)
        buf_printf(&b, "qqqqq%d: 1\n", i);
    settings_init(&c.s, &c.arena);
    settings_take_yaml(&c.s, (const char *)b.p, b.len, "f", ".");
    CHECK_INT(c.s.problems.n, REMARKS_MOST);
    CHECK_INT(c.s.problems.left_off, 5);
    buf_free(&b);
}

/* ---- rules and actions ---- */

TEST(values_for_rules_of_all_sources_are_kept_the_higher_ones_behind)
{
    SCENE(c);
    scene_file(&c, "footplate.yaml",
               "rules:\n  StepOutlier: {stddev: 4}\n  ProfilerReport: {Dataloader_x: 1}\n");
    scene_env(&c, "FOOTPLATE_RULES=StepOutlier.stddev=5");
    c.args[0] = "--set=StepOutlier.stddev=6, StepOutlier.mode=train";
    c.args[1] = "--set=Other.x=1";
    load(&c);
    CHECK_INT(c.s.problems.n, 0);
    CHECK_STR(shown(&c, SETTING_RULES),
              "StepOutlier.stddev=4, ProfilerReport.Dataloader_x=1, StepOutlier.stddev=5, "
              "StepOutlier.stddev=6, StepOutlier.mode=train, Other.x=1");
    CHECK_STR(c.s.rule_settings[0].from.where + strlen(c.folder) + 1, "footplate.yaml, line 2");
    CHECK_INT(c.s.rule_settings[5].from.source, FROM_OPTION);
}

TEST(a_value_for_a_rule_may_have_commas)
{
    SCENE(c);
    scene_env(&c, "FOOTPLATE_RULES=A.names=a,b, c,B-1.x_2=3,A.regex=x{1,2},C.y=");
    load(&c);
    CHECK_INT(c.s.problems.n, 0);
    CHECK_INT(c.s.n_rule_settings, 4);
    CHECK_STR(c.s.rule_settings[0].text, "A.names=a,b, c");
    CHECK_STR(c.s.rule_settings[1].text, "B-1.x_2=3");
    CHECK_STR(c.s.rule_settings[2].text, "A.regex=x{1,2}");
    CHECK_STR(c.s.rule_settings[3].text, "C.y=");
}

TEST(what_is_no_value_for_a_rule_is_refused)
{
    static const struct {
        const char *yaml, *says;
    } rows[] = {
        {"rules: {scan-intervall: 5s}\n", "unknown setting 'rules.scan-intervall' (did you mean "
                                          "'rules.scan-interval'?)"},
        {"rules: {scan-interval: 1ms}\n", "rules.scan-interval: time: '1ms' is not between"},
        {"rules: {off: maybe}\n", "rules.off: 'maybe' is neither on nor off"},
        {"rules: {A: {b: {c: 1}}}\n", "'rules.A.b' takes a value, not a map"},
        {"rules: A\n", "rules: 'A' is not of the form RULE.PARAM=VALUE"},
        {"rules: ['A.b=1,,C.d=2']\n", "rules: '' is not of the form RULE.PARAM=VALUE"},
        {"rules: ['A.b=1,']\n", "rules: '' is not of the form RULE.PARAM=VALUE"},
        {"actions: stop\n", "actions: action: the text is empty"},
        {"actions: [[stop]]\n", "a list can contain only strings and numbers"},
        {"actions: [{do: {x: y}}]\n", "unknown setting 'actions[0].do'"},
        {"actions: {do: stop}\n", "'actions' takes a value, not a map"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        SCENE(c);
        scene_file(&c, "footplate.yaml", rows[i].yaml);
        load(&c);
        if (c.s.problems.n != 1 || !strstr(c.s.problems.v[0], rows[i].says))
            test_fail(__FILE__, __LINE__, "%s: %s", rows[i].yaml,
                      c.s.problems.n ? c.s.problems.v[0] : "nothing said");
    }
}

TEST(actions_keep_their_pairs_and_where_they_stood)
{
    SCENE(c);
    scene_file(&c, "footplate.yaml",
               "actions:\n"
               "  - on: [issue, clear]\n"
               "    do: webhook\n"
               "    url: http://127.0.0.1:9/s3cret\n"
               "  - do: exec\n"
               "    command: [sh, -c, 'echo x, y']\n");
    load(&c);
    CHECK_INT(c.s.problems.n, 0);
    CHECK_INT(c.s.n_actions, 2);
    const struct action_setting *a = c.s.actions;
    CHECK_INT(a[0].n, 4);
    CHECK(strcmp(a[0].v[1].key, "on") == 0 && strcmp(a[0].v[1].value, "clear") == 0);
    CHECK(a[0].v[1].listed && !a[0].v[2].listed);
    CHECK_STR(action_setting_get(&a[0], "url"), "http://127.0.0.1:9/s3cret");
    CHECK_STR(a[1].v[3].value, "echo x, y");
    CHECK(strstr(a[1].from.where, "footplate.yaml, line 5"));
    CHECK_STR(shown(&c, SETTING_ACTIONS), "webhook, exec");
}

TEST(actions_of_a_higher_source_replace_those_of_a_lower_one)
{
    SCENE(c);
    scene_file(&c, "footplate.yaml", "actions: [{do: stop, a: 1}, {do: stop}]\n");
    c.args[0] = "--action=do: email, to: [a, b]";
    c.args[1] = "--action={do: exec, command: 'x: y'}";
    load(&c);
    CHECK_STR(shown(&c, SETTING_ACTIONS), "email, exec");
    CHECK_INT(c.s.actions[0].n, 3);
    CHECK_STR(action_setting_get(&c.s.actions[1], "command"), "x: y");
}

TEST(an_action_that_is_no_map_is_wrong_use)
{
    static const char *const rows[] = {"stop", "{}", "do: [", "do: {a: b}", "[do]"};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        SCENE(c);
        c.args[0] = arena_printf(&c.arena, "--action=%s", rows[i]);
        CHECK_INT(scene_load(&c), ERR_USAGE);
        CHECK(strncmp(c.e.msg, "--action: ", 10) == 0);
    }
}

TEST(more_actions_than_fit_are_told)
{
    SCENE(c);
    struct buf b = {0};
    buf_printf(&b, "actions:\n");
    for (int i = 0; i < ACTIONS_MOST + 1; i++)
        buf_printf(&b, "  - do: stop\n");
    settings_init(&c.s, &c.arena);
    settings_take_yaml(&c.s, (const char *)b.p, b.len, "f", ".");
    CHECK_INT(c.s.n_actions, ACTIONS_MOST);
    CHECK_INT(c.s.problems.n, 1);
    buf_free(&b);
}
