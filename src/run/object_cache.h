/* SPDX-License-Identifier: Apache-2.0 */
/* object_cache.h - copies of objects of a remote storage, in $XDG_CACHE_HOME/footplate/objects
 * (~/.cache without that variable).
 *
 * An entry is a file whose name is the hash of what it is a copy of: endpoint, bucket, key and
 * ETag. An object with another content has another ETag, so an entry never changes, several
 * processes may share the folder without a lock, and a file that is mapped may be removed. Together
 * they have at most 4 GiB, or FOOTPLATE_CACHE_BYTES; those that were not used for the longest time
 * go first. */
#ifndef RUN_OBJECT_CACHE_H
#define RUN_OBJECT_CACHE_H

#include "base/err.h"
#include "base/file.h"

struct object_cache_file {
    int fd;
    char path[PATH_LEN], temporary[PATH_LEN];
};

/* The path of the entry, and whether it is there with that many bytes. */
MUST_CHECK int object_cache_find(const char *identity, uint64_t bytes, char path[PATH_LEN],
                                 bool *there, struct err *e);
/* A new entry: begin, write to the fd, then end (it is there) or drop. */
MUST_CHECK int object_cache_begin(struct object_cache_file *f, const char *path, struct err *e);
MUST_CHECK int object_cache_end(struct object_cache_file *f, struct err *e);
void object_cache_drop(struct object_cache_file *f);
/* Removes the oldest entries beyond the limit. Called now and then: it lists the folder. */
void object_cache_trim(void);

#endif
