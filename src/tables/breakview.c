/* SPDX-License-Identifier: Apache-2.0 */
/* breakview.c - see breakview.h. Keys of the JSON may be added here, never renamed. */
#include "tables/breakview.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"

const char *const break_table_names[] = {"steps",  "devices", "streams", "groups",
                                         "memory", "windows", NULL};

static void put_int(struct fields *f, const char *name, int64_t v)
{
    f->v[f->n++] = (struct field){name, F_INT, .i = v};
}

static void put_number(struct fields *f, const char *name, double v)
{
    f->v[f->n++] = (struct field){name, F_NUMBER, .d = v};
}

static void put_text(struct fields *f, const char *name, const char *v)
{
    f->v[f->n++] = (struct field){name, F_TEXT, .s = v};
}

static void put_known(struct fields *f, const char *name, bool known, int64_t v)
{
    f->v[f->n++] = (struct field){name, known ? F_INT : F_NONE, .i = v};
}

static void put_us(struct fields *f, const char *name, int64_t ns)
{
    put_number(f, name, (double)ns / (double)NS_PER_US);
}

double time_share(int64_t ns, int64_t of)
{
    return of > 0 ? (double)ns / (double)of : 0;
}

static void put_of(struct fields *f, const struct breakdown_of *of)
{
    put_text(f, "node", of->node);
    put_known(f, "rank", of->rank >= 0, of->rank);
}

static void step_fields(struct fields *f, const struct breakdown *b, size_t i)
{
    const struct step_row *s = &b->steps[i];
    put_of(f, &s->of);
    put_int(f, "step", s->step);
    put_int(f, "start_ns", s->begin);
    put_us(f, "total_us", s->end - s->begin);
    for (enum role r = 0; r < ROLE_N; r++)
        put_us(f, arena_printf(f->arena, "%s_us", role_name(r)), s->role_ns[r]);
    put_text(f, "critical", role_name(s->critical));
    put_number(f, "critical_share", time_share(s->role_ns[s->critical], s->end - s->begin));
}

static void device_fields(struct fields *f, const struct breakdown *b, size_t i)
{
    const struct device_row *d = &b->devices[i];
    const int64_t span = d->end - d->begin;
    put_of(f, &d->of);
    put_int(f, "device", d->device);
    put_us(f, "span_us", span);
    put_us(f, "idle_us", d->idle_ns);
    put_us(f, "busy_us", d->busy_ns);
    put_us(f, "compute_us", d->compute_ns);
    put_us(f, "non_compute_us", d->non_compute_ns);
    put_us(f, "comm_us", d->comm_ns);
    put_us(f, "comm_overlap_us", d->comm_overlap_ns);
    put_us(f, "computation_us", d->computation_ns);
    put_us(f, "exposed_comm_us", d->exposed_comm_ns);
    put_us(f, "exposed_memcpy_us", d->exposed_memcpy_ns);
    put_number(f, "occupied_share", time_share(d->busy_ns, span));
    put_number(f, "useful_share", time_share(d->compute_ns, span));
}

static void stream_fields(struct fields *f, const struct breakdown *b, size_t i)
{
    const struct stream_row *s = &b->streams[i];
    put_of(f, &s->of);
    put_int(f, "device", s->device);
    put_int(f, "stream", s->stream);
    put_int(f, "ops", (int64_t)s->ops);
    put_us(f, "host_wait_us", s->host_wait_ns);
    put_us(f, "kernel_wait_us", s->kernel_wait_ns);
    put_us(f, "other_wait_us", s->other_wait_ns);
    put_int(f, "launches", (int64_t)s->launches);
    put_known(f, "short_ops", s->launches > 0, (int64_t)s->short_ops);
    const double none = __builtin_nan("");
    const bool some = s->launches > 0;
    put_number(f, "delay_p50_us", some ? (double)s->delay_p50_ns * 1e-3 : none);
    put_number(f, "delay_mean_us", some ? (double)s->delay_mean_ns * 1e-3 : none);
    put_number(f, "delay_max_us", some ? (double)s->delay_max_ns * 1e-3 : none);
    put_number(f, "queue_mean", some ? s->queue_mean : none);
    put_known(f, "queue_max", some, (int64_t)s->queue_max);
}

const char *memory_name(const struct memcurve *c, struct arena *a)
{
    return c->device == MEM_CPU ? "cpu" : arena_printf(a, "gpu%" PRId64, c->device);
}

static void memory_fields(struct fields *f, const struct breakdown *b, size_t i)
{
    const struct memory_row *m = &b->memory[i];
    put_of(f, &m->of);
    put_text(f, "device", memory_name(&m->curve, f->arena));
    put_int(f, "peak_bytes", m->curve.peak_bytes);
    put_int(f, "peak_ns", m->curve.peak_at);
    put_text(f, "peak_is", m->curve.exact || m->curve.allocator_peak ? "exact" : "at least");
    put_text(f, "peak_of", m->curve.allocator_peak ? "allocator" : "curve");
    put_known(f, "peak_step", m->peak_step >= 0, m->peak_step);
    put_int(f, "highest_bytes", m->curve.highest_bytes);
    put_known(f, "reserved_peak_bytes", m->curve.reserved_peak_bytes >= 0,
              m->curve.reserved_peak_bytes);
    put_int(f, "changes", (int64_t)m->curve.n);
}

