/* SPDX-License-Identifier: Apache-2.0 */
/* probes.c - the array of probes, in the order of probes.def. */
#include "sample/probe.h"

#define PROBE(id) &probe_##id,
const struct probe *const probes[] = {
#include "sample/probes.def"
    NULL,
};
#undef PROBE
