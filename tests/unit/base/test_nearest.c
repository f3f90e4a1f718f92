/* SPDX-License-Identifier: Apache-2.0 */
/* test_nearest.c - what was meant by a mistyped word. */
#include "base/text.h"
#include "test.h"

static const char *const words[] = {"run", "attach", "set", "ls", "show", "stats", "query", NULL};

static const char *meant(const char *typed)
{
    struct nearest n = nearest_to(typed);
    for (size_t i = 0; words[i]; i++)
        nearest_offer(&n, words[i]);
    return n.best ? n.best : "";
}

TEST(one_letter_wrong_missing_or_too_many_is_still_understood)
{
    CHECK_STR(meant("shwo"), "show");
    CHECK_STR(meant("sho"), "show");
    CHECK_STR(meant("shoow"), "show");
    CHECK_STR(meant("atach"), "attach");
    CHECK_STR(meant("qeury"), "query");
    CHECK_STR(meant("sl"), "ls"); /* two letters swapped are one mistake */
}

TEST(the_beginning_of_a_word_means_the_word)
{
    CHECK_STR(meant("att"), "attach");
    CHECK_STR(meant("sta"), "stats");
}

TEST(a_word_like_none_of_them_has_no_nearest)
{
    CHECK_STR(meant("frobnicate"), "");
    CHECK_STR(meant("xyz"), "");
    CHECK_STR(meant(""), "");
}

TEST(very_long_words_are_no_suggestions_and_do_no_harm)
{
    char word[5000];
    memset(word, 'x', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    CHECK_STR(meant(word), "");
    struct nearest n = nearest_to("run");
    nearest_offer(&n, word);
    CHECK(n.best == NULL);
}
