/* SPDX-License-Identifier: Apache-2.0 */
/* run_info.c - reads run.json and the node-*.json files, and lists the runs of a folder.
 *
 * A recorder may start, restart and end at any time while this reads. node.json is replaced whole,
 * so it is never half of one; what can be stale is its status. The order decides that: first the
 * status, then whether the recorder runs, and if it does not, the status once more, because it may
 * have ended properly in between.
 *
 * Why no run that ended properly is shown as died, in the folder where it was recorded:
 *
 * - A recorder writes its last status while it still has the lock of the node (recorder_end.c). So
 *   if the lock was free, and node.json is still "running" when it is read after that, the recorder
 *   was killed, or could not write it. Without a lock the age of the data decides: that is a
 *   guess, which the next reading corrects.
 * - A recorder has the lock before it makes the files of its session. When session k + 1 has files,
 *   the recorder of session k has given the lock back, and its node.json is final. Sessions are
 *   counted before any node.json is read. So one that is "running" then, and is not the latest,
 *   died. Of a copy elsewhere the last status of an earlier session may not have been sent yet.
 * - An entry of a catalogue is used only if the run was not being recorded when it was made; else
 *   the files are read. An entry that does not parse is a copy that can be ignored.
 *
 * The result is made in a local variable and copied out at the end: a failure leaves *out as it
 * was. All its texts are in the caller's arena, so no JSON tree outlives its function. */
#include "run/run_info.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/json_read.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/redact.h"
#include "base/text.h"
#include "base/vec.h"
#include "run/run_catalog.h"
#include "run/run_names.h"
#include "run/run_notes.h"
#include "run/storage.h"

enum { RUN_FORMAT = 1, STALE_S = 30 };

static const char why_died[] = "the recorder ended without closing its files";

static const char *const status_names[RUN_STATUS_N] = {
    [RUN_RUNNING] = "running",         [RUN_FINISHED] = "finished", [RUN_FAILED] = "failed",
    [RUN_INTERRUPTED] = "interrupted", [RUN_STOPPED] = "stopped",   [RUN_DIED] = "died",
};

const char *run_status_name(enum run_status s)
{
    assert((size_t)s < COUNT_OF(status_names));
    return status_names[s];
}

static enum run_status run_info_status_find(const char *name)
{
    for (enum run_status s = 0; s < RUN_STATUS_N; s++)
        if (strcmp(status_names[s], name) == 0)
            return s;
    return RUN_DIED;
}

const char *runs_folder(const char *dir)
{
    if (dir && *dir)
        return dir;
    const char *env = getenv("FOOTPLATE_DIR");
    return env && *env ? env : RUNS_DEFAULT;
}

/* ---- run.json ---- */

static const char **run_info_read_command(const json_t *o, struct arena *a)
{
    const json_t *list = json_object_get(o, "command");
    const size_t n = json_array_size(list);
    const char **out = arena_array(a, const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        const char *s = json_string_value(json_array_get(list, i));
        out[i] = s ? s : "";
    }
    return redact_words(out, n, a); /* runs of older versions contain the secrets */
}

static void run_info_read_labels(const json_t *o, struct arena *a, struct run_info *out)
{
    json_t *labels = json_object_get(o, "labels");
    out->labels = arena_array(a, struct run_label, json_object_size(labels));
    const char *key;
    json_t *value;
    json_object_foreach(labels, key, value)
    {
        const char *text = json_string_value(value);
        out->labels[out->n_labels++] =
            (struct run_label){arena_strdup(a, key), arena_strdup(a, text ? text : "")};
    }
}

static int run_info_fill_run(struct run_info *out, const json_t *o, const char *path,
                             struct arena *a, struct err *e)
{
    const int64_t version = json_get_int(o, "format_version", 0);
    if (!json_is_object(o) || version < 1)
        return err_set(e, ERR_FORMAT, "'%s/" RUN_ABOUT "' is not a valid " RUN_ABOUT, path);
    if (version > RUN_FORMAT)
        return err_set(e, ERR_VERSION,
                       "'%s' has format version %lld, but this version of Footplate reads up to "
                       "%d; use a newer version",
                       path, (long long)version, RUN_FORMAT);
    out->path = arena_strdup(a, path);
    out->name = out->recorded_name = json_get_str(o, "name", a, "");
    out->id = json_get_str(o, "id", a, "");
    out->directory = json_get_str(o, "directory", a, "");
    out->git_commit = json_get_str(o, "git_commit", a, "");
    out->version = json_get_str(o, "footplate_version", a, "");
    out->user = json_get_str(o, "user", a, "");
    out->start.ns = json_get_time(o, "start_ns", 0);
    out->command = run_info_read_command(o, a);
    run_info_read_labels(o, a, out);
    return 0;
}

