/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "base/mem.h"
#include "config/yaml_file.h"
#include "test.h"

/* Writes down every call as a line. "detail" and "labels" are sections. */
static bool is_section(void *ctx, const char *path)
{
    (void)ctx;
    return strcmp(path, "detail") == 0 || strcmp(path, "labels") == 0 ||
           strncmp(path, "detail.detail", 13) == 0 || strncmp(path, "acts[", 5) == 0;
}

static void value(void *ctx, const struct yaml_place *at, const char *text, bool listed)
{
    buf_printf(ctx, "%zu:%zu %s=%s%s\n", at->line, at->column, at->path, text, listed ? " *" : "");
}

static void wrong(void *ctx, const struct yaml_place *at, const char *what)
{
    buf_printf(ctx, "%zu:%zu %s! %s\n", at->line, at->column, at->path, what);
}

static void not_section(void *ctx, const struct yaml_place *at)
{
    buf_printf(ctx, "%zu:%zu %s?\n", at->line, at->column, at->path);
}

static char *walked_bytes(const char *text, size_t len)
{
    struct buf b = {0};
    struct err e;
    const struct yaml_handler h = {&b, is_section, value, wrong, not_section};
    if (yaml_walk(text, len, &h, &e) != 0)
        buf_printf(&b, "failed: %s\n", e.msg);
    buf_u8(&b, 0);
    return (char *)b.p;
}

static void check(const char *text, const char *want)
{
    char *got = walked_bytes(text, strlen(text));
    if (strcmp(got, want) != 0)
        test_fail(__FILE__, __LINE__, "%s\ngave\n%s\nnot\n%s", text, got, want);
    free(got);
}

TEST(maps_become_paths_and_lists_become_values_each_with_its_place)
{
    check("interval: 100ms\n"
          "detail:\n"
          "  steps: [5:2, 100:2]\n"
          "  at: +60s:10s\n"
          "labels: {team: vision}\n",
          "1:11 interval=100ms\n"
          "3:11 detail.steps=5:2 *\n"
          "3:16 detail.steps=100:2 *\n"
          "4:7 detail.at=+60s:10s\n"
          "5:16 labels.team=vision\n");
}

TEST(an_empty_file_and_nulls_say_nothing)
{
    check("", "");
    check("# nothing\n", "");
    check("---\n", "");
    check("~\n", "");
    check("name:\nnode: ~\nrun: null\ndetail:\ndetail2: []\n", "");
    check("name: ''\nnode: 'null'\n", "1:7 name=\n2:7 node=null\n");
}

TEST(a_map_where_no_section_is_is_told_and_not_looked_into)
{
    check("foo:\n  bar: {baz: 1}\nname: x\n", "1:1 foo?\n3:7 name=x\n");
}

TEST(what_is_no_yaml_is_refused_with_line_and_column)
{
    check("a: [1\nb: 2\n", "failed: line 2, column 2: did not find expected ',' or ']'\n");
    check("a: b: c\n",
          "failed: line 1, column 5: mapping values are not allowed in this context\n");
    check("- a\n", "failed: line 1, column 1: expected settings, for example 'interval: 500ms'\n");
    check("hello\n",
          "failed: line 1, column 1: expected settings, for example 'interval: 500ms'\n");
    check("a: *x\n", "failed: line 1, column 4: found undefined alias\n");
}

TEST(a_key_that_comes_twice_counts_once_and_is_told)
{
    check("name: a\nname: b\n", "1:7 name=a\n2:1 name! duplicate key; the first one is used\n");
}

TEST(keys_and_entries_that_are_no_texts_are_told)
{
    check("[a, b]: c\n", "1:1 ! a key must be a plain string\n");
    check("x: [[1]]\n", "1:5 x! a list can contain only strings and numbers\n");
    check("x: [{a: 1}]\n", "1:5 x! a list can contain only strings and numbers\n");
    check("x: \"a\\0b\"\n", "1:4 x! a list can contain only strings and numbers\n");
}

TEST(aliases_are_followed)
{
    check("name: &a x\nnode: *a\n", "1:7 name=x\n1:7 node=x\n");
}

TEST(aliases_cannot_make_much_of_little)
{
    char *got = walked_bytes("detail: &a\n  detail: *a\n  x: 1\n", 31);
    CHECK(strstr(got, "nested too deep"));
    CHECK(strlen(got) < 1000);
    free(got);
    /* A list of a hundred, two hundred times: more than is visited. */
    struct buf b = {0};
    buf_printf(&b, "l: &l [1");
    for (int i = 1; i < 100; i++)
        buf_printf(&b, ",%d", i);
    buf_printf(&b, "]\n");
    for (int i = 0; i < 200; i++)
        buf_printf(&b, "k%d: *l\n", i);
    got = walked_bytes((const char *)b.p, b.len);
    size_t lines = 0;
    for (const char *p = got; *p; p++)
        lines += *p == '\n';
    CHECK(lines <= YAML_VALUES + 1);
    const char *told = strstr(got, "too many values");
    CHECK(told && !strstr(told + 1, "too many values"));
    free(got);
    buf_free(&b);
}

TEST(a_file_that_is_too_long_is_refused)
{
    char *big = xmalloc(YAML_MOST + 1);
    memset(big, '#', YAML_MOST + 1);
    char *got = walked_bytes(big, YAML_MOST + 1);
    CHECK_STR(got, "failed: longer than 65536 bytes\n");
    free(got);
    got = walked_bytes(big, YAML_MOST);
    CHECK_STR(got, "");
    free(got);
    free(big);
}

TEST(deep_nesting_ends_in_a_sentence_and_soon)
{
    char *deep = xmalloc(YAML_MOST);
    memset(deep, '[', YAML_MOST);
    char *got = walked_bytes(deep, YAML_MOST);
    CHECK_STR(got, "failed: more than 1000 brackets\n");
    free(got);
    got = walked_bytes(deep, YAML_BRACKETS);
    CHECK(strncmp(got, "failed: line ", 13) == 0);
    free(got);
    free(deep);
}

TEST(maps_in_a_list_are_numbered_where_there_may_be_such)
{
    check("acts:\n"
          "  - do: stop\n"
          "  - do: exec\n"
          "    words: [a, b]\n",
          "2:9 acts[0].do=stop\n"
          "3:9 acts[1].do=exec\n"
          "4:13 acts[1].words=a *\n"
          "4:16 acts[1].words=b *\n");
    check("other: [{a: b}]\n", "1:9 other! a list can contain only strings and numbers\n");
    check("acts: [x, {a: b}]\n", "1:8 acts=x *\n1:15 acts[1].a=b\n");
}
