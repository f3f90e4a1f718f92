/* SPDX-License-Identifier: Apache-2.0 */
/* loss_words.h - what was not measured, in words: metrics and probes by their titles. */
#ifndef TABLES_LOSS_WORDS_H
#define TABLES_LOSS_WORDS_H

#include "base/arena.h"
#include "record/record.h"

/* "gpu0 gpu.energy" is "gpu0: energy used", "nvml_slow" is "NVIDIA GPU energy, PCIe and NVLink
 * metrics"; other names stay. */
const char *loss_what_words(const struct loss *l, struct arena *a);
/* NULL: there is no such probe. */
const char *probe_words(const char *probe);
/* The machine or the job has no such thing, so nothing is missing: swap, limits of a cgroup. */
bool loss_is_no_news(const struct loss *l);

#endif