static int run_info_read_run(struct run_info *out, const char *path, struct arena *a, struct err *e)
{
    char file[PATH_LEN];
    json_t *o;
    TRY(run_path(file, path, RUN_ABOUT, e));
    TRY(storage_read_json(&o, file, e));
    const int rc = run_info_fill_run(out, o, path, a, e);
    json_decref(o);
    return rc;
}

/* ---- node.json ---- */

/* Limits for the numbers in a node.json. Anything beyond counts as not known, so that sums over
 * thousands of nodes and products with small factors fit into 64 bits. */
#define NODE_NUMBER_MOST      ((int64_t)1 << 50) /* bytes, samples, events */
#define NODE_CORES_MOST       ((int64_t)1 << 20)
#define NODE_INTERVAL_MOST_NS (24 * 3600 * NS_PER_S)

static void run_info_read_gpus(const json_t *o, struct arena *a, struct node_info *out)
{
    const json_t *list = json_object_get(o, "gpus");
    out->gpus_known = json_is_array(list);
    out->n_gpus = json_array_size(list);
    out->gpus = arena_array(a, struct node_gpu, out->n_gpus);
    for (size_t i = 0; i < out->n_gpus; i++) {
        const json_t *g = json_array_get(list, i);
        out->gpus[i] = (struct node_gpu){
            .entity = json_get_str(g, "entity", a, ""),
            .name = json_get_str(g, "name", a, ""),
            .uuid = json_get_str(g, "uuid", a, ""),
            .driver = json_get_str(g, "driver", a, ""),
            .memory_bytes = json_get_within(g, "memory_bytes", 0, NODE_NUMBER_MOST, 0),
        };
    }
}

static void run_info_fill_node(const json_t *o, struct arena *a, struct node_info *n)
{
    const json_t *launcher = json_object_get(o, "launcher"), *self = json_object_get(o, "self");
    n->status = run_info_status_find(json_get_str(o, "status", a, ""));
    n->why = json_get_str(o, "why", a, "");
    n->host = json_get_str(o, "host", a, "");
    n->kernel = json_get_str(o, "kernel", a, "");
    n->cpu_model = json_get_str(o, "cpu_model", a, "");
    n->cores = (unsigned)json_get_within(o, "cores", 0, NODE_CORES_MOST, 0);
    n->memory_bytes = json_get_within(o, "memory_bytes", 0, NODE_NUMBER_MOST, 0);
    run_info_read_gpus(o, a, n);
    n->gpu_absent = json_get_str(o, "gpu_absent", a, "");
    n->launcher = json_get_str(launcher, "name", a, "");
    n->rank = json_get_within(launcher, "rank", 0, INT32_MAX, -1);
    n->world_size = json_get_within(launcher, "world_size", 0, INT32_MAX, -1);
    n->local_rank = json_get_within(launcher, "local_rank", 0, INT32_MAX, -1);
    n->machine = json_get_str(o, "machine_type", a, "");
    n->price_per_hour = json_get_num(o, "price_per_hour", NAN);
    n->currency = json_get_str(o, "currency", a, "");
    n->interval_ns = json_get_within(o, "interval_ns", 0, NODE_INTERVAL_MOST_NS, 0);
    n->ship_interval_ns = json_get_within(o, RUN_NODE_SHIP, 0, NODE_INTERVAL_MOST_NS, 0);
    n->start.ns = json_get_time(o, "start_ns", 0);
    n->end.ns = json_get_time(o, "end_ns", 0);
    n->exit_status = (int)json_get_within(o, "exit_status", INT32_MIN, INT32_MAX, -1);
    n->attached = json_is_true(json_object_get(o, "attached"));
    n->self_cpu_s = json_get_num(self, "cpu_s", NAN);
    n->bytes_written = json_get_within(self, "bytes_written", 0, NODE_NUMBER_MOST, -1);
    n->samples = json_get_within(self, "samples", 0, NODE_NUMBER_MOST, -1);
    n->events_dropped = json_get_within(self, "events_dropped", 0, NODE_NUMBER_MOST, -1);
}

/* When something of it was last changed, in whole seconds; 0: there is nothing. */
static int64_t run_info_changed_s(const char *dir, const char *stem, unsigned session,
                                  const char *end)
{
    char path[PATH_LEN];
    struct storage_stat st;
    struct err e;
    return run_session_path(path, dir, stem, session, end, &e) == 0 &&
                   storage_of(path)->stat(path, 0, &st, &e) == 0
               ? st.changed_ns / NS_PER_S
               : 0;
}

