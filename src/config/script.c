/* SPDX-License-Identifier: Apache-2.0 */
/* script.c - see script.h. */
#include "config/script.h"

#include <stddef.h>
#include <string.h>

#include "base/mem.h"

static bool ends_like_a_script(const char *word)
{
    static const char *const endings[] = {".py", ".sh", ".pl", ".rb"};
    const size_t n = strlen(word);
    for (size_t i = 0; i < COUNT_OF(endings); i++) {
        const size_t len = strlen(endings[i]);
        if (n > len && *word != '-' && strcmp(word + n - len, endings[i]) == 0)
            return true;
    }
    return false;
}

/* Modules that start another script. */
static bool is_launcher(const char *module)
{
    static const char *const names[] = {"torch.distributed", "accelerate", "deepspeed",
                                        "cProfile",          "coverage",   "pdb"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const size_t n = strlen(names[i]);
        if (strncmp(module, names[i], n) == 0 && (module[n] == 0 || module[n] == '.'))
            return true;
    }
    return false;
}

struct script script_find(const char *const argv[])
{
    for (; *argv && strcmp(*argv, "-c") != 0; argv++) {
        if (strcmp(*argv, "-m") == 0 && argv[1] && !is_launcher(argv[1]))
            return (struct script){argv[1], false};
        if (ends_like_a_script(*argv))
            return (struct script){*argv, true};
    }
    return (struct script){NULL, false};
}
