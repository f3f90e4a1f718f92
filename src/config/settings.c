/* SPDX-License-Identifier: Apache-2.0 */
/* settings.c - the table, and how each value is read and printed. See settings.h. */
#include "config/settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/duration.h"
#include "base/mem.h"
#include "config/price.h"
#include "config/settings_internal.h"

const char *const setting_source_names[SOURCE_N] = {
    [FROM_DEFAULT] = "default",     [FROM_PROFILERCONFIG] = "profilerconfig.json",
    [FROM_FILE] = "footplate.yaml", [FROM_ENVIRONMENT] = "environment",
    [FROM_OPTION] = "command line",
};

bool take_slot(struct settings *s, enum setting_id slot, const struct origin *o)
{
    const bool higher = s->from[slot].source < o->source;
    s->from[slot] = *o;
    return higher;
}

/* ------------------------------------------------------------------------------------------------
 * Texts */

static int settings_keep_text(struct settings *s, enum setting_id slot, const char **to,
                              const char *text, const struct origin *o, struct err *e)
{
    if (!*text)
        return err_set(e, ERR_USAGE, "the value is empty");
    *to = arena_strdup(s->arena, text);
    take_slot(s, slot, o);
    return 0;
}

static int parse_name(struct settings *s, const char *text, const struct origin *o, struct err *e)
{
    return settings_keep_text(s, SETTING_NAME, &s->name, text, o, e);
}

static int parse_dir(struct settings *s, const char *text, const struct origin *o, struct err *e)
{
    return settings_keep_text(s, SETTING_DIR, &s->dir, text, o, e);
}

static int parse_run(struct settings *s, const char *text, const struct origin *o, struct err *e)
{
    return settings_keep_text(s, SETTING_RUN, &s->run_id, text, o, e);
}

static int parse_node(struct settings *s, const char *text, const struct origin *o, struct err *e)
{
    return settings_keep_text(s, SETTING_NODE, &s->node_id, text, o, e);
}

static int parse_config(struct settings *s, const char *text, const struct origin *o, struct err *e)
{
    return settings_keep_text(s, SETTING_CONFIG, &s->file, text, o, e);
}

static int parse_machine(struct settings *s, const char *text, const struct origin *o,
                         struct err *e)
{
    return settings_keep_text(s, SETTING_MACHINE, &s->machine, text, o, e);
}

static void print_machine(const struct settings *s, struct buf *out)
{
    buf_printf(out, "%s", s->machine ? s->machine : "");
}

static int parse_price(struct settings *s, const char *text, const struct origin *o, struct err *e)
{
    if (price_parse(text, &s->price_per_hour, e) != 0)
        return e->code;
    take_slot(s, SETTING_PRICE, o);
    return 0;
}

static void print_price(const struct settings *s, struct buf *out)
{
    if (s->price_per_hour > 0)
        buf_printf(out, "%g", s->price_per_hour);
}

static int parse_currency(struct settings *s, const char *text, const struct origin *o,
                          struct err *e)
{
    if (currency_parse(text, s->currency, e) != 0)
        return e->code;
    take_slot(s, SETTING_CURRENCY, o);
    return 0;
}

static void print_currency(const struct settings *s, struct buf *out)
{
    buf_printf(out, "%s", s->currency);
}

static void print_name(const struct settings *s, struct buf *out)
{
    buf_printf(out, "%s", s->name ? s->name : "");
}

static void print_dir(const struct settings *s, struct buf *out)
{
    buf_printf(out, "%s", s->dir);
}

static void print_run(const struct settings *s, struct buf *out)
{
    buf_printf(out, "%s", s->run_id ? s->run_id : "");
}

static void print_node(const struct settings *s, struct buf *out)
{
    buf_printf(out, "%s", s->node_id ? s->node_id : "");
}

static void print_config(const struct settings *s, struct buf *out)
{
    buf_printf(out, "%s", s->file ? s->file : "");
}

