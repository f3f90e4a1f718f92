/* SPDX-License-Identifier: Apache-2.0 */
/* heavy.c - see heavy.h. */
#include "serve/heavy.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"
#include "serve/heap.h"

enum { TOGETHER_MOST = 24 << 20 }; /* bytes of files that are worked on at once */

struct heavy {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t bytes; /* that are worked on */
    unsigned n;     /* who do */
};

struct heavy *heavy_open(void)
{
    struct heavy *h = xcalloc(1, sizeof *h);
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->changed, NULL);
    return h;
}

void heavy_close(struct heavy *h)
{
    if (!h)
        return;
    pthread_cond_destroy(&h->changed);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

uint64_t heavy_begin(struct heavy *h, uint64_t bytes)
{
    pthread_mutex_lock(&h->lock);
    while (h->n && h->bytes + bytes > TOGETHER_MOST)
        pthread_cond_wait(&h->changed, &h->lock);
    h->n++;
    h->bytes += bytes;
    pthread_mutex_unlock(&h->lock);
    return bytes;
}

void heavy_end(struct heavy *h, uint64_t bytes)
{
    heap_give_back();
    pthread_mutex_lock(&h->lock);
    h->n--;
    h->bytes -= bytes;
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->lock);
}
