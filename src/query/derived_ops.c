/* SPDX-License-Identifier: Apache-2.0 */
/* derived_ops.c - see derived_ops.h. */
#include "query/derived_ops.h"

#include <assert.h>
#include <stddef.h>

#include "base/mem.h"
#include "query/derived_rows.h"

static const char *const ops_files[] = {
    [OPS_BY_NAME] = "ops.fpd",
    [OPS_BY_MODULE] = "modules.fpd",
};
static const char breakdown_file[] = "breakdown.fpd";

/* ---- layouts: every member of a row, save the points of a curve, which stand by themselves, and
 * what only functions have: those are not kept ---- */

static const struct field op_fields[] = {
    {offsetof(struct op_row, device), FIELD_32, OP_GPU + 1},
    {offsetof(struct op_row, category), FIELD_32, CAT_N},
    {offsetof(struct op_row, group), FIELD_32, GROUP_N},
    {offsetof(struct op_row, name), FIELD_TEXT},
    {offsetof(struct op_row, full), FIELD_TEXT},
    {offsetof(struct op_row, calls), FIELD_64},
    {offsetof(struct op_row, self_ns), FIELD_64},
    {offsetof(struct op_row, total_ns), FIELD_64},
    {offsetof(struct op_row, device_self_ns), FIELD_64},
    {offsetof(struct op_row, device_total_ns), FIELD_64},
    {offsetof(struct op_row, share), FIELD_64},
};

static const struct field step_fields[] = {
    {offsetof(struct step_row, of.node), FIELD_TEXT},
    {offsetof(struct step_row, of.rank), FIELD_64},
    {offsetof(struct step_row, of.pid), FIELD_32},
    {offsetof(struct step_row, step), FIELD_64},
    {offsetof(struct step_row, begin), FIELD_64},
    {offsetof(struct step_row, end), FIELD_64},
    {offsetof(struct step_row, role_ns[ROLE_KERNEL]), FIELD_64},
    {offsetof(struct step_row, role_ns[ROLE_MEMCPY]), FIELD_64},
    {offsetof(struct step_row, role_ns[ROLE_MEMSET]), FIELD_64},
    {offsetof(struct step_row, role_ns[ROLE_COMM]), FIELD_64},
    {offsetof(struct step_row, role_ns[ROLE_RUNTIME]), FIELD_64},
    {offsetof(struct step_row, role_ns[ROLE_LOADER]), FIELD_64},
    {offsetof(struct step_row, role_ns[ROLE_CPU]), FIELD_64},
    {offsetof(struct step_row, role_ns[ROLE_OTHER]), FIELD_64},
    {offsetof(struct step_row, device_ops), FIELD_64},
    {offsetof(struct step_row, critical), FIELD_32, ROLE_N},
};

static const struct field device_fields[] = {
    {offsetof(struct device_row, of.node), FIELD_TEXT},
    {offsetof(struct device_row, of.rank), FIELD_64},
    {offsetof(struct device_row, of.pid), FIELD_32},
    {offsetof(struct device_row, device), FIELD_32},
    {offsetof(struct device_row, begin), FIELD_64},
    {offsetof(struct device_row, end), FIELD_64},
    {offsetof(struct device_row, idle_ns), FIELD_64},
    {offsetof(struct device_row, busy_ns), FIELD_64},
    {offsetof(struct device_row, compute_ns), FIELD_64},
    {offsetof(struct device_row, non_compute_ns), FIELD_64},
    {offsetof(struct device_row, comm_ns), FIELD_64},
    {offsetof(struct device_row, comm_overlap_ns), FIELD_64},
    {offsetof(struct device_row, computation_ns), FIELD_64},
    {offsetof(struct device_row, exposed_comm_ns), FIELD_64},
    {offsetof(struct device_row, exposed_memcpy_ns), FIELD_64},
};

static const struct field stream_fields[] = {
    {offsetof(struct stream_row, of.node), FIELD_TEXT},
    {offsetof(struct stream_row, of.rank), FIELD_64},
    {offsetof(struct stream_row, of.pid), FIELD_32},
    {offsetof(struct stream_row, device), FIELD_32},
    {offsetof(struct stream_row, stream), FIELD_32},
    {offsetof(struct stream_row, ops), FIELD_64},
    {offsetof(struct stream_row, host_wait_ns), FIELD_64},
    {offsetof(struct stream_row, kernel_wait_ns), FIELD_64},
    {offsetof(struct stream_row, other_wait_ns), FIELD_64},
    {offsetof(struct stream_row, launches), FIELD_64},
    {offsetof(struct stream_row, short_ops), FIELD_64},
    {offsetof(struct stream_row, delay_p50_ns), FIELD_64},
    {offsetof(struct stream_row, delay_mean_ns), FIELD_64},
    {offsetof(struct stream_row, delay_max_ns), FIELD_64},
    {offsetof(struct stream_row, queue_mean), FIELD_64},
    {offsetof(struct stream_row, queue_max), FIELD_64},
};

