/* SPDX-License-Identifier: Apache-2.0 */
/* limits.h - how often to sample, and to have the rules judge, at most and at least. */
#ifndef CONFIG_LIMITS_H
#define CONFIG_LIMITS_H

#include "base/clock.h"

#define INTERVAL_MIN_NS (10 * NS_PER_MS)
#define INTERVAL_MAX_NS (60 * NS_PER_S)
#define SCAN_MIN_NS     NS_PER_S
#define SCAN_MAX_NS     (3600 * NS_PER_S)

#endif
