/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_check.c - evaluates all rules on a run and prints the issues. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/human.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/table.h"
#include "base/vec.h"
#include "cmd/check.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "rules/verdict_json.h"
#include "tables/runview.h"
#include "tables/summary.h"

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
    [O_JSON] = {OPT_ROW_JSON},
    [O_CSV] = {OPT_ROW_CSV},
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
    [O_MACHINE] = {OPT_ROW_MACHINE},
    [O_PRICE] = {OPT_ROW_PRICE},
    [O_CONFIG] = {OPT_ROW_RULE_CONFIG},
    [O_CUSTOM] = {"custom-rule", 0, "RULE", OPT_STRING, .repeat = true,
                  .help = "Define a custom rule, e.g. 'name: GpuIdle, metric: gpu.util, below: 20, "
                          "for: 5min'. See docs/custom-rules.md for all keys."},
    [O_RULE_FILE] = {OPT_ROW_RULE_FILE},
    [O_RULE_LIMIT] = {OPT_ROW_RULE_LIMIT},
    {OPT_ROW_DIR},
    {0},
};

enum { FINDINGS_MOST = 3, NAMES_MOST = 12, REMARKS_MOST = 8 };

static void cmd_check_json(const struct check *c)
{
    struct output_json o;
    struct jw *j = output_begin(&o);
    jw_array(j, NULL);
    for (size_t k = 0; k < c->n_v; k++)
        verdict_json(j, NULL, &c->v[k], c->p[k]);
    jw_end(j);
    output_end(&o);
}

/* A line for each finding, and one for each rule without. */
static void cmd_check_csv(const struct check *c)
{
    size_t n = 0, all = c->n_v;
    for (size_t k = 0; k < c->n_v; k++)
        all += c->v[k].n_findings;
    struct finding_line *lines = arena_array(c->arena, struct finding_line, all + 1);
    for (size_t k = 0; k < c->n_v; k++) {
        const struct verdict *v = &c->v[k];
        for (size_t i = 0; i < v->n_findings; i++)
            lines[n++] = (struct finding_line){v, &v->findings[i]};
        if (v->n_findings == 0)
            lines[n++] = (struct finding_line){v, NULL};
    }
    output_csv(&row_FindingLine, "", lines, n, c->arena);
}

/* ---- text ---- */

static size_t cmd_check_of_state(const struct check *c, enum rule_state state,
                                 const struct verdict ***out)
{
    size_t n = 0;
    *out = arena_array(c->arena, const struct verdict *, c->n_v + 1);
    for (size_t k = 0; k < c->n_v; k++)
        if (c->v[k].state == state && verdict_counts(&c->v[k]))
            (*out)[n++] = &c->v[k];
    return n;
}

/* "Data loading (Dataloader)", "Mine (custom rule)". */
static const char *cmd_check_name_of(const struct check *c, const struct rule *rule)
{
    return rule->custom ? arena_printf(c->arena, "%s (custom rule)", rule->name)
                        : arena_printf(c->arena, "%s (%s)", rule->title, rule->name);
}

static void check_put_sentence(const struct check *c, const char *label, const char *text)
{
    const size_t n = strlen(text);
    const bool ends = n && strchr(".!?", text[n - 1]);
    printf("    %-9s %s%s\n", label, text_safe(c->arena, text), ends || !n ? "" : ".");
}

/* Prints nothing for an empty text. */
static void check_put_words(const struct check *c, const char *label, const char *words)
{
    if (*words)
        check_put_sentence(c, label, arena_printf(c->arena, "%s.", words));
}

static const char *cmd_check_place_of(const struct check *c, const struct finding *f)
{
    const bool node = c->checked.n_nodes > 1 && *f->node;
    return text_safe(c->arena, arena_printf(c->arena, "%s%s%s", node ? f->node : "",
                                            node && *f->entity ? " " : "", f->entity));
}

