/* SPDX-License-Identifier: Apache-2.0 */
/* names.c - see names.h. */
#include "query/names.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

void session_file(char *out, size_t size, const char *stem, unsigned session, const char *end)
{
    if (session <= 1)
        snprintf(out, size, "%s.%s", stem, end);
    else
        snprintf(out, size, "%s-%u.%s", stem, session, end);
}

static int compare_numbers(const char **a, const char **b)
{
    while (**a == '0')
        ++*a;
    while (**b == '0')
        ++*b;
    const size_t n = strspn(*a, "0123456789"), m = strspn(*b, "0123456789");
    const int c = n != m ? (n > m) - (n < m) : strncmp(*a, *b, n);
    *a += n;
    *b += m;
    return c;
}

int name_compare(const char *a, const char *b)
{
    const char *x = a, *y = b;
    while (*x && *y) {
        if (isdigit((unsigned char)*x) && isdigit((unsigned char)*y)) {
            const int c = compare_numbers(&x, &y);
            if (c)
                return c;
        } else if (*x != *y) {
            return (unsigned char)*x - (unsigned char)*y;
        } else {
            x++;
            y++;
        }
    }
    /* "cpu01" and "cpu1" are not the same name. */
    return *x || *y ? (unsigned char)*x - (unsigned char)*y : strcmp(a, b);
}
