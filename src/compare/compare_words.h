/* SPDX-License-Identifier: Apache-2.0 */
/* compare_words.h - how the numbers of a comparison are written, wherever people read them. Each
 * returns buf, which has HUMAN_LEN bytes; NAN is "-". */
#ifndef COMPARE_COMPARE_WORDS_H
#define COMPARE_COMPARE_WORDS_H

#include "base/human.h"
#include "compare/compare.h"

const char *compare_title(const struct compared *c);       /* "B is faster", ... */
extern const char *const compare_called[COMPARE_VERDICTS]; /* "faster", "no difference", ... */

/* "+2.4 %": what B has more than A. */
const char *share_text(double share, char buf[HUMAN_LEN]);
/* "12.4 ms", "+12.4 ms": times of steps and operators. */
const char *step_text(double s, char buf[HUMAN_LEN]);
const char *step_more_text(double s, char buf[HUMAN_LEN]);

#endif
