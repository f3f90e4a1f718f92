/* SPDX-License-Identifier: Apache-2.0 */
/* import_tensorflow.c - traces of TensorFlow's profiler, and JAX's, which writes the same.
 *
 * They are Chrome traces, and the reader of those reads them (import_kineto.c). What is different
 * is done behind it, by a sink that stands between it and the caller's: processes are planes and
 * not processes, events have no category, steps are told by arguments or by a line of their own,
 * and times count from the start of the profiler, which the trace does not tell: the name of a
 * file beside it does (the hint). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "import/import_who.h"
#include "import/importer.h"
#include "import/tensorflow.h"

enum { BATCH = 256, STEPS_MOST = 1 << 16 };

/* Ids of tracks of our own, far from any thread's. */
#define OWN_TRACK ((uint64_t)3 << 61)

struct line_step {
    mono_ns at;
    int64_t dur_ns, number;
};

struct tf {
    struct sink sink; /* first: the sink is the struct */
    const struct import_ask *ask;
    struct import_result *result;
    uint32_t pid;
    bool host_steps; /* a thread told steps */
    bool ranked;     /* the rank was told */
    /* The last step of a thread: one within it is no step of its own. */
    uint64_t step_track;
    int64_t step_end;
    /* Of the first device that has such a line, for traces whose threads tell none. */
    bool steps_known;
    uint64_t steps_of;
    struct line_step *steps;
    size_t n_steps, cap_steps;
    struct tf_phases phases;
    struct event batch[BATCH];
};

static void import_tensorflow_tell(struct tf *f, const struct track *t, const struct event *v,
                                   size_t n)
{
    f->ask->sink->ops->events(f->ask->sink, t, v, n);
}

/* An event that the reader below did not count. */
static void tell_own(struct tf *f, const struct track *t, const struct event *v)
{
    f->result->count[IMPORTED_KEPT]++;
    import_tensorflow_tell(f, t, v, 1);
}

/* ---- events ---- */

static void note_line_step(struct tf *f, const struct track *t, const struct event *v)
{
    char *end;
    const int64_t number = strtoll(v->name, &end, 10);
    if (!f->steps_known) {
        f->steps_known = true;
        f->steps_of = t->id;
    }
    if (f->steps_of != t->id || f->n_steps == STEPS_MOST || v->kind != EVENT_SPAN)
        return;
    if (f->n_steps == f->cap_steps) {
        f->cap_steps = f->cap_steps ? 2 * f->cap_steps : 64;
        f->steps = xrealloc(f->steps, f->cap_steps, sizeof *f->steps);
    }
    const bool numbered = end > v->name && *end == '\0' && number >= 0;
    f->steps[f->n_steps] =
        (struct line_step){v->at, v->dur_ns, numbered ? number : (int64_t)f->n_steps};
    f->n_steps++;
}

static void on_thread(struct tf *f, const struct track *t, struct event *v)
{
    const enum tf_phase phase = tf_phase_of(v->name);
    int64_t number;
    enum event_mode mode;
    if (v->category == CAT_OTHER)
        v->category = tf_host_category(v->name);
    v->link = v->category == CAT_RUNTIME ? tf_link_of(v) : v->link;
    if (phase != TF_NO_PHASE)
        tf_phases_add(&f->phases, phase, v);
    if (!tf_step_of(v, &number, &mode) || (f->step_track == t->id && v->at.ns < f->step_end))
        return;
    f->host_steps = true;
    f->step_track = t->id;
    f->step_end = v->at.ns + v->dur_ns;
    v->kind = EVENT_STEP;
    v->value = number;
    v->mode = mode;
}

static void translate(struct tf *f, enum tf_line line, const struct track *t, struct event *v)
{
    switch (line) {
    case TF_HOST:
        on_thread(f, t, v);
        break;
    case TF_STREAM:
        tf_device_event(v);
        break;
    case TF_STEPS:
        note_line_step(f, t, v);
        v->category = CAT_USER;
        break;
    case TF_SHADOW:
        v->category = CAT_OTHER;
        break;
    }
}

static void import_tensorflow_tell_rank(struct tf *f, const struct track *t, mono_ns at)
{
    if (f->ranked || !f->ask->hint.has_rank)
        return;
    const struct event v = import_rank_event(f->ask->hint.rank, at);
    f->ranked = true;
    f->result->rank = f->ask->hint.rank;
    tell_own(f, t, &v);
}

