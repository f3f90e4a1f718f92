/* SPDX-License-Identifier: Apache-2.0 */
/* settings_rules.c - settings about rules and actions. They are kept as they were written: which
 * rules, parameters and kinds of action there are is not known here. See settings.h. */
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/mem.h"
#include "config/settings_internal.h"
#include "config/yaml_file.h"

enum { RULE_TEXT_MOST = 255 };

int parse_scan(struct settings *s, const char *text, const struct origin *o, struct err *e)
{
    if (duration_parse_within("time", text, SCAN_MIN_NS, SCAN_MAX_NS, &s->scan_ns, e) != 0)
        return e->code;
    take_slot(s, SETTING_SCAN, o);
    return 0;
}

void print_scan(const struct settings *s, struct buf *out)
{
    print_time(s->scan_ns, out);
}

int parse_no_rules(struct settings *s, const char *text, const struct origin *o, struct err *e)
{
    bool off = false;
    if (parse_switch(text, &off, e) != 0)
        return e->code;
    s->rules = !off;
    take_slot(s, SETTING_NO_RULES, o);
    return 0;
}

void print_no_rules(const struct settings *s, struct buf *out)
{
    buf_printf(out, s->rules ? "no" : "yes");
}

int parse_report(struct settings *s, const char *text, const struct origin *o, struct err *e)
{
    bool on = false;
    if (parse_switch(text, &on, e) != 0)
        return e->code;
    /* The variable and the option are named for the opposite. */
    s->report = on != (o->source == FROM_ENVIRONMENT || o->source == FROM_OPTION);
    take_slot(s, SETTING_REPORT, o);
    return 0;
}

void print_report(const struct settings *s, struct buf *out)
{
    buf_printf(out, s->report ? "on" : "off");
}

/* ------------------------------------------------------------------------------------------------
 * Parameters of rules */

static int add_rule(struct settings *s, const char *text, size_t len, const struct origin *o,
                    struct err *e)
{
    while (len > 0 && *text == ' ')
        text++, len--;
    while (len > 0 && text[len - 1] == ' ')
        len--;
    if (len == 0 || len > RULE_TEXT_MOST || !memchr(text, '=', len))
        return err_set(e, ERR_USAGE, "'%.*s' is not of the form RULE.PARAM=VALUE",
                       (int)MIN_OF(len, (size_t)100), text);
    if (s->n_rule_settings == RULE_SETTINGS_MOST)
        return err_set(e, ERR_USAGE, "more than %d rule parameters", RULE_SETTINGS_MOST);
    s->rule_settings[s->n_rule_settings++] =
        (struct rule_setting){arena_strndup(s->arena, text, len), *o};
    return 0;
}

/* Values of all sources are kept, those of the higher ones behind: the last one counts. */
int parse_rule(struct settings *s, const char *text, const struct origin *o, struct err *e)
{
    const size_t before = s->n_rule_settings;
    for (const char *p = text; p;) {
        const char *comma = strchr(p, ',');
        if (add_rule(s, p, comma ? (size_t)(comma - p) : strlen(p), o, e) != 0) {
            s->n_rule_settings = before;
            return e->code;
        }
        p = comma ? comma + 1 : NULL;
    }
    take_slot(s, SETTING_RULES, o);
    return 0;
}

void print_rules(const struct settings *s, struct buf *out)
{
    for (size_t i = 0; i < s->n_rule_settings; i++)
        buf_printf(out, "%s%s", i ? ", " : "", s->rule_settings[i].text);
}

/* ------------------------------------------------------------------------------------------------
 * Actions */

const char *action_setting_get(const struct action_setting *a, const char *key)
{
    for (size_t i = 0; i < a->n; i++)
        if (strcmp(a->v[i].key, key) == 0)
            return a->v[i].value;
    return NULL;
}

/* The lists of maps that there are. */
struct map_list {
    struct action_setting *v;
    size_t *n, most;
    const char *what, *example;
};

static struct map_list list_of(struct settings *s, enum setting_id id)
{
    if (id == SETTING_CUSTOM)
        return (struct map_list){s->custom, &s->n_custom, CUSTOM_RULES_MOST, "custom rule",
                                 "name: Hot, metric: gpu.temp, above: 85"};
    return (struct map_list){s->actions, &s->n_actions, ACTIONS_MOST, "action",
                             "do: exec, command: ./notify.sh"};
}

