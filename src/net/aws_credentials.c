/* SPDX-License-Identifier: Apache-2.0 */
/* aws_credentials.c - see aws_credentials.h. */
#include "net/aws_credentials.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "net/aws_internal.h"

enum {
    AWS_FILE_MOST = 1 << 20,
    AWS_PROCESS_MS = 60000,
    AWS_METADATA_MS = 1000, /* in a container the answer may not come through: hop limit */
    AWS_STALE_S = 15 * 60,
};

const char *aws_env(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

void aws_forget(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}

void aws_credentials_free(struct aws_credentials *c)
{
    aws_forget(c->id);
    aws_forget(c->secret);
    aws_forget(c->token);
    *c = (struct aws_credentials){0};
}

bool aws_credentials_stale(const struct aws_credentials *c, int64_t now_s)
{
    return c->expires_s && now_s >= c->expires_s - AWS_STALE_S;
}

int64_t aws_time(const char *text)
{
    struct tm tm = {0};
    const char *end = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;
    return end ? (int64_t)timegm(&tm) : 0;
}

int aws_take(struct aws_credentials *out, const char *id, const char *secret, const char *token,
             struct err *e)
{
    if (!id || !*id || !secret || !*secret)
        return err_set(e, ERR_FORMAT, "an access key without its secret, or a secret without it");
    out->id = xstrdup(id);
    out->secret = xstrdup(secret);
    out->token = token && *token ? xstrdup(token) : NULL;
    return 0;
}

/* ==== files of profiles ==== */

static bool aws_ini_is_section(const char *line, size_t n, const char *section)
{
    const size_t len = strlen(section);
    if (n < len + 2 || line[0] != '[')
        return false;
    const char *p = line + 1 + strspn(line + 1, " \t");
    return strncmp(p, section, len) == 0 && p[len + strspn(p + len, " \t")] == ']';
}

/* The value when the line is "key = value", else NULL. */
static char *aws_ini_value(const char *line, size_t n, const char *key, struct arena *a)
{
    const size_t len = strlen(key);
    if (n <= len || strncmp(line, key, len) != 0)
        return NULL;
    size_t at = len;
    while (at < n && (line[at] == ' ' || line[at] == '\t'))
        at++;
    if (at >= n || line[at] != '=')
        return NULL;
    for (at++; at < n && (line[at] == ' ' || line[at] == '\t'); at++)
        ;
    while (n > at && strchr(" \t\r", line[n - 1]))
        n--;
    return arena_strndup(a, line + at, n - at);
}

char *aws_ini_get(const char *text, const char *section, const char *key, struct arena *a)
{
    bool inside = false;
    for (const char *p = text; *p;) {
        const size_t n = strcspn(p, "\n");
        if (*p == '[')
            inside = aws_ini_is_section(p, n, section);
        else if (inside && *p != '#' && *p != ';') {
            char *value = aws_ini_value(p, n, key, a);
            if (value)
                return value;
        }
        p += n + (p[n] == '\n');
    }
    return NULL;
}

static const char *aws_profile_file(const char *variable, const char *name, struct arena *a)
{
    const char *path = aws_env(variable), *home = aws_env("HOME");
    char *text;
    size_t len;
    struct err ignored;
    if (!path && home)
        path = arena_printf(a, "%s/.aws/%s", home, name);
    if (!path || file_read(path, AWS_FILE_MOST, a, &text, &len, &ignored))
        return "";
    return text;
}

void aws_profile_load(struct aws_profile *p, const char *name, struct arena *a)
{
    p->name = name;
    p->credentials = aws_profile_file("AWS_SHARED_CREDENTIALS_FILE", "credentials", a);
    p->config = aws_profile_file("AWS_CONFIG_FILE", "config", a);
    snprintf(p->section, sizeof p->section, "%s%s", strcmp(p->name, "default") ? "profile " : "",
             p->name);
}

static const char *aws_profile_selected(void)
{
    return aws_env("AWS_PROFILE") ? aws_env("AWS_PROFILE") : "default";
}

char *aws_profile_get(const struct aws_profile *p, const char *key, struct arena *a)
{
    return aws_ini_get(p->config, p->section, key, a);
}

/* ==== the sources ==== */

int aws_not_set(struct err *e)
{
    e->code = 0;
    return AWS_NOT_SET;
}

int aws_from_environment(struct aws_search *s, struct aws_credentials *out, struct err *e)
{
    const char *id = aws_env("AWS_ACCESS_KEY_ID"), *secret = aws_env("AWS_SECRET_ACCESS_KEY");
    (void)s;
    if (!id && !secret)
        return aws_not_set(e);
    return aws_take(out, id, secret, aws_env("AWS_SESSION_TOKEN"), e);
}

static int aws_from_keys(struct aws_credentials *out, const char *text, const char *section,
                         struct arena *a, struct err *e)
{
    const char *id = aws_ini_get(text, section, "aws_access_key_id", a);
    const char *secret = aws_ini_get(text, section, "aws_secret_access_key", a);
    if (!id && !secret)
        return aws_not_set(e);
    return aws_take(out, id, secret, aws_ini_get(text, section, "aws_session_token", a), e);
}

int aws_from_shared(struct aws_search *s, struct aws_credentials *out, struct err *e)
{
    return aws_from_keys(out, s->profile.credentials, s->profile.name, &s->arena, e);
}

int aws_from_config(struct aws_search *s, struct aws_credentials *out, struct err *e)
{
    return aws_from_keys(out, s->profile.config, s->profile.section, &s->arena, e);
}

/* What is set up and not supported must not be passed over in silence. */
static int aws_from_sso(struct aws_search *s, struct aws_credentials *out, struct err *e)
{
    static const char *const keys[] = {"sso_session", "sso_start_url"};
    (void)out;
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (aws_profile_get(&s->profile, keys[i], &s->arena) &&
            !aws_profile_get(&s->profile, "credential_process", &s->arena))
            return err_set(e, ERR_USAGE,
                           "the profile '%.60s' has '%s', which Footplate does not support; "
                           "use a profile with 'credential_process = aws configure "
                           "export-credentials --profile %.60s --format process'",
                           s->profile.name, keys[i], s->profile.name);
    return aws_not_set(e);
}

/* ---- answers over HTTP ---- */

/* 408, 429 and those of a server that is not well. */
static bool aws_status_passes(int status)
{
    return status == 408 || status == 429 || status >= 500;
}

int aws_ask(const struct http_request *q, const char *ca, struct http_response *r, struct err *e)
{
    struct http_client *c;
    TRY(http_client_open(&c, &(struct http_client_config){.ca = ca}, e));
    int rc = http_client_send(c, q, r, e);
    if (rc == 0 && (r->status < 200 || r->status > 299))
        rc = err_set(e, aws_status_passes(r->status) ? ERR_NOT_FOUND : ERR_FORMAT,
                     "the server answered with status %d", r->status);
    http_client_close(c);
    buf_u8(&r->body, 0); /* a text */
    return rc;
}

void aws_answer_free(struct http_response *r)
{
    if (r->body.p)
        explicit_bzero(r->body.p, r->body.cap);
    http_response_free(r);
}

/* {"AccessKeyId", "SecretAccessKey", "Token" or "SessionToken", "Expiration"} */
static int aws_take_json(struct aws_credentials *out, const char *text, const char *token_key,
                         struct err *e)
{
    json_error_t why;
    json_t *o = json_loads(text, 0, &why);
    int rc;
    if (!o) {
        rc = err_set(e, ERR_FORMAT, "the answer is not valid JSON (line %d)", why.line);
    } else {
        rc = aws_take(out, json_string_value(json_object_get(o, "AccessKeyId")),
                      json_string_value(json_object_get(o, "SecretAccessKey")),
                      json_string_value(json_object_get(o, token_key)), e);
        out->expires_s = aws_time(json_string_value(json_object_get(o, "Expiration")));
    }
    json_decref(o);
    return rc;
}

/* ---- container ---- */

/* "host", "host:port" and so on: of the machine itself, or where containers get credentials. */
static bool aws_is_own_host(const char *at)
{
    static const char *const hosts[] = {"localhost", "[::1]", "169.254.170.2", "169.254.170.23",
                                        "[fd00:ec2::23]"};
    const size_t n = *at == '[' ? strcspn(at, "]") + 1 : strcspn(at, ":/?");
    char host[INET6_ADDRSTRLEN + 2];
    struct in_addr v4;
    if (n >= sizeof host || strlen(at) < n || !strchr(":/?", at[n])) /* or the end of the text */
        return false;
    snprintf(host, sizeof host, "%.*s", (int)n, at);
    return FIND_ANY(i, COUNT_OF(hosts), strcmp(hosts[i], host) == 0) ||
           (inet_pton(AF_INET, host, &v4) == 1 && ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET);
}

/* Plain HTTP is for the addresses of the machine itself. */
static int aws_check_container_url(const char *url, struct err *e)
{
    if (text_starts(url, "https://"))
        return 0;
    if (text_starts(url, "http://") && aws_is_own_host(url + strlen("http://")))
        return strchr(url, '@') ? err_set(e, ERR_USAGE, "an address with a user") : 0;
    return err_set(e, ERR_USAGE,
                   "AWS_CONTAINER_CREDENTIALS_FULL_URI is neither https:// nor an "
                   "address of this machine");
}

static int aws_container_token(struct arena *a, const char **out, struct err *e)
{
    const char *file = aws_env("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    char *text;
    size_t len;
    *out = aws_env("AWS_CONTAINER_AUTHORIZATION_TOKEN");
    if (!file)
        return 0;
    TRY(file_read(file, AWS_ANSWER_MOST, a, &text, &len, e)); /* it is renewed */
    text[strcspn(text, "\r\n")] = 0;
    *out = text;
    return 0;
}

int aws_from_container(struct aws_search *s, struct aws_credentials *out, struct err *e)
{
    const char *relative = aws_env("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    const char *url = aws_env("AWS_CONTAINER_CREDENTIALS_FULL_URI"), *token;
    if (relative)
        url = arena_printf(&s->arena, "http://169.254.170.2%s", relative);
    if (!url)
        return aws_not_set(e);
    TRY(aws_check_container_url(url, e));
    TRY(aws_container_token(&s->arena, &token, e));
    const char *header = token ? arena_printf(&s->arena, "Authorization: %s", token) : NULL;
    struct http_response r = {0};
    const struct http_request q = {
        .method = "GET",
        .url = url,
        .headers = &header,
        .n_headers = header != NULL,
        .body_most = AWS_ANSWER_MOST,
        .timeout_ms = AWS_REQUEST_MS,
    };
    int rc = aws_ask(&q, NULL, &r, e);
    if (rc == 0)
        rc = aws_take_json(out, (const char *)r.body.p, "Token", e);
    aws_answer_free(&r);
    return rc;
}

/* ---- instance ---- */

static int aws_ask_instance(struct arena *a, const char *method, const char *path,
                            const char *header, char **text, struct err *e)
{
    const char *base = aws_env("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    struct http_response r = {0};
    if (!base)
        base = "http://169.254.169.254";
    const struct http_request q = {
        .method = method,
        .url = arena_printf(a, "%.*s%s", (int)(strlen(base) - text_ends(base, "/")), base, path),
        .headers = &header,
        .n_headers = 1,
        .body_most = AWS_ANSWER_MOST,
        .connect_ms = AWS_METADATA_MS,
        .timeout_ms = AWS_METADATA_MS,
    };
    const int rc = aws_ask(&q, NULL, &r, e);
    *text = rc ? NULL : arena_strdup(a, (const char *)r.body.p);
    aws_answer_free(&r);
    return rc;
}

int aws_from_instance(struct aws_search *s, struct aws_credentials *out, struct err *e)
{
    const char *off = aws_env("AWS_EC2_METADATA_DISABLED");
    struct arena *a = &s->arena;
    char *token, *role, *text;
    if (off && strcasecmp(off, "true") == 0)
        return aws_not_set(e);
    /* No answer: this is no machine of EC2, or one without a role. */
    if (aws_ask_instance(a, "PUT", "/latest/api/token",
                         "X-aws-ec2-metadata-token-ttl-seconds: 21600", &token, e) != 0)
        return aws_not_set(e);
    const char *header = arena_printf(a, "X-aws-ec2-metadata-token: %s", token);
    const char *folder = "/latest/meta-data/iam/security-credentials/";
    if (aws_ask_instance(a, "GET", folder, header, &role, e) != 0)
        return aws_not_set(e);
    role[strcspn(role, "\r\n")] = 0;
    TRY(aws_ask_instance(a, "GET", arena_printf(a, "%s%s", folder, role), header, &text, e));
    return aws_take_json(out, text, "Token", e);
}

/* ---- credential_process ---- */

/* One word at *p into `out`. False: a quote is open. */
static bool aws_split_word(const char **p, struct buf *out)
{
    char quote = 0;
    for (; **p && (quote || !strchr(" \t", **p)); ++*p) {
        if (quote == '\'' ? **p == '\'' : **p == quote && quote)
            quote = 0;
        else if (!quote && (**p == '"' || **p == '\''))
            quote = **p;
        else if (**p == '\\' && quote != '\'' && (*p)[1])
            buf_u8(out, (uint8_t) * ++*p);
        else
            buf_u8(out, (uint8_t) * *p);
    }
    return quote == 0;
}

char **aws_split_words(const char *text, struct arena *a)
{
    char **words = NULL;
    size_t n = 0, cap = 0;
    struct buf word = {0};
    bool closed = true;
    for (const char *p = text + strspn(text, " \t"); *p && closed; p += strspn(p, " \t")) {
        word.len = 0;
        closed = aws_split_word(&p, &word);
        *ARENA_ADD(a, words, n, cap) = arena_strndup(a, (const char *)word.p, word.len);
    }
    *ARENA_ADD(a, words, n, cap) = NULL;
    buf_free(&word);
    return closed ? words : NULL;
}

/* What the process writes, up to its end. False: too late, or too much. */
static bool aws_read_process(int fd, struct buf *out)
{
    const mono_ns until = mono_add(clock_mono(), AWS_PROCESS_MS * NS_PER_MS);
    for (;;) {
        const int64_t left = mono_diff(until, clock_mono()) / NS_PER_MS;
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (left <= 0 || out->len > AWS_ANSWER_MOST)
            return false;
        if (poll(&p, 1, (int)left) < 0 && errno != EINTR)
            return false;
        if (!p.revents)
            continue;
        buf_reserve(out, 4096);
        const ssize_t n = read(fd, out->p + out->len, 4096);
        if (n <= 0)
            return n == 0;
        out->len += (size_t)n;
    }
}

static int aws_start_process(char **words, pid_t *pid, int *fd, struct err *e)
{
    int pipe_fds[2];
    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        return err_sys(e, "cannot make a pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_fds[1], STDOUT_FILENO);
    errno = posix_spawnp(pid, words[0], &actions, NULL, words, environ);
    const int rc = errno ? err_sys(e, "cannot start '%.100s'", words[0]) : 0;
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_fds[1]);
    *fd = pipe_fds[0];
    if (rc)
        close(*fd);
    return rc;
}

static int aws_run_process(char **words, struct buf *out, struct err *e)
{
    pid_t pid;
    int fd, status = 0;
    TRY(aws_start_process(words, &pid, &fd, e));
    const bool read_all = aws_read_process(fd, out);
    close(fd);
    if (!read_all)
        kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!read_all)
        return err_set(e, ERR_LIMIT, "'%.100s' took more than %d s, or wrote too much", words[0],
                       AWS_PROCESS_MS / 1000);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return err_set(e, ERR_FORMAT, "'%.100s' failed", words[0]);
    return 0;
}

int aws_from_process(struct aws_search *s, struct aws_credentials *out, struct err *e)
{
    const char *text = aws_profile_get(&s->profile, "credential_process", &s->arena);
    struct buf answer = {0};
    if (!text)
        return aws_not_set(e);
    char **words = aws_split_words(text, &s->arena);
    if (!words || !words[0])
        return err_set(e, ERR_USAGE, "the command has no words, or an open quote");
    int rc = aws_run_process(words, &answer, e);
    buf_u8(&answer, 0);
    if (rc == 0)
        rc = aws_take_json(out, (const char *)answer.p, "SessionToken", e);
    explicit_bzero(answer.p, answer.cap);
    buf_free(&answer);
    return rc;
}

/* ==== the search ==== */

static const struct {
    const char *name;
    int (*find)(struct aws_search *s, struct aws_credentials *out, struct err *e);
} aws_sources[] = {
    {"the environment", aws_from_environment},      {"the login of the profile", aws_from_sso},
    {"the role of the profile", aws_from_role},     {"the web identity", aws_from_web_identity},
    {"the file of credentials", aws_from_shared},   {"credential_process", aws_from_process},
    {"the config file", aws_from_config},           {"the container's service", aws_from_container},
    {"the instance's metadata", aws_from_instance},
};

int aws_credentials_find(struct aws_credentials *out, struct err *e)
{
    struct aws_search s = {0};
    struct aws_credentials found = {0};
    int rc = AWS_NOT_SET;
    aws_profile_load(&s.profile, aws_profile_selected(), &s.arena);
    for (size_t i = 0; rc == AWS_NOT_SET && i < COUNT_OF(aws_sources); i++) {
        rc = aws_sources[i].find(&s, &found, e);
        found.source = aws_sources[i].name;
        if (rc < 0)
            rc = err_in(e, "credentials from %s", aws_sources[i].name);
    }
    arena_free(&s.arena);
    if (rc == 0)
        *out = found;
    else
        aws_credentials_free(&found);
    if (rc == AWS_NOT_SET)
        return err_set(e, ERR_USAGE,
                       "no credentials for S3: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
                       "AWS_PROFILE, or give this machine a role");
    return rc;
}

void aws_settings_find(struct aws_settings *out, struct arena *a)
{
    static const struct {
        size_t offset;
        const char *variables[2];
        const char *key;
    } rows[] = {
        {offsetof(struct aws_settings, region), {"AWS_REGION", "AWS_DEFAULT_REGION"}, "region"},
        {offsetof(struct aws_settings, endpoint),
         {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"},
         "endpoint_url"},
        {offsetof(struct aws_settings, ca), {"AWS_CA_BUNDLE", "AWS_CA_BUNDLE"}, "ca_bundle"},
    };
    struct aws_profile profile;
    aws_profile_load(&profile, aws_profile_selected(), a);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *value = aws_env(rows[i].variables[0]);
        if (!value)
            value = aws_env(rows[i].variables[1]);
        value = value ? arena_strdup(a, value) : aws_profile_get(&profile, rows[i].key, a);
        memcpy((char *)out + rows[i].offset, &value, sizeof value);
    }
}
