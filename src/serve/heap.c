/* SPDX-License-Identifier: Apache-2.0 */
/* heap.c - see heap.h. */
#include "serve/heap.h"

#include <malloc.h>

/* The address sanitizer has a heap of its own. glibc's is then not set up, and malloc_trim in two
 * threads at once would set it up twice. */
#if defined(__SANITIZE_ADDRESS__)
#define HEAP_OF_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEAP_OF_SANITIZER 1
#endif
#endif

enum {
    HEAPS = 4,
    LARGE = 256 << 10, /* bytes; a block of its own, given back when it is freed */
    SLACK = 1 << 20,   /* bytes that may stay free at the end of a heap */
};

void heap_set_up(void)
{
    (void)mallopt(M_ARENA_MAX, HEAPS);
    (void)mallopt(M_MMAP_THRESHOLD, LARGE);
    (void)mallopt(M_TRIM_THRESHOLD, SLACK);
}

void heap_give_back(void)
{
#ifndef HEAP_OF_SANITIZER
    (void)malloc_trim(0);
#endif
}
