/* SPDX-License-Identifier: Apache-2.0 */
/* runs_dir.c - see runs_dir.h. */
#include "cmd/runs_dir.h"

#include <string.h>
#include <unistd.h>

#include "config/settings.h"

static struct opt_value *dir_of(const struct opt *table, struct opt_value *values)
{
    for (size_t i = 0; table[i].name; i++)
        if (strcmp(table[i].name, settings_table[SETTING_DIR].option.name) == 0)
            return table[i].otherwise ? NULL : &values[i];
    return NULL;
}

const char *runs_dir_fill(const struct opt *table, struct opt_value *values, struct arena *a)
{
    struct opt_value *dir = dir_of(table, values);
    const struct settings_ask ask = {.environment = environ};
    struct err e;
    if (!dir || dir->given)
        return dir ? dir->text : NULL;
    struct settings *s = arena_new(a, struct settings);
    if (settings_load(s, &ask, a, &e) == 0)
        dir->text = s->dir;
    return dir->text;
}
