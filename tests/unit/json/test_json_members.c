/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../test.h"
#include "base/buf.h"
#include "json_elements.h"

/* As a profiler writes them: several kinds in turns. */
static void put_elements(struct buf *out, unsigned n)
{
    char text[512];
    buf_put(out, "[", 1);
    for (unsigned i = 0; i < n; i++) {
        int len;
        if (i % 3 == 0)
            len =
                snprintf(text, sizeof text,
                         "%s\n  {\n    \"ph\": \"X\", \"name\": \"aten::op%u\", \"ts\": %u.%03u,\n"
                         "    \"args\": {\n      \"a\": %u, \"b\": [[1, \"]\"], [%u]]\n    }\n  }",
                         i ? "," : "", i % 7, i * 17, i % 1000, i, i * i);
        else
            len = snprintf(text, sizeof text,
                           "%s\n  {\n    \"ph\": \"%s\", \"ts\": -%u, \"a\": \"x%.*s\"\n  }",
                           i ? "," : "", i % 3 == 1 ? "B" : "\\\"E", i, (int)(i % 40),
                           "a text that is sometimes long, sometimes not");
        buf_put(out, text, (size_t)len);
    }
    buf_put(out, "\n]\n", 3);
}

static void read_both(const struct buf *in, size_t window, size_t piece, struct elements x[2],
                      enum json_kind end[2])
{
    for (unsigned i = 0; i < 2; i++) {
        struct bytes_memory m;
        bytes_memory_init(&m, in->p, in->len, piece);
        elements_open(&x[i], &m.in, &(struct json_options){.window = window}, i);
        end[i] = elements_read(&x[i]);
        json_close(&x[i].s);
    }
}

static bool both_alike(const struct elements x[2], const enum json_kind end[2])
{
    return end[0] == end[1] && x[0].sum == x[1].sum &&
           memcmp(&x[0].s.faults, &x[1].s.faults, sizeof x[0].s.faults) == 0;
}

TEST(many_items_at_once_are_the_same_items_in_every_window)
{
    struct buf in = {0};
    struct elements x[2];
    enum json_kind end[2];
    put_elements(&in, 60);
    for (size_t window = 64; window < 2000; window = window * 9 / 8)
        for (size_t piece = 0; piece < 40; piece += 13) {
            read_both(&in, window, piece, x, end);
            CHECK_INT(end[1], JS_DONE);
            CHECK(both_alike(x, end));
        }
    buf_free(&in);
}

TEST(nearly_all_items_of_elements_that_look_alike_come_many_at_once)
{
    struct buf in = {0};
    struct elements x[2];
    enum json_kind end[2];
    put_elements(&in, 3000);
    read_both(&in, 0, 0, x, end);
    CHECK(both_alike(x, end));
    /* 3000 elements: 8 items each third, else 4. */
    CHECK(x[1].by_members > 15000);
    buf_free(&in);
}

TEST(what_is_broken_is_mended_and_counted_as_one_by_one)
{
    static const char bytes[] = "\"\\,:{}[]0-.eN \n\x01\xc3";
    struct elements x[2];
    enum json_kind end[2];
    uint64_t seed = 1;
    for (unsigned round = 0; round < 3000; round++) {
        struct buf in = {0};
        put_elements(&in, 12);
        for (unsigned k = 0; k < 1 + round % 3; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            in.p[(seed >> 20) % in.len] = (uint8_t)bytes[(seed >> 50) % (sizeof bytes - 1)];
        }
        if (round % 5 == 0)
            in.len -= (seed >> 33) % in.len;
        read_both(&in, 64 + round % 900, round % 50, x, end);
        CHECK(both_alike(x, end));
        buf_free(&in);
    }
}

/* The value in elements that look alike, so that json_members is the one that reads it. */
static void put_value(struct buf *out, const char *value)
{
    char text[128];
    for (unsigned i = 0; i < 4; i++) {
        const int n =
            snprintf(text, sizeof text, "%s{\"ts\": %s, \"a\": %u}", i ? ", " : "[", value, i);
        buf_put(out, text, (size_t)n);
    }
    buf_put(out, "]", 1);
}

static bool value_is_alike(const char *value)
{
    struct buf in = {0};
    struct elements x[2];
    enum json_kind end[2];
    put_value(&in, value);
    read_both(&in, 0, 0, x, end);
    buf_free(&in);
    return both_alike(x, end);
}

static const char *const odd[] = {
    "0",      "00",   "01.5", "0.5", "1.",     ".5",  "1.5.2",    "1e5",      "1.25e3",
    "1.5E-2", "-1.5", "-",    "--1", "-0",     "1-2", "12345678", "1234567a", "99999999.9",
    "1.5 ",   "1 ",   "9 9",  "0.0", "-0.001", "1/2", "1:2",      "12.5:",    "NaN",
};

