/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_control.c - requests at the control socket: any bytes, and what is taken is within bounds.
 */
#include <stdint.h>
#include <stdlib.h>

#include "config/settings.h"
#include "control/control_protocol.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static bool is_sane(const struct control_request *r)
{
    switch (r->kind) {
    case CONTROL_INTERVAL:
        return r->number >= INTERVAL_MIN_NS && r->number <= INTERVAL_MAX_NS;
    case CONTROL_MONITORING:
        return r->number == 0 || r->number == 1;
    case CONTROL_DETAIL:
        return r->detail.n <= WINDOWS_MOST;
    case CONTROL_STOP:
    case CONTROL_STATUS:
        return r->number == 0;
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct control_request r = {0};
    struct err e = {0};
    if (control_parse((const char *)p, n, &r, &e) == 0 ? !is_sane(&r) : !e.msg[0])
        abort();
    return 0;
}
