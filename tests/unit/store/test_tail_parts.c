/* SPDX-License-Identifier: Apache-2.0 */
/* A tail that is longer than the parts in which store_follow seals it shows what was recorded: each
 * test keeps its own list of that. So does one that is read whole. */
#include <sys/stat.h>

#include "base/mem.h"
#include "store/eventkit.h"
#include "test.h"

enum { ROUNDS = 40, EACH = 400, CORES = 60, ROWS = 4000, LONG_TAIL = 256 << 10 };

/* Long enough for several parts, and nothing was sealed. */
static void check_tail(struct writer *w, uint64_t number, const char *path)
{
    struct stat st;
    CHECK(stat(path, &st) == 0 && st.st_size > LONG_TAIL);
    CHECK_INT(writer_tail(w), number);
}

/* ---- events ---- */

struct story {
    struct kit_pair w;
    struct kit_events want;
    struct store *followed;
    struct track main, other, stranger; /* the first two are threads of one process */
};

static void story_open(struct story *s)
{
    *s = (struct story){.w = kit_open_pair(kit_path("node-a")),
                        .main = kit_track(0),
                        .other = kit_track(0),
                        .stranger = kit_track(1)};
    s->other.id++;
}

static void story_tell(struct story *s, const struct track *t, struct event v)
{
    kit_tell(writer_sink(s->w.events), t, &v);
}

static void story_keep(struct story *s, const struct track *t, struct event v)
{
    kit_events_add(&s->want, t, &v);
}

/* So much that every fourth round or so begins another part. */
static void story_fill(struct story *s, int round)
{
    char name[16], args[64];
    struct err e;
    for (int i = 0; i < EACH; i++) {
        snprintf(name, sizeof name, "work %d", i % 7);
        snprintf(args, sizeof args, "{\"batch\":%d}", round * EACH + i);
        const struct event v = {.at = {1000000 * (int64_t)(round + 1) + i * 1000},
                                .dur_ns = 10 + i,
                                .kind = EVENT_SPAN,
                                .name = name,
                                .args = args,
                                .value = round,
                                .link = (uint64_t)i};
        story_tell(s, i % 3 ? &s->other : &s->stranger, v);
        story_keep(s, i % 3 ? &s->other : &s->stranger, v);
    }
    OK(writer_flush(s->w.events, false, &e));
}

static struct event open_span(const char *name, int64_t at)
{
    return (struct event){.at = {at},
                          .kind = EVENT_SPAN,
                          .name = name,
                          .args = "why",
                          .value = 7,
                          .link = 8,
                          .parent = 9,
                          .end = END_OPEN};
}

static void story_compare(struct kit_events got, const struct kit_events *want)
{
    CHECK_INT(got.n, want->n);
    CHECK(kit_events_same(&got, want));
    kit_events_free(&got);
}

/* Compares all that can be seen now. `open` lasts until its process was last seen. */
static void story_check(struct story *s, const struct event *open, size_t n)
{
    const char *path = kit_path("node-a/events.fp");
    struct kit_events want = {0};
    struct err e;
    int64_t last = 0;
    for (size_t i = 0; i < s->want.n; i++) {
        const struct kit_event *v = &s->want.v[i];
        if (v->track.pid == s->main.pid)
            last = MAX_OF(last, v->event.at.ns + v->event.dur_ns);
        kit_events_add(&want, &v->track, &v->event);
    }
    for (size_t i = 0; i < n; i++) {
        struct event v = open[i];
        v.dur_ns = last - v.at.ns;
        kit_events_add(&want, &s->main, &v);
    }
    kit_events_sort(&want);
    OK(store_follow(&s->followed, &store_files, path, &e));
    story_compare(kit_events_of(s->followed), &want);
    story_compare(kit_events_path(path), &want);
    kit_events_free(&want);
}

/* The span now has an end. */
static void story_end(struct story *s, struct event *v, int64_t dur_ns)
{
    v->end = END_KNOWN;
    v->dur_ns = dur_ns;
    story_tell(s, &s->main, *v);
    story_keep(s, &s->main, *v);
}

/* The last of them ends where it began, the others one by one in later parts, the first one never.
 * The second is recorded again in every part. */
