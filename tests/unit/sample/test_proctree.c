/* SPDX-License-Identifier: Apache-2.0 */
/* test_proctree.c - which processes are the job's: forks, double forks, pids used again. */
#include <fcntl.h>
#include <pthread.h>

#include "capture.h"
#include "job.h"
#include "sample/proctree.h"

enum { VIEWS = 600 };

static struct pid_stat view[VIEWS];

/* The living members, into `view`: scans, reads each, sweeps. Returns how many there are, which may
 * be more than fit. */
static size_t look(struct proctree *t)
{
    size_t n = 0;
    proctree_scan(t);
    for (size_t i = 0; i < proctree_places(t); i++) {
        if (!proctree_refresh(t, i) || proctree_at(t, i)->ended)
            continue;
        if (n < VIEWS)
            view[n] = proctree_at(t, i)->stat;
        n++;
    }
    proctree_sweep(t);
    return n;
}

static bool seen(size_t n, int pid)
{
    for (size_t i = 0; i < n && i < VIEWS; i++)
        if (view[i].pid == pid)
            return true;
    return false;
}

static void wait_forever(struct board *b)
{
    (void)b;
    for (;;)
        pause();
}

TEST(the_first_process_is_a_member_and_the_test_is_not)
{
    struct proctree *t;
    struct err e;
    const pid_t pid = job_start(wait_forever, NULL);
    OK(proctree_open(&t, "/proc", pid, 0, 16, &e));
    const size_t n = look(t);
    CHECK_INT(n, 1);
    CHECK_INT(view[0].pid, pid);
    CHECK_INT(view[0].ppid, getpid());
    CHECK_INT(view[0].session, getsid(0));
    CHECK(view[0].start_ticks > 0);
    job_kill(pid);
    job_reap(pid);
    CHECK_INT(look(t), 0);
    proctree_close(t);
}

TEST(a_folder_that_shows_other_pids_than_ours_is_refused_with_the_reason)
{
    char folder[] = "/tmp/fp-proc-XXXXXX", link[64], text[16];
    struct proctree *t;
    struct err e = {0};
    CHECK(mkdtemp(folder));
    snprintf(link, sizeof link, "%s/self", folder);
    snprintf(text, sizeof text, "%d", getpid() + 1);
    OK(proc_check("/proc", &e));
    OK(proc_check(folder, &e)); /* made for a test: it does not say which process we are */
    CHECK_INT(symlink(text, link), 0);
    CHECK(proc_check(folder, &e) == ERR_NOT_FOUND);
    CHECK(strstr(e.msg, "another pid namespace"));
    CHECK(proctree_open(&t, folder, 0, getpid(), 16, &e) == ERR_NOT_FOUND);
    snprintf(text, sizeof text, "%d", getpid());
    CHECK_INT(unlink(link), 0);
    CHECK_INT(symlink(text, link), 0);
    OK(proc_check(folder, &e));
    unlink(link);
    rmdir(folder);
}

TEST(a_process_that_does_not_exist_is_refused_by_number)
{
    struct proctree *t;
    struct err e = {0};
    const pid_t pid = job_start(wait_forever, NULL);
    job_kill(pid);
    job_reap(pid);
    CHECK(proctree_open(&t, "/proc", pid, 0, 16, &e) == ERR_NOT_FOUND);
    CHECK(strstr(e.msg, "no process"));
}

static void fork_child_and_grandchild(struct board *b)
{
    b->pid[0] = getpid();
    await(&b->go);
    if (job_fork() == 0) {
        b->pid[1] = getpid();
        if (job_fork() == 0) {
            b->pid[2] = getpid();
            wait_forever(b);
        }
        wait_forever(b);
    }
    wait_forever(b);
}

static void kill_board(struct board *b)
{
    for (int i = 0; i < 16; i++)
        if (b->pid[i])
            kill(b->pid[i], SIGKILL);
}

