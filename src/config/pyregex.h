/* SPDX-License-Identifier: Apache-2.0 */
/* pyregex.h - whether a string is a regular expression of Python. It is only stored, never run, so
 * this checks its syntax: brackets, repeats and escapes. Pure. */
#ifndef CONFIG_PYREGEX_H
#define CONFIG_PYREGEX_H

#include "base/err.h"

MUST_CHECK int pyregex_check(const char *text, struct err *e);

#endif
