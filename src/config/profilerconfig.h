/* SPDX-License-Identifier: Apache-2.0 */
/* profilerconfig.h - SageMaker's profilerconfig.json, with all its oddities. Pure.
 *
 * Keys are found in any case; numbers may be texts; the nested parts may be texts with a Python
 * dict, and those are parsed, never evaluated. A part that is wrong is left out with a sentence,
 * and the others count. The case of texts (paths, regular expressions) does not change. */
#ifndef CONFIG_PROFILERCONFIG_H
#define CONFIG_PROFILERCONFIG_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "config/detail_window.h"
#include "config/settings.h"

enum { PROFILERCONFIG_MOST = 1 << 20 };

enum sm_part {
    SM_DETAIL,
    SM_DATALOADER,
    SM_PYTHON,
    SM_SMDATAPARALLEL,
    SM_HOROVOD,
    SM_PARTS,
};

struct sm_range {
    bool enabled; /* false: absent, empty or wrong */
    bool fires;   /* false: enabled without a range, so it never begins */
    struct window window;
    const char *regex; /* NULL: none */
};

struct profilerconfig {
    bool disabled;       /* DisableProfiler: nothing else counts */
    bool has_parameters; /* ProfilingParameters is not empty */
    int64_t interval_ns; /* 0: not given */
    struct sm_range part[SM_PARTS];
};

extern const char *const sm_part_names[SM_PARTS];

/* Fails when it is not a JSON object; `problems` gets what is wrong inside. Texts live in its
 * arena.
 */
MUST_CHECK int profilerconfig_parse(const char *text, size_t len, struct profilerconfig *out,
                                    struct remarks *problems, struct err *e);

/* ---- literal.c: a Python literal as a JSON tree, which SageMaker's SDK puts into strings ----
 *
 * Takes dicts, lists, tuples, strings in either quotes, numbers, True, False, None, and JSON's
 * words for them; a trailing comma is fine. Nothing is ever evaluated: names, calls and operators
 * are refused. Bounded in length and depth. Keys are strings; of two equal ones the last counts. */

enum { LITERAL_MOST = 64 << 10, LITERAL_DEPTH = 8 };

/* The caller ends the tree with json_decref. ERR_FORMAT names the place. */
MUST_CHECK int literal_parse(const char *text, size_t len, json_t **out, struct err *e);
/* Whether the text is a decimal number and nothing else: no hex, no inf, no nan. */
bool number_parse(const char *text, size_t len, double *out);

#endif