TEST(children_and_grandchildren_are_found_whenever_they_come)
{
    struct board *b = board_new();
    struct proctree *t;
    struct err e;
    const pid_t pid = job_start(fork_child_and_grandchild, b);
    OK(proctree_open(&t, "/proc", pid, 0, 16, &e));
    CHECK_INT(look(t), 1);
    b->go = 1;
    await(&b->pid[2]);
    const size_t n = look(t);
    CHECK_INT(n, 3);
    CHECK(seen(n, b->pid[1]) && seen(n, b->pid[2]));
    kill_board(b);
    job_reap(pid);
    proctree_close(t);
}

TEST(a_tree_that_is_already_there_is_found_whole)
{
    struct board *b = board_new();
    struct proctree *t;
    struct err e;
    const pid_t pid = job_start(fork_child_and_grandchild, b);
    b->go = 1;
    await(&b->pid[2]);
    OK(proctree_open(&t, "/proc", pid, 0, 16, &e));
    CHECK_INT(look(t), 3);
    kill_board(b);
    job_reap(pid);
    proctree_close(t);
}

/* A daemon: forks twice, the middle one ends. */
static void double_fork(struct board *b)
{
    await(&b->go);
    const pid_t middle = job_fork();
    if (middle == 0) {
        setsid();
        if (job_fork() == 0) {
            b->pid[2] = getpid();
            wait_forever(b);
        }
        _exit(0);
    }
    waitpid(middle, NULL, 0);
    b->done = 1;
    await(&b->pid[3]);
}

TEST(a_daemon_of_the_job_becomes_the_recorders_child_and_stays_a_member)
{
    struct board *b = board_new();
    struct proctree *t;
    struct err e;
    CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
    const pid_t pid = job_start(double_fork, b);
    OK(proctree_open(&t, "/proc", pid, getpid(), 16, &e));
    b->go = 1;
    await(&b->pid[2]);
    await(&b->done);
    size_t n = look(t);
    CHECK(seen(n, pid) && seen(n, b->pid[2]));
    b->pid[3] = 1; /* the first process ends, the daemon goes on */
    job_reap(pid);
    n = look(t);
    CHECK_INT(n, 1);
    CHECK_INT(view[0].pid, b->pid[2]);
    CHECK(view[0].session == b->pid[2] || view[0].session != getsid(0));
    job_kill(b->pid[2]);
    job_reap(b->pid[2]);
    CHECK_INT(look(t), 0);
    proctree_close(t);
}

TEST(a_member_whose_parent_died_stays_one_without_a_recorder)
{
    struct board *b = board_new();
    struct proctree *t;
    struct err e;
    CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0); /* only so that the test can end it */
    const pid_t pid = job_start(fork_child_and_grandchild, b);
    b->go = 1;
    await(&b->pid[2]);
    OK(proctree_open(&t, "/proc", pid, 0, 16, &e));
    CHECK_INT(look(t), 3);
    job_kill(b->pid[1]);
    nap_ms(200);
    const size_t n = look(t);
    CHECK(seen(n, b->pid[2]));
    CHECK(!seen(n, b->pid[1])); /* nobody waits for it: a zombie is not living */
    kill_board(b);
    job_reap(pid);
    proctree_close(t);
}

TEST(other_children_of_the_machine_are_not_the_jobs)
{
    struct proctree *t;
    struct err e;
    const pid_t pid = job_start(wait_forever, NULL), other = job_start(wait_forever, NULL);
    OK(proctree_open(&t, "/proc", pid, 0, 16, &e));
    const size_t n = look(t);
    CHECK(!seen(n, other));
    CHECK(!seen(n, getpid()));
    job_kill(pid);
    job_kill(other);
    job_reap(pid);
    job_reap(other);
    proctree_close(t);
}

static void spawn_200_short(struct board *b)
{
    await(&b->go);
    for (int i = 0; i < 200; i++) {
        const pid_t p = job_fork();
        if (p == 0)
            _exit(0);
        if (i % 2)
            waitpid(p, NULL, 0);
    }
    while (waitpid(-1, NULL, 0) > 0) {
    }
    b->done = 1;
    wait_forever(b);
}

TEST(short_children_that_vanish_under_the_scan_do_no_harm_and_leak_nothing)
{
    struct board *b = board_new();
    struct proctree *t;
    struct err e;
    const pid_t pid = job_start(spawn_200_short, b);
    OK(proctree_open(&t, "/proc", pid, 0, 64, &e));
    const size_t before = open_files();
    b->go = 1;
    while (!b->done)
        look(t);
    CHECK_INT(look(t), 1);
    CHECK_INT(open_files(), before);
    job_kill(pid);
    job_reap(pid);
    proctree_close(t);
}

