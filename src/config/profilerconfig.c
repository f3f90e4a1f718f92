/* SPDX-License-Identifier: Apache-2.0 */
/* profilerconfig.c - SageMaker's profilerconfig.json: parsed, then applied to settings. See
 * profilerconfig.h and settings.h. */
#include "config/profilerconfig.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "config/settings.h"

const char *const sm_part_names[SM_PARTS] = {
    [SM_DETAIL] = "DetailedProfilingConfig", [SM_DATALOADER] = "DataloaderProfilingConfig",
    [SM_PYTHON] = "PythonProfilingConfig",   [SM_SMDATAPARALLEL] = "SMDataParallelProfilingConfig",
    [SM_HOROVOD] = "HorovodProfilingConfig",
};

/* ---- values ---- */

/* The member of that name in any case; NULL when it is absent or null. Of several the last counts,
 * as it does where the text is lower-cased first. */
static json_t *member(json_t *object, const char *name)
{
    json_t *found = NULL, *v;
    const char *key;
    json_object_foreach(object, key, v)
    {
        if (strcasecmp(key, name) == 0)
            found = v;
    }
    return json_is_null(found) ? NULL : found;
}

/* A number, or a text that is one. true and false are not. */
static bool profilerconfig_number_of(const json_t *v, double *out)
{
    if (json_is_string(v))
        return number_parse(json_string_value(v), json_string_length(v), out);
    if (!json_is_number(v))
        return false;
    *out = json_number_value(v);
    return isfinite(*out);
}

/* As Python's int(float(v)): the fraction is cut off. */
static bool whole_of(const json_t *v, double most, int64_t *out)
{
    double d;
    if (!profilerconfig_number_of(v, &d) || fabs(d) > most)
        return false;
    *out = (int64_t)d;
    return true;
}

static bool truth_of(const json_t *v, bool *out)
{
    const char *s = json_string_value(v);
    if (json_is_boolean(v))
        *out = json_is_true(v);
    else if (s && (strcasecmp(s, "true") == 0 || strcasecmp(s, "false") == 0))
        *out = strcasecmp(s, "true") == 0;
    else
        return false;
    return true;
}

/* The dict, or the one in a text; a new reference. NULL with a sentence. */
static json_t *dict_of(json_t *v, struct err *e)
{
    json_t *d = NULL;
    if (json_is_object(v))
        return json_incref(v);
    if (!json_is_string(v)) {
        err_set(e, ERR_FORMAT, "is not a dict");
        return NULL;
    }
    if (literal_parse(json_string_value(v), json_string_length(v), &d, e) != 0) {
        err_in(e, "is not a dict");
        return NULL;
    }
    if (!json_is_object(d)) {
        err_set(e, ERR_FORMAT, "is not a dict");
        json_decref(d);
        return NULL;
    }
    return d;
}

/* ---- a part's range ---- */

struct sm_given {
    bool start_step, steps, start_time, duration;
    int64_t first, count; /* of steps */
    double start_s, duration_s;
};

static int profilerconfig_wrong(struct err *e, const char *name, const char *should)
{
    return err_set(e, ERR_FORMAT, "%s is not %s", name, should);
}

static int read_steps(json_t *d, struct sm_given *g, struct err *e)
{
    json_t *start = member(d, "StartStep"), *count = member(d, "NumSteps");
    if (start && (!whole_of(start, (double)WINDOW_STEP_MOST, &g->first) || g->first < 0))
        return profilerconfig_wrong(e, "StartStep", "a step number, 0 or more");
    if (count && (!whole_of(count, (double)WINDOW_STEPS_MOST, &g->count) || g->count < 1))
        return profilerconfig_wrong(e, "NumSteps", "a number of steps, 1 or more");
    g->start_step = start;
    g->steps = count;
    return 0;
}

/* The SDK writes Duration, the training side reads DurationInSeconds: both count. */
static int read_times(json_t *d, struct sm_given *g, struct err *e)
{
    json_t *start = member(d, "StartTimeInSecSinceEpoch");
    json_t *duration = member(d, "DurationInSeconds");
    if (!duration)
        duration = member(d, "Duration");
    if (start &&
        (!profilerconfig_number_of(start, &g->start_s) ||
         g->start_s < (double)WINDOW_WALL_LEAST_S || g->start_s > (double)WINDOW_WALL_MOST_S))
        return profilerconfig_wrong(e, "StartTimeInSecSinceEpoch",
                                    "a time in seconds since the epoch");
    if (duration && (!profilerconfig_number_of(duration, &g->duration_s) || g->duration_s < 1e-6 ||
                     g->duration_s > (double)WINDOW_SPAN_MOST_NS / 1e9))
        return profilerconfig_wrong(e, "DurationInSeconds",
                                    "a duration above 0 s and at most one day");
    g->start_time = start;
    g->duration = duration;
    return 0;
}

