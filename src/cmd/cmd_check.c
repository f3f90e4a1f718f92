/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_check.c - what held a run back: all rules over it. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/check.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "tables/runview.h"

enum {
    O_JSON,
    O_CSV,
    O_FORMAT,
    O_OUT,
    O_SET,
    O_RULE,
    O_FAIL_ON,
    O_MACHINE,
    O_PRICE,
    O_CONFIG,
    O_CUSTOM,
    O_RULE_FILE,
    O_RULE_LIMIT,
    O_DIR
};
enum cmd_check_format { FORMAT_TEXT, FORMAT_JSON, FORMAT_CSV, FORMAT_SAGEMAKER };

static const char *const formats[] = {"text", "json", "csv", "sagemaker", NULL};

/* The severities, then a word for the least of them. */
static const char *const fail_on[] = {
    [SEVERITY_INFO] = "info",
    [SEVERITY_WARNING] = "warning",
    [SEVERITY_CRITICAL] = "critical",
    "issue",
    NULL,
};

static const struct opt options[] = {
    [O_JSON] = OPT_ROW_JSON,
    [O_CSV] = OPT_ROW_CSV,
    [O_FORMAT] = {"format", 0, "FORMAT", OPT_CHOICE, .choices = formats,
                  .help = "Output format. sagemaker writes a folder with one JSON file per rule, "
                          "in the format of SageMaker's rule outputs."},
    [O_OUT] = {"output", 'o', "DIR", OPT_FOLDER, .help = "Output folder for --format sagemaker."},
    [O_SET] = {"set", 0, "RULE.PARAM=VALUE", OPT_STRING, .repeat = true,
               .help = "Override a rule parameter; 'footplate rules' lists them. "
                       "ProfilerReport.RULE_PARAM=VALUE is accepted too."},
    [O_RULE] = {"rule", 0, "RULE", OPT_STRING, .repeat = true, .help = "Show only this rule."},
    [O_FAIL_ON] = {"fail-on", 0, "SEVERITY", OPT_CHOICE, .choices = fail_on,
                   .help = "Exit with status 3 if there is an issue of at least this severity; "
                           "issue means any severity."},
    [O_MACHINE] = OPT_ROW_MACHINE,
    [O_PRICE] = OPT_ROW_PRICE,
    [O_CONFIG] = OPT_ROW_RULE_CONFIG,
    [O_CUSTOM] = {"custom-rule", 0, "RULE", OPT_STRING, .repeat = true,
                  .help = "Define a custom rule, e.g. 'name: GpuIdle, metric: gpu.util, below: 20, "
                          "for: 5min'. See docs/custom-rules.md for all keys."},
    [O_RULE_FILE] = OPT_ROW_RULE_FILE,
    [O_RULE_LIMIT] = OPT_ROW_RULE_LIMIT,
    [O_DIR] = OPT_ROW_DIR,
    {0},
};

static const struct cmd_arg positional[] = {ARG_ROW_RUN, {0}};

/* ---- what was asked for ---- */

static int cmd_check_choose_format(const struct cmd_args *args, enum cmd_check_format *out,
                                   struct err *e)
{
    static const enum cmd_check_format of_output[] = {
        [OUTPUT_TEXT] = FORMAT_TEXT, [OUTPUT_JSON] = FORMAT_JSON, [OUTPUT_CSV] = FORMAT_CSV};
    const struct opt_value *format = &args->opt[O_FORMAT];
    enum output output;
    const int rc = output_choose(&output, &args->opt[O_JSON], &args->opt[O_CSV], e);
    if (rc != 0)
        return rc;
    if (format->given && output != OUTPUT_TEXT)
        return err_set(e, ERR_USAGE, "--format cannot be combined with --json or --csv");
    *out = format->given ? (enum cmd_check_format)format->number : of_output[output];
    if ((*out == FORMAT_SAGEMAKER) != args->opt[O_OUT].given)
        return err_set(e, ERR_USAGE,
                       "--format sagemaker requires -o DIR, and -o requires --format sagemaker");
    return 0;
}

/* ---- evaluating ---- */

