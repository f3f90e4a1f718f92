/* SPDX-License-Identifier: Apache-2.0 */
/* fields.c - see fields.h. */
#include "export/fields.h"

#include <math.h>
#include <string.h>

#include "base/row_table.h"

static void fields_put_key(struct fields *f, const char *key)
{
    buf_u8(f->out, '"');
    buf_put(f->out, key, strlen(key)); /* our own, plain */
    buf_put(f->out, "\":", 2);
}

void fields_begin(struct fields *f, const char *type)
{
    f->some = f->as == AS_JSON;
    if (f->as != AS_JSON)
        return;
    buf_u8(f->out, '{');
    fields_put_key(f, "type");
    json_put_text(f->out, type);
}

void fields_end(struct fields *f)
{
    if (f->as == AS_JSON)
        buf_u8(f->out, '}');
    buf_u8(f->out, '\n');
}

/* True when a value is to follow. */
static bool fields_next(struct fields *f, const char *key)
{
    if (f->some)
        buf_u8(f->out, ',');
    f->some = true;
    if (f->as == AS_JSON)
        fields_put_key(f, key);
    else if (f->as == AS_NAMES)
        csv_put(f->out, key);
    return f->as != AS_NAMES;
}

void fields_str(struct fields *f, const char *key, const char *v)
{
    if (!fields_next(f, key))
        return;
    if (f->as == AS_JSON)
        json_put_text(f->out, v);
    else
        csv_put(f->out, v);
}

void fields_int(struct fields *f, const char *key, int64_t v)
{
    if (fields_next(f, key))
        buf_int(f->out, v);
}

void fields_num(struct fields *f, const char *key, double v)
{
    if (!isfinite(v))
        fields_none(f, key);
    else if (fields_next(f, key))
        json_put_number(f->out, v);
}

void fields_none(struct fields *f, const char *key)
{
    if (f->as != AS_JSON)
        (void)fields_next(f, key);
}
