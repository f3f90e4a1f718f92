/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_groups.c - see kernel_groups.h. */
#include "query/kernel_groups.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/demangle.h"
#include "base/mem.h"

enum { NAME_MOST = 4096 }; /* what is longer is looked at as far as that */

const char *const kernel_group_names[] = {
    [GROUP_MATMUL] = "matmul",
    [GROUP_ATTENTION] = "attention",
    [GROUP_CONVOLUTION] = "convolution",
    [GROUP_ELEMENTWISE] = "elementwise",
    [GROUP_REDUCTION] = "reduction",
    [GROUP_OPTIMIZER] = "optimizer",
    [GROUP_COPY] = "copy",
    [GROUP_COMMUNICATION] = "communication",
    [GROUP_OTHER] = "other",
    NULL,
};

static const struct {
    enum kernel_group group;
    const char *text;
} patterns[] = {
#define GROUP(group, text) {GROUP_##group, text},
#include "query/kernel_groups.def"
#undef GROUP
};

static bool pattern_matches(const char *pattern, const char *name)
{
    if (*pattern == '^')
        return strncasecmp(name, pattern + 1, strlen(pattern + 1)) == 0;
    return strcasestr(name, pattern) != NULL;
}

enum kernel_group kernel_group_of(const char *name, enum event_category c)
{
    char plain[NAME_MOST];
    if (c == CAT_MEMCPY || c == CAT_MEMSET)
        return GROUP_COPY;
    if (c == CAT_COMM)
        return GROUP_COMMUNICATION;
    name_without_parameters(name, plain, sizeof plain);
    for (size_t i = 0; i < COUNT_OF(patterns); i++)
        if (pattern_matches(patterns[i].text, plain))
            return patterns[i].group;
    return GROUP_OTHER;
}
