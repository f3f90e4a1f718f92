/* SPDX-License-Identifier: Apache-2.0 */
/* json_elements.c - see json_elements.h. */
#include "import/json_elements.h"

/* Leaves what was read wrongly: back to the array. */
static enum json_kind leave(struct json_scan *s, uint32_t depth)
{
    enum json_kind kind = JS_END;
    s->faults.unread++;
    while (kind == JS_END && s->depth > depth)
        kind = json_skip(s, NULL);
    return kind;
}

/* What becomes of one element: JS_END goes on. */
static enum json_kind settle(struct json_elements *x, enum json_kind kind, bool object,
                             uint32_t depth)
{
    if (kind == JS_BAD)
        return json_recover(x->scan);
    if (kind == JS_LOST)
        return leave(x->scan, depth);
    if (kind == JS_AGAIN)
        return JS_END;
    if (json_is_over(kind))
        return kind;
    if (object)
        x->tell(x->ctx);
    else
        x->others++;
    return JS_END;
}

enum json_kind json_elements(struct json_elements *x)
{
    const uint32_t depth = x->scan->depth;
    struct json_item it;
    enum json_kind kind = JS_END;
    while (kind == JS_END) {
        json_hold(x->scan);
        kind = json_next(x->scan, &it);
        if (kind == JS_END)
            break;
        x->unclosed = kind == JS_CUT;
        const bool object = kind == JS_OBJECT;
        if (object)
            kind = x->read(x->ctx);
        else if (kind == JS_ARRAY)
            kind = json_skip(x->scan, NULL);
        kind = settle(x, kind, object, depth);
    }
    json_release(x->scan);
    return kind;
}