/* Where the storage cannot tell a live recorder from a dead one, the age of the data decides;
 * node.json is sent again while there is none. */
static bool run_info_recorder_lives(const char *dir, const struct node_info *n, int64_t newest_s)
{
    const enum storage_alive alive = storage_of(dir)->alive(dir);
    if (alive != STORAGE_ALIVE_UNKNOWN)
        return alive == STORAGE_ALIVE;
    const int64_t node_s = run_info_changed_s(dir, RUN_NODE_STEM, n->session, RUN_NODE_END);
    const int64_t silence_s = MAX_OF((int64_t)STALE_S, 3 * n->ship_interval_ns / NS_PER_S);
    return MAX_OF(newest_s, n->ship_interval_ns ? node_s : 0) + silence_s > time(NULL);
}

/* In whole seconds. */
static int64_t run_info_newest_data(const char *dir, unsigned session)
{
    return MAX_OF(run_info_changed_s(dir, STORE_METRICS, session, STORE_SEALED),
                  run_info_changed_s(dir, STORE_METRICS, session, STORE_TAIL));
}

static void run_info_read_node_file(const char *dir, struct arena *a, struct node_info *n)
{
    char path[PATH_LEN];
    struct err e;
    json_t *o = NULL;
    if (run_session_path(path, dir, RUN_NODE_STEM, n->session, RUN_NODE_END, &e) ||
        storage_read_json(&o, path, &e))
        o = NULL;
    run_info_fill_node(o, a, n);
    if (!o)
        n->status = RUN_RUNNING; /* the caller finds out whether its recorder runs */
    json_decref(o);
}

static void run_info_read_node(const char *dir, struct arena *a, struct node_info *n)
{
    run_info_read_node_file(dir, a, n);
    if (n->status != RUN_RUNNING)
        return;
    const int64_t newest = run_info_newest_data(dir, n->session);
    const bool lives = run_info_recorder_lives(dir, n, newest);
    if (!lives) /* it may have ended properly since it was read */
        run_info_read_node_file(dir, a, n);
    if (n->status != RUN_RUNNING)
        return;
    if (!lives) {
        n->status = RUN_DIED;
        if (!*n->why)
            n->why = why_died;
    }
    assert(n->status == (lives ? RUN_RUNNING : RUN_DIED));
    n->end.ns = newest * NS_PER_S;
}

static bool run_info_has_session(const char *dir, unsigned session)
{
    char rows[PATH_LEN], node[PATH_LEN];
    struct err e;
    return run_session_path(rows, dir, STORE_METRICS, session, STORE_SEALED, &e) == 0 &&
           run_session_path(node, dir, RUN_NODE_STEM, session, RUN_NODE_END, &e) == 0 &&
           (storage_has(rows) || storage_has(node));
}

static unsigned run_info_count_sessions(const char *dir)
{
    unsigned n = 0;
    while (n < SESSIONS_MOST && run_info_has_session(dir, n + 1))
        n++;
    return n;
}

struct run_info_nodes {
    struct run_info *out;
    struct arena *arena;
    size_t cap;
};

/* Only folders: a link could lead to what the reader may see, but the run's owner may not. */
static void run_info_add_node(void *ctx, const struct storage_entry *found)
{
    struct run_info_nodes *x = ctx;
    const char *id = run_node_id(found->name);
    char dir[PATH_LEN];
    struct err e;
    if (!id || found->kind != STORAGE_FOLDER || run_node_path(dir, x->out->path, id, &e))
        return;
    const unsigned sessions = run_info_count_sessions(dir); /* before any node.json, see above */
    assert(sessions <= SESSIONS_MOST);
    for (unsigned k = 1; k <= sessions; k++) {
        struct node_info *n = ARENA_ADD(x->arena, x->out->nodes, x->out->n_nodes, x->cap);
        assert(x->out->n_nodes <= x->cap);
        *n = (struct node_info){.id = arena_strdup(x->arena, id), .session = k};
        run_info_read_node(dir, x->arena, n);
        if (n->status == RUN_RUNNING && k < sessions) { /* a later session has the lock */
            n->status = RUN_DIED;
            n->why = *n->why ? n->why : why_died;
        }
    }
}

static int run_info_by_node(const void *a, const void *b)
{
    const struct node_info *x = a, *y = b;
    const int c = name_compare(x->id, y->id);
    return c ? c : (x->session > y->session) - (x->session < y->session);
}

