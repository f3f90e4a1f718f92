/* SPDX-License-Identifier: Apache-2.0 */
/* flusher.c - see flusher.h. */
#include "agent/flusher.h"

#include "base/thread.h"
#include "run/rundir.h"

enum { STACK = 128 * 1024 };

#define FLUSH_NS (850 * NS_PER_MS) /* with the writing itself, rows are safe within a second */
#define RETRY_NS NS_PER_S
/* Written rows survive the recorder at once, and the machine after this. Waiting for the medium
 * more often would cost more than the sampling, and could delay the job's own writes. */
#define SYNC_NS (5 * NS_PER_S)

/* The process that sends the run makes room by removing what has arrived. */
static bool flusher_is_full(const struct flusher *f)
{
    return f->spool && rundir_disk_bytes(f->spool) > f->spool_most;
}

/* All are tried: room for the small file may come back first. */
static int write_all(struct flusher *f, struct err *e)
{
    struct err other;
    const mono_ns now = clock_mono();
    const bool durable = mono_diff(now, f->synced) >= SYNC_NS;
    const int node = nodefile_write(f->node, e);
    pthread_mutex_lock(&f->writing);
    const bool full = flusher_is_full(f);
    writer_hold(f->writer, full);
    int rows = writer_flush(f->writer, durable, node ? &other : e);
    if (f->more) {
        writer_hold(f->more, full);
        const int more = writer_flush(f->more, durable, node || rows ? &other : e);
        rows = rows ? rows : more;
    }
    pthread_mutex_unlock(&f->writing);
    if (durable)
        f->synced = now;
    return node ? node : rows;
}

/* Waits until there is something to do; false: stop. */
static bool wait_for_work(struct flusher *f, bool failing)
{
    pthread_mutex_lock(&f->lock);
    while (!f->wanted && !f->stop) {
        if (!failing)
            pthread_cond_wait(&f->wake, &f->lock);
        else if (!thread_wait(&f->wake, &f->lock, mono_add(clock_mono(), RETRY_NS)))
            break;
    }
    const bool go_on = !f->stop;
    f->wanted = false;
    pthread_mutex_unlock(&f->lock);
    return go_on;
}

static void *flusher_main(void *arg)
{
    struct flusher *f = arg;
    bool failing = false;
    while (wait_for_work(f, failing)) {
        struct err e = {0};
        const bool failed = write_all(f, &e) != 0;
        if (failed != failing)
            f->on_trouble(f->ctx, failed ? e.msg : NULL);
        failing = failed;
    }
    return NULL;
}

int flusher_start(struct flusher *f, struct writer *w, struct nodefile *node, int64_t interval_ns,
                  void (*on_trouble)(void *ctx, const char *why), void *ctx, struct err *e)
{
    *f = (struct flusher){
        .writer = w,
        .node = node,
        .on_trouble = on_trouble,
        .ctx = ctx,
        .synced = clock_mono(),
        .last_ns = clock_mono().ns,
        .interval_ns = interval_ns,
    };
    pthread_mutex_init(&f->writing, NULL);
    pthread_mutex_init(&f->lock, NULL);
    thread_cond_init(&f->wake);
    return thread_start(&f->thread, STACK, flusher_main, f, "fp-disk", e);
}

void flusher_add(struct flusher *f, struct writer *more)
{
    pthread_mutex_lock(&f->writing);
    f->more = more;
    pthread_mutex_unlock(&f->writing);
}

void flusher_limit(struct flusher *f, const char *node_path, uint64_t most)
{
    pthread_mutex_lock(&f->writing);
    f->spool = node_path;
    f->spool_most = most;
    pthread_mutex_unlock(&f->writing);
}

void flusher_poke_now(struct flusher *f, mono_ns now)
{
    atomic_store_explicit(&f->last_ns, now.ns, memory_order_relaxed);
    thread_set_flag(&f->wanted, &f->lock, &f->wake);
}

void flusher_poke(struct flusher *f, mono_ns now)
{
    const int64_t last = atomic_load_explicit(&f->last_ns, memory_order_relaxed);
    if (now.ns - last >= FLUSH_NS ||
        atomic_load_explicit(&f->interval_ns, memory_order_relaxed) > FLUSH_NS)
        flusher_poke_now(f, now);
}

void flusher_stop(struct flusher *f)
{
    thread_set_flag(&f->stop, &f->lock, &f->wake);
    pthread_join(f->thread, NULL);
}
