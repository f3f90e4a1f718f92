/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "tables/summary.h"
#include "test.h"

TEST(the_size_of_an_issue_leaves_out_what_is_not_known)
{
    struct arena a = {0};
    const struct rule loop = {0}, outside = {.whole_job = true};
    struct verdict v = {.rule = &loop,
                        .severity = SEVERITY_WARNING,
                        .lost_s = NAN,
                        .lost_share = NAN,
                        .lost_cost = NAN};
    CHECK_STR(verdict_size_words(&v, true, &a), "warning");
    v.lost_s = 12.4;
    v.lost_share = 0.031;
    v.lost_cost = 1.2;
    CHECK_STR(verdict_size_words(&v, true, &a),
              "warning, 12.4 s lost, 3.1 % of the training loop, at a cost of 1.20 USD");
    CHECK(strstr(verdict_size_words(&v, false, &a), "3.1 % of the job"));
    v.findings = &(struct finding){.estimated = true};
    v.n_findings = 1;
    CHECK(strstr(verdict_size_words(&v, true, &a), "12.4 s lost (estimate), 3.1 %"));
    v.rule = &outside;
    CHECK(strstr(verdict_size_words(&v, true, &a), "3.1 % of the job"));
    arena_free(&a);
}

TEST(an_issue_whose_time_others_have_lost_is_not_critical_with_nothing_lost)
{
    struct arena a = {0};
    const struct rule loop = {0};
    struct verdict v = {.rule = &loop, .severity = SEVERITY_CRITICAL, .lost_s = 0, .lost_share = 0};
    CHECK_STR(verdict_size_words(&v, true, &a), "critical, in time that other issues account for");
    v.severity = SEVERITY_INFO;
    CHECK(strstr(verdict_size_words(&v, true, &a), "info, 0 ms lost"));
    arena_free(&a);
}

TEST(a_job_that_did_not_end_well_has_no_issues_only_in_the_recorded_part)
{
    CHECK_STR(verdict_none_words(&(struct run_info){.status = RUN_FINISHED}), "No issues found");
    CHECK(strstr(verdict_none_words(&(struct run_info){.status = RUN_FAILED}), "recorded part"));
}

TEST(several_ranges_of_a_finding_are_counted_and_summed)
{
    struct arena a = {0};
    struct time_range ranges[] = {{{12 * NS_PER_S}, {15 * NS_PER_S}},
                                  {{20 * NS_PER_S}, {22 * NS_PER_S}}};
    const struct finding f = {
        .start = ranges[0].start, .end = ranges[1].end, .ranges = ranges, .n_ranges = 2};
    const wall_ns start = {2 * NS_PER_S};
    CHECK_STR(finding_when_words(&f, start, &a),
              "from 10.0 s to 20.0 s after the start; 2 times, 5.0 s in total");
    arena_free(&a);
}

TEST(a_finding_without_a_time_has_no_words_for_it)
{
    struct arena a = {0};
    const struct finding none = {.lost_s = NAN, .lost_gpu_s = NAN};
    const wall_ns start = {0};
    CHECK_STR(finding_when_words(&none, start, &a), "");
    CHECK_STR(finding_lost_words(&none, &a), "");
    CHECK_STR(finding_explained_words(&none, &a), "");
    CHECK_STR(finding_shares_words(&none, &a), "");
    arena_free(&a);
}

TEST(lost_time_of_gpus_is_added_to_lost_time)
{
    struct arena a = {0};
    const struct finding both = {.lost_s = 12.4, .lost_gpu_s = 24.8};
    const struct finding gpu = {.lost_s = NAN, .lost_gpu_s = 24.8};
    CHECK_STR(finding_lost_words(&both, &a), "12.4 s, 24.8 s of GPU time");
    CHECK_STR(finding_lost_words(&gpu, &a), "24.8 s of GPU time");
    const struct finding estimate = {.lost_s = 12.4, .lost_gpu_s = NAN, .estimated = true};
    CHECK_STR(finding_lost_words(&estimate, &a), "12.4 s (estimate)");
    arena_free(&a);
}

TEST(the_advice_of_a_finding_wins_over_that_of_its_rule)
{
    const struct rule rule = {.recommendation = "general"};
    const struct verdict v = {.rule = &rule};
    CHECK_STR(finding_advice(&v, &(struct finding){0}), "general");
    CHECK_STR(finding_advice(&v, &(struct finding){.advice = "here"}), "here");
}

TEST(findings_are_sorted_by_cost_and_those_without_one_stay_in_order_at_the_end)
{
    struct finding f[] = {{.lost_s = NAN}, {.lost_s = 1}, {.lost_s = NAN}, {.lost_s = 5}};
    const struct verdict v = {.findings = f, .n_findings = 4};
    const struct finding *out[4];
    findings_costliest_first(&v, out);
    CHECK(out[0] == &f[3] && out[1] == &f[1] && out[2] == &f[0] && out[3] == &f[2]);
}

TEST(a_training_that_learns_nothing_comes_before_a_slow_one)
{
    const struct rule speed = {.name = "Slow"}, health = {.name = "Nan", .health = true};
    const struct verdict slow = {.rule = &speed, .severity = SEVERITY_CRITICAL, .lost_s = 9},
                         nan = {.rule = &health, .severity = SEVERITY_CRITICAL, .lost_s = NAN},
                         mild = {.rule = &health, .severity = SEVERITY_WARNING, .lost_s = NAN},
                         slowish = {.rule = &speed, .severity = SEVERITY_WARNING, .lost_s = 1};
    const struct verdict *v[] = {&mild, &slow, &slowish, &nan};
    verdicts_worst_first(v, 4);
    CHECK(v[0] == &nan && v[1] == &slow && v[2] == &slowish && v[3] == &mild);
}
