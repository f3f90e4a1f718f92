/* SPDX-License-Identifier: Apache-2.0 */
/* opt.h - options as a table: what a command takes, and the words that help, the man page and shell
 * completion print about it.
 *
 *     enum { O_JSON, O_POINTS };
 *     static const struct opt options[] = {
 *         [O_JSON] = {"json", 0, NULL, OPT_FLAG, .help = "Print JSON."},
 *         [O_POINTS] = {"points", 'n', "N", OPT_INT, .lo = 1, .hi = 1000000, .help = "..."},
 *         {0},
 *     };
 *
 * opt_parse fills one opt_value per row, found by the same index. It takes `--name=value`, `--name
 * value`, `-n value`, `-nvalue`, flags joined as `-ab`, and `--` before words that are not options.
 * An option with a `bare` value takes another one as `--name=value` only.
 * Nothing is printed and nothing is stored between calls. */
#ifndef BASE_OPT_H
#define BASE_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

enum opt_type {
    OPT_FLAG,
    OPT_STRING, /* any text; `choices` are then only suggestions for completion */
    OPT_FOLDER, /* a path; as OPT_STRING, but a shell completes it */
    OPT_FILE,
    OPT_INT,      /* lo..hi; both 0: any */
    OPT_DURATION, /* "500ms"; lo..hi in ns; both 0: any */
    OPT_CHOICE,   /* one of `choices` */
};

struct opt {
    const char *name; /* without the dashes; NULL ends the table */
    char letter;      /* 0: none */
    const char *arg;  /* what help calls the value; NULL for flags */
    enum opt_type type;
    bool repeat; /* may be given more than once, all values count */
    bool hidden; /* works, but is not shown */
    int64_t lo, hi;
    const char *const *choices; /* ends with NULL */
    const char *otherwise;      /* the value when it is not given, as a user would type it */
    const char *bare;           /* the value of `--name` alone; NULL: it needs one */
    const char *help;           /* one sentence */
};

struct opt_value {
    bool given;       /* by the user; false: `text` and `number` are the default's, if it has one */
    const char *text; /* as typed, the last one; NULL: none */
    int64_t number;   /* OPT_FLAG 1; OPT_INT; OPT_DURATION in ns; OPT_CHOICE the index */
    const char **all; /* of a repeated option: every text, in order; ends with NULL */
    size_t n_all;
};

struct opt_result {
    struct opt_value *v; /* by the table's index */
    bool help;           /* --help or -h: parsing stopped there */
    const char **rest;   /* the words that are not options; ends with NULL */
    size_t n_rest;
};

enum opt_order {
    OPT_ANYWHERE, /* options may follow other words */
    OPT_FIRST,    /* the first other word ends the options (a command to run comes next) */
};

/* argv without the program's and the command's name. Texts point into argv; arrays live in the
 * arena. ERR_USAGE names the option and what is allowed. */
MUST_CHECK int opt_parse(const struct opt *table, enum opt_order order, int argc,
                         char *const argv[], struct arena *a, struct opt_result *out,
                         struct err *e);
/* The value of the option, by its long name; NULL: the user did not give it, or the table has none.
 */
const struct opt_value *opt_given(const struct opt *table, const struct opt_value *v,
                                  const char *name);

#endif
