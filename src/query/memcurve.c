/* SPDX-License-Identifier: Apache-2.0 */
/* memcurve.c - see memcurve.h. */
#include "query/memcurve.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/ops_class.h"

/* ---- events ---- */

static const char device_key[] = "device=";

/* "device=gpu3" or "device=cpu", a line of its own among the args. */
static bool device_of_args(const char *args, int64_t *out)
{
    const char *at = args ? strstr(args, device_key) : NULL;
    if (!at || (at > args && at[-1] != '\n'))
        return false;
    at += sizeof device_key - 1;
    if (strncmp(at, "gpu", 3) != 0) {
        *out = MEM_CPU;
        return strncmp(at, "cpu", 3) == 0;
    }
    char *end;
    *out = strtol(at + 3, &end, 10);
    return end > at + 3 && *out >= 0;
}

/* The device that a thread speaks of when it does not say which: its own. */
static int64_t device_of_track(const struct run_track *t)
{
    if (t->track.kind == TRACK_DEVICE)
        return track_device(&t->track);
    return MAX_OF(0, t->process->device);
}

static const struct {
    const char *name;
    enum mem_what what;
    bool cpu;
} totals[] = {
    {"cpu.allocated", MEM_TOTAL, true},
    {"cuda.allocated", MEM_TOTAL, false},
    {"cuda.reserved", MEM_RESERVED, false},
    {"cuda.peak", MEM_PEAK, false},
};

bool mem_event_of(const struct run_track *t, const struct run_event *x, struct mem_event *out)
{
    const struct event *e = &x->event;
    *out = (struct mem_event){.at = x->at.ns, .bytes = e->value};
    if (e->kind == EVENT_MARK)
        return device_of_args(e->args, &out->device);
    for (size_t i = 0; i < COUNT_OF(totals) && e->kind == EVENT_COUNT; i++) {
        if (strcmp(totals[i].name, e->name) != 0)
            continue;
        out->what = totals[i].what;
        out->device = totals[i].cpu ? MEM_CPU : device_of_track(t);
        return true;
    }
    return false;
}

/* ---- curves ---- */

static int memcurve_compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_device_and_time(const void *a, const void *b)
{
    const struct mem_event *x = a, *y = b;
    int c = memcurve_compare(x->device, y->device);
    if (c == 0)
        c = memcurve_compare(x->at, y->at);
    return c ? c : (x->order > y->order) - (x->order < y->order);
}

static bool is_sorted(const struct mem_event *v, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (by_device_and_time(&v[i - 1], &v[i]) > 0)
            return false;
    return true;
}

static size_t memcurve_count(const struct mem_event *v, size_t n, enum mem_what what)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        k += v[i].what == what;
    return k;
}

/* Sums wrap instead of overflowing: what they add up comes from a file. */
static void fill_points(struct memcurve *c, const struct mem_event *v, size_t n)
{
    const enum mem_what what = c->exact ? MEM_TOTAL : MEM_CHANGE;
    uint64_t sum = 0;
    int64_t lowest = 0;
    for (size_t i = 0; i < n; i++) {
        if (v[i].what != what)
            continue;
        sum = c->exact ? (uint64_t)v[i].bytes : sum + (uint64_t)v[i].bytes;
        c->points[c->n++] = (struct mem_point){v[i].at, (int64_t)sum};
        lowest = MIN_OF(lowest, (int64_t)sum);
    }
    for (size_t i = 0; i < c->n && !c->exact; i++)
        c->points[i].bytes = (int64_t)((uint64_t)c->points[i].bytes - (uint64_t)lowest);
}

static void fill_peaks(struct memcurve *c, const struct mem_event *v, size_t n)
{
    for (size_t i = 0; i < c->n; i++) {
        if (i > 0 && c->points[i].bytes <= c->peak_bytes)
            continue;
        c->peak_bytes = c->points[i].bytes;
        c->peak_at = c->points[i].at;
    }
    c->highest_bytes = c->peak_bytes;
    c->reserved_peak_bytes = -1;
    for (size_t i = 0; i < n; i++) {
        if (v[i].what == MEM_RESERVED)
            c->reserved_peak_bytes = MAX_OF(c->reserved_peak_bytes, v[i].bytes);
        if (v[i].what != MEM_PEAK || v[i].bytes < c->peak_bytes)
            continue;
        if (v[i].bytes > c->peak_bytes || !c->allocator_peak)
            c->peak_at = v[i].at;
        c->peak_bytes = v[i].bytes;
        c->allocator_peak = true;
    }
}

/* False when there is nothing to draw. */
static bool curve_of(const struct mem_event *v, size_t n, struct arena *a, struct memcurve *out)
{
    const size_t told = memcurve_count(v, n, MEM_TOTAL), changes = memcurve_count(v, n, MEM_CHANGE);
    if (told + changes == 0)
        return false;
    *out = (struct memcurve){.device = v[0].device, .exact = told > 0};
    out->points = arena_array(a, struct mem_point, told ? told : changes);
    fill_points(out, v, n);
    fill_peaks(out, v, n);
    return true;
}

static size_t device_end(const struct mem_event *v, size_t n, size_t i)
{
    const int64_t device = v[i].device;
    while (i < n && v[i].device == device)
        i++;
    return i;
}

void memcurve_build(struct mem_event *v, size_t n, struct arena *a, struct memcurve **out,
                    size_t *n_out)
{
    size_t devices = 0;
    for (size_t i = 0; i < n; i++)
        v[i].order = i;
    if (!is_sorted(v, n))
        qsort(v, n, sizeof *v, by_device_and_time);
    for (size_t i = 0; i < n; i = device_end(v, n, i))
        devices++;
    *out = arena_array(a, struct memcurve, devices);
    *n_out = 0;
    for (size_t i = 0, end; i < n; i = end) {
        end = device_end(v, n, i);
        *n_out += curve_of(v + i, end - i, a, &(*out)[*n_out]);
    }
}
