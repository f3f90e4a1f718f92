/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_runs.c - commands about runs as a whole: ls, note, rm, set. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/human.h"
#include "base/json_read.h"
#include "base/json_write.h"
#include "base/progress.h"
#include "base/table.h"
#include "base/thread.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "control/control_client.h"
#include "net/hub_client.h"
#include "net/sigv4.h"
#include "query/run.h"
#include "run/run_catalog.h"
#include "run/run_files.h"
#include "run/run_info.h"
#include "run/run_notes.h"
#include "run/storage.h"
#include "tables/runview.h"

/* ==== ls: the runs in a folder, newest first. Reads only the small JSON files ==== */

enum { LS_JSON, LS_CSV, LS_DIR, LS_LIMIT, LS_REBUILD, LS_NAMES };

static const struct opt ls_options[] = {
    [LS_JSON] = {OPT_ROW_JSON},
    [LS_CSV] = {OPT_ROW_CSV},
    [LS_DIR] = {OPT_ROW_DIR},
    [LS_LIMIT] = {"limit", 'n', "N", OPT_INT, .lo = 1, .hi = 1000000,
                  .help = "List only the newest N runs."},
    [LS_REBUILD] = {"rebuild", 0, NULL, OPT_FLAG,
                    .help = "First write the catalogue of a prefix in object storage anew "
                            "(docs/remote.md)."},
    [LS_NAMES] = {"names", 0, NULL, OPT_FLAG, .hidden = true,
                  .help = "List only the names, one per line; for shell completion."},
    {0},
};

/* A long list is read by several threads: entries of a catalogue are parsed, runs elsewhere answer
 * slowly. */
struct ls_list {
    const struct run_listed *runs;
    struct run_line *lines;
};

enum { LS_EACH = 500 };

static void cmd_ls_describe_some(struct parallel *c, struct arena *a)
{
    const struct ls_list *l = c->ctx;
    for (size_t i; parallel_next(c, &i);) {
        struct err why = {0};
        if (run_info_of(&l->lines[i].info, &l->runs[i], a, &why) != 0)
            l->lines[i].broken = arena_strdup(a, why.msg);
    }
}

static void cmd_ls_describe(const struct run_listed *runs, struct run_line *lines, size_t n,
                            struct arena *a)
{
    struct ls_list list = {runs, lines};
    struct parallel job = {.n = n, .each = LS_EACH, .work = cmd_ls_describe_some, .ctx = &list};
    parallel_run(&job, a);
}

static int cmd_ls_read(const struct cmd_args *args, struct arena *a, struct run_line **out,
                       size_t *n, struct err *e)
{
    struct run_listed *runs;
    const char *dir = runs_folder(args->opt[LS_DIR].text);
    if (args->opt[LS_REBUILD].given)
        TRY(run_catalog_pack(dir, true, e));
    TRY(run_list(dir, a, &runs, n, e));
    if (args->opt[LS_LIMIT].given && *n > (size_t)args->opt[LS_LIMIT].number)
        *n = (size_t)args->opt[LS_LIMIT].number;
    *out = arena_array(a, struct run_line, *n + 1);
    for (size_t i = 0; i < *n; i++)
        (*out)[i].folder = path_base(runs[i].path);
    if (!args->opt[LS_NAMES].given)
        cmd_ls_describe(runs, *out, *n, a);
    return 0;
}

static void cmd_ls_print_json(const struct run_line *v, size_t n, struct arena *a)
{
    struct output_json o;
    struct jw *j = output_begin(&o);
    jw_array(j, NULL);
    for (size_t i = 0; i < n; i++) {
        jw_object(j, NULL);
        if (v[i].broken) {
            jw_str(j, "name", v[i].folder);
            jw_null(j, "status");
            jw_str(j, "error", v[i].broken);
        } else {
            runview_json(j, &v[i].info, a);
        }
        jw_end(j);
        output_buf(&o.b);
    }
    jw_end(j);
    output_end(&o);
}

