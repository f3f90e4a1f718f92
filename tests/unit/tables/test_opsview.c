/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "tables/opsview.h"
#include "test.h"

TEST(only_kernels_and_copies_have_a_group)
{
    const struct op_row kernel = {.device = OP_GPU, .category = CAT_KERNEL};
    const struct op_row copy = {.device = OP_GPU, .category = CAT_MEMCPY};
    const struct op_row op = {.device = OP_CPU, .category = CAT_KERNEL};
    CHECK(op_group(&kernel) != NULL);
    CHECK(op_group(&copy) != NULL);
    CHECK(op_group(&op) == NULL);
}

TEST(the_mean_of_calls_that_nobody_counted_is_not_known)
{
    const struct op_row sampled = {.phase = "", .total_ns = 5};
    const struct op_row none = {.total_ns = 5};
    const struct op_row four = {.calls = 4, .total_ns = 8 * NS_PER_S};
    CHECK(isnan(op_mean_s(&sampled)));
    NEAR(op_mean_s(&none), 0, 0);
    NEAR(op_mean_s(&four), 2, 1e-12);
}

TEST(functions_are_ranked_by_phase_and_timer_operators_by_device)
{
    const struct op_row cpu = {.device = OP_CPU}, gpu = {.device = OP_GPU};
    const struct op_row a = {.phase = "forward", .timer = "cpu_time"};
    const struct op_row b = {.phase = "forward", .timer = "default"};
    const struct op_row c = {.phase = "backward", .timer = "cpu_time"};
    CHECK(op_same_table(&cpu, &cpu) && !op_same_table(&cpu, &gpu));
    CHECK(op_same_table(&a, &a) && !op_same_table(&a, &b) && !op_same_table(&a, &c));
}

/* The row as a line of CSV, columns `first` before the others. */
static const char *csv_of(const struct op_row *r, const char *first, struct arena *a)
{
    struct row_columns columns;
    struct buf b = {0};
    row_columns_of(&columns, &row_Op, first, a);
    row_csv(&columns, r, &b, a);
    const char *text = arena_strndup(a, (const char *)b.p, b.len);
    buf_free(&b);
    return text;
}

TEST(a_kernel_has_empty_cells_for_what_only_operators_have)
{
    struct arena a = {0};
    const struct op_row kernel = {.device = OP_GPU,
                                  .category = CAT_KERNEL,
                                  .name = "gemm",
                                  .full = "gemm<float>",
                                  .calls = 2,
                                  .self_ns = NS_PER_S,
                                  .total_ns = NS_PER_S,
                                  .share = 0.5};
    const struct op_row op = {.name = "mm", .full = "mm", .calls = 1, .device_self_ns = NS_PER_S};
    const char *columns = "name,calls,device_self_s,device_total_s,phase,timer,-device,-category,"
                          "-group,-full_name,-self_s,-total_s,-mean_s,-share";
    CHECK_STR(csv_of(&kernel, columns, &a), "gemm,2,,,,\n");
    CHECK_STR(csv_of(&op, columns, &a), "mm,1,1,0,,\n");
    arena_free(&a);
}
