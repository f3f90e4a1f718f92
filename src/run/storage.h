/* SPDX-License-Identifier: Apache-2.0 */
/* storage.h - the operations by which the files of a run are reached.
 *
 * A location names a file or folder of a run: a path of the local file system, or the address of an
 * object ("s3://BUCKET/PREFIX/RUN/run.json") or of a file on a hub
 * ("https://HOST/RUN/run.json"). storage_of selects the implementation by the location. Code above
 * this header passes locations on; it checks which it is only where a user's request has a meaning
 * for one kind alone (`footplate set`, `footplate push`). Only src/run and src/store compose
 * locations of what is in a run (run_names.h), and tools/check_storage.py enforces that.
 *
 * Object storage has no rename, no append and no lock. The operations are those that it has, too.
 * For each, first how the local file system (storage_local.c) does it, then how objects do
 * (storage_s3.c, storage_hub.c, and object_storage.h, which both use):
 *
 *   list       readdir, and fstatat where wanted
 *              one ListObjectsV2 for all keys of a run, used for some seconds; on a hub one GET
 *              for the files of a run, or of all runs
 *   stat       lstat; the version is a hash of mtime, size and inode
 *              the same list; the version is a hash of the ETag
 *   read, map  pread of a range, which may count from the end; mmap, of a file that grows a copy
 *              GET of the object into a local cache, by ETag (object_cache.h), and from there
 *   put        a file beside it, synced, then rename (replace) or link (if absent)
 *              PUT, with If-None-Match: * if absent; where that is missing HEAD, PUT, GET; on a
 *              hub only notes, as its dashboard does it
 *   make_runs  mkdir -p
 *              refused, as stage, claim and publish: runs are made locally, then shipped
 *   stage      the folder of runs itself
 *   claim      mkdir, or an existing folder that is trusted
 *   remove     unlink, rmdir or rm -r
 *              DELETE of each key below the location; on a hub whole runs
 *   publish    fdatasync of all files, then one rename
 *   range      pread
 *              as read
 *   append     write at the end, if the file has the expected size; cut back when that fails
 *              none: only a hub appends what others recorded, and its runs are local
 *   punch      fallocate (PUNCH_HOLE), and lseek (SEEK_HOLE, SEEK_DATA) to find the hole again
 *              none
 *   sync       syncfs
 *              nothing: what is put is durable
 *   alive      flock on the file that the writer has locked
 *              the age of the newest object, by the server's own clock; a hub knows more about
 *              recorders on its own machine
 *
 * The writer (store/writer.h) appends to a local folder, which it locks; so a recorder's run is
 * local, and it does not use append. To object storage a shipper puts what has grown as immutable
 * parts whose names have offset and length, and a reader's map joins them. To a hub it sends what
 * has grown, and the hub appends it (receive.h): the file that arrives is a prefix of the file that
 * was recorded, at every moment and after every crash, because an append at another offset than
 * the end is refused.
 *
 * There is no "put if unchanged" either: every file of a run has one writer (docs/format.md), but
 * for notes.json, of which the last one that was put stays.
 *
 * Why readers see a consistent run:
 *   - A file that is put is there whole or not at all, and put if absent has one winner.
 *   - A file that grows is read by its checksums (docs/format.md), and only up to its last frame.
 *   - A run that is made in a hidden folder is listed after publish only, and then it is complete.
 *
 * Files of a run may come from a stranger (SECURITY.md). An implementation never follows a link
 * below a run, opens nothing but regular files, and writes only into folders that others cannot
 * exchange (base/trust.h). This is the only place that has to get it right. */
#ifndef RUN_STORAGE_H
#define RUN_STORAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "store/reader.h"

enum storage_kind { STORAGE_FILE, STORAGE_FOLDER, STORAGE_LINK, STORAGE_OTHER };

