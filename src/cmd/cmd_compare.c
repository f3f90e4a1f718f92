/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_compare.c - two runs, or two groups of runs, side by side; a gate for CI. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/progress.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/window.h"
#include "compare/compare.h"
#include "config/settings.h"
#include "cost/machines.h"
#include "query/run.h"
#include "report/report.h"

enum {
    O_A,
    O_B,
    O_JSON,
    O_FORMAT,
    O_HTML,
    O_FAIL_ON,
    O_SINGLE_RUN,
    O_PRICE,
    O_STEPS,
    O_CONFIDENCE,
};

enum cmd_compare_format { FORMAT_TEXT, FORMAT_JSON, FORMAT_MARKDOWN };

static const char *const formats[] = {"text", "json", "markdown", NULL};

/* What --fail-on looks for. */
enum gate { GATE_SLOWER, GATE_FASTER, GATE_COST, GATES };

static const char *const gates[] = {
    [GATE_SLOWER] = "slower", [GATE_FASTER] = "faster", [GATE_COST] = "cost", NULL};

static const struct opt options[] = {
    [O_A] = {"a", 0, "RUN", OPT_STRING, .repeat = true,
             .help = "A run for group A (repeatable); replaces the positional A and B."},
    [O_B] = {"b", 0, "RUN", OPT_STRING, .repeat = true, .help = "A run for group B (repeatable)."},
    [O_JSON] = {OPT_ROW_JSON},
    [O_FORMAT] = {"format", 0, "FORMAT", OPT_CHOICE, .choices = formats,
                  .help = "Output format; use markdown for pull requests."},
    [O_HTML] = {"html", 0, "FILE", OPT_FILE, .help = "Also write a self-contained HTML file."},
    [O_FAIL_ON] = {"fail-on", 0, "WHAT:PERCENT", OPT_STRING, .repeat = true, .choices = gates,
                   .help = "Exit with status 3 if B is significantly slower or faster than A, or "
                           "costs more, by more than this: slower:2%, faster:0%, cost:10%. "
                           "Requires three runs per group, or --single-run."},
    [O_SINGLE_RUN] =
        {"single-run", 0, NULL, OPT_FLAG,
         .help =
             "Allow --fail-on with fewer than three runs per group. It then fails only if the "
             "difference exceeds the known or assumed variation between runs of the same code."},
    [O_PRICE] = {"price", 0, "PER_HOUR", OPT_STRING, .repeat = true,
                 .help = "Override the hourly machine price: once for both groups, or twice, for A "
                         "and then B."},
    [O_STEPS] =
        {"steps", 0, "A:B", OPT_STRING,
         .help =
             "Compare only training steps A to B, inclusive. No warm-up is removed in that case."},
    [O_CONFIDENCE] = {"confidence", 0, "PERCENT", OPT_STRING, .otherwise = "95%",
                      .help = "Confidence level, from 50% to 99.9%."},
    {OPT_ROW_DIR},
    {0},
};

/* ---- options ---- */

struct failing {
    enum gate gate;
    double share;
};

struct cmd_compare_request {
    struct compare_ask ask;
    struct run *runs[COMPARE_SIDES][COMPARE_RUNS_MOST];
    size_t n_runs[COMPARE_SIDES];
    struct failing *fail;
    size_t n_fail;
    enum cmd_compare_format format;
    struct machines table;
};

/* "2%", "2": hundredths. */
static int percent_parse(const char *what, const char *text, double *share, struct err *e)
{
    char *end;
    const double v = strtod(text, &end);
    const bool sign = *end == '%';
    if (end == text || end[sign] || !(v >= 0 && v <= 1e6))
        return err_set(e, ERR_USAGE, "%s: '%.100s' is not a percentage (example: 2%%)", what, text);
    *share = v / 100;
    return 0;
}

static int take_gate(const char *text, struct failing *out, struct err *e)
{
    const char *colon = strchr(text, ':');
    const size_t n = colon ? (size_t)(colon - text) : strlen(text);
    for (size_t i = 0; i < GATES; i++)
        if (strlen(gates[i]) == n && memcmp(gates[i], text, n) == 0) {
            *out = (struct failing){(enum gate)i, 0};
            return colon ? percent_parse("--fail-on", colon + 1, &out->share, e) : 0;
        }
    return err_set(
        e, ERR_USAGE,
        "--fail-on: '%.100s' is not a valid condition; use slower:P%%, faster:P%% or cost:P%%",
        text);
}

