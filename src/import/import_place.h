/* SPDX-License-Identifier: Apache-2.0 */
/* import_place.h - what the name and the place of a file say about it.
 *
 * Pure but for TensorFlow traces, whose base time is in the name of a file three folders above. */
#ifndef IMPORT_IMPORT_PLACE_H
#define IMPORT_IMPORT_PLACE_H

#include "import/importer.h"

enum place_kind {
    PLACE_ANY,     /* its bytes decide */
    PLACE_TRACE,   /* it is one by its name: when it cannot be read, that is worth a word */
    PLACE_BEING,   /* it is still being written */
    PLACE_MARSHAL, /* a profile in the form that only Python itself reads */
};

/* Fills the hint, which is cleared first. */
enum place_kind import_place(const char *path, struct import_hint *hint);
/* "host" of a worker called "27-host" or, with '_', "host_27"; false when it is no such name. */
bool import_worker_host(const char *worker, char mark, char host[IMPORT_NAME_LEN]);

#endif
