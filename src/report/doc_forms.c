/* SPDX-License-Identifier: Apache-2.0 */
/* doc_forms.c - documents as text for terminals and mail, as Markdown for pull requests and issues,
 * and texts in HTML with the beginning and the end of a page. Text has 78 columns where words allow
 * it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "report/doc_internal.h"

/* ---- text ---- */

enum { WIDTH = 78, NAME = 26, LINE_MOST = 48 };

void doc_plain_wrap(struct doc *d, const char *text, size_t at, size_t indent)
{
    const char *s = text_safe(d->arena, text);
    for (bool first = true; *s; first = false) {
        const size_t bytes = strcspn(s, " ");
        const char *word = arena_strndup(d->arena, s, bytes);
        const size_t width = text_columns(word);
        if (!first && at + 1 + width > WIDTH) {
            buf_printf(d->out, "\n%*s", (int)indent, "");
            at = indent;
        } else if (!first) {
            buf_text(d->out, " ");
            at++;
        }
        buf_text(d->out, word);
        at += width;
        s += bytes + (s[bytes] == ' ');
    }
    buf_text(d->out, "\n");
}

void doc_plain_heading(struct doc *d, const char *title, char line)
{
    title = text_safe(d->arena, title);
    buf_printf(d->out, "%s\n", title);
    for (size_t i = 0, n = text_columns(title); i < n && i < WIDTH; i++)
        buf_u8(d->out, (uint8_t)line);
    buf_text(d->out, "\n");
}

void doc_plain_fact(struct doc *d, const char *name, const char *words)
{
    const size_t width = text_columns(name), pad = width < NAME - 1 ? NAME - width : 2;
    buf_printf(d->out, "%s%*s", name, (int)pad, "");
    doc_plain_wrap(d, words, width + pad, NAME);
}

/* Bytes of the first line of a text: at most LINE_MOST columns, up to a blank where there is one.
 */
static size_t doc_plain_line_of(const char *s)
{
    size_t n = 0, blank_at = 0;
    for (size_t columns = 0; s[n] && columns < LINE_MOST; columns++) {
        if (s[n] == ' ' && s[n + 1] != '%')
            blank_at = n;
        n++;
        while (((unsigned char)s[n] & 0xc0) == 0x80)
            n++;
    }
    return !s[n] || (s[n] == ' ' && s[n + 1] != '%') || blank_at == 0 ? n : blank_at;
}

/* The next line of every cell of the row; false: there are none left. */
static bool doc_plain_add_lines(struct doc *d, struct table *to, const char **rest, size_t n)
{
    const bool some = FIND_ANY(c, n, rest[c] && *rest[c]);
    for (size_t c = 0; some && c < n; c++) {
        const size_t bytes = rest[c] ? doc_plain_line_of(rest[c]) : 0;
        table_cell(to, "%s", arena_strndup(d->arena, rest[c] ? rest[c] : "", bytes));
        if (rest[c])
            rest[c] += bytes + (rest[c][bytes] == ' ');
    }
    return some;
}

/* The same with long texts on several lines, so that the columns stay readable. */
static struct table doc_plain_fold(struct doc *d)
{
    const struct table *from = &d->table;
    const size_t n = from->n_columns;
    struct table to = {.arena = d->arena, .columns = from->columns, .n_columns = n};
    const char **rest = arena_array(d->arena, const char *, n);
    for (size_t i = 0; i + n <= from->n_cells; i += n) {
        bool reaches = false;
        for (size_t c = 0; c < n; c++) {
            rest[c] = from->cells[i + c];
            reaches |= !rest[c];
        }
        for (size_t c = 0; reaches && c < n && rest[c]; c++)
            if (c + 1 < n && !rest[c + 1])
                table_rest(&to, "%s", rest[c]);
            else
                table_cell(&to, "%s", rest[c]);
        while (!reaches && doc_plain_add_lines(d, &to, rest, n))
            ;
    }
    return to;
}

/* The first column with a text too long for one line; n_columns: there is none. */
static size_t doc_plain_first_long(const struct table *t)
{
    size_t first = t->n_columns;
    for (size_t i = 0; i < t->n_cells; i++)
        if (t->cells[i] && text_columns(t->cells[i]) > LINE_MOST)
            first = MIN_OF(first, i % t->n_columns);
    return first;
}

static char *doc_plain_printed(const struct table *t)
{
    char *bytes = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&bytes, &n);
    if (!to)
        abort();
    table_print(t, to, 0, false);
    fclose(to);
    return bytes;
}

/* The columns before `from` as a table; below each row the others, each on separate lines. */
static void doc_plain_put_rows(struct doc *d, size_t from)
{
    const struct table *t = &d->table;
    struct table_column *columns = arena_array(d->arena, struct table_column, from + 1);
    struct table head = {.arena = d->arena, .columns = columns, .n_columns = from + 1};
    const char *titles = "";
    for (size_t c = from; c < t->n_columns; c++)
        titles = arena_printf(d->arena, "%s%s%s", titles, *titles ? "  " : "", t->columns[c].title);
    memcpy(columns, t->columns, from * sizeof *columns);
    columns[from].title = titles;
    for (size_t i = 0; i < t->n_cells; i++)
        if (i % t->n_columns <= from)
            table_cell(&head, "%s", i % t->n_columns < from ? t->cells[i] : "");
    char *text = doc_plain_printed(&head);
    const char *line = text;
    for (size_t row = 0; *line; row++) {
        size_t n = strcspn(line, "\n");
        const char *next = line + n + (line[n] == '\n');
        while (row && n && line[n - 1] == ' ')
            n--;
        buf_printf(d->out, "%.*s\n", (int)n, line);
        for (size_t c = from; row && c < t->n_columns; c++) {
            const char *words = t->cells[(row - 1) * t->n_columns + c];
            if (*words)
                buf_text(d->out, "    ");
            if (*words)
                doc_plain_wrap(d, words, 4, 4);
        }
        line = next;
    }
    free(text);
}

