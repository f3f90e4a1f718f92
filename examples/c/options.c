/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - the options as one table, out of which parsing and help both come. */
#include "options.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader.h"

enum kind { WHOLE, REAL, FLAG, TEXT };

struct option {
    const char *name, *value, *help;
    enum kind kind;
    size_t field; /* offset in struct options */
    double low, high, start;
};

#define FIELD(f) offsetof(struct options, f)

static const struct option table[] = {
    {"--epochs", "N", "how often to go through the data", WHOLE, FIELD(epochs), 1, 1e6, 12},
    {"--batch", "N", "samples per step", WHOLE, FIELD(batch), 1, 4096, 64},
    {"--hidden", "N", "width of the two hidden layers", WHOLE, FIELD(hidden), 1, 4096, 128},
    {"--workers", "N", "loader threads", WHOLE, FIELD(workers), 1, LOADER_MAX_WORKERS, 2},
    {"--seed", "N", "of weights and data", WHOLE, FIELD(seed), 0, 4294967295, 1},
    {"--seconds", "S", "stop after about S seconds; without --epochs, go on until then", REAL,
     FIELD(seconds), 0.01, 1e7, 0},
    {"--slow-input", "", "data comes as if from slow storage", FLAG, FIELD(slow_input), 0, 0, 0},
    {"--quiet", "", "print only the last line", FLAG, FIELD(quiet), 0, 0, 0},
    {"--out", "DIR", "folder for the checkpoint, kept; else a temporary one", TEXT, FIELD(out), 0,
     0, 0},
};

enum { OPTIONS = sizeof table / sizeof table[0] };

static void *field_of(struct options *o, const struct option *row)
{
    return (char *)o + row->field;
}

static void set_number(struct options *o, const struct option *row, double v)
{
    memcpy(field_of(o, row), &v, sizeof v);
}

static void set_defaults(struct options *o)
{
    *o = (struct options){0};
    for (size_t i = 0; i < OPTIONS; i++)
        if (table[i].kind == WHOLE || table[i].kind == REAL)
            set_number(o, &table[i], table[i].start);
}

static void print_help(void)
{
    puts("train - trains a small network to read digits that it draws itself\n\n"
         "usage: train [options]\n");
    for (size_t i = 0; i < OPTIONS; i++) {
        const struct option *row = &table[i];
        printf("  %-12s %-4s %s", row->name, row->value, row->help);
        if (row->start > 0)
            printf(" (default %g)", row->start);
        putchar('\n');
    }
    puts("  --help            this text");
}

static int read_number(const struct option *row, const char *text, double *out)
{
    char *end = NULL;
    errno = 0;
    const double v = strtod(text, &end);
    const bool whole = v == floor(v);
    if (end == text || *end || errno || !(v >= row->low && v <= row->high) ||
        (row->kind == WHOLE && !whole)) {
        fprintf(stderr, "train: %s needs a %snumber from %.15g to %.15g, not '%s'\n", row->name,
                row->kind == WHOLE ? "whole " : "", row->low, row->high, text);
        return -1;
    }
    *out = v;
    return 0;
}

static int set_value(struct options *o, const struct option *row, const char *text)
{
    double v;
    switch (row->kind) {
    case FLAG:
        *(bool *)field_of(o, row) = true;
        return 0;
    case TEXT:
        memcpy(field_of(o, row), &text, sizeof text);
        return 0;
    case WHOLE:
    case REAL:
        if (read_number(row, text, &v) != 0)
            return -1;
        set_number(o, row, v);
        return 0;
    }
    return -1;
}

static const struct option *find_option(const char *name)
{
    for (size_t i = 0; i < OPTIONS; i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

/* Reads the option at argv[*at] and moves *at past it. */
static int read_one(struct options *o, int argc, char **argv, int *at)
{
    const char *name = argv[(*at)++];
    const struct option *row = find_option(name);
    if (!row) {
        fprintf(stderr, "train: unknown option '%s'; --help lists them\n", name);
        return -1;
    }
    if (row->kind == FLAG)
        return set_value(o, row, NULL);
    if (*at == argc) {
        fprintf(stderr, "train: %s needs a value; --help says which\n", name);
        return -1;
    }
    return set_value(o, row, argv[(*at)++]);
}

enum options_answer options_read(struct options *out, int argc, char **argv)
{
    struct options o;
    bool epochs_given = false;
    set_defaults(&o);
    for (int at = 1; at < argc;) {
        if (strcmp(argv[at], "--help") == 0) {
            print_help();
            return OPTIONS_HELP;
        }
        epochs_given |= strcmp(argv[at], "--epochs") == 0;
        if (read_one(&o, argc, argv, &at) != 0)
            return OPTIONS_BAD;
    }
    if (o.seconds > 0 && !epochs_given)
        o.epochs = HUGE_VAL;
    *out = o;
    return OPTIONS_GO;
}
