/* SPDX-License-Identifier: Apache-2.0 */
/* breakdown.c - see breakdown.h. One pass over every track; lists of intervals are joined when the
 * process is whole. */
#include "query/breakdown.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "query/breakdown_internal.h"

/* ---- one stream: why it was idle, and how it was fed ---- */

struct stream {
    struct stream_row row;
    int64_t last_end;
    int64_t delay_sum, waiting_sum;
    int64_t *delays, *launched, *begun; /* by operation whose launch is known */
    size_t cap;
};

/* The device's own pace from one kernel to the next. */
enum { KERNEL_WAIT_NS = 30 };

static void stream_begin(struct stream *s, const struct breakdown_of *of, const struct track *t)
{
    s->row = (struct stream_row){
        .of = *of, .device = track_device(t), .stream = (uint32_t)t->id, .delay_max_ns = INT64_MIN};
    s->last_end = INT64_MIN;
    s->delay_sum = s->waiting_sum = 0;
}

static void stream_free(struct stream *s)
{
    free(s->delays);
    free(s->launched);
    free(s->begun);
}

static void add_gap(struct stream *s, const struct launch *l, int64_t begin)
{
    const int64_t gap = begin - s->last_end;
    if (l && l->begin > s->last_end)
        s->row.host_wait_ns += gap;
    else if (gap < KERNEL_WAIT_NS)
        s->row.kernel_wait_ns += gap;
    else
        s->row.other_wait_ns += gap;
}

static void add_launch(struct stream *s, const struct launch *l, int64_t begin, int64_t end)
{
    const size_t i = s->row.launches++;
    if (VEC_GROW(s->cap, i + 1)) {
        s->delays = xrealloc(s->delays, s->cap, sizeof *s->delays);
        s->launched = xrealloc(s->launched, s->cap, sizeof *s->launched);
        s->begun = xrealloc(s->begun, s->cap, sizeof *s->begun);
    }
    s->delays[i] = begin - l->end;
    s->launched[i] = l->begin;
    s->begun[i] = begin;
    s->delay_sum += s->delays[i];
    s->waiting_sum += MAX_OF(0, begin - l->begin);
    s->row.delay_max_ns = MAX_OF(s->row.delay_max_ns, s->delays[i]);
    s->row.short_ops += end - begin < l->end - l->begin;
}

/* In order of their begin. */
static void stream_add(struct stream *s, const struct launch *l, int64_t begin, int64_t end)
{
    if (s->row.ops++ && begin > s->last_end)
        add_gap(s, l, begin);
    s->last_end = MAX_OF(s->last_end, end);
    if (l)
        add_launch(s, l, begin, end);
}

/* ---- at the end ---- */

/* The k-th smallest; reorders v. Pivots are drawn, so no order of the input makes it slow. */
static int64_t select_kth(int64_t *v, size_t n, size_t k)
{
    size_t lo = 0, hi = n;
    uint64_t draw = 1;
    while (hi - lo > 1) {
        draw = draw * 6364136223846793005u + 1442695040888963407u;
        const int64_t pivot = v[lo + (size_t)(draw >> 33) % (hi - lo)];
        size_t below = lo, at = lo, above = hi;
        while (at < above) {
            const int64_t x = v[at];
            if (x < pivot) {
                v[at++] = v[below];
                v[below++] = x;
            } else if (x > pivot) {
                v[at] = v[--above];
                v[above] = x;
            } else {
                at++;
            }
        }
        if (k >= below && k < above)
            return pivot;
        lo = k < below ? lo : above;
        hi = k < below ? below : hi;
    }
    return v[lo];
}

COMPARE_NUMBERS(breakdown_by_number, int64_t)

static void breakdown_stream_sort(int64_t *v, size_t n)
{
    size_t i = 1;
    while (i < n && v[i - 1] <= v[i])
        i++;
    if (i < n)
        SORT(v, n, breakdown_by_number);
}

