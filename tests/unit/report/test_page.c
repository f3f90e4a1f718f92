/* SPDX-License-Identifier: Apache-2.0 */
/* Pages: nothing that a name holds becomes markup, and what is opened is closed. */
#include "report/doc.h"
#include "report/doc_internal.h"
#include "test.h"

static const char *text_of(struct buf *b)
{
    buf_u8(b, 0);
    return (const char *)b->p;
}

static const char *escaped(struct buf *b, const char *s, size_t most)
{
    b->len = 0;
    html_text(b, s, most);
    return text_of(b);
}

static size_t count_of(const char *text, const char *word)
{
    size_t n = 0;
    for (const char *s = text; (s = strstr(s, word)); s += strlen(word))
        n++;
    return n;
}

TEST(markup_in_a_name_comes_out_as_text)
{
    struct buf b = {0};
    CHECK_STR(escaped(&b, "<script>alert('a & \"b\"')</script>", 0),
              "&lt;script&gt;alert(&#39;a &amp; &quot;b&quot;&#39;)&lt;/script&gt;");
    buf_free(&b);
}

TEST(control_characters_and_broken_utf8_are_replaced)
{
    struct buf b = {0};
    CHECK_STR(escaped(&b, "a\x01\x1b[31m\x7f\xc2\x9b", 0), "a\ufffd\ufffd[31m\ufffd\ufffd");
    CHECK_STR(escaped(&b, "\xff\xc0\x80ü\xed\xa0\x80", 0), "\ufffd\ufffd\ufffdü\ufffd\ufffd\ufffd");
    CHECK_STR(escaped(&b, "two\nlines\tand a tab", 0), "two\nlines\tand a tab");
    buf_free(&b);
}

TEST(a_text_is_cut_between_characters)
{
    struct buf b = {0};
    CHECK_STR(escaped(&b, "abcdef", 6), "abcdef");
    CHECK_STR(escaped(&b, "abcdefg", 6), "abcdef\u2026");
    CHECK_STR(escaped(&b, "abcdeü!", 6), "abcde\u2026");
    CHECK_STR(escaped(&b, "", 6), "");
    buf_free(&b);
}

static const char columns[] = "Name|>Value";

static void small_page(struct buf *b, const char *name)
{
    struct arena a = {0};
    struct doc d;
    doc_open(&d, DOC_HTML, b, &a, &(struct page_head){.title = name, .lead = name});
    doc_contents(&d, (const struct page_link[]){{"one", "One"}, {0}});
    doc_section(&d, "one", name);
    doc_text(&d, "%s", name);
    doc_note(&d, TONE_BAD, "%s", name);
    doc_fact(&d, name, NAN, name);
    doc_fact(&d, "number", 1.5, "1.50 s");
    doc_tile(&d, name, name, name);
    doc_table(&d, name, columns);
    doc_cell(&d, name);
    doc_bar(&d, 0.25, "25.0 %");
    doc_link(&d, "one", name);
    doc_rest(&d, name);
    doc_badge(&d, TONE_GOOD, name);
    doc_table_end(&d);
    doc_section_end(&d);
    doc_close(&d, name);
    arena_free(&a);
}

TEST(a_page_has_no_markup_but_its_own)
{
    struct buf b = {0};
    small_page(&b, "</title></table><img src=x onerror=alert(1)>\" onload=\"alert(1)");
    const char *text = text_of(&b);
    CHECK(!strstr(text, "<img") && !strstr(text, "\" onload"));
    CHECK_INT(count_of(text, "<script>"), 1);
    CHECK_INT(count_of(text, "</table>"), 1);
    CHECK_INT(count_of(text, "</title>"), 1);
    buf_free(&b);
}

TEST(what_a_page_opens_it_closes)
{
    static const char *const tags[] = {"section", "table", "tbody", "thead", "tr", "ul", "li",
                                       "dl",      "dt",    "dd",    "div",   "p",  "h1", "h2"};
    struct buf b = {0};
    small_page(&b, "plain");
    const char *text = text_of(&b);
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        char open[16], attributed[16], close[16];
        snprintf(open, sizeof open, "<%s>", tags[i]);
        snprintf(attributed, sizeof attributed, "<%s ", tags[i]);
        snprintf(close, sizeof close, "</%s>", tags[i]);
        CHECK_INT(count_of(text, open) + count_of(text, attributed), count_of(text, close));
    }
    buf_free(&b);
}

TEST(a_page_names_no_address_and_allows_its_own_script_alone)
{
    struct buf b = {0};
    small_page(&b, "plain");
    const char *text = text_of(&b);
    CHECK(!strstr(text, "http://") && !strstr(text, "https://") && !strstr(text, "//www"));
    CHECK(strstr(text, "default-src 'none'") && !strstr(text, "unsafe-inline"));
    CHECK(strstr(text, page_js_hash) && strstr(text, page_css_hash));
    CHECK(!strstr(text, " style=\"") && !strstr(text, " onclick"));
    buf_free(&b);
}

TEST(a_number_stands_beside_its_text_as_json_has_it)
{
    struct buf b = {0};
    small_page(&b, "plain");
    CHECK(strstr(text_of(&b), "<dd data-v=\"1.5\">1.50 s</dd>"));
    buf_free(&b);
}

TEST(a_row_that_is_not_full_is_filled)
{
    struct buf b = {0};
    struct arena a = {0};
    struct doc d;
    doc_open(&d, DOC_HTML, &b, &a, &(struct page_head){.title = "t"});
    doc_table(&d, "c", columns);
    doc_cell(&d, "alone");
    doc_table_end(&d);
    CHECK(strstr(text_of(&b), "<th scope=\"row\">alone</th><td class=\"n\"></td></tr>"));
    buf_free(&b);
    arena_free(&a);
}
