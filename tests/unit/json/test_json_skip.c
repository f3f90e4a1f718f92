/* SPDX-License-Identifier: Apache-2.0 */
/* test_json_skip.c - passing over objects and arrays gets to where reading them would. */
#include "base/buf.h"
#include "base/mem.h"
#include "json/json.h"
#include "test.h"

static uint32_t draw(uint64_t *state, uint32_t below)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint32_t)(*state >> 32) % below;
}

static void put_value(struct buf *b, uint64_t *state, int depth)
{
    static const char *const scalars[] = {
        "1",
        "\"\"",
        "\"]}[{\"",
        "\"\\\"]\"",
        "\"\\\\\"",
        "\"a longer text, so that blocks of 64 bytes end in it\"",
        "null",
        "-12.5e3",
        "\"\\\\\\\"[\"",
        "\"\xc3\xa9\"",
    };
    const uint32_t what = draw(state, depth < 5 ? 4 : 2);
    if (what < 2) {
        buf_printf(b, "%s", scalars[draw(state, COUNT_OF(scalars))]);
        return;
    }
    buf_printf(b, "%s", what == 2 ? "[" : "{");
    for (uint32_t n = draw(state, 7), i = 0; i < n; i++) {
        buf_printf(b, "%s%s", i ? "," : "", draw(state, 3) ? " " : "\n          ");
        if (what == 3)
            buf_printf(b, "\"k%u\": ", i);
        put_value(b, state, depth + 1);
    }
    buf_printf(b, "%s", what == 2 ? "]" : "}");
}

/* Where the scanner stands after the first value of the array, read item by item. */
static uint64_t end_by_reading(const struct buf *b)
{
    struct bytes_memory in;
    struct json_scan s;
    struct json_item it;
    bytes_memory_init(&in, b->p, b->len, 0);
    json_open(&s, &in.in, &(struct json_options){0});
    json_next(&s, &it);
    do
        CHECK(!json_is_over(json_next(&s, &it)));
    while (s.depth > 1);
    const uint64_t at = json_position(&s);
    CHECK(json_next(&s, &it) == JS_NUMBER && it.number.mantissa == 42);
    json_close(&s);
    return at;
}

static uint64_t end_by_skipping(const struct buf *b, size_t window, size_t piece)
{
    struct bytes_memory in;
    struct json_scan s;
    struct json_item it;
    bytes_memory_init(&in, b->p, b->len, piece);
    json_open(&s, &in.in, &(struct json_options){.window = window});
    json_next(&s, &it);
    const enum json_kind k = json_next(&s, &it);
    if (k == JS_OBJECT || k == JS_ARRAY)
        CHECK(json_skip(&s, NULL) == JS_END);
    CHECK_INT(s.depth, 1);
    const uint64_t at = json_position(&s);
    CHECK(json_next(&s, &it) == JS_NUMBER && it.number.mantissa == 42);
    CHECK(json_next(&s, &it) == JS_END && json_next(&s, &it) == JS_DONE);
    json_close(&s);
    return at;
}

TEST(what_is_passed_over_ends_where_it_ends_when_read)
{
    uint64_t state = 99;
    for (int i = 0; i < 3000; i++) {
        struct buf b = {0};
        buf_printf(&b, "[");
        put_value(&b, &state, 0);
        buf_printf(&b, ", 42]");
        const uint64_t at = end_by_reading(&b);
        CHECK_INT(end_by_skipping(&b, 0, 0), at);
        CHECK_INT(end_by_skipping(&b, 64 + draw(&state, 100), 1 + draw(&state, 90)), at);
        buf_free(&b);
    }
}

TEST(what_was_passed_over_can_be_had_as_it_stands)
{
    static const char json[] = "{\"dims\": [[4, 3], [\"]\"]], \"x\": 1}";
    struct bytes_memory in;
    struct json_scan s;
    struct json_item it;
    struct json_text raw;
    bytes_memory_init(&in, json, sizeof json - 1, 0);
    json_open(&s, &in.in, &(struct json_options){0});
    json_hold(&s);
    CHECK(json_next(&s, &it) == JS_AGAIN); /* the first bytes came in */
    CHECK(json_next(&s, &it) == JS_OBJECT && json_next(&s, &it) == JS_ARRAY);
    CHECK(json_skip(&s, &raw) == JS_END);
    CHECK(json_is(&raw, "[4, 3], [\"]\"]]"));
    CHECK(json_next(&s, &it) == JS_NUMBER && json_is(&it.key, "x"));
    json_close(&s);
}

