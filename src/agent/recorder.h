/* SPDX-License-Identifier: Apache-2.0 */
/* recorder.h - records one job on this machine, from its start to the end of its process tree.
 *
 * The recorder reads probes and writes a run folder; it never decides anything about the job. Once
 * the job has started nothing that goes wrong with the recording ends it or changes its exit
 * status. One recorder per process: it takes over the process's signals and children. */
#ifndef AGENT_RECORDER_H
#define AGENT_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/helper.h"
#include "base/err.h"
#include "base/file.h"
#include "run/rundir.h"

struct settings;

struct record_ask {
    const char *const *argv; /* the command, ends with NULL; NULL: attach */
    int attach_pid;
    int link_fd;         /* of attach: a socket to footplate.start() in that process; 0: none */
    const char *dir;     /* the folder of the runs */
    const char *name;    /* NULL: from the command */
    const char *run_id;  /* NULL: a separate run, or the launcher's job where nodes share one */
    const char *node_id; /* NULL: from the host's name */
    int64_t interval_ns; /* INTERVAL_MIN_NS .. INTERVAL_MAX_NS */
    const struct run_label *labels;
    size_t n_labels;
    const struct settings *settings; /* for the hooks; NULL: no detail windows */
    bool no_hooks;  /* the job's Python is left as it is; what it emits itself is still recorded */
    bool no_others; /* names of other programs that use the CPU are not recorded */
    bool quiet;     /* only errors are printed */
    const char *machine;          /* what kind it is; NULL: not set */
    double price_per_hour;        /* of this machine; 0: not known */
    const char *currency;         /* of the price; NULL: not set */
    struct helper_program helper; /* evaluates rules, performs actions, converts detail windows */
    /* Gets the place of the run once it is there, before the job starts; NULL: not called. */
    void (*placed)(void *ctx, const struct rundir *dir);
    /* The cloud will take the machine away soon; from another thread. NULL: not called. */
    void (*leaving)(void *placed_ctx);
    void *placed_ctx;
    uint64_t spool; /* bytes that may be in the folder, which others empty; 0: no limit */
    /* Gets each line for the user, without prefix and newline. From any thread. */
    void (*print)(void *ctx, const char *line);
    void *report_ctx;
};

struct record_result {
    int exit_status;  /* to pass on: the job's own, 128+n for signal n; what to exit with on failure
                       */
    bool interrupted; /* Ctrl-C ended the job and reached its whole process group */
    char path[PATH_LEN]; /* the run folder */
    double seconds;
    double cpu_s; /* the recorder's own */
    uint64_t samples, rows_dropped, file_bytes;
    uint64_t events, events_dropped; /* of the job */
};

/* Fails only while the job has not started: then nothing runs, no run folder is left and
 * out->exit_status is 1, or 126 or 127 when the program cannot be run. */
MUST_CHECK int recorder_run(const struct record_ask *ask, struct record_result *out, struct err *e);

#endif
