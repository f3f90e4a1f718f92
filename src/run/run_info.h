/* SPDX-License-Identifier: Apache-2.0 */
/* run_info.h - which runs there are, and the contents of their small files.
 *
 * run_find turns what the user typed into a location. run_info_read reads only the small JSON
 * files, so a list of a thousand runs stays cheap. */
#ifndef RUN_RUN_INFO_H
#define RUN_RUN_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"

enum run_status {
    RUN_RUNNING,
    RUN_FINISHED,    /* exit status 0 */
    RUN_FAILED,      /* another exit status */
    RUN_INTERRUPTED, /* ended by a signal or a notice from outside */
    RUN_STOPPED,     /* ended at the user's request */
    RUN_DIED,        /* the recorder vanished; what it wrote is shown */
    RUN_STATUS_N,
};

const char *run_status_name(enum run_status s);

struct node_gpu {
    const char *entity, *name, *uuid, *driver;
    int64_t memory_bytes;
};

/* One session of a node: a recorder that restarts adds another. */
struct node_info {
    const char *id;
    unsigned session; /* 1, 2, ... */
    enum run_status status;
    const char *why; /* for RUN_INTERRUPTED and others: "SIGTERM", "AWS spot notice"; else "" */
    const char *host, *kernel, *cpu_model;
    unsigned cores;
    int64_t memory_bytes;
    struct node_gpu *gpus;
    size_t n_gpus;
    bool gpus_known;        /* false: not determined, as for another profiler's trace */
    const char *gpu_absent; /* why there is no GPU, when there is none */
    const char *launcher;   /* "torchrun", "slurm", ... or "" */
    int64_t rank, world_size, local_rank; /* -1: not known */
    const char *machine;                  /* as the table of machines calls it; "": not set */
    double price_per_hour;                /* NAN: not known */
    const char *currency;                 /* of the price; "": not set */
    int64_t interval_ns;
    int64_t ship_interval_ns; /* between two uploads; 0: not known */
    wall_ns start, end;       /* end: of the last data while it runs or when it died */
    int exit_status;          /* -1: none yet */
    bool attached;            /* to a job that ran already */
    double self_cpu_s;        /* Footplate's own cost; NAN while not known */
    int64_t bytes_written;    /* -1: not known, as while it runs */
    int64_t samples;          /* that the recorder took in; -1: not known */
    int64_t events_dropped;   /* -1: not known */
};

struct run_label {
    const char *key, *value;
};

/* What users wrote about a run, see run_notes.h. */
struct run_notes {
    const char *name; /* instead of the recorded one; "": none */
    const char **tags;
    size_t n_tags;
    const char *text; /* "": none */
};

struct run_info {
    const char *path, *id;
    const char *name; /* as it is shown: of the notes, else the recorded one */
    const char *recorded_name;
    struct run_notes notes;
    enum run_status status; /* the worst of the nodes' */
    const char **command;   /* ends with NULL */
    const char *directory, *git_commit, *version;
    const char *user; /* the user that started it; "": not known */
    struct run_label *labels;
    size_t n_labels;
    struct node_info *nodes; /* sorted by id, then session */
    size_t n_nodes;
    wall_ns start, end;
    int exit_status; /* of the node that failed first, else 0; -1: none yet */
};

/* The folder of runs: `dir`, else $FOOTPLATE_DIR, else "footplate-runs". */
const char *runs_folder(const char *dir);

/* RUN as users type it: a folder, a prefix of a name or id in `dir`, or "last". */
MUST_CHECK int run_find(const char *dir, const char *ref, char path[], struct err *e);
/* How many runs fit what run_find finds; it takes the newest of them. */
size_t run_find_fits(const char *dir, const char *ref);
/* A run of a list. */
struct run_listed {
    const char *path;
    const char *entry; /* of a catalogue (run_catalog.h), JSON; NULL: none */
    size_t entry_len;
    uint64_t stamp;   /* of the entry; 0: the run has to be read */
    int64_t start_ns; /* of the entry */
};

/* All runs in `dir`, newest first. An empty or missing folder has none. */
MUST_CHECK int run_list(const char *dir, struct arena *a, struct run_listed **out, size_t *n,
                        struct err *e);
/* The same in any order, without reading them: whatever may be a run. */
MUST_CHECK int run_each(const char *dir, void (*visit)(void *ctx, const char *path), void *ctx,
                        struct err *e);
/* With their entry in a catalogue; it is valid during the call. */
MUST_CHECK int run_each_listed(const char *dir,
                               void (*visit)(void *ctx, const struct run_listed *x), void *ctx,
                               struct err *e);
MUST_CHECK int run_info_read(struct run_info *out, const char *path, struct arena *a,
                             struct err *e);
/* The same of a run of a list, without reading it where its entry is enough. */
MUST_CHECK int run_info_of(struct run_info *out, const struct run_listed *x, struct arena *a,
                           struct err *e);
/* The entry of a run, in one line. */
void run_info_entry(const struct run_info *info, struct buf *out);
/* Whether the run was being recorded when the entry was made. */
bool run_entry_is_running(const char *entry, size_t len);

#endif
