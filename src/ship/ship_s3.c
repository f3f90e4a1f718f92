/* SPDX-License-Identifier: Apache-2.0 */
/* ship_s3.c - a run on S3, in the layout of docs/remote.md: the run folder, key for key.
 *
 *     metrics.fp.OFFSET-LENGTH   what is sealed, in immutable parts (run/parts.h), until the file
 *                                is closed
 *     metrics.tail               replaced whole
 *     metrics.fp                 the whole file, when its recorder has closed it; then the parts go
 *
 * What is there is known from one LIST of the node's own prefix, and from what was sent since. A
 * crash leaves at worst parts beside the part or file that replaces them; readers take the longest,
 * and the next shipper removes them. Sixteen parts of a size are joined to one, so that a day has
 * some thirty of them and each byte is sent three or four times. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "net/curl.h"
#include "net/s3.h"
#include "run/parts.h"
#include "run/run_catalog.h"
#include "run/run_names.h"
#include "run/storage_s3.h"
#include "ship/ship_targets.h"
#include "store/format.h"

enum {
    JOIN_PARTS = 16,
    PART_BYTES_MOST = 64 << 20,
    INTERVAL_S = 60,
    SETUP_RETRY_S = 600,
};

/* A file at the target that grows, or one that is replaced. */
struct s3_file {
    const char *node, *name; /* node "": of the run */
    struct part *parts;
    size_t n_parts, cap_parts;
    uint64_t whole; /* bytes of the file itself; 0: it is not there */
    uint64_t sum;   /* of what was put last; 0: nothing by us */
    bool checked;   /* it is of the same recorder */
};

struct s3_target {
    struct ship_target base;
    struct arena arena;
    struct s3_place place; /* its key is that of the run */
    struct s3 *s3;
    mono_ns sent; /* when something was last put */
    struct s3_file *files;
    size_t n_files, cap_files;
    const char **nodes; /* that were listed */
    size_t n_nodes, cap_nodes;
};

/* ---- keys ---- */

static int s3_key(const struct s3_target *t, const char *node, const char *name, char *out,
                  struct err *e)
{
    char folder[PATH_LEN];
    if (!*node)
        return run_path(out, t->place.key, name, e);
    TRY(run_node_path(folder, t->place.key, node, e));
    return run_path(out, folder, name, e);
}

static struct s3_file *s3_file_of(struct s3_target *t, const char *node, const char *name)
{
    for (size_t i = 0; i < t->n_files; i++)
        if (strcmp(t->files[i].node, node) == 0 && strcmp(t->files[i].name, name) == 0)
            return &t->files[i];
    struct s3_file *f = VEC_ADD(t->files, t->n_files, t->cap_files);
    *f = (struct s3_file){.node = arena_strdup(&t->arena, node),
                          .name = arena_strdup(&t->arena, name)};
    return f;
}

/* ---- what is there ---- */

struct s3_listing {
    struct s3_target *target;
    const char *node;
    size_t prefix_len;
};

static int s3_note_object(void *ctx, const struct s3_object *x, struct err *e)
{
    const struct s3_listing *l = ctx;
    const char *name = x->key + l->prefix_len;
    struct part p;
    char stem[PART_NAME_LEN];
    (void)e;
    if (strlen(name) >= sizeof stem || strchr(name, '/'))
        return 0;
    if (!part_name_parse(name, NULL, &p)) {
        s3_file_of(l->target, l->node, name)->whole = x->bytes;
        return 0;
    }
    snprintf(stem, sizeof stem, "%s", name);
    *strrchr(stem, '.') = 0;
    if (x->bytes == p.bytes) {
        struct s3_file *f = s3_file_of(l->target, l->node, stem);
        *VEC_ADD(f->parts, f->n_parts, f->cap_parts) = p;
    }
    return 0;
}

static int s3_list_node(struct s3_target *t, const char *node, struct err *e)
{
    char prefix[PATH_LEN];
    for (size_t i = 0; i < t->n_nodes; i++)
        if (strcmp(t->nodes[i], node) == 0)
            return 0;
    TRY(s3_key(t, node, "", prefix, e));
    struct s3_listing l = {t, node, strlen(prefix)};
    TRY(s3_list(t->s3, &(struct s3_list){.prefix = prefix}, s3_note_object, &l, e));
    *ARENA_ADD(&t->arena, t->nodes, t->n_nodes, t->cap_nodes) = arena_strdup(&t->arena, node);
    return 0;
}

