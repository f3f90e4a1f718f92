/* SPDX-License-Identifier: Apache-2.0 */
/* steps_print.h - everything `footplate steps` says, printed in three ways. */
#ifndef CMD_STEPS_PRINT_H
#define CMD_STEPS_PRINT_H

#include "tables/stepsview.h"

void steps_text(const struct steps_view *v);
void steps_json(const struct steps_view *v);
void steps_csv(const struct steps_view *v);

#endif
