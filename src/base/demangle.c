/* SPDX-License-Identifier: Apache-2.0 */
/* demangle.c - see demangle.h. libiberty decodes mangled names; the rest shortens the text of a
 * signature. One pass over the text for each level of detail; no recursion, so a name of any depth
 * is safe. */
#include "base/demangle.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdbool.h>
#include <string.h>
#ifdef FP_HAVE_IBERTY
#include <demangle.h>
#endif

#include "base/text.h"

enum { DETAIL_MOST = 2, PLAIN_MOST = 16384, UNWRAP_MOST = 16, LAST = 1000 };
enum { SHOWN_MOST = 2 }; /* template arguments of a carrier that are shown */

/* A part of a name: of a signature, its last name and its template arguments. */
struct name_part {
    const char *begin, *end;
};

/* Names that demangle_carriers.def describes. */
enum known_kind { KNOWN_CARRIER, KNOWN_WRAPPER, KNOWN_PLUMBING };

static const struct known_name {
    const char *name;
    enum known_kind kind;
    size_t arg; /* of a wrapper */
} known_names[] = {
#define CARRIER(name)    {name, KNOWN_CARRIER, 0},
#define WRAPPER(name, n) {name, KNOWN_WRAPPER, n},
#define PLUMBING(name)   {name, KNOWN_PLUMBING, 0},
#include "base/demangle_carriers.def"
#undef CARRIER
#undef WRAPPER
#undef PLUMBING
    {0},
};

static bool demangle_is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static bool demangle_is_arrow(const char *begin, const char *at)
{
    return *at == '>' && at > begin && at[-1] == '-';
}

/* +1, -1 or 0: the change of bracket depth at this character. */
static int bracket_turn(const char *begin, const char *at)
{
    if (strchr("<({[", *at))
        return 1;
    return strchr(">)}]", *at) && !demangle_is_arrow(begin, at) ? -1 : 0;
}

/* The bracket that closes the one at `at`; NULL: there is none. */
static const char *closing(const char *begin, const char *at)
{
    int depth = 0;
    for (; *at; at++) {
        depth += bracket_turn(begin, at);
        if (depth == 0)
            return at;
    }
    return NULL;
}

/* ---- mangled names ---- */

#ifdef FP_HAVE_IBERTY
/* Names come from foreign files. libiberty's tables are arrays on the stack, 80 bytes per character
 * and 16 per pair of a reference and a template, and it recurses. With these limits it used at most
 * 0.9 MB in measurements; the callers' threads have 8 MB. */
enum { MANGLED_MOST = 4096, PAIRS_MOST = 16384 };

struct demangle_out {
    char *to;
    size_t len, room;
    jmp_buf full;
};

/* A name of 300 characters can expand to gigabytes of text, and the callback has no way to stop
 * libiberty except a jump. It is safe: cplus_demangle_v3_callback allocates no memory. */
static void demangle_put(const char *text, size_t n, void *to)
{
    struct demangle_out *o = to;
    if (n >= o->room - o->len)
        longjmp(o->full, 1);
    memcpy(o->to + o->len, text, n);
    o->len += n;
}

static bool demangle_within_limits(const char *name)
{
    size_t len = 0, references = 0, templates = 0;
    for (; name[len] && len <= MANGLED_MOST; len++) {
        references += name[len] == 'R' || name[len] == 'O';
        templates += name[len] == 'I';
    }
    return len <= MANGLED_MOST && references * templates <= PAIRS_MOST;
}

/* "at::native::kernel<4, float>" of "_ZN2at6native6kernelILi4EfEEvT0_": without return type and
 * parameters. False: it is not a mangled name, or exceeds a limit.
 * __cxa_demangle of the C++ library refuses names of more than 1024 characters, which are those
 * that PyTorch's profiler leaves mangled. */
static bool demangle_full(const char *name, char *to, size_t room)
{
    const int options = DMGL_ANSI | DMGL_NO_RECURSE_LIMIT;
    struct demangle_out o = {.to = to, .room = room};
    if (!text_starts(name, "_Z") || !demangle_within_limits(name) || setjmp(o.full))
        return false;
    if (!cplus_demangle_v3_callback(name, options, demangle_put, &o))
        return false;
    to[o.len] = '\0';
    return true;
}
#else
static bool demangle_full(const char *name, char *to, size_t room)
{
    (void)name;
    (void)to;
    (void)room;
    return false;
}
#endif