static int run_info_read_nodes(struct run_info *out, struct arena *a, struct err *e)
{
    struct run_info_nodes x = {.out = out, .arena = a};
    TRY(storage_of(out->path)->list(out->path, STORAGE_FOLLOW, run_info_add_node, &x, e));
    SORT(out->nodes, out->n_nodes, run_info_by_node);
    return 0;
}

/* How bad a node's end is for the run: the worst of the latest sessions is the run's status. */
static int run_info_badness(enum run_status s)
{
    static const int order[RUN_STATUS_N] = {
        [RUN_FINISHED] = 0, [RUN_STOPPED] = 1, [RUN_INTERRUPTED] = 2,
        [RUN_FAILED] = 3,   [RUN_DIED] = 4,    [RUN_RUNNING] = 5,
    };
    assert((size_t)s < COUNT_OF(order));
    return order[s];
}

static void run_info_sum_up(struct run_info *out)
{
    out->status = out->n_nodes ? RUN_FINISHED : RUN_DIED;
    out->exit_status = -1;
    int64_t first_failure = INT64_MAX;
    for (size_t i = 0; i < out->n_nodes; i++) {
        const struct node_info *n = &out->nodes[i];
        assert(i == 0 || run_info_by_node(n - 1, n) <= 0); /* so the latest session is last */
        const bool latest = i + 1 == out->n_nodes || strcmp(out->nodes[i + 1].id, n->id) != 0;
        if (latest && run_info_badness(n->status) > run_info_badness(out->status))
            out->status = n->status;
        if (n->start.ns && (!out->start.ns || n->start.ns < out->start.ns))
            out->start = n->start;
        out->end.ns = MAX_OF(out->end.ns, n->end.ns);
        if (latest && n->exit_status > 0 && n->end.ns < first_failure) {
            first_failure = n->end.ns;
            out->exit_status = n->exit_status;
        } else if (latest && n->exit_status == 0 && out->exit_status < 0) {
            out->exit_status = 0;
        }
    }
    out->end.ns = MAX_OF(out->end.ns, out->start.ns);
}

/* Notes that cannot be read do not hide the run. */
static void run_info_read_notes(struct run_info *out, struct arena *a)
{
    struct err ignored;
    (void)!run_notes_read(&out->notes, out->path, a, &ignored);
    if (*out->notes.name)
        out->name = out->notes.name;
}

int run_info_read(struct run_info *out, const char *path, struct arena *a, struct err *e)
{
    struct run_info info = {0};
    TRY(run_info_read_run(&info, path, a, e));
    run_info_read_notes(&info, a);
    TRY(run_info_read_nodes(&info, a, e));
    run_info_sum_up(&info);
    *out = info;
    return 0;
}

/* ---- entries of a catalogue ---- */

static void run_info_fill_alike_gpus(const json_t *o, struct arena *a, struct node_info *n)
{
    const json_t *uuids = json_object_get(o, "uuids");
    const char *name = json_get_str(o, "name", a, ""), *driver = json_get_str(o, "driver", a, "");
    const int64_t bytes = json_get_within(o, "memory_bytes", 0, NODE_NUMBER_MOST, 0);
    n->gpus_known = true;
    n->n_gpus = json_array_size(uuids);
    n->gpus = arena_array(a, struct node_gpu, n->n_gpus);
    for (size_t i = 0; i < n->n_gpus; i++) {
        const char *uuid = json_string_value(json_array_get(uuids, i));
        n->gpus[i] = (struct node_gpu){arena_printf(a, "gpu%zu", i), name,
                                       arena_strdup(a, uuid ? uuid : ""), driver, bytes};
    }
}

static int run_info_fill_nodes(struct run_info *out, const json_t *list, struct arena *a)
{
    out->n_nodes = json_array_size(list);
    out->nodes = arena_array(a, struct node_info, out->n_nodes + 1);
    for (size_t i = 0; i < out->n_nodes; i++) {
        const json_t *o = json_array_get(list, i);
        struct node_info *n = &out->nodes[i];
        *n = (struct node_info){.id = json_get_str(o, "id", a, ""),
                                .session = (unsigned)json_get_within(o, "session", 1, 1000, 1)};
        run_info_fill_node(o, a, n);
        if (json_object_get(o, "gpus_alike"))
            run_info_fill_alike_gpus(json_object_get(o, "gpus_alike"), a, n);
    }
    SORT(out->nodes, out->n_nodes, run_info_by_node);
    return 0;
}