enum { START_LEN = sizeof "2026-11-15 09:36:02" - 1, WIDE = 110 };

static void cmd_ls_put_row(struct table *t, const struct run_line *x, bool wide, struct arena *a)
{
    const struct run_info *info = &x->info;
    char text[HUMAN_LEN];
    table_cell(t, "%s", x->folder);
    if (x->broken) {
        table_rest(t, "unreadable: %s", x->broken);
        return;
    }
    table_cell(t, "%s", run_status_name(info->status));
    if (wide)
        table_cell(t, "%.*s", START_LEN, wall_text(info->start, text, sizeof text));
    table_cell(t, "%s", duration_text(runview_duration_s(info), text, sizeof text));
    table_cell(t, "%zu", runview_count_nodes(info));
    table_cell(t, "%zu", runview_gpus(info));
    table_cell(t, "%s", runview_command(info, a));
}

static void cmd_ls_print_table(const struct run_line *v, size_t n, struct arena *a)
{
    struct table t;
    const size_t width = term_width(stdout);
    const bool wide = width == 0 || width >= WIDE;
    /* The start is part of the folder's name, so a narrow terminal does without it. */
    table_init(&t, a,
               wide ? "RUN|STATUS|START|>DURATION|>NODES|>GPUS|~COMMAND"
                    : "RUN|STATUS|>DURATION|>NODES|>GPUS|~COMMAND");
    for (size_t i = 0; i < n; i++)
        cmd_ls_put_row(&t, &v[i], wide, a);
    table_print(&t, stdout, width, term_color(stdout));
}

static void cmd_ls_print(const struct cmd_args *args, const struct run_line *v, size_t n)
{
    for (size_t i = 0; args->opt[LS_NAMES].given && i < n; i++)
        puts(v[i].folder);
    if (n == 0)
        fprintf(stderr, "no runs in '%s'\n", runs_folder(args->opt[LS_DIR].text));
    if (args->opt[LS_NAMES].given)
        return;
    if (args->output == OUTPUT_JSON)
        cmd_ls_print_json(v, n, args->arena);
    else if (args->output == OUTPUT_CSV)
        output_csv(&row_RunLine, "", v, n, args->arena);
    else if (n > 0)
        cmd_ls_print_table(v, n, args->arena);
}

static int cmd_ls_run(const struct cmd_args *args, struct err *e)
{
    struct run_line *v;
    size_t n;
    const int rc = cmd_ls_read(args, args->arena, &v, &n, e);
    if (rc == 0)
        cmd_ls_print(args, v, n);
    return rc ? rc : EXIT_FINE;
}

const struct cmd cmd_ls = {
    .name = "ls",
    .summary = "list recorded runs, newest first",
    .options = ls_options,
    .examples = CMD_EXAMPLES({"footplate ls", "List all runs in the folder of runs."},
                             {"footplate ls -n 5 --json", "Print the five newest runs as JSON."}),
    .run = cmd_ls_run,
};

/* ==== note: renames, tags and annotates a run ==== */

enum { NOTE_DIR, NOTE_NAME, NOTE_TAG, NOTE_UNTAG, NOTE_TEXT, NOTE_CLEAR };

static const struct opt note_options[] = {
    [NOTE_DIR] = {OPT_ROW_DIR},
    [NOTE_NAME] = {"name", 0, "NAME", OPT_STRING,
                   .help = "Show the run under this name; '' restores the recorded name."},
    [NOTE_TAG] = {"tag", 't', "TAG", OPT_STRING, .repeat = true, .help = "Add a tag."},
    [NOTE_UNTAG] = {"untag", 0, "TAG", OPT_STRING, .repeat = true, .help = "Remove a tag."},
    [NOTE_TEXT] = {"text", 0, "TEXT", OPT_STRING, .help = "Replace the text; '' removes it."},
    [NOTE_CLEAR] = {"clear", 0, NULL, OPT_FLAG, .help = "Remove the name, all tags and the text."},
    {0},
};

