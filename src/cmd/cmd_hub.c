/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_hub.c - a hub: its tokens, which are made, listed and revoked in its token file, and the
 * removal of old runs. A hub that runs reads the file again when it changes. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/human.h"
#include "base/json_write.h"
#include "base/table.h"
#include "base/trust.h"
#include "cmd/cmd.h"
#include "run/run_info.h"
#include "run/upkeep.h"
#include "serve/rights.h"

enum { TOKEN_FILE_MOST = 1 << 20, TOKEN_BYTES = 24 };

enum { O_TOKEN_FILE, O_NAME, O_RIGHT, O_RUNS, O_QUOTA, O_RATE, O_DIR, O_KEEP, O_DRY_RUN, O_JSON };

static const char *const right_words[] = {"write", "read", "control", NULL};
static const char *const actions[] = {"add", "list", "revoke", NULL};
static const char *const things[] = {"token", "prune", NULL};

static const struct opt options[] = {
    [O_TOKEN_FILE] = {"token-file", 0, "FILE", OPT_FILE,
                      .help = "The token file of the hub; 'add' makes it if need be."},
    [O_NAME] = {"name", 0, "NAME", OPT_STRING,
                .help = "Who gets the token, e.g. a team. Runs belong to the name, so a token can "
                        "be replaced by another of the same name."},
    [O_RIGHT] = {"right", 0, "RIGHT", OPT_CHOICE, .choices = right_words,
                 .help = "write (send runs; the default), read (view all runs) or control (also "
                         "change and stop them)."},
    [O_RUNS] = {"runs", 0, "PATTERN", OPT_STRING,
                .help = "Names of runs that may be sent, e.g. 'team-a-*' (default: any)."},
    [O_QUOTA] = {"quota", 0, "SIZE", OPT_STRING,
                 .help = "Size of all runs of this name together, e.g. 50GiB (default: no limit)."},
    [O_RATE] = {"rate", 0, "SIZE/s", OPT_STRING,
                .help = "Bytes a second, e.g. 10MB/s (default: no limit)."},
    [O_DIR] = {OPT_ROW_DIR},
    [O_KEEP] = {"keep", 0, "TIME", OPT_DURATION, .lo = PRUNE_LEAST_NS, .hi = PRUNE_MOST_NS,
                .help = "prune: remove received runs that ended longer ago, e.g. 90d."},
    [O_DRY_RUN] = {"dry-run", 0, NULL, OPT_FLAG, .help = "prune: only list what would be removed."},
    [O_JSON] = {OPT_ROW_JSON},
    {0},
};

/* A file that is not there has no tokens. */
static int hub_read_file(const char *path, struct arena *a, char **text, struct err *e)
{
    struct stat st;
    size_t len;
    *text = arena_strdup(a, "");
    if (stat(path, &st) < 0 && errno == ENOENT)
        return 0;
    return trust_read_named(path, TOKEN_FILE_MOST, a, text, &len, e);
}

/* A change of the file is to read and to replace it: one at a time. The lock is that of its folder,
 * as the file is another one afterwards; it ends with this process. */
static int hub_lock_file(const char *path, struct err *e)
{
    char folder[PATH_LEN];
    const int n = (int)(path_base(path) - path);
    TRY(path_join(folder, e, "%.*s.", n, path));
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 || flock(fd, LOCK_EX) < 0 ? err_sys(e, "lock '%s'", folder) : 0;
}

/* Only the owner may read it, from its first moment on. */
static int hub_write_file(const char *path, const struct buf *b, struct err *e)
{
    const mode_t before = umask(077);
    const int rc = file_replace(path, b->p, b->len, e);
    umask(before);
    return rc;
}

/* ---- add ---- */

