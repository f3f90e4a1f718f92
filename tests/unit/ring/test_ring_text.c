/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/ring_read.h"
#include "test.h"

static const char *clean(const char *text, size_t len)
{
    static char out[RING_TEXT_LEN];
    ring_text_clean(out, RING_NAME_LEN, text, len);
    return out;
}

#define CLEAN(text) clean(text, sizeof(text) - 1)

TEST(good_text_stays_as_it_is)
{
    CHECK_STR(CLEAN("forward"), "forward");
    CHECK_STR(CLEAN("\xc3\xa9t\xc3\xa9 \xe2\x82\xac \xf0\x9f\x9a\x82"),
              "\xc3\xa9t\xc3\xa9 \xe2\x82\xac \xf0\x9f\x9a\x82");
    CHECK_STR(CLEAN(""), "");
}

TEST(what_could_play_tricks_on_a_terminal_or_a_parser_becomes_question_marks)
{
    CHECK_STR(CLEAN("a\x1b[31mb\n\t\0c\x7f"), "a?[31mb???c?");
    CHECK_STR(CLEAN("\xc2\x9b"), "??");                  /* a control character of two bytes */
    CHECK_STR(CLEAN("\xc0\x80 \xe0\x80\xaf"), "?? ???"); /* longer than need be */
    CHECK_STR(CLEAN("\xed\xa0\x80"), "???");             /* half of a pair */
    CHECK_STR(CLEAN("\xf4\x90\x80\x80"), "????");        /* beyond the last character */
    CHECK_STR(CLEAN("x\xe2\x82"), "x??");                /* cut */
    CHECK_STR(CLEAN("\x80\xff"), "??");
}

TEST(a_length_beyond_the_longest_name_is_taken_as_that)
{
    char text[RING_NAME_LEN];
    memset(text, 'a', sizeof text);
    CHECK_INT(strlen(clean(text, 255)), RING_NAME_LEN);
}
