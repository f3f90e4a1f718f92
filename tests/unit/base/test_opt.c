/* SPDX-License-Identifier: Apache-2.0 */
/* test_opt.c - option tables: every way to write an option, and every way to get one wrong. */
#include "base/opt.h"
#include "test.h"

enum { O_JSON, O_POINTS, O_EVERY, O_FORMAT, O_LABEL, O_NAME, O_SECRET, O_COUNT, O_ONLY };

static const char *const formats[] = {"csv", "jsonl", NULL};

static const struct opt table[] = {
    [O_JSON] = {"json", 'j', NULL, OPT_FLAG, .help = "JSON."},
    [O_POINTS] = {"points", 'n', "N", OPT_INT, .lo = 1, .hi = 1000000, .help = "Points."},
    [O_EVERY] = {"every", 0, "TIME", OPT_DURATION, .lo = 10000000, .hi = 60000000000,
                 .otherwise = "500ms", .help = "Interval."},
    [O_FORMAT] = {"format", 'f', "FORMAT", OPT_CHOICE, .choices = formats, .otherwise = "csv",
                  .help = "Format."},
    [O_LABEL] = {"label", 'l', "KEY=VALUE", OPT_STRING, .repeat = true, .help = "Label."},
    [O_NAME] = {"name", 0, "NAME", OPT_STRING, .help = "Name."},
    [O_SECRET] = {"secret", 0, NULL, OPT_FLAG, .hidden = true, .help = "Not shown."},
    [O_COUNT] = {"count", 0, "N", OPT_INT, .help = "Any number."},
    [O_ONLY] = {"only", 0, "SIZE", OPT_STRING, .bare = "1GiB", .help = "A size."},
    {0},
};

/* Parses words given as a NULL-terminated list. */
struct parsed {
    struct arena arena;
    struct opt_result r;
    struct err e;
    int rc;
};

static struct parsed parse(enum opt_order order, const char *const *words)
{
    struct parsed p = {0};
    int argc = 0;
    while (words[argc])
        argc++;
    char **argv = arena_array(&p.arena, char *, (size_t)argc + 1);
    for (int i = 0; i < argc; i++)
        argv[i] = arena_strdup(&p.arena, words[i]);
    p.rc = opt_parse(table, order, argc, argv, &p.arena, &p.r, &p.e);
    return p;
}

#define PARSE(...)   parse(OPT_ANYWHERE, (const char *const[]){__VA_ARGS__, NULL})
#define COMMAND(...) parse(OPT_FIRST, (const char *const[]){__VA_ARGS__, NULL})
#define REFUSED(p, m)                                                                              \
    do {                                                                                           \
        struct parsed p_ = (p);                                                                    \
        CHECK_INT(p_.rc, ERR_USAGE);                                                               \
        CHECK_STR(p_.e.msg, (m));                                                                  \
        arena_free(&p_.arena);                                                                     \
    } while (0)

TEST(a_value_may_follow_an_equals_sign_or_stand_in_the_next_word)
{
    struct parsed a = PARSE("--points=12"), b = PARSE("--points", "12"), c = PARSE("-n", "12"),
                  d = PARSE("-n12");
    struct parsed *all[] = {&a, &b, &c, &d};
    for (size_t i = 0; i < 4; i++) {
        CHECK_INT(all[i]->rc, 0);
        CHECK(all[i]->r.v[O_POINTS].given);
        CHECK_INT(all[i]->r.v[O_POINTS].number, 12);
        CHECK_STR(all[i]->r.v[O_POINTS].text, "12");
        CHECK_INT(all[i]->r.n_rest, 0);
        arena_free(&all[i]->arena);
    }
}

TEST(an_option_with_a_bare_value_takes_another_one_behind_an_equals_sign_only)
{
    struct parsed a = PARSE("--only", "run"), b = PARSE("--only=4MiB", "run"), c = PARSE("run");
    CHECK_STR(a.r.v[O_ONLY].text, "1GiB");
    CHECK_STR(b.r.v[O_ONLY].text, "4MiB");
    CHECK(a.r.n_rest == 1 && b.r.n_rest == 1 && !c.r.v[O_ONLY].given);
    REFUSED(PARSE("--only="), "--only: the value is empty");
    arena_free(&a.arena);
    arena_free(&b.arena);
    arena_free(&c.arena);
}