static int take_gates(const struct opt_value *v, struct arena *a, struct cmd_compare_request *out,
                      struct err *e)
{
    out->fail = arena_array(a, struct failing, v->n_all + 1);
    for (size_t i = 0; i < v->n_all; i++)
        TRY(take_gate(v->all[i], &out->fail[out->n_fail++], e));
    return 0;
}

static int take_prices(const struct opt_value *v, struct cmd_compare_request *out, struct err *e)
{
    if (v->n_all > COMPARE_SIDES)
        return err_set(e, ERR_USAGE,
                       "--price can be given once (for both groups) or twice (for A and B)");
    for (int s = 0; v->n_all && s < COMPARE_SIDES; s++)
        TRY(price_parse(v->all[MIN_OF((size_t)s, v->n_all - 1)], &out->ask.side[s].price_per_hour,
                        e));
    return 0;
}

static int take_confidence(const struct opt_value *v, struct cmd_compare_request *out,
                           struct err *e)
{
    TRY(percent_parse("--confidence", v->text, &out->ask.confidence, e));
    if (!(out->ask.confidence >= 0.5 && out->ask.confidence <= 0.999))
        return err_set(e, ERR_USAGE, "--confidence: '%.100s' is not between 50%% and 99.9%%",
                       v->text);
    return 0;
}

static int cmd_compare_take_steps(const struct opt_value *v, struct cmd_compare_request *out,
                                  struct err *e)
{
    int64_t range[2];
    if (!v->given)
        return 0;
    TRY(step_range(v->text, range, e));
    out->ask.has_range = true;
    out->ask.from = range[0];
    out->ask.to = range[1];
    return 0;
}

static int take_format(const struct cmd_args *args, struct cmd_compare_request *out, struct err *e)
{
    const struct opt_value *format = &args->opt[O_FORMAT];
    if (format->given && args->opt[O_JSON].given && format->number != FORMAT_JSON)
        return err_set(e, ERR_USAGE, "--json and --format %s cannot be combined", format->text);
    out->format = args->opt[O_JSON].given ? FORMAT_JSON
                  : format->given         ? (enum cmd_compare_format)format->number
                                          : FORMAT_TEXT;
    return 0;
}

static int cmd_compare_take_options(const struct cmd_args *args, struct cmd_compare_request *out,
                                    struct err *e)
{
    TRY(take_format(args, out, e));
    TRY(take_gates(&args->opt[O_FAIL_ON], args->arena, out, e));
    TRY(take_prices(&args->opt[O_PRICE], out, e));
    TRY(take_confidence(&args->opt[O_CONFIDENCE], out, e));
    TRY(cmd_compare_take_steps(&args->opt[O_STEPS], out, e));
    TRY(machines_load(&out->table, NULL, args->arena, e));
    out->ask.table = &out->table;
    return 0;
}

/* ---- the runs ---- */

static int cmd_compare_open_run(struct cmd_compare_request *out, int side,
                                const struct cmd_args *args, const char *ref, struct err *e)
{
    if (out->n_runs[side] == COMPARE_RUNS_MOST)
        return err_set(e, ERR_USAGE, "a group can have at most %d runs", COMPARE_RUNS_MOST);
    return cmd_open_run(args, ref, &out->runs[side][out->n_runs[side]++], e);
}

static int cmd_compare_open_all(struct cmd_compare_request *out, const struct cmd_args *args,
                                struct err *e)
{
    static const int named[COMPARE_SIDES] = {O_A, O_B};
    const size_t n_a = args->opt[O_A].n_all, n_b = args->opt[O_B].n_all;
    if (args->n_args == 2 ? n_a || n_b : args->n_args || !n_a || !n_b)
        return err_set(e, ERR_USAGE,
                       "compare needs two runs, A and B, or --a RUN and --b RUN (each repeatable)");
    for (int s = 0; s < COMPARE_SIDES; s++) {
        const struct opt_value *v = &args->opt[named[s]];
        char *rest = args->n_args ? arena_strdup(args->arena, args->arg[s]) : NULL;
        for (const char *ref; (ref = strsep(&rest, ","));)
            TRY(cmd_compare_open_run(out, s, args, ref, e));
        for (size_t i = 0; i < v->n_all; i++)
            TRY(cmd_compare_open_run(out, s, args, v->all[i], e));
        out->ask.side[s].runs = out->runs[s];
        out->ask.side[s].n = out->n_runs[s];
    }
    return 0;
}

