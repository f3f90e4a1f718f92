/* SPDX-License-Identifier: Apache-2.0 */
/* row_table.c - see row_table.h. */
#include "base/row_table.h"

#include <assert.h>
#include <math.h>

/* ---- values ---- */

struct row_cell row_number(double v)
{
    return (struct row_cell){.kind = isfinite(v) ? ROW_NUMBER : ROW_NULL, .d = v};
}

static struct row_cell int_at(const void *x, size_t i, const char **key)
{
    (void)key;
    return row_int(((const int64_t *)x)[i]);
}

static struct row_cell row_table_number_at(const void *x, size_t i, const char **key)
{
    (void)key;
    return row_number(((const double *)x)[i]);
}

static struct row_cell text_at(const void *x, size_t i, const char **key)
{
    (void)key;
    return row_text(((const char *const *)x)[i]);
}

struct row_cell row_ints(const int64_t *v, size_t n)
{
    return row_list(v, n, int_at);
}

struct row_cell row_numbers(const double *v, size_t n)
{
    return row_list(v, n, row_table_number_at);
}

struct row_cell row_texts(const char *const *v, size_t n)
{
    return row_list(v, n, text_at);
}

/* ---- JSON ---- */

static void cell_json(struct jw *j, const char *key, const struct row_field *f,
                      const struct row_cell *c, struct arena *a);

static void list_json(struct jw *j, const struct row_field *f, const struct row_cell *c,
                      struct arena *a)
{
    for (size_t i = 0; i < c->n; i++) {
        const char *key = NULL;
        const struct row_cell one =
            c->at ? c->at(c->p, i, &key) : row_object((const char *)c->p + i * f->of->size);
        cell_json(j, key, f, &one, a);
    }
}

static void cell_json(struct jw *j, const char *key, const struct row_field *f,
                      const struct row_cell *c, struct arena *a)
{
    switch (c->kind) {
    case ROW_ABSENT:
        break;
    case ROW_NULL:
        jw_null(j, key);
        break;
    case ROW_INT:
        jw_int(j, key, c->i);
        break;
    case ROW_NUMBER:
        jw_num(j, key, c->d);
        break;
    case ROW_TEXT:
        jw_str(j, key, c->s);
        break;
    case ROW_BOOL:
        jw_bool(j, key, c->i != 0);
        break;
    case ROW_OBJECT:
        row_json(j, key, f->of, c->p, a);
        break;
    case ROW_LIST:
        jw_array(j, key);
        list_json(j, f, c, a);
        jw_end(j);
        break;
    case ROW_MAP:
        jw_object(j, key);
        list_json(j, f, c, a);
        jw_end(j);
        break;
    }
}

void row_fields_json(struct jw *j, const struct row_table *t, const void *x, struct arena *a)
{
    struct row_cell cells[ROW_FIELDS_MOST];
    t->cells(x, cells, a);
    for (size_t i = 0; i < t->n; i++) {
        const struct row_field *f = &t->fields[i];
        if (f->shape == SHAPE_EMBED)
            row_fields_json(j, f->of, cells[i].p, a);
        else
            cell_json(j, f->name, f, &cells[i], a);
    }
}

void row_json(struct jw *j, const char *key, const struct row_table *t, const void *x,
              struct arena *a)
{
    jw_object(j, key);
    row_fields_json(j, t, x, a);
    jw_end(j);
}

void rows_json(struct jw *j, const char *key, const struct row_table *t, const void *rows, size_t n,
               struct arena *a)
{
    jw_array(j, key);
    for (size_t i = 0; i < n; i++)
        row_json(j, NULL, t, (const char *)rows + i * t->size, a);
    jw_end(j);
}

/* ---- columns ---- */

static void columns_add(struct row_columns *c, const char *name, size_t field, size_t key)
{
    assert(c->n < ROW_COLUMNS_MOST);
    c->v[c->n++] = (struct row_table_column){name, field, key};
}

