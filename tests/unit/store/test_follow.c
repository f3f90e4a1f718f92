/* SPDX-License-Identifier: Apache-2.0 */
/* A store that is followed while its file grows is the one that is followed from now on: the same
 * blocks, byte by byte, in the same order, and the same lists. Whatever happens to the files
 * meanwhile. test_tail_parts.c compares what is in the blocks with what was recorded. */
#include <unistd.h>

#include "base/mem.h"
#include "store/eventkit.h"
#include "test.h"

enum { CORES = 150, LOOKS = 120, ROWS = 40, ROUNDS = 40 };

/* ---- two stores are one ---- */

static void same_blob(const struct blob *a, const struct blob *b)
{
    CHECK_INT(a->len, b->len);
    CHECK(a->len == 0 || memcmp(a->p, b->p, a->len) == 0);
}

static void same_text(const struct text *a, const struct text *b)
{
    CHECK_INT(a->n, b->n);
    CHECK(memcmp(a->p, b->p, a->n) == 0);
}

static void same_rows(const struct rows_block *a, const struct rows_block *b)
{
    same_text(&a->group, &b->group);
    CHECK_INT(a->t_first_us, b->t_first_us);
    CHECK_INT(a->t_last_us, b->t_last_us);
    CHECK_INT(a->rows, b->rows);
    CHECK_INT(a->in_tail, b->in_tail);
    same_blob(&a->times, &b->times);
    CHECK_INT(a->n_columns, b->n_columns);
    for (uint32_t i = 0; i < a->n_columns; i++) {
        const struct column *x = &block_columns(a)[i], *y = &block_columns(b)[i];
        same_text(&x->metric, &y->metric);
        same_text(&x->entity, &y->entity);
        CHECK_INT(x->first_row, y->first_row);
        CHECK_INT(x->count, y->count);
        same_blob(&x->values, &y->values);
    }
}

static void same_events(const struct events_block *a, const struct events_block *b)
{
    CHECK(memcmp(&a->track, &b->track, sizeof a->track) == 0);
    CHECK_INT(a->t_first_us, b->t_first_us);
    CHECK_INT(a->rows, b->rows);
    CHECK_INT(a->in_tail, b->in_tail);
    same_blob(&a->names, &b->names);
    for (int i = 0; i < EVENT_COLUMN_N; i++)
        same_blob(&a->column[i], &b->column[i]);
}

static void same_series(const struct store_series *a, const struct store_series *b)
{
    CHECK_STR(a->metric, b->metric);
    CHECK_STR(a->entity, b->entity);
    CHECK_INT(a->n_refs, b->n_refs);
    CHECK(memcmp(a->refs, b->refs, a->n_refs * sizeof *a->refs) == 0);
}

static void same_totals(const struct store *a, const struct store *b)
{
    CHECK_INT(a->rows, b->rows);
    CHECK_INT(a->samples, b->samples);
    CHECK_INT(a->file_bytes, b->file_bytes);
    CHECK_INT(a->t_first_us, b->t_first_us);
    CHECK_INT(a->t_last_us, b->t_last_us);
    CHECK_INT(a->closed, b->closed);
}

static void same_lists(const struct store *a, const struct store *b)
{
    CHECK_INT(a->n_losses, b->n_losses);
    for (uint32_t i = 0; i < a->n_losses; i++) {
        CHECK_INT(a->losses[i].id, b->losses[i].id);
        CHECK_INT(a->losses[i].count, b->losses[i].count);
    }
    CHECK_INT(a->n_marks, b->n_marks);
    for (uint32_t i = 0; i < a->n_marks; i++)
        CHECK_INT(a->marks[i].at.ns, b->marks[i].at.ns);
    CHECK_INT(a->n_ties, b->n_ties);
    CHECK(memcmp(a->ties, b->ties, a->n_ties * sizeof *a->ties) == 0);
    CHECK_INT(a->n_steps, b->n_steps);
}

static void same_stores(const struct store *a, const struct store *b)
{
    CHECK_INT(a->n_blocks, b->n_blocks);
    for (uint32_t i = 0; i < a->n_blocks; i++)
        same_rows(&a->blocks[i], &b->blocks[i]);
    CHECK_INT(a->n_events, b->n_events);
    for (uint32_t i = 0; i < a->n_events; i++)
        same_events(&a->events[i], &b->events[i]);
    CHECK_INT(a->n_series, b->n_series);
    for (uint32_t i = 0; i < a->n_series; i++)
        same_series(&a->series[i], &b->series[i]);
    same_lists(a, b);
    same_totals(a, b);
}