/* Most that were launched and had not begun, right after a launch. */
static uint64_t queue_most(const struct stream *s, size_t n)
{
    size_t begun = 0, most = 0;
    for (size_t i = 0; i < n; i++) {
        while (begun < n && s->begun[begun] < s->launched[i])
            begun++;
        most = MAX_OF(most, i + 1 > begun ? i + 1 - begun : 0);
    }
    return most;
}

/* The row is complete now. */
static void stream_end(struct stream *s)
{
    const size_t n = s->row.launches;
    if (n == 0) {
        s->row.delay_max_ns = 0;
        return;
    }
    breakdown_stream_sort(s->launched, n);
    breakdown_stream_sort(s->begun, n);
    s->row.delay_p50_ns = select_kth(s->delays, n, (n - 1) / 2);
    s->row.delay_mean_ns = s->delay_sum / (int64_t)n;
    s->row.queue_max = queue_most(s, n);
    const int64_t span = s->begun[n - 1] - s->launched[0];
    s->row.queue_mean = span > 0 ? (double)s->waiting_sum / (double)span : 0;
}

/* ---- a process ---- */

/* What one stream did, until its device is whole. */
struct breakdown_lane {
    uint32_t device;
    int64_t begin, end;
    struct intervals role[ROLE_RUNTIME]; /* kernel, memcpy, memset, comm */
};

/* Rows that grow. */
struct rows {
    void *v;
    size_t n, cap;
};

struct breaking {
    struct arena arena; /* of the curves and names of nodes */
    struct op_names names;
    struct breakdown_of of;
    bool ready; /* all threads were read: devices may come */
    /* A profiler recorded operators, device operations or steps. Hooks record steps too, but not
     * what was done in them: those have no rows here. */
    bool profiled;
    struct intervals role[ROLE_OTHER];
    struct host_steps steps;
    struct launches launches;
    struct rows comm;              /* uint64_t: ids of collectives on the host; sorted when ready */
    struct rows lanes;             /* struct lane */
    struct rows memory;            /* struct mem_event */
    const struct run_track *track; /* that is read now, and of a device what it did */
    struct stream stream;
    struct breakdown_lane lane;
    struct {
        uint64_t ops;
        int64_t ns;
    } groups[GROUP_N];
    uint8_t *group_of; /* by number of a name: 1 + group; 0: not known yet */
    uint32_t cap_group_of;
    struct rows step_rows, device_rows, stream_rows, group_rows, memory_rows;
    size_t dropped_steps;
};

static void *rows_add(struct rows *r, size_t n, size_t size)
{
    if (VEC_GROW(r->cap, r->n + n))
        r->v = xrealloc(r->v, r->cap, size);
    r->n += n;
    return (char *)r->v + (r->n - n) * size;
}

struct breaking *breakdown_open(void)
{
    struct breaking *b = xcalloc(1, sizeof *b);
    op_names_open(&b->names);
    return b;
}

static void free_lanes(struct breaking *b)
{
    struct breakdown_lane *v = b->lanes.v;
    for (size_t i = 0; i < b->lanes.n; i++)
        for (unsigned r = 0; r < ROLE_RUNTIME; r++)
            intervals_free(&v[i].role[r]);
    b->lanes.n = 0;
}

static void clear_process(struct breaking *b)
{
    for (unsigned r = 0; r < ROLE_OTHER; r++)
        intervals_free(&b->role[r]);
    b->steps.n = b->steps.n_loose = b->steps.near = 0;
    launches_clear(&b->launches);
    free_lanes(b);
    b->comm.n = b->memory.n = 0;
    memset(b->groups, 0, sizeof b->groups);
    b->ready = b->profiled = false;
}

void breakdown_close(struct breaking *b)
{
    if (!b)
        return;
    clear_process(b);
    host_steps_free(&b->steps);
    launches_free(&b->launches);
    stream_free(&b->stream);
    op_names_close(&b->names);
    free(b->comm.v);
    free(b->lanes.v);
    free(b->memory.v);
    free(b->step_rows.v);
    free(b->device_rows.v);
    free(b->stream_rows.v);
    free(b->group_rows.v);
    free(b->memory_rows.v);
    free(b->group_of);
    arena_free(&b->arena);
    free(b);
}

