/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.c - saves the network, and owns the folder it is saved into. */
#include "checkpoint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_PATH_MAX = CHECKPOINT_PATH_MAX + 32 };

static const char final_name[] = "model.ckpt";
static const char partial_name[] = "model.ckpt.partial";

static int complain(const char *what, const char *path)
{
    fprintf(stderr, "train: cannot %s '%s': %s\n", what, path, strerror(errno));
    return -1;
}

static int make_temporary(struct checkpoint_dir *d)
{
    const char *tmp = getenv("TMPDIR");
    const int n = snprintf(d->path, sizeof d->path, "%s/train-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (n < 0 || (size_t)n >= sizeof d->path) {
        errno = ENAMETOOLONG;
        return complain("use", "TMPDIR");
    }
    if (!mkdtemp(d->path))
        return complain("make the folder", d->path);
    d->temporary = true;
    return 0;
}

static int use_given(struct checkpoint_dir *d, const char *path)
{
    const size_t length = strlen(path);
    if (length >= sizeof d->path) {
        errno = ENAMETOOLONG;
        return complain("use", path);
    }
    memcpy(d->path, path, length + 1);
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return complain("make the folder", path);
    return 0;
}

int checkpoint_dir_open(struct checkpoint_dir *out, const char *path)
{
    struct checkpoint_dir d = {0};
    if ((path ? use_given(&d, path) : make_temporary(&d)) != 0)
        return -1;
    *out = d;
    return 0;
}

static void join_path(char *out, size_t size, const struct checkpoint_dir *d, const char *name)
{
    snprintf(out, size, "%s/%s", d->path, name);
}

void checkpoint_dir_close(const struct checkpoint_dir *d)
{
    if (!d->temporary)
        return;
    char path[FILE_PATH_MAX];
    join_path(path, sizeof path, d, final_name);
    unlink(path);
    join_path(path, sizeof path, d, partial_name);
    unlink(path);
    rmdir(d->path);
}

/* 0 only when every byte has reached the disk. */
static int write_through(const struct net *n, FILE *f)
{
    if (net_write(n, f) != 0 || fflush(f) != 0 || fsync(fileno(f)) != 0)
        return -1;
    return 0;
}

static int write_file(const struct net *n, const char *path)
{
    FILE *f = fopen(path, "wb");
    if (!f)
        return -1;
    int rc = write_through(n, f);
    const int why = errno;
    if (fclose(f) != 0)
        return -1;
    errno = why;
    return rc;
}

int checkpoint_save(const struct checkpoint_dir *d, const struct net *n)
{
    char partial[FILE_PATH_MAX], final[FILE_PATH_MAX];
    join_path(partial, sizeof partial, d, partial_name);
    join_path(final, sizeof final, d, final_name);
    int rc = 0;
    if (write_file(n, partial) != 0)
        rc = complain("write", partial);
    else if (rename(partial, final) != 0)
        rc = complain("rename to", final);
    if (rc != 0)
        unlink(partial);
    return rc;
}
