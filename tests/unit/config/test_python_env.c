/* SPDX-License-Identifier: Apache-2.0 */
/* test_python_env.c - what the job finds in its environment, and where the hooks are. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/python_env.h"
#include "test.h"

static const char *get(char **env, const char *name)
{
    const char *found = NULL;
    for (; *env; env++)
        if (strncmp(*env, name, strlen(name)) == 0 && (*env)[strlen(name)] == '=') {
            CHECK(found == NULL); /* once */
            found = *env + strlen(name) + 1;
        }
    return found;
}

TEST(the_job_gets_the_ring_and_the_hooks_in_front_of_its_own_python_path)
{
    struct arena a = {0};
    char one[] = "A=1", path[] = "PYTHONPATH=/mine", old[] = "FOOTPLATE_RING=/old", two[] = "B=2";
    char *base[] = {one, path, old, two, NULL};
    char **env = job_env(&a, base, "/ring", "/hooks");
    CHECK_STR(get(env, "A"), "1");
    CHECK_STR(get(env, "B"), "2");
    CHECK_STR(get(env, "FOOTPLATE_RING"), "/ring");
    CHECK_STR(get(env, "PYTHONPATH"), "/hooks:/mine");
    arena_free(&a);
}

TEST(without_hooks_the_python_path_stays_as_it_was)
{
    struct arena a = {0};
    char path[] = "PYTHONPATH=/mine", *base[] = {path, NULL}, *none[] = {NULL};
    CHECK_STR(get(job_env(&a, base, "/ring", NULL), "PYTHONPATH"), "/mine");
    CHECK(get(job_env(&a, none, "/ring", NULL), "PYTHONPATH") == NULL);
    CHECK_STR(get(job_env(&a, none, "/ring", "/hooks"), "PYTHONPATH"), "/hooks");
    arena_free(&a);
}

TEST(hooks_are_taken_from_where_the_user_says_and_only_if_they_are_there)
{
    char out[PATH_LEN], folder[] = "/tmp/fp-hooks-XXXXXX", file[64];
    CHECK(mkdtemp(folder) != NULL);
    setenv("FOOTPLATE_HOOKS", folder, 1);
    CHECK(!hooks_find(out));
    snprintf(file, sizeof file, "%s/sitecustomize.py", folder);
    FILE *f = fopen(file, "w");
    CHECK(f != NULL);
    fclose(f);
    CHECK(hooks_find(out));
    CHECK_STR(out, folder);
    unlink(file);
    rmdir(folder);
}

TEST(a_package_that_was_not_built_is_known_by_what_it_lacks)
{
    char folder[] = "/tmp/fp-package-XXXXXX", bootstrap[64], core[64], version[64];
    CHECK(mkdtemp(folder) != NULL);
    snprintf(bootstrap, sizeof bootstrap, "%s/_bootstrap", folder);
    snprintf(core, sizeof core, "%s/_core.abi3.so", folder);
    snprintf(version, sizeof version, "%s/_version.py", folder);
    CHECK(mkdir(bootstrap, 0700) == 0);
    CHECK_STR(hooks_lack(bootstrap), "_core.abi3.so");
    CHECK(creat(core, 0600) >= 0);
    CHECK_STR(hooks_lack(bootstrap), "_version.py");
    CHECK(creat(version, 0600) >= 0);
    CHECK(hooks_lack(bootstrap) == NULL);
    unlink(core);
    unlink(version);
    rmdir(bootstrap);
    rmdir(folder);
}