void breakdown_process(void *breaking, const struct run_process *p)
{
    struct breaking *b = breaking;
    clear_process(b);
    b->of = (struct breakdown_of){arena_strdup(&b->arena, p->node), p->rank, p->pid};
}

/* ---- threads ---- */

static void add_memory(struct breaking *b, const struct run_event *x)
{
    struct mem_event one;
    if (mem_event_of(b->track, x, &one))
        *(struct mem_event *)rows_add(&b->memory, 1, sizeof one) = one;
}

static void breakdown_add_span(struct breaking *b, const struct run_event *x, unsigned sense)
{
    const struct event *e = &x->event;
    const int64_t end = x->at.ns + MAX_OF(0, e->dur_ns);
    const enum role role = host_role(e, sense);
    if (role == ROLE_OTHER)
        return;
    b->profiled |= e->category == CAT_OP || role == ROLE_RUNTIME;
    intervals_add(&b->role[role], x->at.ns, end);
    if (role == ROLE_RUNTIME && e->link)
        launches_add(&b->launches, &(struct launch){e->link, x->at.ns, end, 0});
    if (role == ROLE_COMM && e->parent)
        *(uint64_t *)rows_add(&b->comm, 1, sizeof(uint64_t)) = e->parent;
}

static void breakdown_add_step(struct breaking *b, const struct run_event *x)
{
    const struct event *e = &x->event;
    b->profiled |= e->category == CAT_OP || e->category == CAT_USER; /* an annotation */
    *VEC_ADD(b->steps.v, b->steps.n, b->steps.cap) = (struct host_step){
        .number = e->value, .begin = x->at.ns, .end = (x->at.ns + MAX_OF(0, e->dur_ns))};
}

static void read_thread(struct breaking *b, const struct run_event *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct event *e = &v[i].event;
        if (e->kind == EVENT_SPAN)
            breakdown_add_span(b, &v[i], op_names_sense(&b->names, e->name));
        else if (e->kind == EVENT_STEP)
            breakdown_add_step(b, &v[i]);
        else if (e->category == CAT_MEMORY)
            add_memory(b, &v[i]);
    }
}

/* ---- devices ---- */

COMPARE_NUMBERS(breakdown_by_id, uint64_t)

static void make_ready(struct breaking *b)
{
    if (b->ready)
        return;
    b->ready = true;
    host_steps_sort(&b->steps);
    launches_index(&b->launches);
    SORT((uint64_t *)b->comm.v, b->comm.n, breakdown_by_id);
}

/* Some profilers give a device event without an operator its own link as parent: that names none.
 */
static bool is_of_collective(const struct breaking *b, const struct event *e)
{
    return b->comm.n && e->parent && e->parent != e->link &&
           bsearch(&e->parent, b->comm.v, b->comm.n, sizeof e->parent, breakdown_by_id);
}

static void add_operation(struct breaking *b, const struct run_event *x, enum role role)
{
    struct breakdown_lane *l = &b->lane;
    const int64_t begin = x->at.ns, end = x->at.ns + MAX_OF(0, x->event.dur_ns);
    const struct launch *launch = launches_find(&b->launches, x->event.link);
    const enum role in_step =
        role == ROLE_KERNEL && is_of_collective(b, &x->event) ? ROLE_COMM : role;
    l->begin = MIN_OF(l->begin, begin);
    l->end = MAX_OF(l->end, end);
    intervals_add(&l->role[role], begin, end);
    if (b->steps.n)
        intervals_add(&b->role[in_step], begin, end);
    host_steps_match(&b->steps, launch, begin, end);
    stream_add(&b->stream, launch, begin, end);
}

