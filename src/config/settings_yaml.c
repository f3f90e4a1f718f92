/* SPDX-License-Identifier: Apache-2.0 */
/* settings_yaml.c - footplate.yaml into settings. See settings.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
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

/* Settings with words of the user's own below their key, and how deep: "labels.team",
 * "rules.StepOutlier.stddev". */
static int depth_below(const struct setting *row)
{
    switch (row - settings_table) {
    case SETTING_LABEL:
        return 1;
    case SETTING_RULES:
        return 2;
    default:
        return 0;
    }
}

static int count_dots(const char *path)
{
    int n = 0;
    for (; *path; path++)
        n += *path == '.';
    return n;
}

/* The setting of that path, with what is left of it below a map; SETTING_N: none. */
static enum setting_id find_key(const char *path, const char **below)
{
    enum setting_id found = SETTING_N;
    *below = NULL;
    for (size_t i = 0; i < SETTING_N; i++) {
        const struct setting *row = &settings_table[i];
        const size_t len = row->key ? strlen(row->key) : 0;
        if (len == 0 || !same_key(path, row->key, MIN_OF(len, strlen(path) + 1)))
            continue;
        if (path[len] == 0) {
            *below = NULL;
            return (enum setting_id)i;
        }
        if (path[len] == '.' && count_dots(path + len) == depth_below(row)) {
            *below = path + len + 1;
            found = (enum setting_id)i;
        }
    }
    return found;
}

/* "url" of "actions[2].url", where `list` is "actions"; NULL: the path is of something else. */
static const char *key_in_list(const char *path, const char *list, size_t *number)
{
    const size_t n = strlen(list);
    char *end;
    if (strlen(path) <= n || !same_key(path, list, n) || path[n] != '[')
        return NULL;
    *number = strtoul(path + n + 1, &end, 10);
    if (*end != ']' || (end[1] != '.' && end[1] != 0))
        return NULL;
    return end[1] ? end + 2 : end + 1;
}

/* The same for all settings that are lists of maps. */
static const char *map_key(const char *path, enum setting_id *id, size_t *number)
{
    static const enum setting_id lists[] = {SETTING_ACTIONS, SETTING_CUSTOM};
    const char *key = NULL;
    for (size_t i = 0; !key && i < COUNT_OF(lists); i++) {
        *id = lists[i];
        key = key_in_list(path, settings_table[lists[i]].key, number);
    }
    return key;
}

static bool is_section(void *ctx, const char *path)
{
    (void)ctx;
    size_t number;
    enum setting_id list;
    const size_t n = strlen(path);
    const char *key = map_key(path, &list, &number);
    if (key)
        return *key == 0;
    for (size_t i = 0; i < SETTING_N; i++) {
        const struct setting *row = &settings_table[i];
        const size_t len = row->key ? strlen(row->key) : 0;
        if (n > 0 && len >= n && same_key(path, row->key, n) &&
            (row->key[n] == '.' || (len == n && depth_below(row) > 0)))
            return true;
        if (len > 0 && len < n && path[len] == '.' && same_key(path, row->key, len) &&
            count_dots(path + len) < depth_below(row))
            return true;
    }
    return false;
}

static void settings_yaml_complain(const struct taker *t, const struct yaml_place *at,
                                   const char *what)
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
        snprintf(text, sizeof text, "unknown setting '%s' (did you mean '%s'?)", at->path, meant);
    else
        snprintf(text, sizeof text, "unknown setting '%s'", at->path);
    settings_yaml_complain(t, at, text);
}

static void settings_yaml_on_wrong(void *ctx, const struct yaml_place *at, const char *what)
{
    settings_yaml_complain(ctx, at, what);
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
    snprintf(text, sizeof text, "'%s' takes a value, not a map; ignored", at->path);
    settings_yaml_complain(ctx, at, text);
}

/* The value as the setting's own text; NULL, said, when it cannot be. */
static const char *text_for(const struct taker *t, enum setting_id id, const char *below,
                            const char *text, struct err *e)
{
    struct arena *a = t->s->arena;
    if (below)
        return arena_printf(a, "%s=%s", below, text);
    const enum opt_type type = settings_table[id].option.type;
    if ((type != OPT_FOLDER && type != OPT_FILE) || *text == '/')
        return text;
    if (*text == '~') {
        err_set(e, ERR_USAGE, "'~' is not expanded; write the full path");
        return NULL;
    }
    return strcmp(t->folder, ".") == 0 ? text : arena_printf(a, "%s/%s", t->folder, text);
}

static int settings_yaml_take_value(const struct taker *t, const struct yaml_place *at,
                                    enum setting_id id, const char *below, const char *text,
                                    struct err *e)
{
    const char *value = text_for(t, id, below, text, e);
    if (!value)
        return e->code;
    const struct origin o = {FROM_FILE,
                             arena_printf(t->s->arena, "%s, line %zu", t->name, at->line)};
    return settings_apply(t->s, id, value, &o, e);
}

static void on_pair(const struct taker *t, const struct yaml_place *at, enum setting_id list,
                    size_t number, const struct action_pair *pair)
{
    struct err e;
    const struct origin o = {FROM_FILE,
                             arena_printf(t->s->arena, "%s, line %zu", t->name, at->line)};
    if (settings_map_pair(t->s, list, number, pair, &o, &e) != 0)
        settings_yaml_complain(t, at,
                               arena_printf(t->s->arena, "%s: %s; ignored", at->path, e.msg));
}

static void on_value(void *ctx, const struct yaml_place *at, const char *text, bool listed)
{
    const struct taker *t = ctx;
    struct err e;
    const char *below;
    size_t number;
    enum setting_id list;
    const char *key = map_key(at->path, &list, &number);
    if (key) {
        on_pair(t, at, list, number, &(struct action_pair){key, text, listed});
        return;
    }
    const enum setting_id id = find_key(at->path, &below);
    if (id == SETTING_N) {
        unknown(t, at);
        return;
    }
    int rc = 0;
    if (listed && (below || !settings_table[id].option.repeat))
        rc = err_set(&e, ERR_USAGE, "this setting takes one value, not a list");
    else
        rc = settings_yaml_take_value(t, at, id, below, text, &e);
    if (rc != 0)
        settings_yaml_complain(t, at,
                               arena_printf(t->s->arena, "%s: %s; ignored", at->path, e.msg));
}

void settings_take_yaml(struct settings *s, const char *text, size_t len, const char *name,
                        const char *folder)
{
    struct taker t = {s, name, folder};
    const struct yaml_handler h = {&t, is_section, on_value, settings_yaml_on_wrong,
                                   on_not_section};
    struct err e;
    if (yaml_walk(text, len, &h, &e) != 0)
        remarks_add(&s->problems, "%s, %s; the file is ignored", name, e.msg);
}
