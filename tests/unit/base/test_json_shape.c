/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "../test.h"
#include "base/bytes_in.h"
#include "base/json_ahead.h"
#include "base/json_shape.h"

#define ARROW(ph, id, ts, more)                                                                    \
    "{\n    \"ph\": \"" ph "\", \"id\": " id ", \"pid\": 7, \"tid\": 8, \"ts\": " ts               \
    ",\n    \"cat\": \"ac2g\", \"name\": \"ac2g\"" more "\n  }"

JSON_WIDE static bool pass_wide(struct json_scan *s, const struct json_shape *shape)
{
    return json_shape_pass(s, shape, true);
}

static bool pass_plain(struct json_scan *s, const struct json_shape *shape)
{
    return json_shape_pass(s, shape, false);
}

/* Of an object and nothing else, as at the end of a window. */
static struct json_shape shape_of(const char *text)
{
    struct json_shape shape = {0};
    uint8_t window[512];
    const size_t n = strlen(text);
    memcpy(window, text, n);
    memset(window + n, '"', JSON_PAD);
    json_shape_learn(&shape, window + 1, window + n);
    return shape;
}

/* Whether the object is passed over by both ways, and what follows it is next. */
static bool passes(const struct json_shape *shape, const char *text, size_t len)
{
    bool passed[2];
    for (unsigned wide = 0; wide < 2; wide++) {
        struct bytes_memory in;
        struct json_scan s;
        struct json_item it;
        bytes_memory_init(&in, text, len, 0);
        json_open(&s, &in.in, &(struct json_options){.window = 1024});
        CHECK_INT(json_next(&s, &it), JS_OBJECT);
        const uint8_t *before = s.p;
        passed[wide] = wide && s.wide ? pass_wide(&s, shape) : pass_plain(&s, shape);
        if (passed[wide])
            CHECK_INT(json_next(&s, &it), JS_DONE);
        else
            CHECK(s.p == before);
        json_close(&s);
    }
    CHECK_INT(passed[0], passed[1]);
    return passed[0];
}

static bool text_passes(const struct json_shape *shape, const char *text)
{
    return passes(shape, text, strlen(text));
}

TEST(an_object_with_other_numbers_has_the_same_shape)
{
    const struct json_shape s = shape_of(ARROW("s", "20921", "4458676459856.195", ""));
    CHECK(s.n > 0);
    CHECK(text_passes(&s, ARROW("s", "20921", "4458676459856.195", "")));
    CHECK(text_passes(&s, ARROW("s", "0", "1", "")));
    CHECK(text_passes(&s, ARROW("s", "18446744073709551", "0.25", "")));
}

TEST(an_object_with_another_text_key_or_member_does_not)
{
    const struct json_shape s = shape_of(ARROW("s", "1", "2.5", ""));
    CHECK(!text_passes(&s, ARROW("f", "1", "2.5", "")));
    CHECK(!text_passes(&s, ARROW("s", "1", "2.5", ", \"bp\": \"e\"")));
    CHECK(!text_passes(&s, ARROW("s", "\"1\"", "2.5", "")));
    CHECK(!text_passes(&s, ARROW("s", "1 ", "2.5", "")));
    CHECK(!text_passes(&s, ARROW("s", "[]", "2.5", "")));
    CHECK(!text_passes(&s, "{}"));
}

TEST(a_number_that_is_not_a_plain_one_is_left_to_who_looks_closer)
{
    static const char *const odd[] = {
        "-1", "+1", "01", "00.5", "1.", ".5", "1e3", "1.5E+2", "1.2.3", "NaN", "",
    };
    const struct json_shape s = shape_of(ARROW("s", "1", "2.5", ""));
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        char text[256];
        snprintf(text, sizeof text, ARROW("s", "%s", "2.5", ""), odd[i]);
        if (text_passes(&s, text))
            test_fail(__FILE__, __LINE__, "'%s' is passed over", odd[i]);
    }
}

TEST(an_object_that_the_window_cuts_is_not_passed_over)
{
    static const char text[] = ARROW("s", "1", "2.5", "");
    const struct json_shape s = shape_of(text);
    for (size_t n = 1; n + 1 < sizeof text; n++)
        CHECK(!passes(&s, text, n));
    CHECK(passes(&s, text, sizeof text - 1));
}

TEST(nothing_is_learnt_of_an_object_that_is_not_plain)
{
    static const char many[] =
        "{\"a\": 1, \"b\": 2, \"c\": 3, \"d\": 4, \"e\": 5, \"f\": 6, \"g\": 7, \"h\": 8, \"i\": 9,"
        " \"j\": 1, \"k\": 2, \"l\": 3, \"m\": 4}";
    static const char *const odd[] = {
        "{}",
        "{\"a\": 1, \"b\": {}}",
        "{\"a\": [1]}",
        "{\"a\": \"x\\n\"}",
        "{\"a\": \"\xc3\xa9\"}",
        "{\"a\": \"\x01\"}",
        "{\"a\": -1}",
        "{\"a\": 1e5}",
        "{\"a\": 01}",
        "{\"a\": true}",
        "{\"a\": 1,}",
        "{\"a\": 1 \"b\": 2}",
        "{\"a\" 1}",
        "{a: 1}",
        "{\"a\": 1} ",
        "{\"a\": \"1}",
        "{\"a\": 1",
        many,
    };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        if (shape_of(odd[i]).n)
            test_fail(__FILE__, __LINE__, "'%s' has a shape", odd[i]);
    CHECK(shape_of("{\"a\":1}").n > 0);
}

static bool is_strict_json(const char *text, size_t len)
{
    struct bytes_memory in;
    struct json_scan s;
    struct json_item it;
    enum json_kind kind;
    bytes_memory_init(&in, text, len, 0);
    json_open(&s, &in.in, &(struct json_options){.strict = true, .window = 1024});
    do
        kind = json_next(&s, &it);
    while (kind < JS_LOST);
    json_close(&s);
    return kind == JS_DONE;
}

TEST(whatever_is_passed_over_is_strict_json)
{
    static const char bytes[] = "\"\\,:{}[]0019-.eN \n\x01\xc3";
    static const char text[] = ARROW("f", "20921", "4458676459856.195", ", \"bp\": \"e\"");
    const struct json_shape s = shape_of(text);
    uint64_t seed = 1;
    unsigned passed = 0;
    for (unsigned round = 0; round < 20000; round++) {
        char other[sizeof text];
        memcpy(other, text, sizeof text);
        for (unsigned k = 0; k < 1 + round % 2; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            other[1 + (seed >> 20) % (sizeof text - 2)] = bytes[(seed >> 50) % (sizeof bytes - 1)];
        }
        if (passes(&s, other, sizeof text - 1)) {
            passed++;
            CHECK(is_strict_json(other, sizeof text - 1));
        }
    }
    CHECK(passed > 100);
}
