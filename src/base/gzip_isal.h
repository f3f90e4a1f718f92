/* SPDX-License-Identifier: Apache-2.0 */
/* gzip_isal.h - bytes in memory as gzip, by ISA-L: several times as fast as zlib is. */
#ifndef BASE_GZIP_ISAL_H
#define BASE_GZIP_ISAL_H

#include <stdbool.h>

#include "base/buf.h"

/* `out` is empty before. False, and it is empty again: the library is not here, or what comes of
 * them is not smaller. */
bool gzip_isal(const void *p, size_t n, struct buf *out);

#endif
