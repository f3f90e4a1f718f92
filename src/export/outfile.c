/* SPDX-License-Identifier: Apache-2.0 */
/* outfile.c - the file that an export is written to. See export.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "export/export.h"

/* On traces level 3 is a third larger than level 9 and eight times as fast. */
enum { PASS_BYTES = 256 << 10, GZIP_LEVEL = 3, GZIP_WINDOW = 15 + 16 };

struct outfile_own {
    FILE *f;
    char path[PATH_LEN],
        beside[PATH_LEN]; /* beside "": stdout, or a device or pipe that is written to as it is */
    bool packs;
    z_stream z;
    uint8_t packed[PASS_BYTES];
};

bool outfile_is_stdout(const struct outfile *o)
{
    return o->own->f == stdout;
}

static const char *outfile_name_of(const struct outfile_own *w)
{
    return *w->path ? w->path : "stdout";
}

static int write_bytes(struct outfile_own *w, const void *p, size_t n, struct err *e)
{
    errno = 0;
    return n == 0 || fwrite(p, 1, n, w->f) == n ? 0 : err_sys(e, "write %s", outfile_name_of(w));
}

static int pack(struct outfile_own *w, const struct buf *b, int flush, struct err *e)
{
    int rc = 0;
    w->z.next_in = b->p;
    w->z.avail_in = (uInt)b->len;
    do {
        w->z.next_out = w->packed;
        w->z.avail_out = sizeof w->packed;
        (void)deflate(&w->z, flush); /* it fails only when misused */
        rc = write_bytes(w, w->packed, sizeof w->packed - w->z.avail_out, e);
    } while (rc == 0 && w->z.avail_out == 0);
    return rc;
}

static int outfile_put_all(struct outfile *o, bool last, struct err *e)
{
    struct outfile_own *w = o->own;
    const int rc = w->packs ? pack(w, &o->buf, last ? Z_FINISH : Z_NO_FLUSH, e)
                            : write_bytes(w, o->buf.p, o->buf.len, e);
    o->bytes += o->buf.len;
    o->buf.len = 0;
    return rc;
}

void outfile_open_memory(struct outfile *o, size_t most)
{
    *o = (struct outfile){.most = most};
}

int outfile_pass(struct outfile *o, struct err *e)
{
    if (o->most)
        return o->buf.len <= o->most
                   ? 0
                   : err_set(e, ERR_USAGE,
                             "the file is larger than %zu MiB; use 'footplate export'",
                             o->most >> 20);
    return o->buf.len < PASS_BYTES ? 0 : outfile_put_all(o, false, e);
}

static int open_beside(struct outfile_own *w, const char *path, struct err *e)
{
    TRY(path_join(w->path, e, "%s", path));
    TRY(path_join(w->beside, e, "%s.%d.part", path, (int)getpid()));
    if (file_is_special(path))
        w->beside[0] = '\0';
    const int fd = w->beside[0] ? open(w->beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)
                                : open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    if (fd < 0)
        return err_sys(e, "create '%s'", path);
    w->f = fdopen(fd, "w");
    if (w->f)
        return 0;
    err_sys(e, "open '%s'", path);
    close(fd);
    if (w->beside[0])
        unlink(w->beside);
    return e->code;
}

int outfile_open(struct outfile *o, const char *path, struct err *e)
{
    struct outfile_own *w = xcalloc(1, sizeof *w);
    const int rc = strcmp(path, "-") == 0 ? 0 : open_beside(w, path, e);
    if (rc != 0) {
        free(w);
        return rc;
    }
    w->f = w->f ? w->f : stdout;
    w->packs = text_ends(path, ".gz") && path[3]; /* not when that is all of it */
    if (w->packs &&
        deflateInit2(&w->z, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        abort(); /* out of memory, as xmalloc */
    *o = (struct outfile){.own = w};
    return 0;
}

static int finish_file(struct outfile_own *w, struct err *e)
{
    errno = 0;
    /* A device or a pipe cannot be synced. */
    const bool bad = fflush(w->f) != 0 || (w->beside[0] && fsync(fileno(w->f)) != 0);
    const int cause = errno;
    const bool unclosed = fclose(w->f) != 0;
    w->f = NULL;
    errno = bad ? cause : errno;
    if (bad || unclosed)
        return err_sys(e, "write '%s'", w->path);
    if (!w->beside[0])
        return 0;
    return rename(w->beside, w->path) != 0 ? err_sys(e, "rename to '%s'", w->path) : 0;
}

int outfile_close(struct outfile *o, int rc, struct err *e)
{
    struct outfile_own *w = o->own;
    if (rc == 0)
        rc = outfile_put_all(o, true, e);
    if (rc == 0 && w->f != stdout)
        rc = finish_file(w, e);
    if (w->f && w->f != stdout)
        fclose(w->f);
    if (rc != 0 && *w->beside)
        unlink(w->beside);
    if (w->packs)
        deflateEnd(&w->z);
    buf_free(&o->buf);
    free(w);
    *o = (struct outfile){0};
    return rc;
}
