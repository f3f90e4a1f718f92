/* SPDX-License-Identifier: Apache-2.0 */
/* test_json_scan.c - items, holds, and what is mended when it is broken. */
#include "base/buf.h"
#include "base/mem.h"
#include "json/json.h"
#include "test.h"

/* The items as text: "{ key=value ... }", one blank between them; then how it ended. */
static void put_item(struct buf *out, const struct json_item *it)
{
    static const char *const words[] = {
        [JS_OBJECT] = "{",    [JS_ARRAY] = "[",   [JS_END] = "end",   [JS_TRUE] = "true",
        [JS_FALSE] = "false", [JS_NULL] = "null", [JS_LOST] = "LOST",
    };
    if (it->key.p && it->kind != JS_END && it->kind != JS_LOST)
        buf_printf(out, "%.*s=", (int)it->key.len, it->key.p);
    if (it->kind == JS_STRING)
        buf_printf(out, "'%.*s' ", (int)it->text.len, it->text.p);
    else if (it->kind == JS_NUMBER || it->kind == JS_WORD)
        buf_printf(out, "%s%.*s ", it->kind == JS_WORD ? "?" : "", (int)it->text.len, it->text.p);
    else
        buf_printf(out, "%s ", words[it->kind]);
}

static const char *const ends[] = {
    [JS_DONE] = "done", [JS_CUT] = "cut", [JS_BAD] = "bad", [JS_FAILED] = "failed"};

struct reading {
    struct buf text;
    struct json_faults faults;
    struct err err;
    size_t cap; /* of the window, in the end */
};

static struct reading read_with(const char *json, size_t len, struct json_options o, size_t piece)
{
    struct reading r = {0};
    struct bytes_memory in;
    struct json_scan s;
    struct json_item it;
    bytes_memory_init(&in, json, len, piece);
    json_open(&s, &in.in, &o);
    enum json_kind k;
    for (k = json_next(&s, &it); !json_is_over(k); k = json_next(&s, &it))
        put_item(&r.text, &it);
    buf_put(&r.text, ends[k], strlen(ends[k]) + 1);
    r.faults = s.faults;
    r.err = s.err;
    r.cap = s.cap;
    json_close(&s);
    return r;
}

/* Read in one piece, and with the window's end at every byte, which must not make a difference. */
static struct reading read_all(const char *json)
{
    enum { WINDOW = 64 };
    const size_t len = strlen(json);
    struct reading first = read_with(json, len, (struct json_options){0}, 0);
    char *padded = xmalloc(WINDOW + len + 1);
    for (size_t pad = 0; pad < WINDOW; pad++) {
        memset(padded, ' ', pad);
        memcpy(padded + pad, json, len);
        struct reading again =
            read_with(padded, pad + len, (struct json_options){.window = WINDOW}, 1 + pad % 7);
        CHECK_STR((char *)again.text.p, (char *)first.text.p);
        CHECK(memcmp(&again.faults, &first.faults, sizeof again.faults) == 0);
        buf_free(&again.text);
    }
    free(padded);
    return first;
}

#define READS_AS(json, items)                                                                      \
    do {                                                                                           \
        struct reading r_ = read_all(json);                                                        \
        CHECK_STR((char *)r_.text.p, items);                                                       \
        buf_free(&r_.text);                                                                        \
    } while (0)

static bool has_no_fault(const struct json_faults *f)
{
    const struct json_faults none = {0};
    return memcmp(f, &none, sizeof none) == 0;
}

/* That fault is counted once, and no other. */
#define MENDS(json, items, fault)                                                                  \
    do {                                                                                           \
        struct reading r_ = read_all(json);                                                        \
        CHECK_STR((char *)r_.text.p, items);                                                       \
        CHECK_INT(r_.faults.fault, 1);                                                             \
        r_.faults.fault = 0;                                                                       \
        CHECK(has_no_fault(&r_.faults));                                                           \
        buf_free(&r_.text);                                                                        \
    } while (0)

TEST(items_come_in_order_with_their_keys)
{
    READS_AS("{\"a\": [1, -2.5, \"x\"], \"b\": {\"c\": true, \"d\": false, \"e\": null}}",
             "{ a=[ 1 -2.5 'x' end b={ c=true d=false e=null end end done");
}

TEST(a_value_alone_is_an_item)
{
    READS_AS(" 17 ", "17 done");
    READS_AS("\"x\"", "'x' done");
    READS_AS("true", "true done");
}

TEST(an_input_of_nothing_is_cut)
{
    READS_AS("", "cut");
    READS_AS(" \n\t ", "cut");
}

