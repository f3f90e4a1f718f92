/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - what the command line asks for. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>

struct options {
    double epochs, batch, hidden, workers, seed; /* whole numbers */
    double seconds;                              /* 0: no limit */
    bool slow_input, quiet;
    const char *out; /* NULL: a temporary folder */
};

enum options_answer { OPTIONS_GO, OPTIONS_HELP, OPTIONS_BAD };

/* Fills `out`. OPTIONS_HELP: help was printed. OPTIONS_BAD: a sentence went to stderr. */
enum options_answer options_read(struct options *out, int argc, char **argv);

#endif
