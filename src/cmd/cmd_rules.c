/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_rules.c - the catalogue of rules, for people, programs and the documentation. */
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "base/table.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "record/record.h"
#include "rules/verdict_json.h"

enum { O_JSON, O_MARKDOWN };

static const struct opt options[] = {
    [O_JSON] = {OPT_ROW_JSON},
    [O_MARKDOWN] = {"markdown", 0, NULL, OPT_FLAG, .help = "Print all rules in full as Markdown."},
    {0},
};

/* NULL: all. */
static void cmd_rules_print_json(const struct rule *only)
{
    struct output_json o;
    struct jw *j = output_begin(&o);
    jw_array(j, NULL);
    for (size_t k = 0; k < RULE_N; k++)
        if (!only || rules[k] == only)
            rule_json(j, NULL, rules[k]);
    jw_end(j);
    output_end(&o);
}

/* "70 %", "1000 readings", "train" */
static const char *otherwise_text(const struct param *p, char text[HUMAN_LEN])
{
    return param_text(p, &(struct param_value){.v = p->otherwise}, text, HUMAN_LEN);
}

static void print_words(const struct rule *r)
{
    printf("%s: %s\n", r->title, r->description);
    if (*r->recommendation)
        printf("\nWhat to do: %s\n", r->recommendation);
}

/* ---- Markdown ---- */

static void markdown_param(const struct param *p)
{
    char text[HUMAN_LEN];
    printf("| `%s` | %s | ", p->name, otherwise_text(p, text));
    if (p->unit == PARAM_WORD)
        for (size_t i = 0; p->words[i]; i++)
            printf("%s%s", i ? ", " : "", p->words[i]);
    else
        printf("%.10g to %.10g", p->lo, p->hi);
    printf(" | %s |\n", p->help);
}

static void markdown_rule(const struct rule *r)
{
    printf("## %s\n\n", r->name);
    print_words(r);
    if (r->explained_by) {
        printf("\nMay be explained by");
        for (size_t i = 0; r->explained_by[i]; i++)
            printf("%s %s", i ? "," : "", r->explained_by[i]);
        puts(".");
    }
    if (r->params && r->params[0].name)
        puts("\n| parameter | default | range | description |\n|---|---|---|---|");
    for (const struct param *p = r->params; p && p->name; p++)
        markdown_param(p);
}

static void cmd_rules_print_markdown(const struct rule *only)
{
    bool some = false;
    for (size_t k = 0; k < RULE_N; k++) {
        if (only && rules[k] != only)
            continue;
        if (some)
            putchar('\n');
        markdown_rule(rules[k]);
        some = true;
    }
}

/* ---- for people ---- */

static void cmd_rules_print_table(struct arena *a)
{
    struct table t;
    table_init(&t, a, "RULE|WHAT IT FINDS|~PARAMETERS");
    for (size_t k = 0; k < RULE_N; k++) {
        const char *all = "";
        char text[HUMAN_LEN];
        for (const struct param *p = rules[k]->params; p && p->name; p++)
            all = arena_printf(a, "%s%s%s=%s", all, *all ? ", " : "", p->name,
                               otherwise_text(p, text));
        CELL_TEXTS(&t, rules[k]->name, rules[k]->title, all);
    }
    output_table(&t);
}

static void param_cells(struct table *t, const struct param *p)
{
    char text[HUMAN_LEN];
    CELL_TEXTS(t, p->name, otherwise_text(p, text));
    const bool word = p->unit == PARAM_WORD;
    table_cell(t, word ? "-" : "%.10g", p->lo);
    table_cell(t, word ? "-" : "%.10g", p->hi);
    table_cell(t, "%s", p->help);
}

static void print_one(const struct rule *r, struct arena *a)
{
    struct table t;
    printf("%s\n\n", r->name);
    print_words(r);
    if (r->params && r->params[0].name) {
        putchar('\n');
        table_init(&t, a, "PARAMETER|>DEFAULT|>FROM|>TO|DESCRIPTION");
        for (const struct param *p = r->params; p->name; p++)
            param_cells(&t, p);
        output_table(&t);
    }
}

