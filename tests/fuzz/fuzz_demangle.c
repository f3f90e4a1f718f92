/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_demangle.c - any text as the name of a kernel: the short one fits and is one line of it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    char name[5000], brief[SHORT_NAME_LEN];
    if (n >= sizeof name)
        return 0;
    memcpy(name, p, n);
    name[n] = '\0';
    if (name_shorten(name, brief, sizeof brief) != strlen(brief))
        abort();
    name_without_parameters(name, brief, sizeof brief);
    if (strlen(brief) >= sizeof brief)
        abort();
    return 0;
}
