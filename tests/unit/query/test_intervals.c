/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of moments, checked against a plain array of moments. */
#include "query/intervals.h"
#include "test.h"

enum { MOMENTS = 200, ROUNDS = 3000 };

/* A set as one flag per moment: slow, and too simple to be wrong. */
struct plain {
    unsigned char in[MOMENTS];
};

static unsigned draw(unsigned *seed, unsigned below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % below;
}

static void fill(unsigned *seed, struct intervals *l, struct plain *p, unsigned most)
{
    memset(p, 0, sizeof *p);
    for (unsigned n = draw(seed, most); n; n--) {
        const unsigned begin = draw(seed, MOMENTS), dur = draw(seed, 12);
        const unsigned end = begin + dur < MOMENTS ? begin + dur : MOMENTS;
        intervals_add(l, begin, end);
        if (end > begin)
            memset(p->in + begin, 1, end - begin);
    }
    intervals_finish(l);
}

static void check_normal(const struct intervals *l)
{
    CHECK(l->runs.n <= 1);
    for (size_t i = 0; i < l->n; i++) {
        CHECK(l->v[i].begin < l->v[i].end);
        CHECK(i == 0 || l->v[i - 1].end < l->v[i].begin);
    }
}

static void check_same(const struct intervals *l, const struct plain *p)
{
    struct plain got = {{0}};
    long long length = 0;
    for (size_t i = 0; i < l->n; i++)
        memset(got.in + l->v[i].begin, 1, (size_t)(l->v[i].end - l->v[i].begin));
    for (size_t i = 0; i < MOMENTS; i++) {
        CHECK_INT(got.in[i], p->in[i]);
        length += p->in[i];
    }
    check_normal(l);
    CHECK_INT(intervals_length(l), length);
}

TEST(intervals_in_any_order_become_their_union)
{
    unsigned seed = 1;
    for (int round = 0; round < ROUNDS; round++) {
        struct intervals l = {0};
        struct plain p;
        fill(&seed, &l, &p, 60);
        check_same(&l, &p);
        intervals_free(&l);
    }
}

TEST(adding_a_whole_list_gives_the_union_of_both)
{
    unsigned seed = 2;
    for (int round = 0; round < ROUNDS; round++) {
        struct intervals a = {0}, b = {0};
        struct plain pa, pb;
        fill(&seed, &a, &pa, 20);
        fill(&seed, &b, &pb, 20);
        intervals_add_all(&a, &b);
        intervals_finish(&a);
        for (size_t i = 0; i < MOMENTS; i++)
            pa.in[i] |= pb.in[i];
        check_same(&a, &pa);
        intervals_free(&a);
        intervals_free(&b);
    }
}

TEST(either_both_and_minus_are_those_of_the_moments)
{
    unsigned seed = 3;
    struct intervals either = {0}, both = {0}, minus = {0};
    for (int round = 0; round < ROUNDS; round++) {
        struct intervals a = {0}, b = {0};
        struct plain pa, pb, in_either, in_both, in_a;
        fill(&seed, &a, &pa, 30);
        fill(&seed, &b, &pb, 30);
        for (size_t i = 0; i < MOMENTS; i++) {
            in_either.in[i] = pa.in[i] | pb.in[i];
            in_both.in[i] = pa.in[i] & pb.in[i];
            in_a.in[i] = pa.in[i] & !pb.in[i];
        }
        intervals_either(&a, &b, &either);
        check_same(&either, &in_either);
        intervals_both(&a, &b, &both);
        check_same(&both, &in_both);
        intervals_minus(&a, &b, &minus);
        check_same(&minus, &in_a);
        CHECK_INT(intervals_length_both(&a, &b), intervals_length(&both));
        CHECK_INT(intervals_length(&minus) + intervals_length(&both), intervals_length(&a));
        intervals_free(&a);
        intervals_free(&b);
    }
    intervals_free(&either);
    intervals_free(&both);
    intervals_free(&minus);
}

TEST(windows_asked_for_in_order_cut_a_list_into_its_parts)
{
    unsigned seed = 4;
    for (int round = 0; round < ROUNDS; round++) {
        struct intervals l = {0};
        struct plain p;
        size_t from = 0;
        int64_t sum = 0;
        fill(&seed, &l, &p, 40);
        for (unsigned at = 0, end; at < MOMENTS; at = end) {
            long long here = 0;
            end = at + draw(&seed, 30);
            end = end < MOMENTS ? end : MOMENTS;
            for (unsigned i = at; i < end; i++)
                here += p.in[i];
            CHECK_INT(intervals_length_within(&l, at, end, &from), here);
            sum += here;
        }
        CHECK_INT(sum, intervals_length(&l));
        intervals_free(&l);
    }
}

TEST(an_empty_or_backward_interval_is_nothing)
{
    struct intervals l = {0};
    intervals_add(&l, 5, 5);
    intervals_add(&l, 9, 3);
    intervals_finish(&l);
    CHECK_INT(l.n, 0);
    CHECK_INT(intervals_length(&l), 0);
    intervals_free(&l);
}

TEST(intervals_that_touch_become_one)
{
    struct intervals l = {0};
    intervals_add(&l, 0, 5);
    intervals_add(&l, 5, 7);
    intervals_add(&l, -3, 0);
    intervals_finish(&l);
    CHECK_INT(l.n, 1);
    CHECK_INT(l.v[0].begin, -3);
    CHECK_INT(l.v[0].end, 7);
    intervals_free(&l);
}

TEST(a_million_runs_of_one_are_merged_in_no_time)
{
    struct intervals l = {0};
    const int64_t n = 1000000;
    for (int64_t i = n; i > 0; i--)
        intervals_add(&l, 10 * i, 10 * i + 5);
    intervals_finish(&l);
    check_normal(&l);
    CHECK_INT(l.n, n);
    CHECK_INT(intervals_length(&l), 5 * n);
    intervals_free(&l);
}
