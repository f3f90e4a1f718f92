/* SPDX-License-Identifier: Apache-2.0 */
/* look.c - see look.h. */
#include "report/look.h"

#include <string.h>
#include <strings.h>

#include "base/mem.h"

static const struct report_look looks[] = {
#define COLOUR(name, light, dark)
#define LOOK(key, title, colour) {#key, title, COLOUR_##colour},
#include "report/colours.def"
#undef COLOUR
#undef LOOK
};

const struct report_look *look_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(looks); i++)
        if (strcmp(looks[i].key, name) == 0 || strcasecmp(looks[i].title, name) == 0)
            return &looks[i];
    return NULL;
}

struct report_look look_of(const char *key)
{
    const struct report_look *known = look_find(key);
    return known ? *known : (struct report_look){key, key, COLOUR_c_other};
}