static int hub_new_token(char out[2 * TOKEN_BYTES + 1], struct err *e)
{
    uint8_t bytes[TOKEN_BYTES];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return err_sys(e, "random bytes");
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

static void hub_put_line(struct buf *b, const struct cmd_args *a, const char *token)
{
    static const struct {
        int option;
        const char *key;
    } rows[] = {{O_NAME, "name"}, {O_RUNS, "runs"}, {O_QUOTA, "quota"}, {O_RATE, "rate"}};
    const char *right = a->opt[O_RIGHT].text;
    buf_printf(b, "%s %s", right ? right : right_words[0], token);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (a->opt[rows[i].option].given)
            buf_printf(b, " %s=%s", rows[i].key, a->opt[rows[i].option].text);
}

static int hub_add(const struct cmd_args *a, const char *path, const char *text, struct err *e)
{
    char secret[2 * TOKEN_BYTES + 1];
    struct token t;
    struct buf line = {0}, all = {0};
    bool any;
    if (!a->opt[O_NAME].given)
        return err_set(e, ERR_USAGE, "--name is missing: who gets the token?");
    for (int i = O_NAME; i <= O_RATE; i++)
        if (a->opt[i].given && strpbrk(a->opt[i].text, " \t\r\n"))
            return err_set(e, ERR_USAGE, "--%s must not contain white space", options[i].name);
    TRY(hub_new_token(secret, e));
    hub_put_line(&line, a, secret);
    buf_u8(&line, 0);
    int rc = token_parse(&t, (const char *)line.p, "the new token", &any, e);
    const size_t len = strlen(text);
    if (rc == 0) {
        buf_printf(&all, "%s%s%s\n", text, len && text[len - 1] != '\n' ? "\n" : "",
                   (const char *)line.p);
        rc = hub_write_file(path, &all, e);
    }
    buf_free(&line);
    buf_free(&all);
    if (rc)
        return rc;
    fprintf(stderr, "footplate: the token of '%s' is shown this once:\n", t.name);
    printf("%s\n", secret);
    return EXIT_FINE;
}

/* ---- the lines of the file ---- */

typedef void hub_visit(void *ctx, const char *line, const struct token *t); /* NULL: no token */

static int hub_each_line(const char *path, const char *text, hub_visit *visit, void *ctx,
                         struct arena *a, struct err *e)
{
    for (const char *p = text; *p;) {
        const size_t n = strcspn(p, "\n");
        const char *line = arena_strndup(a, p, n);
        struct token t;
        bool any;
        TRY(token_parse(&t, line, path, &any, e));
        visit(ctx, line, any ? &t : NULL);
        p += n + (p[n] == '\n');
    }
    return 0;
}

/* ---- list ---- */

static const char *hub_right(const struct token *t)
{
    return t->right == RIGHT_WRITE ? "write" : t->right == RIGHT_READ ? "read" : "control";
}

static const char *hub_size(uint64_t bytes, const char *per, struct arena *a)
{
    return bytes ? arena_printf(a, "%s%s", bytes_text(a, (double)bytes), per) : "-";
}

static void hub_print_line(void *ctx, const char *line, const struct token *t)
{
    struct arena *a = ctx;
    (void)line;
    if (t)
        printf("%-8s %-20s %-20s %-12s %s\n", hub_right(t), *t->name ? t->name : "-",
               *t->runs ? t->runs : "-", hub_size(t->quota_bytes, "", a),
               hub_size(t->rate_bytes, "/s", a));
}

static void hub_json_size(struct jw *j, const char *key, uint64_t bytes)
{
    if (bytes)
        jw_int(j, key, (int64_t)bytes);
    else
        jw_null(j, key);
}

static void hub_json_line(void *ctx, const char *line, const struct token *t)
{
    struct jw *j = ctx;
    (void)line;
    if (!t)
        return;
    jw_object(j, NULL);
    jw_str(j, "right", hub_right(t));
    jw_str(j, "name", *t->name ? t->name : NULL);
    jw_str(j, "runs", *t->runs ? t->runs : NULL);
    hub_json_size(j, "quota_bytes", t->quota_bytes);
    hub_json_size(j, "rate_bytes", t->rate_bytes);
    jw_end(j);
}

static int hub_list(const struct cmd_args *a, const char *path, const char *text, struct err *e)
{
    struct buf b = {0};
    struct jw j = {.out = &b, .indent = 2};
    if (!a->opt[O_JSON].given) {
        printf("%-8s %-20s %-20s %-12s %s\n", "RIGHT", "NAME", "RUNS", "QUOTA", "RATE");
        return hub_each_line(path, text, hub_print_line, a->arena, a->arena, e);
    }
    jw_array(&j, NULL);
    const int rc = hub_each_line(path, text, hub_json_line, &j, a->arena, e);
    jw_end(&j);
    if (rc == 0)
        printf("%.*s\n", (int)b.len, (const char *)b.p);
    buf_free(&b);
    return rc;
}

/* ---- revoke ---- */

struct hub_revoking {
    const char *name;
    struct buf rest;
    size_t n;
};

static void hub_keep_line(void *ctx, const char *line, const struct token *t)
{
    struct hub_revoking *r = ctx;
    if (t && strcmp(t->name, r->name) == 0)
        r->n++;
    else
        buf_printf(&r->rest, "%s\n", line);
}

static int hub_revoke(const struct cmd_args *a, const char *path, const char *text, struct err *e)
{
    if (a->n_args < 3)
        return err_set(e, ERR_USAGE, "whose token? footplate hub token revoke NAME");
    struct hub_revoking r = {.name = a->arg[2]};
    int rc = hub_each_line(path, text, hub_keep_line, &r, a->arena, e);
    if (rc == 0 && r.n == 0)
        rc = err_set(e, ERR_NOT_FOUND, "'%s' has no token of the name '%s'", path, r.name);
    if (rc == 0)
        rc = hub_write_file(path, &r.rest, e);
    buf_free(&r.rest);
    if (rc == 0)
        printf("revoked %zu token%s of '%s'\n", r.n, r.n == 1 ? "" : "s", r.name);
    return rc;
}

/* ---- prune ---- */

static void hub_print_pruned(const struct cmd_args *a, const struct prune_run *v, size_t n,
                             bool dry)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        char when[64];
        bytes += v[i].bytes;
        printf("%-40s %-30s %10s\n", text_safe(a->arena, path_base(v[i].path)),
               wall_text(v[i].last, when, sizeof when), bytes_text(a->arena, (double)v[i].bytes));
    }
    printf("%s %zu run%s, %s\n", dry ? "would remove" : "removed", n, n == 1 ? "" : "s",
           bytes_text(a->arena, (double)bytes));
}