static int s3_check_name(const struct ship_file *f, const char *key, const struct s3_got *got,
                         struct err *e)
{
    struct file_header h;
    if (got->body.len < FILE_HEADER_LEN ||
        file_header_get(&h, got->body.p, got->body.len, key, e) != 0)
        return err_set(e, ERR_BUSY, "'%.200s' exists already and is not a file of this run", key);
    if (memcmp(h.id, f->id, sizeof h.id) != 0)
        return err_set(e, ERR_BUSY, "'%.200s' exists already, from another recorder", key);
    return 0;
}

/* What is there must be of the same recorder. Checked once for each file. */
static int s3_check_id(struct s3_target *t, struct s3_file *there, const struct ship_file *f,
                       struct err *e)
{
    char key[PATH_LEN], part[PATH_LEN];
    struct s3_got got;
    if (there->checked || (!there->whole && !there->n_parts))
        return 0;
    TRY(s3_key(t, f->node, f->name, key, e));
    if (!there->whole) {
        TRY(part_path(part, key, &there->parts[0], e));
        TRY(path_join(key, e, "%s", part));
    }
    const struct s3_get q = {.key = key, .len = FILE_HEADER_LEN, .most = FILE_HEADER_LEN};
    TRY(s3_get(t->s3, &q, &got, e));
    const int rc = s3_check_name(f, key, &got, e);
    buf_free(&got.body);
    there->checked = rc == 0;
    return rc;
}

/* ---- sending ---- */

static int s3_send_bytes(struct s3_target *t, const char *key, const void *p, size_t n,
                         struct err *e)
{
    TRY(s3_put(t->s3, key, p, n, false, e));
    t->base.bytes += n;
    t->sent = clock_mono();
    return 0;
}

static int s3_send_part(struct s3_target *t, struct s3_file *there, const char *key,
                        const struct ship_file *f, struct part p, struct err *e)
{
    char name[PATH_LEN];
    TRY(part_path(name, key, &p, e));
    TRY(s3_send_bytes(t, name, f->p + p.offset, p.bytes, e));
    *VEC_ADD(there->parts, there->n_parts, there->cap_parts) = p;
    return 0;
}

/* Parts from number `first` on, other than the one that replaces them. */
static int s3_drop_parts(struct s3_target *t, struct s3_file *there, const char *key, size_t first,
                         struct err *e)
{
    char name[PATH_LEN];
    while (there->n_parts > first) {
        TRY(part_path(name, key, &there->parts[there->n_parts - 1], e));
        TRY(s3_delete(t->s3, name, e));
        there->n_parts--;
    }
    return 0;
}

/* The last sixteen become one when none of them is much larger than the others. */
static int s3_join_parts(struct s3_target *t, struct s3_file *there, const char *key,
                         const struct ship_file *f, struct err *e)
{
    if (there->n_parts < JOIN_PARTS)
        return 0;
    const size_t first = there->n_parts - JOIN_PARTS;
    if (there->parts[first].offset < f->gone)
        return 0;
    struct part sum = {there->parts[first].offset, 0};
    uint64_t largest = 0;
    for (size_t i = first; i < there->n_parts; i++) {
        sum.bytes += there->parts[i].bytes;
        largest = MAX_OF(largest, there->parts[i].bytes);
    }
    if (largest > sum.bytes / 8 || sum.bytes > PART_BYTES_MOST)
        return 0;
    char name[PATH_LEN];
    TRY(part_path(name, key, &sum, e));
    TRY(s3_send_bytes(t, name, f->p + sum.offset, sum.bytes, e));
    TRY(s3_drop_parts(t, there, key, first, e));
    *VEC_ADD(there->parts, there->n_parts, there->cap_parts) = sum;
    return 0;
}

static bool s3_has_part(const struct s3_file *there, const struct part *p)
{
    return FIND_ANY(i, there->n_parts,
                    there->parts[i].offset == p->offset && there->parts[i].bytes == p->bytes);
}

/* Selects the parts that count. A shipper that was killed while it joined parts left the others;
 * they are removed. */
static int s3_choose_parts(struct s3_target *t, struct s3_file *there, const char *key,
                           struct err *e)
{
    struct arena a = {0};
    const size_t n = there->n_parts;
    struct part *all = arena_array(&a, struct part, n + 1);
    char name[PATH_LEN];
    int rc = 0;
    for (size_t i = 0; i < n; i++)
        all[i] = there->parts[i];
    there->n_parts = parts_choose(there->parts, n);
    for (size_t i = 0; rc == 0 && there->n_parts < n && i < n; i++)
        if (!s3_has_part(there, &all[i])) {
            rc = part_path(name, key, &all[i], e);
            rc = rc ? rc : s3_delete(t->s3, name, e);
        }
    arena_free(&a);
    return rc;
}

