/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_serve.c - the dashboard. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/serving.h"
#include "query/run.h"

enum {
    O_DIR,
    O_BIND,
    O_PORT,
    O_TOKEN_FILE,
    O_TLS_CERT,
    O_TLS_KEY,
    O_HOST,
    O_CONTROL,
    O_API_ONLY,
    O_QUIET,
};

static const char *const on_off[] = {"on", "off", NULL};

static const struct opt options[] = {
    [O_DIR] = OPT_ROW_DIR,
    [O_BIND] = {"bind", 0, "ADDRESS", OPT_STRING,
                .help = "The address to listen on (default: 127.0.0.1). Any other than this "
                        "machine's own needs a token."},
    [O_PORT] = {"port", 'p', "PORT", OPT_INT, .lo = 0, .hi = 65535,
                .help = "The port (default: 7171, or the next that is free); 0: any."},
    [O_TOKEN_FILE] = {"token-file", 0, "FILE", OPT_FILE,
                      .help = "Lines 'read TOKEN' and 'control TOKEN': who may look, and who may "
                              "also change and stop runs. FOOTPLATE_TOKEN in the environment is "
                              "a token for both."},
    [O_TLS_CERT] = {"tls-cert", 0, "FILE", OPT_FILE,
                    .help = "Certificate for https (PEM, with its chain)."},
    [O_TLS_KEY] = {"tls-key", 0, "FILE", OPT_FILE, .help = "The certificate's key (PEM)."},
    [O_HOST] = {"host", 0, "NAME", OPT_STRING, .repeat = true,
                .help = "A further name that the server is reached by, as behind a proxy; asked "
                        "for by another name it refuses."},
    [O_CONTROL] = {"control", 0, "on|off", OPT_CHOICE, .choices = on_off,
                   .help = "Whether runs can be changed and stopped from the page (default: on)."},
    [O_API_ONLY] = {"api-only", 0, NULL, OPT_FLAG,
                    .help = "Serve the API also when this program was built without the page."},
    [O_QUIET] = {"quiet", 'q', NULL, OPT_FLAG, .help = "Say nothing but errors."},
    {0},
};

static const struct cmd_arg args[] = {
    {"DIR", ARG_PATH, .optional = true, .repeat = true,
     .help = "Folders with runs, or single runs (default: the folder of --dir)."},
    {0},
};

static void tell(const struct server_place *p, const struct server_ask *ask, int wished)
{
    if (wished && p->port != wished)
        fprintf(stderr, "footplate: port %d is taken, so it is %d\n", wished, p->port);
    for (size_t i = 0; i < ask->n_folders; i++)
        if (access(ask->folders[i], F_OK) != 0)
            fprintf(stderr, "footplate: '%s' is not there; its runs are shown once it is\n",
                    ask->folders[i]);
    fprintf(stderr, "footplate: dashboard at %s (%zu run%s in %s%s)\n", p->address, p->runs,
            p->runs == 1 ? "" : "s", ask->folders[0], ask->n_folders > 1 ? " and others" : "");
}

static int run(const struct cmd_args *a, struct err *e)
{
    const char *own = runs_folder(a->opt[O_DIR].text);
    const struct opt_value *port = &a->opt[O_PORT];
    const char *control = a->opt[O_CONTROL].text;
    const struct server_ask ask = {
        .folders = a->n_args ? (const char *const *)a->arg : &own,
        .n_folders = a->n_args ? a->n_args : 1,
        .bind = a->opt[O_BIND].text,
        .port = port->given ? (int)port->number : SERVER_PORT,
        .port_is_wish = !port->given,
        .token_file = a->opt[O_TOKEN_FILE].text,
        .token = getenv("FOOTPLATE_TOKEN"),
        .tls_cert = a->opt[O_TLS_CERT].text,
        .tls_key = a->opt[O_TLS_KEY].text,
        .hosts = (const char *const *)a->opt[O_HOST].all,
        .n_hosts = a->opt[O_HOST].n_all,
        .control = !control || strcmp(control, "off") != 0,
    };
    struct server *s;
    struct server_place place;
    sigset_t ending;
    if (!a->opt[O_API_ONLY].given && serving_check_page(e))
        return e->code;
    serving_block(&ending);
    const int rc = server_open(&s, &ask, &place, e);
    if (rc)
        return rc;
    if (!a->opt[O_QUIET].given)
        tell(&place, &ask, ask.port);
    serving_wait(&ending);
    server_close(s);
    return EXIT_FINE;
}

static const char *const help[] = {
    "Shows runs in a web browser: those that go on, as they go on, and those that ended. Nothing "
    "is written into the folders. It answers until Ctrl-C.",
    "It listens on this machine only, and answers its own user only. From another machine a tunnel "
    "is the simple way: ssh -L 7171:localhost:7171 HOST. With --bind it listens on the network; "
    "then a token is needed, and TLS should be on.",
    NULL,
};

static const struct cmd_example examples[] = {
    {"footplate serve", "All runs in the folder of runs."},
    {"footplate serve /shared/runs ~/runs", "Runs of two folders."},
    {"footplate serve --bind 0.0.0.0 --token-file tokens --tls-cert c.pem --tls-key k.pem",
     "For others, with tokens and TLS."},
    {0},
};

const struct cmd cmd_serve = {
    .name = "serve",
    .summary = "show runs in a web browser, live and ended",
    .args = args,
    .options = options,
    .help = help,
    .examples = examples,
    .run = run,
};
