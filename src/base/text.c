/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - see text.h. */
#include "base/text.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"

static int text_compare_numbers(const char **a, const char **b)
{
    while (**a == '0')
        ++*a;
    while (**b == '0')
        ++*b;
    const size_t n = strspn(*a, "0123456789"), m = strspn(*b, "0123456789");
    const int c = n != m ? COMPARE(n, m) : strncmp(*a, *b, n);
    *a += n;
    *b += m;
    return c;
}

int text_compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
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

size_t utf8_put(char to[UTF8_MOST], uint32_t c)
{
    static const uint8_t leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    const size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n; i-- > 1; c >>= 6)
        to[i] = (char)(0x80 | (c & 0x3f));
    to[0] = (char)(leads[n == 1 ? 0 : n] | c);
    return n;
}

/* ------------------------------------------------------------------------------------------------
 * "Did you mean" */

enum { WORD_MOST = 64 }; /* longer words are never suggestions */

static size_t smallest(size_t a, size_t b, size_t c)
{
    const size_t ab = MIN_OF(a, b);
    return MIN_OF(ab, c);
}

/* Optimal string alignment: inserts, deletes, changes and swaps of neighbours cost one each. */
static size_t distance(const char *a, const char *b)
{
    const size_t na = strlen(a), nb = strlen(b);
    if (na > WORD_MOST || nb > WORD_MOST)
        return SIZE_MAX;
    size_t rows[3][WORD_MOST + 1] = {0};
    for (size_t j = 0; j <= nb; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t *now = rows[i % 3];
        const size_t *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            now[j] = smallest(last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = MIN_OF(now[j], before[j - 2] + 1);
        }
    }
    return rows[na % 3][nb];
}

struct nearest nearest_to(const char *word)
{
    /* One mistake in a short word, one more for every three letters after that. */
    return (struct nearest){.word = word, .distance = 2 + strlen(word) / 3};
}

void nearest_offer(struct nearest *n, const char *candidate)
{
    size_t d = distance(n->word, candidate);
    /* A word that was not typed to its end means the one that it begins. */
    const size_t len = strlen(n->word);
    if (len > 1 && strncmp(n->word, candidate, len) == 0)
        d = MIN_OF(d, 1);
    if (d >= n->distance || d >= strlen(candidate))
        return;
    n->distance = d;
    n->best = candidate;
}