TEST(spans_that_are_open_over_several_parts_of_a_tail_are_shown_once)
{
    struct story s;
    struct event open[] = {open_span("never", 100), open_span("again", 200), open_span("late", 300),
                           open_span("soon", 400)};
    size_t n = COUNT_OF(open);
    story_open(&s);
    const uint64_t number = writer_tail(s.w.events);
    for (size_t i = 0; i < n; i++)
        story_tell(&s, &s.main, open[i]);
    for (int i = 0; i < ROUNDS; i++) {
        if (n > 1)
            story_tell(&s, &s.main, open[1]);
        if (i == 0 || i == ROUNDS / 2 || i == ROUNDS - 2)
            story_end(&s, &open[--n], 12345 + i);
        story_fill(&s, i);
        story_check(&s, open, n);
    }
    CHECK_INT(n, 1);
    check_tail(s.w.events, number, kit_path("node-a/events.tail"));
    kit_close_pair(&s.w);
    story_check(&s, NULL, 0); /* a closed file has no open ones */
    kit_events_free(&s.want);
    store_close(s.followed);
}

/* ---- readings ---- */

static void row_commit(struct kit_dump *want, struct group *g, struct writer *w, int64_t t_us)
{
    for (slot_id i = 0; i < g->n; i++)
        if (g->slots[i].used && g->cells[i] != CELL_MISSING)
            kit_add(want, metrics[g->slots[i].metric].name,
                    arena_strdup(&want->arena, g->slots[i].entity), t_us,
                    (double)g->cells[i] * g->slots[i].step);
    group_commit(g, writer_sink(w), (mono_ns){t_us * NS_PER_US});
}

/* Every tenth series has large numbers, and some readings failed. */
static void row_read(struct group *g, struct kit_random *random)
{
    for (slot_id i = 0; i < g->n; i++)
        if (kit_below(random, 9))
            g->cells[i] = (int64_t)kit_below(random, i % 10 ? 100 : 1000000);
}

static void compare_rows(struct kit_dump got, const struct kit_dump *want)
{
    CHECK_INT(got.n, want->n);
    CHECK(kit_same(&got, want));
    kit_free(&got);
}

static void check_rows(struct store **followed, struct kit_dump *want)
{
    const char *path = kit_path("node-a/metrics.fp");
    struct err e;
    kit_sort(want);
    OK(store_follow(followed, &store_files, path, &e));
    compare_rows(kit_dump_store(*followed), want);
    compare_rows(kit_dump_path(path), want);
}

TEST(readings_in_several_parts_of_a_tail_are_those_that_were_recorded)
{
    struct kit_pair w = kit_open_pair(kit_path("node-a"));
    struct kit_dump want = {0};
    struct store *followed = NULL;
    struct kit_random random = {11};
    struct group cpu, slow;
    struct err e;
    char name[16];
    const uint64_t number = writer_tail(w.metrics);
    group_open(&cpu, "cpu", 100 * NS_PER_MS);
    group_open(&slow, "mem", 70 * NS_PER_S); /* it has no row in some parts */
    group_add(&slow, M_MEM_UTIL, "node");
    for (int i = 0; i < CORES; i++) {
        snprintf(name, sizeof name, "cpu%d", i);
        group_add(&cpu, M_CPU_UTIL, name);
    }
    for (int i = 0; i < ROWS; i++) {
        row_read(&cpu, &random);
        row_commit(&want, &cpu, w.metrics, 5000000 + i * INT64_C(100000) + i % 13);
        slow.cells[0] = i;
        if (i % 700 == 0)
            row_commit(&want, &slow, w.metrics, 5000050 + i * INT64_C(100000));
        if (i == ROWS / 2)
            group_drop(&cpu, 3);
        if (i == ROWS / 2 + 600) /* another series in its place */
            group_add(&cpu, M_CPU_UTIL, "late");
        if (i % 10 == 0)
            OK(writer_flush(w.metrics, false, &e));
        if (i % 500 == 0)
            check_rows(&followed, &want);
    }
    check_tail(w.metrics, number, kit_path("node-a/metrics.tail"));
    kit_close_pair(&w);
    check_rows(&followed, &want);
    store_close(followed);
    kit_free(&want);
    group_close(&cpu);
    group_close(&slow);
}
