/* SPDX-License-Identifier: Apache-2.0 */
/* inflate.h - gzip as a source of plain bytes, any number of members one after the other.
 *
 * ISA-L does the work where the machine has its library (it is loaded, not linked, so that the
 * program starts anywhere), else zlib; both check the checksums. Data that ends early or is damaged
 * is an error, after everything before it was handed out. */
#ifndef BASE_INFLATE_H
#define BASE_INFLATE_H

#include <stdbool.h>

#include "base/bytes_in.h"

enum inflate_engine { INFLATE_ANY, INFLATE_ISAL, INFLATE_ZLIB };

struct inflate;

/* Whether the bytes begin as gzip does. */
bool inflate_sniff(const void *p, size_t n);
/* ERR_NOT_FOUND when the engine asked for is not there. `from` must outlive it. */
MUST_CHECK int inflate_open(struct inflate **out, struct bytes_in *from, enum inflate_engine engine,
                            struct err *e);
struct bytes_in *inflate_bytes(struct inflate *z);
/* Bytes behind the last member that are neither padding nor another member; they are ignored. */
bool inflate_has_garbage(const struct inflate *z);
void inflate_close(struct inflate *z); /* NULL is fine */

#endif
