/* SPDX-License-Identifier: Apache-2.0 */
/* settings_load.c - the sources, from the lowest to the highest. See settings.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/trust.h"
#include "config/profilerconfig.h"
#include "config/script.h"
#include "config/settings.h"
#include "config/yaml_file.h"

#define YAML_NAME "footplate.yaml"

/* NULL: not set, or empty, which is how a user takes one back. */
static const char *env_get(const struct settings_ask *ask, const char *name)
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

/* ------------------------------------------------------------------------------------------------
 * SageMaker */

static void take_sagemaker(struct settings *s, const struct settings_ask *ask)
{
    const char *named = env_get(ask, "SMPROFILER_CONFIG_PATH");
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

/* ------------------------------------------------------------------------------------------------
 * footplate.yaml */

static const char *in_folder(struct arena *a, const char *folder, const char *name)
{
    const bool here = strcmp(folder, ".") == 0 || *name == '/';
    return here ? arena_strdup(a, name) : arena_printf(a, "%s/%s", folder, name);
}

/* "sub" of "sub/train.py", "." of "train.py" */
static const char *settings_load_folder_of(struct arena *a, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return ".";
    return slash == path ? "/" : arena_strndup(a, path, (size_t)(slash - path));
}

static int read_yaml(struct settings *s, const char *path, struct err *e)
{
    char *text;
    size_t len;
    if (file_read(path, YAML_MOST, s->arena, &text, &len, e) != 0)
        return e->code;
    s->file = path;
    settings_take_yaml(s, text, len, path, settings_load_folder_of(s->arena, path));
    return 0;
}

/* A file that was found, not named, can run programs (rule-files, actions): it must be the user's.
 * False: there is none. */
static bool try_yaml(struct settings *s, const char *path, bool no_code)
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
    settings_take_yaml(s, text, len, path, settings_load_folder_of(s->arena, path));
    if (no_code && s->n_rule_files) {
        s->n_rule_files = 0;
        remarks_add(&s->problems, "rule-files of %s are ignored; to run them, use --config %s",
                    path, path);
    }
    return true;
}

/* The file beside the script, else the one in the current folder. */
static void find_yaml(struct settings *s, const struct settings_ask *ask)
{
    struct arena *a = s->arena;
    const char *folder = ask->folder ? ask->folder : ".";
    const struct script script = ask->argv ? script_find(ask->argv) : (struct script){0};
    if (script.is_file) {
        const char *beside = settings_load_folder_of(a, in_folder(a, folder, script.name));
        if (try_yaml(s, in_folder(a, beside, YAML_NAME), ask->no_code))
            return;
    }
    try_yaml(s, in_folder(a, folder, YAML_NAME), ask->no_code);
}

static const char *option_text(const struct settings_ask *ask, const char *name)
{
    for (size_t i = 0; ask->options && ask->options[i].name; i++)
        if (strcmp(ask->options[i].name, name) == 0 && ask->given[i].given)
            return ask->given[i].text;
    return NULL;
}

/* A file that an option names must be there, as what an option says must be right. */
static int take_yaml(struct settings *s, const struct settings_ask *ask, struct err *e)
{
    const struct setting *row = &settings_table[SETTING_CONFIG];
    const char *option = option_text(ask, row->option.name), *env = env_get(ask, row->env);
    struct err why;
    if (option && read_yaml(s, option, e) != 0) {
        e->code = ERR_USAGE;
        return err_in(e, "--%s", row->option.name);
    }
    if (option)
        return 0;
    if (!env)
        find_yaml(s, ask);
    else if (read_yaml(s, env, &why) != 0)
        remarks_add(&s->problems, "%s: %s; ignored", row->env, why.msg);
    return 0;
}

/* ------------------------------------------------------------------------------------------------
 * Environment, options */

static void take_environment(struct settings *s, const struct settings_ask *ask)
{
    for (size_t i = 0; i < SETTING_N; i++) {
        const struct setting *row = &settings_table[i];
        const char *text = env_get(ask, row->env);
        const struct origin o = {FROM_ENVIRONMENT, row->env};
        struct err e;
        if (text && i != SETTING_CONFIG && settings_apply(s, (enum setting_id)i, text, &o, &e) != 0)
            remarks_add(&s->problems, "%s: %s; ignored", row->env, e.msg);
    }
}

static int take_option(struct settings *s, enum setting_id id, const struct opt_value *v,
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

static int settings_load_take_options(struct settings *s, const struct settings_ask *ask,
                                      struct err *e)
{
    for (size_t i = 0; ask->options && ask->options[i].name; i++)
        for (size_t k = 0; k < SETTING_N; k++)
            if (ask->given[i].given &&
                strcmp(ask->options[i].name, settings_table[k].option.name) == 0 &&
                take_option(s, (enum setting_id)k, &ask->given[i], e) != 0)
                return e->code;
    return 0;
}

/* ------------------------------------------------------------------------------------------------
 * Together */

static bool is_past(const struct window *w, wall_ns now)
{
    return w->start == START_WALL && w->span_ns > 0 && w->at + w->span_ns <= now.ns;
}

static void tell_past(struct settings *s, enum setting_id id, const struct window *w)
{
    struct buf b = {0};
    window_print(&b, w);
    remarks_add(&s->problems, "%s: the window %.*s has already passed",
                settings_origin(s, id)->where, (int)b.len, (const char *)b.p);
    buf_free(&b);
}

static void check_times(struct settings *s, wall_ns now)
{
    for (size_t i = 0; i < s->detail.n; i++)
        if (is_past(&s->detail.v[i], now))
            tell_past(s, SETTING_DETAIL_AT, &s->detail.v[i]);
    for (size_t i = 0; i < s->python.n; i++)
        if (is_past(&s->python.v[i].w, now))
            tell_past(s, SETTING_PYTHON_AT, &s->python.v[i].w);
}

static void check_together(struct settings *s)
{
    if (s->hooks || (s->detail.n == 0 && s->python.n == 0))
        return;
    remarks_add(&s->problems,
                "hooks are disabled (%s), so detail windows and Python profiles have no effect",
                settings_origin(s, SETTING_HOOKS)->where);
}

static void name_file(struct settings *s, const struct settings_ask *ask)
{
    const struct setting *row = &settings_table[SETTING_CONFIG];
    struct origin *o = &s->from[SETTING_CONFIG];
    if (!s->file)
        return;
    if (option_text(ask, row->option.name))
        *o = (struct origin){FROM_OPTION, "--config"};
    else if (env_get(ask, row->env))
        *o = (struct origin){FROM_ENVIRONMENT, row->env};
}

int settings_load(struct settings *out, const struct settings_ask *ask, struct arena *a,
                  struct err *e)
{
    settings_init(out, a);
    take_sagemaker(out, ask);
    if (take_yaml(out, ask, e) != 0)
        return e->code;
    take_environment(out, ask);
    if (settings_load_take_options(out, ask, e) != 0)
        return e->code;
    name_file(out, ask);
    check_together(out);
    check_times(out, ask->now.ns ? ask->now : clock_wall());
    return 0;
}
