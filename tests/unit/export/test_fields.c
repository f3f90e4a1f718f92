/* SPDX-License-Identifier: Apache-2.0 */
/* One record, three ways to write it. */
#include "export/fields.h"
#include "test.h"

static void put_record(struct fields *f)
{
    fields_begin(f, "thing");
    fields_str(f, "name", "a \"b\", c");
    fields_int(f, "count", -3);
    fields_num(f, "share", 0.25);
    fields_num(f, "unknown", (double)NAN);
    fields_none(f, "absent");
    fields_str(f, "last", "x");
    fields_end(f);
}

static void check_as(enum fields_as as, const char *want)
{
    struct buf b = {0};
    struct fields f = {.out = &b, .as = as};
    put_record(&f);
    put_record(&f);
    buf_u8(&b, '\0');
    CHECK_STR((const char *)b.p, want);
    buf_free(&b);
}

TEST(a_record_as_csv_has_a_place_for_what_is_missing)
{
    check_as(AS_CSV, "\"a \"\"b\"\", c\",-3,0.25,,,x\n\"a \"\"b\"\", c\",-3,0.25,,,x\n");
}

TEST(a_record_as_json_says_what_it_is_and_leaves_out_what_is_missing)
{
#define ONE                                                                                        \
    "{\"type\":\"thing\",\"name\":\"a \\\"b\\\", "                                                 \
    "c\",\"count\":-3,\"share\":0.25,\"last\":\"x\"}\n"
    check_as(AS_JSON, ONE ONE);
}

TEST(the_names_of_a_csv_are_those_of_its_fields)
{
#define NAMES "name,count,share,unknown,absent,last\n"
    check_as(AS_NAMES, NAMES NAMES);
}