static void hub_json_pruned(const struct prune_run *v, size_t n, bool dry)
{
    struct buf b = {0};
    struct jw j = {.out = &b, .indent = 2};
    jw_object(&j, NULL);
    jw_bool(&j, "dry_run", dry);
    jw_array(&j, "runs");
    for (size_t i = 0; i < n; i++) {
        jw_object(&j, NULL);
        jw_str(&j, "run", path_base(v[i].path));
        jw_str(&j, "name", v[i].name);
        jw_int(&j, "last_ns", v[i].last.ns);
        jw_int(&j, "bytes", (int64_t)v[i].bytes);
        jw_end(&j);
    }
    jw_end(&j);
    jw_end(&j);
    printf("%.*s\n", (int)b.len, (const char *)b.p);
    buf_free(&b);
}

/* *n: how many have gone, which come first then. */
static int hub_remove_runs(const char *runs, struct prune_run *v, size_t *n, struct err *e)
{
    size_t gone = 0;
    for (size_t i = 0; i < *n; i++) {
        const int rc = prune_remove(runs, &v[i], "hub prune", e);
        if (rc && rc != ERR_BUSY)
            return rc;
        if (rc == 0)
            v[gone++] = v[i];
    }
    *n = gone;
    return 0;
}

static int hub_prune(const struct cmd_args *a, struct err *e)
{
    const bool dry = a->opt[O_DRY_RUN].given;
    const char *runs = runs_folder(a->dir);
    struct prune_run *v;
    size_t n;
    if (a->n_args > 1)
        return err_set(e, ERR_USAGE, "hub prune takes no '%s'; --dir names the folder of runs",
                       a->arg[1]);
    if (!a->opt[O_KEEP].given)
        return err_set(e, ERR_USAGE, "--keep is missing: how long to keep runs, e.g. 90d");
    const wall_ns before = {clock_wall().ns - a->opt[O_KEEP].number};
    TRY(prune_find(runs, before, a->arena, &v, &n, e));
    TRY(dry ? 0 : hub_remove_runs(runs, v, &n, e));
    if (a->output == OUTPUT_JSON)
        hub_json_pruned(v, n, dry);
    else
        hub_print_pruned(a, v, n, dry);
    return EXIT_FINE;
}

