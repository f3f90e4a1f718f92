/* SPDX-License-Identifier: Apache-2.0 */
/* ring_folder.c - see ring_folder.h.
 *
 * A file is removed only when its process has ended and a drain after that brought nothing
 * (ring_reader_check), so no event of a dead process is missed. A folder is removed by its
 * recorder, or by a later one when no process holds its lock: flock ends with the process, however
 * it ends.
 *
 * Files come and go while the folder is read. A name that is listed may have been removed when it
 * is opened: threads that begin together make a file each, and one of these stays. */
#include "ring/ring_folder.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/vec.h"

#define FOLDER_PREFIX "footplate-"
#define LOCK_NAME     "lock"

enum { FILE_NAME_LEN = 64, MOST_FILES = 4096 };

static const int64_t check_every_ns = 250 * NS_PER_MS;
/* A folder changed this recently may have changed again within the same tick of its clock. */
static const int64_t settled_ns = 50 * NS_PER_MS;

struct ring_folder_file {
    char name[FILE_NAME_LEN];
    struct ring_reader *r; /* NULL: not ready yet, or broken */
    bool broken;
};

struct ring_folder {
    char path[PATH_LEN];
    int fd;
    int lock; /* held for as long as a recorder reads here; -1: none */
    struct ring_folder_handler h;
    struct ring_clock clock;
    struct ring_folder_file *files;
    size_t n, room;
    bool waiting; /* some file was not ready */
    struct timespec changed;
    mono_ns checked;
};

/* A folder without a holder of this lock was left by a recorder that was killed
 * (ring_folder_sweep). On a file system without locks folders are never swept: no process can take
 * the lock. */
static void take_lock(struct ring_folder *f)
{
    f->lock = openat(f->fd, LOCK_NAME, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (f->lock >= 0)
        flock(f->lock, LOCK_EX | LOCK_NB);
}

int ring_folder_open(struct ring_folder **out, const char *path,
                     const struct ring_folder_handler *h, struct err *e)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return err_sys(e, "open '%s'", path);
    struct ring_folder *f = xcalloc(1, sizeof *f);
    f->fd = fd;
    f->lock = -1;
    f->h = *h;
    const int rc = path_join(f->path, e, "%s", path);
    if (rc) {
        ring_folder_close(f, false);
        return rc;
    }
    ring_clock_start(&f->clock);
    *out = f;
    return 0;
}

int ring_folder_make(struct ring_folder **out, const char *otherwise,
                     const struct ring_folder_handler *h, struct err *e)
{
    /* The folder of runs is not there yet at the first run; a container may have no shared memory.
     */
    const char *const places[] = {RING_MEMORY, otherwise, "/tmp"};
    char path[PATH_LEN];
    bool made = false;
    for (size_t i = 0; i < sizeof places / sizeof *places && !made; i++) {
        const int rc = path_join(path, e, "%s/" FOLDER_PREFIX "XXXXXX", places[i]);
        if (rc)
            return rc;
        made = mkdtemp(path) != NULL;
    }
    if (!made)
        return err_sys(e, "create a folder in '%s'", otherwise);
    char *whole = realpath(path, NULL); /* jobs change their folder, and ignore a relative one */
    if (whole && strlen(whole) < sizeof path)
        memcpy(path, whole, strlen(whole) + 1);
    free(whole);
    const int rc = ring_folder_open(out, path, h, e);
    if (rc)
        rmdir(path);
    else
        take_lock(*out);
    return rc;
}

const char *ring_folder_path(const struct ring_folder *f)
{
    return f->path;
}

size_t ring_folder_count(const struct ring_folder *f)
{
    return SUM_OF(i, f->n, f->files[i].r != NULL);
}

bool ring_folder_waits(const struct ring_folder *f)
{
    return f->waiting;
}

void ring_folder_each(struct ring_folder *f, void (*call)(void *arg, struct ring_reader *r),
                      void *arg)
{
    for (size_t i = 0; i < f->n; i++)
        if (f->files[i].r)
            call(arg, f->files[i].r);
}

static void set_broken(struct ring_folder *f, struct ring_folder_file *file, const struct err *why)
{
    assert(!file->broken); /* reported once */
    f->h.broken(f->h.ring.arg, file->r, why);
    ring_reader_close(file->r);
    file->r = NULL;
    file->broken = true;
}

/* The last file takes its place, so the order changes. Loops over files go from the last to the
 * first: what moves was visited already. */
static void ring_folder_forget(struct ring_folder *f, struct ring_folder_file *file)
{
    assert(file >= f->files && file < f->files + f->n);
    *file = f->files[--f->n]; /* callers walk from the last to the first */
}

static void ring_folder_open_file(struct ring_folder *f, struct ring_folder_file *file)
{
    struct err e;
    const int rc = ring_reader_open(&file->r, f->fd, file->name, &e);
    if (rc == 0)
        f->h.begun(f->h.ring.arg, file->r);
    else if (rc == ERR_BUSY || (rc == ERR_SYS && e.sys == EMFILE))
        f->waiting = true;
    else if (err_no_file(rc, &e))
        ring_folder_forget(f, file); /* threads that begin together make one each, and one stays */
    else
        set_broken(f, file, &e);
}

static bool ring_folder_is_known(const struct ring_folder *f, const char *name)
{
    return FIND_ANY(i, f->n, strcmp(f->files[i].name, name) == 0);
}

/* Names come from the job and may be anything: only those of rings count, and no more than
 * MOST_FILES. */
