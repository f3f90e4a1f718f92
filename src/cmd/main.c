/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - finds the command, parses its options, calls it, prints what failed. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>
#include <unistd.h>

#include "agent/keeper.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/table.h"
#include "cmd/cmd.h"
#include "config/settings.h"
#include "query/run.h"
#include "run/run_info.h"

static const struct opt no_options[] = {{0}};

/* One line on stderr; text from outside cannot steer the terminal. A reader of stdout that has seen
 * enough (`| head`) is not a failure to report. */
static int main_print_error(const struct err *e)
{
    if (e->code == ERR_SYS && e->sys == EPIPE && ferror(stdout))
        return EXIT_FAILED;
    struct arena a = {0};
    fprintf(stderr, "footplate: %s\n", text_safe(&a, e->msg));
    arena_free(&a);
    return e->code == ERR_USAGE ? EXIT_USAGE : EXIT_FAILED;
}

/* ---- positional arguments ---- */

static int main_check_args(const struct cmd *c, const struct opt_result *r, struct err *e)
{
    size_t i = 0;
    for (const struct cmd_arg *a = c->args; a && a->name; a++) {
        if (i >= r->n_rest && !a->optional)
            return err_set(e, ERR_USAGE, "missing argument %s; see 'footplate help %s'", a->name,
                           c->name);
        i = a->repeat ? r->n_rest : MIN_OF(i + 1, r->n_rest);
    }
    if (i < r->n_rest)
        return err_set(e, ERR_USAGE, "unexpected argument '%.200s'; see 'footplate help %s'",
                       r->rest[i], c->name);
    return 0;
}

static enum opt_order main_order_of(const struct cmd *c)
{
    for (const struct cmd_arg *a = c->args; a && a->name; a++)
        if (a->kind == ARG_COMMAND)
            return OPT_FIRST;
    return OPT_ANYWHERE;
}

/* If a name matches several runs, prints which one is used. */
static void main_print_choice(const struct cmd *c, const struct opt_result *r, const char *dir)
{
    char path[PATH_LEN];
    struct err e;
    size_t i = 0;
    for (const struct cmd_arg *a = c->args; a && a->name; a++)
        for (size_t most = a->repeat ? r->n_rest : i + 1; i < most && i < r->n_rest; i++) {
            const size_t fits = a->kind == ARG_RUN ? run_find_fits(dir, r->rest[i]) : 1;
            if (fits < 2 || run_find(dir, r->rest[i], path, &e) != 0)
                continue;
            struct arena scratch = {0};
            fprintf(stderr, "footplate: '%s' matches %zu runs; using the newest, %s\n",
                    text_safe(&scratch, r->rest[i]), fits,
                    text_safe(&scratch, strrchr(path, '/') ? strrchr(path, '/') + 1 : path));
            arena_free(&scratch);
        }
}

/* Fills the value of an option --dir that has no default: the folder where `footplate run` would
 * put runs. Problems of the configuration are reported by `run` and `config`, not here. */
static const char *main_fill_dir(const struct opt *table, struct opt_value *values, struct arena *a)
{
    const struct settings_ask ask = {.environment = environ};
    struct err e;
    size_t i = 0;
    while (table[i].name && strcmp(table[i].name, settings_table[SETTING_DIR].option.name) != 0)
        i++;
    if (!table[i].name || values[i].given || table[i].otherwise)
        return table[i].name ? values[i].text : NULL;
    struct settings *s = arena_new(a, struct settings);
    if (settings_load(s, &ask, a, &e) == 0)
        values[i].text = s->dir;
    return values[i].text;
}

/* ---- calling ---- */

static int main_run(const struct cmd *c, const struct cmd_args *args, struct err *e)
{
    struct run *r;
    if (!c->on_run)
        return c->run(args, e);
    TRY(cmd_open_run(args, args->arg[0], &r, e));
    return c->on_run(r, args, args->arena, e);
}

static int main_call(const struct cmd *c, int argc, char **argv, struct arena *a, struct err *e)
{
    const struct opt *table = c->options ? c->options : no_options;
    struct opt_result r;
    int rc = opt_parse(table, main_order_of(c), argc, argv, a, &r, e);
    if (rc == 0 && r.help) {
        usage_command(stdout, c);
        return EXIT_FINE;
    }
    if (rc == 0)
        rc = main_check_args(c, &r, e);
    if (rc != 0)
        return err_in(e, "%s", c->name);
    const char *dir = main_fill_dir(table, r.v, a);
    main_print_choice(c, &r, dir);
    struct cmd_runs runs = {0};
    struct cmd_args args = {c, r.v, r.rest, r.n_rest, OUTPUT_TEXT, dir, a, &runs};
    const bool json = opt_given(table, r.v, "json"), csv = opt_given(table, r.v, "csv");
    if (json && csv)
        return err_set(e, ERR_USAGE, "--json and --csv cannot be combined");
    args.output = json ? OUTPUT_JSON : csv ? OUTPUT_CSV : OUTPUT_TEXT;
    rc = main_run(c, &args, e);
    for (size_t i = 0; i < runs.n; i++)
        run_close(runs.v[i]);
    return rc;
}

/* A failed write leaves no errno, only the mark on the stream: writing once more brings the
 * cause back. */
static int write_errno(void)
{
    clearerr(stdout);
    errno = 0;
    fputc('\n', stdout);
    fflush(stdout);
    return errno;
}

/* A full disk must not look like success. status: of the command; when it failed, its error was
 * printed.
 */
static int close_stdout(int status)
{
    const bool unused = !ferror(stdout) && __fpending(stdout) == 0;
    errno = 0;
    if (unused || (!ferror(stdout) && fflush(stdout) == 0))
        return status;
    if (status != EXIT_FINE)
        return status;
    if (errno == 0)
        errno = write_errno();
    struct err e;
    err_sys(&e, "could not write all output to stdout");
    return main_print_error(&e);
}

/* Without this, the first file opened would become stdout and the job's output would go into it.
 * Opened the wrong way round, so that using it fails as it would have; where there is no /dev/null,
 * so that nothing can be done with it. */
static void fill_closed_fds(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) < 0)
            (void)!open("/", O_PATH);
}

static int main_dispatch(int argc, char **argv)
{
    struct arena a = {0};
    struct err e = {0};
    const struct cmd *c = cmd_find(argv[0]);
    const int rc = c ? main_call(c, argc - 1, argv + 1, &a, &e) : cmd_unknown(argv[0], &e);
    arena_free(&a);
    return rc < 0 ? main_print_error(&e) : rc;
}

static int unknown_option(const char *word)
{
    struct err e;
    err_set(&e, ERR_USAGE, "unknown option %.200s; see 'footplate help'", word);
    return main_print_error(&e);
}

int main(int argc, char **argv)
{
    fill_closed_fds();
    if (argc > 1 && strcmp(argv[1], KEEPER_WORD) == 0)
        return keeper_main(argc, argv);
    if (argc < 2) {
        usage_overview(stderr);
        return EXIT_USAGE;
    }
    int status = EXIT_FINE;
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        usage_overview(stdout);
    else if (strcmp(argv[1], "--version") == 0)
        puts("footplate " FP_VERSION);
    else if (argv[1][0] == '-')
        status = unknown_option(argv[1]);
    else
        status = main_dispatch(argc - 1, argv + 1);
    return close_stdout(status);
}