static void add_to_group(struct breaking *b, const struct event *e)
{
    const uint32_t name = op_names_id(&b->names, e->name);
    OP_NAMES_ROOM(b->group_of, b->cap_group_of, name);
    if (b->group_of[name] == 0)
        b->group_of[name] = (uint8_t)(1 + kernel_group_of(e->name, e->category));
    b->groups[b->group_of[name] - 1].ops++;
    b->groups[b->group_of[name] - 1].ns += MAX_OF(0, e->dur_ns);
}

static void begin_device(struct breaking *b, const struct track *t)
{
    make_ready(b);
    b->lane =
        (struct breakdown_lane){.device = track_device(t), .begin = INT64_MAX, .end = INT64_MIN};
    stream_begin(&b->stream, &b->of, t);
}

static void read_device(struct breaking *b, const struct run_event *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct event *e = &v[i].event;
        if (e->category == CAT_MEMORY && e->kind != EVENT_SPAN)
            add_memory(b, &v[i]);
        if (device_role(e, 0) == ROLE_OTHER)
            continue;
        const unsigned sense = op_names_sense(&b->names, e->name);
        b->profiled = true;
        add_operation(b, &v[i], device_role(e, sense));
        add_to_group(b, e);
    }
}

static void end_device(struct breaking *b)
{
    if (b->stream.row.ops == 0)
        return;
    stream_end(&b->stream);
    *(struct stream_row *)rows_add(&b->stream_rows, 1, sizeof b->stream.row) = b->stream.row;
    *(struct breakdown_lane *)rows_add(&b->lanes, 1, sizeof b->lane) = b->lane;
}

static bool breakdown_is_device(const struct run_track *t)
{
    return t->track.kind != TRACK_THREAD;
}

void breakdown_track_begin(void *breaking, const struct run_track *t)
{
    struct breaking *b = breaking;
    b->track = t;
    op_names_turn(&b->names);
    if (breakdown_is_device(t))
        begin_device(b, &t->track);
}

void breakdown_events(void *breaking, const struct run_event *v, size_t n)
{
    struct breaking *b = breaking;
    (breakdown_is_device(b->track) ? read_device : read_thread)(b, v, n);
}

void breakdown_track_end(void *breaking)
{
    struct breaking *b = breaking;
    if (breakdown_is_device(b->track))
        end_device(b);
}

/* ---- the end of a process ---- */

COMPARE_BY(by_device, struct breakdown_lane, device)

/* All streams of one device into the first of them. */
static void join_lanes(struct breakdown_lane *v, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        v->begin = MIN_OF(v->begin, v[i].begin);
        v->end = MAX_OF(v->end, v[i].end);
        for (unsigned r = 0; r < ROLE_RUNTIME; r++)
            intervals_add_all(&v->role[r], &v[i].role[r]);
    }
    for (unsigned r = 0; r < ROLE_RUNTIME; r++)
        intervals_finish(&v->role[r]);
}

/* `unseen` is a normal list; what ran in it after all was recorded. */
static int64_t unseen_of(const struct breakdown_lane *l, const struct intervals *unseen,
                         const struct intervals *busy)
{
    size_t from = 0;
    return intervals_length_within(unseen, l->begin, l->end, &from) -
           intervals_length_both(unseen, busy);
}

static void fill_device(struct device_row *d, const struct breakdown_lane *l,
                        const struct intervals *unseen)
{
    const struct intervals *kernel = &l->role[ROLE_KERNEL], *comm = &l->role[ROLE_COMM];
    const struct intervals *memcpys = &l->role[ROLE_MEMCPY];
    struct intervals computation = {0}, working = {0}, busy = {0};
    intervals_either(kernel, &l->role[ROLE_MEMSET], &computation);
    intervals_either(&computation, comm, &working);
    intervals_either(&working, memcpys, &busy);
    d->end -= unseen_of(l, unseen, &busy);
    d->busy_ns = intervals_length(&busy);
    d->idle_ns = d->end - d->begin - d->busy_ns;
    d->compute_ns = intervals_length(kernel);
    d->non_compute_ns = d->busy_ns - d->compute_ns;
    d->comm_ns = intervals_length(comm);
    d->comm_overlap_ns = intervals_length_both(kernel, comm);
    d->computation_ns = intervals_length(&computation);
    d->exposed_comm_ns = d->comm_ns - intervals_length_both(comm, &computation);
    d->exposed_memcpy_ns = intervals_length(memcpys) - intervals_length_both(memcpys, &working);
    intervals_free(&computation);
    intervals_free(&working);
    intervals_free(&busy);
}

