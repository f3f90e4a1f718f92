/* SPDX-License-Identifier: Apache-2.0 */
/* run_info.c - what run.json and the node-*.json files say, and which run the user means. */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json_read.h"
#include "base/mem.h"
#include "base/redact.h"
#include "query/names.h"
#include "query/run.h"

enum { RUN_FORMAT = 1, STALE_S = 30, SESSIONS_MOST = 10000 };

static const char why_died[] = "the recorder ended without closing its files";

static const char *const status_names[RUN_STATUS_N] = {
    [RUN_RUNNING] = "running",         [RUN_FINISHED] = "finished", [RUN_FAILED] = "failed",
    [RUN_INTERRUPTED] = "interrupted", [RUN_STOPPED] = "stopped",   [RUN_DIED] = "died",
};

const char *run_status_name(enum run_status s)
{
    return status_names[s];
}

static enum run_status status_find(const char *name)
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
    return env && *env ? env : "footplate-runs";
}

/* ---- run.json ---- */

static const char **read_command(const json_t *o, struct arena *a)
{
    const json_t *list = json_object_get(o, "command");
    const size_t n = json_array_size(list);
    const char **out = arena_array(a, const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        const char *s = json_string_value(json_array_get(list, i));
        out[i] = s ? s : "";
    }
    return redact_words(out, n, a); /* runs of older versions hold the secrets */
}

static void read_labels(const json_t *o, struct arena *a, struct run_info *out)
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

static int read_run(struct run_info *out, const char *path, struct arena *a, struct err *e)
{
    char file[PATH_LEN];
    json_t *o;
    int rc = path_join(file, e, "%s/run.json", path);
    if (rc == 0)
        rc = json_read_file(&o, file, e);
    if (rc)
        return rc;
    const int64_t version = json_get_int(o, "format_version", 0);
    if (!json_is_object(o) || version < 1)
        rc = err_set(e, ERR_FORMAT, "'%s' is not a valid run.json", file);
    else if (version > RUN_FORMAT)
        rc = err_set(e, ERR_VERSION,
                     "'%s' has format version %lld, but this version of Footplate reads up to %d; "
                     "use a newer version",
                     path, (long long)version, RUN_FORMAT);
    if (rc == 0) {
        out->path = arena_strdup(a, path);
        out->name = json_get_str(o, "name", a, "");
        out->id = json_get_str(o, "id", a, "");
        out->directory = json_get_str(o, "directory", a, "");
        out->git_commit = json_get_str(o, "git_commit", a, "");
        out->version = json_get_str(o, "footplate_version", a, "");
        out->start.ns = json_get_time(o, "start_ns", 0);
        out->command = read_command(o, a);
        read_labels(o, a, out);
    }
    json_decref(o);
    return rc;
}

/* ---- node.json ---- */

/* What a node.json may say. Anything beyond is not known, so that sums over thousands of nodes and
 * products with small factors fit into 64 bits. */
#define NODE_NUMBER_MOST      ((int64_t)1 << 50) /* bytes, samples, events */
#define NODE_CORES_MOST       ((int64_t)1 << 20)
#define NODE_INTERVAL_MOST_NS (24 * 3600 * NS_PER_S)

static void read_gpus(const json_t *o, struct arena *a, struct node_info *out)
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