TEST(a_quote_gone_wrong_does_not_swallow_the_rest)
{
    /* The text is never closed on its line; brackets behind it must not be taken for its own. */
    static const char json[] = "[{\"a\": [\"x, 1]},\n {\"b\": [2]},\n {\"c\": \"]\"}]";
    struct bytes_memory in;
    struct json_scan s;
    struct json_item it;
    bytes_memory_init(&in, json, sizeof json - 1, 0);
    json_open(&s, &in.in, &(struct json_options){0});
    CHECK(json_next(&s, &it) == JS_ARRAY);
    json_hold(&s);
    CHECK(json_next(&s, &it) == JS_OBJECT && json_next(&s, &it) == JS_ARRAY);
    CHECK(json_skip(&s, NULL) == JS_BAD);
    CHECK(json_recover(&s) == JS_END);
    CHECK(json_next(&s, &it) == JS_OBJECT && json_next(&s, &it) == JS_ARRAY);
    CHECK(json_is(&it.key, "b"));
    json_close(&s);
}

TEST(an_array_that_is_cut_is_cut)
{
    static const char json[] = "[[1, 2, [3";
    struct bytes_memory in;
    struct json_scan s;
    struct json_item it;
    bytes_memory_init(&in, json, sizeof json - 1, 2);
    json_open(&s, &in.in, &(struct json_options){0});
    CHECK(json_next(&s, &it) == JS_ARRAY && json_next(&s, &it) == JS_ARRAY);
    CHECK(json_skip(&s, NULL) == JS_CUT);
    json_close(&s);
}

TEST(what_is_passed_over_does_not_make_the_window_grow)
{
    enum { ELEMENTS = 20000 };
    struct buf b = {0};
    buf_printf(&b, "[[");
    for (int i = 0; i < ELEMENTS; i++)
        buf_printf(&b, "{\"a\": [%d, \"]\"]}, ", i);
    buf_printf(&b, "0], 42]");
    struct bytes_memory in;
    struct json_scan s;
    struct json_item it;
    bytes_memory_init(&in, b.p, b.len, 0);
    json_open(&s, &in.in, &(struct json_options){.window = 256, .window_most = 256});
    json_next(&s, &it);
    CHECK(json_next(&s, &it) == JS_ARRAY && json_skip(&s, NULL) == JS_END);
    CHECK(json_next(&s, &it) == JS_NUMBER && it.number.mantissa == 42);
    CHECK_INT(s.cap, 256);
    json_close(&s);
    buf_free(&b);
}

struct line_counts {
    struct json_scan s;
    unsigned lines;
};

static enum json_kind take_nothing(void *ctx, const struct json_item *it)
{
    (void)ctx;
    (void)it;
    return JS_NULL;
}

static enum json_kind read_line(void *ctx)
{
    return json_each(&((struct line_counts *)ctx)->s, take_nothing, NULL);
}

static void count_line(void *ctx)
{
    ((struct line_counts *)ctx)->lines++;
}

TEST(a_broken_line_costs_only_itself)
{
    static const char json[] =
        "{\"a\": 1}\n{\"a\": \n{\"b\": [{}]}\n{\"c\n{}\n{\"d\": {\"e\": 2}}\n";
    struct bytes_memory in;
    struct line_counts c = {0};
    bytes_memory_init(&in, json, sizeof json - 1, 3);
    json_open(&c.s, &in.in, &(struct json_options){.many = true});
    struct json_elements x = {.scan = &c.s, .read = read_line, .emit = count_line, .ctx = &c};
    CHECK(json_elements(&x) == JS_DONE);
    CHECK_INT(c.lines, 4);
    CHECK_INT(c.s.faults.unread, 2);
    json_close(&c.s);
}
