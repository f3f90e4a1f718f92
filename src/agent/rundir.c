/* SPDX-License-Identifier: Apache-2.0 */
/* rundir.c - see rundir.h. */
#include "agent/rundir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/json_write.h"
#include "base/redact.h"
#include "base/text.h"
#include "base/trust.h"

#define RUNS_FOLDER "footplate-runs" /* the default of the setting `dir` */

enum { FOLDER_TRIES = 20, FORMAT_VERSION = 1 };

static unsigned random_16(void)
{
    uint16_t v;
    if (getrandom(&v, sizeof v, GRND_NONBLOCK) != sizeof v)
        v = (uint16_t)(clock_mono().ns / 1000 ^ getpid());
    return v;
}

static void fresh_id(struct rundir *r, const struct run_about *about)
{
    char when[32];
    const time_t secs = (time_t)(about->start.ns / NS_PER_S);
    struct tm tm;
    localtime_r(&secs, &tm);
    strftime(when, sizeof when, "%Y%m%d-%H%M%S", &tm);
    snprintf(r->id, sizeof r->id, "%s-%s-%04x", about->name, when, random_16());
}

static int given_id(struct rundir *r, const char *id, struct err *e)
{
    if (!*id || *id == '.' || strchr(id, '/') || strlen(id) >= sizeof r->id)
        return err_set(e, ERR_USAGE,
                       "'%s' is not a valid run ID: it must not contain '/' or start with '.'", id);
    snprintf(r->id, sizeof r->id, "%s", id);
    return 0;
}

/* A folder that did not exist before, so that no two runs ever share one by accident. */
static int make_fresh(struct rundir *r, const char *dir, const struct run_about *about,
                      struct err *e)
{
    for (int i = 0; i < FOLDER_TRIES; i++) {
        fresh_id(r, about);
        int rc = path_join(r->path, e, "%s/%s", dir, r->id);
        if (rc)
            return rc;
        if (mkdir(r->path, 0777) == 0) {
            r->made_run = true;
            return 0;
        }
        if (errno != EEXIST)
            break;
    }
    return err_sys(e, "cannot create the run folder '%s'", r->path);
}

static int make_shared(struct rundir *r, const char *dir, const char *id, struct err *e)
{
    int rc = given_id(r, id, e);
    if (rc == 0)
        rc = path_join(r->path, e, "%s/%s", dir, id);
    if (rc)
        return rc;
    r->made_run = mkdir(r->path, 0777) == 0;
    if (!r->made_run && errno != EEXIST)
        return err_sys(e, "cannot create the run folder '%s'", r->path);
    return r->made_run ? 0 : trust_folder(r->path, e);
}

static void about_json(struct buf *out, const struct rundir *r, const struct run_about *a)
{
    struct jw j = {.out = out, .indent = 2};
    struct arena scratch = {0};
    size_t n_words = 0;
    while (a->command && a->command[n_words])
        n_words++;
    jw_object(&j, NULL);
    jw_str(&j, "format", "footplate-run");
    jw_int(&j, "format_version", FORMAT_VERSION);
    jw_str(&j, "footplate_version", FP_VERSION);
    jw_str(&j, "id", r->id);
    jw_str(&j, "name", a->name);
    jw_array(&j, "command");
    for (const char **p = redact_words(a->command, n_words, &scratch); *p; p++)
        jw_str(&j, NULL, *p);
    jw_end(&j);
    jw_str(&j, "directory", a->directory);
    jw_str(&j, "git_commit", *a->git_commit ? a->git_commit : NULL);
    jw_object(&j, "labels");
    for (size_t i = 0; i < a->n_labels; i++)
        jw_str(&j, a->labels[i].key, a->labels[i].value);
    jw_end(&j);
    jw_int(&j, "start_ns", a->start.ns);
    jw_num(&j, "interval_ms", (double)a->interval_ns / 1e6);
    jw_end(&j);
    buf_u8(out, '\n');
    arena_free(&scratch);
}

static int write_about(const struct rundir *r, const struct run_about *about,
                       int (*write)(const char *path, const void *p, size_t n, struct err *e),
                       struct err *e)
{
    char path[PATH_LEN];
    struct buf b = {0};
    int rc = path_join(path, e, "%s/run.json", r->path);
    if (rc)
        return rc;
    about_json(&b, r, about);
    rc = write(path, b.p, b.len, e);
    buf_free(&b);
    return rc;
}

/* The default folder is usually inside a project: git should ignore it. */
static void hide_from_git(const char *dir)
{
    char path[PATH_LEN];
    struct err ignored;
    if (strcmp(path_base(dir), RUNS_FOLDER) == 0 &&
        path_join(path, &ignored, "%s/.gitignore", dir) == 0)
        (void)!file_create(path, "*\n", 2, &ignored);
}

static void unhide_from_git(const char *dir)
{
    char path[PATH_LEN];
    struct err ignored;
    if (strcmp(path_base(dir), RUNS_FOLDER) == 0 &&
        path_join(path, &ignored, "%s/.gitignore", dir) == 0)
        unlink(path);
}

int rundir_make(struct rundir *out, const char *dir, const char *shared_id,
                const struct run_about *about, struct err *e)
{
    struct stat st;
    struct rundir r = {.made_runs = stat(dir, &st) < 0};
    int rc = dir_make(dir, e);
    if (rc)
        return err_in(e, "cannot create the folder of runs");
    if (r.made_runs)
        hide_from_git(dir);
    rc = shared_id ? make_shared(&r, dir, shared_id, e) : make_fresh(&r, dir, about, e);
    if (rc == 0)
        rc = write_about(&r, about, file_create, e);
    if (rc == ERR_BUSY) /* another node was first: its run.json stands */
        rc = 0;
    if (rc)
        rundir_remove(&r, 0);
    else
        *out = r;
    return rc;
}