/* The last of consecutive names: 2at6native6kernelI... is kernel. */
static bool mangled_part(const char *s, struct name_part *out)
{
    bool found = false;
    s += 2;
    if (*s == 'N')
        s++;
    while (*s && strchr("KVrL", *s))
        s++;
    while (isdigit((unsigned char)*s)) {
        size_t len = 0;
        for (; isdigit((unsigned char)*s) && len < 100000; s++)
            len = 10 * len + (size_t)(*s - '0');
        if (len == 0 || strnlen(s, len) < len)
            return false;
        *out = (struct name_part){s, s + len};
        found = true;
        s += len;
    }
    return found;
}

/* ---- signatures ---- */

/* Begin of the last name of a scope: after "::", after a return type; *scope: of the outermost
 * scope. False: not C++. */
static bool signature_part(const char *s, struct name_part *out, const char **scope)
{
    out->begin = *scope = s;
    for (const char *at = s; *at; at++) {
        if (at[0] == ':' && at[1] == ':') {
            out->begin = at + 2;
            at++;
        } else if (*at == ' ') {
            out->begin = *scope = at + 1;
        } else if (bracket_turn(s, at) < 0) {
            return false;
        } else if (bracket_turn(s, at) > 0) {
            const char *close = closing(s, at);
            const bool nameless = text_starts(at, "(anonymous namespace)::");
            if (!close || (*at == '(' && at > s && at[-1] == ' ' && !nameless))
                return false;
            /* Brackets before "::" are a scope; others of this kind contain the parameters. */
            if (*at == '(' && strncmp(close + 1, "::", 2) != 0) {
                out->end = at;
                return at > out->begin;
            }
            at = close;
        }
    }
    out->end = s + strlen(s);
    return out->end > out->begin && out->begin[0] != ' ';
}

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

/* The entry of this kind with the part's name; NULL: there is none. */
static const struct known_name *demangle_find_known(enum known_kind kind, struct name_part p)
{
    const struct name_part name = bare_name(p);
    for (const struct known_name *k = known_names; k->name; k++)
        if (k->kind == kind && part_is(name, k->name))
            return k;
    return NULL;
}

/* ---- template arguments ---- */

/* Without spaces around it; the address of a function, &(f), becomes its name. */
static struct name_part demangle_trimmed(struct name_part p)
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
    *out = demangle_trimmed((struct name_part){list->begin, comma});
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

/* ---- functors ----
 *
 * unrolled_elementwise_kernel is a hundred kernels. Template arguments distinguish them, among
 * sizes, offset calculators and wrappers, and as the number of a lambda within a function:
 *
 *     at::native::gpu_kernel_impl<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)
 *         ::{lambda()#2}::operator()() const::{lambda(float)#1}>(at::TensorIteratorBase&, ...)
 *         ::{lambda(int)#1}
 *
 * Wrappers are removed, and a lambda is named by its function. */

static bool demangle_is_nameless(struct name_part p)
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
        if (demangle_is_nameless(one) && best.begin < one.begin)
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
        const struct known_name *wrapper = demangle_find_known(KNOWN_WRAPPER, name);
        if (!wrapper || !nth_arg(name, wrapper->arg, &p))
            return name;
    }
    return enclosing(p);
}

/* Whether it distinguishes kernels for a reader: no number, no plain type, no plumbing. */
static bool is_distinctive(struct name_part p)
{
    const struct name_part name = bare_name(p);
    size_t words = 0;
    for (const char *at = name.begin; at < name.end; at++)
        words += *at == '_' || isupper((unsigned char)*at);
    return !demangle_find_known(KNOWN_PLUMBING, p) && name.begin < name.end &&
           !isdigit((unsigned char)*name.begin) && *name.begin != '-' &&
           (words > 0 || name.end < p.end);
}

/* The functors that a carrier has as template arguments, at most SHOWN_MOST. 0: the name is not a
 * carrier, or has no functor. */
static size_t carried_parts(const struct name_part *kernel, struct name_part shown[SHOWN_MOST])
{
    struct name_part list, arg;
    size_t n = 0;
    if (!demangle_find_known(KNOWN_CARRIER, *kernel) || !inside_of(*kernel, &list))
        return 0;
    while (n < SHOWN_MOST && next_arg(&list, &arg)) {
        const struct name_part f = functor_of(arg);
        if (is_distinctive(f))
            shown[n++] = f;
    }
    return n;
}

/* ---- compiled graphs ---- */

/* The name of the graph in "## Call CompiledFxGraph fbby3g... ##"; other names are unchanged. */
static struct name_part compiled_graph(const struct name_part *name)
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