/* The advice of several findings is printed once, below the last of them. */
static void check_put_finding(const struct check *c, const struct verdict *v,
                              const struct finding *f, bool advise)
{
    const bool node = c->checked.n_nodes > 1 && *f->node;
    const size_t n = strlen(f->message);
    printf("  %s%s%s%s\n", node ? text_safe(c->arena, f->node) : "", node ? ": " : "",
           text_safe(c->arena, f->message), n && f->message[n - 1] == '.' ? "" : ".");
    check_put_words(c, "when", finding_when_words(f, c->checked.run.job_start, c->arena));
    check_put_words(c, "lost", finding_lost_words(f, c->arena));
    check_put_words(c, "explained", finding_explained_words(f, c->arena));
    check_put_words(c, "during", finding_shares_words(f, c->arena));
    if (advise && *finding_advice(v, f))
        check_put_sentence(c, "fix", finding_advice(v, f));
}

/* "also n2 gpu0, n2 gpu1 and 7 more." */
static void check_put_also(const struct check *c, const struct finding *const *v, size_t n)
{
    const size_t named = MIN_OF(n, (size_t)NAMES_MOST);
    printf("  also ");
    for (size_t i = 0; i < named; i++)
        printf("%s%s", i ? ", " : "", cmd_check_place_of(c, v[i]));
    if (n > named)
        printf(" and %zu more", n - named);
    puts("; use --json to list all.");
}

/* "I/O bottleneck (IOBottleneck): warning, 12.4 s lost, 3.1 % of the training loop" */
static void check_put_head(const struct check *c, const struct verdict *v)
{
    const bool bold = term_color(stdout);
    printf("\n%s%s%s: %s\n", bold ? "\033[1m" : "", cmd_check_name_of(c, v->rule),
           bold ? "\033[0m" : "", verdict_size_words(v, c->checked.run.has_steps, c->arena));
}

static const struct verdict *cmd_check_named(const char *name, const struct verdict *const *v,
                                             size_t n)
{
    const size_t at = FIND_FIRST(i, n, strcmp(v[i]->rule->name, name) == 0);
    return at < n ? v[at] : NULL;
}

/* The issue below which a symptom is listed: the first of its causes that is shown, or the cause of
 * that. NULL: it has no cause that is shown. */
static const struct verdict *cmd_check_cause_of(const struct verdict *v,
                                                const struct verdict *const *issues, size_t n)
{
    const struct verdict *at = v;
    for (size_t steps = 0; at && verdict_explained_by(at) && steps < n; steps++) {
        const struct finding *f = &at->findings[0];
        const struct verdict *next = NULL;
        for (size_t i = 0; i < f->n_explained_by; i++) {
            const struct verdict *x = cmd_check_named(f->explained_by[i], issues, n);
            if (x && (!next || (verdict_explained_by(next) && !verdict_explained_by(x))))
                next = x;
        }
        at = next;
    }
    return at == v || !at || verdict_explained_by(at) ? NULL : at;
}

/* The symptoms of a cause, one line each. */
static void check_put_explained(const struct check *c, const struct verdict *cause,
                                const struct verdict *const *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (cmd_check_cause_of(v[i], v, n) != cause)
            continue;
        const struct finding *f = &v[i]->findings[0];
        const char *more = v[i]->n_findings > 1
                               ? arena_printf(c->arena, " (and %zu more)", v[i]->n_findings - 1)
                               : "";
        printf("    explains  %s: %s: %s%s.\n", cmd_check_name_of(c, v[i]->rule),
               verdict_size_words(v[i], c->checked.run.has_steps, c->arena),
               text_safe(c->arena, f->message), more);
    }
}

/* The costliest findings in full, the others by name. */
static void check_put_issue(const struct check *c, const struct verdict *v)
{
    const struct finding **list = arena_array(c->arena, const struct finding *, v->n_findings);
    const size_t shown = MIN_OF(v->n_findings, (size_t)FINDINGS_MOST);
    findings_costliest_first(v, list);
    check_put_head(c, v);
    for (size_t i = 0; i < shown; i++)
        check_put_finding(c, v, list[i],
                          i + 1 == shown || strcmp(finding_advice(v, list[i]),
                                                   finding_advice(v, list[i + 1])) != 0);
    if (v->n_findings > shown)
        check_put_also(c, list + shown, v->n_findings - shown);
}

