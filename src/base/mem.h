/* SPDX-License-Identifier: Apache-2.0 */
/* mem.h - allocation that does not fail: out of memory ends the program with one line.
 * Never for code that runs inside a training job. */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>

void *xmalloc(size_t size) __attribute__((malloc, returns_nonnull, alloc_size(1)));
void *xcalloc(size_t n, size_t size) __attribute__((malloc, returns_nonnull, alloc_size(1, 2)));
/* realloc of n elements; checks the multiplication. */
void *xrealloc(void *p, size_t n, size_t size) __attribute__((returns_nonnull, alloc_size(2, 3)));
char *xstrdup(const char *s) __attribute__((malloc, returns_nonnull));

#define COUNT_OF(a)  (sizeof(a) / sizeof((a)[0]))
#define MIN_OF(a, b) ((a) < (b) ? (a) : (b))
#define MAX_OF(a, b) ((a) > (b) ? (a) : (b))
/* For qsort: -1, 0 or 1. Of several keys: COMPARE(x->a, y->a) ?: COMPARE(x->b, y->b). */
#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

#endif
