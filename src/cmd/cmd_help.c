/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_help.c - the list of commands; help texts and the manual page, made from their tables. See
 * cmd.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "config/settings.h"
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

const struct cmd_arg cmd_arg_run[] = {{ARG_ROW_RUN}, {0}};

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

/* What the usual exit statuses mean; commands with other ones have them in their record. */
static const char usage_exit_codes[] =
    "0 on success, 1 on failure, 2 if the command line is invalid.";

/* "footplate show [options] RUN" */
static const char *usage_line(const struct cmd *c, struct arena *a)
{
    const bool some = c->options && c->options[0].name;
    const char *t = arena_printf(a, "footplate %s%s", c->name, some ? " [options]" : "");
    for (const struct cmd_arg *x = c->args; x && x->name; x++)
        t = arena_printf(a, "%s%s %s%s%s%s", t, x->kind == ARG_COMMAND ? " [--]" : "",
                         x->optional ? "[" : "", x->name, x->repeat ? "..." : "",
                         x->optional ? "]" : "");
    return t;
}

static const char *duration_words(int64_t ns, struct arena *a)
{
    return ns % NS_PER_S == 0 ? arena_printf(a, "%" PRId64 " s", ns / NS_PER_S)
                              : arena_printf(a, "%" PRId64 " ms", ns / NS_PER_MS);
}

static const char *option_help(const struct opt *o, struct arena *a)
{
    const char *t = o->help;
    for (size_t i = 0; o->type == OPT_CHOICE && o->choices[i]; i++)
        t = arena_printf(a, "%s%s%s%s", t, i ? ", " : " One of: ", o->choices[i],
                         o->choices[i + 1] ? "" : ".");
    if (o->type == OPT_INT && (o->lo || o->hi))
        t = arena_printf(a, "%s From %" PRId64 " to %" PRId64 ".", t, o->lo, o->hi);
    if (o->type == OPT_DURATION && (o->lo || o->hi))
        t = arena_printf(a, "%s From %s to %s.", t, duration_words(o->lo, a),
                         duration_words(o->hi, a));
    return arena_printf(a, "%s%s%s%s%s", t, o->repeat ? " Can be repeated." : "",
                        o->otherwise ? " Default: " : "", o->otherwise ? o->otherwise : "",
                        o->otherwise ? "." : "");
}

typedef void usage_item(void *ctx, const char *name, const char *help);

/* The options that are shown: "-n, --points N", and the help sentence, then "One of: ...", "From
 * ... to ..." and the default, where there are any. */
