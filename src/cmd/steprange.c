/* SPDX-License-Identifier: Apache-2.0 */
/* steprange.c - see steprange.h. */
#include "cmd/steprange.h"

#include <errno.h>
#include <stdlib.h>

static const char *steprange_take_number(const char *p, int64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoll(p, &end, 10);
    return *p >= '0' && *p <= '9' && errno == 0 ? end : NULL;
}

int step_range(const char *text, int64_t out[2], struct err *e)
{
    const char *p = steprange_take_number(text, &out[0]);
    out[1] = out[0];
    if (p && *p == ':')
        p = steprange_take_number(p + 1, &out[1]);
    if (!p || *p || out[1] < out[0])
        return err_set(e, ERR_USAGE, "'%.100s' is not a range of steps (examples: 10:20 or 10)",
                       text);
    return 0;
}
