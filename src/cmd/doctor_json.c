/* SPDX-License-Identifier: Apache-2.0 */
/* doctor_json.c - `footplate doctor --json`. */
#include "base/json_write.h"
#include "cmd/doctor.h"
#include "cmd/output.h"
#include "record/record.h"

static void doctor_json_host(struct jw *j, const struct hostinfo *h)
{
    jw_object(j, "host");
    jw_str(j, "hostname", h->hostname);
    jw_str(j, "kernel", h->kernel);
    jw_str(j, "cpu_model", h->cpu_model);
    jw_int(j, "cores", h->cores);
    jw_int(j, "memory_bytes", (int64_t)h->memory_bytes);
    jw_end(j);
}

static void doctor_json_gpus(struct jw *j, const struct trial *t)
{
    jw_array(j, "gpus");
    for (unsigned i = 0; i < t->n_gpus; i++) {
        jw_object(j, NULL);
        jw_str(j, "entity", t->gpus[i].entity);
        jw_str(j, "name", t->gpus[i].name);
        jw_str(j, "uuid", t->gpus[i].uuid);
        jw_str(j, "driver", t->gpus[i].driver);
        jw_int(j, "memory_bytes", (int64_t)t->gpus[i].memory_bytes);
        jw_end(j);
    }
    jw_end(j);
    jw_str(j, "gpu_absent", t->n_gpus ? NULL : t->gpu_absent);
}

static void place_json(struct jw *j, const char *key, const struct place *p)
{
    jw_object(j, key);
    jw_str(j, "path", *p->path ? p->path : NULL);
    jw_bool(j, "ok", p->ok);
    jw_str(j, "why", p->ok ? NULL : p->why);
    jw_num(j, "free_bytes", p->free_bytes);
    jw_end(j);
}

static void doctor_json_series(struct jw *j, const struct trial_probe *p)
{
    jw_array(j, "series");
    for (size_t i = 0; i < p->n_series; i++) {
        jw_object(j, NULL);
        jw_str(j, "metric", metrics[p->series[i].metric].name);
        jw_str(j, "entity", p->series[i].entity);
        jw_str(j, "unit", unit_name(metrics[p->series[i].metric].unit));
        jw_num(j, "value", p->series[i].value);
        jw_end(j);
    }
    jw_end(j);
}

static void losses_json(struct jw *j, const struct trial_probe *p)
{
    jw_array(j, "losses");
    for (size_t i = 0; i < p->n_losses; i++) {
        const struct loss *l = &p->losses[i];
        char what[ENTITY_LEN];
        jw_object(j, NULL);
        jw_str(j, "what", loss_what(l, what));
        jw_str(j, "why", loss_why(l));
        jw_str(j, "kind", losses[l->id].name);
        jw_end(j);
    }
    jw_end(j);
}

static void probe_json(struct jw *j, const struct trial_probe *p)
{
    jw_object(j, NULL);
    jw_str(j, "name", p->probe->name);
    jw_str(j, "title", p->probe->title);
    jw_bool(j, "works", p->opened && p->n_series > 0);
    jw_str(j, "why", p->opened ? NULL : p->why);
    jw_num(j, "min_period_ms", (double)p->probe->min_period_ns / (double)NS_PER_MS);
    jw_num(j, "read_us", p->read_us);
    doctor_json_series(j, p);
    losses_json(j, p);
    jw_end(j);
}

void doctor_json(const struct checkup *c)
{
    struct buf b = {0};
    struct jw j = {.out = &b, .indent = 2};
    jw_object(&j, NULL);
    jw_str(&j, "version", FP_VERSION);
    doctor_json_host(&j, &c->trial.host);
    doctor_json_gpus(&j, &c->trial);
    place_json(&j, "runs_folder", &c->runs);
    place_json(&j, "runtime_folder", &c->runtime);
    jw_object(&j, "libcurl");
    jw_bool(&j, "ok", c->curl.code == 0);
    jw_str(&j, "why", c->curl.code ? c->curl.msg : NULL);
    jw_end(&j);
    jw_object(&j, "clock");
    jw_str(&j, "source", *c->clock_source ? c->clock_source : NULL);
    jw_num(&j, "read_ns", c->clock_read_ns);
    jw_end(&j);
    jw_array(&j, "probes");
    for (size_t i = 0; i < c->trial.n_probes; i++)
        probe_json(&j, &c->trial.probes[i]);
    jw_end(&j);
    jw_end(&j);
    output_buf(&b);
    buf_free(&b);
}
