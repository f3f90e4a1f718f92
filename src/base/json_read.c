/* SPDX-License-Identifier: Apache-2.0 */
/* json_read.c - see json_read.h. */
#include "base/json_read.h"

#include "base/clock.h"
#include "base/file.h"

enum { MOST_BYTES = 16 << 20 };

int json_read_file(json_t **out, const char *path, struct err *e)
{
    struct arena a = {0};
    char *text;
    size_t len;
    int rc = file_read_regular(path, MOST_BYTES, &a, &text, &len, e);
    if (rc == 0) {
        json_error_t why;
        *out = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
        if (!*out)
            rc = err_set(e, ERR_FORMAT, "'%s', line %d: %s", path, why.line, why.text);
    }
    arena_free(&a);
    return rc;
}

const char *json_get_str(const json_t *o, const char *key, struct arena *a, const char *otherwise)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? arena_strdup(a, s) : otherwise;
}

int64_t json_get_int(const json_t *o, const char *key, int64_t otherwise)
{
    const json_t *v = json_object_get(o, key);
    return json_is_integer(v) ? (int64_t)json_integer_value(v) : otherwise;
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
