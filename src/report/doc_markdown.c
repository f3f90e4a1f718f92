/* SPDX-License-Identifier: Apache-2.0 */
/* doc_markdown.c - documents as Markdown, for pull requests and issues. */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "report/doc_internal.h"
#include "report/doc_told.h"

static void doc_markdown_put(struct doc *d, const char *s)
{
    buf_put(d->out, s, strlen(s));
}

/* A text on one line in which nothing is markup: not HTML, not Markdown, not the end of a cell. */
static void put_safe(struct doc *d, const char *text)
{
    for (const char *s = text_safe(d->arena, text); *s; s++) {
        if (*s == '<')
            doc_markdown_put(d, "&lt;");
        else if (*s == '&')
            doc_markdown_put(d, "&amp;");
        else if (strchr("\\`*_[]|#~>@", *s))
            buf_printf(d->out, "\\%c", *s);
        else
            buf_u8(d->out, (uint8_t)*s);
    }
}

static void heading(struct doc *d, const char *marks, const char *title)
{
    buf_printf(d->out, "\n%s ", marks);
    put_safe(d, title);
    doc_markdown_put(d, "\n\n");
}

static void open_markdown(struct doc *d, const struct page_head *head)
{
    doc_markdown_put(d, "# ");
    put_safe(d, head->title);
    doc_markdown_put(d, "\n\n");
    if (head->lead) {
        put_safe(d, head->lead);
        doc_markdown_put(d, "\n");
    }
}

static void close_markdown(struct doc *d, const char *foot)
{
    if (!foot)
        return;
    doc_markdown_put(d, "\n---\n\n");
    put_safe(d, foot);
    doc_markdown_put(d, "\n");
}

static void doc_markdown_section(struct doc *d, const char *id, const char *title)
{
    (void)id;
    heading(d, "##", title);
}

static void doc_markdown_part(struct doc *d, const char *id, const char *title)
{
    (void)id;
    heading(d, "###", title);
}

static void doc_markdown_text(struct doc *d, const char *words)
{
    put_safe(d, words);
    doc_markdown_put(d, "\n\n");
}

static void doc_markdown_note(struct doc *d, enum tone tone, const char *words)
{
    static const char *const names[TONE_N] = {
        [TONE_INFO] = "Note", [TONE_WARNING] = "Warning", [TONE_BAD] = "Important"};
    doc_markdown_put(d, "> ");
    if (names[tone])
        buf_printf(d->out, "**%s:** ", names[tone]);
    put_safe(d, words);
    doc_markdown_put(d, "\n\n");
}

static void doc_markdown_item(struct doc *d, const char *words)
{
    doc_markdown_put(d, "- ");
    put_safe(d, words);
    doc_markdown_put(d, "\n");
}

static void doc_markdown_fact(struct doc *d, const char *name, double v, const char *words)
{
    (void)v;
    doc_markdown_put(d, "- **");
    put_safe(d, name);
    doc_markdown_put(d, ":** ");
    put_safe(d, words);
    doc_markdown_put(d, "\n");
}

static void doc_markdown_tile(struct doc *d, const char *name, const char *words, const char *below)
{
    doc_markdown_fact(d, name, NAN,
                      below ? arena_printf(d->arena, "%s (%s)", words, below) : words);
}

static void doc_markdown_blank(struct doc *d)
{
    doc_markdown_put(d, "\n");
}

/* ---- tables ---- */

static void doc_markdown_put_row(struct doc *d, const struct table *t, size_t row)
{
    for (size_t i = 0; i < t->n_columns; i++) {
        const size_t k = row * t->n_columns + i;
        doc_markdown_put(d, i ? " | " : "| ");
        if (k < t->n_cells && t->cells[k])
            put_safe(d, t->cells[k]);
    }
    doc_markdown_put(d, " |\n");
}

static void doc_markdown_table_end(struct doc *d)
{
    const struct table *t = &d->table;
    doc_markdown_put(d, "**");
    put_safe(d, d->caption);
    doc_markdown_put(d, "**\n\n|");
    for (size_t i = 0; i < t->n_columns; i++) {
        doc_markdown_put(d, " ");
        put_safe(d, t->columns[i].title);
        doc_markdown_put(d, " |");
    }
    doc_markdown_put(d, "\n|");
    for (size_t i = 0; i < t->n_columns; i++)
        doc_markdown_put(d, t->columns[i].right ? " ---: |" : " --- |");
    doc_markdown_put(d, "\n");
    for (size_t row = 0; row * t->n_columns < t->n_cells; row++)
        doc_markdown_put_row(d, t, row);
    doc_markdown_put(d, "\n");
}

const struct doc_form doc_markdown = {
    .open = open_markdown,
    .close = close_markdown,
    .section = doc_markdown_section,
    .part = doc_markdown_part,
    .text = doc_markdown_text,
    .note = doc_markdown_note,
    .item = doc_markdown_item,
    .list_end = doc_markdown_blank,
    .fact = doc_markdown_fact,
    .facts_end = doc_markdown_blank,
    .tile = doc_markdown_tile,
    .tiles_end = doc_markdown_blank,
    .table = told_table,
    .cell = told_cell,
    .bar = told_bar,
    .badge = told_badge,
    .link = told_link,
    .rest = told_rest,
    .table_end = doc_markdown_table_end,
    .figure = told_figure,
};
