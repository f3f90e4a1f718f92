/* SPDX-License-Identifier: Apache-2.0 */
/* recorder_start.c - everything up to the moment at which the job runs. What is acquired here is
 * given back in the opposite order when a later step fails. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "agent/keeper.h"
#include "agent/recorder_internal.h"
#include "base/mem.h"
#include "config/python_env.h"
#include "record/event.h"
#include "record/record.h"
#include "ring/ring_folder.h"
#include "run/run_names.h"
#include "run/shipping.h"
#include "sample/proctree.h"
#include "store/writer.h"

#define LEFT_AFTER_NS (60 * NS_PER_S) /* a folder of rings without a recorder */

enum { ENVIRON_MOST = 4 * 1024 * 1024, CMDLINE_MOST = 4 * 1024 * 1024 };

static const char *from_getenv(void *ctx, const char *name)
{
    (void)ctx;
    return getenv(name);
}

static const char *from_block(void *ctx, const char *name)
{
    const size_t n = strlen(name);
    for (const char *p = ctx; p && *p; p += strlen(p) + 1)
        if (strncmp(p, name, n) == 0 && p[n] == '=')
            return p + n + 1;
    return NULL;
}

/* The command line and environment of a process that already runs. */
static int look_at_process(struct recorder *r, pid_t pid, struct err *e)
{
    char path[64], *text;
    size_t len, n = 0;
    TRY(proc_check("/proc", e)); /* else it would be another process's */
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    TRY(file_read(path, CMDLINE_MOST, &r->arena, &text, &len, e));
    const char **argv = arena_array(&r->arena, const char *, len + 2);
    for (char *p = text; p < text + len; p += strlen(p) + 1)
        argv[n++] = p;
    r->command = argv;
    snprintf(path, sizeof path, "/proc/%d/cwd", (int)pid);
    const ssize_t dir = readlink(path, r->directory, sizeof r->directory - 1);
    r->directory[MAX_OF(dir, 0)] = 0;
    /* Another user's environment may not be read: then no launcher is known. */
    struct err ignored;
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    if (file_read(path, ENVIRON_MOST, &r->arena, &r->environ, &len, &ignored))
        r->environ = NULL;
    return 0;
}

static int recorder_start_describe(struct recorder *r, struct err *e)
{
    const struct record_ask *a = r->ask;
    if (a->argv) {
        r->command = a->argv;
        if (!getcwd(r->directory, sizeof r->directory))
            r->directory[0] = 0;
        launcher_find(&r->launcher, from_getenv, NULL);
    } else {
        TRY(look_at_process(r, a->attach_pid, e));
        launcher_find(&r->launcher, from_block, r->environ);
    }
    if (a->name)
        name_sanitize(r->name, sizeof r->name, a->name);
    if (!*r->name)
        run_name_of(r->name, r->command);
    git_commit_of(r->directory, r->git_commit);
    const char *proc = getenv("FOOTPLATE_PROC"), *sys = getenv("FOOTPLATE_SYS");
    r->proc = proc && *proc ? proc : "/proc";
    r->sys = sys && *sys ? sys : "/sys";
    return 0;
}

static int make_folder(struct recorder *r, struct err *e)
{
    char shared[RUN_ID_LEN];
    struct run_job job;
    const char *id = r->ask->run_id; /* set by the user, it means that run as it is */
    const bool of_job = !id && run_id_of_launcher(shared, &r->launcher, r->name, &job);
    if (of_job)
        id = shared;
    const struct run_about about = {
        .name = r->name,
        .command = r->command,
        .directory = r->directory,
        .git_commit = r->git_commit,
        .user = getenv("USER") ? getenv("USER") : getenv("LOGNAME"),
        .labels = r->ask->labels,
        .n_labels = r->ask->n_labels,
        .job = of_job ? &job : NULL,
        .start = r->start.wall,
        .interval_ns = r->interval_ns,
    };
    return rundir_make(&r->dir, r->ask->dir, id, &about, e);
}

static int open_node(struct recorder *r, const char *node_id, struct err *e)
{
    TRY(rundir_make_node(&r->dir, node_id, e));
    return writer_open(&r->writer, r->dir.node_path, e);
}

/* A host name that several nodes of a job have in common: the launcher's number distinguishes them.
 */
