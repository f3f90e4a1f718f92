/* SPDX-License-Identifier: Apache-2.0 */
/* parts.c - see parts.h.
 *
 * Why the parts of one list give a prefix of the file, whatever its writer does meanwhile:
 *
 * - A part never changes, and its name has its offset and length. All parts are cut from the same
 *   file, so two parts that overlap have the same bytes there: it does not matter which is used.
 * - parts_choose takes the longest part at the end of those before it. A part that is missing ends
 *   the chain early. That is a prefix, which readers take as a file that still grows.
 * - The writer puts a joined part before it deletes those that it replaces, the last one first
 *   (ship/ship_s3.c). Killed in between, it leaves parts inside the joined one. Their offsets are
 *   before the end of the chain, so they are skipped.
 * - The writer puts the whole file before it deletes its parts. A list that has both is not used
 *   for parts (parts_find).
 * - A part that was listed may be gone when it is read. Then all begins again with a new list, so
 *   that no result is joined from two lists. A part whose length is not that of its name is an
 *   error. */
#include "run/parts.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "store/format.h"

enum {
    OFFSET_DIGITS = 12,
    LENGTH_DIGITS = 8,
    PART_END_LEN = 1 + OFFSET_DIGITS + 1 + LENGTH_DIGITS,
    PARTS_ATTEMPTS = 3, /* small parts may be replaced by a large one meanwhile */
};

#define PARTS_BYTES_MOST ((uint64_t)1 << 36) /* of all parts of a file */

static bool part_hex(const char *p, size_t digits, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < digits; i++) {
        static const char hex[] = "0123456789abcdef";
        const char *at = p[i] ? strchr(hex, p[i]) : NULL;
        if (!at)
            return false;
        *out = *out << 4 | (uint64_t)(at - hex);
    }
    return true;
}

bool part_name_parse(const char *name, const char *stem, struct part *out)
{
    const size_t n = strlen(name);
    if (n <= PART_END_LEN)
        return false;
    const char *end = name + n - PART_END_LEN;
    if (stem && (strlen(stem) != n - PART_END_LEN || strncmp(stem, name, strlen(stem)) != 0))
        return false;
    return end[0] == '.' && end[1 + OFFSET_DIGITS] == '-' &&
           part_hex(end + 1, OFFSET_DIGITS, &out->offset) &&
           part_hex(end + 2 + OFFSET_DIGITS, LENGTH_DIGITS, &out->bytes) && out->bytes > 0;
}

int part_path(char *out, const char *path, const struct part *p, struct err *e)
{
    assert(p->offset < UINT64_C(1) << 4 * OFFSET_DIGITS && p->bytes <= UINT32_MAX);
    return path_join(out, e, "%s.%0*" PRIx64 "-%0*" PRIx64, path, OFFSET_DIGITS, p->offset,
                     LENGTH_DIGITS, p->bytes);
}

static int part_by_offset(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    return COMPARE(x->offset, y->offset) ?: COMPARE(y->bytes, x->bytes); /* the longest first */
}

size_t parts_choose(struct part *v, size_t n)
{
    uint64_t end = 0;
    size_t used = 0;
    SORT(v, n, part_by_offset);
    for (size_t i = 0; i < n; i++)
        if (v[i].offset == end && end < PARTS_BYTES_MOST) {
            end += v[i].bytes;
            v[used++] = v[i];
        }
    assert(used <= n);
    assert(end < PARTS_BYTES_MOST + (UINT64_C(1) << 4 * LENGTH_DIGITS)); /* fits an int64_t */
    return used;
}

struct parts_found {
    const char *stem;
    struct part *v;
    size_t n, cap;
    uint64_t bytes, version;
    int64_t changed_ns;
    bool damaged; /* one of them */
    bool whole;   /* the file itself is there, too */
};

static void parts_note(void *ctx, const struct storage_entry *x)
{
    struct parts_found *f = ctx;
    struct part p;
    if (x->kind != STORAGE_FILE)
        return;
    f->whole |= strcmp(x->name, f->stem) == 0;
    if (!part_name_parse(x->name, f->stem, &p))
        return;
    p.damaged = x->stat.bytes != p.bytes;
    *VEC_ADD(f->v, f->n, f->cap) = p;
    f->version += x->stat.version;
    f->changed_ns = MAX_OF(f->changed_ns, x->stat.changed_ns);
}

/* Parts count only where one list has them and not the whole file. Beside the file they are being
 * removed, one by one, and those left may be a beginning that looks complete. The caller then looks
 * for the file again. The caller frees f->v, also after a failure. */