/* What is given, what is profiled. */
static int profilerconfig_resolve(const struct sm_given *g, struct sm_range *out, struct err *e)
{
    const bool by_step = g->start_step || g->steps, by_time = g->start_time || g->duration;
    struct window *w = &out->window;
    if (by_step && by_time)
        return err_set(e, ERR_FORMAT, "sets both steps and times");
    out->fires = by_step || by_time;
    if (by_step) {
        w->start = g->start_step ? START_STEP : START_NOW;
        w->at = g->first;
        w->steps = g->steps ? g->count : 1;
    } else if (by_time) {
        w->start = g->start_time ? START_WALL : START_NOW;
        w->at = (int64_t)(g->start_s * 1e6) * NS_PER_US;
        w->span_ns = (int64_t)(g->duration_s * 1e6) * NS_PER_US;
        w->steps = g->duration ? 0 : 1;
    }
    return 0;
}

/* ---- a part's other fields ---- */

struct sm_word {
    const char *word;
    int means;
};

/* Where the file's text is lower-cased first, case is ignored. */
static int read_word(json_t *v, const char *name, const struct sm_word *words, int *out,
                     struct err *e)
{
    const char *s = json_string_value(v);
    if (!v)
        return 0;
    for (; s && words->word; words++) {
        if (strcasecmp(words->word, s) == 0) {
            *out = words->means;
            return 0;
        }
    }
    if (!s)
        return profilerconfig_wrong(e, name, "a string");
    return err_set(e, ERR_FORMAT, "unknown %s '%.60s'", name, s);
}

static const struct sm_word profilers[] = {
    {"cprofile", PROFILER_CPROFILE},
    {"pyinstrument", PROFILER_SAMPLING},
    {0},
};

/* The short ones are those of SageMaker's documentation. */
static const struct sm_word timers[] = {
    {"total_time", TIMER_TOTAL},     {"cpu_time", TIMER_CPU},
    {"off_cpu_time", TIMER_OFF_CPU}, {"default", TIMER_EACH},
    {"total", TIMER_TOTAL},          {"cpu", TIMER_CPU},
    {"off_cpu", TIMER_OFF_CPU},      {0},
};

static int profilerconfig_read_python(json_t *d, struct sm_range *out, struct err *e)
{
    int profiler = PROFILER_CPROFILE, timer = TIMER_TOTAL;
    if (read_word(member(d, "ProfilerName"), "ProfilerName", profilers, &profiler, e) != 0 ||
        read_word(member(d, "cProfileTimer"), "cProfileTimer", timers, &timer, e) != 0)
        return e->code;
    out->window.profiler = (enum python_profiler)profiler;
    out->window.timer = profiler == PROFILER_CPROFILE ? (enum python_timer)timer : TIMER_TOTAL;
    return 0;
}

static int read_regex(json_t *d, struct sm_range *out, struct arena *a, struct err *e)
{
    json_t *v = member(d, "MetricsRegex");
    if (!v)
        return 0;
    if (!json_is_string(v))
        return profilerconfig_wrong(e, "MetricsRegex", "a string");
    out->regex = arena_strdup(a, json_string_value(v));
    return 0;
}

static int read_dict(json_t *d, enum sm_part part, struct sm_range *out, struct arena *a,
                     struct err *e)
{
    struct sm_given g = {0};
    out->enabled = true;
    TRY(read_steps(d, &g, e));
    TRY(read_times(d, &g, e));
    TRY(profilerconfig_resolve(&g, out, e));
    if (part == SM_PYTHON)
        return profilerconfig_read_python(d, out, e);
    return part == SM_DATALOADER ? read_regex(d, out, a, e) : 0;
}

static int profilerconfig_read_part(json_t *v, enum sm_part part, struct sm_range *out,
                                    struct arena *a, struct err *e)
{
    struct sm_range r = {0};
    json_t *d = dict_of(v, e);
    if (!d)
        return e->code;
    const int rc = json_object_size(d) > 0 ? read_dict(d, part, &r, a, e) : 0;
    json_decref(d);
    if (rc == 0)
        *out = r;
    return rc;
}

/* ---- the file ---- */

static void read_parameters(json_t *p, struct profilerconfig *c, struct remarks *problems)
{
    struct err e;
    c->has_parameters = json_object_size(p) > 0;
    for (size_t i = 0; i < SM_PARTS; i++) {
        json_t *v = member(p, sm_part_names[i]);
        if (v &&
            profilerconfig_read_part(v, (enum sm_part)i, &c->part[i], problems->arena, &e) != 0)
            remarks_add(problems, "%s: %s; ignored", sm_part_names[i], e.msg);
    }
}

static void read_interval(json_t *v, struct profilerconfig *c, struct remarks *problems)
{
    double ms;
    if (!v)
        return;
    if (profilerconfig_number_of(v, &ms) && ms * 1e6 >= (double)INTERVAL_MIN_NS &&
        ms * 1e6 <= (double)INTERVAL_MAX_NS)
        c->interval_ns = (int64_t)(ms * 1e6);
    else
        remarks_add(problems, "ProfilingIntervalInMilliseconds is not between %d and %d; ignored",
                    (int)(INTERVAL_MIN_NS / NS_PER_MS), (int)(INTERVAL_MAX_NS / NS_PER_MS));
}

