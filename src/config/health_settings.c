/* SPDX-License-Identifier: Apache-2.0 */
/* health_settings.c - how the settings of training health are parsed, printed, and written for the
 * hooks: "health" of config.json. See settings.h.
 *
 *     {"mode":"auto", "budget":0.005, "every":50, "include":[REGEX...], "exclude":[REGEX...],
 *      "collections":["gradients", "NAME=REGEX"],
 *      "save":{"tensors":[REGEX...], "steps":[{"start":100, "count":3}...], "limit":BYTES,
 *              "ranks":[0]}}
 *
 * "save" is there when tensors are to be saved; without "ranks" all ranks do. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "config/settings.h"

const char *const health_mode_names[] = {"auto", "on", "off", NULL};

static const double BUDGET_LARGEST = 100; /* % */
static const int64_t EVERY_LARGEST = 1000000000;

int health_parse_mode(struct settings *s, enum setting_id id, const char *text,
                      const struct origin *o, struct err *e)
{
    (void)id, (void)o;
    for (int i = 0; health_mode_names[i]; i++)
        if (strcmp(text, health_mode_names[i]) == 0) {
            s->health = (enum health_mode)i;
            return 0;
        }
    return err_set(e, ERR_USAGE, "'%.60s' is not auto, on or off", text);
}

void health_print_mode(const struct settings *s, enum setting_id id, struct buf *out)
{
    (void)id;
    buf_printf(out, "%s", health_mode_names[s->health]);
}

/* In percent, with or without the sign. */
int health_parse_budget(struct settings *s, enum setting_id id, const char *text,
                        const struct origin *o, struct err *e)
{
    (void)id, (void)o;
    char *end;
    const double v = strtod(text, &end);
    end += strspn(end, " ");
    end += *end == '%';
    if (*end || text[strspn(text, "0123456789.eE+- %")] || !(v > 0 && v <= BUDGET_LARGEST))
        return err_set(e, ERR_USAGE,
                       "'%.60s' is not a share of the loop; write a percentage, for example 0.5%%",
                       text);
    s->health_percent = v;
    return 0;
}

void health_print_budget(const struct settings *s, enum setting_id id, struct buf *out)
{
    (void)id;
    buf_printf(out, "%g%%", s->health_percent);
}

int health_parse_every(struct settings *s, enum setting_id id, const char *text,
                       const struct origin *o, struct err *e)
{
    (void)id, (void)o;
    char *end;
    const long long v = strtoll(text, &end, 10);
    if (!*text || *end || text[strspn(text, "0123456789")] || v < 1 || v > EVERY_LARGEST)
        return err_set(e, ERR_USAGE, "'%.60s' is not a number of steps, 1 or more", text);
    s->health_every = v;
    return 0;
}

void health_print_every(const struct settings *s, enum setting_id id, struct buf *out)
{
    (void)id;
    buf_printf(out, "%" PRId64, s->health_every);
}

/* ---- lists ---- */

static struct health_filter *health_filter_of(struct settings *s, enum setting_id id)
{
    return (struct health_filter *)(void *)((char *)s + settings_table[id].field);
}

/* Collections may be in one text with commas between. A regex may contain a comma. */
int health_parse_filter(struct settings *s, enum setting_id id, const char *text,
                        const struct origin *o, struct err *e)
{
    struct health_filter *f = health_filter_of(s, id);
    if (settings_origin(s, id)->source < o->source)
        f->n = 0;
    s->from[settings_table[id].slot] = *o;
    while (*text) {
        const size_t len = id == SETTING_HEALTH_COLLECTIONS ? strcspn(text, ",") : strlen(text);
        if (f->n == HEALTH_FILTERS_MOST)
            return err_set(e, ERR_USAGE, "more than %d entries", HEALTH_FILTERS_MOST);
        if (len > 0)
            f->v[f->n++] = arena_strndup(s->arena, text, len);
        text += len;
        text += *text == ',';
    }
    return 0;
}

