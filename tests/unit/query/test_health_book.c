/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/health_book.h"
#include "test.h"

static double noise(uint64_t i)
{
    i = (i + 1) * 0x9e3779b97f4a7c15u;
    i = (i ^ (i >> 30)) * 0xbf58476d1ce4e5b9u;
    return (double)((i ^ (i >> 27)) >> 11) / (double)(UINT64_C(1) << 52) - 1;
}

static struct book_value scalar(const char *name, int64_t step, double v)
{
    return (struct book_value){.track = HEALTH_SCALAR,
                               .pid = 7,
                               .step = step,
                               .at = {step * 1000},
                               .name = name,
                               .v = v,
                               .count = isfinite(v) ? (int64_t)v : 0};
}

static struct book_value tensor(uint64_t track, const char *name, int64_t step, double v)
{
    struct book_value x = scalar(name, step, v);
    x.track = track;
    return x;
}

static const struct book_rank *fed(struct health_book *b, const char *name, const double *v,
                                   size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct book_value x = scalar(name, (int64_t)i, v[i]);
        health_book_add(b, &x);
    }
    return b->ranks[0];
}

TEST(a_curve_of_a_million_values_keeps_its_mean_in_bounded_memory)
{
    struct health_book *b = health_book_open();
    for (int64_t i = 0; i < 1000000; i++) {
        const struct book_value x = scalar("loss", i, i < 500000 ? 4 : 2);
        health_book_add(b, &x);
    }
    const struct book_curve *c = &b->ranks[0]->loss.curve;
    CHECK(c->n <= CURVE_BUCKETS && c->values == 1000000);
    NEAR(book_curve_part(c, 0, 1).mean, 3, 1e-3);
    NEAR(book_curve_part(c, 0, 0.1).mean, 4, 1e-12);
    NEAR(book_curve_part(c, 0.9, 1).mean, 2, 1e-12);
    health_book_close(b);
}

TEST(the_standard_error_of_a_curve_is_that_of_its_values)
{
    double v[1000], sum = 0, squares = 0;
    struct health_book *b = health_book_open();
    for (size_t i = 0; i < 1000; i++) {
        v[i] = 5 + noise(i);
        sum += v[i];
        squares += v[i] * v[i];
    }
    const struct curve_part p = book_curve_part(&fed(b, "loss", v, 1000)->loss.curve, 0, 1);
    const double mean = sum / 1000;
    NEAR(p.mean, mean, 1e-9);
    NEAR(p.error, sqrt((squares / 1000 - mean * mean) / 999), 1e-9);
    health_book_close(b);
}

TEST(one_batch_far_above_the_first_losses_is_a_spike_and_ends)
{
    double v[500];
    struct health_book *b = health_book_open();
    for (size_t i = 0; i < 500; i++)
        v[i] = 2.3 * exp(-(double)i / 100) + 0.5 + 0.05 * noise(i);
    v[300] = 50;
    const struct book_spikes *s = &fed(b, "loss", v, 500)->loss.spikes;
    CHECK(s->n == 1 && s->v[0].step == 300 && s->v[0].back == 301);
    NEAR(s->v[0].value, 50, 0);
    NEAR(s->v[0].usual, 0.7, 0.15);
    health_book_close(b);
}

TEST(one_batch_is_a_spike_above_twice_the_first_losses)
{
    static const struct {
        double value;
        uint64_t spikes;
    } rows[] = {{4.2, 0}, {5.9, 0}, {6.1, 1}};
    for (size_t k = 0; k < COUNT_OF(rows); k++) {
        double v[500];
        struct health_book *b = health_book_open();
        for (size_t i = 0; i < 500; i++)
            v[i] = i < 50 ? 3 : 0.5 + 0.02 * noise(i);
        v[300] = rows[k].value;
        CHECK_INT(fed(b, "loss", v, 500)->loss.spikes.n, rows[k].spikes);
        health_book_close(b);
    }
}

TEST(one_bad_batch_below_the_first_losses_is_no_spike_but_four_are)
{
    double v[500];
    struct health_book *b = health_book_open(), *c = health_book_open();
    for (size_t i = 0; i < 500; i++)
        v[i] = i < 50 ? 3 : 0.5 + 0.02 * noise(i);
    v[300] = 1.5;
    CHECK(fed(b, "loss", v, 500)->loss.spikes.n == 0);
    v[301] = v[303] = v[305] = 1.5;
    const struct book_spikes *s = &fed(c, "loss", v, 500)->loss.spikes;
    CHECK(s->n == 1 && s->v[0].step == 300);
    health_book_close(b);
    health_book_close(c);
}

