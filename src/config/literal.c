/* SPDX-License-Identifier: Apache-2.0 */
/* literal.c - see profilerconfig.h. Recursive descent over bytes that may be anything. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "config/profilerconfig.h"

enum { NUMBER_MOST = 64 };

struct literal_scan {
    const char *start, *p, *end;
    int depth;
    struct err *e;
};

static json_t *literal_value(struct literal_scan *s);

static json_t *fail(struct literal_scan *s, const char *what)
{
    err_set(s->e, ERR_FORMAT, "%s at character %zu", what, (size_t)(s->p - s->start) + 1);
    return NULL;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void skip_space(struct literal_scan *s)
{
    while (s->p < s->end && is_space(*s->p))
        s->p++;
}

static bool literal_take(struct literal_scan *s, char c)
{
    skip_space(s);
    if (s->p == s->end || *s->p != c)
        return false;
    s->p++;
    return true;
}

/* ---- strings ---- */

/* n hex digits after \x, \u or \U; -1 when they are not there or no character. */
static int64_t hex_escape(struct literal_scan *s, int n)
{
    int64_t v = 0;
    for (; n > 0; n--) {
        const int d = s->p < s->end ? hex_digit(*s->p) : -1;
        if (d < 0)
            return -1;
        v = v * 16 + d;
        s->p++;
    }
    return v == 0 || v > 0x10ffff || (v >= 0xd800 && v < 0xe000) ? -1 : v;
}

static const struct {
    char letter, means;
    int digits; /* of hex after it */
} escapes[] = {
    {'n', '\n', 0}, {'t', '\t', 0}, {'r', '\r', 0}, {'b', '\b', 0},  {'f', '\f', 0},
    {'a', '\a', 0}, {'v', '\v', 0}, {'/', '/', 0},  {'\\', '\\', 0}, {'\'', '\'', 0},
    {'"', '"', 0},  {'x', 0, 2},    {'u', 0, 4},    {'U', 0, 8},
};

/* After a backslash. An unknown escape stays, with its backslash, as in Python: "\d" in a regex. */
static bool escape(struct literal_scan *s, struct buf *b)
{
    if (s->p == s->end || *s->p == 0)
        return false;
    const char letter = *s->p++;
    char text[UTF8_MOST];
    for (size_t i = 0; i < COUNT_OF(escapes); i++) {
        if (escapes[i].letter != letter)
            continue;
        const int64_t c = escapes[i].digits ? hex_escape(s, escapes[i].digits) : escapes[i].means;
        if (c < 0)
            return false;
        buf_put(b, text, utf8_put(text, (uint32_t)c));
        return true;
    }
    if (letter == '\n') /* a line that continues */
        return true;
    buf_u8(b, '\\');
    buf_u8(b, (uint8_t)letter);
    return true;
}

static json_t *string(struct literal_scan *s, bool raw)
{
    struct buf b = {0};
    const char quote = *s->p++;
    json_t *out = NULL;
    while (s->p < s->end && *s->p != quote) {
        const char c = *s->p++;
        if (c == 0)
            goto out;
        if (c != '\\') {
            buf_u8(&b, (uint8_t)c);
        } else if (raw && s->p < s->end && *s->p) {
            buf_u8(&b, (uint8_t)c);
            buf_u8(&b, (uint8_t)*s->p++);
        } else if (!escape(s, &b)) {
            goto out;
        }
    }
    if (s->p < s->end)
        out = json_stringn(b.p ? (const char *)b.p : "", b.len); /* NULL: not UTF-8 */
    if (out)
        s->p++;
out:
    buf_free(&b);
    return out ? out : fail(s, "invalid string");
}

/* ---- numbers and words ---- */

bool number_parse(const char *text, size_t len, double *out)
{
    char copy[NUMBER_MOST], *end;
    while (len > 0 && is_space(text[len - 1]))
        len--;
    while (len > 0 && is_space(*text)) {
        text++;
        len--;
    }
    if (len == 0 || len >= sizeof copy || memchr(text, 0, len))
        return false;
    memcpy(copy, text, len);
    copy[len] = 0;
    if (copy[strspn(copy, "+-0123456789.eE")])
        return false;
    const double v = strtod(copy, &end);
    if (*end || end == copy || !isfinite(v))
        return false;
    *out = v;
    return true;
}