void health_print_filter(const struct settings *s, enum setting_id id, struct buf *out)
{
    const struct health_filter *f =
        (const struct health_filter *)(const void *)((const char *)s + settings_table[id].field);
    for (size_t i = 0; i < f->n; i++)
        buf_printf(out, "%s%s", i ? ", " : "", f->v[i]);
}

/* ---- saved tensors ---- */

static const uint64_t SAVE_BYTES_MOST = UINT64_C(1) << 40;

int health_parse_save_steps(struct settings *s, enum setting_id id, const char *text,
                            const struct origin *o, struct err *e)
{
    const bool higher = settings_origin(s, id)->source < o->source;
    struct window_list l = higher ? (struct window_list){0} : s->save_steps;
    TRY(window_list_parse(&l, text, WINDOWS_OF_STEPS, false, e));
    for (size_t i = 0; i < l.n; i++)
        if (l.v[i].start != START_STEP || l.v[i].steps == 0)
            return err_set(e, ERR_USAGE, "'%.60s' is not START:COUNT, for example 100:3", text);
    s->save_steps = l;
    return 0;
}

void health_print_save_steps(const struct settings *s, enum setting_id id, struct buf *out)
{
    (void)id;
    for (size_t i = 0; i < s->save_steps.n; i++) {
        buf_printf(out, "%s", i ? ", " : "");
        window_print(out, &s->save_steps.v[i]);
    }
}

int health_parse_save_limit(struct settings *s, enum setting_id id, const char *text,
                            const struct origin *o, struct err *e)
{
    (void)id, (void)o;
    uint64_t v;
    if (!bytes_parse(text, "", &v) || v > SAVE_BYTES_MOST)
        return err_set(e, ERR_USAGE, "'%.60s' is not a size up to 1024GiB, for example 64MiB",
                       text);
    s->save_bytes = (int64_t)v;
    return 0;
}

static const struct {
    const char *name;
    int64_t bytes;
} size_units[] = {{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"", 1}};

void health_print_save_limit(const struct settings *s, enum setting_id id, struct buf *out)
{
    size_t i = 0;
    (void)id;
    while (size_units[i].bytes > 1 && (s->save_bytes == 0 || s->save_bytes % size_units[i].bytes))
        i++;
    buf_printf(out, "%" PRId64 "%s", s->save_bytes / size_units[i].bytes, size_units[i].name);
}

/* ---- for the hooks ---- */

static void health_put_filter(struct jw *j, const char *key, const struct health_filter *f)
{
    if (f->n)
        jw_texts(j, key, f->v, f->n);
}

static void health_put_save(struct jw *j, const struct settings *s)
{
    if (s->save_tensors.n == 0)
        return;
    jw_object(j, "save");
    health_put_filter(j, "tensors", &s->save_tensors);
    jw_array(j, "steps");
    for (size_t i = 0; i < s->save_steps.n; i++) {
        jw_object(j, NULL);
        jw_int(j, "start", s->save_steps.v[i].at);
        jw_int(j, "count", s->save_steps.v[i].steps);
        jw_end(j);
    }
    jw_end(j);
    jw_int(j, "limit", s->save_bytes);
    if (s->save_ranks.n)
        jw_array(j, "ranks");
    for (size_t i = 0; i < s->save_ranks.n; i++)
        jw_int(j, NULL, s->save_ranks.v[i]);
    if (s->save_ranks.n)
        jw_end(j);
    jw_end(j);
}

void health_put_settings(struct jw *j, const struct settings *s)
{
    jw_object(j, "health");
    jw_str(j, "mode", health_mode_names[s->health]);
    jw_num(j, "budget", s->health_percent / 100);
    jw_int(j, "every", s->health_every);
    health_put_filter(j, "include", &s->health_include);
    health_put_filter(j, "exclude", &s->health_exclude);
    health_put_filter(j, "collections", &s->health_collections);
    health_put_save(j, s);
    jw_end(j);
}