/* A tag that is there already stays where it is. */
static int note_change_tags(struct run_notes *n, const struct opt_value *opt, struct arena *a,
                            struct err *e)
{
    const char **tags = arena_array(a, const char *, n->n_tags + opt[NOTE_TAG].n_all + 1);
    for (size_t i = 0; i < n->n_tags; i++)
        tags[i] = n->tags[i];
    n->tags = tags;
    for (size_t i = 0; i < opt[NOTE_UNTAG].n_all; i++) {
        const size_t at = run_notes_find_tag(n, opt[NOTE_UNTAG].all[i]);
        if (at == n->n_tags)
            return err_set(e, ERR_NOT_FOUND, "the run has no tag '%s'", opt[NOTE_UNTAG].all[i]);
        memmove(&tags[at], &tags[at + 1], (--n->n_tags - at) * sizeof *tags);
    }
    for (size_t i = 0; i < opt[NOTE_TAG].n_all; i++)
        if (run_notes_find_tag(n, opt[NOTE_TAG].all[i]) == n->n_tags)
            tags[n->n_tags++] = opt[NOTE_TAG].all[i];
    return 0;
}

static void note_print(const struct run_info *info, const struct run_notes *n, struct arena *a)
{
    printf("name  %s\n", text_safe(a, *n->name ? n->name : info->recorded_name));
    for (size_t i = 0; i < n->n_tags; i++)
        printf("tag   %s\n", text_safe(a, n->tags[i]));
    if (*n->text)
        printf("text  %s\n", text_safe(a, n->text));
}

static int cmd_note_run(const struct cmd_args *a, struct err *e)
{
    char path[PATH_LEN];
    struct run_info info;
    struct run_notes notes = {.name = "", .text = ""};
    const struct opt_value *opt = a->opt;
    const bool change = opt[NOTE_NAME].given || opt[NOTE_TAG].given || opt[NOTE_UNTAG].given ||
                        opt[NOTE_TEXT].given || opt[NOTE_CLEAR].given;
    TRY(run_find(a->dir, a->arg[0], path, e));
    TRY(run_info_read(&info, path, a->arena, e));
    if (!opt[NOTE_CLEAR].given)
        TRY(run_notes_read(&notes, path, a->arena, e));
    if (opt[NOTE_NAME].given)
        notes.name = opt[NOTE_NAME].text;
    if (opt[NOTE_TEXT].given)
        notes.text = opt[NOTE_TEXT].text;
    TRY(note_change_tags(&notes, opt, a->arena, e));
    if (change)
        TRY(run_notes_put(path, &notes, e));
    note_print(&info, &notes, a->arena);
    return EXIT_FINE;
}

const struct cmd cmd_note = {
    .name = "note",
    .summary = "rename, tag or annotate a run",
    .args = cmd_arg_run,
    .options = note_options,
    .help = CMD_HELP("Name, tags and text are stored in notes.json of the run and shown by "
                     "'footplate show', the report and the dashboard. Without options the notes "
                     "are printed. The folder keeps its name."),
    .examples = CMD_EXAMPLES(
        {"footplate note last --name baseline --tag paper", "Rename the newest run and tag it."},
        {"footplate note last --text 'lr 0.01, no augmentation'", "Describe a run."}),
    .run = cmd_note_run,
};

/* ==== rm: nothing is deleted unless all of the runs can be, and unless the user agreed ==== */

enum { RM_DIR, RM_YES };

static const struct opt rm_options[] = {
    [RM_DIR] = {OPT_ROW_DIR},
    [RM_YES] = {"yes", 'y', NULL, OPT_FLAG, .help = "Do not ask."},
    {0},
};

/* A name that matches several runs is refused: other commands take the newest. */
static int rm_find(const struct cmd_args *a, const char *ref, struct run_info *out, struct err *e)
{
    char path[PATH_LEN];
    const size_t fits = run_find_fits(a->dir, ref);
    TRY(run_find(a->dir, ref, path, e));
    if (fits > 1)
        return err_set(e, ERR_USAGE,
                       "'%s' fits %zu runs; give the name of the folder ('footplate "
                       "ls' lists them)",
                       ref, fits);
    TRY(run_info_read(out, path, a->arena, e));
    if (out->status == RUN_RUNNING)
        return err_set(e, ERR_BUSY, "run '%s' is being recorded; stop it first", out->name);
    return 0;
}