static void spawn_300(struct board *b)
{
    for (int i = 0; i < 300; i++)
        if (job_fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            b->done++;
            wait_forever(b);
        }
    wait_forever(b);
}

TEST(no_more_files_are_kept_open_than_allowed)
{
    struct board *b = board_new();
    struct proctree *t;
    struct err e;
    CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
    const pid_t pid = job_start(spawn_300, b);
    while (b->done < 300)
        nap_ms(5);
    const size_t before = open_files();
    OK(proctree_open(&t, "/proc", pid, 0, 20, &e));
    CHECK_INT(look(t), 301);
    CHECK(open_files() - before <= 20 + 2); /* and /proc and loadavg */
    job_kill(pid);
    job_reap(pid);
    while (waitpid(-1, NULL, 0) > 0) {
    }
    CHECK_INT(look(t), 0);
    CHECK(open_files() - before <= 2);
    proctree_close(t);
    CHECK_INT(open_files(), before);
}

static void *sit(void *arg)
{
    (void)arg;
    pause();
    return NULL;
}

static void end_the_first_thread(struct board *b)
{
    pthread_t th;
    (void)b;
    pthread_create(&th, NULL, sit, NULL);
    pthread_exit(NULL);
}

TEST(a_process_whose_first_thread_ended_is_still_living)
{
    struct proctree *t;
    struct err e;
    const pid_t pid = job_start(end_the_first_thread, NULL);
    nap_ms(100);
    OK(proctree_open(&t, "/proc", pid, 0, 16, &e));
    CHECK_INT(look(t), 1);
    job_kill(pid);
    job_reap(pid);
    proctree_close(t);
}

static void put_stat(const char *proc, int pid, int ppid, int start)
{
    char name[32], text[256];
    snprintf(name, sizeof name, "%d/stat", pid);
    snprintf(text, sizeof text,
             "%d (p%d) S %d 1 1 0 -1 0 0 0 0 0 1 2 3 4 20 0 1 0 %d 1000 10 0 0\n", pid, pid, ppid,
             start);
    machine_put(proc, name, text);
}

static void leave_zombies(struct board *b)
{
    for (int i = 0; i < 40; i++) {
        const pid_t child = job_fork();
        siginfo_t ended;
        if (child == 0)
            _exit(0);
        waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT); /* it has ended, and stays */
    }
    b->done = 1;
    wait_forever(b);
}

TEST(zombies_hold_no_files_and_are_not_living)
{
    struct board *b = board_new();
    struct proctree *t;
    struct err e;
    const size_t before = open_files();
    const pid_t pid = job_start(leave_zombies, b);
    await(&b->done);
    OK(proctree_open(&t, "/proc", pid, 0, 64, &e));
    CHECK_INT(look(t), 1);
    CHECK(open_files() - before <= 3);
    CHECK_INT(proctree_places(t), 41);
    job_kill(pid);
    job_reap(pid);
    for (int i = 0; i < 500 && (look(t) > 0 || proctree_places(t) > 0); i++)
        nap_ms(10);
    CHECK_INT(look(t), 0);
    CHECK_INT(proctree_places(t), 0); /* nobody of the job will wait for them */
    proctree_close(t);
}

static void end_one_after_another(struct board *b)
{
    for (int i = 0; i < 8; i++)
        if (job_fork() == 0) {
            b->done++;
            wait_forever(b);
        }
    b->pid[0] = 1;
    await(&b->go); /* then they are waited for */
    while (waitpid(-1, NULL, 0) > 0) {
    }
    wait_forever(b);
}

