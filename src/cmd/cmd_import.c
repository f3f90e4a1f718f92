/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_import.c - a trace of another profiler as a run like any other. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/nodefile.h"
#include "agent/rundir.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/importing.h"
#include "cmd/output.h"
#include "query/run.h"

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
                  .help = "What the file is; auto looks at its bytes."},
    [O_OUTPUT] = {"output", 'o', "RUN", OPT_FOLDER,
                  .help = "The run folder to make (default: a new one among the others)."},
    [O_DIR] = OPT_ROW_DIR,
    [O_JSON] = OPT_ROW_JSON,
    {0},
};

static const struct cmd_arg positional[] = {
    {"PATH", ARG_PATH, .help = "The trace, plain or gzip."},
    {0},
};

static const struct importer *format_of(const struct cmd_args *a)
{
    return importer_find(a->opt[O_FORMAT].text);
}

/* ------------------------------------------------------------------------------------------------
 * What was read, for people and for programs */

static uint64_t fault_count(const struct json_faults *f, const struct json_fault_word *w)
{
    uint64_t count;
    memcpy(&count, (const char *)f + w->at, sizeof count);
    return count;
}

static void print_json(struct buf *out, const struct importing *m, const char *run)
{
    const struct import_result *r = &m->got.result;
    struct jw j = {.out = out, .indent = 2};
    jw_object(&j, NULL);
    jw_str(&j, "run", run);
    jw_str(&j, "format", m->got.format->name);
    jw_bool(&j, "gzip", m->got.gzip);
    jw_int(&j, "bytes", (int64_t)r->bytes);
    jw_int(&j, "start_ns", importing_wall(m, r->first).ns);
    jw_int(&j, "end_ns", importing_wall(m, r->last).ns);
    jw_object(&j, "counts");
    for (enum import_count c = 0; c < IMPORTED_N; c++)
        jw_int(&j, import_count_words[c].name, (int64_t)r->count[c]);
    jw_end(&j);
    jw_object(&j, "faults");
    for (const struct json_fault_word *w = json_fault_words; w->name; w++)
        jw_int(&j, w->name, (int64_t)fault_count(&r->faults, w));
    jw_end(&j);
    jw_end(&j);
    buf_u8(out, '\n');
}

static void print_text(struct buf *out, const struct importing *m, const char *run)
{
    const struct import_result *r = &m->got.result;
    char took[64];
    buf_printf(out, "%s\n", run);
    buf_printf(out, "  %llu events, %s, %s%s\n", (unsigned long long)r->count[IMPORTED_KEPT],
               duration_text((double)mono_diff(r->last, r->first) / 1e9, took, sizeof took),
               m->got.format->help, m->got.gzip ? ", gzip" : "");
    for (enum import_count c = 0; c < IMPORTED_N; c++)
        if (c != IMPORTED_KEPT && r->count[c])
            buf_printf(out, "  %llu %s\n", (unsigned long long)r->count[c],
                       import_count_words[c].help);
    for (const struct json_fault_word *w = json_fault_words; w->name; w++)
        if (fault_count(&r->faults, w))
            buf_printf(out, "  broken: %s (%llu)\n", w->help,
                       (unsigned long long)fault_count(&r->faults, w));
    if (m->got.garbage)
        buf_printf(out, "  bytes behind the gzip data were ignored\n");
}

/* ------------------------------------------------------------------------------------------------
 * A run */

/* "resnet50" of "/x/resnet50.1623142624.pt.trace.json.gz" */
static void name_of_trace(char out[RUN_NAME_LEN], const char *path)
{
    const char *slash = strrchr(path, '/');
    char base[PATH_LEN];
    snprintf(base, sizeof base, "%s", slash ? slash + 1 : path);
    char *dot = strchr(base + (base[0] != '\0'), '.');
    if (dot)
        *dot = '\0';
    name_sanitize(out, RUN_NAME_LEN, *base ? base : "trace");
}

/* Where the run is to be: the folder that holds it, and its name there ("": any new one). */
struct place {
    char dir[PATH_LEN], id[PATH_LEN];
};

static int place_of(struct place *p, const struct cmd_args *a, struct err *e)
{
    struct stat st;
    const char *wanted = a->opt[O_OUTPUT].text;
    p->id[0] = '\0';
    if (!wanted)
        return path_join(p->dir, e, "%s", runs_folder(a->opt[O_DIR].text));
    if (lstat(wanted, &st) == 0)
        return err_set(e, ERR_BUSY, "'%s' is there already", wanted);
    int rc = path_join(p->dir, e, "%s", wanted);
    if (rc != 0)
        return rc;
    for (size_t n = strlen(p->dir); n > 1 && p->dir[n - 1] == '/'; n--)
        p->dir[n - 1] = '\0';
    char *slash = strrchr(p->dir, '/');
    rc = path_join(p->id, e, "%s", slash ? slash + 1 : p->dir);
    if (rc != 0 || !slash)
        return rc != 0 ? rc : path_join(p->dir, e, ".");
    slash[slash == p->dir] = '\0'; /* the root keeps its own */
    return 0;
}