static int run_info_fill(struct run_info *out, const json_t *o, const char *path, struct arena *a,
                         struct err *e)
{
    const json_t *notes = json_object_get(o, "notes");
    struct err ignored;
    TRY(run_info_fill_run(out, json_object_get(o, "run"), path, a, e));
    out->notes = (struct run_notes){.name = "", .text = ""};
    if (notes && run_notes_parse(&out->notes, notes, a, &ignored))
        out->notes = (struct run_notes){.name = "", .text = ""};
    if (*out->notes.name)
        out->name = out->notes.name;
    TRY(run_info_fill_nodes(out, json_object_get(o, "nodes"), a));
    run_info_sum_up(out);
    return 0;
}

bool run_entry_is_running(const char *entry, size_t len)
{
    static const char start[] = "{\"running\":true";
    return len >= sizeof start - 1 && memcmp(entry, start, sizeof start - 1) == 0;
}

int run_info_of(struct run_info *out, const struct run_listed *x, struct arena *a, struct err *e)
{
    struct run_info info = {0};
    json_error_t why;
    struct err ignored;
    if (!x->entry || run_entry_is_running(x->entry, x->entry_len))
        return run_info_read(out, x->path, a, e);
    json_t *o = json_loadb(x->entry, x->entry_len, 0, &why);
    const int rc = o ? run_info_fill(&info, o, x->path, a, &ignored) : ERR_FORMAT;
    json_decref(o);
    if (rc) /* an entry is only a copy */
        return run_info_read(out, x->path, a, e);
    *out = info;
    return 0;
}

/* Texts that are empty and numbers that are not known are left out. */
static void entry_text(struct jw *j, const char *key, const char *text)
{
    if (text && *text)
        jw_str(j, key, text);
}

static void entry_int(struct jw *j, const char *key, int64_t v, int64_t unknown)
{
    if (v != unknown)
        jw_int(j, key, v);
}

static void entry_num(struct jw *j, const char *key, double v)
{
    if (!isnan(v))
        jw_num(j, key, v);
}

/* Whether they differ in nothing but their number and UUID. */
static bool entry_gpus_alike(const struct node_info *n)
{
    for (size_t i = 0; i < n->n_gpus; i++) {
        const struct node_gpu *g = &n->gpus[i];
        char entity[24];
        snprintf(entity, sizeof entity, "gpu%zu", i);
        if (strcmp(g->entity, entity) != 0 || strcmp(g->name, n->gpus->name) != 0 ||
            strcmp(g->driver, n->gpus->driver) != 0 || g->memory_bytes != n->gpus->memory_bytes)
            return false;
    }
    return n->gpus_known && n->n_gpus > 1;
}

/* Eight of them are two thirds of an entry, and most of the time that it takes to read it. */
static void entry_alike_gpus(struct jw *j, const struct node_info *n)
{
    assert(n->gpus_known && n->n_gpus > 1);
    jw_object(j, "gpus_alike");
    entry_text(j, "name", n->gpus->name);
    entry_text(j, "driver", n->gpus->driver);
    entry_int(j, "memory_bytes", n->gpus->memory_bytes, 0);
    jw_array(j, "uuids");
    for (size_t i = 0; i < n->n_gpus; i++)
        jw_str(j, NULL, n->gpus[i].uuid);
    jw_end(j);
    jw_end(j);
}

static void entry_gpus(struct jw *j, const struct node_info *n)
{
    if (entry_gpus_alike(n)) {
        entry_alike_gpus(j, n);
        return;
    }
    if (n->gpus_known)
        jw_array(j, "gpus");
    for (size_t i = 0; n->gpus_known && i < n->n_gpus; i++) {
        const struct node_gpu *g = &n->gpus[i];
        jw_object(j, NULL);
        entry_text(j, "entity", g->entity);
        entry_text(j, "name", g->name);
        entry_text(j, "uuid", g->uuid);
        entry_text(j, "driver", g->driver);
        entry_int(j, "memory_bytes", g->memory_bytes, 0);
        jw_end(j);
    }
    if (n->gpus_known)
        jw_end(j);
    entry_text(j, "gpu_absent", n->gpu_absent);
}

