/* SPDX-License-Identifier: Apache-2.0 */
/* The words for events: found by name, each with a category, and none twice. */
#include <string.h>

#include "record/event.h"
#include "test.h"

TEST(every_event_is_found_by_its_name)
{
    for (enum event_id i = 0; i < EV_N; i++) {
        CHECK_INT(event_find(event_words[i].name), i);
        CHECK(event_words[i].category < CAT_N);
        CHECK(event_words[i].part < STEP_PART_OTHER || event_words[i].part == STEP_PART_NONE);
        CHECK(event_words[i].help[0]);
    }
}

TEST(every_collective_is_found_under_its_prefix)
{
    CHECK_INT(event_find("comm.all_reduce"), EV_COMM);
    CHECK_INT(event_find("comm."), EV_COMM);
    CHECK_INT(event_find("comm"), EV_COMM);
    CHECK_INT(event_find("common"), EV_N);
    CHECK_INT(event_find("communicate.x"), EV_N);
}

TEST(a_name_of_the_users_own_is_none_of_them)
{
    static const char *const own[] = {"", "augment", "Data", "data ", "forward.evaluate", "dat"};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        CHECK_INT(event_find(own[i]), EV_N);
}

TEST(categories_have_names_of_their_own)
{
    for (enum event_category i = 0; i < CAT_N; i++) {
        CHECK(category_words[i].name[0] && category_words[i].help[0]);
        for (enum event_category k = 0; k < i; k++)
            CHECK(strcmp(category_words[i].name, category_words[k].name) != 0);
    }
}

TEST(tracks_are_the_same_by_kind_process_and_id_alone)
{
    const struct track a = {.kind = TRACK_THREAD, .pid = 1, .id = 2, .name = "x"};
    struct track b = a;
    snprintf(b.name, sizeof b.name, "renamed");
    snprintf(b.process, sizeof b.process, "other");
    CHECK(track_same(&a, &b));
    b.kind = TRACK_DEVICE;
    CHECK(!track_same(&a, &b));
    b = a;
    b.pid++;
    CHECK(!track_same(&a, &b));
    b = a;
    b.id++;
    CHECK(!track_same(&a, &b));
}

TEST(a_real_number_is_the_bits_of_its_value)
{
    struct event v = {.kind = EVENT_REAL};
    const double numbers[] = {0, -1.5, 1e-300, 0.1};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        memcpy(&v.value, &numbers[i], sizeof v.value);
        NEAR(event_real(&v), numbers[i], 0);
    }
}
