/* SPDX-License-Identifier: Apache-2.0 */
/* settings_load.c - reads the sources of settings, from the lowest to the highest, and
 * footplate.yaml. See settings.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/trust.h"
#include "base/vec.h"
#include "config/profilerconfig.h"
#include "config/python_env.h"
#include "config/settings.h"
#include "config/yaml_file.h"

/* ---- the keys of footplate.yaml ---- */

struct yaml_taker {
    struct settings *s;
    const char *name;   /* of the file, in sentences */
    const char *folder; /* that it lies in */
};

/* Whether the path is the key; '_' counts as '-'. */
static bool yaml_same_key(const char *path, const char *key, size_t len)
{
    return !FIND_ANY(i, len, (path[i] == '_' ? '-' : path[i]) != key[i]);
}

/* Settings with keys of the user below their own, and how deep: "labels.team",
 * "rules.StepOutlier.stddev". */
static int yaml_depth_below(const struct setting *row)
{
    const ptrdiff_t id = row - settings_table;
    return id == SETTING_LABEL ? 1 : id == SETTING_RULES ? 2 : 0;
}

static int yaml_count_dots(const char *path)
{
    int n = 0;
    for (; *path; path++)
        n += *path == '.';
    return n;
}

/* The setting of that path, with what is left of it below a map; SETTING_N: none. */
static enum setting_id yaml_find_key(const char *path, const char **below)
{
    enum setting_id found = SETTING_N;
    *below = NULL;
    for (size_t i = 0; i < SETTING_N; i++) {
        const struct setting *row = &settings_table[i];
        const size_t len = row->key ? strlen(row->key) : 0;
        if (len == 0 || !yaml_same_key(path, row->key, MIN_OF(len, strlen(path) + 1)))
            continue;
        if (path[len] == 0) {
            *below = NULL;
            return (enum setting_id)i;
        }
        if (path[len] == '.' && yaml_count_dots(path + len) == yaml_depth_below(row)) {
            *below = path + len + 1;
            found = (enum setting_id)i;
        }
    }
    return found;
}

/* "url" of "actions[2].url", where `list` is "actions"; NULL: the path is of something else. */
static const char *yaml_key_in_list(const char *path, const char *list, size_t *number)
{
    const size_t n = strlen(list);
    char *end;
    if (strlen(path) <= n || !yaml_same_key(path, list, n) || path[n] != '[')
        return NULL;
    *number = strtoul(path + n + 1, &end, 10);
    if (*end != ']' || (end[1] != '.' && end[1] != 0))
        return NULL;
    return end[1] ? end + 2 : end + 1;
}

/* The same for all settings that are lists of maps. */
static const char *yaml_map_key(const char *path, enum setting_id *id, size_t *number)
{
    static const enum setting_id lists[] = {SETTING_ACTIONS, SETTING_CUSTOM};
    const char *key = NULL;
    for (size_t i = 0; !key && i < COUNT_OF(lists); i++) {
        *id = lists[i];
        key = yaml_key_in_list(path, settings_table[lists[i]].key, number);
    }
    return key;
}

static bool yaml_is_section(void *ctx, const char *path)
{
    (void)ctx;
    size_t number;
    enum setting_id list;
    const size_t n = strlen(path);
    const char *key = yaml_map_key(path, &list, &number);
    if (key)
        return *key == 0;
    for (size_t i = 0; i < SETTING_N; i++) {
        const struct setting *row = &settings_table[i];
        const size_t len = row->key ? strlen(row->key) : 0;
        if (n > 0 && len >= n && yaml_same_key(path, row->key, n) &&
            (row->key[n] == '.' || (len == n && yaml_depth_below(row) > 0)))
            return true;
        if (len > 0 && len < n && path[len] == '.' && yaml_same_key(path, row->key, len) &&
            yaml_count_dots(path + len) < yaml_depth_below(row))
            return true;
    }
    return false;
}

static void yaml_remark(const struct yaml_taker *t, const struct yaml_place *at, const char *what)
{
    remarks_add(&t->s->problems, "%s, line %zu, column %zu: %s", t->name, at->line, at->column,
                what);
}

