/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_import.c - imports traces of other profilers, and exports of Footplate, as runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json_write.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "convert/run_import.h"
#include "convert/run_restore.h"
#include "query/run.h"
#include "run/run_names.h"

enum { LINES_MOST = 20 }; /* of files that are listed one by one */

static uint64_t fault_count(const struct json_faults *f, const struct json_fault_word *w)
{
    uint64_t count;
    memcpy(&count, (const char *)f + w->at, sizeof count);
    return count;
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
    if (import_gave_something(r)) {
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

static void import_print_json(struct buf *out, const struct run_import *m, const char *run)
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

static void cmd_import_put_losses(struct buf *out, const struct import_result *r)
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

/* Skipped files that are not traces are only counted. */
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

static void import_print_text(struct buf *out, const struct run_import *m, const char *run)
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
    cmd_import_put_losses(out, r);
    if (m->from->single && m->parts[0].got.garbage)
        buf_printf(out, "  ignored bytes after the gzip data\n");
}

/* ---- the command ---- */

enum { O_FORMAT, O_OUTPUT, O_DIR, O_JSON };

#define IMPORTER(id) #id,
static const char *const format_names[] = {
    "auto",
#include "import/importers.def"
    NULL,
};
#undef IMPORTER

static const struct opt options[] = {
    [O_FORMAT] = {"format", 'f', "FORMAT", OPT_CHOICE, .choices = format_names, .otherwise = "auto",
                  .help = "Format of the files; auto detects it from their content."},
    [O_OUTPUT] = {"output", 'o', "RUN", OPT_FOLDER,
                  .help = "The run folder to create (default: a new one in the folder of runs)."},
    [O_DIR] = {OPT_ROW_DIR},
    [O_JSON] = {OPT_ROW_JSON},
    {0},
};

/* ---- a run ---- */

/* "resnet50" of "/x/resnet50.1623142624.pt.trace.json.gz"; of a folder its name. */
static void name_of_trace(char out[RUN_NAME_LEN], const char *path, bool single)
{
    char base[PATH_LEN], real[PATH_LEN];
    const char *whole = !single && realpath(path, real) ? real : path;
    const char *slash = strrchr(whole, '/');
    snprintf(base, sizeof base, "%s", slash ? slash + 1 : whole);
    char *dot = single ? strchr(base + (base[0] != '\0'), '.') : NULL;
    if (dot)
        *dot = '\0';
    name_sanitize(out, RUN_NAME_LEN, *base ? base : "trace");
}

static int cmd_import_make_run(struct run_import *m, const struct run_place *p, const char *trace,
                               struct rundir *dir, struct err *e)
{
    char name[RUN_NAME_LEN], *cwd = getcwd(NULL, 0);
    const char *const command[] = {"footplate", "import", trace, NULL};
    name_of_trace(name, trace, m->from->single);
    const struct run_about about = {
        .name = name,
        .command = command,
        .directory = cwd ? cwd : "",
        .git_commit = "",
        .start = run_import_wall(m, m->sum.first),
    };
    const int rc = run_import_place(m, p->dir, *p->id ? p->id : NULL, &about, dir, e);
    free(cwd);
    return rc;
}

/* An export of ours is made into the run that it was. */
static int restore(struct run_import *m, const struct cmd_args *a, const struct run_place *p,
                   struct rundir *dir, struct err *e)
{
    char name[RUN_NAME_LEN];
    struct folder *from = m->from;
    name_of_trace(name, a->arg[0], true);
    run_import_end(m);
    return run_import_export(m, from, p->dir, p->id, name, dir, e);
}

static int import_and_keep(struct run_import *m, const struct cmd_args *a,
                           const struct run_place *p, struct err *e)
{
    struct rundir dir;
    struct buf out = {0};
    const bool ours = run_import_is_export(m->from);
    TRY(ours ? restore(m, a, p, &dir, e) : run_import_read(m, e));
    if (!ours)
        TRY(cmd_import_make_run(m, p, a->arg[0], &dir, e));
    if (a->opt[O_JSON].given)
        import_print_json(&out, m, dir.path);
    else
        import_print_text(&out, m, dir.path);
    output_buf(&out);
    buf_free(&out);
    return 0;
}

static int import_folder(const struct cmd_args *a, const struct run_place *p, struct folder *from,
                         struct err *e)
{
    struct run_import m;
    int rc = run_import_begin(&m, p->dir, from, e);
    if (rc == 0)
        rc = import_and_keep(&m, a, p, e);
    run_import_end(&m);
    return rc;
}

static int cmd_import_run(const struct cmd_args *a, struct err *e)
{
    struct run_place p;
    struct folder from;
    int rc = run_place_of(&p, a->opt[O_OUTPUT].text, a->opt[O_DIR].text, e);
    if (rc == 0)
        rc = folder_open(&from, a->arg[0], importer_find(a->opt[O_FORMAT].text), e);
    if (rc == 0) {
        interrupted_watch();
        rc = import_folder(a, &p, &from, e);
        folder_close(&from);
    }
    if (rc != 0)
        interrupted_end();
    return rc;
}

const struct cmd cmd_import = {
    .name = "import",
    .summary = "import a trace from another profiler",
    .args =
        CMD_ARGS({"PATH", ARG_PATH, .help = "A trace file, plain or gzip, or a folder of them."}),
    .options = options,
    .help = CMD_HELP("Imports: Chrome traces of the PyTorch profiler (Kineto) and of other "
                     "programs, plain or gzip; traces of TensorFlow and JAX; Horovod timelines; "
                     "SageMaker profiler output; tensors of SageMaker Debugger (debug-output) and "
                     "TensorBoard event files, as training health; CSV of nvidia-smi --query-gpu "
                     "(its times have no zone: set TZ, the default is UTC); scenes (synthetic runs "
                     "written as text); and Footplate exports. The result is an ordinary run. "
                     "Anything that cannot "
                     "be imported is counted and reported.",
                     "A folder is imported as one run with the traces of all its ranks and the "
                     "metrics of all its nodes, which are identified by file names and by the "
                     "content of the traces. Files that are not traces are skipped and counted. A "
                     "truncated file is imported up to its end, and the run reports it.",
                     "A damaged trace is read as far as possible. If nothing can be read, no run "
                     "is created."),
    .examples = CMD_EXAMPLES(
        {"footplate import trace.json.gz", "Create a new run."},
        {"footplate import worker0.pt.trace.json -o runs/resnet", "Create the run in this folder."},
        {"footplate import profiler-output", "Import all ranks and nodes of a job as one run."}),
    .run = cmd_import_run,
};
