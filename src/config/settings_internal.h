/* SPDX-License-Identifier: Apache-2.0 */
/* settings_internal.h - between the files that fill the table of settings.h. */
#ifndef CONFIG_SETTINGS_INTERNAL_H
#define CONFIG_SETTINGS_INTERNAL_H

#include "config/settings.h"

/* The slot is taken by this source: true when what a lower one put there has to go. */
bool take_slot(struct settings *s, enum setting_id slot, const struct origin *o);
/* "on", "true", "yes", "1" and their opposites. */
MUST_CHECK int parse_switch(const char *text, bool *out, struct err *e);
/* "60s", "500ms" */
void print_time(int64_t ns, struct buf *out);

/* settings_rules.c */
int parse_scan(struct settings *s, const char *text, const struct origin *o, struct err *e);
int parse_report(struct settings *s, const char *text, const struct origin *o, struct err *e);
int parse_no_rules(struct settings *s, const char *text, const struct origin *o, struct err *e);
int parse_rule(struct settings *s, const char *text, const struct origin *o, struct err *e);
int parse_action(struct settings *s, const char *text, const struct origin *o, struct err *e);
int parse_custom(struct settings *s, const char *text, const struct origin *o, struct err *e);
int parse_rule_files(struct settings *s, const char *text, const struct origin *o, struct err *e);
void print_scan(const struct settings *s, struct buf *out);
void print_report(const struct settings *s, struct buf *out);
void print_no_rules(const struct settings *s, struct buf *out);
void print_rules(const struct settings *s, struct buf *out);
void print_actions(const struct settings *s, struct buf *out);
void print_custom(const struct settings *s, struct buf *out);
void print_rule_files(const struct settings *s, struct buf *out);

#endif