static int cmd_rules_run(const struct cmd_args *args, struct err *e)
{
    const struct rule *only = args->n_args ? rule_find(args->arg[0]) : NULL;
    if (args->n_args && !only)
        return rule_unknown(args->arg[0], e);
    if (args->opt[O_JSON].given && args->opt[O_MARKDOWN].given)
        return err_set(e, ERR_USAGE, "--markdown cannot be combined with --json");
    if (args->opt[O_JSON].given)
        cmd_rules_print_json(only);
    else if (args->opt[O_MARKDOWN].given)
        cmd_rules_print_markdown(only);
    else if (only)
        print_one(only, args->arena);
    else
        cmd_rules_print_table(args->arena);
    return EXIT_FINE;
}

const struct cmd cmd_rules = {
    .name = "rules",
    .summary = "list all rules and their parameters",
    .args = CMD_ARGS({"RULE", ARG_WORD, .optional = true, .help = "Show only this rule, in full."}),
    .options = options,
    .help = CMD_HELP("Lists every rule that 'footplate check' evaluates, with its parameters and "
                     "their defaults. Set a parameter with 'footplate check RUN --set "
                     "RULE.PARAM=VALUE'. Parameters that are numbers of readings also accept a "
                     "time such as 60s."),
    .examples = CMD_EXAMPLES({"footplate rules", "List all rules."},
                             {"footplate rules CPUBottleneck", "Show one rule in full."}),
    .run = cmd_rules_run,
};

/* ==== the metric table ==== */

enum { METRICS_JSON, METRICS_CSV, METRICS_MARKDOWN };

static const struct opt metrics_options[] = {
    [METRICS_JSON] = {OPT_ROW_JSON},
    [METRICS_CSV] = {OPT_ROW_CSV},
    [METRICS_MARKDOWN] = {"markdown", 0, NULL, OPT_FLAG, .help = "Print a Markdown table."},
    {0},
};

/* Counts have no unit. */
static const char *unit_shown(enum unit u)
{
    return u == UNIT_COUNT ? "count" : unit_name(u);
}

static void cmd_metrics_print_markdown(void)
{
    puts("| metric | unit | per | description |\n|---|---|---|---|");
    for (size_t i = 0; i < METRIC_N; i++)
        printf("| `%s` | %s | %s | %s |\n", metrics[i].name, unit_shown(metrics[i].unit),
               metric_per_names[metrics[i].per], metrics[i].title);
}

static void cmd_metrics_print_table(struct arena *a)
{
    struct table t;
    table_init(&t, a, "METRIC|UNIT|PER|~DESCRIPTION");
    for (size_t i = 0; i < METRIC_N; i++) {
        CELL_TEXTS(&t, metrics[i].name, unit_shown(metrics[i].unit),
                   metric_per_names[metrics[i].per], metrics[i].title);
    }
    output_table(&t);
}

static int cmd_metrics_run(const struct cmd_args *args, struct err *e)
{
    if (args->opt[METRICS_MARKDOWN].given && args->output != OUTPUT_TEXT)
        return err_set(e, ERR_USAGE, "--markdown cannot be combined with --json or --csv");
    if (args->output == OUTPUT_JSON)
        output_json(&row_KnownMetric, metrics, METRIC_N);
    else if (args->output == OUTPUT_CSV)
        output_csv(&row_KnownMetric, "metric,unit,kind,per,title", metrics, METRIC_N, args->arena);
    else if (args->opt[METRICS_MARKDOWN].given)
        cmd_metrics_print_markdown();
    else
        cmd_metrics_print_table(args->arena);
    return EXIT_FINE;
}

const struct cmd cmd_metrics = {
    .name = "metrics",
    .summary = "list all metrics and their units",
    .options = metrics_options,
    .help = CMD_HELP("Lists every metric with its unit and what it is measured for. 'footplate "
                     "doctor' shows which of them are available on this machine."),
    .run = cmd_metrics_run,
};