static json_t *literal_number(struct literal_scan *s)
{
    char copy[NUMBER_MOST];
    size_t n = 0;
    while (s->p + n < s->end && s->p[n] && strchr("+-0123456789.eE", s->p[n]))
        n++;
    double v;
    if (!number_parse(s->p, n, &v))
        return fail(s, "invalid number");
    memcpy(copy, s->p, n);
    copy[n] = 0;
    s->p += n;
    errno = 0;
    const long long whole = strtoll(copy, NULL, 10);
    const bool fits = errno == 0 && !strpbrk(copy, ".eE");
    return fits ? json_integer(whole) : json_real(v);
}

static const struct {
    const char *word;
    enum { WORD_TRUE, WORD_FALSE, WORD_NULL } means;
} words[] = {
    {"True", WORD_TRUE},   {"False", WORD_FALSE}, {"None", WORD_NULL}, {"true", WORD_TRUE},
    {"false", WORD_FALSE}, {"null", WORD_NULL},   {"none", WORD_NULL},
};

static json_t *word(struct literal_scan *s)
{
    size_t n = 0;
    while (s->p + n < s->end && ((s->p[n] | 0x20) >= 'a' && (s->p[n] | 0x20) <= 'z'))
        n++;
    const bool prefixed = n == 1 && s->p + 1 < s->end && (s->p[1] == '\'' || s->p[1] == '"');
    if (prefixed && strchr("rRuU", *s->p)) {
        const bool raw = (*s->p | 0x20) == 'r';
        s->p++;
        return string(s, raw);
    }
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (strlen(words[i].word) != n || memcmp(words[i].word, s->p, n) != 0)
            continue;
        s->p += n;
        return words[i].means == WORD_NULL ? json_null()
                                           : json_boolean(words[i].means == WORD_TRUE);
    }
    return fail(s, n ? "expected a value, found a name" : "expected a value");
}

/* ---- dicts and lists ---- */

/* One "key: value"; false on failure. */
static bool pair(struct literal_scan *s, json_t *dict)
{
    skip_space(s);
    json_t *key = literal_value(s);
    if (!key)
        return false;
    json_t *v = NULL;
    if (!json_is_string(key))
        fail(s, "a key must be a string");
    else if (!literal_take(s, ':'))
        fail(s, "missing colon after a key");
    else
        v = literal_value(s);
    const bool ok = v && json_object_set_new(dict, json_string_value(key), v) == 0;
    json_decref(key);
    return ok;
}

static bool element(struct literal_scan *s, json_t *list)
{
    json_t *v = literal_value(s);
    return v && json_array_append_new(list, v) == 0;
}

/* From after the opening bracket to after the closing one. */
static json_t *many(struct literal_scan *s, json_t *out, char close,
                    bool (*one)(struct literal_scan *, json_t *))
{
    while (!literal_take(s, close)) {
        if (!one(s, out))
            goto bad;
        if (literal_take(s, ',') || (s->p < s->end && *s->p == close))
            continue;
        fail(s, "missing comma or closing bracket");
        goto bad;
    }
    return out;
bad:
    json_decref(out);
    return NULL;
}

static json_t *bracketed(struct literal_scan *s)
{
    if (s->depth == LITERAL_DEPTH)
        return fail(s, "brackets nested too deep");
    s->depth++;
    const char open = *s->p++;
    json_t *v;
    if (open == '{')
        v = many(s, json_object(), '}', pair);
    else
        v = many(s, json_array(), open == '[' ? ']' : ')', element);
    s->depth--;
    return v;
}

static json_t *literal_value(struct literal_scan *s)
{
    skip_space(s);
    if (s->p == s->end)
        return fail(s, "unexpected end of text");
    const char c = *s->p;
    if (c == '{' || c == '[' || c == '(')
        return bracketed(s);
    if (c == '\'' || c == '"')
        return string(s, false);
    if (c && strchr("+-.0123456789", c))
        return literal_number(s);
    return word(s);
}

int literal_parse(const char *text, size_t len, json_t **out, struct err *e)
{
    if (len > LITERAL_MOST)
        return err_set(e, ERR_LIMIT, "longer than %d bytes", LITERAL_MOST);
    struct literal_scan s = {text, text, text + len, 0, e};
    json_t *v = literal_value(&s);
    if (!v)
        return e->code;
    skip_space(&s);
    if (s.p != s.end) {
        json_decref(v);
        fail(&s, "unexpected text after the end");
        return e->code;
    }
    *out = v;
    return 0;
}
