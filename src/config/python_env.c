/* SPDX-License-Identifier: Apache-2.0 */
/* python_env.c - see python_env.h. */
#include "config/python_env.h"

#include <glob.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"

#define BOOTSTRAP "footplate/_bootstrap"

/* ---- environments ---- */

char **env_with(struct arena *a, char *const base[], const char *const set[], size_t n)
{
    size_t n_base = 0, out = 0;
    while (base[n_base])
        n_base++;
    char **env = arena_array(a, char *, n_base + n + 1);
    for (size_t i = 0; i < n_base; i++) {
        const bool replaced =
            FIND_ANY(k, n, strncmp(base[i], set[k], strcspn(set[k], "=") + 1) == 0);
        if (!replaced)
            env[out++] = base[i];
    }
    for (size_t k = 0; k < n; k++)
        env[out++] = arena_strdup(a, set[k]);
    return env;
}

char **job_env(struct arena *a, char *const base[], const char *ring, const char *bootstrap)
{
    static const char path[] = "PYTHONPATH=";
    const char *old = "";
    for (size_t i = 0; base[i]; i++)
        if (text_starts(base[i], path))
            old = base[i] + sizeof path - 1;
    const char *const set[] = {
        arena_printf(a, "FOOTPLATE_RING=%s", ring),
        arena_printf(a, "%s%s%s%s", path, bootstrap ? bootstrap : "", *old ? ":" : "", old),
    };
    return env_with(a, base, set, bootstrap ? 2 : 1);
}

/* ---- the package ---- */

void program_path(char out[PATH_LEN])
{
    const ssize_t n = readlink("/proc/self/exe", out, PATH_LEN - 1);
    out[MAX_OF(n, 0)] = 0;
}

static bool is_there(char out[PATH_LEN], const char *folder)
{
    struct err ignored;
    char file[PATH_LEN];
    return path_join(out, &ignored, "%s", folder) == 0 &&
           path_join(file, &ignored, "%s/sitecustomize.py", folder) == 0 && access(file, R_OK) == 0;
}

/* pip may have put packages of several Pythons beside one program: the one with its version counts.
 */
static bool is_this_version(const char *bootstrap)
{
    enum { VERSION_MOST = 64 << 10 };
    char file[PATH_LEN], *text;
    struct arena a = {0};
    struct err ignored;
    size_t len;
    const bool same = path_join(file, &ignored, "%s/../_version.py", bootstrap) == 0 &&
                      file_read(file, VERSION_MOST, &a, &text, &len, &ignored) == 0 &&
                      strstr(text, "\"" FP_VERSION "\"");
    arena_free(&a);
    return same;
}

/* The path with a backslash before each character that means something to glob. */
static bool quote_for_glob(char out[PATH_LEN], const char *path)
{
    size_t n = 0;
    for (; *path && n + 2 < PATH_LEN; path++) {
        if (strchr("*?[\\", *path))
            out[n++] = '\\';
        out[n++] = *path;
    }
    out[n] = 0;
    return !*path;
}

bool hooks_find(char out[PATH_LEN])
{
    /* From the folder of the program. */
    static const struct {
        const char *pattern;
        bool installed; /* by pip or Debian, so that its version is checked */
    } places[] = {
        {"python/" BOOTSTRAP, false},
        {"../python/" BOOTSTRAP, false},
        {"../../python/" BOOTSTRAP, false},
        {"../lib/footplate/python/" BOOTSTRAP, false},
        {"../_bootstrap", false}, /* the program inside the installed package */
        {"../lib*/python3*/site-packages/" BOOTSTRAP, true},
        {"../lib*/python3*/dist-packages/" BOOTSTRAP, true},
        {"../" BOOTSTRAP, true}, /* pip install --target */
    };
    char exe[PATH_LEN], quoted[PATH_LEN], pattern[PATH_LEN];
    struct err ignored;
    const char *named = getenv("FOOTPLATE_HOOKS");
    if (named && *named)
        return is_there(out, named);
    program_path(exe);
    char *slash = strrchr(exe, '/');
    if (!slash)
        return false;
    *slash = 0;
    bool found = false;
    for (size_t i = 0; i < COUNT_OF(places) && quote_for_glob(quoted, exe) && !found; i++) {
        glob_t all = {0};
        if (path_join(pattern, &ignored, "%s/%s", quoted, places[i].pattern) == 0 &&
            glob(pattern, GLOB_ONLYDIR, NULL, &all) == 0)
            for (size_t k = 0; k < all.gl_pathc && !found; k++)
                found = (!places[i].installed || is_this_version(all.gl_pathv[k])) &&
                        is_there(out, all.gl_pathv[k]);
        globfree(&all);
    }
    return found;
}

const char *hooks_lack(const char *bootstrap)
{
    static const char *const made[] = {"_core.abi3.so", "_version.py"};
    char file[PATH_LEN];
    struct err ignored;
    for (size_t i = 0; i < COUNT_OF(made); i++)
        if (path_join(file, &ignored, "%s/../%s", bootstrap, made[i]) == 0 && access(file, F_OK))
            return made[i];
    return NULL;
}

/* ---- the script of a command ---- */

static bool ends_like_a_script(const char *word)
{
    static const char *const endings[] = {".py", ".sh", ".pl", ".rb"};
    return FIND_ANY(i, COUNT_OF(endings),
                    *word != '-' && strcmp(word, endings[i]) != 0 && text_ends(word, endings[i]));
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
