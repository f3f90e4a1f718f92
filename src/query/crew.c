/* SPDX-License-Identifier: Apache-2.0 */
/* crew.c - see crew.h. */
#include "query/crew.h"

#include <pthread.h>
#include <unistd.h>

#include "base/mem.h"

enum { THREADS_MOST = 8 };

struct crew_worker {
    struct crew *crew;
    struct arena arena; /* of its results */
    pthread_t thread;
    bool started;
};

static void *crew_work(void *arg)
{
    struct crew_worker *w = arg;
    w->crew->work(w->crew, &w->arena);
    return NULL;
}

static size_t threads_for(const struct crew *c)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const size_t most = cores > 1 ? MIN_OF((size_t)cores, (size_t)THREADS_MOST) : 1;
    return MAX_OF(MIN_OF(c->n / c->each, most), (size_t)1);
}

/* The caller is the first worker; a thread that cannot be started is done without. */
void crew_run(struct crew *c, struct arena *a)
{
    struct crew_worker w[THREADS_MOST] = {0};
    const size_t n = threads_for(c);
    for (size_t i = 0; i < n; i++) {
        w[i].crew = c;
        w[i].started = i > 0 && pthread_create(&w[i].thread, NULL, crew_work, &w[i]) == 0;
    }
    crew_work(&w[0]);
    for (size_t i = 0; i < n; i++) {
        if (w[i].started)
            pthread_join(w[i].thread, NULL);
        arena_join(a, &w[i].arena);
    }
}
