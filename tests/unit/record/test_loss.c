/* SPDX-License-Identifier: Apache-2.0 */
/* test_loss.c - losses, typed and as the text that is stored. */
#include <string.h>

#include "base/mem.h"
#include "record/record.h"
#include "test.h"

static const char *what_of(const struct loss *l)
{
    static char out[ENTITY_LEN];
    return loss_what(l, out);
}

TEST(a_loss_of_a_metric_names_its_entity_and_the_metric)
{
    const struct loss_subject of = {.entity = "gpu0", .metric = M_GPU_ENERGY};
    const struct loss l = loss_of(LOSS_UNSUPPORTED, of, "%s", "old driver");
    CHECK_STR(what_of(&l), "gpu0 gpu.energy");
    CHECK_STR(l.entity, "gpu0");
    CHECK(loss_is_metric(&l, M_GPU_ENERGY) && !loss_is_metric(&l, M_GPU_POWER));
    CHECK_INT(l.count, 1);
    CHECK_STR(loss_why(&l), "old driver");
}

TEST(a_loss_without_words_has_those_of_its_cause)
{
    const struct loss l = loss_of(LOSS_PAUSED, LOST_PART("monitoring"), "%s", "");
    CHECK_STR(loss_why(&l), losses[LOSS_PAUSED].help);
}

TEST(stored_text_is_read_into_what_it_was_made_of)
{
    static const struct {
        enum loss_id id;
        const char *what, *entity, *part;
        enum metric_id metric;
    } v[] = {
        {LOSS_UNSUPPORTED, "gpu0 gpu.energy", "gpu0", "", M_GPU_ENERGY},
        {LOSS_ABSENT, "swap.used", "", "", M_SWAP_USED},
        {LOSS_ABSENT, "nvml_gpm", "", "nvml_gpm", METRIC_N},
        {LOSS_HOOK, "keras data", "keras", "data", METRIC_N},
        {LOSS_HOOK, "hooks", "", "hooks", METRIC_N},
        {LOSS_EVENTS, "process 12", "", "process 12", METRIC_N},
        {LOSS_MALFORMED, "file a b.json", "", "file a b.json", METRIC_N},
    };
    for (size_t i = 0; i < COUNT_OF(v); i++) {
        const struct loss l = loss_from_text(v[i].id, v[i].what, "why");
        CHECK_STR(l.entity, v[i].entity);
        CHECK_STR(l.part, v[i].part);
        CHECK_INT(l.metric, v[i].metric);
        CHECK_STR(what_of(&l), v[i].what);
    }
}

TEST(any_stored_text_is_printed_as_it_was)
{
    static const char *const v[] = {"",     " ",          "gpu0 ", " gpu.util", "a  gpu.util",
                                    "a  b", " gpu.util ", "  x"};
    for (size_t i = 0; i < COUNT_OF(v); i++)
        for (enum loss_id id = 0; id < LOSS_N; id++) {
            const struct loss l = loss_from_text(id, v[i], "");
            CHECK_STR(what_of(&l), v[i]);
        }
}

TEST(a_text_that_is_too_long_keeps_the_metric)
{
    char entity[ENTITY_LEN];
    memset(entity, 'x', sizeof entity - 1);
    entity[sizeof entity - 1] = '\0';
    const struct loss_subject of = {.entity = entity, .metric = M_GPU_UTIL};
    const struct loss l = loss_of(LOSS_READ, of, "%s", "");
    const struct loss again = loss_from_text(LOSS_READ, what_of(&l), "");
    CHECK_INT(strlen(what_of(&l)), ENTITY_LEN - 1);
    CHECK(loss_is_metric(&again, M_GPU_UTIL));
}

TEST(losses_are_the_same_when_cause_subject_and_words_are)
{
    const struct loss a = loss_of(LOSS_READ, LOST_PART("cpu"), "one");
    const struct loss b = loss_of(LOSS_READ, LOST_PART("cpu"), "two");
    const struct loss c = loss_of(LOSS_READ, LOST_METRIC(M_CPU_UTIL), "one");
    CHECK(loss_same(&a, &a) && !loss_same(&a, &b) && loss_same_subject(&a, &b));
    CHECK(!loss_same_subject(&a, &c));
}
