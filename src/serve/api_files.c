/* SPDX-License-Identifier: Apache-2.0 */
/* api_files.c - the files of runs as they are on the disk: which there are, and their bytes. This
 * is what other machines read runs by (run/storage_hub.c).
 *
 * Only files whose names are those of files of a run are listed and read: no locks, nothing that
 * the server itself stores in the folder, nothing outside. An ETag is another one whenever the file
 * was written (time, size and inode), and bytes are answered only if it was the same before and
 * after they were read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "run/parts.h"
#include "run/run_names.h"
#include "run/rundir.h"
#include "run/storage.h"
#include "serve/api_internal.h"
#include "serve/httpd.h"
#include "serve/route.h"
#include "serve/runs.h"

enum {
    FILE_ANSWER_MOST = 16 << 20, /* bytes of one answer of a file */
    FILE_ATTEMPTS = 5,           /* to read it while it does not change */
    TEXT_MOST = 64 << 10,        /* bytes of a file that is in the list */
    PAGE_RUNS = 500,
    PAGE_BYTES = 8 << 20, /* of texts; a page ends there */
};

/* ---- headers. Pure ---- */

int range_parse(const char *header, uint64_t size, uint64_t *from, uint64_t *n)
{
    static const char unit[] = "bytes=";
    char *end;
    *from = 0;
    *n = size;
    if (!header || !text_starts(header, unit) || strchr(header, ','))
        return 200;
    const char *p = header + sizeof unit - 1;
    const bool suffix = *p == '-';
    if (p[suffix] < '0' || p[suffix] > '9')
        return 200;
    const uint64_t first = strtoull(p + suffix, &end, 10);
    if (suffix) {
        *n = MIN_OF(first, size);
        *from = size - *n;
        return *end ? 200 : *n ? 206 : 416;
    }
    if (*end != '-')
        return 200;
    const uint64_t last = end[1] ? strtoull(end + 1, &end, 10) : (end++, UINT64_MAX);
    if (*end || last < first)
        return 200;
    if (first >= size)
        return 416;
    *from = first;
    *n = MIN_OF(last, size - 1) - first + 1;
    return 206;
}

bool etag_is_listed(const char *header, const char *etag, bool weak)
{
    const size_t n = strlen(etag);
    const char *at = header;
    if (!header)
        return false;
    if (strcmp(header, "*") == 0)
        return true;
    while ((at = strstr(at, etag))) {
        const bool is_weak = at - header >= 2 && at[-1] == '/' && at[-2] == 'W';
        if (weak || !is_weak)
            return true;
        at += n;
    }
    return false;
}

/* ---- which files there are ---- */

/* A part of a sealed file counts as one (parts.h). */
static enum run_file_kind files_kind(const char *name, bool in_node)
{
    struct part p;
    char stem[PART_NAME_LEN];
    if (!part_name_parse(name, NULL, &p) || strlen(name) >= sizeof stem)
        return run_file_kind(name, in_node);
    snprintf(stem, sizeof stem, "%s", name);
    *strrchr(stem, '.') = 0;
    return run_file_kind(stem, in_node) == RUN_FILE_SEALED ? RUN_FILE_SEALED : RUN_FILE_OTHER;
}

static const char *files_etag(const struct storage_stat *st, struct arena *a)
{
    return arena_printf(a, "\"%016llx\"", (unsigned long long)st->version);
}

static bool files_is_text(const char *text, size_t n)
{
    for (size_t i = 0; i < n;) {
        const size_t len = text[i] ? utf8_len((const unsigned char *)text + i) : 0;
        if (len == 0)
            return false;
        i += len;
    }
    return true;
}

/* What is in a small JSON file; NULL: it is another one by now, or not worth it. */
static const char *files_text(const char *path, const struct storage_stat *st, struct arena *a)
{
    const struct storage *s = storage_of(path);
    struct storage_stat now;
    struct err e;
    char *text;
    size_t len;
    if (st->bytes > TEXT_MOST || s->source->read(path, 0, TEXT_MOST, a, &text, &len, &e) ||
        len != st->bytes || !files_is_text(text, len) || s->stat(path, 0, &now, &e) ||
        now.version != st->version)
        return NULL;
    return text;
}

