/* SPDX-License-Identifier: Apache-2.0 */
/* storekit.c - see storekit.h. */
#include "store/storekit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "test.h"

uint64_t kit_next(struct kit_random *r)
{
    r->state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t x = r->state;
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

uint64_t kit_below(struct kit_random *r, uint64_t n)
{
    return kit_next(r) % n;
}

/* ---- files ---- */

static char paths[8][PATH_LEN];
static unsigned path_at;

const char *kit_path(const char *fmt, ...)
{
    char *out = paths[path_at++ % COUNT_OF(paths)];
    const int n = snprintf(out, PATH_LEN, "%s/", test_tmpdir());
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(out + n, PATH_LEN - (size_t)n, fmt, ap);
    va_end(ap);
    return out;
}

void kit_mkdir(const char *path)
{
    struct err e;
    OK(dir_make(path, &e));
}

void kit_load(struct buf *out, const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        test_fail(__FILE__, __LINE__, "cannot open %s", path);
    out->len = 0;
    size_t got;
    do {
        buf_reserve(out, 65536);
        got = fread(out->p + out->len, 1, 65536, f);
        out->len += got;
    } while (got);
    fclose(f);
}

void kit_save(const char *path, const void *p, size_t n)
{
    FILE *f = fopen(path, "wb");
    if (!f)
        test_fail(__FILE__, __LINE__, "cannot write %s", path);
    CHECK(n == 0 || fwrite(p, 1, n, f) == n);
    CHECK(fclose(f) == 0);
}

void kit_copy(const char *to, const char *from)
{
    struct buf b = {0};
    kit_load(&b, from);
    kit_save(to, b.p, b.len);
    buf_free(&b);
}

/* ---- records ---- */

void kit_group(struct buf *out, unsigned group, const char *name, int64_t period_ns,
               int64_t t_before_us)
{
    buf_u8(out, TAG_GROUP);
    buf_varint(out, group);
    buf_str(out, name);
    buf_varint(out, (uint64_t)period_ns);
    buf_varint(out, zigzag(t_before_us));
}

void kit_slot(struct buf *out, unsigned group, unsigned slot, const char *metric, const char *unit,
              const char *entity, double step)
{
    buf_u8(out, TAG_SLOT);
    buf_varint(out, group);
    buf_varint(out, slot);
    buf_str(out, metric);
    buf_str(out, unit);
    buf_str(out, entity);
    buf_f64(out, step);
}

void kit_drop(struct buf *out, unsigned group, unsigned slot)
{
    buf_u8(out, TAG_DROP);
    buf_varint(out, group);
    buf_varint(out, slot);
}

void kit_row(struct buf *out, unsigned group, int64_t off_us)
{
    buf_u8(out, TAG_ROW);
    buf_varint(out, group);
    buf_varint(out, zigzag(off_us));
}

void kit_cell(struct buf *out, int64_t difference)
{
    const uint64_t z = zigzag(difference);
    if (z <= CELL_SMALL_MOST) {
        buf_u8(out, (uint8_t)z);
    } else if (z <= UINT16_MAX) {
        buf_u8(out, CELL_U16);
        buf_u16(out, (uint16_t)z);
    } else if (z <= UINT32_MAX) {
        buf_u8(out, CELL_U32);
        buf_u32(out, (uint32_t)z);
    } else {
        buf_u8(out, CELL_U64);
        buf_u64(out, z);
    }
}

void kit_gap(struct buf *out)
{
    buf_u8(out, CELL_GAP);
}

void kit_tie(struct buf *out, int64_t mono, int64_t wall)
{
    const size_t begun = record_begin(out, TAG_TIE);
    buf_varint(out, zigzag(mono));
    buf_varint(out, zigzag(wall));
    record_end(out, begun);
}

void kit_loss(struct buf *out, const char *name, uint64_t count, const char *what, const char *why)
{
    const size_t begun = record_begin(out, TAG_LOSS);
    buf_str(out, name);
    buf_varint(out, count);
    buf_varint(out, zigzag(1));
    buf_str(out, what);
    buf_str(out, why);
    record_end(out, begun);
}

void kit_mark(struct buf *out, const char *name, int64_t t_us, int64_t number, const char *text)
{
    const size_t begun = record_begin(out, TAG_MARK);
    buf_str(out, name);
    buf_varint(out, zigzag(t_us));
    buf_varint(out, zigzag(number));
    buf_str(out, text);
    record_end(out, begun);
}

void kit_header(struct buf *out, enum file_kind kind, uint64_t segment, struct clock_tie tie,
                struct kit_id id)
{
    struct file_header h = {.kind = kind, .segment = segment, .tie = tie};
    memcpy(h.id, id.b, sizeof h.id);
    file_header_put(out, &h);
}

void kit_frame(struct buf *out, const struct buf *payload, uint64_t segment)
{
    buf_u32(out, (uint32_t)payload->len);
    buf_u32(out, format_sum32(payload->p, payload->len, segment));
    buf_put(out, payload->p, payload->len);
}

void kit_save_tail(const char *dir, const struct buf *payload, struct clock_tie tie)
{
    struct buf b = {0};
    char path[PATH_LEN];
    const struct kit_id id = {"0123456789abcde"};
    kit_header(&b, FILE_SEALED, 0, tie, id);
    snprintf(path, sizeof path, "%s/metrics.fp", dir);
    kit_save(path, b.p, b.len);
    b.len = 0;
    kit_header(&b, FILE_TAIL, 1, tie, id);
    kit_frame(&b, payload, 1);
    snprintf(path, sizeof path, "%s/metrics.tail", dir);
    kit_save(path, b.p, b.len);
    buf_free(&b);
}

static void sum_header(uint8_t *p)
{
    const uint64_t sum = format_sum(p, FILE_HEADER_LEN - 8);
    memcpy(p + FILE_HEADER_LEN - 8, &sum, sizeof sum);
}

void kit_restamp(const char *path, struct clock_tie tie, struct kit_id id)
{
    struct buf b = {0};
    kit_load(&b, path);
    if (b.len >= FILE_HEADER_LEN) {
        memcpy(b.p + 24, &tie.mono.ns, 8);
        memcpy(b.p + 32, &tie.wall.ns, 8);
        memcpy(b.p + 40, id.b, sizeof id.b);
        sum_header(b.p);
        kit_save(path, b.p, b.len);
    }
    buf_free(&b);
}

void kit_set_version(const char *path, uint16_t major, uint16_t minor)
{
    struct buf b = {0};
    kit_load(&b, path);
    memcpy(b.p + 8, &major, 2);
    memcpy(b.p + 10, &minor, 2);
    sum_header(b.p);
    kit_save(path, b.p, b.len);
    buf_free(&b);
}

/* ---- lists ---- */

void kit_add(struct kit_dump *d, const char *metric, const char *entity, int64_t t_us, double v)
{
    if (d->n == d->cap) {
        d->cap = d->cap ? d->cap * 2 : 256;
        d->v = xrealloc(d->v, d->cap, sizeof *d->v);
    }
    d->v[d->n++] = (struct kit_sample){metric, entity, t_us, v};
}

static int by_all(const void *a, const void *b)
{
    const struct kit_sample *x = a, *y = b;
    int c = strcmp(x->metric, y->metric);
    if (c == 0)
        c = strcmp(x->entity, y->entity);
    if (c == 0)
        c = (x->t_us > y->t_us) - (x->t_us < y->t_us);
    return c ? c : (x->value > y->value) - (x->value < y->value);
}

void kit_sort(struct kit_dump *d)
{
    if (d->n)
        qsort(d->v, d->n, sizeof *d->v, by_all);
}

static void dump_column(struct store *s, const struct store_series *one, struct store_ref ref,
                        struct kit_dump *out)
{
    const struct rows_block *b = &s->blocks[ref.block];
    const struct column *c = &block_columns(b)[ref.column];
    int64_t *t = xmalloc(b->rows * sizeof *t), *v = xmalloc(c->count * sizeof *v);
    uint32_t *rows = xmalloc(c->count * sizeof *rows);
    struct codec *codec = codec_open();
    if (store_times(codec, b, t) && store_value_rows(codec, c, b->rows, rows) &&
        blob_whole(&c->values) && codec_decode(codec, c->values.p, c->values.len, c->count, v)) {
        const char *metric = arena_strdup(&out->arena, one->metric);
        const char *entity = arena_strdup(&out->arena, one->entity);
        for (uint32_t i = 0; i < c->count; i++)
            kit_add(out, metric, entity, t[rows[i]], (double)v[i] * c->step);
    }
    codec_close(codec);
    free(t);
    free(v);
    free(rows);
}

struct kit_dump kit_dump_store(struct store *s)
{
    struct kit_dump d = {0};
    for (uint32_t i = 0; i < s->n_series; i++)
        for (uint32_t k = 0; k < s->series[i].n_refs; k++)
            dump_column(s, &s->series[i], s->series[i].refs[k], &d);
    kit_sort(&d);
    return d;
}

struct kit_dump kit_dump_path(const char *path)
{
    struct store *s;
    struct err e;
    OK(store_open(&s, path, &e));
    struct kit_dump d = kit_dump_store(s);
    store_close(s);
    return d;
}

void kit_free(struct kit_dump *d)
{
    free(d->v);
    arena_free(&d->arena);
    *d = (struct kit_dump){0};
}

bool kit_same(const struct kit_dump *a, const struct kit_dump *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (by_all(&a->v[i], &b->v[i]) != 0)
            return false;
    return true;
}

bool kit_within(const struct kit_dump *part, const struct kit_dump *all)
{
    size_t at = 0;
    for (size_t i = 0; i < part->n; i++, at++) {
        while (at < all->n && by_all(&all->v[at], &part->v[i]) < 0)
            at++;
        if (at == all->n || by_all(&all->v[at], &part->v[i]) != 0)
            return false;
    }
    return true;
}

uint64_t kit_count_loss(const struct store *s, enum loss_id id)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < s->n_losses; i++)
        if (s->losses[i].id == id)
            n += s->losses[i].count;
    return n;
}
