/* SPDX-License-Identifier: Apache-2.0 */
/* writer.h - the sink that stores what it is given: one writer per file, files of one node.
 *
 * writer_open, then rows, events, losses and marks from any thread through writer_sink,
 * writer_flush about once a second from one thread, writer_close. Adding a row costs a memory copy
 * and takes a short lock; only writer_flush and writer_close touch the disk. When the disk is full
 * or fails, rows wait in a bounded buffer, then are dropped and counted, and writing resumes when
 * there is room. */
#ifndef STORE_WRITER_H
#define STORE_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "record/record.h"

struct writer;

struct writer_stats {
    uint64_t rows, samples; /* accepted */
    uint64_t rows_dropped;  /* lost to a full or failing disk */
    uint64_t events;        /* accepted */
    uint64_t events_dropped;
    uint64_t bytes_written; /* to any file of this writer */
    uint64_t file_bytes;    /* size of the sealed file now */
    int write_errno;        /* of the last flush; 0: it went through */
};

/* Creates `<dir>/metrics.fp` and `<dir>/metrics.tail`, or metrics-2.fp ... when an earlier recorder
 * of the same node left files there. ERR_BUSY when a living recorder is writing in the folder. */
MUST_CHECK int writer_open(struct writer **out, const char *dir, struct err *e);
/* As writer_open, for what was recorded elsewhere and can be read again, as the import of a file,
 * in a folder that no reader knows yet. Its monotonic times are tied to wall time by `tie`, for all
 * of the file, whatever the clocks of this machine show. There is no tail and no lock: rows and
 * events stay in memory until there are enough for blocks. What it writes is on the medium only
 * when the caller has seen to that (dir_sync). `session` 0: the first that is free. */
MUST_CHECK int writer_open_bulk(struct writer **out, const char *dir, unsigned session,
                                struct clock_tie tie, struct err *e);
/* Another file of the same recorder, `<dir>/<name>.fp` with its tail, beside the one that `w`
 * writes: same session, same lock, in bulk as that one is. Made for events: more of them may wait.
 * Fails when the file is there already. Close it before `w`. */
MUST_CHECK int writer_open_beside(struct writer **out, const struct writer *w, const char *name,
                                  struct err *e);
/* The same beside a file that another process writes: its folder and its writer_session. */
MUST_CHECK int writer_open_session(struct writer **out, const char *dir, unsigned session,
                                   const char *name, struct err *e);
struct sink *writer_sink(struct writer *w);
/* Grows when a new tail begins. The caller records events with END_OPEN again then: sealing stores
 * only events that have an end. */
uint64_t writer_tail(struct writer *w);
/* Bytes that wait for a flush. At 32 MiB (of a writer beside another) events are dropped, so a
 * caller that records many checks this and flushes early. */
size_t writer_pending(struct writer *w);
/* The number of this recorder among those of its node: 1, 2, ... */
unsigned writer_session(const struct writer *w);
/* From now on flushes write nothing and fail: there is no room for more in the folder. New data
 * waits in a buffer of 1 MiB, then it is dropped and counted as LOSS_SPOOL. writer_close writes
 * what waits all the same. */
void writer_hold(struct writer *w, bool held);
/* Writes what has come since the last flush; with `durable` it is on the medium on return. A
 * failure is not final: the same rows are tried again by the next flush. */
MUST_CHECK int writer_flush(struct writer *w, bool durable, struct err *e);
void writer_get_stats(struct writer *w, struct writer_stats *out);
/* Flushes, seals, writes the index, closes and frees. On failure everything that reached the disk
 * still reads; `w` is freed either way. */
MUST_CHECK int writer_close(struct writer *w, struct err *e);
/* Frees it and removes its files: for one that was never given anything. */
void writer_discard(struct writer *w);

#endif