static int rm_find_all(const struct cmd_args *a, struct run_info *v, size_t *n, struct err *e)
{
    for (size_t i = 0; i < a->n_args; i++) {
        size_t k = 0;
        TRY(rm_find(a, a->arg[i], &v[*n], e));
        while (strcmp(v[k].path, v[*n].path) != 0)
            k++;
        *n += k == *n; /* once, also when it is given twice */
    }
    return 0;
}

static int rm_ask(const struct run_info *v, size_t n, struct arena *a, struct err *e)
{
    char answer[8] = "";
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return err_set(e, ERR_USAGE, "rm: not a terminal; give --yes to delete without asking");
    for (size_t i = 0; i < n; i++)
        fprintf(stderr, "%s (%s, %s)\n", text_safe(a, v[i].path), text_safe(a, v[i].name),
                bytes_text(a, (double)run_stamp_data(v[i].path).bytes));
    fprintf(stderr, "Delete %s? [y/N] ", n == 1 ? "this run" : "these runs");
    const bool yes = fgets(answer, sizeof answer, stdin) &&
                     (strcmp(answer, "y\n") == 0 || strcmp(answer, "yes\n") == 0);
    if (!yes)
        fputs("nothing was deleted\n", stderr);
    return yes ? 1 : 0;
}

static int cmd_rm_run(const struct cmd_args *a, struct err *e)
{
    struct run_info *v = arena_array(a->arena, struct run_info, a->n_args + 1);
    size_t n = 0;
    TRY(rm_find_all(a, v, &n, e));
    const int agreed = a->opt[RM_YES].given ? 1 : rm_ask(v, n, a->arena, e);
    if (agreed < 0)
        return agreed;
    if (!agreed)
        return EXIT_FAILED;
    for (size_t i = 0; i < n; i++) {
        TRY(run_remove(&v[i], e));
        printf("deleted %s\n", text_safe(a->arena, v[i].path));
    }
    return EXIT_FINE;
}

const struct cmd cmd_rm = {
    .name = "rm",
    .summary = "delete runs",
    .args = CMD_ARGS(
        {"RUN", ARG_RUN, .repeat = true,
         .help =
             "The runs: folders, names, IDs, starts of those that fit one run only, or 'last'."}),
    .options = rm_options,
    .help = CMD_HELP("Asks before it deletes. Runs that are being recorded are not deleted; if one "
                     "of the given runs cannot be deleted, none is."),
    .examples = CMD_EXAMPLES(
        {"footplate rm last", "Delete the newest run, after a question."},
        {"footplate rm --yes mnist-20261116-232613-e0cc", "Delete a run without a question."}),
    .run = cmd_rm_run,
};

/* ==== set: changes a recording while it runs ==== */

enum { SET_DIR, SET_NODE };

static const struct opt set_options[] = {
    [SET_DIR] = {OPT_ROW_DIR},
    [SET_NODE] = {"node", 0, "ID", OPT_STRING,
                  .help = "Change only this node (default: all nodes recorded on this machine, or "
                          "all that send to the hub)."},
    {0},
};

static const char *const set_settings[] = {"interval=100ms", "interval=500ms", "monitoring=off",
                                           "monitoring=on",  "detail=now:3",   "detail=off",
                                           "stop",           "status",         NULL};

static int set_here(const struct cmd_args *a, const struct run_info *info, struct err *e)
{
    struct control_answer *answers;
    size_t n;
    const struct control_run_request ask = {info, a->opt[SET_NODE].text, a->arg + 1, a->n_args - 1};
    const int rc = control_run(&ask, a->arena, &answers, &n, e);
    for (size_t i = 0; i < n; i++)
        printf("%s: %s\n", answers[i].node, answers[i].text);
    return rc;
}

