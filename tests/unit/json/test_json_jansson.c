/* SPDX-License-Identifier: Apache-2.0 */
/* test_json_jansson.c - what jansson takes has no fault and the same values: over texts made at
 * random, then broken at random. */
#include "json_tree.h"
#include "test.h"

enum { TEXTS = 4000, BREAKS_EACH = 12, TEXT_MOST = 1 << 16 };

struct maker {
    uint64_t state;
    char text[TEXT_MOST];
    size_t len;
};

static uint32_t draw(struct maker *m, uint32_t below)
{
    m->state ^= m->state << 13;
    m->state ^= m->state >> 7;
    m->state ^= m->state << 17;
    return (uint32_t)(m->state >> 32) % below;
}

static void put(struct maker *m, const char *p, size_t n)
{
    if (m->len + n < TEXT_MOST) {
        memcpy(m->text + m->len, p, n);
        m->len += n;
    }
}

static void put_text(struct maker *m, const char *s)
{
    put(m, s, strlen(s));
}

static const char *const pieces[] = {
    "a",
    "ph",
    "name",
    "\\n",
    "\\\"",
    "\\\\",
    "\\/",
    "\\u0041",
    "\\u00e9",
    "\\u20ac",
    "\\ud83d\\ude00",
    "\xc3\xa9",
    "\xe2\x82\xac",
    "\xf0\x9f\x98\x80",
    " ",
    "aten::zeros and then some more",
    "\\u0000",
    "x",
};

static const char *const numbers[] = {
    "0",
    "-0",
    "1",
    "-1",
    "12345678",
    "123456789012",
    "9223372036854775807",
    "-9223372036854775808",
    "0.5",
    "1.000",
    "4458676522690.655",
    "1e5",
    "1E-7",
    "-2.5e+3",
    "1e300",
    "5e-324",
    "1661203462598738",
    "0.1",
    "123456789.123456789",
    "1e-400",
    "179769313486231570000000000000000000000000000000000",
    "0.30000000000000004",
};

static const char *const spaces[] = {
    "", "", "", " ", "\n", "\n    ", "\t", "\r\n", "  \n   \t      "};

static void put_space(struct maker *m)
{
    put_text(m, spaces[draw(m, COUNT_OF(spaces))]);
}

static void put_string(struct maker *m)
{
    put_text(m, "\"");
    for (uint32_t n = draw(m, 6); n > 0; n--)
        put_text(m, pieces[draw(m, COUNT_OF(pieces))]);
    put_text(m, "\"");
}

static void put_value(struct maker *m, unsigned depth);

static void put_members(struct maker *m, unsigned depth, bool object)
{
    put_text(m, object ? "{" : "[");
    put_space(m);
    for (uint32_t n = draw(m, 6), i = 0; i < n; i++) {
        if (i)
            put_text(m, ",");
        put_space(m);
        if (object) {
            put_string(m);
            put_space(m);
            put_text(m, ":");
            put_space(m);
        }
        put_value(m, depth + 1);
        put_space(m);
    }
    put_text(m, object ? "}" : "]");
}

static void put_value(struct maker *m, unsigned depth)
{
    static const char *const words[] = {"true", "false", "null"};
    switch (draw(m, depth < 6 ? 6 : 3)) {
    case 0:
        put_string(m);
        break;
    case 1:
        put_text(m, numbers[draw(m, COUNT_OF(numbers))]);
        break;
    case 2:
        put_text(m, words[draw(m, 3)]);
        break;
    case 3:
        put_members(m, depth, false);
        break;
    default:
        put_members(m, depth, true);
    }
}

static void make(struct maker *m)
{
    m->len = 0;
    put_space(m);
    put_value(m, 0);
    put_space(m);
}

static const char *const breakers[] = {
    ",",
    ":",
    "\"",
    "\\",
    "{",
    "}",
    "[",
    "]",
    "NaN",
    "-",
    "01",
    "1.",
    ".5",
    "+1",
    "1e",
    "tru",
    "nullx",
    "\x01",
    "\xff",
    "\xc3",
    "\xed\xa0\x80",
    "\\u12",
    "\\ud800",
    "\\x",
    "1e999",
    "9223372036854775808",
    "\n",
    "\t",
    " ",
    "\x7f",
    "/",
    "'",
    "\xef\xbb\xbf",
    "\\u0000",
    "\xf5\x80\x80\x80",
    "\xc0\x80",
    "\xe0\x80\x80",
    "\\udc00",
    "0",
    "e",
    "-9223372036854775809",
};

static void replace(struct maker *m, size_t at, size_t gone, const char *p, size_t n)
{
    if (m->len - gone + n >= TEXT_MOST)
        return;
    memmove(m->text + at + n, m->text + at + gone, m->len - at - gone);
    memcpy(m->text + at, p, n);
    m->len = m->len - gone + n;
}

