/* SPDX-License-Identifier: Apache-2.0 */
/* doc_html.c - documents as pages (page.h). */
#include "report/doc_internal.h"

static void open(struct doc *d, const struct page_head *head)
{
    page_open(&d->page, d->out, head);
}

static void close(struct doc *d, const char *foot)
{
    page_close(&d->page, foot);
}

static void contents(struct doc *d, const struct page_link *links)
{
    page_contents(&d->page, links);
}

static void doc_html_section(struct doc *d, const char *id, const char *title)
{
    page_section(&d->page, id, title);
}

static void section_end(struct doc *d)
{
    page_section_end(&d->page);
}

static void doc_html_part(struct doc *d, const char *id, const char *title)
{
    page_part(&d->page, id, title);
}

static void doc_html_text(struct doc *d, const char *words)
{
    page_text(&d->page, "%s", words);
}

static void doc_html_note(struct doc *d, enum tone tone, const char *words)
{
    page_note(&d->page, tone, "%s", words);
}

static void doc_html_list(struct doc *d)
{
    page_list(&d->page);
}

static void doc_html_item(struct doc *d, const char *words)
{
    page_item(&d->page, "%s", words);
}

static void list_end(struct doc *d)
{
    page_list_end(&d->page);
}

static void facts(struct doc *d)
{
    page_facts(&d->page);
}

static void doc_html_fact(struct doc *d, const char *name, double v, const char *words)
{
    page_fact_number(&d->page, name, v, words);
}

static void facts_end(struct doc *d)
{
    page_facts_end(&d->page);
}

static void tiles(struct doc *d)
{
    page_tiles(&d->page);
}

static void doc_html_tile(struct doc *d, const char *name, const char *words, const char *below)
{
    page_tile(&d->page, name, words, below);
}

static void tiles_end(struct doc *d)
{
    page_tiles_end(&d->page);
}

static void doc_html_table(struct doc *d, const char *caption, const struct page_column *columns)
{
    page_table(&d->page, caption, columns);
}

static void cell(struct doc *d, double v, const char *words)
{
    page_number(&d->page, v, words);
}

static void bar(struct doc *d, double share, double v, const char *words)
{
    page_bar(&d->page, share, v, words);
}

static void badge(struct doc *d, enum tone tone, const char *words)
{
    page_badge(&d->page, tone, words);
}

static void link(struct doc *d, const char *id, const char *words)
{
    page_link_cell(&d->page, id, words);
}

static void rest(struct doc *d, const char *words)
{
    page_rest(&d->page, words);
}

static void doc_html_table_end(struct doc *d)
{
    page_table_end(&d->page);
}

static void columns(struct doc *d)
{
    page_columns(&d->page);
}

static void columns_end(struct doc *d)
{
    page_columns_end(&d->page);
}

static void figure(struct doc *d, const struct figure *f)
{
    page_figure(&d->page, f->words.title);
    figure_svg(d->out, f);
    page_figure_end(&d->page, f->caption);
}

const struct doc_form doc_html = {
    .open = open,
    .close = close,
    .contents = contents,
    .section = doc_html_section,
    .section_end = section_end,
    .part = doc_html_part,
    .text = doc_html_text,
    .note = doc_html_note,
    .list = doc_html_list,
    .item = doc_html_item,
    .list_end = list_end,
    .facts = facts,
    .fact = doc_html_fact,
    .facts_end = facts_end,
    .tiles = tiles,
    .tile = doc_html_tile,
    .tiles_end = tiles_end,
    .table = doc_html_table,
    .cell = cell,
    .bar = bar,
    .badge = badge,
    .link = link,
    .rest = rest,
    .table_end = doc_html_table_end,
    .columns = columns,
    .columns_end = columns_end,
    .figure = figure,
};
