/* SPDX-License-Identifier: Apache-2.0 */
/* yaml_file.c - see yaml_file.h. libyaml loads the document as a table of nodes in which an alias
 * is the number of the node it means, so nothing is copied; what the walk may visit is counted. */
#include "config/yaml_file.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

#include "base/mem.h"
#include "base/vec.h"

struct yaml_file_walk {
    yaml_document_t *doc;
    const struct yaml_handler *h;
    size_t values;
    bool full; /* and reported */
};

static struct yaml_place yaml_file_place_of(const char *path, const yaml_node_t *n)
{
    return (struct yaml_place){path, n->start_mark.line + 1, n->start_mark.column + 1};
}

static bool is_null(const yaml_node_t *n)
{
    static const char *const words[] = {"", "~", "null"};
    if (n->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        return false;
    return FIND_ANY(i, COUNT_OF(words),
                    strcasecmp((const char *)n->data.scalar.value, words[i]) == 0);
}

/* The text of a scalar; NULL, with an error, when it is not a scalar or contains a NUL. */
static const char *yaml_file_text_of(struct yaml_file_walk *w, const struct yaml_place *at,
                                     const yaml_node_t *n, const char *what)
{
    if (n->type == YAML_SCALAR_NODE &&
        strlen((const char *)n->data.scalar.value) == n->data.scalar.length)
        return (const char *)n->data.scalar.value;
    w->h->wrong(w->h->ctx, at, what);
    return NULL;
}

/* Counts visited nodes: false, with one error, when there are too many. */
static bool may_go_on(struct yaml_file_walk *w, const struct yaml_place *at)
{
    if (w->values < YAML_VALUES) {
        w->values++;
        return true;
    }
    if (!w->full)
        w->h->wrong(w->h->ctx, at, "too many values; the rest is ignored");
    w->full = true;
    return false;
}

static void walk_map(struct yaml_file_walk *w, const char *path, const yaml_node_t *map, int depth);

static void walk_scalar(struct yaml_file_walk *w, const char *path, const yaml_node_t *n,
                        bool listed)
{
    const struct yaml_place at = yaml_file_place_of(path, n);
    const char *text = yaml_file_text_of(w, &at, n, "a list can contain only strings and numbers");
    if (text && !is_null(n))
        w->h->value(w->h->ctx, &at, text, listed);
}

/* An entry of a list that is a map, where there may be such; false: there may not. */
static bool yaml_file_walk_entry(struct yaml_file_walk *w, const char *path, size_t number,
                                 const yaml_node_t *n, int depth)
{
    char entry[YAML_PATH];
    const int len = snprintf(entry, sizeof entry, "%s[%zu]", path, number);
    if (n->type != YAML_MAPPING_NODE || len < 0 || len >= YAML_PATH || depth == YAML_DEPTH ||
        !w->h->is_section(w->h->ctx, entry))
        return false;
    walk_map(w, entry, n, depth + 1);
    return true;
}

static void walk_list(struct yaml_file_walk *w, const char *path, const yaml_node_t *list,
                      int depth)
{
    const yaml_node_item_t *first = list->data.sequence.items.start, *i = first;
    for (; i < list->data.sequence.items.top; i++) {
        const yaml_node_t *n = yaml_document_get_node(w->doc, *i);
        const struct yaml_place at = yaml_file_place_of(path, n ? n : list);
        if (!n || !may_go_on(w, &at))
            return;
        if (!yaml_file_walk_entry(w, path, (size_t)(i - first), n, depth))
            walk_scalar(w, path, n, true);
    }
}

static void walk_value(struct yaml_file_walk *w, const char *path, const yaml_node_t *key,
                       const yaml_node_t *n, int depth)
{
    const struct yaml_place at = yaml_file_place_of(path, key);
    if (n->type == YAML_SCALAR_NODE)
        walk_scalar(w, path, n, false);
    else if (n->type == YAML_SEQUENCE_NODE)
        walk_list(w, path, n, depth);
    else if (!w->h->is_section(w->h->ctx, path))
        w->h->not_section(w->h->ctx, &at);
    else if (depth == YAML_DEPTH)
        w->h->wrong(w->h->ctx, &at, "nested too deep");
    else
        walk_map(w, path, n, depth + 1);
}

/* "detail" and "steps" give "detail.steps"; false when that is too long. */
static bool yaml_file_join(char out[YAML_PATH], const char *path, const char *key)
{
    const int n = snprintf(out, YAML_PATH, "%s%s%s", path, *path ? "." : "", key);
    return n >= 0 && n < YAML_PATH;
}

/* Whether the map has the same key before. */
static bool is_repeated(struct yaml_file_walk *w, const yaml_node_t *map,
                        const yaml_node_pair_t *pair, const char *key)
{
    const yaml_node_pair_t *p = map->data.mapping.pairs.start;
    for (; p < pair; p++) {
        const yaml_node_t *n = yaml_document_get_node(w->doc, p->key);
        if (n && n->type == YAML_SCALAR_NODE &&
            strcmp((const char *)n->data.scalar.value, key) == 0)
            return true;
    }
    return false;
}

static void walk_pair(struct yaml_file_walk *w, const char *path, const yaml_node_t *map,
                      const yaml_node_pair_t *pair, int depth)
{
    char below[YAML_PATH];
    const yaml_node_t *key = yaml_document_get_node(w->doc, pair->key);
    const yaml_node_t *value = yaml_document_get_node(w->doc, pair->value);
    if (!key || !value)
        return;
    const struct yaml_place at = yaml_file_place_of(path, key);
    const char *text = yaml_file_text_of(w, &at, key, "a key must be a plain string");
    if (!text)
        return;
    if (!yaml_file_join(below, path, text))
        w->h->wrong(w->h->ctx, &at, "this key is too long");
    else if (is_repeated(w, map, pair, text))
        w->h->wrong(w->h->ctx, &(struct yaml_place){below, at.line, at.column},
                    "duplicate key; the first one is used");
    else
        walk_value(w, below, key, value, depth);
}

static void walk_map(struct yaml_file_walk *w, const char *path, const yaml_node_t *map, int depth)
{
    const yaml_node_pair_t *p = map->data.mapping.pairs.start;
    for (; p < map->data.mapping.pairs.top; p++) {
        const struct yaml_place at = yaml_file_place_of(path, map);
        if (!may_go_on(w, &at))
            return;
        walk_pair(w, path, map, p, depth);
    }
}

static int not_yaml(const yaml_parser_t *p, struct err *e)
{
    return err_set(e, ERR_FORMAT, "line %zu, column %zu: %s", p->problem_mark.line + 1,
                   p->problem_mark.column + 1, p->problem ? p->problem : "not valid YAML");
}

static int walk_document(yaml_document_t *doc, const struct yaml_handler *h, struct err *e)
{
    struct yaml_file_walk w = {.doc = doc, .h = h};
    const yaml_node_t *root = yaml_document_get_root_node(doc);
    if (!root || (root->type == YAML_SCALAR_NODE && is_null(root)))
        return 0; /* empty, or only comments */
    if (root->type != YAML_MAPPING_NODE)
        return err_set(e, ERR_FORMAT,
                       "line %zu, column %zu: expected settings, for example 'interval: 500ms'",
                       root->start_mark.line + 1, root->start_mark.column + 1);
    walk_map(&w, "", root, 0);
    return 0;
}

static int yaml_file_load(yaml_parser_t *p, const struct yaml_handler *h, struct err *e)
{
    yaml_document_t doc;
    if (!yaml_parser_load(p, &doc))
        return not_yaml(p, e);
    const int rc = walk_document(&doc, h, e);
    yaml_document_delete(&doc);
    return rc;
}

/* libyaml checks every open bracket for every token: 64 KiB of them take it 12 s. */
static bool has_too_many_brackets(const char *text, size_t len)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++)
        n += text[i] == '[' || text[i] == '{';
    return n > YAML_BRACKETS;
}

int yaml_walk(const char *text, size_t len, const struct yaml_handler *h, struct err *e)
{
    yaml_parser_t p;
    if (len > YAML_MOST)
        return err_set(e, ERR_LIMIT, "longer than %d bytes", YAML_MOST);
    if (has_too_many_brackets(text, len))
        return err_set(e, ERR_LIMIT, "more than %d brackets", YAML_BRACKETS);
    if (!yaml_parser_initialize(&p))
        return err_set(e, ERR_LIMIT, "not enough memory to read it");
    yaml_parser_set_input_string(&p, (const unsigned char *)text, len);
    const int rc = yaml_file_load(&p, h, e);
    yaml_parser_delete(&p);
    return rc;
}
