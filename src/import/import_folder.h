/* SPDX-License-Identifier: Apache-2.0 */
/* import_folder.h - a file, or all files of a folder, that together are one run: which of them are
 * traces, of what format, of which machine and process, and in what order they are read.
 *
 * folder_open checks names and the first bytes of files; reading them is the caller's. Links
 * that lead out of the folder are not followed, and hidden files are skipped. */
#ifndef IMPORT_IMPORT_FOLDER_H
#define IMPORT_IMPORT_FOLDER_H

#include "base/arena.h"
#include "import/importer.h"

enum { FOLDER_FILES_MOST = 1 << 16, FOLDER_DEPTH_MOST = 16, FOLDER_NAME_LEN = 192 };

struct folder_file {
    const char *path;              /* to open it */
    const char *name;              /* below the folder */
    const struct importer *format; /* NULL: it is not read, or (a single file) its bytes decide */
    const char *skipped;           /* why it is not read; NULL: it is */
    bool sure;                     /* it is a trace by its name or its bytes */
    bool lost;                     /* it is skipped, and its data is missed */
    struct import_hint hint;
    char process[FOLDER_NAME_LEN]; /* files of one process have the same; others differ */
};

struct folder {
    struct arena arena;
    bool single; /* a file was named, not a folder */
    struct folder_file *files;
    size_t n, n_read; /* all of them; those that are to be read */
    bool cut;         /* there are more files or deeper folders than the limits */
};

/* `format` NULL: by their bytes; else all files that are named as traces, or could be ones, are of
 * that format. ERR_FORMAT when there is no trace in a folder. */
MUST_CHECK int folder_open(struct folder *f, const char *path, const struct importer *format,
                           struct err *e);
void folder_close(struct folder *f);

/* What names show about a file. Fills the hint, which is cleared first. */
enum import_place import_place_of(const char *path, struct import_hint *hint);

#endif
