/* SPDX-License-Identifier: Apache-2.0 */
/* work.c - see work.h. */
#include "serve/work.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread.h"
#include "base/vec.h"
#include "serve/limits.h"

enum { STACK = 8 << 20, THREADS_MOST = 16, KEY_LEN = 300 };

struct work_worker {
    struct work *work;
    pthread_t thread;
    char key[KEY_LEN]; /* of its job; "": no job, or one without a key */
};

struct work {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct work_job *first, **last;
    bool end;
    bool gone; /* no worker is left: jobs are refused */
    unsigned n;
    struct work_worker worker[THREADS_MOST];
};

static bool work_is_busy(const struct work *w, const char *key)
{
    return key && FIND_ANY(i, w->n, strncmp(w->worker[i].key, key, KEY_LEN - 1) == 0);
}

static struct work_job *work_take(struct work *w)
{
    for (struct work_job **at = &w->first; *at; at = &(*at)->next) {
        struct work_job *j = *at;
        if (work_is_busy(w, j->key))
            continue;
        *at = j->next;
        if (w->last == &j->next)
            w->last = at;
        return j;
    }
    return NULL;
}

static void work_do_one(struct work *w, struct work_worker *me, struct work_job *j)
{
    const bool ends = w->end;
    strncpy(me->key, j->key ? j->key : "", sizeof me->key - 1);
    pthread_mutex_unlock(&w->lock);
    j->run(j, ends);
    pthread_mutex_lock(&w->lock);
    me->key[0] = 0;
    if (w->first) /* one that was passed over may go now */
        pthread_cond_signal(&w->changed);
}

static void *work_on(void *arg)
{
    struct work_worker *me = arg;
    struct work *w = me->work;
    sigbus_guard_thread();
    pthread_mutex_lock(&w->lock);
    while (!w->end || w->first) {
        struct work_job *j = work_take(w);
        if (j)
            work_do_one(w, me, j);
        else
            pthread_cond_wait(&w->changed, &w->lock);
    }
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

int work_open(struct work **out, unsigned threads, const char *name, struct err *e)
{
    struct work *w = xcalloc(1, sizeof *w);
    int rc = 0;
    pthread_mutex_init(&w->lock, NULL);
    thread_cond_init(&w->changed);
    w->last = &w->first;
    for (unsigned i = 0; rc == 0 && i < MIN_OF(threads, (unsigned)THREADS_MOST); i++) {
        w->worker[i].work = w;
        rc = thread_start(&w->worker[i].thread, STACK, work_on, &w->worker[i], name, e);
        pthread_mutex_lock(&w->lock);
        w->n += rc == 0;
        pthread_mutex_unlock(&w->lock);
    }
    if (rc) {
        work_close(w);
        return rc;
    }
    *out = w;
    return 0;
}

bool work_add(struct work *w, struct work_job *j)
{
    j->next = NULL;
    pthread_mutex_lock(&w->lock);
    const bool open = !w->gone;
    if (open) {
        *w->last = j;
        w->last = &j->next;
        pthread_cond_signal(&w->changed);
    }
    pthread_mutex_unlock(&w->lock);
    return open;
}

void work_end(struct work *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->end = true;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    for (unsigned i = 0; i < w->n; i++)
        pthread_join(w->worker[i].thread, NULL);
    w->n = 0;
    /* What came in after the last worker had left. */
    pthread_mutex_lock(&w->lock);
    struct work_job *left = w->first;
    w->first = NULL;
    w->gone = true;
    pthread_mutex_unlock(&w->lock);
    while (left) {
        struct work_job *j = left;
        left = j->next;
        j->run(j, true);
    }
}

void work_close(struct work *w)
{
    work_end(w);
    free(w);
}
