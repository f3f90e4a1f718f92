/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/vec.h"
#include "test.h"

TEST(an_array_grows_and_keeps_its_items)
{
    uint32_t *items = NULL, n = 0, cap = 0;
    for (uint32_t i = 0; i < 1000; i++)
        *VEC_ADD(items, n, cap) = 3 * i;
    CHECK(n == 1000);
    CHECK(cap >= n && cap <= 2 * n + VEC_FIRST);
    for (uint32_t i = 0; i < n; i++)
        CHECK(items[i] == 3 * i);
    free(items);
}

TEST(room_for_many_items_is_made_at_once)
{
    char *items = NULL;
    size_t cap = 0;
    VEC_ROOM(items, cap, (size_t)5000);
    CHECK(cap == 5000);
    memset(items, 1, 5000);
    VEC_ROOM(items, cap, (size_t)5001);
    CHECK(cap == 10000);
    VEC_ROOM(items, cap, (size_t)3);
    CHECK(cap == 10000);
    free(items);
}

TEST(arrays_that_share_a_capacity_grow_together)
{
    uint32_t n = 0, cap = 0, grown = 0;
    int *items = NULL;
    char *marks = NULL;
    for (; n < 100; n++) {
        if (VEC_GROW(cap, n + 1)) {
            items = xrealloc(items, cap, sizeof *items);
            marks = xrealloc(marks, cap, sizeof *marks);
            grown++;
        }
        items[n] = (int)n;
        marks[n] = (char)n;
    }
    CHECK_INT(cap, 128);
    CHECK_INT(grown, 4);
    CHECK(items[0] == 0 && items[99] == 99 && marks[99] == 99);
    free(items);
    free(marks);
}

TEST(a_search_finds_the_first_item_that_is_not_before)
{
    const int sorted[] = {1, 3, 5, 7, 7, 9};
    CHECK(SEARCH_FIRST(i, 0, 6, sorted[i] < 7) == 3);
    CHECK(SEARCH_FIRST(i, 0, 3, sorted[i] < 7) == 3); /* all are before */
    CHECK(SEARCH_FIRST(i, 4, 6, sorted[i] < 7) == 4); /* none is */
    CHECK(SEARCH_FIRST(i, 0, 0, sorted[i] < 7) == 0);
}

TEST(a_comparison_falls_back_on_the_next_key_where_keys_are_equal)
{
    CHECK(COMPARE(1, 2) == -1 && COMPARE(2u, 1u) == 1 && COMPARE(0.5, 0.5) == 0);
    CHECK((COMPARE(3, 3) ?: COMPARE(5, 4)) == 1);
    CHECK((COMPARE(INT64_MIN, INT64_MAX) ?: COMPARE(5, 4)) == -1);
}

/* 300 words, each asked for twice: each gets one item, and its own. spread 0: all words have the
 * same hash. */
static void test_vec_index(uint64_t spread)
{
    char(*words)[8] = NULL;
    uint32_t n = 0, cap = 0;
    struct hash_index t = {0};
    for (unsigned k = 0; k < 600; k++) {
        char word[8];
        (void)snprintf(word, sizeof word, "w%u", k % 300);
        const uint64_t hash = spread * (k % 300);
        const uint32_t at = HASH_FIND(&t, hash, i, strcmp(words[i], word) == 0);
        CHECK((at == 0) == (k < 300));
        if (!at) {
            memcpy(*VEC_ADD(words, n, cap), word, sizeof word);
            hash_add(&t, hash, n);
        } else {
            CHECK(strcmp(words[at - 1], word) == 0);
        }
    }
    CHECK(n == 300 && t.n == 300 && t.n_slots == 1024);
    hash_free(&t);
    CHECK(!t.slots && t.n_slots == 0);
    free(words);
}

TEST(an_index_finds_each_item_after_it_has_grown)
{
    test_vec_index(0x9E3779B97F4A7C15u);
}

TEST(an_index_finds_items_whose_hashes_are_all_the_same)
{
    test_vec_index(0);
}

struct vec_item {
    int number;
    const char *name;
};

TEST(the_first_item_that_fits_is_found_in_an_array_of_any_order)
{
    const struct vec_item v[] = {{5, "a"}, {3, "b"}, {3, "c"}}, *none = NULL;
    CHECK(FIND_FIRST(i, 3, v[i].number == 3) == 1);
    CHECK(FIND_FIRST(i, 3, v[i].number == 9) == 3);
    CHECK(FIND_ITEM(x, v, 3, x->number == 3) == &v[1]);
    CHECK(!FIND_ITEM(x, v, 3, x->number == 9));
    CHECK(!FIND_ITEM(x, none, 0, x->number == 3));
    CHECK(FIND_ANY(i, 3, v[i].number == 5));
    CHECK(!FIND_ANY(i, 0, none[i].number == 5));
    CHECK(SUM_OF(i, 3, v[i].number == 3) == 2);
}

COMPARE_BY(vec_by_number, struct vec_item, number)
COMPARE_NAMES(vec_by_name, struct vec_item, name)
COMPARE_NUMBERS(vec_by_value, int)

TEST(arrays_are_sorted_by_a_number_or_a_text_and_may_be_empty)
{
    struct vec_item v[] = {{5, "b"}, {-3, "c"}, {4, "a"}}, *none = NULL;
    int numbers[] = {7, -1, 3};
    SORT(v, 3, vec_by_number);
    CHECK(v[0].number == -3 && v[1].number == 4 && v[2].number == 5);
    SORT(v, 3, vec_by_name);
    CHECK(v[0].number == 4 && v[1].number == 5 && v[2].number == -3);
    SORT(numbers, 3, vec_by_value);
    CHECK(numbers[0] == -1 && numbers[1] == 3 && numbers[2] == 7);
    SORT(none, 0, vec_by_number);
}

TEST(new_items_of_a_zeroed_array_are_zeros)
{
    uint32_t *v = NULL;
    size_t n = 0;
    VEC_ZEROED(v, n, 3);
    CHECK(n >= 3 && v[2] == 0);
    memset(v, 1, n * sizeof *v);
    const size_t before = n;
    VEC_ZEROED(v, n, 1000);
    CHECK(n >= 1000 && v[before - 1] != 0 && v[before] == 0 && v[n - 1] == 0);
    free(v);
}