static void check_put_summary(const struct check *c, const struct verdict *v)
{
    const size_t shown = MIN_OF(v->n_remarks, (size_t)REMARKS_MOST);
    printf("\n%s\n", cmd_check_name_of(c, v->rule));
    for (size_t i = 0; i < shown; i++)
        printf("  %s.\n", text_safe(c->arena, v->remarks[i]));
    if (v->n_remarks > shown)
        printf("  and %zu more; use --json to list all.\n", v->n_remarks - shown);
    if (v->n_remarks == 0 && *v->why)
        printf("  %s.\n", text_safe(c->arena, v->why));
}

static void check_put_rest(const struct check *c, const char *title, const struct verdict **v,
                           size_t n)
{
    size_t width = 0;
    if (n)
        printf("\n%s\n", title);
    for (size_t i = 0; i < n; i++)
        width = MAX_OF(width, text_columns(cmd_check_name_of(c, v[i]->rule)));
    for (size_t i = 0; i < n; i++) {
        const char *name = cmd_check_name_of(c, v[i]->rule);
        if (*v[i]->why)
            printf("  %s%*s  %s\n", name, (int)(width - text_columns(name)), "",
                   text_safe(c->arena, v[i]->why));
        else
            printf("  %s\n", name);
    }
}

static void check_put_issues(const struct check *c, const struct verdict *const *issues, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (cmd_check_cause_of(issues[i], issues, n))
            continue; /* it is listed there */
        check_put_issue(c, issues[i]);
        check_put_explained(c, issues[i], issues, n);
    }
}

static void cmd_check_text(const struct check *c)
{
    const struct verdict **issues, **clear, **not_evaluated;
    const size_t n = cmd_check_of_state(c, RULE_ISSUE, &issues),
                 n_clear = cmd_check_of_state(c, RULE_CLEAR, &clear),
                 n_not = cmd_check_of_state(c, RULE_NOT_EVALUATED, &not_evaluated);
    const char *ending = verdicts_ending(c->info, &c->checked.verdicts, c->arena);
    if (ending)
        puts(text_safe(c->arena, ending));
    printf("%s: %zu issue%s%s, %zu passed, %zu skipped\n", text_safe(c->arena, c->info->name), n,
           n == 1 ? "" : "s", ending ? " in the recorded part" : "", n_clear, n_not);
    check_put_issues(c, issues, n);
    for (size_t k = 0; k < c->n_v; k++)
        if (c->v[k].rule->summary && !verdict_counts(&c->v[k]))
            check_put_summary(c, &c->v[k]);
    if (c->right_size)
        printf("\nRight-sizing\n  %s.\n", text_safe(c->arena, c->right_size->why));
    check_put_rest(c, "passed", clear, n_clear);
    check_put_rest(c, "skipped", not_evaluated, n_not);
}

/* ---- SageMaker: one JSON file per rule. Numbers that Footplate does not have are left out ---- */

/* Readers access the parameters by position. A rule that is not listed uses its own order. */
static const struct {
    const char *rule;
    const char *params[6]; /* ends with NULL */
} sagemaker_orders[] = {
    {"CPUBottleneck", {"threshold", "cpu_threshold", "gpu_threshold", "patience"}},
    {"IOBottleneck", {"threshold", "io_threshold", "gpu_threshold", "patience"}},
    {"LowGPUUtilization", {"threshold_p95", "threshold_p5", "window", "patience"}},
    {"BatchSize",
     {"cpu_threshold_p95", "gpu_threshold_p95", "gpu_memory_threshold_p95", "patience", "window"}},
    {"GPUMemoryIncrease", {"increase", "patience", "window"}},
    {"LoadBalancing", {"threshold", "patience"}},
    {"StepOutlier", {"stddev", "mode", "n_outliers"}},
    {"MaxInitializationTime", {"threshold"}},
    {"Dataloader", {"min_threshold", "max_threshold"}},
};

/* Names of numbers that differ. */
static const struct {
    const char *rule, *number, *key;
} sagemaker_keys[] = {
    {"LowGPUUtilization", "gpu_p95", "gpu_95"},
    {"LowGPUUtilization", "gpu_p5", "gpu_5"},
    {"GPUMemoryIncrease", "memory_max", "gpu_max"},
    {"GPUMemoryIncrease", "increase", "increase"},
};