static int parts_find(const struct storage *s, const char *path, struct parts_found *f,
                      struct err *e)
{
    char folder[PATH_LEN];
    const char *stem = path_base(path);
    *f = (struct parts_found){.stem = stem};
    TRY(path_join(folder, e, "%.*s", (int)MAX_OF(stem - path - 1, 0), path));
    const int rc = s->list(stem == path ? "." : folder, STORAGE_WITH_STAT, parts_note, f, e);
    f->n = rc || f->whole ? 0 : parts_choose(f->v, f->n);
    for (size_t i = 0; i < f->n; i++) {
        assert(f->v[i].offset == f->bytes); /* they follow each other without a gap */
        f->bytes += f->v[i].bytes;
        f->damaged |= f->v[i].damaged;
    }
    if (rc == 0 && f->n == 0) {
        errno = ENOENT;
        return err_sys(e, "open '%s'", path);
    }
    return rc;
}

bool parts_may_be(const char *path, const struct err *e)
{
    return err_no_file(e->code, e) && text_ends(path, "." STORE_SEALED);
}

int parts_stat(const struct storage *s, const char *path, struct storage_stat *out, struct err *e)
{
    struct parts_found f;
    const int rc = parts_find(s, path, &f, e);
    free(f.v);
    if (rc == 0)
        *out = (struct storage_stat){STORAGE_FILE, f.bytes, f.changed_ns, f.version};
    return rc;
}

/* The bytes from..to of the file, of which `p` is a part, into their place. */
static int parts_copy(const struct store_source *raw, const char *path, const struct part *p,
                      uint64_t from, uint64_t to, uint8_t *out, struct err *e)
{
    char name[PATH_LEN], *bytes;
    size_t len;
    const uint64_t begin = MAX_OF(from, p->offset), end = MIN_OF(to, p->offset + p->bytes);
    struct arena scratch = {0};
    if (begin >= end)
        return 0;
    assert(begin >= p->offset && end - p->offset <= p->bytes);
    TRY(part_path(name, path, p, e));
    int rc = raw->read(name, 0, p->bytes, &scratch, &bytes, &len, e);
    if (rc == 0 && len != p->bytes)
        rc = err_set(e, ERR_FORMAT, "'%s' does not have the length in its name", name);
    if (rc == 0)
        memcpy(out + (begin - from), bytes + (begin - p->offset), end - begin);
    arena_free(&scratch);
    return rc;
}

/* A copy of from..to, clipped to what is there, to be freed. */
static int parts_load(const struct storage *s, const struct store_source *raw, const char *path,
                      int64_t from, uint64_t most, struct fmap *out, struct err *e)
{
    int rc = 0;
    for (int attempt = 0; attempt < PARTS_ATTEMPTS; attempt++) {
        struct parts_found f;
        rc = parts_find(s, path, &f, e);
        const int64_t bytes = (int64_t)f.bytes;
        const uint64_t at = (uint64_t)(from < 0 ? MAX_OF(bytes + from, 0) : MIN_OF(from, bytes));
        if (rc == 0 && f.bytes - at > most)
            rc = err_set(e, ERR_LIMIT, "'%s' has more than %" PRIu64 " bytes", path, most);
        if (rc == 0 && f.damaged)
            rc =
                err_set(e, ERR_FORMAT, "a part of '%s' does not have the length in its name", path);
        assert(rc || at <= f.bytes);
        uint8_t *p = rc ? NULL : malloc(f.bytes - at + 1);
        if (rc == 0 && !p)
            rc = err_set(e, ERR_LIMIT, "'%s' has more bytes than there is memory", path);
        for (size_t i = 0; i < f.n && rc == 0; i++)
            rc = parts_copy(raw, path, &f.v[i], at, f.bytes, p, e);
        free(f.v);
        if (rc == 0) {
            assert(p && f.bytes - at <= most);
            *out = (struct fmap){.p = p, .len = f.bytes - at, .copied = f.bytes - at};
            return 0;
        }
        free(p);
        if (rc != ERR_SYS || e->sys != ENOENT)
            break;
    }
    return rc;
}

int parts_read(const struct storage *s, const struct store_source *raw, const char *path,
               int64_t from, size_t most, struct arena *a, char **out, size_t *len, struct err *e)
{
    struct fmap m;
    TRY(parts_load(s, raw, path, from, most, &m, e));
    *len = m.len;
    *out = arena_strndup(a, (const char *)m.p, 0);
    if (m.len) {
        *out = arena_alloc_raw(a, m.len + 1, 1);
        memcpy(*out, m.p, m.len);
        (*out)[m.len] = 0;
    }
    fmap_close(&m);
    return 0;
}

int parts_map(const struct storage *s, const struct store_source *raw, const char *path,
              struct fmap *out, struct err *e)
{
    return parts_load(s, raw, path, 0, PARTS_BYTES_MOST, out, e);
}
