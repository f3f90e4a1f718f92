/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_config_yaml.c - footplate.yaml: any bytes give settings within bounds. */
#include <stdint.h>

#include "settings_sane.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct arena a = {0};
    struct settings s;
    settings_init(&s, &a);
    settings_take_yaml(&s, (const char *)p, n, "footplate.yaml", ".");
    check_settings(&s, &a);
    arena_free(&a);
    return 0;
}
