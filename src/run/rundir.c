/* SPDX-License-Identifier: Apache-2.0 */
/* rundir.c - see rundir.h.
 *
 * Crash safety. A run is what has a run.json, and that file is put whole. Of a recorder that is
 * killed before, a folder without run.json is left, which no reader takes for a run. Of one that is
 * killed later the run is there, and its data up to the last frame of the tails (docs/format.md).
 * In a run that is made out of sight run.json is the last file, and run_maker_place makes all of
 * it durable before it can be seen.
 *
 * Several recorders may make the same run at the same time. They agree by claim (one of them makes
 * the folder, the others find it and check whose it is) and by put-if-absent of run.json (the first
 * one stays). Each removes only what it has made itself, and only when nothing of others is in it.
 */
#include "run/rundir.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/json_read.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/redact.h"
#include "base/vec.h"
#include "run/run_names.h"
#include "run/storage.h"

enum { FOLDER_TRIES = 20, FORMAT_VERSION = 1 };

/* ---- names ---- */

int run_place_of(struct run_place *p, const char *wanted, const char *runs, struct err *e)
{
    p->id[0] = '\0';
    if (!wanted)
        return path_join(p->dir, e, "%s", runs_folder(runs));
    if (storage_has(wanted))
        return err_set(e, ERR_BUSY, "'%s' exists already", wanted);
    TRY(path_join(p->dir, e, "%s", wanted));
    for (size_t n = strlen(p->dir); n > 1 && p->dir[n - 1] == '/'; n--)
        p->dir[n - 1] = '\0';
    char *slash = strrchr(p->dir, '/');
    TRY(path_join(p->id, e, "%s", slash ? slash + 1 : p->dir));
    if (!slash)
        return path_join(p->dir, e, ".");
    slash[slash == p->dir] = '\0'; /* not that of the root */
    return 0;
}

static unsigned rundir_random_16(void)
{
    uint16_t v;
    if (getrandom(&v, sizeof v, GRND_NONBLOCK) != sizeof v)
        v = (uint16_t)(clock_mono().ns / 1000 ^ getpid());
    return v;
}

static void rundir_fresh_id(struct rundir *r, const struct run_about *about)
{
    char when[32];
    const time_t secs = (time_t)(about->start.ns / NS_PER_S);
    struct tm tm;
    localtime_r(&secs, &tm);
    strftime(when, sizeof when, "%Y%m%d-%H%M%S", &tm);
    snprintf(r->id, sizeof r->id, "%s-%s-%04x", about->name, when, rundir_random_16());
}

static int rundir_given_id(struct rundir *r, const char *id, struct err *e)
{
    if (!*id || *id == '.' || strchr(id, '/') || strlen(id) >= sizeof r->id)
        return err_set(e, ERR_USAGE,
                       "'%s' is not a valid run ID: it must not contain '/' or start with '.'", id);
    snprintf(r->id, sizeof r->id, "%s", id);
    return 0;
}

/* A folder that did not exist before, so that no two runs ever share one by accident. `about` NULL:
 * a hidden one. */
static int rundir_make_fresh(struct rundir *r, const char *dir, const struct run_about *about,
                             struct err *e)
{
    for (int i = 0; i < FOLDER_TRIES && !r->made_run; i++) {
        if (about)
            rundir_fresh_id(r, about);
        const unsigned number = rundir_random_16() << 16 | rundir_random_16();
        TRY(about ? run_path(r->path, dir, r->id, e) : run_hidden_path(r->path, dir, number, e));
        TRY(storage_of(r->path)->claim(r->path, &r->made_run, e));
    }
    return r->made_run ? 0 : err_set(e, ERR_BUSY, "'%s' exists already", r->path);
}

static void rundir_job_json(struct jw *j, const struct run_job *job)
{
    jw_object(j, "job");
    jw_str(j, "cluster", *job->cluster ? job->cluster : NULL);
    jw_str(j, "id", job->id);
    jw_str(j, "step", *job->step ? job->step : NULL);
    if (job->start_ns)
        jw_int(j, "start_ns", job->start_ns);
    else
        jw_null(j, "start_ns");
    jw_end(j);
}

