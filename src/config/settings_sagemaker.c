/* SPDX-License-Identifier: Apache-2.0 */
/* settings_sagemaker.c - profilerconfig.json into settings. See settings.h. */
#include "config/profilerconfig.h"
#include "config/settings.h"

static struct origin origin_of(struct settings *s, const char *name, const char *what)
{
    return (struct origin){FROM_PROFILERCONFIG, arena_printf(s->arena, "%s, %s", name, what)};
}

/* The lowest source but the defaults: nothing was put there yet. */
static void take_interval(struct settings *s, const struct profilerconfig *c, const char *name)
{
    if (c->interval_ns == 0)
        return;
    s->interval_ns = c->interval_ns;
    s->from[SETTING_INTERVAL] = origin_of(s, name, "ProfilingIntervalInMilliseconds");
}

static void take_detail(struct settings *s, const struct sm_range *r, const char *name)
{
    if (!r->fires)
        return;
    s->detail = (struct window_list){.n = 1, .v = {r->window}};
    s->from[SETTING_DETAIL_STEPS] = origin_of(s, name, sm_part_names[SM_DETAIL]);
}

static void take_python(struct settings *s, const struct sm_range *r, const char *name)
{
    if (!r->fires)
        return;
    s->python = (struct python_list){.n = 1, .v = {{r->window, r->profiler, r->timer}}};
    s->from[SETTING_PYTHON_STEPS] = origin_of(s, name, sm_part_names[SM_PYTHON]);
}

static const char *const part_notes[SM_PARTS] = {
    [SM_DATALOADER] = "data loading is always recorded in every step; the window is ignored",
    [SM_SMDATAPARALLEL] = "collectives are always recorded in every step; the window is ignored",
    [SM_HOROVOD] = "collectives are always recorded in every step; the window is ignored",
};

static void note_range(struct settings *s, const struct sm_range *r, enum sm_part part,
                       const char *name)
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

static void take_parts(struct settings *s, const struct profilerconfig *c, const char *name)
{
    take_interval(s, c, name);
    take_detail(s, &c->part[SM_DETAIL], name);
    take_python(s, &c->part[SM_PYTHON], name);
    for (int i = 0; i < SM_PARTS; i++)
        note_range(s, &c->part[i], (enum sm_part)i, name);
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
        take_parts(s, &c, name);
        return;
    }
    s->hooks = false;
    s->from[SETTING_HOOKS] = origin_of(s, name, "DisableProfiler");
    remarks_add(
        &s->notes,
        "%s: DisableProfiler is true: hooks are disabled, and the rest of the file is ignored",
        name);
}
