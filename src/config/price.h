/* SPDX-License-Identifier: Apache-2.0 */
/* price.h - what an hour of a machine costs, as users type it. */
#ifndef CONFIG_PRICE_H
#define CONFIG_PRICE_H

#include "base/err.h"
#include "base/human.h"

/* A plain number without a currency, above 0 and at most a million. ERR_USAGE otherwise. */
MUST_CHECK int price_parse(const char *text, double *per_hour, struct err *e);

enum { CURRENCY_LEN = 4 };

/* A code of three letters, like USD; written in capitals. ERR_USAGE otherwise. */
MUST_CHECK int currency_parse(const char *text, char out[CURRENCY_LEN], struct err *e);

#endif
