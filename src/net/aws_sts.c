/* SPDX-License-Identifier: Apache-2.0 */
/* aws_sts.c - credentials that Amazon's Security Token Service gives for others: for the token of a
 * web identity, and for the role of a profile.
 *
 *     [profile train]                       [profile train]
 *     role_arn = arn:aws:iam::1:role/x      role_arn = arn:aws:iam::1:role/x
 *     source_profile = me                   credential_source = Ec2InstanceMetadata
 *
 * A source profile may itself assume a role. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "net/aws_internal.h"
#include "net/sigv4.h"
#include "net/xml.h"

enum { STS_ROLES_MOST = 5 }; /* that lead to each other */

#define STS_FORM "application/x-www-form-urlencoded"

/* Where it is, and the region that signatures name. */
struct sts_place {
    const char *url, *region;
};

static struct sts_place sts_place_here(struct arena *a)
{
    struct aws_settings settings;
    const char *url = aws_env("AWS_ENDPOINT_URL_STS");
    aws_settings_find(&settings, a);
    if (!url)
        url = aws_env("AWS_ENDPOINT_URL");
    if (!url)
        url = settings.region ? arena_printf(a, "https://sts.%s.amazonaws.com/", settings.region)
                              : "https://sts.amazonaws.com/";
    if (!text_ends(url, "/"))
        url = arena_printf(a, "%s/", url);
    return (struct sts_place){url, settings.region ? settings.region : "us-east-1"};
}

static void sts_put_form(struct buf *b, const char *name, const char *value)
{
    buf_printf(b, "%s%s=", b->len ? "&" : "", name);
    sigv4_encode(b, value, false);
}

static int sts_take_xml(struct aws_credentials *out, const struct buf *body, struct err *e)
{
    char *id = xml_find(body->p, body->len, "AccessKeyId");
    char *secret = xml_find(body->p, body->len, "SecretAccessKey");
    char *token = xml_find(body->p, body->len, "SessionToken");
    char *end = xml_find(body->p, body->len, "Expiration");
    const int rc = aws_take(out, id, secret, token, e);
    out->expires_s = aws_time(end);
    aws_forget(id);
    aws_forget(secret);
    aws_forget(token);
    free(end);
    return rc;
}

/* The form is overwritten: it may contain a token. */
static int sts_send(struct aws_credentials *out, struct buf *form, const struct sts_place *place,
                    const char *const *headers, size_t n_headers, struct err *e)
{
    struct http_response r = {0};
    const struct http_request q = {
        .method = "POST",
        .url = place->url,
        .headers = headers,
        .n_headers = n_headers,
        .body = form->p,
        .body_len = form->len,
        .body_most = AWS_ANSWER_MOST,
        .timeout_ms = AWS_REQUEST_MS,
    };
    int rc = aws_ask(&q, aws_env("AWS_CA_BUNDLE"), &r, e);
    if (rc == 0)
        rc = sts_take_xml(out, &r.body, e);
    explicit_bzero(form->p, form->len);
    buf_free(form);
    aws_answer_free(&r);
    return rc;
}

/* ---- web identity ---- */

/* Of the environment, or of the profile. The token file is read each time: it is renewed. */
int aws_from_web_identity(struct aws_search *s, struct aws_credentials *out, struct err *e)
{
    static const char *const headers[] = {"Content-Type: " STS_FORM};
    const char *file = aws_env("AWS_WEB_IDENTITY_TOKEN_FILE"), *role = aws_env("AWS_ROLE_ARN");
    const char *name = aws_env("AWS_ROLE_SESSION_NAME");
    char *token;
    size_t len;
    if (!file || !role) {
        file = aws_profile_get(&s->profile, "web_identity_token_file", &s->arena);
        role = aws_profile_get(&s->profile, "role_arn", &s->arena);
        name = aws_profile_get(&s->profile, "role_session_name", &s->arena);
    }
    if (!file || !role)
        return aws_not_set(e);
    TRY(file_read(file, AWS_ANSWER_MOST, &s->arena, &token, &len, e));
    while (len && strchr(" \r\n", token[len - 1]))
        token[--len] = 0;
    struct buf form = {0};
    sts_put_form(&form, "Action", "AssumeRoleWithWebIdentity");
    sts_put_form(&form, "Version", "2011-06-15");
    sts_put_form(&form, "RoleArn", role);
    sts_put_form(&form, "RoleSessionName", name ? name : "footplate");
    sts_put_form(&form, "WebIdentityToken", token);
    const struct sts_place place = sts_place_here(&s->arena);
    return sts_send(out, &form, &place, headers, COUNT_OF(headers), e);
}

/* ---- the role of a profile ---- */

