/* SPDX-License-Identifier: Apache-2.0 */
/* import_lines.c - see import_lines.h. */
#include "import/import_lines.h"

#include <string.h>

/* Moves what is left to the front and reads behind it. */
static int import_lines_fill(struct import_lines *l, struct err *e)
{
    const size_t have = l->end - l->begin;
    memmove(l->buf, l->buf + l->begin, have);
    l->begin = 0;
    l->end = have;
    const int64_t n = l->in->read(l->in, l->buf + have, LINES_READ, e);
    if (n < 0)
        return (int)n;
    l->ended = n == 0;
    l->end += (size_t)n;
    l->bytes += (uint64_t)n;
    return 0;
}

int import_lines_next(struct import_lines *l, const char **p, size_t *len, struct err *e)
{
    for (;;) {
        const size_t have = l->end - l->begin;
        const char *at = l->buf + l->begin;
        const char *end = memchr(at, '\n', have);
        if (end || have >= LINE_MOST || (l->ended && have)) {
            *p = at;
            *len = end ? (size_t)(end - at) : have;
            l->begin += *len + (end != NULL);
            return 1;
        }
        if (l->ended)
            return 0;
        const int rc = import_lines_fill(l, e);
        if (rc != 0)
            return rc;
    }
}

bool import_lines_at_end(const struct import_lines *l)
{
    return l->ended && l->begin == l->end;
}