TEST(what_is_not_given_has_its_default_and_says_so)
{
    struct parsed p = PARSE("run");
    CHECK_INT(p.rc, 0);
    CHECK(!p.r.v[O_EVERY].given);
    CHECK_INT(p.r.v[O_EVERY].number, 500000000);
    CHECK_INT(p.r.v[O_FORMAT].number, 0);
    CHECK_STR(p.r.v[O_FORMAT].text, "csv");
    CHECK(!p.r.v[O_NAME].given && p.r.v[O_NAME].text == NULL);
    CHECK(!p.r.v[O_JSON].given && p.r.v[O_JSON].number == 0);
    arena_free(&p.arena);
}

TEST(options_may_stand_before_and_behind_other_words)
{
    struct parsed p = PARSE("last", "--json", "more", "-f", "jsonl");
    CHECK_INT(p.rc, 0);
    CHECK_INT(p.r.n_rest, 2);
    CHECK_STR(p.r.rest[0], "last");
    CHECK_STR(p.r.rest[1], "more");
    CHECK(p.r.rest[2] == NULL);
    CHECK(p.r.v[O_JSON].given);
    CHECK_INT(p.r.v[O_FORMAT].number, 1);
    arena_free(&p.arena);
}

TEST(two_dashes_end_the_options)
{
    struct parsed p = PARSE("--json", "--", "--points", "-x", "--");
    CHECK_INT(p.rc, 0);
    CHECK(!p.r.v[O_POINTS].given);
    CHECK_INT(p.r.n_rest, 3);
    CHECK_STR(p.r.rest[0], "--points");
    CHECK_STR(p.r.rest[2], "--");
    arena_free(&p.arena);
}

TEST(a_command_to_run_keeps_its_own_options)
{
    struct parsed p = COMMAND("--name", "x", "python", "train.py", "--name", "y", "--help");
    CHECK_INT(p.rc, 0);
    CHECK(!p.r.help);
    CHECK_STR(p.r.v[O_NAME].text, "x");
    CHECK_INT(p.r.n_rest, 5);
    CHECK_STR(p.r.rest[2], "--name");
    arena_free(&p.arena);
}

TEST(a_command_behind_two_dashes_loses_only_the_first_two_dashes)
{
    struct parsed p = COMMAND("--json", "--", "sh", "--", "-c");
    CHECK_INT(p.rc, 0);
    CHECK_INT(p.r.n_rest, 3);
    CHECK_STR(p.r.rest[0], "sh");
    CHECK_STR(p.r.rest[1], "--");
    arena_free(&p.arena);
}

TEST(a_repeated_option_keeps_every_value_in_order)
{
    struct parsed p = PARSE("--label", "a=1", "-l", "b=2", "--label=c=3");
    CHECK_INT(p.rc, 0);
    CHECK_INT(p.r.v[O_LABEL].n_all, 3);
    CHECK_STR(p.r.v[O_LABEL].all[0], "a=1");
    CHECK_STR(p.r.v[O_LABEL].all[2], "c=3");
    CHECK(p.r.v[O_LABEL].all[3] == NULL);
    CHECK_STR(p.r.v[O_LABEL].text, "c=3");
    arena_free(&p.arena);
}

TEST(flags_may_be_joined_and_end_with_one_that_takes_a_value)
{
    struct parsed p = PARSE("-jn", "5");
    CHECK_INT(p.rc, 0);
    CHECK(p.r.v[O_JSON].given);
    CHECK_INT(p.r.v[O_POINTS].number, 5);
    arena_free(&p.arena);
}

