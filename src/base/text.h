/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - how texts begin and end, and in which order they come. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <string.h>

static inline bool text_starts(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static inline bool text_ends(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* As strcmp, but digits compare by their value: cpu2 before cpu10. */
int name_compare(const char *a, const char *b);

#endif
