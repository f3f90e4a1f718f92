/* SPDX-License-Identifier: Apache-2.0 */
/* upkeep.c - see upkeep.h. */
#include "run/upkeep.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/vec.h"
#include "run/receive.h"
#include "run/run_files.h"
#include "run/run_info.h"
#include "run/run_names.h"
#include "run/run_notes.h"

/* ---- the audit file ---- */

static void audit_put(struct buf *b, const struct audit_line *line)
{
    char when[32];
    struct tm tm;
    const time_t now = (time_t)(clock_wall().ns / NS_PER_S);
    struct jw j = {.out = b};
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
    jw_object(&j, NULL);
    jw_str(&j, "time", when);
    jw_str(&j, "by", *line->by ? line->by : NULL);
    jw_str(&j, "action", line->action);
    jw_str(&j, "run", line->run);
    jw_str(&j, "node", line->node);
    jw_str(&j, "detail", line->detail);
    jw_end(&j);
    buf_u8(b, '\n');
}

/* One write of a file that was opened to append: lines of two processes do not mix. */
static int audit_write(const char *path, const struct buf *b, struct err *e)
{
    struct stat st;
    int rc = 0;
    const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
                        S_IRUSR | S_IWUSR);
    if (fd < 0)
        return err_sys(e, "open '%s'", path);
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        rc = err_set(e, ERR_FORMAT, "'%s' is not a regular file", path);
    else if (write(fd, b->p, b->len) != (ssize_t)b->len)
        rc = err_sys(e, "write '%s'", path);
    close(fd);
    return rc;
}

int audit_add(const char *runs, const struct audit_line *line, struct err *e)
{
    char path[PATH_LEN];
    struct buf b = {0};
    TRY(run_path(path, runs, RUNS_AUDIT, e));
    audit_put(&b, line);
    const int rc = audit_write(path, &b, e);
    buf_free(&b);
    return rc;
}

/* ---- old runs ---- */

struct prune_search {
    wall_ns before;
    struct arena *arena;
    struct prune_run *v;
    size_t n, cap;
};

static bool prune_is_due(const char *path, wall_ns before, struct prune_run *out, struct arena *a)
{
    char owner[RECEIVE_OWNER_LEN];
    struct run_info info;
    struct err e;
    if (!receive_owner(path, owner) || run_info_read(&info, path, a, &e) ||
        info.status == RUN_RUNNING ||
        run_notes_find_tag(&info.notes, PRUNE_TAG) < info.notes.n_tags)
        return false;
    const struct run_stamp stamp = run_stamp_data(path);
    *out = (struct prune_run){.name = info.name,
                              .last = {MAX_OF(info.end.ns, stamp.newest_ns)},
                              .before = before,
                              .bytes = stamp.bytes};
    return stamp.version && out->last.ns < before.ns;
}

static void prune_look(void *ctx, const char *path)
{
    struct prune_search *s = ctx;
    struct arena a = {0};
    struct prune_run r;
    if (prune_is_due(path, s->before, &r, &a)) {
        r.path = arena_strdup(s->arena, path);
        r.name = arena_strdup(s->arena, r.name);
        *ARENA_ADD(s->arena, s->v, s->n, s->cap) = r;
    }
    arena_free(&a);
}

COMPARE_BY(prune_order, struct prune_run, last.ns)

int prune_find(const char *runs, wall_ns before, struct arena *a, struct prune_run **out, size_t *n,
               struct err *e)
{
    struct prune_search s = {.before = before, .arena = a};
    TRY(run_each(runs, prune_look, &s, e));
    SORT(s.v, s.n, prune_order);
    *out = s.v;
    *n = s.n;
    return 0;
}

int prune_remove(const char *runs, const struct prune_run *r, const char *by, struct err *e)
{
    char detail[64];
    struct arena a = {0};
    struct prune_run now;
    struct run_info info;
    const struct audit_line line = {
        .by = by, .action = "prune", .run = path_base(r->path), .detail = detail};
    snprintf(detail, sizeof detail, "%llu bytes", (unsigned long long)r->bytes);
    int rc = prune_is_due(r->path, r->before, &now, &a) /* since it was found it may be in use */
                 ? run_info_read(&info, r->path, &a, e)
                 : err_set(e, ERR_BUSY, "the run '%s' is not old any more", path_base(r->path));
    if (rc == 0)
        rc = audit_add(runs, &line, e); /* before: nothing is removed without a line */
    if (rc == 0)
        rc = run_remove(&info, e);
    arena_free(&a);
    return rc;
}
