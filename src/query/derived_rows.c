/* SPDX-License-Identifier: Apache-2.0 */
/* derived_rows.c - see derived_rows.h; docs/format.md has the bytes. */
#include "query/derived_rows.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum {
    PIECE = 1 << 16, /* rows of a codec column */
    ROWS_LIMIT = 1 << 22,
    TEXT_BYTES_LIMIT = 1 << 28,
};

static_assert((int)PIECE <= (int)CODEC_MOST, "a piece is one column");

static const uint8_t sizes[] = {
    [FIELD_64] = 8, [FIELD_32] = 4, [FIELD_BOOL] = sizeof(bool), [FIELD_TEXT] = sizeof(char *)};

/* Rows that are put or got together, and room for one of their columns. */
struct piece {
    struct codec *codec;
    const struct row_layout *layout;
    char *rows;
    size_t n;
    int64_t *cells;
};

static char *member(const struct piece *p, const struct field *f, size_t row)
{
    return p->rows + row * p->layout->size + f->at;
}

/* ---- bytes with their length ---- */

static void put_bytes(struct buf *out, struct buf *b)
{
    buf_varint(out, b->len);
    buf_put(out, b->p, b->len);
    buf_free(b);
}

static struct cur get_bytes(struct cur *in)
{
    const size_t len = cur_varint_most(in, cur_left(in));
    const uint8_t *p = cur_take(in, len);
    return cur_of(p, p ? len : 0);
}

/* ---- writing ---- */

static void put_cells(const struct piece *p, struct buf *out)
{
    struct buf b = {0};
    codec_encode(p->codec, p->cells, p->n, true, &b);
    put_bytes(out, &b);
}

static void put_numbers(const struct piece *p, const struct field *f, struct buf *out)
{
    memset(p->cells, 0, p->n * sizeof *p->cells);
    for (size_t i = 0; i < p->n; i++)
        memcpy(&p->cells[i], member(p, f, i), sizes[f->kind]);
    put_cells(p, out);
}

static const char *text_of(const struct piece *p, const struct field *f, size_t row)
{
    const char *text;
    memcpy(&text, member(p, f, row), sizeof text);
    return text;
}

/* A text that repeats that of the row before is there once. */
static void put_texts(const struct piece *p, const struct field *f, struct buf *out)
{
    struct buf texts = {0}, packed = {0};
    const char *before = NULL;
    int64_t number = -1;
    for (size_t i = 0; i < p->n; i++) {
        const char *text = text_of(p, f, i);
        if (!before || strcmp(text, before) != 0) {
            buf_put(&texts, text, strlen(text) + 1);
            number++;
        }
        p->cells[i] = number;
        before = text;
    }
    codec_put_bytes(p->codec, &texts, &packed);
    buf_free(&texts);
    put_bytes(out, &packed);
    put_cells(p, out);
}

static void put_piece(const struct piece *p, struct buf *out)
{
    for (size_t k = 0; k < p->layout->n_fields; k++) {
        const struct field *f = &p->layout->fields[k];
        (f->kind == FIELD_TEXT ? put_texts : put_numbers)(p, f, out);
    }
}

bool derived_rows_put(struct codec *c, const struct row_layout *l, const void *rows, size_t n,
                      struct buf *out)
{
    if (n > ROWS_LIMIT)
        return false;
    int64_t *cells = xcalloc(MIN_OF(n, (size_t)PIECE), sizeof *cells);
    buf_varint(out, n);
    for (size_t at = 0; at < n; at += PIECE) {
        const struct piece p = {c, l, (char *)(uintptr_t)rows + at * l->size,
                                MIN_OF(n - at, (size_t)PIECE), cells};
        put_piece(&p, out);
    }
    free(cells);
    return true;
}

/* ---- reading ---- */

static bool get_cells(const struct piece *p, struct cur *in)
{
    const struct cur b = get_bytes(in);
    return !in->bad && codec_decode(p->codec, b.p, cur_left(&b), p->n, p->cells);
}

/* What every value must be below. */
static uint64_t limit_of(const struct field *f)
{
    if (f->kind == FIELD_BOOL)
        return 2;
    return f->below ? f->below : UINT64_C(1) << 32;
}

static bool get_numbers(const struct piece *p, const struct field *f, struct cur *in)
{
    if (!get_cells(p, in))
        return false;
    const uint64_t below = limit_of(f);
    for (size_t i = 0; i < p->n; i++) {
        if (f->kind != FIELD_64 && (uint64_t)p->cells[i] >= below)
            return false;
        memcpy(member(p, f, i), &p->cells[i], sizes[f->kind]);
    }
    return true;
}

/* Texts that end with their NUL, each one by its place. */
static const char **split(const char *texts, size_t len, struct arena *a, size_t *n)
{
    size_t count = 0, k = 0;
    for (size_t at = 0; at < len; at += strlen(texts + at) + 1)
        count++;
    const char **v = arena_array(a, const char *, count);
    for (size_t at = 0; at < len; at += strlen(texts + at) + 1)
        v[k++] = texts + at;
    *n = count;
    return v;
}

static bool get_list(const struct piece *p, struct cur *in, struct arena *a, const char ***out,
                     size_t *n)
{
    const struct cur packed = get_bytes(in);
    struct buf b = {0};
    const bool good =
        !in->bad && codec_get_bytes(p->codec, packed.p, cur_left(&packed), TEXT_BYTES_LIMIT, &b) &&
        b.len > 0;
    if (good)
        *out = split(arena_strndup(a, (const char *)b.p, b.len), b.len, a, n);
    buf_free(&b);
    return good;
}

static bool get_texts(const struct piece *p, const struct field *f, struct cur *in, struct arena *a)
{
    const char **texts;
    size_t n;
    if (!get_list(p, in, a, &texts, &n) || !get_cells(p, in))
        return false;
    for (size_t i = 0; i < p->n; i++) {
        if ((uint64_t)p->cells[i] >= n)
            return false;
        memcpy(member(p, f, i), &texts[p->cells[i]], sizes[FIELD_TEXT]);
    }
    return true;
}

static bool get_piece(const struct piece *p, struct cur *in, struct arena *a)
{
    bool good = true;
    for (size_t k = 0; good && k < p->layout->n_fields; k++) {
        const struct field *f = &p->layout->fields[k];
        good = f->kind == FIELD_TEXT ? get_texts(p, f, in, a) : get_numbers(p, f, in);
    }
    return good;
}

bool derived_rows_get(struct codec *c, const struct row_layout *l, struct cur *in, struct arena *a,
                      void **rows, size_t *n)
{
    const size_t count = cur_varint_most(in, ROWS_LIMIT);
    /* A column takes a byte at least, so that a few bytes cannot claim gigabytes. */
    bool good = !in->bad && count / PIECE <= cur_left(in) / l->n_fields;
    if (!good)
        return false;
    char *v = arena_alloc(a, count, l->size);
    int64_t *cells = xcalloc(MIN_OF(count, (size_t)PIECE), sizeof *cells);
    for (size_t at = 0; good && at < count; at += PIECE) {
        const struct piece p = {c, l, v + at * l->size, MIN_OF(count - at, (size_t)PIECE), cells};
        good = get_piece(&p, in, a);
    }
    free(cells);
    *rows = v;
    *n = count;
    return good;
}
