/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold for any events at all, tried on many that nobody would write by hand. */
#include "base/mem.h"
#include "query/stepkit.h"
#include "query/steps_internal.h"
#include "store/storekit.h"
#include "test.h"

enum { STREAMS = 3000, EVENTS_MOST = 60 };

/* A text of stepkit.h. Loops that look like loops, and plain noise of at least so many ns. */
static void make_text(struct kit_random *r, char *out, size_t size, unsigned least, bool said)
{
    static const char *const loops[] = {
        "D3 F2 B2 O1 ",
        "D3 F2 B2 ",
        "D1 E2 ",
        "L1 ",
        "F2 B2 O1:0 F1 B1 O1:1 ",
        "Z1 F2 B2 O1 ",
        "E1 E1 E1 ",
        "D2 N8 F2 .1 B2(C1) O1 ",
        "D1 O9(F2 B3) ",
        "B9(O1:3 .1 O1:4) ",
        "D5 D1 ",
        ".4 K3 ",
        "F1 ",
        "D1 F3(X2) B2 O2 ",
        "U9(D2 F1 B1) ",
        "O2:2(O1:3) ",
        "B5(F2 .1 B1) ",
    };
    static const char letters[] = "DFEBOZHXKCLUDFBO";
    size_t len = 0;
    out[0] = '\0';
    for (size_t i = kit_below(r, EVENTS_MOST); i > 0 && len + 64 < size; i--) {
        const size_t left = size - len;
        char *at = out + len;
        const uint64_t what = kit_below(r, 8);
        if (what < 4)
            len += (size_t)snprintf(at, left, "%s", loops[kit_below(r, COUNT_OF(loops))]);
        else if (what < 7)
            len += (size_t)snprintf(at, left, "%c%u:%u ", letters[kit_below(r, 16)],
                                    least + (unsigned)kit_below(r, 4), (unsigned)kit_below(r, 3));
        else if (said)
            len += (size_t)snprintf(at, left, "S%u:%u(D1 F1) ", 2 + (unsigned)kit_below(r, 6),
                                    (unsigned)i);
        else
            len += (size_t)snprintf(at, left, "N%u .1 ", (unsigned)kit_below(r, 9));
    }
    if (kit_below(r, 4) == 0)
        snprintf(out + len, size - len, "%c7!", letters[kit_below(r, 16)]);
}

static int64_t end_of(const struct step *s)
{
    return s->start.ns + s->dur_ns;
}

static void check_order(const struct step *v, size_t n)
{
    int64_t numbers[MODE_N] = {0};
    for (size_t i = 0; i < n; i++) {
        CHECK(v[i].dur_ns >= 0);
        CHECK(i == 0 || end_of(&v[i - 1]) <= v[i].start.ns);
        CHECK(v[i].marked || v[i].number == numbers[v[i].mode]++);
        CHECK(!v[i].cut || i + 1 == n || v[i].marked);
    }
}

static void check_sums(const struct step *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int64_t sum = 0;
        for (size_t k = 0; k < step_parts(); k++) {
            CHECK(v[i].part_ns[k] >= 0);
            sum += v[i].part_ns[k];
        }
        CHECK_INT(sum, v[i].dur_ns);
    }
}

static const char *part_of(const struct event *e)
{
    const enum event_id id = event_find(e->name);
    const bool some = e->kind == EVENT_SPAN && id != EV_N && step_part_of(id) != NO_PART;
    return some ? step_part_name(step_part_of(id)) : "";
}

static bool is_pass(const char *part)
{
    return strcmp(part, "forward") == 0 || strcmp(part, "backward") == 0;
}

static bool counts_for_itself(const char *part)
{
    return strcmp(part, "compile") == 0 || strcmp(part, "sync") == 0;
}

/* The part that the nanosecond from t counts for, told by looking at every span. */
static const char *part_at(const struct stepkit *k, int64_t t)
{
    const char *outer = "", *inner = "";
    for (size_t i = 0; i < k->n; i++) {
        const struct event *e = &k->v[i].event;
        const char *part = part_of(e);
        if (!*part || e->at.ns > t || e->at.ns + e->dur_ns <= t)
            continue;
        if (counts_for_itself(part))
            return part;
        if (!*outer)
            outer = part;
        else if (!*inner && is_pass(part))
            inner = part;
    }
    if (strcmp(outer, "optimizer") == 0 && *inner)
        return inner;
    return *outer ? outer : "other";
}

