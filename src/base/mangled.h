/* SPDX-License-Identifier: Apache-2.0 */
/* mangled.h - between the files that decode mangled names of C++ (demangle.h): texts and numbers
 * (mangled_text.c), names (mangled_name.c), types and template arguments (mangled_type.c).
 *
 * Each reads what stands at `p` and writes it behind `out`; once `bad`, nothing more is written and
 * nobody loops. */
#ifndef BASE_MANGLED_H
#define BASE_MANGLED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DEPTH_MOST = 64, SUBS_MOST = 256, POOL = 16 << 10, CLASS_MOST = 512 };

struct mangled {
    const char *p;
    char *out;
    size_t len, room;
    bool bad;
    unsigned depth;
    /* Where "*" goes when the type of a function or array was just written; 0: behind it all. */
    size_t declarator;
    /* What may be referred to again, in the order in which it was written. */
    struct {
        uint32_t at, len;
    } subs[SUBS_MOST];
    uint32_t n_subs;
    size_t pool_len;
    char pool[POOL];
};

/* ---- texts and numbers ---- */

void mangled_put_n(struct mangled *m, const char *s, size_t n);
void mangled_put(struct mangled *m, const char *s);
/* Passes over the character when it is the next one. */
bool mangled_take(struct mangled *m, char c);
/* The same; without it the name is bad. */
void mangled_need(struct mangled *m, char c);
/* What was written from there on can be referred to. */
void mangled_remember(struct mangled *m, size_t from);
size_t mangled_number(struct mangled *m);
/* "_" is 0, "0_" 1, "Z_" 36: of the forms S_, T_ and the numbers of lambdas. */
size_t mangled_sequence(struct mangled *m);

/* ---- names ---- */

/* What stands behind _Z: a function's name and its template arguments. */
void mangled_name(struct mangled *m);
void mangled_source_name(struct mangled *m);
/* N...E. The whole can be referred to when it is a type. */
void mangled_nested(struct mangled *m, bool type);
/* Z<function>E<name>: what is inside of a function. */
void mangled_local(struct mangled *m);
/* A name that is not nested, and its template arguments. */
void mangled_unscoped(struct mangled *m, bool type);

/* ---- types ---- */

void mangled_type(struct mangled *m);
/* Types up to the end of a list, not shown. */
void mangled_skip_types(struct mangled *m);
/* I...E */
void mangled_template_args(struct mangled *m);

#endif
