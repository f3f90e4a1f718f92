/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_man.c - the manual page, as roff, from the command tables. */
#include <stdio.h>

#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/usage.h"
#include "config/settings.h"

/* Text in roff: a backslash and a dash are written out, and a dot at the start of a line is no
 * request. */
static void cmd_man_put_text(struct buf *out, const char *s, size_t n)
{
    if (n > 0 && (*s == '.' || *s == '\''))
        buf_printf(out, "\\&");
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '\\')
            buf_printf(out, "\\e");
        else if (s[i] == '-')
            buf_printf(out, "\\-");
        else
            buf_u8(out, (uint8_t)s[i]);
    }
}

static void put_str(struct buf *out, const char *s)
{
    cmd_man_put_text(out, s, strlen(s));
}

static void cmd_man_put_line(struct buf *out, const char *s)
{
    put_str(out, s);
    buf_u8(out, '\n');
}

/* A term in bold and its explanation, indented. */
static void cmd_man_put_item(struct buf *out, const struct buf *term, const char *help, size_t n)
{
    buf_printf(out, ".TP\n\\fB");
    cmd_man_put_text(out, (const char *)term->p, term->len);
    buf_printf(out, "\\fR\n");
    cmd_man_put_text(out, help, n);
    buf_u8(out, '\n');
}

static void cmd_man_put_args(struct buf *out, const struct cmd_arg *a)
{
    for (; a && a->name; a++) {
        struct buf term = {0};
        buf_printf(&term, "%s", a->name);
        cmd_man_put_item(out, &term, a->help, strlen(a->help));
        buf_free(&term);
    }
}

static void cmd_man_put_options(struct buf *out, const struct opt *o)
{
    for (; o && o->name; o++) {
        if (o->hidden)
            continue;
        struct buf term = {0}, help = {0};
        usage_option(&term, o);
        usage_option_help(&help, o);
        cmd_man_put_item(out, &term, (const char *)help.p, help.len);
        buf_free(&term);
        buf_free(&help);
    }
}

static void cmd_man_put_examples(struct buf *out, const struct cmd_example *x)
{
    if (!x || !x->line)
        return;
    buf_printf(out, ".PP\nExamples:\n");
    for (; x->line; x++) {
        struct buf term = {0};
        buf_printf(&term, "%s", x->line);
        cmd_man_put_item(out, &term, x->what, strlen(x->what));
        buf_free(&term);
    }
}

static void cmd_man_put_command(struct buf *out, const struct cmd *c)
{
    struct buf line = {0};
    usage_line(&line, c);
    buf_printf(out, ".SS \"");
    cmd_man_put_text(out, (const char *)line.p, line.len);
    buf_printf(out, "\"\n");
    buf_free(&line);
    put_str(out, c->summary);
    buf_printf(out, ".\n");
    for (const char *const *p = c->help; p && *p; p++) {
        buf_printf(out, ".PP\n");
        cmd_man_put_line(out, *p);
    }
    cmd_man_put_args(out, c->args);
    cmd_man_put_options(out, c->options);
    cmd_man_put_examples(out, c->examples);
    if (c->exit_codes) {
        buf_printf(out, ".PP\nExit status: ");
        cmd_man_put_line(out, c->exit_codes);
    }
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

static void put_variable(struct buf *out, const char *name, const char *what)
{
    struct buf term = {0};
    buf_printf(&term, "%s", name);
    cmd_man_put_item(out, &term, what, strlen(what));
    buf_free(&term);
}

static void put_settings(struct buf *out)
{
    for (size_t i = 0; i < SETTING_N; i++) {
        const struct opt *o = &settings_table[i].option;
        char what[128];
        snprintf(what, sizeof what, "%s Default for --%s.",
                 o->type == OPT_FLAG ? "1: same as" : "As", o->name);
        put_variable(out, settings_table[i].env, what);
    }
}

static void cmd_man_put_end(struct buf *out)
{
    buf_printf(out, ".SH EXIT STATUS\n");
    cmd_man_put_line(out, usage_exit_codes);
    buf_printf(out, ".SH ENVIRONMENT\n");
    put_settings(out);
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        put_variable(out, variables[i].name, variables[i].what);
}

static int cmd_man_run(const struct cmd_args *args, struct err *e)
{
    (void)args;
    (void)e;
    struct buf out = {0};
    buf_printf(&out, ".TH FOOTPLATE 1 \"\" \"footplate " FP_VERSION
                     "\" \"User Commands\"\n.SH NAME\nfootplate \\- profile ML training runs and "
                     "find what slows them down\n.SH SYNOPSIS\n.B footplate\n.I "
                     "COMMAND\n[\\fIoptions\\fR] ...\n.SH COMMANDS\n");
    for (size_t i = 0; cmds[i]; i++)
        cmd_man_put_command(&out, cmds[i]);
    cmd_man_put_end(&out);
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