static const struct field group_fields[] = {
    {offsetof(struct group_row, of.node), FIELD_TEXT},
    {offsetof(struct group_row, of.rank), FIELD_64},
    {offsetof(struct group_row, of.pid), FIELD_32},
    {offsetof(struct group_row, group), FIELD_32, GROUP_N},
    {offsetof(struct group_row, ops), FIELD_64},
    {offsetof(struct group_row, ns), FIELD_64},
    {offsetof(struct group_row, share), FIELD_64},
};

static const struct field window_fields[] = {
    {offsetof(struct window_row, of.node), FIELD_TEXT},
    {offsetof(struct window_row, of.rank), FIELD_64},
    {offsetof(struct window_row, of.pid), FIELD_32},
    {offsetof(struct window_row, begin), FIELD_64},
    {offsetof(struct window_row, end), FIELD_64},
    {offsetof(struct window_row, first_step), FIELD_64},
    {offsetof(struct window_row, n_steps), FIELD_64},
    {offsetof(struct window_row, step_s), FIELD_64},
    {offsetof(struct window_row, usual_step_s), FIELD_64},
    {offsetof(struct window_row, stall_s), FIELD_64},
    {offsetof(struct window_row, busy_s), FIELD_64},
    {offsetof(struct window_row, idle_share), FIELD_64},
    {offsetof(struct window_row, usual_idle_share), FIELD_64},
};

static const struct field memory_fields[] = {
    {offsetof(struct memory_row, of.node), FIELD_TEXT},
    {offsetof(struct memory_row, of.rank), FIELD_64},
    {offsetof(struct memory_row, of.pid), FIELD_32},
    {offsetof(struct memory_row, curve.device), FIELD_64},
    {offsetof(struct memory_row, curve.exact), FIELD_BOOL},
    {offsetof(struct memory_row, curve.n), FIELD_64},
    {offsetof(struct memory_row, curve.allocator_peak), FIELD_BOOL},
    {offsetof(struct memory_row, curve.peak_bytes), FIELD_64},
    {offsetof(struct memory_row, curve.peak_at), FIELD_64},
    {offsetof(struct memory_row, curve.highest_bytes), FIELD_64},
    {offsetof(struct memory_row, curve.reserved_peak_bytes), FIELD_64},
    {offsetof(struct memory_row, peak_step), FIELD_64},
};

static const struct field point_fields[] = {
    {offsetof(struct mem_point, at), FIELD_64},
    {offsetof(struct mem_point, bytes), FIELD_64},
};

enum rows_of { OPS, STEPS, DEVICES, STREAMS, GROUPS, MEMORY, WINDOWS, POINTS };

static const struct row_layout layouts[] = {
    [OPS] = {op_fields, COUNT_OF(op_fields), sizeof(struct op_row)},
    [STEPS] = {step_fields, COUNT_OF(step_fields), sizeof(struct step_row)},
    [DEVICES] = {device_fields, COUNT_OF(device_fields), sizeof(struct device_row)},
    [STREAMS] = {stream_fields, COUNT_OF(stream_fields), sizeof(struct stream_row)},
    [GROUPS] = {group_fields, COUNT_OF(group_fields), sizeof(struct group_row)},
    [WINDOWS] = {window_fields, COUNT_OF(window_fields), sizeof(struct window_row)},
    [MEMORY] = {memory_fields, COUNT_OF(memory_fields), sizeof(struct memory_row)},
    [POINTS] = {point_fields, COUNT_OF(point_fields), sizeof(struct mem_point)},
};

/* Who adds a member to a row adds it above, and raises DERIVED_VERSION. */
static_assert(sizeof(struct op_row) == 96, "op_fields");
static_assert(sizeof(struct step_row) == 128, "step_fields");
static_assert(sizeof(struct device_row) == 120, "device_fields");
static_assert(sizeof(struct stream_row) == 120, "stream_fields");
static_assert(sizeof(struct group_row) == 56, "group_fields");
static_assert(sizeof(struct window_row) == 104, "window_fields");
static_assert(sizeof(struct memory_row) == 104, "memory_fields");
static_assert(sizeof(struct mem_point) == 16, "point_fields");

/* ---- operators ---- */

bool derived_ops_put(const struct op_list *l, struct buf *out)
{
    struct codec *c = codec_open();
    const bool good = derived_rows_put(c, &layouts[OPS], l->v, l->n, out);
    codec_close(c);
    return good;
}

