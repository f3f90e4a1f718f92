/* SPDX-License-Identifier: Apache-2.0 */
/* outfile.h - the file that is written: stdout, or beside its place and moved there when it is
 * complete; compressed when its name ends in .gz.
 *
 * outfile_open, then put into `buf` and call outfile_pass now and then, outfile_close. */
#ifndef EXPORT_OUTFILE_H
#define EXPORT_OUTFILE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

struct outfile {
    struct buf buf; /* what is not written yet; the caller appends */
    uint64_t bytes; /* written so far, before compression */
    size_t most;    /* of outfile_open_memory; 0: it is a file */
    struct outfile_own *own;
};

/* path "-": stdout. */
MUST_CHECK int outfile_open(struct outfile *o, const char *path, struct err *e);
/* Everything stays in `buf`, which the caller takes after outfile_pass, in place of outfile_close,
 * and frees; more than `most` bytes are ERR_USAGE. */
void outfile_open_memory(struct outfile *o, size_t most);
/* Writes when enough has gathered; not to be called in the middle of what must stay together in
 * `buf`. */
MUST_CHECK int outfile_pass(struct outfile *o, struct err *e);
/* rc: how the writing went; then nothing but a complete file is left. Returns rc, or what
 * went wrong now. */
MUST_CHECK int outfile_close(struct outfile *o, int rc, struct err *e);
bool outfile_is_stdout(const struct outfile *o);

#endif
