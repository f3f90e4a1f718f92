/* SPDX-License-Identifier: Apache-2.0 */
/* A file system that is really full: a small tmpfs in a mount namespace of the test's own. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/eventkit.h"
#include "test.h"

struct job {
    struct writer *w;
    struct group g;
    struct kit_random random;
    int64_t row;
    char dir[PATH_LEN];
};

static void mount_small(struct job *j, unsigned kib)
{
    char options[32];
    *j = (struct job){.random = {6}};
    snprintf(j->dir, sizeof j->dir, "%s", kit_path("full"));
    snprintf(options, sizeof options, "size=%uk", kib);
    kit_mkdir(j->dir);
    if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("tmpfs", j->dir, "tmpfs", 0, options) < 0)
        SKIP("mounting a small file system takes root");
}

static void resize(struct job *j, unsigned kib)
{
    char options[32];
    snprintf(options, sizeof options, "size=%uk", kib);
    CHECK(mount("tmpfs", j->dir, "tmpfs", MS_REMOUNT, options) == 0);
}

static void start(struct job *j)
{
    struct err e;
    OK(writer_open(&j->w, j->dir, &e));
    group_open(&j->g, "noise", 100 * NS_PER_MS);
    for (int i = 0; i < 16; i++) {
        char name[16];
        snprintf(name, sizeof name, "gpu%d", i);
        group_add(&j->g, M_GPU_CLOCK_SM, name);
    }
}

/* Noise of two or three bytes a cell, which no codec makes small. */
static void add_rows(struct job *j, int n)
{
    for (int i = 0; i < n; i++) {
        for (slot_id s = 0; s < j->g.n; s++)
            j->g.cells[s] = (int64_t)kit_below(&j->random, 1 << 20);
        j->row++;
        group_commit(&j->g, writer_sink(j->w), (mono_ns){j->row * 100 * NS_PER_MS});
    }
}

static void finish(struct job *j)
{
    group_close(&j->g);
    CHECK(umount2(j->dir, MNT_DETACH) == 0); /* so that the folder can be removed */
}

static struct writer_stats stats_of(struct job *j)
{
    struct writer_stats st;
    writer_get_stats(j->w, &st);
    return st;
}