int rundir_hide(struct rundir *out, const char *home, struct err *e)
{
    struct rundir r = {0};
    for (int i = 0; i < FOLDER_TRIES; i++) {
        int rc = path_join(r.path, e, "%s/.import-%04x%04x", home, random_16(), random_16());
        if (rc)
            return rc;
        if (mkdir(r.path, 0777) == 0) {
            *out = r;
            return 0;
        }
        if (errno != EEXIST)
            break;
    }
    return err_sys(e, "cannot create a folder in '%s'", home);
}

/* A folder takes the place of an empty one at most. */
static int move_to(struct rundir *r, const char *home, struct err *e)
{
    char to[PATH_LEN];
    int rc = path_join(to, e, "%s/%s", home, r->id);
    if (rc)
        return rc;
    if (rename(r->path, to) < 0) {
        if (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR)
            return err_set(e, ERR_BUSY, "'%s' exists already", to);
        return err_sys(e, "cannot create '%s'", to);
    }
    memcpy(r->path, to, sizeof to);
    return 0;
}

int rundir_settle(struct rundir *r, const char *home, const char *id, const struct run_about *about,
                  struct err *e)
{
    int rc = 0;
    if (id)
        rc = given_id(r, id, e);
    else
        fresh_id(r, about);
    if (rc == 0)
        rc = write_about(r, about, file_put, e);
    if (rc == 0)
        rc = dir_sync(r->path, e);
    return rc ? rc : move_to(r, home, e);
}

int rundir_make_node(struct rundir *r, const char *node_id, struct err *e)
{
    if (!*node_id || strchr(node_id, '/') || strlen(node_id) >= sizeof r->node_id)
        return err_set(e, ERR_USAGE, "'%s' is not a valid node name: it must not contain '/'",
                       node_id);
    snprintf(r->node_id, sizeof r->node_id, "%s", node_id);
    int rc = path_join(r->node_path, e, "%s/node-%s", r->path, node_id);
    if (rc)
        return rc;
    r->made_node = mkdir(r->node_path, 0777) == 0;
    if (!r->made_node && errno != EEXIST)
        return err_sys(e, "cannot create the folder '%s'", r->node_path);
    return r->made_node ? 0 : trust_folder(r->node_path, e);
}

/* Session 1 writes x.fp, x.json; session 2 writes x-2.fp, x-2.json. */
static bool is_of_session(const char *name, unsigned session)
{
    char mark[24];
    const char *dash = strrchr(name, '-');
    snprintf(mark, sizeof mark, "-%u.", session);
    return session == 1 ? !dash : dash && text_starts(dash, mark);
}

/* Calls `visit` for each file of a session in the folder. */
static void each_file(const char *folder, unsigned session,
                      void (*visit)(int dir, const char *name, void *ctx), void *ctx)
{
    DIR *d = opendir(folder);
    if (!d)
        return;
    for (const struct dirent *f = readdir(d); f; f = readdir(d))
        if (f->d_name[0] != '.' && is_of_session(f->d_name, session))
            visit(dirfd(d), f->d_name, ctx);
    closedir(d);
}

static void remove_file(int dir, const char *name, void *ctx)
{
    (void)ctx;
    unlinkat(dir, name, 0);
}

static void add_size(int dir, const char *name, void *ctx)
{
    struct stat st;
    uint64_t *sum = ctx;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        *sum += (uint64_t)st.st_size;
}

uint64_t rundir_session_bytes(const struct rundir *r, unsigned session)
{
    uint64_t sum = 0;
    each_file(r->node_path, session, add_size, &sum);
    return sum;
}

/* Whether run.json is all that is left, so that nobody else uses the folder. */
static bool is_ours_alone(const char *folder)
{
    DIR *d = opendir(folder);
    bool alone = d != NULL;
    for (const struct dirent *f = d ? readdir(d) : NULL; f; f = readdir(d))
        alone = alone && (f->d_name[0] == '.' || strcmp(f->d_name, "run.json") == 0);
    if (d)
        closedir(d);
    return alone;
}

bool rundir_is_only_node(const struct rundir *r)
{
    DIR *d = opendir(r->path);
    size_t n = 0;
    for (const struct dirent *f; d && (f = readdir(d));)
        n += strncmp(f->d_name, "node-", 5) == 0;
    if (d)
        closedir(d);
    return n == 1;
}

/* Another recorder may have begun a run there meanwhile. */
static bool is_empty_but_for_git(const char *dir)
{
    DIR *d = opendir(dir);
    bool empty = d != NULL;
    for (const struct dirent *f; empty && (f = readdir(d));)
        empty = strcmp(f->d_name, ".") == 0 || strcmp(f->d_name, "..") == 0 ||
                strcmp(f->d_name, ".gitignore") == 0;
    if (d)
        closedir(d);
    return empty;
}

void rundir_remove(struct rundir *r, unsigned session)
{
    char path[PATH_LEN];
    struct err e;
    if (*r->node_path && session)
        each_file(r->node_path, session, remove_file, NULL);
    if (r->made_node)
        rmdir(r->node_path);
    if (r->made_run && is_ours_alone(r->path) && path_join(path, &e, "%s/run.json", r->path) == 0) {
        unlink(path);
        rmdir(r->path);
    }
    char *slash = strrchr(r->path, '/');
    if (r->made_runs && slash) {
        *slash = 0;
        if (is_empty_but_for_git(r->path))
            unhide_from_git(r->path);
        rmdir(r->path);
    }
    *r = (struct rundir){0};
}
