/* SPDX-License-Identifier: Apache-2.0 */
/* details.c - see details.h. */
#include "agent/details.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/thread.h"
#include "base/file.h"
#include "base/mem.h"
#include "import/import_file.h"

enum {
    STACK = 512 * 1024,
    PENDING_MOST = 1 << 20, /* bytes that wait for the disk while a trace is read */
    LEAST_PRIORITY = 19,
};

struct details {
    char folder[PATH_LEN];
    struct writer *node;
    struct sink *losses;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool started; /* the caller's own */
    bool news, stop;
};

/* ---- one file ---- */

struct window_file {
    const char *name;
    char kind[16];
    unsigned pid, k;
};

static bool parse_name(struct window_file *f, const char *name)
{
    int end = 0;
    f->name = name;
    if (sscanf(name, "%15[a-z]-%9u-%9u.json%n", f->kind, &f->pid, &f->k, &end) != 3 || end == 0)
        return false;
    if (name[end] != '\0' && strcmp(name + end, ".gz") != 0)
        return false;
    return strcmp(f->kind, "detail") == 0 || strcmp(f->kind, "python") == 0;
}

bool details_is_one(const char *name)
{
    struct window_file unused;
    return parse_name(&unused, name);
}

/* Stands before the writer's own sink and writes in time: a trace comes faster than once a second
 * would do. */
struct pump {
    struct sink sink;
    struct writer *w;
    struct err e;
    int rc; /* of the first write that failed */
};

static void pump_events(struct sink *s, const struct track *t, const struct event *v, size_t n)
{
    struct pump *p = (struct pump *)s;
    struct sink *to = writer_sink(p->w);
    to->ops->events(to, t, v, n);
    if (p->rc == 0 && writer_pending(p->w) > PENDING_MOST)
        p->rc = writer_flush(p->w, false, &p->e);
}

static void pump_loss(struct sink *s, const struct loss *l)
{
    struct sink *to = writer_sink(((struct pump *)s)->w);
    to->ops->loss(to, l);
}

static void pump_mark(struct sink *s, const struct mark *m)
{
    struct sink *to = writer_sink(((struct pump *)s)->w);
    to->ops->mark(to, m);
}

static const struct sink_ops pump_ops = {
    .loss = pump_loss, .mark = pump_mark, .events = pump_events};

/* A disk that takes no more ends the import. */
static int check_pump(void *ctx, uint64_t done, uint64_t all, struct err *e)
{
    struct pump *p = ctx;
    (void)done;
    (void)all;
    if (p->rc)
        *e = p->e;
    return p->rc;
}

static int import_into(struct writer *w, const char *path, const struct window_file *f,
                       struct err *e)
{
    const struct clock_tie tie = clock_tie_now();
    struct pump pump = {.sink = {&pump_ops}, .w = w};
    struct import_file_result got;
    const struct import_file_ask ask = {
        .path = path,
        .sink = &pump.sink,
        .wall_minus_mono_ns = tie.wall.ns - tie.mono.ns,
        .pid = f->pid,
        .progress = check_pump,
        .ctx = &pump,
    };
    const int rc = import_file(&ask, &got, e);
    return rc ? rc : check_pump(&pump, 0, 0, e);
}

static int keep_file(struct details *d, const char *path, const struct window_file *f,
                     struct err *e)
{
    char name[64];
    struct writer *w;
    struct err later;
    snprintf(name, sizeof name, "trace-%u-%s%u", f->pid,
             strcmp(f->kind, "python") == 0 ? "python-" : "", f->k);
    int rc = writer_open_beside(&w, d->node, name, e);
    if (rc)
        return rc;
    rc = import_into(w, path, f, e);
    const int closed = writer_close(w, rc ? &later : e);
    return rc ? rc : closed;
}

static void take_file(struct details *d, const struct window_file *f)
{
    char path[PATH_LEN];
    struct err e;
    if (path_join(path, &e, "%s/%s", d->folder, f->name))
        return;
    if (keep_file(d, path, f, &e))
        sink_loss(d->losses, LOSS_DETAIL, f->name, "%s", e.msg);
    unlink(path);
}

/* ---- the thread ---- */

static void take_all(struct details *d)
{
    DIR *dir = opendir(d->folder);
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir));) {
        struct window_file f;
        if (parse_name(&f, entry->d_name))
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

struct details *details_open(const char *folder, struct writer *w)
{
    struct details *d = xcalloc(1, sizeof *d);
    snprintf(d->folder, sizeof d->folder, "%s", folder);
    d->node = w;
    d->losses = writer_sink(w);
    pthread_mutex_init(&d->lock, NULL);
    thread_cond_init(&d->changed);
    return d;
}

static bool start(struct details *d)
{
    struct err e;
    if (!d->started && thread_start(&d->thread, STACK, details_main, d, "fp-detail", &e))
        sink_loss(d->losses, LOSS_DETAIL, "detail", "%s", e.msg);
    else
        d->started = true;
    return d->started;
}

void details_look(struct details *d)
{
    if (!start(d))
        return;
    pthread_mutex_lock(&d->lock);
    d->news = true;
    pthread_mutex_unlock(&d->lock);
    pthread_cond_signal(&d->changed);
}

void details_close(struct details *d)
{
    if (!d)
        return;
    pthread_mutex_lock(&d->lock);
    d->stop = true;
    pthread_mutex_unlock(&d->lock);
    pthread_cond_signal(&d->changed);
    if (d->started)
        pthread_join(d->thread, NULL);
    take_all(d);
    pthread_mutex_destroy(&d->lock);
    pthread_cond_destroy(&d->changed);
    free(d);
}
