/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "../test.h"
#include "base/json_ahead.h"
#include "base/json_stretch.h"

JSON_WIDE static uint32_t at_wide(struct json_stretches *all, const uint8_t *p)
{
    return json_stretch_at(all, p, true);
}

static uint32_t at_plain(struct json_stretches *all, const uint8_t *p)
{
    return json_stretch_at(all, p, false);
}

static uint32_t learn(struct json_stretches *all, const char *text)
{
    return json_stretch_learn(all, (const uint8_t *)text, (const uint8_t *)text + strlen(text));
}

/* As at the end of a window, with its pad behind the text. */
static uint32_t find(struct json_stretches *all, const char *text)
{
    uint8_t window[256];
    struct json_scan s = {0};
    const size_t n = strlen(text);
    memcpy(window, text, n);
    memset(window + n, '"', JSON_PAD);
    const uint32_t plain = at_plain(all, window);
    struct bytes_memory none;
    bytes_memory_init(&none, "", 0, 0);
    json_open(&s, &none.in, &(struct json_options){0});
    if (s.wide)
        CHECK_INT(at_wide(all, window), plain);
    json_close(&s);
    return plain;
}

TEST(a_stretch_is_found_where_all_of_it_stands)
{
    struct json_stretches all = {0};
    CHECK_INT(find(&all, "\"a\": 1,"), STRETCHES);
    CHECK_INT(learn(&all, "\"a\": 1,"), 0);
    CHECK_INT(learn(&all, ", \"pid\": 2910249, \"tid\": 2910249,"), 1);
    CHECK_INT(find(&all, "\"a\": 1, \"b\": 2"), 0);
    CHECK_INT(find(&all, "\"a\": 12, \"b\": 2"), STRETCHES);
    CHECK_INT(find(&all, ", \"pid\": 2910249, \"tid\": 2910249, x"), 1);
    CHECK_INT(find(&all, ", \"pid\": 2910249, \"tid\": 291024,"), STRETCHES);
    CHECK_INT(find(&all, ", \"pid\": 2910248, \"tid\": 2910249,"), STRETCHES);
    const uint8_t p[16] = {0};
    CHECK(json_stretch_behind(&all, 0, p) == p + 6);
}

TEST(a_stretch_that_the_window_cuts_is_not_found)
{
    static const char text[] = "\"ph\": \"X\", \"cat\": \"\",";
    struct json_stretches all = {0};
    char cut[sizeof text];
    learn(&all, text);
    CHECK_INT(find(&all, text), 0);
    for (size_t n = 0; n + 1 < sizeof text; n++) {
        memcpy(cut, text, n);
        cut[n] = '\0';
        CHECK_INT(find(&all, cut), STRETCHES);
    }
}

TEST(a_stretch_may_have_as_many_bytes_as_are_kept_and_not_one_more)
{
    struct json_stretches all = {0};
    char text[STRETCH_LEN + 2];
    memset(text, 'a', sizeof text);
    text[STRETCH_LEN] = ',';
    text[STRETCH_LEN + 1] = '\0';
    CHECK_INT(learn(&all, text), STRETCHES);
    CHECK_INT(learn(&all, text + 1), 0);
    CHECK_INT(find(&all, text + 1), 0);
    text[STRETCH_LEN] = 'a';
    CHECK_INT(find(&all, text + 1), STRETCHES);
}

TEST(those_that_are_found_most_often_stay)
{
    struct json_stretches all = {0};
    char text[32];
    for (unsigned i = 0; i < STRETCHES; i++) {
        snprintf(text, sizeof text, "s%u,", i);
        CHECK_INT(learn(&all, text), i);
        for (unsigned k = 0; i != 2 && k < 5; k++)
            CHECK_INT(find(&all, text), i);
    }
    CHECK_INT(learn(&all, "new,"), 2);
    CHECK_INT(find(&all, "s2,"), STRETCHES);
    CHECK_INT(find(&all, "s3,"), 3);
    CHECK_INT(find(&all, "new,"), 2);
}

TEST(learning_ends)
{
    struct json_stretches all = {0};
    char text[32];
    for (unsigned i = 0; i < STRETCHES_LEARNT_MOST; i++) {
        snprintf(text, sizeof text, "n%u,", i);
        CHECK(learn(&all, text) < STRETCHES);
    }
    CHECK_INT(learn(&all, "one more,"), STRETCHES);
}