static int open_store(struct recorder *r, const struct hostinfo *host, struct err *e)
{
    char id[NODE_ID_LEN], other[NODE_ID_LEN + 32];
    const struct launcher *l = &r->launcher;
    const int64_t number = l->node_rank >= 0 ? l->node_rank : l->rank;
    if (r->ask->node_id)
        return open_node(r, r->ask->node_id, e);
    node_id_default(id, host->hostname, l);
    int rc = open_node(r, id, e);
    if (rc == ERR_BUSY && number >= 0) {
        snprintf(other, sizeof other, "%.40s-%lld", id, (long long)number);
        rc = open_node(r, other, e);
    }
    return rc;
}

/* What readers elsewhere need to know, to distinguish a silent node from a dead one. */
static int64_t recorder_ship_interval(const struct settings *s)
{
    if (!s || !s->to)
        return 0;
    return s->to_interval_ns == TO_SEAL_NS ? SHIPPING_SEAL_S * NS_PER_S : s->to_interval_ns;
}

static int recorder_start_open_run(struct recorder *r, struct err *e)
{
    struct node_about about = {
        .launcher = r->launcher,
        .pid = getpid(),
        .machine_type = r->ask->machine,
        .price_per_hour = r->ask->price_per_hour,
        .currency = r->ask->currency,
        .interval_ns = r->interval_ns,
        .ship_interval_ns = recorder_ship_interval(r->ask->settings),
        .start = r->start.wall,
        .exit_status = -1,
        .attached = !r->ask->argv && !r->ask->link_fd,
        .cpu_s = -1,
    };
    hostinfo_read(&about.host, r->proc, r->sys);
    TRY(make_folder(r, e));
    TRY(open_store(r, &about.host, e));
    r->sink = writer_sink(r->writer);
    about.id = r->dir.node_id;
    about.session = writer_session(r->writer);
    nodefile_init(&r->node, &r->dir, &about);
    return nodefile_write(&r->node, e);
}

static void forget_events(struct recorder *r)
{
    struct job_events_result unused;
    job_events_stop(r->events, &unused);
    r->events = NULL;
}

/* A run that failed to start: closed and removed. */
static void forget_run(struct recorder *r)
{
    struct err ignored;
    const unsigned session = r->writer ? writer_session(r->writer) : 0;
    if (r->writer)
        (void)!writer_close(r->writer, &ignored);
    r->writer = NULL;
    rundir_remove(&r->dir, session);
}

static uint64_t bytes_written(void *ctx)
{
    const struct recorder *r = ctx;
    struct writer_stats st;
    writer_get_stats(r->writer, &st);
    return st.bytes_written + job_events_bytes(r->events);
}

static int64_t late_ns(void *ctx)
{
    return ((struct recorder *)ctx)->fast.late_ns;
}

static void open_probes(struct recorder *r)
{
    pidset_init(&r->pids);
    r->env = (struct probe_env){
        .proc = r->proc,
        .sys = r->sys,
        .root_pid = r->job.pid,
        .self_pid = r->job.attached ? 0 : getpid(),
        .helper_session = helper_session(r->helper),
        .no_others = r->ask->no_others,
        .pids = &r->pids,
        .bytes_written = bytes_written,
        .late_ns = late_ns,
        .ctx = r,
    };
    const mono_ns now = clock_mono();
    struct err e;
    if (proc_check(r->proc, &e))
        recorder_warn(r, "processes are not recorded: %s", e.msg);
    probe_set_open(&r->fast, LANE_FAST, &r->env, r->interval_ns, now, r->sink);
    probe_set_read(&r->fast, now);
}

static void on_trouble(void *ctx, const char *why)
{
    struct recorder *r = ctx;
    if (why)
        recorder_warn(r, "the job continues, but the recording cannot be written: %s", why);
    else
        recorder_warn(r, "writing the recording again");
}

static void on_notice(void *ctx, const struct notice *n)
{
    struct recorder *r = ctx;
    recorder_warn(r, "%s", n->text);
    if (n->ends) {
        pthread_mutex_lock(&r->ending.lock);
        snprintf(r->ending.notice, sizeof r->ending.notice, "%s", n->text);
        pthread_mutex_unlock(&r->ending.lock);
    }
    flusher_poke_now(&r->flusher, clock_mono());
    if (n->ends && r->ask->leaving)
        r->ask->leaving(r->ask->placed_ctx);
}

