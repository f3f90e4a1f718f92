/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_help.c - the list of commands, and help texts made from their tables. See cmd.h and usage.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/usage.h"
#include "tables/runview.h"

#define CMD(id) &cmd_##id,
const struct cmd *const cmds[] = {
#include "cmd/cmds.def"
    NULL,
};
#undef CMD

#define CMD(id) #id,
const char *const cmd_names[] = {
#include "cmd/cmds.def"
    NULL,
};
#undef CMD

const struct cmd *cmd_find(const char *name)
{
    for (size_t i = 0; cmds[i]; i++)
        if (strcmp(cmds[i]->name, name) == 0)
            return cmds[i];
    return NULL;
}

int cmd_unknown(const char *name, struct err *e)
{
    struct nearest n = nearest_to(name);
    for (size_t i = 0; cmds[i]; i++)
        nearest_offer(&n, cmds[i]->name);
    if (n.best)
        return err_set(e, ERR_USAGE, "unknown command '%.200s' (did you mean '%s'?)", name, n.best);
    return err_set(e, ERR_USAGE, "unknown command '%.200s'; run 'footplate help' for a list", name);
}

int cmd_open_run(const struct cmd_args *args, const char *ref, struct run **out, struct err *e)
{
    TRY(runview_open(out, args->dir, ref, e));
    *ARENA_ADD(args->arena, args->runs->v, args->runs->n, args->runs->cap) = *out;
    return 0;
}

/* ---- the parts of a help text ---- */

enum { INDENT = 2, HELP_COLUMN = 26, WIDTH_LEAST = 50, WIDTH_MOST = 100 };

const char *const usage_exit_codes =
    "0 on success, 1 on failure, 2 if the command line is invalid.";

void usage_line(struct buf *out, const struct cmd *c)
{
    buf_printf(out, "footplate %s", c->name);
    if (c->options && c->options[0].name)
        buf_printf(out, " [options]");
    for (const struct cmd_arg *a = c->args; a && a->name; a++) {
        const char *dots = a->repeat ? "..." : "";
        if (a->kind == ARG_COMMAND)
            buf_printf(out, " [--]");
        buf_printf(out, a->optional ? " [%s%s]" : " %s%s", a->name, dots);
    }
}

void usage_option(struct buf *out, const struct opt *o)
{
    if (o->letter)
        buf_printf(out, "-%c, ", o->letter);
    buf_printf(out, "--%s", o->name);
    if (o->arg)
        buf_printf(out, " %s", o->arg);
}

static void put_duration(struct buf *out, int64_t ns)
{
    if (ns % NS_PER_S == 0)
        buf_printf(out, "%" PRId64 " s", ns / NS_PER_S);
    else
        buf_printf(out, "%" PRId64 " ms", ns / NS_PER_MS);
}

static void put_bounds(struct buf *out, const struct opt *o)
{
    if (o->lo == 0 && o->hi == 0)
        return;
    if (o->type == OPT_INT)
        buf_printf(out, " From %" PRId64 " to %" PRId64 ".", o->lo, o->hi);
    if (o->type != OPT_DURATION)
        return;
    buf_printf(out, " From ");
    put_duration(out, o->lo);
    buf_printf(out, " to ");
    put_duration(out, o->hi);
    buf_printf(out, ".");
}

void usage_option_help(struct buf *out, const struct opt *o)
{
    buf_printf(out, "%s", o->help);
    for (size_t i = 0; o->type == OPT_CHOICE && o->choices[i]; i++)
        buf_printf(out, "%s%s%s", i ? ", " : " One of: ", o->choices[i],
                   o->choices[i + 1] ? "" : ".");
    put_bounds(out, o);
    if (o->repeat)
        buf_printf(out, " Can be repeated.");
    if (o->otherwise)
        buf_printf(out, " Default: %s.", o->otherwise);
}

/* ---- text on a terminal ---- */

static size_t help_width(FILE *to)
{
    const size_t w = term_width(to);
    if (w == 0 || w > WIDTH_MOST)
        return WIDTH_MOST;
    return MAX_OF(w, (size_t)WIDTH_LEAST);
}

/* Words from `column` on, broken before the right edge; ends with a new line. `at` is where the
 * cursor is now. */
