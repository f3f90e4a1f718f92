/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_ring.c - a ring file whose bytes are anybody's, read to its end and made into events.
 * The input is laid over a good file where a reader looks: one part for the header, one for the
 * heads of two rings, one for the first names, the rest for the first slots. Bytes are xored, so
 * that an input of zeros is the good file. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/jobevents.h"
#include "ring/ring_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

enum { EVENTS = 64, HEADER_PART = 88, HEADS_PART = 256, NAMES_PART = 256, SLOTS_PART = 4096 };

struct target {
    int fd;
    char path[64];
    uint8_t *good; /* the first bytes of the file, up to the end of the first SLOTS_PART */
    size_t len;
};

static struct target target = {.fd = -1, .path = "/tmp/fp-fuzz-XXXXXX"};

static void remove_file(void)
{
    unlink(target.path);
    free(target.good);
}

static void fill_good(uint8_t *at)
{
    const struct ring_file f = {
        .magic = RING_MAGIC,
        .version = RING_VERSION,
        .rings = RING_COUNT,
        .slots = RING_SLOTS,
        .names = RING_NAMES,
        .pid = 1,
        .clock = RING_CLOCK_MONOTONIC,
    };
    const struct ring_head h = {.head = EVENTS, .owner = 7};
    const struct ring_name name = {.ready = 1, .len = 4, .text = "name"};
    memcpy(at, &f, sizeof f);
    memcpy(at + RING_HEADS_AT, &h, sizeof h);
    memcpy(at + RING_NAMES_AT + sizeof name, &name, sizeof name);
    for (uint64_t i = 0; i < EVENTS; i++) {
        const uint64_t kind = 1 + i % (RING_KIND_END - 1);
        const struct ring_slot s = {i, kind << 32 | 1, i, i + 1};
        memcpy(at + RING_SLOTS_AT + i * sizeof s, &s, sizeof s);
    }
}

static void make_target(struct target *t)
{
    t->fd = mkstemp(t->path);
    t->len = RING_SLOTS_AT + SLOTS_PART;
    t->good = calloc(1, t->len);
    if (t->fd < 0 || !t->good || ftruncate(t->fd, (off_t)RING_FILE_BYTES) != 0)
        abort();
    atexit(remove_file);
    fill_good(t->good);
}

/* The next part of the input, xored over `most` good bytes. */
static void lay_over(const struct target *t, size_t at, size_t most, const uint8_t **p, size_t *n)
{
    uint8_t bytes[SLOTS_PART];
    memcpy(bytes, t->good + at, most);
    for (size_t i = 0; i < most && i < *n; i++)
        bytes[i] ^= (*p)[i];
    const size_t used = *n < most ? *n : most;
    *p += used;
    *n -= used;
    if (pwrite(t->fd, bytes, most, (off_t)at) != (ssize_t)most)
        abort();
}

static void keep_events(struct sink *s, const struct track *t, const struct event *v, size_t n)
{
    (void)s;
    for (size_t i = 0; i < n; i++)
        if (!v[i].name || strlen(v[i].name) >= EVENT_NAME_MOST ||
            (t->kind == TRACK_HEALTH && t->id >= HEALTH_N))
            abort();
}

static void keep_loss(struct sink *s, const struct loss *l)
{
    (void)s;
    if (l->count == 0)
        abort();
}

static const struct sink_ops ops = {.loss = keep_loss, .events = keep_events};
static struct sink sink = {.ops = &ops};

static void on_events(void *arg, struct ring_reader *r, const struct ring_event *v, size_t n)
{
    spans_feed(*ring_reader_user(r), v, n, NULL, &sink);
    for (size_t i = 0; i < n; i++) {
        if (v[i].kind == 0 || v[i].kind == RING_THREAD || v[i].kind >= RING_KIND_END ||
            strlen(v[i].name) >= RING_TEXT_LEN)
            abort();
        if (v[i].at.ns < *(int64_t *)arg)
            abort();
    }
}

static void on_lost(void *arg, struct ring_reader *r, const struct ring_losses *more)
{
    (void)arg;
    (void)r;
    (void)more;
}

static void read_all_of(const char *path)
{
    int64_t least = 0;
    const struct ring_handler h = {on_events, on_lost, &least};
    const struct ring_clock c = {.tie = {{1000, 1000}, {2000, 2000}}, .n = 2};
    struct ring_reader *r;
    struct err e;
    size_t n;
    if (ring_reader_open(&r, AT_FDCWD, path, &e) != 0)
        return;
    *ring_reader_user(r) = spans_open(1, "job");
    for (int i = 0; i < 4; i++)
        if (ring_reader_drain(r, &c, &h, &n, &e) != 0 || ring_reader_check(r) == RING_FINISHED)
            break;
    spans_close(*ring_reader_user(r), &sink);
    ring_reader_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct target *t = &target;
    if (t->fd < 0)
        make_target(t);
    lay_over(t, 0, HEADER_PART, &p, &n);
    lay_over(t, RING_HEADS_AT, HEADS_PART, &p, &n);
    lay_over(t, RING_NAMES_AT, NAMES_PART, &p, &n);
    lay_over(t, RING_SLOTS_AT, SLOTS_PART, &p, &n);
    read_all_of(t->path);
    return 0;
}
