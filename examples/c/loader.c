/* SPDX-License-Identifier: Apache-2.0 */
/* loader.c - batch number n lives in slot n % LOADER_DEPTH:
 *
 *      taken       made, waiting        being made       claimed next
 *     ......n-1 |  n   n+1  n+2  |  n+3 (worker 0, 1) | n+4
 *                  ^ next_take                           ^ next_make
 *
 * A worker claims the next number as soon as its slot is free, fills it without holding the lock,
 * and marks it ready. The trainer waits for exactly its next number. */
#include "loader.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "digits.h"

#define SLOWER       6.0
#define MOST_FETCH_S 0.5

struct slot {
    struct batch batch;
    bool ready;
};

struct loader {
    struct loader_setup setup;
    pthread_mutex_t lock; /* guards what follows, but not the contents of a claimed batch */
    pthread_cond_t ready; /* a batch was finished */
    pthread_cond_t freed; /* a slot became free, or it is time to stop */
    struct slot slot[LOADER_DEPTH];
    uint64_t next_make, next_take;
    bool stopping;
    double taken_s, work_s; /* when the last batch was taken; how long the one before was used */
    pthread_t worker[LOADER_MAX_WORKERS];
    size_t workers; /* started */
};

static struct slot *slot_of(struct loader *l, uint64_t number)
{
    return &l->slot[number % LOADER_DEPTH];
}

/* Says which batch to make next; false when the loader stops. */
static bool claim(struct loader *l, uint64_t *number)
{
    pthread_mutex_lock(&l->lock);
    while (!l->stopping && l->next_make - l->next_take >= LOADER_DEPTH)
        pthread_cond_wait(&l->freed, &l->lock);
    const bool go_on = !l->stopping;
    if (go_on)
        *number = l->next_make++;
    pthread_mutex_unlock(&l->lock);
    return go_on;
}

static void publish(struct loader *l, uint64_t number)
{
    pthread_mutex_lock(&l->lock);
    slot_of(l, number)->ready = true;
    pthread_cond_signal(&l->ready);
    pthread_mutex_unlock(&l->lock);
}

static double clock_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Slow storage stays slower than the trainer, also on a busy machine where training takes longer:
 * a batch takes SLOWER times the trainer's own work, whatever the number of workers. */
static void wait_for_storage(struct loader *l)
{
    if (l->setup.fetch_ms == 0)
        return;
    pthread_mutex_lock(&l->lock);
    const double least_s = fmin(SLOWER * l->work_s * (double)l->setup.workers, MOST_FETCH_S);
    pthread_mutex_unlock(&l->lock);
    const double s = fmax(l->setup.fetch_ms / 1e3, least_s);
    const struct timespec t = {.tv_sec = (time_t)s, .tv_nsec = (long)((s - floor(s)) * 1e9)};
    nanosleep(&t, NULL);
}

static void *work(void *arg)
{
    struct loader *l = arg;
    uint64_t number;
    while (claim(l, &number)) {
        const struct batch *b = &slot_of(l, number)->batch;
        wait_for_storage(l);
        digits_draw_many(l->setup.seed, number * b->count, b->count, b->pixels, b->labels);
        publish(l, number);
    }
    return NULL;
}

static int batch_open(struct batch *b, size_t count)
{
    b->count = count;
    b->pixels = calloc(count, DIGIT_PIXELS * sizeof *b->pixels);
    b->labels = calloc(count, sizeof *b->labels);
    return b->pixels && b->labels ? 0 : ENOMEM;
}

static int start(struct loader *l)
{
    int rc = 0;
    for (size_t i = 0; i < LOADER_DEPTH && rc == 0; i++)
        rc = batch_open(&l->slot[i].batch, l->setup.batch);
    while (rc == 0 && l->workers < l->setup.workers) {
        rc = pthread_create(&l->worker[l->workers], NULL, work, l);
        l->workers += rc == 0;
    }
    return rc;
}

struct loader *loader_open(const struct loader_setup *setup)
{
    struct loader *l = calloc(1, sizeof *l);
    if (!l)
        return NULL;
    l->setup = *setup;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->ready, NULL);
    pthread_cond_init(&l->freed, NULL);
    const int rc = start(l);
    if (rc != 0) {
        loader_close(l);
        errno = rc;
        return NULL;
    }
    return l;
}

const struct batch *loader_take(struct loader *l)
{
    pthread_mutex_lock(&l->lock);
    struct slot *s = slot_of(l, l->next_take);
    while (!s->ready)
        pthread_cond_wait(&l->ready, &l->lock);
    l->taken_s = clock_s();
    pthread_mutex_unlock(&l->lock);
    return &s->batch;
}

void loader_give_back(struct loader *l)
{
    pthread_mutex_lock(&l->lock);
    l->work_s = clock_s() - l->taken_s;
    slot_of(l, l->next_take)->ready = false;
    l->next_take++;
    pthread_cond_signal(&l->freed);
    pthread_mutex_unlock(&l->lock);
}

static void stop_workers(struct loader *l)
{
    pthread_mutex_lock(&l->lock);
    l->stopping = true;
    pthread_cond_broadcast(&l->freed);
    pthread_mutex_unlock(&l->lock);
    for (size_t i = 0; i < l->workers; i++)
        pthread_join(l->worker[i], NULL);
}

void loader_close(struct loader *l)
{
    if (!l)
        return;
    stop_workers(l);
    for (size_t i = 0; i < LOADER_DEPTH; i++) {
        free(l->slot[i].batch.pixels);
        free(l->slot[i].batch.labels);
    }
    pthread_cond_destroy(&l->freed);
    pthread_cond_destroy(&l->ready);
    pthread_mutex_destroy(&l->lock);
    free(l);
}
