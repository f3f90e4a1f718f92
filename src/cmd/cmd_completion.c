/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_completion.c - prints completion scripts for bash, zsh and fish, made from the command
 * tables. Runs are completed by calling `footplate ls --names`. */
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/output.h"

/* The i-th positional argument of the command (a repeated one has no end); NULL: none. */
static const struct cmd_arg *completion_arg(const struct cmd *c, size_t i)
{
    const struct cmd_arg *a = c->args;
    if (!a || !a->name)
        return NULL;
    for (; i > 0 && a[1].name; i--)
        a++;
    return i == 0 || a->repeat ? a : NULL;
}

/* How a shell completes: words, a folder, and each kind of argument. */
struct shell {
    const char *before, *after; /* around words */
    const char *folder;
    const char *args[ARG_WORD + 1];
};

static void completion_put(struct buf *out, const struct shell *sh, const char *const *choices,
                           const char *otherwise)
{
    buf_printf(out, "%s", choices ? sh->before : otherwise);
    for (size_t i = 0; choices && choices[i]; i++)
        buf_printf(out, "%s%s", i ? " " : "", choices[i]);
    buf_printf(out, "%s", choices ? sh->after : "");
}

static void completion_put_option(struct buf *out, const struct shell *sh, const struct opt *o)
{
    completion_put(out, sh, o->choices,
                   o->type == OPT_FOLDER ? sh->folder
                                         : sh->args[o->type == OPT_FILE ? ARG_PATH : ARG_WORD]);
}

/* ---- bash: needs no bash-completion package ---- */

/* Names of runs are compared here, not handed to compgen -W, which would expand what is in them.
 * $cur and $dir are those of the caller. */
static const char bash_runs[] =
    "_footplate_runs()\n"
    "{\n"
    "    local name\n"
    "    while IFS= read -r name; do\n"
    "        [[ $name == \"$cur\"* ]] && COMPREPLY+=(\"$name\")\n"
    "    done < <(echo last; \"${1/#\\~/$HOME}\" ls --names \"${dir[@]}\" 2>/dev/null)\n"
    "    while IFS= read -r name; do\n"
    "        COMPREPLY+=(\"$name\")\n"
    "    done < <(compgen -d -- \"$cur\")\n"
    "}\n\n";

/* Sets cmd, n (positional words before this one), prev and cur. bash has split "--name=value" at
 * the equals sign; that is put right first. */
static const char bash_head[] =
    "# footplate completion for bash: source <(footplate completion bash)\n"
    "_footplate()\n"
    "{\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
    "    local cmd='' word='' value='' n=0 i dir=()\n"
    "    COMPREPLY=()\n"
    "    if [[ $cur == '=' ]]; then\n"
    "        cur=''\n"
    "    elif [[ $prev == '=' ]]; then\n"
    "        prev=${COMP_WORDS[COMP_CWORD-2]}\n"
    "    fi\n"
    "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
    "        word=${COMP_WORDS[i]}\n"
    "        [[ $word == '=' ]] && continue\n"
    "        if [[ -n $value ]]; then\n"
    "            [[ $value == --dir ]] && dir=(--dir \"$word\")\n"
    "            value=''\n"
    "        elif [[ -z $cmd ]]; then\n"
    "            [[ $word != -* ]] && cmd=$word\n"
    "        elif _footplate_takes_value \"$cmd$word\"; then\n"
    "            value=$word\n"
    "        elif [[ $word != -* ]]; then\n"
    "            n=$((n + 1))\n"
    "        fi\n"
    "    done\n";

static const struct shell bash = {
    .before = "COMPREPLY=($(compgen -W '",
    .after = "' -- \"$cur\"))",
    .folder = "COMPREPLY=($(compgen -d -- \"$cur\"))",
    .args = {[ARG_RUN] = "_footplate_runs \"$1\"",
             [ARG_PATH] = "COMPREPLY=($(compgen -f -- \"$cur\"))",
             [ARG_COMMAND] = "COMPREPLY=($(compgen -c -- \"$cur\") $(compgen -f -- \"$cur\"))",
             [ARG_WORD] = ":"},
};

static void bash_put_value(struct buf *out, const struct opt *o)
{
    completion_put_option(out, &bash, o);
    buf_printf(out, "; return;;\n");
}

/* What to do for each option with a value. case patterns are "show--dir": the command and the
 * option in one word. */
