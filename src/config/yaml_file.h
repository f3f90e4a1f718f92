/* SPDX-License-Identifier: Apache-2.0 */
/* yaml_file.h - a small YAML file as a list of settings: "detail.steps", "5:2", line, column.
 *
 * Maps become dots in the path, a list gives one call for each of its entries, a null none. Where a
 * list may contain maps, those are "actions[0]", "actions[1]". Bounded in bytes, depth and number
 * of values, also where aliases repeat things. Pure. */
#ifndef CONFIG_YAML_FILE_H
#define CONFIG_YAML_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum {
    YAML_MOST = 64 << 10,
    YAML_DEPTH = 3,
    YAML_VALUES = 1000,
    YAML_BRACKETS = 1000,
    YAML_PATH = 128,
};

struct yaml_place {
    const char *path;
    size_t line, column; /* from 1 */
};

struct yaml_handler {
    void *ctx;
    /* Whether there is anything below that path, which may be an entry of a list: else its map is
     * not looked into, but wrong. */
    bool (*is_section)(void *ctx, const char *path);
    /* listed: an entry of a list */
    void (*value)(void *ctx, const struct yaml_place *at, const char *text, bool listed);
    void (*wrong)(void *ctx, const struct yaml_place *at, const char *what);
    /* A map where there is no section. */
    void (*not_section)(void *ctx, const struct yaml_place *at);
};

/* Fails when it is not YAML, or its top level is not a map; the sentence has line and column. */
MUST_CHECK int yaml_walk(const char *text, size_t len, const struct yaml_handler *h, struct err *e);

#endif
