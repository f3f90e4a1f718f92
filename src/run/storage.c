/* SPDX-License-Identifier: Apache-2.0 */
/* storage.c - what all storages have in common. */
#include "run/storage.h"

#include "base/text.h"
#include "net/hub_client.h"
#include "run/storage_s3.h"

enum { JSON_MOST = 16 << 20 }; /* bytes */

const struct storage *storage_of(const char *location)
{
    return text_starts(location, S3_SCHEME) ? &storage_s3
           : hub_is_address(location)       ? &storage_hub
                                            : &storage_local;
}

int storage_read_json(json_t **out, const char *path, struct err *e)
{
    struct arena a = {0};
    char *text;
    size_t len;
    int rc = storage_of(path)->source->read(path, 0, JSON_MOST, &a, &text, &len, e);
    if (rc == 0) {
        json_error_t why;
        *out = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
        if (!*out)
            rc = err_set(e, ERR_FORMAT, "'%s', line %d: %s", path, why.line, why.text);
    }
    arena_free(&a);
    return rc;
}

bool storage_has(const char *path)
{
    struct storage_stat st;
    struct err e;
    return storage_of(path)->stat(path, 0, &st, &e) == 0;
}
