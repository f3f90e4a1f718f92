/* SPDX-License-Identifier: Apache-2.0 */
/* jobevents.c - see jobevents.h. */
#include "agent/jobevents.h"

#include <dirent.h>
#include <inttypes.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "agent/helper.h"
#include "agent/jobinfo.h"
#include "base/mem.h"
#include "base/thread.h"
#include "ring/ring_folder.h"
#include "store/format.h"
#include "store/writer.h"

enum { STACK = 256 * 1024 };

/* How long the thread sleeps. A ring has room for 16 thousand events: a quarter of a million a
 * second from one thread fill it in 65 ms. */
#define BUSY_NS  (10 * NS_PER_MS) /* many come, or a process has just begun to emit */
#define CALM_NS  (50 * NS_PER_MS)
#define IDLE_NS  (100 * NS_PER_MS) /* nothing came for a second */
#define FRESH_NS NS_PER_S
#define RETRY_NS NS_PER_S
enum {
    MANY_EVENTS = 500,       /* in one drain: busy */
    PENDING_LARGE = 1 << 20, /* bytes that wait for the disk: do not wait for its turn */
};

struct job_events {
    /* The sink of spans, before the node's writer; first, so that it is the whole. */
    struct sink_pass pass;
    struct ring_folder *folder;
    struct job_events_ask ask;     /* from job_events_start on */
    struct writer *_Atomic writer; /* of the events; NULL: it could not be made yet */
    mono_ns retry;                 /* do not try to make events.fp before */
    uint64_t tail;                 /* of the writer, as last seen */
    uint64_t processes, lost;
    mono_ns last_event, begun; /* an event; a process */
    bool running;
    pthread_t thread;
    int inotify, wake; /* descriptors */
    atomic_bool stop;
    _Atomic uint64_t generation;
    uint64_t sent_generation; /* of it, what the processes know */
};

/* ---- from spans to the store ---- */

static bool have_writer(struct job_events *j)
{
    struct err e;
    const mono_ns now = clock_mono();
    if (j->writer)
        return true;
    if (mono_diff(now, j->retry) < 0)
        return false;
    struct writer *w;
    if (writer_open_beside(&w, j->ask.node, STORE_EVENTS, &e)) {
        sink_loss(j->pass.next, LOSS_WRITE, LOST_PART("events"), "%s", e.msg);
        j->retry = mono_add(now, RETRY_NS);
        return false;
    }
    j->tail = writer_tail(w);
    j->writer = w;
    flusher_add(j->ask.flusher, w);
    return true;
}

static void keep_events(struct sink *s, const struct track *t, const struct event *v, size_t n)
{
    struct job_events *j = (struct job_events *)s;
    if (!have_writer(j)) {
        j->lost += n;
        return;
    }
    struct sink *to = writer_sink(j->writer);
    to->ops->events(to, t, v, n);
}

static const struct sink_ops ops = {
    .loss = sink_pass_loss,
    .mark = sink_pass_mark,
    .events = keep_events,
};

/* ---- events of the rings ---- */

static void jobevents_on_events(void *arg, struct ring_reader *r, const struct ring_event *v,
                                size_t n)
{
    struct job_events *j = arg;
    spans_feed(*ring_reader_user(r), v, n, ring_reader_process(r)->same_ns ? j->ask.proc : NULL,
               &j->pass.sink);
}

static void jobevents_report_lost(struct job_events *j, struct ring_reader *r, uint64_t count,
                                  const char *why)
{
    char process[ENTITY_LEN];
    if (count == 0)
        return;
    snprintf(process, sizeof process, "process %" PRIu32, ring_reader_process(r)->pid);
    struct loss l = loss_of(LOSS_EVENTS, LOST_PART(process), "%s", why);
    l.count = count;
    l.at = clock_mono();
    sink_pass_loss(&j->pass.sink, &l);
    j->lost += count;
}

static void on_lost(void *arg, struct ring_reader *r, const struct ring_losses *more)
{
    struct job_events *j = arg;
    jobevents_report_lost(j, r, more->dropped, "events came faster than they could be recorded");
    jobevents_report_lost(j, r, more->no_ring, "the thread had no event buffer");
    jobevents_report_lost(j, r, more->torn, "the process ended while writing an event");
    jobevents_report_lost(j, r, more->bad, "invalid events");
    jobevents_report_lost(j, r, more->names, "too many different names");
}

static void on_begun(void *arg, struct ring_reader *r)
{
    struct job_events *j = arg;
    char name[TRACK_NAME_LEN];
    struct err ignored;
    const struct ring_process *p = ring_reader_process(r);
    process_label(name, sizeof name, p->same_ns ? j->ask.proc : NULL, p->pid);
    *ring_reader_user(r) = spans_open(p->pid, name);
    (void)!ring_reader_ask(r, atomic_load(&j->generation), &ignored);
    j->processes++;
    j->begun = clock_mono();
}

