/* SPDX-License-Identifier: Apache-2.0 */
/* redact.h - hides secrets in the words of a command line, before it is written or shown.
 *
 * Hidden is the value of
 *   - an option whose name contains key, token, password, passwd, passphrase, secret or credential:
 *     "--api-key V", "--api-key=V", "-hf_token V";
 *   - a variable or setting with such a name: "WANDB_API_KEY=V", "model.token=V", "?token=V";
 *   - a header or JSON member with such a name, or "Authorization" or "Cookie";
 * and what precedes '@' in the address part of a URL: "https://user:password@host".
 * A word may be a whole shell line: its parts are treated alike. A name that is known to be
 * harmless (tokenizer, key-value) is left alone, and so is a number of at most six digits as the
 * value of a key or token ("--max-tokens 2048"). Nothing else is hidden. */
#ifndef BASE_REDACT_H
#define BASE_REDACT_H

#include <stddef.h>

#include "base/arena.h"

#define REDACTED "***"

/* A copy of the n words, with a NULL after the last. Words that were redacted before
 * stay, or more of them is hidden. */
const char **redact_words(const char *const *words, size_t n, struct arena *a);

#endif
