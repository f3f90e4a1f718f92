/* SPDX-License-Identifier: Apache-2.0 */
/* The headers of requests for the files of a run. */
#include "base/mem.h"
#include "serve/api_internal.h"
#include "test.h"

TEST(a_range_means_bytes_of_the_file)
{
    static const struct {
        const char *text;
        int status;
        uint64_t from, n;
    } rows[] = {
        {NULL, 200, 0, 100},         {"bytes=0-9", 206, 0, 10},
        {"bytes=90-", 206, 90, 10},  {"bytes=90-200", 206, 90, 10},
        {"bytes=-7", 206, 93, 7},    {"bytes=-200", 206, 0, 100},
        {"bytes=100-", 416, 0, 100}, {"bytes=-0", 416, 100, 0},
        {"bytes=5-4", 200, 0, 100},  {"bytes=0-1,3-4", 200, 0, 100},
        {"lines=0-1", 200, 0, 100},  {"bytes=", 200, 0, 100},
        {"bytes=a-b", 200, 0, 100},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        uint64_t from, n;
        CHECK_INT(range_parse(rows[i].text, 100, &from, &n), rows[i].status);
        CHECK(rows[i].status == 416 || (from == rows[i].from && n == rows[i].n));
    }
}

TEST(a_tag_is_in_the_list_of_a_header)
{
    static const struct {
        const char *header;
        bool strong, weak;
    } rows[] = {
        {NULL, false, false},
        {"", false, false},
        {"*", true, true},
        {"\"abc\"", true, true},
        {"\"x\", \"abc\"", true, true},
        {"W/\"abc\"", false, true},
        {"W/\"abc\", \"abc\"", true, true},
        {"abc", false, false},
        {"\"abcd\"", false, false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CHECK(etag_is_listed(rows[i].header, "\"abc\"", false) == rows[i].strong);
        CHECK(etag_is_listed(rows[i].header, "\"abc\"", true) == rows[i].weak);
    }
}