TEST(a_loss_that_stays_at_a_new_level_is_one_spike)
{
    double v[1000];
    struct health_book *b = health_book_open();
    for (size_t i = 0; i < 1000; i++)
        v[i] = (i < 400 ? 1 : 3) + 0.02 * noise(i);
    const struct book_spikes *s = &fed(b, "loss", v, 1000)->loss.spikes;
    CHECK(s->n == 1 && s->v[0].step == 400 && s->v[0].back == -1);
    health_book_close(b);
}

TEST(noise_with_a_heavy_tail_is_no_spike)
{
    double v[4000];
    struct health_book *b = health_book_open();
    for (size_t i = 0; i < 4000; i++)
        v[i] = 2 * exp(-(double)i / 1500) + 0.3 * exp(0.6 * (noise(i) + noise(i + 5000)));
    CHECK(fed(b, "loss", v, 4000)->loss.spikes.n == 0);
    health_book_close(b);
}

TEST(a_gradient_spike_is_above_all_norms_before_it)
{
    double v[400];
    struct health_book *b = health_book_open();
    for (size_t i = 0; i < 400; i++)
        v[i] = 1 + 0.3 * noise(i);
    v[20] = 50; /* too early to say */
    v[200] = 4; /* its window has the 50 no more: 3 times the largest is 3.9 */
    const struct book_rank *r = fed(b, "grad.norm", v, 400);
    CHECK(r->grad.n == 1 && r->grad.v[0].step == 200 && r->grad.looked);
    health_book_close(b);
}

/* Of short steps one in four is recorded, and each that stands out. */
TEST(a_gradient_spike_is_found_between_norms_of_few_steps)
{
    static const struct {
        size_t spike;
        bool found;
    } rows[] = {{300, true}, {132, true}, {124, false}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct health_book *b = health_book_open();
        for (size_t k = 0; k < 400; k += 4) {
            const double norm = k == rows[i].spike ? 60 : 1 + 0.3 * noise(k);
            const struct book_value x = scalar("grad.norm", (int64_t)k, norm);
            health_book_add(b, &x);
        }
        const struct book_rank *r = b->ranks[0];
        CHECK(r->grad.n == rows[i].found);
        CHECK(!rows[i].found || r->grad.v[0].step == (int64_t)rows[i].spike);
        health_book_close(b);
    }
}

TEST(norms_of_fewer_than_65_steps_are_not_compared)
{
    double v[64];
    struct health_book *b = health_book_open();
    for (size_t i = 0; i < 64; i++)
        v[i] = i == 50 ? 60 : 1;
    const struct book_rank *r = fed(b, "grad.norm", v, 64);
    CHECK(r->grad.n == 0 && !r->grad.looked && r->grad_norms == 64);
    health_book_close(b);
}

TEST(a_scale_that_falls_is_a_skipped_step)
{
    const double v[] = {65536, 65536, 32768, 16384, 16384, 0, 0, 0};
    struct health_book *b = health_book_open();
    const struct book_rank *r = fed(b, "amp.scale", v, 8);
    CHECK(r->scales == 8 && r->skipped == 5 && r->longest_run == 3);
    CHECK(health_step_skipped(r, 2) && health_step_skipped(r, 7) && !health_step_skipped(r, 4));
    CHECK(r->scale_least == 0 && r->scale_least_step == 5);
    health_book_close(b);
}

TEST(batches_are_compared_within_an_epoch)
{
    struct health_book *b = health_book_open(), *c = health_book_open();
    for (int64_t i = 0; i < 600; i++) {
        struct book_value x = scalar("batch.hash", i, 0), epoch = scalar("epoch", i, 0);
        x.count = i % 60;
        if (i % 60 == 0)
            health_book_add(b, &epoch);
        health_book_add(b, &x);
        x.count = i % 2;
        health_book_add(c, &x);
    }
    health_close_hashes(b->ranks[0]);
    health_close_hashes(c->ranks[0]);
    CHECK(b->ranks[0]->batches == 60 && b->ranks[0]->distinct == 60);
    CHECK(c->ranks[0]->batches == 600 && c->ranks[0]->distinct == 2);
    health_book_close(b);
    health_book_close(c);
}

/* Two batches in turn, one in `every` steps recorded: the batches of the part that is long enough.
 */
