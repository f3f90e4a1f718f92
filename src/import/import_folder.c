/* SPDX-License-Identifier: Apache-2.0 */
/* import_folder.c - see import_folder.h. */
#include "import/import_folder.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "import/import_file.h"

/* ------------------------------------------------------------------------------------------------
 * What the name and the folder of a file show about it. Pure but for TensorFlow traces, whose base
 * time is in the name of a file three folders above. */

/* ---- parts of names ---- */

static size_t count_digits(const char *p)
{
    return strspn(p, "0123456789");
}

static void import_place_keep(char to[IMPORT_NAME_LEN], const char *p, size_t n)
{
    n = MIN_OF(n, (size_t)IMPORT_NAME_LEN - 1);
    memcpy(to, p, n);
    to[n] = '\0';
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The folder `up` levels above the file; "" when there is none. */
static void folder_above(const char *path, unsigned up, char out[PATH_LEN])
{
    snprintf(out, PATH_LEN, "%s", path);
    for (; up > 0 && *out; up--) {
        char *slash = strrchr(out, '/');
        *(slash ? slash : out) = '\0';
    }
}

static bool micros(const char *p, size_t digits, wall_ns *out)
{
    const bool fits = digits > 0 && digits <= 16;
    if (fits)
        out->ns = strtoll(p, NULL, 10) * NS_PER_US;
    return fits;
}

/* "host" of a worker called "27-host" or, with '_', "host_27"; false when it is not such a name. */
static bool import_worker_host(const char *worker, char mark, char host[IMPORT_NAME_LEN])
{
    if (mark == '-') {
        const size_t n = count_digits(worker);
        if (n == 0 || worker[n] != '-' || !worker[n + 1])
            return false;
        import_place_keep(host, worker + n + 1, strlen(worker + n + 1));
        return true;
    }
    const char *at = strrchr(worker, mark);
    if (!at || at == worker || !at[1] || at[1 + count_digits(at + 1)])
        return false;
    import_place_keep(host, worker, (size_t)(at - worker));
    return true;
}

/* ---- SageMaker ---- */

/* 1591748100.algo-1.json */
static bool is_system_file(const char *name, struct import_hint *h)
{
    const size_t n = strlen(name), end = sizeof ".json" - 1;
    if (count_digits(name) != 10 || name[10] != '.' || !text_ends(name, ".json") || n <= 11 + end)
        return false;
    import_place_keep(h->node, name + 11, n - end - 11);
    return true;
}

/* 1700000000000000_27-algo-1_pythontimeline.json; some have one more part after the worker. */
static bool is_timeline_file(const char *name, struct import_hint *h)
{
    static const char *const ends[] = {"_pythontimeline.json", "_model_timeline.json",
                                       "_horovod_timeline.json", "_smdataparallel_timeline.json"};
    const size_t n = count_digits(name);
    bool timeline = false;
    for (size_t i = 0; i < COUNT_OF(ends); i++)
        timeline = timeline || text_ends(name, ends[i]);
    if (!timeline || n == 0 || name[n] != '_')
        return false;
    const char *worker = name + n + 1;
    import_place_keep(h->worker, worker, strcspn(worker, "_"));
    import_worker_host(h->worker, '-', h->node);
    return true;
}

/* .../<worker>/<from>_<to>/python_stats.json, where <from> ends in microseconds:
 * train-0-stepstart-1700000009000000.5, or in older ones 1700000009000000.0 */
static void place_of_stats(const char *path, struct import_hint *h)
{
    char folder[PATH_LEN];
    folder_above(path, 2, folder);
    import_place_keep(h->worker, base_of(folder), strlen(base_of(folder)));
    import_worker_host(h->worker, '-', h->node);
    folder_above(path, 1, folder);
    char *from = folder + (base_of(folder) - folder);
    from[strcspn(from, "_")] = '\0';
    const char *dash = strrchr(from, '-');
    const char *at = dash ? dash + 1 : from;
    h->has_base = micros(at, count_digits(at), &h->base);
}

/* ---- TensorFlow ---- */

/* <worker>_<start>_<end>.metadata: an empty file, all is in its name. */
static bool take_metadata(const char *name, struct import_hint *h)
{
    const char *worker_end = strchr(name, '_');
    if (!text_ends(name, ".metadata") || !worker_end)
        return false;
    const size_t n = count_digits(worker_end + 1);
    wall_ns start;
    if (worker_end[1 + n] != '_' || !micros(worker_end + 1, n, &start))
        return false;
    h->has_base = true;
    h->base = start;
    import_place_keep(h->worker, name, (size_t)(worker_end - name));
    import_worker_host(h->worker, '-', h->node);
    return true;
}

/* .../<step>/plugins/profile/<when>/<host>.trace.json.gz, the metadata in <step>. Without it the
 * machine is known from the name. */
static bool is_tensorflow_file(const char *path, struct import_hint *h)
{
    char folder[PATH_LEN];
    const char *name = base_of(path);
    const char *end = strstr(name, ".trace.json");
    if (!end || end == name || !strstr(path, "plugins/profile/"))
        return false;
    folder_above(path, 4, folder);
    DIR *d = opendir(*folder ? folder : *path == '/' ? "/" : ".");
    for (const struct dirent *f = d ? readdir(d) : NULL; f && !h->has_base; f = readdir(d))
        take_metadata(f->d_name, h);
    if (d)
        closedir(d);
    if (!*h->node)
        import_place_keep(h->node, name, (size_t)(end - name));
    return true;
}

/* ---- PyTorch ---- */

/* host_1234.1700000000000000.pt.trace.json.gz */
static bool is_pytorch_file(const char *name, struct import_hint *h)
{
    const char *end = strstr(name, ".pt.trace.json");
    if (!end || end == name)
        return false;
    size_t n = (size_t)(end - name);
    size_t at = n;
    while (at > 0 && isdigit((unsigned char)name[at - 1]))
        at--;
    if (at > 1 && at < n && name[at - 1] == '.')
        n = at - 1;
    import_place_keep(h->worker, name, n);
    import_worker_host(h->worker, '_', h->node);
    return true;
}

/* "rank3", "rank_3", "rank-3" anywhere in the name */
static void find_rank(const char *name, struct import_hint *h)
{
    const char *at = strcasestr(name, "rank");
    if (!at)
        return;
    at += 4;
    at += strchr("_-=", *at) && *at;
    const size_t n = count_digits(at);
    h->has_rank = n > 0 && n < 10;
    if (h->has_rank)
        h->rank = strtoll(at, NULL, 10);
}

/* ---- training health ---- */

/* A rank in the name of a worker or of a folder above the file. */
static void find_rank_above(const char *path, struct import_hint *h)
{
    char folder[PATH_LEN];
    folder_above(path, 1, folder);
    const char *name = base_of(folder);
    if (text_starts(name, "rank"))
        find_rank(name, h);
}

/* events/<step>/<step>_<worker>.tfevents of smdebug, where a worker is often worker_<rank>. */
static bool is_smdebug_file(const char *name, struct import_hint *h)
{
    static const char worker[] = "worker_";
    const size_t digits = count_digits(name), n = strlen(name), end = sizeof ".tfevents" - 1;
    if (digits != 12 || name[digits] != '_' || !text_ends(name, ".tfevents") || n <= 13 + end)
        return false;
    import_place_keep(h->worker, name + 13, n - end - 13);
    int64_t rank;
    h->has_rank =
        text_starts(h->worker, worker) &&
        import_digits(h->worker + sizeof worker - 1, strlen(h->worker + sizeof worker - 1), &rank);
    h->rank = h->has_rank ? rank : 0;
    return true;
}

/* events.out.tfevents.<seconds>.<host>... of TensorBoard. A training that was started again, or
 * writes several files, is one process: the names that they have decide nothing. */
static bool is_tensorboard_file(const char *path, struct import_hint *h)
{
    if (!strstr(base_of(path), "tfevents."))
        return false;
    find_rank_above(path, h);
    if (!h->has_rank)
        import_place_keep(h->worker, "tensorboard", sizeof "tensorboard" - 1);
    return true;
}

/* index/<...>/<step>_<worker>.json of smdebug: all its data is in the event file, unless that
 * is missing. */
static enum place_kind place_of_index(const char *path)
{
    char root[PATH_LEN], events[PATH_LEN];
    struct err ignored;
    const char *name = base_of(path);
    folder_above(path, 2, root);
    const size_t digits = count_digits(name), n = strlen(name), end = sizeof ".json" - 1;
    if (strcmp(base_of(root), "index") != 0 || digits != 12 || name[digits] != '_' ||
        !text_ends(name, ".json"))
        return PLACE_ANY;
    folder_above(path, 3, root);
    if (path_join(events, &ignored, "%s/events/%.12s/%.*s.tfevents", root, name, (int)(n - end),
                  name) != 0)
        return PLACE_ANY;
    return access(events, F_OK) == 0 ? PLACE_INDEX : PLACE_ORPHAN;
}

enum place_kind import_place(const char *path, struct import_hint *hint)
{
    const char *name = base_of(path);
    *hint = (struct import_hint){0};
    if (text_ends(name, ".tmp"))
        return PLACE_BEING;
    if (strcmp(name, "python_stats") == 0 || strcmp(name, "python_stats.json") == 0) {
        place_of_stats(path, hint);
        return text_ends(name, ".json") ? PLACE_TRACE : PLACE_MARSHAL;
    }
    if (is_system_file(name, hint) || is_timeline_file(name, hint) || is_smdebug_file(name, hint) ||
        is_tensorboard_file(path, hint))
        return PLACE_TRACE;
    const enum place_kind index = place_of_index(path);
    if (index != PLACE_ANY)
        return index;
    find_rank(name, hint);
    if (is_tensorflow_file(path, hint) || is_pytorch_file(name, hint))
        return PLACE_TRACE;
    return PLACE_ANY;
}

/* ------------------------------------------------------------------------------------------------
 * The folder */

/* From this score on an importer's answer is relied on. Below it, a file in which the importer then
 * finds no trace was not a trace. */
enum { SURE_FROM = 50 };

/* ---- the walk ---- */

struct folder_walk {
    struct folder *folder;
    const char *root; /* without links */
    size_t root_len, cap;
};

static void folder_add_file(struct folder_walk *w, const char *path)
{
    struct folder *f = w->folder;
    if (f->n == FOLDER_FILES_MOST) {
        f->cut = true;
        return;
    }
    const char *kept = arena_strdup(&f->arena, path);
    *VEC_ADD(f->files, f->n, w->cap) =
        (struct folder_file){.path = kept, .name = kept + w->root_len + 1};
}

/* A link is as good as a file when it is one and lies in the folder. */
static bool link_is_fine(const struct folder_walk *w, const char *path)
{
    struct stat st;
    char real[PATH_LEN];
    return realpath(path, real) && strncmp(real, w->root, w->root_len) == 0 &&
           real[w->root_len] == '/' && stat(real, &st) == 0 && S_ISREG(st.st_mode);
}

static void walk_folder(struct folder_walk *w, const char *folder, unsigned depth);

static void folder_walk_entry(struct folder_walk *w, const char *path, unsigned depth)
{
    struct stat st;
    if (lstat(path, &st) < 0)
        return;
    if (S_ISDIR(st.st_mode) && depth < FOLDER_DEPTH_MOST)
        walk_folder(w, path, depth + 1);
    else if (S_ISDIR(st.st_mode))
        w->folder->cut = true;
    else if (S_ISREG(st.st_mode) || (S_ISLNK(st.st_mode) && link_is_fine(w, path)))
        folder_add_file(w, path);
}

static void walk_folder(struct folder_walk *w, const char *folder, unsigned depth)
{
    char path[PATH_LEN];
    struct err ignored;
    DIR *d = opendir(folder);
    for (const struct dirent *f = d ? readdir(d) : NULL; f && !w->folder->cut; f = readdir(d))
        if (f->d_name[0] != '.' && path_join(path, &ignored, "%s/%s", folder, f->d_name) == 0)
            folder_walk_entry(w, path, depth);
    if (d)
        closedir(d);
}

COMPARE_NAMES(folder_by_name, struct folder_file, name)

/* ---- the first bytes ---- */

/* PyTorch writes which rank a trace is of, mostly before the events. */
static void rank_of_head(const char *head, size_t n, struct import_hint *h)
{
    const char *at = memmem(head, n, "\"distributedInfo\"", 17);
    const char *end = at ? memchr(at, '}', (size_t)(head + n - at)) : NULL;
    at = end ? memmem(at, (size_t)(end - at), "\"rank\"", 6) : NULL;
    if (!at)
        return;
    at += 6;
    at += strspn(at, " :"); /* ends before the bracket */
    const size_t digits = strspn(at, "0123456789");
    if (digits > 0 && digits < 10) {
        h->has_rank = true;
        h->rank = strtoll(at, NULL, 10);
    }
}

/* ---- what each file is ---- */

/* A worker is one process. Without one the rank is, else the file represents itself. */
static void name_process(struct folder_file *x)
{
    const struct import_hint *h = &x->hint;
    if (*h->worker)
        snprintf(x->process, sizeof x->process, "%s@%s", h->worker, h->node);
    else if (h->has_rank)
        snprintf(x->process, sizeof x->process, "rank %lld@%s", (long long)h->rank, h->node);
    else
        snprintf(x->process, sizeof x->process, "%.*s", FOLDER_NAME_LEN - 1, x->name);
}

static void folder_look_at(struct folder_file *x, const struct importer *format,
                           char head[IMPORT_HEAD + 1])
{
    static const struct {
        const char *why;
        bool lost;
    } reasons[] = {
        [PLACE_BEING] = {"still being written", false},
        [PLACE_MARSHAL] = {"a Python profile in marshal format, which is not supported", true},
        [PLACE_INDEX] = {"an index of an event file, which is read itself", false},
        [PLACE_ORPHAN] = {"an index whose event file is missing", true},
    };
    const enum place_kind kind = import_place(x->path, &x->hint);
    if (kind < COUNT_OF(reasons) && reasons[kind].why) {
        x->skipped = reasons[kind].why;
        x->lost = reasons[kind].lost;
        return;
    }
    const size_t n = import_file_head(x->path, head);
    head[n] = '\0';
    x->format = format ? format : importer_sniff(head, n);
    if (!x->format) {
        x->skipped = kind == PLACE_TRACE ? "named like a trace, but not a trace" : "not a trace";
        x->lost = kind == PLACE_TRACE;
        return;
    }
    x->sure = kind == PLACE_TRACE || x->format->sniff(head, n) >= SURE_FROM;
    rank_of_head(head, n, &x->hint);
    name_process(x);
}

/* The folder of a file below the one that is imported. */
static const char *folder_below(struct folder *f, const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash ? arena_printf(&f->arena, "%.*s", (int)(slash - name), name) : "";
}

/* Event files of one folder are those of one training: it may have been started again. */
static void folder_share_steps(struct folder *f, size_t i)
{
    struct folder_file *x = &f->files[i];
    if (x->format != &importer_tensorboard)
        return;
    for (size_t k = i; k > 0 && !x->hint.reached; k--)
        if (strcmp(f->files[k - 1].hint.below, x->hint.below) == 0)
            x->hint.reached = f->files[k - 1].hint.reached;
    if (!x->hint.reached) {
        x->hint.reached = arena_array(&f->arena, int64_t, 1);
        *x->hint.reached = -1;
    }
}

static void folder_look_at_all(struct folder *f, const struct importer *format)
{
    char *head = xmalloc(IMPORT_HEAD + 1);
    for (size_t i = 0; i < f->n; i++) {
        folder_look_at(&f->files[i], format, head);
        f->files[i].hint.below = folder_below(f, f->files[i].name);
        folder_share_steps(f, i);
        f->n_read += !f->files[i].skipped;
    }
    free(head);
}

/* Files that do not name their machine belong to the only one that is named. */
static void share_node(struct folder *f)
{
    const char *only = NULL;
    for (size_t i = 0; i < f->n; i++) {
        const struct folder_file *x = &f->files[i];
        if (x->skipped || !*x->hint.node)
            continue;
        if (only && strcmp(only, x->hint.node) != 0)
            return;
        only = x->hint.node;
    }
    for (size_t i = 0; i < f->n && only; i++)
        if (!*f->files[i].hint.node)
            memcpy(f->files[i].hint.node, only, sizeof f->files[i].hint.node);
}

/* ---- opening ---- */

static void folder_open_file(struct folder *f, const char *path, const char *real,
                             const struct importer *format)
{
    const char *slash = strrchr(path, '/');
    f->single = true;
    f->files = xcalloc(1, sizeof *f->files);
    f->n = f->n_read = 1;
    struct folder_file *x = &f->files[0];
    x->path = arena_strdup(&f->arena, path);
    x->name = x->path + (slash ? slash + 1 - path : 0);
    x->format = format;
    x->sure = true;
    import_place(real, &x->hint);
    name_process(x);
}

static int open_folder(struct folder *f, const char *path, const char *real,
                       const struct importer *format, struct err *e)
{
    struct folder_walk w = {
        .folder = f, .root = real, .root_len = strcmp(real, "/") ? strlen(real) : 0};
    walk_folder(&w, real, 0);
    SORT(f->files, f->n, folder_by_name);
    folder_look_at_all(f, format);
    share_node(f);
    if (f->n == 0)
        return err_set(e, ERR_FORMAT, "'%s': the folder is empty", path);
    if (f->n_read == 0)
        return err_set(e, ERR_FORMAT, "'%s': none of the %zu files in the folder is a trace", path,
                       f->n);
    return 0;
}

int folder_open(struct folder *f, const char *path, const struct importer *format, struct err *e)
{
    struct stat st;
    char real[PATH_LEN];
    *f = (struct folder){0};
    if (stat(path, &st) < 0 || !realpath(path, real))
        return err_sys(e, "'%s'", path);
    if (!S_ISDIR(st.st_mode)) {
        folder_open_file(f, path, real, format);
        return 0;
    }
    const int rc = open_folder(f, path, real, format, e);
    if (rc != 0)
        folder_close(f);
    return rc;
}

void folder_close(struct folder *f)
{
    free(f->files);
    arena_free(&f->arena);
    *f = (struct folder){0};
}
