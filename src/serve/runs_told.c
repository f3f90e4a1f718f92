/* SPDX-License-Identifier: Apache-2.0 */
/* runs_told.c - what the recorder of a run says of its rules, in findings.json.
 *
 * At the end of a run that is the last word. While it goes on the recorder writes it once a minute
 * or less often, and for what is evaluated here it is still the only one who knows how the user has
 * set the rules, and what rules of the user's own say. */
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/mem.h"
#include "rules/rule.h"
#include "run/run_files.h"
#include "serve/runs_internal.h"

static json_t *runs_told_read_list(const char *path)
{
    struct arena a = {0};
    struct err e;
    char *text;
    size_t len;
    json_t *o = run_read_findings(path, &a, &text, &len, &e) == 0
                    ? json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL)
                    : NULL;
    json_t *list = json_object_get(o, "rules");
    json_t *out = json_is_array(list) ? json_incref(list) : NULL;
    json_decref(o);
    arena_free(&a);
    return out;
}

const char *told_text(const char *path, struct arena *a)
{
    const int64_t written = run_stamp_findings(path);
    json_t *list =
        written && written >= run_stamp_data(path).newest_ns ? runs_told_read_list(path) : NULL;
    char *text = list ? json_dumps(list, JSON_COMPACT) : NULL;
    const char *copy = text ? arena_strdup(a, text) : NULL;
    free(text);
    json_decref(list);
    return copy;
}

/* ---- for what is evaluated here ---- */

/* Of a version that knew other parameters the defaults stay. */
static void runs_told_take_params(struct rule_params *p, const char *rule, json_t *params)
{
    const char *name;
    json_t *value;
    json_object_foreach(params, name, value)
    {
        struct err ignored;
        char *text = json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY);
        const char *word = text ? text : json_string_value(value);
        if (word)
            (void)!rule_params_set_one(p, rule, name, word, &ignored);
        free(text);
    }
}

/* Values that are the usual ones were set by nobody, which some rules ask about. */
static void forget_usual(struct rule_params *p, struct arena *a)
{
    struct rule_params usual;
    rule_params_init(&usual, a);
    for (size_t k = 0; k < RULE_N; k++)
        for (size_t i = 0; i < RULE_PARAMS_MOST; i++)
            if (p->v[k][i].v == usual.v[k][i].v && !p->v[k][i].is_duration)
                p->v[k][i] = usual.v[k][i];
}

static void keep_own(struct told_rules *t, const json_t *verdict, struct arena *a)
{
    const char *state = json_string_value(json_object_get(verdict, "state"));
    const char *severity = json_string_value(json_object_get(verdict, "severity"));
    char *text = json_dumps(verdict, JSON_COMPACT);
    t->issues[ISSUE_EVALUATED] += state && strcmp(state, rule_state_names[RULE_NOT_EVALUATED]) != 0;
    for (int k = 0; k < SEVERITY_N && state && severity; k++)
        t->issues[k] += strcmp(state, rule_state_names[RULE_ISSUE]) == 0 &&
                        strcmp(severity, severity_names[k]) == 0;
    if (text)
        t->own[t->n_own++] = arena_strdup(a, text);
    free(text);
}

void told_read(struct told_rules *t, const char *path, struct rule_params *p, struct arena *a)
{
    *t = (struct told_rules){0};
    json_t *list = runs_told_read_list(path);
    t->own = arena_array(a, const char *, json_array_size(list) + 1);
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *v = json_array_get(list, i);
        const char *name = json_string_value(json_object_get(v, "rule"));
        if (name && rule_find(name))
            runs_told_take_params(p, name, json_object_get(v, "params"));
        else if (name)
            keep_own(t, v, a);
    }
    forget_usual(p, a);
    json_decref(list);
}
