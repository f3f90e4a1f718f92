/* SPDX-License-Identifier: Apache-2.0 */
/* Files cut at every byte and with every bit flipped: what is shown is always what was written, and
 * what the format promises to keep is there. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/segment.h"
#include "store/storekit.h"
#include "test.h"

struct files {
    struct buf fp, tail; /* tail.len 0: none */
    struct kit_dump all; /* what they hold when nothing is wrong */
};

static void add_rows(struct writer *w, struct group *g, int from, int to)
{
    struct err e;
    for (int i = from; i < to; i++) {
        g->cells[0] = i * 37 % 101;
        if (i % 5)
            g->cells[1] = 100000 + i * i;
        group_commit(g, writer_sink(w), (mono_ns){(i + 1) * 100 * NS_PER_MS});
        if (i % 10 == 9)
            OK(writer_flush(w, false, &e));
    }
}

static void open_small(struct writer **w, struct group *g)
{
    struct err e;
    kit_mkdir(kit_path("made"));
    OK(writer_open(w, kit_path("made"), &e));
    group_open(g, "gpu", 100 * NS_PER_MS);
    group_add(g, M_GPU_UTIL, "gpu0");
    group_add(g, M_GPU_POWER, "gpu0");
    sink_loss(writer_sink(*w), LOSS_UNSUPPORTED,
              (struct loss_subject){.entity = "gpu0", .metric = M_GPU_ENERGY}, "not supported");
    sink_mark(writer_sink(*w), MARK_JOB_START, 1, "train");
}

static void put_files(const struct files *f)
{
    kit_mkdir(kit_path("d"));
    kit_save(kit_path("d/metrics.fp"), f->fp.p, f->fp.len);
    if (f->tail.len)
        kit_save(kit_path("d/metrics.tail"), f->tail.p, f->tail.len);
    else
        unlink(kit_path("d/metrics.tail"));
}

static void know_all(struct files *f)
{
    put_files(f);
    f->all = kit_dump_path(kit_path("d/metrics.fp"));
    CHECK(f->all.n > 0);
}

static void free_files(struct files *f)
{
    buf_free(&f->fp);
    buf_free(&f->tail);
    kit_free(&f->all);
}

static struct files closed_run(void)
{
    struct files f = {0};
    struct writer *w;
    struct group g;
    struct err e;
    open_small(&w, &g);
    add_rows(w, &g, 0, 60);
    OK(writer_close(w, &e));
    group_close(&g);
    kit_load(&f.fp, kit_path("made/metrics.fp"));
    know_all(&f);
    return f;
}

static struct files crashed_run(void)
{
    struct files f = {0};
    struct writer *w;
    struct group g;
    struct err e;
    open_small(&w, &g);
    add_rows(w, &g, 0, 60);
    kit_load(&f.fp, kit_path("made/metrics.fp"));
    kit_load(&f.tail, kit_path("made/metrics.tail"));
    OK(writer_close(w, &e));
    group_close(&g);
    know_all(&f);
    return f;
}

/* Two rows, then a frame more: payloads that are easy to count. */
static void put_payload(struct buf *out, int64_t t_us, unsigned rows, int64_t value)
{
    kit_group(out, 0, "g", 100 * NS_PER_MS, t_us - 100000);
    kit_slot(out, 0, 0, "gpu.util", "%", "gpu0", 1);
    for (unsigned i = 0; i < rows; i++) {
        kit_row(out, 0, 0);
        kit_cell(out, i ? 1 : value);
    }
}

static int put_block(void *to, const struct block_header *h, const struct buf *b, struct err *e)
{
    (void)h;
    (void)e;
    buf_put(to, b->p, b->len);
    return 0;
}

/* Blocks of two sealed segments, and a tail that is the third: a crash after hours. */
static struct files crashed_after_sealing(void)
{
    struct codec *codec = codec_open();
    struct files f = {0};
    struct buf payload = {0};
    const struct clock_tie tie = {{0}, {1000 * NS_PER_S}};
    const struct kit_id id = {"fedcba987654321"};
    kit_header(&f.fp, FILE_SEALED, 0, tie, id);
    for (unsigned k = 1; k <= 2; k++) {
        struct segment segment = {0};
        struct err e;
        put_payload(&payload, k * 10000000, 50, k * 1000);
        CHECK(segment_feed(&segment, payload.p, payload.len));
        OK(seal_segment(codec, &segment, k, SEAL_TO_KEEP, &(struct seal_out){put_block, &f.fp},
                        &e));
        segment_free(&segment);
        payload.len = 0;
    }
    codec_close(codec);
    put_payload(&payload, 30000000, 20, 3000);
    kit_header(&f.tail, FILE_TAIL, 3, tie, id);
    kit_frame(&f.tail, &payload, 3);
    payload.len = 0;
    kit_row(&payload, 0, 5);
    kit_cell(&payload, 7);
    kit_frame(&f.tail, &payload, 3);
    buf_free(&payload);
    know_all(&f);
    CHECK_INT(f.all.n, 121);
    return f;
}

