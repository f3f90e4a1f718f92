/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - see text.h. */
#include "base/text.h"

#include <ctype.h>

static int text_compare_numbers(const char **a, const char **b)
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
            const int c = text_compare_numbers(&x, &y);
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
