/* SPDX-License-Identifier: Apache-2.0 */
/* trust.c - see trust.h. */
#include "base/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

bool trust_owner(uid_t uid)
{
    return uid == geteuid() || uid == 0;
}

bool trust_others_write(const struct stat *st)
{
    return st->st_mode & S_IWOTH || (st->st_mode & S_IWGRP && st->st_gid != st->st_uid);
}

/* ---- files that are found ---- */

/* `what`: "it", or the folder. */
static int check_found(const struct stat *st, const char *what, struct err *e)
{
    if (!trust_owner(st->st_uid))
        return err_set(e, ERR_USAGE, "%s belongs to another user (uid %u)", what,
                       (unsigned)st->st_uid);
    if (trust_others_write(st))
        return err_set(e, ERR_USAGE, "other users can write %s", what);
    return 0;
}

static int check_folder_of(const char *path, struct err *e)
{
    char folder[PATH_LEN], what[PATH_LEN + 16];
    struct stat st;
    TRY(path_join(folder, e, "%s", path));
    char *slash = strrchr(folder, '/');
    if (!slash)
        memcpy(folder, ".", 2);
    else
        slash[slash == folder] = 0;
    if (stat(folder, &st) < 0)
        return err_sys(e, "look at '%s'", folder);
    snprintf(what, sizeof what, "its folder '%s'", folder);
    return check_found(&st, what, e);
}

static int read_checked(const char *path, bool folder, size_t most, struct arena *a, char **out,
                        size_t *len, struct err *e)
{
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return err_sys(e, "open '%s'", path);
    int rc = fstat(fd, &st) < 0 ? err_sys(e, "look at '%s'", path) : 0;
    if (rc == 0 && !S_ISREG(st.st_mode))
        rc = err_set(e, ERR_FORMAT, "'%s' is not a regular file", path);
    if (rc == 0)
        rc = check_found(&st, "it", e);
    if (rc == 0 && folder)
        rc = check_folder_of(path, e);
    if (rc == 0)
        rc = fd_read(fd, path, most, a, out, len, e);
    close(fd);
    return rc;
}

int trust_read(const char *path, size_t most, struct arena *a, char **out, size_t *len,
               struct err *e)
{
    return read_checked(path, true, most, a, out, len, e);
}

int trust_read_named(const char *path, size_t most, struct arena *a, char **out, size_t *len,
                     struct err *e)
{
    const int rc = read_checked(path, false, most, a, out, len, e);
    return rc == ERR_USAGE ? err_in(e, "'%s' is not used", path) : rc;
}

/* ---- folders that are written to ---- */

/* The owner that new files get in the folder, read from an open file, so that it cannot be replaced
 * meanwhile. */
static bool owner_of_new(const char *folder, uid_t *out)
{
    char path[PATH_LEN];
    struct stat st;
    struct err e;
    if (path_join(path, &e, "%s/.owner-XXXXXX", folder))
        return false;
    const int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        return false;
    const bool known = fstat(fd, &st) == 0;
    unlink(path);
    close(fd);
    *out = st.st_uid;
    return known;
}

/* The system's refusal, not wrong use: another user can cause it, so no job may depend on it. */
static int refused(struct err *e)
{
    e->code = ERR_SYS;
    e->sys = EPERM;
    return e->code;
}

int trust_folder(const char *path, struct err *e)
{
    struct stat st;
    uid_t mine;
    if (lstat(path, &st) < 0)
        return err_sys(e, "look at '%s'", path);
    if (S_ISLNK(st.st_mode)) {
        err_set(e, ERR_SYS, "'%s' is a link; a run is written only to a real folder", path);
        return refused(e);
    }
    if (!S_ISDIR(st.st_mode)) {
        errno = ENOTDIR;
        return err_sys(e, "cannot write a run to '%s'", path);
    }
    if (st.st_uid == geteuid())
        return 0;
    if (st.st_uid == 0 && (!trust_others_write(&st) || st.st_mode & S_ISVTX))
        return 0;
    if (st.st_uid != 0 && owner_of_new(path, &mine) && mine == st.st_uid)
        return 0;
    err_set(e, ERR_SYS,
            "'%s' belongs to another user (uid %u), who could replace what is recorded there; "
            "choose another folder or run id",
            path, (unsigned)st.st_uid);
    return refused(e);
}
