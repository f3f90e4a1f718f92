/* SPDX-License-Identifier: Apache-2.0 */
/* settings.c - the table of settings, and how each value is parsed and printed. Rules, their
 * parameters and actions are stored as written: which of them exist is not known here. See
 * settings.h. */
#include "config/settings.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/vec.h"
#include "config/yaml_file.h"

const char *const setting_source_names[SOURCE_N] = {
    [FROM_DEFAULT] = "default",     [FROM_PROFILERCONFIG] = "profilerconfig.json",
    [FROM_FILE] = "footplate.yaml", [FROM_ENVIRONMENT] = "environment",
    [FROM_OPTION] = "command line",
};

/* ---- remarks ---- */

enum { REMARK_LENGTH_MOST = 1024 };

void remarks_add(struct remarks *r, const char *fmt, ...)
{
    char text[REMARK_LENGTH_MOST];
    va_list args;
    if (r->n == REMARKS_MOST) {
        r->left_off++;
        return;
    }
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    r->v[r->n++] = arena_strdup(r->arena, text);
}

/* The source of the setting's slot is now `o`. */
static void settings_take_slot(struct settings *s, enum setting_id id, const struct origin *o)
{
    s->from[settings_table[id].slot] = *o;
}

/* Than the previous source, whose values are then replaced. */
static bool settings_is_higher(const struct settings *s, enum setting_id id, const struct origin *o)
{
    return settings_origin(s, id)->source < o->source;
}

/* The next part of a list with commas; *rest is NULL after the last. Returns its length. */
static size_t settings_next_part(const char **rest, const char **part, bool commas)
{
    const char *comma = commas ? strchr(*rest, ',') : NULL;
    *part = *rest;
    const size_t len = comma ? (size_t)(comma - *rest) : strlen(*rest);
    *rest = comma ? comma + 1 : NULL;
    return len;
}

/* ---- the field of a setting ---- */

static void *settings_field(struct settings *s, enum setting_id id)
{
    return (char *)s + settings_table[id].field;
}

static const void *settings_value(const struct settings *s, enum setting_id id)
{
    return (const char *)s + settings_table[id].field;
}

/* ---- texts ---- */

static int parse_text(struct settings *s, enum setting_id id, const char *text,
                      const struct origin *o, struct err *e)
{
    (void)o;
    if (!*text)
        return err_set(e, ERR_USAGE, "the value is empty");
    *(const char **)settings_field(s, id) = arena_strdup(s->arena, text);
    return 0;
}

static void print_text(const struct settings *s, enum setting_id id, struct buf *out)
{
    const char *text = *(const char *const *)settings_value(s, id);
    buf_printf(out, "%s", text ? text : "");
}

/* ---- prices ---- */

static const double PRICE_MOST = 1e6;

int price_parse(const char *text, double *per_hour, struct err *e)
{
    char *end;
    const double v = strtod(text, &end);
    /* strtod also takes hexadecimal numbers, words and leading spaces, which are not prices. */
    if (end == text || *end || text[strspn(text, "0123456789.eE+-")] || !(v > 0 && v <= PRICE_MOST))
        return err_set(e, ERR_USAGE,
                       "'%.60s' is not an hourly price; write a number above 0, for example 14.688",
                       text);
    *per_hour = v;
    return 0;
}

static bool settings_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* A code of three letters, like USD; written in capitals. */
static int parse_currency(struct settings *s, enum setting_id id, const char *text,
                          const struct origin *o, struct err *e)
{
    (void)id, (void)o;
    if (strlen(text) != CURRENCY_LEN - 1 || !settings_is_letter(text[0]) ||
        !settings_is_letter(text[1]) || !settings_is_letter(text[2]))
        return err_set(e, ERR_USAGE, "'%.60s' is not a currency: write three letters, like USD",
                       text);
    for (size_t i = 0; i < CURRENCY_LEN - 1; i++)
        s->currency[i] = (char)(text[i] & ~32);
    s->currency[CURRENCY_LEN - 1] = 0;
    return 0;
}

static int parse_price(struct settings *s, enum setting_id id, const char *text,
                       const struct origin *o, struct err *e)
{
    (void)id, (void)o;
    return price_parse(text, &s->price_per_hour, e);
}

