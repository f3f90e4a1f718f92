/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_export.c - a run in a format of others. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cmd/export.h"
#include "cmd/query_match.h"
#include "cmd/runview.h"
#include "cmd/window.h"

enum { O_FORMAT, O_OUTPUT, O_METRIC, O_ENTITY, O_NODE, O_FROM, O_TO, O_DIR };

#define EXPORT(id) #id,
static const char *const format_names[] = {
#include "cmd/exports.def"
    NULL,
};
#undef EXPORT

#define EXPORT(id) &export_##id,
static const struct export_format *const formats[] = {
#include "cmd/exports.def"
};
#undef EXPORT

static const struct opt options[] = {
    [O_FORMAT] = {"format", 'f', "FORMAT", OPT_CHOICE, .choices = format_names, .otherwise = "csv",
                  .help = "What to write."},
    [O_OUTPUT] = {"output", 'o', "FILE", OPT_FILE,
                  .help = "Write to FILE, which appears when it is complete; '-' is stdout.",
                  .otherwise = "-"},
    [O_METRIC] = {"metric", 'm', "METRIC", OPT_STRING, .choices = metric_names,
                  .help = "Only this metric; 'cpu.' with a dot at the end means all below it."},
    [O_ENTITY] = {"entity", 'e', "ENTITY", OPT_STRING, .help = "Only this part."},
    [O_NODE] = {"node", 0, "ID", OPT_STRING, .help = "Only this node."},
    [O_FROM] = OPT_ROW_FROM,
    [O_TO] = OPT_ROW_TO,
    [O_DIR] = OPT_ROW_DIR,
    {0},
};

static const struct cmd_arg positional[] = {ARG_ROW_RUN, {0}};

/* ------------------------------------------------------------------------------------------------
 * The file: written beside its place, moved there when it is complete */

struct target {
    FILE *f;
    const char *path;
    char beside[PATH_LEN]; /* "": stdout */
};

static int target_open(struct target *t, const char *path, struct err *e)
{
    *t = (struct target){.f = stdout, .path = path};
    if (strcmp(path, "-") == 0)
        return 0;
    int rc = path_join(t->beside, e, "%s.%d.part", path, (int)getpid());
    if (rc != 0)
        return rc;
    const int fd = open(t->beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        t->beside[0] = '\0';
        return err_sys(e, "create '%s'", path);
    }
    t->f = fdopen(fd, "w");
    if (t->f)
        return 0;
    rc = err_sys(e, "open '%s'", path);
    close(fd);
    unlink(t->beside);
    return rc;
}

static int target_finish(struct target *t, struct err *e)
{
    errno = 0;
    const bool bad = fflush(t->f) != 0 || fsync(fileno(t->f)) != 0;
    const int cause = errno;
    const bool unclosed = fclose(t->f) != 0;
    errno = bad ? cause : errno;
    if (bad || unclosed)
        return err_sys(e, "write '%s'", t->path);
    if (rename(t->beside, t->path) != 0)
        return err_sys(e, "rename to '%s'", t->path);
    return 0;
}

/* rc: how the writing went; then nothing is left behind but a complete file. */
static int target_close(struct target *t, int rc, struct err *e)
{
    if (!*t->beside)
        return rc;
    if (rc == 0)
        rc = target_finish(t, e);
    else
        fclose(t->f);
    if (rc != 0)
        unlink(t->beside);
    return rc;
}

/* ------------------------------------------------------------------------------------------------
 * The command */

static int write_to(struct target *t, struct run *r, const struct cmd_args *args, struct err *e)
{
    const struct run_info *info = run_get_info(r);
    wall_ns window[2];
    int rc = window_of(&args->opt[O_FROM], &args->opt[O_TO], info->start, info->end, window, e);
    if (rc != 0)
        return rc;
    struct progress p;
    /* Rows that scroll by on the terminal are progress enough. */
    const size_t width = t->f == stdout && term_width(stdout) ? 0 : term_width(stderr);
    progress_start(&p, stderr, width, "export", clock_mono());
    const struct export_job job = {
        .run = r,
        .ask = {args->opt[O_NODE].text, args->opt[O_METRIC].text, args->opt[O_ENTITY].text,
                window[0], window[1], 0},
        .to = t->f,
        .name = t->f == stdout ? "stdout" : t->path,
        .progress = &p,
    };
    rc = formats[args->opt[O_FORMAT].number]->write(&job, e);
    progress_end(&p);
    return rc;
}

static int run(const struct cmd_args *args, struct err *e)
{
    struct run *r = NULL;
    struct target t;
    int rc = runview_open(&r, args->opt[O_DIR].text, args->arg[0], e);
    if (rc != 0)
        return rc;
    rc = target_open(&t, args->opt[O_OUTPUT].text, e);
    if (rc == 0)
        rc = target_close(&t, write_to(&t, r, args, e), e);
    run_close(r);
    return rc;
}

static const char *const help[] = {
    "One row per sample: node, metric, entity, unit, time in nanoseconds since the epoch, value. "
    "The run is streamed, so its size does not matter.",
    NULL,
};

static const struct cmd_example examples[] = {
    {"footplate export last -o run.csv", "Everything, as CSV."},
    {"footplate export last --format jsonl --metric gpu. | zstd > gpu.jsonl.zst",
     "All GPU metrics, compressed on the way."},
    {0},
};

const struct cmd cmd_export = {
    .name = "export",
    .summary = "write a run's samples as CSV or JSON lines",
    .args = positional,
    .options = options,
    .help = help,
    .examples = examples,
    .run = run,
};