struct files_list {
    const char *folder;
    bool in_node;
    struct arena *arena;
    struct api_file *v;
    size_t n, cap;
    const char **nodes; /* of a run: the names of its nodes */
    size_t n_nodes, cap_nodes;
    size_t bytes; /* of texts */
};

static void files_add(void *ctx, const struct storage_entry *x)
{
    struct files_list *l = ctx;
    char path[PATH_LEN];
    struct err e;
    const enum run_file_kind kind = files_kind(x->name, l->in_node);
    const char *node = run_node_id(x->name);
    if (x->kind == STORAGE_FOLDER && !l->in_node && node && name_is_sane(node, NODE_ID_LEN))
        *ARENA_ADD(l->arena, l->nodes, l->n_nodes, l->cap_nodes) = arena_strdup(l->arena, node);
    if (x->kind != STORAGE_FILE || kind == RUN_FILE_OTHER || run_path(path, l->folder, x->name, &e))
        return;
    const bool small =
        kind == RUN_FILE_ABOUT || kind == RUN_FILE_NODE || strcmp(x->name, RUN_NOTES) == 0;
    struct api_file *f = ARENA_ADD(l->arena, l->v, l->n, l->cap);
    *f = (struct api_file){
        .name = arena_strdup(l->arena, x->name),
        .bytes = (int64_t)x->stat.bytes,
        .changed_ns = x->stat.changed_ns,
        .etag = files_etag(&x->stat, l->arena),
        .text = small ? files_text(path, &x->stat, l->arena) : NULL,
    };
    l->bytes += 200 + (f->text ? (size_t)f->bytes : 0);
}

COMPARE_NAMES(files_by_name, struct api_file, name)

static int files_list(struct files_list *l, struct err *e)
{
    TRY(storage_of(l->folder)->list(
        l->folder, STORAGE_WITH_STAT | (l->in_node ? 0 : STORAGE_FOLLOW), files_add, l, e));
    SORT(l->v, l->n, files_by_name);
    SORT(l->nodes, l->n_nodes, text_compare);
    return 0;
}

/* A reader that has a tail must have the sealed file up to it (store/reader.c), and one that has a
 * node.json of a recorder that has ended all of its data. Entries come in any order, so sealed
 * files are checked again after all others. */
static void files_renew_sealed(struct files_list *l)
{
    char path[PATH_LEN];
    struct storage_stat st;
    struct err e;
    for (size_t i = 0; i < l->n; i++) {
        struct api_file *f = &l->v[i];
        if (files_kind(f->name, true) != RUN_FILE_SEALED ||
            run_path(path, l->folder, f->name, &e) || storage_of(path)->stat(path, 0, &st, &e))
            continue;
        f->bytes = (int64_t)st.bytes;
        f->changed_ns = st.changed_ns;
        f->etag = files_etag(&st, l->arena);
    }
}

/* Whether the recorder is alive is found out before its node.json is read: if it is dead, that is
 * the last one it wrote. */
static int files_list_node(const char *run, const char *node, struct arena *a,
                           struct api_node_files *out, size_t *bytes, struct err *e)
{
    static const char *const words[] = {
        [STORAGE_DEAD] = "dead", [STORAGE_ALIVE] = "alive", [STORAGE_ALIVE_UNKNOWN] = "unknown"};
    char folder[PATH_LEN];
    struct files_list l = {.folder = folder, .in_node = true, .arena = a};
    TRY(run_node_path(folder, run, node, e));
    const enum storage_alive alive = storage_of(folder)->alive(folder);
    TRY(files_list(&l, e));
    files_renew_sealed(&l);
    *out = (struct api_node_files){node, words[alive], l.v, l.n};
    *bytes += l.bytes;
    return 0;
}

