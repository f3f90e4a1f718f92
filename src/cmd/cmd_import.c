/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_import.c - a trace of another profiler as a run like any other. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/import_print.h"
#include "cmd/output.h"
#include "convert/interrupted.h"
#include "query/run.h"
#include "run/run_names.h"

enum { O_FORMAT, O_OUTPUT, O_DIR, O_JSON };
enum {
    LARGE = 2 << 20,       /* bytes of a block that is given back as soon as it is freed */
    HEAP_FIRST = 12 << 20, /* bytes that the heap begins with */
    HUGE_PAGE = 2 << 20,
};

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
    [O_DIR] = OPT_ROW_DIR,
    [O_JSON] = OPT_ROW_JSON,
    {0},
};

static const struct cmd_arg positional[] = {
    {"PATH", ARG_PATH, .help = "A trace file, plain or gzip, or a folder of them."},
    {0},
};

static const struct importer *format_of(const struct cmd_args *a)
{
    return importer_find(a->opt[O_FORMAT].text);
}

/* ------------------------------------------------------------------------------------------------
 * A run */

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
    int rc = ours ? restore(m, a, p, &dir, e) : run_import_read(m, e);
    if (rc == 0 && !ours)
        rc = cmd_import_make_run(m, p, a->arg[0], &dir, e);
    if (rc != 0)
        return rc;
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

/* Storing takes and frees the same few large blocks again and again. Left alone, the allocator maps
 * them anew each time, and every page of them costs a fault. The heap begins with a stretch that
 * the kernel may back with huge pages, one fault where small ones take 512. What lies before the
 * first of them is held, for the caller to free, so that nobody touches it. */
static void *keep_memory(void)
{
    (void)mallopt(M_TRIM_THRESHOLD, HEAP_FIRST + 2 * LARGE);
    (void)mallopt(M_MMAP_THRESHOLD, 2 * HEAP_FIRST);
    void *heap = xmalloc(HEAP_FIRST);
    const uintptr_t from = ((uintptr_t)heap + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1);
    const size_t gap = from - (uintptr_t)heap;
    (void)madvise((void *)from, HEAP_FIRST - HUGE_PAGE, MADV_HUGEPAGE);
    free(heap);
    void *before = xmalloc(gap + 1);
    (void)mallopt(M_MMAP_THRESHOLD, LARGE);
    return before;
}

static int cmd_import_run(const struct cmd_args *a, struct err *e)
{
    struct run_place p;
    struct folder from;
    void *before = keep_memory();
    int rc = run_place_of(&p, a->opt[O_OUTPUT].text, a->opt[O_DIR].text, e);
    if (rc == 0)
        rc = folder_open(&from, a->arg[0], format_of(a), e);
    if (rc == 0) {
        interrupted_watch();
        rc = import_folder(a, &p, &from, e);
        folder_close(&from);
    }
    free(before);
    if (rc != 0)
        interrupted_end();
    return rc;
}

static const char *const help[] = {
    "Imports: Chrome traces of the PyTorch profiler (Kineto) and of other programs, plain or gzip; "
    "traces of TensorFlow and JAX; Horovod timelines; SageMaker profiler output; CSV of nvidia-smi "
    "--query-gpu (its times have no zone: set TZ, the default is UTC); scenes (synthetic runs "
    "written as text); and Footplate exports. The result is an ordinary run. Anything that cannot "
    "be imported is counted and reported.",
    "A folder is imported as one run with the traces of all its ranks and the metrics of all its "
    "nodes, which are identified by file names and by the content of the traces. Files that are "
    "not traces are skipped and counted. A truncated file is imported up to its end, and the run "
    "reports it.",
    "A damaged trace is read as far as possible. If nothing can be read, no run is created.",
    NULL,
};

static const struct cmd_example examples[] = {
    {"footplate import trace.json.gz", "Create a new run."},
    {"footplate import worker0.pt.trace.json -o runs/resnet", "Create the run in this folder."},
    {"footplate import profiler-output", "Import all ranks and nodes of a job as one run."},
    {0},
};

const struct cmd cmd_import = {
    .name = "import",
    .summary = "import a trace from another profiler",
    .args = positional,
    .options = options,
    .help = help,
    .examples = examples,
    .run = cmd_import_run,
};