static void on_ended(void *arg, struct ring_reader *r)
{
    struct job_events *j = arg;
    spans_close(*ring_reader_user(r), &j->pass.sink);
    *ring_reader_user(r) = NULL;
}

static void on_broken(void *arg, struct ring_reader *r, const struct err *why)
{
    struct job_events *j = arg;
    sink_loss(j->pass.next, LOSS_EVENTS, LOST_PART("ring"), "%s", why->msg);
    if (r)
        on_ended(arg, r);
}

static void emit_open_again(void *arg, struct ring_reader *r)
{
    struct job_events *j = arg;
    spans_emit_again(*ring_reader_user(r), &j->pass.sink);
}

static void jobevents_ask(void *arg, struct ring_reader *r)
{
    struct job_events *j = arg;
    struct err ignored;
    (void)!ring_reader_ask(r, j->sent_generation, &ignored);
}

/* ---- the thread ---- */

static void jobevents_drain(struct job_events *j, size_t *events)
{
    struct err e;
    const uint64_t generation = atomic_load(&j->generation);
    *events = 0;
    if (ring_folder_drain(j->folder, events, &e))
        sink_loss(j->pass.next, LOSS_EVENTS, LOST_PART("rings"), "%s", e.msg);
    if (generation != j->sent_generation) {
        j->sent_generation = generation;
        ring_folder_each(j->folder, jobevents_ask, j);
    }
    if (j->writer && writer_tail(j->writer) != j->tail) {
        j->tail = writer_tail(j->writer);
        ring_folder_each(j->folder, emit_open_again, j);
    }
}

static void poke(struct job_events *j, mono_ns now)
{
    if (j->writer && writer_pending(j->writer) > PENDING_LARGE)
        flusher_poke_now(j->ask.flusher, now);
    else
        flusher_poke(j->ask.flusher, now);
}

/* Until a file appears when no process emits, else for as long as rings have room. -1: for good. */
static int64_t sleep_for(const struct job_events *j, size_t events, mono_ns now)
{
    if (ring_folder_waits(j->folder))
        return BUSY_NS;
    if (ring_folder_count(j->folder) == 0)
        return -1;
    if (events > MANY_EVENTS || mono_diff(now, j->begun) < FRESH_NS)
        return BUSY_NS;
    return mono_diff(now, j->last_event) < NS_PER_S ? CALM_NS : IDLE_NS;
}

/* New files: rings are seen by looking for them, windows are passed on. */
static void read_news(struct job_events *j)
{
    _Alignas(struct inotify_event) char news[4096];
    const struct inotify_event *v;
    const ssize_t n = read(j->inotify, news, sizeof news);
    for (ssize_t at = 0; at < n; at += (ssize_t)(sizeof *v + v->len)) {
        v = (const struct inotify_event *)(const void *)(news + at);
        struct window_file f;
        if (v->len && window_file_parse(&f, v->name))
            helper_request(j->ask.helper, HELPER_LOOK);
    }
}

