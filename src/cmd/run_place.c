/* SPDX-License-Identifier: Apache-2.0 */
/* run_place.c - see run_place.h. */
#include "cmd/run_place.h"

#include <string.h>
#include <sys/stat.h>

#include "query/run.h"

int run_place_of(struct run_place *p, const char *wanted, const char *runs, struct err *e)
{
    struct stat st;
    p->id[0] = '\0';
    if (!wanted)
        return path_join(p->dir, e, "%s", runs_folder(runs));
    if (lstat(wanted, &st) == 0)
        return err_set(e, ERR_BUSY, "'%s' exists already", wanted);
    int rc = path_join(p->dir, e, "%s", wanted);
    if (rc != 0)
        return rc;
    for (size_t n = strlen(p->dir); n > 1 && p->dir[n - 1] == '/'; n--)
        p->dir[n - 1] = '\0';
    char *slash = strrchr(p->dir, '/');
    rc = path_join(p->id, e, "%s", slash ? slash + 1 : p->dir);
    if (rc != 0 || !slash)
        return rc != 0 ? rc : path_join(p->dir, e, ".");
    slash[slash == p->dir] = '\0'; /* the root keeps its own */
    return 0;
}
