/* SPDX-License-Identifier: Apache-2.0 */
/* price.c - see price.h. */
#include "config/price.h"

#include <stdlib.h>
#include <string.h>

static const double MOST = 1e6;

int price_parse(const char *text, double *per_hour, struct err *e)
{
    char *end;
    const double v = strtod(text, &end);
    /* strtod also takes hexadecimal numbers, words and leading spaces, which are no prices. */
    if (end == text || *end || text[strspn(text, "0123456789.eE+-")] || !(v > 0 && v <= MOST))
        return err_set(e, ERR_USAGE,
                       "'%.60s' is not an hourly price; write a number above 0, for example 14.688",
                       text);
    *per_hour = v;
    return 0;
}
