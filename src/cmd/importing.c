/* SPDX-License-Identifier: Apache-2.0 */
/* importing.c - see importing.h. */
#include "cmd/importing.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "import/import_losses.h"

enum { FLUSH_BYTES = 1 << 20 };

int importing_begin(struct importing *m, const char *home, struct err *e)
{
    *m = (struct importing){.tie = clock_tie_now()};
    int rc = path_join(m->folder, e, "%s/.import-XXXXXX", home);
    if (rc == 0 && !mkdtemp(m->folder)) {
        rc = err_sys(e, "cannot make a folder in '%s'", home);
        m->folder[0] = '\0';
    }
    if (rc == 0)
        rc = writer_open(&m->metrics, m->folder, e);
    if (rc == 0)
        rc = writer_open_beside(&m->events, m->metrics, "events", e);
    if (rc != 0)
        importing_end(m);
    return rc;
}

wall_ns importing_wall(const struct importing *m, mono_ns t)
{
    return (wall_ns){t.ns + (m->tie.wall.ns - m->tie.mono.ns)};
}

/* ---- the trace ---- */

static int on_progress(void *ctx, uint64_t done, uint64_t all, struct err *e)
{
    struct importing *m = ctx;
    if (all)
        progress_at(&m->progress, (double)done / (double)all, clock_mono());
    return writer_pending(m->events) < FLUSH_BYTES ? 0 : writer_flush(m->events, false, e);
}

int importing_file(struct importing *m, const char *path, const struct importer *format,
                   struct err *e)
{
    const struct import_file_ask ask = {
        .path = path,
        .format = format,
        .sink = writer_sink(m->events),
        .wall_minus_mono_ns = m->tie.wall.ns - m->tie.mono.ns,
        .progress = on_progress,
        .ctx = m,
    };
    progress_start(&m->progress, stderr, term_width(stderr), "import", clock_mono());
    const int rc = import_file(&ask, &m->got, e);
    progress_end(&m->progress);
    if (rc == 0)
        import_tell_losses(&m->got.result, writer_sink(m->events));
    return rc;
}

/* ---- the files ---- */

int importing_seal(struct importing *m, struct err *e)
{
    struct writer_stats stats;
    struct err other;
    writer_get_stats(m->events, &stats);
    int rc = writer_close(m->events, e);
    const int rc2 = writer_close(m->metrics, rc != 0 ? &other : e);
    m->events = m->metrics = NULL;
    if (rc == 0 && stats.events_dropped)
        rc = err_set(e, ERR_LIMIT, "%llu events found no room on the way to the disk",
                     (unsigned long long)stats.events_dropped);
    return rc != 0 ? rc : rc2;
}

int importing_keep(struct importing *m, const char *name, const char *to, struct err *e)
{
    char from[PATH_LEN];
    const int rc = path_join(from, e, "%s/%s.fp", m->folder, name);
    if (rc != 0)
        return rc;
    /* A link, unlike a rename, does not take the place of what is there. */
    if (link(from, to) == 0)
        return 0;
    if (errno == EEXIST)
        return err_set(e, ERR_BUSY, "'%s' is there already", to);
    return rename(from, to) == 0 ? 0 : err_sys(e, "cannot make '%s'", to);
}

void importing_end(struct importing *m)
{
    struct err ignored;
    if (m->events && writer_close(m->events, &ignored) != 0)
        ignored.code = 0; /* it is removed next */
    if (m->metrics && writer_close(m->metrics, &ignored) != 0)
        ignored.code = 0;
    m->events = m->metrics = NULL;
    DIR *d = *m->folder ? opendir(m->folder) : NULL;
    for (const struct dirent *f = d ? readdir(d) : NULL; f; f = readdir(d))
        if (strcmp(f->d_name, ".") != 0 && strcmp(f->d_name, "..") != 0)
            unlinkat(dirfd(d), f->d_name, 0);
    if (d)
        closedir(d);
    if (*m->folder)
        rmdir(m->folder);
    m->folder[0] = '\0';
}
