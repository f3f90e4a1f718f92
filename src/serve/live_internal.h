/* SPDX-License-Identifier: Apache-2.0 */
/* live_internal.h - what the files of live.h share; nobody else includes it. */
#ifndef SERVE_LIVE_INTERNAL_H
#define SERVE_LIVE_INTERNAL_H

#include <stdatomic.h>

#include "base/buf.h"
#include "base/clock.h"
#include "serve/live.h"
#include "serve/runs.h"

enum {
    FEED_SERIES = 4096,    /* that are followed for one question */
    FEED_TEXT = 512 << 10, /* longest event; a larger one is left out */
    FEED_BEHIND_S = 30,    /* samples may come to the disk so late */
    FEED_STEPS_MS = 2000,  /* between two looks at the steps, or more, see pace.h */
};

/* An event as it goes out, shared by all who get it. */
struct feed_text {
    _Atomic unsigned refs;
    size_t n;
    char text[];
};

struct feed_text *feed_text_make(const char *event, const struct buf *json);
struct feed_text *feed_text_ref(struct feed_text *t);
void feed_text_free(struct feed_text *t); /* NULL is fine */

/* The newest sample that was told of a series. */
struct feed_seen {
    uint64_t series; /* hash of its names; 0: free */
    int64_t t_ns;
};

/* What is followed of one run: one thread only. */
struct live_feed {
    const char *run, *node; /* node NULL: all */
    const char *metric[LIVE_METRICS];
    size_t n_metrics;
    bool judged; /* findings are evaluated as the run goes on */
    bool begun;
    uint64_t version;
    enum run_status status;
    struct feed_seen *seen; /* FEED_SERIES */
    size_t n_seen;
    int64_t newest_ns;
    int64_t findings;  /* when findings.json was written */
    uint64_t verdicts; /* how often those evaluated here changed */
    int64_t changes;
    mono_ns steps_next;
    uint64_t steps_sum; /* of what was told last */
};

enum { FEED_STATUS, FEED_SAMPLES, FEED_STEPS, FEED_FINDINGS, FEED_N };

struct feed_news {
    struct feed_text *text[FEED_N]; /* NULL: nothing new */
    bool gone;                      /* the run is not there any more: the status says so */
};

/* `why` names what is dropped. Fills what is new since the last call. */
void feed_look(struct live_feed *f, struct runs *runs, struct feed_news *out);

#endif