static void jobevents_wait_for(struct job_events *j, int64_t ns)
{
    struct pollfd p[2] = {{.fd = j->wake, .events = POLLIN}, {.fd = j->inotify, .events = POLLIN}};
    const struct timespec ts = {.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
    uint64_t ignored;
    if (ppoll(p, 2, ns < 0 ? NULL : &ts, NULL) <= 0)
        return;
    if (p[0].revents)
        (void)!read(p[0].fd, &ignored, sizeof ignored);
    if (p[1].revents)
        read_news(j);
}

static void *events_main(void *arg)
{
    struct job_events *j = arg;
    size_t n = 0;
    while (!atomic_load(&j->stop)) {
        jobevents_drain(j, &n);
        const mono_ns now = clock_mono();
        if (n) {
            j->last_event = now;
            poke(j, now);
        }
        jobevents_wait_for(j, sleep_for(j, n, now));
    }
    return NULL;
}

/* ---- opening and closing ---- */

static void wake(struct job_events *j)
{
    (void)!write(j->wake, &(uint64_t){1}, sizeof(uint64_t));
}

static void job_events_free(struct job_events *j)
{
    ring_folder_close(j->folder, true);
    if (j->inotify >= 0)
        close(j->inotify);
    if (j->wake >= 0)
        close(j->wake);
    free(j);
}

int job_events_make(struct job_events **out, const char *otherwise, struct err *e)
{
    struct job_events *j = xcalloc(1, sizeof *j);
    const struct ring_folder_handler h = {
        .ring = {.events = jobevents_on_events, .lost = on_lost, .arg = j},
        .begun = on_begun,
        .ended = on_ended,
        .broken = on_broken,
    };
    j->pass.sink.ops = &ops;
    j->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    j->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int rc = ring_folder_make(&j->folder, otherwise, &h, e);
    if (rc == 0 && (j->inotify < 0 || j->wake < 0))
        rc = err_sys(e, "descriptors for events");
    if (rc == 0 &&
        inotify_add_watch(j->inotify, ring_folder_path(j->folder), IN_CREATE | IN_MOVED_TO) < 0)
        rc = err_sys(e, "watch '%s'", ring_folder_path(j->folder));
    if (rc) {
        job_events_free(j);
        return rc;
    }
    *out = j;
    return 0;
}

const char *job_events_folder(const struct job_events *j)
{
    return ring_folder_path(j->folder);
}

int job_events_configure(struct job_events *j, const struct buf *json, uint64_t generation,
                         struct err *e)
{
    char path[PATH_LEN];
    TRY(path_join(path, e, "%s/config.json", ring_folder_path(j->folder)));
    TRY(file_replace(path, json->p, json->len, e));
    atomic_store(&j->generation, generation);
    wake(j);
    return 0;
}

int job_events_start(struct job_events *j, const struct job_events_ask *ask, struct err *e)
{
    j->ask = *ask;
    j->pass.next = writer_sink(ask->node);
    have_writer(j);
    int rc = thread_start(&j->thread, STACK, events_main, j, "fp-events", e);
    j->running = rc == 0;
    return rc;
}

uint64_t job_events_bytes(const struct job_events *j)
{
    struct writer_stats st = {0};
    struct writer *w = j ? j->writer : NULL;
    if (w)
        writer_get_stats(w, &st);
    return st.bytes_written;
}

static void stop_thread(struct job_events *j)
{
    if (!j->running)
        return;
    atomic_store(&j->stop, true);
    wake(j);
    pthread_join(j->thread, NULL);
}

static void close_writer(struct job_events *j, struct job_events_result *out)
{
    struct err e;
    struct writer_stats st;
    flusher_add(j->ask.flusher, NULL);
    writer_get_stats(j->writer, &st);
    if (st.events + st.events_dropped == 0) {
        writer_discard(j->writer);
        return;
    }
    out->events = st.events;
    out->dropped += st.events_dropped;
    out->bytes_written = st.bytes_written;
    out->file_bytes = st.file_bytes;
    if (writer_close(j->writer, &e))
        sink_loss(j->pass.next, LOSS_WRITE, LOST_PART("events"), "%s", e.msg);
}

/* The note of a Python that cannot load our library; see the bootstrap's sitecustomize.py. */
static void find_too_old(const struct job_events *j, struct job_events_result *out)
{
    DIR *d = opendir(ring_folder_path(j->folder));
    for (const struct dirent *f; d && (f = readdir(d));) {
        char name[17];
        unsigned major, minor;
        if (sscanf(f->d_name, "old-%16[a-z]-%3u.%3u", name, &major, &minor) != 3)
            continue;
        if (strcmp(name, "python") == 0)
            snprintf(out->too_old, sizeof out->too_old, "Python %u.%u", major, minor);
        else
            snprintf(out->too_old, sizeof out->too_old, "%s (Python %u.%u)", name, major, minor);
    }
    if (d)
        closedir(d);
}

/* There is no helper, or none any more. */
static void jobevents_lose_windows(struct job_events *j)
{
    DIR *d = opendir(ring_folder_path(j->folder));
    struct window_file f;
    for (const struct dirent *x; d && (x = readdir(d));)
        if (window_file_parse(&f, x->d_name))
            sink_loss(j->pass.next, LOSS_DETAIL, LOST_PART(x->d_name),
                      "there was no helper process");
    if (d)
        closedir(d);
}

void job_events_stop(struct job_events *j, struct job_events_result *out)
{
    struct err e;
    size_t n;
    *out = (struct job_events_result){0};
    if (!j)
        return;
    stop_thread(j);
    find_too_old(j, out);
    if (j->running && ring_folder_finish(j->folder, &n, &e))
        sink_loss(j->pass.next, LOSS_EVENTS, LOST_PART("rings"), "%s", e.msg);
    /* Windows lie in the folder that is removed below. */
    if (j->running && !helper_wait(j->ask.helper, HELPER_CONVERT, HELPER_CONVERTED, -1))
        jobevents_lose_windows(j);
    out->processes = j->processes;
    out->dropped = j->lost;
    if (j->writer)
        close_writer(j, out);
    job_events_free(j);
}