static int write_node(const struct importing *m, const struct rundir *dir, struct err *e)
{
    struct nodefile f;
    const struct node_about about = {
        .id = dir->node_id,
        .session = 1,
        .status = NODE_FINISHED,
        .launcher = {.rank = -1, .world_size = -1, .local_rank = -1},
        .start = importing_wall(m, m->got.result.first),
        .end = importing_wall(m, m->got.result.last),
        .exit_status = -1,
        .cpu_s = -1,
    };
    nodefile_init(&f, &about);
    const int rc = nodefile_place(&f, dir->node_path, e);
    return rc != 0 ? rc : nodefile_write(&f, e);
}

static int keep_files(struct importing *m, const struct rundir *dir, struct err *e)
{
    static const char *const names[] = {"metrics", "events"};
    char to[PATH_LEN];
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        int rc = path_join(to, e, "%s/%s.fp", dir->node_path, names[i]);
        if (rc == 0)
            rc = importing_keep(m, names[i], to, e);
        if (rc != 0)
            return rc;
    }
    return write_node(m, dir, e);
}

static int make_run(struct importing *m, const struct place *p, const char *trace,
                    struct rundir *dir, struct err *e)
{
    char name[RUN_NAME_LEN], *cwd = getcwd(NULL, 0);
    const char *const command[] = {"footplate", "import", trace, NULL};
    name_of_trace(name, trace);
    const struct run_about about = {
        .name = name,
        .command = command,
        .directory = cwd ? cwd : "",
        .git_commit = "",
        .start = importing_wall(m, m->got.result.first),
    };
    int rc = rundir_make(dir, p->dir, *p->id ? p->id : NULL, &about, e);
    free(cwd);
    if (rc != 0)
        return rc;
    rc = rundir_make_node(dir, "trace", e);
    if (rc == 0)
        rc = keep_files(m, dir, e);
    if (rc != 0)
        rundir_remove(dir, 1);
    return rc;
}

static int import_and_keep(struct importing *m, const struct cmd_args *a, const struct place *p,
                           struct err *e)
{
    struct rundir dir;
    struct buf out = {0};
    int rc = importing_file(m, a->arg[0], format_of(a), e);
    if (rc == 0)
        rc = importing_seal(m, e);
    if (rc == 0)
        rc = make_run(m, p, a->arg[0], &dir, e);
    if (rc != 0)
        return rc;
    if (a->opt[O_JSON].given)
        print_json(&out, m, dir.path);
    else
        print_text(&out, m, dir.path);
    output_buf(&out);
    buf_free(&out);
    return 0;
}

/* Folders that were made for the run and hold nothing go with it. */
static int run(const struct cmd_args *a, struct err *e)
{
    struct place p;
    struct importing m;
    struct stat st;
    int rc = place_of(&p, a, e);
    if (rc != 0)
        return rc;
    if (stat(a->arg[0], &st) < 0)
        return err_sys(e, "'%s'", a->arg[0]);
    if (S_ISDIR(st.st_mode))
        return err_set(e, ERR_USAGE, "'%s' is a folder: name a trace in it", a->arg[0]);
    const bool made = stat(p.dir, &st) < 0;
    rc = dir_make(p.dir, e);
    if (rc == 0)
        rc = importing_begin(&m, p.dir, e);
    if (rc == 0) {
        rc = import_and_keep(&m, a, &p, e);
        importing_end(&m);
    }
    if (rc != 0 && made)
        rmdir(p.dir);
    return rc;
}

static const char *const help[] = {
    "Makes a run of a trace that another profiler wrote: Chrome traces as PyTorch's profiler "
    "(Kineto) writes them, of all ages, plain or gzip. The run is then like any other. What the "
    "trace has and the run has not is counted and said.",
    "A trace that is cut off, or broken in places, is read as far as it makes sense. One that "
    "cannot be read leaves nothing behind.",
    NULL,
};

static const struct cmd_example examples[] = {
    {"footplate import trace.json.gz", "A new run among the others."},
    {"footplate import worker0.pt.trace.json -o runs/resnet", "A run in that folder."},
    {0},
};

const struct cmd cmd_import = {
    .name = "import",
    .summary = "make a run of a trace that another profiler wrote",
    .args = positional,
    .options = options,
    .help = help,
    .examples = examples,
    .run = run,
};
