/* SPDX-License-Identifier: Apache-2.0 */
/* completion_zsh.c - the completion script for zsh. */
#include "cmd/cmd.h"
#include "cmd/completion.h"

/* Text inside '...' where brackets and colons have a meaning of their own. */
static void completion_zsh_put_quoted(struct buf *out, const char *s)
{
    for (; *s; s++) {
        if (*s == '\'')
            buf_printf(out, "'\\''");
        else if (*s == '[' || *s == ']' || *s == ':' || *s == '\\')
            buf_printf(out, "\\%c", *s);
        else
            buf_u8(out, (uint8_t)*s);
    }
}

static void completion_zsh_put_words(struct buf *out, const char *const *words)
{
    buf_printf(out, "(");
    for (size_t i = 0; words[i]; i++)
        buf_printf(out, "%s%s", i ? " " : "", words[i]);
    buf_printf(out, ")");
}

/* "[help]:ARG:action'" */
static void put_tail(struct buf *out, const struct opt *o)
{
    buf_printf(out, "[");
    completion_zsh_put_quoted(out, o->help);
    buf_printf(out, "]");
    if (o->type != OPT_FLAG) {
        buf_printf(out, ":%s:", o->arg);
        if (o->choices)
            completion_zsh_put_words(out, o->choices);
        else if (o->type == OPT_FOLDER)
            buf_printf(out, "_files -/");
        else if (o->type == OPT_FILE)
            buf_printf(out, "_files");
    }
    buf_printf(out, "' \\\n");
}

static void completion_zsh_put_option(struct buf *out, const struct opt *o)
{
    const char *many = o->repeat ? "*" : "";
    if (o->letter) {
        buf_printf(out, "            '%s-%c", many, o->letter);
        put_tail(out, o);
    }
    buf_printf(out, "            '%s--%s%s", many, o->name, o->type == OPT_FLAG ? "" : "=");
    put_tail(out, o);
}

static const char *const arg_actions[] = {
    [ARG_RUN] = "_footplate_runs",
    [ARG_PATH] = "_files",
    [ARG_COMMAND] = "_command_names -e' '*::ARG:_normal",
    [ARG_KEY_VALUE] = "",
    [ARG_WORD] = "",
};

static void completion_zsh_put_arg(struct buf *out, const struct cmd_arg *a)
{
    /* A command to run takes everything behind it, options included. */
    const char *start = a->kind == ARG_COMMAND ? "(-)1" : a->repeat ? "*" : "";
    buf_printf(out, "            '%s:%s:", start, a->name);
    if (a->choices)
        completion_zsh_put_words(out, a->choices);
    else
        buf_printf(out, "%s", arg_actions[a->kind]);
    buf_printf(out, "' \\\n");
}

static void completion_zsh_put_command(struct buf *out, const struct cmd *c)
{
    buf_printf(out, "    %s)\n        _arguments \\\n", c->name);
    for (const struct opt *o = c->options; o && o->name; o++)
        if (!o->hidden)
            completion_zsh_put_option(out, o);
    for (const struct cmd_arg *a = c->args; a && a->name; a++)
        completion_zsh_put_arg(out, a);
    buf_printf(out, "            '(-)--help[Show help.]'\n        ;;\n");
}

static void zsh_script(struct buf *out)
{
    buf_printf(out, "#compdef footplate\n"
                    "_footplate_runs()\n{\n"
                    "    local -a runs\n"
                    "    runs=(last ${(f)\"$(footplate ls --names 2>/dev/null)\"})\n"
                    "    compadd -a runs\n"
                    "    _files -/\n}\n\n"
                    "_footplate()\n{\n    local -a commands\n    commands=(\n");
    for (size_t i = 0; cmds[i]; i++) {
        buf_printf(out, "        '%s:", cmds[i]->name);
        completion_zsh_put_quoted(out, cmds[i]->summary);
        buf_printf(out, "'\n");
    }
    buf_printf(out, "    )\n"
                    "    if (( CURRENT == 2 )); then\n"
                    "        _describe command commands\n"
                    "        return\n    fi\n"
                    "    local cmd=$words[2]\n"
                    "    shift words\n    (( CURRENT-- ))\n"
                    "    case $cmd in\n");
    for (size_t i = 0; cmds[i]; i++)
        completion_zsh_put_command(out, cmds[i]);
    buf_printf(out, "    esac\n}\n\n"
                    "if [[ $funcstack[1] == _footplate ]]; then\n    _footplate \"$@\"\n"
                    "else\n    compdef _footplate footplate\nfi\n");
}

const struct shell shell_zsh = {"zsh", zsh_script};
