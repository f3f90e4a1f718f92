/* SPDX-License-Identifier: Apache-2.0 */
/* assets.h - the files of the page, compressed, inside the program. The table is made at build time
 * by tools/embed_assets.py from web/dist; without that folder it is empty. */
#ifndef SERVE_ASSETS_H
#define SERVE_ASSETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct asset {
    const char *path; /* "/assets/index-4f2a.js"; the page itself is "/" */
    const char *type;
    const char *etag; /* with its quotes */
    bool forever;     /* its name has its hash: it never changes */
    const uint8_t *gzip;
    size_t n_gzip, n_plain;
};

extern const struct asset assets[];
extern const size_t n_assets;

#endif
