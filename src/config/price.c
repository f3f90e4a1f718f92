/* SPDX-License-Identifier: Apache-2.0 */
/* price.c - see price.h. */
#include "config/price.h"

#include <stdbool.h>
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

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

int currency_parse(const char *text, char out[CURRENCY_LEN], struct err *e)
{
    if (strlen(text) != CURRENCY_LEN - 1 || !is_letter(text[0]) || !is_letter(text[1]) ||
        !is_letter(text[2]))
        return err_set(e, ERR_USAGE, "'%.60s' is not a currency: write three letters, like USD",
                       text);
    for (size_t i = 0; i < CURRENCY_LEN - 1; i++)
        out[i] = (char)(text[i] & ~32);
    out[CURRENCY_LEN - 1] = 0;
    return 0;
}
