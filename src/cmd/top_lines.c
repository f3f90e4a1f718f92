/* SPDX-License-Identifier: Apache-2.0 */
/* top_lines.c - see top_lines.h. */
#include "cmd/top_lines.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "base/mem.h"
#include "base/table.h"

enum { TEXT_MOST = 120 }; /* columns that sentences take */

static const char *const style_codes[STYLES] = {
    [STYLE_PLAIN] = "",           [STYLE_STRONG] = "\033[1m",      [STYLE_LABEL] = "\033[36m",
    [STYLE_WEAK] = "\033[2m",     [STYLE_BAR] = "\033[32m",        [STYLE_GOOD] = "\033[1;32m",
    [STYLE_WARNING] = "\033[33m", [STYLE_CRITICAL] = "\033[1;31m", [STYLE_KEY] = "\033[7m",
};

void top_text(struct top_lines *l, enum top_style style, const char *text)
{
    const char *safe = text_safe(l->arena, text);
    const size_t room = l->width - l->at, columns = text_columns(safe);
    const bool cut = columns > room, styled = l->color && *style_codes[style];
    if (room == 0 || columns == 0)
        return;
    if (styled)
        buf_printf(&l->line, "%s", style_codes[style]);
    buf_put(&l->line, safe, cut ? text_bytes(safe, room - 1) : strlen(safe));
    if (cut)
        buf_printf(&l->line, "…");
    if (styled)
        buf_printf(&l->line, "\033[0m");
    l->at += MIN_OF(columns, room);
}

void top_put(struct top_lines *l, enum top_style style, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    top_text(l, style, text);
}

void top_pad(struct top_lines *l, size_t column)
{
    column = MIN_OF(column, l->width);
    for (; l->at < column; l->at++)
        buf_u8(&l->line, ' ');
}

void top_right(struct top_lines *l, size_t width, const char *text)
{
    const size_t columns = text_columns(text);
    top_pad(l, l->at + (width > columns ? width - columns : 0));
    top_text(l, STYLE_PLAIN, text);
}

void top_end_line(struct top_lines *l)
{
    while (l->line.len > 0 && l->line.p[l->line.len - 1] == ' ')
        l->line.len--;
    *ARENA_ADD(l->arena, l->v, l->n, l->cap) =
        l->line.len ? arena_strndup(l->arena, (const char *)l->line.p, l->line.len) : "";
    l->line.len = l->at = 0;
}

void top_label(struct top_lines *l, const char *label)
{
    top_text(l, STYLE_LABEL, label);
    top_pad(l, TOP_LABEL);
}

void top_wrapped(struct top_lines *l, enum top_style style, const char *text)
{
    const size_t indent = l->at, width = MIN_OF(l->width, (size_t)TEXT_MOST);
    const char *safe = text_safe(l->arena, text);
    while (*safe) {
        const size_t word = strcspn(safe, " ");
        const char *copy = arena_strndup(l->arena, safe, word);
        if (l->at > indent && l->at + 1 + text_columns(copy) > width) {
            top_end_line(l);
            top_pad(l, indent);
        } else if (l->at > indent) {
            top_text(l, STYLE_PLAIN, " ");
        }
        top_text(l, style, copy);
        safe += word;
        safe += strspn(safe, " ");
    }
    top_end_line(l);
}

void top_bar(struct top_lines *l, size_t width, double share, const char *text)
{
    const size_t inner = MAX_OF(width, (size_t)3) - 2, words = MIN_OF(text_columns(text), inner);
    const double full = isnan(share) ? 0 : fmin(fmax(share, 0), 1) * (double)inner;
    const size_t filled = MIN_OF((size_t)lround(full), inner - words);
    char *bar = arena_alloc(l->arena, inner + 1, 1);
    memset(bar, '|', filled);
    top_text(l, STYLE_PLAIN, "[");
    top_text(l, STYLE_BAR, bar);
    top_pad(l, l->at + inner - words - filled);
    top_text(l, STYLE_PLAIN, text);
    top_text(l, STYLE_PLAIN, "]");
}
