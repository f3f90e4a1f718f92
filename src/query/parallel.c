/* SPDX-License-Identifier: Apache-2.0 */
/* parallel.c - see parallel.h. */
#include "query/parallel.h"

#include <pthread.h>
#include <unistd.h>

#include "base/mem.h"

enum { THREADS_MOST = 8 };

struct parallel_worker {
    struct parallel *job;
    struct arena arena; /* of its results */
    pthread_t thread;
    bool started;
};

static void *parallel_work(void *arg)
{
    struct parallel_worker *w = arg;
    w->job->work(w->job, &w->arena);
    return NULL;
}

static size_t parallel_threads(const struct parallel *c)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const size_t most = cores > 1 ? MIN_OF((size_t)cores, (size_t)THREADS_MOST) : 1;
    return MAX_OF(MIN_OF(c->n / c->each, most), (size_t)1);
}

/* The caller is the first worker; without a thread that cannot be started, the others do its items.
 */
void parallel_run(struct parallel *c, struct arena *a)
{
    struct parallel_worker w[THREADS_MOST] = {0};
    const size_t n = parallel_threads(c);
    for (size_t i = 0; i < n; i++) {
        w[i].job = c;
        w[i].started = i > 0 && pthread_create(&w[i].thread, NULL, parallel_work, &w[i]) == 0;
    }
    parallel_work(&w[0]);
    for (size_t i = 0; i < n; i++) {
        if (w[i].started)
            pthread_join(w[i].thread, NULL);
        arena_join(a, &w[i].arena);
    }
}
