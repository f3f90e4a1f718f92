/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "gather.h"
#include "ring/ring_make.h"
#include "test.h"

static struct ring_writer writer;
static uint8_t on;
static _Thread_local struct ring_thread thread = RING_THREAD_INIT;

static void start(void)
{
    ring_writer_start(&writer, &on, test_tmpdir(), 0);
    CHECK_INT(on, 1);
}

static void mark(uint32_t name)
{
    ring_put(&writer, &thread, ring_payload_of(RING_MARK, name, 0));
}

TEST(the_same_text_has_the_same_id_and_others_have_others)
{
    start();
    const uint32_t a = ring_intern(&writer, "forward"), b = ring_intern(&writer, "backward");
    CHECK(a != 0 && b != 0 && a != b);
    CHECK_INT(ring_intern(&writer, "forward"), a);
    CHECK_INT(ring_intern(&writer, "backward"), b);
    CHECK_INT(ring_intern(&writer, ""), 0);
    CHECK_INT(ring_intern(&writer, NULL), 0);
}

TEST(names_made_before_and_after_the_file_are_all_known)
{
    struct gather g = {0};
    start();
    const uint32_t early = ring_intern(&writer, "early");
    mark(early);
    mark(ring_intern(&writer, "late"));
    mark(0);
    mark(500); /* an id that nobody made */
    gather_all(&g, test_tmpdir());
    CHECK_INT(g.n, 4);
    CHECK_STR(g.v[0].name, "early");
    CHECK_STR(g.v[1].name, "late");
    CHECK_STR(g.v[2].name, "");
    CHECK_STR(g.v[3].name, "");
    gather_free(&g);
}

/* As when one thread makes the file while another has just put its own name there. */
TEST(a_name_that_is_in_the_file_already_stays_when_all_are_copied)
{
    struct gather g = {0};
    start();
    mark(ring_intern(&writer, "early"));
    mark(ring_intern(&writer, "late"));
    ring_names_copy(&writer, writer.live->map);
    gather_all(&g, test_tmpdir());
    CHECK_STR(g.v[0].name, "early");
    CHECK_STR(g.v[1].name, "late");
    gather_free(&g);
}

TEST(a_name_of_62_bytes_is_kept_and_a_longer_one_cut_between_characters)
{
    struct gather g = {0};
    char full[63], longer[80] = {0}, accents[80] = {0};
    memset(full, 'a', 62);
    full[62] = '\0';
    memset(longer, 'b', 70);
    memset(accents, 'c', 61); /* the two bytes of an e with accent do not both fit */
    memcpy(accents + 61, "\xc3\xa9", 2);
    start();
    mark(ring_intern(&writer, full));
    mark(ring_intern(&writer, longer));
    mark(ring_intern(&writer, accents));
    gather_all(&g, test_tmpdir());
    longer[62] = '\0';
    accents[61] = '\0';
    CHECK_STR(g.v[0].name, full);
    CHECK_STR(g.v[1].name, longer);
    CHECK_STR(g.v[2].name, accents);
    gather_free(&g);
}

TEST(a_full_table_gives_0_and_counts_and_the_old_names_stay)
{
    struct gather g = {0};
    char text[32];
    start();
    mark(0); /* so that there is a file */
    for (int i = 1; i < RING_NAMES; i++) {
        snprintf(text, sizeof text, "name %d", i);
        CHECK_INT(ring_intern(&writer, text), i);
    }
    CHECK_INT(ring_intern(&writer, "one too many"), 0);
    CHECK_INT(ring_intern(&writer, "and another"), 0);
    CHECK_INT(ring_intern(&writer, "name 1023"), 1023);
    for (uint32_t i = 1; i < RING_NAMES; i++)
        mark(i);
    gather_all(&g, test_tmpdir());
    CHECK_INT(g.lost.names, 2);
    CHECK_INT(g.n, RING_NAMES);
    for (int i = 1; i < RING_NAMES; i++) {
        snprintf(text, sizeof text, "name %d", i);
        CHECK_STR(g.v[i].name, text);
    }
    gather_free(&g);
}

enum { INTERNERS = 8, SHARED = 100 };
static pthread_barrier_t barrier;

static void *intern_all(void *arg)
{
    char text[32];
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < SHARED; i++) {
        snprintf(text, sizeof text, "shared %d", i);
        const uint32_t id = ring_intern(&writer, text);
        ring_put(&writer, &thread, ring_payload_of(RING_COUNT_INT, id, (uint64_t)i));
    }
    return arg;
}

TEST(threads_that_intern_the_same_names_at_once_all_get_the_right_text)
{
    struct gather g = {0};
    pthread_t t[INTERNERS];
    start();
    pthread_barrier_init(&barrier, NULL, INTERNERS);
    for (int i = 0; i < INTERNERS; i++)
        CHECK(pthread_create(&t[i], NULL, intern_all, NULL) == 0);
    for (int i = 0; i < INTERNERS; i++)
        pthread_join(t[i], NULL);
    CHECK_INT(gather_file_count(test_tmpdir()), 1); /* though all began to make one */
    gather_all(&g, test_tmpdir());
    CHECK_INT(g.n, INTERNERS * SHARED);
    for (size_t i = 0; i < g.n; i++) {
        char text[32];
        snprintf(text, sizeof text, "shared %d", (int)g.v[i].value);
        CHECK_STR(g.v[i].name, text);
    }
    gather_free(&g);
}