static int files_list_run(const char *name, const char *path, struct arena *a,
                          struct api_run_files *out, size_t *bytes, struct err *e)
{
    struct files_list l = {.folder = path, .arena = a};
    TRY(files_list(&l, e));
    struct api_node_files *nodes = arena_array(a, struct api_node_files, l.n_nodes + 1);
    *out = (struct api_run_files){
        .run = name, .now_ns = clock_wall().ns, .files = l.v, .n_files = l.n, .nodes = nodes};
    for (size_t i = 0; i < l.n_nodes; i++)
        if (files_list_node(path, l.nodes[i], a, &nodes[out->n_nodes], bytes, e) == 0)
            out->n_nodes++;
    *bytes += l.bytes;
    return 0;
}

const struct route_param api_run_files_params[] = {{0}};

int api_run_files(const struct route_request *q, struct route_answer *out, struct err *e)
{
    struct api_run_files run;
    struct jw j = {.out = &out->body};
    const char *path;
    size_t bytes = 0;
    TRY(runs_path(q->runs, q->name, q->arena, &path, e));
    TRY(files_list_run(q->name, path, q->arena, &run, &bytes, e));
    row_json(&j, NULL, &row_RunFiles, &run, q->arena);
    return 0;
}

/* ---- of all runs ---- */

const struct route_param api_files_params[] = {
    {"after", PARAM_TEXT, .help = "Only runs whose names follow this one (default: all)."},
    {"limit", PARAM_INT, .lo = 1, .hi = PAGE_RUNS,
     .help = "The most runs of a page; it may have fewer (default: 500)."},
    {0},
};

static int files_by_run(const void *a, const void *b)
{
    return strcmp((*(const struct runs_entry *const *)a)->name,
                  (*(const struct runs_entry *const *)b)->name);
}

/* A run that was removed meanwhile is left out. */
static void files_fill_page(const struct route_request *q, const struct runs_entry **v, size_t n,
                            struct api_files_page *page)
{
    const char *after = route_text(q, "after");
    const size_t limit = (size_t)route_number(q, "limit", PAGE_RUNS);
    struct api_run_files *runs = arena_array(q->arena, struct api_run_files, limit);
    size_t bytes = 0;
    struct err e;
    page->runs = runs;
    for (size_t i = 0; i < n; i++) {
        if (after && strcmp(v[i]->name, after) <= 0)
            continue;
        if (page->n_runs == limit || bytes >= PAGE_BYTES) {
            page->next = runs[page->n_runs - 1].run;
            return;
        }
        const char *name = arena_strdup(q->arena, v[i]->name);
        if (files_list_run(name, v[i]->path, q->arena, &runs[page->n_runs], &bytes, &e) == 0)
            page->n_runs++;
    }
}

int api_files(const struct route_request *q, struct route_answer *out, struct err *e)
{
    struct runs_list list;
    struct api_files_page page = {.now_ns = clock_wall().ns};
    struct jw j = {.out = &out->body};
    (void)e;
    runs_list_read(q->runs, &list);
    const struct runs_entry **v = arena_array(q->arena, const struct runs_entry *, list.n + 1);
    for (size_t i = 0; i < list.n; i++)
        v[i] = &list.v[i];
    SORT(v, list.n, files_by_run);
    files_fill_page(q, v, list.n, &page);
    runs_list_free(&list);
    row_json(&j, NULL, &row_FilesPage, &page, q->arena);
    return 0;
}

/* ---- the bytes of one ---- */

struct files_part {
    int status;
    uint64_t from, n;
    struct storage_stat stat;
    struct buf bytes;
};

/* Names that no file of a run has are not looked for. */
static int files_path(const struct route_request *q, char path[PATH_LEN], struct err *e)
{
    const char *node = q->node ? run_node_id(q->node) : NULL, *run;
    char folder[PATH_LEN];
    TRY(runs_path(q->runs, q->name, q->arena, &run, e));
    if ((q->node && (!node || !name_is_sane(node, NODE_ID_LEN))) ||
        files_kind(q->file, node != NULL) == RUN_FILE_OTHER)
        return err_set(e, ERR_NOT_FOUND, "a run has no file of this name");
    TRY(node ? run_node_path(folder, run, node, e) : path_join(folder, e, "%s", run));
    return run_path(path, folder, q->file, e);
}