static void group_fields(struct fields *f, const struct breakdown *b, size_t i)
{
    const struct group_row *g = &b->groups[i];
    put_of(f, &g->of);
    put_text(f, "group", kernel_group_names[g->group]);
    put_int(f, "ops", (int64_t)g->ops);
    put_us(f, "time_us", g->ns);
    put_number(f, "share", g->share);
}

static void window_fields(struct fields *f, const struct breakdown *b, size_t i)
{
    const struct window_row *w = &b->windows[i];
    put_of(f, &w->of);
    put_int(f, "start_ns", w->begin);
    put_int(f, "end_ns", w->end);
    put_known(f, "first_step", w->first_step >= 0, w->first_step);
    put_int(f, "steps", (int64_t)w->n_steps);
    put_number(f, "step_s", w->step_s);
    put_number(f, "usual_step_s", w->usual_step_s);
    put_number(f, "slowdown", w->step_s / w->usual_step_s);
    put_number(f, "stall_s", w->stall_s);
    put_number(f, "busy_s", w->busy_s);
    put_number(f, "idle_share", w->idle_share);
    put_number(f, "usual_idle_share", w->usual_idle_share);
    const char *text = window_sentence(w, f->arena);
    f->v[f->n++] = (struct field){"note", text ? F_TEXT : F_NONE, .s = text};
}

size_t breakview_count(const struct breakdown *b, enum break_table t)
{
    const size_t n[] = {b->n_steps,  b->n_devices, b->n_streams,
                        b->n_groups, b->n_memory,  b->n_windows};
    return n[t];
}

static void (*const fields_of[])(struct fields *f, const struct breakdown *b, size_t i) = {
    [BREAK_STEPS] = step_fields,   [BREAK_DEVICES] = device_fields, [BREAK_STREAMS] = stream_fields,
    [BREAK_GROUPS] = group_fields, [BREAK_MEMORY] = memory_fields,  [BREAK_WINDOWS] = window_fields,
};

void breakview_fields(struct fields *f, const struct breakdown *b, enum break_table t, size_t row)
{
    fields_of[t](f, b, row);
}

static bool same_process(const struct step_row *a, const struct step_row *b)
{
    return a->of.pid == b->of.pid && strcmp(a->of.node, b->of.node) == 0;
}

/* Behind the last step of the process whose first is `i`. */
static size_t process_end(const struct breakdown *b, size_t i)
{
    size_t end = i + 1;
    while (end < b->n_steps && same_process(&b->steps[i], &b->steps[end]))
        end++;
    return end;
}

void breakview_keep_last(struct breakdown *b, size_t most)
{
    size_t processes = 0, kept = 0;
    if (b->n_steps <= most)
        return;
    for (size_t i = 0; i < b->n_steps; i = process_end(b, i))
        processes++;
    const size_t each = MAX_OF(most / processes, (size_t)1);
    for (size_t i = 0, end; i < b->n_steps; i = end) {
        end = process_end(b, i);
        const size_t n = MIN_OF(end - i, each);
        memmove(b->steps + kept, b->steps + end - n, n * sizeof *b->steps);
        kept += n;
    }
    b->earlier_steps = b->n_steps - kept;
    b->n_steps = kept;
}

static void field_json(struct jw *j, const struct field *f)
{
    if (f->type == F_INT)
        jw_int(j, f->name, f->i);
    else if (f->type == F_NUMBER)
        jw_num(j, f->name, f->d);
    else
        jw_str(j, f->name, f->type == F_TEXT ? f->s : NULL);
}

static void table_json(struct jw *j, const struct breakdown *b, enum break_table t, struct arena *a)
{
    jw_array(j, break_table_names[t]);
    for (size_t i = 0; i < breakview_count(b, t); i++) {
        struct fields f = {.arena = a};
        fields_of[t](&f, b, i);
        jw_object(j, NULL);
        for (size_t k = 0; k < f.n; k++)
            field_json(j, &f.v[k]);
        jw_end(j);
    }
    jw_end(j);
}

void breakview_json(struct jw *j, const struct breakdown *b, unsigned tables, struct arena *a)
{
    jw_object(j, NULL);
    for (enum break_table t = 0; t < BREAK_TABLES; t++)
        if (tables >> t & 1)
            table_json(j, b, t, a);
    jw_int(j, "dropped_steps", (int64_t)b->dropped_steps);
    jw_int(j, "earlier_steps", (int64_t)b->earlier_steps);
    jw_end(j);
}