static int s3_send_growing(struct s3_target *t, struct s3_file *there, const char *key,
                           const struct ship_file *f, struct err *e)
{
    uint64_t have = 0;
    TRY(s3_choose_parts(t, there, key, e));
    for (size_t i = 0; i < there->n_parts; i++)
        have += there->parts[i].bytes;
    if (have > f->len && f->len <= f->gone)
        return 0; /* nothing has followed yet */
    if (have > f->len)
        return err_set(e, ERR_BUSY, "'%.200s' is longer there than here", key);
    if (have < f->len && have < f->gone)
        return ship_gone(&t->base, f, e);
    while (have < f->len) {
        const struct part p = {have, MIN_OF(f->len - have, (uint64_t)PART_BYTES_MOST)};
        TRY(s3_send_part(t, there, key, f, p, e));
        TRY(s3_join_parts(t, there, key, f, e));
        have += p.bytes;
    }
    return 0;
}

static int s3_remove_tail(struct s3_target *t, const struct ship_file *f, struct err *e)
{
    char key[PATH_LEN], name[PART_NAME_LEN];
    snprintf(name, sizeof name, "%.*s" STORE_TAIL, (int)(strlen(f->name) - strlen(STORE_SEALED)),
             f->name);
    struct s3_file *tail = s3_file_of(t, f->node, name);
    if (!tail->whole)
        return 0;
    TRY(s3_key(t, f->node, name, key, e));
    TRY(s3_delete(t->s3, key, e));
    tail->whole = 0;
    return 0;
}

/* ---- the whole file, of which the beginning may be in parts there only ---- */

struct s3_whole {
    struct s3_target *t;
    const struct s3_file *there;
    const char *key;
    const struct ship_file *f;
};

/* What of at..at + n is in the part. */
static int s3_copy_part(const struct s3_whole *w, const struct part *p, uint64_t at, size_t n,
                        uint8_t *out, struct err *e)
{
    char name[PATH_LEN];
    struct s3_got got;
    const uint64_t from = MAX_OF(at, p->offset), to = MIN_OF(at + n, p->offset + p->bytes);
    if (from >= to)
        return 0;
    TRY(part_path(name, w->key, p, e));
    const struct s3_get q = {.key = name,
                             .from = (int64_t)(from - p->offset),
                             .len = to - from,
                             .most = (size_t)(to - from)};
    TRY(s3_get(w->t->s3, &q, &got, e));
    const int rc = got.body.len == to - from
                       ? 0
                       : err_set(e, ERR_NOT_FOUND, "'%.200s' did not come whole", name);
    if (rc == 0)
        memcpy(out + (from - at), got.body.p, got.body.len);
    buf_free(&got.body);
    return rc;
}

/* For s3_put_from: what was removed here comes from the parts, in as many requests as there are
 * parts. */
static int s3_whole_bytes(void *ctx, uint64_t at, size_t n, uint8_t *out, struct err *e)
{
    const struct s3_whole *w = ctx;
    const size_t gone = at < w->f->gone ? (size_t)MIN_OF((uint64_t)n, w->f->gone - at) : 0;
    for (size_t i = 0; gone && i < w->there->n_parts; i++)
        TRY(s3_copy_part(w, &w->there->parts[i], at, gone, out, e));
    memcpy(out + gone, w->f->p + at + gone, n - gone);
    return 0;
}

static int s3_send_whole(struct s3_target *t, struct s3_file *there, const char *key,
                         const struct ship_file *f, struct err *e)
{
    struct s3_whole w = {t, there, key, f};
    uint64_t have = 0;
    if (!f->gone)
        return s3_send_bytes(t, key, f->p, f->len, e);
    TRY(s3_choose_parts(t, there, key, e));
    for (size_t i = 0; i < there->n_parts; i++)
        have += there->parts[i].bytes;
    if (have < f->gone)
        return ship_gone(&t->base, f, e);
    TRY(s3_put_from(t->s3, key, s3_whole_bytes, &w, f->len, e));
    t->base.bytes += f->len;
    t->sent = clock_mono();
    return 0;
}

/* What a shipper that was killed was sending may have arrived since the parts were listed. */
static int s3_list_parts(struct s3_target *t, struct s3_file *there, const char *key, struct err *e)
{
    char prefix[PATH_LEN];
    struct s3_listing l = {t, there->node, strlen(key) - strlen(there->name)};
    TRY(path_join(prefix, e, "%s.", key));
    there->n_parts = 0;
    return s3_list(t->s3, &(struct s3_list){.prefix = prefix}, s3_note_object, &l, e);
}

