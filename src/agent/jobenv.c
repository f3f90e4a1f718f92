/* SPDX-License-Identifier: Apache-2.0 */
/* jobenv.c - see jobenv.h. */
#include "agent/jobenv.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BOOTSTRAP "footplate/_bootstrap"

static bool jobenv_is_of(const char *entry, const char *name)
{
    const size_t n = strlen(name);
    return strncmp(entry, name, n) == 0 && entry[n] == '=';
}

static const char *jobenv_value_of(char *const env[], const char *name)
{
    for (; *env; env++)
        if (jobenv_is_of(*env, name))
            return *env + strlen(name) + 1;
    return NULL;
}

static char *python_path(struct arena *a, char *const base[], const char *bootstrap)
{
    const char *old = jobenv_value_of(base, "PYTHONPATH");
    return arena_printf(a, "PYTHONPATH=%s%s%s", bootstrap, old && *old ? ":" : "", old ? old : "");
}

char **job_env(struct arena *a, char *const base[], const char *ring, const char *bootstrap)
{
    size_t n = 0, out = 0;
    while (base[n])
        n++;
    char **env = arena_array(a, char *, n + 3);
    for (size_t i = 0; i < n; i++)
        if (!jobenv_is_of(base[i], "FOOTPLATE_RING") &&
            !(bootstrap && jobenv_is_of(base[i], "PYTHONPATH")))
            env[out++] = base[i];
    if (ring)
        env[out++] = arena_printf(a, "FOOTPLATE_RING=%s", ring);
    if (bootstrap)
        env[out++] = python_path(a, base, bootstrap);
    return env;
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
    char file[PATH_LEN], text[200];
    struct err ignored;
    if (path_join(file, &ignored, "%s/../_version.py", bootstrap) != 0)
        return false;
    FILE *f = fopen(file, "re");
    if (!f)
        return false;
    bool same = false;
    while (!same && fgets(text, sizeof text, f))
        same = strstr(text, "\"" FP_VERSION "\"") != NULL;
    fclose(f);
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

/* Where pip and Debian install packages, from the folder of the program. */
static bool find_among_packages(char out[PATH_LEN], const char *exe)
{
    static const char *const patterns[] = {
        "../lib*/python3*/site-packages/" BOOTSTRAP, "../lib*/python3*/dist-packages/" BOOTSTRAP,
        "../" BOOTSTRAP, /* pip install --target */
    };
    char quoted[PATH_LEN], pattern[PATH_LEN];
    struct err ignored;
    bool found = false;
    if (!quote_for_glob(quoted, exe))
        return false;
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns && !found; i++) {
        glob_t all = {0};
        if (path_join(pattern, &ignored, "%s/%s", quoted, patterns[i]) == 0 &&
            glob(pattern, GLOB_ONLYDIR, NULL, &all) == 0)
            for (size_t k = 0; k < all.gl_pathc && !found; k++)
                found = is_this_version(all.gl_pathv[k]) && is_there(out, all.gl_pathv[k]);
        globfree(&all);
    }
    return found;
}

bool hooks_find(char out[PATH_LEN])
{
    static const char *const places[] = {
        "python/" BOOTSTRAP,       "../python/" BOOTSTRAP,
        "../../python/" BOOTSTRAP, "../lib/footplate/python/" BOOTSTRAP,
        "../_bootstrap", /* the program inside the installed package */
    };
    char exe[PATH_LEN], folder[PATH_LEN];
    struct err ignored;
    const char *said = getenv("FOOTPLATE_HOOKS");
    if (said && *said)
        return is_there(out, said);
    const ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    exe[n < 0 ? 0 : n] = 0;
    char *slash = strrchr(exe, '/');
    if (!slash)
        return false;
    *slash = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (path_join(folder, &ignored, "%s/%s", exe, places[i]) == 0 && is_there(out, folder))
            return true;
    return find_among_packages(out, exe);
}

const char *hooks_lack(const char *bootstrap)
{
    static const char *const made[] = {"_core.abi3.so", "_version.py"};
    char file[PATH_LEN];
    struct err ignored;
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        if (path_join(file, &ignored, "%s/../%s", bootstrap, made[i]) == 0 && access(file, F_OK))
            return made[i];
    return NULL;
}