static void rundir_about_json(struct buf *out, const struct rundir *r, const struct run_about *a)
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
    jw_str(&j, "directory", redact_text(a->directory, &scratch));
    jw_str(&j, "git_commit", *a->git_commit ? a->git_commit : NULL);
    if (a->user && *a->user)
        jw_str(&j, "user", a->user);
    jw_object(&j, "labels");
    for (size_t i = 0; i < a->n_labels; i++)
        jw_str(&j, a->labels[i].key, redact_label(a->labels[i].key, a->labels[i].value, &scratch));
    jw_end(&j);
    if (a->job)
        rundir_job_json(&j, a->job);
    jw_int(&j, "start_ns", a->start.ns);
    jw_num(&j, "interval_ms", (double)a->interval_ns / 1e6);
    jw_end(&j);
    buf_u8(out, '\n');
    arena_free(&scratch);
}

static int rundir_write_about(const struct rundir *r, const struct run_about *about,
                              enum storage_put how, struct err *e)
{
    char path[PATH_LEN];
    struct buf b = {0};
    TRY(run_path(path, r->path, RUN_ABOUT, e));
    rundir_about_json(&b, r, about);
    const int rc = storage_of(path)->put(path, b.p, b.len, how, e);
    buf_free(&b);
    return rc;
}

/* ---- a run that several nodes share ----
 *
 * The nodes of a job have the same shared ID (agent/jobinfo.c) and do not talk, but a run of
 * another job may have that ID. Then all of them must take the same other one. They try ID, ID-2,
 * ID-3 ... and take the first whose run.json is of their own job, where each puts one if there is
 * none. Why they meet: run.json never changes and put-if-absent has one winner, so all nodes that
 * read a candidate see the same job there. A node goes past a candidate only if it has seen another
 * job's run.json, and then no node of its job can win there or stay. Hence all nodes end at the
 * same candidate, the first that one of them won, also when several jobs begin at once.
 *
 * A requeued job continues in the run of its earlier start, whose date is another. That run is
 * looked for among those that share the first part of the ID: the newest of this job into which at
 * least two nodes have written. Two, because only a folder that the nodes share has the same runs
 * for all of them. In separate folders every node finds one node at most, so all of them take
 * the ID of the new start. */

/* A launcher starts all ranks at once; a run older than this is another job's. */
#define SAME_START_NS (3600 * NS_PER_S)

static bool rundir_text_is(const json_t *o, const char *key, const char *text)
{
    const char *v = json_string_value(json_object_get(o, key));
    return strcmp(v ? v : "", text) == 0;
}

/* Whether run.json belongs to the job, and then in *start_ns when that run began. */
static bool rundir_is_of_job(const char *run, const struct run_about *about, int64_t *start_ns)
{
    const struct run_job *job = about->job;
    char path[PATH_LEN];
    struct err e;
    json_t *o;
    if (run_path(path, run, RUN_ABOUT, &e) || storage_read_json(&o, path, &e))
        return false;
    const json_t *other = json_object_get(o, "job");
    const int64_t job_start = json_get_time(other, "start_ns", 0);
    *start_ns = json_get_time(o, "start_ns", 0);
    bool same = json_is_object(other) && rundir_text_is(other, "cluster", job->cluster) &&
                rundir_text_is(other, "id", job->id) && rundir_text_is(other, "step", job->step);
    same &= job->start_ns == job_start || (job->restarted && job_start < job->start_ns);
    same &= !job->id_repeats || about->start.ns - *start_ns < SAME_START_NS;
    json_decref(o);
    return same;
}

static void rundir_count_node(void *ctx, const struct storage_entry *x)
{
    size_t *n = ctx;
    *n += run_node_id(x->name) != NULL;
}

static size_t rundir_count_nodes(const char *run)
{
    size_t n = 0;
    struct err e;
    return storage_of(run)->list(run, STORAGE_FOLLOW, rundir_count_node, &n, &e) ? 0 : n;
}

