/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_set.c - changes a recording while it goes on. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/control.h"
#include "base/file.h"
#include "cmd/cmd.h"
#include "query/run.h"

enum { O_DIR, O_NODE };

static const struct opt options[] = {
    [O_DIR] = OPT_ROW_DIR,
    [O_NODE] = {"node", 0, "ID", OPT_STRING,
                .help = "Only this node (default: all on this machine)."},
    {0},
};

static const char *const settings[] = {"interval=100ms", "interval=500ms", "monitoring=off",
                                       "monitoring=on",  "detail=now:3",   "detail=off",
                                       "stop",           "status",         NULL};

static const struct cmd_arg args[] = {
    ARG_ROW_RUN,
    {"SETTING", ARG_WORD, .repeat = true, .choices = settings,
     .help =
         "interval=TIME (10ms to 60s); monitoring=on or off; detail=now:3 (the operators of three "
         "steps), detail=+5s:2s (two seconds, in five), detail=100:2 (steps 100 and 101) or "
         "detail=off; stop, which ends the job with SIGTERM "
         "and, ten seconds later, SIGKILL; status, which changes nothing."},
    {0},
};

static int check_settings(const struct cmd_args *a, struct err *e)
{
    for (size_t i = 1; i < a->n_args; i++) {
        struct control_request ignored;
        const int rc = control_parse(a->arg[i], strlen(a->arg[i]), &ignored, e);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int set_node(const struct cmd_args *a, const struct run_info *info, const char *node,
                    uid_t owner, struct err *e)
{
    char answer[CONTROL_ANSWER];
    for (size_t i = 1; i < a->n_args; i++) {
        const int rc = control_ask(info->id, node, owner, a->arg[i], answer, e);
        if (rc != 0)
            return rc;
        printf("%s: %s\n", node, answer);
    }
    return 0;
}

/* Nodes of other machines are passed over as long as one here answers. */
static int set_nodes(const struct cmd_args *a, const struct run_info *info, uid_t owner,
                     struct err *e)
{
    const char *only = a->opt[O_NODE].text;
    size_t done = 0, running = 0;
    for (size_t i = 0; i < info->n_nodes; i++) {
        const struct node_info *n = &info->nodes[i];
        if (n->status != RUN_RUNNING || (only && strcmp(only, n->id) != 0))
            continue;
        running++;
        const int rc = set_node(a, info, n->id, owner, e);
        if (rc != 0 && rc != ERR_NOT_FOUND)
            return rc;
        done += rc == 0;
    }
    if (done > 0)
        return 0;
    if (running == 0)
        return err_set(e, ERR_NOT_FOUND, "run '%s' is not being recorded: it is %s", info->name,
                       run_status_name(info->status));
    return err_set(e, ERR_NOT_FOUND, "no recorder of run '%s' runs on this machine", info->name);
}

static int set_run(const struct cmd_args *a, const char *path, struct arena *arena, struct err *e)
{
    struct run_info info;
    struct stat st;
    int rc = run_info_read(&info, path, arena, e);
    if (rc != 0)
        return rc;
    if (stat(path, &st) < 0)
        return err_sys(e, "'%s'", path);
    return set_nodes(a, &info, st.st_uid, e);
}

static int run(const struct cmd_args *a, struct err *e)
{
    char path[PATH_LEN];
    int rc = check_settings(a, e);
    if (rc == 0)
        rc = run_find(a->opt[O_DIR].text, a->arg[0], path, e);
    if (rc != 0)
        return rc;
    struct arena arena = {0};
    rc = set_run(a, path, &arena, e);
    arena_free(&arena);
    return rc;
}

static const struct cmd_example examples[] = {
    {"footplate set last interval=100ms", "Samples ten times a second from now on."},
    {"footplate set last monitoring=off", "Pauses; the job goes on."},
    {"footplate set last detail=now:3", "Records every operator of the next three steps."},
    {"footplate set last stop", "Ends the job."},
    {0},
};

const struct cmd cmd_set = {
    .name = "set",
    .summary = "change a running recording: interval, pause, detail, or end its job",
    .args = args,
    .options = options,
    .examples = examples,
    .run = run,
};