static void break_somewhere(struct maker *m)
{
    const size_t at = draw(m, (uint32_t)m->len + 1), left = m->len - at;
    const char *p = breakers[draw(m, COUNT_OF(breakers))];
    switch (draw(m, 4)) {
    case 0: /* put in */
        replace(m, at, 0, p, strlen(p));
        break;
    case 1: /* take away */
        replace(m, at, left ? 1 + draw(m, (uint32_t)(left < 8 ? left : 8)) : 0, "", 0);
        break;
    case 2: /* in place of a byte */
        replace(m, at, left ? 1 : 0, p, strlen(p));
        break;
    default: /* cut off */
        m->len = at;
    }
}

/* Windows and reads of every size, so that every boundary falls everywhere. */
static json_t *scan_tree(struct maker *m, enum json_kind *end, struct json_faults *faults)
{
    struct bytes_memory in;
    struct json_scan s;
    char *copy = xmalloc(m->len + 1); /* exactly as long as it is */
    memcpy(copy, m->text, m->len);
    bytes_memory_init(&in, copy, m->len, 1 + draw(m, 100));
    json_open(&s, &in.in, &(struct json_options){.window = 64 + draw(m, 200)});
    json_t *v = tree_scan(&s, end);
    *faults = s.faults;
    json_close(&s);
    free(copy);
    return v;
}

static bool has_no_fault(const struct json_faults *f)
{
    const struct json_faults none = {0};
    return memcmp(f, &none, sizeof none) == 0;
}

static bool same_as_jansson(struct maker *m)
{
    json_error_t why = {0};
    struct json_faults faults;
    enum json_kind end;
    json_t *theirs = json_loadb(m->text, m->len, TREE_FLAGS, &why);
    json_t *ours = scan_tree(m, &end, &faults);
    const bool same = !theirs || (ours && json_equal(ours, theirs) && has_no_fault(&faults));
    if (!same)
        fprintf(stderr, "jansson: %s%s\nscanner: ended with %d\n%.*s\n", theirs ? "takes it" : "",
                theirs ? "" : why.text, (int)end, (int)m->len, m->text);
    json_decref(theirs);
    json_decref(ours);
    return same;
}

TEST(what_is_made_at_random_is_read_as_jansson_reads_it)
{
    struct maker m = {.state = 42};
    for (int i = 0; i < TEXTS; i++) {
        make(&m);
        CHECK(same_as_jansson(&m));
    }
}

TEST(what_jansson_takes_of_what_is_broken_at_random_is_read_the_same)
{
    struct maker m = {.state = 4711};
    struct maker whole = {0};
    int refused = 0, taken = 0;
    for (int i = 0; i < TEXTS; i++) {
        make(&m);
        memcpy(whole.text, m.text, m.len);
        whole.len = m.len;
        for (int k = 0; k < BREAKS_EACH; k++) {
            memcpy(m.text, whole.text, whole.len);
            m.len = whole.len;
            for (uint32_t n = 1 + draw(&m, 2); n > 0; n--)
                break_somewhere(&m);
            CHECK(same_as_jansson(&m));
            enum json_kind end;
            struct json_faults faults;
            json_t *v = scan_tree(&m, &end, &faults);
            refused += !v;
            taken += v != NULL;
            json_decref(v);
        }
    }
    CHECK(refused > TEXTS && taken > TEXTS); /* both happened, and often */
}

TEST(what_is_no_json_is_refused_or_counted)
{
    static const char *const broken[] = {
        "",    " ",   "{",        "[1,]",  "{\"a\":1,}", "[1 2]", "{\"a\" 1}", "01",
        "1.",  ".5",  "+1",       "-",     "1e",         "NaN",   "[1]x",      "\"\x01\"",
        "nul", "'a'", "{\"a\":}", "{1:2}", "[}",         "{]",    "\"a\nb\"",
    };
    struct maker m = {.state = 7};
    for (size_t i = 0; i < COUNT_OF(broken); i++) {
        enum json_kind end;
        struct json_faults faults;
        m.len = 0;
        put_text(&m, broken[i]);
        json_t *v = scan_tree(&m, &end, &faults);
        CHECK(v == NULL || !has_no_fault(&faults));
        json_decref(v);
    }
}

TEST(what_jansson_takes_is_not_nested_too_deep)
{
    struct maker m = {.state = 7};
    for (int depth = 2046; depth < 2051; depth++)
        for (int scalar = 0; scalar < 2; scalar++) {
            m.len = 0;
            for (int i = 0; i < depth; i++)
                put_text(&m, "[");
            if (scalar)
                put_text(&m, "1");
            for (int i = 0; i < depth; i++)
                put_text(&m, "]");
            CHECK(same_as_jansson(&m));
        }
}
