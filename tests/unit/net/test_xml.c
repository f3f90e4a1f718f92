/* SPDX-License-Identifier: Apache-2.0 */
/* test_xml.c - the pull parser for answers of S3. */
#include "base/mem.h"
#include "net/xml.h"
#include "test.h"

static void check_find(const char *text, const char *name, const char *want)
{
    char *got = xml_find(text, strlen(text), name);
    CHECK_STR(got ? got : "(none)", want);
    free(got);
}

/* Names with their depth: "a1 b2 ". */
static void check_walk(const char *text, const char *want, bool bad)
{
    struct xml x = xml_of(text, strlen(text));
    struct buf b = {0};
    while (xml_next(&x))
        buf_printf(&b, "%.*s%d ", (int)x.name_len, x.name, x.depth);
    buf_u8(&b, 0);
    CHECK_STR((char *)b.p, want);
    CHECK(x.bad == bad);
    buf_free(&b);
}

TEST(elements_come_in_their_order_with_their_depth)
{
    check_walk("<?xml version='1.0'?>\n<a xmlns=\"http://x/>\"><b/><c d='1'>t</c><!-- <e> --></a>",
               "a1 b2 c2 ", false);
    check_walk("<s:a><s:b></s:b></s:a>", "a1 b2 ", false);
    check_walk("  ", "", false);
}

TEST(texts_are_decoded)
{
    check_find("<a><k>x&amp;y&lt;&gt;&quot;&apos;&#65;&#xe9;</k></a>", "k", "x&y<>\"'A\xc3\xa9");
    check_find("<a><k>1<![CDATA[<&>]]>2</k></a>", "k", "1<&>2");
    check_find("<a><k/></a>", "k", "");
    check_find("<a><k></k></a>", "k", "");
    check_find("<a><kk>1</kk></a>", "k", "(none)");
}

TEST(what_is_cut_nested_too_deep_or_has_a_dtd_is_bad)
{
    check_walk("<a><b>", "a1 b2 ", true);
    check_walk("<a", "", true);
    check_walk("<a b='", "", true);
    check_walk("</a>", "", true);
    check_walk("<!DOCTYPE a [<!ENTITY x 'y'>]><a/>", "", true);
    struct buf b = {0};
    for (int i = 0; i < 2 * XML_DEPTH_MOST; i++)
        buf_printf(&b, "<a>");
    struct xml x = xml_of(b.p, b.len);
    int n = 0;
    while (xml_next(&x))
        n++;
    CHECK(x.bad);
    CHECK_INT(n, XML_DEPTH_MOST);
    buf_free(&b);
}

TEST(an_unknown_entity_is_bad)
{
    static const char *const texts[] = {"<a>&x;</a>", "<a>&#0;</a>", "<a>&#xd800;</a>", "<a>&</a>"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct xml x = xml_of(texts[i], strlen(texts[i]));
        struct buf b = {0};
        CHECK(xml_next(&x));
        xml_text(&x, &b);
        CHECK(x.bad);
        buf_free(&b);
    }
}
