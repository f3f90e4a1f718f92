/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "session/session.h"
#include "test.h"

static const struct opt options[] = {
#define SETTING     SETTING_AS_OPTION
#define SETTING_JOB SETTING_LEFT_OUT
#include "config/settings.def"
    {0},
};

enum { N_OPTIONS = sizeof options / sizeof *options };

/* The settings with --set of this value; the code. */
static int settings_with(struct settings *s, const char *set, struct arena *a, struct err *e)
{
    struct opt_value given[N_OPTIONS] = {{0}};
    const char *all[] = {set};
    for (size_t i = 0; set && options[i].name; i++)
        if (strcmp(options[i].name, "set") == 0)
            given[i] = (struct opt_value){.given = true, .text = set, .all = all, .n_all = 1};
    const struct session_options o = {.table = options, .given = given};
    return session_settings(s, &o, NULL, a, e);
}

TEST(an_invalid_option_of_a_rule_is_an_error)
{
    struct arena a = {0};
    struct settings *s = arena_new(&a, struct settings);
    struct err e;
    CHECK(chdir(test_tmpdir()) == 0);
    CHECK_INT(settings_with(s, "NoSuchRule.x=1", &a, &e), ERR_USAGE);
    CHECK(strncmp(e.msg, "--set: ", 7) == 0);
    OK(settings_with(s, "CPUBottleneck.cpu_threshold=80", &a, &e));
    CHECK_INT(s->problems.n, 0);
    arena_free(&a);
}

TEST(an_invalid_rule_of_the_environment_is_a_problem_and_ignored)
{
    struct arena a = {0};
    struct settings *s = arena_new(&a, struct settings);
    struct err e;
    CHECK(chdir(test_tmpdir()) == 0);
    setenv("FOOTPLATE_RULES", "NoSuchRule.x=1", 1);
    setenv("FOOTPLATE_CUSTOM_RULE", "name: Hot, metric: cpu.util", 1); /* no limit */
    OK(settings_with(s, NULL, &a, &e));
    CHECK_INT(s->problems.n, 2);
    CHECK(strstr(s->problems.v[0], "FOOTPLATE_RULES") && strstr(s->problems.v[0], "; ignored"));
    CHECK(strstr(s->problems.v[1], "; ignored"));
    arena_free(&a);
}
