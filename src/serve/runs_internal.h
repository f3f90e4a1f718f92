/* SPDX-License-Identifier: Apache-2.0 */
/* runs_internal.h - shared by the files of runs.h.
 *
 * Locks, in the order in which they may be taken: runs.scan, item.use, runs.lock. */
#ifndef SERVE_RUNS_INTERNAL_H
#define SERVE_RUNS_INTERNAL_H

#include <pthread.h>

#include "base/file.h"
#include "rules/params.h"
#include "rules/verdict.h"
#include "run/receive.h"
#include "run/run_files.h"
#include "serve/runs.h"
#include "serve/work.h"

enum {
    RUNS_MOST = 20000,   /* that are listed; the rest of a folder is left out */
    RUNS_OPEN = 8,       /* at once */
    RUNS_FRESH_MS = 500, /* a scan of the folders, or the version of a run, is fresh so long */
    RUNS_SLOTS = 4096,   /* a power of two */
    CATALOG_FEW = 1000,  /* of so many runs with entries of a catalogue findings are read, too */
    RUNS_GONE = 64,      /* names of vanished runs that are stored */
    RUNS_FINDINGS = 64,  /* findings that are cached as text, some 30 kB each */
};

/* What is known of a run from its small files: never changed once made, counted. */
struct runs_about {
    unsigned refs;
    uint64_t stamp; /* of the files it was read from */
    struct arena arena;
    struct run_info info;
    const char *broken; /* NULL: info is good */
    int64_t start_ns;   /* to sort by */
    uint64_t bytes;     /* of its data */
    char owner[RECEIVE_OWNER_LEN];
    unsigned issues[ISSUE_COUNTS];
    bool has_issues;
};

struct runs_item {
    struct runs_item *chain; /* same slot */
    unsigned refs;           /* under runs.lock; one is the table's */
    char *name, *folder, *path;
    bool seen; /* in the running scan */
    struct runs_about *about;

    uint64_t version; /* under runs.lock */
    mono_ns looked;   /* when that was; 0: never */

    pthread_mutex_t use; /* held by the user of the run */
    struct run *run;     /* NULL: not open */
    uint64_t run_version;
    int64_t used; /* monotonic ns of the last use. Under runs.lock. */
    bool open;    /* run is not NULL. Under runs.lock. */
    size_t bytes; /* of memory in use. Under runs.lock. */

    char *findings; /* as JSON, under runs.lock; NULL: none yet */
    uint64_t findings_version;
    mono_ns findings_at;
    mono_ns findings_next;     /* when newer data may be evaluated; 0: at once */
    uint64_t findings_changes; /* grows when the text is another one */
    bool evaluating;
    struct evaluation *evaluation; /* of the job that sets `evaluating`; NULL: none */
    char *findings_error;          /* why the last evaluation failed; NULL: it did not */
    /* What was counted in the last one that did not fail; all under runs.lock. */
    bool judged;
    unsigned issues[ISSUE_COUNTS];
    uint64_t judged_stamp; /* of the description that was good then */
    uint64_t tried_stamp;  /* the same, when it was last evaluated without a request */
};

struct runs_picture {
    unsigned refs; /* under runs.lock */
    struct runs_entry *v;
    struct runs_item **items;         /* counted; the entries use their texts */
    struct runs_about **about;        /* counted */
    unsigned (*issues)[ISSUE_COUNTS]; /* of each */
    size_t n;
};

struct runs {
    char **folders;
    size_t n_folders;
    pthread_mutex_t scan; /* one looks through the folders at a time */
    pthread_mutex_t lock;
    struct runs_item *slot[RUNS_SLOTS];
    uint64_t evaluations; /* that were done */
    size_t n_items, n_open, open_bytes, open_bytes_most;
    struct runs_picture *picture;
    mono_ns scanned; /* 0: never */
    char *gone[RUNS_GONE];
    size_t next_gone;
    struct work *judges; /* evaluate findings */
    struct work *quiet;  /* the same, of runs without a request */
    struct fill {
        struct work_job job;
        struct runs *runs;
    } fill_list;
    bool filling;           /* under the lock */
    mono_ns list_requested; /* the same; 0: never */
    mono_ns quiet_next;     /* when live runs may be evaluated for the list; its thread's */
    struct memo *memo[CACHE_N];
    struct memory_limit *limit;
    mono_ns began;
    void (*fill)(void *ctx, struct runs_facts *out);
    void *fill_ctx;
};

/* Scans the folders, unless that was done a moment ago. */
void runs_scan(struct runs *r, bool force);
/* Counted for the caller. NULL: no such run. */
struct runs_item *runs_find(struct runs *r, const char *name);
/* The version of its data, read now unless that was done a moment ago; 0: it was removed. */
uint64_t runs_look(struct runs *r, struct runs_item *x);
void runs_unref(struct runs *r, struct runs_item *x);
void about_unref(struct runs *r, struct runs_about *a);
void picture_unref(struct runs *r, struct runs_picture *p);

/* Reads the small files of a run. Never fails, but `broken` may be set. */
struct runs_about *about_read(const struct run_listed *x, uint64_t stamp);
/* What is known of its issues without reading its data; NULL: nothing. Under the lock. */
const unsigned *judge_issues(const struct runs_item *x);
/* The job that fills the list, see runs_list_requested. */
void fill_list(struct work_job *j, bool ends);

#endif