struct rundir_earlier {
    const char *dir, *id;
    const struct run_about *about;
    char found[RUN_ID_LEN];
    int64_t found_start_ns;
};

static void rundir_see_earlier(void *ctx, const struct storage_entry *x)
{
    struct rundir_earlier *s = ctx;
    char path[PATH_LEN];
    struct err e;
    int64_t start_ns;
    if (strncmp(x->name, s->id, s->about->job->common) != 0 || strlen(x->name) >= sizeof s->found ||
        run_path(path, s->dir, x->name, &e) || !rundir_is_of_job(path, s->about, &start_ns) ||
        rundir_count_nodes(path) < 2)
        return;
    if (!*s->found || start_ns > s->found_start_ns) {
        snprintf(s->found, sizeof s->found, "%s", x->name);
        s->found_start_ns = start_ns;
    }
}

/* Makes the run or joins it; ERR_BUSY: it is another job's. */
static int rundir_join(struct rundir *r, const char *dir, const char *id,
                       const struct run_about *about, struct err *e)
{
    int64_t unused;
    TRY(rundir_given_id(r, id, e));
    TRY(run_path(r->path, dir, id, e));
    TRY(storage_of(r->path)->claim(r->path, &r->made_run, e));
    const int rc = rundir_write_about(r, about, STORAGE_PUT_ABSENT, e);
    if (rc != ERR_BUSY)
        return rc;
    /* Another node was first: its run.json stays. */
    if (!about->job || rundir_is_of_job(r->path, about, &unused))
        return 0;
    r->made_run = false; /* even if the folder was: run.json is another's */
    return err_set(e, ERR_BUSY, "'%s' is the run of another job", r->path);
}

static int rundir_make_shared(struct rundir *r, const char *dir, const char *id,
                              const struct run_about *about, struct err *e)
{
    struct rundir_earlier s = {.dir = dir, .id = id, .about = about};
    char other[RUN_ID_LEN];
    if (about->job && about->job->restarted)
        TRY(storage_of(dir)->list(dir, STORAGE_FOLLOW, rundir_see_earlier, &s, e));
    int rc = rundir_join(r, dir, *s.found ? s.found : id, about, e);
    for (int i = 2; rc == ERR_BUSY && i <= FOLDER_TRIES; i++) {
        snprintf(other, sizeof other, "%.*s-%d", RUN_ID_LEN - RUN_ID_SUFFIX, id, i);
        rc = rundir_join(r, dir, other, about, e);
    }
    return rc;
}

/* ---- a run that is recorded ---- */

/* The default folder is usually inside a project: git should ignore it. */
static void rundir_hide_from_git(const char *dir)
{
    char path[PATH_LEN];
    struct err ignored;
    if (strcmp(path_base(dir), RUNS_DEFAULT) == 0 &&
        run_path(path, dir, RUNS_GITIGNORE, &ignored) == 0)
        (void)!storage_of(path)->put(path, "*\n", 2, STORAGE_PUT_ABSENT, &ignored);
}

int rundir_make(struct rundir *out, const char *dir, const char *shared_id,
                const struct run_about *about, struct err *e)
{
    struct rundir r = {0};
    int rc = storage_of(dir)->make_runs(dir, &r.made_runs, e);
    if (rc)
        return err_in(e, "cannot create the folder of runs");
    if (r.made_runs)
        rundir_hide_from_git(dir);
    if (shared_id)
        rc = rundir_make_shared(&r, dir, shared_id, about, e);
    else if ((rc = rundir_make_fresh(&r, dir, about, e)) == 0)
        rc = rundir_write_about(&r, about, STORAGE_PUT_ABSENT, e);
    assert(rc != 0 || (*r.id && *r.path && !r.hidden));
    if (rc)
        rundir_remove(&r, 0);
    else
        *out = r;
    return rc;
}

static int rundir_node_folder(const struct rundir *r, const char *node_id, char *path,
                              struct err *e)
{
    if (!*node_id || strchr(node_id, '/') || strlen(node_id) >= NODE_ID_LEN)
        return err_set(e, ERR_USAGE,
                       "'%s' is not a valid node name: it must have 1 to %d characters and no '/'",
                       node_id, NODE_ID_LEN - 1);
    return run_node_path(path, r->path, node_id, e);
}

