/* SPDX-License-Identifier: Apache-2.0 */
/* Files of events cut at every byte and with every bit flipped: what is shown is always what was
 * written. */
#include <fcntl.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/eventkit.h"
#include "test.h"

struct files {
    struct buf fp, tail; /* tail.len 0: none */
    struct kit_events all;
};

enum { FLUSHES = 6, EACH = 9 };

static void tell_small(struct kit_pair *w)
{
    const struct track t[2] = {kit_track(0), kit_track(1)};
    static const char *const names[] = {"data", "forward", "a name that is told later"};
    struct err e;
    for (int i = 0; i < FLUSHES * EACH; i++) {
        struct event v = {.at = {i * 1000}, .dur_ns = i * 37 % 900, .kind = EVENT_SPAN};
        v.name = names[i % (i < 20 ? 2 : 3)];
        v.value = i % 4 * 100;
        v.link = i % 5 == 0 ? (uint64_t)i : 0;
        v.args = i % 11 == 3 ? "x=1" : NULL;
        kit_tell(writer_sink(w->events), &t[i % 2], &v);
        if (i % EACH == EACH - 1)
            OK(writer_flush(w->events, false, &e));
    }
}

static void put_files(const struct files *f)
{
    kit_mkdir(kit_path("d"));
    kit_save(kit_path("d/events.fp"), f->fp.p, f->fp.len);
    if (f->tail.len)
        kit_save(kit_path("d/events.tail"), f->tail.p, f->tail.len);
    else
        unlink(kit_path("d/events.tail"));
}

static void know_all(struct files *f)
{
    put_files(f);
    f->all = kit_events_path(kit_path("d/events.fp"));
    CHECK_INT(f->all.n, FLUSHES * EACH);
}

static void free_files(struct files *f)
{
    buf_free(&f->fp);
    buf_free(&f->tail);
    kit_events_free(&f->all);
}

static struct files crashed_run(struct buf *sealed)
{
    struct files f = {0};
    struct kit_pair w = kit_open_pair(kit_path("made"));
    tell_small(&w);
    kit_load(&f.fp, kit_path("made/events.fp"));
    kit_load(&f.tail, kit_path("made/events.tail"));
    kit_close_pair(&w);
    if (sealed)
        kit_load(sealed, kit_path("made/events.fp"));
    know_all(&f);
    return f;
}

static struct files closed_run(void)
{
    struct files f = {0};
    struct kit_pair w = kit_open_pair(kit_path("made"));
    tell_small(&w);
    kit_close_pair(&w);
    kit_load(&f.fp, kit_path("made/events.fp"));
    know_all(&f);
    return f;
}

/* How many events are shown, -1 when the store does not open. All of them were written. */
static long look(const struct files *f, bool *told)
{
    struct store *s;
    struct err e = {0};
    if (store_open(&s, kit_path("d/events.fp"), &e)) {
        CHECK(strstr(e.msg, "events.fp"));
        return -1;
    }
    struct kit_events got = kit_events_of(s);
    CHECK(kit_events_within(&got, &f->all));
    const long n = (long)got.n;
    *told = kit_count_loss(s, LOSS_DAMAGED) + kit_count_loss(s, LOSS_TORN) + store_verify(s) > 0;
    kit_events_free(&got);
    store_close(s);
    return n;
}

TEST(a_tail_of_events_cut_at_any_byte_shows_every_whole_frame)
{
    struct files f = crashed_run(NULL);
    long before = 0;
    size_t frames = 0;
    for (size_t n = 1; n <= f.tail.len; n++) {
        struct files cut = {.fp = f.fp, .tail = {f.tail.p, n, n}};
        put_files(&cut);
        bool told;
        const long got = look(&f, &told);
        CHECK(got == before || got == before + EACH);
        CHECK_INT(!told, got > before || n == FILE_HEADER_LEN);
        frames += got > before;
        before = got;
    }
    CHECK_INT(frames, FLUSHES);
    free_files(&f);
}

TEST(a_closed_file_of_events_cut_at_any_byte_shows_every_whole_block)
{
    struct files f = closed_run();
    long before = -1;
    for (size_t n = 0; n <= f.fp.len; n++) {
        struct files cut = {.fp = {f.fp.p, n, n}};
        put_files(&cut);
        bool told;
        const long got = look(&f, &told);
        CHECK(got >= before);
        CHECK(got == -1 || got % (FLUSHES * EACH / 2) == 0); /* a block a track */
        before = got;
    }
    CHECK_INT(before, f.all.n);
    free_files(&f);
}

TEST(a_crash_at_any_byte_of_sealing_counts_each_event_once)
{
    struct buf sealed = {0};
    struct files f = crashed_run(&sealed);
    for (size_t n = FILE_HEADER_LEN; n <= sealed.len; n++) {
        struct files at = {.fp = {sealed.p, n, n}, .tail = f.tail};
        put_files(&at);
        bool told;
        CHECK_INT(look(&f, &told), f.all.n);
    }
    buf_free(&sealed);
    free_files(&f);
}

static void flip_all(const struct files *f, const struct buf *b)
{
    put_files(f);
    const int fd = open(kit_path(b == &f->fp ? "d/events.fp" : "d/events.tail"), O_RDWR);
    CHECK(fd >= 0);
    for (size_t bit = 0; bit < b->len * 8; bit++) {
        const uint8_t byte = (uint8_t)(b->p[bit / 8] ^ (1u << bit % 8));
        bool told = true;
        CHECK(pwrite(fd, &byte, 1, (off_t)(bit / 8)) == 1);
        const long got = look(f, &told);
        CHECK(told || got == (long)f->all.n); /* nothing is missing without a word */
        CHECK(pwrite(fd, &b->p[bit / 8], 1, (off_t)(bit / 8)) == 1);
    }
    close(fd);
}

TEST(any_flipped_bit_of_a_closed_file_of_events_never_shows_a_wrong_one)
{
    struct files f = closed_run();
    flip_all(&f, &f.fp);
    free_files(&f);
}

TEST(any_flipped_bit_of_a_tail_of_events_never_shows_a_wrong_one)
{
    struct files f = crashed_run(NULL);
    flip_all(&f, &f.tail);
    free_files(&f);
}