TEST(numbers_that_are_odd_are_the_same_as_one_by_one)
{
    for (size_t i = 0; i < COUNT_OF(odd); i++)
        CHECK(value_is_alike(odd[i]));
}

TEST(what_is_odd_under_a_key_that_is_ignored_is_counted_as_one_by_one)
{
    struct json_faults faults[2];
    for (size_t i = 0; i < COUNT_OF(odd); i++) {
        struct buf in = {0};
        put_value(&in, odd[i]);
        for (unsigned many = 0; many < 2; many++) {
            struct bytes_memory m;
            struct elements x;
            bytes_memory_init(&m, in.p, in.len, 0);
            elements_open(&x, &m.in, &(struct json_options){0}, many);
            json_keys_ignore(&x.keys, 6); /* ts */
            elements_read(&x);
            faults[many] = x.s.faults;
            json_close(&x.s);
        }
        CHECK(memcmp(&faults[0], &faults[1], sizeof faults[0]) == 0);
        buf_free(&in);
    }
}

/* Objects that end in a row, as they did before, and others that do not. */
TEST(ends_that_are_others_than_before_are_the_same_as_one_by_one)
{
    static const char *const ends[] = {"}}",    "}\n  }", "} , \"a\": 3}", "},\"b\":[]\n}",
                                       "\n}}}", "}"};
    static const char *const between[] = {",", ",\n  ", " , ", ""};
    uint64_t seed = 7;
    for (unsigned round = 0; round < 500; round++) {
        struct buf in = {0};
        struct elements x[2];
        enum json_kind end[2];
        char text[128];
        buf_put(&in, "[", 1);
        for (unsigned i = 0; i < 12; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            const unsigned odd_one = seed >> 33 & 1 ? 0 : (unsigned)(seed >> 40);
            const int n = snprintf(text, sizeof text, "%s{\"args\": {\"a\": %u, \"b\": 2%s",
                                   i ? between[odd_one / 64 % COUNT_OF(between)] : "", i,
                                   ends[odd_one % COUNT_OF(ends)]);
            buf_put(&in, text, (size_t)n);
        }
        buf_put(&in, "]", 1);
        read_both(&in, 64 + round % 300, 0, x, end);
        CHECK(both_alike(x, end));
        buf_free(&in);
    }
}

TEST(numbers_of_all_lengths_are_the_same_as_one_by_one)
{
    static const char digits[] = "98765432101234567890987654321012";
    char value[96];
    for (int whole = 1; whole < 33; whole++)
        for (int fraction = 0; fraction < 33; fraction++) {
            snprintf(value, sizeof value, "%.*s%s%.*s", whole, digits, fraction ? "." : "",
                     fraction, digits + (32 - fraction));
            CHECK(value_is_alike(value));
        }
}

TEST(a_decimal_number_keeps_all_its_digits)
{
    static const char text[] =
        "[{\"ts\":4458676847784.255,\"a\":1}, {\"ts\":4458676847784.255,\"a\":1}, "
        "{\"ts\":1234567890123.456,\"a\":1}]";
    struct bytes_memory in;
    struct json_keys keys;
    struct json_scan s;
    struct json_item it, items[4];
    uint64_t last = 0;
    bytes_memory_init(&in, text, sizeof text - 1, 0);
    json_keys_init(&keys, element_names, COUNT_OF(element_names));
    json_open(&s, &in.in, &(struct json_options){.keys = &keys});
    while (!json_is_over(json_next(&s, &it)))
        if (list_members(&s, 0, items, COUNT_OF(items)) == 3) {
            CHECK(items[0].number.plain);
            CHECK_INT(items[0].number.fraction, 3);
            last = items[0].number.mantissa;
        }
    CHECK_INT(last, 1234567890123456);
    json_close(&s);
}

TEST(scalars_with_a_key_that_is_ignored_are_read_and_left_out)
{
    struct buf in = {0};
    struct bytes_memory m;
    struct json_keys keys;
    struct json_scan s;
    struct json_item it, items[64];
    size_t by_members[COUNT_OF(element_names) + 1] = {0};
    put_elements(&in, 300);
    bytes_memory_init(&m, in.p, in.len, 0);
    json_keys_init(&keys, element_names, COUNT_OF(element_names));
    json_keys_ignore(&keys, 6); /* ts */
    json_open(&s, &m.in, &(struct json_options){.keys = &keys});
    while (!json_is_over(json_next(&s, &it))) {
        const size_t n = list_members(&s, ELEMENT_ARGS, items, COUNT_OF(items));
        for (size_t i = 0; i < n; i++)
            if (items[i].kind != JS_END)
                by_members[items[i].id]++;
    }
    CHECK(by_members[3] > 250); /* ph */
    CHECK(by_members[1] > 250); /* a, behind ts */
    CHECK_INT(by_members[6], 0);
    CHECK_INT(s.depth, 0);
    json_close(&s);
    buf_free(&in);
}