static void bash_put_options(struct buf *out, void (*put)(struct buf *out, const struct opt *o))
{
    for (size_t i = 0; cmds[i]; i++)
        for (const struct opt *o = cmds[i]->options; o && o->name; o++) {
            if (o->type == OPT_FLAG)
                continue;
            buf_printf(out, "    ");
            if (o->letter)
                buf_printf(out, "%s-%c|", cmds[i]->name, o->letter);
            buf_printf(out, "%s--%s) ", cmds[i]->name, o->name);
            put(out, o);
        }
}

static void bash_put_yes(struct buf *out, const struct opt *o)
{
    (void)o;
    buf_printf(out, "return 0;;\n");
}

static void bash_put_flags(struct buf *out, const struct cmd *c)
{
    buf_printf(out, "    %s-*) COMPREPLY=($(compgen -W '", c->name);
    for (const struct opt *o = c->options; o && o->name; o++)
        if (!o->hidden)
            buf_printf(out, "--%s ", o->name);
    buf_printf(out, "--help' -- \"$cur\")); return;;\n");
}

static void bash_put_args(struct buf *out, const struct cmd *c)
{
    const struct cmd_arg *a;
    for (size_t i = 0; (a = completion_arg(c, i)) != NULL; i++) {
        if (a->repeat)
            buf_printf(out, "    %s*) ", c->name);
        else
            buf_printf(out, "    %s%zu) ", c->name, i);
        completion_put(out, &bash, a->choices, bash.args[a->kind]);
        buf_printf(out, ";;\n");
        if (a->repeat)
            break;
    }
}

static void bash_script(struct buf *out)
{
    buf_printf(out, "_footplate_takes_value()\n{\n    case \"$1\" in\n");
    bash_put_options(out, bash_put_yes);
    buf_printf(out, "    esac\n    return 1\n}\n\n%s%s", bash_runs, bash_head);
    buf_printf(out, "    if [[ -z $cmd ]]; then\n        COMPREPLY=($(compgen -W '");
    for (size_t i = 0; cmds[i]; i++)
        buf_printf(out, "%s ", cmds[i]->name);
    buf_printf(out, "--help --version' -- \"$cur\"))\n        return\n    fi\n"
                    "    case \"$cmd$prev\" in\n");
    bash_put_options(out, bash_put_value);
    buf_printf(out, "    esac\n    case \"$cmd$cur\" in\n");
    for (size_t i = 0; cmds[i]; i++)
        bash_put_flags(out, cmds[i]);
    buf_printf(out, "    esac\n    case \"$cmd$n\" in\n");
    for (size_t i = 0; cmds[i]; i++)
        bash_put_args(out, cmds[i]);
    buf_printf(out, "    esac\n}\ncomplete -F _footplate footplate\n");
}

/* ---- zsh ---- */

static const struct shell zsh = {
    .before = "(",
    .after = ")",
    .folder = "_files -/",
    .args = {[ARG_RUN] = "_footplate_runs",
             [ARG_PATH] = "_files",
             [ARG_COMMAND] = "_command_names -e' '*::ARG:_normal",
             [ARG_WORD] = ""},
};

/* Text inside '...' where brackets and colons have a special meaning. */
static void zsh_put_quoted(struct buf *out, const char *s)
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

/* "[help]:ARG:action'" */
static void zsh_put_tail(struct buf *out, const struct opt *o)
{
    buf_printf(out, "[");
    zsh_put_quoted(out, o->help);
    buf_printf(out, "]");
    if (o->type != OPT_FLAG) {
        buf_printf(out, ":%s:", o->arg);
        completion_put_option(out, &zsh, o);
    }
    buf_printf(out, "' \\\n");
}

static void zsh_put_option(struct buf *out, const struct opt *o)
{
    const char *many = o->repeat ? "*" : "";
    if (o->letter) {
        buf_printf(out, "            '%s-%c", many, o->letter);
        zsh_put_tail(out, o);
    }
    buf_printf(out, "            '%s--%s%s", many, o->name, o->type == OPT_FLAG ? "" : "=");
    zsh_put_tail(out, o);
}

static void zsh_put_arg(struct buf *out, const struct cmd_arg *a)
{
    /* A command to run takes everything after it, options included. */
    const char *start = a->kind == ARG_COMMAND ? "(-)1" : a->repeat ? "*" : "";
    buf_printf(out, "            '%s:%s:", start, a->name);
    completion_put(out, &zsh, a->choices, zsh.args[a->kind]);
    buf_printf(out, "' \\\n");
}