/* ---- of a run on a hub: its recorder fetches requests with its uploads ---- */

enum {
    SET_ANSWER_MOST = 1 << 20, /* bytes */
    SET_AGAIN_MS = 500,        /* between two looks whether a request was applied */
};

struct set_hub {
    struct hub_client *client;
    char base[HUB_BASE_LEN];
    const char *path, *query; /* of the run's control */
    struct arena *arena;
};

static int set_hub_open(struct set_hub *h, const char *location, const char *node, struct err *e)
{
    const char *run;
    struct buf path = {0};
    TRY(hub_address_of(h->base, &run, location, e));
    run += strspn(run, "/");
    buf_printf(&path, "/api/v1/runs/");
    sigv4_encode(&path, arena_strndup(h->arena, run, strcspn(run, "/")), false);
    buf_printf(&path, "/control");
    h->path = arena_strndup(h->arena, (const char *)path.p, path.len);
    path.len = 0;
    sigv4_encode(&path, node ? node : "", false);
    h->query =
        node ? arena_printf(h->arena, "?node=%.*s", (int)path.len, (const char *)path.p) : "";
    buf_free(&path);
    return hub_client_open(&h->client, h->base, e);
}

/* `set` NULL: requests the state of the requests. */
static int set_hub_call(struct set_hub *h, const char *set, json_t **out, struct err *e)
{
    struct http_response r = {0};
    struct buf body = {0};
    struct jw j = {.out = &body};
    jw_object(&j, NULL);
    jw_str(&j, "set", set ? set : "");
    jw_end(&j);
    buf_u8(&body, 0);
    const struct hub_call q = {
        .path = arena_printf(h->arena, "%s%s", h->path, set ? h->query : ""),
        .body = set ? (const char *)body.p : NULL,
        .most = SET_ANSWER_MOST,
    };
    int rc = hub_client_send(h->client, &q, &r, e);
    if (rc == 0)
        rc = hub_answer_tree(h->base, &r, out, e);
    buf_free(&body);
    http_response_free(&r);
    return rc;
}

/* The answer to one request. A hub that restarts forgets those that wait. */
static int set_hub_print(struct set_hub *h, const json_t *asked, const json_t *found, struct err *e)
{
    const char *node = text_safe(h->arena, json_get_str(asked, "node", h->arena, ""));
    const char *state = json_get_str(found, "state", h->arena, "expired");
    const char *text =
        json_get_str(found, "text", h->arena, found ? state : "the hub was restarted");
    text = text_safe(h->arena, text);
    if (strcmp(state, "applied") != 0)
        return err_set(e, ERR_USAGE, "%s: %s", node, text);
    printf("%s: %s\n", node, text);
    return 0;
}

static const json_t *set_hub_find(const json_t *list, const json_t *asked)
{
    const int64_t id = json_get_int(asked, "id", 0);
    for (size_t i = 0; i < json_array_size(list); i++)
        if (json_get_int(json_array_get(list, i), "id", -1) == id)
            return json_array_get(list, i);
    return NULL;
}

/* Whether one of the requests still waits; if none does they are printed. */
static int set_hub_look(struct set_hub *h, const json_t *asked, bool *waiting, struct err *e)
{
    json_t *now;
    int rc = 0;
    *waiting = false;
    TRY(set_hub_call(h, NULL, &now, e));
    const json_t *list = json_object_get(now, "requests");
    for (size_t i = 0; i < json_array_size(asked); i++) {
        const json_t *found = set_hub_find(list, json_array_get(asked, i));
        *waiting |= strcmp(json_get_str(found, "state", h->arena, ""), "waiting") == 0;
    }
    for (size_t i = 0; i < json_array_size(asked) && !*waiting; i++) {
        const json_t *one = json_array_get(asked, i);
        struct err later; /* the first failure counts */
        const int got = set_hub_print(h, one, set_hub_find(list, one), rc ? &later : e);
        rc = rc ? rc : got;
    }
    json_decref(now);
    return rc;
}

