/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_store_bytes.c - a file of the store in memory, opened and decoded to the last column. Faster
 * by far than fuzz_store_open, which asks what queries ask, of files.
 * The first byte says what follows: bit 0: a tail instead of a metrics.fp; bit 1: leave the
 * checksums as they are, else all are made right. */
#include <errno.h>
#include <stdlib.h>

#include "../unit/store/block_events.h"
#include "base/text.h"
#include "store/reader.h"
#include "store_repair.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void expect(bool good)
{
    if (!good)
        abort();
}

/* ---- rows ---- */

static void decode_level(struct codec *c, const struct column *col, uint32_t unit, bool two)
{
    const uint32_t n = bucket_count(col->count, unit);
    int64_t *v = xmalloc((n + 1u) * sizeof *v);
    for (size_t k = 0; k < COUNT_OF(col->level1); k++)
        if (two ? col->level2[k] != NULL : col->level1[k].p != NULL)
            (void)codec_decode(c, two ? col->level2[k] : col->level1[k].p,
                               two ? col->level2_len[k] : col->level1[k].len, n, v);
    free(v);
}

static void decode_column(struct codec *c, const struct rows_block *b, const struct column *col)
{
    struct hist_bin bins[HIST_MOST];
    struct codec_view view;
    const size_t n = col->count;
    int64_t *wide = xmalloc((n + 1) * sizeof *wide);
    uint8_t *narrow = xmalloc(n + 8);
    uint32_t *rows = xmalloc((n + 1) * sizeof *rows);
    expect(col->first_row <= b->rows && n <= b->rows - col->first_row);
    expect(column_hist(col, bins) <= HIST_MOST);
    (void)codec_decode_view(c, col->values.p, col->values.len, n, narrow, wide, &view);
    if (store_value_rows(c, col, b->rows, rows))
        for (size_t i = 0; i < n; i++)
            expect(rows[i] < b->rows && (i == 0 || rows[i] > rows[i - 1]));
    decode_level(c, col, b->l1, false);
    decode_level(c, col, b->l2, true);
    free(wide);
    free(narrow);
    free(rows);
}

static void decode_rows(struct codec *c, const struct store *s, const struct rows_block *b)
{
    int64_t *times = xmalloc((b->rows + 1u) * sizeof *times);
    expect(clock_fits(store_wall(s, b->t_first_us).ns));
    expect(clock_fits(store_wall(s, b->t_last_us).ns));
    if (store_times(c, b, times))
        for (uint32_t i = 0; i < b->rows; i++)
            expect(times[i] >= -TIME_MOST_US && times[i] <= TIME_MOST_US);
    for (uint32_t i = 0; i < b->n_columns; i++)
        decode_column(c, b, &block_columns(b)[i]);
    free(times);
}

/* ---- events ---- */

/* Each block of events is decoded or refused; a decoded one is in order, has its texts, and its
 * wall times can be added and subtracted. */
static void decode_events(struct codec *c, const struct store *s, const struct events_block *b)
{
    struct arena a = {0};
    const char **names;
    struct event *v = xcalloc(b->rows, sizeof *v);
    (void)store_event_names(c, b, &a, &names);
    const bool good = block_events(c, b, &a, v);
    for (uint32_t k = 0; k < b->rows && good; k++) {
        const int64_t wall = store_wall(s, v[k].at.ns / NS_PER_US).ns;
        int64_t end = INT64_MAX;
        expect(v[k].name && strlen(v[k].name) < EVENT_NAME_MOST && v[k].dur_ns >= 0);
        expect(k == 0 || v[k].at.ns >= v[k - 1].at.ns);
        expect(clock_fits(wall) && !__builtin_add_overflow(wall, v[k].dur_ns, &end));
        expect(end <= CLOCK_MOST_NS + NS_PER_S);
    }
    free(v);
    arena_free(&a);
}

/* ---- a file ---- */

/* What is read in place of files; tail NULL: there is none. */
static struct {
    const void *file, *tail;
    size_t file_len, tail_len;
} bytes;

static int bytes_read(const char *path, int64_t from, size_t most, struct arena *a, char **out,
                      size_t *len, struct err *e)
{
    const bool tail = text_ends(path, "." STORE_TAIL);
    const char *p = tail ? bytes.tail : bytes.file;
    const size_t n = tail ? bytes.tail_len : bytes.file_len;
    if (!p) {
        errno = ENOENT;
        return err_sys(e, "open '%s'", path);
    }
    *len = from < 0 ? MIN_OF((size_t)-from, n) : n;
    if (*len > most)
        return err_set(e, ERR_LIMIT, "'%s' is too large", path);
    *out = arena_strndup(a, p + n - *len, *len);
    return 0;
}

static int bytes_map(const char *path, bool growing, struct fmap *out, struct err *e)
{
    uint8_t *copy = xmalloc(bytes.file_len);
    (void)path;
    (void)growing;
    (void)e;
    memcpy(copy, bytes.file, bytes.file_len);
    *out = (struct fmap){.p = copy, .len = bytes.file_len, .copied = bytes.file_len};
    return 0;
}

static void decode_all(struct store *s)
{
    struct codec *c = codec_open();
    for (uint32_t i = 0; i < s->n_blocks; i++)
        decode_rows(c, s, &s->blocks[i]);
    for (uint32_t i = 0; i < s->n_events; i++)
        decode_events(c, s, &s->events[i]);
    for (uint32_t i = 0; i < s->n_losses; i++)
        expect(clock_fits(store_wall(s, s->losses[i].at.ns / NS_PER_US).ns));
    for (uint32_t i = 0; i < s->n_marks; i++)
        expect(clock_fits(store_wall(s, s->marks[i].at.ns / NS_PER_US).ns));
    (void)store_verify(s);
    store_forget(s);
    for (uint32_t i = 0; i < s->n_blocks; i++)
        expect(s->blocks[i].n_columns == 0 || block_columns(&s->blocks[i]));
    codec_close(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    if (n == 0)
        return 0;
    const bool tail = p[0] & 1;
    uint8_t *copy = xmalloc(n);
    struct buf fp = {0};
    struct file_header h = {.kind = FILE_SEALED};
    struct store *s;
    struct err e = {0};
    memcpy(copy, p + 1, n - 1);
    if (!(p[0] & 2))
        store_repair(copy, n - 1, tail);
    if (n > FILE_HEADER_LEN)
        memcpy(h.id, copy + 40, sizeof h.id);
    file_header_put(&fp, &h);
    const struct store_source source = {bytes_read, bytes_map};
    bytes.file = tail ? fp.p : copy;
    bytes.file_len = tail ? fp.len : n - 1;
    bytes.tail = tail ? copy : NULL;
    bytes.tail_len = n - 1;
    const int rc = store_open_from(&s, &source, "metrics." STORE_SEALED, &e);
    if (rc == 0) {
        decode_all(s);
        store_close(s);
    } else {
        expect(e.msg[0]);
    }
    buf_free(&fp);
    free(copy);
    return 0;
}
