/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "convert/run_restore.h"
#include "test.h"

TEST(the_first_signal_is_noted_and_fails_the_next_check)
{
    struct err e;
    interrupted_watch();
    OK(interrupted_check(&e));
    raise(SIGTERM);
    CHECK_INT(interrupted_check(&e), ERR_BUSY);
    CHECK_STR(e.msg, "interrupted");
}

TEST(the_program_ends_by_the_signal_that_was_noted)
{
    int status;
    const pid_t pid = fork();
    if (pid == 0) {
        interrupted_watch();
        interrupted_end(); /* nothing was noted yet */
        raise(SIGHUP);
        interrupted_end();
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFSIGNALED(status));
    CHECK_INT(WTERMSIG(status), SIGHUP);
}

TEST(a_signal_that_was_ignored_stays_ignored)
{
    struct err e;
    signal(SIGHUP, SIG_IGN);
    interrupted_watch();
    raise(SIGHUP);
    OK(interrupted_check(&e));
}