/* ---- short names ---- */

/* Bytes that never go beyond the room; `len` counts all. */
struct demangle_text {
    char *p;
    size_t room, len;
    size_t word[DETAIL_MOST + 2]; /* by depth: where the name that may turn out a scope begins */
};

static void put(struct demangle_text *t, char c)
{
    if (t->len + 1 < t->room)
        t->p[t->len] = c;
    t->len++;
}

static void demangle_put_all(struct demangle_text *t, struct name_part p)
{
    for (const char *at = p.begin; at < p.end; at++)
        put(t, *at);
}

/* The part with template arguments up to `detail` levels, each without its namespaces. */
static void demangle_put_part(struct demangle_text *t, const struct name_part *p, int detail)
{
    int depth = 0;
    t->word[0] = t->len;
    for (const char *at = p->begin; at < p->end; at++) {
        const int by = bracket_turn(p->begin, at);
        const bool shown = depth + (by > 0) <= detail && depth >= 0;
        if (shown && at[0] == ':' && at + 1 < p->end && at[1] == ':') {
            t->len = t->word[depth];
            at++;
        } else if (shown) {
            if (*at == '>' && t->len && t->len < t->room && t->p[t->len - 1] == ' ')
                t->len--; /* "> >" was for compilers of old */
            put(t, *at);
        }
        depth += by;
        /* A closed bracket belongs to the name before it, everything else ends a name. */
        if (shown && (by > 0 || (by == 0 && !demangle_is_word(*at) && *at != ':')))
            t->word[depth] = t->len;
    }
}

/* The part; of a kernel that only carries others, its name and those in place of its arguments. */
static void demangle_put_parts(struct demangle_text *t, const struct name_part *p,
                               const struct name_part *shown, size_t n, int detail)
{
    t->len = 0;
    if (n == 0) {
        demangle_put_part(t, p, detail);
        return;
    }
    const char *open = memchr(p->begin, '<', (size_t)(p->end - p->begin));
    demangle_put_all(t, (struct name_part){p->begin, open});
    for (size_t i = 0; i < n; i++) {
        put(t, i ? ',' : '<');
        if (i)
            put(t, ' ');
        demangle_put_part(t, &shown[i], detail > 0 ? detail - 1 : 0);
    }
    put(t, '>');
}

static void demangle_put_end(struct demangle_text *t)
{
    if (t->len < t->room) {
        t->p[t->len] = '\0';
        return;
    }
    size_t cut = t->room - 4;
    while (cut > 0 && ((unsigned char)t->p[cut] & 0xC0) == 0x80)
        cut--; /* not within a character */
    memcpy(t->p + cut, "...", 4);
    t->len = cut + 3;
}

size_t name_shorten(const char *full, char *to, size_t room)
{
    struct demangle_text t = {.p = to, .room = room};
    char plain[PLAIN_MOST];
    if (demangle_full(full, plain, sizeof plain))
        full = plain;
    const struct name_part whole = {full, full + strlen(full)};
    struct name_part part, shown[SHOWN_MOST];
    const char *scope;
    const bool mangled = text_starts(full, "_Z"); /* still */
    const bool graph = compiled_graph(&whole).begin != full;
    if (graph || (mangled ? !mangled_part(full, &part) : !signature_part(full, &part, &scope))) {
        demangle_put_all(&t, compiled_graph(&whole));
    } else {
        const size_t n = carried_parts(&part, shown);
        int detail = DETAIL_MOST;
        do
            demangle_put_parts(&t, &part, shown, n, detail);
        while (detail-- > 0 && t.len > SHORT_NAME_AIM);
    }
    demangle_put_end(&t);
    return t.len;
}

bool name_shorten_graph(const char *full, char *to, size_t room)
{
    const struct name_part whole = {full, full + strlen(full)};
    if (compiled_graph(&whole).begin == full)
        return false;
    name_shorten(full, to, room);
    return true;
}

void name_without_parameters(const char *full, char *to, size_t room)
{
    char plain[PLAIN_MOST];
    struct demangle_text t = {.p = to, .room = room};
    struct name_part part;
    const char *scope;
    if (demangle_full(full, plain, sizeof plain))
        full = plain;
    const bool cpp =
        full != plain && !text_starts(full, "_Z") && signature_part(full, &part, &scope);
    demangle_put_all(&t, cpp ? (struct name_part){scope, part.end}
                             : (struct name_part){full, full + strlen(full)});
    demangle_put_end(&t);
}
