/* SPDX-License-Identifier: Apache-2.0 */
/* settings_yaml.c - footplate.yaml into settings. See settings.h. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "config/settings.h"
#include "config/yaml_file.h"

struct taker {
    struct settings *s;
    const char *name;   /* of the file, in sentences */
    const char *folder; /* that it lies in */
};

/* Whether the path is the key; '_' counts as '-'. */
static bool same_key(const char *path, const char *key, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((path[i] == '_' ? '-' : path[i]) != key[i])
            return false;
    return true;
}

/* A setting that is a map of the user's own words. */
static bool is_map(const struct setting *row)
{
    return row - settings_table == SETTING_LABEL;
}

/* The setting of that path, with what is left of it below a map; SETTING_N: none. */
static enum setting_id find_key(const char *path, const char **below)
{
    *below = NULL;
    for (size_t i = 0; i < SETTING_N; i++) {
        const struct setting *row = &settings_table[i];
        const size_t len = row->key ? strlen(row->key) : 0;
        if (len == 0 || !same_key(path, row->key, MIN_OF(len, strlen(path) + 1)))
            continue;
        if (path[len] == 0)
            return (enum setting_id)i;
        if (path[len] == '.' && is_map(row)) {
            *below = path + len + 1;
            return (enum setting_id)i;
        }
    }
    return SETTING_N;
}

static bool is_section(void *ctx, const char *path)
{
    (void)ctx;
    const size_t n = strlen(path);
    for (size_t i = 0; i < SETTING_N; i++) {
        const struct setting *row = &settings_table[i];
        if (!row->key || strlen(row->key) < n || !same_key(path, row->key, n))
            continue;
        if (row->key[n] == '.' || (row->key[n] == 0 && is_map(row)))
            return true;
    }
    return false;
}

static void complain(const struct taker *t, const struct yaml_place *at, const char *what)
{
    remarks_add(&t->s->problems, "%s, line %zu, column %zu: %s", t->name, at->line, at->column,
                what);
}

static void unknown(const struct taker *t, const struct yaml_place *at)
{
    char text[512];
    struct nearest n = nearest_to(at->path);
    for (size_t i = 0; i < SETTING_N; i++)
        if (settings_table[i].key)
            nearest_offer(&n, settings_table[i].key);
    const char *meant = n.best;
    /* Somebody who knows the option writes that. */
    for (size_t i = 0; i < SETTING_N; i++) {
        const size_t before = n.distance;
        nearest_offer(&n, settings_table[i].option.name);
        if (n.distance < before && settings_table[i].key)
            meant = settings_table[i].key;
    }
    if (meant)
        snprintf(text, sizeof text, "there is no setting '%s' (did you mean '%s'?)", at->path,
                 meant);
    else
        snprintf(text, sizeof text, "there is no setting '%s'", at->path);
    complain(t, at, text);
}

static void on_wrong(void *ctx, const struct yaml_place *at, const char *what)
{
    complain(ctx, at, what);
}

static void on_not_section(void *ctx, const struct yaml_place *at)
{
    const char *below;
    char text[256];
    const enum setting_id id = find_key(at->path, &below);
    if (id == SETTING_N) {
        unknown(ctx, at);
        return;
    }
    snprintf(text, sizeof text, "'%s' takes a value, not a map; it is left out", at->path);
    complain(ctx, at, text);
}

/* The value as the setting's own text; NULL, said, when it cannot be. */
static const char *text_for(const struct taker *t, enum setting_id id, const char *below,
                            const char *text, struct err *e)
{
    struct arena *a = t->s->arena;
    if (below)
        return arena_printf(a, "%s=%s", below, text);
    if (settings_table[id].option.type != OPT_FOLDER || *text == '/')
        return text;
    if (*text == '~') {
        err_set(e, ERR_USAGE, "'~' means nothing here; write the whole path");
        return NULL;
    }
    return strcmp(t->folder, ".") == 0 ? text : arena_printf(a, "%s/%s", t->folder, text);
}

static int take_value(const struct taker *t, const struct yaml_place *at, enum setting_id id,
                      const char *below, const char *text, struct err *e)
{
    const char *value = text_for(t, id, below, text, e);
    if (!value)
        return e->code;
    const struct origin o = {FROM_FILE,
                             arena_printf(t->s->arena, "%s, line %zu", t->name, at->line)};
    return settings_apply(t->s, id, value, &o, e);
}

static void on_value(void *ctx, const struct yaml_place *at, const char *text, bool listed)
{
    const struct taker *t = ctx;
    struct err e;
    const char *below;
    const enum setting_id id = find_key(at->path, &below);
    if (id == SETTING_N) {
        unknown(t, at);
        return;
    }
    int rc = 0;
    if (listed && (below || !settings_table[id].option.repeat))
        rc = err_set(&e, ERR_USAGE, "this takes one value, not a list");
    else
        rc = take_value(t, at, id, below, text, &e);
    if (rc != 0)
        complain(t, at, arena_printf(t->s->arena, "%s: %s; it is left out", at->path, e.msg));
}

void settings_take_yaml(struct settings *s, const char *text, size_t len, const char *name,
                        const char *folder)
{
    struct taker t = {s, name, folder};
    const struct yaml_handler h = {&t, is_section, on_value, on_wrong, on_not_section};
    struct err e;
    if (yaml_walk(text, len, &h, &e) != 0)
        remarks_add(&s->problems, "%s, %s; the file is left out", name, e.msg);
}
