/* SPDX-License-Identifier: Apache-2.0 */
/* doc_markdown.c - documents as Markdown, for pull requests and issues. */
#include <math.h>
#include <string.h>

#include "report/doc_own.h"
#include "report/doc_told.h"

static void put(struct doc *d, const char *s)
{
    buf_put(d->out, s, strlen(s));
}

/* A text on one line in which nothing is markup: not HTML, not Markdown, not the end of a cell. */
static void put_safe(struct doc *d, const char *text)
{
    for (const char *s = text_safe(d->arena, text); *s; s++) {
        if (*s == '<')
            put(d, "&lt;");
        else if (*s == '&')
            put(d, "&amp;");
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
    put(d, "\n\n");
}

static void open_markdown(struct doc *d, const struct page_head *head)
{
    put(d, "# ");
    put_safe(d, head->title);
    put(d, "\n\n");
    if (head->lead) {
        put_safe(d, head->lead);
        put(d, "\n");
    }
}

static void close_markdown(struct doc *d, const char *foot)
{
    if (!foot)
        return;
    put(d, "\n---\n\n");
    put_safe(d, foot);
    put(d, "\n");
}

static void section(struct doc *d, const char *id, const char *title)
{
    (void)id;
    heading(d, "##", title);
}

static void part(struct doc *d, const char *id, const char *title)
{
    (void)id;
    heading(d, "###", title);
}

static void text(struct doc *d, const char *words)
{
    put_safe(d, words);
    put(d, "\n\n");
}

static void note(struct doc *d, enum tone tone, const char *words)
{
    static const char *const names[TONE_N] = {
        [TONE_INFO] = "Note", [TONE_WARNING] = "Warning", [TONE_BAD] = "Important"};
    put(d, "> ");
    if (names[tone])
        buf_printf(d->out, "**%s:** ", names[tone]);
    put_safe(d, words);
    put(d, "\n\n");
}

static void item(struct doc *d, const char *words)
{
    put(d, "- ");
    put_safe(d, words);
    put(d, "\n");
}

static void fact(struct doc *d, const char *name, double v, const char *words)
{
    (void)v;
    put(d, "- **");
    put_safe(d, name);
    put(d, ":** ");
    put_safe(d, words);
    put(d, "\n");
}

static void tile(struct doc *d, const char *name, const char *words, const char *below)
{
    fact(d, name, NAN, below ? arena_printf(d->arena, "%s (%s)", words, below) : words);
}

static void blank(struct doc *d)
{
    put(d, "\n");
}

/* ---- tables ---- */

static void put_row(struct doc *d, const struct table *t, size_t row)
{
    for (size_t i = 0; i < t->n_columns; i++) {
        const size_t k = row * t->n_columns + i;
        put(d, i ? " | " : "| ");
        if (k < t->n_cells && t->cells[k])
            put_safe(d, t->cells[k]);
    }
    put(d, " |\n");
}

static void table_end(struct doc *d)
{
    const struct table *t = &d->table;
    put(d, "**");
    put_safe(d, d->caption);
    put(d, "**\n\n|");
    for (size_t i = 0; i < t->n_columns; i++) {
        put(d, " ");
        put_safe(d, t->columns[i].title);
        put(d, " |");
    }
    put(d, "\n|");
    for (size_t i = 0; i < t->n_columns; i++)
        put(d, t->columns[i].right ? " ---: |" : " --- |");
    put(d, "\n");
    for (size_t row = 0; row * t->n_columns < t->n_cells; row++)
        put_row(d, t, row);
    put(d, "\n");
}

const struct doc_form doc_markdown = {
    .open = open_markdown,
    .close = close_markdown,
    .section = section,
    .part = part,
    .text = text,
    .note = note,
    .item = item,
    .list_end = blank,
    .fact = fact,
    .facts_end = blank,
    .tile = tile,
    .tiles_end = blank,
    .table = told_table,
    .cell = told_cell,
    .bar = told_bar,
    .badge = told_badge,
    .link = told_link,
    .rest = told_rest,
    .table_end = table_end,
    .figure = told_figure,
};