static uint64_t recorded_batches(int64_t steps, int64_t every)
{
    struct health_book *b = health_book_open();
    for (int64_t i = 0; i < steps; i += every) {
        struct book_value x = scalar("batch.hash", i, 0);
        x.count = i / every % 2;
        health_book_add(b, &x);
    }
    health_close_hashes(b->ranks[0]);
    const uint64_t n = b->ranks[0]->batches;
    health_book_close(b);
    return n;
}

TEST(batches_are_compared_from_20_recorded_ones_in_50_steps_on)
{
    CHECK(recorded_batches(50, 1) == 50 && recorded_batches(49, 1) == 0);
    CHECK(recorded_batches(77, 4) == 20 && recorded_batches(76, 4) == 0);
    CHECK(recorded_batches(30, 1) == 0);
}

TEST(a_part_of_the_batches_begins_where_the_one_before_has_ended)
{
    struct health_book *b = health_book_open();
    for (int64_t i = 0; i < 200; i++) { /* epochs of 40 steps */
        struct book_value x = scalar("batch.hash", i, 0), epoch = scalar("epoch", i, 0);
        if (i % 40 == 0)
            health_book_add(b, &epoch);
        health_book_add(b, &x);
    }
    health_close_hashes(b->ranks[0]);
    CHECK(b->ranks[0]->batches == 0);
    health_book_close(b);
}

TEST(losses_that_are_trained_in_turn_have_no_level)
{
    struct health_book *turns = health_book_open(), *parts = health_book_open();
    for (int64_t i = 0; i < 100; i++) {
        const struct book_value x = scalar("loss", i, 2), y = scalar("loss.1", i, 1),
                                z = scalar("loss.1", 100 + i, 1);
        health_book_add(turns, &x);
        health_book_add(turns, &y);
        health_book_add(parts, &x);
        if (i == 99)
            for (int64_t k = 0; k < 100; k++)
                health_book_add(parts, &z);
    }
    CHECK(strstr(health_loss_without_level(turns->ranks[0]), "several losses"));
    CHECK(!health_loss_without_level(parts->ranks[0])); /* the second one came after the first */
    health_book_close(turns);
    health_book_close(parts);
}

TEST(a_loss_below_zero_has_no_level)
{
    static const struct {
        double first, later;
        bool level;
    } rows[] = {{2, 0.5, true}, {2, -0.01, true}, {2, -0.1, false}, {-1, -2, false}, {0, 0, false}};
    for (size_t k = 0; k < COUNT_OF(rows); k++) {
        double v[100];
        struct health_book *b = health_book_open();
        for (size_t i = 0; i < 100; i++)
            v[i] = i == 50 ? rows[k].later : rows[k].first;
        const char *why = health_loss_without_level(fed(b, "loss", v, 100));
        CHECK(rows[k].level ? !why : why && strstr(why, "negative"));
        health_book_close(b);
    }
}

TEST(a_table_drops_every_second_sample_when_it_is_full)
{
    struct health_book *b = health_book_open();
    for (int64_t i = 0; i < 10 * TABLE_ROWS; i++)
        for (int k = 0; k < 3; k++) {
            const char *const names[] = {"a", "b", "c"};
            const struct book_value x =
                tensor(HEALTH_GRADIENT_L2, names[k], 10 * i, (double)(i * 10 + k));
            health_book_add(b, &x);
        }
    const struct book_table *t = &b->ranks[0]->tables[TABLE_GRADIENT_L2];
    CHECK(t->n <= TABLE_ROWS && t->n > TABLE_ROWS / 4 && t->samples == 10 * TABLE_ROWS);
    for (size_t i = 0; i < t->n; i++) {
        CHECK(t->rows[i].step % (int64_t)(10 * t->every) == 0);
        NEAR(table_cell(&t->rows[i], 3), (double)t->rows[i].step + 2, 0);
    }
    health_book_close(b);
}

TEST(ten_thousand_tensors_are_bounded)
{
    struct health_book *b = health_book_open();
    char name[32];
    for (int64_t i = 0; i < 200; i++)
        for (int k = 0; k < 10000; k++) {
            snprintf(name, sizeof name, "layer.%d.weight", k);
            const struct book_value x = tensor(HEALTH_WEIGHT_L2, name, i, 1);
            health_book_add(b, &x);
        }
    const struct book_table *t = &b->ranks[0]->tables[TABLE_WEIGHT_L2];
    CHECK(t->n * 10000 <= 2 * (size_t)TABLE_CELLS);
    CHECK(t->n >= 32);
    health_book_close(b);
}

