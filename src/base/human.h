/* SPDX-License-Identifier: Apache-2.0 */
/* human.h - numbers for people: three significant digits, always with the unit. Each returns buf.
 * What rounds to zero has no sign. Machines get their numbers through json_write.h. */
#ifndef BASE_HUMAN_H
#define BASE_HUMAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HUMAN_LEN = 48 }; /* enough for all of them */

/* The currency of prices without one. */
#define CURRENCY_DEFAULT "USD"

/* "512 B", "1.50 GiB". */
const char *human_bytes(double bytes, char *buf, size_t size);
/* The reverse, of what a user wrote: "50GiB", "10MB", "512"; `per` follows it ("/s"), if it is not
 * empty. False: it is not a number of bytes. */
bool bytes_parse(const char *text, const char *per, uint64_t *out);
/* "9999", "1 234 567": a count, its digits in groups of three from five digits on. */
const char *human_count(uint64_t n, char *buf, size_t size);
/* A value of a metric; the unit is one of those of metrics.def ("%", "B/s"), another is printed as
 * it is. NAN is "-". */
const char *human_value(double v, const char *unit, char *buf, size_t size);
/* "6.16": to the cent, below 1 to a hundredth of it, without its currency. NAN is "-". */
const char *human_money(double v, char *buf, size_t size);
/* The currency, or the default when it is NULL or "". */
const char *currency_name(const char *currency);
/* "6.16 USD"; without a currency, the default. NAN is "-". */
const char *human_price(double v, const char *currency, char *buf, size_t size);
/* "+0.9 points": what one percentage is more than another. */
const char *human_points(double v, char *buf, size_t size);
/* The text of |v| with the sign of a difference: "+12.4 ms"; none where it is zero or "-". */
const char *human_signed(double v, const char *text, char *buf, size_t size);
/* human_value, human_count and human_bytes, in an arena. */
struct arena;
const char *value_text(struct arena *a, double v, const char *unit);
const char *count_text(struct arena *a, uint64_t n);
const char *bytes_text(struct arena *a, double bytes);
/* "3 s ago", "2 h ago", "12 d ago". */
const char *human_age(double seconds, char *buf, size_t size);

#endif
