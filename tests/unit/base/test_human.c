/* SPDX-License-Identifier: Apache-2.0 */
/* test_human.c - numbers as people read them. */
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/human.h"
#include "test.h"

static char text[HUMAN_LEN]; /* what was printed last */

static const char *bytes(double v)
{
    return human_bytes(v, text, sizeof text);
}

static const char *value(double v, const char *unit)
{
    return human_value(v, unit, text, sizeof text);
}

TEST(bytes_have_three_significant_digits_and_a_binary_prefix)
{
    CHECK_STR(bytes(0), "0 B");
    CHECK_STR(bytes(1), "1 B");
    CHECK_STR(bytes(512), "512 B");
    CHECK_STR(bytes(1024), "1.00 KiB");
    CHECK_STR(bytes(1536), "1.50 KiB");
    CHECK_STR(bytes(15.36 * 1024), "15.4 KiB");
    CHECK_STR(bytes(153.6 * 1024), "154 KiB");
    CHECK_STR(bytes(8.0 * 1024 * 1024 * 1024), "8.00 GiB");
    CHECK_STR(bytes(80.0 * 1024 * 1024 * 1024), "80.0 GiB");
}

TEST(a_prefix_never_shows_four_digits_before_the_point)
{
    CHECK_STR(bytes(999), "999 B");
    CHECK_STR(bytes(1000), "0.977 KiB");
    CHECK_STR(bytes(1023.0 * 1024), "0.999 MiB");
    CHECK_STR(bytes(999.6), "0.976 KiB");
}

TEST(rounding_up_does_not_add_a_digit)
{
    CHECK_STR(bytes(9.996 * 1024), "10.0 KiB");
    CHECK_STR(bytes(99.96 * 1024), "100 KiB");
}

TEST(every_unit_is_written_behind_its_number)
{
    CHECK_STR(value(12.34, "%"), "12.3 %");
    CHECK_STR(value(0, "%"), "0.0 %");
    CHECK_STR(value(1536, "B"), "1.50 KiB");
    CHECK_STR(value(1572864, "B/s"), "1.50 MiB/s");
    CHECK_STR(value(12500, "1/s"), "12.5 k/s");
    CHECK_STR(value(7, "1/s"), "7 /s");
    CHECK_STR(value(10485760, "B/h"), "10.0 MiB/h");
    CHECK_STR(value(300, "W"), "300 W");
    CHECK_STR(value(1980, "MHz"), "1980 MHz");
    CHECK_STR(value(41, "C"), "41 °C");
    CHECK_STR(value(4, ""), "4");
    CHECK_STR(value(5, "bits"), "0x5");
    CHECK_STR(value(2.5, "furlongs"), "2.5 furlongs");
}

TEST(short_times_are_in_the_unit_that_fits)
{
    CHECK_STR(value(0.000085, "s"), "85 µs");
    CHECK_STR(value(0.0000854, "s"), "85.4 µs");
    CHECK_STR(value(0.5, "s"), "500 ms");
    CHECK_STR(value(0.01, "s"), "10 ms");
    CHECK_STR(value(0.0125, "s"), "12.5 ms");
    CHECK_STR(value(1.5, "s"), "1.5 s");
}

TEST(a_value_that_is_missing_is_no_zero)
{
    CHECK_STR(value(NAN, "%"), "-");
    CHECK_STR(value(NAN, "B"), "-");
}

TEST(counts_are_grouped_by_thousands)
{
    char buf[HUMAN_LEN];
    CHECK_STR(human_count(0, buf, sizeof buf), "0");
    CHECK_STR(human_count(999, buf, sizeof buf), "999");
    CHECK_STR(human_count(9999, buf, sizeof buf), "9999");
    CHECK_STR(human_count(10000, buf, sizeof buf), "10 000");
    CHECK_STR(human_count(1234567, buf, sizeof buf), "1 234 567");
    CHECK_STR(human_count(UINT64_MAX, buf, sizeof buf), "18 446 744 073 709 551 615");
}

TEST(money_has_its_currency)
{
    CHECK_STR(human_price(5.1, "USD", text, sizeof text), "5.10 USD");
    CHECK_STR(human_price(0.0615, "EUR", text, sizeof text), "0.0615 EUR");
    CHECK_STR(human_price(NAN, "USD", text, sizeof text), "-");
}

TEST(ages_grow_their_unit)
{
    char buf[HUMAN_LEN];
    CHECK_STR(human_age(1.9, buf, sizeof buf), "1 s ago");
    CHECK_STR(human_age(-5, buf, sizeof buf), "0 s ago");
    CHECK_STR(human_age(180, buf, sizeof buf), "3 min ago");
    CHECK_STR(human_age(7200, buf, sizeof buf), "2 h ago");
    CHECK_STR(human_age(86400.0 * 12, buf, sizeof buf), "12 d ago");
}

static const char *count(double v, char *buf, size_t size)
{
    return human_count((uint64_t)v, buf, size);
}

/* As comparisons write it. */
static const char *change(double v, char *buf, size_t size)
{
    char size_of_it[HUMAN_LEN];
    return human_signed(v, human_value(fabs(v), "s", size_of_it, sizeof size_of_it), buf, size);
}

static const struct {
    const char *name;
    const char *(*text)(double v, char *buf, size_t size);
} kinds[] = {
    {"(count)", count},         {"(age)", human_age}, {"(money)", human_money},
    {"(points)", human_points}, {"(change)", change}, {"(duration)", duration_text},
};

static const char *written(double v, const char *unit)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, unit) == 0)
            return kinds[i].text(v, text, sizeof text);
    return value(v, unit);
}

TEST(numbers_read_as_the_table_says_that_the_page_is_held_to_too)
{
    FILE *f = fopen(FP_TEST_DATA "/human.tsv", "r");
    char line[128];
    size_t n = 0;
    CHECK(f);
    while (fgets(line, sizeof line, f)) {
        char *unit = strchr(line, '\t'), *want = strrchr(line, '\t');
        if (*line == '#')
            continue;
        CHECK(unit && want > unit);
        *unit++ = *want++ = '\0';
        want[strcspn(want, "\n")] = '\0';
        CHECK_STR(written(strtod(line, NULL), unit), want);
        n++;
    }
    fclose(f);
    CHECK(n > 100);
}
