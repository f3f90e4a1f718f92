/* SPDX-License-Identifier: Apache-2.0 */
/* demangle.c - see demangle.h. One pass over the text for each level of detail tried; no
 * recursion, so a name of any depth is safe. */
#include "base/demangle.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/demangle_internal.h"
#include "base/text.h"

enum { DETAIL_MOST = 2, PLAIN_MOST = 16384 };

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static bool is_arrow(const char *begin, const char *at)
{
    return *at == '>' && at > begin && at[-1] == '-';
}

int bracket_turn(const char *begin, const char *at)
{
    if (strchr("<({[", *at))
        return 1;
    return strchr(">)}]", *at) && !is_arrow(begin, at) ? -1 : 0;
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

/* The last of the names that stand one behind the other: 2at6native6kernelI... is kernel. */
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

/* Begin of the last name of a scope: behind "::", behind a return type; *scope: of the outermost
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
            /* Brackets before "::" are a scope; others of this kind hold the parameters. */
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

/* Bytes that never go beyond the room; `len` counts all. */
struct text {
    char *p;
    size_t room, len;
    size_t word[DETAIL_MOST + 2]; /* by depth: where the name that may turn out a scope begins */
};

static void put(struct text *t, char c)
{
    if (t->len + 1 < t->room)
        t->p[t->len] = c;
    t->len++;
}

static void put_all(struct text *t, struct name_part p)
{
    for (const char *at = p.begin; at < p.end; at++)
        put(t, *at);
}

/* The part with template arguments up to `detail` levels, each without its namespaces. */
static void put_part(struct text *t, const struct name_part *p, int detail)
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
        if (shown && (by > 0 || (by == 0 && !is_word(*at) && *at != ':')))
            t->word[depth] = t->len;
    }
}

/* The part; of a kernel that only carries others, its name and those in place of its arguments. */
static void put_parts(struct text *t, const struct name_part *p, const struct name_part *shown,
                      size_t n, int detail)
{
    t->len = 0;
    if (n == 0) {
        put_part(t, p, detail);
        return;
    }
    const char *open = memchr(p->begin, '<', (size_t)(p->end - p->begin));
    put_all(t, (struct name_part){p->begin, open});
    for (size_t i = 0; i < n; i++) {
        put(t, i ? ',' : '<');
        if (i)
            put(t, ' ');
        put_part(t, &shown[i], detail > 0 ? detail - 1 : 0);
    }
    put(t, '>');
}

static void put_end(struct text *t)
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
    struct text t = {.p = to, .room = room};
    char plain[PLAIN_MOST];
    if (name_demangle(full, plain, sizeof plain))
        full = plain;
    const struct name_part whole = {full, full + strlen(full)};
    struct name_part part, shown[SHOWN_MOST];
    const char *scope;
    const bool mangled = text_starts(full, "_Z"); /* still */
    const bool graph = compiled_graph(&whole).begin != full;
    if (graph || (mangled ? !mangled_part(full, &part) : !signature_part(full, &part, &scope))) {
        put_all(&t, compiled_graph(&whole));
    } else {
        const size_t n = carried_parts(&part, shown);
        int detail = DETAIL_MOST;
        do
            put_parts(&t, &part, shown, n, detail);
        while (detail-- > 0 && t.len > SHORT_NAME_AIM);
    }
    put_end(&t);
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
    struct text t = {.p = to, .room = room};
    struct name_part part;
    const char *scope;
    if (name_demangle(full, plain, sizeof plain))
        full = plain;
    const bool cpp =
        full != plain && !text_starts(full, "_Z") && signature_part(full, &part, &scope);
    put_all(&t, cpp ? (struct name_part){scope, part.end}
                    : (struct name_part){full, full + strlen(full)});
    put_end(&t);
}
