/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_redact.c - command lines, one word per line: nothing but secrets is replaced. A second
 * pass may hide more (a hidden value can have ended an address: "x://a.key:/@b"), but settles. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/redact.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

enum { WORDS_MOST = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct arena a = {0};
    const char *words[WORDS_MOST];
    size_t count = 0;
    for (char *rest = arena_strndup(&a, (const char *)p, n); rest && count < WORDS_MOST;)
        words[count++] = strsep(&rest, "\n");
    const char **out = redact_words(words, count, &a);
    for (size_t i = 0; i < count; i++)
        if (strcmp(out[i], words[i]) != 0 && !strstr(out[i], REDACTED))
            abort();
    const char **again = redact_words(out, count, &a);
    for (size_t i = 0; i < count; i++)
        if (strcmp(out[i], again[i]) != 0 && strlen(again[i]) >= strlen(out[i]))
            abort();
    arena_free(&a);
    return 0;
}
