/* SPDX-License-Identifier: Apache-2.0 */
/* http.c - see http.h. */
#include "agent/http.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"

int http_host_parse(struct http_host *out, const char *text, struct err *e)
{
    struct in_addr a;
    char host[20];
    unsigned long port = 80;
    if (strncmp(text, "http://", 7) == 0)
        text += 7;
    const size_t n = strcspn(text, ":/");
    snprintf(host, sizeof host, "%.*s", (int)n, text);
    if (text[n] == ':') {
        char *end;
        port = strtoul(text + n + 1, &end, 10);
        if (*end && *end != '/')
            port = 0;
    }
    if (n >= sizeof host || inet_pton(AF_INET, host, &a) != 1 || port == 0 || port > 65535)
        return err_set(e, ERR_USAGE, "'%s' is not an address like 127.0.0.1:8080", text);
    *out = (struct http_host){.address = a.s_addr, .port = (uint16_t)port};
    snprintf(out->text, sizeof out->text, "%s:%lu", host, port);
    return 0;
}

/* The value of a header line, or NULL. `head` ends with an empty line. */
static const char *header_of(const char *head, const char *end, const char *name, size_t *len)
{
    const size_t n = strlen(name);
    while (head < end) {
        const char *eol = memchr(head, '\r', (size_t)(end - head));
        if (!eol)
            return NULL;
        if ((size_t)(eol - head) > n && head[n] == ':' && strncasecmp(head, name, n) == 0) {
            head += n + 1;
            while (head < eol && *head == ' ')
                head++;
            *len = (size_t)(eol - head);
            return head;
        }
        head = eol + 2;
    }
    return NULL;
}

static bool decimal(const char *p, size_t n, size_t *out)
{
    size_t v = 0;
    if (n == 0 || n > 9)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (p[i] < '0' || p[i] > '9')
            return false;
        v = v * 10 + (size_t)(p[i] - '0');
    }
    *out = v;
    return true;
}

int http_answer_parse(const char *p, size_t n, struct http_answer *out, struct err *e)
{
    static const char version[] = "HTTP/1.";
    size_t status, len, value_len;
    const char *blank = memmem(p, n, "\r\n\r\n", 4);
    if (n < 12 || memcmp(p, version, sizeof version - 1) != 0 || p[8] != ' ' ||
        !decimal(p + 9, 3, &status) || !blank)
        return err_set(e, ERR_FORMAT, "not an HTTP response");
    const char *body = blank + 4, *head = memchr(p, '\n', n);
    const size_t have = n - (size_t)(body - p);
    if (header_of(head + 1, blank + 2, "Transfer-Encoding", &value_len))
        return err_set(e, ERR_FORMAT, "HTTP response with a transfer encoding");
    const char *v = header_of(head + 1, blank + 2, "Content-Length", &value_len);
    len = have;
    if (v && (!decimal(v, value_len, &len) || len > have))
        return err_set(e, ERR_FORMAT, "truncated HTTP response");
    *out = (struct http_answer){.status = (int)status, .body = body, .len = len};
    return 0;
}

/* Reads to the end of file: the request asked for the connection to be closed. */
static int http_read_answer(int fd, mono_ns until, char *buf, size_t *len, struct err *e)
{
    size_t got = 1;
    for (*len = 0; got > 0; *len += got) {
        if (*len == HTTP_MOST)
            return err_set(e, ERR_LIMIT, "HTTP response larger than %d bytes", HTTP_MOST);
        const int rc = net_recv(fd, buf + *len, HTTP_MOST - *len, until, &got, e);
        if (rc)
            return rc;
    }
    return 0;
}

static int talk(const struct http_host *h, const char *request, mono_ns until, char *buf,
                size_t *len, struct err *e)
{
    const struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_port = htons(h->port), .sin_addr = {h->address}};
    int fd;
    int rc = net_connect_to(&fd, (const struct sockaddr *)&a, sizeof a, until, e);
    if (rc)
        return rc;
    rc = net_send(fd, request, strlen(request), until, e);
    if (rc == 0)
        rc = http_read_answer(fd, until, buf, len, e);
    close(fd);
    return rc;
}

int http_ask(const struct http_host *h, const char *method, const char *path, const char *headers,
             int timeout_ms, char buf[HTTP_MOST], struct http_answer *out, struct err *e)
{
    char request[2048];
    size_t len = 0;
    const mono_ns until = mono_add(clock_mono(), timeout_ms * NS_PER_MS);
    const int n = snprintf(request, sizeof request,
                           "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n"
                           "Content-Length: 0\r\nUser-Agent: footplate\r\n%s\r\n",
                           method, path, h->text, headers);
    if (n < 0 || n >= (int)sizeof request)
        return err_set(e, ERR_LIMIT, "the request is too long");
    const int rc = talk(h, request, until, buf, &len, e);
    return rc ? rc : http_answer_parse(buf, len, out, e);
}

/* -- webhooks -- */

int http_url_parse(struct http_url *out, const char *text, struct err *e)
{
    static const char plain[] = "http://", tls[] = "https://";
    const bool is_tls = strncasecmp(text, tls, sizeof tls - 1) == 0;
    if (!is_tls && strncasecmp(text, plain, sizeof plain - 1) != 0)
        return err_set(e, ERR_USAGE, "a URL must start with http:// or https://");
    const char *host = text + (is_tls ? sizeof tls : sizeof plain) - 1;
    const size_t n = strcspn(host, "/?#");
    for (const char *p = host; *p; p++)
        if (*p <= ' ' || *p == 127)
            return err_set(e, ERR_USAGE, "a URL cannot contain spaces or control characters");
    if (memchr(host, '@', n))
        return err_set(e, ERR_USAGE, "a URL with a user name is not supported");
    *out = (struct http_url){.tls = is_tls, .path = host + n};
    return net_place_parse(host, n, is_tls ? 443 : 80, out->host, &out->port, e);
}
