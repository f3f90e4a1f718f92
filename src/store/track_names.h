/* SPDX-License-Identifier: Apache-2.0 */
/* track_names.h - while a store is opened: what its tracks are called in the end. The reader's own
 * helper.
 *
 * A track may be named late, after events of it were sealed, and perhaps when no more come. So the
 * latest name that is not empty counts, in the order of telling, for all of its blocks. */
#ifndef STORE_TRACK_NAMES_H
#define STORE_TRACK_NAMES_H

#include "record/event.h"

struct named_track {
    struct track track;
    bool used;
};

struct track_names {
    struct named_track *v; /* by hash */
    uint32_t n, cap;
};

/* What is empty changes nothing. */
void track_names_tell(struct track_names *k, const struct track *t);
/* Gives `t`, which was told, its names. */
void track_names_apply(const struct track_names *k, struct track *t);
void track_names_free(struct track_names *k);

#endif