static void print_price(const struct settings *s, enum setting_id id, struct buf *out)
{
    (void)id;
    if (s->price_per_hour > 0)
        buf_printf(out, "%g", s->price_per_hour);
}

static void print_currency(const struct settings *s, enum setting_id id, struct buf *out)
{
    (void)id;
    buf_printf(out, "%s", s->currency);
}

/* ---- times and switches ---- */

static int parse_interval(struct settings *s, enum setting_id id, const char *text,
                          const struct origin *o, struct err *e)
{
    int64_t ns;
    (void)id, (void)o;
    TRY(duration_parse(text, &ns, e));
    if ((ns < INTERVAL_MIN_NS || ns > INTERVAL_MAX_NS) && duration_lacks_unit(text))
        return err_set(e, ERR_USAGE, "'%s' has no unit; write %ss or 500ms", text, text);
    if (ns < INTERVAL_MIN_NS || ns > INTERVAL_MAX_NS)
        return err_set(e, ERR_USAGE, "'%s' is not a time from %d ms to %d s", text,
                       (int)(INTERVAL_MIN_NS / NS_PER_MS), (int)(INTERVAL_MAX_NS / NS_PER_S));
    s->interval_ns = ns;
    return 0;
}

static void print_time(const struct settings *s, enum setting_id id, struct buf *out)
{
    const int64_t ns = *(const int64_t *)settings_value(s, id);
    if (ns < settings_table[id].option.lo)
        return; /* not set */
    if (ns % NS_PER_S == 0)
        buf_printf(out, "%" PRId64 "s", ns / NS_PER_S);
    else
        buf_printf(out, "%gms", (double)ns / 1e6);
}

static int parse_time(struct settings *s, enum setting_id id, const char *text,
                      const struct origin *o, struct err *e)
{
    const struct opt *limits = &settings_table[id].option;
    (void)o;
    return duration_parse_within("time", text, limits->lo, limits->hi, settings_field(s, id), e);
}

static void print_to_interval(const struct settings *s, enum setting_id id, struct buf *out)
{
    if (*(const int64_t *)settings_value(s, id) == TO_SEAL_NS)
        buf_printf(out, "seal");
    else
        print_time(s, id, out);
}

static int parse_to_interval(struct settings *s, enum setting_id id, const char *text,
                             const struct origin *o, struct err *e)
{
    if (strcmp(text, "seal") != 0)
        return parse_time(s, id, text, o, e);
    *(int64_t *)settings_field(s, id) = TO_SEAL_NS;
    return 0;
}

static const struct {
    const char *word;
    bool means;
} switches[] = {
    {"on", true},   {"true", true},   {"yes", true}, {"1", true},
    {"off", false}, {"false", false}, {"no", false}, {"0", false},
};

static bool settings_is_switch(const char *text, bool *on)
{
    for (size_t i = 0; i < COUNT_OF(switches); i++)
        if (strcasecmp(switches[i].word, text) == 0) {
            *on = switches[i].means;
            return true;
        }
    return false;
}

static void print_spool(const struct settings *s, enum setting_id id, struct buf *out)
{
    const int64_t bytes = *(const int64_t *)settings_value(s, id);
    if (bytes > 0 && bytes % (1 << 20) == 0)
        buf_printf(out, "%" PRId64 "MiB", bytes >> 20);
    else if (bytes > 0)
        buf_printf(out, "%" PRId64, bytes);
}

static int parse_spool(struct settings *s, enum setting_id id, const char *text,
                       const struct origin *o, struct err *e)
{
    uint64_t bytes = 0;
    bool on = true;
    (void)o;
    if (settings_is_switch(text, &on) && on)
        text = SPOOL_DEFAULT;
    if (on && (!bytes_parse(text, "", &bytes) || bytes < SPOOL_LEAST || bytes > INT64_MAX))
        return err_set(e, ERR_USAGE, "'%s' is not a size of at least 4MiB", text);
    *(int64_t *)settings_field(s, id) = (int64_t)bytes;
    return 0;
}

