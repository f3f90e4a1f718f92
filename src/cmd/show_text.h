/* SPDX-License-Identifier: Apache-2.0 */
/* show_text.h - one run on one screen. */
#ifndef CMD_SHOW_TEXT_H
#define CMD_SHOW_TEXT_H

#include "tables/show.h"

void show_text(const struct show *s);

#endif
