/* SPDX-License-Identifier: Apache-2.0 */
/* script.h - the script that a command runs: what footplate.yaml lies beside. Pure. */
#ifndef CONFIG_SCRIPT_H
#define CONFIG_SCRIPT_H

/* "sub/train.py" of `python -u sub/train.py --lr 1` or `torchrun --nproc-per-node 2 sub/train.py`;
 * NULL when the command names a module (-m), a program text (-c) or nothing that ends as scripts
 * do. argv ends with NULL. */
const char *script_of(const char *const argv[]);

#endif
