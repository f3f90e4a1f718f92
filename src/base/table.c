/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - see table.h. */
#include "base/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

enum { GAP = 2, GIVES_LEAST = 12 };

void table_init(struct table *t, struct arena *a, const char *columns)
{
    size_t cap = 0;
    *t = (struct table){.arena = a};
    for (char *rest = arena_strdup(a, columns), *title; (title = strsep(&rest, "|"));) {
        const bool right = *title == '>', gives = *title == '~';
        *ARENA_ADD(a, t->columns, t->n_columns, cap) =
            (struct table_column){title + (right || gives), right, gives};
    }
}

static void add_cell(struct table *t, const char *text)
{
    *ARENA_ADD(t->arena, t->cells, t->n_cells, t->cap) = text;
}

void table_cell(struct table *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add_cell(t, text_safe(t->arena, arena_vprintf(t->arena, fmt, ap)));
    va_end(ap);
}

void table_rest(struct table *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add_cell(t, text_safe(t->arena, arena_vprintf(t->arena, fmt, ap)));
    va_end(ap);
    while (t->n_cells % t->n_columns != 0)
        add_cell(t, NULL);
}

/* ------------------------------------------------------------------------------------------------
 * Printing */

static bool reaches_over(const struct table *t, size_t cell)
{
    return (cell + 1) % t->n_columns != 0 && cell + 1 < t->n_cells && !t->cells[cell + 1];
}

static size_t *table_measure(const struct table *t)
{
    size_t *w = xcalloc(t->n_columns, sizeof *w);
    for (size_t c = 0; c < t->n_columns; c++)
        w[c] = text_columns(t->columns[c].title);
    for (size_t i = 0; i < t->n_cells; i++) {
        size_t *column = &w[i % t->n_columns];
        if (t->cells[i] && !reaches_over(t, i))
            *column = MAX_OF(*column, text_columns(t->cells[i]));
    }
    return w;
}

/* Takes what does not fit from the column that may shrink. */
static void table_shrink(const struct table *t, size_t *w, size_t width)
{
    size_t total = GAP * (t->n_columns - 1), gives = t->n_columns;
    for (size_t c = 0; c < t->n_columns; c++) {
        total += w[c];
        if (t->columns[c].gives)
            gives = c;
    }
    if (width == 0 || total <= width || gives == t->n_columns)
        return;
    const size_t over = total - width;
    const size_t least = MIN_OF(w[gives], (size_t)GIVES_LEAST);
    w[gives] = w[gives] > over + least ? w[gives] - over : least;
}

size_t text_bytes(const char *s, size_t columns)
{
    size_t n = 0;
    while (s[n] && columns > 0) {
        n++;
        while (((unsigned char)s[n] & 0xc0) == 0x80)
            n++;
        columns--;
    }
    return n;
}

static void print_cell(FILE *to, const char *text, size_t width, bool right, bool last)
{
    const size_t columns = text_columns(text);
    if (columns > width) {
        fwrite(text, 1, text_bytes(text, width - 1), to);
        fputs("…", to);
        return;
    }
    const int pad = (int)(width - columns);
    if (right)
        fprintf(to, "%*s%s", pad, "", text);
    else
        fprintf(to, "%s%*s", text, last ? 0 : pad, "");
}

static void print_titles(const struct table *t, FILE *to, const size_t *w, bool bold)
{
    if (bold)
        fputs("\033[1m", to);
    for (size_t c = 0; c < t->n_columns; c++) {
        fprintf(to, "%*s", c ? GAP : 0, "");
        print_cell(to, t->columns[c].title, w[c], t->columns[c].right, c + 1 == t->n_columns);
    }
    fputs(bold ? "\033[0m\n" : "\n", to);
}

static void print_row(const struct table *t, FILE *to, const size_t *w, size_t row)
{
    for (size_t c = 0; c < t->n_columns; c++) {
        const size_t i = row * t->n_columns + c;
        if (i >= t->n_cells || !t->cells[i])
            break;
        if (reaches_over(t, i) && !*t->cells[i])
            break;
        fprintf(to, "%*s", c ? GAP : 0, "");
        if (reaches_over(t, i)) {
            fputs(t->cells[i], to);
            break;
        }
        print_cell(to, t->cells[i], w[c], t->columns[c].right, c + 1 == t->n_columns);
    }
    fputc('\n', to);
}

void table_print(const struct table *t, FILE *to, size_t width, bool bold)
{
    size_t *w = table_measure(t);
    table_shrink(t, w, width);
    print_titles(t, to, w, bold);
    const size_t rows = (t->n_cells + t->n_columns - 1) / t->n_columns;
    for (size_t r = 0; r < rows; r++)
        print_row(t, to, w, r);
    free(w);
}

/* ------------------------------------------------------------------------------------------------
 * Texts */

size_t text_columns(const char *s)
{
    size_t n = 0;
    for (; *s; s++)
        n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

/* Bytes of the well-formed, printable character at s; 0 when it is not. C1 controls (U+0080 to
 * U+009F) do not count: some terminals obey them. */
static size_t printable(const unsigned char *s)
{
    const bool control = s[0] < 0x20 || s[0] == 0x7f || (s[0] == 0xc2 && s[1] < 0xa0);
    return control ? 0 : utf8_len(s);
}

const char *text_safe(struct arena *a, const char *s)
{
    char *out = arena_strdup(a, s);
    for (size_t i = 0; out[i];) {
        const size_t n = printable((const unsigned char *)out + i);
        if (n == 0)
            out[i] = '?';
        i += n ? n : 1;
    }
    return out;
}
