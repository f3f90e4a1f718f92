/* SPDX-License-Identifier: Apache-2.0 */
/* completion_fish.c - the completion script for fish. */
#include "cmd/cmd.h"
#include "cmd/completion.h"

static void completion_fish_put_quoted(struct buf *out, const char *s)
{
    buf_u8(out, '\'');
    for (; *s; s++) {
        if (*s == '\'' || *s == '\\')
            buf_u8(out, '\\');
        buf_u8(out, (uint8_t)*s);
    }
    buf_u8(out, '\'');
}

static void completion_fish_put_words(struct buf *out, const char *const *words)
{
    buf_printf(out, " -a '");
    for (size_t i = 0; words[i]; i++)
        buf_printf(out, "%s%s", i ? " " : "", words[i]);
    buf_printf(out, "'");
}

static void put_start(struct buf *out, const struct cmd *c)
{
    buf_printf(out, "complete -c footplate -n '__fish_seen_subcommand_from %s'", c->name);
}

static void completion_fish_put_option(struct buf *out, const struct cmd *c, const struct opt *o)
{
    put_start(out, c);
    if (o->letter)
        buf_printf(out, " -s %c", o->letter);
    buf_printf(out, " -l %s", o->name);
    if (o->type != OPT_FLAG)
        buf_printf(out, o->choices ? " -x" : " -r"); /* -x: no file names among the choices */
    if (o->choices)
        completion_fish_put_words(out, o->choices);
    else if (o->type == OPT_FOLDER)
        buf_printf(out, " -a '(__fish_complete_directories)'");
    else if (o->type == OPT_FILE)
        buf_printf(out, " -F");
    buf_printf(out, " -d ");
    completion_fish_put_quoted(out, o->help);
    buf_u8(out, '\n');
}

static const char *const arg_actions[] = {
    [ARG_RUN] = " -a 'last (footplate ls --names 2>/dev/null)'",
    [ARG_PATH] = " -F",
    [ARG_COMMAND] = " -a '(__fish_complete_subcommand)'",
    [ARG_KEY_VALUE] = "",
    [ARG_WORD] = "",
};

static void completion_fish_put_arg(struct buf *out, const struct cmd *c, const struct cmd_arg *a)
{
    if (!a->choices && !*arg_actions[a->kind])
        return;
    put_start(out, c);
    if (a->choices)
        completion_fish_put_words(out, a->choices);
    else
        buf_printf(out, "%s", arg_actions[a->kind]);
    buf_u8(out, '\n');
}

static void completion_fish_put_command(struct buf *out, const struct cmd *c)
{
    buf_printf(out, "complete -c footplate -n __fish_use_subcommand -a %s -d ", c->name);
    completion_fish_put_quoted(out, c->summary);
    buf_u8(out, '\n');
    for (const struct opt *o = c->options; o && o->name; o++)
        if (!o->hidden)
            completion_fish_put_option(out, c, o);
    for (const struct cmd_arg *a = c->args; a && a->name; a++)
        completion_fish_put_arg(out, c, a);
}

static void fish_script(struct buf *out)
{
    buf_printf(out, "complete -c footplate -f\n"
                    "complete -c footplate -s h -l help -d 'Show help.'\n"
                    "complete -c footplate -n __fish_use_subcommand -l version "
                    "-d 'Show the version.'\n");
    for (size_t i = 0; cmds[i]; i++)
        completion_fish_put_command(out, cmds[i]);
}

const struct shell shell_fish = {"fish", fish_script};
