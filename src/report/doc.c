/* SPDX-License-Identifier: Apache-2.0 */
/* doc.c - see doc.h: hands every call to the form. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "report/doc_internal.h"

#define CALL(d, what, ...)                                                                         \
    do {                                                                                           \
        if ((d)->form->what)                                                                       \
            (d)->form->what(__VA_ARGS__);                                                          \
    } while (0)

void doc_open(struct doc *d, enum doc_kind kind, struct buf *out, struct arena *a,
              const struct page_head *head)
{
    static const struct doc_form *const forms[] = {
        [DOC_HTML] = &doc_html, [DOC_TEXT] = &doc_plain, [DOC_MARKDOWN] = &doc_markdown};
    *d = (struct doc){.form = forms[kind], .out = out, .arena = a};
    CALL(d, open, d, head);
}

void doc_close(struct doc *d, const char *foot)
{
    CALL(d, close, d, foot);
}

void doc_contents(struct doc *d, const struct page_link *links)
{
    CALL(d, contents, d, links);
}

void doc_section(struct doc *d, const char *id, const char *title)
{
    CALL(d, section, d, id, title);
}

void doc_section_end(struct doc *d)
{
    CALL(d, section_end, d);
}

void doc_part(struct doc *d, const char *id, const char *title)
{
    CALL(d, part, d, id, title);
}

/* ---- sentences ---- */

__attribute__((format(printf, 2, 0))) static const char *formatted(struct doc *d, const char *fmt,
                                                                   va_list ap)
{
    char *text = NULL;
    if (vasprintf(&text, fmt, ap) < 0)
        abort();
    const char *kept = arena_strdup(d->arena, text);
    free(text);
    return kept;
}

void doc_text(struct doc *d, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    CALL(d, text, d, formatted(d, fmt, ap));
    va_end(ap);
}

void doc_note(struct doc *d, enum tone tone, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    CALL(d, note, d, tone, formatted(d, fmt, ap));
    va_end(ap);
}

void doc_item(struct doc *d, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    CALL(d, item, d, formatted(d, fmt, ap));
    va_end(ap);
}

void doc_list(struct doc *d)
{
    CALL(d, list, d);
}

void doc_list_end(struct doc *d)
{
    CALL(d, list_end, d);
}

/* ---- facts ---- */

void doc_facts(struct doc *d)
{
    CALL(d, facts, d);
}

void doc_fact(struct doc *d, const char *name, double v, const char *text)
{
    CALL(d, fact, d, name, v, text);
}

void doc_facts_end(struct doc *d)
{
    CALL(d, facts_end, d);
}

void doc_tiles(struct doc *d)
{
    CALL(d, tiles, d);
}

void doc_tile(struct doc *d, const char *name, const char *text, const char *below)
{
    CALL(d, tile, d, name, text, below);
}

void doc_tiles_end(struct doc *d)
{
    CALL(d, tiles_end, d);
}

/* ---- tables ---- */

void doc_table(struct doc *d, const char *caption, const struct page_column *columns)
{
    CALL(d, table, d, caption, columns);
}

void doc_cell(struct doc *d, const char *text)
{
    CALL(d, cell, d, NAN, text);
}

void doc_number(struct doc *d, double v, const char *text)
{
    CALL(d, cell, d, v, text);
}

void doc_bar(struct doc *d, double share, double v, const char *text)
{
    CALL(d, bar, d, share, v, text);
}

void doc_badge(struct doc *d, enum tone tone, const char *text)
{
    CALL(d, badge, d, tone, text);
}

void doc_link(struct doc *d, const char *id, const char *text)
{
    CALL(d, link, d, id, text);
}

void doc_rest(struct doc *d, const char *text)
{
    CALL(d, rest, d, text);
}

void doc_table_end(struct doc *d)
{
    CALL(d, table_end, d);
}

/* ---- charts ---- */

void doc_columns(struct doc *d)
{
    CALL(d, columns, d);
}

void doc_columns_end(struct doc *d)
{
    CALL(d, columns_end, d);
}

void doc_figure(struct doc *d, const struct figure *f)
{
    CALL(d, figure, d, f);
}