TEST(a_value_that_was_not_measured_is_not_zero)
{
    struct health_book *b = health_book_open();
    const struct book_value x = tensor(HEALTH_GRADIENT_L2, "a", 0, 1),
                            y = tensor(HEALTH_GRADIENT_L2, "b", 10, 2);
    health_book_add(b, &x);
    health_book_add(b, &y);
    const struct book_table *t = &b->ranks[0]->tables[TABLE_GRADIENT_L2];
    CHECK(isnan(table_cell(&t->rows[0], 2)) && isnan(table_cell(&t->rows[1], 1)));
    CHECK(isnan(table_cell(NULL, 1)));
    health_book_close(b);
}

/* ---- cuts and copies ---- */

static struct book_value random_value(uint64_t i)
{
    static const char *const names[] = {"loss", "grad.norm", "amp.scale", "batch.hash", "lr"};
    static const char *const tensors[] = {"0.weight", "0.bias", "2.weight"};
    const int64_t step = (int64_t)i / 8;
    if (i % 8 < 5)
        return scalar(names[i % 8], step, i % 97 == 0 ? (double)NAN : 2 + noise(i));
    return tensor(i % 16 < 8 ? HEALTH_GRADIENT_L2 : HEALTH_UPDATE_RATIO, tensors[i % 8 - 5],
                  step / 10 * 10, 1 + noise(i));
}

/* All that matters of a rank, as numbers. */
static double digest(const struct health_book *b)
{
    double sum = 0;
    for (size_t i = 0; i < b->n; i++) {
        const struct book_rank *r = b->ranks[i];
        const struct curve_part p = book_curve_part(&r->loss.curve, 0.3, 0.9);
        sum += p.mean + p.error + (double)(r->loss.spikes.n + r->grad.n * 3 + r->skipped * 7) +
               (double)r->n_bad * 11 + (double)r->n_hashes + r->lr_peak;
        for (size_t k = 0; k < HEALTH_TABLE_N; k++)
            for (size_t row = 0; row < r->tables[k].n; row++)
                for (uint32_t c = 1; c < r->tables[k].rows[row].n; c++)
                    if (!isnan(r->tables[k].rows[row].v[c]))
                        sum += r->tables[k].rows[row].v[c] * (double)(row + 1);
    }
    return sum;
}

TEST(a_copy_goes_on_as_the_original_does)
{
    struct health_book *whole = health_book_open(), *part = health_book_open();
    for (uint64_t i = 0; i < 20000; i++) {
        const struct book_value x = random_value(i);
        health_book_add(whole, &x);
        if (i < 9000)
            health_book_add(part, &x);
    }
    struct health_book *copy = health_book_copy(part);
    const double before = digest(part);
    for (uint64_t i = 9000; i < 20000; i++) {
        const struct book_value x = random_value(i);
        health_book_add(copy, &x);
    }
    NEAR(digest(copy), digest(whole), 0);
    NEAR(digest(part), before, 0);
    health_book_close(copy);
    health_book_close(part);
    health_book_close(whole);
}

TEST(how_tracks_are_interleaved_does_not_matter)
{
    struct health_book *a = health_book_open(), *b = health_book_open();
    for (uint64_t i = 0; i < 20000; i++) {
        const struct book_value x = random_value(i);
        health_book_add(a, &x);
    }
    for (uint64_t track = 0; track < HEALTH_N; track++)
        for (uint64_t i = 0; i < 20000; i++) {
            const struct book_value x = random_value(i);
            if (x.track == track)
                health_book_add(b, &x);
        }
    /* Numbers of names may differ, so tables are compared by name. */
    for (uint32_t n = 1; n < a->ranks[0]->n_names; n++) {
        uint32_t m = 1;
        while (strcmp(a->ranks[0]->names[n], b->ranks[0]->names[m]) != 0)
            m++;
        for (size_t k = 0; k < HEALTH_TABLE_N; k++)
            for (size_t row = 0; row < a->ranks[0]->tables[k].n; row++) {
                const double x = table_cell(&a->ranks[0]->tables[k].rows[row], n),
                             y = table_cell(&b->ranks[0]->tables[k].rows[row], m);
                CHECK(x == y || (isnan(x) && isnan(y)));
            }
    }
    CHECK(a->ranks[0]->loss.spikes.n == b->ranks[0]->loss.spikes.n);
    CHECK(a->ranks[0]->n_bad == b->ranks[0]->n_bad);
    health_book_close(a);
    health_book_close(b);
}