int rundir_make_node(struct rundir *r, const char *node_id, struct err *e)
{
    TRY(rundir_node_folder(r, node_id, r->node_path, e));
    TRY(storage_of(r->node_path)->claim(r->node_path, &r->made_node, e));
    assert(strlen(node_id) < sizeof r->node_id); /* rundir_node_folder checked it */
    snprintf(r->node_id, sizeof r->node_id, "%s", node_id);
    return 0;
}

int rundir_put_node(const struct rundir *r, const char *node_id, unsigned session, const void *p,
                    size_t n, struct err *e)
{
    char folder[PATH_LEN], path[PATH_LEN];
    assert(*r->path && session > 0);
    TRY(rundir_node_folder(r, node_id, folder, e));
    TRY(run_session_path(path, folder, RUN_NODE_STEM, session, RUN_NODE_END, e));
    return storage_of(path)->put(path, p, n, r->hidden ? STORAGE_PUT_STAGED : STORAGE_PUT_REPLACE,
                                 e);
}

int rundir_open_window(struct writer **out, const struct rundir_window *x, struct err *e)
{
    char stem[64];
    run_window_stem(stem, sizeof stem, x->pid, x->python, x->window);
    return writer_open_session(out, x->node_path, x->session, stem, e);
}

/* ---- what is in it ---- */

struct rundir_files {
    const char *folder;
    unsigned session;
    uint64_t bytes;
};

static void rundir_add_size(void *ctx, const struct storage_entry *found)
{
    struct rundir_files *x = ctx;
    if (*found->name != '.' && run_is_of_session(found->name, x->session))
        x->bytes += found->stat.bytes;
}

uint64_t rundir_session_bytes(const struct rundir *r, unsigned session)
{
    struct rundir_files x = {r->node_path, session, 0};
    struct err e;
    if (storage_of(x.folder)->list(x.folder, STORAGE_WITH_STAT, rundir_add_size, &x, &e))
        return 0;
    return x.bytes;
}

static void rundir_add_disk(void *ctx, const struct storage_entry *found)
{
    uint64_t *bytes = ctx;
    *bytes += found->stat.disk_bytes;
}

uint64_t rundir_disk_bytes(const char *node_path)
{
    uint64_t bytes = 0;
    struct err e;
    if (storage_of(node_path)->list(node_path, STORAGE_WITH_STAT, rundir_add_disk, &bytes, &e))
        return 0;
    return bytes;
}

bool rundir_is_only_node(const struct rundir *r)
{
    return rundir_count_nodes(r->path) == 1;
}

/* ---- taking it back ---- */

static void rundir_remove_file(void *ctx, const struct storage_entry *found)
{
    const struct rundir_files *x = ctx;
    char path[PATH_LEN];
    struct err e;
    if (*found->name != '.' && run_is_of_session(found->name, x->session) &&
        run_path(path, x->folder, found->name, &e) == 0)
        storage_of(path)->remove(path, STORAGE_REMOVE_FILE);
}

struct rundir_others {
    const char *ours; /* the file that does not count; hidden ones do not either, if wanted */
    bool hidden_count;
    bool any;
};

static void rundir_note_other(void *ctx, const struct storage_entry *found)
{
    struct rundir_others *x = ctx;
    x->any |= strcmp(found->name, x->ours) != 0 && (x->hidden_count || *found->name != '.');
}

/* Removes a folder in which only `ours` is left; another recorder may use it meanwhile. */
static void rundir_remove_unless_used(const char *folder, const char *ours, bool hidden_count)
{
    struct rundir_others x = {.ours = ours, .hidden_count = hidden_count};
    const struct storage *s = storage_of(folder);
    char path[PATH_LEN];
    struct err e;
    if (s->list(folder, STORAGE_FOLLOW, rundir_note_other, &x, &e) || x.any ||
        run_path(path, folder, ours, &e))
        return;
    s->remove(path, STORAGE_REMOVE_FILE);
    s->remove(folder, STORAGE_REMOVE_EMPTY);
}

