/* SPDX-License-Identifier: Apache-2.0 */
/* source.h - a file of the kernel that stays open and is read again and again from its start.
 *
 * source_open, any number of source_read*, source_close. As it stays open, a reading is one system
 * call. When what it reads vanishes (ENODEV, ENOENT, ESRCH) it is closed, and each further reading
 * tries to open it anew. A zeroed source is a closed one. */
#ifndef SAMPLE_SOURCE_H
#define SAMPLE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/clock.h"
#include "base/err.h"

struct source {
    char *path; /* NULL: not in use */
    int fd;     /* -1: vanished */
};

struct reading {
    size_t n;
    mono_ns at; /* taken right before the bytes */
    bool full;  /* the buffer was filled: there may have been more */
    int sys;    /* errno of a failed reading */
};

MUST_CHECK int source_open(struct source *s, struct err *e, const char *fmt, ...) PRINTF_LIKE(3, 4);
bool source_is_open(const struct source *s);
/* One pread. False: r->sys is the reason. */
bool source_read(struct source *s, char *buf, size_t size, struct reading *r);
/* The kernel hands out files with a record per line (diskstats, net/dev) a page at a time. This
 * reads on when a page came back nearly full, so that short ones still cost one pread. */
bool source_read_paged(struct source *s, char *buf, size_t size, struct reading *r);
void source_close(struct source *s);

/* A buffer that grows to what its file needs, up to TEXT_MOST. Zeroed is empty. */
struct textbuf {
    char *p;
    size_t size;
};

/* Most files fit into a page of stack, and that is warm when a buffer of the source, last used a
 * sampling period ago, has left the caches. */
struct near_text {
    char p[4096];
};

enum { TEXT_FIRST = 16 * 1024, TEXT_MOST = 1 << 20 };

/* False when it is at its largest already. */
bool textbuf_grow(struct textbuf *b);
void textbuf_free(struct textbuf *b);
/* source_read_paged of the whole file: into `near` while that is large enough, from then on into
 * `b`, which grows. `*text` is the one that was used. */
bool source_read_text(struct source *s, struct near_text *near, struct textbuf *b,
                      const char **text, struct reading *r);

/* Calls `each` for every entry of an open folder whose name is a number: processes of /proc,
 * threads of /proc/PID/task. False: it was not read to its end. */
bool folder_each_number(int dir, void (*each)(void *ctx, const char *name, int number), void *ctx);

/* Opens, reads all that fits, closes. Returns the bytes, or -errno. */
long file_peek(const char *path, char *buf, size_t size);

#endif