/* Two runs of the same code differ: fewer than three a side do not show by how much. */
enum { GATE_RUNS_LEAST = 3 };

static int check_gate_runs(const struct cmd_compare_request *request, bool single_run,
                           struct err *e)
{
    const size_t fewest = MIN_OF(request->n_runs[COMPARE_A], request->n_runs[COMPARE_B]);
    if (request->n_fail == 0 || single_run || fewest >= GATE_RUNS_LEAST)
        return 0;
    return err_set(e, ERR_USAGE,
                   "--fail-on needs at least %d runs per group to measure the variation between "
                   "runs of the same code; the smaller group has %zu. Add runs ('compare "
                   "A1,A2,A3 B1,B2,B3') or use --single-run",
                   GATE_RUNS_LEAST, fewest);
}

/* ---- the answer ---- */

/* The first line is the verdict; on a terminal it is coloured too. */
static void cmd_compare_print_text(const struct compared *c, enum doc_kind kind, struct arena *a)
{
    static const char *const colors[COMPARE_VERDICTS] = {
        [COMPARE_FASTER] = "\033[1;32m",
        [COMPARE_SLOWER] = "\033[1;31m",
        [COMPARE_SAME] = "\033[1m",
        [COMPARE_NOT] = "\033[1;33m",
    };
    struct buf b = {0};
    compare_document(c, kind, a, &b);
    const uint8_t *line = b.len ? memchr(b.p, '\n', b.len) : NULL;
    const size_t n = line ? (size_t)(line - b.p) : 0;
    const bool color = kind == DOC_TEXT && term_color(stdout);
    if (color)
        fputs(colors[c->verdict], stdout);
    fwrite(b.p, 1, n, stdout);
    if (color)
        fputs("\033[0m", stdout);
    fwrite(b.p + n, 1, b.len - n, stdout);
    buf_free(&b);
}

static int write_html(const struct compared *c, const char *file, struct arena *a, struct err *e)
{
    struct buf b = {0};
    compare_document(c, DOC_HTML, a, &b);
    const int rc = file_write_output(file, b.p, b.len, e);
    buf_free(&b);
    return rc;
}

/* 1: it fails; 0: it does not; -1: not known. */
static int cmd_compare_fails(const struct compared *c, const struct failing *f)
{
    const double more = -c->saving_share;
    if (f->gate == GATE_COST)
        return isnan(more) ? -1 : more > f->share;
    if (c->verdict == COMPARE_NOT)
        return -1;
    return f->gate == GATE_SLOWER ? c->verdict == COMPARE_SLOWER && c->diff.low > f->share
                                  : c->verdict == COMPARE_FASTER && c->diff.high < -f->share;
}

/* "B is 7.3 % slower (at least 3.1 %)", or what was found instead. */
static void cmd_compare_print_times(const struct compared *c, struct arena *a)
{
    static const char *const found[COMPARE_VERDICTS] = {[COMPARE_FASTER] = "faster",
                                                        [COMPARE_SLOWER] = "slower",
                                                        [COMPARE_SAME] =
                                                            "no measurable difference"};
    const bool slower = c->verdict == COMPARE_SLOWER;
    if (c->verdict == COMPARE_SAME)
        fputs(c->may_be_noise ? "possibly noise" : found[COMPARE_SAME], stderr);
    else
        fprintf(stderr, "B is %s %s (at least %s)", share_size_text(a, c->diff.at),
                found[c->verdict], share_size_text(a, slower ? c->diff.low : c->diff.high));
}

static void cmd_compare_print_cost(const struct compared *c, struct arena *a)
{
    if (c->saving == 0)
        fputs("B costs the same", stderr);
    else
        fprintf(stderr, "B costs %s %s", share_size_text(a, c->saving_share),
                c->saving < 0 ? "more" : "less");
}