static const char *check_sm_key_of(const struct rule *r, const char *number)
{
    for (size_t i = 0; i < COUNT_OF(sagemaker_keys); i++)
        if (strcmp(sagemaker_keys[i].rule, r->name) == 0 &&
            strcmp(sagemaker_keys[i].number, number) == 0)
            return sagemaker_keys[i].key;
    return number;
}

static void check_sm_put_param(struct buf *b, const struct check *c, size_t rule, const char *name)
{
    const struct param *p = rules[rule]->params;
    for (size_t k = 0; p && p[k].name; k++) {
        const struct param_value *v = &c->params.v[rule][k];
        if (strcmp(p[k].name, name) != 0)
            continue;
        buf_printf(b, "%s%s:", b->len ? "\n" : "", name);
        if (p[k].unit == PARAM_WORD)
            buf_printf(b, "%s", p[k].words[(size_t)v->v]);
        else
            buf_printf(b, v->is_duration ? "%gs" : "%g", v->is_duration ? v->v / 1e9 : v->v);
    }
}

static const char *const *check_sm_order_of(const struct rule *r)
{
    for (size_t i = 0; i < COUNT_OF(sagemaker_orders); i++)
        if (strcmp(sagemaker_orders[i].rule, r->name) == 0)
            return sagemaker_orders[i].params;
    return NULL;
}

/* "threshold:50\ncpu_threshold:90\n..." */
static const char *check_sm_params_text(const struct check *c, size_t rule)
{
    struct buf b = {0};
    const char *const *order = check_sm_order_of(rules[rule]);
    const struct param *p = rules[rule]->params;
    for (size_t i = 0; order && order[i]; i++)
        check_sm_put_param(&b, c, rule, order[i]);
    for (size_t i = 0; !order && p && p[i].name; i++)
        check_sm_put_param(&b, c, rule, p[i].name);
    const char *text = b.len ? arena_strndup(c->arena, (const char *)b.p, b.len) : "";
    buf_free(&b);
    return text;
}

static void check_sm_put_numbers(struct jw *j, const struct rule *r, const struct finding *f)
{
    for (size_t i = 0; i < f->n_numbers; i++)
        if (!isnan(f->numbers[i].v))
            jw_num(j, check_sm_key_of(r, f->numbers[i].name), f->numbers[i].v);
}

/* {"node": {"gpu0": {numbers}}}; findings are sorted by node and entity; the last of each counts.
 */
static void check_sm_put_node(struct jw *j, const struct verdict *v, size_t *i)
{
    const char *node = v->findings[*i].node;
    if (*node)
        jw_object(j, node);
    for (; *i < v->n_findings && strcmp(v->findings[*i].node, node) == 0; ++*i) {
        const struct finding *f = &v->findings[*i];
        if (*i + 1 < v->n_findings && strcmp(f->node, f[1].node) == 0 &&
            strcmp(f->entity, f[1].entity) == 0)
            continue;
        if (*f->entity)
            jw_object(j, f->entity);
        check_sm_put_numbers(j, v->rule, f);
        if (*f->entity)
            jw_end(j);
    }
    if (*node)
        jw_end(j);
}

static void check_sm_put_details(struct jw *j, const struct verdict *v)
{
    jw_object(j, "Details");
    for (size_t i = 0; i < v->n_findings;)
        check_sm_put_node(j, v, &i);
    if (v->last_triggered.ns)
        jw_int(j, "last_timestamp", v->last_triggered.ns / NS_PER_US);
    jw_end(j);
}

static int check_sm_write(const struct check *c, size_t rule, const char *folder, struct err *e)
{
    const struct verdict *v = &c->checked.verdicts.v[rule];
    char path[PATH_LEN];
    struct buf b = {0};
    struct jw j = {.out = &b, .indent = 2};
    jw_object(&j, NULL);
    jw_int(&j, "RuleTriggered", (int64_t)v->triggered);
    jw_int(&j, "Violations", (int64_t)v->violations);
    check_sm_put_details(&j, v);
    jw_int(&j, "Datapoints", (int64_t)v->datapoints);
    jw_str(&j, "RuleParameters", check_sm_params_text(c, rule));
    jw_end(&j);
    buf_u8(&b, '\n');
    int rc = path_join(path, e, "%s/%s.json", folder, v->rule->name);
    if (rc == 0)
        rc = file_write_output(path, b.p, b.len, e);
    buf_free(&b);
    return rc;
}

