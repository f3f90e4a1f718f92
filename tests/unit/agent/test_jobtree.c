/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/job.h"
#include "test.h"

/* A child that sleeps; with `daemon` in a session of its own. Its own child sleeps too. */
static pid_t sleeper(int daemon, pid_t *grandchild)
{
    int p[2];
    CHECK(pipe(p) == 0);
    const pid_t pid = fork();
    if (pid == 0) {
        if (daemon)
            setsid();
        const pid_t g = fork();
        if (g == 0) {
            pause();
            _exit(0);
        }
        (void)!write(p[1], &g, sizeof g);
        pause();
        _exit(0);
    }
    CHECK(read(p[0], grandchild, sizeof *grandchild) == sizeof *grandchild);
    close(p[0]);
    close(p[1]);
    return pid;
}

TEST(descendants_are_found_and_daemons_told_apart)
{
    struct jobtree t;
    pid_t g1, g2;
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    const pid_t member = sleeper(0, &g1), daemon = sleeper(1, &g2);
    jobtree_scan(&t, getpid(), getsid(0), 0);
    CHECK_INT(t.members, 2);
    CHECK_INT(t.daemons, 2);
    CHECK_INT(t.n, 4);
    for (size_t i = 0; i < t.n; i++)
        CHECK(t.list[i].daemon == (t.list[i].pid == daemon || t.list[i].pid == g2));
    /* An orphan stays below us; the dead one no longer counts. */
    kill(member, SIGKILL);
    waitpid(member, NULL, 0);
    jobtree_scan(&t, getpid(), getsid(0), 0);
    CHECK_INT(t.members, 1);
    kill(g1, SIGKILL);
    kill(daemon, SIGKILL);
    kill(g2, SIGKILL);
    while (wait(NULL) > 0)
        ;
    jobtree_scan(&t, getpid(), getsid(0), 0);
    CHECK_INT(t.members + t.daemons, 0);
}