/* ------------------------------------------------------------------------------------------------
 * Interval, hooks */

static int parse_interval(struct settings *s, const char *text, const struct origin *o,
                          struct err *e)
{
    int64_t ns;
    if (duration_parse(text, &ns, e) != 0)
        return e->code;
    if ((ns < INTERVAL_MIN_NS || ns > INTERVAL_MAX_NS) && duration_lacks_unit(text))
        return err_set(e, ERR_USAGE, "'%s' has no unit; write %ss or 500ms", text, text);
    if (ns < INTERVAL_MIN_NS || ns > INTERVAL_MAX_NS)
        return err_set(e, ERR_USAGE, "'%s' is not a time from %d ms to %d s", text,
                       (int)(INTERVAL_MIN_NS / NS_PER_MS), (int)(INTERVAL_MAX_NS / NS_PER_S));
    s->interval_ns = ns;
    take_slot(s, SETTING_INTERVAL, o);
    return 0;
}

void print_time(int64_t ns, struct buf *out)
{
    if (ns % NS_PER_S == 0)
        buf_printf(out, "%" PRId64 "s", ns / NS_PER_S);
    else
        buf_printf(out, "%gms", (double)ns / 1e6);
}

static void print_interval(const struct settings *s, struct buf *out)
{
    print_time(s->interval_ns, out);
}

static const struct {
    const char *word;
    bool means;
} switches[] = {
    {"on", true},   {"true", true},   {"yes", true}, {"1", true},
    {"off", false}, {"false", false}, {"no", false}, {"0", false},
};

int parse_switch(const char *text, bool *out, struct err *e)
{
    for (size_t i = 0; i < COUNT_OF(switches); i++)
        if (strcasecmp(switches[i].word, text) == 0) {
            *out = switches[i].means;
            return 0;
        }
    return err_set(e, ERR_USAGE, "'%.60s' is neither on nor off", text);
}

static int parse_hooks(struct settings *s, const char *text, const struct origin *o, struct err *e)
{
    bool on = false;
    if (parse_switch(text, &on, e) != 0)
        return e->code;
    /* The variable and the option are named for the opposite. */
    const bool opposite = o->source == FROM_ENVIRONMENT || o->source == FROM_OPTION;
    s->hooks = on != opposite;
    take_slot(s, SETTING_HOOKS, o);
    return 0;
}

static void print_hooks(const struct settings *s, struct buf *out)
{
    buf_printf(out, s->hooks ? "on" : "off");
}

static int parse_require(struct settings *s, const char *text, const struct origin *o,
                         struct err *e)
{
    if (parse_switch(text, &s->require_recording, e) != 0)
        return e->code;
    take_slot(s, SETTING_REQUIRE, o);
    return 0;
}

static void print_require(const struct settings *s, struct buf *out)
{
    buf_printf(out, s->require_recording ? "yes" : "no");
}

/* ------------------------------------------------------------------------------------------------
 * Labels */

static int set_label(struct settings *s, const char *text, size_t len, struct err *e)
{
    const char *equals = memchr(text, '=', len);
    if (!equals || equals == text)
        return err_set(e, ERR_USAGE, "'%.*s' is not of the form KEY=VALUE",
                       (int)MIN_OF(len, (size_t)100), text);
    char *key = arena_strndup(s->arena, text, (size_t)(equals - text));
    size_t i = 0;
    while (i < s->n_labels && strcmp(s->labels[i].key, key) != 0)
        i++;
    if (i == SETTINGS_LABELS_MOST)
        return err_set(e, ERR_USAGE, "more than %d labels", SETTINGS_LABELS_MOST);
    s->labels[i].key = key;
    s->labels[i].value = arena_strndup(s->arena, equals + 1, len - (size_t)(equals + 1 - text));
    s->n_labels = MAX_OF(s->n_labels, i + 1);
    return 0;
}

