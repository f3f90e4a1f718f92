/* SPDX-License-Identifier: Apache-2.0 */
/* A real recorder with real children: what comes out as exit status, files and lines. */
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/control.h"
#include "agent/recorder.h"
#include "base/json_read.h"
#include "base/mem.h"
#include "control/control_client.h"
#include "run/storage.h"
#include "test.h"

static char said[8192]; /* all lines, each ended by a newline */

static void tell(void *ctx, const char *line)
{
    (void)ctx;
    const size_t n = strlen(said);
    snprintf(said + n, sizeof said - n, "%s\n", line);
}

static struct record_ask ask_for(const char *const *argv)
{
    static char dir[PATH_LEN];
    snprintf(dir, sizeof dir, "%s/runs", test_tmpdir());
    setenv("XDG_RUNTIME_DIR", test_tmpdir(), 1);
    setenv("FOOTPLATE_NVML", "/nonexistent/libnvidia-ml.so.1", 1);
    return (struct record_ask){
        .argv = argv, .dir = dir, .node_id = "n0", .interval_ns = 20 * NS_PER_MS, .print = tell};
}

static struct record_result record_program(const char *const *argv)
{
    struct record_ask ask = ask_for(argv);
    struct record_result out;
    struct err e;
    OK(recorder_run(&ask, &out, &e));
    return out;
}

/* Records a shell line. */
static struct record_result record(const char *line)
{
    const char *argv[] = {"sh", "-c", line, NULL};
    return record_program(argv);
}

static json_t *node_of(const struct record_result *r)
{
    char path[PATH_LEN];
    struct err e;
    json_t *o;
    OK(path_join(path, &e, "%s/node-n0/node.json", r->path));
    OK(storage_read_json(&o, path, &e));
    return o;
}

static void check_node(const struct record_result *r, const char *status, const char *why,
                       int64_t exit_status)
{
    struct arena a = {0};
    json_t *o = node_of(r);
    CHECK_STR(json_get_str(o, "status", &a, "?"), status);
    CHECK_STR(json_get_str(o, "why", &a, "?"), why);
    CHECK_INT(json_get_int(o, "exit_status", -1), exit_status);
    CHECK(json_get_int(o, "end_ns", 0) >= json_get_int(o, "start_ns", 0));
    json_decref(o);
    arena_free(&a);
}

TEST(the_exit_status_of_the_job_is_passed_on)
{
    struct record_result r = record("exit 0");
    CHECK_INT(r.exit_status, 0);
    check_node(&r, "finished", "", 0);
    r = record("exit 7");
    CHECK_INT(r.exit_status, 7);
    check_node(&r, "failed", "", 7);
}

TEST(a_job_ended_by_a_signal_gives_128_and_the_signal)
{
    struct record_result r = record("kill -SEGV $$");
    CHECK_INT(r.exit_status, 128 + SIGSEGV);
    check_node(&r, "failed", "SIGSEGV", 128 + SIGSEGV);
    r = record("kill -KILL $$");
    CHECK_INT(r.exit_status, 128 + SIGKILL);
    check_node(&r, "interrupted", "SIGKILL", 128 + SIGKILL);
}

