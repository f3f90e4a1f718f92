/* SPDX-License-Identifier: Apache-2.0 */
/* test_table.c - text in columns, progress lines. */
#include "base/progress.h"
#include "base/table.h"
#include "test.h"

static const char columns[] = "~NAME|>SIZE|NOTE";

static char out[65536]; /* what was printed last */

static FILE *start(void)
{
    memset(out, 0, sizeof out);
    return fmemopen(out, sizeof out, "w");
}

static const char *printed(const struct table *t, size_t width, bool bold)
{
    FILE *f = start();
    table_print(t, f, width, bold);
    fclose(f);
    return out;
}

TEST(columns_are_as_wide_as_their_widest_cell)
{
    struct arena a = {0};
    struct table t;
    table_init(&t, &a, columns);
    table_cell(&t, "%s", "long name");
    table_cell(&t, "%d", 5);
    table_cell(&t, "x");
    table_cell(&t, "b");
    table_cell(&t, "%d", 12345);
    table_cell(&t, "y");
    const char *text = printed(&t, 0, false);
    CHECK_STR(text, "NAME        SIZE  NOTE\n"
                    "long name      5  x\n"
                    "b          12345  y\n");
    arena_free(&a);
}

TEST(a_text_over_the_rest_of_the_row_widens_no_column)
{
    struct arena a = {0};
    struct table t;
    table_init(&t, &a, columns);
    table_cell(&t, "gpu");
    table_rest(&t, "not measured: there is none here");
    table_cell(&t, "cpu");
    table_cell(&t, "1");
    table_cell(&t, "z");
    const char *text = printed(&t, 0, false);
    CHECK_STR(text, "NAME  SIZE  NOTE\n"
                    "gpu   not measured: there is none here\n"
                    "cpu      1  z\n");
    arena_free(&a);
}

TEST(only_the_column_that_gives_is_cut_to_fit_the_terminal)
{
    struct arena a = {0};
    struct table t;
    table_init(&t, &a, columns);
    table_cell(&t, "a command that is much too long for this");
    table_cell(&t, "7");
    table_cell(&t, "note");
    const char *text = printed(&t, 30, false);
    CHECK_STR(text, "NAME                SIZE  NOTE\n"
                    "a command that is…     7  note\n");
    arena_free(&a);
}

TEST(letters_of_several_bytes_count_once)
{
    CHECK_INT(text_columns("größe"), 5);
    CHECK_INT(text_columns("▁▂▃"), 3);
    struct arena a = {0};
    struct table t;
    table_init(&t, &a, columns);
    table_cell(&t, "größe");
    table_cell(&t, "1");
    table_cell(&t, "x");
    const char *text = printed(&t, 0, false);
    CHECK_STR(text, "NAME   SIZE  NOTE\n"
                    "größe     1  x\n");
    arena_free(&a);
}

TEST(control_characters_and_broken_text_cannot_steer_the_terminal)
{
    struct arena a = {0};
    CHECK_STR(text_safe(&a, "a\033[31mb\n\tc\x7f"), "a?[31mb??c?");
    CHECK_STR(text_safe(&a, "\xc2\x9b"
                            "31m"),
              "??31m");
    CHECK_STR(text_safe(&a, "ok \xff\xc3"), "ok ??");
    CHECK_STR(text_safe(&a, "größe ▁ 😀"), "größe ▁ 😀");
    struct table t;
    table_init(&t, &a, columns);
    table_cell(&t, "%s", "x\033[2J");
    CHECK_STR(t.cells[0], "x?[2J");
    arena_free(&a);
}

TEST(titles_are_bold_only_when_asked)
{
    struct arena a = {0};
    struct table t;
    table_init(&t, &a, columns);
    CHECK(!strchr(printed(&t, 0, false), '\033'));
    CHECK(strstr(printed(&t, 0, true), "\033[1mNAME"));
    arena_free(&a);
}

TEST(a_table_of_many_rows_keeps_them_all)
{
    struct arena a = {0};
    struct table t;
    table_init(&t, &a, columns);
    for (int i = 0; i < 3000; i++)
        table_cell(&t, "%d", i);
    CHECK_INT(t.n_cells, 3000);
    CHECK_STR(t.cells[0], "0");
    CHECK_STR(t.cells[2999], "2999");
    arena_free(&a);
}

/* ------------------------------------------------------------------------------------------------
 * Progress */

static const char *shown(size_t width, int64_t after_ns)
{
    FILE *f = start();
    struct progress p;
    progress_start(&p, f, width, "export", (mono_ns){0});
    progress_at(&p, 0.5, (mono_ns){after_ns});
    fclose(f);
    return out;
}

TEST(progress_is_silent_in_the_first_second_and_without_a_terminal)
{
    CHECK_STR(shown(80, NS_PER_S - 1), "");
    CHECK_STR(shown(0, 10 * NS_PER_S), "");
    CHECK(strstr(shown(80, NS_PER_S), " 50 %"));
}

TEST(progress_is_drawn_at_most_ten_times_a_second_and_wiped_at_the_end)
{
    FILE *f = start();
    struct progress p;
    progress_start(&p, f, 60, "export", (mono_ns){0});
    for (int ms = 0; ms < 2000; ms++)
        progress_at(&p, ms / 2000.0, (mono_ns){ms * NS_PER_MS});
    progress_end(&p);
    fclose(f);
    int drawn = 0;
    for (const char *s = out; (s = strstr(s, "export")) != NULL; s++)
        drawn++;
    CHECK_INT(drawn, 10);
    const size_t n = strlen(out);
    CHECK(out[n - 1] == '\r' && out[n - 2] == ' ');
}

TEST(a_progress_line_fits_the_terminal)
{
    const char *text = shown(24, 2 * NS_PER_S);
    CHECK(text[0] == '\r');
    CHECK(strlen(text + 1) < 24);
}
