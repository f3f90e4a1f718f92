/* SPDX-License-Identifier: Apache-2.0 */
/* steprange.h - a range of steps, as users type it behind --steps. */
#ifndef CMD_STEPRANGE_H
#define CMD_STEPRANGE_H

#include <stdint.h>

#include "base/err.h"
#include "base/opt.h"

#define OPT_ROW_STEPS                                                                              \
    {                                                                                              \
        "steps", 0, "A:B", OPT_STRING,                                                             \
            .help = "Limit to the time of training steps A to B, inclusive; A alone is one step."  \
    }

/* ERR_USAGE when it is no range. */
MUST_CHECK int step_range(const char *text, int64_t out[2], struct err *e);

#endif
