/* SPDX-License-Identifier: Apache-2.0 */
/* json_read.c - see json_read.h. */
#include "base/json_read.h"

#include "base/clock.h"

const char *json_get_str(const json_t *o, const char *key, struct arena *a, const char *otherwise)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? arena_strdup(a, s) : otherwise;
}

int64_t json_get_int(const json_t *o, const char *key, int64_t otherwise)
{
    return json_get_within(o, key, INT64_MIN, INT64_MAX, otherwise);
}

int64_t json_get_within(const json_t *o, const char *key, int64_t lo, int64_t hi, int64_t otherwise)
{
    const json_t *v = json_object_get(o, key);
    const int64_t n = json_is_integer(v) ? (int64_t)json_integer_value(v) : otherwise;
    return n >= lo && n <= hi ? n : otherwise;
}

int64_t json_get_time(const json_t *o, const char *key, int64_t otherwise)
{
    return json_get_within(o, key, -CLOCK_MOST_NS, CLOCK_MOST_NS, otherwise);
}

double json_get_num(const json_t *o, const char *key, double otherwise)
{
    const json_t *v = json_object_get(o, key);
    return json_is_number(v) ? json_number_value(v) : otherwise;
}
