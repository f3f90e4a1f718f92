/* SPDX-License-Identifier: Apache-2.0 */
/* answer_gzip.h - gzip for answers: fast rather than small, because the client waits. */
#ifndef SERVE_ANSWER_GZIP_H
#define SERVE_ANSWER_GZIP_H

#include "base/buf.h"
#include "base/err.h"

enum { GZIP_LEAST = 1400 }; /* what fits into one packet anyway is not worth it */

/* `noise`: bytes that hardly repeat, so that zlib need not look for repeats. False:
 * it would not become smaller; `out` is then empty. */
bool gzip_pack(const void *p, size_t n, bool noise, struct buf *out);
/* The same where ISA-L is not on the machine, and of any length. */
bool gzip_pack_zlib(const void *p, size_t n, bool noise, struct buf *out);
/* The inverse, for clients that do not accept gzip. `n_plain`: the bytes that must come out. */
MUST_CHECK int gzip_unpack(const void *p, size_t n, size_t n_plain, struct buf *out, struct err *e);

#endif
