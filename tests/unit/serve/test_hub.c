/* SPDX-License-Identifier: Apache-2.0 */
/* test_hub.c - when what arrived on a hub is durable. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "run/run_info.h"
#include "serve/hub.h"
#include "serve/rights.h"
#include "test.h"

static atomic_int fails, syncs;     /* how many fail, and how many there were */
static atomic_bool blocks, blocked; /* a walk through all runs does not end */

int __wrap_syncfs(int fd);
int __wrap_syncfs(int fd)
{
    (void)fd;
    atomic_fetch_add(&syncs, 1);
    errno = EIO;
    return atomic_load(&fails) > 0 && atomic_fetch_sub(&fails, 1) > 0 ? -1 : 0;
}

/* Rounds follow each other at once. */
bool __wrap_thread_sleep(const bool *flag, pthread_mutex_t *lock, pthread_cond_t *c, mono_ns until);
bool __wrap_thread_sleep(const bool *flag, pthread_mutex_t *lock, pthread_cond_t *c, mono_ns until)
{
    (void)c, (void)until;
    usleep(1000);
    pthread_mutex_lock(lock);
    const bool set = *flag;
    pthread_mutex_unlock(lock);
    return set;
}

int __wrap_run_each(const char *runs, void (*visit)(void *ctx, const char *path), void *ctx,
                    struct err *e);
int __wrap_run_each(const char *runs, void (*visit)(void *ctx, const char *path), void *ctx,
                    struct err *e)
{
    (void)runs, (void)visit, (void)ctx, (void)e;
    while (atomic_load(&blocks)) {
        atomic_store(&blocked, true);
        usleep(1000);
    }
    return 0;
}

static bool soon_durable(struct hub *h)
{
    for (int i = 0; i < 5000 && hub_unsynced_ms(h); i++)
        usleep(1000);
    return hub_unsynced_ms(h) == 0;
}

static struct hub *open_hub(struct rights **rights)
{
    static const char token_file[] = "/nonexistent";
    struct hub *h = NULL;
    struct err e;
    *rights = rights_open(false);
    OK(hub_open(&h, &(struct hub_options){.folder = test_tmpdir(), .token_file = token_file},
                *rights, &e));
    return h;
}

TEST(data_is_durable_only_after_a_sync_that_worked)
{
    const struct token t = {.name = "team"};
    struct rights *r;
    struct hub *h = open_hub(&r);
    CHECK(soon_durable(h));
    atomic_store(&fails, 1 << 30);
    hub_count(h, &t, 1000);
    const int before = atomic_load(&syncs);
    for (int i = 0; i < 5000 && atomic_load(&syncs) < before + 3; i++)
        usleep(1000);
    CHECK(hub_unsynced_ms(h) > 0);
    atomic_store(&fails, 0);
    CHECK(soon_durable(h));
    hub_close(h);
    rights_close(r);
}

TEST(what_an_earlier_process_received_is_durable_after_the_first_sync)
{
    struct rights *r;
    atomic_store(&fails, 1 << 30);
    struct hub *h = open_hub(&r);
    const int64_t age_ms = (int64_t)hub_unsynced_ms(h); /* older than that process */
    CHECK(age_ms >= clock_mono().ns / NS_PER_MS - 60000);
    atomic_store(&fails, 0);
    CHECK(soon_durable(h));
    hub_close(h);
    rights_close(r);
}

TEST(a_long_count_of_runs_does_not_delay_a_sync)
{
    const struct token t = {.name = "team"};
    struct rights *r;
    atomic_store(&blocks, true);
    struct hub *h = open_hub(&r);
    while (!atomic_load(&blocked))
        usleep(1000);
    hub_count(h, &t, 1000);
    CHECK(soon_durable(h));
    atomic_store(&blocks, false);
    hub_close(h);
    rights_close(r);
}