static void yaml_unknown(const struct yaml_taker *t, const struct yaml_place *at)
{
    char text[512];
    struct nearest n = nearest_to(at->path);
    for (size_t i = 0; i < SETTING_N; i++)
        if (settings_table[i].key)
            nearest_offer(&n, settings_table[i].key);
    const char *meant = n.best;
    /* Users may write the name of the option. */
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
    yaml_remark(t, at, text);
}

static void yaml_on_wrong(void *ctx, const struct yaml_place *at, const char *what)
{
    yaml_remark(ctx, at, what);
}

static void yaml_on_not_section(void *ctx, const struct yaml_place *at)
{
    const char *below;
    char text[256];
    const enum setting_id id = yaml_find_key(at->path, &below);
    if (id == SETTING_N) {
        yaml_unknown(ctx, at);
        return;
    }
    snprintf(text, sizeof text, "'%s' takes a value, not a map; ignored", at->path);
    yaml_remark(ctx, at, text);
}

/* The value in the form of the setting; NULL, with `e`, when it has none. */
static const char *yaml_text_for(const struct yaml_taker *t, enum setting_id id, const char *below,
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

static int yaml_take_value(const struct yaml_taker *t, const struct yaml_place *at,
                           enum setting_id id, const char *below, const char *text, struct err *e)
{
    const char *value = yaml_text_for(t, id, below, text, e);
    if (!value)
        return e->code;
    const struct origin o = {FROM_FILE,
                             arena_printf(t->s->arena, "%s, line %zu", t->name, at->line)};
    return settings_apply(t->s, id, value, &o, e);
}

static void yaml_on_pair(const struct yaml_taker *t, const struct yaml_place *at,
                         enum setting_id list, size_t number, const struct action_pair *pair)
{
    struct err e;
    const struct origin o = {FROM_FILE,
                             arena_printf(t->s->arena, "%s, line %zu", t->name, at->line)};
    if (settings_map_pair(t->s, list, number, pair, &o, &e) != 0)
        yaml_remark(t, at, arena_printf(t->s->arena, "%s: %s; ignored", at->path, e.msg));
}

static void yaml_on_value(void *ctx, const struct yaml_place *at, const char *text, bool listed)
{
    const struct yaml_taker *t = ctx;
    struct err e;
    const char *below;
    size_t number;
    enum setting_id list;
    const char *key = yaml_map_key(at->path, &list, &number);
    if (key) {
        yaml_on_pair(t, at, list, number, &(struct action_pair){key, text, listed});
        return;
    }
    const enum setting_id id = yaml_find_key(at->path, &below);
    if (id == SETTING_N) {
        yaml_unknown(t, at);
        return;
    }
    int rc = 0;
    if (listed && (below || !settings_table[id].option.repeat))
        rc = err_set(&e, ERR_USAGE, "this setting takes one value, not a list");
    else
        rc = yaml_take_value(t, at, id, below, text, &e);
    if (rc != 0)
        yaml_remark(t, at, arena_printf(t->s->arena, "%s: %s; ignored", at->path, e.msg));
}

void settings_take_yaml(struct settings *s, const char *text, size_t len, const char *name,
                        const char *folder)
{
    struct yaml_taker t = {s, name, folder};
    const struct yaml_handler h = {&t, yaml_is_section, yaml_on_value, yaml_on_wrong,
                                   yaml_on_not_section};
    struct err e;
    if (yaml_walk(text, len, &h, &e) != 0)
        remarks_add(&s->problems, "%s, %s; the file is ignored", name, e.msg);
}

#define YAML_NAME "footplate.yaml"

/* NULL: not set, or empty, which unsets it. */
static const char *settings_env(const struct settings_ask *ask, const char *name)
{
    const size_t n = strlen(name);
    for (char *const *p = ask->environment; p && *p; p++)
        if (strncmp(*p, name, n) == 0 && (*p)[n] == '=')
            return (*p)[n + 1] ? *p + n + 1 : NULL;
    return NULL;
}

static bool exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

/* ---- SageMaker ---- */

static void settings_take_sagemaker(struct settings *s, const struct settings_ask *ask)
{
    const char *named = settings_env(ask, "SMPROFILER_CONFIG_PATH");
    const char *path = named ? named : ask->profilerconfig ? ask->profilerconfig : SAGEMAKER_CONFIG;
    struct err e;
    struct stat st;
    char *text;
    size_t len;
    if (!named && !exists(path))
        return;
    if (!named && stat(path, &st) == 0 && !trust_owner(st.st_uid)) {
        remarks_add(&s->problems, "%s is ignored: it belongs to another user (uid %u)", path,
                    (unsigned)st.st_uid);
        return;
    }
    if (file_read(path, PROFILERCONFIG_MOST, s->arena, &text, &len, &e) != 0) {
        remarks_add(&s->problems, "%s%s; ignored", named ? "SMPROFILER_CONFIG_PATH: " : "", e.msg);
        return;
    }
    s->profilerconfig = arena_strdup(s->arena, path);
    settings_take_profilerconfig(s, text, len, path);
}

/* ---- footplate.yaml ---- */

static const char *settings_in_folder(struct arena *a, const char *folder, const char *name)
{
    const bool here = strcmp(folder, ".") == 0 || *name == '/';
    return here ? arena_strdup(a, name) : arena_printf(a, "%s/%s", folder, name);
}

/* "sub" of "sub/train.py", "." of "train.py" */
static const char *settings_folder_of(struct arena *a, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return ".";
    return slash == path ? "/" : arena_strndup(a, path, (size_t)(slash - path));
}

static int settings_read_yaml(struct settings *s, const char *path, struct err *e)
{
    char *text;
    size_t len;
    TRY(file_read(path, YAML_MOST, s->arena, &text, &len, e));
    s->file = path;
    settings_take_yaml(s, text, len, path, settings_folder_of(s->arena, path));
    return 0;
}

/* A file that was found, not named, can run programs (rule-files, actions): it must be the user's.
 * False: there is none. */
static bool settings_try_yaml(struct settings *s, const char *path, bool no_code)
{
    struct err e;
    char *text;
    size_t len;
    if (!exists(path))
        return false;
    const int rc = trust_read(path, YAML_MOST, s->arena, &text, &len, &e);
    if (rc == ERR_USAGE)
        remarks_add(&s->problems, "%s is ignored: %s; to use it, name it with --config %s", path,
                    e.msg, path);
    else if (rc != 0)
        remarks_add(&s->problems, "%s; ignored", e.msg);
    if (rc != 0)
        return true;
    s->file = path;
    settings_take_yaml(s, text, len, path, settings_folder_of(s->arena, path));
    if (no_code && s->n_rule_files) {
        s->n_rule_files = 0;
        remarks_add(&s->problems, "rule-files of %s are ignored; to run them, use --config %s",
                    path, path);
    }
    return true;
}

/* The file beside the script, else the one in the current folder. */
static void settings_find_yaml(struct settings *s, const struct settings_ask *ask)
{
    struct arena *a = s->arena;
    const char *folder = ask->folder ? ask->folder : ".";
    const struct script script = ask->argv ? script_find(ask->argv) : (struct script){0};
    if (script.is_file) {
        const char *beside = settings_folder_of(a, settings_in_folder(a, folder, script.name));
        if (settings_try_yaml(s, settings_in_folder(a, beside, YAML_NAME), ask->no_code))
            return;
    }
    settings_try_yaml(s, settings_in_folder(a, folder, YAML_NAME), ask->no_code);
}

/* A file that an option names must exist: an invalid option is an error. */
static int settings_choose_yaml(struct settings *s, const struct settings_ask *ask, struct err *e)
{
    const struct setting *row = &settings_table[SETTING_CONFIG];
    const struct opt_value *option = opt_given(ask->options, ask->given, row->option.name);
    const char *env = settings_env(ask, row->env);
    struct err why;
    if (option && settings_read_yaml(s, option->text, e) != 0) {
        e->code = ERR_USAGE;
        return err_in(e, "--%s", row->option.name);
    }
    if (option)
        return 0;
    if (!env)
        settings_find_yaml(s, ask);
    else if (settings_read_yaml(s, env, &why) != 0)
        remarks_add(&s->problems, "%s: %s; ignored", row->env, why.msg);
    return 0;
}

/* ---- environment, options ---- */

static void settings_take_environment(struct settings *s, const struct settings_ask *ask)
{
    for (size_t i = 0; i < SETTING_N; i++) {
        const struct setting *row = &settings_table[i];
        const char *text = settings_env(ask, row->env);
        const struct origin o = {FROM_ENVIRONMENT, row->env};
        struct err e;
        if (text && i != SETTING_CONFIG && settings_apply(s, (enum setting_id)i, text, &o, &e) != 0)
            remarks_add(&s->problems, "%s: %s; ignored", row->env, e.msg);
    }
}

static int settings_take_option(struct settings *s, enum setting_id id, const struct opt_value *v,
                                struct err *e)
{
    const struct setting *row = &settings_table[id];
    const struct origin o = {FROM_OPTION, arena_printf(s->arena, "--%s", row->option.name)};
    int rc = 0;
    if (row->option.type == OPT_FLAG)
        rc = settings_apply(s, id, "on", &o, e);
    else if (!row->option.repeat)
        rc = settings_apply(s, id, v->text, &o, e);
    for (size_t i = 0; rc == 0 && i < v->n_all; i++)
        rc = settings_apply(s, id, v->all[i], &o, e);
    return rc ? err_in(e, "%s", o.where) : 0;
}

static int settings_take_options(struct settings *s, const struct settings_ask *ask, struct err *e)
{
    for (size_t i = 0; ask->options && ask->options[i].name; i++)
        for (size_t k = 0; k < SETTING_N; k++)
            if (ask->given[i].given &&
                strcmp(ask->options[i].name, settings_table[k].option.name) == 0 &&
                settings_take_option(s, (enum setting_id)k, &ask->given[i], e) != 0)
                return e->code;
    return 0;
}

/* ---- all sources ---- */

static bool settings_is_past(const struct window *w, wall_ns now)
{
    return w->start == START_WALL && w->span_ns > 0 && w->at + w->span_ns <= now.ns;
}

static void settings_note_past(struct settings *s, enum setting_id id, const struct window *w)
{
    struct buf b = {0};
    window_print(&b, w);
    remarks_add(&s->problems, "%s: the window %.*s has already passed",
                settings_origin(s, id)->where, (int)b.len, (const char *)b.p);
    buf_free(&b);
}

static void settings_check_times(struct settings *s, wall_ns now)
{
    for (size_t i = 0; i < s->detail.n; i++)
        if (settings_is_past(&s->detail.v[i], now))
            settings_note_past(s, SETTING_DETAIL_AT, &s->detail.v[i]);
    for (size_t i = 0; i < s->python.n; i++)
        if (settings_is_past(&s->python.v[i], now))
            settings_note_past(s, SETTING_PYTHON_AT, &s->python.v[i]);
}

static void settings_check_hooks(struct settings *s)
{
    if (s->hooks || (s->detail.n == 0 && s->python.n == 0))
        return;
    remarks_add(&s->problems,
                "hooks are disabled (%s), so detail windows and Python profiles have no effect",
                settings_origin(s, SETTING_HOOKS)->where);
}

static void settings_name_file(struct settings *s, const struct settings_ask *ask)
{
    const struct setting *row = &settings_table[SETTING_CONFIG];
    struct origin *o = &s->from[SETTING_CONFIG];
    if (!s->file)
        return;
    if (opt_given(ask->options, ask->given, row->option.name))
        *o = (struct origin){FROM_OPTION, "--config"};
    else if (settings_env(ask, row->env))
        *o = (struct origin){FROM_ENVIRONMENT, row->env};
}

int settings_load(struct settings *out, const struct settings_ask *ask, struct arena *a,
                  struct err *e)
{
    settings_init(out, a);
    settings_take_sagemaker(out, ask);
    TRY(settings_choose_yaml(out, ask, e));
    settings_take_environment(out, ask);
    TRY(settings_take_options(out, ask, e));
    settings_name_file(out, ask);
    settings_check_hooks(out);
    settings_check_times(out, ask->now.ns ? ask->now : clock_wall());
    return 0;
}
