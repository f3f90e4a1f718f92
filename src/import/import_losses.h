/* SPDX-License-Identifier: Apache-2.0 */
/* import_losses.h - what an import counted and could not use, told as losses. */
#ifndef IMPORT_IMPORT_LOSSES_H
#define IMPORT_IMPORT_LOSSES_H

#include "import/importer.h"

void import_put_losses(const struct import_result *r, struct sink *s);

#endif
