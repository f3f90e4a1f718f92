/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/mem.h"
#include "test.h"

TEST(memory_is_zeroed_aligned_and_never_overlaps)
{
    struct arena a = {0};
    unsigned char *p[2000];
    for (size_t i = 0; i < 2000; i++) {
        const size_t n = i * 7 % 300;
        p[i] = arena_alloc(&a, n, 1);
        CHECK_INT((uintptr_t)p[i] % _Alignof(max_align_t), 0);
        for (size_t k = 0; k < n; k++)
            CHECK_INT(p[i][k], 0);
        memset(p[i], (int)(i % 255) + 1, n);
    }
    for (size_t i = 0; i < 2000; i++)
        for (size_t k = 0; k < i * 7 % 300; k++)
            CHECK_INT(p[i][k], i % 255 + 1);
    arena_free(&a);
}

TEST(one_allocation_may_be_larger_than_any_chunk)
{
    struct arena a = {0};
    char *small = arena_strdup(&a, "small");
    char *big = arena_alloc(&a, 5 << 20, 1);
    big[(5 << 20) - 1] = 1;
    CHECK_STR(small, "small");
    CHECK_STR(arena_strdup(&a, "after"), "after");
    arena_free(&a);
}

/* malloc hands out again what was freed just before, with what was left in it. */
TEST(memory_is_zeroed_also_beside_memory_that_is_not)
{
    static const size_t sizes[] = {1, 100, 4096, 100000, (1 << 20) - 16, 1 << 20, 3 << 20};
    for (int round = 0; round < 3; round++) {
        struct arena a = {0};
        for (size_t i = 0; i < 3 * COUNT_OF(sizes); i++) {
            const size_t n = sizes[i % COUNT_OF(sizes)];
            unsigned char *raw = arena_alloc_raw(&a, n, 1), *clean = arena_alloc(&a, 777, 1);
            CHECK((size_t)raw % _Alignof(max_align_t) == 0);
            memset(raw, 255, n);
            for (size_t k = 0; k < 777; k++)
                CHECK_INT(clean[k], 0);
            memset(clean, 255, 777);
            CHECK_INT(raw[n - 1], 255);
        }
        arena_free(&a);
    }
}

TEST(an_arena_is_ready_again_after_it_was_freed)
{
    struct arena a = {0};
    arena_free(&a);
    CHECK_STR(arena_strdup(&a, "x"), "x");
    arena_free(&a);
    CHECK_STR(arena_printf(&a, "%d-%s", 12, "y"), "12-y");
    arena_free(&a);
}

TEST(strndup_copies_bytes_and_ends_them)
{
    struct arena a = {0};
    const char *s = arena_strndup(&a, "ab\0cd", 5);
    CHECK(memcmp(s, "ab\0cd\0", 6) == 0);
    CHECK_STR(arena_strndup(&a, "abc", 0), "");
    arena_free(&a);
}

TEST(text_longer_than_a_chunk_is_printed_whole)
{
    struct arena a = {0};
    const char *s = arena_printf(&a, "%20000d|", 7);
    CHECK_INT(strlen(s), 20001);
    CHECK_STR(s + 19999, "7|");
    arena_free(&a);
}

TEST(a_size_that_overflows_ends_the_program_instead_of_returning_too_little)
{
    const pid_t pid = fork();
    if (pid == 0) {
        struct arena a = {0};
        volatile size_t n = SIZE_MAX / 4;
        arena_alloc(&a, n, 8);
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(!WIFEXITED(status) || WEXITSTATUS(status) != 0);
}

TEST(an_array_in_an_arena_grows_and_keeps_what_it_has)
{
    struct arena a = {0};
    int *v = NULL;
    size_t n = 0, cap = 0;
    for (int i = 0; i < 1000; i++)
        *ARENA_ADD(&a, v, n, cap) = i;
    CHECK_INT(n, 1000);
    for (int i = 0; i < 1000; i++)
        CHECK_INT(v[i], i);
    arena_free(&a);
}

TEST(a_copy_in_an_arena_may_be_empty)
{
    struct arena a = {0};
    const int v[] = {1, 2, 3};
    const int *copy = ARENA_COPY(&a, v, 3), *none = NULL;
    CHECK(copy != v && copy[0] == 1 && copy[2] == 3);
    CHECK(ARENA_COPY(&a, none, 0) != NULL);
    arena_free(&a);
}
