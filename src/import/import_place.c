/* SPDX-License-Identifier: Apache-2.0 */
/* import_place.c - see import_place.h. */
#include "import/import_place.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"

/* ---- pieces of names ---- */

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

bool import_worker_host(const char *worker, char mark, char host[IMPORT_NAME_LEN])
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

/* 1700000000000000_27-algo-1_pythontimeline.json; some have one more part behind the worker. */
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
 * machine is told by the name. */
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
    if (is_system_file(name, hint) || is_timeline_file(name, hint))
        return PLACE_TRACE;
    find_rank(name, hint);
    if (is_tensorflow_file(path, hint) || is_pytorch_file(name, hint))
        return PLACE_TRACE;
    return PLACE_ANY;
}