static void rundir_remove_session(const struct rundir *r, unsigned session)
{
    struct rundir_files x = {r->node_path, session, 0};
    const struct storage *s = storage_of(r->node_path);
    struct err e;
    if (session && s->list(x.folder, 0, rundir_remove_file, &x, &e))
        return; /* it is not there */
    if (r->made_node)
        s->remove(r->node_path, STORAGE_REMOVE_EMPTY);
}

void rundir_remove(struct rundir *r, unsigned session)
{
    assert(!r->made_node || *r->node_path);
    if (*r->node_path)
        rundir_remove_session(r, session);
    if (r->made_run && r->hidden)
        storage_of(r->path)->remove(r->path, STORAGE_REMOVE_TREE);
    else if (r->made_run)
        rundir_remove_unless_used(r->path, RUN_ABOUT, false);
    char *slash = strrchr(r->path, '/');
    if (r->made_runs && slash) {
        *slash = 0;
        rundir_remove_unless_used(r->path, RUNS_GITIGNORE, true);
    }
    *r = (struct rundir){0};
}

void rundir_remove_node(const struct rundir *r)
{
    const struct storage *s = storage_of(r->path);
    s->remove(r->node_path, STORAGE_REMOVE_TREE);
    if (rundir_count_nodes(r->path) == 0)
        s->remove(r->path, STORAGE_REMOVE_TREE);
}

/* ---- a run that is made out of something else ---- */

/* Bytes that may wait; events come faster than rows. */
enum { FLUSH_ROWS = 256 << 10, FLUSH_EVENTS = 1 << 20 };

int run_maker_begin(struct run_maker *m, const char *home, struct err *e)
{
    *m = (struct run_maker){.dir = {.hidden = true}};
    struct rundir *r = &m->dir;
    char stage[PATH_LEN];
    int rc = storage_of(home)->make_runs(home, &r->made_runs, e);
    if (rc == 0)
        rc = storage_of(home)->stage(home, stage, e);
    if (rc == 0)
        rc = rundir_make_fresh(r, stage, NULL, e);
    if (rc)
        run_maker_end(m);
    return rc;
}

struct run_maker_node *run_maker_find(const struct run_maker *m, const char *id, unsigned session)
{
    for (size_t i = 0; i < m->n_nodes; i++)
        if (m->nodes[i]->session == session && strcmp(m->nodes[i]->id, id) == 0)
            return m->nodes[i];
    return NULL;
}

static int run_maker_open(const struct rundir *r, struct run_maker_node *n, const char *id,
                          struct clock_tie tie, struct err *e)
{
    char folder[PATH_LEN];
    bool made;
    assert(r->hidden && n->session > 0);
    TRY(rundir_node_folder(r, id, folder, e));
    TRY(storage_of(folder)->claim(folder, &made, e));
    TRY(writer_open_bulk(&n->metrics, folder, n->session, tie, e));
    const int rc = writer_open_beside(&n->events, n->metrics, STORE_EVENTS, e);
    if (rc)
        writer_discard(n->metrics);
    return rc;
}

int run_maker_node(struct run_maker *m, const char *id, unsigned session, struct clock_tie tie,
                   struct run_maker_node **out, struct err *e)
{
    assert(!run_maker_find(m, id, session));
    struct run_maker_node *n = xcalloc(1, sizeof *n);
    assert(session > 0);
    n->session = session;
    const int rc = run_maker_open(&m->dir, n, id, tie, e);
    if (rc) {
        free(n);
        return rc;
    }
    assert(strlen(id) < sizeof n->id); /* rundir_node_folder checked it */
    snprintf(n->id, sizeof n->id, "%s", id);
    *VEC_ADD(m->nodes, m->n_nodes, m->cap_nodes) = *out = n;
    return 0;
}

