/* SPDX-License-Identifier: Apache-2.0 */
/* literal.h - a Python literal as a JSON tree: what SageMaker's SDK puts into strings.
 *
 * Takes dicts, lists, tuples, strings in either quotes, numbers, True, False, None, and JSON's
 * words for them; a trailing comma is fine. Nothing is ever evaluated: names, calls and operators
 * are refused. Bounded in length and depth. Keys are strings; of two equal ones the last counts. */
#ifndef CONFIG_LITERAL_H
#define CONFIG_LITERAL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum { LITERAL_MOST = 64 << 10, LITERAL_DEPTH = 8 };

/* The caller ends the tree with json_decref. ERR_FORMAT names the place. */
MUST_CHECK int literal_parse(const char *text, size_t len, json_t **out, struct err *e);
/* Whether the text is a decimal number and nothing else: no hex, no inf, no nan. */
bool number_parse(const char *text, size_t len, double *out);

#endif
