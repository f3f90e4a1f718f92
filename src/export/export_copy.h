/* SPDX-License-Identifier: Apache-2.0 */
/* export_copy.h - a run told again, record by record, to what makes a run (record/remake.h). */
#ifndef EXPORT_EXPORT_COPY_H
#define EXPORT_EXPORT_COPY_H

#include "export/export.h"
#include "record/remake.h"

struct export_copy {
    const struct export_job *job; /* what of which run; its out, folder and what do not matter */
    struct remake *to;
    int64_t later_ns;   /* how much later everything is to be */
    const char *prefix; /* of the names of nodes; "": none */
    /* Called now and then; what it returns when it is not 0 ends the copy. */
    int (*pass)(void *ctx, struct err *e);
    void *ctx;
};

MUST_CHECK int export_copy(const struct export_copy *c, struct err *e);

#endif
