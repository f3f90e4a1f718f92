/* SPDX-License-Identifier: Apache-2.0 */
/* test_cmds.c - what must hold for every command's record. */
#include <ctype.h>

#include "base/mem.h"
#include "cmd/cmd.h"
#include "sample/probe.h"
#include "tables/runview.h"
#include "test.h"

static void check_option(const struct cmd *c, const struct opt *o)
{
    if (!o->help || o->help[strlen(o->help) - 1] != '.')
        test_fail(__FILE__, __LINE__, "%s --%s has no sentence of help", c->name, o->name);
    if ((o->type == OPT_FLAG) != (o->arg == NULL))
        test_fail(__FILE__, __LINE__, "%s --%s: only flags have no value", c->name, o->name);
    if (o->type == OPT_CHOICE && !o->choices)
        test_fail(__FILE__, __LINE__, "%s --%s has no choices", c->name, o->name);
    for (const struct opt *p = c->options; p != o; p++)
        if (strcmp(p->name, o->name) == 0 || (p->letter && p->letter == o->letter))
            test_fail(__FILE__, __LINE__, "%s has two of --%s", c->name, o->name);
}

TEST(every_option_has_a_sentence_of_help_and_a_name_of_its_own)
{
    for (size_t i = 0; cmds[i]; i++)
        for (const struct opt *o = cmds[i]->options; o && o->name; o++)
            check_option(cmds[i], o);
}

TEST(every_command_has_a_summary_in_lower_case_and_something_to_run)
{
    for (size_t i = 0; cmds[i]; i++) {
        const char *s = cmds[i]->summary;
        CHECK(s && islower((unsigned char)s[0]) && s[strlen(s) - 1] != '.');
        CHECK(!cmds[i]->run != !cmds[i]->on_run);
    }
}

TEST(a_command_is_named_as_its_line_in_the_list)
{
    size_t i = 0;
    for (; cmds[i]; i++)
        CHECK_STR(cmd_names[i], cmds[i]->name);
    CHECK(cmd_names[i] == NULL);
}

TEST(every_argument_has_help_and_only_the_last_ones_are_repeated_or_optional)
{
    for (size_t i = 0; cmds[i]; i++)
        for (const struct cmd_arg *a = cmds[i]->args; a && a->name; a++) {
            CHECK(a->help);
            CHECK(!a[1].name || (!a->repeat && (!a->optional || a[1].optional)));
        }
}

TEST(every_default_is_a_value_that_the_option_itself_would_take)
{
    for (size_t i = 0; cmds[i]; i++) {
        struct arena a = {0};
        struct opt_result r;
        struct err e = {0};
        if (cmds[i]->options)
            OK(opt_parse(cmds[i]->options, OPT_ANYWHERE, 0, NULL, &a, &r, &e));
        arena_free(&a);
    }
}

TEST(every_probe_has_a_title_for_people)
{
    struct arena a = {0};
    for (size_t i = 0; probes[i]; i++)
        if (!probe_words(probes[i]->name))
            test_fail(__FILE__, __LINE__, "%s has no title", probes[i]->name);
    static const char *const v[][2] = {
        {"swap.used", "swap used"},
        {"gpu0 gpu.util", "gpu0: GPU utilization (share of time with a kernel running)"},
        {"cpu", "CPU metrics"},
        {"ring", "ring"},
    };
    for (size_t i = 0; i < COUNT_OF(v); i++) {
        const struct loss l = loss_from_text(LOSS_ABSENT, v[i][0], "");
        CHECK_STR(loss_what_words(&l, &a), v[i][1]);
    }
    arena_free(&a);
}
