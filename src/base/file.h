/* SPDX-License-Identifier: Apache-2.0 */
/* file.h - whole files: read, mapped, replaced in one step.
 *
 * What lies in a run folder may have been put there by a stranger: it is opened with
 * file_open_regular, which neither waits nor follows links, and made with file_create_new. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

enum { PATH_LEN = 4096 };

/* For reading. A link is ERR_FORMAT, and so is a FIFO, a device or a folder. */
MUST_CHECK int file_open_regular(int *fd, const char *path, struct err *e);
/* For reading and writing, with the rights that the umask leaves. It must not exist, not even as a
 * link. */
MUST_CHECK int file_create_new(int *fd, const char *path, struct err *e);

/* The bytes of a regular file, mapped read-only. Holes beyond some size end it. A file that shrinks
 * under the mapping raises SIGBUS, so only files that are append-only or replaced by rename are
 * mapped. */
struct fmap {
    const uint8_t *p;
    size_t len;
    size_t mapped;          /* bytes of the mapping; 0: it is on the heap */
    size_t copied;          /* bytes of it, at the end, that are a copy */
    uint64_t device, inode; /* of fmap_follow: which file it is */
};

/* `growing`: what its writer may still cut is a copy, which is a short file, or the end of a long.
 */
MUST_CHECK int fmap_open(const char *path, bool growing, struct fmap *out, struct err *e);
/* A file that grows, read again and again: `more` gets a copy of what is in it from out->len on.
 * The caller adds to out->len what its writer will not cut any more, which may then be read in the
 * mapping: it has room to grow, and the address of what was read does not change. With an empty
 * `out` it is mapped first. ERR_FORMAT: it is another file than before, or shorter, or there is no
 * more room.
 */
MUST_CHECK int fmap_follow(const char *path, struct fmap *out, struct buf *more, struct err *e);
/* Pages that were read leave this process's memory; they come back when they are read again. */
void fmap_forget(const struct fmap *m);
void fmap_close(struct fmap *m); /* an empty one is fine */

/* The file's bytes in the arena, NUL after them; more than `most` bytes is ERR_LIMIT. */
MUST_CHECK int file_read(const char *path, size_t most, struct arena *a, char **out, size_t *len,
                         struct err *e);
/* The same of a file that may be a stranger's (see file_open_regular), from a place on; a negative
 * one counts from the end of the file. */
MUST_CHECK int file_read_range(const char *path, int64_t from, size_t most, struct arena *a,
                               char **out, size_t *len, struct err *e);
/* The same of what is open. */
MUST_CHECK int fd_read(int fd, const char *path, size_t most, struct arena *a, char **out,
                       size_t *len, struct err *e);
/* Written beside it, synced, renamed over it: a reader sees the old file or the new one. */
MUST_CHECK int file_replace(const char *path, const void *p, size_t n, struct err *e);
/* Whether the path exists and is neither a file nor a folder: a device, a pipe, a link such as
 * /dev/stdout. It must be written to as it is: a file moved to its place would end it. */
bool file_is_special(const char *path);
/* Writes an output that the user named: a special one as it is, any other by file_replace. */
MUST_CHECK int file_write_output(const char *path, const void *p, size_t n, struct err *e);
/* As file_replace, but ERR_BUSY when the file exists already. */
MUST_CHECK int file_create(const char *path, const void *p, size_t n, struct err *e);
/* A new file in a folder that no reader opens yet. Not synced. */
MUST_CHECK int file_put(const char *path, const void *p, size_t n, struct err *e);
/* All of it, however many writes that takes. */
MUST_CHECK int fd_write_all(int fd, const void *p, size_t n, const char *name, struct err *e);
/* mkdir -p */
MUST_CHECK int dir_make(const char *path, struct err *e);
/* All files in the folder and below are on the medium on return. */
MUST_CHECK int dir_sync(const char *path, struct err *e);
/* rm -r; what cannot be removed stays. Links are removed, not followed. */
void dir_remove(const char *path);
/* snprintf into a path buffer of PATH_LEN; too long is ERR_LIMIT. */
MUST_CHECK int path_join(char *out, struct err *e, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* After the last slash; the path itself when nothing is there. */
const char *path_base(const char *path);

#endif
