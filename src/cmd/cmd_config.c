/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_config.c - the settings that count, and where each comes from. */
#include <stdio.h>
#include <string.h>

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
    [O_JSON] = {OPT_ROW_JSON},
    [O_MARKDOWN] = {"markdown", 0, NULL, OPT_FLAG,
                    .help = "Print all available settings as a Markdown table."},
    [O_ACTION_KEYS] = {"action-keys", 0, NULL, OPT_FLAG,
                       .help = "Print the keys of all actions as a Markdown table."},
    {0},
};

struct setting_line {
    const char *name, *value; /* value "": none */
    const struct origin *from;
};

struct config_view {
    const struct settings *s;
    struct setting_line lines[SETTING_N];
};

static void config_read(struct config_view *v, struct arena *a)
{
    for (enum setting_id i = 0; i < SETTING_N; i++) {
        const struct setting *row = &settings_table[i];
        struct buf b = {0};
        row->print(v->s, i, &b);
        v->lines[i] = (struct setting_line){row->key ? row->key : row->option.name,
                                            arena_strndup(a, b.p ? (const char *)b.p : "", b.len),
                                            settings_origin(v->s, i)};
        buf_free(&b);
    }
}

#define ROWS_FILE "cmd/config_rows.def"
#include "base/row_expand.h"

static void cmd_config_print_text(const struct config_view *v, struct arena *a)
{
    struct table t;
    table_init(&t, a, "SETTING|~VALUE|FROM");
    for (size_t i = 0; i < SETTING_N; i++) {
        const struct setting_line *l = &v->lines[i];
        CELL_TEXTS(&t, l->name, *l->value ? l->value : "-");
        table_cell(&t, "%s",
                   l->from->source == FROM_DEFAULT ? setting_source_names[FROM_DEFAULT]
                                                   : l->from->where);
    }
    output_table(&t);
    for (size_t i = 0; i < v->s->notes.n; i++)
        printf("%s%s\n", i ? "" : "\n", text_safe(a, v->s->notes.v[i]));
}

/* ---- markdown ---- */

static void cmd_config_print_markdown(void)
{
    puts("| footplate.yaml | option | variable | default | description |\n|---|---|---|---|---|");
    for (size_t i = 0; i < SETTING_N; i++) {
        const struct setting *row = &settings_table[i];
        const struct opt *o = &row->option;
        printf(row->key ? "| `%s` " : "| - ", row->key);
        printf("| `--%s%s%s%s` | `%s` | %s | %s |\n", o->name,
               o->bare  ? "[="
               : o->arg ? " "
                        : "",
               o->arg ? o->arg : "", o->bare ? "]" : "", row->env,
               o->otherwise ? o->otherwise : "-", o->help);
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

static int cmd_config_run(const struct cmd_args *a, struct err *e)
{
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
    struct settings *s = arena_new(a->arena, struct settings);
    struct config_view *v = arena_new(a->arena, struct config_view);
    const struct session_options o = {.table = a->cmd->options, .given = a->opt};
    TRY(session_settings(s, &o, a->n_args ? a->arg : NULL, a->arena, e));
    v->s = s;
    config_read(v, a->arena);
    if (a->opt[O_JSON].given)
        output_row(&row_Config, v, a->arena);
    else
        cmd_config_print_text(v, a->arena);
    fflush(stdout);
    for (size_t i = 0; i < s->problems.n; i++)
        fprintf(stderr, "footplate: %s\n", text_safe(a->arena, s->problems.v[i]));
    return s->problems.n ? EXIT_FAILED : EXIT_FINE;
}

const struct cmd cmd_config = {
    .name = "config",
    .summary = "show the effective settings and their source",
    .args = CMD_ARGS(
        {"COMMAND", ARG_COMMAND, .optional = true, .repeat = true,
         .help =
             "The command that would be run; footplate.yaml is searched for next to its script."}),
    .options = options,
    .help = CMD_HELP("Prints every setting that 'footplate run' would use with the same options "
                     "and command, and its source. The first source that sets a value wins: the "
                     "command line, the environment, footplate.yaml next to the script or in the "
                     "current folder, SageMaker's profilerconfig.json, the default."),
    .examples = CMD_EXAMPLES({"footplate config", "Show the effective settings in this folder."},
                             {"footplate config --detail-steps 5:2 -- python sub/train.py",
                              "Show the settings for a command without starting it."}),
    .exit_codes =
        "0 if all settings are valid, 1 if a setting is invalid, 2 if the command line is invalid.",
    .run = cmd_config_run,
};
