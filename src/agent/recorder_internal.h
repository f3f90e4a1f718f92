/* SPDX-License-Identifier: Apache-2.0 */
/* recorder_internal.h - what the files of the recorder share; for recorder*.c only. */
#ifndef AGENT_RECORDER_INTERNAL_H
#define AGENT_RECORDER_INTERNAL_H

#include "agent/control.h"
#include "agent/flusher.h"
#include "agent/helper.h"
#include "agent/job.h"
#include "agent/jobevents.h"
#include "agent/jobinfo.h"
#include "agent/lane.h"
#include "agent/notice.h"
#include "agent/recorder.h"
#include "agent/signals.h"
#include "config/settings.h"
#include "run/nodefile.h"
#include "sample/probe.h"

/* Why the run has a status other than that of its exit status. */
struct ending {
    int signal;          /* first that was to end the job, 0: none */
    bool stop_requested; /* by the user, through the control socket, or by a rule */
    char stop_why[TEXT_LEN];
    bool detached; /* an attached job that we leave */
    bool released; /* the attached job has requested it: footplate.stop() */
    pthread_mutex_t lock;
    char notice[TEXT_LEN]; /* under the lock: that the machine goes away; "": none */
};

enum { HELD_MOST = 16 };

/* CPU time that the recorder has used up to a moment. */
struct own_cost {
    mono_ns at;
    double cpu_s;
};

struct recorder {
    const struct record_ask *ask;
    /* What runs. */
    char name[RUN_NAME_LEN];
    char directory[PATH_LEN];
    char git_commit[GIT_COMMIT_LEN];
    const char *const *command;
    char *environ; /* of an attached process: NAME=value, NUL after each; ends with an empty one */
    struct arena arena;
    struct launcher launcher;
    struct clock_tie start;
    /* Where it goes. */
    struct rundir dir;
    struct nodefile node;
    struct writer *writer;
    struct sink *sink;
    struct flusher flusher;
    struct helper *helper; /* NULL: there is none */
    bool helper_lost;      /* that it has ended was reported */
    struct helper_cost helper_cost;
    /* What is read. */
    const char *proc, *sys;
    struct probe_env env;
    struct pidset pids;
    struct probe_set fast;
    struct gpus *gpus; /* allocated separately, so that it can be left to a thread that hangs */
    struct lane_thread *lane[LANE_N]; /* the same; NULL: not started */
    struct thread_end first_round;    /* of the GPU lane */
    struct notice_watch notice;
    /* The job that is recorded. */
    struct signals signals;
    struct job job;
    struct job_events *events; /* NULL: events of the job are not recorded */
    bool hooked;               /* its Python processes load the hooks */
    const char *hooks_lack;    /* a file without which they cannot; NULL: none */
    struct settings *settings; /* of the hooks, ours to change; NULL: they have none */
    struct clock_tie job_start;
    uint64_t generation; /* of the settings of the hooks */
    struct control control;
    int ready_fd; /* eventfd of the GPU finder */
    int link;     /* to footplate.start(); -1: none */
    /* Warnings of parts that cannot be recorded, until it is known that the rest can. */
    bool started;
    pthread_t starter;
    const char *held[HELD_MOST];
    size_t n_held;
    /* State of the loop. */
    int64_t interval_ns;
    bool monitoring;
    bool gpus_done;
    bool ended;
    struct own_cost settled; /* when the start was over; at.ns 0: not yet */
    bool children_changed;   /* reap before the next wait */
    struct ending ending;
    mono_ns kill_at;   /* after a stop; SCHEDULE_NEVER: none */
    mono_ns look_at;   /* next check for what the job has left */
    mono_ns exited_at; /* of the first process */
    bool waiting_reported;
    struct jobtree left; /* as last seen */
};

struct own_cost recorder_cost_now(void);

/* Lines for the user: news unless quiet, errors always. */
void recorder_print(struct recorder *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
void recorder_warn(struct recorder *r, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* The run is recorded: prints the messages that were deferred. */
void recorder_started(struct recorder *r);

/* recorder_start.c: everything up to the moment at which the job runs. */
int recorder_start(struct recorder *r, struct record_result *out, struct err *e);
/* The GPU finder is done, or `wait_ns` has passed: the lanes start. */
void recorder_take_gpus(struct recorder *r, int64_t wait_ns);

/* recorder.c: the helper process. */
/* First of all, while there is one thread and no job. */
void recorder_start_helper(struct recorder *r);
/* The run folder exists. */
void recorder_begin_helper(struct recorder *r);
/* Everything that was read has reached the files: lets it evaluate once more and end. */
void recorder_end_helper(struct recorder *r);

/* Passes the settings to the hooks, again when they have changed. */
int recorder_send_settings(struct recorder *r, struct err *e);

/* recorder_watch.c: the job, its signals, its user. */
void recorder_take_signals(struct recorder *r);
/* The link to footplate.start() in the job: sends it the folders of the run and of its events, and
 * receives the request of footplate.stop(). */
void recorder_greet_link(struct recorder *r);
void recorder_take_link(struct recorder *r);
void recorder_check_job(struct recorder *r, mono_ns now);
bool recorder_handle_request(void *ctx, const struct control_request *q, char *answer, size_t size);
/* SIGTERM now, SIGKILL after the grace time; `why`: the source of the request. */
void recorder_stop_job(struct recorder *r, const char *why, int64_t grace_ns);

/* Whether the job's first process is a Python. */
bool recorder_runs_python(const struct recorder *r);

/* recorder_end.c: from the end of the job to closed files. False when a thread hangs in a driver:
 * the recorder must then stay where it is. */
bool recorder_end(struct recorder *r, struct record_result *out);

#endif
