/* SPDX-License-Identifier: Apache-2.0 */
/* sm_line.c - see sm_line.h. */
#include "import/sm_line.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

enum field { F_NONE, F_TYPE, F_NAME, F_DIMENSION, F_NODE, F_VALUE, F_TIME };
enum { DIGITS_MOST = 18 };

static const char *const field_names[] = {"Type",   "Name",  "Dimension",
                                          "NodeId", "Value", "Timestamp"};

static const int64_t tens[DIGITS_MOST + 1] = {
    1,
    10,
    100,
    1000,
    10000,
    100000,
    1000000,
    10000000,
    100000000,
    1000000000,
    10000000000,
    100000000000,
    1000000000000,
    10000000000000,
    100000000000000,
    1000000000000000,
    10000000000000000,
    100000000000000000,
    1000000000000000000,
};

/* ---- numbers: mantissa / 10^fraction, at most DIGITS_MOST digits ---- */

static double real_of(int64_t mantissa, unsigned fraction)
{
    return (double)mantissa / (double)tens[fraction];
}

/* Seconds as nanoseconds, exact up to the ninth digit, rounded after. */
static bool sm_line_time_of(int64_t mantissa, unsigned fraction, int64_t *ns)
{
    if (fraction <= 9)
        return !__builtin_mul_overflow(mantissa, tens[9 - fraction], ns);
    const int64_t more = tens[fraction - 9];
    *ns = (mantissa + more / 2) / more;
    return true;
}

static void sm_line_take_number(struct sm_line *l, enum field f, int64_t mantissa,
                                unsigned fraction)
{
    if (f == F_VALUE) {
        l->value = real_of(mantissa, fraction);
        l->has_value = true;
    } else {
        l->has_time = mantissa >= 0 && sm_line_time_of(mantissa, fraction, &l->time_ns);
    }
}

/* ---- the usual shape ---- */

static inline const char *space(const char *p)
{
    while (*p == ' ' || *p == '\t')
        p++;
    return p;
}

/* Eight bytes at a time up to the quote; a backslash, a control or a byte beyond ASCII before it
 * is not usual. */
static inline const char *string_end(const char *p)
{
    const uint64_t ones = 0x0101010101010101, tops = 0x8080808080808080;
    for (;; p += 8) {
        uint64_t v;
        memcpy(&v, p, sizeof v);
        const uint64_t q = v ^ ones * '"', b = v ^ ones * '\\';
        const uint64_t odd = ((b - ones) & ~b) | (v - ones * 0x20) | v;
        const uint64_t hit = (((q - ones) & ~q) | odd) & tops;
        if (hit) {
            p += __builtin_ctzll(hit) / 8;
            return *p == '"' ? p : NULL;
        }
    }
}

static inline enum field field_at(const char *p, const char **behind)
{
#define IS(text, field)                                                                            \
    (memcmp(p, text "\"", sizeof text) == 0 ? (*behind = p + sizeof text, field) : F_NONE)
    switch (*p) {
    case 'T':
        return p[1] == 'y' ? IS("Type", F_TYPE) : IS("Timestamp", F_TIME);
    case 'N':
        return p[1] == 'a' ? IS("Name", F_NAME) : IS("NodeId", F_NODE);
    case 'D':
        return IS("Dimension", F_DIMENSION);
    case 'V':
        return IS("Value", F_VALUE);
    default:
        return F_NONE;
    }
#undef IS
}

static inline const char *digits(const char *p, uint64_t *v)
{
    for (unsigned d; (d = (unsigned)(*p - '0')) < 10; p++)
        *v = *v * 10 + d;
    return p;
}

static inline const char *sm_line_read_number(const char *p, struct sm_line *l, enum field f)
{
    const bool minus = *p == '-';
    const char *const first = p += minus;
    uint64_t v = 0;
    unsigned fraction = 0;
    p = digits(p, &v);
    if (p == first || p - first > DIGITS_MOST || (*first == '0' && p - first > 1))
        return NULL;
    if (*p == '.') {
        const char *const point = p + 1;
        p = digits(point, &v);
        if (p == point || p - first > DIGITS_MOST + 1)
            return NULL;
        fraction = (unsigned)(p - point);
    }
    if (*p == 'e' || *p == 'E')
        return NULL;
    sm_line_take_number(l, f, minus ? -(int64_t)v : (int64_t)v, fraction);
    return p;
}

