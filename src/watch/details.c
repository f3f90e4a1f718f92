/* SPDX-License-Identifier: Apache-2.0 */
/* details.c - see watch.h. */
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/thread.h"
#include "import/import_file.h"
#include "import/importer.h"
#include "record/record.h"
#include "run/run_files.h"
#include "run/rundir.h"
#include "watch/watch.h"

enum {
    STACK = 512 * 1024,
    FLUSH_BYTES = 1 << 20,
    LEAST_PRIORITY = 19,
};

#define SAVED_MOST ((size_t)1 << 32) /* bytes of a file of saved tensors */

struct details {
    struct details_ask ask;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool started; /* the caller's */
    bool news, stop;
};

/* ---- one file ---- */

/* Numbers that tie a kernel to its launch, or an operator to what runs backward for it, may begin
 * anew with every window; in the run they are those of the process. So each window has separate
 * numbers; addresses of memory are not such numbers. The cost of the profiler itself is recorded
 * with a process -1, and belongs to the job. */
enum { LINK_BITS = 40, CHUNK = 64 };
#define NO_PROCESS UINT32_MAX

struct apart {
    struct sink_pass pass; /* first, so that it is the whole */
    uint32_t pid;
    uint64_t more;
};

static void set_apart(struct event *e, uint64_t more)
{
    if (e->category == CAT_MEMORY)
        return;
    e->link += e->link ? more : 0;
    e->parent += e->parent ? more : 0;
}

static void details_on_events(struct sink *s, const struct track *t, const struct event *v,
                              size_t n)
{
    const struct apart *a = (struct apart *)s;
    struct event chunk[CHUNK];
    struct track whose = *t;
    if (t->pid == NO_PROCESS) {
        whose.pid = a->pid;
        snprintf(whose.name, sizeof whose.name, "profiler");
    }
    if (n == 0)
        sink_pass_events(s, &whose, v, 0);
    for (size_t at = 0, many; at < n; at += many) {
        many = MIN_OF(n - at, (size_t)CHUNK);
        memcpy(chunk, v + at, many * sizeof *v);
        for (size_t i = 0; i < many; i++)
            set_apart(&chunk[i], a->more);
        sink_pass_events(s, &whose, chunk, many);
    }
}

static const struct sink_ops apart_ops = {
    .row = sink_pass_row,
    .loss = sink_pass_loss,
    .mark = sink_pass_mark,
    .events = details_on_events,
};

/* A trace comes faster than a flush a second would take it away. */
static int write_in_time(void *ctx, uint64_t done, uint64_t all, struct err *e)
{
    struct writer *w = ctx;
    (void)done;
    (void)all;
    return writer_pending(w) < FLUSH_BYTES ? 0 : writer_flush(w, false, e);
}

static int import_into(struct writer *w, const char *path, const struct window_file *f,
                       struct err *e)
{
    const struct clock_tie tie = clock_tie_now();
    struct import_file_result got;
    struct apart apart = {
        .pass = {{&apart_ops}, writer_sink(w)}, .pid = f->pid, .more = (uint64_t)f->k << LINK_BITS};
    const struct import_file_ask ask = {
        .path = path,
        .sink = &apart.pass.sink,
        .wall_minus_mono_ns = tie.wall.ns - tie.mono.ns,
        .pid = f->pid,
        .progress = write_in_time,
        .ctx = w,
    };
    const int rc = import_file(&ask, &got, e);
    if (rc == 0)
        import_put_losses(&got.result, writer_sink(w));
    return rc;
}

static int keep_file(struct details *d, const char *path, const struct window_file *f,
                     struct err *e)
{
    struct writer *w;
    const struct rundir_window x = {.node_path = d->ask.node,
                                    .session = d->ask.session,
                                    .pid = f->pid,
                                    .window = f->k,
                                    .python = strcmp(f->kind, "python") == 0};
    int rc = rundir_open_window(&w, &x, e);
    if (rc)
        return rc;
    rc = import_into(w, path, f, e);
    if (rc == 0)
        return writer_close(w, e);
    writer_discard(w);
    return rc;
}

/* Saved tensors are stored as they are. */
static int details_keep_saved(struct details *d, const char *path, const struct window_file *f,
                              struct err *e)
{
    struct fmap m;
    TRY(fmap_open(path, false, &m, e));
    const int rc =
        m.len > SAVED_MOST
            ? err_set(e, ERR_LIMIT, "'%s' has more than %lld bytes", f->name, (long long)SAVED_MOST)
            : run_put_saved(d->ask.node, d->ask.session, f->name, m.p, m.len, e);
    fmap_close(&m);
    return rc;
}

static void take_file(struct details *d, const struct window_file *f)
{
    char path[PATH_LEN];
    struct err e;
    if (path_join(path, &e, "%s/%s", d->ask.rings, f->name))
        return;
    if (strcmp(f->kind, "tensors") == 0 ? details_keep_saved(d, path, f, &e)
                                        : keep_file(d, path, f, &e))
        sink_loss(d->ask.losses, LOSS_DETAIL, LOST_PART(f->name), "%s", e.msg);
    unlink(path);
}

/* ---- the thread ---- */

static void take_all(struct details *d)
{
    DIR *dir = opendir(d->ask.rings);
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir));) {
        struct window_file f;
        if (window_file_parse(&f, entry->d_name))
            take_file(d, &f);
    }
    closedir(dir);
}

static bool wait_for_news(struct details *d)
{
    pthread_mutex_lock(&d->lock);
    while (!d->news && !d->stop)
        pthread_cond_wait(&d->changed, &d->lock);
    const bool news = d->news;
    d->news = false;
    pthread_mutex_unlock(&d->lock);
    return news;
}

static void *details_main(void *arg)
{
    struct details *d = arg;
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), LEAST_PRIORITY); /* this thread's alone */
    while (wait_for_news(d))
        take_all(d);
    return NULL;
}

/* ---- opening and closing ---- */

struct details *details_open(const struct details_ask *ask)
{
    struct details *d = xcalloc(1, sizeof *d);
    d->ask = *ask;
    pthread_mutex_init(&d->lock, NULL);
    thread_cond_init(&d->changed);
    return d;
}

static bool details_start(struct details *d)
{
    struct err e;
    if (!d->started && thread_start(&d->thread, STACK, details_main, d, "fp-detail", &e))
        sink_loss(d->ask.losses, LOSS_DETAIL, LOST_PART("detail"), "%s", e.msg);
    else
        d->started = true;
    return d->started;
}

void details_look(struct details *d)
{
    if (details_start(d))
        thread_set_flag(&d->news, &d->lock, &d->changed);
}

void details_close(struct details *d)
{
    if (!d)
        return;
    thread_set_flag(&d->stop, &d->lock, &d->changed);
    if (d->started)
        pthread_join(d->thread, NULL);
    take_all(d);
    pthread_mutex_destroy(&d->lock);
    pthread_cond_destroy(&d->changed);
    free(d);
}
