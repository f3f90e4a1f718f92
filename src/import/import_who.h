/* SPDX-License-Identifier: Apache-2.0 */
/* import_who.h - which process a trace is of, where the trace itself does not say. */
#ifndef IMPORT_IMPORT_WHO_H
#define IMPORT_IMPORT_WHO_H

#include "import/importer.h"

/* The process that the tracks of the trace belong to: as the caller knows it, as the name of the
 * worker begins with it ("80807-host"), else one that is the rank's own. Never 0. */
uint32_t import_pid(const struct import_ask *ask);
/* What process.rank is told as: a count at that moment. */
struct event import_rank_event(int64_t rank, mono_ns at);

#endif