static void usage_options(const struct opt *o, usage_item *put, void *ctx, struct arena *a)
{
    for (; o && o->name; o++) {
        const char *letter = o->letter ? arena_printf(a, "-%c, ", o->letter) : "";
        if (!o->hidden)
            put(ctx,
                arena_printf(a, o->bare ? "%s--%s[%s%s]" : "%s--%s%s%s", letter, o->name,
                             o->bare  ? "="
                             : o->arg ? " "
                                      : "",
                             o->arg ? o->arg : ""),
                option_help(o, a));
    }
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
static void usage_put_item(void *ctx, const char *name, const char *help)
{
    FILE *to = ctx;
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

void usage_command(FILE *to, const struct cmd *c)
{
    struct arena a = {0};
    fprintf(to, "footplate %s - %s\n\nusage: %s\n", c->name, c->summary, usage_line(c, &a));
    for (const char *const *p = c->help; p && *p; p++) {
        fputc('\n', to);
        put_wrapped(to, *p, 0, 0);
    }
    if (c->args && c->args->name)
        usage_put_title(to, "arguments");
    for (const struct cmd_arg *x = c->args; x && x->name; x++)
        usage_put_item(to, x->name, x->help);
    usage_put_title(to, "options");
    usage_options(c->options, usage_put_item, to, &a);
    usage_put_item(to, "-h, --help", "Show this help.");
    if (c->examples && c->examples->line)
        usage_put_title(to, "examples");
    for (const struct cmd_example *x = c->examples; x && x->line; x++) {
        fprintf(to, "%*s%s\n", INDENT, "", x->line);
        put_wrapped(to, x->what, 0, 3 * INDENT);
    }
    usage_put_title(to, "exit status");
    put_wrapped(to, c->exit_codes ? c->exit_codes : usage_exit_codes, 0, INDENT);
    arena_free(&a);
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

static int cmd_help_run(const struct cmd_args *args, struct err *e)
{
    const struct cmd *c = args->n_args ? cmd_find(args->arg[0]) : NULL;
    if (args->n_args && !c)
        return cmd_unknown(args->arg[0], e);
    if (c)
        usage_command(stdout, c);
    else
        usage_overview(stdout);
    return EXIT_FINE;
}

const struct cmd cmd_help = {
    .name = "help",
    .summary = "show help for a command",
    .args = CMD_ARGS({"COMMAND", ARG_WORD, .optional = true,
                      .help = "The command to show help for.", .choices = cmd_names}),
    .run = cmd_help_run,
};

/* ==== the manual page, as roff ==== */

/* Text in roff: a backslash and a dash are written out, and a dot at the start of a line is no
 * request. */
static void man_put_text(struct buf *out, const char *s)
{
    if (*s == '.' || *s == '\'')
        buf_printf(out, "\\&");
    for (; *s; s++) {
        if (*s == '\\')
            buf_printf(out, "\\e");
        else if (*s == '-')
            buf_printf(out, "\\-");
        else
            buf_u8(out, (uint8_t)*s);
    }
}

/* The text between two strings of roff. */
static void man_put(struct buf *out, const char *before, const char *text, const char *after)
{
    buf_printf(out, "%s", before);
    man_put_text(out, text);
    buf_printf(out, "%s", after);
}

/* A term in bold and its explanation, indented. */
static void man_put_item(void *out, const char *term, const char *help)
{
    man_put(out, ".TP\n\\fB", term, "\\fR\n");
    man_put(out, "", help, "\n");
}

static void man_put_command(struct buf *out, const struct cmd *c, struct arena *a)
{
    man_put(out, ".SS \"", usage_line(c, a), "\"\n");
    man_put(out, "", c->summary, ".\n");
    for (const char *const *p = c->help; p && *p; p++)
        man_put(out, ".PP\n", *p, "\n");
    for (const struct cmd_arg *x = c->args; x && x->name; x++)
        man_put_item(out, x->name, x->help);
    usage_options(c->options, man_put_item, out, a);
    if (c->examples && c->examples->line)
        buf_printf(out, ".PP\nExamples:\n");
    for (const struct cmd_example *x = c->examples; x && x->line; x++)
        man_put_item(out, x->line, x->what);
    if (c->exit_codes)
        man_put(out, ".PP\nExit status: ", c->exit_codes, "\n");
}

static const struct {
    const char *name, *what;
} variables[] = {
    {"FOOTPLATE_NVML", "Load this library instead of libnvidia-ml.so.1."},
    {"FOOTPLATE_DISABLE", "1: do not load hooks into the job."},
    {"SMPROFILER_CONFIG_PATH",
     "The path of SageMaker's profilerconfig.json, if not the standard one."},
    {"NO_COLOR", "If set, output is not colored."},
};

static void man_put_end(struct buf *out, struct arena *a)
{
    man_put(out, ".SH EXIT STATUS\n", usage_exit_codes, "\n.SH ENVIRONMENT\n");
    for (size_t i = 0; i < SETTING_N; i++) {
        const struct opt *o = &settings_table[i].option;
        man_put_item(out, settings_table[i].env,
                     arena_printf(a, "%s Default for --%s.",
                                  o->type == OPT_FLAG ? "1: same as" : "As", o->name));
    }
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        man_put_item(out, variables[i].name, variables[i].what);
}

static int cmd_man_run(const struct cmd_args *args, struct err *e)
{
    (void)e;
    struct buf out = {0};
    buf_printf(&out, ".TH FOOTPLATE 1 \"\" \"footplate " FP_VERSION
                     "\" \"User Commands\"\n.SH NAME\nfootplate \\- profile ML training runs and "
                     "find what slows them down\n.SH SYNOPSIS\n.B footplate\n.I "
                     "COMMAND\n[\\fIoptions\\fR] ...\n.SH COMMANDS\n");
    for (size_t i = 0; cmds[i]; i++)
        man_put_command(&out, cmds[i], args->arena);
    man_put_end(&out, args->arena);
    output_buf(&out);
    buf_free(&out);
    return EXIT_FINE;
}

const struct cmd cmd_man = {
    .name = "man",
    .summary = "print the manual page",
    .examples =
        CMD_EXAMPLES({"footplate man > footplate.1 && man ./footplate.1", "Read the manual page."}),
    .run = cmd_man_run,
};
