/* SPDX-License-Identifier: Apache-2.0 */
/* ring_make.c - see ring_make.h. The file is closed after it has been mapped: a job may close all
 * descriptors that it does not know, and use their numbers again. */
#include "ring/ring_make.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ring/ring_proc.h"

enum { PATH_ROOM = RING_DIR_LEN + 64 };

/* dir/ring-<pid>-<nonce> */
static void make_path(char *out, const char *dir, uint32_t pid, uint64_t nonce)
{
    const size_t n = strlen(dir);
    memcpy(out, dir, n);
    char *at = out + n;
    *at++ = '/';
    memcpy(at, RING_PREFIX, RING_PREFIX_LEN);
    at = ring_put_number(at + RING_PREFIX_LEN, pid, 10, 1);
    *at++ = '-';
    *ring_put_number(at, nonce, 16, 16) = '\0';
}

static uint64_t draw_nonce(void)
{
    uint64_t v;
    if (getrandom(&v, sizeof v, GRND_NONBLOCK) == (ssize_t)sizeof v)
        return v;
    return ring_mono_ns() * UINT64_C(0x9e3779b97f4a7c15) ^ (uintptr_t)&v;
}

/* For file systems that cannot reserve. Only over bytes that have not been written yet. */
static bool write_zeros(int fd, size_t from, size_t len)
{
    static const char zeros[4096];
    for (size_t at = 0; at < len; at += sizeof zeros)
        if (pwrite(fd, zeros, sizeof zeros, (off_t)(from + at)) != (ssize_t)sizeof zeros)
            return false;
    return true;
}

static bool ring_reserve(int fd, size_t from, size_t len)
{
    if (fallocate(fd, 0, (off_t)from, (off_t)len) == 0)
        return true;
    return (errno == EOPNOTSUPP || errno == ENOSYS) && write_zeros(fd, from, len);
}

/* A file longer than the limit would raise SIGXFSZ. */
static bool limit_allows(void)
{
    struct rlimit l;
    return getrlimit(RLIMIT_FSIZE, &l) == 0 && l.rlim_cur >= RING_FILE_BYTES;
}

/* The length is set before anything is mapped, and the pages of header, heads and names are
 * reserved: a store into a mapped page that has no room on the disk would raise SIGBUS in the
 * job. */
static uint8_t *map_new(int fd)
{
    if (ftruncate(fd, (off_t)RING_FILE_BYTES) != 0 || !ring_reserve(fd, 0, RING_SLOTS_AT))
        return NULL;
    void *map = mmap(NULL, RING_FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return NULL;
    madvise(map, RING_FILE_BYTES, MADV_DONTDUMP);
    return map;
}

/* Everything but the magic, which ring_announce stores last: a reader that finds no magic tries
 * again later. */
static void fill_header(struct ring_file *f, const struct ring_writer *w, uint32_t pid,
                        uint64_t nonce)
{
    struct ring_stat s = {0};
    if (!ring_stat_read(0, &s))
        s.start_ticks = 0;
    f->version = RING_VERSION;
    f->rings = RING_COUNT;
    f->slots = RING_SLOTS;
    f->names = RING_NAMES;
    f->pid = pid;
    f->clock = w->clock;
    f->pid_ns = ring_pid_ns();
    f->start_ticks = s.start_ticks;
    f->nonce = nonce;
    f->tie_ns = ring_mono_ns();
    f->tie_time = w->clock == RING_CLOCK_TSC ? ring_tsc() : f->tie_ns;
}

/* When a recorder has ended, another user can make a folder of the same name. New files have the
 * number by which the file system knows this user. */
static bool is_recorders(const char *dir, int file)
{
    struct stat d, f;
    return lstat(dir, &d) == 0 && fstat(file, &f) == 0 && (d.st_uid == f.st_uid || d.st_uid == 0);
}

/* The name has a random number, and the file is created exclusively: a file of that name can
 * only be ours. It is removed again when anything fails. */
uint8_t *ring_make(const struct ring_writer *w, bool *gone)
{
    char path[PATH_ROOM];
    const uint64_t nonce = draw_nonce();
    const uint32_t pid = (uint32_t)getpid();
    if (!limit_allows())
        return NULL;
    make_path(path, w->dir, pid, nonce);
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    *gone = fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == EACCES || errno == EROFS);
    if (fd < 0)
        return NULL;
    *gone = !is_recorders(w->dir, fd);
    uint8_t *map = *gone ? NULL : map_new(fd);
    close(fd);
    if (map)
        fill_header(ring_file_of(map), w, pid, nonce);
    else
        unlink(path);
    return map;
}

void ring_announce(uint8_t *map)
{
    __atomic_store_n(&ring_file_of(map)->magic, RING_MAGIC, __ATOMIC_RELEASE);
}

void ring_unmake(const struct ring_writer *w, uint8_t *map)
{
    char path[PATH_ROOM];
    make_path(path, w->dir, ring_file_of(map)->pid, ring_file_of(map)->nonce);
    munmap(map, RING_FILE_BYTES);
    unlink(path);
}

/* Opens the file once more by its name, since its descriptor was closed. When the recorder has
 * removed it meanwhile, the ring is not used. */
bool ring_back(const struct ring_writer *w, uint8_t *map, unsigned ring)
{
    char path[PATH_ROOM];
    make_path(path, w->dir, ring_file_of(map)->pid, ring_file_of(map)->nonce);
    const int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return false;
    const bool ok = ring_reserve(fd, RING_SLOTS_AT + ring * RING_BYTES, RING_BYTES);
    close(fd);
#ifdef MADV_POPULATE_WRITE
    if (ok) /* else the first lap pays a page fault every 128 events */
        madvise(ring_slots_of(map, ring), RING_BYTES, MADV_POPULATE_WRITE);
#endif
    return ok;
}
