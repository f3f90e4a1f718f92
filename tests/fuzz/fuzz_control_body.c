/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_control_body.c - bodies of POST requests: any bytes, and what is taken is a request that the
 * recorder understands. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "control/control_protocol.h"
#include "serve/api_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct arena a = {0};
    struct control_request r;
    struct err e = {0}, again;
    const char *set = NULL;
    const int rc = control_body((const char *)p, n, &a, &set, &e);
    if (rc == 0 ? !set || control_parse(set, strlen(set), &r, &again) != 0 : !e.msg[0])
        abort();
    arena_free(&a);
    return 0;
}