/* In the environment there is one variable for all, with commas between. */
static int parse_label(struct settings *s, const char *text, const struct origin *o, struct err *e)
{
    for (const char *p = text; p;) {
        const char *comma = o->source == FROM_ENVIRONMENT ? strchr(p, ',') : NULL;
        if (set_label(s, p, comma ? (size_t)(comma - p) : strlen(p), e) != 0)
            return e->code;
        p = comma ? comma + 1 : NULL;
    }
    take_slot(s, SETTING_LABEL, o);
    return 0;
}

static void print_labels(const struct settings *s, struct buf *out)
{
    for (size_t i = 0; i < s->n_labels; i++)
        buf_printf(out, "%s%s=%s", i ? ", " : "", s->labels[i].key, s->labels[i].value);
}

/* ------------------------------------------------------------------------------------------------
 * Windows */

static int add_detail(struct settings *s, const char *text, enum window_kinds kinds,
                      const struct origin *o, struct err *e)
{
    const bool higher = s->from[SETTING_DETAIL_STEPS].source < o->source;
    struct window_list l = higher ? (struct window_list){0} : s->detail;
    if (window_list_parse(&l, text, kinds, e) != 0)
        return e->code;
    s->detail = l;
    take_slot(s, SETTING_DETAIL_STEPS, o);
    return 0;
}

static int parse_detail_steps(struct settings *s, const char *text, const struct origin *o,
                              struct err *e)
{
    return add_detail(s, text, WINDOWS_OF_STEPS, o, e);
}

static int parse_detail_at(struct settings *s, const char *text, const struct origin *o,
                           struct err *e)
{
    return add_detail(s, text, WINDOWS_OF_TIMES, o, e);
}

static void print_windows(const struct window_list *l, bool timed, struct buf *out)
{
    const size_t from = out->len;
    for (size_t i = 0; i < l->n; i++) {
        if (window_is_timed(&l->v[i]) != timed)
            continue;
        buf_printf(out, "%s", out->len > from ? ", " : "");
        window_print(out, &l->v[i]);
    }
}

static void print_detail_steps(const struct settings *s, struct buf *out)
{
    print_windows(&s->detail, false, out);
}

static void print_detail_at(const struct settings *s, struct buf *out)
{
    print_windows(&s->detail, true, out);
}

static int add_python(struct settings *s, const char *text, enum window_kinds kinds,
                      const struct origin *o, struct err *e)
{
    const bool higher = s->from[SETTING_PYTHON_STEPS].source < o->source;
    struct python_list l = higher ? (struct python_list){0} : s->python;
    if (python_list_parse(&l, text, kinds, e) != 0)
        return e->code;
    s->python = l;
    take_slot(s, SETTING_PYTHON_STEPS, o);
    return 0;
}

static int parse_python_steps(struct settings *s, const char *text, const struct origin *o,
                              struct err *e)
{
    return add_python(s, text, WINDOWS_OF_STEPS, o, e);
}

static int parse_python_at(struct settings *s, const char *text, const struct origin *o,
                           struct err *e)
{
    return add_python(s, text, WINDOWS_OF_TIMES, o, e);
}

static void print_python(const struct python_list *l, bool timed, struct buf *out)
{
    const size_t from = out->len;
    for (size_t i = 0; i < l->n; i++) {
        if (window_is_timed(&l->v[i].w) != timed)
            continue;
        buf_printf(out, "%s", out->len > from ? ", " : "");
        python_window_print(out, &l->v[i]);
    }
}

static void print_python_steps(const struct settings *s, struct buf *out)
{
    print_python(&s->python, false, out);
}

static void print_python_at(const struct settings *s, struct buf *out)
{
    print_python(&s->python, true, out);
}

/* ------------------------------------------------------------------------------------------------
 * Ranks */

/* "7" or "0-3", spaces around; false when it is neither. */
static bool read_ranks(const char *p, size_t len, int *first, int *last)
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

