/* SPDX-License-Identifier: Apache-2.0 */
/* bytes_in.h - where bytes come from, one read after the other: a file, memory, a decompressor.
 * A struct with a `struct bytes_in` as its first member is one. */
#ifndef BASE_BYTES_IN_H
#define BASE_BYTES_IN_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct bytes_in {
    /* Up to `most` bytes into `to`. Returns how many, 0 at the end (and again at the next call),
     * or the negative code of `e`. */
    int64_t (*read)(struct bytes_in *in, void *to, size_t most, struct err *e);
};

/* As many as there is room for, unless they end before. A failure after some bytes is reported by
 * the next call. */
int64_t bytes_read_full(struct bytes_in *in, void *to, size_t most, struct err *e);

/* A file that the caller has open and closes; read from where it is. */
struct bytes_file {
    struct bytes_in in;
    int fd;
    _Atomic uint64_t taken; /* bytes read so far; other threads may read it meanwhile */
    const char *path;
};

void bytes_file_init(struct bytes_file *f, int fd, const char *path);

/* Memory of the caller. `read_most` limits what one read returns; 0: no limit. */
struct bytes_memory {
    struct bytes_in in;
    const uint8_t *p;
    size_t len, read_most;
};

void bytes_memory_init(struct bytes_memory *m, const void *p, size_t len, size_t read_most);

/* A source that a thread reads ahead, some hundred kilobytes, so that the reader does not wait
 * while bytes are inflated: 10 % of the time of an import. The bytes, and the error after them, are
 * the same as without. */
struct bytes_ahead;

/* Until it is closed `from` belongs to the thread, and must outlive it. */
struct bytes_ahead *bytes_ahead_open(struct bytes_in *from);
struct bytes_in *bytes_ahead_bytes(struct bytes_ahead *a);
void bytes_ahead_close(struct bytes_ahead *a); /* NULL is fine; also before the end is read */

#endif