/* Prints why the exit status is 3, so that a log explains it. */
static void cmd_compare_print_gate(const struct compared *c, const struct failing *f, bool met,
                                   struct arena *a)
{
    fprintf(stderr, "footplate: --fail-on %s:%g%%: %s: ", gates[f->gate], f->share * 100,
            met ? "met" : "not met");
    if (f->gate == GATE_COST)
        cmd_compare_print_cost(c, a);
    else
        cmd_compare_print_times(c, a);
    fputc('\n', stderr);
}

/* A gate that cannot be judged does not pass. */
static int cmd_compare_judge(const struct compared *c, const struct cmd_compare_request *request,
                             struct arena *a, struct err *e)
{
    int rc = EXIT_FINE;
    for (size_t i = 0; i < request->n_fail; i++) {
        const int answer = cmd_compare_fails(c, &request->fail[i]);
        if (answer < 0)
            return err_set(e, ERR_NOT_FOUND, "--fail-on %s could not be evaluated: %s",
                           gates[request->fail[i].gate],
                           request->fail[i].gate == GATE_COST
                               ? "the machine price is not known; set it with --price"
                               : c->sentence);
        cmd_compare_print_gate(c, &request->fail[i], answer > 0, a);
        if (answer > 0)
            rc = EXIT_FINDINGS;
    }
    return rc;
}

static int cmd_compare_run(const struct cmd_args *args, struct err *e)
{
    struct cmd_compare_request *request = arena_new(args->arena, struct cmd_compare_request);
    const char *html = args->opt[O_HTML].text;
    struct compared c;
    TRY(cmd_compare_take_options(args, request, e));
    TRY(cmd_compare_open_all(request, args, e));
    TRY(check_gate_runs(request, args->opt[O_SINGLE_RUN].given, e));
    TRY(compare_runs(&request->ask, args->arena, &c, e));
    if (html)
        TRY(write_html(&c, html, args->arena, e));
    if (request->format == FORMAT_JSON) {
        struct output_json o;
        struct jw *j = output_begin(&o);
        jw_object(j, NULL);
        compare_json(j, &c);
        jw_end(j);
        output_end(&o);
    } else {
        cmd_compare_print_text(&c, request->format == FORMAT_MARKDOWN ? DOC_MARKDOWN : DOC_TEXT,
                               args->arena);
    }
    return cmd_compare_judge(&c, request, args->arena, e);
}

const struct cmd cmd_compare = {
    .name = "compare",
    .summary = "compare two runs",
    .args = CMD_ARGS({"A", ARG_RUN, .optional = true,
                      .help = "Baseline run: its folder, the start of its name or ID, or 'last'; "
                              "several runs separated by commas."},
                     {"B", ARG_RUN, .optional = true,
                      .help = "Run to compare with the baseline, given like A."}),
    .options = options,
    .help = CMD_HELP("Reports whether B is faster or slower than A, or whether there is no "
                     "measurable difference, and by how much, with a confidence interval. Then "
                     "lists what changed: step times and their parts, phases, cost, utilization, "
                     "findings, operators.",
                     "Iterations (from the start of a step to the start of the next) are compared "
                     "one by one. Warm-up steps and steps slowed by a detail window are excluded. "
                     "Runs of the same code vary: with one run per group, a difference within that "
                     "variation is reported as possible noise. Several runs per group measure the "
                     "variation: 'footplate compare A1,A2,A3 B1,B2,B3'. See docs/compare.md for "
                     "the method."),
    .examples = CMD_EXAMPLES({"footplate compare before after", "Show the effect of a change."},
                             {"footplate compare a1,a2,a3 b1,b2,b3", "Compare three runs of each."},
                             {"footplate compare a1,a2,a3 b1,b2,b3 --fail-on slower:2%",
                              "Fail a CI job if B is slower."},
                             {"footplate compare before after --price 14.688 --price 3.825 --html "
                              "compare.html",
                              "Compare costs as well, and write an HTML page."}),
    .exit_codes =
        "0 if the runs were compared, 1 on failure or if --fail-on could not be evaluated, 2 if "
        "the command line is invalid, 3 if a --fail-on condition was met.",
    .run = cmd_compare_run,
};
