/* SPDX-License-Identifier: Apache-2.0 */
/* completion_bash.c - the completion script for bash. Needs no bash-completion package. */
#include "cmd/cmd.h"
#include "cmd/completion.h"

/* Names of runs are compared here, not handed to compgen -W, which would expand what is in them.
 * $cur and $dir are those of the caller. */
static const char runs_function[] =
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
static const char head[] =
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

static void put_commands(struct buf *out)
{
    buf_printf(out, "    if [[ -z $cmd ]]; then\n        COMPREPLY=($(compgen -W '");
    for (size_t i = 0; cmds[i]; i++)
        buf_printf(out, "%s ", cmds[i]->name);
    buf_printf(out, "--help --version' -- \"$cur\"))\n        return\n    fi\n");
}

/* case patterns are "show--dir": the command and the option in one word */
static void put_pattern(struct buf *out, const char *cmd, const struct opt *o)
{
    if (o->letter)
        buf_printf(out, "%s-%c|", cmd, o->letter);
    buf_printf(out, "%s--%s", cmd, o->name);
}

static void completion_bash_put_words(struct buf *out, const char *const *words)
{
    buf_printf(out, "COMPREPLY=($(compgen -W '");
    for (size_t i = 0; words[i]; i++)
        buf_printf(out, "%s%s", i ? " " : "", words[i]);
    buf_printf(out, "' -- \"$cur\"))");
}

static void completion_bash_put_value(struct buf *out, const struct opt *o)
{
    if (o->choices)
        completion_bash_put_words(out, o->choices);
    else if (o->type == OPT_FOLDER)
        buf_printf(out, "COMPREPLY=($(compgen -d -- \"$cur\"))");
    else if (o->type == OPT_FILE)
        buf_printf(out, "COMPREPLY=($(compgen -f -- \"$cur\"))");
    else
        buf_printf(out, ":");
}

static void completion_bash_put_values(struct buf *out)
{
    buf_printf(out, "    case \"$cmd$prev\" in\n");
    for (size_t i = 0; cmds[i]; i++)
        for (const struct opt *o = cmds[i]->options; o && o->name; o++) {
            if (o->type == OPT_FLAG)
                continue;
            buf_printf(out, "    ");
            put_pattern(out, cmds[i]->name, o);
            buf_printf(out, ") ");
            completion_bash_put_value(out, o);
            buf_printf(out, "; return;;\n");
        }
    buf_printf(out, "    esac\n");
}

static void put_takes_value(struct buf *out)
{
    buf_printf(out, "_footplate_takes_value()\n{\n    case \"$1\" in\n");
    for (size_t i = 0; cmds[i]; i++)
        for (const struct opt *o = cmds[i]->options; o && o->name; o++) {
            if (o->type == OPT_FLAG)
                continue;
            buf_printf(out, "    ");
            put_pattern(out, cmds[i]->name, o);
            buf_printf(out, ") return 0;;\n");
        }
    buf_printf(out, "    esac\n    return 1\n}\n\n");
}

static void put_flags(struct buf *out, const struct cmd *c)
{
    buf_printf(out, "    %s-*) COMPREPLY=($(compgen -W '", c->name);
    for (const struct opt *o = c->options; o && o->name; o++)
        if (!o->hidden)
            buf_printf(out, "--%s ", o->name);
    buf_printf(out, "--help' -- \"$cur\")); return;;\n");
}

static const char *const arg_scripts[] = {
    [ARG_RUN] = "_footplate_runs \"$1\"",
    [ARG_PATH] = "COMPREPLY=($(compgen -f -- \"$cur\"))",
    [ARG_COMMAND] = "COMPREPLY=($(compgen -c -- \"$cur\") $(compgen -f -- \"$cur\"))",
    [ARG_KEY_VALUE] = ":",
    [ARG_WORD] = ":",
};

static void completion_bash_put_args(struct buf *out, const struct cmd *c)
{
    const struct cmd_arg *a;
    for (size_t i = 0; (a = completion_arg(c, i)) != NULL; i++) {
        if (a->repeat)
            buf_printf(out, "    %s*) ", c->name);
        else
            buf_printf(out, "    %s%zu) ", c->name, i);
        if (a->choices)
            completion_bash_put_words(out, a->choices);
        else
            buf_printf(out, "%s", arg_scripts[a->kind]);
        buf_printf(out, ";;\n");
        if (a->repeat)
            break;
    }
}

static void bash_script(struct buf *out)
{
    put_takes_value(out);
    buf_printf(out, "%s%s", runs_function, head);
    put_commands(out);
    completion_bash_put_values(out);
    buf_printf(out, "    case \"$cmd$cur\" in\n");
    for (size_t i = 0; cmds[i]; i++)
        put_flags(out, cmds[i]);
    buf_printf(out, "    esac\n    case \"$cmd$n\" in\n");
    for (size_t i = 0; cmds[i]; i++)
        completion_bash_put_args(out, cmds[i]);
    buf_printf(out, "    esac\n}\ncomplete -F _footplate footplate\n");
}

const struct shell shell_bash = {"bash", bash_script};
