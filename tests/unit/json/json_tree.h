/* SPDX-License-Identifier: Apache-2.0 */
/* json_tree.h - what the scanner reads, built up as a tree of jansson's, to be compared with what
 * jansson itself reads. For tests and fuzz targets. */
#ifndef TEST_JSON_TREE_H
#define TEST_JSON_TREE_H

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "json/json.h"

enum { TREE_FLAGS = JSON_DECODE_ANY | JSON_ALLOW_NUL };

struct json_tree {
    json_t *root;
    json_t **open; /* containers entered, outermost first */
    size_t depth, cap;
};

static inline json_t *tree_text(const struct json_text *t)
{
    char *text = xmalloc(t->len + 1ul);
    const size_t n = json_decode(t, text, t->len + 1ul, NULL);
    json_t *v = json_stringn_nocheck(text, n);
    free(text);
    return v;
}

static inline json_t *tree_number(const struct json_item *it)
{
    int64_t whole;
    double real;
    if (json_int(it, &whole))
        return json_integer(whole);
    return json_double(it, &real) ? json_real(real) : NULL;
}

static inline json_t *tree_value(const struct json_item *it)
{
    switch (it->kind) {
    case JS_OBJECT:
        return json_object();
    case JS_ARRAY:
        return json_array();
    case JS_STRING:
    case JS_WORD:
        return tree_text(&it->text);
    case JS_NUMBER:
        return tree_number(it);
    case JS_TRUE:
    case JS_FALSE:
        return json_boolean(it->kind == JS_TRUE);
    default:
        return json_null();
    }
}

static inline void tree_put(struct json_tree *t, const struct json_item *it, json_t *v)
{
    json_t *in = t->depth ? t->open[t->depth - 1] : NULL;
    if (!in) {
        json_decref(t->root);
        t->root = v;
    } else if (json_is_array(in)) {
        json_array_append_new(in, v);
    } else {
        char *key = xmalloc(it->key.len + 1ul);
        json_decode(&it->key, key, it->key.len + 1ul, NULL);
        json_object_set_new_nocheck(in, key, v);
        free(key);
    }
}

static inline void tree_enter(struct json_tree *t, json_t *v)
{
    if (t->depth == t->cap) {
        t->cap = t->cap ? t->cap * 2 : 16;
        t->open = xrealloc(t->open, t->cap, sizeof *t->open);
    }
    t->open[t->depth++] = v;
}

static inline void tree_take(struct json_tree *t, const struct json_item *it)
{
    if (it->kind == JS_END) {
        t->depth--;
        return;
    }
    json_t *v = tree_value(it);
    if (!v)
        v = json_string("a number without a value");
    tree_put(t, it, v);
    if (it->kind == JS_OBJECT || it->kind == JS_ARRAY)
        tree_enter(t, v);
}

/* Everything that the scanner gives. NULL unless it ended with JS_DONE. */
static inline json_t *tree_scan(struct json_scan *s, enum json_kind *end)
{
    struct json_tree t = {0};
    struct json_item it;
    for (*end = json_next(s, &it); !json_is_over(*end); *end = json_next(s, &it))
        if (*end != JS_LOST && *end != JS_AGAIN)
            tree_take(&t, &it);
    free(t.open);
    if (*end == JS_DONE)
        return t.root;
    json_decref(t.root);
    return NULL;
}

#endif