/* Opens what lies in d/. Whatever is shown was written; the number of samples is the result, -1
 * when the store does not open, and then there is a sentence. */
static long look(const struct files *f, bool *told)
{
    struct store *s;
    struct err e = {0};
    if (store_open(&s, kit_path("d/metrics.fp"), &e)) {
        CHECK(strstr(e.msg, "metrics.fp") && e.code != ERR_VERSION);
        return -1;
    }
    struct kit_dump d = kit_dump_store(s);
    CHECK(kit_within(&d, &f->all));
    const long n = (long)d.n;
    *told = kit_count_loss(s, LOSS_DAMAGED) + kit_count_loss(s, LOSS_TORN) + store_verify(s) > 0;
    for (uint32_t i = 0; i < s->n_marks; i++)
        CHECK_STR(s->marks[i].text, "train");
    kit_free(&d);
    store_close(s);
    return n;
}

/* The same where nothing may be missing without a word. */
static long look_told(const struct files *f)
{
    bool told = true;
    const long n = look(f, &told);
    CHECK(told || n == (long)f->all.n);
    return n;
}

TEST(a_closed_file_cut_at_any_byte_shows_every_whole_block)
{
    struct files f = closed_run(), cut = {0};
    struct block_header h;
    CHECK(block_get(&h, f.fp.p + FILE_HEADER_LEN, f.fp.len - FILE_HEADER_LEN));
    const size_t whole = FILE_HEADER_LEN + BLOCK_HEADER_LEN + h.payload_len; /* padding may go */
    for (size_t n = 0; n <= f.fp.len; n++) {
        cut.fp = (struct buf){f.fp.p, n, n};
        put_files(&cut);
        bool told = true;
        CHECK_INT(look(&f, &told), n < FILE_HEADER_LEN ? -1 : n < whole ? 0 : (long)f.all.n);
        CHECK(told || n == FILE_HEADER_LEN || n >= whole); /* between blocks: as if killed */
    }
    free_files(&f);
}

TEST(a_tail_cut_at_any_byte_shows_every_whole_frame)
{
    struct files f = crashed_run();
    long before = 0;
    size_t frames = 0;
    for (size_t n = 1; n <= f.tail.len; n++) {
        struct files cut = {.fp = f.fp, .tail = {f.tail.p, n, n}};
        put_files(&cut);
        bool told;
        const long got = look(&f, &told);
        CHECK(got >= before); /* a longer file never shows less */
        CHECK_INT(!told, got > before || n == FILE_HEADER_LEN);
        frames += got > before;
        before = got;
    }
    CHECK_INT(before, f.all.n);
    CHECK_INT(frames, 6); /* one a flush */
    free_files(&f);
}

TEST(without_its_tail_a_crashed_run_still_opens)
{
    struct files f = crashed_after_sealing(), cut = {.fp = f.fp};
    put_files(&cut);
    struct kit_dump d = kit_dump_path(kit_path("d/metrics.fp"));
    CHECK_INT(d.n, 100);
    kit_free(&d);
    free_files(&f);
}

TEST(blocks_and_tail_cut_at_any_byte_keep_what_was_before_the_cut)
{
    struct files f = crashed_after_sealing();
    for (size_t n = FILE_HEADER_LEN; n <= f.fp.len; n++) {
        struct files cut = {.fp = {f.fp.p, n, n}, .tail = f.tail};
        put_files(&cut);
        bool told;
        const long got = look(&f, &told);
        CHECK(got == 21 || got == 71 || got == 121);
    }
    for (size_t n = 1; n <= f.tail.len; n++) {
        struct files cut = {.fp = f.fp, .tail = {f.tail.p, n, n}};
        put_files(&cut);
        bool told;
        const long got = look(&f, &told);
        CHECK(got == 100 || got == 120 || got == 121);
    }
    free_files(&f);
}

/* Behind the rows and the log of segment 1: where the index begins. */
static size_t end_of_blocks(const struct buf *fp)
{
    struct block_header h;
    size_t at = FILE_HEADER_LEN;
    for (int i = 0; i < 2; i++) {
        CHECK(block_get(&h, fp->p + at, fp->len - at));
        at += block_size(&h);
    }
    return at;
}

