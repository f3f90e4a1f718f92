/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/job.h"
#include "test.h"

TEST(a_stat_line_is_read_whatever_the_name_is)
{
    struct proc_stat_line s;
    CHECK(jobtree_parse_stat("42 (cat) S 1 42 7 0 -1", &s));
    CHECK_INT(s.pid, 42);
    CHECK_INT(s.parent, 1);
    CHECK_INT(s.group, 42);
    CHECK_INT(s.session, 7);
    CHECK_STR(s.name, "cat");
    CHECK(jobtree_parse_stat("9 (a) R 5 5 5) Z 3 4 5 6", &s));
    CHECK_STR(s.name, "a) R 5 5 5");
    CHECK_INT(s.state, 'Z');
    CHECK_INT(s.session, 5);
}

TEST(what_is_no_stat_line_is_refused)
{
    struct proc_stat_line s;
    CHECK(!jobtree_parse_stat("", &s));
    CHECK(!jobtree_parse_stat("42", &s));
    CHECK(!jobtree_parse_stat("42 (cat", &s));
    CHECK(!jobtree_parse_stat("42 )cat( S 1 1 1", &s));
    CHECK(!jobtree_parse_stat("42 (cat) S 1", &s));
    CHECK(!jobtree_parse_stat("x (cat) S 1 1 1", &s));
}

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
