/* SPDX-License-Identifier: Apache-2.0 */
/* sigbus_guard.c - see sigbus_guard.h. */
#include "serve/sigbus_guard.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

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