/* "on", "true", "yes", "1" and their opposites. */
static int settings_set_switch(struct settings *s, enum setting_id id, const char *text,
                               bool opposite, struct err *e)
{
    bool on;
    if (!settings_is_switch(text, &on))
        return err_set(e, ERR_USAGE, "'%.60s' is neither on nor off", text);
    *(bool *)settings_field(s, id) = on != opposite;
    return 0;
}

static int parse_switch(struct settings *s, enum setting_id id, const char *text,
                        const struct origin *o, struct err *e)
{
    (void)o;
    return settings_set_switch(s, id, text, false, e);
}

/* The variable and the option (--no-hooks) are the opposite of the field, the key is not. */
static int parse_no_switch(struct settings *s, enum setting_id id, const char *text,
                           const struct origin *o, struct err *e)
{
    const bool opposite = o->source == FROM_ENVIRONMENT || o->source == FROM_OPTION;
    return settings_set_switch(s, id, text, opposite, e);
}

/* The key is the opposite of the field, too. */
static int parse_off_switch(struct settings *s, enum setting_id id, const char *text,
                            const struct origin *o, struct err *e)
{
    (void)o;
    return settings_set_switch(s, id, text, true, e);
}

static void print_switch(const struct settings *s, enum setting_id id, struct buf *out)
{
    buf_printf(out, "%s", *(const bool *)settings_value(s, id) ? "yes" : "no");
}

static void print_no_switch(const struct settings *s, enum setting_id id, struct buf *out)
{
    buf_printf(out, "%s", *(const bool *)settings_value(s, id) ? "on" : "off");
}

static void print_off_switch(const struct settings *s, enum setting_id id, struct buf *out)
{
    buf_printf(out, "%s", *(const bool *)settings_value(s, id) ? "no" : "yes");
}

/* ---- labels ---- */

static int settings_set_label(struct settings *s, const char *text, size_t len, struct err *e)
{
    const char *equals = memchr(text, '=', len);
    if (!equals || equals == text)
        return err_set(e, ERR_USAGE, "'%.*s' is not of the form KEY=VALUE",
                       (int)MIN_OF(len, (size_t)100), text);
    char *key = arena_strndup(s->arena, text, (size_t)(equals - text));
    const size_t i = FIND_FIRST(k, s->n_labels, strcmp(s->labels[k].key, key) == 0);
    if (i == SETTINGS_LABELS_MOST)
        return err_set(e, ERR_USAGE, "more than %d labels", SETTINGS_LABELS_MOST);
    s->labels[i].key = key;
    s->labels[i].value = arena_strndup(s->arena, equals + 1, len - (size_t)(equals + 1 - text));
    s->n_labels = MAX_OF(s->n_labels, i + 1);
    return 0;
}

/* The environment has one variable for all, with commas between. */
static int parse_label(struct settings *s, enum setting_id id, const char *text,
                       const struct origin *o, struct err *e)
{
    (void)id;
    for (const char *rest = text, *part; rest;) {
        const size_t len = settings_next_part(&rest, &part, o->source == FROM_ENVIRONMENT);
        TRY(settings_set_label(s, part, len, e));
    }
    return 0;
}

static void print_labels(const struct settings *s, enum setting_id id, struct buf *out)
{
    (void)id;
    for (size_t i = 0; i < s->n_labels; i++)
        buf_printf(out, "%s%s=%s", i ? ", " : "", s->labels[i].key, s->labels[i].value);
}

/* ---- windows ---- */

static bool settings_of_times(enum setting_id id)
{
    return id == SETTING_DETAIL_AT || id == SETTING_PYTHON_AT;
}

static bool settings_of_python(enum setting_id id)
{
    return settings_table[id].slot == SETTING_PYTHON_STEPS;
}

static int parse_windows(struct settings *s, enum setting_id id, const char *text,
                         const struct origin *o, struct err *e)
{
    const enum window_kinds kinds = settings_of_times(id) ? WINDOWS_OF_TIMES : WINDOWS_OF_STEPS;
    struct window_list *to = settings_of_python(id) ? &s->python : &s->detail;
    struct window_list l = settings_is_higher(s, id, o) ? (struct window_list){0} : *to;
    TRY(window_list_parse(&l, text, kinds, settings_of_python(id), e));
    *to = l;
    return 0;
}

