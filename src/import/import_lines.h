/* SPDX-License-Identifier: Apache-2.0 */
/* import_lines.h - lines of a text of any size, in memory of a bounded one.
 * Zeroed with `in` set, a struct import_lines is ready; nothing has to be freed. */
#ifndef IMPORT_IMPORT_LINES_H
#define IMPORT_IMPORT_LINES_H

#include <stdbool.h>

#include "base/bytes_in.h"

enum { LINE_MOST = 16 << 10, LINES_READ = 64 << 10 };

struct import_lines {
    struct bytes_in *in;
    uint64_t bytes; /* read so far */
    size_t begin, end;
    bool ended;
    char buf[LINES_READ + LINE_MOST];
};

/* The next line, without its end, good until the next call. 1, 0 at the end, or the negative code
 * of `e`. A line longer than LINE_MOST is handed out in pieces. */
MUST_CHECK int import_lines_next(struct import_lines *l, const char **p, size_t *len,
                                 struct err *e);
/* Whether the line handed out last was the last one there is, so that it may be cut. */
bool import_lines_at_end(const struct import_lines *l);

#endif