static int add_ranks(struct rank_list *l, const char *p, size_t len, struct err *e)
{
    int first, last;
    if (!read_ranks(p, len, &first, &last))
        return err_set(e, ERR_USAGE, "'%.*s' is not a rank; write 0,1 or 0-3 or all",
                       (int)MIN_OF(len, (size_t)40), p);
    for (int r = first; r <= last; r++) {
        size_t i = 0;
        while (i < l->n && l->v[i] != r)
            i++;
        if (i == RANKS_MOST)
            return err_set(e, ERR_USAGE, "more than %d ranks", RANKS_MOST);
        l->v[i] = r;
        l->n = MAX_OF(l->n, i + 1);
    }
    return 0;
}

/* "all" among others means all. */
static int parse_detail_ranks(struct settings *s, const char *text, const struct origin *o,
                              struct err *e)
{
    const bool higher = s->from[SETTING_DETAIL_RANKS].source < o->source;
    struct rank_list l = higher ? (struct rank_list){0} : s->detail_ranks;
    bool all = !higher && o->source != FROM_DEFAULT && l.n == 0;
    for (const char *p = text; p;) {
        const char *comma = strchr(p, ',');
        const size_t len = comma ? (size_t)(comma - p) : strlen(p);
        const size_t skip = MIN_OF(strspn(p, " "), len);
        if (len - skip == 3 && memcmp(p + skip, "all", 3) == 0)
            all = true;
        else if (add_ranks(&l, p, len, e) != 0)
            return e->code;
        p = comma ? comma + 1 : NULL;
    }
    if (all)
        l.n = 0;
    s->detail_ranks = l;
    take_slot(s, SETTING_DETAIL_RANKS, o);
    return 0;
}

static void print_detail_ranks(const struct settings *s, struct buf *out)
{
    if (s->detail_ranks.n == 0)
        buf_printf(out, "all");
    for (size_t i = 0; i < s->detail_ranks.n; i++)
        buf_printf(out, "%s%" PRId32, i ? "," : "", s->detail_ranks.v[i]);
}

/* ------------------------------------------------------------------------------------------------
 * The table */

#define ROW(id, slot_, key_, env_, job, parse_, print_, ...)                                       \
    [SETTING_##id] = {.key = key_,                                                                 \
                      .env = env_,                                                                 \
                      .of_job = job,                                                               \
                      .slot = SETTING_##slot_,                                                     \
                      .option = {__VA_ARGS__},                                                     \
                      .parse = parse_,                                                             \
                      .print = print_},
#define SETTING(id, slot, key, env, parse, print, ...)                                             \
    ROW(id, slot, key, env, false, parse, print, __VA_ARGS__)
#define SETTING_JOB(id, slot, key, env, parse, print, ...)                                         \
    ROW(id, slot, key, env, true, parse, print, __VA_ARGS__)
const struct setting settings_table[SETTING_N] = {
#include "config/settings.def"
};
#undef SETTING
#undef SETTING_JOB

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
    return row->parse(s, text, o, e);
}

void settings_init(struct settings *s, struct arena *a)
{
    static const struct origin nowhere = {FROM_DEFAULT, ""};
    struct err e;
    *s = (struct settings){.hooks = true, .rules = true, .report = true, .arena = a};
    s->actions = arena_array(a, struct action_setting, ACTIONS_MOST);
    s->custom = arena_array(a, struct action_setting, CUSTOM_RULES_MOST);
    s->problems.arena = s->notes.arena = a;
    for (size_t i = 0; i < SETTING_N; i++) {
        s->from[i] = nowhere;
        const char *text = settings_table[i].option.otherwise;
        if (text && settings_apply(s, (enum setting_id)i, text, &nowhere, &e) != 0)
            remarks_add(&s->problems, "default of %s: %s", settings_table[i].option.name, e.msg);
    }
}
