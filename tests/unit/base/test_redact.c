/* SPDX-License-Identifier: Apache-2.0 */
/* test_redact.c - secrets of a command line are hidden, the rest of it stays. */
#include <string.h>

#include "base/redact.h"
#include "test.h"

enum { WORDS_MOST = 8 };

struct case_of {
    const char *words[WORDS_MOST], *shown[WORDS_MOST];
};

static void check_cases(const struct case_of *v, size_t n_cases)
{
    for (size_t i = 0; i < n_cases; i++) {
        struct arena a = {0};
        size_t n = 0;
        while (n < WORDS_MOST && v[i].words[n])
            n++;
        const char **out = redact_words(v[i].words, n, &a);
        const char **again = redact_words(out, n, &a);
        for (size_t k = 0; k < n; k++) {
            CHECK_STR(out[k], v[i].shown[k]);
            CHECK_STR(again[k], v[i].shown[k]);
        }
        CHECK(out[n] == NULL);
        arena_free(&a);
    }
}

#define CHECK_CASES(v) check_cases(v, sizeof(v) / sizeof(v)[0])

TEST(the_value_of_an_option_with_a_secret_name_is_hidden)
{
    static const struct case_of v[] = {
        {{"prog", "--api-key", "SECRET", "--lr", "3e-4"},
         {"prog", "--api-key", "***", "--lr", "3e-4"}},
        {{"--api_key=SECRET", "x"}, {"--api_key=***", "x"}},
        {{"--apiKey=SECRET"}, {"--apiKey=***"}},
        {{"--hf-token", "hf_abc", "--password", "1234"},
         {"--hf-token", "***", "--password", "***"}},
        {{"--db-password-file=/x y"}, {"--db-password-file=*** y"}},
        {{"--client-secret", "-x", "-n", "5"}, {"--client-secret", "***", "-n", "5"}},
        {{"--aws-credentials", "a:b"}, {"--aws-credentials", "***"}},
        {{"-token", "abc"}, {"-token", "***"}},
        {{"--passphrase=", "a"}, {"--passphrase=", "a"}},
    };
    CHECK_CASES(v);
}

TEST(an_option_that_follows_a_secret_name_is_no_value)
{
    static const struct case_of v[] = {
        {{"--use-auth-token", "--epochs", "3"}, {"--use-auth-token", "--epochs", "3"}},
        {{"--no-token", "train.py"}, {"--no-token", "train.py"}},
        {{"x", "--api-key"}, {"x", "--api-key"}},
    };
    CHECK_CASES(v);
}

TEST(variables_and_settings_with_a_secret_name_are_hidden)
{
    static const struct case_of v[] = {
        {{"env", "WANDB_API_KEY=abc", "HF_HOME=/x"}, {"env", "WANDB_API_KEY=***", "HF_HOME=/x"}},
        {{"+model.hub_token=abc", "lr=1"}, {"+model.hub_token=***", "lr=1"}},
        {{"--env=AWS_SECRET_ACCESS_KEY=a/b+c"}, {"--env=AWS_SECRET_ACCESS_KEY=***"}},
        {{"sh", "-c", "HF_TOKEN=abc python t.py --api-key 'a b' --lr 1"},
         {"sh", "-c", "HF_TOKEN=*** python t.py --api-key '***' --lr 1"}},
    };
    CHECK_CASES(v);
}

TEST(logins_in_urls_and_secret_parameters_are_hidden)
{
    static const struct case_of v[] = {
        {{"https://me:pass@host:8/p?a=1"}, {"https://***@host:8/p?a=1"}},
        {{"--url=postgres://u:p@w@db/x"}, {"--url=postgres://***@db/x"}},
        {{"git+https://ghp_x@github.com/a/b@v1"}, {"git+https://***@github.com/a/b@v1"}},
        {{"https://host/a@b"}, {"https://host/a@b"}},
        {{"https://h/x?token=abc&n=5"}, {"https://h/x?token=***&n=5"}},
        {{"s3://b/k?X-Amz-Signature=ff&e=1"}, {"s3://b/k?X-Amz-Signature=***&e=1"}},
    };
    CHECK_CASES(v);
}

TEST(headers_and_json_members_are_hidden)
{
    static const struct case_of v[] = {
        {{"-H", "Authorization: Bearer abc.def"}, {"-H", "Authorization: ***"}},
        {{"--header=X-Api-Key: abc"}, {"--header=X-Api-Key: ***"}},
        {{"sh", "-c", "curl -H 'Authorization: Basic eA==' http://h"},
         {"sh", "-c", "curl -H 'Authorization: ***' http://h"}},
        {{"{\"api_key\": \"abc\", \"lr\": 1}"}, {"{\"api_key\": \"***\", \"lr\": 1}"}},
    };
    CHECK_CASES(v);
}

#define THIRTY "abcdefghij0123456789ABCDEFGHIJ"

