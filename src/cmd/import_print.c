/* SPDX-License-Identifier: Apache-2.0 */
/* import_print.c - see import_print.h. */
#include "cmd/import_print.h"

#include <string.h>

#include "base/json_write.h"

enum { LINES_MOST = 20 }; /* of files that are named one by one to people */

static uint64_t fault_count(const struct json_faults *f, const struct json_fault_word *w)
{
    uint64_t count;
    memcpy(&count, (const char *)f + w->at, sizeof count);
    return count;
}

static bool import_print_gave_something(const struct import_result *r)
{
    return r->count[IMPORTED_KEPT] + r->count[IMPORTED_READINGS] > 0;
}

/* ---- for programs ---- */

static void json_source(struct jw *j, const struct import_file_result *got)
{
    jw_str(j, "format", got->format ? got->format->name : NULL);
    jw_bool(j, "gzip", got->gzip);
}

/* Bytes, times and counts. `all`: zeros too. */
static void json_result(struct jw *j, const struct run_import *m, const struct import_result *r,
                        bool all)
{
    jw_int(j, "bytes", (int64_t)r->bytes);
    if (import_print_gave_something(r)) {
        jw_int(j, "start_ns", run_import_wall(m, r->first).ns);
        jw_int(j, "end_ns", run_import_wall(m, r->last).ns);
    }
    jw_object(j, "counts");
    for (enum import_count c = 0; c < IMPORTED_N; c++)
        if (all || r->count[c])
            jw_int(j, import_count_words[c].name, (int64_t)r->count[c]);
    jw_end(j);
    jw_object(j, "faults");
    for (const struct json_fault_word *w = json_fault_words; w->name; w++)
        if (all || fault_count(&r->faults, w))
            jw_int(j, w->name, (int64_t)fault_count(&r->faults, w));
    jw_end(j);
}

static void json_file(struct jw *j, const struct run_import *m, size_t i)
{
    const struct folder_file *x = &m->from->files[i];
    const struct import_part *part = &m->parts[i];
    jw_object(j, NULL);
    jw_str(j, "path", x->name);
    if (x->skipped) {
        jw_str(j, "skipped", x->skipped);
    } else {
        jw_str(j, "node", part->node->made->id);
        json_source(j, &part->got);
        json_result(j, m, &part->got.result, false);
        jw_str(j, "failed", part->failed);
    }
    jw_end(j);
}

static void json_nodes(struct jw *j, const struct run_import *m)
{
    jw_array(j, "nodes");
    for (size_t i = 0; i < m->n_nodes; i++)
        if (m->nodes[i]->has_data)
            jw_str(j, NULL, m->nodes[i]->made->id);
    jw_end(j);
}

void import_print_json(struct buf *out, const struct run_import *m, const char *run)
{
    struct jw j = {.out = out, .indent = 2};
    jw_object(&j, NULL);
    jw_str(&j, "run", run);
    if (m->from->single)
        json_source(&j, &m->parts[0].got);
    json_result(&j, m, &m->sum, true);
    if (!m->from->single) {
        json_nodes(&j, m);
        jw_array(&j, "files");
        for (size_t i = 0; i < m->from->n; i++)
            json_file(&j, m, i);
        jw_end(&j);
    }
    jw_end(&j);
    buf_u8(out, '\n');
}

/* ---- for people ---- */

/* "14 events", "78 readings", "14 events, 78 readings" */
static void put_amount(struct buf *out, const struct import_result *r)
{
    const uint64_t events = r->count[IMPORTED_KEPT], readings = r->count[IMPORTED_READINGS];
    if (events || !readings)
        buf_printf(out, "%llu event%s", (unsigned long long)events, events == 1 ? "" : "s");
    if (readings)
        buf_printf(out, "%s%llu reading%s", events ? ", " : "", (unsigned long long)readings,
                   readings == 1 ? "" : "s");
}

static void import_print_put_losses(struct buf *out, const struct import_result *r)
{
    for (enum import_count c = 0; c < IMPORTED_N; c++)
        if (c != IMPORTED_KEPT && c != IMPORTED_READINGS && r->count[c])
            buf_printf(out, "  %s: %llu\n", import_count_words[c].help,
                       (unsigned long long)r->count[c]);
    for (const struct json_fault_word *w = json_fault_words; w->name; w++)
        if (fault_count(&r->faults, w))
            buf_printf(out, "  broken: %s (%llu)\n", w->help,
                       (unsigned long long)fault_count(&r->faults, w));
}

static void put_file(struct buf *out, const struct run_import *m, size_t i)
{
    const struct import_part *part = &m->parts[i];
    buf_printf(out, "  %s: ", m->from->files[i].name);
    put_amount(out, &part->got.result);
    buf_printf(out, ", %s%s\n", part->got.format ? part->got.format->help : "unknown format",
               part->got.gzip ? ", gzip" : "");
    if (part->failed)
        buf_printf(out, "    not read completely: %s\n", part->failed);
}

/* Those that failed are always named. */
static void put_files(struct buf *out, const struct run_import *m)
{
    size_t named = 0, more = 0;
    for (size_t i = 0; i < m->from->n; i++) {
        if (m->from->files[i].skipped)
            continue;
        if (named < LINES_MOST || m->parts[i].failed)
            put_file(out, m, i);
        else
            more++;
        named++;
    }
    if (more)
        buf_printf(out, "  and %zu more file%s\n", more, more == 1 ? "" : "s");
}

/* What nobody misses is only counted. */
static void put_skipped(struct buf *out, const struct run_import *m)
{
    size_t n = 0, named = 0;
    const char *first = NULL;
    for (size_t i = 0; i < m->from->n; i++) {
        const struct folder_file *x = &m->from->files[i];
        if (!x->skipped)
            continue;
        if (x->lost && named++ < LINES_MOST)
            buf_printf(out, "  skipped: %s: %s\n", x->name, x->skipped);
        else if (n++ == 0)
            first = x->name;
    }
    if (n == 1)
        buf_printf(out, "  skipped 1 file that is not a trace: %s\n", first);
    else if (n)
        buf_printf(out, "  skipped %zu files that are not traces: %s ...\n", n, first);
    if (m->from->cut)
        buf_printf(out, "  too many files or folders nested too deep; some were not read\n");
}

static void put_source(struct buf *out, const struct run_import *m)
{
    if (m->from->single)
        buf_printf(out, ", %s%s\n", m->parts[0].got.format->help,
                   m->parts[0].got.gzip ? ", gzip" : "");
    else
        buf_printf(out, ", %zu of %zu file%s\n", m->from->n_read, m->from->n,
                   m->from->n == 1 ? "" : "s");
}

void import_print_text(struct buf *out, const struct run_import *m, const char *run)
{
    const struct import_result *r = &m->sum;
    char took[64];
    buf_printf(out, "%s\n  ", run);
    put_amount(out, r);
    buf_printf(out, ", %s",
               duration_text((double)mono_diff(r->last, r->first) / 1e9, took, sizeof took));
    put_source(out, m);
    if (!m->from->single) {
        put_files(out, m);
        put_skipped(out, m);
    }
    import_print_put_losses(out, r);
    if (m->from->single && m->parts[0].got.garbage)
        buf_printf(out, "  ignored bytes after the gzip data\n");
}
