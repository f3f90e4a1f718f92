/* SPDX-License-Identifier: Apache-2.0 */
/* doc_told.c - see doc_told.h. */
#include "report/doc_told.h"

#include <math.h>
#include <stdio.h>

#include "base/human.h"
#include "base/mem.h"
#include "base/stat.h"

/* ---- tables ---- */

void told_table(struct doc *d, const char *caption, const struct page_column *columns)
{
    size_t n = 0;
    while (columns[n].title)
        n++;
    d->caption = caption;
    d->columns = arena_array(d->arena, struct table_column, n + 1);
    for (size_t i = 0; i < n; i++)
        d->columns[i] = (struct table_column){columns[i].title, columns[i].right, false};
    table_init(&d->table, d->arena, d->columns);
}

void told_cell(struct doc *d, double v, const char *text)
{
    (void)v;
    table_cell(&d->table, "%s", text);
}

void told_bar(struct doc *d, double share, double v, const char *text)
{
    (void)share;
    told_cell(d, v, text);
}

void told_badge(struct doc *d, enum tone tone, const char *text)
{
    (void)tone;
    told_cell(d, NAN, text);
}

void told_link(struct doc *d, const char *id, const char *text)
{
    (void)id;
    told_cell(d, NAN, text);
}

void told_rest(struct doc *d, const char *text)
{
    table_rest(&d->table, "%s", text);
}

/* ---- charts ---- */

static void doc_told_put_value(struct doc *d, double v, const char *unit)
{
    char text[HUMAN_LEN];
    doc_number(d, v, human_value(v, unit, text, sizeof text));
}

static void tell_pie(struct doc *d, const struct figure *f, const char *unit)
{
    static const struct page_column columns[] = {
        {"PART"}, {"VALUE", .right = true}, {"SHARE", .right = true}, {0}};
    double v[PERCENTS_MOST] = {0}, pct[PERCENTS_MOST];
    const size_t n = MIN_OF(f->n, (size_t)PERCENTS_MOST);
    for (size_t i = 0; i < n; i++)
        v[i] = f->parts[i].v;
    percents_of(v, n, pct);
    doc_table(d, f->words.title, columns);
    for (size_t i = 0; i < n; i++) {
        doc_cell(d, f->parts[i].label);
        doc_told_put_value(d, v[i], unit);
        doc_number(d, pct[i], arena_printf(d->arena, "%.1f %%", pct[i]));
    }
    doc_table_end(d);
}

static void tell_bars(struct doc *d, const struct figure *f, const char *unit)
{
    static const struct page_column columns[] = {{"ITEM"}, {"VALUE", .right = true}, {0}};
    doc_table(d, f->words.title, columns);
    for (size_t i = 0; i < f->n; i++) {
        doc_cell(d, f->parts[i].label);
        doc_told_put_value(d, f->parts[i].v, unit);
    }
    doc_table_end(d);
}

static void tell_boxes(struct doc *d, const struct figure *f, const char *unit)
{
    static const struct page_column columns[] = {
        {"ITEM"},
        {"P5", .right = true},
        {"P25", .right = true},
        {"P50", .right = true},
        {"P75", .right = true},
        {"P95", .right = true},
        {0},
    };
    doc_table(d, f->words.title, columns);
    for (size_t i = 0; i < f->n; i++) {
        const struct svg_box *x = &f->boxes[i];
        const double v[] = {x->p5, x->p25, x->p50, x->p75, x->p95};
        doc_cell(d, x->label);
        for (size_t k = 0; k < COUNT_OF(v); k++)
            doc_told_put_value(d, v[k], unit);
    }
    doc_table_end(d);
}

void told_figure(struct doc *d, const struct figure *f)
{
    static void (*const tell[FIGURE_N])(struct doc * d, const struct figure *f,
                                        const char *unit) = {
        [FIGURE_PIE] = tell_pie, [FIGURE_BARS] = tell_bars, [FIGURE_BOXES] = tell_boxes};
    if (tell[f->kind] && !f->in_table)
        tell[f->kind](d, f, f->words.unit ? f->words.unit : "");
}