/* The keys of node.json, as run_info_fill_node reads them. */
static void entry_node(struct jw *j, const struct node_info *n)
{
    jw_object(j, NULL);
    jw_str(j, "id", n->id);
    entry_int(j, "session", n->session, 1);
    jw_str(j, "status", run_status_name(n->status));
    entry_text(j, "why", n->why);
    entry_text(j, "host", n->host);
    entry_text(j, "kernel", n->kernel);
    entry_text(j, "cpu_model", n->cpu_model);
    entry_int(j, "cores", n->cores, 0);
    entry_int(j, "memory_bytes", n->memory_bytes, 0);
    entry_gpus(j, n);
    if (*n->launcher) {
        jw_object(j, "launcher");
        jw_str(j, "name", n->launcher);
        entry_int(j, "rank", n->rank, -1);
        entry_int(j, "world_size", n->world_size, -1);
        entry_int(j, "local_rank", n->local_rank, -1);
        jw_end(j);
    }
    entry_text(j, "machine_type", n->machine);
    entry_num(j, "price_per_hour", n->price_per_hour);
    entry_text(j, "currency", n->currency);
    jw_int(j, "interval_ns", n->interval_ns);
    jw_int(j, "start_ns", n->start.ns);
    jw_int(j, "end_ns", n->end.ns);
    entry_int(j, "exit_status", n->exit_status, -1);
    if (n->attached)
        jw_bool(j, "attached", true);
    jw_object(j, "self");
    entry_num(j, "cpu_s", n->self_cpu_s);
    entry_int(j, "bytes_written", n->bytes_written, -1);
    entry_int(j, "samples", n->samples, -1);
    entry_int(j, "events_dropped", n->events_dropped, -1);
    jw_end(j);
    jw_end(j);
}

static void entry_run(struct jw *j, const struct run_info *info)
{
    jw_object(j, "run");
    jw_int(j, "format_version", RUN_FORMAT);
    jw_str(j, "name", info->recorded_name);
    jw_str(j, "id", info->id);
    jw_int(j, "start_ns", info->start.ns);
    entry_text(j, "directory", info->directory);
    entry_text(j, "git_commit", info->git_commit);
    entry_text(j, "footplate_version", info->version);
    entry_text(j, "user", info->user);
    jw_array(j, "command");
    for (size_t i = 0; info->command && info->command[i]; i++)
        jw_str(j, NULL, info->command[i]);
    jw_end(j);
    if (info->n_labels)
        jw_object(j, "labels");
    for (size_t i = 0; i < info->n_labels; i++)
        jw_str(j, info->labels[i].key, info->labels[i].value);
    if (info->n_labels)
        jw_end(j);
    jw_end(j);
}

void run_info_entry(const struct run_info *info, struct buf *out)
{
    struct jw j = {.out = out};
    jw_object(&j, NULL);
    jw_bool(&j, "running", info->status == RUN_RUNNING);
    entry_run(&j, info);
    if (*info->notes.name || info->notes.n_tags || *info->notes.text)
        run_notes_json(&j, "notes", &info->notes);
    jw_array(&j, "nodes");
    for (size_t i = 0; i < info->n_nodes; i++)
        entry_node(&j, &info->nodes[i]);
    jw_end(&j);
    jw_end(&j);
    buf_u8(out, '\n');
}

/* ---- the runs of a folder, and which one the user means ---- */

/* ERR_SYS when it is none, or when that cannot be found out. */
static int run_find_look_at_run(const char *path, struct err *e)
{
    char file[PATH_LEN];
    struct storage_stat st;
    const int rc = run_path(file, path, RUN_ABOUT, e);
    return rc ? rc : storage_of(file)->stat(file, STORAGE_FOLLOW, &st, e);
}

static bool run_find_is_run(const char *path)
{
    struct err e;
    return run_find_look_at_run(path, &e) == 0;
}

struct run_candidate {
    struct run_listed listed;
    const char *path, *folder, *id, *name;
    const char *noted; /* the name that a user gave it; "": none */
    int64_t start_ns;
};

/* A damaged run.json does not hide the run: its folder's name and age are used instead. */
static void run_find_describe(struct run_candidate *c, struct arena *a)
{
    char file[PATH_LEN];
    struct err e;
    json_t *o = NULL;
    struct storage_stat st;
    if (run_path(file, c->path, RUN_ABOUT, &e) || storage_read_json(&o, file, &e))
        o = NULL;
    c->id = json_get_str(o, "id", a, "");
    c->name = json_get_str(o, "name", a, "");
    c->start_ns = json_get_time(o, "start_ns", 0);
    struct run_notes notes;
    (void)!run_notes_read(&notes, c->path, a, &e);
    c->noted = notes.name;
    if (!c->start_ns && storage_of(file)->stat(file, STORAGE_FOLLOW, &st, &e) == 0)
        c->start_ns = st.changed_ns / NS_PER_S * NS_PER_S;
    json_decref(o);
}

