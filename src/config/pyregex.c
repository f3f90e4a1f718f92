/* SPDX-License-Identifier: Apache-2.0 */
/* pyregex.c - see pyregex.h. */
#include "config/pyregex.h"

#include <stdbool.h>
#include <string.h>

/* The previous element: something to repeat, a repeat, or neither. */
enum before { NOTHING, ATOM, REPEAT };

/* From after the '[' to after the ']'; NULL: it has no end. A ']' that comes first is a letter. */
static const char *skip_class(const char *p)
{
    if (*p == '^')
        p++;
    if (*p == ']')
        p++;
    for (; *p && *p != ']'; p++)
        if (*p == '\\' && *++p == 0)
            return NULL;
    return *p ? p + 1 : NULL;
}

/* The length of "{2}", "{2,}", "{,3}" or "{2,3}"; 0: an ordinary brace. */
static size_t braces(const char *p)
{
    static const char digits[] = "0123456789";
    const size_t lo = strspn(p + 1, digits);
    size_t n = 1 + lo;
    if (p[n] == ',')
        n += 1 + strspn(p + n + 1, digits);
    return p[n] == '}' && n > 1 ? n + 1 : 0;
}

/* After a '(': skips the "?:", "?=", "?P<name>"... that belongs to it. */
static const char *skip_group_kind(const char *p)
{
    if (*p != '?')
        return p;
    p += strcspn(p, ":=!>)");
    return *p && *p != ')' ? p + 1 : p;
}

struct pyregex_scan {
    const char *p;
    size_t open; /* brackets */
    enum before before;
};

/* One letter, class, escape or bracket; what is wrong with it, or NULL. */
static const char *take_atom(struct pyregex_scan *s)
{
    const char c = *s->p++;
    s->before = c == '|' || c == '(' || c == '^' ? NOTHING : ATOM;
    if (c == '\\' && *s->p++ == 0)
        return "backslash at the end";
    if (c == ')' && s->open-- == 0)
        return "closing bracket without an opening one";
    if (c == '(') {
        s->open++;
        s->p = skip_group_kind(s->p);
    }
    if (c == '[' && (s->p = skip_class(s->p)) == NULL)
        return "character class without a closing bracket";
    return NULL;
}

/* A '?' or '+' after a repeat makes it lazy or possessive. */
static const char *take_repeat(struct pyregex_scan *s, size_t len)
{
    if (s->before != ATOM)
        return s->before == REPEAT ? "repeated quantifier" : "nothing to repeat";
    s->before = REPEAT;
    s->p += len;
    s->p += *s->p == '?' || *s->p == '+';
    return NULL;
}

static size_t repeat_at(const char *p)
{
    if (*p == '*' || *p == '+' || *p == '?')
        return 1;
    return *p == '{' ? braces(p) : 0;
}

int pyregex_check(const char *text, struct err *e)
{
    struct pyregex_scan s = {.p = text};
    const char *at = text, *bad = NULL;
    while (!bad && *s.p) {
        at = s.p;
        const size_t repeat = repeat_at(s.p);
        bad = repeat ? take_repeat(&s, repeat) : take_atom(&s);
    }
    if (!bad && s.open)
        bad = "missing closing bracket";
    if (bad)
        return err_set(e, ERR_FORMAT, "%s at character %zu of the regular expression", bad,
                       (size_t)(at - text) + 1);
    return 0;
}
