/* SPDX-License-Identifier: Apache-2.0 */
/* profile_out.c - see profile_out.h. */
#include "import/profile_out.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/* Ids of such tracks: far from any thread's. */
#define PROFILE_TRACK ((uint64_t)1 << 62)

static const char *profile_out_keep(struct profile_out *p, const char *text, int n, size_t room)
{
    return texts_keep(&p->out.texts, text, MIN_OF((size_t)n, room - 1))->p;
}

static int64_t to_ns(double seconds)
{
    const bool fits = seconds > 0 && seconds < 1e9;
    return fits ? (int64_t)llround(seconds * 1e9) : 0;
}

/* `file` is shown by its last two parts; the whole path is among the arguments. */
static const char *short_file(const char *file)
{
    const char *at = strrchr(file, '/');
    while (at && at > file && *--at != '/')
        ;
    return at && *at == '/' ? at + 1 : file;
}

static const char *function_name(struct profile_out *p, const struct profile_function *f)
{
    char text[EVENT_NAME_MOST];
    const int n = *f->file && strcmp(f->file, "~") != 0
                      ? snprintf(text, sizeof text, "%s (%s:%lld)", f->name, short_file(f->file),
                                 (long long)f->line)
                      : snprintf(text, sizeof text, "%s", f->name);
    return profile_out_keep(p, text, n, sizeof text);
}

static const char *function_args(struct profile_out *p, const struct profile_function *f)
{
    char text[EVENT_NAME_MOST];
    const int n = snprintf(
        text, sizeof text, "file=%.2000s\nline=%lld\ntotal_s=%.9g\ncalls=%lld%s%.0lld", f->file,
        (long long)f->line, isnan(f->total_s) ? 0.0 : f->total_s, (long long)f->calls,
        f->primitive >= 0 ? "\nprimitive_calls=" : "", (long long)MAX_OF(f->primitive, 0));
    return profile_out_keep(p, text, n, sizeof text);
}

void profile_tell(struct profile_out *p, const struct profile_function *f)
{
    if (isnan(f->self_s) || !*f->name) {
        p->result->count[!*f->name ? IMPORTED_NO_NAME : IMPORTED_NO_TIME]++;
        return;
    }
    const struct event v = {
        .at = {p->start_ns},
        .dur_ns = to_ns(f->self_s),
        .value = f->calls,
        .kind = EVENT_SPAN,
        .category = CAT_PYTHON,
        .name = function_name(p, f),
        .args = function_args(p, f),
    };
    out_event(&p->out, p->track, &v);
}

static void tell_window(struct profile_out *p)
{
    static const char name[] = "python profile";
    char args[256];
    const int n =
        snprintf(args, sizeof args, "profiler=%s\ntimer=%s\nstart_step=%lld\nend_step=%lld",
                 p->profiler, p->timer, (long long)p->start_step, (long long)p->end_step);
    const struct event v = {
        .at = {p->start_ns},
        .dur_ns = MAX_OF(p->end_ns - p->start_ns, 0),
        .kind = EVENT_SPAN,
        .category = CAT_OTHER,
        .name = texts_keep(&p->out.texts, name, sizeof name - 1)->p,
        .args = profile_out_keep(p, args, n, sizeof args),
    };
    out_event(&p->out, p->track, &v);
}

void profile_begin(struct profile_out *p, const char *phase)
{
    char name[TRACK_NAME_LEN];
    snprintf(name, sizeof name, "python profile%s%.40s", *phase ? ": " : "", phase);
    p->track = out_track(&p->out, TRACK_THREAD, p->pid, PROFILE_TRACK | p->n_tracks++);
    out_name(&p->out, p->track, "", name);
    tell_window(p);
}
