/* SPDX-License-Identifier: Apache-2.0 */
/* cmds.c - the list of commands. */
#include <string.h>

#include "base/text.h"
#include "cmd/cmd.h"

#define CMD(id) &cmd_##id,
const struct cmd *const cmds[] = {
#include "cmd/cmds.def"
    NULL,
};
#undef CMD

#define CMD(id) #id,
const char *const cmd_names[] = {
#include "cmd/cmds.def"
    NULL,
};
#undef CMD

const struct cmd *cmd_find(const char *name)
{
    for (size_t i = 0; cmds[i]; i++)
        if (strcmp(cmds[i]->name, name) == 0)
            return cmds[i];
    return NULL;
}

int cmd_unknown(const char *name, struct err *e)
{
    struct nearest n = nearest_to(name);
    for (size_t i = 0; cmds[i]; i++)
        nearest_offer(&n, cmds[i]->name);
    if (n.best)
        return err_set(e, ERR_USAGE, "unknown command '%.200s' (did you mean '%s'?)", name, n.best);
    return err_set(e, ERR_USAGE, "unknown command '%.200s'; run 'footplate help' for a list", name);
}