static void put_wrapped(FILE *to, const char *text, size_t at, size_t column)
{
    const size_t width = help_width(to);
    bool first = true;
    while (*text) {
        const size_t len = strcspn(text, " ");
        if (!first && at + 1 + len > width) {
            fputc('\n', to);
            at = 0;
            first = true;
        }
        if (first)
            fprintf(to, "%*s", at < column ? (int)(column - at) : 0, "");
        else
            fputc(' ', to);
        at = first ? MAX_OF(at, column) + len : at + 1 + len;
        fwrite(text, 1, len, to);
        first = false;
        text += len + strspn(text + len, " ");
    }
    fputc('\n', to);
}

/* A name and what it means, the meanings under each other. */
static void usage_put_item(FILE *to, const char *name, const char *help)
{
    size_t at = INDENT + strlen(name);
    fprintf(to, "%*s%s", INDENT, "", name);
    if (at + 2 > HELP_COLUMN) {
        fputc('\n', to);
        at = 0;
    }
    put_wrapped(to, help, at, HELP_COLUMN);
}

static void usage_put_title(FILE *to, const char *title)
{
    fprintf(to, term_color(to) ? "\n\033[1m%s:\033[0m\n" : "\n%s:\n", title);
}

static void usage_put_options(FILE *to, const struct opt *o)
{
    usage_put_title(to, "options");
    for (; o && o->name; o++) {
        if (o->hidden)
            continue;
        struct buf name = {0}, help = {0};
        usage_option(&name, o);
        usage_option_help(&help, o);
        buf_u8(&name, 0);
        buf_u8(&help, 0);
        usage_put_item(to, (const char *)name.p, (const char *)help.p);
        buf_free(&name);
        buf_free(&help);
    }
    usage_put_item(to, "-h, --help", "Show this help.");
}

static void usage_put_args(FILE *to, const struct cmd_arg *a)
{
    if (!a || !a->name)
        return;
    usage_put_title(to, "arguments");
    for (; a->name; a++)
        usage_put_item(to, a->name, a->help);
}

static void usage_put_examples(FILE *to, const struct cmd_example *x)
{
    if (!x || !x->line)
        return;
    usage_put_title(to, "examples");
    for (; x->line; x++) {
        fprintf(to, "%*s%s\n", INDENT, "", x->line);
        put_wrapped(to, x->what, 0, 3 * INDENT);
    }
}

void usage_command(FILE *to, const struct cmd *c)
{
    struct buf line = {0};
    usage_line(&line, c);
    fprintf(to, "footplate %s - %s\n\nusage: %.*s\n", c->name, c->summary, (int)line.len,
            (const char *)line.p);
    buf_free(&line);
    for (const char *const *p = c->help; p && *p; p++) {
        fputc('\n', to);
        put_wrapped(to, *p, 0, 0);
    }
    usage_put_args(to, c->args);
    usage_put_options(to, c->options);
    usage_put_examples(to, c->examples);
    usage_put_title(to, "exit status");
    put_wrapped(to, c->exit_codes ? c->exit_codes : usage_exit_codes, 0, INDENT);
}

void usage_overview(FILE *to)
{
    fputs("footplate - profile ML training runs and find what slows them down\n\nusage: footplate "
          "COMMAND [options] ...\n",
          to);
    usage_put_title(to, "commands");
    for (size_t i = 0; cmds[i]; i++)
        usage_put_item(to, cmds[i]->name, cmds[i]->summary);
    usage_put_title(to, "options");
    usage_put_item(to, "-h, --help", "Show this help, or a command's help after its name.");
    usage_put_item(to, "--version", "Show the version.");
    usage_put_title(to, "getting started");
    fputs("  footplate run -- python train.py\n  footplate show last\n", to);
}

/* ---- the command ---- */

static const struct cmd_arg positional[] = {
    {"COMMAND", ARG_WORD, .optional = true, .help = "The command to show help for.",
     .choices = cmd_names},
    {0},
};

static int cmd_help_run(const struct cmd_args *args, struct err *e)
{
    if (args->n_args == 0) {
        usage_overview(stdout);
        return EXIT_FINE;
    }
    const struct cmd *c = cmd_find(args->arg[0]);
    if (c) {
        usage_command(stdout, c);
        return EXIT_FINE;
    }
    return cmd_unknown(args->arg[0], e);
}

const struct cmd cmd_help = {
    .name = "help",
    .summary = "show help for a command",
    .args = positional,
    .run = cmd_help_run,
};
