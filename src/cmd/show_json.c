/* SPDX-License-Identifier: Apache-2.0 */
/* show_json.c - `footplate show --json`. Keys may be added here, never renamed. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/output.h"
#include "cmd/show.h"

/* Known only once the job says where its steps begin and end. */
static const char *const step_keys[] = {
    "loop_start_ns",  "loop_end_ns",        "loop_duration_s", "initialization_s",
    "finalization_s", "initialization_pct", "loop_pct",        "finalization_pct",
};

static void phase_json(struct jw *j, const char *phase, wall_ns start, wall_ns end)
{
    jw_object(j, NULL);
    jw_str(j, "phase", phase);
    jw_int(j, "start_ns", start.ns);
    jw_int(j, "end_ns", end.ns);
    jw_end(j);
}

/* A node between two of its sessions was not there. */
static void phases_json(struct jw *j, const struct run_info *info)
{
    jw_array(j, "phases");
    for (size_t i = 1; i < info->n_nodes; i++) {
        const struct node_info *before = &info->nodes[i - 1], *after = &info->nodes[i];
        if (strcmp(before->id, after->id) == 0 && before->end.ns < after->start.ns)
            phase_json(j, "interruption", before->end, after->start);
    }
    jw_end(j);
}

static void loss_json(struct jw *j, const char *what, const char *why, int64_t count,
                      const char *kind, const char *node)
{
    jw_object(j, NULL);
    jw_str(j, "what", what);
    jw_str(j, "why", why);
    jw_int(j, "count", count);
    jw_str(j, "kind", kind);
    jw_str(j, "node", node);
    jw_end(j);
}

static void losses_json(struct jw *j, const struct loss_list *l)
{
    jw_array(j, "losses");
    for (size_t i = 0; i < l->n; i++) {
        const struct loss *x = &l->v[i].loss;
        loss_json(j, x->what, *x->why ? x->why : losses[x->id].help, (int64_t)x->count,
                  losses[x->id].name, l->v[i].node);
    }
    loss_json(j, "steps", "no step events were recorded", 1, losses[LOSS_ABSENT].name, NULL);
    jw_end(j);
}

static void marks_json(struct jw *j, const struct show *s)
{
    jw_array(j, "marks");
    for (size_t i = 0; i < s->n_marks; i++) {
        const struct run_mark *m = &s->marks[i];
        jw_object(j, NULL);
        jw_str(j, "node", m->node);
        jw_str(j, "mark", marks[m->mark.id].name);
        jw_int(j, "time_ns", m->at.ns);
        jw_int(j, "number", m->mark.number);
        jw_str(j, "text", m->mark.text);
        jw_end(j);
    }
    jw_end(j);
}

static void self_json(struct jw *j, const struct show *s)
{
    jw_object(j, "self");
    jw_num(j, "cpu_s", runview_self_cpu_s(s->info));
    jw_num(j, "bytes_written", runview_bytes_written(s->info));
    jw_int(j, "events_dropped", 0); /* the job emits none yet, so none can be dropped */
    jw_int(j, "samples", (int64_t)s->size.samples);
    jw_int(j, "file_bytes", (int64_t)s->size.file_bytes);
    jw_end(j);
}

void show_json(const struct show *s)
{
    struct buf b = {0};
    struct jw j = {.out = &b, .indent = 2};
    jw_object(&j, NULL);
    runview_json(&j, s->info, s->arena);
    for (size_t i = 0; i < COUNT_OF(step_keys); i++)
        jw_null(&j, step_keys[i]);
    phases_json(&j, s->info);
    self_json(&j, s);
    marks_json(&j, s);
    losses_json(&j, &s->losses);
    jw_end(&j);
    output_buf(&b);
    buf_free(&b);
}