TEST(a_value_may_begin_with_one_dash)
{
    struct parsed p = PARSE("--name", "-30s", "--count", "-3");
    CHECK_INT(p.rc, 0);
    CHECK_STR(p.r.v[O_NAME].text, "-30s");
    CHECK_INT(p.r.v[O_COUNT].number, -3);
    arena_free(&p.arena);
}

TEST(a_dash_alone_is_a_word)
{
    struct parsed p = PARSE("-");
    CHECK_INT(p.rc, 0);
    CHECK_STR(p.r.rest[0], "-");
    arena_free(&p.arena);
}

TEST(help_stops_the_parsing_so_that_nothing_behind_it_can_be_wrong)
{
    struct parsed p = PARSE("--help", "--nonsense");
    CHECK_INT(p.rc, 0);
    CHECK(p.r.help);
    arena_free(&p.arena);
    struct parsed q = PARSE("-h");
    CHECK(q.r.help);
    arena_free(&q.arena);
}

TEST(a_hidden_option_works)
{
    struct parsed p = PARSE("--secret");
    CHECK_INT(p.rc, 0);
    CHECK(p.r.v[O_SECRET].given);
    arena_free(&p.arena);
}

TEST(a_number_out_of_bounds_names_the_option_and_the_bounds)
{
    REFUSED(PARSE("--points", "-3"), "--points: '-3' is not a number from 1 to 1000000");
    REFUSED(PARSE("--points=0"), "--points: '0' is not a number from 1 to 1000000");
    REFUSED(PARSE("--points=1000001"), "--points: '1000001' is not a number from 1 to 1000000");
    REFUSED(PARSE("--points=12x"), "--points: '12x' is not a number from 1 to 1000000");
    REFUSED(PARSE("--points="), "--points: '' is not a number from 1 to 1000000");
    REFUSED(PARSE("--points=99999999999999999999"),
            "--points: '99999999999999999999' is not a number from 1 to 1000000");
    REFUSED(PARSE("--count=many"), "--count: 'many' is not a whole number");
}

TEST(a_time_out_of_bounds_names_the_bounds_with_units)
{
    REFUSED(PARSE("--every=1ms"), "--every: '1ms' is not a time from 10 ms to 1 min");
    REFUSED(PARSE("--every=2h"), "--every: '2h' is not a time from 10 ms to 1 min");
    struct parsed p = PARSE("--every=soon");
    CHECK_INT(p.rc, ERR_USAGE);
    CHECK(strncmp(p.e.msg, "--every: ", 9) == 0);
    CHECK(strstr(p.e.msg, "soon"));
    arena_free(&p.arena);
}

TEST(a_choice_that_does_not_exist_lists_those_that_do)
{
    REFUSED(PARSE("--format=xml"), "--format: 'xml' is not one of: csv, jsonl");
}

TEST(an_unknown_option_suggests_the_nearest)
{
    REFUSED(PARSE("--pionts=3"), "unknown option --pionts (did you mean --points?)");
    REFUSED(PARSE("--jsn"), "unknown option --jsn (did you mean --json?)");
    REFUSED(PARSE("--hlep"), "unknown option --hlep (did you mean --help?)");
    REFUSED(PARSE("--quux"), "unknown option --quux");
    REFUSED(PARSE("-x"), "unknown option -x");
}

TEST(a_hidden_option_is_never_suggested)
{
    REFUSED(PARSE("--secrte"), "unknown option --secrte");
}

TEST(a_forgotten_value_is_not_the_next_option)
{
    REFUSED(PARSE("--name", "--json"), "--name needs a value: --name NAME");
    REFUSED(PARSE("--name"), "--name needs a value: --name NAME");
    REFUSED(PARSE("--name="), "--name: the value is empty");
}

TEST(a_value_given_twice_is_refused_but_a_flag_is_not)
{
    REFUSED(PARSE("--name", "a", "--name=b"), "--name is given twice ('a' and 'b')");
    struct parsed p = PARSE("--json", "--json");
    CHECK_INT(p.rc, 0);
    arena_free(&p.arena);
}

TEST(a_flag_takes_no_value)
{
    REFUSED(PARSE("--json=yes"), "--json takes no value");
}
