/* SPDX-License-Identifier: Apache-2.0 */
/* demangle_functor.c - the functor that tells kernels of one template apart.
 *
 * unrolled_elementwise_kernel is a hundred kernels; which one it is stands in its template
 * arguments, among sizes, offset calculators and wrappers, and as the number of a lambda within a
 * function:
 *
 *     at::native::gpu_kernel_impl<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)
 *         ::{lambda()#2}::operator()() const::{lambda(float)#1}>(at::TensorIteratorBase&, ...)
 *         ::{lambda(int)#1}
 *
 * Wrappers are taken off, and of what is within a function the function is named. */
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/demangle_internal.h"
#include "base/mem.h"

enum { UNWRAP_MOST = 16, LAST = 1000 };

static const char *const carriers[] = {
#define CARRIER(name) name,
#define WRAPPER(name, n)
#define PLUMBING(name)
#include "base/demangle_carriers.def"
#undef CARRIER
#undef WRAPPER
#undef PLUMBING
};

static const struct {
    const char *name;
    size_t arg;
} wrappers[] = {
#define CARRIER(name)
#define WRAPPER(name, n) {name, n},
#define PLUMBING(name)
#include "base/demangle_carriers.def"
#undef CARRIER
#undef WRAPPER
#undef PLUMBING
};

static const char *const plumbing[] = {
#define CARRIER(name)
#define WRAPPER(name, n)
#define PLUMBING(name) name,
#include "base/demangle_carriers.def"
#undef CARRIER
#undef WRAPPER
#undef PLUMBING
};

static bool part_is(struct name_part p, const char *text)
{
    const size_t n = strlen(text);
    return (size_t)(p.end - p.begin) == n && memcmp(p.begin, text, n) == 0;
}

static bool part_starts(struct name_part p, const char *text)
{
    const size_t n = strlen(text);
    return (size_t)(p.end - p.begin) >= n && memcmp(p.begin, text, n) == 0;
}

/* The first of these characters outside of brackets; else the end. */
static const char *find_outside(struct name_part p, const char *chars)
{
    int depth = 0;
    for (const char *at = p.begin; at < p.end; at++) {
        if (depth == 0 && strchr(chars, *at))
            return at;
        depth += bracket_turn(p.begin, at);
    }
    return p.end;
}

/* The name before its template arguments and parameters. */
static struct name_part bare_name(struct name_part p)
{
    p.end = find_outside(p, "<(");
    return p;
}

/* ---- template arguments ---- */

/* Without spaces around it; the address of a function, &(f), becomes its name. */
static struct name_part trimmed(struct name_part p)
{
    while (p.begin < p.end && *p.begin == ' ')
        p.begin++;
    while (p.begin < p.end && p.end[-1] == ' ')
        p.end--;
    if (part_starts(p, "&"))
        p.begin++;
    if (p.begin[-1] == '&' && part_starts(p, "(") && p.end[-1] == ')') {
        p.begin++;
        p.end--;
    }
    return p;
}

/* What is between < and > of the name. False: it has no arguments. */
static bool inside_of(struct name_part p, struct name_part *out)
{
    int depth = 0;
    const char *open = find_outside(p, "<");
    if (open == p.end)
        return false;
    for (const char *at = open; at < p.end; at++) {
        depth += bracket_turn(p.begin, at);
        if (depth == 0) {
            *out = (struct name_part){open + 1, at};
            return true;
        }
    }
    return false;
}

/* Takes the first argument off the list. False: there is none. */
static bool next_arg(struct name_part *list, struct name_part *out)
{
    if (list->begin >= list->end)
        return false;
    const char *comma = find_outside(*list, ",");
    *out = trimmed((struct name_part){list->begin, comma});
    list->begin = comma < list->end ? comma + 1 : list->end;
    return true;
}

static bool nth_arg(struct name_part p, size_t n, struct name_part *out)
{
    struct name_part list;
    if (!inside_of(p, &list))
        return false;
    for (size_t i = 0; next_arg(&list, out); i++)
        if (i == n || (n == LAST && list.begin == list.end))
            return true;
    return false;
}

/* ---- what an argument stands for ---- */

static bool is_nameless(struct name_part p)
{
    return part_starts(p, "{") || part_starts(p, "operator") || part_starts(p, "'");
}

static bool is_function(struct name_part p)
{
    const char *at = find_outside(p, "(");
    return at < p.end && at > p.begin;
}

/* Of a name in scopes the function that it is in, without parameters; of others the last part. */
static struct name_part enclosing(struct name_part p)
{
    struct name_part best = p;
    while (p.begin < p.end) {
        struct name_part one = {p.begin, find_outside(p, ":")};
        p.begin = one.end + 2 < p.end ? one.end + 2 : p.end;
        if (is_nameless(one) && best.begin < one.begin)
            return best;
        if (is_function(one)) {
            const char *open = find_outside(one, "(");
            return (struct name_part){one.begin, open};
        }
        best = one;
    }
    return best;
}

static struct name_part functor_of(struct name_part p)
{
    for (int i = 0; i < UNWRAP_MOST; i++) {
        const struct name_part name = enclosing(p);
        size_t w = 0;
        while (w < COUNT_OF(wrappers) && !part_is(bare_name(name), wrappers[w].name))
            w++;
        if (w == COUNT_OF(wrappers) || !nth_arg(name, wrappers[w].arg, &p))
            return name;
    }
    return enclosing(p);
}

/* Whether it tells kernels apart for a person: no number, no plain type, no plumbing. */
static bool is_telling(struct name_part p)
{
    const struct name_part name = bare_name(p);
    size_t words = 0;
    for (const char *at = name.begin; at < name.end; at++)
        words += *at == '_' || isupper((unsigned char)*at);
    for (size_t i = 0; i < COUNT_OF(plumbing); i++)
        if (part_is(name, plumbing[i]))
            return false;
    return name.begin < name.end && !isdigit((unsigned char)*name.begin) && *name.begin != '-' &&
           (words > 0 || bare_name(p).end < p.end);
}

size_t carried_parts(const struct name_part *kernel, struct name_part shown[SHOWN_MOST])
{
    struct name_part list, arg;
    size_t n = 0, c = 0;
    while (c < COUNT_OF(carriers) && !part_is(bare_name(*kernel), carriers[c]))
        c++;
    if (c == COUNT_OF(carriers) || !inside_of(*kernel, &list))
        return 0;
    while (n < SHOWN_MOST && next_arg(&list, &arg)) {
        const struct name_part f = functor_of(arg);
        if (is_telling(f))
            shown[n++] = f;
    }
    return n;
}

/* ---- compiled graphs ---- */

struct name_part compiled_graph(const struct name_part *name)
{
    static const char before[] = "## Call CompiledFxGraph ";
    enum { ID_MOST = 8 }; /* the whole one is a hash of more than 40 characters */
    if (!part_starts(*name, before))
        return *name;
    struct name_part out = {name->begin + sizeof "## Call " - 1, name->begin + sizeof before - 1};
    while (out.end < name->end && *out.end != ' ' &&
           out.end < name->begin + sizeof before - 1 + ID_MOST)
        out.end++;
    return out;
}
