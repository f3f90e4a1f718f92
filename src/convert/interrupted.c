/* SPDX-License-Identifier: Apache-2.0 */
/* interrupted.c - see interrupted.h. */
#include "convert/interrupted.h"

#include <signal.h>
#include <stddef.h>

#include "base/mem.h"

static volatile sig_atomic_t noted;

static void interrupted_note(int sig)
{
    noted = sig;
}

void interrupted_watch(void)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    const struct sigaction take = {.sa_handler = interrupted_note,
                                   .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        struct sigaction now;
        if (sigaction(ends[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaction(ends[i], &take, NULL);
    }
}

int interrupted_check(struct err *e)
{
    return noted ? err_set(e, ERR_BUSY, "interrupted") : 0;
}

void interrupted_end(void)
{
    if (noted)
        raise(noted);
}
