/* SPDX-License-Identifier: Apache-2.0 */
/* bytes_ahead.c - see bytes_ahead.h. Pieces go round: the thread fills those that are free, in
 * order. The lock guards the counts; the bytes of a piece are whose turn it is. */
#include "base/bytes_ahead.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { PIECES = 4, PIECE_BYTES = 128 << 10 };

struct piece {
    size_t len;
    uint8_t bytes[PIECE_BYTES];
};

struct bytes_ahead {
    struct bytes_in in; /* first: the source is the reader */
    struct bytes_in *from;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t filled, taken; /* pieces, since the beginning */
    size_t at;              /* in the piece that is being taken */
    int64_t last;           /* what `from` said at its end; 1: it goes on */
    struct err failed;      /* when that is negative */
    bool stop;
    struct piece ring[PIECES];
};

/* ---- the thread ---- */

static bool wait_for_room(struct bytes_ahead *a)
{
    pthread_mutex_lock(&a->lock);
    while (a->filled - a->taken == PIECES && !a->stop)
        pthread_cond_wait(&a->changed, &a->lock);
    const bool go_on = !a->stop;
    pthread_mutex_unlock(&a->lock);
    return go_on;
}

static int64_t fill(struct bytes_ahead *a, struct piece *p, struct err *e)
{
    int64_t n = 1;
    for (p->len = 0; p->len < PIECE_BYTES && n > 0;) {
        n = a->from->read(a->from, p->bytes + p->len, PIECE_BYTES - p->len, e);
        p->len += n > 0 ? (size_t)n : 0;
    }
    return n > 0 ? 1 : n;
}

static void *read_all(void *arg)
{
    struct bytes_ahead *a = arg;
    int64_t n = 1;
    while (n > 0 && wait_for_room(a)) {
        struct err e = {0};
        struct piece *p = &a->ring[a->filled % PIECES]; /* only this thread counts it up */
        n = fill(a, p, &e);
        pthread_mutex_lock(&a->lock);
        a->filled += p->len > 0;
        a->last = n;
        a->failed = e;
        pthread_cond_signal(&a->changed);
        pthread_mutex_unlock(&a->lock);
    }
    return NULL;
}

/* ---- the reader ---- */

/* NULL: there is no other. */
static const struct piece *wait_for_piece(struct bytes_ahead *a)
{
    pthread_mutex_lock(&a->lock);
    while (a->filled == a->taken && a->last > 0)
        pthread_cond_wait(&a->changed, &a->lock);
    const bool some = a->filled > a->taken;
    pthread_mutex_unlock(&a->lock);
    return some ? &a->ring[a->taken % PIECES] : NULL;
}

static void give_back(struct bytes_ahead *a)
{
    pthread_mutex_lock(&a->lock);
    a->taken++;
    a->at = 0;
    pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->lock);
}

static int64_t read_ahead(struct bytes_in *in, void *to, size_t most, struct err *e)
{
    struct bytes_ahead *a = (struct bytes_ahead *)in;
    const struct piece *p = wait_for_piece(a);
    if (!p) {
        if (a->last < 0)
            *e = a->failed;
        return a->last;
    }
    const size_t n = MIN_OF(most, p->len - a->at);
    memcpy(to, p->bytes + a->at, n);
    a->at += n;
    if (a->at == p->len)
        give_back(a);
    return (int64_t)n;
}

/* ---- both ---- */

/* Signals are for the thread that everything else runs in. */
static bool start(struct bytes_ahead *a)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started = pthread_create(&a->thread, NULL, read_all, a) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

static void free_ahead(struct bytes_ahead *a)
{
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

struct bytes_ahead *bytes_ahead_open(struct bytes_in *from)
{
    struct bytes_ahead *a = xmalloc(sizeof *a);
    memset(a, 0, offsetof(struct bytes_ahead, ring));
    a->in.read = read_ahead;
    a->from = from;
    a->last = 1;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->changed, NULL);
    if (start(a))
        return a;
    free_ahead(a);
    return NULL;
}

struct bytes_in *bytes_ahead_bytes(struct bytes_ahead *a)
{
    return &a->in;
}

void bytes_ahead_close(struct bytes_ahead *a)
{
    if (!a)
        return;
    pthread_mutex_lock(&a->lock);
    a->stop = true;
    pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->lock);
    pthread_join(a->thread, NULL);
    free_ahead(a);
}