static void zsh_put_command(struct buf *out, const struct cmd *c)
{
    buf_printf(out, "    %s)\n        _arguments \\\n", c->name);
    for (const struct opt *o = c->options; o && o->name; o++)
        if (!o->hidden)
            zsh_put_option(out, o);
    for (const struct cmd_arg *a = c->args; a && a->name; a++)
        zsh_put_arg(out, a);
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
        zsh_put_quoted(out, cmds[i]->summary);
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
        zsh_put_command(out, cmds[i]);
    buf_printf(out, "    esac\n}\n\n"
                    "if [[ $funcstack[1] == _footplate ]]; then\n    _footplate \"$@\"\n"
                    "else\n    compdef _footplate footplate\nfi\n");
}

/* ---- fish ---- */

static const struct shell fish = {
    .before = " -a '",
    .after = "'",
    .folder = " -a '(__fish_complete_directories)'",
    .args = {[ARG_RUN] = " -a 'last (footplate ls --names 2>/dev/null)'",
             [ARG_PATH] = " -F",
             [ARG_COMMAND] = " -a '(__fish_complete_subcommand)'",
             [ARG_WORD] = ""},
};

/* Ends the line. */
static void fish_put_quoted(struct buf *out, const char *s)
{
    buf_u8(out, '\'');
    for (; *s; s++) {
        if (*s == '\'' || *s == '\\')
            buf_u8(out, '\\');
        buf_u8(out, (uint8_t)*s);
    }
    buf_printf(out, "'\n");
}

static void fish_put_start(struct buf *out, const struct cmd *c)
{
    buf_printf(out, "complete -c footplate -n '__fish_seen_subcommand_from %s'", c->name);
}

static void fish_put_option(struct buf *out, const struct cmd *c, const struct opt *o)
{
    fish_put_start(out, c);
    if (o->letter)
        buf_printf(out, " -s %c", o->letter);
    buf_printf(out, " -l %s", o->name);
    if (o->type != OPT_FLAG)
        buf_printf(out, o->choices ? " -x" : " -r"); /* -x: no file names among the choices */
    completion_put_option(out, &fish, o);
    buf_printf(out, " -d ");
    fish_put_quoted(out, o->help);
}

static void fish_put_arg(struct buf *out, const struct cmd *c, const struct cmd_arg *a)
{
    if (!a->choices && !*fish.args[a->kind])
        return;
    fish_put_start(out, c);
    completion_put(out, &fish, a->choices, fish.args[a->kind]);
    buf_u8(out, '\n');
}

static void fish_put_command(struct buf *out, const struct cmd *c)
{
    buf_printf(out, "complete -c footplate -n __fish_use_subcommand -a %s -d ", c->name);
    fish_put_quoted(out, c->summary);
    for (const struct opt *o = c->options; o && o->name; o++)
        if (!o->hidden)
            fish_put_option(out, c, o);
    for (const struct cmd_arg *a = c->args; a && a->name; a++)
        fish_put_arg(out, c, a);
}

static void fish_script(struct buf *out)
{
    buf_printf(out, "complete -c footplate -f\n"
                    "complete -c footplate -s h -l help -d 'Show help.'\n"
                    "complete -c footplate -n __fish_use_subcommand -l version "
                    "-d 'Show the version.'\n");
    for (size_t i = 0; cmds[i]; i++)
        fish_put_command(out, cmds[i]);
}

/* ---- the command ---- */

static const char *const shell_names[] = {"bash", "zsh", "fish", NULL};

static int cmd_completion_run(const struct cmd_args *args, struct err *e)
{
    static void (*const scripts[])(struct buf * out) = {bash_script, zsh_script, fish_script};
    struct buf out = {0};
    size_t i = 0;
    while (shell_names[i] && strcmp(shell_names[i], args->arg[0]) != 0)
        i++;
    if (!shell_names[i])
        return err_set(e, ERR_USAGE, "completion: '%.100s' is not one of: bash, zsh, fish",
                       args->arg[0]);
    scripts[i](&out);
    output_buf(&out);
    buf_free(&out);
    return EXIT_FINE;
}

const struct cmd cmd_completion = {
    .name = "completion",
    .summary = "print a shell completion script",
    .args = CMD_ARGS({"SHELL", ARG_WORD, .help = "bash, zsh or fish.", .choices = shell_names}),
    .examples = CMD_EXAMPLES({"source <(footplate completion bash)",
                              "Enable completion in this shell; add the line to ~/.bashrc to keep "
                              "it."},
                             {"footplate completion zsh > ~/.zfunc/_footplate",
                              "Install for zsh, with ~/.zfunc in fpath."},
                             {"footplate completion fish > "
                              "~/.config/fish/completions/footplate.fish",
                              "Install for fish."}),
    .run = cmd_completion_run,
};
