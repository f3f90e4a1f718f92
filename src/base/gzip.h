/* SPDX-License-Identifier: Apache-2.0 */
/* gzip.h - gzip as a source of plain bytes, any number of members one after the other, and bytes in
 * memory as gzip.
 *
 * ISA-L does the work where the machine has its library (it is loaded, not linked, so that the
 * program starts anywhere), else zlib; both check the checksums. Data that ends early or is damaged
 * is an error, after everything before it was handed out. */
#ifndef BASE_GZIP_H
#define BASE_GZIP_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/bytes_in.h"

enum inflate_engine { INFLATE_ANY, INFLATE_ISAL, INFLATE_ZLIB };

struct inflate;

/* Whether the bytes begin as gzip does. */
bool inflate_sniff(const void *p, size_t n);
/* ERR_NOT_FOUND when the requested engine is not there. `from` must outlive it. */
MUST_CHECK int inflate_open(struct inflate **out, struct bytes_in *from, enum inflate_engine engine,
                            struct err *e);
struct bytes_in *inflate_bytes(struct inflate *z);
/* Bytes after the last member that are neither padding nor another member; they are ignored. */
bool inflate_has_garbage(const struct inflate *z);
void inflate_close(struct inflate *z); /* NULL is fine */

/* Bytes in memory as gzip, by ISA-L, which is several times as fast as zlib. `out` is empty before.
 * False, and it is empty again: the library is not installed, or the result is not smaller. */
bool gzip_isal(const void *p, size_t n, struct buf *out);

/* ---- answers of a server: fast rather than small, because the client waits ---- */

enum { GZIP_LEAST = 1400 }; /* what fits into one packet anyway is not worth it */

/* `noise`: bytes that hardly repeat, so that zlib need not look for repeats. False:
 * it would not become smaller; `out` is then empty. */
bool gzip_pack(const void *p, size_t n, bool noise, struct buf *out);
/* The same where ISA-L is not on the machine, and of any length. */
bool gzip_pack_zlib(const void *p, size_t n, bool noise, struct buf *out);
/* The inverse, for clients that do not accept gzip. `n_plain`: the bytes that must come out. */
MUST_CHECK int gzip_unpack(const void *p, size_t n, size_t n_plain, struct buf *out, struct err *e);

#endif
