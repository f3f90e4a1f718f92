/* SPDX-License-Identifier: Apache-2.0 */
/* pyregex.h - whether a text is a regular expression as Python writes them. It is never run here,
 * only kept, so this checks its shape: brackets, repeats and escapes. Pure. */
#ifndef CONFIG_PYREGEX_H
#define CONFIG_PYREGEX_H

#include "base/err.h"

MUST_CHECK int pyregex_check(const char *text, struct err *e);

#endif
