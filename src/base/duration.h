/* SPDX-License-Identifier: Apache-2.0 */
/* duration.h - spans of time as users type them: "100ms", "0.5s", "1min", "500" (ms). */
#ifndef BASE_DURATION_H
#define BASE_DURATION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* A number, a unit (us, ms, s, min, h; none means ms), nothing else. ERR_USAGE otherwise. */
MUST_CHECK int duration_parse(const char *text, int64_t *ns, struct err *e);
/* A number alone: the user may have meant seconds. */
bool duration_lacks_unit(const char *text);
/* As above, and ERR_USAGE when it is not within lo..hi; `what` names it in the sentence. */
MUST_CHECK int duration_parse_within(const char *what, const char *text, int64_t lo_ns,
                                     int64_t hi_ns, int64_t *ns, struct err *e);

#endif