static void profilerconfig_read_root(json_t *root, struct profilerconfig *c,
                                     struct remarks *problems)
{
    struct err e;
    json_t *disable = member(root, "DisableProfiler"), *v = member(root, "ProfilingParameters");
    if (disable && !truth_of(disable, &c->disabled))
        remarks_add(problems, "DisableProfiler is neither true nor false; ignored");
    read_interval(member(root, "ProfilingIntervalInMilliseconds"), c, problems);
    json_t *p = v ? dict_of(v, &e) : json_object();
    if (!p)
        remarks_add(problems, "ProfilingParameters: %s; ignored", e.msg);
    else
        read_parameters(p, c, problems);
    json_decref(p);
}

int profilerconfig_parse(const char *text, size_t len, struct profilerconfig *out,
                         struct remarks *problems, struct err *e)
{
    json_error_t why;
    struct profilerconfig c = {0};
    if (len > PROFILERCONFIG_MOST)
        return err_set(e, ERR_LIMIT, "longer than %d bytes", PROFILERCONFIG_MOST);
    json_t *root = json_loadb(text, len, 0, &why);
    if (!root)
        return err_set(e, ERR_FORMAT, "line %d, column %d: %s", why.line, why.column, why.text);
    if (!json_is_object(root)) {
        json_decref(root);
        return err_set(e, ERR_FORMAT, "not a JSON object");
    }
    profilerconfig_read_root(root, &c, problems);
    json_decref(root);
    *out = c;
    return 0;
}

/* ---- into settings ---- */

static struct origin profilerconfig_origin(struct settings *s, const char *name, const char *what)
{
    return (struct origin){FROM_PROFILERCONFIG, arena_printf(s->arena, "%s, %s", name, what)};
}

/* The lowest source but the defaults: no other source has set anything yet. */
static void config_take_interval(struct settings *s, const struct profilerconfig *c,
                                 const char *name)
{
    if (c->interval_ns == 0)
        return;
    s->interval_ns = c->interval_ns;
    s->from[SETTING_INTERVAL] = profilerconfig_origin(s, name, "ProfilingIntervalInMilliseconds");
}

static void config_take_window(struct settings *s, const struct profilerconfig *c,
                               enum sm_part part, const char *name)
{
    const bool python = part == SM_PYTHON;
    if (!c->part[part].fires)
        return;
    *(python ? &s->python : &s->detail) = (struct window_list){.n = 1, .v = {c->part[part].window}};
    s->from[python ? SETTING_PYTHON_STEPS : SETTING_DETAIL_STEPS] =
        profilerconfig_origin(s, name, sm_part_names[part]);
}

static const char *const part_notes[SM_PARTS] = {
    [SM_DATALOADER] = "data loading is always recorded in every step; the window is ignored",
    [SM_SMDATAPARALLEL] = "collectives are always recorded in every step; the window is ignored",
    [SM_HOROVOD] = "collectives are always recorded in every step; the window is ignored",
};

static void profilerconfig_note_range(struct settings *s, const struct sm_range *r,
                                      enum sm_part part, const char *name)
{
    struct buf b = {0};
    if (!r->enabled)
        return;
    if (!r->fires) {
        remarks_add(&s->notes, "%s: %s has no range, so it never starts", name,
                    sm_part_names[part]);
        return;
    }
    if (!part_notes[part])
        return;
    window_print(&b, &r->window);
    remarks_add(&s->notes, "%s: %s (%.*s)%s%s: %s", name, sm_part_names[part], (int)b.len,
                (const char *)b.p, r->regex ? " of " : "", r->regex ? r->regex : "",
                part_notes[part]);
    buf_free(&b);
}

static void config_take_parts(struct settings *s, const struct profilerconfig *c, const char *name)
{
    config_take_interval(s, c, name);
    config_take_window(s, c, SM_DETAIL, name);
    config_take_window(s, c, SM_PYTHON, name);
    for (int i = 0; i < SM_PARTS; i++)
        profilerconfig_note_range(s, &c->part[i], (enum sm_part)i, name);
    if (!c->has_parameters)
        remarks_add(&s->notes, "%s: ProfilingParameters is empty, so no details are recorded",
                    name);
}

void settings_take_profilerconfig(struct settings *s, const char *text, size_t len,
                                  const char *name)
{
    struct profilerconfig c;
    struct remarks wrong = {.arena = s->arena};
    struct err e;
    if (profilerconfig_parse(text, len, &c, &wrong, &e) != 0) {
        remarks_add(&s->problems, "%s: %s; the file is ignored", name, e.msg);
        return;
    }
    for (size_t i = 0; i < wrong.n; i++)
        remarks_add(&s->problems, "%s: %s", name, wrong.v[i]);
    if (!c.disabled) {
        config_take_parts(s, &c, name);
        return;
    }
    s->hooks = false;
    s->from[SETTING_HOOKS] = profilerconfig_origin(s, name, "DisableProfiler");
    remarks_add(
        &s->notes,
        "%s: DisableProfiler is true: hooks are disabled, and the rest of the file is ignored",
        name);
}
