/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_man.c - the manual page, as roff, from the command tables. */

#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/usage.h"
#include "config/settings.h"

/* Text in roff: a backslash and a dash are written out, and a dot at the start of a line is no
 * request. */
static void cmd_man_put_text(struct buf *out, const char *s)
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

/* The text between two pieces of roff. */
static void cmd_man_put(struct buf *out, const char *before, const char *text, const char *after)
{
    buf_printf(out, "%s", before);
    cmd_man_put_text(out, text);
    buf_printf(out, "%s", after);
}

/* A term in bold and its explanation, indented. */
static void cmd_man_put_item(void *out, const char *term, const char *help)
{
    cmd_man_put(out, ".TP\n\\fB", term, "\\fR\n");
    cmd_man_put(out, "", help, "\n");
}

static void cmd_man_put_command(struct buf *out, const struct cmd *c, struct arena *a)
{
    cmd_man_put(out, ".SS \"", usage_line(c, a), "\"\n");
    cmd_man_put(out, "", c->summary, ".\n");
    for (const char *const *p = c->help; p && *p; p++)
        cmd_man_put(out, ".PP\n", *p, "\n");
    for (const struct cmd_arg *x = c->args; x && x->name; x++)
        cmd_man_put_item(out, x->name, x->help);
    usage_options(c->options, cmd_man_put_item, out, a);
    if (c->examples && c->examples->line)
        buf_printf(out, ".PP\nExamples:\n");
    for (const struct cmd_example *x = c->examples; x && x->line; x++)
        cmd_man_put_item(out, x->line, x->what);
    if (c->exit_codes)
        cmd_man_put(out, ".PP\nExit status: ", c->exit_codes, "\n");
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

static void cmd_man_put_end(struct buf *out, struct arena *a)
{
    cmd_man_put(out, ".SH EXIT STATUS\n", usage_exit_codes, "\n.SH ENVIRONMENT\n");
    for (size_t i = 0; i < SETTING_N; i++) {
        const struct opt *o = &settings_table[i].option;
        cmd_man_put_item(out, settings_table[i].env,
                         arena_printf(a, "%s Default for --%s.",
                                      o->type == OPT_FLAG ? "1: same as" : "As", o->name));
    }
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        cmd_man_put_item(out, variables[i].name, variables[i].what);
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
        cmd_man_put_command(&out, cmds[i], args->arena);
    cmd_man_put_end(&out, args->arena);
    output_buf(&out);
    buf_free(&out);
    return EXIT_FINE;
}

static const struct cmd_example examples[] = {
    {"footplate man > footplate.1 && man ./footplate.1", "Read the manual page."},
    {0},
};

const struct cmd cmd_man = {
    .name = "man",
    .summary = "print the manual page",
    .examples = examples,
    .run = cmd_man_run,
};
