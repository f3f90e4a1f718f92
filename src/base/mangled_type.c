/* SPDX-License-Identifier: Apache-2.0 */
/* mangled_type.c - see mangled.h. Types and what stands between the brackets of a template. */
#include <ctype.h>
#include <string.h>

#include "base/mangled.h"
#include "base/mem.h"

static const char *builtin(char c)
{
    static const char *const names[26] = {
        ['v' - 'a'] = "void",        ['w' - 'a'] = "wchar_t",
        ['b' - 'a'] = "bool",        ['c' - 'a'] = "char",
        ['a' - 'a'] = "signed char", ['h' - 'a'] = "unsigned char",
        ['s' - 'a'] = "short",       ['t' - 'a'] = "unsigned short",
        ['i' - 'a'] = "int",         ['j' - 'a'] = "unsigned int",
        ['l' - 'a'] = "long",        ['m' - 'a'] = "unsigned long",
        ['x' - 'a'] = "long long",   ['y' - 'a'] = "unsigned long long",
        ['n' - 'a'] = "__int128",    ['o' - 'a'] = "unsigned __int128",
        ['f' - 'a'] = "float",       ['d' - 'a'] = "double",
        ['e' - 'a'] = "long double", ['g' - 'a'] = "__float128",
        ['z' - 'a'] = "...",
    };
    return c >= 'a' && c <= 'z' ? names[c - 'a'] : NULL;
}

/* "*" or "&" behind a type, inside of the brackets of a function's. */
static void put_declarator(struct mangled *m, const char *sign)
{
    char tail[CLASS_MOST];
    const size_t at = m->declarator, n = m->len - at;
    if (at == 0 || n >= sizeof tail) {
        mangled_put(m, sign);
        return;
    }
    const bool open = m->out[at] == ')'; /* "(*)" is there already */
    memcpy(tail, m->out + at, n);
    m->len = at;
    mangled_put(m, open ? sign : "(");
    if (!open)
        mangled_put(m, sign);
    const size_t inside = m->len;
    if (!open)
        mangled_put(m, *tail == '[' ? ") " : ")");
    mangled_put_n(m, tail, n);
    m->declarator = m->bad ? 0 : inside;
}

static void read_function_type(struct mangled *m)
{
    m->p++;
    mangled_take(m, 'Y');
    mangled_type(m);
    mangled_put(m, " ");
    const size_t at = m->len;
    mangled_put(m, "(");
    if (m->p[0] == 'v' && m->p[1] == 'E')
        m->p++;
    for (bool first = true; !m->bad && *m->p != 'E'; first = false) {
        mangled_put(m, first ? "" : ", ");
        mangled_type(m);
    }
    mangled_need(m, 'E');
    mangled_put(m, ")");
    m->declarator = m->bad ? 0 : at;
}

static void read_array_type(struct mangled *m)
{
    m->p++;
    const char *digits = m->p;
    while (isdigit((unsigned char)*m->p))
        m->p++;
    const size_t n = (size_t)(m->p - digits);
    mangled_need(m, '_');
    mangled_type(m);
    mangled_put(m, " ");
    const size_t at = m->len;
    mangled_put(m, "[");
    mangled_put_n(m, digits, n);
    mangled_put(m, "]");
    m->declarator = m->bad ? 0 : at;
}

/* M<class><member> */
static void read_member_type(struct mangled *m)
{
    char class[CLASS_MOST];
    const size_t from = m->len;
    m->p++;
    mangled_type(m);
    const size_t n = m->len - from;
    if (m->bad || n >= sizeof class) {
        m->bad = true;
        return;
    }
    memcpy(class, m->out + from, n);
    m->len = from;
    mangled_type(m);
    mangled_put(m, " ");
    mangled_put_n(m, class, n);
    mangled_put(m, "::*");
}

/* D and a letter. False: it cannot be referred to. */
static bool read_d_type(struct mangled *m)
{
    static const char *const words[][2] = {
        {"n", "decltype(nullptr)"}, {"h", "half"}, {"i", "char32_t"},       {"s", "char16_t"},
        {"u", "char8_t"},           {"a", "auto"}, {"c", "decltype(auto)"},
    };
    m->p++;
    if (mangled_take(m, 'p')) {
        mangled_type(m);
        return true;
    }
    if (mangled_take(m, 'F')) {
        mangled_put(m, "_Float");
        const char *digits = m->p;
        (void)mangled_number(m);
        mangled_put_n(m, digits, (size_t)(m->p - digits));
        if (mangled_take(m, 'b'))
            mangled_put(m, "b");
        else
            mangled_need(m, '_');
        return false;
    }
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (mangled_take(m, words[i][0][0])) {
            mangled_put(m, words[i][1]);
            return false;
        }
    m->bad = true;
    return false;
}