int run_maker_window(struct run_maker_node *n, unsigned pid, unsigned window, struct writer **out,
                     struct err *e)
{
    char stem[64];
    struct writer *w;
    assert(n->metrics); /* its lock and its session are used */
    for (size_t i = 0; i < n->n_windows; i++)
        if (n->windows[i].pid == pid && n->windows[i].window == window) {
            *out = n->windows[i].writer;
            return 0;
        }
    run_window_stem(stem, sizeof stem, pid, false, window);
    TRY(writer_open_beside(&w, n->metrics, stem, e));
    *VEC_ADD(n->windows, n->n_windows, n->cap_windows) = (struct run_maker_window){pid, window, w};
    *out = w;
    return 0;
}

/* ---- writing ---- */

/* The files of a node in the order in which they are closed: the first one last. */
static struct writer **run_maker_writer(struct run_maker_node *n, size_t i)
{
    assert(i < n->n_windows + 2);
    if (i < n->n_windows)
        return &n->windows[i].writer;
    return i == n->n_windows ? &n->events : &n->metrics;
}

int run_maker_flush(struct run_maker *m, struct err *e)
{
    int rc = 0;
    for (size_t i = 0; i < m->n_nodes; i++) {
        struct run_maker_node *n = m->nodes[i];
        for (size_t k = 0; rc == 0 && k < n->n_windows + 2; k++) {
            struct writer *w = *run_maker_writer(n, k);
            assert(w); /* before run_maker_close */
            if (writer_pending(w) >= (size_t)(w == n->metrics ? FLUSH_ROWS : FLUSH_EVENTS))
                rc = writer_flush(w, false, e);
        }
    }
    return rc;
}

static int run_maker_close_writer(struct writer **w, struct err *e)
{
    struct writer_stats s;
    struct writer *x = *w;
    *w = NULL;
    if (!x)
        return 0;
    writer_get_stats(x, &s);
    const int rc = writer_close(x, e);
    if (rc == 0 && s.rows_dropped + s.events_dropped)
        return err_set(e, ERR_LIMIT, "%llu rows and %llu events could not be written to disk",
                       (unsigned long long)s.rows_dropped, (unsigned long long)s.events_dropped);
    return rc;
}

/* All of them, whatever became of the others; the first error counts. */
int run_maker_close(struct run_maker *m, struct err *e)
{
    struct err other;
    int rc = 0;
    for (size_t i = 0; i < m->n_nodes; i++)
        for (size_t k = 0; k < m->nodes[i]->n_windows + 2; k++) {
            const int one =
                run_maker_close_writer(run_maker_writer(m->nodes[i], k), rc ? &other : e);
            rc = rc ? rc : one;
        }
    return rc;
}

void run_maker_drop(const struct run_maker *m, const struct run_maker_node *n)
{
    char folder[PATH_LEN];
    struct err e;
    assert(!n->metrics); /* closed */
    if (run_node_path(folder, m->dir.path, n->id, &e) == 0)
        storage_of(folder)->remove(folder, STORAGE_REMOVE_TREE);
}

int run_maker_place(struct run_maker *m, const char *home, const char *id,
                    const struct run_about *about, struct rundir *out, struct err *e)
{
    char to[PATH_LEN];
    struct rundir *r = &m->dir;
    assert(r->hidden && r->made_run);
    for (size_t i = 0; i < m->n_nodes; i++)
        assert(!m->nodes[i]->metrics && !m->nodes[i]->events); /* closed, so complete */
    if (!id)
        rundir_fresh_id(r, about);
    TRY(id ? rundir_given_id(r, id, e) : 0);
    TRY(rundir_write_about(r, about, STORAGE_PUT_STAGED, e));
    TRY(run_path(to, home, r->id, e));
    TRY(storage_of(to)->publish(r->path, to, e));
    memcpy(r->path, to, sizeof to);
    r->hidden = false;
    *out = *r;
    *r = (struct rundir){0};
    return 0;
}

void run_maker_end(struct run_maker *m)
{
    struct err ignored;
    (void)!run_maker_close(m, &ignored); /* what is open is removed next */
    for (size_t i = 0; i < m->n_nodes; i++) {
        free(m->nodes[i]->windows);
        free(m->nodes[i]);
    }
    free(m->nodes);
    rundir_remove(&m->dir, 0);
    *m = (struct run_maker){0};
}