struct storage_stat {
    enum storage_kind kind;
    uint64_t bytes;
    int64_t changed_ns;  /* since the epoch */
    uint64_t version;    /* another one when the content may be another; of a folder: its entries */
    uint64_t disk_bytes; /* of a local file: what it takes, without holes */
};

enum storage_flags {
    STORAGE_FOLLOW = 1,    /* the location may be a link: the user named it */
    STORAGE_WITH_STAT = 2, /* list: entries have a stat, too */
};

struct storage_entry {
    const char *name; /* may begin with '.', but is neither "." nor ".." */
    enum storage_kind kind;
    struct storage_stat stat; /* only with STORAGE_WITH_STAT */
};

typedef void storage_visit(void *ctx, const struct storage_entry *x);

enum storage_put {
    STORAGE_PUT_REPLACE, /* durable on return */
    STORAGE_PUT_ABSENT,  /* durable; ERR_BUSY when it is there already */
    STORAGE_PUT_STAGED,  /* a new file of a run that publish makes durable */
};

enum storage_remove {
    STORAGE_REMOVE_FILE,
    STORAGE_REMOVE_EMPTY, /* a folder, when nothing is in it */
    STORAGE_REMOVE_TREE,
};

enum storage_alive { STORAGE_DEAD, STORAGE_ALIVE, STORAGE_ALIVE_UNKNOWN };

struct storage {
    const struct object_store *objects; /* of those with object_storage.h; NULL: local */
    const struct store_source *source;  /* read and map, as the reader of src/store takes them */
    int (*list)(const char *folder, int flags, storage_visit *visit, void *ctx, struct err *e);
    int (*stat)(const char *path, int flags, struct storage_stat *out, struct err *e);
    int (*put)(const char *path, const void *p, size_t n, enum storage_put how, struct err *e);
    /* Makes the folder of runs, with those that it is in, unless it is there. */
    int (*make_runs)(const char *folder, bool *made, struct err *e);
    /* Where runs for this folder of runs are made, hidden, before they are published. */
    int (*stage)(const char *runs, char *out, struct err *e);
    /* Makes a folder to write a run or node into. *made false: it was there, and is safe to use. */
    int (*claim)(const char *folder, bool *made, struct err *e);
    bool (*remove)(const char *path, enum storage_remove what);
    /* Moves a complete, hidden run to its place. ERR_BUSY: something is there. */
    int (*publish)(const char *from, const char *to, struct err *e);
    /* Up to n bytes from a place on; *got is less at the end of the file. */
    int (*range)(const char *path, uint64_t from, void *out, size_t n, size_t *got, struct err *e);
    /* Appends to a file whose size is `at`; it is made if need be. `cut`: what it has is dropped
     * first, and `at` is 0. No bytes: its time is now. *size: of the file, also after ERR_BUSY,
     * which means that it is not `at`. After a failure it is as long as before. NULL: the storage
     * cannot append. */
    int (*append)(const char *path, uint64_t at, bool cut, const void *p, size_t n, uint64_t *size,
                  struct err *e);
    /* Gives back the space of a file that grows, from its first pages on up to about `to`: they
     * become a hole. *hole: where it ends, 0 if there is none. NULL: there are no holes. */
    int (*punch)(const char *path, uint64_t to, struct err *e);
    int (*hole)(const char *path, uint64_t *hole, struct err *e);
    /* What was appended below the folder is durable on return. */
    int (*sync)(const char *folder, struct err *e);
    /* Whether the recorder that writes in this node's folder is running. */
    enum storage_alive (*alive)(const char *folder);
};

extern const struct storage storage_local, storage_s3, storage_hub;

/* The implementation for a location. */
const struct storage *storage_of(const char *location);

/* A small JSON file as a tree; the caller ends it with json_decref. */
MUST_CHECK int storage_read_json(json_t **out, const char *path, struct err *e);
/* Whether there is a file or folder of this name. */
bool storage_has(const char *path);
/* Removes what writers of this file left that were killed. No writer of it may be at work. */
void storage_tidy(const char *path);

#endif
