/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses and tokens of hubs. What a client does with them is tested against a hub
 * (tests/remote/test_hub_read.py). */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "net/hub_client.h"
#include "test.h"

TEST(an_address_is_a_hub_and_what_follows_it)
{
    static const struct {
        const char *text, *base, *rest; /* base NULL: it is none */
    } rows[] = {
        {"https://hub.example.org", "https://hub.example.org", ""},
        {"https://hub.example.org:7171/", "https://hub.example.org:7171", "/"},
        {"https://hub:7171/a/b.json", "https://hub:7171", "/a/b.json"},
        {"https://[fd00::1]:7171/a", "https://[fd00::1]:7171", "/a"},
        {"http://127.0.0.1:80/a", "http://127.0.0.1:80", "/a"},
        {"http://localhost/a", "http://localhost", "/a"},
        {"http://[::1]:9/a", "http://[::1]:9", "/a"},
        {"http://hub.example.org/a", NULL, NULL},
        {"http://127.0.0.1.example.org/a", NULL, NULL},
        {"http://localhost.example.org", NULL, NULL},
        {"http://127.0.0.1@example.org/a", NULL, NULL},
        {"https://user:word@hub/a", NULL, NULL},
        {"https://hub\r\nX: y/a", NULL, NULL},
        {"https://", NULL, NULL},
        {"https:///a", NULL, NULL},
        {"ftp://hub/a", NULL, NULL},
        {"/a/b", NULL, NULL},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char base[HUB_BASE_LEN];
        const char *rest;
        struct err e;
        const int rc = hub_address_of(base, &rest, rows[i].text, &e);
        CHECK_INT(rc, rows[i].base ? 0 : ERR_USAGE);
        if (rc == 0) {
            CHECK_STR(base, rows[i].base);
            CHECK_STR(rest, rows[i].rest);
        }
    }
}

TEST(only_addresses_with_a_scheme_of_http_are_those_of_hubs)
{
    CHECK(hub_is_address("https://h/r") && hub_is_address("http://h/r"));
    CHECK(!hub_is_address("s3://h/r") && !hub_is_address("https") &&
          !hub_is_address("runs/https://"));
}