static void print_windows(const struct settings *s, enum setting_id id, struct buf *out)
{
    const size_t from = out->len;
    const struct window_list *l = settings_of_python(id) ? &s->python : &s->detail;
    for (size_t i = 0; i < l->n; i++) {
        if (window_is_timed(&l->v[i]) != settings_of_times(id))
            continue;
        buf_printf(out, "%s", out->len > from ? ", " : "");
        if (settings_of_python(id))
            python_window_print(out, &l->v[i]);
        else
            window_print(out, &l->v[i]);
    }
}

/* ---- ranks ---- */

/* "7" or "0-3", spaces around; false when it is neither. */
static bool settings_read_ranks(const char *p, size_t len, int *first, int *last)
{
    char text[24];
    int used = 0;
    if (len >= sizeof text)
        return false;
    memcpy(text, p, len);
    text[len] = 0;
    if (text[strspn(text, "0123456789- ")] || strstr(text, "--"))
        return false;
    if (sscanf(text, " %7d %n", first, &used) == 1 && !text[used])
        *last = *first;
    else if (sscanf(text, " %7d - %7d %n", first, last, &used) != 2 || text[used])
        return false;
    return *first >= 0 && *first <= *last;
}

static int settings_add_ranks(struct rank_list *l, const char *p, size_t len, struct err *e)
{
    int first, last;
    if (!settings_read_ranks(p, len, &first, &last))
        return err_set(e, ERR_USAGE, "'%.*s' is not a rank; write 0,1 or 0-3 or all",
                       (int)MIN_OF(len, (size_t)40), p);
    for (int r = first; r <= last; r++) {
        const size_t i = FIND_FIRST(k, l->n, l->v[k] == r);
        if (i == RANKS_MOST)
            return err_set(e, ERR_USAGE, "more than %d ranks", RANKS_MOST);
        l->v[i] = r;
        l->n = MAX_OF(l->n, i + 1);
    }
    return 0;
}

/* "all" among others means all. */
static struct rank_list *settings_ranks_of(struct settings *s, enum setting_id id)
{
    return (struct rank_list *)(void *)((char *)s + settings_table[id].field);
}

static int parse_ranks(struct settings *s, enum setting_id id, const char *text,
                       const struct origin *o, struct err *e)
{
    const bool higher = settings_is_higher(s, id, o);
    struct rank_list *to = settings_ranks_of(s, id);
    struct rank_list l = higher ? (struct rank_list){0} : *to;
    bool all = !higher && o->source != FROM_DEFAULT && l.n == 0;
    for (const char *rest = text, *p; rest;) {
        const size_t len = settings_next_part(&rest, &p, true);
        const size_t skip = MIN_OF(strspn(p, " "), len);
        if (len - skip == 3 && memcmp(p + skip, "all", 3) == 0)
            all = true;
        else
            TRY(settings_add_ranks(&l, p, len, e));
    }
    if (all)
        l.n = 0;
    *to = l;
    return 0;
}

static void print_ranks(const struct settings *s, enum setting_id id, struct buf *out)
{
    const struct rank_list *l =
        (const struct rank_list *)(const void *)((const char *)s + settings_table[id].field);
    if (l->n == 0)
        buf_printf(out, "all");
    for (size_t i = 0; i < l->n; i++)
        buf_printf(out, "%s%" PRId32, i ? "," : "", l->v[i]);
}

/* ---- parameters of rules, rule files ---- */

enum { RULE_TEXT_MOST = 255 };

static int settings_add_rule(struct settings *s, const char *text, size_t len,
                             const struct origin *o, struct err *e)
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

