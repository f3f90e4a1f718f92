/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "config/python_env.h"
#include "test.h"

enum { WORDS = 8 };

TEST(the_script_is_found_behind_interpreters_and_launchers)
{
    static const struct {
        const char *argv[WORDS], *script, *module;
    } rows[] = {
        {{"python", "train.py"}, "train.py"},
        {{"python3", "-u", "sub/train.py", "--data", "other.py"}, "sub/train.py"},
        {{"./train.py"}, "./train.py"},
        {{"torchrun", "--nproc-per-node", "2", "/abs/train.py"}, "/abs/train.py"},
        {{"python", "-m", "torch.distributed.run", "--nproc-per-node=2", "x/train.py"},
         "x/train.py"},
        {{"accelerate", "launch", "train.py"}, "train.py"},
        {{"python", "-m", "accelerate.commands.launch", "x/train.py"}, "x/train.py"},
        {{"python", "-m", "cProfile", "-o", "x", "train.py"}, "train.py"},
        {{"python", "-m", "pdbs", "train.py"}, NULL, "pdbs"},
        {{"env", "A=1", "python", "train.py"}, "train.py"},
        {{"bash", "jobs/run.sh"}, "jobs/run.sh"},
        {{"python", "-m", "pkg"}, NULL, "pkg"},
        {{"python", "-m", "pkg", "--script", "train.py"}, NULL, "pkg"},
        {{"torchrun", "--nproc-per-node", "2", "-m", "pkg"}, NULL, "pkg"},
        {{"python", "-c", "import x", "train.py"}, NULL},
        {{"sh", "-c", "python train.py"}, NULL},
        {{"./train"}, NULL},
        {{"tool", "--out=x.py"}, NULL},
        {{".py"}, NULL},
        {{NULL}, NULL},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct script s = script_find(rows[i].argv);
        const char *wanted = rows[i].script ? rows[i].script : rows[i].module;
        if ((s.name == NULL) != (wanted == NULL) || (wanted && strcmp(s.name, wanted) != 0) ||
            s.is_file != (rows[i].script != NULL))
            test_fail(__FILE__, __LINE__, "row %zu: %s", i, s.name ? s.name : "none");
    }
}
