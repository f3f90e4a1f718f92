/* SPDX-License-Identifier: Apache-2.0 */
/* test_screen.c - keys as terminals send them, and how little is sent to change a frame; and the
 * numbers that `top` computes from steps. */
#include "cmd/screen.h"
#include "cmd/top_view.h"
#include "test.h"

static int key_of(const char *bytes)
{
    size_t used;
    const int key = screen_key_of(bytes, strlen(bytes), &used);
    CHECK(used == strlen(bytes));
    return key;
}

TEST(keys_are_known_in_both_forms_that_terminals_send)
{
    CHECK(key_of("q") == 'q');
    CHECK(key_of("\033[A") == KEY_UP);
    CHECK(key_of("\033OA") == KEY_UP);
    CHECK(key_of("\033[B") == KEY_DOWN);
    CHECK(key_of("\033[5~") == KEY_PAGE_UP);
    CHECK(key_of("\033[6~") == KEY_PAGE_DOWN);
    CHECK(key_of("\033[H") == KEY_HOME);
    CHECK(key_of("\033[4~") == KEY_END);
    CHECK(key_of("\033") == '\033');
}

TEST(unknown_sequences_are_skipped_whole)
{
    size_t used;
    CHECK(key_of("\033[15;2~") == KEY_NONE);
    CHECK(key_of("\033[1;5C") == KEY_NONE);
    CHECK(screen_key_of("\033[99;99Rq", 9, &used) == KEY_NONE && used == 8);
    CHECK(screen_key_of("\xc3\xa4", 2, &used) == KEY_NONE && used == 1);
    CHECK(screen_key_of("", 0, &used) == KEY_NONE && used == 0);
}

static const char *diff(char *const *old, size_t n_old, const char *const *lines, size_t n)
{
    static char text[512];
    struct buf b = {0};
    screen_diff(&b, old, n_old, lines, n);
    snprintf(text, sizeof text, "%.*s", (int)b.len, b.p ? (const char *)b.p : "");
    buf_free(&b);
    return text;
}

TEST(only_lines_that_changed_are_sent)
{
    char a[] = "one", b[] = "two", c[] = "three";
    char *const old[] = {a, b, c};
    CHECK_STR(diff(old, 3, (const char *const[]){"one", "two", "three"}, 3), "");
    CHECK_STR(diff(old, 3, (const char *const[]){"one", "2", "three"}, 3),
              "\033[2;1H\033[K2\033[0m");
    CHECK_STR(diff(old, 3, (const char *const[]){"one"}, 1), "\033[2;1H\033[J");
    CHECK_STR(diff(old, 1, (const char *const[]){"one", ""}, 2), "\033[2;1H\033[K\033[0m");
}

TEST(a_screen_of_which_nothing_is_known_is_cleared_first)
{
    CHECK_STR(diff(NULL, 0, (const char *const[]){"one", "", "x"}, 3),
              "\033[H\033[2J\033[1;1H\033[Kone\033[0m\033[3;1H\033[Kx\033[0m");
}

/* ---- what top computes ---- */

#define S NS_PER_S

TEST(an_iteration_counts_for_each_second_by_its_share)
{
    const struct top_iteration v[] = {{0, 4 * S}, {4 * S, S / 2}, {4 * S + S / 2, S / 2}};
    double out[6];
    top_rates(v, 3, (struct top_seconds){0, S, 6}, out);
    NEAR(out[0], 0.25, 1e-9);
    NEAR(out[3], 0.25, 1e-9);
    NEAR(out[4], 2, 1e-9);
    NEAR(out[5], 0, 1e-9);
    top_rates(v, 3, (struct top_seconds){3 * S, 2 * S, 1}, out);
    NEAR(out[0], 1.125, 1e-9);
}

TEST(a_pause_grows_with_the_cpu_time_of_a_reading)
{
    const mono_ns at = {100 * S};
    CHECK(top_pace(at, S / 1000, S, 200).ns == 101 * S);
    CHECK(top_pace(at, S / 10, S, 200).ns == 120 * S);
}