TEST(a_sound_input_has_no_fault)
{
    struct reading r = read_all("{\"a\": [1, \"\\u00e9\\n\", {}], \"b\": []}\n");
    CHECK(has_no_fault(&r.faults));
    buf_free(&r.text);
}

TEST(texts_longer_than_the_window_make_it_grow)
{
    enum { LONG = 100000 };
    char *json = xmalloc(LONG + 3);
    memset(json, 'x', LONG + 2);
    json[0] = json[LONG + 1] = '"';
    struct reading r = read_with(json, LONG + 2, (struct json_options){.window = 64}, 50);
    CHECK_INT(r.text.len, LONG + 2 + 1 + sizeof "done");
    CHECK(has_no_fault(&r.faults));
    buf_free(&r.text);
    free(json);
}

TEST(what_is_longer_than_the_largest_window_is_passed_over_and_counted)
{
    char json[600] = "[1, \"";
    memset(json + 5, 'x', 400);
    memcpy(json + 405, "\", 2, {\"k\": 3}]", 16);
    struct reading r =
        read_with(json, strlen(json), (struct json_options){.window = 64, .window_most = 100}, 30);
    CHECK_STR((char *)r.text.p, "[ 1 LOST 2 { k=3 end end done");
    CHECK_INT(r.faults.long_items, 1);
    CHECK_INT(r.cap, 100);
    buf_free(&r.text);
}

TEST(what_is_nested_too_deep_is_passed_over_and_counted)
{
    enum { DEEP = 100000 };
    char *json = xmalloc(2 * DEEP + 3);
    memset(json, '[', DEEP);
    memset(json + DEEP, ']', DEEP);
    memcpy(json + 2 * DEEP, " ", 2);
    struct reading r = read_with(json, 2 * DEEP + 1, (struct json_options){0}, 0);
    CHECK_INT(r.faults.deep, 1);
    CHECK_STR((char *)r.text.p + r.text.len - sizeof "end done", "end done");
    buf_free(&r.text);
    free(json);
}

TEST(values_may_follow_each_other_where_that_is_asked_for)
{
    const char json[] = "{\"a\":1}\n{\"a\":2}\n";
    struct reading r = read_with(json, sizeof json - 1, (struct json_options){.many = true}, 3);
    CHECK_STR((char *)r.text.p, "{ a=1 end { a=2 end done");
    buf_free(&r.text);
}

TEST(numbers_keep_every_digit)
{
    struct bytes_memory in;
    struct json_scan s;
    struct json_item it;
    static const char json[] = "[1661203462598738.125, -0.000001]";
    bytes_memory_init(&in, json, sizeof json - 1, 0);
    json_open(&s, &in.in, &(struct json_options){0});
    json_next(&s, &it);
    CHECK(json_next(&s, &it) == JS_NUMBER);
    CHECK(it.number.plain == false); /* nineteen digits: only its text has them all */
    CHECK(json_next(&s, &it) == JS_NUMBER);
    CHECK(it.number.plain && it.number.minus && it.number.mantissa == 1 && it.number.fraction == 6);
    json_close(&s);
}

/* ---- broken in the ways that traces are ---- */

TEST(bare_words_are_values_and_counted)
{
    MENDS("{\"a\": NaN, \"b\": 1}", "{ a=?NaN b=1 end done", words);
    MENDS("{\"a\": N/A, \"b\": 1}", "{ a=?N/A b=1 end done", words);
    MENDS("[-Infinity]", "[ ?-Infinity end done", words);
    MENDS("[nullify]", "[ ?nullify end done", words);
}

TEST(numbers_that_json_does_not_know_are_words_and_counted)
{
    MENDS("[007, 1]", "[ ?007 1 end done", numbers);
    MENDS("[1., 1]", "[ ?1. 1 end done", numbers);
    MENDS("[.5]", "[ ?.5 end done", numbers);
    MENDS("[0x1F]", "[ ?0x1F end done", numbers);
}

TEST(commas_too_many_or_too_few_are_counted)
{
    MENDS("[1, 2, ]", "[ 1 2 end done", commas);
    MENDS("{\"a\": 1, }", "{ a=1 end done", commas);
    MENDS("[1 2]", "[ 1 2 end done", commas);
    MENDS("{\"a\": 1 \"b\": 2}", "{ a=1 b=2 end done", commas);
}

TEST(brackets_that_do_not_match_close_what_is_open)
{
    MENDS("[{\"a\": 1], 2]", "[ { a=1 end 2 end done", brackets);
}

