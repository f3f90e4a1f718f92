/* SPDX-License-Identifier: Apache-2.0 */
/* doc_html.c - texts in HTML, and the beginning and the end of a page. */
#include <string.h>

#include "base/text.h"
#include "report/doc_internal.h"

static void html_put(struct buf *b, const char *s)
{
    buf_put(b, s, strlen(s));
}

static const char *html_entity_of(unsigned char c)
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
            html_put(b, entity);
        else if (n == 0 || html_is_control(s, n))
            html_put(b, "\ufffd");
        else
            buf_put(b, s, n);
        s += n ? n : 1;
    }
    if (cut)
        html_put(b, "\u2026");
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
    html_put(b, "</title>\n<style>");
    buf_put(b, page_css, page_css_len);
    html_put(b, "</style>\n</head>\n<body>\n<header>\n<p class=\"product\">");
    html_text(b, head->product ? head->product : "Footplate", HEAD_MOST);
    html_put(b, "</p>\n<h1>");
    html_text(b, head->title, HEAD_MOST);
    html_put(b, "</h1>\n");
}

void doc_html_end(struct doc *d)
{
    html_put(d->out, "<script>");
    buf_put(d->out, page_js, page_js_len);
    html_put(d->out, "</script>\n</body>\n</html>\n");
}
