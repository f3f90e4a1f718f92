/* SPDX-License-Identifier: Apache-2.0 */
/* redact.h - hides secrets in command lines, labels and paths, before they are written or shown.
 *
 * Hidden is the value of
 *   - an option whose name contains key, token, password, passwd, passphrase, secret, credential or
 *     another of the words in redact.c: "--api-key V", "--api-key=V", "-hf_token V";
 *   - a variable or setting with such a name: "WANDB_API_KEY=V", "model.token=V", "?token=V";
 *   - a header or JSON member with such a name, or "Authorization" or "Cookie";
 * what precedes '@' in the address part of a URL: "https://user:password@host", what follows
 * "Bearer", and tokens that are known by their form wherever they are: hf_..., ghp_..., AKIA...
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
/* The same for one text. */
const char *redact_text(const char *text, struct arena *a);
/* The value of a label. Users give labels to be seen, so a short value of a key or token stays. */
const char *redact_label(const char *key, const char *value, struct arena *a);

#endif
