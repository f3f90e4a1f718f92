/* SPDX-License-Identifier: Apache-2.0 */
/* Quantiles of Student's t against the tables of textbooks. */
#include "compare/stepdiff.h"
#include "test.h"

TEST(quantiles_are_those_of_the_tables)
{
    static const struct {
        double p, df, t;
    } rows[] = {
        {0.975, 1, 12.706205},  {0.975, 2, 4.302653}, {0.975, 4, 2.776445}, {0.975, 10, 2.228139},
        {0.975, 24, 2.063899},  {0.995, 5, 4.032143}, {0.95, 8, 1.859548},  {0.9995, 3, 12.923979},
        {0.975, 1e6, 1.959966}, {0.75, 7, 0.711142},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        NEAR(student_quantile(rows[i].p, rows[i].df), rows[i].t, 2e-6 * rows[i].t);
}

TEST(degrees_of_freedom_need_not_be_whole)
{
    const double t = student_quantile(0.975, 2.5);
    CHECK(t < student_quantile(0.975, 2) && t > student_quantile(0.975, 3));
    NEAR(t, 3.5746548, 1e-6);
}