static void end_devices(struct breaking *b)
{
    struct breakdown_lane *v = b->lanes.v;
    struct intervals unseen = {0};
    host_steps_unseen(&b->steps, &unseen);
    SORT(v, b->lanes.n, by_device);
    for (size_t i = 0, end; i < b->lanes.n; i = end) {
        for (end = i + 1; end < b->lanes.n && v[end].device == v[i].device;)
            end++;
        join_lanes(v + i, end - i);
        struct device_row *d = rows_add(&b->device_rows, 1, sizeof *d);
        *d = (struct device_row){
            .of = b->of, .device = v[i].device, .begin = v[i].begin, .end = v[i].end};
        fill_device(d, &v[i], &unseen);
    }
    intervals_free(&unseen);
}

static void end_steps(struct breaking *b)
{
    if (b->steps.n == 0)
        return;
    for (unsigned r = 0; r < ROLE_OTHER; r++)
        intervals_finish(&b->role[r]);
    struct step_row *out = rows_add(&b->step_rows, b->steps.n, sizeof *out);
    const size_t n = host_steps_rows(&b->steps, b->role, out);
    for (size_t i = 0; i < n; i++)
        out[i].of = b->of;
    b->step_rows.n -= b->steps.n - n;
    b->dropped_steps += b->steps.n - n;
}

static int breakdown_by_time(const void *a, const void *b)
{
    const struct group_row *x = a, *y = b;
    return COMPARE(y->ns, x->ns) ?: COMPARE(x->group, y->group);
}

static void end_groups(struct breaking *b)
{
    struct group_row v[GROUP_N];
    int64_t sum = 0;
    size_t n = 0;
    for (enum kernel_group g = 0; g < GROUP_N; g++)
        sum += b->groups[g].ns;
    for (enum kernel_group g = 0; g < GROUP_N; g++)
        if (b->groups[g].ops)
            v[n++] = (struct group_row){.of = b->of,
                                        .group = g,
                                        .ops = b->groups[g].ops,
                                        .ns = b->groups[g].ns,
                                        .share = sum ? (double)b->groups[g].ns / (double)sum : 0};
    if (n == 0)
        return;
    SORT(v, n, breakdown_by_time);
    memcpy(rows_add(&b->group_rows, n, sizeof *v), v, n * sizeof *v);
}

static void end_memory(struct breaking *b)
{
    struct memcurve *v;
    size_t n;
    if (b->memory.n == 0)
        return;
    memcurve_build(b->memory.v, b->memory.n, &b->arena, &v, &n);
    struct memory_row *out = rows_add(&b->memory_rows, n, sizeof *out);
    for (size_t i = 0; i < n; i++)
        out[i] = (struct memory_row){b->of, v[i], -1};
}

void breakdown_process_end(void *breaking)
{
    struct breaking *b = breaking;
    make_ready(b);
    if (b->profiled)
        end_steps(b);
    end_devices(b);
    end_groups(b);
    end_memory(b);
    clear_process(b);
}

/* ---- results ---- */

static void *copy_rows(const struct rows *r, size_t size, struct arena *a, size_t *n)
{
    *n = r->n;
    return arena_copy(a, r->v, r->n, size);
}

