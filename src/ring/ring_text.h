/* SPDX-License-Identifier: Apache-2.0 */
/* ring_text.h - a name as it may be shown: bytes from a job made into valid UTF-8 without control
 * characters. */
#ifndef RING_TEXT_H
#define RING_TEXT_H

#include <stddef.h>

#include "ring/ring_layout.h"

enum { RING_TEXT_LEN = RING_NAME_LEN + 1 };

/* out has RING_TEXT_LEN bytes. What is not a printable character becomes '?', one per byte; len
 * over RING_NAME_LEN is taken as that. */
void ring_text_clean(char *out, const char *text, size_t len);

#endif
