/* SPDX-License-Identifier: Apache-2.0 */
/* memo.h - a cache of the server: answers, or what answers are computed from.
 *
 * An entry has a key, a value, and the version of the data that the value was computed from. Values
 * are bounded in bytes, all together; the least recently used are dropped first. A value is
 * counted: the cache has one count, every user another one.
 *
 *     v = memo_get(m, &key, NULL);             computed before, from the same data?
 *     if (!v)
 *         rc = memo_start(m, &key, job, e);    no: an async job computes it; the client requests
 * again
 *
 * A job opens the run for itself, so that requests for the same run do not wait for it, and runs
 * under the memory limit of limits.h. Safe for any number of threads. */
#ifndef SERVE_MEMO_H
#define SERVE_MEMO_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct memo;
struct memory_limit;
struct run;

/* The first field of a value. */
struct memo_value {
    _Atomic unsigned refs; /* 1 when it is made */
    size_t bytes;          /* of memory that it takes, about */
    void (*free)(struct memo_value *v);
};

struct memo_key {
    const void *p; /* any bytes: what is computed, of which run, with which parameters */
    size_t n;
    uint64_t version; /* of the run's data; 0: the value depends on no run */
};

/* An async job. */
struct memo_job {
    const char *path; /* of the run; copied by memo_start */
    int (*make)(void *ctx, struct run *run, struct memo_value **out, struct err *e);
    void *ctx;
    void (*free)(void *ctx); /* called once, also when the job is not run; NULL: nothing to free */
};

/* `limit` is the caller's and outlives the cache. */
MUST_CHECK int memo_open(struct memo **out, size_t bytes_most, struct memory_limit *limit,
                         struct err *e);
void memo_close(struct memo *m); /* NULL is fine */

/* A count of the value of this version; NULL: there is none. With `older`, the value of another
 * version will do, and `*older` is then set. */
struct memo_value *memo_get(struct memo *m, const struct memo_key *k, bool *older);
/* Takes no count from the caller. A value larger than all others may be is cached alone. */
void memo_put(struct memo *m, const struct memo_key *k, struct memo_value *v);
void memo_unref(struct memo_value *v); /* NULL is fine */

/* Starts the job, unless one for this key is pending. When the last one failed, its error is
 * returned instead, once: the next request tries again, for the run may be readable again. */
MUST_CHECK int memo_start(struct memo *m, const struct memo_key *k, const struct memo_job *job,
                          struct err *e);

/* Opens a run for one use under the memory limit. ERR_FORMAT: its files were truncated meanwhile.
 */
typedef int memo_use(void *ctx, struct run *run, struct err *e);
MUST_CHECK int memo_with_run(struct memory_limit *limit, const char *path, memo_use *use, void *ctx,
                             struct err *e);

#endif
