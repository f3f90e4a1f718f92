/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_doctor.c - what can be measured on this machine, what it costs, and why not the rest. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "agent/control.h"
#include "cmd/cmd.h"
#include "cmd/doctor.h"
#include "query/run.h"
#include "run/run_info.h"
#include "watch/curl.h"

enum { O_JSON, O_ALL, O_DIR };

static const struct opt options[] = {
    [O_JSON] = OPT_ROW_JSON,
    [O_ALL] = {"all", 'a', NULL, OPT_FLAG, .help = "Show every series, not only one per metric."},
    [O_DIR] = OPT_ROW_DIR,
    {0},
};

/* The folder itself, or the nearest one above it that exists: that is where it would be made. */
static void nearest_folder(char *path)
{
    while (access(path, F_OK) != 0 && errno == ENOENT) {
        char *slash = strrchr(path, '/');
        if (!slash) {
            path[0] = '.';
            path[1] = '\0';
            return;
        }
        slash[slash == path ? 1 : 0] = '\0';
    }
}

static void check_runs(struct place *p, const char *dir)
{
    char where[PATH_LEN];
    struct statvfs fs;
    snprintf(p->path, sizeof p->path, "%s", runs_folder(dir));
    snprintf(where, sizeof where, "%s", p->path);
    nearest_folder(where);
    p->ok = access(where, W_OK | X_OK) == 0;
    if (!p->ok)
        snprintf(p->why, sizeof p->why, "cannot write to '%.400s': %s", where, strerror(errno));
    p->free_bytes = NAN;
    if (statvfs(where, &fs) == 0)
        p->free_bytes = (double)fs.f_bavail * (double)fs.f_frsize;
}

/* The socket that a recorder would open, opened. */
static void check_runtime(struct place *p)
{
    struct control c;
    struct err e = {0};
    char id[32];
    snprintf(id, sizeof id, "doctor-%d", (int)getpid());
    p->free_bytes = NAN;
    p->ok = control_open(&c, id, "doctor", &e) == 0;
    if (!p->ok) {
        snprintf(p->why, sizeof p->why, "%s", e.msg);
        return;
    }
    snprintf(p->path, sizeof p->path, "%s", c.path);
    char *slash = strrchr(p->path, '/');
    if (slash)
        *slash = '\0';
    control_close(&c);
}

static void check_clock(struct checkup *c)
{
    enum { READS = 1000 };
    struct err e = {0};
    char *text = NULL;
    size_t n = 0;
    const char *file = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    if (file_read(file, sizeof c->clock_source, c->arena, &text, &n, &e) == 0)
        snprintf(c->clock_source, sizeof c->clock_source, "%.*s", (int)strcspn(text, "\n"), text);
    const mono_ns start = clock_mono();
    mono_ns last = start;
    for (int i = 0; i < READS; i++)
        last = clock_mono();
    c->clock_read_ns = (double)mono_diff(last, start) / READS;
}

static void examine(struct checkup *c, const char *dir)
{
    check_runs(&c->runs, dir);
    check_runtime(&c->runtime);
    check_clock(c);
    (void)!curl_is_there(&c->curl);
    trial_run(&c->trial, "/proc", "/sys", c->arena);
}

static int cmd_doctor_run(const struct cmd_args *args, struct err *e)
{
    (void)e;
    struct arena a = {0};
    struct checkup *c = arena_new(&a, struct checkup);
    c->arena = &a;
    examine(c, args->opt[O_DIR].text);
    if (args->opt[O_JSON].given)
        doctor_json(c);
    else
        doctor_text(c, args->opt[O_ALL].given);
    const int status = c->runs.ok ? EXIT_FINE : EXIT_FAILED;
    arena_free(&a);
    return status;
}

static const char *const help[] = {
    "Opens every probe, reads it a few times and shows the values, the cost of one reading, and "
    "the reason for every metric that is not available on this machine. Takes about half a second "
    "and records nothing.",
    NULL,
};

const struct cmd cmd_doctor = {
    .name = "doctor",
    .summary = "check what can be measured on this machine",
    .options = options,
    .help = help,
    .exit_codes = "0 if runs can be recorded, 1 if the run folder is not writable, 2 if the "
                  "command line is invalid.",
    .run = cmd_doctor_run,
};