TEST(presigned_addresses_lose_what_signs_them)
{
    static const struct case_of v[] = {
        {{"https://b.s3.amazonaws.com/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIA%2F1"
          "&X-Amz-Date=20261118T000000Z&X-Amz-Expires=60&X-Amz-Security-Token=IQoJ%2Bx%3D"
          "&X-Amz-Signature=fe5f"},
         {"https://b.s3.amazonaws.com/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=***"
          "&X-Amz-Date=20261118T000000Z&X-Amz-Expires=60&X-Amz-Security-Token=***"
          "&X-Amz-Signature=***"}},
        {{"--data=https://a.blob.core.windows.net/c?sv=2024&sig=ab%2Bc&se=1"},
         {"--data=https://a.blob.core.windows.net/c?sv=2024&sig=***&se=1"}},
        {{"https://h/k?AWSAccessKeyId=AKIAX&Signature=a%3D&Expires=1"},
         {"https://h/k?AWSAccessKeyId=***&Signature=***&Expires=1"}},
    };
    CHECK_CASES(v);
}

TEST(tokens_are_known_by_their_form_whatever_their_name)
{
    static const struct case_of v[] = {
        {{"login", "hf_" THIRTY, "--auth", "ghp_" THIRTY}, {"login", "***", "--auth", "***"}},
        {{"--auth=github_pat_11ABC_" THIRTY, "x"}, {"--auth=***", "x"}},
        {{"sh", "-c", "aws configure set a AKIAIOSFODNN7EXAMPLE; x"},
         {"sh", "-c", "aws configure set a ***; x"}},
        {{"--aws-access-key-id", "AKIAIOSFODNN7EXAMPLE", "--aws-secret-access-key", "wJalr/K7"},
         {"--aws-access-key-id", "***", "--aws-secret-access-key", "***"}},
        {{"--auth", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-_9"}, {"--auth", "***"}},
        {{"--auth", "Bearer abc.def", "x"}, {"--auth", "Bearer ***", "x"}},
        {{"--auth", "Bearer", "abc", "x"}, {"--auth", "Bearer", "***", "x"}},
        {{"--token=abc", "--bearer", "abc"}, {"--token=***", "--bearer", "***"}},
        /* Names and files that begin like one. */
        {{"hf_trainer.py", "--task=sk-learn-baseline", "ASIA", "eyJ.txt", "--sigma=2", "sig"},
         {"hf_trainer.py", "--task=sk-learn-baseline", "ASIA", "eyJ.txt", "--sigma=2", "sig"}},
        {{"xhf_" THIRTY}, {"xhf_" THIRTY}},
        {{"hf_run/checkpoints/of/a/long/name/model.pt"},
         {"hf_run/checkpoints/of/a/long/name/model.pt"}},
    };
    CHECK_CASES(v);
}

TEST(labels_and_folders_lose_secrets_and_keep_the_rest)
{
    struct arena a = {0};
    CHECK_STR(redact_label("team", "vision", &a), "vision");
    CHECK_STR(redact_label("tokens", "300B", &a), "300B");
    CHECK_STR(redact_label("api_key", "0123456789abcdef", &a), "***");
    CHECK_STR(redact_label("password", "x", &a), "***");
    CHECK_STR(redact_label("data", "s3://b/k?X-Amz-Signature=ff&n=1", &a),
              "s3://b/k?X-Amz-Signature=***&n=1");
    CHECK_STR(redact_label("by", "hf_" THIRTY, &a), "***");
    CHECK_STR(redact_text("/home/me/monkey", &a), "/home/me/monkey");
    CHECK_STR(redact_text("/mnt/hf_" THIRTY "/src", &a), "/mnt/***/src");
    arena_free(&a);
}

TEST(what_holds_no_secret_stays)
{
    static const struct case_of v[] = {
        {{"--tokenizer", "gpt2", "--max-tokens", "2048"},
         {"--tokenizer", "gpt2", "--max-tokens", "2048"}},
        {{"--num-key-value-heads", "8", "--key_value_heads=x"},
         {"--num-key-value-heads", "8", "--key_value_heads=x"}},
        {{"/home/monkey/tokens/train.py", "key", "a=b"},
         {"/home/monkey/tokens/train.py", "key", "a=b"}},
        {{"", "-", "--", "="}, {"", "-", "--", "="}},
        {{"--key-dim=64", "--tokens_per_batch", "4096"},
         {"--key-dim=64", "--tokens_per_batch", "4096"}},
    };
    CHECK_CASES(v);
}

TEST(of_a_very_long_name_the_end_counts)
{
    struct arena a = {0};
    char *text = arena_array(&a, char, 100000);
    memset(text, 'a', 99999);
    text[50000] = '=';
    const char *const words[] = {text};
    CHECK_STR(redact_words(words, 1, &a)[0], text);
    memcpy(text + 49994, "_token", 6);
    CHECK(strlen(redact_words(words, 1, &a)[0]) == 50001 + strlen(REDACTED));
    arena_free(&a);
}