static int begun; /* files that were opened from their begin */

static int count_map(const char *path, bool growing, struct fmap *out, struct err *e)
{
    begun++;
    return store_files.map(path, growing, out, e);
}

static int count_follow(const char *path, struct fmap *out, struct buf *more, struct err *e)
{
    begun += out->len == 0;
    return store_files.follow(path, out, more, e);
}

/* Returns whether it went on with what it had. */
static bool look(struct store **s, const char *path)
{
    struct err e;
    struct store *anew = NULL, *whole;
    const struct store_source source = {store_files.read, count_map, count_follow};
    begun = 0;
    OK(store_follow(s, &source, path, &e));
    const bool went_on = begun == 0;
    OK(store_follow(&anew, &store_files, path, &e));
    OK(store_open(&whole, path, &e));
    same_stores(*s, anew);
    same_lists(*s, whole);
    same_totals(*s, whole);
    CHECK_INT(store_verify(*s), 0);
    store_close(anew);
    store_close(whole);
    return went_on;
}

/* ---- what is recorded ---- */

struct life {
    struct kit_pair w;
    struct kit_random random;
    struct group cpu, late, slow;
    struct store *metrics, *events;
    int64_t row;
    int followed;
};

static void life_open(struct life *l)
{
    char name[16];
    *l = (struct life){.w = kit_open_pair(kit_path("node-a")), .random = {5}};
    group_open(&l->cpu, "cpu", 100 * NS_PER_MS);
    for (int i = 0; i < CORES; i++) {
        snprintf(name, sizeof name, "cpu%d", i);
        group_add(&l->cpu, M_CPU_UTIL, name);
    }
    group_open(&l->slow, "mem", NS_PER_S);
    group_add(&l->slow, M_MEM_UTIL, "node");
    group_open(&l->late, "gpu", 100 * NS_PER_MS);
    group_add(&l->late, M_GPU_UTIL, "gpu0");
}

/* Writers whose files were cut may fail. */
static void life_close(struct life *l)
{
    struct err e;
    if (l->w.events)
        (void)!writer_close(l->w.events, &e);
    if (l->w.metrics)
        (void)!writer_close(l->w.metrics, &e);
    store_close(l->metrics);
    store_close(l->events);
    group_close(&l->cpu);
    group_close(&l->slow);
    group_close(&l->late);
}

static void life_row(struct life *l)
{
    struct sink *s = writer_sink(l->w.metrics);
    const mono_ns t = {l->row * 100 * NS_PER_MS};
    for (slot_id i = 0; i < l->cpu.n; i++)
        l->cpu.cells[i] =
            kit_below(&l->random, 9) ? (int64_t)kit_below(&l->random, 100000) : CELL_MISSING;
    group_commit(&l->cpu, s, t);
    l->slow.cells[0] = l->row;
    if (l->row % 10 == 0)
        group_commit(&l->slow, s, mono_add(t, 1000));
    l->late.cells[0] = l->row % 7;
    if (l->row > ROWS * LOOKS / 2) /* a group that comes late */
        group_commit(&l->late, s, mono_add(t, 2000));
    if (l->row % 100 == 0)
        s->ops->loss(s, &(struct loss){.id = LOSS_PAUSED, .count = 3, .at = t});
    if (l->row % 170 == 0)
        s->ops->mark(s, &(struct mark){.id = MARK_JOB_START, .at = t, .number = l->row});
    l->row++;
}

/* Spans in spans; some are open for long, and their end may come in another part or tail. */
static void life_events(struct life *l)
{
    struct sink *s = writer_sink(l->w.events);
    char text[1200];
    for (unsigned k = 0; k < 8; k++) {
        const struct track t = kit_track((unsigned)kit_below(&l->random, 3));
        const int64_t at = l->row * 100 * NS_PER_MS + k;
        memset(text, 'a' + (int)kit_below(&l->random, 26), sizeof text);
        snprintf(text, sizeof text, "%llu", (unsigned long long)kit_next(&l->random));
        text[strlen(text)] = '-';
        text[sizeof text - 1] = 0;
        kit_tell(s, &t,
                 &(struct event){
                     .at = {at}, .dur_ns = 50, .kind = EVENT_SPAN, .name = "work", .args = text});
    }
    const struct track t = kit_track(0);
    struct event v = {
        .at = {l->row / 50 * 5 * NS_PER_S}, .kind = EVENT_SPAN, .name = "epoch", .end = END_OPEN};
    if (l->row % 50 == 20)
        kit_tell(s, &t, &v);
    v.dur_ns = 4 * NS_PER_S;
    v.end = END_KNOWN;
    if (l->row % 50 == 40 && l->row % 200 != 40) /* some never end */
        kit_tell(s, &t, &v);
}

