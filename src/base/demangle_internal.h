/* SPDX-License-Identifier: Apache-2.0 */
/* demangle_internal.h - between demangle.c and demangle_functor.c. */
#ifndef BASE_DEMANGLE_INTERNAL_H
#define BASE_DEMANGLE_INTERNAL_H

#include <stddef.h>

/* A part of a name: of a signature, its last name and its template arguments. */
struct name_part {
    const char *begin, *end;
};

enum { SHOWN_MOST = 2 }; /* template arguments of a carrier that are shown */

/* +1, -1 or 0: what the character does to the depth of brackets. */
int bracket_turn(const char *begin, const char *at);

/* What a carrier carries: at most SHOWN_MOST functors. 0: it is none, or has none. */
size_t carried_parts(const struct name_part *kernel, struct name_part shown[SHOWN_MOST]);

/* Of "## Call CompiledFxGraph fbby3g... ##" what names the graph; other names are left alone. */
struct name_part compiled_graph(const struct name_part *name);

#endif