/* All columns of one field. */
static void columns_add_field(struct row_columns *c, const char *name, size_t field,
                              struct arena *a)
{
    const struct row_field *f = &c->table->fields[field];
    const char *key = NULL;
    if (f->shape == SHAPE_VALUE)
        columns_add(c, name, field, 0);
    for (size_t i = 0; f->shape == SHAPE_MAP && *f->unit; i++) {
        f->at(NULL, i, &key);
        if (!key)
            break;
        columns_add(c, arena_printf(a, "%s_%s", key, f->unit), field, i);
    }
}

static size_t field_named(const struct row_table *t, const char *name, size_t len)
{
    size_t i = 0;
    while (i < t->n && !(t->fields[i].name && strlen(t->fields[i].name) == len &&
                         memcmp(t->fields[i].name, name, len) == 0))
        i++;
    assert(i < t->n);
    return i;
}

void row_columns_of(struct row_columns *out, const struct row_table *t, const char *first,
                    struct arena *a)
{
    bool done[ROW_FIELDS_MOST] = {0};
    out->table = t;
    out->n = 0;
    for (const char *p = first; *p; p += *p == ',') {
        const size_t len = strcspn(p, ","), name = strcspn(p, ",=");
        const bool renamed = name < len, without = *p == '-';
        const size_t skip = without ? 1 : renamed ? name + 1 : 0;
        const size_t field = field_named(t, p + skip, len - skip);
        if (!without)
            columns_add_field(out, arena_strndup(a, p, name), field, a);
        done[field] |= !renamed;
        p += len;
    }
    for (size_t i = 0; i < t->n; i++)
        if (!done[i])
            columns_add_field(out, t->fields[i].name, i, a);
}

void row_column_cells(const struct row_columns *c, const void *x, struct row_cell *out,
                      struct arena *a)
{
    struct row_cell cells[ROW_FIELDS_MOST];
    c->table->cells(x, cells, a);
    for (size_t i = 0; i < c->n; i++) {
        const char *key;
        const struct row_cell *cell = &cells[c->v[i].field];
        out[i] = cell->kind == ROW_MAP ? cell->at(cell->p, c->v[i].key, &key) : *cell;
    }
}

void csv_put(struct buf *out, const char *text)
{
    const bool quote = text[strcspn(text, ",\"\r\n")] != '\0';
    if (quote)
        buf_u8(out, '"');
    for (; *text; text++) {
        if (*text == '"')
            buf_u8(out, '"');
        buf_u8(out, (uint8_t)*text);
    }
    if (quote)
        buf_u8(out, '"');
}

void row_csv_head(const struct row_columns *c, struct buf *out)
{
    for (size_t i = 0; i < c->n; i++) {
        if (i)
            buf_u8(out, ',');
        csv_put(out, c->v[i].name);
    }
    buf_u8(out, '\n');
}

void row_csv(const struct row_columns *c, const void *x, struct buf *out, struct arena *a)
{
    struct row_cell cells[ROW_COLUMNS_MOST];
    row_column_cells(c, x, cells, a);
    for (size_t i = 0; i < c->n; i++) {
        const struct row_cell *cell = &cells[i];
        if (i)
            buf_u8(out, ',');
        if (cell->kind == ROW_INT || cell->kind == ROW_BOOL)
            buf_int(out, cell->i);
        else if (cell->kind == ROW_NUMBER)
            json_put_number(out, cell->d);
        else if (cell->kind == ROW_TEXT)
            csv_put(out, cell->s);
    }
    buf_u8(out, '\n');
}

void row_line(const struct row_columns *c, const char *type, const void *x, struct buf *out,
              struct arena *a)
{
    struct row_cell cells[ROW_COLUMNS_MOST];
    struct jw j = {.out = out};
    row_column_cells(c, x, cells, a);
    jw_object(&j, NULL);
    jw_str(&j, "type", type);
    for (size_t i = 0; i < c->n; i++) {
        if (cells[i].kind == ROW_NULL)
            continue;
        if (cells[i].kind == ROW_BOOL)
            cells[i].kind = ROW_INT;
        cell_json(&j, c->v[i].name, &c->table->fields[c->v[i].field], &cells[i], a);
    }
    jw_end(&j);
    buf_u8(out, '\n');
}