static int set_hub_one(struct set_hub *h, const char *set, struct err *e)
{
    json_t *tree;
    TRY(set_hub_call(h, set, &tree, e));
    const json_t *asked = json_object_get(tree, "requests"),
                 *said = json_object_get(tree, "answer");
    bool waiting = json_array_size(asked) > 0;
    int rc = 0;
    for (size_t i = 0; i < json_array_size(said) && !waiting; i++) {
        const json_t *x = json_array_get(said, i); /* of a recorder on the machine of the server */
        printf("%s: %s\n", text_safe(h->arena, json_get_str(x, "node", h->arena, "")),
               text_safe(h->arena, json_get_str(x, "text", h->arena, "")));
    }
    while (waiting && rc == 0) {
        nanosleep(&(struct timespec){.tv_nsec = SET_AGAIN_MS * NS_PER_MS}, NULL);
        rc = set_hub_look(h, asked, &waiting, e);
    }
    json_decref(tree);
    return rc;
}

static int set_on_hub(const struct cmd_args *a, const struct run_info *info, struct err *e)
{
    struct set_hub h = {.arena = a->arena};
    int rc = 0;
    if (info->status != RUN_RUNNING)
        return err_set(e, ERR_NOT_FOUND, "run '%s' is not being recorded (status: %s)", info->name,
                       run_status_name(info->status));
    TRY(set_hub_open(&h, info->path, a->opt[SET_NODE].text, e));
    for (size_t i = 1; i < a->n_args && rc == 0; i++)
        rc = set_hub_one(&h, a->arg[i], e);
    hub_client_close(h.client);
    return rc;
}

static int cmd_set_run(const struct cmd_args *a, struct err *e)
{
    char path[PATH_LEN];
    struct run_info info;
    for (size_t i = 1; i < a->n_args; i++)
        TRY(control_parse(a->arg[i], strlen(a->arg[i]), &(struct control_request){0}, e));
    TRY(run_find(a->dir, a->arg[0], path, e));
    TRY(run_info_read(&info, path, a->arena, e));
    if (hub_is_address(path))
        return set_on_hub(a, &info, e);
    if (storage_of(path)->objects)
        return err_set(e, ERR_USAGE,
                       "'%.200s' is in object storage, which cannot reach its recorder: use 'set' "
                       "on the machine that records it, or send runs to a hub",
                       path);
    return set_here(a, &info, e);
}

const struct cmd cmd_set = {
    .name = "set",
    .summary = "control a running recording (interval, pause, detail, stop)",
    .args = CMD_ARGS(
        {ARG_ROW_RUN},
        {"SETTING", ARG_WORD, .repeat = true, .choices = set_settings,
         .help = "interval=TIME (10ms to 60s); monitoring=on or off; detail=now:3 (the operators "
                 "of three steps), detail=+5s:2s (two seconds, starting in five), detail=100:2 "
                 "(steps 100 and 101) or detail=off; stop, which ends the job with SIGTERM and, "
                 "ten seconds later, SIGKILL; status, which changes nothing."}),
    .options = set_options,
    .help = CMD_HELP("The run is recorded on this machine, or sent to a hub: set https://HUB/RUN "
                     "waits until the recorder has fetched the request and prints its answer. "
                     "FOOTPLATE_TOKEN_FILE or FOOTPLATE_TOKEN has a token with the right to "
                     "control."),
    .examples = CMD_EXAMPLES(
        {"footplate set last interval=100ms", "Take readings ten times per second from now on."},
        {"footplate set last monitoring=off", "Pause the recording; the job keeps running."},
        {"footplate set last detail=now:3", "Record every operator of the next three steps."},
        {"footplate set last stop", "Stop the job."},
        {"footplate set https://hub.example.org:7171/train-20260801-101500-3f2a stop",
         "Stop a job that sends its run to a hub."}),
    .run = cmd_set_run,
};