/* Reads the part that the request names. ERR_BUSY: the file changed meanwhile. */
static int files_read_part(const struct route_request *q, const char *path, struct files_part *out,
                           struct err *e)
{
    const struct storage *s = storage_of(path);
    const struct exchange *x = q->exchange;
    struct storage_stat now;
    size_t got = 0;
    if (s->stat(path, 0, &out->stat, e) || out->stat.kind != STORAGE_FILE)
        return err_set(e, ERR_NOT_FOUND, "the run has no such file");
    const char *etag = files_etag(&out->stat, q->arena), *match = exchange_header(x, "If-Match");
    out->n = 0;
    out->status = match && !etag_is_listed(match, etag, false)                      ? 412
                  : etag_is_listed(exchange_header(x, "If-None-Match"), etag, true) ? 304
                                                                                    : 0;
    if (out->status)
        return 0;
    out->status = range_parse(exchange_header(x, "Range"), out->stat.bytes, &out->from, &out->n);
    if (out->status == 200 && out->n > FILE_ANSWER_MOST)
        out->status = 413;
    out->n =
        out->status == 200 || out->status == 206 ? MIN_OF(out->n, (uint64_t)FILE_ANSWER_MOST) : 0;
    buf_reserve(&out->bytes, out->n + 1);
    if (out->n)
        TRY(s->range(path, out->from, out->bytes.p, out->n, &got, e));
    out->bytes.len = got;
    TRY(s->stat(path, 0, &now, e));
    return got == out->n && now.version == out->stat.version
               ? 0
               : err_set(e, ERR_BUSY, "the file is being changed");
}

static struct reply *files_reply(struct files_part *p, struct arena *a)
{
    char range[80];
    const unsigned long long from = p->from, n = p->n, size = p->stat.bytes;
    if (p->status == 416)
        snprintf(range, sizeof range, "bytes */%llu", size);
    else
        snprintf(range, sizeof range, "bytes %llu-%llu/%llu", from, from + n - 1, size);
    const bool ranged = p->status == 206 || p->status == 416;
    const char *const more[][2] = {
        {"Accept-Ranges", "bytes"}, {ranged ? "Content-Range" : NULL, range}, {NULL, NULL}};
    return reply_make(&(struct reply_head){.status = p->status,
                                           .type = p->status == 304 ? NULL : TYPE_BYTES,
                                           .etag = files_etag(&p->stat, a),
                                           .cache = "private, no-cache",
                                           .more = more},
                      &p->bytes);
}

static int files_answer(const struct route_request *q, struct route_answer *out, struct err *e)
{
    char path[PATH_LEN];
    struct files_part p = {0};
    TRY(files_path(q, path, e));
    int rc = ERR_BUSY;
    for (int attempt = 0; attempt < FILE_ATTEMPTS && rc == ERR_BUSY; attempt++) {
        p.bytes.len = 0;
        rc = files_read_part(q, path, &p, e);
    }
    if (rc == 0 && p.status == 413)
        rc = err_set(e, ERR_LIMIT, "the file is large: ask for a range of at most 16 MiB");
    if (rc == 0 && p.status == 412)
        rc = err_set(e, ERR_BUSY, "the file is another one by now");
    if (rc == 0)
        out->stream = files_reply(&p, q->arena);
    else if (p.status == 412 || p.status == 413)
        out->status = p.status;
    buf_free(&p.bytes);
    return rc;
}

const struct route_param api_run_file_params[] = {{0}};

int api_run_file(const struct route_request *q, struct route_answer *out, struct err *e)
{
    return files_answer(q, out, e);
}

const struct route_param api_node_file_params[] = {{0}};

int api_node_file(const struct route_request *q, struct route_answer *out, struct err *e)
{
    return files_answer(q, out, e);
}
