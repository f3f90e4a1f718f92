/* SPDX-License-Identifier: Apache-2.0 */
/* runs.h - the runs of the served folders: listed, opened, and left open for a while.
 *
 * Safe for any number of threads. A list is a picture of one moment, good until runs_list_free. A
 * run has one user from runs_take to runs_give. Open runs are bounded; the least recently used are
 * closed first. Names are looked up in the list, never made into paths; only whether a run has
 * begun a moment ago is checked on the disk, by names that runs can have. */
#ifndef SERVE_RUNS_H
#define SERVE_RUNS_H

#include "query/run.h"
#include "rules/verdict.h"

struct runs;
struct runs_item;    /* a run that was seen, known by its name */
struct runs_about;   /* the description of a run */
struct runs_picture; /* the list of runs at one moment */

/* After the counts of issues by severity: how many rules were evaluated, summaries aside. */
enum { ISSUE_EVALUATED = SEVERITY_N, ISSUE_COUNTS };

struct runs_entry {
    const char *name;   /* of the folder; the second of two that are the same ends with "~2" */
    const char *folder; /* the one that it lies in */
    const char *path;
    const struct run_info *info; /* NULL: it cannot be read */
    const char *broken;          /* why not */
    bool live;
    uint64_t bytes;    /* of its data */
    const char *owner; /* its sender; "": it was recorded here */
    /* How many issues, by enum severity, as findings.json has them or as they were evaluated here,
     * then how many rules were evaluated (ISSUE_COUNTS numbers). NULL: neither yet. */
    const unsigned *issues;
};

struct runs_list {
    const struct runs_entry *v; /* newest first */
    size_t n;
    struct runs_picture *own;
    struct runs *runs;
};

enum { RUNS_OPEN_BYTES = 64 << 20 }; /* what open runs of a server may use together */

/* A folder that does not exist yet is not an error: it may be made later. Open runs use no more
 * than `open_bytes_most` together; a single one may use more. */
MUST_CHECK int runs_open(struct runs **out, const char *const *folders, size_t n,
                         size_t open_bytes_most, struct err *e);
void runs_close(struct runs *r); /* NULL is fine */

void runs_list_read(struct runs *r, struct runs_list *out);
void runs_list_free(struct runs_list *l);
/* The list was requested: the findings of its newest runs are evaluated, one at a time and after
 * all other work, until it has not been requested for a while. */
void runs_list_requested(struct runs *r);
/* What is cached, each with a separate limit: a run with very many steps must not push out all
 * answers, nor they its steps. */
enum runs_cache { CACHE_ANSWERS, CACHE_STEPS, CACHE_N };
struct memo *runs_memo(struct runs *r, enum runs_cache which);
/* Whose turn it is to do what takes much memory. */
struct memory_limit *runs_memory_limit(struct runs *r);
size_t runs_folders(const struct runs *r, const char *const **out);

/* A run in use by a request. */
struct runs_hold {
    struct runs_item *item;
    struct run *run;             /* NULL: only the description was requested */
    const struct run_info *info; /* as fresh as the run */
    uint64_t version;            /* of its data */
    bool live;
    struct runs_about *about; /* the rest is for runs_give */
    uint64_t truncations;
    bool locked;
};

/* The version of its data, if that was read a moment ago: the disk is not read. False: it is not
 * known; runs_take reads it. */
bool runs_version(struct runs *r, const char *name, uint64_t *version);
/* Waits until no other request has it. ERR_NOT_FOUND: no such run; ERR_SYS with ENOENT: it was
 * removed; or the error of opening it. */
MUST_CHECK int runs_take(struct runs *r, const char *name, bool open, struct runs_hold *out,
                         struct err *e);
/* False: its files were truncated meanwhile, so that the data may be wrong. An empty one
 * is fine. */
bool runs_give(struct runs *r, struct runs_hold *h);

/* Where the run of this name is, in the arena. Nothing of it is read. Errors as of runs_take. */
MUST_CHECK int runs_path(struct runs *r, const char *name, struct arena *a, const char **out,
                         struct err *e);

/* The server itself changed or removed a run: the next request must see it. */
void runs_changed(struct runs *r, const char *name);

/* The findings of a run as JSON text (an array of verdicts), in the arena. `*out` NULL: they are
 * being evaluated, request them again. The caller has no run open. */
MUST_CHECK int runs_findings(struct runs *r, const char *name, struct arena *a, const char **out,
                             struct err *e);

/* Has the findings of a live run evaluated again when its data is newer and it is time. Returns a
 * number that grows when they change. */
uint64_t runs_findings_watch(struct runs *r, const struct runs_hold *h);

/* Facts about the server. */
struct runs_facts {
    size_t runs, open, open_bytes, clients, connections;
    uint64_t requests, evaluations; /* of all rules over a run */
    double uptime_s;
};

void runs_get_facts(struct runs *r, struct runs_facts *out);
/* Callbacks that know the clients, connections and requests. */
void runs_set_facts(struct runs *r, void (*fill)(void *ctx, struct runs_facts *out), void *ctx);

#endif
