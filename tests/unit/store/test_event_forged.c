/* SPDX-License-Identifier: Apache-2.0 */
/* Records and blocks of events made up by hand: what no writer writes is refused, what a later
 * version may write reads as what comes nearest, and nothing crashes. */
#include "base/mem.h"
#include "store/event_columns.h"
#include "store/eventkit.h"
#include "test.h"

/* ---- records by hand ---- */

struct hand_track {
    unsigned number, kind;
    uint64_t pid, id;
    const char *process, *name;
};

static void put_track(struct buf *out, struct hand_track t)
{
    const size_t begun = record_begin(out, TAG_TRACK);
    buf_varint(out, t.number);
    buf_u8(out, (uint8_t)t.kind);
    buf_varint(out, t.pid);
    buf_varint(out, t.id);
    buf_str(out, t.process ? t.process : "");
    buf_str(out, t.name ? t.name : "");
    record_end(out, begun);
}

static void put_text(struct buf *out, unsigned number, unsigned what, const char *text)
{
    const size_t begun = record_begin(out, TAG_NAME);
    buf_varint(out, number);
    buf_varint(out, what);
    buf_str(out, text);
    record_end(out, begun);
}

/* The numbers of an event as they are, each a varint; the first is a byte. */
static void put_events(struct buf *out, unsigned track, const uint64_t *v, size_t n)
{
    const size_t begun = record_begin(out, TAG_EVENTS);
    buf_varint(out, track);
    for (size_t i = 0; i < n; i++)
        buf_varint(out, v[i]);
    record_end(out, begun);
}