static void life_go_on(struct life *l)
{
    struct err e;
    const int64_t until = l->row + 1 + (int64_t)kit_below(&l->random, 2 * ROWS);
    while (l->row < until) {
        life_row(l);
        life_events(l);
        if (l->row % 10 == 0) {
            OK(writer_flush(l->w.metrics, false, &e));
            OK(writer_flush(l->w.events, false, &e));
        }
    }
}

static void life_look(struct life *l)
{
    l->followed += look(&l->metrics, kit_path("node-a/metrics.fp"));
    l->followed += look(&l->events, kit_path("node-a/events.fp"));
}

TEST(a_store_that_was_followed_for_long_is_the_one_that_is_followed_from_now_on)
{
    struct life l;
    life_open(&l);
    life_look(&l); /* nothing is in it */
    for (int i = 0; i < LOOKS; i++) {
        life_go_on(&l);
        life_look(&l);
    }
    CHECK(l.metrics->n_blocks > 10 && l.events->n_events > 10);
    CHECK_INT(l.followed, 2 * LOOKS); /* it was never opened anew */
    kit_close_pair(&l.w);
    l.w = (struct kit_pair){0};
    life_look(&l);
    CHECK(l.metrics->closed && l.events->closed);
    CHECK_INT(l.followed, 2 * LOOKS);
    life_close(&l);
}

/* ---- files that do not only grow ---- */

static void life_some(struct life *l)
{
    life_open(l);
    for (int i = 0; i < ROUNDS; i++)
        life_go_on(l);
    life_look(l);
    CHECK_INT(l->followed, 0);
    life_go_on(l);
    life_look(l);
    CHECK_INT(l->followed, 2);
}

TEST(a_file_that_was_replaced_is_opened_anew)
{
    struct life l;
    life_some(&l);
    kit_copy(kit_path("node-a/copy"), kit_path("node-a/metrics.fp"));
    CHECK(rename(kit_path("node-a/copy"), kit_path("node-a/metrics.fp")) == 0);
    CHECK(!look(&l.metrics, kit_path("node-a/metrics.fp")));
    life_close(&l);
}

TEST(a_file_that_was_cut_is_opened_anew)
{
    struct life l;
    life_some(&l);
    CHECK(truncate(kit_path("node-a/metrics.fp"), FILE_HEADER_LEN) == 0);
    CHECK(!look(&l.metrics, kit_path("node-a/metrics.fp")));
    life_close(&l);
}

TEST(a_tail_that_was_cut_is_opened_anew)
{
    struct life l;
    struct buf b = {0};
    life_some(&l);
    kit_load(&b, kit_path("node-a/events.tail"));
    CHECK(truncate(kit_path("node-a/events.tail"), (off_t)b.len / 2) == 0);
    CHECK(!look(&l.events, kit_path("node-a/events.fp")));
    kit_save(kit_path("node-a/events.tail"), b.p, b.len - 3); /* and one that ends in a frame */
    look(&l.events, kit_path("node-a/events.fp"));
    kit_save(kit_path("node-a/events.tail"), b.p, b.len);
    look(&l.events, kit_path("node-a/events.fp"));
    buf_free(&b);
    life_close(&l);
}

TEST(a_segment_in_file_and_tail_counts_once)
{
    struct life l;
    struct buf b = {0};
    life_some(&l);
    const uint32_t before = l.metrics->n_blocks;
    for (uint32_t seals = before;
         l.metrics->n_blocks >= seals && l.metrics->n_blocks < before + 60;) {
        seals = l.metrics->n_blocks; /* it is less when a tail was sealed */
        kit_load(&b, kit_path("node-a/metrics.tail"));
        life_go_on(&l);
        life_look(&l);
    }
    kit_save(kit_path("node-a/metrics.tail"), b.p, b.len); /* as if it was not emptied yet */
    CHECK(!look(&l.metrics, kit_path("node-a/metrics.fp")));
    buf_free(&b);
    life_close(&l);
}