/* Prints why the exit status is 3, so that a log explains it. */
static bool cmd_check_fails(const struct check *c, const struct opt_value *limit)
{
    size_t n = 0;
    const enum severity least =
        limit->number < SEVERITY_N ? (enum severity)limit->number : SEVERITY_INFO;
    for (size_t k = 0; k < c->n_v; k++)
        n += c->v[k].state == RULE_ISSUE && c->v[k].severity >= least;
    if (n)
        fprintf(stderr, "footplate: --fail-on %s: met: %zu issue%s%s%s\n", fail_on[limit->number],
                n, n == 1 ? "" : "s", least == SEVERITY_INFO ? "" : " of severity ",
                least == SEVERITY_INFO       ? ""
                : least == SEVERITY_CRITICAL ? "critical"
                                             : "warning or critical");
    return n > 0;
}

static int cmd_check_print(const struct check *c, enum cmd_check_format format, const char *folder,
                           struct err *e)
{
    switch (format) {
    case FORMAT_SAGEMAKER:
        return check_sagemaker(c, folder, e);
    case FORMAT_JSON:
        check_json(c);
        break;
    case FORMAT_CSV:
        check_csv(c);
        break;
    default:
        check_text(c);
    }
    return 0;
}

static int cmd_check_evaluate(struct run *r, struct check *c, const struct cmd_args *args,
                              enum cmd_check_format format, struct err *e)
{
    const struct opt_value *limit = &args->opt[O_FAIL_ON];
    c->info = run_get_info(r);
    int rc = rules_check_priced(r, &c->params, &c->pricing, c->arena, &c->checked, e);
    if (rc == 0)
        c->right_size = rightsize_advise(&c->checked, c->pricing.table, c->arena);
    if (rc == 0)
        rc = check_collect(c, r, e);
    if (rc == 0)
        rc = cmd_check_print(c, format, args->opt[O_OUT].text, e);
    if (rc != 0)
        return rc;
    return limit->given && cmd_check_fails(c, limit) ? EXIT_FINDINGS : EXIT_FINE;
}

static int cmd_check_run(const struct cmd_args *args, struct err *e)
{
    struct arena a = {0};
    struct check *c = arena_new(&a, struct check);
    struct run *r = NULL;
    enum cmd_check_format format = FORMAT_TEXT;
    c->arena = &a;
    rule_params_init(&c->params, &a);
    int rc = cmd_check_choose_format(args, &format, e);
    if (rc == 0)
        rc = check_take_settings(c, args, e);
    c->own.limit_ns = args->opt[O_RULE_LIMIT].number;
    if (rc == 0)
        rc = check_choose_rules(c, &args->opt[O_RULE], e);
    if (rc == 0)
        rc = check_choose_pricing(c, args->opt[O_MACHINE].text, args->opt[O_PRICE].text, e);
    if (rc == 0)
        rc = runview_open(&r, args->opt[O_DIR].text, args->arg[0], e);
    if (rc == 0)
        rc = cmd_check_evaluate(r, c, args, format, e);
    run_close(r);
    arena_free(&a);
    return rc;
}

static const char *const help[] = {
    "Evaluates all rules on the run as it is now and prints the issues, the time they cost and "
    "what to do about them. Each rule has one of three results: issue, passed, or skipped with the "
    "reason. Nothing is written to the run.",
    "An issue that costs at least 25 % of the training loop is critical, at least 5 % is a "
    "warning, less is info.",
    NULL,
};

static const struct cmd_example examples[] = {
    {"footplate check last", "Show the issues of the last run."},
    {"footplate check last --set CPUBottleneck.cpu_threshold=80 --rule CPUBottleneck",
     "Evaluate one rule with another threshold."},
    {"footplate check last --fail-on warning", "Fail a CI job on warnings."},
    {"footplate check last --rule-file my_rules.py", "Add custom rules written in Python."},
    {"footplate check last --format sagemaker -o profiler-reports",
     "Write files for tools that read SageMaker's rule outputs."},
    {0},
};

const struct cmd cmd_check = {
    .name = "check",
    .summary = "find the issues of a run and what they cost",
    .args = positional,
    .options = options,
    .help = help,
    .examples = examples,
    .exit_codes = "0 if the rules were evaluated, 1 on failure, 2 if the command line is invalid, "
                  "3 if there is an issue at or above --fail-on.",
    .run = cmd_check_run,
};