/* The moments of sealing: blocks are appended while the tail is whole; at last it is emptied. */
TEST(a_crash_at_any_byte_of_sealing_counts_each_row_once)
{
    struct files f = crashed_run();
    struct buf sealed = {0};
    kit_load(&sealed, kit_path("made/metrics.fp")); /* closed since: segment 1 and the index */
    const size_t blocks = end_of_blocks(&sealed);
    for (size_t n = FILE_HEADER_LEN; n <= sealed.len; n++) {
        struct files at = {.fp = {sealed.p, n, n}, .tail = f.tail};
        put_files(&at);
        struct store *s;
        struct err e;
        OK(store_open(&s, kit_path("d/metrics.fp"), &e));
        struct kit_dump d = kit_dump_store(s);
        CHECK(kit_same(&d, &f.all));
        CHECK_INT(s->samples, f.all.n);
        CHECK_INT(s->n_marks, 1);
        CHECK_INT(kit_count_loss(s, LOSS_UNSUPPORTED), 1);
        if (n <= blocks || n >= blocks + 8) /* of an index one has to see that it is one */
            CHECK_INT(kit_count_loss(s, LOSS_TORN) + kit_count_loss(s, LOSS_DAMAGED), 0);
        kit_free(&d);
        store_close(s);
    }
    buf_free(&sealed);
    free_files(&f);
}

/* Sealed, but the recorder died before or while it emptied the tail. */
TEST(a_tail_that_is_sealed_already_is_ignored_at_any_length)
{
    struct files f = crashed_run();
    struct buf sealed = {0};
    kit_load(&sealed, kit_path("made/metrics.fp"));
    const size_t blocks = end_of_blocks(&sealed);
    for (size_t n = 0; n <= f.tail.len; n++) {
        struct files at = {.fp = {sealed.p, blocks, blocks}, .tail = {f.tail.p, n, n}};
        put_files(&at);
        struct kit_dump d = kit_dump_path(kit_path("d/metrics.fp"));
        CHECK(kit_same(&d, &f.all));
        kit_free(&d);
    }
    buf_free(&sealed);
    free_files(&f);
}

TEST(a_tail_of_another_recording_is_not_mixed_in)
{
    struct files f = closed_run(), other = crashed_after_sealing();
    struct files mixed = {.fp = f.fp, .tail = other.tail};
    put_files(&mixed);
    CHECK_INT(look_told(&f), f.all.n);
    free_files(&f);
    free_files(&other);
}

/* Turns one bit of a file around, in place. */
static void flip(int fd, const struct buf *b, size_t bit)
{
    const uint8_t byte = (uint8_t)(b->p[bit / 8] ^ (1u << bit % 8));
    CHECK(pwrite(fd, &byte, 1, (off_t)(bit / 8)) == 1);
}

static void unflip(int fd, const struct buf *b, size_t bit)
{
    CHECK(pwrite(fd, &b->p[bit / 8], 1, (off_t)(bit / 8)) == 1);
}

/* `least`: of the samples, how many must still be there. */
static void flip_all(const struct files *f, const struct buf *b, size_t from, long least)
{
    put_files(f);
    const int fd = open(kit_path(b == &f->fp ? "d/metrics.fp" : "d/metrics.tail"), O_RDWR);
    CHECK(fd >= 0);
    for (size_t bit = from * 8; bit < b->len * 8; bit++) {
        flip(fd, b, bit);
        CHECK(look_told(f) >= least);
        unflip(fd, b, bit);
    }
    close(fd);
}

TEST(any_flipped_bit_of_a_closed_file_never_shows_a_wrong_value)
{
    struct files f = closed_run();
    flip_all(&f, &f.fp, 0, -1);
    free_files(&f);
}

/* Only the bits of the file header. */
static void flip_header(const struct files *f, const struct buf *b)
{
    put_files(f);
    const int fd = open(kit_path(b == &f->fp ? "d/metrics.fp" : "d/metrics.tail"), O_RDWR);
    CHECK(fd >= 0);
    for (size_t bit = 0; bit < FILE_HEADER_LEN * 8; bit++) {
        bool told = false;
        flip(fd, b, bit);
        CHECK_INT(look(f, &told), f->all.n);
        CHECK(told);
        unflip(fd, b, bit);
    }
    close(fd);
}

TEST(a_damaged_header_of_a_closed_file_is_told_and_costs_no_sample)
{
    struct files f = closed_run();
    flip_header(&f, &f.fp);
    free_files(&f);
}

TEST(a_damaged_header_of_a_crashed_run_is_told_and_costs_no_sample)
{
    struct files f = crashed_run();
    flip_header(&f, &f.fp);
    flip_header(&f, &f.tail);
    free_files(&f);
}