TEST(quotes_inside_a_text_are_part_of_it)
{
    MENDS("{\"name\": \"a \"b\" c\", \"x\": 1}", "{ name='a \"b\" c' x=1 end done", quotes);
    MENDS("{\"a \"b\" c\": 1}", "{ a \"b\" c=1 end done", quotes);
}

TEST(a_backslash_before_the_closing_quote_does_not_swallow_the_rest)
{
    MENDS("{\"name\": \"C:\\\", \"x\": 1}", "{ name='C:\\' x=1 end done", quotes);
}

TEST(control_characters_in_a_text_are_kept_and_counted)
{
    MENDS("[\"a\tb\"]", "[ 'a\tb' end done", controls);
}

TEST(a_text_that_does_not_end_on_its_line_is_bad)
{
    struct reading r = read_all("[\"abc\n, 1, \"x\"]");
    CHECK_STR((char *)r.text.p, "[ bad");
    CHECK(strstr(r.err.msg, "byte 2"));
    buf_free(&r.text);
}

TEST(what_ends_in_the_middle_gives_what_it_has)
{
    MENDS("{\"a\": [1, 2", "{ a=[ 1 cut", cut); /* the 2 may have had more digits */
    MENDS("{\"a\": \"x", "{ cut", cut);
    MENDS("[1, ", "[ 1 cut", cut);
}

TEST(bytes_behind_the_end_are_counted_once)
{
    MENDS("[1] x y z", "[ 1 end done", trailing);
}

TEST(a_byte_order_mark_is_stepped_over)
{
    READS_AS("\xef\xbb\xbf{\"a\": 1}", "{ a=1 end done");
}

/* ---- holding ---- */

/* Elements of an array, each read while it is held; a tiny window forces many beginnings anew. */
static void read_elements(const char *json, size_t window, struct buf *out, unsigned *again)
{
    struct bytes_memory in;
    struct json_scan s;
    struct json_item it[8];
    bytes_memory_init(&in, json, strlen(json), 7);
    json_open(&s, &in.in, &(struct json_options){.window = window});
    CHECK(json_next(&s, &it[0]) == JS_ARRAY);
    for (;;) {
        size_t n = 0;
        json_hold(&s);
        enum json_kind k = json_next(&s, &it[0]);
        while (k != JS_END && k < JS_LOST && n < 7)
            k = json_next(&s, &it[++n]);
        if (k == JS_AGAIN) {
            ++*again;
            continue;
        }
        if (n == 0)
            break;
        for (size_t i = 0; i <= n; i++) /* only now: all texts are still there */
            put_item(out, &it[i]);
    }
    buf_u8(out, 0);
    json_close(&s);
}

TEST(texts_of_what_is_held_stay_until_the_next_hold)
{
    struct buf json = {0}, wide = {0}, narrow = {0};
    unsigned again = 0, none = 0;
    buf_printf(&json, "[");
    for (int i = 0; i < 200; i++)
        buf_printf(&json, "%s{\"ph\": \"X\", \"name\": \"op number %d\", \"ts\": %d}",
                   i ? ",\n " : "", i, i * 17);
    buf_put(&json, "]", 2);
    read_elements((char *)json.p, 1 << 20, &wide, &none);
    read_elements((char *)json.p, 100, &narrow, &again);
    CHECK_INT(none, 0);
    CHECK(again > 20);
    CHECK_STR((char *)narrow.p, (char *)wide.p);
    CHECK(strstr((char *)wide.p, "name='op number 199' ts=3383 end"));
    buf_free(&json);
    buf_free(&wide);
    buf_free(&narrow);
}

TEST(after_a_broken_element_reading_goes_on_with_the_next)
{
    static const char json[] = "[{\"a\": 1}, {\"b\": \"open\n}, {\"c\": 3}, {\"d\" 4}, {\"e\": 5}]";
    struct bytes_memory in;
    struct json_scan s;
    struct json_item it;
    struct buf seen = {0};
    bytes_memory_init(&in, json, sizeof json - 1, 5);
    json_open(&s, &in.in, &(struct json_options){.window = 64});
    CHECK(json_next(&s, &it) == JS_ARRAY);
    for (;;) {
        if (s.depth == 1)
            json_hold(&s);
        enum json_kind k = json_next(&s, &it);
        if (k == JS_AGAIN)
            continue;
        if (k == JS_BAD && json_recover(&s) == JS_END)
            continue;
        if (json_is_over(k))
            break;
        if (k == JS_NUMBER)
            put_item(&seen, &it);
    }
    buf_u8(&seen, 0);
    CHECK_STR((char *)seen.p, "a=1 c=3 e=5 ");
    CHECK_INT(s.faults.unread, 2);
    json_close(&s);
    buf_free(&seen);
}

