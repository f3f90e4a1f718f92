/* SPDX-License-Identifier: Apache-2.0 */
/* price.h - what an hour of a machine costs, as users type it. */
#ifndef CONFIG_PRICE_H
#define CONFIG_PRICE_H

#include "base/err.h"

/* A plain number without a currency, above 0 and at most a million. ERR_USAGE otherwise. */
MUST_CHECK int price_parse(const char *text, double *per_hour, struct err *e);

#endif
