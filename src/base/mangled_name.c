/* SPDX-License-Identifier: Apache-2.0 */
/* mangled_name.c - see mangled.h.
 *
 *     _ZN2at6native6kernelILi4EfEEvT0_
 *       N 2at 6native 6kernel I Li4E f E E   at::native::kernel<4, float>
 *       v T0_                                return type and parameters: not needed
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/mangled.h"
#include "base/mem.h"

void mangled_source_name(struct mangled *m)
{
    static const char nameless[] = "_GLOBAL__N";
    const size_t n = mangled_number(m);
    if (m->bad || n == 0 || strnlen(m->p, n) < n) {
        m->bad = true;
        return;
    }
    if (n >= sizeof nameless - 1 && strncmp(m->p, nameless, sizeof nameless - 1) == 0)
        mangled_put(m, "(anonymous namespace)");
    else
        mangled_put_n(m, m->p, n);
    m->p += n;
}

static void read_operator(struct mangled *m)
{
    static const char *const operators[][2] = {
        {"pl", "+"},    {"mi", "-"},       {"ml", "*"},      {"dv", "/"},         {"rm", "%"},
        {"an", "&"},    {"or", "|"},       {"eo", "^"},      {"aS", "="},         {"pL", "+="},
        {"mI", "-="},   {"mL", "*="},      {"dV", "/="},     {"eq", "=="},        {"ne", "!="},
        {"lt", "<"},    {"gt", ">"},       {"le", "<="},     {"ge", ">="},        {"nt", "!"},
        {"aa", "&&"},   {"oo", "||"},      {"pp", "++"},     {"mm", "--"},        {"cl", "()"},
        {"ix", "[]"},   {"pt", "->"},      {"ls", "<<"},     {"rs", ">>"},        {"co", "~"},
        {"nw", " new"}, {"dl", " delete"}, {"na", " new[]"}, {"da", " delete[]"},
    };
    for (size_t i = 0; i < COUNT_OF(operators); i++)
        if (strncmp(m->p, operators[i][0], 2) == 0) {
            m->p += 2;
            mangled_put(m, "operator");
            mangled_put(m, operators[i][1]);
            return;
        }
    m->bad = true;
}

/* Ul<types>E<n>_ and Ut<n>_ */
static void read_unnamed(struct mangled *m)
{
    char number[32];
    const bool lambda = m->p[1] == 'l';
    m->bad = m->bad || (!lambda && m->p[1] != 't');
    if (m->bad)
        return;
    m->p += 2;
    if (lambda)
        mangled_skip_types(m);
    snprintf(number, sizeof number, "%zu", mangled_sequence(m) + 1);
    mangled_put(m, lambda ? "{lambda#" : "{unnamed#");
    mangled_put(m, number);
    mangled_put(m, "}");
}

static void read_unqualified(struct mangled *m)
{
    while (mangled_take(m, 'L'))
        ;
    if (*m->p == 'U')
        read_unnamed(m);
    else if (islower((unsigned char)*m->p))
        read_operator(m);
    else
        mangled_source_name(m);
    const size_t len = m->len;
    while (!m->bad && mangled_take(m, 'B')) { /* tags of the ABI */
        mangled_source_name(m);
        m->len = len;
    }
}

/* S_ and the like, but for St. */
static void read_substitution(struct mangled *m)
{
    static const char *const words[][2] = {
        {"a", "std::allocator"}, {"b", "std::basic_string"}, {"s", "std::string"},
        {"i", "std::istream"},   {"o", "std::ostream"},      {"d", "std::iostream"},
    };
    m->p++;
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (*m->p == words[i][0][0]) {
            m->p++;
            mangled_put(m, words[i][1]);
            return;
        }
    const size_t n = mangled_sequence(m);
    if (m->bad || n >= m->n_subs)
        m->bad = true;
    else
        mangled_put_n(m, m->pool + m->subs[n].at, m->subs[n].len);
}

/* One part of N...E. False: it stands for something that is known already. */
static bool read_part(struct mangled *m, bool first)
{
    if (*m->p == 'S' && m->p[1] == 't') {
        m->p += 2;
        mangled_put(m, "std");
        return false;
    }
    if (*m->p == 'S') {
        read_substitution(m);
        return false;
    }
    if (*m->p == 'I') {
        mangled_template_args(m);
    } else if (mangled_take(m, 'T')) {
        (void)mangled_sequence(m);
        mangled_put(m, "T");
    } else {
        mangled_put(m, first ? "" : "::");
        read_unqualified(m);
    }
    return true;
}

/* N...E. The whole can be referred to when it is a type. */
void mangled_nested(struct mangled *m, bool type)
{
    const size_t from = m->len;
    bool first = true;
    m->p++;
    while (*m->p && strchr("rVKRO", *m->p))
        m->p++;
    while (!m->bad && *m->p != 'E') {
        const bool fresh = read_part(m, first);
        first = false;
        if (fresh && (*m->p != 'E' || type))
            mangled_remember(m, from);
    }
    mangled_need(m, 'E');
}

/* Z<function>E<name>: what is inside of a function. */
void mangled_local(struct mangled *m)
{
    m->p++;
    mangled_name(m);
    mangled_skip_types(m);
    mangled_put(m, "::");
    if (mangled_take(m, 's'))
        mangled_put(m, "{string}");
    else if (*m->p == 'N')
        mangled_nested(m, true);
    else
        read_unqualified(m);
    if (mangled_take(m, '_')) { /* which of several */
        while (*m->p == '_' || isdigit((unsigned char)*m->p))
            m->p++;
    }
}

/* A name that is not nested, and its template arguments. */
void mangled_unscoped(struct mangled *m, bool type)
{
    const size_t from = m->len;
    bool known = false;
    if (*m->p == 'S' && m->p[1] != 't') {
        read_substitution(m);
        known = true;
    } else {
        if (*m->p == 'S') {
            m->p += 2;
            mangled_put(m, "std::");
        }
        read_unqualified(m);
    }
    const bool template = *m->p == 'I';
    if (!known && (type || template))
        mangled_remember(m, from);
    if (!template)
        return;
    mangled_template_args(m);
    if (type)
        mangled_remember(m, from);
}

void mangled_name(struct mangled *m)
{
    if (++m->depth > DEPTH_MOST)
        m->bad = true;
    if (m->bad)
        return;
    if (*m->p == 'N')
        mangled_nested(m, false);
    else if (*m->p == 'Z')
        mangled_local(m);
    else
        mangled_unscoped(m, false);
    m->depth--;
}
