/* SPDX-License-Identifier: Apache-2.0 */
/* remarks.c - see remarks.h. */
#include "config/remarks.h"

#include <stdarg.h>
#include <stdio.h>

enum { TEXT_MOST = 1024 };

void remarks_add(struct remarks *r, const char *fmt, ...)
{
    char text[TEXT_MOST];
    va_list args;
    if (r->n == REMARKS_MOST) {
        r->left_off++;
        return;
    }
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    r->v[r->n++] = arena_strdup(r->arena, text);
}
