/* SPDX-License-Identifier: Apache-2.0 */
/* pace.c - see pace.h. */
#include "serve/pace.h"

#include "base/mem.h"

mono_ns pace_next(mono_ns begin, mono_ns end, int64_t least_ns)
{
    return mono_add(begin, MAX_OF(least_ns, PACE_COST * mono_diff(end, begin)));
}

mono_ns pace_share(mono_ns before, mono_ns begin, mono_ns end, int64_t credit_ns)
{
    const mono_ns from = {MAX_OF(before.ns, begin.ns - credit_ns)};
    return mono_add(from, PACE_COST * mono_diff(end, begin));
}