static void ring_folder_add_file(struct ring_folder *f, const char *name)
{
    if (strncmp(name, RING_PREFIX, RING_PREFIX_LEN) != 0 || strlen(name) >= FILE_NAME_LEN ||
        f->n == MOST_FILES || ring_folder_is_known(f, name))
        return;
    struct ring_folder_file *file = VEC_ADD(f->files, f->n, f->room);
    *file = (struct ring_folder_file){0};
    snprintf(file->name, sizeof file->name, "%s", name);
}

static int list_files(struct ring_folder *f, struct err *e)
{
    const int fd = openat(f->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(e, "open '%s'", f->path);
    DIR *d = fdopendir(fd);
    if (!d) {
        close(fd);
        return err_sys(e, "open '%s'", f->path);
    }
    for (struct dirent *entry; (entry = readdir(d));)
        ring_folder_add_file(f, entry->d_name);
    closedir(d);
    return 0;
}

/* One fstat shows whether there is anything new. */
static int look_for_files(struct ring_folder *f, struct err *e)
{
    struct stat st;
    if (fstat(f->fd, &st) != 0)
        return err_sys(e, "'%s'", f->path);
    const struct timespec m = st.st_mtim;
    const int64_t age = clock_wall().ns - ((int64_t)m.tv_sec * NS_PER_S + m.tv_nsec);
    const bool same = m.tv_sec == f->changed.tv_sec && m.tv_nsec == f->changed.tv_nsec;
    if (same && age > settled_ns && !f->waiting)
        return 0;
    f->changed = m;
    f->waiting = false;
    const int rc = list_files(f, e);
    for (size_t i = f->n; rc == 0 && i-- > 0;)
        if (!f->files[i].r && !f->files[i].broken)
            ring_folder_open_file(f, &f->files[i]);
    return rc;
}

static void end_file(struct ring_folder *f, size_t i)
{
    assert(i < f->n && f->files[i].r);
    f->h.ended(f->h.ring.arg, f->files[i].r);
    ring_reader_close(f->files[i].r);
    unlinkat(f->fd, f->files[i].name, 0);
    ring_folder_forget(f, &f->files[i]);
}

/* A file that cannot be read any more is reported once and not tried again. Others are not
 * affected. */
static void drain_file(struct ring_folder *f, struct ring_folder_file *file, size_t *events)
{
    struct err e;
    size_t n;
    assert(file->r && !file->broken);
    if (ring_reader_drain(file->r, &f->clock, &f->h.ring, &n, &e) != 0)
        set_broken(f, file, &e);
    *events += n;
}

int ring_folder_drain(struct ring_folder *f, size_t *events, struct err *e)
{
    const mono_ns now = clock_mono();
    const bool check = mono_diff(now, f->checked) >= check_every_ns;
    *events = 0;
    ring_clock_tick(&f->clock);
    TRY(look_for_files(f, e));
    if (check)
        f->checked = now;
    for (size_t i = f->n; i-- > 0;) {
        struct ring_folder_file *file = &f->files[i];
        if (file->r && check && ring_reader_check(file->r) == RING_FINISHED)
            end_file(f, i);
        else if (file->r)
            drain_file(f, file, events);
    }
    return 0;
}

/* One drain of all files. True: there may be more. */
static bool round_of_all(struct ring_folder *f, size_t *events, struct err *e, int *rc)
{
    size_t n = 0;
    f->checked = (mono_ns){INT64_MIN / 2}; /* check now whether they live */
    *rc = ring_folder_drain(f, &n, e);
    *events += n;
    return *rc == 0 && n > 0;
}

int ring_folder_finish(struct ring_folder *f, size_t *events, struct err *e)
{
    enum { MOST_ROUNDS = 64 }; /* a process that still runs might never stop emitting */
    int rc = 0;
    *events = 0;
    f->changed = (struct timespec){0};
    for (int i = 0; i < MOST_ROUNDS && round_of_all(f, events, e, &rc); i++)
        ;
    for (size_t i = f->n; i-- > 0;)
        if (f->files[i].r)
            end_file(f, i);
    return rc;
}

/* Everything in it; what is a folder itself stays, and so does then this one. */
static void remove_folder(int fd, const char *path)
{
    const int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = again < 0 ? NULL : fdopendir(again);
    if (!d) {
        if (again >= 0)
            close(again);
        return;
    }
    for (struct dirent *entry; (entry = readdir(d));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(fd, entry->d_name, 0);
    closedir(d);
    rmdir(path);
}

/* One whose recorder has ended: ours, of some age, and no process holds its lock. */
static void remove_if_left(const char *memory, const char *name, int64_t older_ns)
{
    char path[PATH_LEN];
    struct err e;
    struct stat st;
    if (path_join(path, &e, "%s/%s", memory, name))
        return;
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    const bool old = fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
                     clock_wall().ns - (int64_t)st.st_ctim.tv_sec * NS_PER_S >= older_ns;
    const int lock = old ? openat(fd, LOCK_NAME, O_RDWR | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (old && (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) == 0))
        remove_folder(fd, path);
    if (lock >= 0)
        close(lock);
    close(fd);
}

void ring_folder_sweep(const char *memory, int64_t older_ns)
{
    DIR *d = opendir(memory);
    if (!d)
        return;
    for (struct dirent *entry; (entry = readdir(d));)
        if (strncmp(entry->d_name, FOLDER_PREFIX, sizeof FOLDER_PREFIX - 1) == 0)
            remove_if_left(memory, entry->d_name, older_ns);
    closedir(d);
}

void ring_folder_close(struct ring_folder *f, bool remove)
{
    if (!f)
        return;
    if (remove)
        remove_folder(f->fd, f->path);
    for (size_t i = 0; i < f->n; i++)
        ring_reader_close(f->files[i].r);
    close(f->fd);
    if (f->lock >= 0)
        close(f->lock);
    free(f->files);
    free(f);
}
