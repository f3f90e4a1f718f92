/* SPDX-License-Identifier: Apache-2.0 */
/* xml.c - see xml.h. */
#include "net/xml.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

struct xml xml_of(const void *p, size_t n)
{
    const char *text = p;
    return (struct xml){.p = text, .end = n ? text + n : text};
}

static bool xml_bad(struct xml *x)
{
    x->bad = true;
    x->p = x->end;
    return false;
}

static bool xml_starts(const struct xml *x, const char *text)
{
    const size_t n = strlen(text);
    return (size_t)(x->end - x->p) >= n && memcmp(x->p, text, n) == 0;
}

/* Moves after the next occurrence of `text`. */
static bool xml_skip_past(struct xml *x, const char *text)
{
    for (; x->p < x->end; x->p++)
        if (xml_starts(x, text)) {
            x->p += strlen(text);
            return true;
        }
    return xml_bad(x);
}

static bool xml_is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* To the '>' that ends a tag; a value in quotes may contain one. */
static bool xml_end_tag(struct xml *x)
{
    for (; x->p < x->end && *x->p != '>'; x->p++)
        if (*x->p == '"' || *x->p == '\'') {
            const char *close = memchr(x->p + 1, *x->p, (size_t)(x->end - x->p - 1));
            if (!close)
                return xml_bad(x);
            x->p = close;
        }
    return x->p < x->end || xml_bad(x);
}

/* x->p is after the '<'. */
static bool xml_begin(struct xml *x)
{
    const char *name = x->p;
    while (x->p < x->end && !xml_is_space(*x->p) && *x->p != '>' && *x->p != '/')
        x->p++;
    const char *name_end = x->p;
    if (name == name_end || !xml_end_tag(x))
        return xml_bad(x);
    x->empty = x->p[-1] == '/';
    x->p++;
    for (const char *c = name_end; c > name; c--)
        if (c[-1] == ':') {
            name = c;
            break;
        }
    x->name = name;
    x->name_len = (size_t)(name_end - name);
    x->depth = x->open + 1;
    if (x->depth > XML_DEPTH_MOST)
        return xml_bad(x);
    x->open += !x->empty;
    return true;
}

/* What begins at x->p, a '<', is skipped unless it is a begin tag. */
static bool xml_step(struct xml *x, bool *begun)
{
    *begun = false;
    if (xml_starts(x, "<!--"))
        return xml_skip_past(x, "-->");
    if (xml_starts(x, "<![CDATA["))
        return xml_skip_past(x, "]]>");
    if (xml_starts(x, "<?"))
        return xml_skip_past(x, "?>");
    if (xml_starts(x, "<!"))
        return xml_bad(x);
    if (xml_starts(x, "</")) {
        if (--x->open < 0)
            return xml_bad(x);
        return xml_skip_past(x, ">");
    }
    x->p++;
    *begun = true;
    return xml_begin(x);
}

bool xml_next(struct xml *x)
{
    bool begun;
    while (!x->bad) {
        const char *tag = x->p < x->end ? memchr(x->p, '<', (size_t)(x->end - x->p)) : NULL;
        if (!tag) {
            x->p = x->end;
            return x->open ? xml_bad(x) : false;
        }
        x->p = tag;
        if (!xml_step(x, &begun))
            return false;
        if (begun)
            return true;
    }
    return false;
}

bool xml_is(const struct xml *x, const char *name)
{
    return strlen(name) == x->name_len && memcmp(name, x->name, x->name_len) == 0;
}

/* ---- text ---- */

/* &amp; and so on, &#10; and &#xA;. x->p is at the '&'. */
static void xml_put_entity(struct xml *x, struct buf *out)
{
    static const struct {
        const char *text;
        char c;
    } known[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (xml_starts(x, known[i].text)) {
            buf_u8(out, (uint8_t)known[i].c);
            x->p += strlen(known[i].text);
            return;
        }
    char digits[12] = "";
    const char *semicolon = memchr(x->p, ';', MIN_OF((size_t)(x->end - x->p), sizeof digits));
    if (!xml_starts(x, "&#") || !semicolon) {
        xml_bad(x);
        return;
    }
    memcpy(digits, x->p + 2, (size_t)(semicolon - x->p - 2));
    const bool hex = *digits == 'x';
    char *end;
    const unsigned long c = strtoul(digits + hex, &end, hex ? 16 : 10);
    if (end == digits + hex || *end || c == 0 || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) {
        xml_bad(x);
        return;
    }
    char text[UTF8_MOST];
    buf_put(out, text, utf8_put(text, (uint32_t)c));
    x->p = semicolon + 1;
}

void xml_text(struct xml *x, struct buf *out)
{
    out->len = 0;
    while (!x->empty && !x->bad && x->p < x->end && (*x->p != '<' || xml_starts(x, "<![CDATA["))) {
        if (*x->p == '<') {
            const char *from = x->p + strlen("<![CDATA[");
            if (xml_skip_past(x, "]]>"))
                buf_put(out, from, (size_t)(x->p - 3 - from));
        } else if (*x->p == '&') {
            xml_put_entity(x, out);
        } else {
            buf_u8(out, (uint8_t)*x->p++);
        }
    }
    buf_u8(out, 0);
    out->len--;
}

char *xml_find(const void *p, size_t n, const char *name)
{
    struct xml x = xml_of(p, n);
    struct buf text = {0};
    while (xml_next(&x))
        if (xml_is(&x, name)) {
            xml_text(&x, &text);
            return (char *)text.p;
        }
    return NULL;
}
