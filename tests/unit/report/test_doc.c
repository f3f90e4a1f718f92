/* SPDX-License-Identifier: Apache-2.0 */
/* One document in three forms: the same words in all, markup of nobody else in any. */
#include "report/doc.h"
#include "test.h"

static const char *doc_of(struct buf *b, struct arena *a, enum doc_kind kind, const char *name)
{
    static const struct svg_part parts[] = {{"train", 3, -1}, {"eval", 1, -1}};
    const struct figure pie = {
        .kind = FIGURE_PIE, .words = {.title = "Phases", .unit = "s"}, .parts = parts, .n = 2};
    struct doc d;
    b->len = 0;
    doc_open(&d, kind, b, a, &(struct page_head){.title = name});
    doc_section(&d, "one", "Section");
    doc_note(&d, TONE_WARNING, "%s waits", name);
    doc_facts(&d);
    doc_fact(&d, "Fact", 2, "2.0 s");
    doc_facts_end(&d);
    doc_table(&d, "Table", "Name|>Value");
    doc_cell(&d, name);
    doc_number(&d, 1, "1.0 s");
    doc_rest(&d, "not measured: no such thing");
    doc_table_end(&d);
    doc_figure(&d, &pie);
    doc_section_end(&d);
    doc_close(&d, "the end");
    buf_u8(b, 0);
    return (const char *)b->p;
}

TEST(every_form_says_the_same)
{
    static const char *const words[] = {"gpu0",  "Section",       "gpu0 waits", "2.0 s",
                                        "1.0 s", "no such thing", "75.0 %",     "the end"};
    struct buf b = {0};
    struct arena a = {0};
    for (enum doc_kind k = DOC_HTML; k <= DOC_MARKDOWN; k++) {
        const char *text = doc_of(&b, &a, k, "gpu0");
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            CHECK(strstr(text, words[i]));
    }
    buf_free(&b);
    arena_free(&a);
}

TEST(names_are_no_markup_in_markdown)
{
    struct buf b = {0};
    struct arena a = {0};
    const char *text = doc_of(&b, &a, DOC_MARKDOWN, "<b>|`x`|*y*\n# z");
    CHECK(!strstr(text, "<b>") && !strstr(text, "\n# z"));
    CHECK(strstr(text, "&lt;b\\>\\|\\`x\\`\\|\\*y\\*"));
    buf_free(&b);
    arena_free(&a);
}

TEST(names_cannot_steer_a_terminal)
{
    struct buf b = {0};
    struct arena a = {0};
    const char *text = doc_of(&b, &a, DOC_TEXT, "\033[2Jx\ny");
    CHECK(!strchr(text, '\033') && strstr(text, "?[2Jx?y"));
    buf_free(&b);
    arena_free(&a);
}

TEST(long_words_are_wrapped_at_78_columns)
{
    struct buf b = {0};
    struct arena a = {0};
    struct doc d;
    doc_open(&d, DOC_TEXT, &b, &a, &(struct page_head){.title = "t"});
    doc_text(&d, "%s",
             "one two three four five six seven eight nine ten eleven twelve thirteen "
             "fourteen fifteen sixteen");
    buf_u8(&b, 0);
    for (const char *s = (const char *)b.p; *s; s += strcspn(s, "\n") + 1) {
        CHECK(strcspn(s, "\n") <= 78);
        if (!s[strcspn(s, "\n")])
            break;
    }
    buf_free(&b);
    arena_free(&a);
}
