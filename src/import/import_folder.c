/* SPDX-License-Identifier: Apache-2.0 */
/* import_folder.c - see import_folder.h. */
#include "import/import_folder.h"

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
 * What the name and the folder of a file show about it */

/* ---- parts of names ---- */

size_t import_digits_at(const char *p)
{
    return strspn(p, "0123456789");
}

void import_hint_text(char to[IMPORT_NAME_LEN], const char *p, size_t n)
{
    n = MIN_OF(n, (size_t)IMPORT_NAME_LEN - 1);
    memcpy(to, p, n);
    to[n] = '\0';
}

/* The folder `up` levels above the file; "" when there is none. */
void import_folder_above(const char *path, unsigned up, char out[PATH_LEN])
{
    snprintf(out, PATH_LEN, "%s", path);
    for (; up > 0 && *out; up--) {
        char *slash = strrchr(out, '/');
        *(slash ? slash : out) = '\0';
    }
}

bool import_base_us(const char *p, size_t digits, wall_ns *out)
{
    const bool fits = digits > 0 && digits <= 16;
    if (fits)
        out->ns = strtoll(p, NULL, 10) * NS_PER_US;
    return fits;
}

/* "host" of a worker called "27-host" or, with '_', "host_27"; false when it is not such a name. */
bool import_hint_host(const char *worker, char mark, char host[IMPORT_NAME_LEN])
{
    if (mark == '-') {
        const size_t n = import_digits_at(worker);
        if (n == 0 || worker[n] != '-' || !worker[n + 1])
            return false;
        import_hint_text(host, worker + n + 1, strlen(worker + n + 1));
        return true;
    }
    const char *at = strrchr(worker, mark);
    if (!at || at == worker || !at[1] || at[1 + import_digits_at(at + 1)])
        return false;
    import_hint_text(host, worker, (size_t)(at - worker));
    return true;
}

/* "rank3", "rank_3", "rank-3" anywhere in the name */
void import_hint_rank(const char *name, struct import_hint *h)
{
    const char *at = strcasestr(name, "rank");
    if (!at)
        return;
    at += 4;
    at += strchr("_-=", *at) && *at;
    const size_t n = import_digits_at(at);
    h->has_rank = n > 0 && n < 10;
    if (h->has_rank)
        h->rank = strtoll(at, NULL, 10);
}

enum import_place import_place_of(const char *path, struct import_hint *hint)
{
    const char *name = path_base(path);
    *hint = (struct import_hint){0};
    if (text_ends(name, ".tmp")) {
        hint->skipped = "still being written";
        return PLACE_SKIPPED;
    }
    for (const struct importer *const *p = importers; *p; p++) {
        const enum import_place place = (*p)->place ? (*p)->place(path, hint) : PLACE_ANY;
        if (place != PLACE_ANY)
            return place;
    }
    import_hint_rank(name, hint);
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
    const enum import_place place = import_place_of(x->path, &x->hint);
    if (place == PLACE_SKIPPED || place == PLACE_LOST) {
        x->skipped = x->hint.skipped;
        x->lost = place == PLACE_LOST;
        return;
    }
    const size_t n = import_file_head(x->path, head);
    head[n] = '\0';
    x->format = format ? format : importer_sniff(head, n);
    if (!x->format) {
        x->skipped = place == PLACE_TRACE ? "named like a trace, but not a trace" : "not a trace";
        x->lost = place == PLACE_TRACE;
        return;
    }
    x->sure = place == PLACE_TRACE || x->format->sniff(head, n) >= SURE_FROM;
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
    if (!x->format || !x->format->restarts)
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
    import_place_of(real, &x->hint);
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
