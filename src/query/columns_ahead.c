/* SPDX-License-Identifier: Apache-2.0 */
/* columns_ahead.c - see columns_ahead.h. The lock guards all but `columns`, which is the thread's
 * where there is one. */
#include "query/columns_ahead.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"

struct columns_ahead {
    struct columns *columns;
    pthread_t thread;
    bool threaded;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct column_batch ready; /* n 0: none is */
    bool over, stop;
};

/* False: nobody wants another one. */
static bool wait_until_taken(struct columns_ahead *a)
{
    pthread_mutex_lock(&a->lock);
    while (a->ready.n && !a->stop)
        pthread_cond_wait(&a->changed, &a->lock);
    const bool go_on = !a->stop;
    pthread_mutex_unlock(&a->lock);
    return go_on;
}

static void give(struct columns_ahead *a, const struct column_batch *b)
{
    pthread_mutex_lock(&a->lock);
    a->over = b->n == 0;
    a->ready = *b;
    pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->lock);
}

/* The caller has at most the batch before the one that is made here. */
static void *make_all(void *arg)
{
    struct columns_ahead *a = arg;
    struct column_batch b = {.n = 1};
    while (b.n && wait_until_taken(a)) {
        if (!columns_next(a->columns, &b))
            b.n = 0;
        give(a, &b);
    }
    return NULL;
}

struct columns_ahead *columns_ahead_open(struct columns *c, bool pays)
{
    struct columns_ahead *a = xcalloc(1, sizeof *a);
    a->columns = c;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->changed, NULL);
    a->threaded = pays && pthread_create(&a->thread, NULL, make_all, a) == 0;
    return a;
}

bool columns_ahead_next(struct columns_ahead *a, struct column_batch *out)
{
    if (!a->threaded)
        return columns_next(a->columns, out);
    pthread_mutex_lock(&a->lock);
    while (!a->ready.n && !a->over)
        pthread_cond_wait(&a->changed, &a->lock);
    *out = a->ready;
    a->ready.n = 0;
    pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->lock);
    return out->n > 0;
}

void columns_ahead_close(struct columns_ahead *a)
{
    if (!a)
        return;
    pthread_mutex_lock(&a->lock);
    a->stop = true;
    pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->lock);
    if (a->threaded)
        pthread_join(a->thread, NULL);
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->lock);
    free(a);
}