/* Rules that could not be evaluated have no file, as in SageMaker. */
static int cmd_check_sagemaker(const struct check *c, const char *folder, struct err *e)
{
    TRY(dir_make(folder, e));
    for (size_t k = 0; k < RULE_N; k++)
        if (c->shown[k] && c->checked.verdicts.v[k].state != RULE_NOT_EVALUATED)
            TRY(check_sm_write(c, k, folder, e));
    return 0;
}

/* ---- the command ---- */

static int cmd_check_choose_format(const struct cmd_args *args, enum cmd_check_format *out,
                                   struct err *e)
{
    static const enum cmd_check_format of_output[] = {
        [OUTPUT_TEXT] = FORMAT_TEXT, [OUTPUT_JSON] = FORMAT_JSON, [OUTPUT_CSV] = FORMAT_CSV};
    const struct opt_value *format = &args->opt[O_FORMAT];
    if (format->given && args->output != OUTPUT_TEXT)
        return err_set(e, ERR_USAGE, "--format cannot be combined with --json or --csv");
    *out = format->given ? (enum cmd_check_format)format->number : of_output[args->output];
    if ((*out == FORMAT_SAGEMAKER) != args->opt[O_OUT].given)
        return err_set(e, ERR_USAGE,
                       "--format sagemaker requires -o DIR, and -o requires --format sagemaker");
    return 0;
}

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

static int cmd_check_run(const struct cmd_args *args, struct err *e)
{
    struct arena *a = args->arena;
    const struct opt_value *limit = &args->opt[O_FAIL_ON];
    struct check *c;
    struct run *r = NULL;
    enum cmd_check_format format = FORMAT_TEXT;
    TRY(cmd_check_choose_format(args, &format, e));
    TRY(check_open(&c, args, e));
    c->user.limit_ns = args->opt[O_RULE_LIMIT].number;
    TRY(check_choose_rules(c, &args->opt[O_RULE], e));
    TRY(check_choose_pricing(c, args->opt[O_MACHINE].text, args->opt[O_PRICE].text, e));
    TRY(cmd_open_run(args, args->arg[0], &r, e));
    c->info = run_get_info(r);
    TRY(rules_check_priced(r, &c->params, &c->pricing, a, &c->checked, e));
    c->right_size = rightsize_advise(&c->checked, c->pricing.table, a);
    TRY(check_collect(c, r, e));
    if (format == FORMAT_SAGEMAKER)
        TRY(cmd_check_sagemaker(c, args->opt[O_OUT].text, e));
    else if (format == FORMAT_JSON)
        cmd_check_json(c);
    else if (format == FORMAT_CSV)
        cmd_check_csv(c);
    else
        cmd_check_text(c);
    return limit->given && cmd_check_fails(c, limit) ? EXIT_FINDINGS : EXIT_FINE;
}

const struct cmd cmd_check = {
    .name = "check",
    .summary = "find the issues of a run and what they cost",
    .args = cmd_arg_run,
    .options = options,
    .help = CMD_HELP("Evaluates all rules on the run as it is now and prints the issues, the time "
                     "they cost and what to do about them. Each rule has one of three results: "
                     "issue, passed, or skipped with the reason. Nothing is written to the run.",
                     "An issue that costs at least 25 % of the training loop is critical, at least "
                     "5 % is a warning, less is info."),
    .examples = CMD_EXAMPLES(
        {"footplate check last", "Show the issues of the last run."},
        {"footplate check last --set CPUBottleneck.cpu_threshold=80 --rule CPUBottleneck",
         "Evaluate one rule with another threshold."},
        {"footplate check last --fail-on warning", "Fail a CI job on warnings."},
        {"footplate check last --rule-file my_rules.py", "Add custom rules written in Python."},
        {"footplate check last --format sagemaker -o profiler-reports",
         "Write files for tools that read SageMaker's rule outputs."}),
    .exit_codes = "0 if the rules were evaluated, 1 on failure, 2 if the command line is invalid, "
                  "3 if there is an issue at or above --fail-on.",
    .run = cmd_check_run,
};
