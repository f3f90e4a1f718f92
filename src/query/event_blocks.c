/* SPDX-License-Identifier: Apache-2.0 */
/* event_blocks.c - see event_blocks.h. The thread that decodes ahead puts blocks into a short
 * queue; the lock guards the queue, the memory that is given back and `stop`. */
#include "query/event_blocks.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"

enum {
    AHEAD = 2,               /* blocks in the queue */
    AHEAD_FROM_ROWS = 50000, /* fewer are decoded before a thread has begun */
    AHEAD_BLOCK_ROWS = 1000, /* of fewer in a block handing them over costs more than they do */
};

struct event_blocks {
    struct event_want want;
    struct codec *codec; /* of who decodes: the thread when there is one */
    struct event_source *spare;
    const struct event_track *const *tracks;
    size_t n_tracks;
    pthread_t thread;
    bool threaded, stop;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct event_source *queue[AHEAD];
    size_t first, n;
};

/* ---- decoding ---- */

static struct event_source *new_source(struct event_blocks *b)
{
    struct event_source *s = b->spare;
    if (s)
        b->spare = s->next;
    return s ? s : xcalloc(1, sizeof *s);
}

static void decode(struct event_blocks *b, const struct event_track *t, uint32_t place,
                   struct event_source *s)
{
    s->row = 0;
    s->place = place;
    s->good =
        event_columns_read(&s->columns, b->codec, event_block_of(t, place), &b->want, &s->texts);
}

/* ---- the thread ---- */

/* Memory for the next block, when the queue has a place for it; NULL: nobody wants it any more. */
static struct event_source *wait_for_place(struct event_blocks *b)
{
    struct event_source *s = NULL;
    pthread_mutex_lock(&b->lock);
    while (b->n == AHEAD && !b->stop)
        pthread_cond_wait(&b->changed, &b->lock);
    if (!b->stop)
        s = new_source(b);
    pthread_mutex_unlock(&b->lock);
    return s;
}

static void put(struct event_blocks *b, struct event_source *s)
{
    pthread_mutex_lock(&b->lock);
    b->queue[(b->first + b->n++) % AHEAD] = s;
    pthread_cond_signal(&b->changed);
    pthread_mutex_unlock(&b->lock);
}

static void *decode_all(void *arg)
{
    struct event_blocks *b = arg;
    for (size_t i = 0; i < b->n_tracks; i++)
        for (uint32_t k = 0; k < b->tracks[i]->n_blocks; k++) {
            struct event_source *s = wait_for_place(b);
            if (!s)
                return NULL;
            decode(b, b->tracks[i], k, s);
            put(b, s);
        }
    return NULL;
}

static struct event_source *wait_for_block(struct event_blocks *b)
{
    pthread_mutex_lock(&b->lock);
    while (b->n == 0)
        pthread_cond_wait(&b->changed, &b->lock);
    struct event_source *s = b->queue[b->first];
    b->first = (b->first + 1) % AHEAD;
    b->n--;
    pthread_cond_signal(&b->changed);
    pthread_mutex_unlock(&b->lock);
    return s;
}

static void stop_thread(struct event_blocks *b)
{
    pthread_mutex_lock(&b->lock);
    b->stop = true;
    pthread_cond_signal(&b->changed);
    pthread_mutex_unlock(&b->lock);
    pthread_join(b->thread, NULL);
}

static bool pays(const struct event_track *const *tracks, size_t n)
{
    uint64_t rows = 0, blocks = 0;
    for (size_t i = 0; i < n; i++) {
        rows += tracks[i]->track.events;
        blocks += tracks[i]->n_blocks;
    }
    return rows >= AHEAD_FROM_ROWS && rows >= blocks * AHEAD_BLOCK_ROWS &&
           sysconf(_SC_NPROCESSORS_ONLN) > 1;
}

void event_blocks_ahead(struct event_blocks *b, const struct event_track *const *tracks, size_t n)
{
    assert(!b->threaded);
    b->tracks = tracks;
    b->n_tracks = n;
    b->threaded = pays(tracks, n) && pthread_create(&b->thread, NULL, decode_all, b) == 0;
}

/* ---- for the caller ---- */

struct event_source *event_blocks_take(struct event_blocks *b, const struct event_track *t,
                                       uint32_t place, struct arena *texts)
{
    struct event_source *s = b->threaded ? wait_for_block(b) : new_source(b);
    if (!b->threaded)
        decode(b, t, place, s);
    assert(s->place == place);
    arena_join(texts, &s->texts);
    if (s->good)
        return s;
    event_blocks_give(b, s);
    return NULL;
}

void event_blocks_give(struct event_blocks *b, struct event_source *s)
{
    pthread_mutex_lock(&b->lock);
    s->next = b->spare;
    b->spare = s;
    pthread_mutex_unlock(&b->lock);
}

struct event_blocks *event_blocks_open(const struct event_want *want)
{
    struct event_blocks *b = xcalloc(1, sizeof *b);
    b->want = *want;
    b->codec = codec_open();
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->changed, NULL);
    return b;
}

size_t event_blocks_memory(const struct event_blocks *b)
{
    size_t bytes = sizeof *b + codec_memory(b->codec);
    assert(!b->threaded);
    for (const struct event_source *s = b->spare; s; s = s->next)
        bytes += sizeof *s + event_columns_memory(&s->columns);
    return bytes;
}

void event_blocks_close(struct event_blocks *b)
{
    if (!b)
        return;
    if (b->threaded)
        stop_thread(b);
    for (; b->n; b->n--, b->first = (b->first + 1) % AHEAD)
        event_blocks_give(b, b->queue[b->first]);
    for (struct event_source *s; (s = b->spare);) {
        b->spare = s->next;
        event_columns_free(&s->columns);
        arena_free(&s->texts);
        free(s);
    }
    pthread_cond_destroy(&b->changed);
    pthread_mutex_destroy(&b->lock);
    codec_close(b->codec);
    free(b);
}
