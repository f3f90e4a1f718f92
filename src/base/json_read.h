/* SPDX-License-Identifier: Apache-2.0 */
/* json_read.h - members of a small JSON tree (jansson), with readers that take a default. */
#ifndef BASE_JSON_READ_H
#define BASE_JSON_READ_H

#include <jansson.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

/* A copy of the string in the arena, or `otherwise` when it is absent or not a string. */
const char *json_get_str(const json_t *o, const char *key, struct arena *a, const char *otherwise);
int64_t json_get_int(const json_t *o, const char *key, int64_t otherwise);
/* As above, and `otherwise` when it is not within lo..hi. */
int64_t json_get_within(const json_t *o, const char *key, int64_t lo, int64_t hi,
                        int64_t otherwise);
/* A time in ns, as above: one out of range (clock_fits) is not known. */
int64_t json_get_time(const json_t *o, const char *key, int64_t otherwise);
double json_get_num(const json_t *o, const char *key, double otherwise);

#endif