bool derived_ops_get(struct cur *in, struct arena *a, struct op_list *out)
{
    struct codec *c = codec_open();
    void *rows;
    size_t n;
    const bool good = derived_rows_get(c, &layouts[OPS], in, a, &rows, &n) && !cur_left(in);
    codec_close(c);
    if (good)
        *out = (struct op_list){rows, n};
    return good;
}

bool derived_ops_read(struct run *r, enum ops_by by, struct arena *a, struct op_list *out)
{
    struct derived d;
    if (!derived_open(&d, r, ops_files[by]))
        return false;
    const bool good = derived_ops_get(&d.in, a, out);
    derived_close(&d);
    return good;
}

void derived_ops_keep(struct run *r, enum ops_by by, const struct op_list *l)
{
    struct buf b = {0};
    if (derived_wanted(r) && derived_ops_put(l, &b))
        derived_keep(r, ops_files[by], &b);
    buf_free(&b);
}

/* ---- breakdown ---- */

/* The points of all curves, one after the other. */
static bool put_points(struct codec *c, const struct breakdown *b, struct buf *out)
{
    bool good = true;
    for (size_t i = 0; good && i < b->n_memory; i++) {
        const struct memcurve *m = &b->memory[i].curve;
        good = derived_rows_put(c, &layouts[POINTS], m->points, m->n, out);
    }
    return good;
}

bool derived_breakdown_put(const struct breakdown *b, struct buf *out)
{
    struct codec *c = codec_open();
    buf_varint(out, b->dropped_steps);
    const bool good = derived_rows_put(c, &layouts[STEPS], b->steps, b->n_steps, out) &&
                      derived_rows_put(c, &layouts[DEVICES], b->devices, b->n_devices, out) &&
                      derived_rows_put(c, &layouts[STREAMS], b->streams, b->n_streams, out) &&
                      derived_rows_put(c, &layouts[GROUPS], b->groups, b->n_groups, out) &&
                      derived_rows_put(c, &layouts[WINDOWS], b->windows, b->n_windows, out) &&
                      derived_rows_put(c, &layouts[MEMORY], b->memory, b->n_memory, out) &&
                      put_points(c, b, out);
    codec_close(c);
    return good;
}

static bool get_points(struct codec *c, struct cur *in, struct arena *a, struct breakdown *b)
{
    for (size_t i = 0; i < b->n_memory; i++) {
        struct memcurve *m = &b->memory[i].curve;
        void *rows;
        size_t n;
        if (!derived_rows_get(c, &layouts[POINTS], in, a, &rows, &n) || n != m->n)
            return false;
        m->points = rows;
    }
    return true;
}

static bool get_breakdown(struct codec *c, struct cur *in, struct arena *a, struct breakdown *b)
{
    void *steps, *devices, *streams, *groups, *windows, *memory;
    *b = (struct breakdown){.dropped_steps = cur_varint(in)};
    if (!derived_rows_get(c, &layouts[STEPS], in, a, &steps, &b->n_steps) ||
        !derived_rows_get(c, &layouts[DEVICES], in, a, &devices, &b->n_devices) ||
        !derived_rows_get(c, &layouts[STREAMS], in, a, &streams, &b->n_streams) ||
        !derived_rows_get(c, &layouts[GROUPS], in, a, &groups, &b->n_groups) ||
        !derived_rows_get(c, &layouts[WINDOWS], in, a, &windows, &b->n_windows) ||
        !derived_rows_get(c, &layouts[MEMORY], in, a, &memory, &b->n_memory))
        return false;
    b->steps = steps;
    b->devices = devices;
    b->streams = streams;
    b->groups = groups;
    b->windows = windows;
    b->memory = memory;
    return get_points(c, in, a, b) && !cur_left(in);
}

bool derived_breakdown_get(struct cur *in, struct arena *a, struct breakdown *out)
{
    struct breakdown b;
    struct codec *c = codec_open();
    const bool good = get_breakdown(c, in, a, &b);
    codec_close(c);
    if (good)
        *out = b;
    return good;
}

bool derived_breakdown_read(struct run *r, struct arena *a, struct breakdown *out)
{
    struct derived d;
    if (!derived_open(&d, r, breakdown_file))
        return false;
    const bool good = derived_breakdown_get(&d.in, a, out);
    derived_close(&d);
    return good;
}

void derived_breakdown_keep(struct run *r, const struct breakdown *b)
{
    struct buf out = {0};
    if (derived_wanted(r) && derived_breakdown_put(b, &out))
        derived_keep(r, breakdown_file, &out);
    buf_free(&out);
}
