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

static bool test_vec_below_7(const void *ctx, size_t i)
{
    return ((const int *)ctx)[i] < 7;
}

TEST(a_search_finds_the_first_item_that_is_not_before)
{
    const int sorted[] = {1, 3, 5, 7, 7, 9};
    CHECK(search_first(0, 6, test_vec_below_7, sorted) == 3);
    CHECK(search_first(0, 3, test_vec_below_7, sorted) == 3); /* all are before */
    CHECK(search_first(4, 6, test_vec_below_7, sorted) == 4); /* none is */
    CHECK(search_first(0, 0, test_vec_below_7, sorted) == 0);
}

struct test_vec_words {
    char (*words)[8];
    uint32_t n, cap;
    const char *wanted;
    uint64_t spread; /* 0: all words have the same hash */
};

static uint64_t test_vec_hash(const struct test_vec_words *w, const char *word)
{
    return w->spread * (uint64_t)strtoul(word + 1, NULL, 10);
}

static bool test_vec_same(const void *ctx, uint32_t i)
{
    const struct test_vec_words *w = ctx;
    return strcmp(w->words[i], w->wanted) == 0;
}

static uint64_t test_vec_hash_of(const void *ctx, uint32_t i)
{
    const struct test_vec_words *w = ctx;
    return test_vec_hash(w, w->words[i]);
}

/* 300 words, each asked for twice: each gets one item, and its own. */
static void test_vec_index(uint64_t spread)
{
    struct test_vec_words w = {.spread = spread};
    struct hash_index t = {0};
    for (int i = 0; i < 600; i++) {
        char word[8];
        (void)snprintf(word, sizeof word, "w%d", i % 300);
        w.wanted = word;
        uint32_t *slot = hash_slot(&t, test_vec_hash(&w, word), test_vec_same, &w);
        CHECK((*slot == 0) == (i < 300));
        if (!*slot) {
            memcpy(*VEC_ADD(w.words, w.n, w.cap), word, sizeof word);
            hash_put(&t, slot, w.n, test_vec_hash_of, &w);
        } else {
            CHECK(strcmp(w.words[*slot - 1], word) == 0);
        }
    }
    CHECK(w.n == 300 && t.n == 300 && t.n_slots == 1024);
    hash_free(&t);
    CHECK(!t.slots && t.n_slots == 0);
    free(w.words);
}

TEST(an_index_finds_each_item_after_it_has_grown)
{
    test_vec_index(0x9E3779B97F4A7C15u);
}

TEST(an_index_finds_items_whose_hashes_are_all_the_same)
{
    test_vec_index(0);
}
