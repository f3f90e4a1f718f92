/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_config_sagemaker.c - profilerconfig.json: any bytes give settings within bounds. */
#include <stdint.h>

#include "settings_sane.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct arena a = {0};
    struct settings s;
    settings_init(&s, &a);
    settings_take_profilerconfig(&s, (const char *)p, n, "profilerconfig.json");
    check_settings(&s, &a);
    arena_free(&a);
    return 0;
}