static void check_parts(const struct stepkit *k, const struct step *s)
{
    int64_t part_ns[STEP_PARTS_MOST] = {0};
    for (int64_t t = s->start.ns - KIT_WALL; t < end_of(s) - KIT_WALL; t++) {
        const char *part = part_at(k, t);
        for (size_t i = 0; i < step_parts(); i++)
            part_ns[i] += strcmp(step_part_name(i), part) == 0;
    }
    for (size_t i = 0; i < step_parts(); i++)
        CHECK_INT(s->part_ns[i], part_ns[i]);
}

/* Every optimizer, in steps that were not said, lies in exactly one train step. */
static void check_optimizers(const struct stepkit *k, const struct step *v, size_t n)
{
    for (size_t i = 0; i < k->n; i++) {
        const struct event *e = &k->v[i].event;
        const int64_t at = e->at.ns + KIT_WALL;
        if (e->kind != EVENT_SPAN || strcmp(e->name, "optimizer") != 0 || e->dur_ns == 0)
            continue;
        size_t in = 0;
        for (size_t s = 0; s < n; s++)
            in += v[s].mode == MODE_TRAIN && v[s].start.ns <= at && at + e->dur_ns <= end_of(&v[s]);
        CHECK_INT(in, 1);
    }
}

static void check_stream(struct kit_random *r, bool said)
{
    char text[4096];
    struct stepkit k = {0};
    struct arena a = {0};
    struct step *v;
    size_t n;
    make_text(r, text, sizeof text, 0, said);
    if (getenv("KIT_SHOW"))
        puts(text);
    stepkit_add(&k, text);
    steps_derive(k.v, k.n, &a, &v, &n);
    check_order(v, n);
    check_sums(v, n);
    for (size_t i = 0; i < n; i++)
        check_parts(&k, &v[i]);
    if (n == 0 || !v[0].marked)
        check_optimizers(&k, v, n);
    arena_free(&a);
    stepkit_free(&k);
}

TEST(steps_of_any_events_are_in_order_apart_and_the_sum_of_their_parts)
{
    struct kit_random r = {.state = 3};
    for (unsigned i = 0; i < STREAMS; i++)
        check_stream(&r, false);
}

TEST(steps_that_a_program_says_are_too)
{
    struct kit_random r = {.state = 4};
    for (unsigned i = 0; i < STREAMS; i++)
        check_stream(&r, true);
}

TEST(blocks_of_events_that_overlap_in_time_are_put_in_order)
{
    struct kit_random r = {.state = 5};
    for (unsigned i = 0; i < 300; i++) {
        char text[4096];
        struct stepkit k = {0};
        struct arena a = {0};
        struct step *v, *w;
        size_t n, m;
        make_text(&r, text, sizeof text, 1, false);
        stepkit_add(&k, text);
        steps_derive(k.v, k.n, &a, &v, &n);
        /* A block later than the events that it holds: long spans are told when they end. */
        for (size_t j = 0; j + 9 < k.n; j += 10) {
            const struct run_event late = k.v[j];
            memmove(&k.v[j], &k.v[j + 1], 9 * sizeof late);
            k.v[j + 9] = late;
        }
        steps_derive(k.v, k.n, &a, &w, &m);
        CHECK_INT(m, n);
        for (size_t j = 0; j < n; j++) {
            CHECK_INT(w[j].dur_ns, v[j].dur_ns);
            CHECK(memcmp(w[j].part_ns, v[j].part_ns, sizeof v[j].part_ns) == 0);
        }
        arena_free(&a);
        stepkit_free(&k);
    }
}