static int cmd_hub_run(const struct cmd_args *a, struct err *e)
{
    static const struct {
        const char *word;
        int (*run)(const struct cmd_args *a, const char *path, const char *text, struct err *e);
    } rows[] = {{"add", hub_add}, {"list", hub_list}, {"revoke", hub_revoke}};
    const char *path = a->opt[O_TOKEN_FILE].text;
    char *text;
    if (strcmp(a->arg[0], things[1]) == 0)
        return hub_prune(a, e);
    if (strcmp(a->arg[0], things[0]) != 0)
        return err_set(e, ERR_USAGE, "footplate hub has token and prune, not '%s'", a->arg[0]);
    if (a->n_args < 2)
        return err_set(e, ERR_USAGE, "footplate hub token add, list or revoke?");
    if (!path)
        return err_set(e, ERR_USAGE, "--token-file is missing: the token file of the hub");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(a->arg[1], rows[i].word) == 0) {
            TRY(rows[i].run == hub_list ? 0 : hub_lock_file(path, e));
            TRY(hub_read_file(path, a->arena, &text, e));
            return rows[i].run(a, path, text, e);
        }
    return err_set(e, ERR_USAGE, "unknown action '%s': add, list or revoke", a->arg[1]);
}

const struct cmd cmd_hub = {
    .name = "hub",
    .summary = "the tokens of a server that receives runs; removal of old runs",
    .args =
        CMD_ARGS({"WHAT", ARG_WORD, .choices = things, .help = "token, or prune: remove old runs."},
                 {"ACTION", ARG_WORD, .optional = true, .choices = actions,
                  .help = "Of token: add, list or revoke."},
                 {"NAME", ARG_WORD, .optional = true, .help = "Whose tokens to revoke."}),
    .options = options,
    .help =
        CMD_HELP("A hub is a 'footplate serve --receive', to which other machines send their "
                 "runs. Each sender has a token, which 'add' makes and prints once. A hub that "
                 "runs notices the change within a second.",
                 "'prune' removes runs that were sent to the hub and ended before the time of "
                 "--keep. A run that is being recorded, has the tag 'keep' ('footplate note RUN "
                 "--tag keep') or was recorded by the hub's own machine stays. Each removal is "
                 "a line of audit.jsonl in the folder of runs."),
    .examples = CMD_EXAMPLES(
        {"footplate hub token add --token-file tokens --name team-a --quota 50GiB",
         "Make a token with which team-a may send runs."},
        {"footplate hub token list --token-file tokens", "List the tokens, without their secrets."},
        {"footplate hub token revoke team-a --token-file tokens", "Revoke the tokens of team-a."},
        {"footplate hub prune --dir /srv/runs --keep 90d --dry-run",
         "Show which runs ended more than 90 days ago; without --dry-run, remove them."}),
    .run = cmd_hub_run,
};
