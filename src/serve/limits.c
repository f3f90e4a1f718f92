/* SPDX-License-Identifier: Apache-2.0 */
/* limits.c - see limits.h. */
#include "serve/limits.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"

/* ---- memory ---- */

/* The address sanitizer has a separate heap. glibc's is then not set up, and malloc_trim in two
 * threads at once would set it up twice. */
#if defined(__SANITIZE_ADDRESS__)
#define HEAP_OF_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEAP_OF_SANITIZER 1
#endif
#endif

enum {
    HEAPS = 4,
    LARGE = 256 << 10, /* bytes; a separate block, given back when it is freed */
    SLACK = 1 << 20,   /* bytes that may stay free at the end of a heap */
};

void heap_set_up(void)
{
    (void)mallopt(M_ARENA_MAX, HEAPS);
    (void)mallopt(M_MMAP_THRESHOLD, LARGE);
    (void)mallopt(M_TRIM_THRESHOLD, SLACK);
}

void heap_give_back(void)
{
#ifndef HEAP_OF_SANITIZER
    (void)malloc_trim(0);
#endif
}

/* ---- truncated files ---- */

/* A signal handler gets no context from us, so these two are global. */
static _Atomic uint64_t sigbus_count;
static _Atomic uintptr_t page_bytes;

static void sigbus_guard_handle(int sig, siginfo_t *info, void *context)
{
    const int before = errno;
    const uintptr_t page = atomic_load(&page_bytes);
    const uintptr_t at = (uintptr_t)info->si_addr & ~(page - 1);
    (void)context;
    atomic_fetch_add(&sigbus_count, 1);
    if (info->si_code != BUS_ADRERR ||
        mmap((void *)at, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
            MAP_FAILED)
        signal(sig, SIG_DFL); /* the same access again ends the program */
    errno = before;
}

int sigbus_guard_install(struct err *e)
{
    struct sigaction act = {.sa_sigaction = sigbus_guard_handle,
                            .sa_flags = SA_SIGINFO | SA_RESTART};
    atomic_store(&page_bytes, (uintptr_t)sysconf(_SC_PAGESIZE));
    sigemptyset(&act.sa_mask);
    return sigaction(SIGBUS, &act, NULL) < 0 ? err_sys(e, "handle SIGBUS") : 0;
}

void sigbus_guard_thread(void)
{
    sigset_t bus;
    sigemptyset(&bus);
    sigaddset(&bus, SIGBUS);
    pthread_sigmask(SIG_UNBLOCK, &bus, NULL);
}

uint64_t sigbus_guard_count(void)
{
    return atomic_load(&sigbus_count);
}

/* ---- turns ---- */

enum { TOGETHER_MOST = 24 << 20 }; /* bytes of files that are worked on at once */

struct memory_limit {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t bytes; /* that are worked on */
    unsigned n;     /* jobs that do */
};

struct memory_limit *memory_limit_open(void)
{
    struct memory_limit *h = xcalloc(1, sizeof *h);
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->changed, NULL);
    return h;
}

void memory_limit_close(struct memory_limit *h)
{
    if (!h)
        return;
    pthread_cond_destroy(&h->changed);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

uint64_t memory_limit_enter(struct memory_limit *h, uint64_t bytes)
{
    pthread_mutex_lock(&h->lock);
    while (h->n && h->bytes + bytes > TOGETHER_MOST)
        pthread_cond_wait(&h->changed, &h->lock);
    h->n++;
    h->bytes += bytes;
    pthread_mutex_unlock(&h->lock);
    return bytes;
}

void memory_limit_leave(struct memory_limit *h, uint64_t bytes)
{
    heap_give_back();
    pthread_mutex_lock(&h->lock);
    h->n--;
    h->bytes -= bytes;
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->lock);
}

/* ---- pace ---- */

mono_ns pace_next(mono_ns begin, mono_ns end, int64_t least_ns)
{
    return mono_add(begin, MAX_OF(least_ns, PACE_COST * mono_diff(end, begin)));
}

mono_ns pace_share(mono_ns before, mono_ns begin, mono_ns end, int64_t credit_ns)
{
    const mono_ns from = {MAX_OF(before.ns, begin.ns - credit_ns)};
    return mono_add(from, PACE_COST * mono_diff(end, begin));
}