static void fill_node(const json_t *o, struct arena *a, struct node_info *n)
{
    const json_t *launcher = json_object_get(o, "launcher"), *self = json_object_get(o, "self");
    n->status = status_find(json_get_str(o, "status", a, ""));
    n->why = json_get_str(o, "why", a, "");
    n->host = json_get_str(o, "host", a, "");
    n->kernel = json_get_str(o, "kernel", a, "");
    n->cpu_model = json_get_str(o, "cpu_model", a, "");
    n->cores = (unsigned)json_get_within(o, "cores", 0, NODE_CORES_MOST, 0);
    n->memory_bytes = json_get_within(o, "memory_bytes", 0, NODE_NUMBER_MOST, 0);
    read_gpus(o, a, n);
    n->gpu_absent = json_get_str(o, "gpu_absent", a, "");
    n->launcher = json_get_str(launcher, "name", a, "");
    n->rank = json_get_within(launcher, "rank", 0, INT32_MAX, -1);
    n->world_size = json_get_within(launcher, "world_size", 0, INT32_MAX, -1);
    n->local_rank = json_get_within(launcher, "local_rank", 0, INT32_MAX, -1);
    n->machine = json_get_str(o, "machine_type", a, "");
    n->price_per_hour = json_get_num(o, "price_per_hour", NAN);
    n->currency = json_get_str(o, "currency", a, "");
    n->interval_ns = json_get_within(o, "interval_ns", 0, NODE_INTERVAL_MOST_NS, 0);
    n->start.ns = json_get_time(o, "start_ns", 0);
    n->end.ns = json_get_time(o, "end_ns", 0);
    n->exit_status = (int)json_get_within(o, "exit_status", INT32_MIN, INT32_MAX, -1);
    n->attached = json_is_true(json_object_get(o, "attached"));
    n->self_cpu_s = json_get_num(self, "cpu_s", NAN);
    n->bytes_written = json_get_within(self, "bytes_written", 0, NODE_NUMBER_MOST, -1);
    n->samples = json_get_within(self, "samples", 0, NODE_NUMBER_MOST, -1);
    n->events_dropped = json_get_within(self, "events_dropped", 0, NODE_NUMBER_MOST, -1);
}

/* A recorder holds a lock in its node's folder for as long as it lives; the kernel takes the lock
 * back when it is killed. Where locks do not work the age of the data has to do. */
static bool recorder_lives(const char *dir, time_t newest)
{
    char path[PATH_LEN];
    struct err e;
    if (path_join(path, &e, "%s/lock", dir))
        return false;
    int fd = -1;
    if (file_open_regular(&fd, path, &e) == 0) {
        const int rc = flock(fd, LOCK_SH | LOCK_NB);
        const int sys = errno;
        close(fd);
        if (rc == 0)
            return false;
        if (sys == EWOULDBLOCK)
            return true;
    }
    return newest + STALE_S > time(NULL);
}

static time_t newest_data(const char *dir, unsigned session)
{
    static const char *const ends[] = {"fp", "tail"};
    time_t newest = 0;
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        char path[PATH_LEN], name[64];
        struct stat st;
        struct err e;
        session_file(name, sizeof name, "metrics", session, ends[i]);
        if (path_join(path, &e, "%s/%s", dir, name) == 0 && lstat(path, &st) == 0)
            newest = MAX_OF(newest, st.st_mtime);
    }
    return newest;
}

static void read_node_file(const char *dir, struct arena *a, struct node_info *n)
{
    char path[PATH_LEN], name[64];
    struct err e;
    json_t *o = NULL;
    session_file(name, sizeof name, "node", n->session, "json");
    if (path_join(path, &e, "%s/%s", dir, name) || json_read_file(&o, path, &e))
        o = NULL;
    fill_node(o, a, n);
    if (!o)
        n->status = RUN_RUNNING; /* the caller finds out whether its recorder lives */
    json_decref(o);
}

static void read_node(const char *dir, struct arena *a, struct node_info *n)
{
    read_node_file(dir, a, n);
    if (n->status != RUN_RUNNING)
        return;
    const time_t newest = newest_data(dir, n->session);
    const bool lives = recorder_lives(dir, newest);
    if (!lives) /* it may have ended properly since we looked */
        read_node_file(dir, a, n);
    if (n->status != RUN_RUNNING)
        return;
    if (!lives) {
        n->status = RUN_DIED;
        if (!*n->why)
            n->why = why_died;
    }
    n->end.ns = (int64_t)newest * NS_PER_S;
}