/* What the run can do without, each with a line when it has to. */
static void start_helpers(struct recorder *r)
{
    struct err e;
    r->control.handle = recorder_handle_request;
    r->control.ctx = r;
    if (control_open(&r->control, r->dir.id, r->dir.node_id, &e))
        recorder_warn(r, "'footplate set' will not work for this run: %s", e.msg);
    r->gpus = xcalloc(1, sizeof *r->gpus);
    r->ready_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (gpus_start(r->gpus, r->sys, r->ready_fd, &e)) {
        recorder_warn(r, "GPUs are not recorded: %s", e.msg);
        r->gpus_done = true;
    }
    notice_start(&r->notice, r->sys, getenv("FOOTPLATE_METADATA"), 0, r->sink, on_notice, r);
}

static void start_lane(struct recorder *r, enum lane lane)
{
    struct err e;
    struct lane_thread *l = xcalloc(1, sizeof *l);
    const struct lane_begin begin = {
        .env = &r->env,
        .interval_ns = r->interval_ns,
        .grid = schedule_next(&r->fast.schedule),
        .paused = !r->monitoring,
        .sink = r->sink,
        .flusher = &r->flusher,
        .first_round = &r->first_round,
    };
    if (lane_start(l, lane, &begin, &e)) {
        recorder_warn(r, "GPUs are not recorded: %s", e.msg);
        free(l);
        return;
    }
    r->lane[lane] = l;
}

void recorder_take_gpus(struct recorder *r, int64_t wait_ns)
{
    if (r->gpus_done || !gpus_join(r->gpus, wait_ns))
        return;
    r->gpus_done = true;
    struct node_about *about = nodefile_lock(&r->node);
    about->gpus_known = true;
    about->gpus = r->gpus->list;
    about->n_gpus = r->gpus->n;
    about->gpu_absent = r->gpus->n ? NULL : r->gpus->absent;
    nodefile_unlock(&r->node);
    if (r->gpus->n == 0)
        recorder_print(r, "no GPU found: %s", r->gpus->absent);
    r->env.nvml = r->gpus->nvml;
    r->env.nvml_absent = r->gpus->absent;
    thread_end_init(&r->first_round);
    for (enum lane lane = LANE_FAST + 1; lane < LANE_N && !r->ended; lane++)
        start_lane(r, lane);
    flusher_poke_now(&r->flusher, clock_mono());
}

static bool is_disabled(void)
{
    const char *v = getenv("FOOTPLATE_DISABLE");
    return v && *v && strcmp(v, "0") != 0;
}

/* The folder for the job's events. It runs without when there is none. */
static bool make_events(struct recorder *r)
{
    struct err e;
    if (is_disabled())
        return false;
    ring_folder_sweep(RING_MEMORY, LEFT_AFTER_NS);
    if (job_events_make(&r->events, r->ask->dir, &e) == 0)
        return true;
    recorder_warn(r, "events of the job are not recorded: %s", e.msg);
    return false;
}

/* The environment of the job, with that folder. */
static char **make_environment(struct recorder *r)
{
    char hooks[PATH_LEN];
    if (!make_events(r))
        return environ;
    r->hooked = !r->ask->no_hooks && hooks_find(hooks);
    r->hooks_lack = r->hooked ? hooks_lack(hooks) : NULL;
    return job_env(&r->arena, environ, job_events_folder(r->events), r->hooked ? hooks : NULL);
}

static int start_job(struct recorder *r, struct err *e)
{
    if (r->ask->argv)
        return job_fork(&r->job, r->ask->argv, make_environment(r), &r->signals, e);
    if (r->ask->link_fd) /* a process that requests the recorder has the hooks */
        r->hooked = make_events(r);
    return job_attach(&r->job, r->ask->attach_pid, e);
}

int recorder_send_settings(struct recorder *r, struct err *e)
{
    struct buf json = settings_hook_config(r->settings, ++r->generation, r->job_start);
    const int rc = job_events_configure(r->events, &json, r->generation, e);
    buf_free(&json);
    return rc;
}

static void prepare_hooks(struct recorder *r)
{
    struct err e;
    if (!r->events || !r->ask->settings)
        return;
    r->settings = arena_new(&r->arena, struct settings);
    *r->settings = *r->ask->settings;
    r->job_start = clock_tie_now();
    if (recorder_send_settings(r, &e))
        recorder_warn(r, "details are not recorded: %s", e.msg);
}

