/* SPDX-License-Identifier: Apache-2.0 */
/* flusher.h - the thread that touches the disk, so that a disk that blocks never delays sampling.
 * It writes the store and node.json when it is poked; threads that add rows poke it, at most about
 * once a second, so an idle machine is not woken for nothing. */
#ifndef AGENT_FLUSHER_H
#define AGENT_FLUSHER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/clock.h"
#include "run/nodefile.h"
#include "store/writer.h"

struct flusher {
    struct writer *writer;
    struct nodefile *node;
    /* Called when writing begins to fail (why), and when it works again (NULL). From the thread. */
    void (*on_trouble)(void *ctx, const char *why);
    void *ctx;
    pthread_mutex_t writing; /* held while the next three are used or changed */
    struct writer *more;     /* a second writer; NULL: none */
    const char *spool;       /* the folder of the node, and how much may be in it; NULL: no limit */
    uint64_t spool_most;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool wanted, stop; /* under the lock */
    mono_ns synced;    /* the thread's own: when the medium was last waited for */
    _Atomic int64_t last_ns;
    _Atomic int64_t interval_ns; /* of the rows that come */
};

MUST_CHECK int flusher_start(struct flusher *f, struct writer *w, struct nodefile *node,
                             int64_t interval_ns, void (*on_trouble)(void *ctx, const char *why),
                             void *ctx, struct err *e);
/* Writes for another writer too, from now on; NULL: no longer. Waits while it is being used. */
void flusher_add(struct flusher *f, struct writer *more);
/* While there is more in the folder of the node, nothing is written (writer_hold). */
void flusher_limit(struct flusher *f, const char *node_path, uint64_t most);
/* Rows have come: writes them when the last time was 0.85 s ago or the next rows come later. */
void flusher_poke(struct flusher *f, mono_ns now);
/* Something that should be on the disk soon: writes now. */
void flusher_poke_now(struct flusher *f, mono_ns now);
/* Ends the thread; what is left is for writer_close. */
void flusher_stop(struct flusher *f);

#endif