/* The whole file first, and when it is surely there, what it replaces goes. */
static int s3_send_closed(struct s3_target *t, struct s3_file *there, const char *key,
                          const struct ship_file *f, struct err *e)
{
    struct s3_object object;
    if (there->whole != f->len) {
        TRY(s3_send_whole(t, there, key, f, e));
        TRY(s3_head(t->s3, key, &object, e));
        if (object.bytes != f->len)
            return err_set(e, ERR_NOT_FOUND, "'%.200s' did not arrive whole", key);
        there->whole = f->len;
        TRY(s3_list_parts(t, there, key, e));
        there = s3_file_of(t, f->node, f->name); /* the list of files may have moved */
    }
    TRY(s3_drop_parts(t, there, key, 0, e));
    return s3_remove_tail(t, f, e);
}

static int s3_check(struct s3_target *t, const struct ship_file *f, struct err *e)
{
    TRY(s3_list_node(t, f->node, e));
    return s3_check_id(t, s3_file_of(t, f->node, f->name), f, e);
}

static int s3_send_sealed(struct s3_target *t, const struct ship_file *f, struct err *e)
{
    char key[PATH_LEN];
    TRY(s3_check(t, f, e));
    TRY(s3_key(t, f->node, f->name, key, e));
    struct s3_file *there = s3_file_of(t, f->node, f->name);
    return f->closed ? s3_send_closed(t, there, key, f, e) : s3_send_growing(t, there, key, f, e);
}

static bool s3_is_named(const char *name, const char *const *names, size_t n)
{
    const size_t stem = strcspn(name, ".");
    return FIND_ANY(i, n, strcspn(names[i], ".") == stem && strncmp(names[i], name, stem) == 0);
}

/* A recorder removes a file that has stayed empty: of that a part with the header is there, and
 * perhaps a tail. */
static bool s3_is_pruned(const struct s3_file *f, const char *node, const char *const *names,
                         size_t n)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < f->n_parts; i++)
        bytes += f->parts[i].bytes;
    return strcmp(f->node, node) == 0 && !s3_is_named(f->name, names, n) &&
           (text_ends(f->name, "." STORE_TAIL)
                ? f->whole > 0
                : text_ends(f->name, "." STORE_SEALED) && !f->whole && bytes <= FILE_HEADER_LEN);
}

static int s3_prune(struct s3_target *t, const char *node, const char *const *names, size_t n,
                    struct err *e)
{
    char key[PATH_LEN];
    TRY(s3_list_node(t, node, e));
    for (size_t i = 0; i < t->n_files; i++) {
        struct s3_file *f = &t->files[i];
        if (!s3_is_pruned(f, node, names, n))
            continue;
        TRY(s3_key(t, node, f->name, key, e));
        TRY(s3_drop_parts(t, f, key, 0, e));
        if (f->whole)
            TRY(s3_delete(t->s3, key, e));
        f->whole = f->sum = 0;
    }
    return 0;
}

/* Put unless it is what was put last. While monitoring is off nothing grows, and readers take a
 * node of which nothing comes for a dead one. */
static int s3_send_changed(struct s3_target *t, const char *node, const char *name, const void *p,
                           size_t n, struct err *e)
{
    char key[PATH_LEN];
    struct s3_file *there = s3_file_of(t, node, name);
    const uint64_t sum = format_sum(p, n) | 1;
    const int64_t silence_ns = MAX_OF(t->base.interval_ns, INTERVAL_S * NS_PER_S);
    if (there->sum == sum && mono_diff(clock_mono(), t->sent) < silence_ns)
        return 0;
    TRY(s3_key(t, node, name, key, e));
    TRY(s3_send_bytes(t, key, p, n, e));
    there = s3_file_of(t, node, name);
    there->sum = sum;
    there->whole = n;
    return 0;
}

/* It is there: the same one, or that of another run. */
static int s3_compare(struct s3_target *t, const char *key, const void *p, size_t n, struct err *e)
{
    struct s3_got got;
    TRY(s3_get(t->s3, &(struct s3_get){.key = key, .most = n + (1 << 20)}, &got, e));
    const bool same = run_is_same(got.body.p, got.body.len, p, n);
    buf_free(&got.body);
    return same ? 0 : ship_another_run(&t->base, path_base(t->place.key), e);
}

/* Some servers take a conditional write for a plain one. So the object is read before, and, where
 * the server is not that of AWS, also after. */