int settings_map_pair(struct settings *s, enum setting_id id, size_t number,
                      const struct action_pair *pair, const struct origin *o, struct err *e)
{
    const struct map_list l = list_of(s, id);
    const bool higher = s->from[id].source < o->source;
    if (number >= l.most)
        return err_set(e, ERR_USAGE, "more than %zu %ss", l.most, l.what);
    if (higher)
        memset(l.v, 0, l.most * sizeof *l.v);
    if (higher)
        *l.n = 0;
    struct action_setting *a = &l.v[number];
    if (a->n == ACTION_PAIRS_MOST)
        return err_set(e, ERR_USAGE, "this %s has more than %d values", l.what, ACTION_PAIRS_MOST);
    if (a->n == 0)
        a->from = *o;
    a->v[a->n++] = (struct action_pair){arena_strdup(s->arena, pair->key),
                                        arena_strdup(s->arena, pair->value), pair->listed};
    *l.n = MAX_OF(*l.n, number + 1);
    take_slot(s, id, o);
    return 0;
}

/* An action as a text: the inside of a YAML map. */
struct text_taker {
    struct settings *s;
    enum setting_id id;
    const struct origin *o;
    size_t number;
    struct err *e;
    int rc; /* of the first thing that is wrong */
};

static bool no_section(void *ctx, const char *path)
{
    (void)ctx;
    (void)path;
    return false;
}

static void take_pair(void *ctx, const struct yaml_place *at, const char *text, bool listed)
{
    struct text_taker *t = ctx;
    const struct action_pair pair = {at->path, text, listed};
    if (t->rc == 0)
        t->rc = settings_map_pair(t->s, t->id, t->number, &pair, t->o, t->e);
}

static void settings_rules_on_wrong(void *ctx, const struct yaml_place *at, const char *what)
{
    struct text_taker *t = ctx;
    (void)at;
    if (t->rc == 0)
        t->rc = err_set(t->e, ERR_USAGE, "%s", what);
}

static void on_map(void *ctx, const struct yaml_place *at)
{
    settings_rules_on_wrong(ctx, at, "a value cannot be a map");
}

static int parse_map(struct settings *s, enum setting_id id, const char *text,
                     const struct origin *o, struct err *e)
{
    const struct map_list l = list_of(s, id);
    const bool higher = s->from[id].source < o->source;
    struct text_taker t = {s, id, o, higher ? 0 : *l.n, e, 0};
    const struct yaml_handler h = {&t, no_section, take_pair, settings_rules_on_wrong, on_map};
    const char *map =
        *text == '{' ? text : arena_printf(s->arena, "{%s}", text); /* the braces may be left out */
    if (yaml_walk(map, strlen(map), &h, e) != 0 || t.rc != 0)
        return err_set(e, ERR_USAGE, "expected the form '%s'", l.example);
    if (*l.n <= t.number || s->from[id].source != o->source)
        return err_set(e, ERR_USAGE, "the text is empty");
    return 0;
}

int parse_action(struct settings *s, const char *text, const struct origin *o, struct err *e)
{
    return parse_map(s, SETTING_ACTIONS, text, o, e) ? err_in(e, "action") : 0;
}

int parse_custom(struct settings *s, const char *text, const struct origin *o, struct err *e)
{
    return parse_map(s, SETTING_CUSTOM, text, o, e) ? err_in(e, "custom rule") : 0;
}

void print_custom(const struct settings *s, struct buf *out)
{
    for (size_t i = 0; i < s->n_custom; i++) {
        const char *name = action_setting_get(&s->custom[i], "name");
        buf_printf(out, "%s%s", i ? ", " : "", name ? name : "?");
    }
}

/* The environment has several with commas between. */
int parse_rule_files(struct settings *s, const char *text, const struct origin *o, struct err *e)
{
    if (take_slot(s, SETTING_RULE_FILES, o))
        s->n_rule_files = 0;
    for (const char *p = text; p;) {
        const char *comma = o->source == FROM_ENVIRONMENT ? strchr(p, ',') : NULL;
        if (s->n_rule_files == RULE_FILES_MOST)
            return err_set(e, ERR_USAGE, "more than %d rule files", RULE_FILES_MOST);
        s->rule_files[s->n_rule_files++] =
            arena_strndup(s->arena, p, comma ? (size_t)(comma - p) : strlen(p));
        p = comma ? comma + 1 : NULL;
    }
    return 0;
}

void print_rule_files(const struct settings *s, struct buf *out)
{
    for (size_t i = 0; i < s->n_rule_files; i++)
        buf_printf(out, "%s%s", i ? ", " : "", s->rule_files[i]);
}

/* What an address points at may be a secret, and so may everything else that is not named here. */
void print_actions(const struct settings *s, struct buf *out)
{
    for (size_t i = 0; i < s->n_actions; i++) {
        const char *what = action_setting_get(&s->actions[i], "do");
        buf_printf(out, "%s%s", i ? ", " : "", what ? what : "?");
    }
}