/* ---- keys by number ---- */

#define LONG_KEY "a key that is longer than a guess may be, so it is never guessed at all"
static const char *const names[] = {"ph", "name", "ts", LONG_KEY};

TEST(keys_have_their_numbers_wherever_they_stand)
{
    static const char json[] =
        "[{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1},\n"
        " {\"ph\": \"X\", \"name\": \"b\", \"ts\": 2},\n"
        " {\"ts\": 3,   \"name\":\"c\", \"other\": 0, \"ph\": \"X\", \"nam\": 1, \"names\": 2},"
        " {\"ph\":\"X\", \"" LONG_KEY "\": 1}]";
    static const uint32_t want[] = {1, 2, 3, 1, 2, 3, 3, 2, 0, 1, 0, 0, 1, 4};
    struct json_keys keys;
    struct bytes_memory in;
    struct json_scan s;
    struct json_item it;
    size_t n = 0;
    json_keys_init(&keys, names, COUNT_OF(names));
    bytes_memory_init(&in, json, sizeof json - 1, 0);
    json_open(&s, &in.in, &(struct json_options){.keys = &keys});
    for (enum json_kind k = json_next(&s, &it); !json_is_over(k); k = json_next(&s, &it)) {
        if (k == JS_END || !it.key.p)
            continue;
        CHECK(n < COUNT_OF(want));
        CHECK_INT(it.id, want[n]);
        if (it.id)
            CHECK(json_text_is(&it.key, names[it.id - 1], strlen(names[it.id - 1])));
        n++;
    }
    CHECK_INT(n, COUNT_OF(want));
    json_close(&s);
}

TEST(what_is_guessed_is_the_same_as_what_is_read)
{
    /* Keys that begin alike, with and without white space behind the colon, in changing order. */
    static const char json[] =
        "[{\"ph\":1,\"name\":2},{\"ph\": 1, \"name\": 2},{\"ph\" :1,\"name\" : 2},"
        "{\"ph\":  1,\"name\":  2, \"ts\":3},{\"ph\":1,\"ts\":2},{\"ph\":1,"
        "\"name\":[1],\"ts\":2},{\"ph\":1,\"name\":{\"ph\":1},\"ts\":2}]";
    struct json_keys keys;
    struct buf plain = {0}, guessed = {0};
    for (int way = 0; way < 2; way++) {
        struct bytes_memory in;
        struct json_scan s;
        struct json_item it;
        json_keys_init(&keys, names, COUNT_OF(names));
        bytes_memory_init(&in, json, sizeof json - 1, 0);
        json_open(&s, &in.in, &(struct json_options){.keys = way ? &keys : NULL});
        enum json_kind k;
        for (k = json_next(&s, &it); !json_is_over(k); k = json_next(&s, &it))
            put_item(way ? &guessed : &plain, &it);
        CHECK(k == JS_DONE);
        CHECK(has_no_fault(&s.faults));
        json_close(&s);
    }
    buf_u8(&plain, 0);
    buf_u8(&guessed, 0);
    CHECK_STR((char *)guessed.p, (char *)plain.p);
    buf_free(&plain);
    buf_free(&guessed);
}

TEST(what_is_mended_is_counted_each_time_it_comes)
{
    static const char json[] =
        "[{\"ph\":1 \"name\":2},{\"ph\":1 \"name\":2},{\"ph\":1 \"name\":2}]";
    struct json_keys keys;
    struct bytes_memory in;
    struct json_scan s;
    struct json_item it;
    json_keys_init(&keys, names, COUNT_OF(names));
    bytes_memory_init(&in, json, sizeof json - 1, 0);
    json_open(&s, &in.in, &(struct json_options){.keys = &keys});
    while (!json_is_over(json_next(&s, &it)))
        ;
    CHECK_INT(s.faults.commas, 3);
    json_close(&s);
}

TEST(a_source_that_fails_is_told_with_its_own_words)
{
    struct bytes_file in;
    struct json_scan s;
    struct json_item it;
    bytes_file_init(&in, -1, "no-such-file");
    json_open(&s, &in.in, &(struct json_options){0});
    CHECK(json_next(&s, &it) == JS_FAILED);
    CHECK(strstr(json_error(&s)->msg, "no-such-file"));
    json_close(&s);
}
