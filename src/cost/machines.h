/* SPDX-License-Identifier: Apache-2.0 */
/* machines.h - the table of machines and their prices, which users write themselves.
 *
 * A text with commas between values: a line that names the columns, then a machine in each. Empty
 * lines and those that begin with # are left out. Prices have no currency. */
#ifndef COST_MACHINES_H
#define COST_MACHINES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "run/run_info.h"

enum { MACHINES_MOST = 1000 };

struct machine {
    const char *name;
    double gpus;
    const char *gpu;       /* a word of the name that its driver gives; "": none, or not given */
    double gpu_memory_gib; /* of each; NAN: not known */
    double gpu_tflops;     /* what one is worth against others; NAN: not known */
    double cores, memory_gib;
    double price_per_hour;
};

/* share/machines.csv, made a part of the program by the build. */
extern const char machines_csv[];

struct machines {
    struct machine *v;
    size_t n;
    const char *from; /* the file; or that it is the table of this program */
};

/* A whole text; the sentence of an error names `name`, the line and what is wrong there. */
MUST_CHECK int machines_parse(struct machines *out, const char *text, const char *name,
                              struct arena *a, struct err *e);
/* The file that $FOOTPLATE_MACHINES names, else machines.csv in `folder` (NULL: none), in the
 * current folder, in ~/.config/footplate; else the table that comes with the program. A file that
 * was not named counts only when it is the user's own: see base/trust.h. */
MUST_CHECK int machines_load(struct machines *out, const char *folder, struct arena *a,
                             struct err *e);
/* As it is called there, with or without "ml." before it. NULL: there is none. */
const struct machine *machines_find(const struct machines *t, const char *name);
/* The GPU of one may have its driver's name, that of the other a word of it. */
bool machine_same_gpu(const struct machine *a, const struct machine *b);
/* ERR_USAGE: there is no such machine, which table that is, and what may have been meant. */
int machines_unknown(const struct machines *t, const char *name, struct err *e);

/* ---- what a run costs ---- */

/* The machine type of a node and its price: as set by the caller, otherwise as recorded
 * in the run, otherwise as in the table of machines. A price that is not known is NAN, never 0. */

struct pricing {
    const struct machines *table; /* NULL: none */
    const char *machine;          /* of all nodes; NULL: as the run recorded */
    double price_per_hour;        /* the same; 0: as the run recorded */
};

struct node_price {
    const char *machine;   /* its type; "": not known */
    double price_per_hour; /* NAN: not known */
    const char *currency;
};

/* Texts live in the arena. */
struct node_price pricing_of_node(const struct pricing *p, const struct run_info *info,
                                  const struct node_info *node, struct arena *a);
/* The paid time of a session of a node. */
double node_hours(const struct node_info *session);
/* The cost of the run so far: each session of each node. NAN: a price is not known. */
double pricing_cost(const struct run_info *info);
/* The price of an hour of all its nodes. NAN: a price is not known. */
double pricing_per_hour(const struct run_info *info);
/* The currency of its prices. */
const char *pricing_currency(const struct run_info *info);
/* The machine type of all nodes; "": they differ, or it is not known. */
const char *pricing_machine(const struct run_info *info);

#endif