static unsigned count_sessions(const char *dir)
{
    unsigned n = 0;
    for (; n < SESSIONS_MOST; n++) {
        char path[PATH_LEN], fp[64], node[64];
        struct err e;
        session_file(fp, sizeof fp, "metrics", n + 1, "fp");
        session_file(node, sizeof node, "node", n + 1, "json");
        const bool has_fp = path_join(path, &e, "%s/%s", dir, fp) == 0 && access(path, F_OK) == 0;
        const bool has_node =
            path_join(path, &e, "%s/%s", dir, node) == 0 && access(path, F_OK) == 0;
        if (!has_fp && !has_node)
            break;
    }
    return n;
}

/* A link could lead to what the run's owner may not see, but the reader may. */
static bool is_folder(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void add_node(struct run_info *out, const char *run, const char *folder, struct arena *a,
                     size_t *cap)
{
    char dir[PATH_LEN];
    struct err e;
    if (path_join(dir, &e, "%s/%s", run, folder) || !is_folder(dir))
        return;
    const unsigned sessions = count_sessions(dir);
    for (unsigned k = 1; k <= sessions; k++) {
        if (out->n_nodes == *cap) {
            const size_t bigger = *cap ? *cap * 2 : 4;
            struct node_info *nodes = arena_array(a, struct node_info, bigger);
            if (out->n_nodes)
                memcpy(nodes, out->nodes, out->n_nodes * sizeof *nodes);
            out->nodes = nodes;
            *cap = bigger;
        }
        struct node_info *n = &out->nodes[out->n_nodes++];
        *n = (struct node_info){.id = arena_strdup(a, folder + strlen("node-")), .session = k};
        read_node(dir, a, n);
        if (n->status == RUN_RUNNING && k < sessions) { /* the lock is held by a later one */
            n->status = RUN_DIED;
            n->why = *n->why ? n->why : why_died;
        }
    }
}

static int by_node(const void *a, const void *b)
{
    const struct node_info *x = a, *y = b;
    const int c = name_compare(x->id, y->id);
    return c ? c : (x->session > y->session) - (x->session < y->session);
}

static int read_nodes(struct run_info *out, struct arena *a, struct err *e)
{
    DIR *d = opendir(out->path);
    if (!d)
        return err_sys(e, "open '%s'", out->path);
    size_t cap = 0;
    for (struct dirent *f; (f = readdir(d));)
        if (strncmp(f->d_name, "node-", 5) == 0)
            add_node(out, out->path, f->d_name, a, &cap);
    closedir(d);
    if (out->n_nodes)
        qsort(out->nodes, out->n_nodes, sizeof *out->nodes, by_node);
    return 0;
}

/* How bad a node's end is for the run: the worst of the latest sessions is the run's status. */
static int badness(enum run_status s)
{
    static const int order[RUN_STATUS_N] = {
        [RUN_FINISHED] = 0, [RUN_STOPPED] = 1, [RUN_INTERRUPTED] = 2,
        [RUN_FAILED] = 3,   [RUN_DIED] = 4,    [RUN_RUNNING] = 5,
    };
    return order[s];
}

static void sum_up(struct run_info *out)
{
    out->status = out->n_nodes ? RUN_FINISHED : RUN_DIED;
    out->exit_status = -1;
    int64_t first_failure = INT64_MAX;
    for (size_t i = 0; i < out->n_nodes; i++) {
        const struct node_info *n = &out->nodes[i];
        const bool latest = i + 1 == out->n_nodes || strcmp(out->nodes[i + 1].id, n->id) != 0;
        if (latest && badness(n->status) > badness(out->status))
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

int run_info_read(struct run_info *out, const char *path, struct arena *a, struct err *e)
{
    struct run_info info = {0};
    int rc = read_run(&info, path, a, e);
    if (rc == 0)
        rc = read_nodes(&info, a, e);
    if (rc)
        return rc;
    sum_up(&info);
    *out = info;
    return 0;
}
