/* SPDX-License-Identifier: Apache-2.0 */
/* page.c - see page.h. */
#include "report/page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json_write.h"
#include "base/mem.h"
#include "base/text.h"
#include "report/page_internal.h"

/* Names can be as long as a program likes; report.json has all of it. */
enum { HEAD_MOST = 200, CELL_MOST = 600, TEXT_MOST = 4000 };

static const char *const tone_names[TONE_N] = {"none", "good", "info", "warning", "bad"};
/* The meaning of the colour, for screen readers and print. */
static const char *const tone_signs[TONE_N] = {"", "\u2713", "i", "!", "\u2715"};

/* ---- texts ---- */

static void page_put(struct buf *b, const char *s)
{
    buf_put(b, s, strlen(s));
}

static const char *page_entity_of(unsigned char c)
{
    switch (c) {
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '&':
        return "&amp;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

/* Also the C1 controls, and the two characters that are none. */
static bool is_control(const unsigned char *s, size_t n)
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
        const char *entity = page_entity_of(*s);
        if (cut && s + (n ? n : 1) > end - 1)
            break;
        if (entity)
            page_put(b, entity);
        else if (n == 0 || is_control(s, n))
            page_put(b, "\ufffd");
        else
            buf_put(b, s, n);
        s += n ? n : 1;
    }
    if (cut)
        page_put(b, "\u2026");
}

/* The text between two parts of HTML. */
static void page_wrap(struct buf *b, const char *before, const char *text, size_t most,
                      const char *after)
{
    page_put(b, before);
    html_text(b, text, most);
    page_put(b, after);
}

/* ---- the page ---- */

static void put_policy(struct buf *b)
{
    buf_printf(b,
               "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
               "style-src 'sha256-%s'; script-src 'sha256-%s'; base-uri 'none'; form-action "
               "'none'\">\n",
               page_css_hash, page_js_hash);
}

