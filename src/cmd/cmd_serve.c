/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_serve.c - the dashboard. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "query/run.h"
#include "run/run_info.h"
#include "run/storage.h"
#include "run/upkeep.h"
#include "serve/server.h"
#include "session/dashboard.h"

enum {
    O_DIR,
    O_BIND,
    O_PORT,
    O_TOKEN_FILE,
    O_TLS_CERT,
    O_TLS_KEY,
    O_HOST,
    O_CONTROL,
    O_RECEIVE,
    O_KEEP,
    O_API_ONLY,
    O_QUIET,
};

static const char *const on_off[] = {"on", "off", NULL};

static const struct opt options[] = {
    [O_DIR] = {OPT_ROW_DIR},
    [O_BIND] = {"bind", 0, "ADDRESS", OPT_STRING,
                .help = "The address to listen on (default: 127.0.0.1). An address that other "
                        "machines can reach requires a token."},
    [O_PORT] =
        {"port", 'p', "PORT", OPT_INT, .lo = 0, .hi = 65535,
         .help = "The port (default: 7171, or without --receive the next free one); 0 selects any "
                 "free port."},
    [O_TOKEN_FILE] =
        {"token-file", 0, "FILE", OPT_FILE,
         .help = "File with lines 'read TOKEN' (view runs), 'control TOKEN' (also change and "
                 "stop runs) and 'write TOKEN' (send runs, see --receive). FOOTPLATE_TOKEN in the "
                 "environment is a token for view and control."},
    [O_TLS_CERT] = {"tls-cert", 0, "FILE", OPT_FILE,
                    .help = "TLS certificate (PEM, with its chain)."},
    [O_TLS_KEY] = {"tls-key", 0, "FILE", OPT_FILE, .help = "Key of the TLS certificate (PEM)."},
    [O_HOST] = {"host", 0, "NAME", OPT_STRING, .repeat = true,
                .help = "Additional host name to accept, e.g. behind a proxy. Requests for other "
                        "names are refused."},
    [O_CONTROL] = {"control", 0, "on|off", OPT_CHOICE, .choices = on_off,
                   .help = "Allow changing and stopping runs from the dashboard (default: on)."},
    [O_RECEIVE] = {"receive", 0, NULL, OPT_FLAG,
                   .help = "Receive runs of other machines (footplate push, run --to) into the "
                           "first folder. The token file must have a write token."},
    [O_KEEP] = {"keep", 0, "TIME", OPT_DURATION, .lo = PRUNE_LEAST_NS, .hi = PRUNE_MOST_NS,
                .help = "With --receive: remove received runs that ended longer ago, e.g. 90d, "
                        "unless they have the tag 'keep' (default: never). 'footplate hub prune "
                        "--dry-run' shows which these are."},
    [O_API_ONLY] = {"api-only", 0, NULL, OPT_FLAG,
                    .help = "Serve the API even if this program was built without the dashboard."},
    [O_QUIET] = {"quiet", 'q', NULL, OPT_FLAG, .help = "Print only errors."},
    {0},
};

static void cmd_serve_print(const struct server_place *p, const struct server_options *ask,
                            int wished)
{
    if (wished && p->port != wished)
        fprintf(stderr, "footplate: port %d is in use; using %d\n", wished, p->port);
    for (size_t i = 0; i < ask->n_folders; i++)
        if (!storage_has(ask->folders[i]))
            fprintf(stderr,
                    "footplate: '%s' does not exist yet; its runs will appear when it does\n",
                    ask->folders[i]);
    fprintf(stderr, "footplate: dashboard at %s (%zu run%s in %s%s)\n", p->address, p->runs,
            p->runs == 1 ? "" : "s", ask->folders[0], ask->n_folders > 1 ? " and others" : "");
}

static int cmd_serve_run(const struct cmd_args *a, struct err *e)
{
    const char *own = runs_folder(a->opt[O_DIR].text);
    const struct opt_value *port = &a->opt[O_PORT];
    const char *control = a->opt[O_CONTROL].text;
    const struct server_options ask = {
        .folders = a->n_args ? (const char *const *)a->arg : &own,
        .n_folders = a->n_args ? a->n_args : 1,
        .bind = a->opt[O_BIND].text,
        .port = port->given ? (int)port->number : SERVER_PORT,
        .port_is_wish = !port->given && !a->opt[O_RECEIVE].given, /* senders know its port */
        .token_file = a->opt[O_TOKEN_FILE].text,
        .token = getenv("FOOTPLATE_TOKEN"),
        .tls_cert = a->opt[O_TLS_CERT].text,
        .tls_key = a->opt[O_TLS_KEY].text,
        .hosts = (const char *const *)a->opt[O_HOST].all,
        .n_hosts = a->opt[O_HOST].n_all,
        .control = !control || strcmp(control, "off") != 0,
        .receive = a->opt[O_RECEIVE].given,
        .keep_ns = a->opt[O_KEEP].given ? a->opt[O_KEEP].number : 0,
    };
    struct server *s;
    struct server_place place;
    sigset_t ending;
    if (ask.keep_ns && !ask.receive)
        return err_set(e, ERR_USAGE, "--keep is for received runs: give --receive, too");
    if (!a->opt[O_API_ONLY].given && dashboard_check_page(e))
        return e->code;
    dashboard_block(&ending);
    TRY(server_open(&s, &ask, &place, e));
    if (!a->opt[O_QUIET].given)
        cmd_serve_print(&place, &ask, ask.port);
    dashboard_wait(&ending);
    server_close(s);
    return EXIT_FINE;
}

const struct cmd cmd_serve = {
    .name = "serve",
    .summary = "serve the dashboard for live and finished runs",
    .args =
        CMD_ARGS({"DIR", ARG_PATH, .optional = true, .repeat = true,
                  .help = "Folders of runs, or single runs (default: the folder set by --dir)."}),
    .options = options,
    .help = CMD_HELP("Serves the dashboard for live and finished runs until Ctrl-C. Nothing is "
                     "written to the folders, except by --receive.",
                     "By default only this user on this machine can connect. To use it from "
                     "another machine, open a tunnel: ssh -L 7171:localhost:7171 HOST. With --bind "
                     "it listens on the network; this requires a token, and TLS is recommended."),
    .examples =
        CMD_EXAMPLES({"footplate serve", "Serve all runs in the folder of runs."},
                     {"footplate serve /shared/runs ~/runs", "Serve the runs of two folders."},
                     {"footplate serve /srv/runs --receive --token-file tokens --bind "
                      "0.0.0.0 --tls-cert c.pem --tls-key k.pem",
                      "Receive runs of other machines; 'footplate hub token add' makes the "
                      "tokens."},
                     {"footplate serve /srv/runs --receive --token-file tokens --keep 90d",
                      "Remove received runs 90 days after their end."},
                     {"footplate serve --bind 0.0.0.0 --token-file tokens --tls-cert c.pem "
                      "--tls-key k.pem",
                      "Serve on the network, with tokens and TLS."}),
    .run = cmd_serve_run,
};