static int run_find_newest_first(const void *a, const void *b)
{
    const struct run_candidate *x = a, *y = b;
    return COMPARE(y->start_ns, x->start_ns) ?: strcmp(y->folder, x->folder);
}

struct run_each {
    const char *dir;
    void (*visit)(void *ctx, const struct run_listed *x);
    void *ctx;
};

/* A run that is being made is hidden: its name begins with a dot. A link was made by the user. */
static void run_find_visit_entry(void *ctx, const struct storage_entry *found)
{
    const struct run_each *x = ctx;
    char path[PATH_LEN];
    struct err e;
    if (*found->name != '.' && (found->kind == STORAGE_FOLDER || found->kind == STORAGE_LINK) &&
        run_path(path, x->dir, found->name, &e) == 0)
        x->visit(x->ctx, &(struct run_listed){.path = path});
}

static void run_find_visit_catalog(const struct run_each *x, const struct run_catalog *c)
{
    size_t n;
    const struct run_catalog_run *v = run_catalog_runs(c, &n);
    for (size_t i = 0; i < n; i++) {
        char path[PATH_LEN];
        struct err e;
        const bool running = v[i].entry && run_entry_is_running(v[i].entry, v[i].entry_len);
        if (run_path(path, x->dir, v[i].folder, &e) == 0)
            x->visit(x->ctx, &(struct run_listed){path, v[i].entry, v[i].entry_len,
                                                  running ? 0 : v[i].stamp, v[i].start_ns});
    }
}

int run_each_listed(const char *dir, void (*visit)(void *ctx, const struct run_listed *x),
                    void *ctx, struct err *e)
{
    struct run_each x = {dir, visit, ctx};
    struct run_catalog *c;
    if (run_catalog_get(&c, dir, e) == 0) {
        run_find_visit_catalog(&x, c);
        run_catalog_release(c);
        return 0;
    }
    return storage_of(dir)->list(dir, STORAGE_FOLLOW, run_find_visit_entry, &x, e);
}

struct run_each_path {
    void (*visit)(void *ctx, const char *path);
    void *ctx;
};

static void run_find_visit_path(void *ctx, const struct run_listed *found)
{
    const struct run_each_path *x = ctx;
    x->visit(x->ctx, found->path);
}

int run_each(const char *dir, void (*visit)(void *ctx, const char *path), void *ctx, struct err *e)
{
    struct run_each_path x = {visit, ctx};
    return run_each_listed(dir, run_find_visit_path, &x, e);
}

struct run_candidates {
    struct arena *arena;
    struct run_candidate *v;
    size_t n, cap;
};

static void run_find_add_candidate(void *ctx, const struct run_listed *found)
{
    struct run_candidates *x = ctx;
    if (!found->entry && !run_find_is_run(found->path))
        return;
    struct run_candidate *c = ARENA_ADD(x->arena, x->v, x->n, x->cap);
    *c = (struct run_candidate){.listed = *found, .id = "", .name = "", .noted = ""};
    c->path = c->listed.path = arena_strdup(x->arena, found->path);
    c->folder = path_base(c->path);
    c->start_ns = found->start_ns;
    if (found->entry)
        c->listed.entry = arena_strndup(x->arena, found->entry, found->entry_len);
    else
        run_find_describe(c, x->arena);
}

/* Of an entry the start is enough to sort by; its names are needed when one is looked for. */
static void run_find_describe_entry(struct run_candidate *c, struct arena *a)
{
    json_error_t why;
    json_t *o = c->listed.entry ? json_loadb(c->listed.entry, c->listed.entry_len, 0, &why) : NULL;
    const json_t *run = json_object_get(o, "run");
    if (!o)
        return;
    c->id = json_get_str(run, "id", a, "");
    c->name = json_get_str(run, "name", a, "");
    c->noted = json_get_str(json_object_get(o, "notes"), "name", a, "");
    json_decref(o);
}

static int run_find_all_runs(const char *dir, struct arena *a, struct run_candidate **out,
                             size_t *n, struct err *e)
{
    struct run_candidates x = {.arena = a};
    const int rc = run_each_listed(dir, run_find_add_candidate, &x, e);
    SORT(x.v, x.n, run_find_newest_first);
    *out = x.v;
    *n = x.n;
    return err_no_file(rc, e) ? 0 : rc;
}