TEST(a_process_that_ends_makes_room_for_another_to_be_kept_open)
{
    struct board *b = board_new();
    struct proctree *t;
    struct err e;
    const pid_t pid = job_start(end_one_after_another, b);
    while (b->done < 8)
        nap_ms(2);
    const size_t before = open_files();
    OK(proctree_open(&t, "/proc", pid, 0, 3, &e));
    CHECK_INT(look(t), 9);
    CHECK_INT(open_files() - before, 5); /* with /proc and loadavg */
    /* End those that are kept open: first zombies, then waited for. */
    for (size_t i = 0; i < proctree_places(t); i++) {
        const struct proctree_member *m = proctree_at(t, i);
        if (m->stat_fd >= 0 && m->stat.pid != pid)
            job_kill(m->stat.pid);
    }
    nap_ms(200);
    CHECK_INT(look(t), 7);
    for (size_t i = 0; i < proctree_places(t); i++) /* zombies hold none */
        CHECK(!proctree_at(t, i)->ended || proctree_at(t, i)->stat_fd < 0);
    const pid_t other = job_start(wait_forever, NULL); /* something began: a real scan */
    CHECK_INT(look(t), 7);
    CHECK_INT(open_files() - before, 5);
    job_kill(other);
    job_reap(other);
    for (size_t i = 0; i < proctree_places(t); i++)
        if (proctree_at(t, i)->used && proctree_at(t, i)->stat.pid != pid)
            job_kill(proctree_at(t, i)->stat.pid);
    b->go = 1;
    nap_ms(100);
    CHECK_INT(look(t), 1);
    CHECK_INT(proctree_places(t), 1);
    job_kill(pid);
    job_reap(pid);
    proctree_close(t);
    CHECK_INT(open_files(), before);
}

TEST(a_pid_given_out_again_is_another_process)
{
    struct probe_env m = machine_made();
    struct proctree *t;
    struct err e;
    put_stat(m.proc, 100, 1, 50);
    put_stat(m.proc, 101, 100, 60);
    put_stat(m.proc, 102, 100, 40); /* older than its parent: the parent's pid was another's */
    OK(proctree_open(&t, m.proc, 100, 0, 16, &e));
    size_t n = look(t);
    CHECK_INT(n, 2);
    CHECK(seen(n, 101) && !seen(n, 102));
    put_stat(m.proc, 101, 1, 9999);
    n = look(t);
    CHECK_INT(n, 1);
    CHECK(!seen(n, 101));
    proctree_close(t);
}

TEST(a_child_listed_before_its_parent_is_found)
{
    struct probe_env m = machine_made();
    struct proctree *t;
    struct err e;
    put_stat(m.proc, 300, 1, 50);
    put_stat(m.proc, 5, 400, 70);
    put_stat(m.proc, 400, 300, 60);
    machine_put(m.proc, "notapid/stat", "x");
    machine_put(m.proc, "77/stat", "rubbish");
    OK(proctree_open(&t, m.proc, 300, 0, 16, &e));
    CHECK_INT(look(t), 3);
    proctree_close(t);
}

TEST(a_list_is_made_only_when_a_process_began)
{
    struct probe_env m = machine_made();
    struct proctree *t;
    struct err e;
    machine_put(m.proc, "loadavg", "0 0 0 1/9 500\n");
    put_stat(m.proc, 100, 1, 50);
    OK(proctree_open(&t, m.proc, 100, 0, 16, &e));
    put_stat(m.proc, 101, 100, 60);
    CHECK_INT(look(t), 1); /* the kernel says that nothing began */
    machine_put(m.proc, "loadavg", "0 0 0 1/9 501\n");
    CHECK_INT(look(t), 2);
    put_stat(m.proc, 102, 100, 60);
    for (int i = 0; i < 30; i++)
        look(t);
    CHECK_INT(look(t), 3); /* and now and then it is not believed */
    proctree_close(t);
}

TEST(a_foreign_pid_given_to_the_job_is_found_within_thirty_scans)
{
    struct probe_env m = machine_made();
    struct proctree *t;
    struct err e;
    put_stat(m.proc, 100, 1, 50);
    put_stat(m.proc, 207, 1, 55);
    OK(proctree_open(&t, m.proc, 100, 0, 16, &e));
    CHECK_INT(look(t), 1);
    put_stat(m.proc, 207, 100, 60);
    size_t n = 0;
    for (int i = 0; i < 30; i++)
        n = look(t);
    CHECK_INT(n, 2);
    proctree_close(t);
}