static inline const char *sm_line_read_text(const char *p, struct sm_text *t)
{
    if (*p != '"')
        return NULL;
    const char *end = string_end(p + 1);
    if (!end)
        return NULL;
    *t = (struct sm_text){p + 1, (uint32_t)(end - p - 1)};
    return t->len <= SM_TEXT_MOST ? end + 1 : NULL;
}

static inline const char *sm_line_read_value(const char *p, enum field f, struct sm_line *l)
{
    switch (f) {
    case F_TYPE:
        return sm_line_read_text(p, &l->type);
    case F_NAME:
        return sm_line_read_text(p, &l->name);
    case F_DIMENSION:
        return sm_line_read_text(p, &l->dimension);
    case F_NODE:
        return sm_line_read_text(p, &l->node);
    case F_VALUE:
    case F_TIME:
        return sm_line_read_number(p, l, f);
    default:
        return NULL;
    }
}

static const char nothing[SM_PAD];

static void line_clear(struct sm_line *l)
{
    l->type = l->name = l->dimension = l->node = (struct sm_text){nothing, 0};
    l->has_value = l->has_time = false;
}

const char *sm_line_fast(const char *p, struct sm_line *out)
{
    unsigned seen = 0;
    line_clear(out);
    if (*p++ != '{')
        return NULL;
    for (;;) {
        p = space(p);
        if (*p++ != '"')
            return NULL;
        const enum field f = field_at(p, &p);
        if (f == F_NONE || seen & 1u << f)
            return NULL;
        seen |= 1u << f;
        p = space(p);
        if (*p++ != ':')
            return NULL;
        p = sm_line_read_value(space(p), f, out);
        if (!p)
            return NULL;
        p = space(p);
        if (*p == '}')
            return p + 1;
        if (*p++ != ',')
            return NULL;
    }
}

/* ---- any other ---- */

static void sm_line_keep_text(struct sm_line *l, enum field f, const struct json_item *it,
                              struct json_faults *faults)
{
    struct sm_text *const to[] = {
        [F_TYPE] = &l->type,
        [F_NAME] = &l->name,
        [F_DIMENSION] = &l->dimension,
        [F_NODE] = &l->node,
    };
    char *room = l->room[f - F_TYPE];
    memset(room, 0, sizeof l->room[0]);
    json_decode(&it->text, room, SM_TEXT_MOST + 1, faults);
    *to[f] = (struct sm_text){room, (uint32_t)strlen(room)};
}

static void keep_number(struct sm_line *l, enum field f, const struct json_item *it)
{
    const struct json_number *n = &it->number;
    double v;
    if (it->kind == JS_NUMBER && n->plain) {
        const int64_t m = (int64_t)n->mantissa;
        sm_line_take_number(l, f, n->minus ? -m : m, n->fraction);
    } else if (json_double(it, &v) && f == F_VALUE) {
        l->value = v;
        l->has_value = true;
    } else if (json_double(it, &v) && v >= 0 && v < 9e9) {
        l->time_ns = (int64_t)llround(v * 1e9);
        l->has_time = true;
    }
}

static enum json_kind sm_line_read_members(struct json_scan *s, struct json_faults *f,
                                           struct sm_line *l)
{
    struct json_item it;
    for (;;) {
        enum json_kind kind = json_next(s, &it);
        if (kind == JS_END || kind >= JS_LOST)
            return kind;
        if (kind == JS_OBJECT || kind == JS_ARRAY)
            kind = json_skip(s, NULL);
        else if (it.id == F_VALUE || it.id == F_TIME)
            keep_number(l, it.id, &it);
        else if (it.id && kind == JS_STRING)
            sm_line_keep_text(l, it.id, &it, f);
        if (kind >= JS_LOST)
            return kind;
    }
}

static void add_faults(struct json_faults *to, const struct json_faults *from)
{
#define X(name, help) to->name += from->name;
    JSON_FAULTS(X)
#undef X
}

void sm_line_keys(struct json_keys *keys)
{
    json_keys_init(keys, field_names, COUNT_OF(field_names));
}

bool sm_line_slow(const char *p, size_t n, struct json_keys *keys, struct json_faults *f,
                  struct sm_line *out)
{
    struct bytes_memory in;
    struct json_scan s;
    struct json_item it;
    line_clear(out);
    bytes_memory_init(&in, p, n, 0);
    json_open(&s, &in.in, &(struct json_options){.window = n + 1, .keys = keys});
    const bool whole =
        json_next(&s, &it) == JS_OBJECT && sm_line_read_members(&s, f, out) == JS_END;
    if (whole)
        add_faults(f, &s.faults);
    json_close(&s);
    return whole;
}
