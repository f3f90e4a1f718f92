/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_config.c - the settings that count, and where each comes from. */
#include <stdio.h>
#include <string.h>

#include "base/json_write.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/table.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "session/session.h"
#include "watch/action.h"

enum { O_JSON = SETTING_N, O_MARKDOWN, O_ACTION_KEYS };

static const struct opt options[] = {
#define SETTING     SETTING_AS_OPTION
#define SETTING_JOB SETTING_AS_OPTION
#include "config/settings.def"
#undef SETTING
#undef SETTING_JOB
    [O_JSON] = OPT_ROW_JSON,
    [O_MARKDOWN] = {"markdown", 0, NULL, OPT_FLAG,
                    .help = "Print all available settings as a Markdown table."},
    [O_ACTION_KEYS] = {"action-keys", 0, NULL, OPT_FLAG,
                       .help = "Print the keys of all actions as a Markdown table."},
    {0},
};

static const struct cmd_arg args[] = {
    {"COMMAND", ARG_COMMAND, .optional = true, .repeat = true,
     .help = "The command that would be run; footplate.yaml is searched for next to its script."},
    {0},
};

static const char *cmd_config_name_of(const struct setting *row)
{
    return row->key ? row->key : row->option.name;
}

static const char *cmd_config_value_of(const struct settings *s, enum setting_id id,
                                       struct arena *a)
{
    struct buf b = {0};
    settings_table[id].print(s, id, &b);
    const char *text = arena_strndup(a, b.p ? (const char *)b.p : "", b.len);
    buf_free(&b);
    return text;
}

static const char *where_of(const struct settings *s, enum setting_id id)
{
    const struct origin *o = settings_origin(s, id);
    return o->source == FROM_DEFAULT ? setting_source_names[FROM_DEFAULT] : o->where;
}

/* ---- text ---- */

static const struct table_column columns[] = {
    {"SETTING"},
    {"VALUE", .gives = true},
    {"FROM"},
    {0},
};

static void cmd_config_print_text(const struct settings *s, struct arena *a)
{
    struct table t;
    table_init(&t, a, columns);
    for (size_t i = 0; i < SETTING_N; i++) {
        const char *value = cmd_config_value_of(s, (enum setting_id)i, a);
        table_cell(&t, "%s", cmd_config_name_of(&settings_table[i]));
        table_cell(&t, "%s", *value ? value : "-");
        table_cell(&t, "%s", where_of(s, (enum setting_id)i));
    }
    table_print(&t, stdout, term_width(stdout), term_color(stdout));
    for (size_t i = 0; i < s->notes.n; i++)
        printf("%s%s\n", i ? "" : "\n", text_safe(a, s->notes.v[i]));
}

/* ---- JSON ---- */

static void cmd_config_put_remarks(struct jw *j, const char *key, const struct remarks *r)
{
    jw_array(j, key);
    for (size_t i = 0; i < r->n; i++)
        jw_str(j, NULL, r->v[i]);
    jw_end(j);
}

static void cmd_config_print_json(const struct settings *s, struct arena *a)
{
    struct buf b = {0};
    struct jw j = {.out = &b, .indent = 2};
    jw_object(&j, NULL);
    jw_str(&j, "file", s->file);
    jw_str(&j, "profilerconfig", s->profilerconfig);
    jw_array(&j, "settings");
    for (size_t i = 0; i < SETTING_N; i++) {
        const struct origin *o = settings_origin(s, (enum setting_id)i);
        const char *value = cmd_config_value_of(s, (enum setting_id)i, a);
        jw_object(&j, NULL);
        jw_str(&j, "name", cmd_config_name_of(&settings_table[i]));
        jw_str(&j, "value", *value ? value : NULL);
        jw_str(&j, "source", setting_source_names[o->source]);
        jw_str(&j, "where", *o->where ? o->where : NULL);
        jw_end(&j);
    }
    jw_end(&j);
    cmd_config_put_remarks(&j, "problems", &s->problems);
    cmd_config_put_remarks(&j, "notes", &s->notes);
    jw_end(&j);
    output_buf(&b);
    buf_free(&b);
}

/* ---- markdown ---- */

static void cmd_config_print_markdown(void)
{
    puts("| footplate.yaml | option | variable | default | description |\n|---|---|---|---|---|");
    for (size_t i = 0; i < SETTING_N; i++) {
        const struct setting *row = &settings_table[i];
        const struct opt *o = &row->option;
        if (row->key)
            printf("| `%s` ", row->key);
        else
            printf("| - ");
        printf("| `--%s%s%s` | `%s` | %s | %s |\n", o->name, o->arg ? " " : "",
               o->arg ? o->arg : "", row->env, o->otherwise ? o->otherwise : "-", o->help);
    }
}

static void print_keys(const char *kind, const struct action_key *keys)
{
    for (; keys->name; keys++)
        printf("| %s | `%s` | %s%s |\n", kind, keys->name, keys->help,
               keys->list ? "; a value or a list" : "");
}

static void print_action_keys(void)
{
    puts("| action | key | description |\n|---|---|---|");
    print_keys("all", action_keys);
    for (size_t i = 0; action_kinds[i]; i++)
        print_keys(action_kinds[i]->name, action_kinds[i]->keys);
}

static int show(const struct cmd_args *a, struct arena *arena, struct err *e)
{
    struct settings *s = arena_new(arena, struct settings);
    const struct session_options o = {.table = a->cmd->options, .given = a->opt};
    const int rc = session_settings(s, &o, a->n_args ? a->arg : NULL, arena, e);
    if (rc != 0)
        return rc;
    if (a->opt[O_JSON].given)
        cmd_config_print_json(s, arena);
    else
        cmd_config_print_text(s, arena);
    fflush(stdout);
    for (size_t i = 0; i < s->problems.n; i++)
        fprintf(stderr, "footplate: %s\n", text_safe(arena, s->problems.v[i]));
    return s->problems.n ? EXIT_FAILED : EXIT_FINE;
}

static int cmd_config_run(const struct cmd_args *a, struct err *e)
{
    struct arena arena = {0};
    if (a->opt[O_MARKDOWN].given && a->opt[O_JSON].given)
        return err_set(e, ERR_USAGE, "--markdown cannot be combined with --json");
    if (a->opt[O_MARKDOWN].given) {
        cmd_config_print_markdown();
        return EXIT_FINE;
    }
    if (a->opt[O_ACTION_KEYS].given) {
        print_action_keys();
        return EXIT_FINE;
    }
    const int rc = show(a, &arena, e);
    arena_free(&arena);
    return rc;
}

static const char *const help[] = {
    "Prints every setting that 'footplate run' would use with the same options and command, and "
    "its source. The first source that sets a value wins: the command line, the environment, "
    "footplate.yaml next to the script or in the current folder, SageMaker's profilerconfig.json, "
    "the default.",
    NULL,
};

static const struct cmd_example examples[] = {
    {"footplate config", "Show the effective settings in this folder."},
    {"footplate config --detail-steps 5:2 -- python sub/train.py",
     "Show the settings for a command without starting it."},
    {0},
};

const struct cmd cmd_config = {
    .name = "config",
    .summary = "show the effective settings and their source",
    .args = args,
    .options = options,
    .help = help,
    .examples = examples,
    .exit_codes =
        "0 if all settings are valid, 1 if a setting is invalid, 2 if the command line is invalid.",
    .run = cmd_config_run,
};
