/* SPDX-License-Identifier: Apache-2.0 */
/* doctor.h - everything `footplate doctor` finds out, printed in two ways. */
#ifndef CMD_DOCTOR_H
#define CMD_DOCTOR_H

#include "base/file.h"
#include "cmd/trial.h"

/* A folder that recording needs. */
struct place {
    char path[PATH_LEN];
    bool ok;
    char why[512];     /* why it is not */
    double free_bytes; /* NAN: not known */
};

struct checkup {
    struct trial trial;
    struct place runs, runtime;
    struct err curl; /* why actions cannot use TLS; code 0: they can */
    char clock_source[64];
    double clock_read_ns;
    struct arena *arena;
};

void doctor_text(const struct checkup *c, bool all);
void doctor_json(const struct checkup *c);

#endif
