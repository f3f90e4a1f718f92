/* SPDX-License-Identifier: Apache-2.0 */
/* import_file.h - a file in the format of another tool, plain or gzip, passed to a sink. */
#ifndef IMPORT_IMPORT_FILE_H
#define IMPORT_IMPORT_FILE_H

#include "import/importer.h"

struct import_file_ask {
    const char *path;
    const struct importer *format; /* NULL: by its bytes */
    struct import_hint hint;       /* its path may be left out */
    struct sink *sink;
    struct sink *(*sink_of_node)(void *ctx, const char *node);  /* see struct import_ask */
    void (*machine)(void *ctx, const struct import_machine *m); /* see struct import_ask */
    int64_t wall_minus_mono_ns;                                 /* see struct import_ask */
    uint32_t pid;
    struct remake *remake; /* see struct import_ask */
    bool threads;          /* a thread may inflate ahead of what reads */
    /* Called now and then with the bytes of the file read so far and all of them; NULL is fine. A
     * negative code ends the import with it. */
    int (*progress)(void *ctx, uint64_t done, uint64_t all, struct err *e);
    void *ctx;
};

struct import_file_result {
    struct import_result result;
    const struct importer *format;
    uint64_t file_bytes;
    bool gzip, garbage; /* bytes after the gzip data were ignored */
};

/* The message names the file. What the sink received before a failure is the caller's to undo. */
MUST_CHECK int import_file(const struct import_file_ask *ask, struct import_file_result *out,
                           struct err *e);

enum { IMPORT_HEAD = 64 << 10 }; /* bytes that are enough to see what a file is */

/* The first bytes, decompressed where they have to be; 0 when there are none or it cannot be read.
 */
size_t import_file_head(const char *path, char head[IMPORT_HEAD]);
/* What a file is by its bytes; NULL when no format knows them, or it cannot be read. */
const struct importer *import_file_format(const char *path);

#endif