static void read_qualified(struct mangled *m)
{
    static const char *const words[][2] = {{"r", " restrict"}, {"V", " volatile"}, {"K", " const"}};
    bool has[COUNT_OF(words)] = {false};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        has[i] = mangled_take(m, words[i][0][0]);
    mangled_type(m);
    for (size_t i = COUNT_OF(words); i-- > 0;)
        if (has[i])
            mangled_put(m, words[i][1]);
}

static void read_indirect(struct mangled *m)
{
    const char c = *m->p++;
    mangled_type(m);
    put_declarator(m, c == 'P' ? "*" : c == 'R' ? "&" : "&&");
}

static void read_parameter(struct mangled *m)
{
    m->p++;
    (void)mangled_sequence(m);
    mangled_put(m, "T");
}

static void read_vendor(struct mangled *m)
{
    m->p++;
    mangled_source_name(m);
}

/* Kinds that can be referred to as a whole, by how they begin. */
static const struct {
    char first;
    void (*read)(struct mangled *m);
} kinds[] = {
    {'r', read_qualified},     {'V', read_qualified},  {'K', read_qualified},
    {'P', read_indirect},      {'R', read_indirect},   {'O', read_indirect},
    {'F', read_function_type}, {'A', read_array_type}, {'M', read_member_type},
    {'T', read_parameter},     {'Z', mangled_local},   {'u', read_vendor},
};

/* False: it cannot be referred to, or was remembered already. */
static bool read_type_of(struct mangled *m)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (*m->p == kinds[i].first) {
            kinds[i].read(m);
            return true;
        }
    if (*m->p == 'D')
        return read_d_type(m);
    if (builtin(*m->p))
        mangled_put(m, builtin(*m->p++));
    else if (*m->p == 'N')
        mangled_nested(m, true);
    else if (isdigit((unsigned char)*m->p) || *m->p == 'S')
        mangled_unscoped(m, true);
    else
        m->bad = true;
    return false;
}

void mangled_type(struct mangled *m)
{
    const size_t from = m->len;
    if (++m->depth > DEPTH_MOST)
        m->bad = true;
    if (m->bad)
        return;
    m->declarator = 0;
    if (read_type_of(m)) {
        const size_t declarator = m->declarator;
        mangled_remember(m, from);
        m->declarator = declarator;
    }
    m->depth--;
}

/* Types up to the end of a list, not shown. */
void mangled_skip_types(struct mangled *m)
{
    const size_t len = m->len;
    while (!m->bad && *m->p != 'E')
        mangled_type(m);
    mangled_need(m, 'E');
    m->len = len;
}

/* ---- template arguments ---- */

static void put_value(struct mangled *m, char type)
{
    const bool minus = mangled_take(m, 'n');
    const char *digits = m->p;
    while (isalnum((unsigned char)*m->p) && *m->p != 'E')
        m->p++;
    const size_t n = (size_t)(m->p - digits);
    if (type == 'b' && n == 1) {
        mangled_put(m, *digits == '0' ? "false" : "true");
        return;
    }
    mangled_put(m, minus ? "-" : "");
    mangled_put_n(m, digits, n);
    mangled_put(m, type == 'j'   ? "u"
                   : type == 'l' ? "l"
                   : type == 'm' ? "ul"
                   : type == 'x' ? "ll"
                   : type == 'y' ? "ull"
                                 : "");
}

/* L<type><value>E, or L_Z<function>E */
static void read_literal(struct mangled *m)
{
    m->p++;
    if (strncmp(m->p, "_Z", 2) == 0) {
        m->p += 2;
        mangled_name(m);
        mangled_skip_types(m);
        return;
    }
    const char type = *m->p;
    if (type && strchr("bijlmxy", type)) {
        m->p++;
    } else {
        mangled_put(m, "(");
        mangled_type(m);
        mangled_put(m, ")");
    }
    put_value(m, type);
    mangled_need(m, 'E');
}

static void read_template_arg(struct mangled *m)
{
    if (strncmp(m->p, "XadL_Z", 6) == 0) {
        m->p += 3;
        mangled_put(m, "&");
        read_literal(m);
        mangled_need(m, 'E');
    } else if (*m->p == 'L') {
        read_literal(m);
    } else {
        mangled_type(m);
    }
}

/* Packs, J...E, are part of the list around them. */
void mangled_template_args(struct mangled *m)
{
    unsigned packs = 0;
    bool first = true;
    m->p++;
    mangled_put(m, "<");
    for (; !m->bad && (*m->p != 'E' || packs);) {
        if (mangled_take(m, 'J')) {
            packs++;
        } else if (mangled_take(m, 'E')) {
            packs--;
        } else {
            mangled_put(m, first ? "" : ", ");
            read_template_arg(m);
            first = false;
        }
    }
    mangled_need(m, 'E');
    mangled_put(m, ">");
}
