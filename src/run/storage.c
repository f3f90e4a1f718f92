/* SPDX-License-Identifier: Apache-2.0 */
/* storage.c - what all storages have in common. */
#include "run/storage.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
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

struct storage_leftovers {
    const char *folder;
    char start[PATH_LEN]; /* of their names, see storage_local.c */
};

static void storage_remove_leftover(void *ctx, const struct storage_entry *x)
{
    const struct storage_leftovers *l = ctx;
    char path[PATH_LEN];
    struct err e;
    if (x->kind == STORAGE_FILE && text_starts(x->name, l->start) &&
        path_join(path, &e, "%s/%s", l->folder, x->name) == 0)
        storage_of(path)->remove(path, STORAGE_REMOVE_FILE);
}

void storage_tidy(const char *path)
{
    char folder[PATH_LEN];
    const char *name = path_base(path);
    struct storage_leftovers l = {.folder = folder};
    struct err e;
    snprintf(l.start, sizeof l.start, "%s.tmp-", name);
    if (path_join(folder, &e, "%.*s", (int)MAX_OF(name - path - 1, 0), path) == 0)
        (void)!storage_of(folder)->list(folder, 0, storage_remove_leftover, &l, &e);
}