void page_open(struct page *p, struct buf *out, const struct page_head *head)
{
    *p = (struct page){.out = out};
    page_put(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    put_policy(out);
    page_put(out, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                  "<meta name=\"color-scheme\" content=\"light dark\">\n"
                  "<meta name=\"referrer\" content=\"no-referrer\">\n<title>");
    html_text(out, head->title, HEAD_MOST);
    page_put(out, "</title>\n<style>");
    buf_put(out, page_css, page_css_len);
    page_wrap(out, "</style>\n</head>\n<body>\n<header>\n<p class=\"product\">",
              head->product ? head->product : "Footplate", HEAD_MOST, "</p>\n<h1>");
    html_text(out, head->title, HEAD_MOST);
    page_put(out, "</h1>\n");
    if (head->lead)
        page_wrap(out, "<p class=\"lead\">", head->lead, TEXT_MOST, "</p>\n");
    page_put(out, "</header>\n<main>\n");
}

void page_close(struct page *p, const char *foot)
{
    page_put(p->out, "</main>\n");
    if (foot)
        page_wrap(p->out, "<footer><p>", foot, TEXT_MOST, "</p></footer>\n");
    page_put(p->out, "<script>");
    buf_put(p->out, page_js, page_js_len);
    page_put(p->out, "</script>\n</body>\n</html>\n");
}

void page_contents(struct page *p, const struct page_link *links)
{
    page_put(p->out, "<nav aria-label=\"Contents\"><ol>\n");
    for (; links->id; links++) {
        buf_printf(p->out, "<li><a href=\"#%s\">", links->id);
        html_text(p->out, links->title, HEAD_MOST);
        page_put(p->out, "</a></li>\n");
    }
    page_put(p->out, "</ol></nav>\n");
}

/* ---- sections ---- */

void page_section(struct page *p, const char *id, const char *title)
{
    buf_printf(p->out, "<section id=\"%s\" aria-labelledby=\"%s-title\">\n<h2 id=\"%s-title\">", id,
               id, id);
    html_text(p->out, title, HEAD_MOST);
    page_put(p->out, "</h2>\n");
}

void page_section_end(struct page *p)
{
    page_put(p->out, "</section>\n");
}

void page_part(struct page *p, const char *id, const char *title)
{
    if (id)
        buf_printf(p->out, "<h3 id=\"%s\">", id);
    else
        page_put(p->out, "<h3>");
    page_wrap(p->out, "", title, HEAD_MOST, "</h3>\n");
}

void page_text(struct page *p, const char *text)
{
    page_wrap(p->out, "<p>", text, TEXT_MOST, "</p>\n");
}

static void put_sign(struct page *p, enum tone tone)
{
    if (tone != TONE_NONE)
        buf_printf(p->out, "<span class=\"sign\" aria-hidden=\"true\">%s</span>", tone_signs[tone]);
}

void page_note(struct page *p, enum tone tone, const char *text)
{
    buf_printf(p->out, "<p class=\"note %s\">", tone_names[tone]);
    put_sign(p, tone);
    page_wrap(p->out, "<span>", text, TEXT_MOST, "</span></p>\n");
}

/* The number as JSON has it, for readers of the page and for sorting. */
static void page_put_value(struct page *p, double v)
{
    if (!isfinite(v))
        return;
    page_put(p->out, " data-v=\"");
    json_put_number(p->out, v);
    page_put(p->out, "\"");
}

void page_fact_number(struct page *p, const char *name, double v, const char *text)
{
    page_wrap(p->out, "<div><dt>", name, HEAD_MOST, "</dt><dd");
    page_put_value(p, v);
    page_wrap(p->out, ">", text, CELL_MOST, "</dd></div>\n");
}

void page_tile(struct page *p, const char *name, const char *text, const char *below)
{
    page_wrap(p->out, "<div><dt>", name, HEAD_MOST, "</dt><dd>");
    html_text(p->out, text, HEAD_MOST);
    page_put(p->out, "</dd>");
    if (below)
        page_wrap(p->out, "<dd class=\"below\">", below, CELL_MOST, "</dd>");
    page_put(p->out, "</div>\n");
}

void page_figure(struct page *p, const char *title)
{
    page_put(p->out, "<figure>\n");
    if (title)
        page_wrap(p->out, "<p class=\"figure-title\">", title, HEAD_MOST, "</p>\n");
}

void page_figure_end(struct page *p, const char *caption)
{
    if (caption)
        page_wrap(p->out, "<figcaption>", caption, TEXT_MOST, "</figcaption>\n");
    page_put(p->out, "</figure>\n");
}

/* ---- tables ---- */

static const char *column_class(const struct page_column *c)
{
    return c->right ? " class=\"n\"" : c->wide ? " class=\"wide\"" : "";
}

/* Several columns of prose want smaller letters. */
static bool has_prose(const struct page_column *c)
{
    size_t n = 0;
    for (; c->title; c++)
        n += c->wide;
    return n > 1;
}

void page_table(struct page *p, const char *caption, const struct page_column *columns)
{
    p->columns = columns;
    p->n_columns = 0;
    p->column = 0;
    page_put(p->out, "<div class=\"scroll\" role=\"group\" tabindex=\"0\" aria-label=\"");
    html_text(p->out, caption, HEAD_MOST);
    page_put(p->out, has_prose(columns) ? "\"><table class=\"prose\">\n<caption>"
                                        : "\"><table>\n<caption>");
    html_text(p->out, caption, HEAD_MOST);
    page_put(p->out, "</caption>\n<thead><tr>");
    for (const struct page_column *c = columns; c->title; c++, p->n_columns++) {
        buf_printf(p->out, "<th scope=\"col\"%s>", column_class(c));
        html_text(p->out, c->title, HEAD_MOST);
        page_put(p->out, "</th>");
    }
    page_put(p->out, "</tr></thead>\n<tbody>\n");
}

static bool begin_cell(struct page *p)
{
    const bool head = p->column == 0;
    page_put(p->out, head ? "<tr><th scope=\"row\"" : "<td");
    page_put(p->out, column_class(&p->columns[p->column]));
    return head;
}

static void end_cell(struct page *p, bool head)
{
    page_put(p->out, head ? "</th>" : "</td>");
    if (++p->column == p->n_columns) {
        page_put(p->out, "</tr>\n");
        p->column = 0;
    }
}

void page_cell(struct page *p, const char *text)
{
    page_number(p, NAN, text);
}

void page_number(struct page *p, double v, const char *text)
{
    const bool head = begin_cell(p);
    page_put_value(p, v);
    page_put(p->out, ">");
    html_text(p->out, text, CELL_MOST);
    end_cell(p, head);
}

void page_bar(struct page *p, double share, double v, const char *text)
{
    const bool head = begin_cell(p);
    const double shown = share >= 0 ? fmin(share, 1) : 0; /* NAN is none */
    page_put_value(p, v);
    buf_printf(p->out,
               "><svg class=\"bar\" width=\"64\" height=\"10\" viewBox=\"0 0 64 10\" "
               "aria-hidden=\"true\"><rect class=\"track\" width=\"64\" height=\"10\" rx=\"2\"/>"
               "<rect class=\"c0\" width=\"%.1f\" height=\"10\" rx=\"2\"/></svg>",
               shown * 64);
    html_text(p->out, text, CELL_MOST);
    end_cell(p, head);
}

void page_badge(struct page *p, enum tone tone, const char *text)
{
    const bool head = begin_cell(p);
    buf_printf(p->out, " data-v=\"%d\"><span class=\"badge %s\">", (int)tone, tone_names[tone]);
    put_sign(p, tone);
    html_text(p->out, text, HEAD_MOST);
    page_put(p->out, "</span>");
    end_cell(p, head);
}

void page_link_cell(struct page *p, const char *id, const char *text)
{
    const bool head = begin_cell(p);
    buf_printf(p->out, "><a href=\"#%s\">", id);
    html_text(p->out, text, CELL_MOST);
    page_put(p->out, "</a>");
    end_cell(p, head);
}

void page_rest(struct page *p, const char *text)
{
    const size_t left = p->n_columns - p->column;
    const bool head = p->column == 0;
    page_put(p->out, head ? "<tr><th scope=\"row\"" : "<td");
    buf_printf(p->out, " class=\"wide rest\" colspan=\"%zu\">", left);
    html_text(p->out, text, CELL_MOST);
    p->column = p->n_columns - 1;
    end_cell(p, head);
}

void page_table_end(struct page *p)
{
    while (p->column != 0)
        page_cell(p, "");
    page_put(p->out, "</tbody></table></div>\n");
}