static int s3_put_first(struct s3_target *t, const char *key, const void *p, size_t n,
                        struct err *e)
{
    int rc = s3_compare(t, key, p, n, e);
    if (!err_no_file(rc, e))
        return rc;
    rc = s3_put(t->s3, key, p, n, true, e);
    t->base.bytes += rc ? 0 : n;
    const bool look = rc == ERR_BUSY || (rc == 0 && *s3_endpoint(t->s3));
    return look ? s3_compare(t, key, p, n, e) : rc;
}

static int s3_put_once(struct s3_target *t, const char *name, const void *p, size_t n,
                       struct err *e)
{
    char key[PATH_LEN];
    if (s3_file_of(t, "", name)->checked)
        return 0;
    TRY(s3_key(t, "", name, key, e));
    const int rc = s3_put_first(t, key, p, n, e);
    s3_file_of(t, "", name)->checked = rc == 0;
    return rc;
}

/* ---- the operations ---- */

/* What the user has to do something about is tried again after ten minutes. */
static int s3_result(struct s3_target *t, int rc)
{
    if (rc && rc != ERR_NOT_FOUND)
        t->base.retry_s = SETUP_RETRY_S;
    return rc;
}

static int s3_target_put(struct ship_target *base, const char *node, const char *name,
                         const void *p, size_t n, bool absent, struct err *e)
{
    struct s3_target *t = (struct s3_target *)base;
    return s3_result(t, absent ? s3_put_once(t, name, p, n, e)
                               : s3_send_changed(t, node ? node : "", name, p, n, e));
}

static int s3_target_check(struct ship_target *base, const struct ship_file *f, struct err *e)
{
    struct s3_target *t = (struct s3_target *)base;
    return s3_result(t, s3_check(t, f, e));
}

static int s3_target_sealed(struct ship_target *base, const struct ship_file *f, struct err *e)
{
    struct s3_target *t = (struct s3_target *)base;
    return s3_result(t, s3_send_sealed(t, f, e));
}

static int s3_target_tail(struct ship_target *base, const struct ship_file *f, struct err *e)
{
    struct s3_target *t = (struct s3_target *)base;
    return s3_result(t, s3_send_changed(t, f->node, f->name, f->p, f->len, e));
}

static int s3_target_prune(struct ship_target *base, const char *node, const char *const *names,
                           size_t n, struct err *e)
{
    struct s3_target *t = (struct s3_target *)base;
    return s3_result(t, s3_prune(t, node, names, n, e));
}

/* Its entry in the catalogue of the prefix. */
static void s3_target_announce(struct ship_target *base, bool tidy)
{
    const struct s3_target *t = (const struct s3_target *)base;
    char run[PATH_LEN];
    struct err ignored;
    if (path_join(run, &ignored, S3_SCHEME "%s/%s", t->place.bucket, t->place.key) == 0)
        (void)!run_catalog_put(run, &ignored);
    if (tidy)
        (void)!run_catalog_pack(base->to, false, &ignored);
}

/* The next call lists again. */
static void s3_target_forget(struct ship_target *base)
{
    struct s3_target *t = (struct s3_target *)base;
    for (size_t i = 0; i < t->n_files; i++)
        free(t->files[i].parts);
    t->n_files = t->n_nodes = 0;
}

static void s3_target_close(struct ship_target *base)
{
    struct s3_target *t = (struct s3_target *)base;
    s3_target_forget(base);
    free(t->files);
    s3_close(t->s3);
    arena_free(&t->arena);
    free(t);
}

static const struct ship_target_ops s3_target_ops = {
    .put = s3_target_put,
    .check = s3_target_check,
    .sealed = s3_target_sealed,
    .tail = s3_target_tail,
    .prune = s3_target_prune,
    .announce = s3_target_announce,
    .forget = s3_target_forget,
    .close = s3_target_close,
};

int ship_s3_check(const struct ship_target_ask *ask, struct err *e)
{
    struct s3_place p;
    TRY(s3_place_of(&p, ask->to, e));
    return curl_is_there(e);
}

int ship_s3_open(struct ship_target **out, const struct ship_target_ask *ask, const char *run,
                 struct err *e)
{
    char location[PATH_LEN];
    struct s3_target *t = xcalloc(1, sizeof *t);
    t->base.ops = &s3_target_ops;
    t->base.to = arena_strdup(&t->arena, ask->to);
    t->base.interval_ns = INTERVAL_S * NS_PER_S;
    int rc = path_join(location, e, "%s/%s", ask->to, run);
    if (rc == 0)
        rc = s3_place_of(&t->place, location, e);
    if (rc == 0)
        rc = s3_open(&t->s3, &(struct s3_config){.bucket = t->place.bucket}, e);
    if (rc)
        s3_target_close(&t->base);
    else
        *out = &t->base;
    return rc;
}