#define PUT_EVENTS(out, track, ...)                                                                \
    put_events(out, track, (const uint64_t[]){__VA_ARGS__},                                        \
               sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

/* One track, two texts. */
static struct buf begun(void)
{
    struct buf b = {0};
    put_track(&b, (struct hand_track){.pid = 7, .id = 8});
    put_text(&b, 0, EVENT_SPAN, "a");
    put_text(&b, 1, EVENT_MARK | CAT_USER << WHAT_CATEGORY_SHIFT, "b");
    return b;
}

static bool feed(const struct buf *b)
{
    struct segment s = {0};
    const bool good = segment_feed(&s, b->p, b->len);
    segment_free(&s);
    return good;
}

static void refused(struct buf b)
{
    CHECK(!feed(&b));
    buf_free(&b);
}

TEST(event_records_by_hand_are_taken)
{
    struct buf b = begun();
    PUT_EVENTS(&b, 0, 0, 0, zigzag(500));
    PUT_EVENTS(&b, 0, HAS_DUR | HAS_ARGS, 1, zigzag(-100), 50, 0);
    put_track(&b, (struct hand_track){.pid = 7, .id = 8, .name = "renamed"});
    struct segment s = {0};
    struct bare_event v;
    CHECK(segment_feed(&s, b.p, b.len));
    CHECK_INT(s.n_tracks, 1);
    CHECK_STR(s.tracks[0].name, "renamed");
    CHECK_INT(s.tracks[0].rows, 2);
    CHECK_INT(s.tracks[0].last, 500);
    struct event_cur c = segment_events(&s.tracks[0]);
    CHECK(segment_event(&s, &c, &v) && v.at == 500 && v.what == EVENT_SPAN && v.args == 0);
    CHECK(segment_event(&s, &c, &v) && v.at == 400 && v.dur == 50 && v.args == 1 && v.name == 1);
    CHECK(!segment_event(&s, &c, &v));
    segment_free(&s);
    buf_free(&b);
}

TEST(event_records_that_no_writer_writes_are_refused)
{
    struct buf b = begun();
    PUT_EVENTS(&b, 1, 0, 0, 0); /* no such track */
    refused(b);
    b = begun();
    PUT_EVENTS(&b, 0, 0, 2, 0); /* no such text */
    refused(b);
    b = begun();
    PUT_EVENTS(&b, 0, HAS_ARGS, 0, 0, 2);
    refused(b);
    b = begun();
    PUT_EVENTS(&b, 0, 0, 0); /* ends early */
    refused(b);
    b = begun();
    PUT_EVENTS(&b, 0, HAS_WHAT, 0, WHAT_MOST + 1, 0);
    refused(b);
    b = begun();
    PUT_EVENTS(&b, 0, HAS_WHAT, 0, 1 << WHAT_END_SHIFT, 0); /* the end stands elsewhere */
    refused(b);
    b = begun();
    PUT_EVENTS(&b, 0, 0, 0, zigzag(TIME_MOST_NS + 1));
    refused(b);
    b = begun();
    PUT_EVENTS(&b, 0, HAS_DUR, 0, zigzag(1), TIME_MOST_NS);
    refused(b);
    b = begun();
    PUT_EVENTS(&b, 0, HAS_DUR, 0, 0, UINT64_MAX);
    refused(b);
}

TEST(tracks_and_texts_that_no_writer_writes_are_refused)
{
    struct buf b = begun();
    put_track(&b, (struct hand_track){.number = 2}); /* a number left out */
    refused(b);
    b = begun();
    put_track(&b, (struct hand_track){.number = 0, .pid = 7, .id = 9}); /* another by that number */
    refused(b);
    b = begun();
    put_track(&b, (struct hand_track){.number = 1, .pid = UINT64_C(1) << 32});
    refused(b);
    b = begun();
    put_text(&b, 1, 0, "twice");
    refused(b);
    b = begun();
    put_text(&b, 3, 0, "left out");
    refused(b);
    b = begun();
    put_text(&b, 2, WHAT_MOST + 1, "x");
    refused(b);
    b = begun();
    put_text(&b, 2, END_OPEN << WHAT_END_SHIFT, "x");
    refused(b);
    b = begun();
    char name[EVENT_NAME_MOST + 1];
    memset(name, 'x', sizeof name);
    name[EVENT_NAME_MOST] = 0;
    put_text(&b, 2, 0, name);
    refused(b);
    b = begun();
    name[TRACK_NAME_LEN] = 0;
    put_track(&b, (struct hand_track){.number = 1, .name = name});
    refused(b);
}

TEST(every_cut_of_a_payload_of_events_is_refused_or_whole)
{
    struct buf b = begun();
    const size_t head = b.len;
    PUT_EVENTS(&b, 0, HAS_DUR, 0, zigzag(500), 3, HAS_VALUE, 1, zigzag(5), zigzag(-7));
    size_t good = 0;
    for (size_t n = 1; n <= b.len; n++) {
        const struct buf cut = {b.p, n, n};
        const bool taken = feed(&cut);
        CHECK(!taken || n <= head || n == b.len);
        good += taken;
    }
    CHECK_INT(good, 4); /* after each of the four records */
    buf_free(&b);
}

/* A whole list: what is behind a bad one in the same record is not taken either. */
TEST(a_record_of_events_with_one_that_is_bad_counts_for_nobody)
{
    struct buf b = begun();
    PUT_EVENTS(&b, 0, 0, 0, 10);
    PUT_EVENTS(&b, 0, 0, 0, 10, 0, 9, 10);
    struct segment s = {0};
    CHECK(!segment_feed(&s, b.p, b.len));
    CHECK_INT(s.tracks[0].rows, 1);
    CHECK_INT(s.tracks[0].events.len, 3);
    segment_free(&s);
    buf_free(&b);
}

/* ---- blocks by hand ---- */

enum { ROWS = 3 };

/* What a block by hand says; a zeroed one with the names is whole. */
struct hand {
    uint32_t rows, n_names;
    unsigned track_kind, more_columns;
    int64_t first_us, last_us;
    int64_t column[EVENT_COLUMN_N][ROWS];
    const char *texts; /* bytes of the texts, with what and length */
    size_t texts_len;
};

#define TEXTS "\x01\x01x\x01\x02yz"

static struct hand whole(void)
{
    struct hand h = {.rows = ROWS, .n_names = 2, .last_us = 1000, .texts = TEXTS};
    h.texts_len = sizeof TEXTS - 1;
    h.column[COLUMN_NAME][1] = 1;
    h.column[COLUMN_AT][1] = 2 * 70;
    return h;
}

static void put_hand(const struct hand *h, struct codec *c, struct buf *head, struct buf *data)
{
    struct buf all = {0}, bytes = {0};
    buf_u8(head, (uint8_t)h->track_kind);
    buf_varint(head, 7);
    buf_varint(head, 8);
    buf_str(head, "process");
    buf_str(head, "thread");
    buf_varint(head, h->n_names);
    buf_put(&all, h->texts, h->texts_len);
    codec_put_bytes(c, &all, &bytes);
    blob_put(head, data, &bytes);
    buf_varint(head, EVENT_COLUMN_N + h->more_columns);
    for (unsigned k = 0; k < EVENT_COLUMN_N + h->more_columns; k++) {
        bytes.len = 0;
        codec_encode(c, h->column[k % EVENT_COLUMN_N], ROWS, true, &bytes);
        blob_put(head, data, &bytes);
    }
    buf_free(&all);
    buf_free(&bytes);
}

/* -1: no such block. 0: damaged. 1: read. Texts are only looked at, not kept. */
static int read_hand(const struct hand *h, struct event *out, struct track *track)
{
    struct codec *c = codec_open();
    struct buf head = {0}, data = {0};
    struct events_block b;
    struct arena a = {0};
    put_hand(h, c, &head, &data);
    const struct block_header bh = {.kind = BLOCK_EVENTS,
                                    .head_len = (uint32_t)head.len,
                                    .payload_len = (uint32_t)(head.len + data.len),
                                    .t_first_us = h->first_us,
                                    .t_last_us = h->last_us,
                                    .rows = h->rows};
    buf_put(&head, data.p, data.len);
    int got = -1;
    if (event_block_get(&bh, head.p, &b)) {
        CHECK_INT(event_block_verify(&b), 0);
        got = block_events(c, &b, &a, out);
        *track = b.track;
        for (unsigned i = 0; got == 1 && i < ROWS; i++) {
            CHECK(strcmp(out[i].name, "x") == 0 || strcmp(out[i].name, "yz") == 0);
            out[i].name = NULL;
        }
    }
    codec_close(c);
    arena_free(&a);
    buf_free(&head);
    buf_free(&data);
    return got;
}

static int result_of(const struct hand *h)
{
    struct event v[ROWS];
    struct track t;
    return read_hand(h, v, &t);
}

TEST(a_block_by_hand_reads)
{
    struct hand h = whole();
    struct event v[ROWS];
    struct track t;
    h.column[COLUMN_DUR][0] = 100;
    h.column[COLUMN_AT][1] = 2 * 30 + 1; /* inside the first */
    h.column[COLUMN_AT][2] = 2 * 5;      /* after the second */
    h.column[COLUMN_DUR][1] = 10;
    h.column[COLUMN_VALUE][0] = 50;
    h.column[COLUMN_VALUE][2] = -8; /* same name as the first */
    CHECK_INT(read_hand(&h, v, &t), 1);
    CHECK_INT(v[0].at.ns, 0);
    CHECK_INT(v[1].at.ns, 30);
    CHECK_INT(v[2].at.ns, 45);
    CHECK_INT(v[2].value, 42);
    CHECK_INT(v[0].kind, EVENT_SPAN);
    CHECK_STR(t.process, "process");
}

TEST(numbers_out_of_range_in_a_block_make_it_damaged)
{
    static const struct {
        enum event_column column;
        int64_t value;
    } bad[] = {
        {COLUMN_NAME, 2},         {COLUMN_NAME, -1},
        {COLUMN_NAME, INT64_MIN}, {COLUMN_ARGS, 3},
        {COLUMN_ARGS, -1},        {COLUMN_DUR, -1},
        {COLUMN_DUR, 1000001}, /* beyond the block's end */
        {COLUMN_DUR, INT64_MAX},  {COLUMN_AT, 2 * 1000001},
        {COLUMN_AT, 1}, /* inside one that has no duration */
        {COLUMN_AT, -1},          {COLUMN_AT, INT64_MIN},
        {COLUMN_WHAT, WHAT_MOST}, {COLUMN_WHAT, -2},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        for (unsigned row = 0; row < ROWS; row++) {
            struct hand h = whole();
            h.column[bad[i].column][row] = bad[i].value;
            CHECK_INT(result_of(&h), 0);
        }
    struct hand h = whole();
    CHECK_INT(result_of(&h), 1);
}

TEST(texts_that_are_not_what_the_head_says_make_a_block_damaged)
{
    static const struct {
        const char *bytes;
        size_t len;
        uint32_t n;
    } bad[] = {
        {"\x01\x01x", 3, 2},                   /* one is missing */
        {"\x01\x01x\x01\x03yz", 7, 2},         /* cut short */
        {"\x01\x01x\x01\x02y\0", 7, 2},        /* a NUL inside */
        {"\x01\x01x\x80\x80\x04\x02yz", 9, 2}, /* what beyond 16 bits */
        {"", 0, 2},
        {"\x01\x01x\x01\x80", 5, 2},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct hand h = whole();
        h.texts = bad[i].bytes;
        h.texts_len = bad[i].len;
        h.n_names = bad[i].n;
        CHECK_INT(result_of(&h), 0);
    }
}

TEST(heads_that_no_writer_writes_are_no_block)
{
    struct hand h = whole();
    h.rows = 0;
    CHECK_INT(result_of(&h), -1);
    h = whole();
    h.rows = ROWS_MOST + 1;
    CHECK_INT(result_of(&h), -1);
    h = whole();
    h.n_names = 2 * ROWS_MOST + 1;
    CHECK_INT(result_of(&h), -1);
    h = whole();
    h.last_us = -1;
    CHECK_INT(result_of(&h), -1);
    h = whole();
    h.first_us = -TIME_MOST_US - 1;
    CHECK_INT(result_of(&h), -1);
    h = whole();
    h.last_us = TIME_MOST_US + 1;
    CHECK_INT(result_of(&h), -1);
    h = whole();
    h.more_columns = 100;
    CHECK_INT(result_of(&h), -1);
}

TEST(what_a_later_version_adds_reads_as_what_comes_nearest)
{
    struct hand h = whole();
    struct event v[ROWS];
    struct track t;
    h.more_columns = 3;
    h.track_kind = 9;
    h.column[COLUMN_DUR][0] = 10;
    h.column[COLUMN_DUR][2] = 10;
    /* The texts' own `what` is 1, and is added. */
    h.column[COLUMN_WHAT][0] =
        (9 | 9 << WHAT_MODE_SHIFT | 3 << WHAT_END_SHIFT | 60 << WHAT_CATEGORY_SHIFT) - 1;
    h.column[COLUMN_WHAT][1] = 9 - 1;
    h.column[COLUMN_WHAT][2] = (EVENT_STEP | 9 << WHAT_MODE_SHIFT) - 1;
    CHECK_INT(read_hand(&h, v, &t), 1);
    CHECK_INT(t.kind, TRACK_DEVICE);
    CHECK_INT(v[0].kind, EVENT_SPAN);
    CHECK_INT(v[0].mode, MODE_TRAIN);
    CHECK_INT(v[0].end, END_KNOWN);
    CHECK_INT(v[0].category, CAT_OTHER);
    CHECK_INT(v[1].kind, EVENT_MARK);
    CHECK_INT(v[2].kind, EVENT_SPAN); /* a step of an unknown mode is no training step */
}

TEST(a_block_of_an_earlier_version_with_fewer_columns_reads_them_as_zero)
{
    struct codec *c = codec_open();
    struct buf head = {0}, data = {0};
    const struct hand h = whole();
    struct events_block b;
    struct event v[ROWS];
    struct arena a = {0};
    put_hand(&h, c, &head, &data);
    const struct block_header bh = {.head_len = (uint32_t)head.len,
                                    .payload_len = (uint32_t)(head.len + data.len),
                                    .t_last_us = 1000,
                                    .rows = ROWS};
    buf_put(&head, data.p, data.len);
    CHECK(event_block_get(&bh, head.p, &b));
    b.column[COLUMN_LINK] = b.column[COLUMN_ARGS] = (struct blob){0};
    CHECK(block_events(c, &b, &a, v));
    CHECK(v[2].link == 0 && v[2].args == NULL);
    codec_close(c);
    arena_free(&a);
    buf_free(&head);
    buf_free(&data);
}

/* Sixty thousand texts of four kilobytes each from a few bytes: the length is looked at first. */
TEST(texts_that_unpack_to_more_than_a_block_holds_are_refused)
{
    struct codec *c = codec_open();
    struct buf many = {0}, packed = {0}, out = {0};
    buf_reserve(&many, 3 * (size_t)TEXT_BYTES_MOST);
    memset(many.p, 'x', 3 * (size_t)TEXT_BYTES_MOST);
    many.len = 3 * (size_t)TEXT_BYTES_MOST;
    codec_put_bytes(c, &many, &packed);
    CHECK(packed.len < many.len / 1000);
    CHECK(!codec_get_bytes(c, packed.p, packed.len, 2 * (size_t)TEXT_BYTES_MOST, &out));
    CHECK_INT(out.cap, 0);
    CHECK(codec_get_bytes(c, packed.p, packed.len, 3 * (size_t)TEXT_BYTES_MOST, &out));
    CHECK(out.len == many.len && memcmp(out.p, many.p, out.len) == 0);
    codec_close(c);
    buf_free(&many);
    buf_free(&packed);
    buf_free(&out);
}

TEST(a_track_whose_texts_fill_a_block_goes_on_in_the_next)
{
    struct buf fp = {0}, tail = {0}, payload = begun();
    char text[EVENT_NAME_MOST];
    enum { TEXTS_TOLD = TEXT_BYTES_MOST / (EVENT_NAME_MOST - 1) + 100 };
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = 0;
    for (unsigned i = 0; i < TEXTS_TOLD; i++) {
        text[snprintf(text, 16, "%u", i)] = 'x';
        put_text(&payload, 2 + i, EVENT_MARK, text);
        PUT_EVENTS(&payload, 0, 0, 2 + i, zigzag(10));
    }
    const struct kit_id id = {"0123456789abcde"};
    kit_header(&fp, FILE_SEALED, 0, (struct clock_tie){0}, id);
    kit_header(&tail, FILE_TAIL, 1, (struct clock_tie){0}, id);
    kit_frame(&tail, &payload, 1);
    kit_mkdir(kit_path("d"));
    kit_save(kit_path("d/events.fp"), fp.p, fp.len);
    kit_save(kit_path("d/events.tail"), tail.p, tail.len);
    struct store *s;
    struct err e;
    OK(store_open(&s, kit_path("d/events.fp"), &e));
    CHECK_INT(s->n_events, 2);
    struct kit_events got = kit_events_of(s);
    CHECK_INT(got.n, TEXTS_TOLD);
    kit_events_free(&got);
    store_close(s);
    buf_free(&fp);
    buf_free(&tail);
    buf_free(&payload);
}