static void import_tensorflow_on_events(struct sink *s, const struct track *told,
                                        const struct event *v, size_t n)
{
    struct tf *f = (struct tf *)s;
    struct track t = *told;
    const enum tf_line line = tf_line_of(&t);
    tf_place(&t, line, f->pid);
    if (n && line == TF_HOST)
        import_tensorflow_tell_rank(f, &t, v->at);
    for (size_t done = 0, m; done < n; done += m) {
        m = MIN_OF(n - done, (size_t)BATCH);
        memcpy(f->batch, v + done, m * sizeof *v);
        for (size_t i = 0; i < m; i++)
            translate(f, line, &t, &f->batch[i]);
        import_tensorflow_tell(f, &t, f->batch, m);
    }
    if (n == 0 && line == TF_HOST) /* a name that came late */
        import_tensorflow_tell(f, &t, NULL, 0);
}

/* ---- at the end ---- */

static struct track import_tensorflow_own_track(const struct tf *f, unsigned number,
                                                const char *name)
{
    struct track t = {.kind = TRACK_THREAD, .pid = f->pid, .id = OWN_TRACK | number};
    snprintf(t.process, sizeof t.process, "/host:CPU");
    snprintf(t.name, sizeof t.name, "%s", name);
    return t;
}

static void tell_line_steps(struct tf *f)
{
    const struct track t = import_tensorflow_own_track(f, 1, "Steps");
    for (size_t i = 0; i < f->n_steps && !f->host_steps; i++) {
        const struct line_step *s = &f->steps[i];
        const struct event v = {.at = s->at,
                                .dur_ns = s->dur_ns,
                                .kind = EVENT_STEP,
                                .value = s->number,
                                .category = CAT_USER,
                                .name = "step"};
        tell_own(f, &t, &v);
    }
}

static void tell_phases(struct tf *f)
{
    static const enum event_id ids[] = {[TF_FORWARD] = EV_FORWARD, [TF_BACKWARD] = EV_BACKWARD};
    const struct track t = import_tensorflow_own_track(f, 2, "phases");
    tf_phases_join(&f->phases);
    for (size_t i = 0; i < f->phases.n; i++) {
        const struct tf_stretch *s = &f->phases.v[i];
        const struct event v = {.at = {s->at},
                                .dur_ns = s->end - s->at,
                                .kind = EVENT_SPAN,
                                .category = event_words[ids[s->phase]].category,
                                .name = event_words[ids[s->phase]].name};
        tell_own(f, &t, &v);
    }
    f->result->count[IMPORTED_OPEN] += f->phases.dropped;
}

/* ---- the importer ---- */

/* The reader below asks for it when it sees that times are relative. */
static bool base_of_hint(void *ctx, const char *key, int64_t *out)
{
    struct tf *f = ctx;
    (void)key;
    *out = f->ask->hint.base.ns;
    f->result->count[IMPORTED_NO_BASE] += !f->ask->hint.has_base;
    return f->ask->hint.has_base;
}

static int import_tensorflow_run(const struct import_ask *ask, struct import_result *out,
                                 struct err *e)
{
    static const struct sink_ops ops = {.events = import_tensorflow_on_events};
    struct tf *f = xcalloc(1, sizeof *f);
    f->sink.ops = &ops;
    f->ask = ask;
    f->result = out;
    f->pid = import_pid(ask);
    f->step_track = UINT64_MAX;
    struct import_ask inner = *ask;
    inner.sink = &f->sink;
    inner.sink_of_node = NULL;
    inner.late_number = base_of_hint;
    inner.late_is_slow = false;
    inner.ctx = f;
    const int rc = importer_kineto.run(&inner, out, e);
    if (rc == 0) {
        tell_line_steps(f);
        tell_phases(f);
    }
    tf_phases_free(&f->phases);
    free(f->steps);
    free(f);
    return rc;
}

static int import_tensorflow_sniff(const char *head, size_t n)
{
    static const char *const signs[] = {"\"/host:CPU\"",
                                        "\"/device:GPU:", "\"/device:TPU:", "\"highres-ticks\""};
    if (!memmem(head, n, "\"traceEvents\"", 13) || memmem(head, n, "\"schemaVersion\"", 15))
        return 0;
    for (size_t i = 0; i < COUNT_OF(signs); i++)
        if (memmem(head, n, signs[i], strlen(signs[i])))
            return 95;
    return 0;
}

const struct importer importer_tensorflow = {
    .name = "tensorflow",
    .help = "TensorFlow or JAX profiler (trace.json.gz)",
    .sniff = import_tensorflow_sniff,
    .run = import_tensorflow_run,
};