/* The parts and batches of all steps, a few at a time. */
static void check_pieces(struct kit_random *r, struct points *p)
{
    struct arena a = {0};
    struct steps_fill fill;
    struct step *whole;
    size_t n;
    steps_of_points(p, &a, &whole, &n);
    struct steps_walker *w = steps_walker_open();
    CHECK(steps_walker_end(w, p, p->n, NULL));
    const struct step_list l = *steps_walker_list(w);
    CHECK_INT(l.n, n);
    steps_fill_open(&fill, p);
    for (size_t i = 0, some; i < n; i += some) {
        struct step v[8];
        const size_t most = 1 + (size_t)kit_below(r, COUNT_OF(v));
        some = MIN_OF(n - i, most);
        steps_fill_next(&fill, &l, i, v, some);
        for (size_t k = 0; k < some; k++) {
            CHECK(v[k].start.ns == whole[i + k].start.ns && v[k].number == whole[i + k].number);
            CHECK_INT(v[k].batch, whole[i + k].batch);
            CHECK_INT(v[k].between_ns, whole[i + k].between_ns);
            CHECK_INT(v[k].between_sync_ns, whole[i + k].between_sync_ns);
            CHECK(v[k].save_ns == whole[i + k].save_ns && v[k].disturbed == whole[i + k].disturbed);
            CHECK(memcmp(v[k].part_ns, whole[i + k].part_ns, sizeof v[k].part_ns) == 0);
        }
    }
    steps_walker_close(w);
    arena_free(&a);
}

static void check_same_list(const struct step_list *a, const struct step_list *b)
{
    CHECK_INT(a->n, b->n);
    for (size_t i = 0; i < a->n; i++)
        CHECK(a->v[i].start == b->v[i].start && a->v[i].end == b->v[i].end &&
              a->v[i].number == b->v[i].number && a->v[i].mode == b->v[i].mode &&
              a->v[i].cut == b->v[i].cut);
}

/* Points come some at a time; the walker goes on from a mark, or begins anew when it must. */
static unsigned check_goes_on(struct kit_random *r, const struct points *all)
{
    struct steps_walker *kept = steps_walker_open();
    unsigned went_on = 0;
    for (size_t n = 0; n < all->n;) {
        const size_t more = 1 + (size_t)kit_below(r, 12);
        n = MIN_OF(all->n, n + more);
        struct point *v = xmalloc(n * sizeof *v), *again = xmalloc(n * sizeof *v);
        memcpy(v, all->v, n * sizeof *v);
        memcpy(again, all->v, n * sizeof *v);
        struct points p = {.v = v, .n = n}, fresh = {.v = again, .n = n};
        struct steps_walker *w = steps_walker_copy(kept), *anew = steps_walker_open(), *before;
        const size_t mark =
            steps_walker_taken(kept) + (size_t)kit_below(r, n - steps_walker_taken(kept) + 1);
        CHECK(steps_walker_end(anew, &fresh, n, NULL));
        if (steps_walker_end(w, &p, mark, &before)) {
            check_same_list(steps_walker_list(w), steps_walker_list(anew));
            if (before) {
                steps_walker_close(kept);
                kept = before;
                went_on++;
            }
        } else {
            steps_walker_close(kept);
            kept = steps_walker_open();
        }
        steps_walker_close(w);
        steps_walker_close(anew);
        free(v);
        free(again);
    }
    steps_walker_close(kept);
    return went_on;
}

TEST(steps_filled_a_few_at_a_time_are_those_filled_at_once)
{
    struct kit_random r = {.state = 6};
    for (unsigned i = 0; i < STREAMS; i++) {
        char text[4096];
        struct stepkit k = {0};
        struct points p = {0};
        struct names_seen names = {0};
        make_text(&r, text, sizeof text, i % 3, i % 2);
        stepkit_add(&k, text);
        stepkit_add(&k, " S3:1(K9) S3:2(F2) S2:3 S4:4(D1) S2:5"); /* one reaches over several */
        for (size_t j = 0; j < k.n; j++)
            points_add(&p, &k.v[j].event, names_seen_find(&names, k.v[j].event.name));
        points_sort(&p);
        check_pieces(&r, &p);
        points_free(&p);
        stepkit_free(&k);
    }
}

TEST(a_walk_that_goes_on_makes_the_steps_of_one_that_begins_anew)
{
    struct kit_random r = {.state = 9};
    unsigned went_on = 0;
    for (unsigned i = 0; i < STREAMS; i++) {
        char text[4096];
        struct stepkit k = {0};
        struct points p = {0};
        struct names_seen names = {0};
        make_text(&r, text, sizeof text, i % 3, i % 2);
        stepkit_add(&k, text);
        for (size_t j = 0; j < k.n; j++)
            points_add(&p, &k.v[j].event, names_seen_find(&names, k.v[j].event.name));
        points_sort(&p);
        went_on += check_goes_on(&r, &p);
        points_free(&p);
        stepkit_free(&k);
    }
    CHECK(went_on > STREAMS);
}
