/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup_find.c - see cgroup_find.h. */
#include "sample/cgroup_find.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

/* ---- finding ---- */

static int cgroup_find_read_whole(struct textbuf *b, size_t *len, struct err *e, const char *path)
{
    struct source s = {0};
    struct reading r;
    TRY(source_open(&s, e, "%s", path));
    struct near_text near;
    const char *text;
    textbuf_grow(b); /* so that it is read into b */
    const bool ok = source_read_text(&s, &near, b, &text, &r);
    source_close(&s);
    *len = r.n;
    return ok ? 0 : err_set(e, ERR_SYS, "read '%s': %s", path, strerror(r.sys));
}

int cgroup_finder_open(struct cgroup_finder *f, const char *proc, const char *sys, int pid,
                       struct err *e)
{
    char path[PATH_LEN];
    *f = (struct cgroup_finder){.sys = sys};
    snprintf(path, sizeof path, "%s/%d/cgroup", proc, pid);
    int rc = pid > 0 ? cgroup_find_read_whole(&f->groups, &f->groups_len, e, path) : ERR_NOT_FOUND;
    if (rc) {
        snprintf(path, sizeof path, "%s/self/cgroup", proc);
        rc = cgroup_find_read_whole(&f->groups, &f->groups_len, e, path);
    }
    if (!rc) {
        snprintf(path, sizeof path, "%s/self/mountinfo", proc);
        rc = cgroup_find_read_whole(&f->mounts, &f->mounts_len, e, path);
    }
    if (rc)
        cgroup_finder_close(f);
    return rc;
}

void cgroup_finder_close(struct cgroup_finder *f)
{
    textbuf_free(&f->groups);
    textbuf_free(&f->mounts);
}

/* The group's path below its mount point. In a container the mounted part of the hierarchy may
 * begin in the middle, and a path may lead out of our control-group namespace ("/../x"): then what
 * we can see is the mount point itself. */
static const char *below_mount(const char *path, const char *root)
{
    const size_t len = strcmp(root, "/") == 0 ? 0 : strlen(root);
    if (strncmp(path, root, len) == 0 && (path[len] == '/' || path[len] == '\0'))
        path += len;
    else
        path = "";
    if (strncmp(path, "/..", 3) == 0 || strcmp(path, "/") == 0)
        path = "";
    return path;
}

static bool place_at(const struct cgroup_finder *f, const struct cgroup_mount *m, const char *path,
                     struct cgroup_place *out)
{
    /* Mounts are seen by the machine's names; tests have their /sys elsewhere. */
    const bool in_sys = text_starts(m->point, "/sys/");
    const int top = snprintf(out->folder, sizeof out->folder, "%s%s", in_sys ? f->sys : "",
                             in_sys ? m->point + strlen("/sys") : m->point);
    if (top < 0 || (size_t)top >= sizeof out->folder)
        return false;
    const char *below = below_mount(path, m->root);
    const size_t room = sizeof out->folder - (size_t)top;
    const int n = snprintf(out->folder + top, room, "%s", below);
    if (n < 0 || (size_t)n >= room)
        return false;
    if (access(out->folder, F_OK) != 0) /* not visible under its path: the mount is what we have */
        out->folder[top] = '\0';
    out->top = (size_t)top;
    out->is_root = out->folder[top] == '\0';
    return access(out->folder, F_OK) == 0;
}

static bool find_version(const struct cgroup_finder *f, const char *controller,
                         struct cgroup_place *out)
{
    char path[CGROUP_PATH_LEN];
    struct cgroup_mount m;
    return procfs_cgroup_path(f->groups.p, f->groups_len, controller, path, sizeof path) &&
           procfs_cgroup_mount(f->mounts.p, f->mounts_len, controller, &m) &&
           place_at(f, &m, path, out);
}

void cgroup_find(const struct cgroup_finder *f, const char *controller, struct cgroup_place *out)
{
    *out = (struct cgroup_place){0};
    if (find_version(f, controller, out))
        out->version = 1;
    else if (find_version(f, "", out))
        out->version = 2;
}

/* ---- limits ---- */

/* One level's limit; false: none. */
typedef bool (*limit_reader)(const char *folder, int version, double *value);

static bool cgroup_find_read_file(const char *folder, const char *name, char *text, size_t size,
                                  size_t *n)
{
    char path[PATH_LEN + 64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    const long got = file_peek(path, text, size);
    *n = got > 0 ? (size_t)got : 0;
    return got > 0;
}

static bool cgroup_find_read_number(const char *folder, const char *name, uint64_t *out)
{
    char text[64];
    size_t n;
    return cgroup_find_read_file(folder, name, text, sizeof text, &n) &&
           procfs_cgroup_number(text, n, out) && *out != CGROUP_NO_LIMIT;
}

static bool cpu_level(const char *folder, int version, double *percent)
{
    struct cgroup_quota q;
    char text[64];
    size_t n;
    if (version == 2 ? !cgroup_find_read_file(folder, "cpu.max", text, sizeof text, &n) ||
                           !procfs_cgroup_cpu_max(text, n, &q)
                     : !cgroup_find_read_number(folder, "cpu.cfs_quota_us", &q.quota_us) ||
                           !cgroup_find_read_number(folder, "cpu.cfs_period_us", &q.period_us))
        return false;
    if (q.quota_us == CGROUP_NO_LIMIT || q.period_us == 0)
        return false;
    *percent = 100 * (double)q.quota_us / (double)q.period_us;
    return true;
}

static bool mem_level(const char *folder, int version, double *bytes)
{
    uint64_t v;
    if (!cgroup_find_read_number(folder, version == 2 ? "memory.max" : "memory.limit_in_bytes", &v))
        return false;
    *bytes = (double)v;
    return true;
}

static bool tightest(const struct cgroup_place *p, limit_reader level, struct cgroup_limit *out)
{
    char folder[PATH_LEN];
    bool found = false;
    if (!p->version)
        return false;
    memcpy(folder, p->folder, sizeof folder);
    for (;;) {
        double v;
        if (level(folder, p->version, &v) && (!found || v < out->value)) {
            found = true;
            out->value = v;
            memcpy(out->folder, folder, sizeof folder);
        }
        char *slash = strrchr(folder + p->top, '/');
        if (!slash)
            return found;
        *slash = '\0';
    }
}

bool cgroup_cpu_limit(const struct cgroup_place *p, struct cgroup_limit *out)
{
    return tightest(p, cpu_level, out);
}

bool cgroup_mem_limit(const struct cgroup_place *p, struct cgroup_limit *out)
{
    return tightest(p, mem_level, out);
}
