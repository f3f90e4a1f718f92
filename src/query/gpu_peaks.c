/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_peaks.c - see gpu_peaks.h. */
#include "query/gpu_peaks.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"

#define PEAK(...) {__VA_ARGS__},
const struct gpu_peak gpu_peaks[] = {
#include "query/gpu_peaks.def"
};
#undef PEAK

const size_t n_gpu_peaks = COUNT_OF(gpu_peaks);

static char gpu_peaks_upper(char c)
{
    return (char)toupper((unsigned char)c);
}

static bool starts_with_words(const char *text, const char *words)
{
    while (*words && gpu_peaks_upper(*text) == *words) {
        text++;
        words++;
    }
    return !*words && !isalnum((unsigned char)*text); /* "A10" is not in "A100" */
}

/* Whether the words are in the name, from the begin of one of its words to the end of one. */
static bool has_words(const char *name, const char *words)
{
    for (const char *p = name; *p; p++)
        if ((p == name || !isalnum((unsigned char)p[-1])) && starts_with_words(p, words))
            return true;
    return false;
}

/* "NVIDIA A10-24Q": profiles of NVIDIA's virtual GPUs end with their memory and a letter. */
static bool is_virtual(const char *name)
{
    const char *p = strrchr(name, '-');
    const size_t digits = p ? strspn(p + 1, "0123456789") : 0;
    return digits > 0 && p[1 + digits] && strchr("ABCQ", p[1 + digits]) && !p[2 + digits];
}

const struct gpu_peak *gpu_peak_find(const char *name)
{
    const struct gpu_peak *best = NULL;
    if (!name || has_words(name, "MIG") || has_words(name, "GRID") || is_virtual(name))
        return NULL;
    for (size_t i = 0; i < n_gpu_peaks; i++)
        if (has_words(name, gpu_peaks[i].words) &&
            (!best || strlen(gpu_peaks[i].words) > strlen(best->words)))
            best = &gpu_peaks[i];
    return best;
}
