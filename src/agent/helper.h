/* SPDX-License-Identifier: Apache-2.0 */
/* helper.h - the recorder's helper process, and the messages between the two.
 *
 * The helper reads the files of the run: it evaluates the rules, performs actions and converts
 * detail windows. The recorder knows nothing of that. It starts a program, forwards requests and
 * carries out what the helper reports: lines for the user, marks, losses, and the end of the job.
 *
 *     helper_start (single-threaded, before the job), helper_begin once the run folder exists,
 *     helper_take whenever its descriptor is readable, helper_wait at the end, helper_stop.
 *
 * A supervisor process starts the helper again when it crashes, HELPER_RESTARTS times. After that,
 * or without a helper at all, the recording continues. The job never waits for it. */
#ifndef AGENT_HELPER_H
#define AGENT_HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/file.h"
#include "record/record.h"
#include "run/rundir.h"

enum { HELPER_TEXT = 1024, HELPER_RESTARTS = 3, HELPER_MEMORY = 1 << 14 };

enum helper_kind {
    /* to the helper */
    HELPER_LOOK,    /* a detail window is in the folder of the rings */
    HELPER_CONVERT, /* convert all that are left, then answer HELPER_CONVERTED */
    HELPER_END,     /* the job has ended: evaluate once more, then answer HELPER_DONE */
    /* to the recorder */
    HELPER_SAY,  /* a line for the user, unless quiet */
    HELPER_WARN, /* a line for the user */
    HELPER_MARK,
    HELPER_LOSS,
    HELPER_STOP,  /* end the job */
    HELPER_AGAIN, /* it crashed and was started again: send unanswered requests again */
    HELPER_CONVERTED,
    HELPER_DONE,
};

struct helper_stop_job {
    char rule[ENTITY_LEN];
    int64_t grace_ns;
};

/* CPU time of all processes of the helper. */
struct helper_cost {
    double run_s; /* while the job ran */
    double all_s;
};

struct helper_message {
    enum helper_kind kind;
    union {
        char text[HELPER_TEXT];
        struct mark mark;
        struct loss loss;
        struct helper_stop_job stop;
        struct helper_cost cost; /* of HELPER_DONE */
    };
};

/* Where the run is. */
struct helper_begin {
    struct rundir dir;
    char name[RUN_NAME_LEN];
    unsigned session;     /* of the node's writer */
    char rings[PATH_LEN]; /* folder of the rings; "": there is none */
};

/* What the program of the helper gets. */
struct helper_task {
    int fd; /* SOCK_SEQPACKET, one struct helper_message each; closed: the recorder has ended */
    struct helper_begin begin;
    void *memory; /* HELPER_MEMORY bytes, zero at first, which survive a crash */
    bool again;   /* it has crashed before */
};

struct helper_program {
    void (*main)(const struct helper_task *t, void *ctx); /* NULL: no helper is needed */
    void *ctx;
};

struct helper;

/* `on_message` is called by helper_take and helper_wait. */
MUST_CHECK int helper_start(struct helper **out, const struct helper_program *p,
                            void (*on_message)(void *ctx, const struct helper_message *m),
                            void *ctx, struct err *e);
void helper_begin(struct helper *h, const struct helper_begin *b);
/* Sends a request without waiting. From any thread. NULL is fine. */
void helper_request(struct helper *h, enum helper_kind kind);
/* For poll; -1: it has ended. */
int helper_fd(const struct helper *h);
/* Its processes have it, and no others; 0: there is no helper. */
pid_t helper_session(const struct helper *h);
/* Handles what has come. False: the helper has ended; reported once. */
bool helper_take(struct helper *h);
/* Sends the request and handles messages until `answer` has come. False: the helper has ended, or
 * `wait_ns` are over (below 0: no limit). NULL is fine: false. */
bool helper_wait(struct helper *h, enum helper_kind request, enum helper_kind answer,
                 int64_t wait_ns);
void helper_stop(struct helper *h); /* NULL is fine */

/* ---- for the program of the helper ---- */

/* False: the recorder has ended. */
bool helper_report(const struct helper_task *t, const struct helper_message *m);
bool helper_next(const struct helper_task *t, struct helper_message *out);
/* The recorder has ended. */
bool helper_is_alone(const struct helper_task *t);

/* A file that a hook leaves in the folder of the rings: a detail window, or saved tensors. */
struct window_file {
    const char *name;
    char kind[16]; /* "detail": a trace; "python": a profile of functions; "tensors" */
    unsigned pid, k;
};

/* "detail-42-0.json" or "python-42-0.json", with or without ".gz", or a name of run_saved_name. */
bool window_file_parse(struct window_file *out, const char *name);

/* ---- a process that is not a child ---- */

/* A process of ours that runs beside the recorder and is not a child of it.
 *
 * A child of the recorder would look like a part of the job, and would be reaped like one. So this
 * one is made before the recorder adopts orphans, by a parent that ends at once: it has no parent
 * here. Where the recorder is the first process of a pid namespace, it becomes its child all the
 * same, and is known by its session. It has none of the recorder's files and locks, since there are
 * none yet, nothing of the terminal, and ends when the recorder does, however that ends: its socket
 * closes. */

struct sidecar {
    int fd;        /* of a socket */
    pid_t session; /* of the process and all that it starts, and of no other */
};

/* Single-threaded, before the job. `body` has the other end of the socket, of `type` SOCK_STREAM or
 * SOCK_SEQPACKET, and in its own process everything `ctx` points to; when it returns the process
 * ends. */
MUST_CHECK int sidecar_start(struct sidecar *out, int type, void (*body)(int fd, void *ctx),
                             void *ctx, struct err *e);

/* For the bodies: so many bytes; false: the other side has closed. */
bool sidecar_read(int fd, void *p, size_t n);

#endif