static bool doc_plain_has_gaps(const struct table *t)
{
    return FIND_ANY(i, t->n_cells, !t->cells[i]) || t->n_cells % t->n_columns != 0;
}

void doc_plain_table(struct doc *d)
{
    const size_t first = doc_plain_first_long(&d->table);
    buf_printf(d->out, "\n%s\n", text_safe(d->arena, d->caption));
    if (first > 0 && first + 1 < d->table.n_columns && !doc_plain_has_gaps(&d->table)) {
        doc_plain_put_rows(d, first);
    } else {
        /* Names in other columns stay whole. */
        const struct table t = first + 1 == d->table.n_columns ? doc_plain_fold(d) : d->table;
        char *text = doc_plain_printed(&t);
        buf_text(d->out, text);
        free(text);
    }
    buf_text(d->out, "\n");
}

/* ---- Markdown ---- */

void doc_markdown_text(struct doc *d, const char *text)
{
    for (const char *s = text_safe(d->arena, text); *s; s++) {
        if (*s == '<')
            buf_text(d->out, "&lt;");
        else if (*s == '&')
            buf_text(d->out, "&amp;");
        else if (strchr("\\`*_[]|#~>@", *s))
            buf_printf(d->out, "\\%c", *s);
        else
            buf_u8(d->out, (uint8_t)*s);
    }
}

static void doc_markdown_put_row(struct doc *d, const struct table *t, size_t row)
{
    for (size_t i = 0; i < t->n_columns; i++) {
        const size_t k = row * t->n_columns + i;
        buf_text(d->out, i ? " | " : "| ");
        if (k < t->n_cells && t->cells[k])
            doc_markdown_text(d, t->cells[k]);
    }
    buf_text(d->out, " |\n");
}

void doc_markdown_table(struct doc *d)
{
    const struct table *t = &d->table;
    buf_text(d->out, "**");
    doc_markdown_text(d, d->caption);
    buf_text(d->out, "**\n\n|");
    for (size_t i = 0; i < t->n_columns; i++) {
        buf_text(d->out, " ");
        doc_markdown_text(d, t->columns[i].title);
        buf_text(d->out, " |");
    }
    buf_text(d->out, "\n|");
    for (size_t i = 0; i < t->n_columns; i++)
        buf_text(d->out, t->columns[i].right ? " ---: |" : " --- |");
    buf_text(d->out, "\n");
    for (size_t row = 0; row * t->n_columns < t->n_cells; row++)
        doc_markdown_put_row(d, t, row);
    buf_text(d->out, "\n");
}

/* ---- HTML ---- */

static const char *html_entity_of(unsigned char c)
{
    static const char letters[] = "<>&\"'";
    static const char *const entities[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&#39;"};
    const char *at = strchr(letters, c);
    return at ? entities[at - letters] : NULL;
}

/* Also the C1 controls, and the two code points that are not characters. */
static bool html_is_control(const unsigned char *s, size_t n)
{
    if (n == 1)
        return (*s < 0x20 && *s != '\n' && *s != '\t') || *s == 0x7f;
    if (n == 2)
        return s[0] == 0xc2 && s[1] < 0xa0;
    return n == 3 && s[0] == 0xef && s[1] == 0xbf && s[2] >= 0xbe;
}

void html_text(struct buf *b, const char *text, size_t most)
{
    const unsigned char *s = (const unsigned char *)text;
    const unsigned char *end = most ? s + strnlen(text, most + 1) : NULL;
    const bool cut = end && (size_t)(end - s) > most;
    while (*s) {
        const size_t n = utf8_len(s);
        const char *entity = html_entity_of(*s);
        if (cut && s + (n ? n : 1) > end - 1)
            break;
        if (entity)
            buf_text(b, entity);
        else if (n == 0 || html_is_control(s, n))
            buf_text(b, "\ufffd");
        else
            buf_put(b, s, n);
        s += n ? n : 1;
    }
    if (cut)
        buf_text(b, "\u2026");
}

void doc_html_open(struct doc *d, const struct page_head *head)
{
    struct buf *b = d->out;
    buf_printf(b,
               "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
               "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
               "style-src 'sha256-%s'; script-src 'sha256-%s'; base-uri 'none'; form-action "
               "'none'\">\n"
               "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
               "<meta name=\"color-scheme\" content=\"light dark\">\n"
               "<meta name=\"referrer\" content=\"no-referrer\">\n<title>",
               page_css_hash, page_js_hash);
    html_text(b, head->title, HEAD_MOST);
    buf_text(b, "</title>\n<style>");
    buf_put(b, page_css, page_css_len);
    buf_text(b, "</style>\n</head>\n<body>\n<header>\n<p class=\"product\">");
    html_text(b, head->product ? head->product : "Footplate", HEAD_MOST);
    buf_text(b, "</p>\n<h1>");
    html_text(b, head->title, HEAD_MOST);
    buf_text(b, "</h1>\n");
}

void doc_html_end(struct doc *d)
{
    buf_text(d->out, "<script>");
    buf_put(d->out, page_js, page_js_len);
    buf_text(d->out, "</script>\n</body>\n</html>\n");
}
