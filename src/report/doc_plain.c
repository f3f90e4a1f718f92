/* SPDX-License-Identifier: Apache-2.0 */
/* doc_plain.c - documents as text for terminals and mail: 78 columns where words allow it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/doc_own.h"
#include "report/doc_told.h"

enum { WIDTH = 78, NAME = 26, CELL_MOST = 48 };

static void put(struct doc *d, const char *s)
{
    buf_put(d->out, s, strlen(s));
}

/* Breaks at blanks; all lines but the first begin with `indent` blanks. `at`: where the first
 * begins. */
static void wrap(struct doc *d, const char *text, size_t at, size_t indent)
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
            put(d, " ");
            at++;
        }
        put(d, word);
        at += width;
        s += bytes + (s[bytes] == ' ');
    }
    put(d, "\n");
}

static void underline(struct doc *d, const char *title, char with)
{
    const size_t n = text_columns(title);
    for (size_t i = 0; i < n && i < WIDTH; i++)
        buf_u8(d->out, (uint8_t)with);
    put(d, "\n");
}

static void open_text(struct doc *d, const struct page_head *head)
{
    const char *title = text_safe(d->arena, head->title);
    d->cell_most = CELL_MOST;
    buf_printf(d->out, "%s\n", title);
    underline(d, title, '=');
    if (head->lead)
        wrap(d, head->lead, 0, 0);
}

static void close_text(struct doc *d, const char *foot)
{
    put(d, "\n");
    if (foot)
        wrap(d, foot, 0, 0);
}

static void section(struct doc *d, const char *id, const char *title)
{
    (void)id;
    title = text_safe(d->arena, title);
    buf_printf(d->out, "\n\n%s\n", title);
    underline(d, title, '-');
}

static void part(struct doc *d, const char *id, const char *title)
{
    (void)id;
    buf_printf(d->out, "\n%s\n", text_safe(d->arena, title));
}

static void text(struct doc *d, const char *words)
{
    wrap(d, words, 0, 0);
}

static void note(struct doc *d, enum tone tone, const char *words)
{
    static const char signs[TONE_N] = {' ', '+', ' ', '!', '!'};
    buf_printf(d->out, "%c ", signs[tone]);
    wrap(d, words, 2, 2);
}

static void item(struct doc *d, const char *words)
{
    put(d, "- ");
    wrap(d, words, 2, 2);
}

static void fact(struct doc *d, const char *name, double v, const char *words)
{
    (void)v;
    buf_printf(d->out, "%-*s", NAME, name);
    wrap(d, words, NAME, NAME);
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

static void table_end(struct doc *d)
{
    char *bytes = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&bytes, &n);
    if (!to)
        abort();
    table_print(&d->table, to, 0, false);
    fclose(to);
    buf_printf(d->out, "\n%s\n", text_safe(d->arena, d->caption));
    buf_put(d->out, bytes, n);
    blank(d);
    free(bytes);
}

const struct doc_form doc_plain = {
    .open = open_text,
    .close = close_text,
    .section = section,
    .part = part,
    .text = text,
    .note = note,
    .item = item,
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