void breakdown_result(struct breaking *b, struct arena *a, struct breakdown *out)
{
    out->steps = copy_rows(&b->step_rows, sizeof *out->steps, a, &out->n_steps);
    out->devices = copy_rows(&b->device_rows, sizeof *out->devices, a, &out->n_devices);
    out->streams = copy_rows(&b->stream_rows, sizeof *out->streams, a, &out->n_streams);
    out->groups = copy_rows(&b->group_rows, sizeof *out->groups, a, &out->n_groups);
    out->memory = copy_rows(&b->memory_rows, sizeof *out->memory, a, &out->n_memory);
    out->windows = NULL;
    out->n_windows = 0;
    out->dropped_steps = b->dropped_steps;
    out->earlier_steps = 0;
    arena_join(a, &b->arena);
}

static const struct trace_sink breakdown_sink = {
    breakdown_process,
    breakdown_track_begin,
    breakdown_events,
    breakdown_track_end,
    breakdown_process_end,
    .want = {.value = true, .link = true, .parent = true, .args_of = UINT64_C(1) << CAT_MEMORY},
};

/* ---- memory alone ---- */

static void memory_track(void *to, const struct run_track *t)
{
    struct breaking *b = to;
    b->track = t;
}

static void memory_events(void *to, const struct run_event *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (v[i].event.category == CAT_MEMORY && v[i].event.kind != EVENT_SPAN)
            add_memory(to, &v[i]);
}

static void memory_process_end(void *to)
{
    end_memory(to);
    clear_process(to);
}

static const struct trace_sink memory_sink = {
    .begin = breakdown_process,
    .track = memory_track,
    .events = memory_events,
    .end = memory_process_end,
    .want = {.value = true, .args_of = UINT64_C(1) << CAT_MEMORY},
};

int breakdown_hook_memory(struct run *r, const struct trace_ask *ask, struct arena *a,
                          struct memory_row **out, size_t *n, struct err *e)
{
    struct trace_ask hooks = *ask;
    struct breaking *b = breakdown_open();
    struct breakdown found = {0};
    hooks.hooks = true;
    const int rc = trace_read(r, &hooks, &memory_sink, b, e);
    if (rc == 0)
        breakdown_result(b, a, &found);
    breakdown_close(b);
    *out = found.memory;
    *n = found.n_memory;
    return rc;
}

/* ---- of a run ---- */

int breakdown_read(struct run *r, const struct trace_ask *ask, struct arena *a,
                   struct breakdown *out, struct err *e)
{
    struct breaking *b = breakdown_open();
    const int rc = trace_read(r, ask, &breakdown_sink, b, e);
    if (rc == 0)
        breakdown_result(b, a, out);
    breakdown_close(b);
    return rc ? rc : breakdown_add_hooks(r, ask, a, out, e);
}

/* ---- words ---- */

static const struct {
    const char *name, *says;
} role_words[ROLE_N] = {
    [ROLE_KERNEL] = {"kernel", "device kernels"},
    [ROLE_MEMCPY] = {"memcpy", "memory copies without a running kernel"},
    [ROLE_MEMSET] = {"memset", "memory fills without a running kernel"},
    [ROLE_COMM] = {"communication", "communication between ranks"},
    [ROLE_RUNTIME] = {"runtime", "calls to the device runtime"},
    [ROLE_LOADER] = {"dataloader", "waiting for the data loader"},
    [ROLE_CPU] = {"cpu", "CPU operators"},
    [ROLE_OTHER] = {"other", "program code outside operators"},
};

const char *role_name(enum role r)
{
    return role_words[r].name;
}

bool breakdown_has_detail(const struct breakdown *b)
{
    return b->n_steps + b->n_devices + b->n_groups > 0;
}

const char *step_sentence(const struct step_row *s, struct arena *a)
{
    const double total = (double)(s->end - s->begin);
    const double percent = total > 0 ? 100 * (double)s->role_ns[s->critical] / total : 0;
    const bool idle = s->critical == ROLE_CPU && s->role_ns[ROLE_KERNEL] > 0;
    return arena_printf(a, "step %lld: %.0f %% %s%s", (long long)s->step, percent,
                        role_words[s->critical].says, idle ? " while the device is idle" : "");
}