/* Signs the form by the credentials that assume the role. */
static int sts_send_signed(struct aws_credentials *out, struct buf *form,
                           const struct aws_credentials *by, struct arena *a, struct err *e)
{
    const struct sts_place place = sts_place_here(a);
    const char *host = strstr(place.url, "://");
    char date[17], hash[SHA256_HEX];
    const int64_t now_s = clock_wall().ns / NS_PER_S;
    struct buf authorization = {0};
    if (!host)
        return err_set(e, ERR_USAGE, "the endpoint of STS is not an address");
    host = arena_strndup(a, host + 3, strcspn(host + 3, "/"));
    sigv4_date(date, now_s);
    sha256_hex(form->p, form->len, hash);
    const struct sigv4_pair pairs[] = {{"content-type", STS_FORM},
                                       {"host", host},
                                       {"x-amz-date", date},
                                       {"x-amz-security-token", by->token}};
    const struct sigv4_request q = {
        .method = "POST",
        .path = "/",
        .headers = pairs,
        .n_headers = COUNT_OF(pairs) - !by->token,
        .payload_hash = hash,
        .time_s = now_s,
    };
    const struct sigv4_signer signer = {by->id, by->secret, place.region, "sts"};
    sigv4_authorization(&authorization, &q, &signer);
    const char *headers[4] = {
        "Content-Type: " STS_FORM,
        arena_printf(a, "X-Amz-Date: %s", date),
        arena_printf(a, "Authorization: %.*s", (int)authorization.len,
                     (const char *)authorization.p),
    };
    if (by->token)
        headers[3] = arena_printf(a, "X-Amz-Security-Token: %s", by->token);
    buf_free(&authorization);
    return sts_send(out, form, &place, headers, by->token ? 4 : 3, e);
}

static int sts_assume(struct aws_search *s, const char *role, const struct aws_credentials *by,
                      struct aws_credentials *out, struct err *e)
{
    static const struct {
        const char *key, *name, *otherwise;
    } rows[] = {
        {"role_session_name", "RoleSessionName", "footplate"},
        {"duration_seconds", "DurationSeconds", NULL},
        {"external_id", "ExternalId", NULL},
    };
    struct buf form = {0};
    sts_put_form(&form, "Action", "AssumeRole");
    sts_put_form(&form, "Version", "2011-06-15");
    sts_put_form(&form, "RoleArn", role);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *value = aws_profile_get(&s->profile, rows[i].key, &s->arena);
        if (value || rows[i].otherwise)
            sts_put_form(&form, rows[i].name, value ? value : rows[i].otherwise);
    }
    const int rc = sts_send_signed(out, &form, by, &s->arena, e);
    if (form.p) { /* it was not sent */
        explicit_bzero(form.p, form.len);
        buf_free(&form);
    }
    return rc;
}

typedef int aws_source(struct aws_search *s, struct aws_credentials *out, struct err *e);

static int sts_of_machine(struct aws_search *s, const char *name, struct aws_credentials *out,
                          struct err *e)
{
    static const struct {
        const char *name;
        aws_source *find;
    } rows[] = {
        {"Environment", aws_from_environment},
        {"EcsContainer", aws_from_container},
        {"Ec2InstanceMetadata", aws_from_instance},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].find(s, out, e);
    return err_set(e, ERR_USAGE,
                   "credential_source '%.40s' is not one of Environment, EcsContainer and "
                   "Ec2InstanceMetadata",
                   name);
}

static int sts_of_role(struct aws_search *s, unsigned depth, struct aws_credentials *out,
                       struct err *e);

/* The credentials of another profile. One that names itself has its own keys. */
static int sts_of_profile(const char *name, bool itself, unsigned depth,
                          struct aws_credentials *out, struct err *e)
{
    static aws_source *const sources[] = {aws_from_shared, aws_from_process, aws_from_config};
    struct aws_search s = {0};
    int rc;
    aws_profile_load(&s.profile, name, &s.arena);
    rc = itself ? aws_not_set(e) : sts_of_role(&s, depth + 1, out, e);
    if (rc == AWS_NOT_SET && !itself)
        rc = aws_profile_get(&s.profile, "web_identity_token_file", &s.arena)
                 ? aws_from_web_identity(&s, out, e)
                 : aws_not_set(e);
    for (size_t i = 0; rc == AWS_NOT_SET && i < COUNT_OF(sources); i++)
        rc = sources[i](&s, out, e);
    arena_free(&s.arena);
    return rc;
}

static int sts_of_role(struct aws_search *s, unsigned depth, struct aws_credentials *out,
                       struct err *e)
{
    const char *role = aws_profile_get(&s->profile, "role_arn", &s->arena);
    const char *profile = aws_profile_get(&s->profile, "source_profile", &s->arena);
    const char *source = aws_profile_get(&s->profile, "credential_source", &s->arena);
    struct aws_credentials by = {0};
    int rc;
    if (!role || aws_profile_get(&s->profile, "web_identity_token_file", &s->arena) ||
        (!profile && !source && aws_profile_get(&s->profile, "credential_process", &s->arena)))
        return aws_not_set(e);
    if (aws_profile_get(&s->profile, "mfa_serial", &s->arena))
        return err_set(e, ERR_USAGE,
                       "the role of profile '%.60s' asks for a second factor (mfa_serial); use a "
                       "profile with credential_process",
                       s->profile.name);
    if (depth >= STS_ROLES_MOST)
        return err_set(e, ERR_USAGE, "more than %d profiles assume roles of each other",
                       STS_ROLES_MOST);
    if (!profile == !source)
        return err_set(e, ERR_USAGE,
                       "profile '%.60s' has role_arn: it needs either source_profile or "
                       "credential_source",
                       s->profile.name);
    rc = profile ? sts_of_profile(profile, strcmp(profile, s->profile.name) == 0, depth, &by, e)
                 : sts_of_machine(s, source, &by, e);
    if (rc == AWS_NOT_SET)
        rc = err_set(e, ERR_USAGE,
                     "there are no credentials in '%.60s', which is to assume '%.100s'",
                     profile ? profile : source, role);
    if (rc == 0)
        rc = sts_assume(s, role, &by, out, e);
    aws_credentials_free(&by);
    return rc;
}

int aws_from_role(struct aws_search *s, struct aws_credentials *out, struct err *e)
{
    return sts_of_role(s, 0, out, e);
}
