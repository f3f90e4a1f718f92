/* SPDX-License-Identifier: Apache-2.0 */
/* run_same.c - see run_same.h. */
#include "run/run_same.h"

#include <jansson.h>
#include <string.h>

#include "base/clock.h"
#include "base/json_read.h"
#include "base/mem.h"

/* How far apart the nodes of a run begin. */
#define APART_OF_JOB_NS (3600 * NS_PER_S) /* with a launcher, which does not tell its start */
#define APART_NS        (600 * NS_PER_S)

static bool same_text(const json_t *a, const json_t *b, const char *key)
{
    const char *x = json_string_value(json_object_get(a, key)),
               *y = json_string_value(json_object_get(b, key));
    return strcmp(x ? x : "", y ? y : "") == 0;
}

static bool same_begin(const json_t *a, const json_t *b, int64_t apart_most)
{
    const int64_t x = json_get_time(a, "start_ns", 0), y = json_get_time(b, "start_ns", 0);
    return x && y && (x < y ? y - x : x - y) <= apart_most;
}

static bool same_job(const json_t *a, const json_t *b, bool *has_start)
{
    static const char *const keys[] = {"cluster", "id", "step"};
    const int64_t start = json_get_time(a, "start_ns", 0);
    bool same = json_is_object(a) && json_is_object(b);
    for (size_t i = 0; same && i < COUNT_OF(keys); i++)
        same = same_text(a, b, keys[i]);
    *has_start = start != 0;
    return same && start == json_get_time(b, "start_ns", 0);
}

static bool same_run(const json_t *a, const json_t *b)
{
    const json_t *x = json_object_get(a, "job"), *y = json_object_get(b, "job");
    bool has_start;
    if (!json_is_object(a) || !json_is_object(b) || !same_text(a, b, "id"))
        return false;
    if (!x && !y)
        return same_begin(a, b, APART_NS);
    return same_job(x, y, &has_start) && (has_start || same_begin(a, b, APART_OF_JOB_NS));
}

bool run_is_same(const void *a, size_t a_len, const void *b, size_t b_len)
{
    if (a_len == b_len && memcmp(a, b, a_len) == 0)
        return true;
    json_t *x = json_loadb(a, a_len, 0, NULL), *y = json_loadb(b, b_len, 0, NULL);
    const bool same = same_run(x, y);
    json_decref(x);
    json_decref(y);
    return same;
}
