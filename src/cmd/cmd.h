/* SPDX-License-Identifier: Apache-2.0 */
/* cmd.h - a subcommand: one const record and one line in cmds.def.
 *
 * Help, usage, the man page and shell completion are printed from the record, so what a command
 * takes is written down once. Results go to stdout, everything else to stderr. `run` returns the
 * exit status (0 fine), or the negative code of `e`: main then prints "footplate: <message>" and
 * exits with 2 for ERR_USAGE and 1 for the rest. */
#ifndef CMD_CMD_H
#define CMD_CMD_H

#include <stdio.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/opt.h"

enum { EXIT_FINE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_FINDINGS = 3 };

enum arg_kind {
    ARG_RUN, /* a folder, a prefix of a name or id, or "last" */
    ARG_PATH,
    ARG_COMMAND, /* a program and all its arguments: ends the options */
    ARG_WORD,    /* anything else, as in the help */
};

/* The arguments after the options, in order. */
struct cmd_arg {
    const char *name; /* "RUN"; NULL ends the table */
    enum arg_kind kind;
    bool optional;
    bool repeat; /* only the last one */
    const char *help;
    const char *const *choices; /* suggestions for completion; ends with NULL */
};

struct cmd_example {
    const char *line; /* as typed; NULL ends the table */
    const char *what;
};

enum output { OUTPUT_TEXT, OUTPUT_JSON, OUTPUT_CSV };

struct arena;
struct cmd;
struct run;

struct cmd_runs {
    struct run **v;
    size_t n, cap;
};

struct cmd_args {
    const struct cmd *cmd;
    const struct opt_value *opt; /* by the index of the command's option table */
    const char **arg;            /* the positional words, counted and checked; ends with NULL */
    size_t n_args;
    enum output output; /* by --json and --csv, where the command has them */
    const char *dir;    /* --dir */
    struct arena *arena;
    struct cmd_runs *runs; /* that are open */
};

/* Opens a run by its folder, the start of its name, or "last". It is closed when the command ends.
 */
MUST_CHECK int cmd_open_run(const struct cmd_args *args, const char *ref, struct run **out,
                            struct err *e);

struct cmd {
    const char *name;
    const char *summary;                /* one line, no full stop */
    const struct cmd_arg *args;         /* NULL: none */
    const struct opt *options;          /* NULL: none */
    const char *const *help;            /* paragraphs; ends with NULL */
    const struct cmd_example *examples; /* NULL: none */
    const char *exit_codes;             /* NULL: the usual ones */
    int (*run)(const struct cmd_args *a, struct err *e);
    /* Instead of `run`, for a command whose first argument is a run: it is open. `a` is the arena
     * of the arguments. */
    int (*on_run)(struct run *r, const struct cmd_args *args, struct arena *a, struct err *e);
};

/* The tables of a record, with their ends. */
#define CMD_ARGS(...)     ((const struct cmd_arg[]){__VA_ARGS__, {0}})
#define CMD_HELP(...)     ((const char *const[]){__VA_ARGS__, NULL})
#define CMD_EXAMPLES(...) ((const struct cmd_example[]){__VA_ARGS__, {0}})

#define CMD(id) extern const struct cmd cmd_##id;
#include "cmd/cmds.def"
#undef CMD

/* In the order of cmds.def; both end with NULL. */
extern const struct cmd *const cmds[];
extern const char *const cmd_names[];
/* The arguments of a command that takes one run. */
extern const struct cmd_arg cmd_arg_run[];

/* NULL when there is no such command. */
const struct cmd *cmd_find(const char *name);
/* ERR_USAGE, with the command that may have been meant. */
int cmd_unknown(const char *name, struct err *e);

/* The fields of rows that several commands share, so that they read the same everywhere. */
#define OPT_ROW_JSON "json", 0, NULL, OPT_FLAG, .help = "Print JSON."
#define OPT_ROW_CSV  "csv", 0, NULL, OPT_FLAG, .help = "Print comma-separated values."
#define OPT_ROW_DIR                                                                                \
    "dir", 0, "DIR", OPT_FOLDER,                                                                   \
        .help = "Folder of runs, or where else they are: https://HUB, s3://BUCKET/PREFIX "         \
                "(default: $FOOTPLATE_DIR, otherwise footplate-runs)."
/* The last rows of a command that prints text, JSON or CSV. */
#define OPT_ROWS_OUTPUT                                                                            \
    {OPT_ROW_JSON}, {OPT_ROW_CSV}, {OPT_ROW_DIR},                                                  \
    {                                                                                              \
        0                                                                                          \
    }
#define ARG_ROW_RUN                                                                                \
    "RUN", ARG_RUN,                                                                                \
        .help = "The run: its folder, the start of its name or ID, 'last', or its address: "       \
                "https://HUB/RUN, s3://BUCKET/PREFIX/RUN."

/* ---- the command tables as text on a terminal ---- */

/* All commands, one line each. */
void usage_overview(FILE *to);
/* One command: usage, arguments, options, paragraphs, examples. */
void usage_command(FILE *to, const struct cmd *c);

#endif