/* Whether the text begins with RULE.PARAM=, or with nothing: a comma before it ends a value. */
static bool settings_begins_rule(const char *text)
{
    static const char word[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    text += strspn(text, " ");
    const size_t rule = strspn(text, word);
    if (rule == 0 || text[rule] != '.')
        return *text == '\0' || *text == ',';
    const size_t param = strspn(text + rule + 1, word);
    return param > 0 && text[rule + 1 + param] == '=';
}

/* The next setting of a list; a value may have commas: "AllZero.collection_names=a,b". */
static size_t settings_next_rule(const char **rest, const char **part)
{
    const char *begin = *rest, *more;
    size_t len = settings_next_part(rest, part, true);
    while (*rest && !settings_begins_rule(*rest)) {
        settings_next_part(rest, &more, true);
        len = *rest ? (size_t)(*rest - 1 - begin) : strlen(begin);
    }
    return len;
}

/* The values of all sources are stored, those of higher ones later: the last one counts. */
static int parse_rule(struct settings *s, enum setting_id id, const char *text,
                      const struct origin *o, struct err *e)
{
    const size_t before = s->n_rule_settings;
    (void)id;
    for (const char *rest = text, *part; rest;) {
        const size_t len = settings_next_rule(&rest, &part);
        if (settings_add_rule(s, part, len, o, e) != 0) {
            s->n_rule_settings = before;
            return e->code;
        }
    }
    return 0;
}

static void print_rules(const struct settings *s, enum setting_id id, struct buf *out)
{
    (void)id;
    for (size_t i = 0; i < s->n_rule_settings; i++)
        buf_printf(out, "%s%s", i ? ", " : "", s->rule_settings[i].text);
}

static int parse_rule_files(struct settings *s, enum setting_id id, const char *text,
                            const struct origin *o, struct err *e)
{
    if (settings_is_higher(s, id, o))
        s->n_rule_files = 0;
    settings_take_slot(s, id, o);
    for (const char *rest = text, *part; rest;) {
        const size_t len = settings_next_part(&rest, &part, o->source == FROM_ENVIRONMENT);
        if (s->n_rule_files == RULE_FILES_MOST)
            return err_set(e, ERR_USAGE, "more than %d rule files", RULE_FILES_MOST);
        s->rule_files[s->n_rule_files++] = arena_strndup(s->arena, part, len);
    }
    return 0;
}

static void print_rule_files(const struct settings *s, enum setting_id id, struct buf *out)
{
    (void)id;
    for (size_t i = 0; i < s->n_rule_files; i++)
        buf_printf(out, "%s%s", i ? ", " : "", s->rule_files[i]);
}

/* ---- lists of maps: actions, custom rules ---- */

const char *action_setting_get(const struct action_setting *a, const char *key)
{
    const size_t at = FIND_FIRST(i, a->n, strcmp(a->v[i].key, key) == 0);
    return at < a->n ? a->v[at].value : NULL;
}

/* A list of maps: actions, or custom rules. */
struct setting_maps {
    struct action_setting *v;
    size_t *n, most;
    const char *what, *example;
};

static struct setting_maps settings_maps_of(struct settings *s, enum setting_id id)
{
    if (id == SETTING_CUSTOM)
        return (struct setting_maps){s->custom, &s->n_custom, CUSTOM_RULES_MOST, "custom rule",
                                     "name: Hot, metric: gpu.temp, above: 85"};
    return (struct setting_maps){s->actions, &s->n_actions, ACTIONS_MOST, "action",
                                 "do: exec, command: ./notify.sh"};
}

int settings_map_pair(struct settings *s, enum setting_id id, size_t number,
                      const struct action_pair *pair, const struct origin *o, struct err *e)
{
    const struct setting_maps l = settings_maps_of(s, id);
    const bool higher = settings_is_higher(s, id, o);
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
    settings_take_slot(s, id, o);
    return 0;
}

/* An entry as a text: the inside of a YAML map. */
struct setting_map_text {
    struct settings *s;
    enum setting_id id;
    const struct origin *o;
    size_t number;
    struct err *e;
    int rc; /* of the first error */
};

static bool settings_no_section(void *ctx, const char *path)
{
    (void)ctx;
    (void)path;
    return false;
}

static void settings_take_pair(void *ctx, const struct yaml_place *at, const char *text,
                               bool listed)
{
    struct setting_map_text *t = ctx;
    const struct action_pair pair = {at->path, text, listed};
    if (t->rc == 0)
        t->rc = settings_map_pair(t->s, t->id, t->number, &pair, t->o, t->e);
}

static void settings_map_wrong(void *ctx, const struct yaml_place *at, const char *what)
{
    struct setting_map_text *t = ctx;
    (void)at;
    if (t->rc == 0)
        t->rc = err_set(t->e, ERR_USAGE, "%s", what);
}

static void settings_map_nested(void *ctx, const struct yaml_place *at)
{
    settings_map_wrong(ctx, at, "a value cannot be a map");
}

static int settings_parse_map(struct settings *s, enum setting_id id, const char *text,
                              const struct origin *o, struct err *e)
{
    const struct setting_maps l = settings_maps_of(s, id);
    const bool higher = settings_is_higher(s, id, o);
    struct setting_map_text t = {s, id, o, higher ? 0 : *l.n, e, 0};
    const struct yaml_handler h = {&t, settings_no_section, settings_take_pair, settings_map_wrong,
                                   settings_map_nested};
    const char *map =
        *text == '{' ? text : arena_printf(s->arena, "{%s}", text); /* the braces may be left out */
    if (yaml_walk(map, strlen(map), &h, e) != 0 || t.rc != 0)
        return err_set(e, ERR_USAGE, "expected the form '%s'", l.example);
    if (*l.n <= t.number || s->from[id].source != o->source)
        return err_set(e, ERR_USAGE, "the text is empty");
    return 0;
}

static int parse_map(struct settings *s, enum setting_id id, const char *text,
                     const struct origin *o, struct err *e)
{
    const int rc = settings_parse_map(s, id, text, o, e);
    return rc ? err_in(e, "%s", settings_maps_of(s, id).what) : 0;
}

/* Only the kind of an action and the name of a rule: an address, and every other value, may contain
 * a secret. */
static void print_maps(const struct settings *s, enum setting_id id, struct buf *out)
{
    const bool custom = id == SETTING_CUSTOM;
    for (size_t i = 0; i < (custom ? s->n_custom : s->n_actions); i++) {
        const struct action_setting *a = custom ? &s->custom[i] : &s->actions[i];
        const char *shown = action_setting_get(a, custom ? "name" : "do");
        buf_printf(out, "%s%s", i ? ", " : "", shown ? shown : "?");
    }
}

/* ---- the table ---- */

#define ROW(id, slot_, field_, key_, env_, job, parse_, print_, ...)                               \
    [SETTING_##id] = {.key = key_,                                                                 \
                      .env = env_,                                                                 \
                      .of_job = job,                                                               \
                      .slot = SETTING_##slot_,                                                     \
                      .field = offsetof(struct settings, field_),                                  \
                      .option = {__VA_ARGS__},                                                     \
                      .parse = parse_,                                                             \
                      .print = print_},
#define SETTING(id, slot, field, key, env, parse, print, ...)                                      \
    ROW(id, slot, field, key, env, false, parse, print, __VA_ARGS__)
#define SETTING_JOB(id, slot, field, key, env, parse, print, ...)                                  \
    ROW(id, slot, field, key, env, true, parse, print, __VA_ARGS__)
const struct setting settings_table[SETTING_N] = {
#include "config/settings.def"
};

const struct origin *settings_origin(const struct settings *s, enum setting_id id)
{
    return &s->from[settings_table[id].slot];
}

int settings_apply(struct settings *s, enum setting_id id, const char *text, const struct origin *o,
                   struct err *e)
{
    const struct setting *row = &settings_table[id];
    if (o->source < s->from[row->slot].source)
        return 0;
    TRY(row->parse(s, id, text, o, e));
    settings_take_slot(s, id, o);
    return 0;
}

void settings_init(struct settings *s, struct arena *a)
{
    static const struct origin nowhere = {FROM_DEFAULT, ""};
    struct err e;
    *s = (struct settings){.arena = a};
    s->actions = arena_array(a, struct action_setting, ACTIONS_MOST);
    s->custom = arena_array(a, struct action_setting, CUSTOM_RULES_MOST);
    s->problems.arena = s->notes.arena = a;
    for (size_t i = 0; i < SETTING_N; i++) {
        const struct setting *row = &settings_table[i];
        s->from[i] = nowhere;
        if (row->parse == parse_no_switch || row->parse == parse_off_switch)
            *(bool *)settings_field(s, (enum setting_id)i) = true;
        const char *text = row->option.otherwise;
        if (text && settings_apply(s, (enum setting_id)i, text, &nowhere, &e) != 0)
            remarks_add(&s->problems, "default of %s: %s", row->option.name, e.msg);
    }
}