static void fill(void)
{
    const int fd = open(kit_path("full/filler"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    char zeros[4096] = {0};
    CHECK(fd >= 0);
    while (write(fd, zeros, sizeof zeros) > 0)
        ;
    CHECK_INT(errno, ENOSPC);
    close(fd);
}

static struct store *open_it(void)
{
    struct store *s;
    struct err e;
    OK(store_open(&s, kit_path("full/metrics.fp"), &e));
    return s;
}

/* Everything accepted is there once, in order, and the rest is counted. */
static void check_all(struct job *j, uint64_t dropped)
{
    struct store *s = open_it();
    struct kit_dump d = kit_dump_store(s);
    CHECK_INT(s->rows, (uint64_t)j->row - dropped);
    CHECK_INT(d.n, s->rows * j->g.n);
    for (size_t i = 1; i < d.n; i++)
        CHECK(strcmp(d.v[i].entity, d.v[i - 1].entity) != 0 || d.v[i].t_us > d.v[i - 1].t_us);
    CHECK_INT(store_verify(s), 0);
    CHECK_INT(kit_count_loss(s, LOSS_DISK_FULL), dropped);
    kit_free(&d);
    store_close(s);
}

/* Sealing is tried again only after some seconds. */
static void flush_until_it_works(struct job *j)
{
    struct err e = {0};
    for (int i = 0; i < 200; i++) {
        if (writer_flush(j->w, true, &e) == 0)
            return;
        usleep(100000);
    }
    test_fail(__FILE__, __LINE__, "still failing: %s", e.msg);
}

TEST(rows_wait_while_the_disk_is_full_and_none_is_lost_when_it_is_short)
{
    struct job j;
    struct err e;
    mount_small(&j, 4096);
    start(&j);
    add_rows(&j, 100);
    OK(writer_flush(j.w, true, &e));
    fill();
    for (int i = 0; i < 20; i++) {
        add_rows(&j, 100);
        if (writer_flush(j.w, true, &e))
            CHECK_INT(e.sys, ENOSPC);
    }
    CHECK_INT(stats_of(&j).write_errno, ENOSPC);
    CHECK_INT(stats_of(&j).rows_dropped, 0);
    struct store *s = open_it(); /* readable while it is full */
    CHECK(s->rows >= 100);
    store_close(s);
    unlink(kit_path("full/filler"));
    add_rows(&j, 10);
    flush_until_it_works(&j);
    CHECK_INT(stats_of(&j).write_errno, 0);
    OK(writer_close(j.w, &e));
    check_all(&j, 0);
    finish(&j);
}

TEST(a_disk_that_stays_full_drops_rows_counts_them_and_recording_resumes)
{
    struct job j;
    struct err e;
    mount_small(&j, 8192);
    start(&j);
    add_rows(&j, 50);
    OK(writer_flush(j.w, true, &e));
    fill();
    while (stats_of(&j).rows_dropped < 1000) {
        add_rows(&j, 200);
        (void)!writer_flush(j.w, true, &e);
    }
    const uint64_t dropped = stats_of(&j).rows_dropped;
    unlink(kit_path("full/filler"));
    flush_until_it_works(&j);
    add_rows(&j, 50);
    flush_until_it_works(&j);
    CHECK_INT(stats_of(&j).rows_dropped, dropped);
    OK(writer_close(j.w, &e));
    check_all(&j, dropped);
    finish(&j);
}

struct watch {
    atomic_bool done;
    char path[PATH_LEN];
};

static void *keep_reading(void *arg)
{
    struct watch *w = arg;
    while (!atomic_load(&w->done)) {
        struct kit_dump d = kit_dump_path(w->path);
        kit_free(&d);
    }
    return NULL;
}

/* The tail fits, its blocks beside it do not: sealing fails half-way, again and again. */
TEST(a_disk_that_fills_up_while_sealing_keeps_the_tail_and_seals_later)
{
    struct job j;
    struct err e;
    struct watch watch = {0};
    pthread_t reader;
    bool failed = false;
    mount_small(&j, 1400);
    start(&j);
    snprintf(watch.path, sizeof watch.path, "%s", kit_path("full/metrics.fp"));
    CHECK(pthread_create(&reader, NULL, keep_reading, &watch) == 0);
    for (int i = 0; i < 260; i++) {
        add_rows(&j, 100);
        failed |= writer_flush(j.w, false, &e) != 0;
    }
    CHECK(failed);
    const uint64_t dropped = stats_of(&j).rows_dropped;
    struct store *s = open_it();
    CHECK(s->rows > 0 && store_verify(s) == 0);
    store_close(s);
    resize(&j, 16384);
    flush_until_it_works(&j);
    add_rows(&j, 100);
    flush_until_it_works(&j);
    atomic_store(&watch.done, true);
    pthread_join(reader, NULL);
    OK(writer_close(j.w, &e));
    check_all(&j, dropped);
    finish(&j);
}

TEST(closing_on_a_full_disk_is_an_error_and_what_was_flushed_reads)
{
    struct job j;
    struct err e;
    mount_small(&j, 2048);
    start(&j);
    add_rows(&j, 200);
    OK(writer_flush(j.w, true, &e));
    fill();
    add_rows(&j, 2000);
    CHECK_INT(writer_close(j.w, &e), ERR_SYS);
    CHECK_INT(e.sys, ENOSPC);
    struct store *s = open_it();
    CHECK(!s->closed);
    CHECK(s->rows >= 200);
    CHECK_INT(store_verify(s) + kit_count_loss(s, LOSS_TORN), 0);
    store_close(s);
    finish(&j);
}

TEST(opening_on_a_full_disk_is_an_error_with_its_reason)
{
    struct job j;
    struct err e;
    mount_small(&j, 256);
    fill();
    CHECK_INT(writer_open(&j.w, j.dir, &e), ERR_SYS);
    CHECK(strstr(e.msg, "No space left"));
    unlink(kit_path("full/filler"));
    start(&j);
    CHECK_INT(writer_session(j.w), 1); /* the failed one left nothing behind */
    add_rows(&j, 10);
    OK(writer_close(j.w, &e));
    finish(&j);
}

/* Spans whose times are noise: seven bytes each in the tail. */
static void tell_spans(struct job *j, struct writer *w, int n)
{
    const struct track t = kit_track(0);
    struct event v[100];
    for (int i = 0; i < n; i += (int)COUNT_OF(v)) {
        for (size_t k = 0; k < COUNT_OF(v); k++) {
            j->row++;
            v[k] = (struct event){.at = {j->row * NS_PER_MS}, .kind = EVENT_SPAN, .name = "x"};
            v[k].dur_ns = (int64_t)kit_below(&j->random, NS_PER_MS);
        }
        writer_sink(w)->ops->events(writer_sink(w), &t, v, COUNT_OF(v));
    }
}

/* Each accepted event once, in order; the others counted. */
static void check_events(const struct job *j, const struct writer_stats *st)
{
    struct store *s;
    struct err e;
    OK(store_open(&s, kit_path("full/events.fp"), &e));
    struct kit_events got = kit_events_of(s);
    CHECK_INT(got.n, st->events);
    CHECK_INT(got.n, (uint64_t)j->row - st->events_dropped);
    for (size_t i = 1; i < got.n; i++)
        CHECK(got.v[i].event.at.ns > got.v[i - 1].event.at.ns);
    CHECK_INT(got.v[got.n - 1].event.at.ns, j->row * NS_PER_MS); /* recording went on */
    CHECK_INT(kit_count_loss(s, LOSS_DISK_FULL), st->events_dropped);
    CHECK_STR(loss_what(&s->losses[0], (char[ENTITY_LEN]){0}), "events");
    CHECK_INT(store_verify(s), 0);
    kit_events_free(&got);
    store_close(s);
}

TEST(a_disk_that_stays_full_drops_events_counts_them_and_recording_resumes)
{
    struct job j;
    struct err e;
    struct writer_stats st = {0};
    mount_small(&j, 131072);
    struct kit_pair w = kit_open_pair(j.dir);
    tell_spans(&j, w.events, 1000);
    OK(writer_flush(w.events, true, &e));
    fill();
    while (st.events_dropped < 100000) {
        tell_spans(&j, w.events, 100000);
        (void)!writer_flush(w.events, true, &e);
        writer_get_stats(w.events, &st);
    }
    CHECK_INT(st.write_errno, ENOSPC);
    unlink(kit_path("full/filler"));
    j.w = w.events;
    flush_until_it_works(&j);
    tell_spans(&j, w.events, 1000);
    flush_until_it_works(&j);
    writer_get_stats(w.events, &st);
    kit_close_pair(&w);
    check_events(&j, &st);
    CHECK(umount2(j.dir, MNT_DETACH) == 0);
}