/* Without it the job's rings fill up and what comes then is dropped; the job does not notice. */
static void start_events(struct recorder *r)
{
    struct err e;
    const char *proc = proc_check(r->proc, &e) == 0 ? r->proc : NULL;
    if (r->events &&
        job_events_start(r->events,
                         &(struct job_events_ask){r->writer, &r->flusher, proc, r->helper}, &e))
        recorder_warn(r, "events of the job are not recorded: %s", e.msg);
}

/* Lets the job go. The first readings are taken before, so they show the machine without it; the
 * disk's thread runs before, so that nothing can fail any more once the job runs. */
static int recorder_start_let_go(struct recorder *r, struct err *e)
{
    TRY(flusher_start(&r->flusher, r->writer, &r->node, r->interval_ns, on_trouble, r, e));
    if (r->ask->spool)
        flusher_limit(&r->flusher, r->dir.node_path, r->ask->spool);
    sink_mark(r->sink, MARK_RECORDER_START, getpid(), "%s", FP_VERSION);
    open_probes(r);
    prepare_hooks(r);
    recorder_begin_helper(r);
    if (r->ask->placed)
        r->ask->placed(r->ask->placed_ctx, &r->dir);
    start_events(r);
    const int rc = r->job.attached ? 0 : job_release(&r->job, r->ask->argv[0], e);
    if (rc == 0) {
        keeper_running(&r->job);
        sink_mark(r->sink, MARK_JOB_START, r->job.pid, "%s", r->name);
        return 0;
    }
    flusher_stop(&r->flusher);
    forget_events(r);
    probe_set_close(&r->fast);
    pidset_free(&r->pids);
    return rc;
}

static int open_run_and_go(struct recorder *r, struct err *e)
{
    int rc = recorder_start_describe(r, e);
    if (rc == 0)
        rc = recorder_start_open_run(r, e);
    if (rc == 0)
        rc = recorder_start_let_go(r, e);
    if (rc)
        forget_run(r);
    return rc;
}

static int start_job_and_run(struct recorder *r, struct record_result *out, struct err *e)
{
    int rc = start_job(r, e);
    if (rc) {
        forget_events(r);
        return rc;
    }
    keeper_child(r->job.attached ? 0 : r->job.pid);
    rc = open_run_and_go(r, e);
    if (rc == 0)
        return 0;
    if (!r->job.exited && !r->job.attached)
        job_cancel(&r->job);
    keeper_child(0);
    if (r->job.status > 0)
        out->exit_status = r->job.status;
    forget_events(r);
    job_close(&r->job);
    return rc;
}

bool recorder_runs_python(const struct recorder *r)
{
    char label[TRACK_NAME_LEN];
    if (!r->command[0]) /* a zombie has none */
        return false;
    command_label(label, sizeof label, r->command[0], strlen(r->command[0]) + 1);
    return strncmp(label, "python", 6) == 0;
}

/* Nothing inside of a process that runs already is recorded. */
static void recorder_print_coverage(struct recorder *r)
{
    if (!r->job.attached || r->ask->link_fd)
        return;
    recorder_print(
        r, "metrics of the machine, its GPUs and processes are recorded, but no steps: %s",
        recorder_runs_python(r)
            ? "hooks must be there when Python starts. To record steps, start the program "
              "with 'footplate run --', or call footplate.start() in it"
            : "a program that is attached to cannot report them. To record steps, start "
              "it with 'footplate run --'");
}

int recorder_start(struct recorder *r, struct record_result *out, struct err *e)
{
    char every[32];
    r->start = clock_tie_now();
    r->interval_ns = r->ask->interval_ns;
    r->monitoring = true;
    r->link = r->ask->link_fd ? r->ask->link_fd : -1;
    r->kill_at = r->look_at = (mono_ns){SCHEDULE_NEVER};
    pthread_mutex_init(&r->ending.lock, NULL);
    recorder_start_helper(r);
    TRY(signals_open(&r->signals, e));
    keeper_signals(&r->signals);
    const int rc = start_job_and_run(r, out, e);
    if (rc) {
        helper_stop(r->helper);
        signals_close(&r->signals);
        signals_restore_in_child(&r->signals);
        keeper_signals(NULL);
        return rc;
    }
    snprintf(out->path, sizeof out->path, "%s", r->dir.path);
    recorder_started(r);
    recorder_print(r, "recording to %s every %s", r->dir.path,
                   duration_text((double)r->interval_ns / 1e9, every, sizeof every));
    recorder_print_coverage(r);
    start_helpers(r);
    recorder_greet_link(r);
    return 0;
}