int run_list(const char *dir, struct arena *a, struct run_listed **out, size_t *n, struct err *e)
{
    struct run_candidate *list;
    TRY(run_find_all_runs(runs_folder(dir), a, &list, n, e));
    *out = arena_array(a, struct run_listed, *n + 1);
    for (size_t i = 0; i < *n; i++)
        (*out)[i] = list[i].listed;
    return 0;
}

/* The newest run that fits; whole words before prefixes. *fits: how many fit as well. */
static const struct run_candidate *run_find_match(struct run_candidate *list, size_t n,
                                                  const char *ref, size_t *fits, struct arena *a)
{
    const struct run_candidate *best = NULL;
    *fits = n > 0;
    if (strcmp(ref, "last") == 0)
        return n ? &list[0] : NULL;
    *fits = 0;
    for (size_t i = 0; i < n; i++)
        run_find_describe_entry(&list[i], a);
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].folder, ref) == 0 || strcmp(list[i].id, ref) == 0 ||
            strcmp(list[i].name, ref) == 0 || strcmp(list[i].noted, ref) == 0)
            best = (*fits)++ ? best : &list[i];
    const bool whole = best != NULL;
    for (size_t i = 0; i < n && *ref && !whole; i++)
        if (text_starts(list[i].folder, ref) || text_starts(list[i].id, ref))
            best = (*fits)++ ? best : &list[i];
    assert((best != NULL) == (*fits > 0));
    return best;
}

size_t run_find_fits(const char *dir, const char *ref)
{
    struct arena a = {0};
    struct run_candidate *list;
    struct err ignored;
    size_t n, fits = 1;
    if (!run_find_is_run(ref) && !strchr(ref, '/') &&
        run_find_all_runs(runs_folder(dir), &a, &list, &n, &ignored) == 0)
        run_find_match(list, n, ref, &fits, &a);
    arena_free(&a);
    return fits;
}

static int run_find_not_found(const char *dir, const char *ref, const struct run_candidate *list,
                              size_t n, struct err *e)
{
    struct nearest near = nearest_to(ref);
    assert(n > 0); /* the message names the newest */
    for (size_t i = 0; i < n; i++) {
        nearest_offer(&near, list[i].folder);
        nearest_offer(&near, list[i].name);
        nearest_offer(&near, list[i].noted);
    }
    nearest_offer(&near, "last");
    if (near.best)
        return err_set(e, ERR_NOT_FOUND, "no run called '%s' in '%s' (did you mean '%s'?)", ref,
                       dir, near.best);
    return err_set(e, ERR_NOT_FOUND,
                   "no run called '%s' in '%s'; the newest of %zu is '%s' ('footplate ls' lists "
                   "them)",
                   ref, dir, n, list[0].folder);
}

static int run_find_find_in(const char *dir, const char *ref, char path[], struct err *e)
{
    struct arena a = {0};
    struct run_candidate *list;
    size_t n, fits;
    int rc = run_find_all_runs(dir, &a, &list, &n, e);
    if (rc == 0) {
        const struct run_candidate *c = run_find_match(list, n, ref, &fits, &a);
        if (c)
            rc = path_join(path, e, "%s", c->path);
        else if (n == 0)
            rc = err_set(e, ERR_NOT_FOUND,
                         "no runs in '%s': record one with 'footplate run -- COMMAND', or name "
                         "another folder with --dir",
                         dir);
        else
            rc = run_find_not_found(dir, ref, list, n, e);
    }
    arena_free(&a);
    return rc;
}

int run_find(const char *dir, const char *ref, char path[], struct err *e)
{
    struct storage_stat st;
    if (!*ref)
        return err_set(e, ERR_USAGE, "no run is named: give a folder, a name or 'last'");
    const int rc = run_find_look_at_run(ref, e);
    if (rc == 0)
        return path_join(path, e, "%s", ref);
    if (rc != ERR_SYS && rc != ERR_LIMIT) /* elsewhere, and it cannot be reached */
        return rc;
    if (e->sys == EACCES && rc == ERR_SYS && storage_of(ref)->objects)
        return rc;
    if (e->sys == EACCES) {
        errno = e->sys;
        return err_sys(e, "open '%s/" RUN_ABOUT "'", ref);
    }
    if (strchr(ref, '/') && storage_of(ref)->stat(ref, STORAGE_FOLLOW, &st, e) != 0) {
        errno = e->sys;
        return err_sys(e, "run '%s'", ref);
    }
    if (strchr(ref, '/'))
        return err_set(e, ERR_NOT_FOUND, "'%s' is not a run: it has no " RUN_ABOUT, ref);
    return run_find_find_in(runs_folder(dir), ref, path, e);
}
