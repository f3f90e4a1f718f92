/* SPDX-License-Identifier: Apache-2.0 */
/* squeeze.h - gzip for answers: fast rather than small, since who asks is waiting. */
#ifndef SERVE_SQUEEZE_H
#define SERVE_SQUEEZE_H

#include "base/buf.h"
#include "base/err.h"

enum { SQUEEZE_LEAST = 1400 }; /* what fits into one packet anyway is not worth it */

/* `noise`: bytes that hardly repeat, so that it is not worth it that zlib looks for repeats. False:
 * it would not become smaller; `out` is then empty. */
bool squeeze(const void *p, size_t n, bool noise, struct buf *out);
/* The same where ISA-L is not on the machine, and of any length. */
bool squeeze_zlib(const void *p, size_t n, bool noise, struct buf *out);
/* The inverse, for what is kept compressed and asked for plain. `n_plain`: what it must give. */
MUST_CHECK int unsqueeze(const void *p, size_t n, size_t n_plain, struct buf *out, struct err *e);

#endif