TEST(any_flipped_bit_of_a_tail_never_shows_a_wrong_value)
{
    struct files f = crashed_run();
    flip_all(&f, &f.tail, 0, 0);
    free_files(&f);
}

TEST(any_flipped_bit_of_a_crashed_run_leaves_the_other_blocks)
{
    struct files f = crashed_after_sealing();
    flip_all(&f, &f.fp, FILE_HEADER_LEN, 71); /* a segment of fifty may go, no more */
    flip_all(&f, &f.tail, 0, 100);
    free_files(&f);
}

TEST(random_overwritten_intervals_never_show_a_wrong_value)
{
    struct files f = closed_run();
    struct kit_random r = {2};
    struct buf kept = {0};
    buf_put(&kept, f.fp.p, f.fp.len);
    for (int i = 0; i < 1000; i++) {
        const size_t at = kit_below(&r, f.fp.len), n = kit_below(&r, 200);
        for (size_t k = at; k < MIN_OF(at + n, f.fp.len); k++)
            f.fp.p[k] = (uint8_t)kit_next(&r);
        put_files(&f);
        look_told(&f);
        memcpy(f.fp.p, kept.p, kept.len);
    }
    buf_free(&kept);
    free_files(&f);
}

TEST(a_newer_major_version_is_refused_in_a_sentence)
{
    struct files f = closed_run();
    struct store *s;
    struct err e;
    kit_set_version(kit_path("d/metrics.fp"), 2, 0);
    CHECK_INT(store_open(&s, kit_path("d/metrics.fp"), &e), ERR_VERSION);
    CHECK(strstr(e.msg, "version 2") && strstr(e.msg, "newer"));
    free_files(&f);
}

TEST(a_newer_minor_version_reads)
{
    struct files f = closed_run();
    kit_set_version(kit_path("d/metrics.fp"), 1, 9);
    CHECK_INT(look_told(&f), f.all.n);
    free_files(&f);
}

TEST(a_block_of_an_unknown_kind_is_skipped)
{
    struct files f = crashed_after_sealing();
    struct buf head = {0}, data = {0};
    buf_str(&head, "from the future");
    const struct block_header h = {.kind = 9, .segment = 2};
    block_put(&f.fp, &h, &head, &data);
    put_files(&f);
    CHECK_INT(look_told(&f), f.all.n);
    buf_free(&head);
    free_files(&f);
}

TEST(a_record_of_an_unknown_kind_is_stepped_over)
{
    struct files f = crashed_run();
    struct buf payload = {0};
    const size_t begun = record_begin(&payload, (enum record_tag)99);
    buf_str(&payload, "from the future");
    record_end(&payload, begun);
    kit_frame(&f.tail, &payload, 1);
    payload.len = 0;
    kit_tie(&payload, 1, 1);
    kit_frame(&f.tail, &payload, 1);
    put_files(&f);
    bool told = true;
    CHECK_INT(look(&f, &told), f.all.n);
    CHECK(!told);
    buf_free(&payload);
    free_files(&f);
}

TEST(what_is_no_store_is_refused_in_a_sentence)
{
    struct store *s;
    struct err e;
    kit_mkdir(kit_path("d"));
    static const char *const texts[] = {
        "",
        "{}",
        "\x89PNG\r\n\x1a\n: more than sixty-four bytes of something that is no store, a picture",
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        kit_save(kit_path("d/metrics.fp"), texts[i], strlen(texts[i]));
        CHECK_INT(store_open(&s, kit_path("d/metrics.fp"), &e), ERR_FORMAT);
        CHECK(strstr(e.msg, "metrics.fp"));
    }
    CHECK_INT(store_open(&s, kit_path("d/none.fp"), &e), ERR_SYS);
    CHECK_INT(store_open(&s, kit_path("d"), &e), ERR_FORMAT);
    struct files f = crashed_run();
    kit_save(kit_path("d/metrics.fp"), f.tail.p, f.tail.len);
    CHECK_INT(store_open(&s, kit_path("d/metrics.fp"), &e), ERR_FORMAT);
    CHECK(strstr(e.msg, "is a tail"));
    free_files(&f);
}

/* A writer on a full disk cuts its file back while somebody has it open. */
TEST(a_file_that_shrinks_while_it_is_open_does_no_harm)
{
    struct files f = crashed_after_sealing();
    struct store *s;
    struct err e;
    OK(store_open(&s, kit_path("d/metrics.fp"), &e));
    CHECK(truncate(kit_path("d/metrics.fp"), 0) == 0);
    struct kit_dump d = kit_dump_store(s);
    CHECK(kit_same(&d, &f.all));
    kit_free(&d);
    store_close(s);
    free_files(&f);
}
