/* SPDX-License-Identifier: Apache-2.0 */
/* test_run_same.c - which descriptions are of one run. */
#include <stdio.h>

#include "base/mem.h"
#include "run/run_names.h"
#include "test.h"

#define DAY "1790000000"
#define JOB(cluster, id, step, start)                                                              \
    "\"job\": {\"cluster\": " cluster ", \"id\": \"" id "\", \"step\": " step                      \
    ", \"start_ns\": " start "}, "
#define SLURM JOB("\"west\"", "6", "\"0\"", DAY "000000000")

/* Whether run.json with these members, begun `apart_s` after the other, is of the same run. */
static bool same(const char *a, const char *b, long apart_s)
{
    char x[512], y[512];
    const int n = snprintf(x, sizeof x, "{\"id\": \"r\", %s\"start_ns\": " DAY "000000000}", a);
    const int m = snprintf(y, sizeof y, "{\"id\": \"r\", %s\"start_ns\": %ld000000000}", b,
                           strtol(DAY, NULL, 10) + apart_s);
    const bool is = run_is_same(x, (size_t)n, y, (size_t)m);
    CHECK(run_is_same(y, (size_t)m, x, (size_t)n) == is);
    return is;
}

TEST(nodes_of_a_job_describe_the_same_run)
{
    CHECK(same(SLURM, SLURM, 0));
    CHECK(same(SLURM, "\"name\": \"other words\", " SLURM, 7));
    CHECK(same(SLURM, SLURM,
               100000)); /* the start of the job is known, so that of the run may be any */
}

TEST(another_cluster_job_step_or_start_is_another_run)
{
    CHECK(!same(SLURM, JOB("\"east\"", "6", "\"0\"", DAY "000000000"), 0));
    CHECK(!same(SLURM, JOB("null", "6", "\"0\"", DAY "000000000"), 0));
    CHECK(!same(SLURM, JOB("\"west\"", "7", "\"0\"", DAY "000000000"), 0));
    CHECK(!same(SLURM, JOB("\"west\"", "6", "\"1\"", DAY "000000000"), 0));
    CHECK(!same(SLURM, JOB("\"west\"", "6", "\"0\"", DAY "000000001"), 0));
    CHECK(!same(SLURM, JOB("\"west\"", "6", "\"0\"", "null"), 0));
    CHECK(!same(SLURM, "", 0));
    CHECK(!same(SLURM, "\"job\": null, ", 0));
}

TEST(without_a_start_of_the_job_the_runs_must_have_begun_within_an_hour)
{
    const char *mpi = JOB("null", "4242", "null", "null");
    CHECK(same(mpi, mpi, 3600));
    CHECK(!same(mpi, mpi, 3601));
}

TEST(without_a_launcher_the_runs_must_have_begun_within_ten_minutes)
{
    CHECK(same("", "\"x\": 1, ", 600));
    CHECK(!same("", "", 601));
}

TEST(
    a_pod_that_takes_the_place_of_another_hours_later_is_of_the_run_whose_id_has_the_uid_of_the_job)
{
    static const struct {
        const char *id;
        bool same;
    } rows[] = {
        {"train-0c55e0d4-9a2f-4b1e-8c3d-2f6a7b8c9d0e", true},
        {"0C55E0D4-9A2F-4B1E-8C3D-2F6A7B8C9D0E", true},
        {"a-0c55e0d4-9a2f-4b1e-8c3d-2f6a7b8c9d0e-b", true},
        {"train", false},
        {"train-0c55e0d4-9a2f-4b1e-8c3d-2f6a7b8c9d0", false},
        {"train-0c55e0d4-9a2f-4b1e-8c3d-2f6a7b8c9d0g", false},
        {"train-0c55e0d49a2f-4b1e-8c3d-2f6a7b8c9d0e", false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char x[256], y[256];
        const int n = snprintf(x, sizeof x, "{\"id\": \"%s\", \"start_ns\": 1000}", rows[i].id);
        const int m =
            snprintf(y, sizeof y, "{\"id\": \"%s\", \"start_ns\": 9000000000000000}", rows[i].id);
        CHECK(run_is_same(x, (size_t)n, y, (size_t)m) == rows[i].same);
        CHECK(!run_is_same("{\"id\": \"r\", \"start_ns\": 1000}", 27, y, (size_t)m));
    }
}

TEST(what_is_no_description_is_the_same_as_none)
{
    static const char run[] = "{\"id\": \"r\", \"start_ns\": " DAY "000000000}";
    static const char *const others[] = {
        "",
        "{",
        "[]",
        "{\"id\": \"r\"}",
        "{\"id\": \"s\", \"start_ns\": " DAY "000000000}",
        "{\"id\": \"r\", \"start_ns\": -1}",
        "{\"id\": \"r\", \"start_ns\": \"" DAY "\"}",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        CHECK(!run_is_same(run, sizeof run - 1, others[i], strlen(others[i])));
    CHECK(run_is_same("{", 1, "{", 1)); /* the same bytes */
}
