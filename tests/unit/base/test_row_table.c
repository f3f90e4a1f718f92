/* SPDX-License-Identifier: Apache-2.0 */
/* One table, and all that is written from it. */
#include <math.h>

#include "base/row_table.h"
#include "test.h"

struct wheel {
    const char *name;
    int64_t spokes;
};

struct cart {
    const char *owner; /* NULL: not known */
    int64_t bought_ns; /* below 0: not known */
    double load_kg;
    bool red;
    struct wheel *wheels;
    size_t n_wheels;
    const struct wheel *spare;
    double part_s[2];
};

static const char *const part_names[] = {"up", "down"};

static struct row_cell part_at(const void *x, size_t i, const char **key)
{
    *key = i < 2 ? part_names[i] : NULL;
    return x ? row_number(((const struct cart *)x)->part_s[i]) : row_absent();
}

#define ROWS_FILE "base/test_row_table_rows.def"
#include "base/row_expand.h"

static struct wheel wheels[] = {{"left", 8}, {"right", 9}};

static const struct cart full = {
    .owner = "A, \"B\"",
    .bought_ns = 12,
    .load_kg = 0.5,
    .red = true,
    .wheels = wheels,
    .n_wheels = 2,
    .spare = &wheels[1],
    .part_s = {1, 2.5},
};
static const struct cart empty = {
    .bought_ns = -1, .load_kg = (double)NAN, .part_s = {0, (double)NAN}};

static void check_json(const struct cart *x, const char *want)
{
    struct buf b = {0};
    struct jw j = {.out = &b};
    row_json(&j, NULL, &row_Cart, x, NULL);
    buf_u8(&b, '\0');
    CHECK_STR((const char *)b.p, want);
    buf_free(&b);
}

TEST(a_row_is_an_object_with_all_its_fields)
{
    check_json(&full, "{\"owner\":\"A, \\\"B\\\"\",\"bought_ns\":12,\"load_kg\":0.5,\"red\":true,"
                      "\"wheels\":[{\"name\":\"left\",\"spokes\":8},{\"name\":\"right\","
                      "\"spokes\":9}],\"spare\":{\"name\":\"right\",\"spokes\":9},"
                      "\"spare_name\":\"right\",\"parts\":{\"up\":1,\"down\":2.5}}");
}

TEST(what_is_not_known_is_null_and_an_optional_key_is_absent)
{
    check_json(&empty, "{\"owner\":null,\"bought_ns\":null,\"load_kg\":null,\"red\":false,"
                       "\"wheels\":[],\"spare\":null,\"parts\":{\"up\":0,\"down\":null}}");
}

static void check_columns(const char *first, const char *head, const char *csv, const char *line)
{
    struct arena a = {0};
    struct buf b = {0};
    struct row_columns c;
    row_columns_of(&c, &row_Cart, first, &a);
    row_csv_head(&c, &b);
    buf_u8(&b, '\0');
    CHECK_STR((const char *)b.p, head);
    b.len = 0;
    row_csv(&c, &full, &b, &a);
    row_csv(&c, &empty, &b, &a);
    buf_u8(&b, '\0');
    CHECK_STR((const char *)b.p, csv);
    b.len = 0;
    row_line(&c, "cart", &empty, &b, &a);
    buf_u8(&b, '\0');
    CHECK_STR((const char *)b.p, line);
    buf_free(&b);
    arena_free(&a);
}

TEST(columns_are_the_values_and_the_keys_of_maps)
{
    check_columns("", "owner,bought_ns,load_kg,red,spare_name,up_s,down_s\n",
                  "\"A, \"\"B\"\"\",12,0.5,1,right,1,2.5\n,,,0,,0,\n",
                  "{\"type\":\"cart\",\"red\":0,\"up_s\":0}\n");
}

TEST(columns_come_in_the_order_asked_for_and_may_have_an_old_name)
{
    check_columns("red,parts,colour=red",
                  "red,up_s,down_s,colour,owner,bought_ns,load_kg,spare_name\n",
                  "1,1,2.5,1,\"A, \"\"B\"\"\",12,0.5,right\n0,0,,0,,,,\n",
                  "{\"type\":\"cart\",\"red\":0,\"up_s\":0,\"colour\":0}\n");
}

static const char *field(const char *text, struct buf *b)
{
    b->len = 0;
    csv_put(b, text);
    buf_u8(b, 0);
    return (const char *)b->p;
}

TEST(csv_quotes_what_would_be_taken_for_something_else)
{
    struct buf b = {0};
    CHECK_STR(field("plain", &b), "plain");
    CHECK_STR(field("a,b", &b), "\"a,b\"");
    CHECK_STR(field("say \"hi\"", &b), "\"say \"\"hi\"\"\"");
    CHECK_STR(field("two\nlines", &b), "\"two\nlines\"");
    CHECK_STR(field("", &b), "");
    buf_free(&b);
}