static bool folder_is_there(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

TEST(a_program_that_cannot_be_run_leaves_no_folder)
{
    const char *missing[] = {"no-such-program-here", NULL};
    const char *denied[] = {"/etc/passwd", NULL};
    struct record_ask ask = ask_for(missing);
    struct record_result out;
    struct err e = {0};
    CHECK_INT(recorder_run(&ask, &out, &e), ERR_SYS);
    CHECK_STR(e.msg, "cannot run 'no-such-program-here': No such file or directory");
    CHECK_INT(out.exit_status, 127);
    CHECK(!folder_is_there(ask.dir));
    ask.argv = denied;
    CHECK_INT(recorder_run(&ask, &out, &e), ERR_SYS);
    CHECK_STR(e.msg, "cannot run '/etc/passwd': Permission denied");
    CHECK_INT(out.exit_status, 126);
    CHECK(!folder_is_there(ask.dir));
}

TEST(without_a_run_folder_the_job_is_not_started)
{
    char mark[PATH_LEN], line[PATH_LEN + 16];
    snprintf(mark, sizeof mark, "%s/started", test_tmpdir());
    snprintf(line, sizeof line, "touch %s", mark);
    const char *argv[] = {"sh", "-c", line, NULL};
    struct record_ask ask = ask_for(argv);
    struct record_result out;
    struct err e = {0};
    ask.dir = "/proc/nowhere";
    CHECK(recorder_run(&ask, &out, &e) != 0);
    CHECK_INT(out.exit_status, 1);
    CHECK(strstr(e.msg, "/proc/nowhere") != NULL);
    CHECK(!folder_is_there(mark));
}

/* The signals named in a line of a status file, but for the two that glibc keeps for itself (32 and
 * 33): its threads set those, whatever was inherited. */
static uint64_t status_signals(const char *path, const char *key)
{
    char line[128];
    FILE *f = fopen(path, "r");
    CHECK(f);
    bool found = false;
    while (!found && fgets(line, sizeof line, f))
        found = strncmp(line, key, strlen(key)) == 0;
    fclose(f);
    CHECK(found);
    return strtoull(line + strlen(key), NULL, 16) & ~UINT64_C(0x180000000);
}

/* Whoever started the tests may have had signals ignored already, so we compare with our own. */
TEST(the_job_gets_the_signal_mask_and_dispositions_that_we_inherited)
{
    char copy[256];
    snprintf(copy, sizeof copy, "%s/status", test_tmpdir());
    signal(SIGUSR2, SIG_IGN);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    const uint64_t blocked = status_signals("/proc/self/status", "SigBlk:");
    const uint64_t ignored = status_signals("/proc/self/status", "SigIgn:");
    CHECK(blocked & UINT64_C(1) << (SIGUSR1 - 1));
    CHECK(ignored & UINT64_C(1) << (SIGUSR2 - 1));
    /* Not through sh, which clears the mask itself. */
    const char *const job[] = {"cp", "/proc/self/status", copy, NULL};
    CHECK_INT(record_program(job).exit_status, 0);
    CHECK_INT(status_signals(copy, "SigBlk:"), blocked);
    CHECK_INT(status_signals(copy, "SigIgn:"), ignored);
}

TEST(the_job_leads_a_group_of_its_own_and_inherits_no_descriptor)
{
    CHECK_INT(record("test $(cut -d' ' -f5 /proc/$$/stat) = $$").exit_status, 0);
    CHECK_INT(record("for f in /proc/$$/fd/*; do readlink $f; done | grep -c "
                     "'metrics\\|signalfd\\|eventfd'")
                  .exit_status,
              1);
}

/* Runs the recorder in a child of the test, so that the test can send it signals. */
static pid_t record_apart(const char *line, const char *name)
{
    const char *argv[] = {"sh", "-c", line, NULL};
    struct record_ask ask = ask_for(argv);
    const pid_t pid = fork();
    if (pid == 0) {
        struct record_result out;
        struct err e;
        ask.run_id = name;
        _exit(recorder_run(&ask, &out, &e) ? 99 : out.exit_status);
    }
    return pid;
}

static struct record_result result_of(const char *name)
{
    struct record_result r = {0};
    snprintf(r.path, sizeof r.path, "%s/runs/%s", test_tmpdir(), name);
    return r;
}

static void wait_for_file(const char *name)
{
    char path[PATH_LEN];
    snprintf(path, sizeof path, "%s/%s", test_tmpdir(), name);
    for (int i = 0; i < 1000 && !folder_is_there(path); i++)
        usleep(10000);
    CHECK(folder_is_there(path));
}

static int exit_of(pid_t pid)
{
    int w;
    CHECK(waitpid(pid, &w, 0) == pid);
    return WIFEXITED(w) ? WEXITSTATUS(w) : -WTERMSIG(w);
}

TEST(a_signal_is_passed_on_and_the_run_counts_as_interrupted)
{
    char line[PATH_LEN];
    snprintf(line, sizeof line,
             "trap 'exit 5' TERM; cd %s; touch up; while test -e up; do sleep 0.05; done",
             test_tmpdir());
    const pid_t pid = record_apart(line, "r");
    wait_for_file("up");
    kill(pid, SIGTERM);
    CHECK_INT(exit_of(pid), 5);
    struct record_result r = result_of("r");
    check_node(&r, "interrupted", "SIGTERM", 5);
}

TEST(a_signal_that_does_not_ask_for_the_end_does_not_make_an_interruption)
{
    char line[PATH_LEN];
    snprintf(line, sizeof line,
             "trap 'exit 0' USR1; cd %s; touch up; while test -e up; do sleep 0.05; done",
             test_tmpdir());
    const pid_t pid = record_apart(line, "r");
    wait_for_file("up");
    kill(pid, SIGUSR1);
    CHECK_INT(exit_of(pid), 0);
    struct record_result r = result_of("r");
    check_node(&r, "finished", "", 0);
}

TEST(the_job_goes_on_when_the_recorder_is_killed)
{
    char line[PATH_LEN * 2];
    snprintf(line, sizeof line, "touch %s/up; sleep 0.5; touch %s/done", test_tmpdir(),
             test_tmpdir());
    const pid_t pid = record_apart(line, "r");
    wait_for_file("up");
    kill(pid, SIGKILL);
    CHECK_INT(exit_of(pid), -SIGKILL);
    wait_for_file("done");
}

TEST(background_work_is_waited_for_and_the_status_stays_that_of_the_command)
{
    char line[PATH_LEN];
    snprintf(line, sizeof line, "(sleep 0.4; touch %s/late) & exit 3", test_tmpdir());
    struct record_result r = record(line);
    CHECK_INT(r.exit_status, 3);
    wait_for_file("late");
    CHECK(r.seconds > 0.35);
}

TEST(daemons_are_left_running_and_named)
{
    char line[PATH_LEN];
    snprintf(line, sizeof line,
             "setsid sh -c 'echo $$ > %s/pid.tmp; mv %s/pid.tmp %s/pid; exec sleep 60' & "
             "while ! test -e %s/pid; do sleep 0.01; done",
             test_tmpdir(), test_tmpdir(), test_tmpdir(), test_tmpdir());
    const struct record_result r = record(line);
    char path[PATH_LEN], want[64];
    int pid = 0;
    snprintf(path, sizeof path, "%s/pid", test_tmpdir());
    FILE *f = fopen(path, "r");
    CHECK(f && fscanf(f, "%d", &pid) == 1);
    fclose(f);
    CHECK_INT(r.exit_status, 0);
    CHECK(r.seconds < 30);
    CHECK_INT(kill(pid, 0), 0);
    snprintf(want, sizeof want, "still running: pid %d (sleep)", pid);
    kill(pid, SIGKILL);
    CHECK(strstr(said, want) != NULL);
}

TEST(two_recorders_of_one_node_are_told_apart)
{
    char line[PATH_LEN];
    snprintf(line, sizeof line,
             "cd %s; touch up; while test -e up && ! test -e go; do sleep 0.02; done",
             test_tmpdir());
    const pid_t pid = record_apart(line, "shared");
    wait_for_file("up");
    const char *argv[] = {"true", NULL};
    struct record_ask ask = ask_for(argv);
    struct record_result out;
    struct err e = {0};
    ask.run_id = "shared";
    CHECK_INT(recorder_run(&ask, &out, &e), ERR_BUSY);
    CHECK_INT(out.exit_status, 1);
    snprintf(line, sizeof line, "%s/go", test_tmpdir());
    OK(file_replace(line, "", 0, &e));
    CHECK_INT(exit_of(pid), 0);
    /* The refused one took nothing of the other's with it. */
    struct record_result r = result_of("shared");
    check_node(&r, "finished", "", 0);
    /* Once it has ended, the node may be recorded again, as a second session. */
    OK(recorder_run(&ask, &out, &e));
    OK(path_join(line, &e, "%s/node-n0/node-2.json", out.path));
    CHECK(folder_is_there(line));
}

static void ask_control(const char *request)
{
    char answer[CONTROL_ANSWER];
    struct err e;
    OK(control_send("r", "n0", getuid(), request, answer, &e));
}

TEST(interval_and_monitoring_change_while_the_run_goes_on)
{
    char line[PATH_LEN];
    struct arena a = {0};
    snprintf(line, sizeof line,
             "cd %s; touch up; while test -e up && ! test -e go; do sleep 0.02; done",
             test_tmpdir());
    const pid_t pid = record_apart(line, "r");
    wait_for_file("up");
    for (int i = 0; i < 500; i++) {
        char answer[CONTROL_ANSWER];
        struct err e;
        if (control_send("r", "n0", getuid(), "status", answer, &e) == 0)
            break;
        usleep(10000);
    }
    ask_control("interval=50ms");
    ask_control("monitoring=off");
    usleep(200000);
    ask_control("monitoring=on");
    usleep(200000);
    struct err e;
    snprintf(line, sizeof line, "%s/go", test_tmpdir());
    OK(file_replace(line, "", 0, &e));
    CHECK_INT(exit_of(pid), 0);
    struct record_result r = result_of("r");
    json_t *o = node_of(&r);
    CHECK_INT(json_get_int(o, "interval_ns", 0), 50 * NS_PER_MS);
    json_decref(o);
    arena_free(&a);
}

TEST(stop_ends_the_job_and_is_recorded_as_such)
{
    char line[PATH_LEN];
    snprintf(line, sizeof line, "touch %s/up; sleep 60", test_tmpdir());
    const pid_t pid = record_apart(line, "r");
    wait_for_file("up");
    struct err e;
    char answer[CONTROL_ANSWER];
    for (int i = 0; i < 500 && control_send("r", "n0", getuid(), "stop", answer, &e); i++)
        usleep(10000);
    CHECK_INT(exit_of(pid), 128 + SIGTERM);
    struct record_result r = result_of("r");
    check_node(&r, "stopped", "stopped by the user", 128 + SIGTERM);
}

TEST(a_running_process_can_be_attached_to_until_it_ends)
{
    const pid_t pid = fork();
    if (pid == 0) {
        execlp("sleep", "sleep", "0.6", NULL);
        _exit(1);
    }
    usleep(100000);
    struct record_ask ask = ask_for(NULL);
    struct record_result out;
    struct err e = {0};
    struct arena a = {0};
    ask.attach_pid = pid;
    OK(recorder_run(&ask, &out, &e));
    CHECK_INT(out.exit_status, 0);
    CHECK(out.samples > 0);
    json_t *o = node_of(&out);
    CHECK_STR(json_get_str(o, "status", &a, "?"), "finished");
    CHECK(json_is_null(json_object_get(o, "exit_status")));
    json_decref(o);
    arena_free(&a);
    waitpid(pid, NULL, 0);
    CHECK_INT(recorder_run(&ask, &out, &e), ERR_NOT_FOUND);
}

TEST(the_user_is_told_where_it_goes_and_that_there_is_no_gpu_once)
{
    record("sleep 0.1");
    CHECK(strncmp(said, "recording to ", 13) == 0);
    CHECK(strstr(said, " every 20 ms\n") != NULL);
    const char *first = strstr(said, "no GPU found");
    CHECK(first && !strstr(first + 1, "no GPU found"));
    CHECK(strstr(said, "footplate show last") != NULL);
}

TEST(quiet_says_nothing)
{
    const char *argv[] = {"true", NULL};
    struct record_ask ask = ask_for(argv);
    struct record_result out;
    struct err e;
    ask.quiet = true;
    OK(recorder_run(&ask, &out, &e));
    CHECK_STR(said, "");
}

TEST(no_descriptor_is_left_open)
{
    record("true");
    int before = 0, after = 0;
    for (int fd = 0; fd < 256; fd++)
        before += fcntl(fd, F_GETFD) >= 0;
    for (int i = 0; i < 5; i++)
        record("true");
    for (int fd = 0; fd < 256; fd++)
        after += fcntl(fd, F_GETFD) >= 0;
    CHECK_INT(after, before);
}
