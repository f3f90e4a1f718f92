/* SPDX-License-Identifier: Apache-2.0 */
/* query_stdin.c - replaces libc's stdin, by --wrap=stdin.
 *
 * A static libjansson that was built for programs refers to it in a way that no module may. Only
 * json_loadf does so, which is never called. */
#include <stdio.h>

extern FILE *__wrap_stdin;
FILE *__wrap_stdin;
